//! What is special about some command names: those that run another command, those that evaluate
//! their arguments, and those that run whatever code they are given.
//!
//! The tables name what slug knows. A wrapper whose options are not all known is taken as running
//! something unknown, which no wildcard rule allows and in which every word may be a command.

use super::launchers;
use super::words::Word;

/// What a command runs besides itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runs {
    /// Nothing.
    Nothing,
    /// These commands.
    Commands(Vec<Vec<Word>>),
    /// This text, read by a shell.
    Script(String),
    /// Something that cannot be told from its words.
    Unknown,
}

/// Builtins that evaluate inside a quoted argument or change what later words mean. No rule allows
/// them without a question.
const NEVER_ALLOWED: &[&str] = &[
    ".",
    "alias",
    "bind",
    "compgen",
    "complete",
    "compopt",
    "declare",
    "enable",
    "eval",
    "export",
    "fc",
    "getopts",
    "hash",
    "jobs",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "set",
    "shopt",
    "source",
    "trap",
    "typeset",
    "unalias",
    "unset",
    "wait",
];

/// Without the digits that some systems add: `bash-5`, `ksh93`.
const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "elvish", "fish", "hush", "ksh", "lksh", "mksh", "nu", "oksh",
    "pdksh", "posh", "rbash", "rksh", "rzsh", "sash", "sh", "tcsh", "xonsh", "yash", "zsh",
];

/// Interpreters and the flags that make them run an argument.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("bun", &["-e", "--eval", "-p", "--print", "eval"]),
    ("deno", &["eval"]),
    ("elixir", &["-e", "--eval"]),
    ("ghc", &["-e"]),
    ("ipython", &["-c"]),
    ("julia", &["-e", "-E", "--eval", "--print"]),
    ("lua", &["-e"]),
    ("node", &["-e", "--eval", "-p", "--print", "-pe"]),
    ("nodejs", &["-e", "--eval", "-p", "--print", "-pe"]),
    ("osascript", &["-e"]),
    ("perl", &["-e", "-E"]),
    ("php", &["-r", "-B", "-R", "-E"]),
    ("pwsh", &["-c", "-Command", "-EncodedCommand"]),
    ("pypy", &["-c"]),
    ("python", &["-c"]),
    ("R", &["-e"]),
    ("Rscript", &["-e"]),
    ("ruby", &["-e"]),
    ("scala", &["-e"]),
    ("tclsh", &[]),
    ("ts-node", &["-e", "--eval", "-p", "--print", "-pe"]),
    ("tsx", &["-e", "--eval", "-p", "--print"]),
];

struct Wrapper {
    name: &'static str,
    /// Options without a value; single letters may be clustered.
    flags: &'static [&'static str],
    /// Options with a value, glued or as the next word.
    valued: &'static [&'static str],
    /// Words before the command.
    operands: usize,
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("builtin", &[], &[], 0),
    wrapper("command", &["-p"], &[], 0),
    wrapper("doas", &["-n", "-s"], &["-u", "-C"], 0),
    wrapper(
        "env",
        &["-i", "-", "-0", "-v", "--ignore-environment"],
        &["-u", "-C", "--unset", "--chdir"],
        0,
    ),
    wrapper("exec", &["-c", "-l"], &["-a"], 0),
    wrapper("ionice", &["-t"], &["-c", "-n"], 0),
    wrapper("nice", &[], &["-n", "--adjustment"], 0),
    wrapper("nohup", &[], &[], 0),
    wrapper("setsid", &["-c", "-f", "-w", "--ctty", "--fork", "--wait"], &[], 0),
    wrapper("stdbuf", &[], &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    wrapper(
        "sudo",
        &["-n", "-E", "-H", "-b", "-S", "-k"],
        &["-u", "-g", "-C", "-h", "-p", "-D"],
        0,
    ),
    wrapper("time", &["-p", "-v", "-a", "-q"], &["-f", "-o"], 0),
    wrapper(
        "timeout",
        &["--preserve-status", "--foreground", "-v", "--verbose"],
        &["-s", "--signal", "-k", "--kill-after"],
        1,
    ),
    wrapper(
        "xargs",
        &["-0", "-r", "-t", "-p", "-x", "--null", "--no-run-if-empty", "--verbose"],
        &[
            "-n",
            "-P",
            "-I",
            "-L",
            "-d",
            "-s",
            "-E",
            "-a",
            "--max-args",
            "--max-procs",
            "--delimiter",
        ],
        0,
    ),
];

