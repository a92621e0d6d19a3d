//! Tests of reading instruction files.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// How the line about a cut begins.
const CUT: &str = "\n\n[slug cut this text here";

struct InstructionTestFolder {
    folder: TempDir,
}

impl InstructionTestFolder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn read_folders(&self, project: &[PathBuf]) -> LoadedInstructions {
        InstructionScope { home: &self.path("home"), project, hides: &|_| false }.read()
    }

    fn read(&self) -> LoadedInstructions {
        self.read_folders(&[self.path("project")])
    }
}

#[test]
fn all_files_are_below_their_headings_in_order() {
    let place = InstructionTestFolder::new()
        .write("home/SLUG.md", "be kind\n")
        .write("project/SLUG.md", "\nuse tabs\r\nand care\r\n\n")
        .write("project/.slug/rules/b.md", "rule b")
        .write("project/.slug/rules/a.md", "rule a")
        .write("project/.slug/rules/ignored.txt", "no")
        .write("project/SLUG.local.md", "mine");
    let found = place.read();
    assert_eq!(
        found.text,
        "# Global Rules\n\nbe kind\n\n# Project Rules\n\nuse tabs\nand care\n\n\
         # Rule: a.md\n\nrule a\n\n# Rule: b.md\n\nrule b\n\n# Local Notes (private)\n\nmine"
    );
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    assert_eq!(found.files.len(), 5);
    assert_eq!(found.files[0].bytes, 8);
    let sent = found.files.iter().map(|file| &found.text[file.sent.clone()]);
    assert_eq!(sent.collect::<String>(), found.text);
    assert_eq!(place.read(), found);
}

#[test]
fn no_files_give_no_text() {
    assert_eq!(InstructionTestFolder::new().read(), LoadedInstructions::default());
    let blank = InstructionTestFolder::new().write("project/SLUG.md", " \n\n");
    assert_eq!(blank.read().text, "");
}

#[test]
fn without_trust_the_project_is_not_read() {
    let place = InstructionTestFolder::new()
        .write("home/SLUG.md", "mine")
        .write("project/SLUG.md", "theirs");
    assert_eq!(place.read_folders(&[]).text, "# Global Rules\n\nmine");
}

#[test]
fn other_names_stand_in_for_a_missing_file() {
    let place = InstructionTestFolder::new().write("project/CLAUDE.md", "c");
    assert_eq!(place.read().text, "# Project Rules\n\nc");
    let place = place.write("project/AGENTS.md", "a");
    assert_eq!(place.read().text, "# Project Rules\n\na");
    let place = place.write("project/SLUG.md", "s");
    assert_eq!(place.read().text, "# Project Rules\n\ns");
}

#[test]
fn a_change_on_disk_is_read_the_next_time() {
    let place = InstructionTestFolder::new().write("project/SLUG.md", "one");
    assert!(place.read().text.ends_with("one"));
    let place = place.write("project/SLUG.md", "two");
    assert!(place.read().text.ends_with("two"));
    fs::remove_file(place.path("project/SLUG.md")).unwrap();
    assert_eq!(place.read().text, "");
}

#[test]
fn too_much_is_cut_at_a_line_with_a_warning() {
    let line = format!("{}\n", "é".repeat(99));
    let place = InstructionTestFolder::new()
        .write("project/SLUG.md", &line.repeat(600))
        .write("project/SLUG.local.md", "last");
    let found = place.read();
    let (kept, notice) = found.text.split_once(CUT).unwrap();
    let count = kept.chars().count();
    assert!(count <= MAX_CHARACTERS && count > MAX_CHARACTERS - 200, "{count}");
    assert!(kept.ends_with('é') && !kept.contains("last"));
    assert!(kept.lines().skip(2).all(|line| line.chars().count() == 99));
    let files = ["SLUG.md", "SLUG.local.md"].map(|name| place.path("project").join(name));
    let left_out = format!("- the rest of {}\n- {}\n", files[0].display(), files[1].display());
    assert!(notice.contains(&left_out), "{notice}");
    assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
    assert!(found.warnings[0].contains("over 40,000 characters"));
}

