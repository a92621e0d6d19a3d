//! Read of a PDF: the text of its pages, each under its number.
//!
//! `offset` and `limit` count pages. A PDF does not count as read: no tool changes one, and its text is not
//! its content, so nothing may be overwritten on the strength of it.

use serde_json::json;

use super::{ReadArguments, TOTAL_BYTES, beyond_end};
use crate::domain::ToolOutput;
use crate::tools::{FileState, PdfError, ToolContext, ToolError, stopped_output, truncation};

/// The most bytes of a PDF.
const MAX_PDF: u64 = 64 << 20;
/// A PDF with more pages is long.
const LONG_PAGES: u64 = 20;
/// The pages that are shown of a long PDF, unless the call names others.
const FIRST_PAGES: u64 = 5;
/// The most pages of one call.
const MAX_PAGES: u64 = 100;
/// The most empty lines in a row: the layout of a page can have dozens.
const EMPTY_LINES: usize = 2;

/// Whether a file that begins like this is a PDF, whatever its name is.
pub(super) fn is_pdf(beginning: &[u8]) -> bool {
    beginning.starts_with(b"%PDF-")
}

/// Shows a PDF that is bigger than the files that are usually read whole.
pub(super) async fn big(
    context: &ToolContext,
    wanted: &ReadArguments,
    size: u64,
    shown: &str,
) -> Result<ToolOutput, ToolError> {
    match context.files.read(&wanted.path, MAX_PDF).await? {
        FileState::File(bytes) => show(context, &bytes, wanted, shown).await,
        FileState::TooBig(_) | FileState::Missing | FileState::Folder | FileState::Special => {
            Err(ToolError(format!(
                "{shown} is a PDF of {}, and Read takes up to {}. Use Bash: pdftotext -f 1 -l 5 FILE -",
                truncation::size(size),
                truncation::size(MAX_PDF)
            )))
        }
    }
}

/// Shows the pages that the call asks for.
pub(super) async fn show(
    context: &ToolContext,
    pdf: &[u8],
    wanted: &ReadArguments,
    shown: &str,
) -> Result<ToolOutput, ToolError> {
    let output = tokio::select! {
        biased;
        () = context.cancel.cancelled() => return Ok(stopped_output()),
        output = pages(context, pdf, wanted, shown) => output,
    };
    output.map_err(|failure| match failure {
        PageFailure::Pdf(error) => ToolError(format!("{shown} is a PDF, and {error}")),
        PageFailure::Arguments(error) => error,
    })
}

enum PageFailure {
    Pdf(PdfError),
    Arguments(ToolError),
}

async fn pages(
    context: &ToolContext,
    pdf: &[u8],
    wanted: &ReadArguments,
    shown: &str,
) -> Result<ToolOutput, PageFailure> {
    let total = context.pdfs.page_count(pdf).await.map_err(PageFailure::Pdf)?;
    let count = truncation::pluralise(total, "page");
    let first = wanted.offset;
    if first > total {
        return Err(PageFailure::Arguments(beyond_end(shown, &count, total)));
    }
    let is_long = total > LONG_PAGES && !wanted.names_lines;
    let usual = if is_long { FIRST_PAGES } else { MAX_PAGES };
    let limit = wanted.limit.unwrap_or(usual).min(MAX_PAGES);
    let last = total.min(first.saturating_add(limit - 1));
    let texts = context.pdfs.page_texts(pdf, first..=last).await.map_err(PageFailure::Pdf)?;
    let texts: Vec<String> = texts.iter().map(|text| tidy(text)).collect();
    if texts.iter().all(String::is_empty) {
        return Ok(without_text(shown, &count, first, last));
    }
    let mut text = String::new();
    if first == 1 {
        text = format!(
            "[{shown} is a PDF with {count}, shown as text. offset and limit count pages.]\n"
        );
    }
    if is_long {
        text += "[Only its first pages are shown: send offset and limit for others.]\n";
    }
    let mut next = first;
    let mut cut = None;
    for page in &texts {
        let mark = if page.is_empty() { " (no text)" } else { "" };
        let entry = format!("=== Page {next} of {total}{mark}\n{page}");
        if next > first && text.len() + entry.len() > TOTAL_BYTES {
            break;
        }
        text.push_str(&entry[..entry.floor_char_boundary(TOTAL_BYTES)]);
        if entry.len() > TOTAL_BYTES {
            cut = Some(format!(
                "\n[Page {next} is cut: it has {} of text. Use Bash for the rest: pdftotext -f {next} -l \
                 {next} FILE -]\n",
                truncation::size(page.len() as u64)
            ));
        }
        next += 1;
    }
    text += &cut.unwrap_or_default();
    if next <= total {
        text += &format!("[Pages {first}-{} of {total}. Go on with offset={next}.]", next - 1);
    }
    let output = json!({"first_page": first, "pages": next - first, "total_pages": total});
    let summary = truncation::pluralise(next - first, "page");
    Ok(ToolOutput::text(text).with_output(output).with_summary(summary))
}

fn without_text(shown: &str, count: &str, first: u64, last: u64) -> ToolOutput {
    let named = if first == last {
        format!("Page {first} has")
    } else {
        format!("Pages {first}-{last} have")
    };
    ToolOutput::text(format!(
        "{shown} is a PDF with {count}. {named} no text: what is there is a picture, as in a scan. Read \
         shows a picture of a page, which Bash can make: pdftoppm -png -r 100 -f {first} -l {first} FILE \
         page"
    ))
    .with_summary("no text")
}

/// The lines of a page without what only fills the paper.
fn tidy(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    let mut empty = 0;
    for line in page.lines() {
        // A NUL ends the text for some model servers.
        let line = line.trim_end().replace('\0', "␀");
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty <= EMPTY_LINES && !(text.is_empty() && line.is_empty()) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

#[cfg(test)]
#[path = "pdf_tests.rs"]
mod tests;