/// Programs and builtins that run a command of their arguments in ways that are not read here.
const OPAQUE: &[&str] = &[
    "bind",
    "capsh",
    "choom",
    "chroot",
    "chrt",
    "compgen",
    "complete",
    "coproc",
    "cpulimit",
    "dbus-run-session",
    "eatmydata",
    "entr",
    "faketime",
    "flock",
    "gdb",
    "gosu",
    "hyperfine",
    "jobs",
    "linux32",
    "linux64",
    "mapfile",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "pkexec",
    "prlimit",
    "proxychains",
    "readarray",
    "rlwrap",
    "run-one",
    "runcon",
    "runuser",
    "screen",
    "script",
    "sem",
    "setarch",
    "setpriv",
    "sg",
    "ssh-agent",
    "start-stop-daemon",
    "strace",
    "ltrace",
    "su",
    "su-exec",
    "systemd-run",
    "taskset",
    "tmux",
    "torify",
    "torsocks",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "xterm",
    "xvfb-run",
    "caffeinate",
    "chronic",
    "expect",
    "fakeroot",
    "firejail",
    "bwrap",
];

const KEYWORDS: &[&str] =
    &["!", "{", "coproc", "do", "elif", "else", "if", "then", "time", "until", "while", "function"];

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    valued: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper { name, flags, valued, operands }
}

/// The last component of a command's name.
pub fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// What `words` run besides their own command.
pub fn runs(words: &[Word]) -> Runs {
    let Some(name) = words.first().and_then(Word::known).map(base_name) else {
        return Runs::Nothing;
    };
    let arguments = &words[1..];
    if is_shell(name) {
        return shell_script(arguments);
    }
    if OPAQUE.contains(&name) {
        return Runs::Unknown;
    }
    match name {
        "eval" => joined(past_dashes(arguments)),
        "trap" => match past_dashes(arguments) {
            [script, _, ..] => match script.known() {
                Some(script) => Runs::Script(script.to_owned()),
                None => Runs::Unknown,
            },
            _ => Runs::Nothing,
        },
        "busybox" | "toybox" if !arguments.is_empty() => Runs::Commands(vec![arguments.to_vec()]),
        "find" => find_commands(arguments),
        "fd" | "fdfind" => launchers::fd_command(arguments),
        "git" => launchers::git_scripts(arguments),
        "ssh" => ssh_command(arguments),
        "command"
            if arguments
                .first()
                .and_then(Word::known)
                .is_some_and(|flag| matches!(flag, "-v" | "-V" | "-pv" | "-pV")) =>
        {
            Runs::Nothing
        }
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => wrapped(wrapper, arguments),
            None => Runs::Nothing,
        },
    }
}

/// Whether no rule at all may allow the command without a question, and why.
pub fn never_allowed(words: &[Word]) -> Option<&'static str> {
    let name = words.first().and_then(Word::known)?;
    let has_flag = |letters: &str| {
        words[1..].iter().any(|word| {
            word.text.starts_with('-') && word.text.chars().any(|c| letters.contains(c))
        })
    };
    match name {
        _ if NEVER_ALLOWED.contains(&name) => {
            Some("this builtin evaluates its arguments or changes what later commands mean")
        }
        "printf" if has_flag("v") && words[1].text.starts_with('-') => {
            Some("`printf -v` evaluates the name it is given")
        }
        "test" | "[" if has_flag("vR") => Some("`test -v` evaluates the name it is given"),
        _ => None,
    }
}

/// Whether the command runs code that stands in its arguments or comes on its standard input, so
/// that only a rule with these very words may allow it.
pub fn needs_exact_rule(words: &[Word]) -> bool {
    let Some(name) = words.first().and_then(Word::known).map(base_name) else { return true };
    let arguments = &words[1..];
    if is_shell(name) {
        // A script file is the person's own choice; `-c`, `-s` and standard input are not.
        return arguments.first().is_none_or(|first| first.text.starts_with(['-', '+']));
    }
    if matches!(name, "ssh" | "exec" | "busybox" | "toybox") || OPAQUE.contains(&name) {
        return true;
    }
    if name == "git" && launchers::sets_what_git_runs(arguments) {
        return true;
    }
    // A variable can make any program run another one.
    if matches!(name, "env" | "sudo" | "doas") {
        let assigns = |word: &Word| !word.text.starts_with('-') && word.text.contains('=');
        return arguments.iter().any(assigns);
    }
    let Some((_, flags)) = INTERPRETERS.iter().find(|(known, _)| *known == stem(name)) else {
        return false;
    };
    let asks_version =
        |word: &Word| matches!(word.text.as_str(), "--version" | "-V" | "-v" | "--help" | "-h");
    // Without a script it reads one from its input.
    let no_script = arguments.iter().all(|word| word.text.starts_with('-'));
    (no_script && !arguments.iter().any(asks_version))
        || arguments.iter().any(|word| {
            let text = word.text.as_str();
            text == "-"
                || flags.iter().any(|flag| {
                    let is_long = flag.starts_with("--") || !flag.starts_with('-');
                    text == *flag
                        || if is_long {
                            text.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
                        } else {
                            // Clustered (`-pe`, `-Sc`) or glued (`-cprint()`).
                            text.starts_with('-')
                                && !text.starts_with("--")
                                && text.contains(&flag[1..])
                        }
                })
        })
}

