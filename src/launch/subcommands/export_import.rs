//! `slug sessions export` and `slug sessions import`.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::cli::{CliExitStatus, ExportFormatArg, SessionsExport, SessionsImport};
use crate::domain::sanitize::sanitize;
use crate::launch::print;
use crate::platform::image::{self, PreparedImage};
use crate::session::{
    ExportForm, ImportMode, ImportedFile, ImportedSession, SecretHandling, SessionStore,
};

/// Prints a session or writes it into a file, and says how many secrets were removed.
pub(super) fn export(
    store: &SessionStore,
    what: &SessionsExport,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let session = store.resolve(&what.id)?;
    let form = what.form.unwrap_or_else(|| by_ending(what.output.as_deref()));
    let secrets = if what.no_redact { SecretHandling::Kept } else { SecretHandling::Redacted };
    let form = match form {
        ExportFormatArg::Md => ExportForm::Markdown,
        ExportFormatArg::Html => ExportForm::Html,
        ExportFormatArg::Json => ExportForm::Json,
        ExportFormatArg::Jsonl => ExportForm::Log,
    };
    let exported = store.export(session, form, secrets)?;
    let redacted = exported.redacted;
    match &what.output {
        Some(file) => {
            write_file(file, &exported.text)
                .with_context(|| format!("cannot write {}", file.display()))?;
            if what.format.json {
                let file = file.to_string_lossy();
                let report = json!({"session_id": session, "file": file, "redacted": redacted});
                writeln!(out, "{report}")?;
            } else {
                let file = file.display().to_string();
                writeln!(out, "{session} written to {}", sanitize(&file))?;
            }
        }
        None if what.format.json => {
            let report =
                json!({"session_id": session, "text": exported.text, "redacted": redacted});
            writeln!(out, "{report}")?;
        }
        None => out.write_all(exported.text.as_bytes())?,
    }
    match (secrets, redacted) {
        (SecretHandling::Redacted, 1) => print::complain("1 secret was redacted."),
        (SecretHandling::Redacted, 2..) => {
            print::complain(&format!("{redacted} secrets were redacted."));
        }
        (SecretHandling::Redacted, 0) | (SecretHandling::Kept, _) => {}
    }
    Ok(())
}

fn by_ending(file: Option<&Path>) -> ExportFormatArg {
    let ending = file.and_then(Path::extension).map(|ending| ending.to_ascii_lowercase());
    match ending.as_deref().and_then(|ending| ending.to_str()) {
        Some("html" | "htm") => ExportFormatArg::Html,
        Some("json") => ExportFormatArg::Json,
        Some("jsonl") => ExportFormatArg::Jsonl,
        Some(_) | None => ExportFormatArg::Md,
    }
}

/// Writes a file atomically, readable by its owner only. An existing path that is no regular file,
/// such as a pipe, is written to directly.
pub(in crate::launch) fn write_file(path: &Path, text: &str) -> std::io::Result<()> {
    if fs::metadata(path).is_ok_and(|it| !it.is_file()) {
        return fs::write(path, text);
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map(drop).map_err(|failed| failed.error)
}

/// Imports the sessions in the paths, and reports the outcome of each file.
pub(super) fn import(
    store: &SessionStore,
    what: &SessionsImport,
    out: &mut dyn Write,
) -> anyhow::Result<CliExitStatus> {
    let importing = if what.dry_run { ImportMode::DryRun } else { ImportMode::Write };
    let here = std::env::current_dir().context("cannot tell the current folder")?;
    let fit = |bytes: Vec<u8>| match image::fit("image", bytes) {
        Ok(PreparedImage { image, bytes }) => Some((image, bytes)),
        Err(error) => {
            tracing::debug!(%error, "an image is left out");
            None
        }
    };
    let (mut reports, mut exit) = (Vec::new(), CliExitStatus::Answered);
    for path in &what.paths {
        for ImportedFile { path, outcome } in store.import(path, &here, &fit, importing) {
            let name = path.display().to_string();
            let name = sanitize(&name);
            match outcome {
                Ok(ImportedSession { session, kind, messages, left_out, missing }) => {
                    if what.format.json {
                        reports.push(json!({
                            "file": path.to_string_lossy(), "session_id": session, "kind": kind.name(),
                            "messages": messages, "left_out": left_out, "missing": missing,
                        }));
                        continue;
                    }
                    write!(out, "{session}  {messages:>4} messages  {}  {name}", kind.name())?;
                    if left_out > 0 {
                        write!(out, "  ({left_out} lines not understood)")?;
                    }
                    writeln!(out)?;
                    if let Some(missing) = missing.describe() {
                        print::complain(&format!("{session}: {missing}"));
                    }
                }
                Err(error) => {
                    exit = CliExitStatus::Failed;
                    print::complain(&format!("{name}: {error}"));
                    if what.format.json {
                        let file = path.to_string_lossy();
                        reports.push(json!({"file": file, "error": error.to_string()}));
                    }
                }
            }
        }
    }
    if what.format.json {
        writeln!(out, "{}", json!(reports))?;
    }
    Ok(exit)
}
