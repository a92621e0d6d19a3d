//! Settings files: reading them, and changing their rules.

use std::path::Path;

use serde_json::json;

use crate::domain::RuleSource;
use crate::permissions::TestReport;
use crate::permissions::store::{self, ProjectFiles, RuleEdit, Settings};

use super::*;

#[test]
fn bad_rules_are_warnings_and_spoil_nothing() {
    let scene = scene();
    let mut rules = RuleSet::new();
    let text = r#"{
  "hooks": {"x": ["Bash(rm *"]},
  "permissions": {
    "allow": ["Bash(ls *)", 3, "Bash(ls",
      "Bash()", "Ba sh", "WebFetch(domain:x)", "Edit(../x)", "Edit([)"],
    "denied": [], "ask": "Bash"
  }
}"#;
    rules.add_settings(text, Path::new("/s.json"), &scene.workspace);
    let found: Vec<_> = rules.warnings().iter().map(|warning| warning.line).collect();
    assert_eq!(found, [Some(4), Some(4), Some(5), Some(5), Some(5), Some(5), Some(5), None, None]);
    let sources: Vec<&RuleSource> = rules.sources().collect();
    assert_eq!(sources.len(), 1);
    assert_eq!((sources[0].line, sources[0].rule.as_str()), (Some(4), "Bash(ls *)"));
    assert!(rules.warnings()[1].to_string().starts_with("/s.json:4: `Bash(ls` is not a rule"));
    let mut rules = RuleSet::new();
    rules.add_settings("{\n\"permissions\": [}", Path::new("/s.json"), &scene.workspace);
    assert_eq!(rules.warnings()[0].line, Some(2));
}

#[test]
fn a_pattern_of_absurd_length_is_no_rule_and_none_below_fails_later() {
    let scene = scene();
    let check = |length: usize| {
        let rule = format!("Read(/{})", "?{a,[b-y]}*".repeat(length));
        RuleSet::check(&rule, RuleKind::Deny, &scene.workspace).map(|()| rule)
    };
    assert!(check(1_000).unwrap_err().to_string().contains("longer than"));
    let mut rules = RuleSet::new();
    rules.add_session(RuleKind::Deny, &check(350).unwrap(), &scene.workspace).unwrap();
    assert!(!rules.hides(Path::new("/elsewhere")));
}

