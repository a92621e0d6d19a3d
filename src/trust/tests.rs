//! What the user's trust covers, and what the user is asked about again.

use std::path::{Path, PathBuf};

use super::{InventoryItem, InventoryItemKind, TrustError, TrustStatus, TrustStore, inventory};

struct TrustTestEnv {
    _folder: tempfile::TempDir,
    home: PathBuf,
    project: PathBuf,
}

fn test_env() -> TrustTestEnv {
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
    let env = test_env();
    let mut store = env.store();
    assert_eq!(store.status(&env.project), TrustStatus::Unknown);
    store.grant(&env.project).unwrap();
    assert_eq!(env.store().status(&env.project), TrustStatus::Trusted);
    assert_eq!(env.store().folders().collect::<Vec<_>>(), [env.project.as_path()]);
    store.forget(&env.project).unwrap();
    assert_eq!(env.store().status(&env.project), TrustStatus::Unknown);
}

/// What runs by a yes is shown, also where slug itself has no settings.
#[test]
fn the_question_names_hooks_of_git_and_what_its_configuration_runs() {
    let env = test_env();
    assert_eq!(env.store().question(&env.project).unwrap().items().len(), 0);
    env.write(".git/config", "[core]\n\tbare = false\n[filter \"x\"]\n\tclean = ./evil\n");
    env.write(".git/hooks/pre-commit", "./evil");
    env.write("AGENTS.md", "x\n");
    let question = env.store().question(&env.project).unwrap();
    let shown: Vec<String> = question
        .items()
        .iter()
        .flat_map(|item| item.lines.iter().map(move |(_, line)| (item, line)))
        .map(|(item, line)| format!("{} {}: {line}", item.path.display(), item.words()))
        .collect();
    let programs = "programs that slug would run";
    let expected = [
        format!(".git/hooks/pre-commit {programs}: git runs it"),
        format!(".git/config {programs}: git setting: [filter \"x\"]"),
        format!(".git/config {programs}: git setting: clean = ./evil"),
        "AGENTS.md instructions for the model: 1 line of instructions".to_owned(),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn s60_trust_is_not_inherited_and_the_widest_folders_are_refused() {
    let env = test_env();
    let mut store = env.store();
    let inner = env.project.join("vendor/evil");
    std::fs::create_dir_all(&inner).unwrap();
    store.grant(&env.project).unwrap();
    assert_eq!(store.status(&inner), TrustStatus::Unknown);
    for wide in [env.home.as_path(), Path::new("/")] {
        assert!(matches!(store.grant(wide), Err(TrustError::TooWide(_))));
        assert_eq!(store.status(wide), TrustStatus::TooWide);
    }
    assert!(matches!(store.grant(&env.project.join("../.")), Err(TrustError::TooWide(_))));
}

#[cfg(unix)]
#[test]
fn a_folder_that_took_the_name_is_another_folder() {
    let env = test_env();
    let mut store = env.store();
    store.grant(&env.project).unwrap();
    std::fs::rename(&env.project, env.home.join("moved")).unwrap();
    std::fs::create_dir(&env.project).unwrap();
    assert_eq!(store.status(&env.project), TrustStatus::Unknown);
    assert_eq!(store.status(&env.home.join("moved")), TrustStatus::Unknown);
}

#[cfg(unix)]
#[test]
fn a_link_stands_for_where_it_leads() {
    let env = test_env();
    let mut store = env.store();
    let link = env.home.join("link");
    std::os::unix::fs::symlink(&env.project, &link).unwrap();
    store.grant(&link).unwrap();
    assert_eq!(store.status(&env.project), TrustStatus::Trusted);
}

#[test]
fn changed_and_new_privileged_files_are_asked_about_again() {
    let env = test_env();
    let mut store = env.store();
    env.write(".slug/settings.json", "{}");
    store.grant(&env.project).unwrap();
    env.write(".slug/settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    env.write(".slug/config.toml", "model = \"x\"");
    let changed = vec![".slug/config.toml".into(), ".slug/settings.json".into()];
    assert_eq!(store.status(&env.project), TrustStatus::Changed(changed));
    store.grant(&env.project).unwrap();
    assert_eq!(store.status(&env.project), TrustStatus::Trusted);
}

#[test]
fn changed_instructions_and_removed_privileged_files_are_not_asked_about_again() {
    let env = test_env();
    let mut store = env.store();
    env.write("SLUG.md", "one");
    env.write(".slug/settings.json", "{}");
    store.grant(&env.project).unwrap();
    env.write("SLUG.md", "two");
    env.write(".slug/rules/new.md", "three");
    std::fs::remove_file(env.project.join(".slug/settings.json")).unwrap();
    assert_eq!(store.status(&env.project), TrustStatus::Trusted);
}

#[test]
fn all_instructions_are_in_the_question() {
    let env = test_env();
    env.write("CLAUDE.md", "see @docs/style.md");
    env.write("docs/style.md", "tabs");
    env.write(".claude/rules/all.md", "one");
    env.write(".claude/rules/ts.md", "---\npaths: \"*.ts\"\n---\ntwo");
    env.write("web/AGENTS.md", "three");
    env.write("node_modules/x/AGENTS.md", "never read");
    let question = env.store().question(&env.project).unwrap();
    let asked: Vec<&str> = question.items().iter().filter_map(|item| item.path.to_str()).collect();
    let expected = [
        "CLAUDE.md",
        "docs/style.md",
        ".claude/rules/all.md",
        ".claude/rules/ts.md",
        "web/AGENTS.md",
    ];
    assert_eq!(asked, expected);
}

#[test]
fn slugs_own_changes_are_not_asked_about() {
    let env = test_env();
    let mut store = env.store();
    let file = Path::new(".slug/settings.local.json");
    store.keep_own_change(&env.project, file, b"{}").unwrap();
    assert_eq!(store.status(&env.project), TrustStatus::Unknown);
    store.grant(&env.project).unwrap();
    env.write(".slug/settings.local.json", "{}");
    assert!(matches!(store.status(&env.project), TrustStatus::Changed(_)));
    store.keep_own_change(&env.project, file, b"{}").unwrap();
    assert_eq!(store.status(&env.project), TrustStatus::Trusted);
}

#[test]
fn a_folder_without_anything_to_ask_about_stays_so_with_slugs_own_file() {
    let file = ".slug/settings.local.json";
    let keep = |store: &mut TrustStore, env: &TrustTestEnv| {
        store.keep_own_file(&env.project, Path::new(file), b"{}").unwrap();
        store.status(&env.project)
    };
    let env = test_env();
    env.write(file, "{}");
    assert_eq!(keep(&mut env.store(), &env), TrustStatus::Trusted);
    // Anything that somebody else has put there is asked about.
    for (other, text) in [
        (file, "{\"permissions\": {\"allow\": [\"Bash\"]}}"),
        ("SLUG.md", "hello"),
        (".slug/hooks.json", "{}"),
        (".git/config", "[core]\nfsmonitor = ./x\n"),
    ] {
        let env = test_env();
        env.write(file, "{}");
        env.write(other, text);
        assert_eq!(keep(&mut env.store(), &env), TrustStatus::Unknown, "{other}");
    }
    // So is what comes later, since nobody was asked about the folder.
    for (other, text) in [
        ("AGENTS.md", "hello"),
        (".git/config", "[core]\nhooksPath = x\n"),
        (".git/hooks/pre-push", "x"),
    ] {
        let env = test_env();
        env.write(file, "{}");
        let mut store = env.store();
        assert_eq!(keep(&mut store, &env), TrustStatus::Trusted);
        env.write(other, text);
        assert_eq!(store.status(&env.project), TrustStatus::Unknown, "{other}");
        store.grant(&env.project).unwrap();
        assert_eq!(store.status(&env.project), TrustStatus::Trusted, "{other}");
    }
}

/// The files of the question, with what is in each.
fn found(items: &[InventoryItem]) -> Vec<(&str, &[InventoryItemKind])> {
    items.iter().map(|item| (item.path.to_str().unwrap(), &*item.kinds)).collect()
}

#[test]
fn the_question_names_every_rule_key_and_instruction_file() {
    let env = test_env();
    env.write(
        ".slug/settings.json",
        r#"{"permissions":{"allow":["Bash(npm *)"],"deny":["Read(.env)"]}}"#,
    );
    env.write(".slug/settings.local.json", "{");
    env.write(".slug/config.toml", "model = \"x\"\n[ui]\ntheme = \"dark\"\n");
    env.write("AGENTS.md", "a\nb\n");
    env.write("CLAUDE.md", "not read beside AGENTS.md");
    env.write(".slug/rules/b.md", "x");
    env.write(".slug/rules/a.md", "x");
    env.write(".slug/rules/c.txt", "x");
    let items = inventory(&env.project, None);
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
fn texts_of_the_repository_above_are_part_of_the_question_about_a_folder_in_it() {
    let env = test_env();
    env.write(".git/HEAD", "ref: refs/heads/main");
    env.write("AGENTS.md", "Build with @docs/build.md.\n");
    env.write("docs/build.md", "make\n");
    env.write(".claude/skills/x/SKILL.md", "---\ndescription: d\nallowed-tools: Bash\n---\nDo it.");
    env.write(".slug/commands/c.md", "!`make state`");
    env.write(".slug/settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    env.write("sub/deep/x", "");
    let folder = env.project.join("sub/deep");
    let items = inventory(&folder, Some(&env.home));
    use InventoryItemKind::{Instructions, PromptFiles};
    assert_eq!(
        found(&items),
        [
            ("../../.claude/skills/x/SKILL.md", &[PromptFiles][..]),
            ("../../.slug/commands/c.md", &[PromptFiles]),
            ("../../AGENTS.md", &[Instructions]),
            ("../../docs/build.md", &[Instructions]),
        ],
        "rules of the root do not count there"
    );
    assert_eq!(items[0].lines, ["skill x: d"], "what it wants allowed is not");
    assert!(!env.store().question(&folder).unwrap().items().is_empty());
    // A home folder that is a repository is no project.
    assert_eq!(inventory(&folder, Some(&env.project)), []);
}

#[test]
fn the_question_shows_each_line_of_a_hook_and_is_asked_again_for_its_script() {
    let env = test_env();
    let mut store = env.store();
    let short = r#"{"hooks":[{"event":"Stop","action":{"type":"command","command":"sh done.sh"}},
        {"event":"SessionStart","action":{"type":"prompt","content":"Be brief."}}]}"#;
    let wide = r#"{"permissions":{"allow":["Read"]},"hooks":{"PreToolUse":[
        {"matcher":"Bash","hooks":[{"type":"command","command":"a | b"},{"type":"x"}]}]}}"#;
    env.write(".slug/hooks.json", short);
    env.write(".slug/settings.json", wide);
    env.write("done.sh", "exit 0");
    let items = inventory(&env.project, None);
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
    let line = "on PreToolUse Bash runs a | b (slug cannot tell which files a uses)";
    assert_eq!(items[1].lines[0], line);
    assert!(items[1].lines[1].starts_with("on PreToolUse Bash not readable"), "{items:?}");
    assert_eq!(items[1].lines[2], "allow Read");

    store.grant(&env.project).unwrap();
    assert_eq!(store.status(&env.project), TrustStatus::Trusted);
    env.write("done.sh", "exit 1");
    assert_eq!(store.status(&env.project), TrustStatus::Changed(vec!["done.sh".into()]));
    store.grant(&env.project).unwrap();
    env.write(".slug/hooks.json", &short.replace("done", "gone"));
    assert_eq!(store.status(&env.project), TrustStatus::Changed(vec![".slug/hooks.json".into()]));
}

