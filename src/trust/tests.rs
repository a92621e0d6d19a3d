//! What a yes covers, and what is asked again.

use std::path::{Path, PathBuf};

use super::{InventoryItemKind, TrustError, TrustStatus, TrustStore, inventory};

struct TrustTestEnv {
    _folder: tempfile::TempDir,
    home: PathBuf,
    project: PathBuf,
}

fn scene() -> TrustTestEnv {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap().join("home");
    let project = home.join("app");
    std::fs::create_dir_all(project.join(".slug/rules")).unwrap();
    TrustTestEnv { _folder: folder, home, project }
}

impl TrustTestEnv {
    fn store(&self) -> TrustStore {
        TrustStore::open(&self.home.join(".slug"), Some(&self.home)).unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        let file = self.project.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

#[test]
fn a_folder_is_unknown_until_it_is_granted_and_after_it_is_forgotten() {
    let scene = scene();
    let mut store = scene.store();
    assert_eq!(store.status(&scene.project), TrustStatus::Unknown);
    store.grant(&scene.project).unwrap();
    assert_eq!(scene.store().status(&scene.project), TrustStatus::Trusted);
    assert_eq!(scene.store().folders().collect::<Vec<_>>(), [scene.project.as_path()]);
    store.forget(&scene.project).unwrap();
    assert_eq!(scene.store().status(&scene.project), TrustStatus::Unknown);
}

#[test]
fn s60_trust_is_not_inherited_and_the_widest_folders_are_refused() {
    let scene = scene();
    let mut store = scene.store();
    let inner = scene.project.join("vendor/evil");
    std::fs::create_dir_all(&inner).unwrap();
    store.grant(&scene.project).unwrap();
    assert_eq!(store.status(&inner), TrustStatus::Unknown);
    for wide in [scene.home.as_path(), Path::new("/")] {
        assert!(matches!(store.grant(wide), Err(TrustError::TooWide(_))));
        assert_eq!(store.status(wide), TrustStatus::TooWide);
    }
    assert!(matches!(store.grant(&scene.project.join("../.")), Err(TrustError::TooWide(_))));
}

#[cfg(unix)]
#[test]
fn a_folder_that_took_the_name_is_another_folder() {
    let scene = scene();
    let mut store = scene.store();
    store.grant(&scene.project).unwrap();
    std::fs::rename(&scene.project, scene.home.join("moved")).unwrap();
    std::fs::create_dir(&scene.project).unwrap();
    assert_eq!(store.status(&scene.project), TrustStatus::Unknown);
    assert_eq!(store.status(&scene.home.join("moved")), TrustStatus::Unknown);
}

#[cfg(unix)]
#[test]
fn a_link_stands_for_where_it_leads() {
    let scene = scene();
    let mut store = scene.store();
    let link = scene.home.join("link");
    std::os::unix::fs::symlink(&scene.project, &link).unwrap();
    store.grant(&link).unwrap();
    assert_eq!(store.status(&scene.project), TrustStatus::Trusted);
}

#[test]
fn changed_and_new_powers_are_asked_again() {
    let scene = scene();
    let mut store = scene.store();
    scene.write(".slug/settings.json", "{}");
    store.grant(&scene.project).unwrap();
    scene.write(".slug/settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    scene.write(".slug/config.toml", "model = \"x\"");
    let changed = vec![".slug/config.toml".into(), ".slug/settings.json".into()];
    assert_eq!(store.status(&scene.project), TrustStatus::Changed(changed));
    store.grant(&scene.project).unwrap();
    assert_eq!(store.status(&scene.project), TrustStatus::Trusted);
}

#[test]
fn changed_instructions_and_removed_powers_are_not_asked_again() {
    let scene = scene();
    let mut store = scene.store();
    scene.write("SLUG.md", "one");
    scene.write(".slug/settings.json", "{}");
    store.grant(&scene.project).unwrap();
    scene.write("SLUG.md", "two");
    scene.write(".slug/rules/new.md", "three");
    std::fs::remove_file(scene.project.join(".slug/settings.json")).unwrap();
    assert_eq!(store.status(&scene.project), TrustStatus::Trusted);
}

#[test]
fn what_slug_wrote_itself_is_not_asked_about() {
    let scene = scene();
    let mut store = scene.store();
    let file = Path::new(".slug/settings.local.json");
    store.keep_own_change(&scene.project, file, b"{}").unwrap();
    assert_eq!(store.status(&scene.project), TrustStatus::Unknown);
    store.grant(&scene.project).unwrap();
    scene.write(".slug/settings.local.json", "{}");
    assert!(matches!(store.status(&scene.project), TrustStatus::Changed(_)));
    store.keep_own_change(&scene.project, file, b"{}").unwrap();
    assert_eq!(store.status(&scene.project), TrustStatus::Trusted);
}

/// The files of the question, with what is in each.
fn found(items: &[super::InventoryItem]) -> Vec<(&str, &[InventoryItemKind])> {
    items.iter().map(|item| (item.path.to_str().unwrap(), &*item.kinds)).collect()
}

#[test]
fn the_question_names_every_rule_key_and_instruction_file() {
    let scene = scene();
    scene.write(
        ".slug/settings.json",
        r#"{"permissions":{"allow":["Bash(npm *)"],"deny":["Read(.env)"]}}"#,
    );
    scene.write(".slug/settings.local.json", "{");
    scene.write(".slug/config.toml", "model = \"x\"\n[ui]\ntheme = \"dark\"\n");
    scene.write("AGENTS.md", "a\nb\n");
    scene.write("CLAUDE.md", "not read beside AGENTS.md");
    scene.write(".slug/rules/b.md", "x");
    scene.write(".slug/rules/a.md", "x");
    scene.write(".slug/rules/c.txt", "x");
    let items = inventory(&scene.project);
    use InventoryItemKind::{Configuration, Instructions, Settings};
    assert_eq!(
        found(&items),
        [
            (".slug/settings.json", &[Settings][..]),
            (".slug/settings.local.json", &[Settings]),
            (".slug/config.toml", &[Configuration]),
            ("AGENTS.md", &[Instructions]),
            (".slug/rules/a.md", &[Instructions]),
            (".slug/rules/b.md", &[Instructions]),
        ]
    );
    assert_eq!(items[0].lines, ["deny Read(.env)", "allow Bash(npm *)"]);
    assert!(items[1].lines[0].starts_with("not readable"));
    assert_eq!(items[2].lines, ["model = \"x\"", "ui.theme = \"dark\""]);
    assert_eq!(items[3].lines, ["2 lines of instructions"]);
}

#[test]
fn the_question_shows_each_line_of_a_hook_and_is_asked_again_for_its_script() {
    let scene = scene();
    let mut store = scene.store();
    let short = r#"{"hooks":[{"event":"Stop","action":{"type":"command","command":"sh done.sh"}},
        {"event":"SessionStart","action":{"type":"prompt","content":"Be brief."}}]}"#;
    let wide = r#"{"permissions":{"allow":["Read"]},"hooks":{"PreToolUse":[
        {"matcher":"Bash","hooks":[{"type":"command","command":"a | b"},{"type":"x"}]}]}}"#;
    scene.write(".slug/hooks.json", short);
    scene.write(".slug/settings.json", wide);
    scene.write("done.sh", "exit 0");
    let items = inventory(&scene.project);
    let hooks = InventoryItemKind::Hooks;
    assert_eq!(
        found(&items),
        [
            (".slug/hooks.json", &[hooks][..]),
            (".slug/settings.json", &[hooks, InventoryItemKind::Settings]),
            ("done.sh", &[hooks]),
        ]
    );
    let lines = ["on Stop runs sh done.sh", "on SessionStart tells the model: Be brief."];
    assert_eq!(items[0].lines, lines);
    let told = "on PreToolUse Bash runs a | b (slug cannot tell which files a uses)";
    assert_eq!(items[1].lines[0], told);
    assert!(items[1].lines[1].starts_with("on PreToolUse Bash not readable"), "{items:?}");
    assert_eq!(items[1].lines[2], "allow Read");

    store.grant(&scene.project).unwrap();
    assert_eq!(store.status(&scene.project), TrustStatus::Trusted);
    scene.write("done.sh", "exit 1");
    assert_eq!(store.status(&scene.project), TrustStatus::Changed(vec!["done.sh".into()]));
    store.grant(&scene.project).unwrap();
    scene.write(".slug/hooks.json", &short.replace("done", "gone"));
    assert_eq!(store.status(&scene.project), TrustStatus::Changed(vec![".slug/hooks.json".into()]));
}

