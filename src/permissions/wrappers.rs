//! Commands that run other commands (wrappers), and builtins that evaluate their arguments.
//!
//! A wrapper whose options are not all known counts as running something unknown: no wildcard rule
//! allows it, and every word in it may be a command. Other programs that run programs are not
//! analysed: a rule that allows one of them allows any code.

use super::programs::assigns_by_format;
use super::words::ShellWord;

/// What a command runs besides itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrapperTarget {
    Nothing,
    /// One entry for each command.
    Commands(Vec<Vec<ShellWord>>),
    /// A text that a shell reads.
    Script(String),
    /// Something that the words do not tell.
    Unknown,
}

/// Builtins that evaluate a quoted argument or change what later words mean. No rule allows them
/// without a question.
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

/// Shells by name, without the digits that some systems add: `bash-5`, `ksh93`.
const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "elvish", "fish", "hush", "ksh", "lksh", "mksh", "nu", "oksh",
    "pdksh", "posh", "rbash", "rksh", "rzsh", "sash", "sh", "tcsh", "xonsh", "yash", "zsh",
];

struct CommandWrapper {
    name: &'static str,
    /// Options without a value; single letters may be clustered.
    flags: &'static [&'static str],
    /// Options with a value, glued or as the next word.
    valued: &'static [&'static str],
    /// The number of words before the command.
    operands: usize,
}

const WRAPPERS: &[CommandWrapper] = &[
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

/// Words that bash does not read as a command where one may begin.
pub const KEYWORDS: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while", "{", "}",
];

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    valued: &'static [&'static str],
    operands: usize,
) -> CommandWrapper {
    CommandWrapper { name, flags, valued, operands }
}

/// The last component of a command's name.
pub fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Finds what `words` run besides their own command.
pub fn wrapper_target(words: &[ShellWord]) -> WrapperTarget {
    let Some(name) = words.first().and_then(ShellWord::known).map(base_name) else {
        return WrapperTarget::Nothing;
    };
    let arguments = &words[1..];
    if is_shell(name) {
        return shell_script(arguments);
    }
    match name {
        "eval" => join_script(past_dashes(arguments)),
        "trap" => match past_dashes(arguments) {
            [script, _, ..] => match script.known() {
                Some(script) => WrapperTarget::Script(script.to_owned()),
                None => WrapperTarget::Unknown,
            },
            _ => WrapperTarget::Nothing,
        },
        "busybox" | "toybox" if !arguments.is_empty() => {
            WrapperTarget::Commands(vec![arguments.to_vec()])
        }
        "find" => find_commands(arguments),
        "fd" | "fdfind" => fd_command(arguments),
        "ssh" => ssh_command(arguments),
        "command"
            if arguments
                .first()
                .and_then(ShellWord::known)
                .is_some_and(|flag| matches!(flag, "-v" | "-V" | "-pv" | "-pV")) =>
        {
            WrapperTarget::Nothing
        }
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => parse_wrapper(wrapper, arguments),
            None => WrapperTarget::Nothing,
        },
    }
}

/// Why no rule at all may allow the command without a question; `None` where a rule may.
pub fn never_allowed(words: &[ShellWord]) -> Option<String> {
    let name = words.first().and_then(ShellWord::known)?;
    let has_flag = |letters: &str| {
        words[1..].iter().any(|word| {
            word.text.starts_with('-') && word.text.chars().any(|c| letters.contains(c))
        })
    };
    let why = match name {
        _ if NEVER_ALLOWED.contains(&name) => "can run its arguments or change later commands",
        "printf" if has_flag("v") && words[1].text.starts_with('-') => {
            "evaluates with `-v` the name that it is given"
        }
        "printf" if words[1..].iter().any(|word| assigns_by_format(&word.text)) => {
            "assigns to a variable by the `%n` in its format"
        }
        "test" | "[" if has_flag("vR") => "evaluates with `-v` the name that it is given",
        _ => return None,
    };
    Some(format!("`{name}` {why}"))
}

/// Whether the command gives what it reads from its input to a program as arguments.
pub fn passes_input_on(words: &[ShellWord]) -> bool {
    words.first().and_then(ShellWord::known).map(base_name) == Some("xargs")
}

/// Whether the command that is run stands among the options of the one that runs it. The options
/// before and behind it act, too, and `-execdir` starts the command in any folder.
pub fn runs_among_options(words: &[ShellWord]) -> bool {
    let name = words.first().and_then(ShellWord::known).map(base_name);
    matches!(name, Some("find" | "fd" | "fdfind"))
        && !matches!(wrapper_target(words), WrapperTarget::Nothing)
}

