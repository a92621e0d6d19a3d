//! Whether there is enough disk space to save sessions.

use std::path::Path;

use super::DoctorFinding;

const SUBJECT: &str = "space";
const MIB: u64 = 1 << 20;
/// Less than this is a warning, in bytes.
const LITTLE: u64 = 200 * MIB;
/// Less than this is a failure, in bytes.
const NONE: u64 = 10 * MIB;

pub(super) fn check(home: &Path) -> DoctorFinding {
    let found = home
        .ancestors()
        .find_map(|folder| rustix::fs::statvfs(folder).ok())
        .map(|it| it.f_bavail.saturating_mul(it.f_frsize));
    let Some(free) = found else {
        return DoctorFinding::warn(
            SUBJECT,
            format!("The free space at {} cannot be determined.", home.display()),
            "Check that the folder's file system is mounted.",
        );
    };
    judge(home, free)
}

pub(super) fn judge(home: &Path, free: u64) -> DoctorFinding {
    let text = format!("{} MB are free for {}.", free / MIB, home.display());
    let remedy =
        "Free some space: sessions and previous contents of changed files are stored there.";
    if free < NONE {
        DoctorFinding::fail(SUBJECT, text, remedy)
    } else if free < LITTLE {
        DoctorFinding::warn(SUBJECT, text, remedy)
    } else {
        DoctorFinding::ok(SUBJECT, text)
    }
}
