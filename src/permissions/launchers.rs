//! Programs whose own arguments say that they run another: git, fd, and runners such as `docker
//! exec` and `poetry run`.
//!
//! Of runners only refusals profit: a wildcard that allows one is the person's own choice, while a
//! rule that refuses a command still finds its name behind them.

use super::words::Word;
use super::wrappers::{Runs, base_name};

/// Keys of git's configuration that name no program; those below a section end in a dot.
const HARMLESS_KEYS: &[&str] = &[
    "advice.",
    "branch.",
    "color.",
    "column.",
    "commit.gpgsign",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.quotepath",
    "diff.algorithm",
    "diff.colormoved",
    "fetch.prune",
    "http.postbuffer",
    "init.defaultbranch",
    "log.",
    "merge.conflictstyle",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "push.followtags",
    "rebase.autosquash",
    "rebase.autostash",
    "rerere.enabled",
    "user.email",
    "user.name",
    "user.signingkey",
];

/// Runners, and the words after which the command stands; without any it stands at once.
const RUNNERS: &[(&[&str], &[&str])] = &[
    (&["bunx", "nix-shell", "npx", "pnpx", "uvx", "pipx"], &[]),
    (&["bun", "npm", "pnpm", "yarn"], &["--", "dlx", "exec", "x"]),
    (&["bundle", "direnv", "mise", "asdf", "kubectl"], &["--", "exec", "x"]),
    (&["docker", "nerdctl", "podman"], &["exec", "run"]),
    (
        &[
            "conda",
            "doppler",
            "hatch",
            "micromamba",
            "nix",
            "op",
            "pdm",
            "pipenv",
            "poetry",
            "rye",
            "uv",
        ],
        &["--", "--command", "-c", "run"],
    ),
];

/// The words among which a runner's command is, the runner or the word before it first.
pub fn run_by_runner(words: &[Word]) -> Option<&[Word]> {
    let name = words.first().and_then(Word::known).map(base_name)?;
    let (_, marks) = RUNNERS.iter().find(|(names, _)| names.contains(&name))?;
    if marks.is_empty() {
        return Some(words);
    }
    let at = words.iter().position(|word| marks.contains(&word.text.as_str()))?;
    Some(&words[at..])
}

/// What git runs because its arguments say so.
pub fn git_scripts(arguments: &[Word]) -> Runs {
    let mut scripts: Vec<String> = set_values(arguments)
        .filter(|(key, _)| !is_harmless(key))
        .map(|(_, value)| value.trim_start_matches('!').to_owned())
        .collect();
    for (at, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        let rest = arguments.get(at + 1..).unwrap_or_default();
        let after = |first: &str| at > 0 && arguments[at - 1].text == first;
        if (text == "run" && after("bisect")) || (text == "foreach" && after("submodule")) {
            let words = rest.iter().skip_while(|word| word.text.starts_with('-'));
            let words: Vec<&str> = words.map(|word| word.text.as_str()).collect();
            scripts.push(words.join(" "));
        }
        let rebases = arguments.iter().any(|word| word.text == "rebase");
        if rebases && matches!(text, "-x" | "--exec") {
            scripts.extend(rest.first().map(|word| word.text.clone()));
        }
        if let Some(script) = text.strip_prefix("--exec=").filter(|_| rebases) {
            scripts.push(script.to_owned());
        }
    }
    scripts.retain(|script| !script.is_empty());
    if scripts.is_empty() { Runs::Nothing } else { Runs::Script(scripts.join("\n")) }
}

/// Whether git's arguments set what git itself runs.
pub fn sets_what_git_runs(arguments: &[Word]) -> bool {
    let names_place = |word: &Word| {
        word.text.starts_with("--exec-path=") || word.text.starts_with("--config-env")
    };
    arguments.iter().any(names_place) || set_values(arguments).any(|(key, _)| !is_harmless(key))
}

/// Whether git's arguments change its configuration for good, other than in what names no program.
pub fn configures_git(arguments: &[Word]) -> bool {
    let first = arguments.iter().find(|word| !word.text.starts_with('-'));
    if first.is_some_and(|word| matches!(word.text.as_str(), "clone" | "init")) {
        // Hooks come with it.
        return arguments.iter().any(|word| word.text.starts_with("--template"));
    }
    let Some(at) = arguments.iter().position(|word| word.text == "config") else { return false };
    let (options, rest): (Vec<&Word>, Vec<&Word>) =
        arguments[at + 1..].iter().partition(|word| word.text.starts_with('-'));
    let reads = options.iter().any(|word| {
        let text = word.text.as_str();
        text.starts_with("--get") || matches!(text, "-l" | "--list" | "--show-origin")
    });
    let verbs = ["get", "list", "set", "unset", "edit", "rename-section", "remove-section"];
    let verb = rest.first().map(|word| word.text.as_str()).filter(|text| verbs.contains(text));
    let from = usize::from(verb.is_some());
    let removes = |word: &&Word| word.text.starts_with("--unset") || word.text == "-e";
    let changes = match verb {
        Some("get" | "list") => false,
        Some(_) => true,
        None => rest.len() > 1 || options.iter().any(removes) || is_edited(&options),
    };
    // The value of an option, such as a file's name, may stand before the key.
    let key = rest[from..].iter().find(|word| word.text.contains('.'));
    let in_file = options.iter().any(|word| matches!(word.text.as_str(), "-f" | "--file"));
    changes && !reads && (in_file || !key.is_some_and(|key| is_harmless(&key.text)))
}

fn is_edited(options: &[&Word]) -> bool {
    let texts = ["--edit", "--rename-section", "--remove-section"];
    options.iter().any(|word| texts.contains(&word.text.as_str()))
}

/// What `fd --exec` runs.
pub fn fd_command(arguments: &[Word]) -> Runs {
    let is_exec =
        |word: &Word| matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
    let Some(at) = arguments.iter().position(is_exec) else { return Runs::Nothing };
    let words = arguments[at + 1..].iter().take_while(|word| word.text != ";");
    let mut command: Vec<Word> = words.cloned().collect();
    if command.is_empty() {
        return Runs::Nothing;
    }
    // The path that is found.
    command.push(Word::dynamic("…"));
    Runs::Commands(vec![command])
}

/// What `-c key=value` sets, which stands before git's subcommand.
fn set_values(arguments: &[Word]) -> impl Iterator<Item = (&str, &str)> {
    let options = arguments.iter().zip(arguments.iter().skip(1));
    options
        .filter(|(option, _)| option.text == "-c")
        .filter_map(|(_, value)| value.text.split_once('='))
}

fn is_harmless(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    HARMLESS_KEYS.iter().any(|known| {
        key == *known || (known.ends_with('.') && key.starts_with(known) && !key.contains("pager"))
    })
}
