//! The completion list under the caret: when it opens, which data it asks for, and what a choice
//! inserts.
//!
//! Ranking many paths takes longer than a key press may, so the executor does it. The rows stay as
//! they are until the answer comes; a choice made before that ranks at once. Only one ranking runs
//! at a time: its answer starts the next one if the text has changed meanwhile.

use std::ops::Range;
use std::sync::Arc;

use crate::commands::SlashArgumentKind;
use crate::domain::SessionId;
use crate::domain::mention::{quote_path, quote_resource};

use super::Conversation;
use super::completion_items;
use super::completion_list::CompletionList;
use super::trigger::{self, CompletionTrigger, escaped, trigger};
use crate::services::sessions::{SessionStoreRequest, SessionStoreResponse};
use crate::tui::app::choice::PickerChoice;
use crate::tui::app::editor::ChipContent;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::keymap::CompletionKey;
use crate::tui::app::path_ranking;
use crate::tui::app::picker_list::PickerList;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::server_offers;
use crate::tui::app::shared::SharedState;

/// What comes before the id of a past session.
const SESSION: &str = "@session:";

/// Opens, filters or closes the list after the text changed.
pub fn refresh(conversation: &mut Conversation, shared: &mut SharedState) -> Vec<ScreenEffect> {
    let text = conversation.composer.editor.text();
    let files = &shared.files;
    let known = |path: &str| is_known(files, path);
    let is_server = |name: &str| server_offers::has_resources(&shared.offers, name);
    let (caret, commands) = (conversation.composer.editor.caret(), &shared.settings.commands);
    let found = trigger(&text, caret, commands, known, is_server).filter(|(it, word)| {
        conversation.composer.is_inserting() && can_open(conversation, it, word)
    });
    let Some((trigger, word)) = found else {
        conversation.completion = None;
        conversation.dismissed = None;
        return Vec::new();
    };
    if conversation.dismissed == Some(word.start) {
        return Vec::new();
    }
    conversation.dismissed = None;
    let query = trigger::query(&trigger, &text[word.clone()]);
    let mut effects = Vec::new();
    match &mut conversation.completion {
        Some(open) if open.trigger == trigger && open.word.start == word.start => open.word = word,
        Some(_) | None => effects = open(conversation, shared, trigger, word),
    }
    if let Some(open) = &mut conversation.completion {
        open.list.set_query(&query);
    }
    effects.extend(rank(conversation, shared));
    effects
}

/// Opens the list of paths for the last word of a shell command.
pub fn open_shell(conversation: &mut Conversation, shared: &mut SharedState) -> Vec<ScreenEffect> {
    let (text, caret) = (conversation.composer.editor.text(), conversation.composer.editor.caret());
    let commands = &shared.settings.commands;
    let Some((trigger, word)) = trigger(&text, caret, commands, |_| false, |_| false) else {
        return Vec::new();
    };
    let query = trigger::query(&trigger, &text[word.clone()]);
    conversation.dismissed = None;
    // The folder may have changed since it was listed.
    conversation.folder = None;
    let effects = open(conversation, shared, trigger, word);
    if let Some(open) = &mut conversation.completion {
        open.list.set_query(&query);
    }
    effects
}

/// Types a colon. Directly after a completed file name the colon starts a line range, so it goes
/// before the space that the completion put there.
pub fn colon(conversation: &mut Conversation, shared: &mut SharedState) -> Vec<ScreenEffect> {
    let editor = &mut conversation.composer.editor;
    if conversation.mentioned == Some(editor.revision()) {
        let caret = editor.caret();
        editor.replace(caret - 1, caret, ":");
    } else {
        conversation.composer.type_char(':');
    }
    refresh(conversation, shared)
}

