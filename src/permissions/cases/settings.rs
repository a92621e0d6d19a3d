//! Settings files: reading them, and changing their rules.

use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use crate::domain::RuleSource;
use crate::permissions::PermissionTestReport;
use crate::permissions::store::{self, ProjectSettingsTrust, RuleEdit, SettingsFiles};

use super::*;

#[test]
fn bad_rules_are_reported_with_their_line_and_the_others_hold() {
    let env = test_env();
    let mut rules = RuleSet::new();
    let text = r#"{
  "hooks": {"x": ["Bash(rm *"]},
  "permissions": {
    "allow": ["Bash(ls *)", 3, "Bash(ls",
      "Bash()", "Ba sh", "WebFetch(x)", "Edit(../x)", "Edit([)"],
    "denied": [], "ask": "Bash"
  }
}"#;
    rules.add_settings(text, Path::new("/s.json"), &env.workspace);
    let found: Vec<_> = rules.warnings().iter().map(|warning| warning.line).collect();
    assert_eq!(
        found,
        [Some(4), Some(4), Some(5), Some(5), Some(5), Some(5), Some(5), Some(6), Some(6)]
    );
    assert_eq!(rules.faults().len(), found.len());
    let sources: Vec<&RuleSource> = rules.sources().collect();
    assert_eq!(sources.len(), 1);
    assert_eq!((sources[0].line, sources[0].rule.as_str()), (Some(4), "Bash(ls *)"));
    assert!(rules.warnings()[1].to_string().starts_with("/s.json:4: `Bash(ls` is not a rule"));
    let mut rules = RuleSet::new();
    rules.add_settings("{\n\"permissions\": [}", Path::new("/s.json"), &env.workspace);
    assert_eq!(rules.warnings()[0].line, Some(2));
}

#[test]
fn a_pattern_of_absurd_length_is_no_rule_and_none_below_fails_later() {
    let env = test_env();
    let check = |length: usize| {
        let rule = format!("Read(/{})", "?{a,[b-y]}*".repeat(length));
        RuleSet::check(&rule, RuleKind::Deny, &env.workspace).map(|()| rule)
    };
    assert!(check(1_000).unwrap_err().to_string().contains("longer than"));
    let mut rules = RuleSet::new();
    rules.add_session(RuleKind::Deny, &check(350).unwrap(), &env.workspace).unwrap();
    assert!(!rules.hides("Grep", Path::new("/elsewhere")));
}

