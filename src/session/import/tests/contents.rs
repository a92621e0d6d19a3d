//! Tests of what comes with an imported session: its images, whole outputs and changed files, and
//! what is missing of them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::domain::{Message, ToolStatus, UserInput};
use crate::session::samples::{result, says};
use crate::session::{
    FileChangeEntry, FileChangeSource, FileKind, FileVersion as FileImage, ToolResultInfo,
};

#[test]
fn imported_images_are_kept_like_slugs_own() {
    let png = b"\x89PNG\r\n\x1a\nsome more";
    let data = STANDARD.encode(png);
    let address = format!("data:image/png;base64,{data}");
    let anthropic = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let text = json!({"type": "text", "text": "what is this?"});
    let claude_code = |content: Value| json!({"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": content}});
    let codex = |content: Value| {
        let message = json!({"type": "message", "role": "user", "content": content});
        json!({"type": "response_item", "payload": message})
    };
    let kept = ContentHash::of(&png[..9]);
    let hash = &kept.as_str()[..4];
    for line in [
        json!({"role": "user", "content": [text, anthropic]}),
        json!({"role": "user", "content": [text, {"type": "image_url", "image_url": {"url": address}}]}),
        claude_code(json!([text, anthropic])),
        codex(json!([
            {"type": "input_text", "text": "what is this?"}, {"type": "input_image", "image_url": address}
        ])),
    ] {
        let home = home();
        let (imported, loaded) = home.imported(std::slice::from_ref(&line));
        let expected = format!("> what is this? | [Image 1 image 3×2] | {hash}");
        assert_eq!((message_lines(&loaded), imported.left_out), (vec![expected], 0), "{line}");
        assert_eq!(home.store.blobs().get(&kept).unwrap().unwrap(), &png[..9]);
        let typed = UserInput::from_blocks(&messages(&loaded)[0].content);
        assert_eq!(typed.images.len(), 1, "it comes back into the input");
    }
}

