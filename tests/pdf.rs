//! PDFs, read by poppler where it is installed, and by programs that play its part badly.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use slug_code::domain::SandboxBackendKind;
use slug_code::platform::poppler::PopplerReader;
use slug_code::platform::reader_process::ReaderProcess;
use slug_code::platform::{sandbox, which};
use slug_code::tools::{PdfError, PdfReader as _};
use tempfile::TempDir;

use crate::support::model_server::wait_until;
use crate::support::pdf::{encrypted_pdf, pdf};
use crate::support::skip::skip;
use crate::support::test_env::{SLUG, TestEnv};

fn reader(path: impl Into<OsString>, workspace: &Path) -> PopplerReader {
    let process = ReaderProcess::new(PathBuf::from(SLUG));
    PopplerReader::new(process, path.into(), workspace.to_owned())
}

/// A reader with poppler; skips the test if that is not installed.
fn poppler_or_skip() -> Option<PopplerReader> {
    let (path, workspace) = (std::env::var_os("PATH").unwrap(), Path::new("/nowhere"));
    let names = ["pdfinfo", "pdftotext"];
    if names.iter().any(|name| which::find(name, &path, workspace).is_none()) {
        skip("poppler-utils is not installed");
        return None;
    }
    Some(reader(path, workspace))
}

/// A folder whose `pdfinfo` is this script, and a reader with nothing else.
fn scripted(script: &str) -> (TempDir, PopplerReader) {
    let folder = tempfile::tempdir().unwrap();
    put_program(&folder.path().join("pdfinfo"), script);
    let reader = reader(folder.path(), Path::new("/nowhere"));
    (folder, reader)
}

