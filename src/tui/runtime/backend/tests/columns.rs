//! Tests of columns as terminals show them: nothing drifts, also after clusters of uncertain width.

use std::num::NonZeroU16;
use std::process::Command;
use std::time::{Duration, Instant};

use super::*;
use crate::tui::layout::wrap::display_width;

/// Clusters whose width terminals are known to disagree on, and some that all agree on.
const CLUSTERS: &[&str] = &[
    "a",
    "日",
    "한",
    "é",
    "e\u{301}",
    "กำ",
    "ไท",
    "ש\u{5b8}",
    "ع",
    "क\u{94d}ष\u{93f}",
    "ශ\u{dca}\u{200d}ර\u{dd3}",
    "ﾊ\u{ff9f}",
    "❤\u{fe0f}",
    "1\u{fe0f}\u{20e3}",
    "⌨\u{fe0f}",
    "☝🏽",
    "👍🏽",
    "🇩🇪",
    "🇩",
    "👩\u{200d}👩\u{200d}👧\u{200d}👦",
    "🏳\u{fe0f}\u{200d}🌈",
    "🧑🏿\u{200d}🚀",
    "\u{1fae9}",
    "𝔸",
    "⸻",
];

/// Rows with a bar after each cluster, and the columns where the bars should stand.
fn rows() -> Vec<(String, Vec<usize>)> {
    let bars = |clusters: &[&str]| {
        let (mut row, mut columns, mut at) = (String::new(), Vec::new(), 0);
        for cluster in clusters {
            row += cluster;
            at += display_width(cluster);
            row.push('|');
            columns.push(at);
            at += 1;
        }
        (row, columns)
    };
    let mut rows: Vec<_> = CLUSTERS.iter().map(|cluster| bars(&[cluster, "x", cluster])).collect();
    rows.extend(CLUSTERS.chunks(6).map(bars));
    rows
}

/// The bytes written for a row: first over other text, then with only its end changed.
fn written(row: &str) -> Vec<u8> {
    let mut terminal = CapturedTerminal::new(HyperlinkSupport::Clickable);
    let filler = "#".repeat(usize::from(WIDTH));
    let mut bytes = String::from("\x1b[2J");
    bytes += &terminal.text(0, &filler, None);
    bytes += &terminal.draw(|frame, links| put(frame, links, 0, row, None));
    bytes += &terminal.draw(|frame, links| put(frame, links, 0, &format!("{row}zzz"), None));
    bytes.into_bytes()
}

#[test]
fn no_column_drifts_in_vt100() {
    for (row, columns) in rows() {
        let size = |cells| NonZeroU16::new(cells).unwrap();
        let mut parser = vt100::Parser::new(size(HEIGHT), size(WIDTH), 0);
        parser.process(&written(&row));
        let screen = parser.screen();
        let cell = |column: usize| {
            let cell = screen.cell(0, u16::try_from(column).unwrap());
            cell.map_or("", |cell| cell.contents()).to_owned()
        };
        for column in &columns {
            assert_eq!(cell(*column), "|", "column {column} of {row:?}");
        }
        let end = columns.last().unwrap() + 1;
        let shown: String = (end..end + 3).map(cell).collect();
        assert_eq!(shown, "zzz", "{row:?}");
        assert!(!screen.contents().contains('#'), "{row:?}");
    }
}

/// A separate tmux server, which ends with the test.
struct TmuxServer {
    socket: String,
}

impl TmuxServer {
    fn start() -> Option<Self> {
        let tmux = Self { socket: format!("slug-columns-{}", std::process::id()) };
        let size = ["-x".to_owned(), WIDTH.to_string(), "-y".into(), HEIGHT.to_string()];
        let new = ["-f", "/dev/null", "-u", "new-session", "-d", "-s", "columns"];
        let started = tmux.command().args(new).args(size).arg("exec cat").status();
        started.is_ok_and(|status| status.success()).then_some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket]).env_remove("TMUX");
        command
    }

    /// The first row of a screen on which `bytes` were written, once the row shows its end.
    fn row(&self, bytes: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let play = format!("cat '{}'; exec cat", file.path().display());
        let status = self.command().args(["respawn-pane", "-k", "-t", "columns", &play]).status();
        assert!(status.unwrap().success());
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let capture = self.command().args(["capture-pane", "-p", "-t", "columns"]).output();
            let screen = String::from_utf8(capture.unwrap().stdout).unwrap();
            let row = screen.lines().next().unwrap_or_default();
            if row.contains("END") || Instant::now() > deadline {
                return row.to_owned();
            }
        }
    }
}

impl Drop for TmuxServer {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").status();
    }
}

/// Each bar and the end are written where they should stand: a bar that had drifted would remain
/// beside them.
#[test]
fn no_column_drifts_in_tmux() {
    let Some(tmux) = TmuxServer::start() else {
        // tmux is not installed on this machine.
        return;
    };
    for (row, columns) in rows() {
        let end = columns.last().unwrap() + 1;
        let mut bytes = written(&row);
        for column in &columns {
            bytes.extend(format!("\x1b[1;{}H/", column + 1).bytes());
        }
        bytes.extend(format!("\x1b[1;{}HEND", end + 1).bytes());
        let shown = tmux.row(&bytes);
        assert_eq!(shown.matches('/').count(), columns.len(), "{shown:?} for {row:?}");
        assert!(shown.ends_with("/END"), "{shown:?} for {row:?}");
        assert!(!shown.contains(['|', '#', 'z']), "drifted: {shown:?} for {row:?}");
    }
}
