//! Tests of exports in each form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::domain::{
    CallId, CallInput, ContentBlock, FileDiff, MediaType, Message, MessageImage, MessageRole,
    RequestSource, ToolCall, ToolDisplay, ToolStatus,
};
use crate::session::samples::{every_kind, header, record, result, rewind, says, user};
use crate::session::{MessageEntry, RewindScope, ToolResultInfo};

use super::*;

const FORMS: [ExportForm; 4] =
    [ExportForm::Markdown, ExportForm::Html, ExportForm::Json, ExportForm::Log];

fn written(entries: Vec<LogEntry>, form: ExportForm) -> ExportedText {
    let records: Vec<LogRecord> = entries.into_iter().map(|entry| record(1, entry)).collect();
    export(&records, form, SecretHandling::Redacted, &|_| Some(b"bytes".to_vec())).unwrap()
}

fn bash(id: &str, command: &str) -> LogEntry {
    let input = CallInput::Valid(serde_json::json!({"command": command}));
    let call = ToolCall { id: CallId::new(id), name: "Bash".into(), input };
    let content = vec![ContentBlock::ToolUse(call)];
    LogEntry::Message(MessageEntry::new(Message { role: MessageRole::Assistant, content }))
}

fn answered(id: &str, content: &str, display: Option<ToolDisplay>) -> LogEntry {
    let LogEntry::Message(message) = result(id, content) else { panic!("a message") };
    let status = ToolStatus::Done;
    let info = ToolResultInfo {
        name: "Bash".into(),
        status,
        summary: Some("exit 0".into()),
        display,
        elapsed_ms: 1,
        kept: None,
        job: None,
        agent: None,
    };
    LogEntry::Message(MessageEntry { result: Some(info), ..message })
}

#[test]
fn every_kind_of_record_can_be_written() {
    for form in FORMS {
        let text = written(every_kind(), form).text;
        assert!(text.contains("The cart") && text.contains("qwen"), "{text}");
    }
}