#[test]
fn the_file_by_which_a_hooks_program_knows_what_to_run_is_hashed_with_it() {
    for (command, file) in [
        ("make lint", "Makefile"),
        ("npm run lint", "package.json"),
        ("pnpm lint", "package.json"),
        ("just lint", "justfile"),
        ("cd sub && yarn lint", "sub/package.json"),
    ] {
        let scene = scene();
        let mut store = scene.store();
        let hook =
            format!(r#"[{{"event":"Stop","action":{{"type":"command","command":"{command}"}}}}]"#);
        scene.write(".slug/hooks.json", &format!(r#"{{"hooks":{hook}}}"#));
        scene.write("sub/x", "");
        scene.write(file, "1");
        let items = inventory(&scene.project);
        assert_eq!(items[0].lines, [format!("on Stop runs {command}")]);
        assert!(items.iter().any(|item| item.path == Path::new(file)), "{items:?}");
        store.grant(&scene.project).unwrap();
        scene.write(file, "2");
        assert_eq!(
            store.status(&scene.project),
            TrustStatus::Changed(vec![file.into()]),
            "{command}"
        );
    }
}

#[cfg(unix)]
#[test]
fn s57_looking_at_a_folder_runs_nothing_and_never_blocks() {
    use std::os::unix::fs::symlink;
    let scene = scene();
    let fifo = scene.project.join("SLUG.md");
    crate::domain::testing::make_fifo(&fifo);
    symlink("/dev/zero", scene.project.join(".slug/settings.json")).unwrap();
    std::fs::create_dir(scene.project.join(".git")).unwrap();
    std::fs::write(scene.project.join(".git/config"), "[core]\nfsmonitor=touch marker\n").unwrap();
    assert_eq!(inventory(&scene.project), []);
    assert_eq!(scene.store().status(&scene.project), TrustStatus::Unknown);
    assert!(!scene.project.join("marker").exists());
}

#[test]
fn plain_http_origins_are_kept_one_by_one() {
    let scene = scene();
    let mut store = scene.store();
    store.allow_origin("http://Box.lan:8000/").unwrap();
    let store = scene.store();
    assert!(store.origin_allowed("http://box.lan:8000"));
    assert!(!store.origin_allowed("http://box.lan:8001"));
    assert!(!store.origin_allowed("http://box.lan:8000.evil"));
}

#[test]
fn two_stores_do_not_lose_each_others_answers() {
    let scene = scene();
    let other = scene.home.join("other");
    std::fs::create_dir(&other).unwrap();
    let (mut one, mut two) = (scene.store(), scene.store());
    one.grant(&scene.project).unwrap();
    two.grant(&other).unwrap();
    assert_eq!(scene.store().status(&scene.project), TrustStatus::Trusted);
    assert_eq!(scene.store().status(&other), TrustStatus::Trusted);
}

#[cfg(unix)]
#[test]
fn the_store_is_private_and_a_broken_one_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let scene = scene();
    scene.store().grant(&scene.project).unwrap();
    let file = scene.home.join(".slug/trust.json");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    std::fs::write(&file, "{").unwrap();
    let error = TrustStore::open(&scene.home.join(".slug"), Some(&scene.home)).unwrap_err();
    assert!(error.to_string().contains("Repair it"), "{error}");
}

/// The lines of a file in the question, with their marks.
fn asked(scene: &TrustTestEnv, file: &str) -> Vec<String> {
    let question = scene.store().question(&scene.project).unwrap();
    let item = question.items().iter().find(|item| item.path == Path::new(file)).unwrap();
    let signed =
        |(mark, line): &(_, String)| format!("{}{line}", super::TrustLineMark::sign(*mark));
    item.lines.iter().map(signed).map(|line| line.trim_start().to_owned()).collect()
}

#[test]
fn s66_a_changed_file_is_asked_again_with_what_is_new_and_what_is_gone() {
    let scene = scene();
    let file = ".slug/settings.json";
    scene.write(file, r#"{"permissions":{"allow":["Bash(ls)","Bash(make)"]}}"#);
    scene.write(".slug/config.toml", "model = \"x\"");
    assert_eq!(asked(&scene, file), ["allow Bash(ls)", "allow Bash(make)"]);
    scene.store().grant(&scene.project).unwrap();
    scene.write(file, r#"{"permissions":{"deny":["Bash(ls)"],"allow":["Bash(make)","Bash"]}}"#);
    assert_eq!(
        asked(&scene, file),
        ["+ deny Bash(ls)", "allow Bash(make)", "+ allow Bash", "- allow Bash(ls)"]
    );
    assert_eq!(asked(&scene, ".slug/config.toml"), ["model = \"x\""]);
}

#[test]
fn s66_a_file_is_asked_about_once_and_what_went_from_it_is_shown() {
    let scene = scene();
    let hooks = r#"{"hooks":[{"event":"Stop","action":{"type":"command","command":"make"}}]}"#;
    for file in [".slug/hooks.json", ".slug/settings.json"] {
        scene.write(file, hooks);
        scene.store().grant(&scene.project).unwrap();
        scene.write(file, "{}");
        let question = scene.store().question(&scene.project).unwrap();
        let items: Vec<_> =
            question.items().iter().filter(|item| item.path == Path::new(file)).collect();
        assert_eq!(items.len(), 1, "{items:?}");
        assert_eq!(items[0].words(), "nothing that takes effect");
        assert_eq!(
            asked(&scene, file),
            ["- on Stop runs make (slug cannot tell which files make uses)"]
        );
        scene.store().grant(&scene.project).unwrap();
    }
}

#[test]
fn what_a_hook_names_and_the_model_reads_is_asked_about_once() {
    let scene = scene();
    scene.write("SLUG.md", "x");
    let hook =
        r#"{"hooks":[{"event":"Stop","action":{"type":"command","command":"cat SLUG.md"}}]}"#;
    scene.write(".slug/hooks.json", hook);
    let question = scene.store().question(&scene.project).unwrap();
    let words: Vec<String> = question.items().iter().map(super::TrustQuestionFile::words).collect();
    let both = "programs that slug would run, instructions for the model";
    assert_eq!(words, ["programs that slug would run", both]);
}

#[test]
fn s66_white_space_alone_is_asked_about_too_and_said_to_be_no_other_rule() {
    let scene = scene();
    scene.write(".slug/settings.json", r#"{"permissions":{"allow":["Bash(ls)"]}}"#);
    scene.store().grant(&scene.project).unwrap();
    scene.write(".slug/settings.json", r#"{"permissions": {"allow":["Bash(ls)"]}}"#);
    assert!(matches!(scene.store().status(&scene.project), TrustStatus::Changed(_)));
    assert_eq!(
        asked(&scene, ".slug/settings.json"),
        ["allow Bash(ls)", "+ changed in ways that none of these lines shows"]
    );
}

#[test]
fn a_file_that_is_new_since_the_yes_is_new_as_a_whole() {
    let scene = scene();
    scene.store().grant(&scene.project).unwrap();
    scene.write(".slug/config.toml", "model = \"x\"");
    assert_eq!(asked(&scene, ".slug/config.toml"), ["+ model = \"x\""]);
}

#[test]
fn a_yes_is_to_what_was_shown_and_to_nothing_later() {
    let scene = scene();
    let mut store = scene.store();
    scene.write(".slug/settings.json", "{}");
    let question = store.question(&scene.project).unwrap();
    scene.write(".slug/settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    store.grant_asked(question).unwrap();
    assert!(matches!(store.status(&scene.project), TrustStatus::Changed(_)));
    assert_eq!(asked(&scene, ".slug/settings.json"), ["+ allow Bash"]);
}

#[test]
fn s55_what_names_servers_to_start_is_not_read_and_not_asked_about() {
    let scene = scene();
    scene.write(".mcp.json", r#"{"mcpServers":{"x":{"command":"touch","args":["marker"]}}}"#);
    assert_eq!(inventory(&scene.project), []);
    let mut store = scene.store();
    store.grant(&scene.project).unwrap();
    scene.write(".mcp.json", r#"{"mcpServers":{}}"#);
    assert_eq!(store.status(&scene.project), TrustStatus::Trusted);
    assert!(!scene.project.join("marker").exists());
}
