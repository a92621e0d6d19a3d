//! Tests of what `/memory` is told of the instruction files, and of adding a line to one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::context::{RememberError, remembered_line, with_line};

struct ReportTestFolder(TempDir);

impl ReportTestFolder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(folder.path("home")).unwrap();
        fs::create_dir_all(folder.path("project")).unwrap();
        for (name, text) in files {
            let path = folder.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn scoped<T>(&self, look: impl FnOnce(&InstructionScope<'_>) -> T) -> T {
        let (home, project) = (self.path("home"), [self.path("project")]);
        look(&InstructionScope { home: &home, project: &project, hides: &|_| false })
    }

    /// Each file by its name, its group, its depth and its state.
    fn told(&self, noted: &[&str]) -> Vec<(String, InstructionGroup, usize, InstructionState)> {
        let noted = noted.iter().map(|it| (*it).to_owned()).collect();
        let report = self.scoped(|scope| scope.report(&noted));
        let name = |path: &Path| {
            let base = self.path("");
            path.strip_prefix(base).unwrap().display().to_string()
        };
        let files = report.files.iter();
        files.map(|it| (name(&it.path), it.group, it.depth, it.state.clone())).collect()
    }
}

#[test]
fn each_file_has_its_level_and_says_whether_it_goes_out() {
    use InstructionGroup::{Local, Part, Project, Rules, User};
    use InstructionState::{ForAPart, NotSent, Sent};
    let folder = ReportTestFolder::with(&[
        ("home/SLUG.md", "mine"),
        ("project/SLUG.md", "ours @docs/a.md"),
        ("project/docs/a.md", "a @b.md"),
        ("project/docs/b.md", "b"),
        ("project/CLAUDE.md", "old"),
        ("project/SLUG.local.md", "local"),
        ("project/.claude/rules/all.md", "all"),
        ("project/.claude/rules/ts.md", "---\npaths: \"*.ts\"\n---\nts"),
        ("project/web/AGENTS.md", "web"),
        ("project/node_modules/x/AGENTS.md", "others"),
    ]);
    let row = |name: &str, group, depth, state| (name.to_owned(), group, depth, state);
    let told = folder.told(&[]);
    assert_eq!(
        told,
        [
            row("home/SLUG.md", User, 0, Sent),
            row("project/SLUG.md", Project, 0, Sent),
            row("project/docs/a.md", Project, 1, Sent),
            row("project/docs/b.md", Project, 2, Sent),
            row(
                "project/CLAUDE.md",
                Project,
                0,
                NotSent("not read: SLUG.md in the same folder comes first".into())
            ),
            row("project/.claude/rules/all.md", Rules, 0, Sent),
            row(
                "project/.claude/rules/ts.md",
                Rules,
                0,
                ForAPart("sent once work touches *.ts".into())
            ),
            row("project/SLUG.local.md", Local, 0, Sent),
            row("project/web/AGENTS.md", Part, 0, ForAPart("sent once work touches web/".into())),
        ]
    );
    let noted = folder.told(&["web/AGENTS.md", ".claude/rules/ts.md"]);
    let notes = noted.iter().filter(|it| it.3 == InstructionState::SentAsNote).count();
    assert_eq!(notes, 2, "{noted:?}");
}

#[test]
fn a_level_without_a_file_offers_one_and_a_bad_file_says_so() {
    let empty = ReportTestFolder::with(&[]);
    let told = empty.told(&[]);
    let names: Vec<&str> = told.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(names, ["home/SLUG.md", "project/SLUG.md"]);
    assert!(told.iter().all(|it| it.3 == InstructionState::Missing), "{told:?}");
    let bad = ReportTestFolder::with(&[]);
    fs::write(bad.path("project/AGENTS.md"), b"\xff\xfe\0").unwrap();
    fs::write(bad.path("home/SLUG.md"), " \n").unwrap();
    let told = bad.told(&[]);
    let unread = |name: &str| {
        told.iter().any(|it| it.0 == name && matches!(it.3, InstructionState::NotSent(_)))
    };
    assert!(unread("project/AGENTS.md") && unread("home/SLUG.md"), "{told:?}");
    let warnings = bad.scoped(|scope| scope.report(&BTreeSet::new())).warnings;
    assert!(warnings[0].contains("not UTF-8"), "{warnings:?}");
}

#[test]
fn what_does_not_fit_is_told() {
    let long = "x".repeat(50_000);
    let folder = ReportTestFolder::with(&[("home/SLUG.md", &long), ("project/SLUG.md", "late")]);
    let told = folder.told(&[]);
    assert!(
        matches!(&told[1].3, InstructionState::NotSent(why) if why.contains("40,000")),
        "{told:?}"
    );
}

#[test]
fn without_trust_only_the_users_own_files_are_told() {
    let folder = ReportTestFolder::with(&[("home/SLUG.md", "mine"), ("project/SLUG.md", "theirs")]);
    let home = folder.path("home");
    let scope = InstructionScope { home: &home, project: &[], hides: &|_| false };
    let report = scope.report(&BTreeSet::new());
    assert!(!report.is_trusted && report.files.len() == 1 && report.places.len() == 1);
    assert!(matches!(scope.remember_place(RememberLevel::Project), Err(RememberError::NotTrusted)));
}

#[test]
fn a_line_goes_into_the_file_that_is_read_at_its_level() {
    let folder = ReportTestFolder::with(&[("project/CLAUDE.md", "old")]);
    let place = |level| folder.scoped(|scope| scope.remember_place(level)).unwrap();
    let project = place(RememberLevel::Project);
    assert_eq!((project.path, project.is_new), (folder.path("project/CLAUDE.md"), false));
    let user = place(RememberLevel::User);
    assert_eq!((user.path, user.is_new), (folder.path("home/SLUG.md"), true));
}

#[test]
fn a_link_is_followed_only_within_the_project_or_from_the_users_own_file() {
    let folder = ReportTestFolder::with(&[("outside.md", "x"), ("project/docs/rules.md", "y")]);
    symlink(folder.path("outside.md"), folder.path("project/SLUG.md")).unwrap();
    symlink(folder.path("outside.md"), folder.path("home/SLUG.md")).unwrap();
    let place = |level| folder.scoped(|scope| scope.remember_place(level));
    let refused = place(RememberLevel::Project);
    assert!(matches!(refused, Err(RememberError::LinkOutside(_))), "{refused:?}");
    assert_eq!(place(RememberLevel::User).unwrap().path, folder.path("outside.md"));
    fs::remove_file(folder.path("project/SLUG.md")).unwrap();
    symlink("docs/rules.md", folder.path("project/SLUG.md")).unwrap();
    let inside = place(RememberLevel::Project).unwrap().path;
    assert_eq!(inside, folder.path("project/docs/rules.md"));
    fs::remove_file(folder.path("project/SLUG.md")).unwrap();
    symlink("nowhere.md", folder.path("project/SLUG.md")).unwrap();
    let broken = place(RememberLevel::Project);
    assert!(matches!(broken, Err(RememberError::BrokenLink(_))), "{broken:?}");
}

#[test]
fn a_typed_line_becomes_one_list_item() {
    let item = |typed: &str| remembered_line(typed).unwrap();
    assert_eq!(item("# use tabs "), "- use tabs");
    assert_eq!(item("#use tabs"), "- use tabs");
    assert_eq!(item("## tests first"), "- tests first");
    assert_eq!(item("# a\u{202e}b\u{1b}[31mc"), remembered_line("# ab\u{1b}[31mc").unwrap());
    assert!(!item("# a\u{1b}[31mc").contains('\u{1b}'));
    assert!(matches!(remembered_line("#  "), Err(RememberError::Empty)));
    let long = format!("# {}", "x".repeat(2001));
    assert!(matches!(remembered_line(&long), Err(RememberError::TooLong)));
}

#[test]
fn a_line_is_added_below_a_list_or_as_one() {
    for (before, after) in [
        ("", "- l\n"),
        ("\n\n", "- l\n"),
        ("text", "text\n\n- l\n"),
        ("# Head\n\n- a\n- b\n\n", "# Head\n\n- a\n- b\n- l\n"),
        ("* a", "* a\n- l\n"),
        ("a\r\nb\r\n", "a\r\nb\r\n\r\n- l\r\n"),
    ] {
        assert_eq!(with_line(before, "- l"), after, "{before:?}");
    }
}
