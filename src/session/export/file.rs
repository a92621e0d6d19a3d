//! Exports sessions of the store: as a text, or as a file that is named after the session's title.

use std::path::{Path, PathBuf};

use crate::domain::{ContentHash, SessionId};
use crate::session::files::{self, Durability};
use crate::session::store::failed;
use crate::session::title::title_after;
use crate::session::{LogRecord, SessionStore, StoreError};

use super::secrets::ExportRedactor;
use super::{ExportError, ExportForm, ExportedText, SecretHandling, export};

/// How much of a title the name of a file takes, in characters.
const LONGEST_NAME: usize = 32;
/// How many digits of the session's id follow the title, to distinguish sessions with the same
/// title.
const DIGITS: usize = 8;

/// Why a session of the store could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum StoreExportError {
    /// The session could not be read, or the file could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record of the session cannot be written in the form.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// A file that a session was exported to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFile {
    pub path: PathBuf,
    /// How many secrets were redacted.
    pub redacted: usize,
}

impl SessionStore {
    /// Exports a session as a text.
    ///
    /// # Errors
    ///
    /// [`StoreExportError::Store`] when the log is missing or cannot be read, and
    /// [`StoreExportError::Export`] when a record cannot be written.
    pub fn export(
        &self,
        session: SessionId,
        form: ExportForm,
        secrets: SecretHandling,
    ) -> Result<ExportedText, StoreExportError> {
        self.export_records(&self.read(session)?.records, form, secrets)
    }

    /// Exports a session without its secrets into a file in `folder`, and replaces the file of an
    /// earlier export of the same session in this form and under this title.
    ///
    /// # Errors
    ///
    /// [`StoreExportError::Store`] when the log is missing or cannot be read, or the file cannot be
    /// written, and [`StoreExportError::Export`] when a record cannot be written.
    pub fn export_into(
        &self,
        folder: &Path,
        session: SessionId,
        form: ExportForm,
    ) -> Result<ExportedFile, StoreExportError> {
        let records = self.read(session)?.records;
        let ExportedText { text, redacted } =
            self.export_records(&records, form, SecretHandling::Redacted)?;
        let title = title_after(&records).unwrap_or_default();
        let path = folder.join(file_name(&ExportRedactor::default().text(&title), session, form));
        files::replace(&path, &[text.as_bytes()], Durability::Cache)
            .map_err(failed("write", &path))?;
        Ok(ExportedFile { path, redacted })
    }

    fn export_records(
        &self,
        records: &[LogRecord],
        form: ExportForm,
        secrets: SecretHandling,
    ) -> Result<ExportedText, StoreExportError> {
        // In the place of a lost image the export says so.
        let content_of = |hash: &ContentHash| self.blobs().get(hash).ok().flatten();
        Ok(export(records, form, secrets, &content_of)?)
    }
}

/// The name of an export's file, such as `fix-the-empty-cart-4f1d2c3b.html`.
fn file_name(title: &str, session: SessionId, form: ExportForm) -> String {
    let mut name = String::new();
    let lower = title.to_lowercase();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let length = name.chars().count() + word.chars().count();
        if !name.is_empty() && length > LONGEST_NAME {
            break;
        }
        name.extend(word.chars().take(LONGEST_NAME));
        name.push('-');
    }
    if name.is_empty() {
        name.push_str("session-");
    }
    let id = session.to_string();
    let digits = &id[id.len().saturating_sub(DIGITS)..];
    let ending = match form {
        ExportForm::Markdown => "md",
        ExportForm::Html => "html",
        ExportForm::Json => "json",
        ExportForm::Log => "jsonl",
    };
    format!("{name}{digits}.{ending}")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use crate::session::LogEntry;
    use crate::session::samples::{header, home, lines, record, says, user};

    use super::*;

    #[test]
    fn a_file_is_called_after_the_title_and_the_session() {
        let session = "0190a1b2-0000-7000-8000-00004f1d2c3b".parse().unwrap();
        let long = "word ".repeat(40);
        for (title, expected) in [
            ("Fix the: empty/cart?!", "fix-the-empty-cart-4f1d2c3b.html"),
            ("日本語の通貨", "日本語の通貨-4f1d2c3b.html"),
            ("../..", "session-4f1d2c3b.html"),
            ("", "session-4f1d2c3b.html"),
        ] {
            assert_eq!(file_name(title, session, ExportForm::Html), expected);
        }
        for title in [long.as_str(), &"ä".repeat(999)] {
            let name = file_name(title, session, ExportForm::Json);
            assert!(name.ends_with("-4f1d2c3b.json") && name.chars().count() < 48, "{name}");
        }
    }

    #[test]
    fn a_session_is_exported_into_a_folder_without_its_secrets() {
        let home = home();
        let key = format!("ghp_{}", "a1".repeat(18));
        let records = [
            record(0, LogEntry::Session(header("/work"))),
            record(1, user(&format!("is {key} mine?"))),
            record(1, says("It is.")),
        ];
        let session = home.planted(&lines(&records));
        let folder = home.dir.path().join("exports");
        let export = || home.store.export_into(&folder, session, ExportForm::Html).unwrap();
        let ExportedFile { path, redacted } = export();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("is-redacted-github-token-mine-"), "{name}");
        assert_eq!(redacted, 1);
        let page = fs::read_to_string(&path).unwrap();
        assert!(page.contains("It is.") && !page.contains(&key), "{page}");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        assert_eq!(export().path, path);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "in the place of the one before");
    }
}