/// The text of a script in a command's arguments that may write files, other than a shell's.
pub fn script_in_arguments(words: &[Word]) -> Option<String> {
    let name = words.first().and_then(Word::known).map(base_name)?;
    let joined = || words[1..].iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    match name {
        "awk" | "gawk" | "mawk" | "nawk" => Some(joined()).filter(|text| text.contains('>')),
        _ => {
            let runs = INTERPRETERS.iter().any(|(known, _)| *known == stem(name));
            (runs && needs_exact_rule(words)).then(joined)
        }
    }
}

/// Whether the program runs the code of a file that it is given.
pub fn runs_files(name: &str) -> bool {
    is_shell(name) || INTERPRETERS.iter().any(|(known, _)| *known == stem(name))
}

/// Whether the command takes what it runs from its input, a file that is made as it runs, or an
/// expansion.
pub fn reads_script(words: &[Word]) -> bool {
    let Some(first) = words.first() else { return false };
    let Some(name) = first.known().map(base_name) else { return true };
    let arguments = &words[1..];
    let unknown = arguments
        .iter()
        .any(|word| word.known().is_none_or(|text| text == "-" || text.starts_with("/dev/")));
    if is_shell(name) {
        let is_option = |word: &Word| word.text.starts_with(['-', '+']);
        let has = |c: char| {
            let short = |word: &&Word| is_option(word) && !word.text.starts_with("--");
            arguments.iter().filter(short).any(|word| word.text.contains(c))
        };
        return unknown || (!has('c') && (has('s') || arguments.iter().all(is_option)));
    }
    match name {
        "eval" | "." | "source" => unknown,
        "at" | "batch" | "parallel" | "ssh" | "su" => true,
        _ => false,
    }
}

/// The same of interpreters other than shells, and of programs that are told which files to change.
pub fn reads_foreign_script(words: &[Word]) -> bool {
    let Some(name) = words.first().and_then(Word::known).map(base_name) else { return false };
    let arguments = &words[1..];
    let has = |text: &str| arguments.iter().any(|word| word.text == text);
    match name {
        "ed" | "ex" | "patch" | "sqlite3" => return true,
        "git" => return has("apply") || has("am"),
        "make" | "gmake" => return has("-"),
        _ => {}
    }
    let is_option = |word: &Word| word.text.starts_with('-') && word.text != "-";
    let from_input =
        |word: &Word| word.known().is_none_or(|text| text == "-" || text.starts_with("/dev/"));
    INTERPRETERS.iter().any(|(known, _)| *known == stem(name))
        && (arguments.iter().all(is_option) || arguments.iter().any(from_input))
}

/// Whether the command is a shell by its name.
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&stem(name))
}

/// A program's name without its version.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))
}

/// The arguments of a builtin that takes no options.
fn past_dashes(arguments: &[Word]) -> &[Word] {
    match arguments.split_first() {
        Some((first, rest)) if first.known() == Some("--") => rest,
        Some(_) | None => arguments,
    }
}

/// Whether the command is one whose arguments name further commands: `git push`, `npm run`. A rule
/// that refuses such a command names the subcommand, too.
pub fn has_subcommands(name: &str) -> bool {
    matches!(
        base_name(name),
        "apt"
            | "apt-get"
            | "aws"
            | "brew"
            | "bun"
            | "bundle"
            | "cargo"
            | "deno"
            | "docker"
            | "dnf"
            | "dotnet"
            | "gcloud"
            | "gh"
            | "git"
            | "go"
            | "gradle"
            | "helm"
            | "jj"
            | "just"
            | "kubectl"
            | "make"
            | "mix"
            | "mvn"
            | "npm"
            | "npx"
            | "nix"
            | "pip"
            | "pip3"
            | "pnpm"
            | "podman"
            | "poetry"
            | "rustup"
            | "svn"
            | "systemctl"
            | "terraform"
            | "uv"
            | "yarn"
    )
}

