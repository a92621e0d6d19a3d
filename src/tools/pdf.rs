//! What Read needs to show a PDF: how many pages it has, and their text.

use std::ops::RangeInclusive;

use async_trait::async_trait;

/// Gets the text out of PDFs, away from slug's own memory: anybody can have made the file.
#[async_trait]
pub trait PdfReader: Send + Sync {
    /// How many pages `pdf` has; at least one. A drop ends the work.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    async fn page_count(&self, pdf: &[u8]) -> Result<u64, PdfError>;

    /// The text of these pages, which are counted from 1 and are all there; one that is a picture
    /// has none. A drop ends the work.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    async fn page_texts(
        &self,
        pdf: &[u8],
        pages: RangeInclusive<u64>,
    ) -> Result<Vec<String>, PdfError>;
}

/// Why a PDF cannot be read: the second half of a sentence, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PdfError {
    #[error(
        "reading one needs the program {0}, which is not installed. Tell the user, who can install \
         it: it is part of the package poppler-utils (of poppler in Homebrew, Arch and Nix)."
    )]
    NotInstalled(&'static str),
    #[error(
        "it is encrypted: nothing of it can be read without its password. Ask the user for a copy \
         without one."
    )]
    Encrypted,
    #[error("it is damaged: no page of it can be found. Ask the user for another copy.")]
    Damaged,
    /// The work was ended, or could not begin; what happened, without a full stop.
    #[error("{0}. Send a smaller `limit` to read fewer pages at once.")]
    Ended(String),
}

/// Reads no PDF, for agents without programs of the system.
pub struct NoPdfReader;

#[async_trait]
impl PdfReader for NoPdfReader {
    async fn page_count(&self, _: &[u8]) -> Result<u64, PdfError> {
        Err(PdfError::NotInstalled("pdftotext"))
    }

    async fn page_texts(&self, _: &[u8], _: RangeInclusive<u64>) -> Result<Vec<String>, PdfError> {
        Err(PdfError::NotInstalled("pdftotext"))
    }
}
