//! What a dangerous command is about, as far as it is certain from its words: the files that it would
//! delete, the commits that it would send. Pure; whoever asks the user looks these up.
//!
//! Nothing is decided by it. A command of which anything is uncertain (an expansion, a loop, another
//! folder, an option that is not known here) has no targets: a wrong count is worse than none.

use std::path::PathBuf;

use super::query::PermissionQuery;
use super::shell::{AnalysisKind, CommandOrder, ShellWord, SimpleCommand, WrappedCommands};
use super::wrappers::base_name;

/// Something that can be counted before a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DangerTarget {
    /// Files and folders that are named.
    Paths { cwd: PathBuf, paths: Vec<PathBuf>, folders: FolderRemoval },
    /// The files that git neither tracks nor ignores, in this folder.
    UntrackedFiles { cwd: PathBuf },
    /// The commits of a branch (`None`: the current one) that a remote (`None`: the one that git
    /// pushes to by itself) does not have.
    UnpushedCommits { cwd: PathBuf, remote: Option<String>, branch: Option<String> },
}

/// What becomes of a folder that is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderRemoval {
    /// It goes with all that is in it.
    WithContents,
    /// It stays: `rm` without `-r` fails for it.
    Refused,
}

impl PermissionQuery {
    /// What the call's command would delete or send, where that is certain.
    pub fn danger_targets(&self) -> Vec<DangerTarget> {
        let mut runs = self.accesses.iter().filter_map(super::ResolvedAccess::run);
        let (Some(run), None) = (runs.next(), runs.next()) else { return Vec::new() };
        match run.analysis.kind {
            AnalysisKind::Static { .. } => targets(&run.analysis.commands, &run.cwd.real),
            AnalysisKind::NotStatic { .. } | AnalysisKind::NotAnalysable { .. } => Vec::new(),
        }
    }
}

fn targets(commands: &[SimpleCommand], cwd: &std::path::Path) -> Vec<DangerTarget> {
    let words = |command: &SimpleCommand| -> Option<Vec<String>> {
        let is_plain = command.inner == WrappedCommands::Nothing
            && command.order != CommandOrder::Nested
            && command.assignments.is_empty();
        let words = command.words.iter().map(|word| ShellWord::known(word).map(str::to_owned));
        is_plain.then(|| words.collect::<Option<Vec<_>>>()).flatten()
    };
    let Some(commands) = commands.iter().map(words).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let moves = |words: &Vec<String>| {
        matches!(words.first().map(|it| base_name(it)), Some("cd" | "pushd" | "popd"))
    };
    if commands.iter().any(moves) {
        return Vec::new();
    }
    commands.iter().filter_map(|words| target(words, cwd)).collect()
}

fn target(words: &[String], cwd: &std::path::Path) -> Option<DangerTarget> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (name, arguments) = words.split_first()?;
    let cwd = cwd.to_owned();
    match (base_name(name), arguments) {
        ("rm", arguments) => {
            let options = options(arguments);
            let is_recursive = |word: &&str| {
                *word == "--recursive" || is_letters(word, "rRfvI") && word.contains(['r', 'R'])
            };
            let is_known =
                |word: &&str| is_recursive(word) || *word == "--force" || is_letters(word, "fvI");
            let folders = match options.clone().any(|word| is_recursive(&word)) {
                true => FolderRemoval::WithContents,
                false => FolderRemoval::Refused,
            };
            let paths: Vec<PathBuf> = operands(arguments).map(|it| cwd.join(it)).collect();
            (!paths.is_empty() && options.clone().all(|word| is_known(&word)))
                .then_some(DangerTarget::Paths { cwd, paths, folders })
        }
        ("git", ["clean", options @ ..]) => {
            let has = |letter| options.iter().any(|word| word.contains(letter));
            (has('d') && has('f') && options.iter().all(|word| is_letters(word, "fdq")))
                .then_some(DangerTarget::UntrackedFiles { cwd })
        }
        ("git", ["push", rest @ ..]) => {
            let (options, operands): (Vec<&str>, Vec<&str>) =
                rest.iter().partition(|word| word.starts_with('-'));
            let known = ["-u", "--set-upstream", "-f", "--force", "--force-with-lease", "-q"];
            let is_plain = |word: &&str| {
                let is_name = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
                word.chars().all(is_name) && !word.contains("..")
            };
            let is_certain =
                options.iter().all(|it| known.contains(it)) && operands.iter().all(is_plain);
            let (remote, branch) = match operands[..] {
                _ if !is_certain => return None,
                [] => (None, None),
                [remote] => (Some(remote), None),
                [remote, "HEAD"] => (Some(remote), None),
                [remote, branch] => (Some(remote), Some(branch)),
                [_, _, _, ..] => return None,
            };
            let [remote, branch] = [remote, branch].map(|it| it.map(str::to_owned));
            Some(DangerTarget::UnpushedCommits { cwd, remote, branch })
        }
        (_, _) => None,
    }
}