/// Takes the paths of the workspace.
pub fn on_files_indexed(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    id: RequestId,
    (files, mentionable): (Arc<Vec<String>>, Arc<Vec<String>>),
) -> Vec<ScreenEffect> {
    if shared.requests.files != Some(id) {
        return Vec::new();
    }
    shared.requests.files = None;
    (shared.files, shared.mentionable) = (files, mentionable);
    let mut effects = refill(conversation, shared);
    // The text typed meanwhile may continue the name of a file.
    if conversation.completion.is_some() {
        effects.extend(refresh(conversation, shared));
    }
    effects
}

/// Takes the number of lines of a file; `lines` is `None` if they cannot be counted.
pub fn on_lines_counted(
    conversation: &mut Conversation,
    id: RequestId,
    path: String,
    lines: Option<u64>,
) {
    if conversation.requests.lines == Some(id) {
        conversation.requests.lines = None;
        conversation.line_count = Some((path, lines));
    }
}

/// Takes the names in a folder. If a single name completes a shell command, it is inserted at once.
pub fn on_folder_listed(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    id: RequestId,
    folder: String,
    names: Vec<String>,
) -> Vec<ScreenEffect> {
    if conversation.requests.folder != Some(id) {
        return Vec::new();
    }
    conversation.requests.folder = None;
    conversation.folder = Some((folder, names));
    let effects = refill(conversation, shared);
    let Some(open) = conversation.completion.as_ref().filter(|open| open.trigger.is_shell()) else {
        return effects;
    };
    let text = conversation.composer.editor.text();
    let typed = trigger::query(&open.trigger, text.get(open.word.clone()).unwrap_or_default());
    let only = open.list.row(0).filter(|_| open.list.len() == 1);
    if only.is_some_and(|(label, _, _)| !typed.is_empty() && label.starts_with(&typed)) {
        return put_in(conversation, shared, CompletionFollowUp::GoOn).effects;
    }
    effects
}

/// Takes the list of past sessions, if the completion list asked for it.
///
/// # Errors
///
/// Returns the answer unchanged if it belongs to another request.
pub fn on_sessions_listed(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    id: RequestId,
    answer: Result<SessionStoreResponse, String>,
) -> Result<Vec<ScreenEffect>, Result<SessionStoreResponse, String>> {
    if shared.requests.sessions != Some(id) {
        return Err(answer);
    }
    shared.requests.sessions = None;
    match answer {
        Ok(SessionStoreResponse::Listed(list)) => shared.sessions = Some(list),
        Ok(
            SessionStoreResponse::Changed
            | SessionStoreResponse::Previewed(_)
            | SessionStoreResponse::Compared(_)
            | SessionStoreResponse::Exported(_)
            | SessionStoreResponse::SummedUp(_),
        ) => {}
        Err(reason) => shared.toast(crate::domain::NoticeLevel::Error, reason),
    }
    Ok(refill(conversation, shared))
}

/// Puts rows into the open list that have arrived since it was opened.
pub fn refill(conversation: &mut Conversation, shared: &mut SharedState) -> Vec<ScreenEffect> {
    let Some(open) = &conversation.completion else { return Vec::new() };
    let source = completion_items::source(&open.trigger, conversation, shared);
    // A ranking under way is for rows that are about to be replaced.
    conversation.requests.rank = None;
    if let Some(open) = &mut conversation.completion {
        open.list.set_source(source);
    }
    rank(conversation, shared)
}

/// Takes the result of a ranking, and starts the next one if the text has changed meanwhile.
pub fn on_paths_ranked(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    id: RequestId,
    query: &str,
    matches: Vec<usize>,
) -> Vec<ScreenEffect> {
    if conversation.requests.rank != Some(id) {
        return Vec::new();
    }
    conversation.requests.rank = None;
    if let Some(open) = &mut conversation.completion {
        open.list.ranked(query, matches);
    }
    rank(conversation, shared)
}

