//! `slug sessions`: lists, shows, searches, renames and deletes stored sessions.

use std::collections::HashMap;
use std::io::Write;

use chrono::{DateTime, Local, NaiveDate, Utc};
use serde_json::{Value, json};

use crate::cli::{CliExitStatus, SessionsCommand, SessionsFilter};
use crate::domain::sanitize::{sanitize, sanitize_line};
use crate::domain::{ContentBlock, MessageRole, SessionId, TokenUsage};
use crate::launch::build;
use crate::launch::print;
use crate::launch::run_context::RunContext;
use crate::launch::subcommands::export_import;
use crate::session::undo::RewindHistory;
use crate::session::{
    LogEntry, LogRecord, ReplayedConversation, SearchHitSource, SearchText, SessionAttributes,
    SessionListFilter, SessionMeta, SessionSearchHit, SessionSearchResult, SessionSpending,
    SessionStore, SpendingSum, date, name_forks, without_copies,
};

use super::gc;

pub(super) fn run(
    run_context: &RunContext,
    command: &SessionsCommand,
) -> anyhow::Result<CliExitStatus> {
    let store = build::store(run_context);
    let mut out = print::out();
    match command {
        SessionsCommand::List { which, limit, format } => {
            let Some(filter) = narrowed(SessionListFilter::default(), which) else {
                return Ok(CliExitStatus::Usage);
            };
            let mut sessions = store.list()?;
            name_forks(&mut sessions);
            sessions.retain(|session| filter.takes(facts(session)));
            sessions.truncate(limit.unwrap_or(usize::MAX));
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
                let rewinds = RewindHistory::of(&loaded.records);
                for (at, record) in loaded.records.iter().enumerate() {
                    if rewinds.is_live(at) {
                        show(&mut out, record)?;
                    }
                }
                write_spending(&mut out, &ReplayedConversation::of(&loaded.records).spending)?;
            }
        }
        SessionsCommand::Search { query, which, limit, format } => {
            let typed = SessionListFilter::parse(query, today());
            let Some(filter) = narrowed(typed, which) else { return Ok(CliExitStatus::Usage) };
            let Some(text) = SearchText::new(&filter.text) else {
                print::complain(
                    "Give a text to search for, as in `slug sessions search \"empty cart\"`.",
                );
                return Ok(CliExitStatus::Usage);
            };
            let found = search(&store, &text, &filter, *limit)?;
            if format.json {
                let found: Vec<Value> = found.iter().map(as_json).collect();
                writeln!(out, "{}", json!(found))?;
            } else {
                tell(&mut out, &found)?;
            }
        }
        SessionsCommand::Rename { id, title, format } => {
            let (session, title) = (store.resolve(id)?, title.trim());
            if title.is_empty() {
                print::complain("The title cannot be empty.");
                return Ok(CliExitStatus::Usage);
            }
            store.rename(session, title)?;
            if format.json {
                writeln!(out, "{}", json!({"session_id": session, "title": title}))?;
            } else {
                writeln!(out, "{session} is now called {}", sanitize_line(title))?;
            }
        }
        SessionsCommand::Export(what) => export_import::export(&store, what, &mut out)?,
        SessionsCommand::Import(what) => return export_import::import(&store, what, &mut out),
        SessionsCommand::Delete { ids, format } => {
            // An id that does not exist is reported before any session is moved.
            let sessions: Vec<SessionId> =
                ids.iter().map(|id| store.resolve(id)).collect::<Result<_, _>>()?;
            return delete(&store, &sessions, format.json, &mut out);
        }
        SessionsCommand::Gc(gc) => return gc::run(run_context, gc),
    }
    Ok(CliExitStatus::Answered)
}

/// Moves sessions to the trash. Reports those that cannot be moved; then the exit status is a
/// failure.
fn delete(
    store: &SessionStore,
    sessions: &[SessionId],
    as_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<CliExitStatus> {
    let (mut deleted, mut exit) = (Vec::new(), CliExitStatus::Answered);
    for session in sessions {
        match store.trash(*session) {
            Ok(()) => deleted.push(*session),
            Err(error) => {
                print::complain(&error.to_string());
                exit = CliExitStatus::Failed;
            }
        }
    }
    if as_json {
        writeln!(out, "{}", json!({"deleted": deleted}))?;
    } else {
        for session in deleted {
            writeln!(out, "{session} is in the trash now")?;
        }
    }
    Ok(exit)
}

fn today() -> NaiveDate {
    Local::now().date_naive()
}

/// Narrows the filter by the flags. Reports a date that cannot be read and returns `None`.
fn narrowed(mut filter: SessionListFilter, which: &SessionsFilter) -> Option<SessionListFilter> {
    which.project.iter().for_each(|name| filter.project(name));
    which.model.iter().for_each(|name| filter.model(name));
    let since = which.since.as_ref().map(|since| (since, date(since, today())));
    match since {
        Some((_, Some(day))) => filter.from(day),
        Some((since, None)) => filter.unread.push(since.clone()),
        None => {}
    }
    if let Some(word) = filter.unread.first() {
        print::complain(&format!(
            "`{word}` is not a date. Use 2026-11-01, 2026-11, today, 7d or \
            2w."
        ));
        return None;
    }
    Some(filter)
}

fn facts(session: &SessionMeta) -> SessionAttributes<'_> {
    SessionAttributes {
        project: &session.working_directory,
        model: &session.model,
        day: session.last_used_at.with_timezone(&Local).date_naive(),
    }
}