#[test]
fn markdown_folds_a_call_with_its_result() {
    let entries = vec![
        LogEntry::Session(header("/work")),
        user("Look\u{1b}[31m here"),
        bash("c1", "ls"),
        answered("c1", "a ``` b", None),
        bash("c1", "pwd"),
        says("**Done.**"),
    ];
    let text = written(entries, ExportForm::Markdown).text;
    for expected in [
        "# Look",
        "- folder: /work\n",
        "## You\n",
        "<summary>Bash · ls · exit 0</summary>",
        "````\na ``` b\n````",
        "<summary>Bash · pwd · no result</summary>",
        "\n**Done.**\n",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_call_inside_another_is_shown_as_itself() {
    let input = serde_json::json!({"tool": "Bash", "input": {"command": "pwd"}});
    let call =
        ToolCall { id: CallId::new("c1"), name: "Call".into(), input: CallInput::Valid(input) };
    let content = vec![ContentBlock::ToolUse(call)];
    let made = MessageEntry::new(Message { role: MessageRole::Assistant, content });
    let entries = vec![
        LogEntry::Session(header("/work")),
        user("Where?"),
        LogEntry::Message(made),
        answered("c1", "/work", None),
    ];
    let text = written(entries, ExportForm::Markdown).text;
    assert!(text.contains("<summary>Bash · pwd · exit 0</summary>"), "{text}");
}

#[test]
fn what_was_asked_beside_the_conversation_is_on_no_page() {
    let LogEntry::Message(answer) = says("Compaction of the carts") else { unreachable!() };
    let aside = MessageEntry { source: RequestSource::Compaction, ..answer };
    let entries = || {
        vec![LogEntry::Session(header("/work")), user("hello"), LogEntry::Message(aside.clone())]
    };
    for form in [ExportForm::Markdown, ExportForm::Html] {
        let text = written(entries(), form).text;
        assert!(text.contains("hello") && !text.contains("Compaction of the carts"), "{text}");
    }
}

#[test]
fn html_in_messages_is_shown_as_text() {
    let bad = "<script>alert(1)</script> <img src=x onerror=y>\n\n<div onclick=z>\n\n\
        [a](javascript:alert(2)) [b](https://example.org/\"x) ![c](http://example.org/c.png) \u{202e}";
    let entries = vec![
        LogEntry::Session(header("/wo<b>rk")),
        user(bad),
        LogEntry::Title { title: "</title><script>{messages}".into() },
        bash("c1", "</pre><script>"),
        answered("c1", "</details><script>", None),
        says(bad),
    ];
    let text = written(entries, ExportForm::Html).text;
    assert_eq!(text.matches("<script").count(), 1, "{text}");
    for absent in ["<img", "<div onclick", "href=\"javascript", "<b>rk", "\u{202e}", "src=\"http"] {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
    for present in [
        "&lt;/title&gt;&lt;script&gt;{messages}",
        "<a href=\"https://example.org/&quot;x\" rel=\"noopener noreferrer\">b</a>",
        "default-src 'none'",
    ] {
        assert!(text.contains(present), "{present} in {text}");
    }
}

#[test]
fn html_runs_its_own_script_and_style_and_no_other() {
    let table = "| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | 3 |\n\n`<td style=\"text-align: left\">`";
    let text =
        written(vec![LogEntry::Session(header("/work")), says(table)], ExportForm::Html).text;
    let (_, policy) = text.split_once("Content-Security-Policy\" content=\"").unwrap();
    let (policy, _) = policy.split_once('"').unwrap();
    for (tag, directive) in [("style", "style-src"), ("script", "script-src")] {
        let (_, inner) = text.split_once(&format!("<{tag}>")).unwrap();
        let (inner, rest) = inner.split_once(&format!("</{tag}>")).unwrap();
        let hash = STANDARD.encode(Sha256::digest(inner));
        assert!(policy.contains(&format!("{directive} 'sha256-{hash}';")), "{policy}");
        assert!(!rest.contains(&format!("<{tag}")), "{text}");
    }
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
    for cell in ["<th class=\"left\">a", "<td class=\"center\">2", "<td class=\"right\">3"] {
        assert!(text.contains(cell), "{cell} in {text}");
    }
    // The policy would ignore an element's `style` attribute. The one that is left is text of a
    // message.
    assert_eq!(text.matches(" style=").count(), 1, "{text}");
    assert!(text.contains("&lt;td style="), "{text}");
}

#[test]
fn html_colours_a_diff_and_holds_its_images() {
    let diff = FileDiff::between("/work/a", "old\n", "n<w\n");
    let image = MessageImage::new("shot.png", MediaType::Png, (8, 6), b"bytes");
    let content = vec![ContentBlock::Image(image)];
    let entries = vec![
        LogEntry::Message(MessageEntry::new(Message { role: MessageRole::User, content })),
        bash("c1", "edit"),
        answered("c1", "ok", Some(ToolDisplay::Diff(diff))),
    ];
    let text = written(entries, ExportForm::Html).text;
    for expected in [
        "<span class=\"gone\">-old\n</span><span class=\"new\">+n&lt;w\n</span>",
        "src=\"data:image/png;base64,Ynl0ZXM=\"",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}

#[test]
fn a_log_has_every_record_after_its_contents() {
    let image = MessageImage::new("shot.png", MediaType::Png, (8, 6), b"bytes");
    let content = vec![ContentBlock::Image(image)];
    let shown = || {
        LogEntry::Message(MessageEntry::new(Message {
            role: MessageRole::User,
            content: content.clone(),
        }))
    };
    let entries = || [every_kind(), vec![shown(), shown()]].concat();
    let count = entries().into_iter().filter(|entry| !matches!(entry, LogEntry::Rewind(_))).count();
    let text = written(entries(), ExportForm::Log).text;
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_content = |line: &&Value| line["type"] == log::CONTENT;
    assert_eq!(lines.iter().filter(is_content).count(), 1, "the image once: {text}");
    assert_eq!(lines[count - 2]["base64"], "Ynl0ZXM=", "before the first that shows it");
    let records = lines.iter().filter(|line| !is_content(line));
    let records: Vec<LogRecord> =
        records.map(|it| serde_json::from_value(it.clone()).unwrap()).collect();
    assert_eq!(records.len(), count);
}

#[test]
fn rewound_messages_are_in_no_form() {
    let records = vec![
        record(0, LogEntry::Session(header("/work"))),
        record(1, user("the first question")),
        record(1, says("an answer")),
        record(2, user("of no use")),
    ];
    let back = record(2, LogEntry::Rewind(rewind(records[3].id, RewindScope::Both)));
    let records = [records, vec![back]].concat();
    for form in FORMS {
        let text = export(&records, form, SecretHandling::Redacted, &|_| None).unwrap().text;
        assert!(text.contains("first question") && !text.contains("of no use"), "{text}");
        assert!(!text.contains("\"rewind\""), "{text}");
    }
}

#[test]
fn json_has_the_session_and_the_blocks_of_its_messages() {
    let entries = vec![
        LogEntry::Session(header("/work")),
        user("hello"),
        bash("c1", "ls"),
        answered("c1", "a", None),
        LogEntry::Title { title: "Mine".into() },
    ];
    let value: Value = serde_json::from_str(&written(entries, ExportForm::Json).text).unwrap();
    assert_eq!(value["version"], 1);
    assert_eq!(
        (&value["session"]["cwd"], &value["session"]["title"]),
        (&"/work".into(), &"Mine".into())
    );
    let kinds: Vec<&str> = value["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"][0]["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "tool_use", "tool_result"]);
}

#[test]
fn secrets_are_redacted_in_every_form_and_place() {
    let key = format!("sk-{}", "Z9".repeat(12));
    let pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n";
    let thinking = ContentBlock::Thinking { thinking: format!("it is {key}"), signature: None };
    let message = Message { role: MessageRole::Assistant, content: vec![thinking] };
    let image = MessageImage::new(&format!("{key}.png"), MediaType::Png, (8, 6), b"bytes");
    let shown = Message { role: MessageRole::User, content: vec![ContentBlock::Image(image)] };
    let terminal = ToolDisplay::Terminal { text: format!("TOKEN=\u{1b}[31mabc-{key}\u{1b}[0m") };
    let entries = || {
        vec![
            LogEntry::Session(header(&format!("/work/{key}"))),
            user(&format!("use {key}")),
            LogEntry::Message(MessageEntry::new(shown.clone())),
            LogEntry::Message(MessageEntry::new(message.clone())),
            bash("c1", &format!("curl -H 'Authorization: Bearer {key}'")),
            answered("c1", &key, Some(terminal.clone())),
            bash("c2", "cat key"),
            answered("c2", pem, Some(ToolDisplay::Diff(FileDiff::between("/k", "", pem)))),
            LogEntry::Title { title: format!("about {key}") },
        ]
    };
    for form in FORMS {
        let ExportedText { text, redacted } = written(entries(), form);
        assert!(!text.contains(&key) && !text.contains("MIIEvQ"), "{text}");
        assert!(text.contains("[redacted: API key]") && redacted >= 8, "{redacted}: {text}");
    }
    let records: Vec<LogRecord> = entries().into_iter().map(|entry| record(1, entry)).collect();
    let kept = export(&records, ExportForm::Json, SecretHandling::Kept, &|_| None).unwrap();
    assert!(kept.text.contains(&key) && kept.redacted == 0);
}