#[test]
fn the_cut_leaves_no_heading_alone() {
    let place = InstructionTestFolder::new()
        .write("project/SLUG.md", &format!("{}\n", "x".repeat(79)).repeat(499))
        .write("project/SLUG.local.md", &"y".repeat(200));
    let found = place.read();
    let (kept, notice) = found.text.split_once(CUT).unwrap();
    assert!(kept.ends_with('x'), "{}", &kept[kept.len() - 80..]);
    assert!(!notice.contains("the rest of") && notice.contains("/SLUG.local.md\n"), "{notice}");
    let one_line = InstructionTestFolder::new().write("project/SLUG.md", &"z".repeat(50_000));
    let found = one_line.read();
    let (kept, _) = found.text.split_once(CUT).unwrap();
    assert_eq!(kept.chars().count(), MAX_CHARACTERS);
}

#[test]
fn many_files_that_are_left_out_are_counted() {
    let mut place = InstructionTestFolder::new().write("home/SLUG.md", &"z".repeat(50_000));
    for number in 10..30 {
        place = place.write(&format!("project/.slug/rules/{number}.md"), "rule");
    }
    let found = place.read();
    let (_, notice) = found.text.split_once(CUT).unwrap();
    assert!(notice.contains("/18.md\n- 11 more files\n"), "{notice}");
}

#[test]
fn exactly_as_much_as_allowed_is_not_cut() {
    let room = MAX_CHARACTERS - "# Project Rules\n\n".len();
    let place = InstructionTestFolder::new().write("project/SLUG.md", &"z".repeat(room));
    let found = place.read();
    assert!(found.warnings.is_empty());
    assert_eq!(found.text.chars().count(), MAX_CHARACTERS);
}

#[test]
fn a_warning_shows_the_line_ends_of_a_name() {
    let place = InstructionTestFolder::new()
        .write("project/.slug/rules/a\nQuestion: ls?\u{1b}.md", "a\u{200b}");
    let [warning] = &place.read().warnings[..] else { panic!() };
    assert!(warning.contains("rules/a␊Question: ls?␛.md contains 1"), "{warning}");
}

#[test]
fn invisible_characters_are_taken_out_with_a_warning() {
    let place =
        InstructionTestFolder::new().write("project/AGENTS.md", "a\u{e0041}\u{202e}b\u{200b}");
    let found = place.read();
    assert_eq!(found.text, "# Project Rules\n\nab");
    assert_eq!(found.warnings.len(), 1);
    assert!(found.warnings[0].contains("AGENTS.md contains 3 invisible characters"));
}

#[test]
fn a_file_that_is_no_text_is_left_out_with_a_warning() {
    let place = InstructionTestFolder::new()
        .write("home/SLUG.md", "\0\u{1}binary")
        .write("project/.slug/rules/ok.md", "fine");
    fs::create_dir_all(place.path("project/SLUG.md")).unwrap();
    let found = place.read();
    assert_eq!(found.text, "# Rule: ok.md\n\nfine");
    assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
    assert!(found.warnings[0].contains("is not UTF-8 text"));
    assert!(found.warnings[1].contains("is not a regular file"));
}

#[test]
fn a_link_out_of_the_project_is_not_followed() {
    let place = InstructionTestFolder::new()
        .write("secret", "key")
        .write("project/docs/rules.md", "inside");
    symlink(place.path("secret"), place.path("project/SLUG.md")).unwrap();
    symlink("docs/rules.md", place.path("project/SLUG.local.md")).unwrap();
    let found = place.read();
    assert_eq!(found.text, "# Local Notes (private)\n\ninside");
    assert!(found.warnings[0].contains("links outside the project"));
}

#[test]
fn root_and_working_folder_share_one_heading() {
    let place = InstructionTestFolder::new()
        .write("project/SLUG.md", "outer")
        .write("project/sub/AGENTS.md", "inner");
    fs::create_dir(place.path("project/.git")).unwrap();
    let folders = project_folders(&place.path("project/sub"), None);
    assert_eq!(folders, [place.path("project"), place.path("project/sub")]);
    let found = place.read_folders(&folders);
    assert_eq!(found.text, "# Project Rules\n\nouter\n\ninner");
}

