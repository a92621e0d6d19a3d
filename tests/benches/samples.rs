//! Sample text and records of the kind that slug handles, the same in every run.

use slug_code::domain::{
    CallId, CallInput, ContentBlock, EntryId, Message, MessageRole, StopReason, ToolCall,
    ToolStatus, TurnId,
};
use slug_code::session::{LogEntry, LogRecord, MessageEntry, ToolResultInfo};

const WORDS: &[&str] = &[
    "the", "parser", "keeps", "a", "small", "buffer", "of", "tokens", "so", "that", "late",
    "chunk", "never", "forces", "another", "pass", "over", "text", "which", "has", "already",
    "been", "drawn", "on", "screen", "and", "cache", "stays", "warm",
];

/// About `bytes` bytes of Markdown: headings, prose, lists, code and tables.
pub(crate) fn markdown(bytes: usize) -> String {
    let mut text = String::new();
    let mut section = 0;
    while text.len() < bytes {
        section += 1;
        let words = |count: usize, from: usize| {
            let words = (0..count).map(|n| WORDS[(from + n * 5 + n * n % 11) % WORDS.len()]);
            words.collect::<Vec<_>>().join(" ")
        };
        text += &match section % 5 {
            0 => format!("## Section {section}: {}\n\n", words(4, section)),
            1 => format!("{} **{}** `f()`\n\n", words(60, section), words(3, section)),
            2 => {
                (0..5).map(|n| format!("- {}\n", words(9 + n, section))).collect::<String>() + "\n"
            }
            3 => format!(
                "```rust\n/// Step {section}.\npub fn step(input: &[u8]) -> Vec<u8> {{\n    \
                 input.iter().map(|byte| byte.wrapping_mul({section})).collect()\n}}\n```\n\n"
            ),
            _ => format!("| case | time |\n|---|---:|\n| {} | {section} |\n\n", words(3, section)),
        };
    }
    text
}

/// A conversation of `count` messages: a question, a call, its result, an answer, and again.
pub(crate) fn messages(count: usize) -> Vec<Message> {
    (0..count)
        .map(|n| {
            let (role, block) = match n % 4 {
                0 => (MessageRole::User, text(format!("What does part {n} of the parser do?"))),
                1 => (MessageRole::Assistant, ContentBlock::ToolUse(call(n))),
                2 => (MessageRole::User, result(n)),
                _ => (MessageRole::Assistant, text(markdown(400))),
            };
            Message { role, content: vec![block] }
        })
        .collect()
}

/// The same conversation as log records.
pub(crate) fn records(count: usize) -> Vec<LogRecord> {
    messages(count).into_iter().enumerate().map(|(n, message)| record(n, message)).collect()
}

fn record(n: usize, message: Message) -> LogRecord {
    let result = (n % 4 == 2).then(|| ToolResultInfo {
        name: "Read".into(),
        status: ToolStatus::Done,
        summary: Some("20 lines".into()),
        display: None,
        kept: None,
        job: None,
        agent: None,
        elapsed_ms: 3,
    });
    let stop_reason = (n % 4 == 3).then_some(StopReason::EndTurn);
    let entry = MessageEntry { result, stop_reason, ..MessageEntry::new(message) };
    LogRecord {
        id: EntryId::generate(),
        timestamp: chrono::DateTime::UNIX_EPOCH,
        turn: TurnId(u32::try_from(n / 4).unwrap()),
        entry: LogEntry::Message(entry),
    }
}

fn text(text: String) -> ContentBlock {
    ContentBlock::Text { text }
}

fn call(n: usize) -> ToolCall {
    let input = serde_json::json!({ "file_path": format!("/home/me/src/part{n}.rs") });
    ToolCall {
        id: CallId::new(format!("c{n}")),
        name: "Read".into(),
        input: CallInput::Valid(input),
    }
}

fn result(n: usize) -> ContentBlock {
    let content =
        (1..=20).map(|line| format!("{line:>6}\tlet part{line} = parse({n});\n")).collect();
    ContentBlock::ToolResult {
        tool_use_id: CallId::new(format!("c{}", n - 1)),
        content,
        is_error: false,
    }
}
