//! PDFs with the programs of poppler, each run as a reader (`platform::reader_process`).
//!
//! Nothing else was found that reads what people have. lopdf puts all lines of a page into one, so that
//! tables, code and columns are lost, does not know the usual Japanese encodings, and needs 17 more
//! crates; pdf-extract panics on intact files. `-layout` keeps the lines and columns of the page.
//!
//! The programs are looked for at each call: one that is installed meanwhile is found.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use async_trait::async_trait;

use super::reader_process::{ReaderError, ReaderProcess};
use super::which;
use crate::tools::{PdfError, PdfReader};

/// Says how many pages a file has.
const INFO: &str = "pdfinfo";
/// Writes the text of pages, a form feed after each.
const TEXT: &str = "pdftotext";

/// Reads PDFs with what is installed.
#[derive(Debug, Clone)]
pub struct PopplerReader {
    reader: ReaderProcess,
    /// The value of PATH.
    path: OsString,
    /// The folder whose programs are never run.
    workspace: PathBuf,
}

impl PopplerReader {
    /// A reader that looks for its programs in `path`, but not in the workspace.
    pub fn new(reader: ReaderProcess, path: OsString, workspace: PathBuf) -> Self {
        Self { reader, path, workspace }
    }

    /// What a program of poppler makes of a PDF.
    async fn run(
        &self,
        name: &'static str,
        arguments: &[&str],
        pdf: &[u8],
    ) -> Result<String, PdfError> {
        let place = self.clone();
        let found =
            tokio::task::spawn_blocking(move || which::find(name, &place.path, &place.workspace));
        let found = found.await.map_err(|error| PdfError::Ended(error.to_string()))?;
        let program = found.ok_or(PdfError::NotInstalled(name))?;
        let answer = self.reader.read_with(&program, arguments, pdf).await;
        let answer = answer.map_err(|error: ReaderError| PdfError::Ended(error.to_string()))?;
        if answer.is_success {
            return Ok(String::from_utf8_lossy(&answer.output).into_owned());
        }
        // Both programs have one exit status for all that is wrong with a file.
        Err(match answer.complaint.contains("Incorrect password") {
            true => PdfError::Encrypted,
            false => PdfError::Damaged,
        })
    }
}

#[async_trait]
impl PdfReader for PopplerReader {
    async fn page_count(&self, pdf: &[u8]) -> Result<u64, PdfError> {
        let about = self.run(INFO, &["-enc", "UTF-8", "-"], pdf).await?;
        // The last such line: above it is the title, in which anything can stand.
        let count = about.lines().rev().find_map(|line| line.strip_prefix("Pages:"));
        let count = count.and_then(|count| count.trim().parse().ok());
        count.filter(|count| *count > 0).ok_or(PdfError::Damaged)
    }

    async fn page_texts(
        &self,
        pdf: &[u8],
        pages: RangeInclusive<u64>,
    ) -> Result<Vec<String>, PdfError> {
        let (first, last) = (pages.start().to_string(), pages.end().to_string());
        let arguments = ["-enc", "UTF-8", "-layout", "-f", &first, "-l", &last, "-", "-"];
        let text = self.run(TEXT, &arguments, pdf).await?;
        Ok(text.split_terminator('\u{c}').map(str::to_owned).collect())
    }
}
