//! `slug sessions`: the store, without a screen.

use std::io::Write;

use chrono::Local;
use serde_json::json;

use crate::cli::{Exit, SessionsCommand};
use crate::domain::sanitize::sanitize;
use crate::domain::{Block, Role, Usage};
use crate::launch::build;
use crate::launch::ground::Ground;
use crate::launch::print;
use crate::session::{Conversation, Entry, Meta, Record, Spending, Spent};

pub(super) fn run(ground: &Ground, command: &SessionsCommand) -> anyhow::Result<Exit> {
    let store = build::store(ground);
    let mut out = print::out();
    match command {
        SessionsCommand::List { format } => {
            let sessions = store.list()?;
            if format.json {
                writeln!(out, "{}", json!(sessions))?;
            } else {
                list(&mut out, &sessions)?;
            }
        }
        SessionsCommand::Show { id, format } => {
            let loaded = store.read(store.resolve(id)?)?;
            if format.json {
                writeln!(out, "{}", json!(loaded.records))?;
            } else {
                for record in &loaded.records {
                    show(&mut out, record)?;
                }
                took(&mut out, &Conversation::of(&loaded.records).spending)?;
            }
        }
    }
    Ok(Exit::Answered)
}

fn list(out: &mut dyn Write, sessions: &[Meta]) -> std::io::Result<()> {
    if sessions.is_empty() {
        return writeln!(out, "There are no sessions yet.");
    }
    for session in sessions {
        let used = session.last_used_at.with_timezone(&Local).format("%Y-%m-%d %H:%M");
        let title = session.title.as_deref().unwrap_or("(untitled)");
        let folder = session.working_directory.display().to_string();
        let (title, folder) = (sanitize(title), sanitize(&folder));
        let messages = session.message_count;
        writeln!(out, "{}  {used}  {messages:>4}  {title}  {folder}", session.session_id)?;
    }
    Ok(())
}

/// What the session took, by model.
fn took(out: &mut dyn Write, spending: &Spending) -> std::io::Result<()> {
    let sums = |spent: &Spent| {
        let Usage { input, output, cache_read, .. } = spent.usage;
        let cost = spent.known_cost().map(|cost| format!(", {cost}")).unwrap_or_default();
        format!("{input} tokens read, {cache_read} of them from the cache, {output} written{cost}")
    };
    for row in spending.by_model() {
        writeln!(out, "{}: {}", sanitize(&spending.name(row)), sums(&row.spent))?;
    }
    let before = spending.taken_over();
    if before.responses > 0 {
        writeln!(out, "before the fork, counted there: {}", sums(&before))?;
    }
    Ok(())
}

/// A message as Markdown; what is not one is left out.
fn show(out: &mut dyn Write, record: &Record) -> std::io::Result<()> {
    let Entry::Message(message) = &record.entry else { return Ok(()) };
    for block in &message.content {
        match block {
            Block::Text { text } => {
                let who = match message.role {
                    Role::User => "You",
                    Role::Assistant => "slug",
                };
                writeln!(out, "## {who}\n\n{}\n", sanitize(text))?;
            }
            Block::Image(image) => writeln!(out, "({image})\n")?,
            Block::Context { .. } | Block::Thinking { .. } | Block::Sealed { .. } => {}
            Block::ToolUse(call) => {
                let call = json!({"name": call.name, "call": call});
                writeln!(
                    out,
                    "- {}: {}",
                    call["name"].as_str().unwrap_or_default(),
                    call["call"]["input"]
                )?;
            }
            Block::ToolResult { content, is_error, .. } => {
                let mark = if *is_error { "failed: " } else { "" };
                let first = content.lines().next().unwrap_or_default();
                writeln!(out, "  {mark}{}\n", sanitize(first))?;
            }
        }
    }
    Ok(())
}