#[test]
fn unreadable_images_are_counted_and_a_dry_run_keeps_nothing() {
    let home = home();
    let png = STANDARD.encode(b"\x89PNG\r\n\x1a\nx");
    let image = |data: &str| json!({"type": "image", "source": {"type": "base64", "data": data}});
    let call = json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": [image(&png)]});
    let lines = [
        json!({"role": "user", "content": [
            {"type": "text", "text": "look"}, image("no base64!"), image(&STANDARD.encode("a text")),
            {"type": "image_url", "image_url": {"url": "https://elsewhere/a.png"}}, image(&png), image(&png)]}),
        json!({"role": "assistant", "content": [call]}),
        json!({"role": "user", "content": [result]}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let file = home.file("a.jsonl", text);
    let tried = home.store.import(&file, Path::new("/here"), &fit, ImportMode::DryRun);
    assert!(!home.dir.path().join("blobs").exists());
    let imported = home.import(&file).unwrap();
    assert_eq!(*tried[0].outcome.as_ref().unwrap(), imported);
    assert_eq!((imported.messages, imported.left_out), (3, 4));
    assert_eq!(home.store.blobs().all().unwrap().len(), 1, "the same one is kept once");
}

/// A session with an image, a long output, and a changed file, whose contents are kept.
fn whole(home: &TestSessionStore, secret: &str) -> (SessionId, [ContentHash; 4]) {
    let keep = |text: &str| home.store.blobs().put(text.as_bytes()).unwrap();
    let hashes = [keep("PNG"), keep(&format!("line\n{secret}\n")), keep("old"), keep("new")];
    let image = |hash: &ContentHash| {
        Some(FileImage { kind: FileKind::File, hash: hash.clone(), mode: Some(0o644) })
    };
    let (before, after) = (image(&hashes[2]), image(&hashes[3]));
    let change = FileChangeEntry::new("/work/a.rs".into(), before, after, FileChangeSource::Tool);
    let shown = MessageImage::new("shot.png", MediaType::Png, (3, 2), b"PNG");
    let content = vec![ContentBlock::Text { text: "look".into() }, ContentBlock::Image(shown)];
    let head = header("/work");
    let session = head.session_id;
    let LogEntry::Message(output) = result("c1", "line") else { panic!("a message") };
    let info = ToolResultInfo {
        name: "Bash".into(),
        status: ToolStatus::Done,
        summary: None,
        display: None,
        elapsed_ms: 1,
        kept: Some(hashes[1].clone()),
        job: None,
        agent: None,
    };
    let records = [
        record(0, LogEntry::Session(head)),
        record(
            1,
            LogEntry::Message(MessageEntry::new(Message { role: MessageRole::User, content })),
        ),
        record(1, LogEntry::Message(MessageEntry { result: Some(info), ..output })),
        record(1, LogEntry::FileChange(change)),
        record(1, says("done")),
    ];
    fs::create_dir_all(home.dir.path().join("sessions")).unwrap();
    fs::write(home.store.log_path(session), lines(&records)).unwrap();
    (session, hashes)
}

#[test]
fn an_exported_log_brings_its_images_and_outputs_and_no_files() {
    let (there, here) = (home(), home());
    let secret = format!("ghp_{}", "a1".repeat(18));
    let (session, [image, output, before, after]) = whole(&there, &secret);
    let exported = there.store.export(session, ExportForm::Log, SecretHandling::Redacted).unwrap();
    assert_eq!(exported.redacted, 1);
    assert!(!exported.text.contains(&secret), "{}", exported.text);
    let file = here.file("cart.jsonl", exported.text);
    let tried = here.store.import(&file, Path::new("/here"), &fit, ImportMode::DryRun);
    assert!(here.store.blobs().all().unwrap().is_empty(), "a trial keeps nothing");
    let imported = here.import(&file).unwrap();
    assert_eq!(*tried[0].outcome.as_ref().unwrap(), imported);
    assert_eq!((imported.session, imported.messages, imported.left_out), (session, 3, 0));
    assert_eq!(imported.missing, MissingContents { files: 1, ..MissingContents::default() });
    let sentence =
        "it came without the previous contents of 1 changed file, so /undo cannot restore it.";
    assert_eq!(imported.missing.describe().as_deref(), Some(sentence));
    let get = |hash: &ContentHash| here.store.blobs().get(hash).unwrap();
    assert_eq!(get(&image).unwrap(), b"PNG");
    assert_eq!([get(&output), get(&before), get(&after)], [None, None, None]);
    let loaded = here.store.read(session).unwrap();
    assert!(loaded.notices.is_empty() && loaded.records.len() == 5, "{loaded:?}");
    let kept = messages(&loaded).iter().find_map(|it| it.result.clone()?.kept).unwrap();
    assert_eq!(get(&kept).unwrap(), b"line\n[redacted: GitHub token]\n");
}

#[test]
fn with_its_secrets_an_exported_log_comes_back_as_it_was() {
    let (there, here) = (home(), home());
    let (session, [image, output, ..]) = whole(&there, "ghp_secret");
    let exported = there.store.export(session, ExportForm::Log, SecretHandling::Kept).unwrap();
    here.import(&here.file("cart.jsonl", exported.text)).unwrap();
    let read = |home: &TestSessionStore| home.store.read(session).unwrap().records;
    assert_eq!(read(&here), read(&there));
    assert!(here.store.blobs().has(&image) && here.store.blobs().has(&output));
}

#[test]
fn a_content_that_is_not_what_its_hash_says_is_counted_and_not_kept() {
    let (there, here) = (home(), home());
    let (session, _) = whole(&there, "nothing");
    let exported = there.store.export(session, ExportForm::Log, SecretHandling::Redacted).unwrap();
    let changed = exported.text.replace(&STANDARD.encode("PNG"), &STANDARD.encode("JPG"));
    let imported = here.import(&here.file("cart.jsonl", changed)).unwrap();
    assert_eq!((imported.left_out, imported.missing.images), (1, 1));
    assert_eq!(here.store.blobs().all().unwrap().len(), 1, "the output");
}

#[test]
fn a_log_from_another_store_brings_all_its_contents() {
    let (there, here) = (home(), home());
    let (session, hashes) = whole(&there, "nothing");
    let path = there.store.log_path(session);
    let imported = here.import(&path).unwrap();
    assert_eq!((imported.missing, imported.missing.describe()), (MissingContents::default(), None));
    assert!(hashes.iter().all(|hash| here.store.blobs().has(hash)));
    let elsewhere = home();
    let alone = elsewhere.file("alone.jsonl", fs::read(&path).unwrap());
    let missing = elsewhere.import(&alone).unwrap().missing;
    assert_eq!(missing, MissingContents { images: 1, outputs: 1, files: 1 });
}

#[test]
fn missing_contents_are_described_in_a_sentence() {
    for (images, outputs, files, expected) in [
        (1, 0, 0, "it came without 1 image."),
        (2, 1, 0, "it came without 2 images and 1 whole output."),
        (
            1,
            2,
            3,
            "it came without 1 image, 2 whole outputs and the previous contents of 3 changed files, \
             so /undo cannot restore them.",
        ),
    ] {
        assert_eq!(
            MissingContents { images, outputs, files }.describe().as_deref(),
            Some(expected)
        );
    }
}
