//! What git would run when it goes on with a rebase or a pick that was left, besides what it is itself.

use std::path::Path;

use super::read_regular;

/// The largest list of steps that is read, in bytes.
const LIMIT: u64 = 1 << 20;

/// The merge strategies that are a part of git. For any other it runs `git-merge-NAME`, and the name may
/// be a path.
const STRATEGIES: [&str; 6] = ["octopus", "ort", "ours", "recursive", "resolve", "subtree"];

/// The programs that were left to run in a repository, each as a line for the user; empty where there are
/// none. `None` where that cannot be read.
pub fn git_left_to_run(git_dir: &Path) -> Option<Vec<String>> {
    let mut left = Vec::new();
    let steps = text(&git_dir.join("rebase-merge/git-rebase-todo"))?;
    let is_command = |line: &&str| {
        let word = line.split_whitespace().next();
        matches!(word, Some("exec" | "x"))
    };
    left.extend(steps.lines().filter(is_command).map(|line| format!("step: {}", line.trim())));
    let strategy = git_dir.join("rebase-merge/strategy");
    if strategy.symlink_metadata().is_ok() {
        left.extend(foreign(text(&strategy)?.trim()));
    }
    // A configuration, in which a setting may stand behind its section.
    let options = text(&git_dir.join("sequencer/opts"))?.to_lowercase();
    let named = options.split("strategy").skip(1).filter(|behind| !behind.starts_with('-'));
    left.extend(named.filter_map(|behind| {
        let value = behind.trim_start().strip_prefix('=').unwrap_or(behind);
        foreign(value.lines().next().unwrap_or_default().trim())
    }));
    Some(left)
}

fn foreign(strategy: &str) -> Option<String> {
    let is_own = STRATEGIES.contains(&strategy);
    (!is_own).then(|| format!("merge strategy: {strategy}"))
}

/// The whole text; empty where there is no file.
fn text(path: &Path) -> Option<String> {
    let bytes = read_regular(path, LIMIT).ok()?.unwrap_or_default();
    let is_whole = (bytes.len() as u64) < LIMIT;
    is_whole.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn left(path: &str, text: &str) -> Option<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        git_left_to_run(folder.path())
    }

    #[test]
    fn commands_and_strategies_that_are_no_part_of_git_are_found() {
        let todo = "rebase-merge/git-rebase-todo";
        for (path, text, wanted) in [
            (todo, "pick 1 a\n# exec is a word\n", &[][..]),
            (todo, "pick 1 a\n  x touch y\nexec\tmake\n", &["step: x touch y", "step: exec\tmake"]),
            ("rebase-merge/strategy", "ort\n", &[]),
            ("rebase-merge/strategy", "x/evil\n", &["merge strategy: x/evil"]),
            ("rebase-merge/strategy", "", &["merge strategy: "]),
            ("sequencer/opts", "[options]\n\tstrategy = ours\n\tstrategy-option = x\n", &[]),
            ("sequencer/opts", "[options] Strategy= x/evil", &["merge strategy: x/evil"]),
            ("sequencer/opts", "[options]\n\tstrategy\n", &["merge strategy: "]),
            ("sequencer/opts", "[options]\nstrategy = \"ours\"\n", &["merge strategy: \"ours\""]),
        ] {
            assert_eq!(left(path, text).unwrap(), wanted, "{path} {text:?}");
        }
        assert_eq!(left(todo, &"\n".repeat(1 << 20)), None);
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(git_left_to_run(folder.path()), Some(Vec::new()));
        fs::create_dir_all(folder.path().join("rebase-merge")).unwrap();
        crate::domain::testing::make_fifo(&folder.path().join("rebase-merge/strategy"));
        assert_eq!(git_left_to_run(folder.path()), None);
    }
}