/// Handles a key of the list. `None` if the list is closed or has no row.
pub fn key(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    key: CompletionKey,
) -> Option<CompletionInsertion> {
    let open = conversation.completion.as_mut()?;
    if matches!(key, CompletionKey::Complete | CompletionKey::Accept) {
        open.list.rank_now();
    }
    if open.list.is_empty() {
        return None;
    }
    match key {
        CompletionKey::Previous => open.list.step(-1),
        CompletionKey::Next => open.list.step(1),
        CompletionKey::Dismiss => {
            conversation.dismissed = Some(open.word.start);
            conversation.completion = None;
        }
        CompletionKey::Complete => {
            return Some(put_in(conversation, shared, CompletionFollowUp::GoOn));
        }
        CompletionKey::Accept => {
            return Some(put_in(conversation, shared, CompletionFollowUp::Send));
        }
    }
    Some(CompletionInsertion::typing_goes_on(Vec::new()))
}

fn open(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    trigger: CompletionTrigger,
    word: Range<usize>,
) -> Vec<ScreenEffect> {
    let effects = ask(conversation, shared, &trigger);
    conversation.requests.rank = None;
    let list = PickerList::new(completion_items::source(&trigger, conversation, shared));
    conversation.completion = Some(CompletionList { trigger, word, list });
    effects
}

/// Whether a list may open. A list of paths for a shell command opens only by hand, and only for
/// the word at the caret at that time: Enter has to run the command.
fn can_open(conversation: &Conversation, trigger: &CompletionTrigger, word: &Range<usize>) -> bool {
    let goes_on = |open: &CompletionList| open.trigger.is_shell() && open.word.start == word.start;
    !trigger.is_shell() || conversation.completion.as_ref().is_some_and(goes_on)
}

/// Whether a line range can follow this path. For files outside the index, only counting their
/// lines shows that.
fn is_known(files: &[String], path: &str) -> bool {
    path.starts_with(['/', '~', '.']) || path_ranking::find(files, path).is_some()
}

/// Requests the data that a list needs.
fn ask(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    trigger: &CompletionTrigger,
) -> Vec<ScreenEffect> {
    match trigger {
        CompletionTrigger::Path
        | CompletionTrigger::Argument { kind: SlashArgumentKind::File, .. } => {
            let id = shared.requests.issue();
            shared.requests.files = Some(id);
            let servers = server_offers::with_resources(&shared.offers);
            vec![ScreenEffect::IndexFiles { id, servers }]
        }
        CompletionTrigger::Lines { path } => {
            let id = shared.requests.issue();
            conversation.requests.lines = Some(id);
            vec![ScreenEffect::CountLines { id, path: path.clone() }]
        }
        CompletionTrigger::Folder { folder, .. } => {
            let id = shared.requests.issue();
            conversation.requests.folder = Some(id);
            vec![ScreenEffect::ListFolder { id, folder: folder.clone() }]
        }
        CompletionTrigger::Argument {
            kind: SlashArgumentKind::Model | SlashArgumentKind::Race,
            ..
        } => {
            let id = shared.requests.issue();
            shared.requests.models = Some(id);
            vec![ScreenEffect::ListModels(id)]
        }
        CompletionTrigger::Session
        | CompletionTrigger::Argument { kind: SlashArgumentKind::Session, .. } => {
            let id = shared.requests.issue();
            shared.requests.sessions = Some(id);
            vec![ScreenEffect::Sessions { id, job: SessionStoreRequest::List }]
        }
        CompletionTrigger::Command
        | CompletionTrigger::Resource { .. }
        | CompletionTrigger::FoldHow
        | CompletionTrigger::Argument { .. } => Vec::new(),
    }
}

/// Starts a ranking of the paths for the current text, unless one is under way.
fn rank(conversation: &mut Conversation, shared: &mut SharedState) -> Vec<ScreenEffect> {
    let unranked = conversation.completion.as_ref().and_then(|open| open.list.unranked());
    let is_free = conversation.requests.rank.is_none();
    let Some((paths, query)) = unranked.filter(|_| is_free) else {
        return Vec::new();
    };
    let (paths, query) = (paths.clone(), query.to_owned());
    let id = shared.requests.issue();
    conversation.requests.rank = Some(id);
    vec![ScreenEffect::RankPaths { id, query, paths }]
}

