//! Sample sessions for the tests of the list and of its view.

use chrono::{DateTime, FixedOffset, TimeDelta};

use crate::domain::SessionId;
use crate::services::sessions::{SessionList, SessionLockState, SessionRow};
use crate::session::SessionGrouping;

/// The working folder of the tests.
pub const HERE: &str = "/home/me/webshop";

/// A Thursday, in the afternoon.
pub fn now() -> DateTime<FixedOffset> {
    "2026-06-18T15:00:00+02:00".parse().unwrap()
}

/// A session id made from a number.
pub fn id(number: u128) -> SessionId {
    format!("00000000-0000-7000-8000-{number:012}").parse().unwrap()
}

/// A session of the folder [`HERE`], last used `minutes` ago.
pub fn row(number: u128, title: &str, minutes: i64) -> SessionRow {
    SessionRow {
        id: id(number),
        title: title.into(),
        last_used_at: now() - TimeDelta::minutes(minutes),
        working_directory: HERE.into(),
        model: "qwen3-coder".into(),
        forked_from: None,
        last_shared_message: None,
        message_count: Some(12),
        lock: SessionLockState::Unlocked,
    }
}

/// Makes a session a fork of another one.
pub fn fork(parent: u128, row: SessionRow) -> SessionRow {
    let parted = Some("why does checkout fail when the cart is empty?".to_owned());
    SessionRow { forked_from: Some(id(parent)), last_shared_message: parted, ..row }
}

/// Moves a session to another folder.
pub fn at(folder: &str, row: SessionRow) -> SessionRow {
    SessionRow { working_directory: folder.into(), ..row }
}

/// A list read at [`now`].
pub fn list(rows: Vec<SessionRow>) -> SessionList {
    SessionList { rows, now: now(), grouping: SessionGrouping::Project }
}

/// A list with forks, several projects and dates, as after some weeks of work.
pub fn week() -> SessionList {
    let day = 24 * 60;
    list(vec![
        row(1, "Fix empty cart checkout", 12),
        fork(1, row(2, "try sum() instead", 8)),
        fork(1, row(3, "with a feature flag", 3)),
        fork(2, row(4, "and a property test", 5)),
        row(5, "Upgrade to axum 0.9", 130),
        row(6, "Flaky inventory test", day),
        row(7, "Währung: 日本語の通貨の書式をまとめて直す", 3 * day),
        row(8, "A first look", 20 * day),
        at(
            "/home/me/blog",
            SessionRow { lock: SessionLockState::Locked, ..row(9, "Dark mode", 60) },
        ),
        at("/home/me/blog", row(10, "", 50 * day)),
    ])
}
