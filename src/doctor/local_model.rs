//! Whether the model whose server slug runs can be started: its file and the program. Nothing is
//! started.

use super::DoctorFinding;

const SUBJECT: &str = "local model";

pub(super) fn check(local: Option<&Result<String, String>>) -> Option<DoctorFinding> {
    Some(match local? {
        Ok(found) => DoctorFinding::ok(SUBJECT, found),
        Err(why) => DoctorFinding::fail(
            SUBJECT,
            why,
            "Correct `local.model` or `local.server` in ~/.slug/config.toml, or the flag --local.",
        ),
    })
}