/// Whether only a rule with exactly these words may allow the command: it runs its arguments or its
/// standard input as a shell would, or does more than that.
pub fn needs_exact_rule(words: &[ShellWord]) -> bool {
    let Some(name) = words.first().and_then(ShellWord::known).map(base_name) else { return true };
    if runs_among_options(words) {
        return true;
    }
    let arguments = &words[1..];
    if is_shell(name) {
        // A script file is the user's own choice; `-c`, `-s` and standard input are not.
        return arguments.first().is_none_or(|first| first.text.starts_with(['-', '+']));
    }
    if matches!(name, "ssh" | "exec" | "busybox" | "toybox") {
        return true;
    }
    // An assignment can make any program run another one.
    let assigns = |word: &ShellWord| !word.text.starts_with('-') && word.text.contains('=');
    matches!(name, "env" | "sudo" | "doas") && arguments.iter().any(assigns)
}

/// Whether the name is that of a shell, a version at its end aside.
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&stem(name))
}

/// A program's name without its version.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))
}

/// The arguments of a builtin that takes no options, without a leading `--`.
fn past_dashes(arguments: &[ShellWord]) -> &[ShellWord] {
    match arguments.split_first() {
        Some((first, rest)) if first.known() == Some("--") => rest,
        Some(_) | None => arguments,
    }
}

/// Whether the arguments of the command name further commands: `git push`, `npm run`. A deny rule
/// on such a command names the subcommand, too.
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

/// Whether a word of text that does not parse can stand before a command: a keyword, a wrapper, an
/// option, an assignment or a number.
pub fn may_lead(word: &str) -> bool {
    KEYWORDS.contains(&word)
        || is_wrapper(word)
        || word.starts_with('-')
        || word.contains('=')
        || word.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a word names a command that runs another one.
pub fn is_wrapper(word: &str) -> bool {
    let name = base_name(word);
    WRAPPERS.iter().any(|wrapper| wrapper.name == name)
        || is_shell(name)
        || matches!(name, "busybox" | "eval" | "find" | "ssh" | "toybox" | "trap")
}

fn parse_wrapper(wrapper: &CommandWrapper, arguments: &[ShellWord]) -> WrapperTarget {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let Some(text) = word.known() else { return WrapperTarget::Unknown };
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
                None => return WrapperTarget::Unknown,
            }
        }
    }
    at += wrapper.operands;
    if wrapper.name == "env" {
        while arguments.get(at).and_then(ShellWord::known).is_some_and(|text| text.contains('=')) {
            at += 1;
        }
    }
    let mut command = arguments.get(at..).unwrap_or_default().to_vec();
    if command.is_empty() {
        return WrapperTarget::Nothing;
    }
    if let Some(placeholder) = xargs_placeholder(wrapper, &arguments[..at]) {
        for word in command.iter_mut().filter(|word| word.text.contains(&placeholder)) {
            *word = ShellWord::dynamic(word.text.replace(&placeholder, "${…}"));
        }
    }
    if wrapper.name == "xargs" {
        command.push(ShellWord::dynamic("…"));
    }
    WrapperTarget::Commands(vec![command])
}

/// The placeholder that `xargs -I` replaces with what it reads.
fn xargs_placeholder(wrapper: &CommandWrapper, options: &[ShellWord]) -> Option<String> {
    let at = options.iter().position(|word| word.text.starts_with("-I"))?;
    let glued = options[at].text[2..].to_owned();
    let placeholder = if glued.is_empty() { options.get(at + 1)?.text.clone() } else { glued };
    (wrapper.name == "xargs" && !placeholder.is_empty()).then_some(placeholder)
}

