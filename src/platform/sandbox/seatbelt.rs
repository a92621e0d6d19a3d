//! macOS: a profile for `sandbox-exec`. It denies everything that it does not allow; of two rules
//! that fit, the later one counts.
//!
//! A protected path must not be moved away, nor any folder above it, since something else could be
//! put in its place. So unlinking is denied for each of them.

use std::fmt::Write;
use std::path::Path;

use crate::domain::{MaskedPathKind, SandboxNetwork, SandboxProfile};

/// The rights that programs need to run at all.
const ALWAYS: &str = "(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow ipc-posix-shm)
(allow mach-lookup
  (global-name \"com.apple.system.opendirectoryd.libinfo\")
  (global-name \"com.apple.system.logger\")
  (global-name \"com.apple.trustd.agent\"))
(allow file-read*)
(allow file-write-data
  (literal \"/dev/null\") (literal \"/dev/zero\"))
(allow file-ioctl (literal \"/dev/null\"))
(deny file* (regex #\"^/dev/ttys?[0-9]*$\") (literal \"/dev/tty\"))
";

/// The `sandbox-exec` profile for `view`; `temporary` is the folder for temporary files.
pub(super) fn profile(view: &SandboxProfile, temporary: &Path) -> String {
    let mut text = ALWAYS.to_owned();
    // Writing to a String cannot fail.
    let mut rule = |what: &str, path: String| {
        let _ = writeln!(text, "({what} {path})");
    };
    rule("allow file-write*", subpath(temporary));
    rule("allow file-write*", subpath(&view.dir));
    if let Some(scratch) = &view.scratch {
        rule("allow file-write*", subpath(scratch));
        rule("deny file-write-unlink", literal(scratch));
    }
    rule("deny file-write-unlink", literal(&view.dir));
    for path in &view.held {
        rule("deny file-write-unlink", literal(path));
    }
    let absent = view.absent.iter().map(|spot| &spot.path);
    for path in view.fixed.iter().chain(absent) {
        rule("deny file-write*", subpath(path));
        let inside = path.ancestors().skip(1).take_while(|above| above.starts_with(&view.dir));
        for above in inside {
            rule("deny file-write-unlink", literal(above));
        }
    }
    for spot in &view.covered {
        let path = match spot.kind {
            MaskedPathKind::File => literal(&spot.path),
            MaskedPathKind::Folder => subpath(&spot.path),
        };
        rule("deny file*", path);
        for above in spot.path.ancestors().skip(1) {
            rule("deny file-write-unlink", literal(above));
        }
    }
    match view.network {
        SandboxNetwork::Off | SandboxNetwork::Hosts(_) => {}
        SandboxNetwork::On => {
            text.push_str("(allow network*)\n(allow system-socket)\n");
            text.push_str("(deny network* (remote unix-socket))\n");
        }
    }
    text
}

fn literal(path: &Path) -> String {
    format!("(literal {})", quoted(path))
}

fn subpath(path: &Path) -> String {
    format!("(subpath {})", quoted(path))
}

fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

/// The program, which is not looked for in the PATH.
#[cfg(target_os = "macos")]
const PROGRAM: &str = "/usr/bin/sandbox-exec";

#[cfg(target_os = "macos")]
pub(super) fn command(
    view: &SandboxProfile,
    words: &super::BashInvocation<'_>,
) -> std::process::Command {
    let temporary = std::env::temp_dir();
    let temporary = temporary.canonicalize().unwrap_or(temporary);
    let mut command = std::process::Command::new(PROGRAM);
    command.arg("-p").arg(profile(view, &temporary)).arg("/usr/bin/env");
    for (name, value) in words.variables {
        let mut pair = name.clone();
        pair.push("=");
        pair.push(value);
        command.arg(pair);
    }
    command.arg(words.bash).args(&words.arguments);
    command
}

/// Runs a program under a profile; the error is a phrase.
#[cfg(target_os = "macos")]
pub(super) fn try_out() -> Result<(), String> {
    let run = std::process::Command::new(PROGRAM)
        .args(["-p", "(version 1)(allow default)", "/usr/bin/true"])
        .output()
        .map_err(|error| format!("{PROGRAM} cannot be started: {error}"))?;
    if run.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&run.stderr).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use crate::domain::{MaskedPath, ScanExtent};

    use super::*;

    fn view() -> SandboxProfile {
        let spot = |path: &str, kind| MaskedPath { path: path.into(), kind };
        SandboxProfile {
            dir: "/Users/u/app".into(),
            writable: Vec::new(),
            scratch: Some("/tmp/slug-7/s".into()),
            fixed: vec!["/Users/u/app/a/b".into()],
            held: Vec::new(),
            absent: vec![spot("/Users/u/app/.mcp.json", MaskedPathKind::File)],
            ignores: None,
            covered: vec![spot("/Users/u/app/secret", MaskedPathKind::Folder)],
            denied: ScanExtent::Whole,
            private: Vec::new(),
            kept: Vec::new(),
            network: SandboxNetwork::Off,
        }
    }

    /// Whether a rule that denies `what` at `path` follows the one that allows writes to the
    /// folder.
    fn denies(profile: &str, what: &str, path: &str) -> bool {
        let place = |line: &str| profile.lines().position(|it| it == line);
        let rule = |kind: &str| place(&format!("(deny {what} ({kind} \"{path}\"))"));
        let allowed = place("(allow file-write* (subpath \"/Users/u/app\"))").unwrap();
        rule("literal").or(rule("subpath")).is_some_and(|at| at > allowed)
    }

    #[test]
    fn s120_protected_paths_and_their_parents_cannot_be_moved() {
        let profile = profile(&view(), Path::new("/private/tmp/u"));
        assert!(denies(&profile, "file-write*", "/Users/u/app/a/b"), "{profile}");
        assert!(denies(&profile, "file-write-unlink", "/Users/u/app/a"), "{profile}");
        assert!(denies(&profile, "file-write-unlink", "/Users/u/app"), "{profile}");
        assert!(denies(&profile, "file-write*", "/Users/u/app/.mcp.json"), "{profile}");
    }

    #[test]
    fn s120_covered_paths_cannot_be_read_under_another_name() {
        let profile = profile(&view(), Path::new("/private/tmp/u"));
        // `file*` covers reading, writing and unlinking.
        assert!(denies(&profile, "file*", "/Users/u/app/secret"), "{profile}");
        for above in ["/Users/u/app", "/Users/u", "/Users"] {
            assert!(denies(&profile, "file-write-unlink", above), "{above}: {profile}");
        }
    }

    #[test]
    fn s90_no_network_is_allowed_unless_it_is_on() {
        let off = profile(&view(), Path::new("/t"));
        assert!(off.contains("(deny default)") && !off.contains("allow network"), "{off}");
        let on =
            profile(&SandboxProfile { network: SandboxNetwork::On, ..view() }, Path::new("/t"));
        assert!(on.ends_with("(deny network* (remote unix-socket))\n"), "{on}");
    }

    #[test]
    fn a_name_ends_no_rule() {
        let view = SandboxProfile { dir: "/w/a\")(allow default)(\"".into(), ..view() };
        let profile = profile(&view, Path::new("/t"));
        assert!(profile.contains("(subpath \"/w/a\\\")(allow default)(\\\"\")"), "{profile}");
    }
}