/// What follows once a choice is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionFollowUp {
    /// The user types on.
    GoOn,
    /// A complete command runs.
    Send,
}

/// What a key of the list leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionInsertion {
    pub effects: Vec<ScreenEffect>,
    /// Whether the input is to be sent now.
    pub follow_up: CompletionFollowUp,
}

impl CompletionInsertion {
    fn typing_goes_on(effects: Vec<ScreenEffect>) -> Self {
        Self { effects, follow_up: CompletionFollowUp::GoOn }
    }
}

/// The text that a choice inserts.
struct CompletionText {
    text: String,
    end: CompletionSuffix,
}

/// What follows the inserted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompletionSuffix {
    /// A space: an argument follows.
    Space,
    /// A space; a colon typed next replaces it and starts a line range.
    File,
    /// Nothing: a name within the folder follows.
    Below,
    /// Nothing: the command is complete.
    Complete,
}

fn put_in(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    then: CompletionFollowUp,
) -> CompletionInsertion {
    let nothing = CompletionInsertion::typing_goes_on(Vec::new());
    let Some(mut open) = conversation.completion.take() else { return nothing };
    open.list.rank_now();
    let Some(choice) = open.list.choice() else { return nothing };
    if let (PickerChoice::Session(id), CompletionTrigger::Session) = (&choice, &open.trigger) {
        put_session(conversation, *id, &open);
        return CompletionInsertion::typing_goes_on(refresh(conversation, shared));
    }
    if let (PickerChoice::Text(row), CompletionTrigger::Path) = (&choice, &open.trigger)
        && let Some(server) = row.strip_suffix(':')
        && server_offers::has_resources(&shared.offers, server)
    {
        // Its resources follow.
        let quote = if server.contains(' ') { "\"" } else { "" };
        let text = format!("{quote}{row}");
        conversation.composer.editor.replace(open.word.start, open.word.end, &text);
        return CompletionInsertion::typing_goes_on(refresh(conversation, shared));
    }
    if let (PickerChoice::Text(uri), CompletionTrigger::Resource { server }) =
        (&choice, &open.trigger)
    {
        put_resource(conversation, shared, (server, uri), &open);
        return CompletionInsertion::typing_goes_on(refresh(conversation, shared));
    }
    let Some(CompletionText { text, end }) = word(choice, &open.trigger, then) else {
        return nothing;
    };
    let sends = end == CompletionSuffix::Complete && then == CompletionFollowUp::Send;
    let space = if sends || end == CompletionSuffix::Below { "" } else { " " };
    conversation.composer.editor.replace(open.word.start, open.word.end, &format!("{text}{space}"));
    if sends {
        return CompletionInsertion { effects: Vec::new(), follow_up: CompletionFollowUp::Send };
    }
    if end == CompletionSuffix::File {
        conversation.mentioned = Some(conversation.composer.editor.revision());
    }
    if open.trigger.is_shell() && end == CompletionSuffix::Below {
        return CompletionInsertion::typing_goes_on(open_shell(conversation, shared));
    }
    CompletionInsertion::typing_goes_on(refresh(conversation, shared))
}

/// Inserts a past session as a chip with its title, or as its id if there is no room for a chip.
fn put_session(conversation: &mut Conversation, id: SessionId, open: &CompletionList) {
    let editor = &mut conversation.composer.editor;
    let title = open.list.row(open.list.selected()).map_or("", |(label, _, _)| label).to_owned();
    let sign = open.word.start.saturating_sub(SESSION.len())..open.word.end;
    editor.open_group();
    if editor.replace_by_chip(sign, ChipContent::Session { id, title }).is_none() {
        editor.replace(open.word.start, open.word.end, &id.to_string());
    }
    editor.insert(" ");
    editor.close_group();
}

