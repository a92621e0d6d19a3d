//! Gets a key from a command of the user's own, or from the system's keyring.
//!
//! slug asks the keyring through the keyring's own program (`secret-tool`, `pass`, on a Mac
//! `security`), which unlocks it in the usual way. No key is ever an argument or part of an error.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use secrecy::SecretString;

use super::redact::Redactor;
use super::user_command::{
    self, UserCommandError, UserCommandLine, UserCommandOutput, UserCommandRun,
    UserCommandVariables,
};
use super::which;

/// How long the command may take: the user may have to unlock something.
const LIMIT: Duration = Duration::from_secs(60);

/// The most characters of the command's standard error that are shown.
const SHOWN: usize = 300;

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyCommandSource {
    /// A line for `sh -c`.
    Shell(String),
    /// A program, by its name or path, and its arguments.
    Words(String, Vec<String>),
    /// The name of an entry in the keyring.
    Keyring(String),
}

/// The surroundings in which a key command runs.
#[derive(Debug, Clone, Copy)]
pub struct KeyCommandContext<'a> {
    /// The value of `PATH`.
    pub path: &'a OsStr,
    /// Programs inside this folder are passed over.
    pub workspace: &'a Path,
    /// The current folder of the command; a relative path of its program starts here.
    pub folder: &'a Path,
    /// Variables that hold keys, and that the command does not get.
    pub hidden: &'a [String],
}

