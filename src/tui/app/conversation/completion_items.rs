//! The rows of the completion list that opens under the caret, and the hint line below it. The list
//! has no text field: its filter is the word at the caret. `completion_state` opens the list and
//! puts the chosen row in.

use std::sync::Arc;

use crate::commands::{
    CommandRegistry, CopyArgument, EFFORT_WORDS, EffortArgument, SlashArgumentKind,
};
use crate::domain::mention::LineRange;
use crate::domain::{PermissionMode, ReasoningEffort};
use crate::tools::SHELL_TOOL;

use super::Conversation;
use super::completion_list::CompletionList;
use super::recent_paths;
use super::rewind_messages;
use super::rewind_messages::RewindMessage;
use super::trigger::CompletionTrigger;
use crate::services::sessions::SessionRow;
use crate::tui::app::choice::PickerChoice;
use crate::tui::app::msg::{FavouriteMark, ModelRow};
use crate::tui::app::picker_list::{PickerItem, PickerPaths, PickerSource};
use crate::tui::app::prompt_files;
use crate::tui::app::server_offers;
use crate::tui::app::shared::SharedState;
use crate::tui::app::sidebar::age;
use crate::tui::app::themes;

/// The line under the list, which says what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionHint {
    /// Help for what is being typed.
    Says(String),
    /// A problem with what is typed.
    Warns(String),
}

/// The rows for a trigger, as far as they have been read.
pub fn source(
    trigger: &CompletionTrigger,
    conversation: &Conversation,
    shared: &SharedState,
) -> PickerSource {
    match trigger {
        CompletionTrigger::Path => paths(&shared.mentionable, conversation, shared),
        CompletionTrigger::Lines { .. } => PickerSource::Items(Vec::new()),
        CompletionTrigger::Folder { folder, .. } => {
            PickerSource::Names(match &conversation.folder {
                Some((listed, names)) if listed == folder => {
                    names.iter().map(|name| row(&format!("{folder}{name}"), "")).collect()
                }
                Some(_) | None => Vec::new(),
            })
        }
        CompletionTrigger::Session => PickerSource::Items(sessions(conversation, shared)),
        CompletionTrigger::Resource { server } => {
            PickerSource::Items(server_offers::resources(&shared.offers, server))
        }
        CompletionTrigger::Command => {
            PickerSource::Items(commands(&shared.settings.commands).collect())
        }
        CompletionTrigger::FoldHow => PickerSource::Items(words(FOLD_HOW)),
        CompletionTrigger::Argument { kind, .. } => match kind {
            SlashArgumentKind::None
            | SlashArgumentKind::Focus
            | SlashArgumentKind::Title
            | SlashArgumentKind::Prompt => PickerSource::Items(Vec::new()),
            SlashArgumentKind::Mode => PickerSource::Items(modes(shared).collect()),
            SlashArgumentKind::Copy => PickerSource::Items(copied().collect()),
            SlashArgumentKind::OneOf(all) => PickerSource::Items(words(all)),
            SlashArgumentKind::Fold => PickerSource::Items(words(FOLD_KINDS)),
            SlashArgumentKind::Model | SlashArgumentKind::Race => {
                PickerSource::Items(models(conversation, shared))
            }
            SlashArgumentKind::Theme => PickerSource::Items(themes::items(&shared.theme)),
            SlashArgumentKind::Session => PickerSource::Items(sessions(conversation, shared)),
            SlashArgumentKind::Message => PickerSource::Items(earlier(conversation)),
            SlashArgumentKind::File => paths(&shared.files, conversation, shared),
        },
    }
}