/// Whether a word can stand before a command: a keyword, a wrapper, an option, an assignment or a
/// number. For text that does not parse.
pub fn may_lead(word: &str) -> bool {
    KEYWORDS.contains(&word)
        || is_wrapper(word)
        || word.starts_with('-')
        || word.contains('=')
        || word.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a word names a command that runs another.
pub fn is_wrapper(word: &str) -> bool {
    let name = base_name(word);
    WRAPPERS.iter().any(|wrapper| wrapper.name == name)
        || OPAQUE.contains(&name)
        || is_shell(name)
        || matches!(name, "busybox" | "eval" | "find" | "ssh" | "toybox" | "trap")
}

fn wrapped(wrapper: &Wrapper, arguments: &[Word]) -> Runs {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let Some(text) = word.known() else { return Runs::Unknown };
        if text == "--" {
            at += 1;
            break;
        }
        let assigns = matches!(wrapper.name, "env" | "sudo");
        if assigns && !text.starts_with('-') && text.contains('=') {
            at += 1;
        } else if !text.starts_with('-') {
            break;
        } else {
            match option_length(wrapper, text) {
                Some(length) => at += length,
                None => return Runs::Unknown,
            }
        }
    }
    at += wrapper.operands;
    if wrapper.name == "env" {
        while arguments.get(at).and_then(Word::known).is_some_and(|text| text.contains('=')) {
            at += 1;
        }
    }
    let mut command = arguments.get(at..).unwrap_or_default().to_vec();
    if command.is_empty() {
        return Runs::Nothing;
    }
    if let Some(mark) = filled_in(wrapper, &arguments[..at]) {
        for word in command.iter_mut().filter(|word| word.text.contains(&mark)) {
            *word = Word::dynamic(word.text.replace(&mark, "${…}"));
        }
    }
    if wrapper.name == "xargs" {
        command.push(Word::dynamic("…"));
    }
    Runs::Commands(vec![command])
}

/// What xargs puts words in the place of.
fn filled_in(wrapper: &Wrapper, options: &[Word]) -> Option<String> {
    let at = options.iter().position(|word| word.text.starts_with("-I"))?;
    let glued = options[at].text[2..].to_owned();
    let mark = if glued.is_empty() { options.get(at + 1)?.text.clone() } else { glued };
    (wrapper.name == "xargs" && !mark.is_empty()).then_some(mark)
}

/// How many words an option takes, itself included; `None` when it is not known.
fn option_length(wrapper: &Wrapper, text: &str) -> Option<usize> {
    if wrapper.flags.contains(&text) {
        return Some(1);
    }
    if wrapper.valued.contains(&text) {
        return Some(2);
    }
    if let Some(long) = text.strip_prefix("--") {
        let name = long.split('=').next()?;
        let known = wrapper.valued.iter().any(|option| option.strip_prefix("--") == Some(name));
        return (known && long.contains('=')).then_some(1);
    }
    let letters = &text[1..];
    // `nice -5`.
    if wrapper.name == "nice" && letters.chars().all(|c| c.is_ascii_digit()) {
        return Some(1);
    }
    let short = |c: char, options: &[&str]| {
        options.iter().any(|option| option.len() == 2 && option.ends_with(c))
    };
    for (at, c) in letters.char_indices() {
        if short(c, wrapper.valued) {
            return Some(if at + c.len_utf8() == letters.len() { 2 } else { 1 });
        }
        if !short(c, wrapper.flags) {
            return None;
        }
    }
    Some(1)
}

fn shell_script(arguments: &[Word]) -> Runs {
    let mut at = 0;
    let mut takes_script = false;
    while let Some(word) = arguments.get(at) {
        let Some(text) = word.known() else { return Runs::Unknown };
        if !text.starts_with(['-', '+']) || text == "-" || text == "--" {
            break;
        }
        at += 1;
        match text.strip_prefix("--") {
            // fish and nu.
            Some("command" | "commands" | "init-command" | "execute") => takes_script = true,
            Some("rcfile" | "init-file") => at += 1,
            Some(_) => {}
            None => {
                takes_script |= text.contains('c');
                at += text.matches(['o', 'O']).count();
            }
        }
    }
    if arguments.get(at).and_then(Word::known) == Some("--") {
        at += 1;
    }
    match (takes_script, arguments.get(at).map(Word::known)) {
        (true, Some(Some(script))) => Runs::Script(script.to_owned()),
        (true, Some(None) | None) => Runs::Unknown,
        (false, _) => Runs::Nothing,
    }
}