fn put_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/bash\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_become_text_with_their_lines() {
    let Some(reader) = poppler_or_skip() else { return };
    let file = pdf(&["Title\ncaf\\351, second line", "", "third page", "fourth page"]);
    assert_eq!(reader.page_count(&file).await, Ok(4));
    let texts = reader.page_texts(&file, 1..=3).await.unwrap();
    let texts: Vec<Vec<&str>> =
        texts.iter().map(|text| text.lines().map(str::trim).collect()).collect();
    assert_eq!(texts, [vec!["Title", "café, second line"], vec![], vec!["third page"]]);
    assert_eq!(reader.page_texts(&file, 4..=4).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_and_an_encrypted_pdf_are_told_apart() {
    let Some(reader) = poppler_or_skip() else { return };
    let file = pdf(&["text"]);
    for damaged in [&file[..40], b"%PDF-1.7 abc", &pdf(&[])] {
        assert_eq!(reader.page_count(damaged).await, Err(PdfError::Damaged));
    }
    // Poppler finds the pages without their table.
    let table = file.windows(5).position(|part| part == b"xref\n").unwrap();
    assert_eq!(reader.page_count(&file[..table]).await, Err(PdfError::Damaged));
    let mut moved = file.clone();
    moved.splice(9..9, *b"%%%%%%%%\n");
    assert_eq!(reader.page_count(&moved).await, Ok(1));
    assert_eq!(reader.page_count(&encrypted_pdf(&["text"])).await, Err(PdfError::Encrypted));
    assert_eq!(reader.page_texts(&encrypted_pdf(&[""]), 1..=1).await, Err(PdfError::Encrypted));
}

#[test]
fn slug_reads_a_pdf_by_its_content_within_its_permissions() {
    let env = TestEnv::new();
    fs::write(env.path("report"), pdf(&["first page", "second page"])).unwrap();
    let input = r#"{"file_path": "report", "offset": 2}"#;
    let arguments = ["tools", "run", "Read", "--input", input];
    let run = env.command(&arguments).env("PATH", "/nowhere").output().unwrap();
    let said = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
    assert!(said.contains("report is a PDF, and reading one needs the program pdfinfo"), "{said}");
    assert!(said.contains("the package poppler-utils"), "{said}");
    if poppler_or_skip().is_some() {
        let run = env.run(&arguments);
        let lines: Vec<&str> = run.out.trim().lines().map(str::trim).collect();
        assert_eq!(lines, ["=== Page 2 of 2", "second page"], "{}", run.err);
    }
    env.write_home("settings.json", r#"{"permissions":{"deny":["Read(report)"]}}"#);
    let run = env.run(&arguments);
    assert!(!run.out.contains("second page") && run.code != Some(0), "{}{}", run.out, run.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_of_the_workspace_is_not_run() {
    let (folder, reader) = scripted("echo Pages: 7");
    assert_eq!(reader.page_count(b"%PDF-").await, Ok(7));
    let inside = self::reader(folder.path(), folder.path());
    assert_eq!(inside.page_count(b"%PDF-").await, Err(PdfError::NotInstalled("pdfinfo")));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_last_count_is_the_number_of_pages() {
    let (_folder, reader) =
        scripted("printf 'Title: a\\nPages: 900\\nPages:     3\\nPage size: 1\\n'");
    assert_eq!(reader.page_count(b"%PDF-").await, Ok(3));
    for script in ["echo Pages: 0", "echo Pages: many", "echo Title: a", "exit 1"] {
        let (_folder, reader) = scripted(script);
        assert_eq!(reader.page_count(b"%PDF-").await, Err(PdfError::Damaged), "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_floods_hangs_or_crashes_ends_nothing_but_itself() {
    // None of them reads what it is sent.
    let file = vec![b'a'; 4 << 20];
    for (script, why) in [
        ("exec /usr/bin/yes", "its text is larger than 16 MB"),
        ("kill -SEGV $$", "the process that reads it crashed"),
        ("kill -STOP $$", "it takes more than 10 s to read"),
    ] {
        let (_folder, reader) = scripted(script);
        let error = reader.page_count(&file).await.unwrap_err();
        assert_eq!(error, PdfError::Ended(why.to_owned()), "{script}");
    }
    let (_folder, reader) =
        scripted("/usr/bin/yes error | /usr/bin/head -c 4000000 >&2; echo Pages: 2");
    assert_eq!(reader.page_count(&file).await, Ok(2), "nobody waits for what is complained about");
}

/// Whether a process runs that was started with this path.
#[cfg(target_os = "linux")]
fn runs(program: &Path) -> bool {
    let program = program.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let command_lines = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    command_lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(program))
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_is_no_longer_waited_for_ends_its_program() {
    let (folder, reader) = scripted("kill -STOP $$");
    let program = folder.path().join("pdfinfo");
    let reading = tokio::spawn(async move { reader.page_count(b"%PDF-").await });
    assert!(wait_until(|| runs(&program)), "it does not run");
    reading.abort();
    assert!(wait_until(|| !runs(&program)), "it still runs");
}

/// A PDF is data of anybody, and poppler a large program that reads it.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_reads_for_slug_reaches_no_other_file_and_no_network() {
    let path = std::env::var_os("PATH").unwrap();
    let landlock = Some(SandboxBackendKind::Landlock);
    if let Err(why) = sandbox::find(landlock, &path, Path::new("/nowhere")) {
        return skip(why);
    }
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::write(place("secret"), "words\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let program = place("pdfinfo");
    put_program(
        &program,
        &format!(
            "pages=1\n\
             {{ read -r word; }} < {secret} && pages=${{pages}}2\n\
             {{ :; }} > {new} && pages=${{pages}}3\n\
             {{ :; }} 3<>/dev/tcp/127.0.0.1/{port} && pages=${{pages}}4\n\
             echo Pages: $pages",
            secret = place("secret").display(),
            new = place("new").display(),
        ),
    );
    let pages = reader(folder.path(), Path::new("/nowhere")).page_count(b"%PDF-").await;
    assert_eq!(pages, Ok(1));
    assert!(!place("new").exists());
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    let unconfined = Command::new(&program).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&unconfined.stdout), "Pages: 1234\n");
}