#[test]
fn settings_are_read_in_order_and_the_projects_only_when_trusted() {
    let scene = scene();
    let root = scene.workspace.root().to_owned();
    let home = scene.workspace.slug_home().to_owned();
    for (file, rule) in [
        (home.join("settings.json"), "Bash(a)"),
        (root.join(".slug/settings.json"), "Bash(b)"),
        (root.join(".slug/settings.local.json"), "Bash(c)"),
    ] {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!(r#"{{"permissions":{{"allow":["{rule}"]}}}}"#)).unwrap();
    }
    let rules = |project| -> Vec<String> {
        store::load(&scene.workspace, project).sources().map(|source| source.rule.clone()).collect()
    };
    assert_eq!(rules(ProjectFiles::Trusted), ["Bash(a)", "Bash(b)", "Bash(c)"]);
    assert_eq!(rules(ProjectFiles::Untrusted), ["Bash(a)"]);
}

/// Changes a rule of one of the files that count in a trusted project.
fn change(scene: &Scene, file: &Path, edit: &RuleEdit) -> Result<(), store::SaveError> {
    let mut settings = Settings::read(&scene.workspace, ProjectFiles::Trusted);
    settings.change(file, edit, |_| false).map(|_| ())
}

fn rule(text: &str) -> store::Listed {
    (RuleKind::Allow, text.to_owned())
}

/// A file of the project, with this in it.
fn with_text(scene: &Scene, text: &str) -> PathBuf {
    let file = store::rule_file(&scene.workspace, ProjectFiles::Trusted).0;
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    file
}

fn flat(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap().split_whitespace().collect()
}

#[test]
fn saving_a_rule_keeps_the_rest_of_the_file() {
    let scene = scene();
    let before = r#"{"z":1,"permissions":{"deny":["Bash(rm *)"],"x":2},"hooks":{"b":1,"a":2}}"#;
    let file = with_text(&scene, before);
    for _ in 0..2 {
        change(&scene, &file, &RuleEdit::Add(rule("Bash(ls)"))).unwrap();
    }
    assert_eq!(
        flat(&file),
        r#"{"z":1,"permissions":{"deny":["Bash(rm*)"],"x":2,"allow":["Bash(ls)"]},"hooks":{"b":1,"a":2}}"#
    );
}

#[test]
fn a_rule_is_removed_and_replaced_where_it_stands() {
    let scene = scene();
    let before =
        r#"{"permissions":{"allow":["Bash(a)","Bash(b)","Bash(c)"],"deny":["Bash(d)"]},"z":1}"#;
    let file = with_text(&scene, before);
    change(&scene, &file, &RuleEdit::Remove(rule("Bash(a)"))).unwrap();
    let to = rule("Bash(b *)");
    change(&scene, &file, &RuleEdit::Replace { from: rule("Bash(b)"), to }).unwrap();
    let to = (RuleKind::Deny, "Bash(c)".to_owned());
    change(&scene, &file, &RuleEdit::Replace { from: rule("Bash(c)"), to }).unwrap();
    assert_eq!(
        flat(&file),
        r#"{"permissions":{"allow":["Bash(b*)"],"deny":["Bash(d)","Bash(c)"]},"z":1}"#
    );
    let error = change(&scene, &file, &RuleEdit::Remove(rule("Bash(a)"))).unwrap_err();
    assert!(error.to_string().contains("any more"), "{error}");
}

#[test]
fn only_the_files_that_count_are_changed() {
    let scene = scene();
    let file = scene.path("package.json");
    std::fs::write(&file, "{}").unwrap();
    assert!(change(&scene, &file, &RuleEdit::Add(rule("Bash(a)"))).is_err());
    assert_eq!(flat(&file), "{}");
}

#[test]
fn what_others_change_in_a_projects_file_does_not_come_in_with_a_saved_rule() {
    let scene = scene();
    let file = with_text(&scene, r#"{"permissions":{"allow":["Bash(a)"]}}"#);
    let mut settings = Settings::read(&scene.workspace, ProjectFiles::Trusted);
    let foreign = r#"{"permissions":{"allow":["Bash"]}}"#;
    std::fs::write(&file, foreign).unwrap();
    let edit = RuleEdit::Add(rule("Bash(b)"));
    let error = settings.change(&file, &edit, |_| false).unwrap_err();
    assert!(error.to_string().contains("changed since slug read it"), "{error}");
    settings.refresh();
    let own = scene.workspace.slug_home().join("settings.json");
    settings.change(&own, &edit, |_| false).unwrap();
    let rules = settings.rules(&scene.workspace);
    let rules: Vec<&str> = rules.sources().map(|source| source.rule.as_str()).collect();
    assert_eq!(rules, ["Bash(b)", "Bash(a)"]);
    settings.change(&file, &edit, |text| text == foreign).unwrap();
    assert_eq!(settings.rules(&scene.workspace).sources().count(), 3);
}

#[cfg(unix)]
#[test]
fn a_saved_file_is_private_and_a_broken_one_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let scene = scene();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = store::rule_file(&scene.workspace, ProjectFiles::Untrusted).0;
    change(&scene, &file, &RuleEdit::Add(rule("Bash(a)"))).unwrap();
    assert_eq!((mode(&file), mode(scene.workspace.slug_home())), (0o600, 0o700));
    std::fs::write(&file, "{").unwrap();
    let error = change(&scene, &file, &RuleEdit::Add(rule("Bash(b)"))).unwrap_err();
    assert!(error.to_string().contains("Repair it"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
}

#[test]
fn a_report_has_the_documented_shape() {
    let decision = allow(["Bash(ls *)"]).bash("ls && rm x");
    let report = serde_json::to_value(TestReport::from(&decision)).unwrap();
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