/// The line under the list; `None` if there is nothing to say.
pub fn hint(
    open: &CompletionList,
    conversation: &Conversation,
    shared: &SharedState,
) -> Option<CompletionHint> {
    let text = conversation.composer.editor.text();
    let typed = text.get(open.word.clone()).unwrap_or_default();
    let says = |text: &str| Some(CompletionHint::Says(text.to_owned()));
    match &open.trigger {
        CompletionTrigger::Path if open.list.is_empty() && shared.requests.files.is_some() => {
            says("Listing files …")
        }
        CompletionTrigger::Path if open.list.is_empty() && open.list.unranked().is_none() => {
            says("No file in this folder matches. Start with ../, ~/ or / for other folders")
        }
        CompletionTrigger::Path => {
            says("tab: open a folder   name:10-40: lines   session: a past session")
        }
        CompletionTrigger::Resource { server } if open.list.is_empty() => {
            says(&format!("{server} does not list this resource; slug asks for it anyway"))
        }
        CompletionTrigger::Lines { path } => {
            let (counted, lines) = conversation.line_count.as_ref()?;
            (counted == path).then(|| lines_hint(path, typed, *lines))
        }
        CompletionTrigger::Session
        | CompletionTrigger::Argument { kind: SlashArgumentKind::Session, .. }
            if open.list.is_empty() && shared.requests.sessions.is_some() =>
        {
            says("Listing sessions …")
        }
        CompletionTrigger::Session if open.list.is_empty() => {
            says("No session has a title like that")
        }
        CompletionTrigger::Folder { folder, .. } if open.list.is_empty() => {
            let listed = conversation.folder.as_ref().is_some_and(|(listed, _)| listed == folder);
            let shown = if folder.is_empty() { "this folder" } else { folder };
            listed.then(|| CompletionHint::Warns(format!("Nothing in {shown} matches")))
        }
        CompletionTrigger::Argument { command, kind: SlashArgumentKind::Prompt } => {
            let of_file = || prompt_files::usage(&shared.prompt_files, command);
            let usage = server_offers::usage(&shared.offers, command).or_else(of_file);
            usage.map(CompletionHint::Says)
        }
        CompletionTrigger::Argument { command, kind } => {
            Some(CompletionHint::Says(format!("/{command} takes {}", kind.meaning())))
        }
        CompletionTrigger::FoldHow => says("/fold takes a state: open, closed or auto"),
        CompletionTrigger::Folder { .. }
        | CompletionTrigger::Session
        | CompletionTrigger::Resource { .. }
        | CompletionTrigger::Command => None,
    }
}

/// A row for each slash command.
pub fn commands(registry: &CommandRegistry) -> impl Iterator<Item = PickerItem> {
    registry.all().map(|command| PickerItem {
        label: format!("/{}", command.name),
        detail: command.summary.clone(),
        aside: match command.argument {
            SlashArgumentKind::Prompt => command.source.clone(),
            _ => String::new(),
        },
        keywords: command.aliases.join(" "),
        choice: PickerChoice::Command(command.name.clone()),
    })
}

/// A row for each mode; the sandbox mode only if a sandbox is in force.
pub fn modes(shared: &SharedState) -> impl Iterator<Item = PickerItem> + use<> {
    let has_sandbox = shared.settings.boundary.is_some();
    let modes = PermissionMode::ALL
        .into_iter()
        .filter(move |mode| *mode != PermissionMode::Sandbox || has_sandbox);
    modes.map(|mode| PickerItem {
        label: mode.name().to_owned(),
        detail: mode.meaning().to_owned(),
        aside: String::new(),
        keywords: String::new(),
        choice: PickerChoice::Mode(mode),
    })
}

/// A row for each thinking effort.
pub fn thinking() -> Vec<PickerItem> {
    let item = |&(word, meaning): &(&str, &str)| PickerItem {
        label: word.to_owned(),
        detail: meaning.to_owned(),
        aside: String::new(),
        keywords: String::new(),
        choice: PickerChoice::Thinking(
            ReasoningEffort::parse(word).map_or(EffortArgument::Default, EffortArgument::Level),
        ),
    };
    EFFORT_WORDS.iter().map(item).collect()
}

/// A row for each model, favourites first. Labels begin with the provider if there is more than
/// one.
pub fn models(conversation: &Conversation, shared: &SharedState) -> Vec<PickerItem> {
    let (rows, status) = (&shared.models, &conversation.status);
    let first = rows.first().map(|row| &row.name.provider);
    let several = rows.iter().any(|row| Some(&row.name.provider) != first);
    let item = |row: &ModelRow| PickerItem {
        label: if several { row.name.to_string() } else { row.name.model.clone() },
        detail: match (row.mark, row.name.is(&status.provider, &status.model)) {
            (FavouriteMark::Favourite, true) => "★ current".to_owned(),
            (FavouriteMark::Favourite, false) => "★".to_owned(),
            (FavouriteMark::None, true) => "current".to_owned(),
            (FavouriteMark::None, false) => String::new(),
        },
        aside: row.window.map(crate::domain::format_tokens).unwrap_or_default(),
        keywords: String::new(),
        choice: PickerChoice::Model(row.name.clone()),
    };
    let mut rows: Vec<&ModelRow> = rows.iter().collect();
    rows.sort_by_key(|row| row.mark);
    rows.into_iter().map(item).collect()
}

/// The kinds of panes that can be folded together.
const FOLD_KINDS: &[(&str, &str)] = &[
    ("thinking", "thinking"),
    ("messages", "your long messages"),
    ("images", "images"),
    ("summaries", "compaction notes"),
    ("lookups", "reads and searches in a row"),
    ("tools", "all calls"),
    (SHELL_TOOL, "calls of one tool"),
];