/// Why there is no key. The messages are sentences for the user.
#[derive(Debug, thiserror::Error)]
pub enum KeyCommandError {
    /// The program is not on the `PATH`.
    #[error("`{0}` is not in PATH. Install it, or give its full path.")]
    NoProgram(String),
    /// The command could not be started or did not end in time.
    #[error("The command for the key: {0}. Try it in a shell.")]
    Run(UserCommandError),
    /// The command ended with an error.
    #[error("The command for the key ended with {status}{}. Try it in a shell.", said(.complaint))]
    Failed {
        status: std::process::ExitStatus,
        /// The end of its standard error, without secrets.
        complaint: String,
    },
    /// The output is no key; what it is instead.
    #[error("The command for the key printed {0}. It must print only the key on its first line.")]
    NoKey(&'static str),
    /// No program for the keyring is installed; the programs that would do.
    #[error("No program to read the keyring: install {0}.")]
    NoKeyring(&'static str),
    /// The keyring has no such entry, or stays locked.
    #[error("The keyring has no key for `{name}`{}. Add one with: {remedy}", said(.complaint))]
    NotInKeyring {
        /// The name of the entry.
        name: String,
        /// The standard error of the first program that was asked.
        complaint: String,
        /// The command that stores an entry.
        remedy: String,
    },
}

/// A program that reads a keyring.
struct KeyringProgram {
    program: &'static str,
    /// Its arguments; `NAME` stands for the entry.
    ask: &'static [&'static str],
    put: &'static str,
}

#[cfg(target_os = "macos")]
const KEYRINGS: [KeyringProgram; 2] = [
    KeyringProgram {
        program: "security",
        ask: &["find-generic-password", "-s", "slug", "-a", "NAME", "-w"],
        put: "security add-generic-password -s slug -a NAME -w",
    },
    PASS,
];

#[cfg(not(target_os = "macos"))]
const KEYRINGS: [KeyringProgram; 2] = [
    KeyringProgram {
        program: "secret-tool",
        ask: &["lookup", "service", "slug", "account", "NAME"],
        put: "secret-tool store --label=slug service slug account NAME",
    },
    PASS,
];

const PASS: KeyringProgram =
    KeyringProgram { program: "pass", ask: &["show", "slug/NAME"], put: "pass insert slug/NAME" };

/// The programs to install, for a message.
#[cfg(target_os = "macos")]
const PROGRAMS: &str = "`pass`";
#[cfg(not(target_os = "macos"))]
const PROGRAMS: &str = "`secret-tool` (libsecret-tools) or `pass`";

/// Runs the command or asks the keyring, and returns the key on the first line of the output.
///
/// # Errors
///
/// When the program is missing or fails, the keyring has no such entry, or the output is no key.
pub async fn fetch(
    source: &KeyCommandSource,
    place: KeyCommandContext<'_>,
) -> Result<SecretString, KeyCommandError> {
    match source {
        KeyCommandSource::Shell(line) => {
            command(&UserCommandLine::Shell(line.clone()), place).await
        }
        KeyCommandSource::Words(program, arguments) => {
            let path = if program.contains('/') {
                Some(place.folder.join(program))
            } else {
                which::find(program, place.path, place.workspace)
            };
            let path = path.ok_or_else(|| KeyCommandError::NoProgram(program.clone()))?;
            command(&UserCommandLine::Program(path, arguments.clone()), place).await
        }
        KeyCommandSource::Keyring(name) => keyring(name, place).await,
    }
}

async fn command(
    line: &UserCommandLine,
    place: KeyCommandContext<'_>,
) -> Result<SecretString, KeyCommandError> {
    let KeyCommandContext { folder, hidden, .. } = place;
    let variables = UserCommandVariables::AllButKeys(hidden);
    let run = UserCommandRun { line, folder, input: "", limit: LIMIT, variables };
    let UserCommandOutput { status, stdout: output, stderr: complaint } =
        user_command::run(run).await.map_err(KeyCommandError::Run)?;
    if !status.success() {
        return Err(KeyCommandError::Failed { status, complaint: short(&complaint) });
    }
    key(&output).map_err(KeyCommandError::NoKey)
}

/// Asks each installed keyring program until one has the entry.
async fn keyring(
    name: &str,
    place: KeyCommandContext<'_>,
) -> Result<SecretString, KeyCommandError> {
    let mut refused: Option<(String, &KeyringProgram)> = None;
    for keyring in &KEYRINGS {
        let Some(program) = which::find(keyring.program, place.path, place.workspace) else {
            continue;
        };
        let words = keyring.ask.iter().map(|word| word.replace("NAME", name)).collect();
        let complaint = match command(&UserCommandLine::Program(program, words), place).await {
            Ok(key) => return Ok(key),
            Err(KeyCommandError::Failed { complaint, .. }) => complaint,
            Err(other) => other.to_string(),
        };
        refused = refused.or(Some((complaint, keyring)));
    }
    Err(match refused {
        Some((complaint, keyring)) => KeyCommandError::NotInKeyring {
            name: name.to_owned(),
            complaint,
            remedy: keyring.put.replace("NAME", name),
        },
        None => KeyCommandError::NoKeyring(PROGRAMS),
    })
}

/// The key on the first line of the output; the error says what is there instead.
fn key(output: &str) -> Result<SecretString, &'static str> {
    let key = output.lines().next().unwrap_or_default().trim();
    if key.is_empty() {
        Err("nothing")
    // A key travels in a header, which holds visible ASCII alone.
    } else if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        Err("white space or invalid characters")
    } else {
        Ok(key.into())
    }
}

/// The text on one line, shortened, without what looks like a key.
fn short(complaint: &str) -> String {
    let clean = Redactor::default().text(complaint);
    let words = clean.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches('.');
    match line.char_indices().rev().nth(SHOWN) {
        // The last words say most.
        Some((cut, _)) => format!("…{}", &line[cut..]),
        None => line.to_owned(),
    }
}

