//! Read of a PDF whose pages are given: which pages are shown, how they are marked, and what is refused.

use std::fs::File;
use std::future::pending;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::Value;

use super::*;
use crate::domain::ToolStatus;
use crate::tools::PdfReader;
use crate::tools::read::ReadTool;
use crate::tools::testing::ToolTestEnv;

/// Takes any file for a PDF with these pages, and remembers which of them it was asked for.
struct ScriptedPdf {
    pages: Result<Vec<String>, PdfError>,
    asked: Mutex<Vec<RangeInclusive<u64>>>,
}

#[async_trait]
impl PdfReader for ScriptedPdf {
    async fn page_count(&self, _: &[u8]) -> Result<u64, PdfError> {
        self.pages.clone().map(|pages| pages.len() as u64)
    }

    async fn page_texts(
        &self,
        _: &[u8],
        pages: RangeInclusive<u64>,
    ) -> Result<Vec<String>, PdfError> {
        self.asked.lock().unwrap().push(pages.clone());
        let pages = *pages.start() as usize - 1..*pages.end() as usize;
        self.pages.clone().map(|all| all[pages].to_vec())
    }
}

/// Never answers.
struct HangingPdf;

#[async_trait]
impl PdfReader for HangingPdf {
    async fn page_count(&self, _: &[u8]) -> Result<u64, PdfError> {
        pending().await
    }

    async fn page_texts(&self, _: &[u8], _: RangeInclusive<u64>) -> Result<Vec<String>, PdfError> {
        pending().await
    }
}

/// A workspace with the file `report`, a PDF.
fn env(pages: Result<Vec<String>, PdfError>) -> (ToolTestEnv, Arc<ScriptedPdf>) {
    let mut env = ToolTestEnv::new();
    let pdf = Arc::new(ScriptedPdf { pages, asked: Mutex::default() });
    env.context.pdfs = pdf.clone();
    env.put("report", "%PDF-1.7 and so on");
    (env, pdf)
}

fn texts(pages: &[&str]) -> Result<Vec<String>, PdfError> {
    Ok(pages.iter().map(|page| (*page).to_owned()).collect())
}

async fn read(env: &ToolTestEnv, input: Value) -> String {
    env.run(&ReadTool, input).await.unwrap().observation
}

#[tokio::test]
async fn the_pages_of_a_pdf_are_shown_under_their_numbers() {
    let (env, _) = env(texts(&["\n\nTitle\n\n\n\n\n  cells   here  \n", "", "nul \0\n"]));
    let output = env.run(&ReadTool, json!({"path": "report"})).await.unwrap();
    assert_eq!(
        output.observation,
        "[report is a PDF with 3 pages, shown as text. offset and limit count pages.]\n\
         === Page 1 of 3\nTitle\n\n\n  cells   here\n=== Page 2 of 3 (no text)\n=== Page 3 of 3\nnul ␀\n"
    );
    assert_eq!(output.summary.as_deref(), Some("3 pages"));
    assert_eq!(output.output, json!({"first_page": 1, "pages": 3, "total_pages": 3}));
    // No tool changes a PDF, and its text is not its content.
    assert_eq!((output.read, env.context.reads.seen(&env.path("report"))), (None, None));
}

#[tokio::test]
async fn offset_and_limit_count_pages() {
    let (env, pdf) = env(texts(&["one", "two", "three", "four"]));
    let two =
        "=== Page 2 of 4\ntwo\n=== Page 3 of 4\nthree\n[Pages 2-3 of 4. Go on with offset=4.]";
    assert_eq!(read(&env, json!({"path": "report", "offset": 2, "limit": 2})).await, two);
    assert_eq!(read(&env, json!({"path": "report", "offset": 4})).await, "=== Page 4 of 4\nfour\n");
    assert_eq!(*pdf.asked.lock().unwrap(), [2..=3, 4..=4]);
    let error = env.run(&ReadTool, json!({"path": "report", "offset": 5})).await.unwrap_err();
    assert_eq!(error.0, "report has only 4 pages; send an offset up to 4.");
}

#[tokio::test]
async fn of_a_long_pdf_the_first_pages_are_shown_unless_the_call_names_others() {
    let (env, pdf) = env(Ok((1..=300).map(|page| format!("text {page}")).collect()));
    let text = read(&env, json!({"path": "report"})).await;
    assert!(text.contains("\n[Only its first pages are shown: send offset"), "{text}");
    assert!(text.ends_with("text 5\n[Pages 1-5 of 300. Go on with offset=6.]"), "{text}");
    let text = read(&env, json!({"path": "report", "offset": 101, "limit": 1000})).await;
    assert!(text.ends_with("text 200\n[Pages 101-200 of 300. Go on with offset=201.]"), "{text}");
    assert_eq!(*pdf.asked.lock().unwrap(), [1..=5, 101..=200]);
}

