//! Tests of the page with the session's changes.

use std::sync::Arc;

use crate::domain::{ContentHash, DiffContextSize, FileDiff, FileModeChange};
use crate::services::session_changes::{ExternalChange, NetChangeContent, NetFileChange};
use crate::services::store_query::{StoreQuery, StoreQueryResult};
use crate::session::{
    FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry, LogRecord,
};
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::test_screen::{TestScreen, record, recorded, screen};

const ROOT: &str = "/home/me/src/webshop";

pub(super) fn change(path: &str) -> LogRecord {
    let image = |text: &str| {
        let hash = ContentHash::of(text.as_bytes());
        Some(FileVersion { kind: FileKind::File, hash, mode: Some(0o644) })
    };
    let (path, by) = (format!("{ROOT}/{path}").into(), FileChangeSource::Tool);
    record(LogEntry::FileChange(FileChangeEntry::new(path, image("before"), image("after"), by)))
}

fn net(name: &str, content: NetChangeContent, since: ExternalChange) -> NetFileChange {
    NetFileChange {
        path: format!("{ROOT}/{name}").into(),
        name: name.into(),
        content,
        external_change: since,
        mode: None,
    }
}

fn diff(name: &str, old: &str, new: &str) -> Arc<FileDiff> {
    Arc::new(FileDiff::with(format!("{ROOT}/{name}"), old, new, DiffContextSize::WholeFile))
}

fn cart() -> Arc<FileDiff> {
    let old: String = (1..=60).map(|n| format!("    let line_{n} = {n};\n")).collect();
    let new = old.replace("line_8 = 8", "line_8 = eight").replace("line_50 = 50;", "line_50 = 51;");
    diff("src/cart.rs", &old, &new)
}

fn nets() -> Vec<NetFileChange> {
    let mode = Some(FileModeChange { old: 0o644, new: 0o755 });
    let run = FileDiff { mode, ..(*diff("run.sh", "ls\n", "ls -l\n")).clone() };
    vec![
        net("src/cart.rs", NetChangeContent::Changed(cart()), ExternalChange::Nothing),
        net(
            "src/new.rs",
            NetChangeContent::New(diff("src/new.rs", "", "fn new() {}")),
            ExternalChange::Nothing,
        ),
        net("run.sh", NetChangeContent::Changed(Arc::new(run)), ExternalChange::Changed),
        net("same.txt", NetChangeContent::Same, ExternalChange::Nothing),
    ]
}

/// Answers the request for the files.
fn answered(mut scene: TestScreen) -> TestScreen {
    let asked = scene.effects.drain(..).find_map(|effect| match effect {
        ScreenEffect::QueryStore { id, job: StoreQuery::Changes { .. } } => Some(id),
        _ => None,
    });
    let answer = Ok(StoreQueryResult::Changes(Arc::new(nets())));
    scene.msg(ScreenMsg::StoreAnswered { id: asked.expect("the files are asked for"), answer })
}

fn page(width: u16, height: u16) -> TestScreen {
    let files = ["src/cart.rs", "src/new.rs", "run.sh", "same.txt"];
    let scene = files
        .iter()
        .fold(screen(width, height), |scene, file| scene.event(recorded(&change(file))));
    answered(scene.clear_effects().types("/diff").key("enter"))
}

#[test]
fn the_page_at_80x24() {
    insta::assert_snapshot!(page(80, 24).readable_text());
}

#[test]
fn the_page_at_120x40() {
    insta::assert_snapshot!(page(120, 40).key("n").readable_text());
}

#[test]
fn the_page_at_200x60() {
    insta::assert_snapshot!(page(200, 60).readable_text());
}

#[test]
fn files_are_gone_through() {
    let scene = page(120, 40).shows("4 files  +4 -3").shows("⋯ 4 unchanged lines");
    let scene = scene.key("tab").shows("src/new.rs  new file").shows("no newline at the end");
    let scene = scene.key("tab").shows("permissions 644 → 755").shows("changed outside slug");
    let scene = scene.key("tab").shows("Same as before this session").key("tab");
    scene.shows("eight").key("shift+tab").shows("Same as before this session");
}

#[test]
fn changes_are_gone_through() {
    let scene = page(120, 14).shows("= eight").hides("= 51").shows("1 more change below");
    scene.key("n").shows("= 51").key("N").shows("= eight");
}

#[test]
fn folds_open_one_by_one_and_all_at_once() {
    let scene = page(80, 60).hides("line_2 =").hides("line_20 =");
    let scene = scene.key("enter").shows("line_2 =").hides("line_20 =");
    let scene = scene.key("x").shows("line_20 =").hides("unchanged lines").key("x");
    scene.hides("line_2 =").hides("line_20 =");
}

#[test]
fn a_click_opens_a_fold_or_a_file() {
    let scene = page(120, 40);
    let row = |text: &str| {
        let shown = scene.text();
        u16::try_from(shown.lines().position(|line| line.contains(text)).unwrap()).unwrap()
    };
    let (fold, file) = (row("⋯ 4 unchanged lines"), row("src/new.rs"));
    let scene = scene.drag((60, fold), (60, fold)).shows("line_2 =");
    scene.drag((4, file), (4, file)).shows("new file");
}

#[test]
fn sides_are_chosen() {
    let scene = page(120, 40).shows("unified").key("s").shows("side by side");
    let both = "8 -     let line_8 = 8;";
    let row = scene.text().lines().find(|line| line.contains(both)).unwrap().to_owned();
    assert!(row.contains("8 +     let line_8 = eight"), "{row}");
}

#[test]
fn the_patch_is_copied() {
    let mut scene = page(120, 40).key("tab").key("c");
    let copied = scene.effects.drain(..).find(|effect| matches!(effect, ScreenEffect::Copy { .. }));
    match copied {
        Some(ScreenEffect::Copy { text, .. }) => insta::assert_snapshot!(text, @r"
        diff --git a/src/new.rs b/src/new.rs
        new file mode 100644
        --- /dev/null
        +++ b/src/new.rs
        @@ -0,0 +1,1 @@
        +fn new() {}
        \ No newline at end of file
        "),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_path_goes_to_its_file() {
    let scene = ["src/cart.rs", "run.sh"]
        .iter()
        .fold(screen(120, 40), |scene, file| scene.event(recorded(&change(file))));
    let scene = answered(scene.types("/diff run.sh").key("enter"));
    scene.shows("ls -l").key("esc").hides("What this session changed");
}

#[test]
fn a_change_made_meanwhile_is_read_and_the_page_stays() {
    let scene = page(120, 40).key("tab").event(recorded(&change("src/cart.rs")));
    answered(scene).shows("new file");
}

#[test]
fn nothing_changed_is_said() {
    screen(80, 24).types("/diff").key("enter").shows("This session has not changed anything yet.");
}