/// The number of words that an option takes, itself included; `None` when the option is not known.
fn option_length(wrapper: &CommandWrapper, text: &str) -> Option<usize> {
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

fn shell_script(arguments: &[ShellWord]) -> WrapperTarget {
    let mut at = 0;
    let mut takes_script = false;
    while let Some(word) = arguments.get(at) {
        let Some(text) = word.known() else { return WrapperTarget::Unknown };
        if !text.starts_with(['-', '+']) || text == "-" || text == "--" {
            break;
        }
        at += 1;
        match text.strip_prefix("--") {
            // Long options of fish and nu.
            Some("command" | "commands" | "init-command" | "execute") => takes_script = true,
            Some("rcfile" | "init-file") => at += 1,
            Some(_) => {}
            None => {
                takes_script |= text.contains('c');
                at += text.matches(['o', 'O']).count();
            }
        }
    }
    if arguments.get(at).and_then(ShellWord::known) == Some("--") {
        at += 1;
    }
    match (takes_script, arguments.get(at).map(ShellWord::known)) {
        (true, Some(Some(script))) => WrapperTarget::Script(script.to_owned()),
        (true, Some(None) | None) => WrapperTarget::Unknown,
        (false, _) => WrapperTarget::Nothing,
    }
}

fn join_script(words: &[ShellWord]) -> WrapperTarget {
    let texts: Option<Vec<&str>> = words.iter().map(ShellWord::known).collect();
    match texts {
        Some(texts) if texts.is_empty() => WrapperTarget::Nothing,
        Some(texts) => WrapperTarget::Script(texts.join(" ")),
        None => WrapperTarget::Unknown,
    }
}

fn find_commands(arguments: &[ShellWord]) -> WrapperTarget {
    let mut commands = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let mut command: Vec<ShellWord> = Vec::new();
        for word in words.by_ref() {
            // `-exec` ends at a `+` only behind `{}`.
            let after_braces = command.last().is_some_and(|last| last.text == "{}");
            if word.text == ";" || (word.text == "+" && after_braces) {
                break;
            }
            let filled_in = word.text.contains("{}");
            command.push(if filled_in { ShellWord::dynamic(&*word.text) } else { word.clone() });
        }
        if !command.is_empty() {
            commands.push(command);
        }
    }
    if commands.is_empty() { WrapperTarget::Nothing } else { WrapperTarget::Commands(commands) }
}

/// The commands that `fd --exec` runs, in each way in which its options could be meant.
fn fd_command(arguments: &[ShellWord]) -> WrapperTarget {
    let mut commands = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let glued = match word.text.strip_prefix("--e") {
            Some(long) => long.split_once('=').map_or("", |(_, name)| name),
            None if word.text.starts_with('-') => {
                let Some((_, rest)) = word.text.split_once(['x', 'X']) else { continue };
                rest
            }
            None => continue,
        };
        let behind = arguments[at + 1..].iter().take_while(|word| word.text != ";").cloned();
        let mut command: Vec<ShellWord> = behind.collect();
        if !glued.is_empty() {
            command.insert(0, ShellWord { text: glued.to_owned(), ..word.clone() });
        }
        if !command.is_empty() {
            // fd adds the path that it found.
            command.push(ShellWord::dynamic("…"));
            commands.push(command);
        }
    }
    if commands.is_empty() { WrapperTarget::Nothing } else { WrapperTarget::Commands(commands) }
}

fn ssh_command(arguments: &[ShellWord]) -> WrapperTarget {
    let mut at = 0;
    while let Some(text) = arguments.get(at).and_then(ShellWord::known) {
        if !text.starts_with('-') {
            break;
        }
        let takes_next = text.len() == 2 && "bcDeEFiIJlLmoOpQRSwWB".contains(&text[1..]);
        at += if takes_next { 2 } else { 1 };
    }
    join_script(arguments.get(at + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<ShellWord> {
        text.split(' ').map(ShellWord::read).collect()
    }

    fn run_by(text: &str) -> String {
        match wrapper_target(&words(text)) {
            WrapperTarget::Nothing => "nothing".into(),
            WrapperTarget::Unknown => "unknown".into(),
            WrapperTarget::Script(script) => format!("script {script}"),
            WrapperTarget::Commands(commands) => commands
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
            ("watch rm", "nothing"),
            ("fd -x rm", "rm …"),
            ("fd -Hx rm", "rm …"),
            ("fd -xrm", "rm …"),
            ("fd --exec=rm", "rm …"),
            ("fd --exec-batch=rm", "rm …"),
            ("fd -x ls ; --exec rm", "ls … ; rm …"),
        ] {
            assert_eq!(run_by(command), inner, "{command}");
        }
    }

    #[test]
    fn code_for_a_shell_needs_an_exact_rule() {
        for command in [
            "sh -c ls",
            "bash",
            "bash -s",
            "bash -lc ls",
            "ssh h",
            "exec ls",
            "busybox rm",
            "env A=1 ls",
            "find . -exec ls ;",
            "fd -x ls",
        ] {
            assert!(needs_exact_rule(&words(command)), "{command}");
        }
        for command in [
            "python -c x",
            "bash x.sh",
            "node x.js",
            "cargo test",
            "env -i ls",
            "watch ls",
            "find . -name x",
            "fd x",
        ] {
            assert!(!needs_exact_rule(&words(command)), "{command}");
        }
    }
}