fn said(complaint: &str) -> String {
    if complaint.is_empty() { String::new() } else { format!(": {complaint}") }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use secrecy::ExposeSecret;

    use super::*;

    /// A folder with programs on the `PATH`, a workspace and slug's folder.
    struct KeyCommandFixture {
        root: tempfile::TempDir,
    }

    impl KeyCommandFixture {
        fn with(programs: &[(&str, &str)]) -> Self {
            let root = tempfile::tempdir().unwrap();
            for folder in ["bin", "work", "home"] {
                fs::create_dir(root.path().join(folder)).unwrap();
            }
            let fixture = Self { root };
            for (name, script) in programs {
                fixture.program(&format!("bin/{name}"), script);
            }
            fixture
        }

        fn program(&self, name: &str, script: &str) {
            let path = self.root.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }

        async fn fetch(&self, source: KeyCommandSource) -> Result<String, String> {
            let at = |name: &str| self.root.path().join(name);
            let path = std::env::join_paths([at("work"), at("bin")]).unwrap();
            let place = KeyCommandContext {
                path: &path,
                workspace: &at("work"),
                folder: &at("home"),
                hidden: &[],
            };
            loop {
                let key = fetch(&source, place).await.map_err(|error| error.to_string());
                // Another test may be starting a program while this one was written.
                match key {
                    Err(error) if error.contains("Text file busy") => {
                        tokio::task::yield_now().await;
                    }
                    key => return key.map(|key| key.expose_secret().to_owned()),
                }
            }
        }
    }

    fn words(words: &[&str]) -> KeyCommandSource {
        let mut words = words.iter().map(|&word| word.to_owned());
        KeyCommandSource::Words(words.next().unwrap(), words.collect())
    }

    #[tokio::test]
    async fn words_reach_the_program_as_they_are() {
        let fixture = KeyCommandFixture::with(&[("print", "printf '%s' \"$1\"")]);
        assert_eq!(fixture.fetch(words(&["print", "a;b$HOME'"])).await.unwrap(), "a;b$HOME'");
        let error = fixture.fetch(words(&["nowhere"])).await.unwrap_err();
        assert!(error.starts_with("`nowhere` is not in PATH"), "{error}");
    }

    #[tokio::test]
    async fn a_path_starts_at_slugs_folder_and_the_workspace_has_no_programs() {
        let fixture = KeyCommandFixture::with(&[("print", "echo right")]);
        fixture.program("work/print", "echo wrong");
        fixture.program("home/mine", "pwd | sed 's,.*/,,'");
        assert_eq!(fixture.fetch(words(&["print"])).await.unwrap(), "right");
        assert_eq!(fixture.fetch(words(&["./mine"])).await.unwrap(), "home");
    }

    #[tokio::test]
    async fn a_line_is_for_the_shell_and_its_first_line_counts() {
        let fixture = KeyCommandFixture::with(&[]);
        let line = "printf '  sk-1\\nuser: me\\n' | cat";
        assert_eq!(fixture.fetch(KeyCommandSource::Shell(line.into())).await.unwrap(), "sk-1");
    }

    #[tokio::test]
    async fn an_invalid_key_is_an_error_that_does_not_repeat_it() {
        let fixture = KeyCommandFixture::with(&[]);
        for (line, part) in [
            ("true", "printed nothing"),
            ("echo 'CANARY with spaces'", "printed white space"),
            ("echo CANARY; echo 'Session expired.' >&2; exit 3", "status: 3: Session expired. Try"),
            ("echo \"bad sk-CANARYCANARYCANARY1\" >&2; exit 1", "bad [redacted]. Try"),
        ] {
            let error = fixture.fetch(KeyCommandSource::Shell(line.into())).await.unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
            assert!(!error.contains("CANARY"), "{line}: {error}");
        }
    }

    #[cfg(not(target_os = "macos"))]
    #[tokio::test]
    async fn the_keyring_is_asked_through_its_own_programs() {
        const ASKS: &str = "[ \"$*\" = 'lookup service slug account work' ] && printf sk-ring";
        let fixture = KeyCommandFixture::with(&[("secret-tool", ASKS)]);
        assert_eq!(
            fixture.fetch(KeyCommandSource::Keyring("work".into())).await.unwrap(),
            "sk-ring"
        );
        let error = fixture.fetch(KeyCommandSource::Keyring("other".into())).await.unwrap_err();
        let remedy = "secret-tool store --label=slug service slug account other";
        assert!(error.contains("no key for `other`") && error.ends_with(remedy), "{error}");

        const PASSES: &str = "[ \"$*\" = 'show slug/other' ] && echo sk-pass";
        let fixture = KeyCommandFixture::with(&[("secret-tool", ASKS), ("pass", PASSES)]);
        assert_eq!(
            fixture.fetch(KeyCommandSource::Keyring("other".into())).await.unwrap(),
            "sk-pass"
        );

        let error = KeyCommandFixture::with(&[])
            .fetch(KeyCommandSource::Keyring("x".into()))
            .await
            .unwrap_err();
        assert!(error.contains("install `secret-tool`"), "{error}");
    }
}
