//! Keeps slug's keys where no other program of the same user reads them.
//!
//! A process that is not dumpable has its memory and environment in `/proc` closed to all but root.
//! Root reads them all the same, and `/proc/PID/cmdline` is open to everyone, so the keys are in
//! neither: where slug was started with one in a variable or as an argument, it starts itself anew
//! without. Removing a variable would not do, since `/proc` shows the block that the kernel made.
//! What was taken out goes through a memfd that is closed once it is read.
//!
//! Linux alone: elsewhere slug goes on with the environment that it was given.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// What slug was really started with, where its environment and arguments do not tell all.
static HANDED: OnceLock<Handed> = OnceLock::new();

/// What the slug of before hands to the one that takes its place.
#[derive(Serialize, Deserialize)]
struct Handed {
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    hides_key: bool,
}

/// Closes this process's memory and environment to the other programs of its user. An exec undoes
/// it, so each of slug's processes calls this first of all.
#[cfg(target_os = "linux")]
pub fn close_process() -> io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// There is no such thing here.
#[cfg(not(target_os = "linux"))]
pub fn close_process() -> io::Result<()> {
    Ok(())
}

/// The arguments that slug was started with. To be called before anything is opened.
pub fn arguments() -> Vec<OsString> {
    #[cfg(target_os = "linux")]
    if let Some(handed) = restart::receive() {
        return HANDED.get_or_init(|| handed).arguments.clone();
    }
    std::env::args_os().collect()
}

/// Begins anew where one of these variables is in the environment, or `key` among the arguments
/// that others see. To be called before the terminal is taken and any thread begins.
///
/// # Errors
///
/// Where it cannot be done; slug can go on, with the keys where they are.
pub fn take_out<'a>(
    arguments: &[OsString],
    key_variables: impl IntoIterator<Item = &'a str>,
    key: Option<&str>,
) -> io::Result<()> {
    let found = key_variables.into_iter().filter_map(|name| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
        Some((name.into(), value))
    });
    let found: Vec<(OsString, OsString)> = found.collect();
    let handed = HANDED.get();
    let hides_key = handed.is_some_and(|it| it.hides_key);
    let key = key.filter(|key| !key.is_empty() && !hides_key);
    if found.is_empty() && key.is_none() {
        return Ok(());
    }
    let names: Vec<OsString> = found.iter().map(|(name, _)| name.clone()).collect();
    let before = handed.map(|it| it.variables.clone()).unwrap_or_default();
    let handed = Handed {
        arguments: arguments.to_vec(),
        variables: before.into_iter().chain(found).collect(),
        hides_key: hides_key || key.is_some(),
    };
    #[cfg(target_os = "linux")]
    return restart::begin_anew(&handed, &names, key);
    #[cfg(not(target_os = "linux"))]
    return Ok(drop((handed, names)));
}

/// What an environment variable holds, also one that was taken out.
pub fn variable(name: impl AsRef<OsStr>) -> Option<OsString> {
    let name = name.as_ref();
    let taken = HANDED.get().and_then(|it| it.variables.iter().find(|(taken, _)| taken == name));
    taken.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
}

#[cfg(target_os = "linux")]
mod restart {
    use std::ffi::{CString, OsStr, OsString};
    use std::fs::File;
    use std::io::{self, Read, Seek, Write};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::Command;

    use rustix::fs::MemfdFlags;

    use super::Handed;
    use crate::platform::child;

    /// Says which descriptor holds what is handed over.
    const DESCRIPTOR: &str = "SLUG_START_FD";

    const MEMFD: &str = "slug-start";

    /// Stands where a key was in an argument.
    const HIDDEN: &[u8] = b"...";

    /// Becomes a slug without these variables, and without `key` in the arguments that others see.
    pub(super) fn begin_anew(
        handed: &Handed,
        names: &[OsString],
        key: Option<&str>,
    ) -> io::Result<()> {
        let mut file = File::from(rustix::fs::memfd_create(MEMFD, MemfdFlags::empty())?);
        file.write_all(&serde_json::to_vec(handed)?)?;
        file.rewind()?;
        let mut shown = std::env::args_os();
        let mut command = Command::new(child::program()?);
        command.arg0(shown.next().unwrap_or_else(|| "slug".into()));
        command.args(shown.map(|argument| without(argument, key)));
        command.env(DESCRIPTOR, file.as_raw_fd().to_string());
        for name in names {
            command.env_remove(name);
        }
        Err(command.exec())
    }

    fn without(argument: OsString, key: Option<&str>) -> OsString {
        let Some(key) = key.map(str::as_bytes) else { return argument };
        let (mut rest, mut shown) = (argument.as_bytes(), Vec::new());
        while let Some(at) = memchr::memmem::find(rest, key) {
            shown.extend_from_slice(&rest[..at]);
            shown.extend_from_slice(HIDDEN);
            rest = &rest[at + key.len()..];
        }
        shown.extend_from_slice(rest);
        OsString::from_vec(shown)
    }

    /// What the slug of before has handed over, if this one took its place.
    pub(super) fn receive() -> Option<Handed> {
        let number: i32 = std::env::var(DESCRIPTOR).ok()?.parse().ok()?;
        let leads_to = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
        // A program that slug started has the variable, too, and whatever under that number.
        if number <= 2 || leads_to != Path::new(&format!("/memfd:{MEMFD} (deleted)")) {
            return None;
        }
        #[allow(unsafe_code, reason = "a descriptor that is handed over has no owner yet")]
        // SAFETY: it is open, slug's former self made it and ended with the exec, and nothing in
        // this process, which has just begun, has opened or closed anything.
        let handed = unsafe { OwnedFd::from_raw_fd(number) };
        let mut text = Vec::new();
        File::from(handed).read_to_end(&mut text).ok()?;
        let handed: Handed = serde_json::from_slice(&text).ok()?;
        // Started by way of /proc, it would be listed as "exe".
        let program = handed.arguments.first().map(Path::new).and_then(Path::file_name);
        let program = program.unwrap_or(OsStr::new("slug"));
        if let Ok(name) = CString::new(program.as_bytes()) {
            // The name is only for people who look at a list of processes.
            let _ = rustix::thread::set_name(&name);
        }
        Some(handed)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_key_is_taken_out_of_an_argument_wherever_it_is() {
            for (argument, shown) in [
                ("-ksk-1", "-k..."),
                ("--api-key=sk-1", "--api-key=..."),
                ("sk-1 and sk-1", "... and ..."),
                ("-p", "-p"),
            ] {
                assert_eq!(without(argument.into(), Some("sk-1")), shown, "{argument}");
                assert_eq!(without(argument.into(), None), argument);
            }
        }
    }
}