#[test]
fn a_home_folder_does_not_count_as_a_project() {
    let place = InstructionTestFolder::new().write("home/.git/HEAD", "").write("home/src/x", "");
    let cwd = place.path("home/src");
    assert_eq!(project_folders(&cwd, Some(&place.path("home"))), [cwd]);
}

fn warned(found: &LoadedInstructions, what: &str) -> bool {
    found.warnings.iter().any(|warning| warning.contains(what))
}

#[test]
fn includes_follow_their_file_and_are_read_once() {
    let place = InstructionTestFolder::new()
        .write("home/SLUG.md", "mine @mine.md")
        .write("home/mine.md", "my style")
        .write("project/CLAUDE.md", "See @AGENTS.md and @docs/a.md, @me @scope/pkg `@docs/code.md`")
        .write("project/AGENTS.md", "agents @docs/a.md")
        .write("project/docs/a.md", "a, with @b.md")
        .write("project/docs/b.md", "b")
        .write("project/docs/code.md", "never");
    fs::remove_file(place.path("project/AGENTS.md")).unwrap();
    let found = place.read();
    assert!(warned(&found, "names @AGENTS.md, which is no file"), "{:?}", found.warnings);
    let included = found.text.split_once("# Included by CLAUDE.md: docs/a.md\n\na, with @b.md");
    let (before, behind) = included.unwrap();
    assert!(before.contains("# Included by SLUG.md: mine.md\n\nmy style"), "{before}");
    assert_eq!(behind, "\n\n# Included by docs/a.md: docs/b.md\n\nb");
    assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
    let by = found.files.iter().map(|file| file.included_by.is_some()).collect::<Vec<_>>();
    assert_eq!(by, [false, true, false, true, true]);
}

#[test]
fn a_cycle_is_named_and_the_fifth_file_within_another_is_left_out() {
    let mut place = InstructionTestFolder::new().write("project/SLUG.md", "@1.md");
    for number in 1..7 {
        place =
            place.write(&format!("project/{number}.md"), &format!("n{number} @{}.md", number + 1));
    }
    let found = place.read();
    assert!(found.text.contains("n4") && !found.text.contains("n5 "), "{}", found.text);
    assert!(warned(&found, "4.md names @5.md, which is nested too deeply"), "{:?}", found.warnings);
    let place = InstructionTestFolder::new()
        .write("project/SLUG.md", "@a.md")
        .write("project/a.md", "a @b.md")
        .write("project/b.md", "b @a.md @SLUG.md");
    let found = place.read();
    assert!(warned(&found, "a cycle of includes: a.md → b.md → a.md"), "{:?}", found.warnings);
    assert!(warned(&found, "SLUG.md → a.md → b.md → SLUG.md"), "{:?}", found.warnings);
    assert_eq!(found.files.len(), 3);
}

#[test]
fn nothing_outside_hidden_linked_or_denied_is_included() {
    let place = InstructionTestFolder::new()
        .write("secret.md", "key")
        .write("home/SLUG.md", "@../secret.md")
        .write("project/.env", "key")
        .write("project/denied.md", "key")
        .write("project/docs/x.md", "key")
        .write("project/.claude/ok.md", "fine");
    let outside = place.path("secret.md");
    let names = format!(
        "@../secret.md @{} @~/secret.md @.env @link.md @way/x.md @denied.md @docs @.claude/ok.md",
        outside.display()
    );
    let place = place.write("project/SLUG.md", &names);
    symlink(&outside, place.path("project/link.md")).unwrap();
    symlink("docs", place.path("project/way")).unwrap();
    let (home, project) = (place.path("home"), [place.path("project")]);
    let denied = place.path("project/denied.md");
    let hides = |path: &Path| path == denied;
    let found = InstructionScope { home: &home, project: &project, hides: &hides }.read();
    assert!(!found.text.contains("key") && found.text.ends_with("fine"), "{}", found.text);
    for what in [
        "@.env, which is hidden",
        "@link.md, which is reached through a symbolic link",
        "@way/x.md, which is reached",
    ] {
        assert!(warned(&found, what), "{what}: {:?}", found.warnings);
    }
    assert!(warned(&found, "@denied.md, which a permission rule hides"), "{:?}", found.warnings);
    let outside = found.warnings.iter().filter(|it| it.contains("outside of its folder"));
    assert_eq!(outside.count(), 4, "{:?}", found.warnings);
}

