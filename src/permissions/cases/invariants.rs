//! What holds for any command: an offered rule allows exactly its own command, and a deny rule
//! never loosens a decision.

use proptest::prelude::*;

use super::*;

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "make", "rm", "git", "push", "-f", "x y", "it's", "*", "a(b)", "\\", "\"", "", "é", "env",
        "A=1", "sh", "-c",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn an_offered_rule_allows_exactly_its_command(words in prop::collection::vec(word(), 1..5)) {
        let command: Vec<String> = words.iter().map(|word| crate::permissions::words::quote(word)).collect();
        let mut env = test_env();
        let decision = env.bash(&command.join(" "));
        prop_assert_eq!(decision.outcome(), Ask);
        if let [rule] = decision.allow_rules() {
            env.rules.add_session(RuleKind::Allow, rule, &env.workspace).unwrap();
            prop_assert_eq!(env.bash(&command.join(" ")).outcome(), Allow, "{}", rule);
            let longer = format!("{} more", command.join(" "));
            prop_assert_eq!(env.bash(&longer).outcome(), Ask, "{}", rule);
        }
    }

    #[test]
    fn a_deny_rule_never_loosens(
        command in prop::collection::vec(
            prop::sample::select(vec![
                "ls", "rm x", "git push", " && ", " ; ", " | ", "$(", ")", "env ", "sh -c 'ls'", "> f", "\n", "'",
            ]),
            1..8,
        ),
        rule in prop::sample::select(vec!["Bash(rm *)", "Bash(ls)", "Bash", "Edit(f)", "Read(**)", "Bash(*)"]),
        mode in prop::sample::select(PermissionMode::ALL.to_vec()),
    ) {
        let command = command.concat();
        let before = allow(["Bash(ls *)", "Bash(git *)", "Edit(**)"]).mode(mode);
        let severity = |outcome| match outcome { Allow => 0, Ask => 1, Deny => 2 };
        let loose = severity(before.bash(&command).outcome());
        let strict = severity(before.deny(rule).bash(&command).outcome());
        prop_assert!(strict >= loose);
    }
}