#[test]
fn the_file_by_which_a_hooks_program_knows_what_to_run_is_hashed_with_it() {
    for (command, file) in [
        ("make lint", "Makefile"),
        ("npm run lint", "package.json"),
        ("pnpm lint", "package.json"),
        ("just lint", "justfile"),
        ("cd sub && yarn lint", "sub/package.json"),
        ("make -s -Csub lint", "sub/Makefile"),
        ("make -s -flint.mk lint", "lint.mk"),
    ] {
        let env = test_env();
        let mut store = env.store();
        let hook =
            format!(r#"[{{"event":"Stop","action":{{"type":"command","command":"{command}"}}}}]"#);
        env.write(".slug/hooks.json", &format!(r#"{{"hooks":{hook}}}"#));
        env.write("sub/x", "");
        env.write(file, "1");
        let items = inventory(&env.project, None);
        assert_eq!(items[0].lines, [format!("on Stop runs {command}")]);
        assert!(items.iter().any(|item| item.path == Path::new(file)), "{items:?}");
        store.grant(&env.project).unwrap();
        env.write(file, "2");
        assert_eq!(
            store.status(&env.project),
            TrustStatus::Changed(vec![file.into()]),
            "{command}"
        );
    }
}

#[cfg(unix)]
#[test]
fn s57_looking_at_a_folder_runs_nothing_and_never_blocks() {
    use std::os::unix::fs::symlink;
    let env = test_env();
    let fifo = env.project.join("SLUG.md");
    crate::domain::testing::make_fifo(&fifo);
    symlink("/dev/zero", env.project.join(".slug/settings.json")).unwrap();
    std::fs::create_dir(env.project.join(".git")).unwrap();
    std::fs::write(env.project.join(".git/config"), "[core]\nfsmonitor=touch marker\n").unwrap();
    assert_eq!(inventory(&env.project, None), []);
    assert_eq!(env.store().status(&env.project), TrustStatus::Unknown);
    assert!(!env.project.join("marker").exists());
}

#[test]
fn plain_http_origins_are_kept_one_by_one() {
    let env = test_env();
    let mut store = env.store();
    store.allow_origin("http://Box.lan:8000/").unwrap();
    let store = env.store();
    assert!(store.origin_allowed("http://box.lan:8000"));
    assert!(!store.origin_allowed("http://box.lan:8001"));
    assert!(!store.origin_allowed("http://box.lan:8000.evil"));
}

#[test]
fn two_stores_do_not_lose_each_others_answers() {
    let env = test_env();
    let other = env.home.join("other");
    std::fs::create_dir(&other).unwrap();
    let (mut one, mut two) = (env.store(), env.store());
    one.grant(&env.project).unwrap();
    two.grant(&other).unwrap();
    assert_eq!(env.store().status(&env.project), TrustStatus::Trusted);
    assert_eq!(env.store().status(&other), TrustStatus::Trusted);
}

#[cfg(unix)]
#[test]
fn the_store_is_private_and_a_broken_one_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let env = test_env();
    env.store().grant(&env.project).unwrap();
    let file = env.home.join(".slug/trust.json");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    std::fs::write(&file, "{").unwrap();
    let error = TrustStore::open(&env.home.join(".slug"), Some(&env.home)).unwrap_err();
    assert!(error.to_string().contains("Repair it"), "{error}");
}

/// The lines of a file in the question, with their marks.
fn asked(env: &TrustTestEnv, file: &str) -> Vec<String> {
    let question = env.store().question(&env.project).unwrap();
    let item = question.items().iter().find(|item| item.path == Path::new(file)).unwrap();
    let signed =
        |(mark, line): &(_, String)| format!("{}{line}", super::TrustLineMark::sign(*mark));
    item.lines.iter().map(signed).map(|line| line.trim_start().to_owned()).collect()
}

#[test]
fn s66_a_changed_file_is_asked_again_with_what_is_new_and_what_is_gone() {
    let env = test_env();
    let file = ".slug/settings.json";
    env.write(file, r#"{"permissions":{"allow":["Bash(ls)","Bash(make)"]}}"#);
    env.write(".slug/config.toml", "model = \"x\"");
    assert_eq!(asked(&env, file), ["allow Bash(ls)", "allow Bash(make)"]);
    env.store().grant(&env.project).unwrap();
    env.write(file, r#"{"permissions":{"deny":["Bash(ls)"],"allow":["Bash(make)","Bash"]}}"#);
    assert_eq!(
        asked(&env, file),
        ["+ deny Bash(ls)", "allow Bash(make)", "+ allow Bash", "- allow Bash(ls)"]
    );
    assert_eq!(asked(&env, ".slug/config.toml"), ["model = \"x\""]);
}

#[test]
fn s66_a_file_is_asked_about_once_and_what_went_from_it_is_shown() {
    let env = test_env();
    let hooks = r#"{"hooks":[{"event":"Stop","action":{"type":"command","command":"make"}}]}"#;
    for file in [".slug/hooks.json", ".slug/settings.json"] {
        env.write(file, hooks);
        env.store().grant(&env.project).unwrap();
        env.write(file, "{}");
        let question = env.store().question(&env.project).unwrap();
        let items: Vec<_> =
            question.items().iter().filter(|item| item.path == Path::new(file)).collect();
        assert_eq!(items.len(), 1, "{items:?}");
        assert_eq!(items[0].words(), "nothing that takes effect");
        assert_eq!(
            asked(&env, file),
            ["- on Stop runs make (slug cannot tell which files make uses)"]
        );
        env.store().grant(&env.project).unwrap();
    }
}

#[test]
fn a_file_that_a_hook_names_and_the_model_reads_is_asked_about_once() {
    let env = test_env();
    env.write("SLUG.md", "x");
    let hook =
        r#"{"hooks":[{"event":"Stop","action":{"type":"command","command":"cat SLUG.md"}}]}"#;
    env.write(".slug/hooks.json", hook);
    let question = env.store().question(&env.project).unwrap();
    let words: Vec<String> = question.items().iter().map(super::TrustQuestionFile::words).collect();
    let both = "programs that slug would run, instructions for the model";
    assert_eq!(words, ["programs that slug would run", both]);
}

#[test]
fn s66_a_change_of_white_space_alone_is_asked_about_without_a_new_rule() {
    let env = test_env();
    env.write(".slug/settings.json", r#"{"permissions":{"allow":["Bash(ls)"]}}"#);
    env.store().grant(&env.project).unwrap();
    env.write(".slug/settings.json", r#"{"permissions": {"allow":["Bash(ls)"]}}"#);
    assert!(matches!(env.store().status(&env.project), TrustStatus::Changed(_)));
    assert_eq!(
        asked(&env, ".slug/settings.json"),
        ["allow Bash(ls)", "+ changed in ways that none of these lines shows"]
    );
}

#[test]
fn a_file_that_is_new_since_the_yes_is_new_as_a_whole() {
    let env = test_env();
    env.store().grant(&env.project).unwrap();
    env.write(".slug/config.toml", "model = \"x\"");
    assert_eq!(asked(&env, ".slug/config.toml"), ["+ model = \"x\""]);
}

#[test]
fn trust_covers_what_was_shown_and_nothing_later() {
    let env = test_env();
    let mut store = env.store();
    env.write(".slug/settings.json", "{}");
    let question = store.question(&env.project).unwrap();
    env.write(".slug/settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    store.grant_asked(question).unwrap();
    assert!(matches!(store.status(&env.project), TrustStatus::Changed(_)));
    assert_eq!(asked(&env, ".slug/settings.json"), ["+ allow Bash"]);
}

#[test]
fn s55_servers_that_a_folder_names_are_part_of_the_question_and_not_started() {
    let env = test_env();
    env.write(
        ".mcp.json",
        r#"{"enableAll":true,"mcpServers":{"x":{"command":"touch","args":["marker"],"env":{"K":"secret"}}}}"#,
    );
    let item = InventoryItem {
        path: ".mcp.json".into(),
        kinds: vec![InventoryItemKind::Servers],
        lines: vec![
            "x: touch marker".into(),
            "x: sets K=secret".into(),
            "x: slug does not ask again when files here that touch uses change".into(),
        ],
    };
    assert_eq!(inventory(&env.project, None), [item]);
    let mut store = env.store();
    store.grant(&env.project).unwrap();
    env.write(".mcp.json", r#"{"mcpServers":{"x":{"command":"rm"}}}"#);
    assert_eq!(store.status(&env.project), TrustStatus::Changed(vec![".mcp.json".into()]));
    assert!(!env.project.join("marker").exists());
}

/// A folder may hold any number of rules before anyone has said that it is trusted. Compared in pairs,
/// these would take a minute.
#[test]
fn many_rules_are_listed() {
    let env = test_env();
    (0..20_000).for_each(|at| env.write(&format!(".slug/rules/{at}.md"), "x"));
    assert_eq!(inventory(&env.project, None).len(), 20_000);
}

#[test]
fn types_of_agents_are_shown_and_asked_about_again_when_one_changes() {
    let env = test_env();
    let mut store = env.store();
    let scout = "---\nname: scout\ndescription: Finds things\ntools: Bash\n---\nLook.\n";
    env.write(".claude/agents/scout.md", scout);
    env.write(".slug/agents/critic.md", "---\ndescription: Reads diffs\n---\nRead.\n");
    let items = inventory(&env.project, None);
    let kinds: Vec<&[InventoryItemKind]> = items.iter().map(|item| &*item.kinds).collect();
    assert_eq!(kinds, [&[InventoryItemKind::Agents][..], &[InventoryItemKind::Agents]]);
    assert!(items.iter().any(|item| item.lines.concat().contains("scout")), "{items:?}");
    store.grant(&env.project).unwrap();
    assert_eq!(store.status(&env.project), TrustStatus::Trusted);
    env.write(".claude/agents/scout.md", &scout.replace("Look.", "Look, and delete all."));
    assert!(matches!(env.store().status(&env.project), TrustStatus::Changed(_)));
}