#[test]
fn settings_are_read_in_order_and_the_projects_only_when_trusted() {
    let env = test_env();
    let root = env.workspace.root().to_owned();
    let home = env.workspace.slug_home().to_owned();
    for (file, rule) in [
        (home.join("settings.json"), "Bash(a)"),
        (root.join(".slug/settings.json"), "Bash(b)"),
        (root.join(".slug/settings.local.json"), "Bash(c)"),
    ] {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!(r#"{{"permissions":{{"allow":["{rule}"]}}}}"#)).unwrap();
    }
    let rules = |project| -> Vec<String> {
        store::load(&env.workspace, project).sources().map(|source| source.rule.clone()).collect()
    };
    assert_eq!(rules(ProjectSettingsTrust::Trusted), ["Bash(a)", "Bash(b)", "Bash(c)"]);
    assert_eq!(rules(ProjectSettingsTrust::Untrusted), ["Bash(a)"]);
}

/// Changes a rule of one of the files that count in a trusted project.
fn change(
    env: &PermissionTestEnv,
    file: &Path,
    edit: &RuleEdit,
) -> Result<(), store::RuleSaveError> {
    let mut settings = SettingsFiles::read(&env.workspace, ProjectSettingsTrust::Trusted);
    settings.change(file, edit, |_| false).map(|_| ())
}

fn rule(text: &str) -> store::RuleEntry {
    (RuleKind::Allow, text.to_owned())
}

/// Writes the project's settings file, and gives its path.
fn with_text(env: &PermissionTestEnv, text: &str) -> PathBuf {
    let file = store::rule_file(&env.workspace, ProjectSettingsTrust::Trusted).0;
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    file
}

fn flat(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap().split_whitespace().collect()
}

#[test]
fn saving_a_rule_keeps_the_rest_of_the_file() {
    let env = test_env();
    let before = r#"{"z":1,"permissions":{"deny":["Bash(rm *)"],"x":2},"hooks":{"b":1,"a":2}}"#;
    let file = with_text(&env, before);
    for _ in 0..2 {
        change(&env, &file, &RuleEdit::Add(rule("Bash(ls)"))).unwrap();
    }
    assert_eq!(
        flat(&file),
        r#"{"z":1,"permissions":{"deny":["Bash(rm*)"],"x":2,"allow":["Bash(ls)"]},"hooks":{"b":1,"a":2}}"#
    );
}

#[test]
fn a_rule_is_removed_and_replaced_where_it_stands() {
    let env = test_env();
    let before =
        r#"{"permissions":{"allow":["Bash(a)","Bash(b)","Bash(c)"],"deny":["Bash(d)"]},"z":1}"#;
    let file = with_text(&env, before);
    change(&env, &file, &RuleEdit::Remove(rule("Bash(a)"))).unwrap();
    let to = rule("Bash(b *)");
    change(&env, &file, &RuleEdit::Replace { from: rule("Bash(b)"), to }).unwrap();
    let to = (RuleKind::Deny, "Bash(c)".to_owned());
    change(&env, &file, &RuleEdit::Replace { from: rule("Bash(c)"), to }).unwrap();
    assert_eq!(
        flat(&file),
        r#"{"permissions":{"allow":["Bash(b*)"],"deny":["Bash(d)","Bash(c)"]},"z":1}"#
    );
    let error = change(&env, &file, &RuleEdit::Remove(rule("Bash(a)"))).unwrap_err();
    assert!(error.to_string().contains("no longer in"), "{error}");
}

#[test]
fn only_the_files_that_count_are_changed() {
    let env = test_env();
    let file = env.path("package.json");
    std::fs::write(&file, "{}").unwrap();
    assert!(change(&env, &file, &RuleEdit::Add(rule("Bash(a)"))).is_err());
    assert_eq!(flat(&file), "{}");
}

#[test]
fn no_rule_is_saved_through_a_folder_that_is_a_link() {
    let env = test_env();
    let elsewhere = env.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let _ = std::fs::remove_dir_all(env.path(".slug"));
    std::os::unix::fs::symlink(&elsewhere, env.path(".slug")).unwrap();
    for name in ["settings.json", "settings.local.json"] {
        let file = env.workspace.root().join(".slug").join(name);
        let error = change(&env, &file, &RuleEdit::Add(rule("Bash(a)"))).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
    }
    assert_eq!(elsewhere.read_dir().unwrap().count(), 0);
}

#[test]
fn foreign_changes_of_a_projects_file_do_not_come_in_with_a_saved_rule() {
    let env = test_env();
    let file = with_text(&env, r#"{"permissions":{"allow":["Bash(a)"]}}"#);
    let mut settings = SettingsFiles::read(&env.workspace, ProjectSettingsTrust::Trusted);
    let foreign = r#"{"permissions":{"allow":["Bash"]}}"#;
    std::fs::write(&file, foreign).unwrap();
    let edit = RuleEdit::Add(rule("Bash(b)"));
    let error = settings.change(&file, &edit, |_| false).unwrap_err();
    assert!(error.to_string().contains("changed since slug read it"), "{error}");
    settings.refresh();
    let own = env.workspace.slug_home().join("settings.json");
    settings.change(&own, &edit, |_| false).unwrap();
    let rules = settings.rules(&env.workspace);
    let rules: Vec<&str> = rules.sources().map(|source| source.rule.as_str()).collect();
    assert_eq!(rules, ["Bash(b)", "Bash(a)"]);
    settings.change(&file, &edit, |text| text == foreign).unwrap();
    assert_eq!(settings.rules(&env.workspace).sources().count(), 3);
}

#[cfg(unix)]
#[test]
fn a_saved_file_is_private_and_a_broken_one_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let env = test_env();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = store::rule_file(&env.workspace, ProjectSettingsTrust::Untrusted).0;
    change(&env, &file, &RuleEdit::Add(rule("Bash(a)"))).unwrap();
    assert_eq!((mode(&file), mode(env.workspace.slug_home())), (0o600, 0o700));
    std::fs::write(&file, "{").unwrap();
    let error = change(&env, &file, &RuleEdit::Add(rule("Bash(b)"))).unwrap_err();
    assert!(error.to_string().contains("Repair it"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
}

#[test]
fn a_report_has_the_documented_shape() {
    let decision = allow(["Bash(ls *)"]).bash("ls && rm x");
    let report = serde_json::to_value(PermissionTestReport::from(&decision)).unwrap();
    assert_eq!(
        report,
        json!({
            "decision": "ask",
            "reason": "No rule allows this command.",
            "rule": null,
            "commands": [
                {"text": "ls", "decision": "allow",
                 "rule": {"rule": "Bash(ls *)", "kind": "allow", "file": null, "line": null}},
                {"text": "rm x", "decision": "ask", "rule": null},
            ],
        })
    );
}

/// The outcomes of a table of calls under the rules of a text, in each mode.
fn outcomes(env: &PermissionTestEnv, text: &str) -> Vec<PermissionOutcome> {
    let mut rules = RuleSet::new();
    rules.add_settings(text, Path::new("/s.json"), &env.workspace);
    let cwd = env.workspace.root().to_owned();
    let run = |command: &str| ("Bash", vec![ToolAccess::foreground(command, cwd.clone())]);
    let calls = [
        run("ls src"),
        run("rm x"),
        run("cat .env"),
        ("Read", vec![ToolAccess::Read(env.path("src/a"))]),
        ("Read", vec![ToolAccess::Read(env.path(".env"))]),
        ("Write", vec![ToolAccess::Write(env.path("src/a"))]),
        ("TodoWrite", vec![]),
    ];
    let queries = calls.map(|(tool, accesses)| env.query(tool, &accesses));
    let modes = [
        PermissionMode::Ask,
        PermissionMode::AllowEdits,
        PermissionMode::Plan,
        PermissionMode::Sandbox,
        PermissionMode::Yolo,
    ];
    let decide = |(mode, query)| decide(query, &rules, mode, &env.workspace).outcome();
    modes.iter().flat_map(|mode| queries.iter().map(move |it| (*mode, it))).map(decide).collect()
}

fn is_no_looser(than: &[PermissionOutcome], outcomes: &[PermissionOutcome]) -> bool {
    let is_allowed = |outcome: &PermissionOutcome| *outcome == Allow;
    than.iter().zip(outcomes).all(|(than, now)| is_allowed(than) || !is_allowed(now))
}

fn any_settings() -> impl Strategy<Value = String> {
    let rule = prop::sample::select(vec![
        "Bash",
        "Bash(ls *)",
        "Bash(rm *)",
        "Read",
        "Read(.env)",
        "Edit",
        "Edit(src/**)",
        "TodoWrite",
    ]);
    let kind = prop::sample::select(vec!["allow", "ask", "deny"]);
    let lists = prop::collection::btree_map(kind, prop::collection::vec(rule, 0..4), 0..4);
    (lists, any::<bool>()).prop_map(|(lists, is_first)| match is_first {
        true => format!("{:#}", json!({"permissions": lists, "hooks": {}})),
        false => format!("// mine\n{:#}\n", json!({"model": "m", "permissions": lists})),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_settings_file_that_is_cut_anywhere_is_no_looser(
        text in any_settings(),
        at in any::<prop::sample::Index>(),
    ) {
        let env = test_env();
        let cut = &text[..at.index(text.len())];
        let (whole, rest) = (outcomes(&env, &text), outcomes(&env, cut));
        prop_assert!(is_no_looser(&whole, &rest), "{cut}\n{whole:?}\n{rest:?}");
    }

    #[test]
    fn a_settings_file_with_a_part_twice_is_no_looser(
        text in any_settings(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        into in any::<prop::sample::Index>(),
    ) {
        let env = test_env();
        let text = text.replace("// mine\n", "");
        let (from, to) = (from.index(text.len()), to.index(text.len()));
        let into = into.index(text.len());
        // Rules inside a comment are removed on purpose, as far as slug can tell.
        let piece = text[from.min(to)..from.max(to)].split('/').next().unwrap_or_default();
        let doubled = format!("{}{piece}{}", &text[..into], &text[into..]);
        // Rules that are added as a whole count as rules; the test is that none is lost.
        let restricts = |text: &str| {
            let mut rules = RuleSet::new();
            rules.add_settings(text, Path::new("/s.json"), &env.workspace);
            let kinds = rules.sources().filter(|rule| rule.kind != RuleKind::Allow);
            (kinds.count(), !rules.faults().is_empty())
        };
        let ((before, _), (after, is_closed)) = (restricts(&text), restricts(&doubled));
        prop_assert!(is_closed || after >= before, "{doubled}");
    }

    #[test]
    fn a_misspelled_key_fails_closed(
        key in prop::sample::select(vec!["permissions", "deny", "allow", "ask"]),
        at in any::<prop::sample::Index>(),
        change in prop::sample::select(vec!["", "x", "S"]),
    ) {
        let env = test_env();
        let at = at.index(key.len());
        let wrong = format!("{}{change}{}", &key[..at], &key[at + 1..]);
        let settings = json!({"permissions": {"deny": ["Read"], "ask": ["Bash"], "allow": ["Edit"]}});
        let text = settings.to_string().replace(&format!("\"{key}\""), &format!("\"{wrong}\""));
        let found = outcomes(&env, &text);
        prop_assert!(!found.contains(&Allow), "{text}: {found:?}");
    }
}

#[test]
fn unreadable_prohibitions_fail_closed_with_file_and_line() {
    let env = test_env();
    for (text, line, part) in [
        ("", 1, "empty"),
        ("{\n\"permissions\": {\n\"deny\": [\"Read\"", 3, "unterminated"),
        ("{\"permissions\": {\"deny\": [\"Read\"],\n\"deny\": []}}", 2, "`deny` is here twice"),
        ("{\"permissions\": {},\n\n\"permissions\": {}}", 3, "`permissions` is here twice"),
        ("{\n\"permision\": {\"deny\": [\"Read\"]}}", 2, "write `permissions`"),
        ("{\n\"Permissions\": {\"deny\": [\"Read\"]}}", 2, "write `permissions`"),
        ("{\n\"deny\": [\"Read\"]}", 2, "outside `permissions`"),
        ("{\n\"rules\": {\"deny\": [\"Read\"]}}", 2, "write `permissions`"),
        ("{\"permissions\": {\n\"denied\": []}}", 2, "`permissions.denied`"),
        ("{\"permissions\": {\n\"deny\": \"Read\"}}", 2, "not a list"),
        ("{\"permissions\": {\"deny\": [\n3]}}", 2, "a rule is a string"),
        ("{\"permissions\": {\"deny\": [\n\"Read(.env\"]}}", 2, "parenthesis"),
        ("{\n\"permissions\": null}", 2, "not an object"),
        ("{\n\"hooks\": null}", 2, "neither a list nor an object"),
        ("{\n\"hooks\": \"x\"}", 2, "neither a list nor an object"),
        ("[]", 1, "not an object"),
    ] {
        assert!(!outcomes(&env, text).contains(&Allow), "{text}");
        let mut rules = RuleSet::new();
        rules.add_settings(text, Path::new("/s.json"), &env.workspace);
        let fault = rules.faults()[0].to_string();
        assert!(fault.starts_with(&format!("/s.json:{line}: ")) && fault.contains(part), "{fault}");
        assert!(fault.ends_with('.'), "{fault}");
    }
    for text in
        ["{}", "{\"model\": 1, \"env\": {}}", "\u{feff}// x\n{\"permissions\": {\"allow\": [],},}"]
    {
        let mut rules = RuleSet::new();
        rules.add_settings(text, Path::new("/s.json"), &env.workspace);
        assert_eq!(rules.warnings(), [], "{text}");
        assert!(outcomes(&env, text).contains(&Allow), "{text}");
    }
}

#[test]
fn an_unreadable_file_fails_closed_and_is_not_written() {
    let env = test_env();
    let file = store::rule_file(&env.workspace, ProjectSettingsTrust::Untrusted).0;
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let faults = || {
        let rules = store::load(&env.workspace, ProjectSettingsTrust::Untrusted);
        rules.faults().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    std::fs::write(&file, "{\"permissions\": {\"allow\": [\"Bash\"]}}").unwrap();
    assert_eq!(faults(), [""; 0]);
    // Only root can give a file to another user.
    if std::os::unix::fs::chown(&file, Some(12_345), None).is_ok() {
        assert!(faults()[0].contains("belongs to another user (uid 12345)"), "{:?}", faults());
        let rules = store::load(&env.workspace, ProjectSettingsTrust::Untrusted);
        assert_eq!(rules.sources().count(), 0);
        std::fs::remove_file(&file).unwrap();
    }
    for bytes in [&b"\xff\xfe"[..], b"{}\0"] {
        std::fs::write(&file, bytes).unwrap();
        assert!(faults()[0].contains("is not UTF-8 text"), "{:?}", faults());
        let error = change(&env, &file, &RuleEdit::Add(rule("Bash(a)"))).unwrap_err();
        assert!(error.to_string().contains("not UTF-8 text"), "{error}");
    }
    std::fs::remove_file(&file).unwrap();
    crate::domain::testing::make_fifo(&file);
    assert!(faults()[0].contains("is not a regular file"), "{:?}", faults());
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(faults()[0].contains("is not a regular file"), "{:?}", faults());
}

/// A rule that is shown as in force holds.
#[test]
fn a_rule_names_a_tool_in_any_case_and_by_each_of_its_names() {
    for (rule, tool) in [
        ("bash", "Bash"),
        ("edit(locked)", "Edit"),
        ("MultiEdit(locked)", "Edit"),
        ("multi_edit(locked)", "Edit"),
        ("web-fetch", "WebFetch"),
        ("mcp__p", "mcp__p__probe"),
        ("mcp__p__*", "mcp__p__probe"),
    ] {
        let env = deny([rule]);
        let access = match tool {
            "Bash" => ToolAccess::foreground("ls", env.path("")),
            "Edit" => ToolAccess::Write(env.path("locked")),
            "WebFetch" => ToolAccess::Fetch { url: "https://example.org/".into() },
            _ => ToolAccess::Nothing,
        };
        assert_eq!(env.decide(tool, &[access]).outcome(), Deny, "{rule}");
    }
    let env = deny(["mcp__p"]);
    assert_eq!(env.decide("mcp__pp__x", &[ToolAccess::Nothing]).outcome(), Allow);
}