const FOLD_HOW: &[(&str, &str)] = &[
    ("open", "shown in full"),
    ("closed", "only the first line shown"),
    ("auto", "chosen by content"),
];

fn paths(
    all: &Arc<Vec<String>>,
    conversation: &Conversation,
    shared: &SharedState,
) -> PickerSource {
    PickerSource::Paths(PickerPaths {
        all: all.clone(),
        recent: recent_paths::recent(conversation, shared).into(),
    })
}

/// A row for each part of the session that `/copy` takes.
fn copied() -> impl Iterator<Item = PickerItem> {
    CopyArgument::ALL.into_iter().map(|it| PickerItem {
        label: it.name().to_owned(),
        detail: it.meaning().to_owned(),
        aside: String::new(),
        keywords: String::new(),
        choice: PickerChoice::Copied(it),
    })
}

fn words(words: &[(&str, &str)]) -> Vec<PickerItem> {
    words.iter().map(|(word, meaning)| row(word, meaning)).collect()
}

fn row(word: &str, meaning: &str) -> PickerItem {
    PickerItem {
        label: word.to_owned(),
        detail: meaning.to_owned(),
        aside: String::new(),
        keywords: String::new(),
        choice: PickerChoice::Text(word.to_owned()),
    }
}

/// Past sessions, the newest first and this folder's before others'.
fn sessions(conversation: &Conversation, shared: &SharedState) -> Vec<PickerItem> {
    let Some(list) = &shared.sessions else { return Vec::new() };
    let elsewhere = |row: &SessionRow| row.working_directory != shared.settings.cwd;
    let mut rows: Vec<&SessionRow> =
        list.rows.iter().filter(|row| Some(row.id) != conversation.status.session).collect();
    rows.sort_by_key(|row| (elsewhere(row), std::cmp::Reverse(row.last_used_at)));
    let folder = |row: &SessionRow| match (elsewhere(row), row.working_directory.file_name()) {
        (true, Some(name)) => name.to_string_lossy().into_owned(),
        (true, None) | (false, _) => String::new(),
    };
    rows.into_iter()
        .map(|row| PickerItem {
            label: row.name().to_owned(),
            detail: folder(row),
            aside: age(row.last_used_at, list.now),
            keywords: String::new(),
            choice: PickerChoice::Session(row.id),
        })
        .collect()
}

/// The user's messages with their numbers, the newest first.
fn earlier(conversation: &Conversation) -> Vec<PickerItem> {
    let item = |(at, message): (usize, RewindMessage<'_>)| PickerItem {
        detail: message.files_changed(),
        aside: (at + 1).to_string(),
        keywords: String::new(),
        choice: PickerChoice::Text((at + 1).to_string()),
        label: message.title(),
    };
    rewind_messages::user_messages(&conversation.transcript)
        .into_iter()
        .enumerate()
        .map(item)
        .collect()
}

fn lines_hint(path: &str, typed: &str, lines: Option<u64>) -> CompletionHint {
    let Some(count) = lines else {
        return CompletionHint::Warns(format!("Cannot count the lines of {path}"));
    };
    match LineRange::parse(typed) {
        _ if typed.is_empty() => CompletionHint::Says(format!(
            "{path} has {count} lines: type one (10) or a range \
                (10-40)"
        )),
        Some(range) if range.last <= count => CompletionHint::Says(format!("{range} of {count}")),
        Some(_) => CompletionHint::Warns(format!("{path} has only {count} lines")),
        None if typed.contains('-') => CompletionHint::Says(format!("end line, at most {count}")),
        None => CompletionHint::Warns("a line (10) or a range (10-40)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_range_is_checked_against_the_file_length() {
        let says = |text: &str| CompletionHint::Says(text.to_owned());
        let warns = |text: &str| CompletionHint::Warns(text.to_owned());
        let rows = [
            ("", Some(220), says("a.rs has 220 lines: type one (10) or a range (10-40)")),
            ("10", Some(220), says("line 10 of 220")),
            ("10-40", Some(220), says("lines 10 to 40 of 220")),
            ("10-", Some(220), says("end line, at most 220")),
            ("10-400", Some(220), warns("a.rs has only 220 lines")),
            ("10-4", Some(220), says("end line, at most 220")),
            ("0", Some(220), warns("a line (10) or a range (10-40)")),
            ("", None, warns("Cannot count the lines of a.rs")),
        ];
        for (typed, lines, want) in rows {
            assert_eq!(lines_hint("a.rs", typed, lines), want, "{typed}");
        }
    }
}
