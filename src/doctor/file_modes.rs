//! Whether other users can read slug's files: folders should be 0700, files 0600.
//!
//! Only files that slug itself writes are checked; the user's own themes or skills may be open.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::DoctorFinding;

const SUBJECT: &str = "home";
/// What slug writes, in its home.
const OWN: [&str; 10] = [
    "config.toml",
    "settings.json",
    "sessions",
    "trash",
    "blobs",
    "logs",
    "debug",
    "drafts",
    "history.jsonl",
    "trust.json",
];
/// The most files that are checked.
const MAX_LOOKED_AT: usize = 10_000;

pub(super) fn check(home: &Path, cwd: &Path, user_home: Option<&Path>) -> Vec<DoctorFinding> {
    let shown = home.display();
    // In the home folder itself, or above it, slug's home is rightly below the working folder.
    let is_above_home = user_home.is_some_and(|user_home| user_home.starts_with(cwd));
    if home.starts_with(cwd) && !is_above_home {
        return vec![DoctorFinding::fail(
            SUBJECT,
            format!("{shown} is in the working folder, where the model can write."),
            "Set SLUG_HOME to another folder.",
        )];
    }
    match fs::metadata(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return vec![DoctorFinding::ok(
                SUBJECT,
                format!("{shown} will be created when it is needed."),
            )];
        }
        Err(error) => {
            return vec![DoctorFinding::fail(
                SUBJECT,
                format!("{shown} cannot be checked: {error}."),
                "Check its owner.",
            )];
        }
        Ok(metadata) if !metadata.is_dir() => {
            return vec![DoctorFinding::fail(
                SUBJECT,
                format!("{shown} is not a folder."),
                "Move it, or set SLUG_HOME to another folder.",
            )];
        }
        Ok(_) => {}
    }
    let open = open_to_others(home);
    match open.as_slice() {
        [] => vec![DoctorFinding::ok(SUBJECT, format!("Other users cannot access {shown}."))],
        [first, ..] => vec![DoctorFinding::warn(
            SUBJECT,
            match open.len() {
                1 => format!("The permissions of {} allow other users.", first.display()),
                count => {
                    format!(
                        "The permissions of {} and {} more allow other users.",
                        first.display(),
                        count - 1
                    )
                }
            },
            format!("chmod -R go= '{shown}'"),
        )],
    }
}

fn open_to_others(home: &Path) -> Vec<PathBuf> {
    let mut open = Vec::new();
    if is_open(home) {
        open.push(home.to_owned());
    }
    let mut waiting: Vec<PathBuf> = OWN.iter().rev().map(|name| home.join(name)).collect();
    let mut looked_at = 0;
    while let Some(path) = waiting.pop() {
        looked_at += 1;
        if looked_at > MAX_LOOKED_AT {
            break;
        }
        if is_open(&path) {
            open.push(path.clone());
        }
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir()
            && let Ok(entries) = fs::read_dir(&path)
        {
            waiting.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        }
    }
    open
}

/// Whether other users have any access. The mode of a link itself means nothing.
fn is_open(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|it| !it.is_symlink() && it.permissions().mode() & 0o077 != 0)
}
