//! What an allow rule with a wildcard lets run that its words do not show.
//!
//! Pure, and only text for the user: nothing is decided by it.

use super::pattern::{BashPattern, WildcardScope};
use super::programs;
use super::wrappers::{is_shell, is_wrapper};

/// What an allow rule lets run besides what it names, as the end of a sentence about the rule.
/// `None` where the rule's words say everything: it has no wildcard, or its wildcard covers only
/// what the table of programs knows.
pub fn meaning(rule: &str) -> Option<String> {
    let rule = rule.trim();
    if rule == "Bash" {
        return Some("allows every command, in every folder".into());
    }
    let pattern = rule.strip_prefix("Bash(")?.strip_suffix(')')?;
    let pattern = BashPattern::parse(pattern).ok()?;
    match pattern.leaves_open() {
        WildcardScope::Nothing => None,
        WildcardScope::Program => Some("allows any code through any program".into()),
        // A git rule also allows the repository's hooks and filters, and what its branches hold.
        // What a wrapper runs needs a rule of its own.
        WildcardScope::Arguments("git")
            if pattern.is_limited() && !programs::is_read_only_git(&pattern.beginning()) =>
        {
            let words = pattern.beginning();
            Some(format!("allows what the repository's hooks and filters run through {words}"))
        }
        WildcardScope::Arguments(_) if pattern.is_limited() => None,
        WildcardScope::Arguments(name) if is_wrapper(name) && !is_shell(name) && name != "find" => {
            None
        }
        WildcardScope::Arguments(_) => {
            Some(format!("allows any code through {}", pattern.beginning()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s36_a_wildcard_says_what_it_allows() {
        for (rule, means) in [
            ("Bash", Some("every command, in every folder")),
            ("Bash(*)", Some("any code through any program")),
            ("Bash(* install)", Some("any code through any program")),
            ("Bash(npm *)", Some("any code through npm")),
            ("Bash(npm:*)", Some("any code through npm")),
            ("Bash(npm run *)", Some("any code through npm run")),
            ("Bash(python3 *)", Some("any code through python3")),
            ("Bash(bash *)", Some("any code through bash")),
            ("Bash(git bisect *)", Some("any code through git bisect")),
            ("Bash(find . -delete *)", Some("any code through find . -delete")),
            ("Bash(sort -o *)", Some("any code through sort -o")),
            ("Bash(git *)", Some("what the repository's hooks and filters run through git")),
            (
                "Bash(git add *)",
                Some("what the repository's hooks and filters run through git add"),
            ),
            ("Bash(git log *)", None),
            ("Bash(find . -name *)", None),
            ("Bash(npm test)", None),
            ("Bash(ls *)", None),
            ("Bash(ls*)", None),
            ("Bash(timeout *)", None),
            ("Edit(src/**)", None),
            ("Bash(", None),
        ] {
            let means = means.map(|it| format!("allows {it}"));
            assert_eq!(meaning(rule), means, "{rule}");
        }
    }
}