fn joined(words: &[Word]) -> Runs {
    let texts: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    match texts {
        Some(texts) if texts.is_empty() => Runs::Nothing,
        Some(texts) => Runs::Script(texts.join(" ")),
        None => Runs::Unknown,
    }
}

fn find_commands(arguments: &[Word]) -> Runs {
    let mut commands = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let mut command: Vec<Word> = Vec::new();
        for word in words.by_ref() {
            // A `+` ends it only after `{}`.
            let after_braces = command.last().is_some_and(|last| last.text == "{}");
            if word.text == ";" || (word.text == "+" && after_braces) {
                break;
            }
            let filled_in = word.text.contains("{}");
            command.push(if filled_in { Word::dynamic(&*word.text) } else { word.clone() });
        }
        if !command.is_empty() {
            commands.push(command);
        }
    }
    if commands.is_empty() { Runs::Nothing } else { Runs::Commands(commands) }
}

fn ssh_command(arguments: &[Word]) -> Runs {
    let mut at = 0;
    while let Some(text) = arguments.get(at).and_then(Word::known) {
        if !text.starts_with('-') {
            break;
        }
        let takes_next = text.len() == 2 && "bcDeEFiIJlLmoOpQRSwWB".contains(&text[1..]);
        at += if takes_next { 2 } else { 1 };
    }
    joined(arguments.get(at + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        text.split(' ').map(Word::read).collect()
    }

    fn run_by(text: &str) -> String {
        match runs(&words(text)) {
            Runs::Nothing => "nothing".into(),
            Runs::Unknown => "unknown".into(),
            Runs::Script(script) => format!("script {script}"),
            Runs::Commands(commands) => commands
                .iter()
                .map(|words| {
                    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
                })
                .collect::<Vec<_>>()
                .join(" ; "),
        }
    }

    #[test]
    fn wrappers_give_the_command_they_run() {
        for (command, inner) in [
            ("ls -l", "nothing"),
            ("timeout 2 rm x", "rm x"),
            ("timeout -s KILL 2 rm x", "rm x"),
            ("timeout --signal=KILL -k5 2 rm x", "rm x"),
            ("timeout --what 2 rm x", "unknown"),
            ("env", "nothing"),
            ("env A=1 B=2 rm x", "rm x"),
            ("env -i -u HOME rm", "rm"),
            ("env -S rm", "unknown"),
            ("nice rm", "rm"),
            ("nice -n 5 rm", "rm"),
            ("nice -5 rm", "rm"),
            ("nohup rm x", "rm x"),
            ("stdbuf -oL rm", "rm"),
            ("stdbuf -o L rm", "rm"),
            ("command rm", "rm"),
            ("command -v rm", "nothing"),
            ("command -p rm", "rm"),
            ("builtin eval rm", "eval rm"),
            ("exec -a x rm", "rm"),
            ("xargs rm", "rm …"),
            ("xargs -0n1 rm", "rm …"),
            ("xargs -I{} rm {}", "unknown"),
            ("sudo -u root rm x", "rm x"),
            ("/usr/bin/env rm", "rm"),
            ("eval rm x", "script rm x"),
            ("trap rm EXIT", "script rm"),
            ("sh -c rm", "script rm"),
            ("bash -lc rm", "script rm"),
            ("bash -o pipefail -c rm", "script rm"),
            ("bash script.sh", "nothing"),
            ("find . -exec rm {} +", "rm {}"),
            ("find . -name x", "nothing"),
            ("ssh -p 22 h rm x", "script rm x"),
            ("watch rm", "unknown"),
        ] {
            assert_eq!(run_by(command), inner, "{command}");
        }
    }

    #[test]
    fn code_in_the_arguments_needs_an_exact_rule() {
        for command in [
            "sh -c ls",
            "bash",
            "bash -s",
            "bash -lc ls",
            "python -c x",
            "python3.12 -c x",
            "python3 -Ic x",
            "python",
            "python -",
            "perl -e x",
            "perl -ne x",
            "node --eval=x",
            "node -p x",
            "deno eval x",
            "ssh h",
            "ruby -e x",
            "exec ls",
            "watch ls",
            "busybox rm",
        ] {
            assert!(needs_exact_rule(&words(command)), "{command}");
        }
        for command in ["python x.py", "bash x.sh", "node x.js", "cargo test", "ls -e", "deno run"]
        {
            assert!(!needs_exact_rule(&words(command)), "{command}");
        }
    }
}