/// The sessions that contain the text, newest first. A hit that forks have copied is listed only
/// once.
fn search(
    store: &SessionStore,
    text: &SearchText,
    filter: &SessionListFilter,
    limit: usize,
) -> anyhow::Result<Vec<(SessionMeta, SessionSearchResult)>> {
    let mut sessions = store.list()?;
    sessions.retain(|session| filter.takes(facts(session)));
    let ids: Vec<SessionId> = sessions.iter().map(|session| session.session_id).collect();
    let mut found = HashMap::new();
    store.search(text, &ids, &|| false, |one| drop(found.insert(one.session, one)));
    let in_order = ids.iter().filter_map(|session| found.remove(session)).collect();
    let mut metas: HashMap<SessionId, SessionMeta> =
        sessions.into_iter().map(|session| (session.session_id, session)).collect();
    let parent = |session| metas.get(&session).and_then(|meta: &SessionMeta| meta.forked_from);
    let kept = without_copies(in_order, parent);
    let found = kept.into_iter().take(limit);
    Ok(found.filter_map(|found| Some((metas.remove(&found.session)?, found))).collect())
}

fn as_json((session, found): &(SessionMeta, SessionSearchResult)) -> Value {
    json!({
        "session_id": session.session_id,
        "title": session.title,
        "working_directory": session.working_directory.to_string_lossy(),
        "model": session.model,
        "last_used_at": session.last_used_at,
        "places": found.places,
        "more": found.more,
    })
}

/// Writes each session as in the list, with its hits below it.
fn tell(out: &mut dyn Write, found: &[(SessionMeta, SessionSearchResult)]) -> std::io::Result<()> {
    if found.is_empty() {
        return writeln!(out, "No session contains this text.");
    }
    for (session, found) in found {
        list(out, std::slice::from_ref(session))?;
        for SessionSearchHit { timestamp, who, before, found, behind, .. } in &found.places {
            let who = match who {
                SearchHitSource::User => "you".to_owned(),
                SearchHitSource::Model => "slug".to_owned(),
                SearchHitSource::Thinking => "thought".to_owned(),
                SearchHitSource::Call(tool) | SearchHitSource::Result(Some(tool)) => {
                    sanitize(tool).into_owned()
                }
                SearchHitSource::Result(None) => "tool".to_owned(),
            };
            writeln!(out, "    {}  {who:<8}  {before}{found}{behind}", time(*timestamp))?;
        }
    }
    Ok(())
}

fn time(time: DateTime<Utc>) -> String {
    time.with_timezone(&Local).format("%Y-%m-%d %H:%M").to_string()
}

fn list(out: &mut dyn Write, sessions: &[SessionMeta]) -> std::io::Result<()> {
    if sessions.is_empty() {
        return writeln!(out, "No sessions yet.");
    }
    for session in sessions {
        let used = time(session.last_used_at);
        let title = session.title.as_deref().unwrap_or("(untitled)");
        let folder = session.working_directory.display().to_string();
        let (title, folder) = (sanitize_line(title), sanitize_line(&folder));
        let count = session.known_message_count();
        let messages = count.map_or_else(|| "?".to_owned(), |count| count.to_string());
        writeln!(out, "{}  {used}  {messages:>4}  {title}  {folder}", session.session_id)?;
    }
    Ok(())
}

/// Writes what the session has spent, by model.
fn write_spending(out: &mut dyn Write, spending: &SessionSpending) -> std::io::Result<()> {
    let sums = |spent: &SpendingSum| {
        let TokenUsage { input, output, cache_read, .. } = spent.usage;
        let cost = spent.known_cost().map(|cost| format!(", {cost}")).unwrap_or_default();
        format!(
            "{input} input tokens ({cache_read} from the cache), {output} output \
            tokens{cost}"
        )
    };
    for row in spending.by_model() {
        writeln!(out, "{}: {}", sanitize(&spending.name(row)), sums(&row.spent))?;
    }
    let before = spending.taken_over();
    if before.responses > 0 {
        writeln!(out, "before the fork (counted there): {}", sums(&before))?;
    }
    Ok(())
}

/// Writes a message as Markdown; skips entries of other kinds.
fn show(out: &mut dyn Write, record: &LogRecord) -> std::io::Result<()> {
    let LogEntry::Message(message) = &record.entry else { return Ok(()) };
    // What was asked beside the conversation is no part of it.
    if !message.source.is_main() {
        return Ok(());
    }
    for block in &message.content {
        match block {
            ContentBlock::Text { text } => {
                let who = match message.role {
                    MessageRole::User => "You",
                    MessageRole::Assistant => "slug",
                };
                writeln!(out, "## {who}\n\n{}\n", sanitize(text))?;
            }
            ContentBlock::Image(image) => writeln!(out, "({image})\n")?,
            ContentBlock::Context { .. }
            | ContentBlock::Thinking { .. }
            | ContentBlock::Sealed { .. } => {}
            ContentBlock::ToolUse(call) => {
                let call = call.inner();
                let input = json!(call)["input"].to_string();
                writeln!(out, "- {}: {}", sanitize_line(&call.name), sanitize(&input))?;
            }
            ContentBlock::ToolResult { content, is_error, .. } => {
                let mark = if *is_error { "failed: " } else { "" };
                let first = content.lines().next().unwrap_or_default();
                writeln!(out, "  {mark}{}\n", sanitize(first))?;
            }
        }
    }
    Ok(())
}