/// Whether a word is a group of these one-letter options.
fn is_letters(word: &str, known: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|letters| !letters.is_empty() && letters.chars().all(|it| known.contains(it)))
}

/// The arguments in front of `--`, and those behind it.
fn halves<'a, 'b>(arguments: &'a [&'b str]) -> (&'a [&'b str], &'a [&'b str]) {
    let end = arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len());
    (&arguments[..end], arguments.get(end + 1..).unwrap_or_default())
}

fn options<'a>(arguments: &'a [&'a str]) -> impl Iterator<Item = &'a str> + Clone {
    halves(arguments).0.iter().copied().filter(|word| word.starts_with('-'))
}

/// The arguments that are no options.
fn operands<'a>(arguments: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let (before, behind) = halves(arguments);
    let before = before.iter().copied().filter(|word| !word.starts_with('-'));
    before.chain(behind.iter().copied())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::permissions::shell::analyse;

    fn of(command: &str) -> Vec<DangerTarget> {
        targets(&analyse(command).commands, Path::new("/w"))
    }

    #[test]
    fn what_is_certain_is_counted_and_nothing_else() {
        let cwd = PathBuf::from("/w");
        let paths = ["/w/build/", "/w/-x", "/tmp/a"].map(PathBuf::from).to_vec();
        let deleted = |paths, folders| DangerTarget::Paths { cwd: cwd.clone(), paths, folders };
        let whole = deleted(paths, FolderRemoval::WithContents);
        assert_eq!(of("rm -rf build/ -- -x /tmp/a"), [whole]);
        let file = deleted(vec!["/w/a".into()], FolderRemoval::Refused);
        assert_eq!(of("rm -f a"), [file]);
        assert_eq!(of("git clean -fd"), [DangerTarget::UntrackedFiles { cwd: cwd.clone() }]);
        let pushed = |remote: Option<&str>, branch: Option<&str>| DangerTarget::UnpushedCommits {
            cwd: cwd.clone(),
            remote: remote.map(str::to_owned),
            branch: branch.map(str::to_owned),
        };
        assert_eq!(of("git push"), [pushed(None, None)]);
        assert_eq!(of("git push -u up main"), [pushed(Some("up"), Some("main"))]);
        assert_eq!(of("make && git push --force up HEAD"), [pushed(Some("up"), None)]);
        for uncertain in [
            "rm -rf $X",
            "rm -rf *.o",
            "cd build && rm -rf .",
            "sudo rm -rf build",
            "rm -rf",
            "git clean -fdx",
            "rm -d build",
            "rm --no-preserve-root -rf build",
            "shred -n 3 a",
            "git clean -f",
            "git clean -d",
            "git clean -fd src",
            "git push origin main:other",
            "git push --all",
            "git push origin a b",
            "git push --mirror origin",
            "git push origin ../x",
        ] {
            assert_eq!(of(uncertain), [], "{uncertain}");
        }
    }
}