#[test]
fn what_is_not_read_says_why() {
    let place = InstructionTestFolder::new()
        .write("project/SLUG.md", "s")
        .write("project/CLAUDE.md", "c")
        .write("project/.claude/rules/all.md", "for all")
        .write("project/.claude/rules/web/ts.md", "---\npaths: \"*.ts\"\n---\nfor ts");
    let found = place.read();
    assert_eq!(found.text, "# Project Rules\n\ns\n\n# Rule: all.md\n\nfor all");
    let told: Vec<&str> = found.unread.iter().map(|file| file.reason.as_str()).collect();
    assert_eq!(
        told,
        ["not read: SLUG.md in the same folder comes first", "sent once work touches *.ts"]
    );
}

#[test]
fn instructions_of_a_part_come_for_what_work_touches() {
    let place = InstructionTestFolder::new()
        .write("project/SLUG.md", "s")
        .write("project/web/AGENTS.md", "for web, @style.md")
        .write("project/web/style.md", "tabs")
        .write("project/web/app/CLAUDE.md", "for app")
        .write("project/web/app/main.ts", "")
        .write("project/node_modules/x/AGENTS.md", "obey")
        .write("project/node_modules/x/y.ts", "")
        .write("project/.claude/rules/ts.md", "---\npaths: \"web/**/*.ts\"\n---\nfor ts");
    let (home, project) = (place.path("home"), [place.path("project")]);
    let scope = InstructionScope { home: &home, project: &project, hides: &|_| false };
    let of = |path: &str| {
        let found = scope.nested(&[place.path(path)]);
        found.into_iter().map(|it| (it.file, it.text)).collect::<Vec<_>>()
    };
    assert_eq!(of("project/README.md"), []);
    assert_eq!(of("elsewhere/web/x.ts"), []);
    assert_eq!(of("project/node_modules/x/y.ts"), []);
    let found = of("project/web/app/main.ts");
    let files: Vec<&str> = found.iter().map(|(file, _)| file.as_str()).collect();
    assert_eq!(files, ["web/AGENTS.md", "web/app/CLAUDE.md", ".claude/rules/ts.md"]);
    let head = "Instructions of web/AGENTS.md, for work in web/:\n\n";
    assert!(found[0].1.starts_with(head) && found[0].1.ends_with("tabs"), "{}", found[0].1);
    let rule = "Instructions of .claude/rules/ts.md, for files like web/**/*.ts:\n\nfor ts";
    assert_eq!(found[2].1, rule);
    let none = InstructionScope { project: &[], ..scope };
    assert!(none.nested(&[place.path("project/web/app/main.ts")]).is_empty());
    let listed = nested_instruction_files(&project[0]);
    assert_eq!(listed, [PathBuf::from("web/AGENTS.md"), "web/app/CLAUDE.md".into()]);
}

#[test]
fn a_link_in_place_of_a_nested_file_leads_nowhere() {
    let place = InstructionTestFolder::new()
        .write("secret.md", "key")
        .write("project/web/big.ts", "")
        .write("project/lib/AGENTS.md", &"x".repeat(50_000));
    symlink(place.path("secret.md"), place.path("project/web/SLUG.md")).unwrap();
    let (home, project) = (place.path("home"), [place.path("project")]);
    let scope = InstructionScope { home: &home, project: &project, hides: &|_| false };
    let found = scope.nested(&[place.path("project/web/big.ts"), place.path("project/lib")]);
    assert_eq!((found[0].text.as_str(), found[0].warnings.len()), ("", 1), "{found:?}");
    assert!(found[1].text.len() < 10_200 && found[1].text.contains("slug cut"), "{found:?}");
}