/// Replaces the whole mention, which may need quotes now. One with places to fill in is typed on.
fn put_resource(
    conversation: &mut Conversation,
    shared: &SharedState,
    (server, uri): (&str, &str),
    open: &CompletionList,
) {
    let editor = &mut conversation.composer.editor;
    let text = editor.text();
    let before = text.get(..open.word.start).unwrap_or_default();
    let sign = before.rfind('@').map_or(open.word.start, |sign| sign + 1);
    let mention = match server_offers::is_template(&shared.offers, server, uri) {
        true if format!("{server}{uri}").contains(char::is_whitespace) => {
            format!("\"{server}:{uri}")
        }
        true => format!("{server}:{uri}"),
        false => format!("{} ", quote_resource(server, uri)),
    };
    editor.replace(sign, open.word.end, &mention);
}

fn word(
    choice: PickerChoice,
    trigger: &CompletionTrigger,
    then: CompletionFollowUp,
) -> Option<CompletionText> {
    let complete = |text: String| Some(CompletionText { text, end: CompletionSuffix::Complete });
    match (choice, trigger) {
        // Every command is useful without an argument; the ones that take a word then list the
        // choices.
        (PickerChoice::Command(name), CompletionTrigger::Command) => complete(name),
        (PickerChoice::Mode(mode), _) => complete(mode.name().to_owned()),
        (PickerChoice::Copied(what), _) => complete(what.name().to_owned()),
        // The message follows.
        (
            PickerChoice::Model(name),
            CompletionTrigger::Argument { kind: SlashArgumentKind::Race, .. },
        ) => Some(CompletionText { text: name.to_string(), end: CompletionSuffix::Space }),
        (PickerChoice::Model(name), _) => complete(name.to_string()),
        (PickerChoice::Theme(choice), _) => complete(choice.to_string()),
        (PickerChoice::Session(id), _) => complete(id.to_string()),
        (
            PickerChoice::Text(kind),
            CompletionTrigger::Argument { kind: SlashArgumentKind::Fold, .. },
        ) => Some(CompletionText { text: kind, end: CompletionSuffix::Space }),
        (
            PickerChoice::Text(word),
            CompletionTrigger::Argument { .. } | CompletionTrigger::FoldHow,
        ) => complete(word),
        (PickerChoice::Text(path), trigger) => Some(path_word(&path, trigger, then)),
        (
            PickerChoice::Key(_)
            | PickerChoice::Command(_)
            | PickerChoice::Sent(_)
            | PickerChoice::Thinking(_)
            | PickerChoice::Hook(_)
            | PickerChoice::Rewind(_)
            | PickerChoice::Setting(_)
            | PickerChoice::Nothing,
            _,
        ) => None,
    }
}

/// A path in the spelling that its place needs. Tab continues within a folder.
fn path_word(path: &str, trigger: &CompletionTrigger, then: CompletionFollowUp) -> CompletionText {
    let is_folder = path.ends_with('/');
    let end = match then {
        CompletionFollowUp::GoOn if is_folder => CompletionSuffix::Below,
        CompletionFollowUp::GoOn | CompletionFollowUp::Send if is_folder || trigger.is_shell() => {
            CompletionSuffix::Space
        }
        CompletionFollowUp::GoOn | CompletionFollowUp::Send => CompletionSuffix::File,
    };
    let text = match end {
        _ if trigger.is_shell() => escaped(path),
        // The quote is closed once the path is complete.
        CompletionSuffix::Below => quote_path(path).trim_end_matches('"').to_owned(),
        CompletionSuffix::Space | CompletionSuffix::File | CompletionSuffix::Complete => {
            quote_path(path)
        }
    };
    CompletionText { text, end }
}