#[tokio::test]
async fn pages_are_shown_as_far_as_there_is_room() {
    let page = "many words\n".repeat(2500);
    let (env, _) = env(Ok(vec![page.clone(), page.clone(), page, "ä".repeat(TOTAL_BYTES)]));
    let text = read(&env, json!({"path": "report"})).await;
    assert!(text.len() < TOTAL_BYTES + 200, "{} bytes", text.len());
    assert!(text.ends_with("words\n[Pages 1-2 of 4. Go on with offset=3.]"));
    let text = read(&env, json!({"path": "report", "offset": 4})).await;
    assert!(text.len() < TOTAL_BYTES + 200, "{} bytes", text.len());
    assert!(text.contains("ä\n[Page 4 is cut: it has 117.2 KB of text. "));
}

#[tokio::test]
async fn a_scan_has_no_text_and_the_result_says_how_to_see_it() {
    let (env, _) = env(texts(&["text", " \n\n", ""]));
    let text = read(&env, json!({"path": "report", "offset": 2})).await;
    assert!(text.starts_with("report is a PDF with 3 pages. Pages 2-3 have no text: "), "{text}");
    assert!(text.contains("pdftoppm -png -r 100 -f 2 -l 2 FILE page"), "{text}");
    let text = read(&env, json!({"path": "report", "offset": 3})).await;
    assert!(text.starts_with("report is a PDF with 3 pages. Page 3 has no text: "), "{text}");
}

#[tokio::test]
async fn an_error_says_what_to_do() {
    for (error, told) in [
        (
            PdfError::NotInstalled("pdftotext"),
            "report is a PDF, and reading one needs the program pdftotext, which is not installed. Tell the \
             user, who can install it: it is part of the package poppler-utils (of poppler in Homebrew, \
             Arch and Nix).",
        ),
        (
            PdfError::Encrypted,
            "report is a PDF, and it is encrypted: nothing of it can be read without its password. Ask the \
             user for a copy without one.",
        ),
        (
            PdfError::Damaged,
            "report is a PDF, and it is damaged: no page of it can be found. Ask the user for another copy.",
        ),
        (
            PdfError::Ended("it takes more than 10 s to read".to_owned()),
            "report is a PDF, and it takes more than 10 s to read. Send a smaller `limit` to read fewer \
             pages at once.",
        ),
    ] {
        let (env, _) = env(Err(error));
        let error = env.run(&ReadTool, json!({"path": "report"})).await.unwrap_err();
        assert_eq!(error.0, told);
    }
}

#[tokio::test]
async fn a_big_pdf_is_read_up_to_a_limit() {
    let (env, _) = env(texts(&["text"]));
    let file = File::options().write(true).open(env.path("report")).unwrap();
    file.set_len(MAX_PDF).unwrap();
    let text = read(&env, json!({"path": "report"})).await;
    assert!(text.ends_with("=== Page 1 of 1\ntext\n"), "{text}");
    file.set_len(MAX_PDF + 1).unwrap();
    let error = env.run(&ReadTool, json!({"path": "report"})).await.unwrap_err();
    assert_eq!(
        error.0,
        "report is a PDF of 64.0 MB, and Read takes up to 64.0 MB. Use Bash: pdftotext -f 1 -l 5 FILE -"
    );
}

#[tokio::test]
async fn reading_a_pdf_can_be_stopped() {
    let (mut env, _) = env(texts(&[]));
    env.context.pdfs = Arc::new(HangingPdf);
    let read = env.run(&ReadTool, json!({"path": "report"}));
    let stop = async { env.context.cancel.cancel() };
    assert_eq!(tokio::join!(read, stop).0.unwrap().status, ToolStatus::Cancelled);
}

#[tokio::test]
async fn a_pdf_is_known_by_its_content_and_not_by_its_name() {
    let (env, _) = env(texts(&["text"]));
    env.put("notes.pdf", "no PDF, %PDF-1.7\n");
    assert_eq!(read(&env, json!({"path": "notes.pdf"})).await, "1\tno PDF, %PDF-1.7\n");
}
