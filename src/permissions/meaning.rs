//! What an allow rule with a wildcard lets run that its words do not show.
//!
//! Pure, and only words for the person: nothing is decided by it. The tables hold programs that
//! many projects use; one that is not in them may run others all the same.

use super::pattern::{BashPattern, Open};
use super::wrappers::runs_files;

const EVERYTHING: &str = "lets every command run without a question";
const ANY_PROGRAM: &str = "lets any program run, with any arguments";
const SCRIPTS: &str =
    "lets the project's scripts run anything: what they do can change at any time";
const FILES: &str = "lets any script file run, whatever is in it";
const OTHERS: &str = "lets it run any other program: some of its options or settings name one";

/// Programs that run what files of the project tell them to.
const RUNNERS: &[&str] = &[
    "ant",
    "bazel",
    "bundle",
    "bunx",
    "cabal",
    "cargo",
    "cmake",
    "composer",
    "dotnet",
    "gem",
    "gmake",
    "go",
    "gradle",
    "gradlew",
    "invoke",
    "jest",
    "just",
    "lerna",
    "make",
    "meson",
    "mix",
    "mocha",
    "mvn",
    "mvnw",
    "ninja",
    "nox",
    "npm",
    "npx",
    "nx",
    "pip",
    "pip3",
    "pipx",
    "pnpm",
    "pnpx",
    "poetry",
    "pre-commit",
    "pytest",
    "rake",
    "rspec",
    "sbt",
    "stack",
    "swift",
    "task",
    "tox",
    "turbo",
    "uv",
    "uvx",
    "vitest",
    "yarn",
    "zig",
];

/// Programs that run others where an option or their configuration says so.
const RUN_OTHERS: &[&str] = &[
    "ansible",
    "at",
    "awk",
    "crontab",
    "docker",
    "docker-compose",
    "emacs",
    "fd",
    "gawk",
    "gh",
    "git",
    "hg",
    "jj",
    "kubectl",
    "less",
    "man",
    "mawk",
    "nix",
    "nvim",
    "podman",
    "psql",
    "rg",
    "rsync",
    "sed",
    "sort",
    "sqlite3",
    "svn",
    "systemctl",
    "tar",
    "terraform",
    "tmux",
    "vi",
    "vim",
    "zip",
];

/// What an allow rule lets run besides what it names, as the end of a sentence about it. `None`
/// where its words say all there is to say.
pub fn meaning(rule: &str) -> Option<&'static str> {
    let rule = rule.trim();
    if rule == "Bash" {
        return Some(EVERYTHING);
    }
    let pattern = rule.strip_prefix("Bash(")?.strip_suffix(')')?;
    let pattern = BashPattern::parse(pattern).ok()?;
    match pattern.leaves_open() {
        Open::Nothing => None,
        Open::Program => Some(ANY_PROGRAM),
        Open::Arguments(name) if runs_files(name) => Some(FILES),
        Open::Arguments(name) if RUNNERS.contains(&name) => Some(SCRIPTS),
        Open::Arguments(name) if RUN_OTHERS.contains(&name) => Some(OTHERS),
        Open::Arguments(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s36_a_wildcard_on_a_runner_or_interpreter_says_what_it_means() {
        for (rule, means) in [
            ("Bash", Some(EVERYTHING)),
            ("Bash(*)", Some(ANY_PROGRAM)),
            ("Bash(* install)", Some(ANY_PROGRAM)),
            ("Bash(npm *)", Some(SCRIPTS)),
            ("Bash(npm:*)", Some(SCRIPTS)),
            ("Bash(npm run *)", Some(SCRIPTS)),
            ("Bash(/usr/bin/make *)", Some(SCRIPTS)),
            ("Bash(cargo test *)", Some(SCRIPTS)),
            ("Bash(go test *)", Some(SCRIPTS)),
            ("Bash(python *)", Some(FILES)),
            ("Bash(python3.12 *)", Some(FILES)),
            ("Bash(bash *)", Some(FILES)),
            ("Bash(node *)", Some(FILES)),
            ("Bash(git *)", Some(OTHERS)),
            ("Bash(npm test)", None),
            ("Bash(git status)", None),
            ("Bash(ls *)", None),
            ("Bash(ls*)", None),
            ("Bash(timeout *)", None),
            ("Edit(src/**)", None),
            ("Bash(", None),
        ] {
            assert_eq!(meaning(rule), means, "{rule}");
        }
    }
}
