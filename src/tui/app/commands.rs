//! What a slash command, a row of a list and the pages that they open do on screen.

use std::sync::Arc;
use std::time::Duration;

use crate::agent::{self, ForkPosition, ReviewScope, RewindDestination};
use crate::commands::{
    EFFORT_WORDS, FoldSetting, OnOffArgument, ParsedCommand, ReviewArgument, SlashCommand,
};
use crate::config::ThemeChoice;
use crate::domain::{NoticeLevel, ReasoningEffort};

use crate::services::text_document::TextDocument;
use crate::tui::dialogs::connect::ConnectDialog;
use crate::tui::dialogs::hooks::{self, HookDialogOpening};
use crate::tui::dialogs::key_sheet::KeySheet;
use crate::tui::dialogs::pager;
use crate::tui::dialogs::picker::Picker;
use crate::tui::dialogs::race::NEEDS_SCREEN;
use crate::tui::dialogs::reading::{ReadingDialog, ReadingPage};
use crate::tui::dialogs::settings::{self, SettingOpening};
use crate::tui::dialogs::{
    DialogStack, agents, changes, context, jobs, lsp, mcp, memory, rewind, rules, turn_review,
};

use super::choice::PickerChoice;
use super::conversation::Conversation;
use super::conversation::block::{BlockId, PaneFold, TranscriptBlock};
use super::conversation::completion_items;
use super::conversation::composer::EditingMode;
use super::conversation::copying;
use super::conversation::fold_actions;
use super::conversation::navigation;
use super::conversation::pane_kind::PaneKind;
use super::conversation::rewind_messages;
use super::conversation::sending::{self, warn};
use super::conversation::side_panel::SidePanelChoice;
use super::conversation::source;
use super::conversation::status::ConversationStatus;
use super::effect::ScreenEffect;
use super::keymap::{ChatKey, KeyPlace, KeyPress, KeyPressProgress, Keymap, KeymapRow};
use super::keys;
use super::model::ScreenModel;
use super::picker_list::PickerItem;
use super::server_offers;
use super::settings::InputSource;
use super::shared::SharedState;
use super::sidebar;
use super::store_requests;
use super::theme_state;
use super::themes;

/// How long a second `/exit` is the answer to the question of the first.
const EXIT_CONFIRMATION: Duration = Duration::from_secs(60);

/// Does what a row of a picker stands for.
pub fn choose(model: &mut ScreenModel, choice: PickerChoice) -> Vec<ScreenEffect> {
    match choice {
        PickerChoice::Key(action) => {
            let keys = Arc::clone(&model.shared.settings.keys);
            let press = KeyPress::action(&keys, action);
            let effects = keys::pressed(model, &press);
            if press.progress() == KeyPressProgress::Unknown {
                let text = format!("This key works only in: {}.", action.context.title());
                model.shared.toast(NoticeLevel::Info, text);
            }
            effects
        }
        PickerChoice::Command(name) => {
            let (conversation, shared) = (&mut model.conversation, &mut model.shared);
            let wanted = sending::run_from_list(conversation, shared, &name);
            keys::carry_out(model, None, wanted)
        }
        PickerChoice::Model(name) => {
            vec![ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::UseModel(name))]
        }
        PickerChoice::Thinking(how) => tell(model, agent::AgentCommand::SetEffort(how.effort())),
        PickerChoice::Mode(mode) => tell(model, agent::AgentCommand::SetMode(mode)),
        PickerChoice::Copied(what) => {
            copying::copy(&mut model.conversation, &mut model.shared, what)
        }
        PickerChoice::Theme(choice) => themes::change(&mut model.shared, choice),
        PickerChoice::Session(session) => sending::when_idle(
            &mut model.conversation,
            &mut model.shared,
            agent::AgentCommand::Resume { session },
        ),
        PickerChoice::Hook(choice) => match hooks::choose(&mut model.shared.requests.ids, choice) {
            HookDialogOpening::List(opening) => model.dialogs.open(*opening),
            HookDialogOpening::Trust(question) => {
                model.dialogs.push(question);
                Vec::new()
            }
        },
        PickerChoice::Setting(choice) => {
            match settings::choose(&mut model.shared.requests.ids, choice) {
                SettingOpening::Values(values) => {
                    model.dialogs.push(*values);
                    Vec::new()
                }
                SettingOpening::Field(field) => {
                    model.dialogs.push(*field);
                    Vec::new()
                }
                SettingOpening::Intent(intent) => keys::carry_out(model, None, vec![*intent]),
            }
        }
        PickerChoice::Rewind(entry) => open_rewind(
            &mut model.dialogs,
            &model.conversation,
            &mut model.shared,
            RewindDestination::Before(entry),
        ),
        PickerChoice::Nothing => Vec::new(),
        PickerChoice::Text(text) => {
            model.conversation.composer.load(text);
            Vec::new()
        }
        PickerChoice::Sent(text) => {
            model.conversation.composer.load(text);
            Vec::new()
        }
    }
}

/// Opens the list of every command, and of the keys of this place.
pub fn open_palette(dialogs: &mut DialogStack, shared: &SharedState, place: KeyPlace) {
    let map = &shared.settings.keys;
    let commands = completion_items::commands(&shared.settings.commands).map(|item| {
        match key_of(&item, map) {
            key if key.is_empty() => item,
            key => PickerItem { aside: key, ..item },
        }
    });
    let actions = place.listed().flat_map(|context| map.rows(context));
    let actions = actions.filter(|row| is_offered(row, map) && shared.can_do(row));
    let actions = actions.map(|row| PickerItem {
        label: row.help.to_owned(),
        detail: String::new(),
        aside: row.shown(),
        keywords: String::new(),
        choice: PickerChoice::Key(row.id),
    });
    let items = commands.chain(actions).collect();
    dialogs.push(Picker::ready("Commands", items));
}

/// The slash commands that do the same as a key of the chat.
const SAME: &[(&str, ChatKey)] = &[("help", ChatKey::Help), ("sessions", ChatKey::Sessions)];

/// The key that does the same as a slash command; empty if there is none.
fn key_of(command: &PickerItem, keys: &Keymap) -> String {
    let same =
        SAME.iter().find(|(name, _)| command.choice == PickerChoice::Command((*name).to_owned()));
    same.and_then(|(_, key)| keys.row(*key)).map(KeymapRow::shown).unwrap_or_default()
}

/// Whether the palette has a row for an action: not for the palette itself, nor for an action that
/// is listed as a slash command.
fn is_offered(row: &KeymapRow, keys: &Keymap) -> bool {
    let mut listed_elsewhere = SAME.iter().map(|(_, key)| *key).chain([ChatKey::Palette]);
    !listed_elsewhere.any(|key| keys.row(key).is_some_and(|other| other.id == row.id))
}

fn open_rewind(
    dialogs: &mut DialogStack,
    conversation: &Conversation,
    shared: &mut SharedState,
    to: RewindDestination,
) -> Vec<ScreenEffect> {
    dialogs.open(rewind::open(conversation, shared, to))
}

/// Shows a block in full: a changed file on the changes page, anything else in the pager.
pub fn view_block(
    dialogs: &mut DialogStack,
    conversation: &Conversation,
    shared: &mut SharedState,
    block: BlockId,
) -> Vec<ScreenEffect> {
    let path = |block: &TranscriptBlock| {
        let diff = block.body.tool_call()?.content.diff()?;
        Some(diff.path.to_string_lossy().into_owned())
    };
    let changed = conversation.transcript.get(block).and_then(path);
    match changed.filter(|path| conversation.changes.has(path)) {
        Some(path) => dialogs.open(changes::open(conversation, shared, Some(path))),
        None => dialogs.open(pager::open(conversation, shared, block)),
    }
}

/// Leaves. Where jobs still run, names them and asks first: the same command again leaves.
fn quit(shared: &mut SharedState, status: &ConversationStatus) -> Vec<ScreenEffect> {
    let Some(jobs) = status.jobs_phrase() else { return vec![ScreenEffect::Quit] };
    if shared.exit_asked.is_some_and(|until| shared.now < until) {
        return vec![ScreenEffect::Quit];
    }
    shared.toast(NoticeLevel::Warning, format!("/exit again to quit and end {jobs}"));
    shared.exit_asked = Some(shared.now + EXIT_CONFIRMATION);
    Vec::new()
}

fn tell(model: &ScreenModel, command: agent::AgentCommand) -> Vec<ScreenEffect> {
    vec![model.conversation.command(command)]
}

/// Runs a slash command; warns where it has to wait for the end of a turn.
pub fn run(model: &mut ScreenModel, parsed: ParsedCommand) -> Vec<ScreenEffect> {
    if !(parsed.may_run_in_turn || model.conversation.turn.is_idle()) {
        return sending::warn_of_turn(&mut model.shared);
    }
    match parsed.command {
        SlashCommand::Help => {
            let place = keys::place(model);
            model.dialogs.push(KeySheet::new(place));
            Vec::new()
        }
        SlashCommand::New | SlashCommand::Clear => tell(model, agent::AgentCommand::NewSession),
        SlashCommand::Sessions(None) => {
            let wanted = sidebar::open(&mut model.sidebar, &mut model.shared);
            keys::carry_out(model, None, wanted)
        }
        SlashCommand::Sessions(Some(session)) => {
            tell(model, agent::AgentCommand::Resume { session })
        }
        SlashCommand::Fork(which) => {
            let at = which.map_or(Ok(ForkPosition::End), |which| {
                rewind_messages::find(&model.conversation.transcript, &which)
                    .map(ForkPosition::Before)
            });
            match (model.conversation.status.session, at) {
                (Some(session), Ok(at)) => {
                    sending::fork(&mut model.conversation, &mut model.shared, session, at)
                }
                (Some(_), Err(reason)) => warn(&mut model.shared, &reason),
                (None, _) => warn(&mut model.shared, sending::NO_SESSION),
            }
        }
        SlashCommand::ForkAgent(_) if model.conversation.status.session.is_none() => {
            warn(&mut model.shared, sending::NO_SESSION)
        }
        SlashCommand::ForkAgent(text) => {
            tell(model, agent::AgentCommand::ForkAgent { text: text.into() })
        }
        SlashCommand::Race(_) if model.shared.settings.input == InputSource::Lines => {
            warn(&mut model.shared, NEEDS_SCREEN)
        }
        SlashCommand::Race(typed) => {
            model.conversation.scroll.to_tail();
            let effects = tell(model, agent::AgentCommand::Race { typed });
            sending::start(&mut model.conversation, &model.shared, &effects);
            effects
        }
        SlashCommand::Model(Some(name)) => {
            vec![ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::SetModel(name))]
        }
        SlashCommand::Model(None) => {
            let id = model.shared.requests.issue();
            model.dialogs.push(Picker::waiting("Models", id));
            vec![ScreenEffect::ListModels(id)]
        }
        SlashCommand::Effort(Some(how)) => {
            vec![ScreenEffect::Agent(
                model.conversation.agent,
                agent::AgentCommand::SetEffort(how.effort()),
            )]
        }
        SlashCommand::Effort(None) => {
            let mut picker = Picker::ready("Effort", completion_items::thinking());
            let now = model.conversation.status.effort;
            let at = EFFORT_WORDS.iter().position(|(word, _)| ReasoningEffort::parse(word) == now);
            picker.list.select(at.unwrap_or_default());
            model.dialogs.push(picker);
            Vec::new()
        }
        SlashCommand::Mode(Some(mode)) => {
            vec![ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::SetMode(mode))]
        }
        SlashCommand::Mode(None) => {
            let mut picker =
                Picker::ready("Modes", completion_items::modes(&model.shared).collect());
            let is_now = |item: &PickerItem| {
                item.choice == PickerChoice::Mode(model.conversation.status.mode)
            };
            let now = completion_items::modes(&model.shared).position(|item| is_now(&item));
            picker.list.select(now.unwrap_or_default());
            model.dialogs.push(picker);
            Vec::new()
        }
        SlashCommand::Jobs => {
            model.dialogs.push(jobs::open(&model.conversation, &mut model.shared));
            Vec::new()
        }
        SlashCommand::Agents => {
            model.dialogs.push(agents::open(model.conversation.agent, &model.shared));
            Vec::new()
        }
        SlashCommand::Context => model.dialogs.open(context::open(model.conversation.agent)),
        SlashCommand::Memory => model.dialogs.open(memory::open(model.conversation.agent)),
        SlashCommand::Permissions => model.dialogs.open(rules::open(model.conversation.agent)),
        SlashCommand::Connect => {
            let status = &model.conversation.status;
            model.dialogs.open(ConnectDialog::in_chat(&status.provider, status.fault))
        }
        SlashCommand::Hooks => model.dialogs.open(hooks::open(&mut model.shared.requests.ids)),
        SlashCommand::Mcp => model.dialogs.open(mcp::open(&mut model.shared.requests.ids)),
        SlashCommand::Lsp => model.dialogs.open(lsp::open(&mut model.shared.requests.ids)),
        SlashCommand::Settings => {
            model.dialogs.open(settings::open(&mut model.shared.requests.ids))
        }
        SlashCommand::Undo => open_rewind(
            &mut model.dialogs,
            &model.conversation,
            &mut model.shared,
            RewindDestination::Last,
        ),
        SlashCommand::Redo => open_rewind(
            &mut model.dialogs,
            &model.conversation,
            &mut model.shared,
            RewindDestination::Redo,
        ),
        SlashCommand::Rewind(None) => {
            let opening = rewind::list(&model.conversation, &mut model.shared);
            model.dialogs.open(opening)
        }
        SlashCommand::Rewind(Some(which)) => {
            match rewind_messages::find(&model.conversation.transcript, &which) {
                Ok(entry) => open_rewind(
                    &mut model.dialogs,
                    &model.conversation,
                    &mut model.shared,
                    RewindDestination::Before(entry),
                ),
                Err(reason) => warn(&mut model.shared, &reason),
            }
        }
        SlashCommand::Compact(focus) => tell(model, agent::AgentCommand::Compact { focus }),
        SlashCommand::UndoCompaction => tell(model, agent::AgentCommand::UndoCompaction),
        SlashCommand::Copy(what) => copying::copy(&mut model.conversation, &mut model.shared, what),
        SlashCommand::Diff(path) => {
            let opening = changes::open(&model.conversation, &mut model.shared, path);
            model.dialogs.open(opening)
        }
        SlashCommand::Review(which) => {
            let scope = match which {
                None => Ok(ReviewScope::LastTurn),
                Some(ReviewArgument::Session) => Ok(ReviewScope::Session),
                Some(ReviewArgument::Message(which)) => {
                    rewind_messages::find(&model.conversation.transcript, &which)
                        .map(ReviewScope::Message)
                }
            };
            match scope {
                Ok(scope) => {
                    let opening = turn_review::open(&model.conversation, &mut model.shared, scope);
                    model.dialogs.open(opening)
                }
                Err(reason) => warn(&mut model.shared, &reason),
            }
        }
        SlashCommand::Pager => {
            let id = model.shared.requests.issue();
            let text = source::whole(&model.conversation.transcript);
            vec![ScreenEffect::OpenPager(Arc::new(TextDocument::new(id.0, &text)))]
        }
        SlashCommand::Fold(None) => {
            navigation::hold_above_tail(&mut model.conversation);
            fold_actions::toggle_all(&mut model.conversation)
        }
        SlashCommand::Fold(Some(order)) => {
            navigation::hold(&mut model.conversation);
            let kind = PaneKind::named(&order.kind);
            match order.how {
                None => fold_actions::cycle_kind(&mut model.conversation, &mut model.shared, &kind),
                Some(FoldSetting::Open) => fold_actions::set_kind(
                    &mut model.conversation,
                    &mut model.shared,
                    &kind,
                    Some(PaneFold::Open),
                ),
                Some(FoldSetting::Closed) => fold_actions::set_kind(
                    &mut model.conversation,
                    &mut model.shared,
                    &kind,
                    Some(PaneFold::Closed),
                ),
                Some(FoldSetting::Auto) => {
                    fold_actions::set_kind(&mut model.conversation, &mut model.shared, &kind, None)
                }
            }
        }
        SlashCommand::Todos => {
            model.dialogs.push(ReadingDialog::new(ReadingPage::Todos));
            Vec::new()
        }
        SlashCommand::Status => {
            model.dialogs.push(ReadingDialog::new(ReadingPage::Status));
            vec![store_requests::ask_for_size(&mut model.shared)]
        }
        SlashCommand::Skills => {
            model.dialogs.push(ReadingDialog::new(ReadingPage::Skills));
            Vec::new()
        }
        SlashCommand::Theme(None) => {
            themes::read(&mut model.shared, theme_state::ThemeReadPurpose::List)
        }
        SlashCommand::Theme(Some(name)) => themes::read(
            &mut model.shared,
            theme_state::ThemeReadPurpose::Change(ThemeChoice::parse(&name)),
        ),
        SlashCommand::Retry => {
            let effects = tell(model, agent::AgentCommand::Retry);
            sending::start(&mut model.conversation, &model.shared, &effects);
            effects
        }
        SlashCommand::Vi(switch) => {
            let (typing, word) = match (switch, &model.conversation.composer.vi) {
                (Some(OnOffArgument::Off), _) | (None, Some(_)) => {
                    (EditingMode::Plain, "Vi keys are off.")
                }
                (Some(OnOffArgument::On), _) | (None, None) => {
                    (EditingMode::Vi, "Vi keys are on: esc leaves insert mode.")
                }
            };
            model.conversation.composer.set_typing(typing);
            model.shared.toast(NoticeLevel::Info, word);
            Vec::new()
        }
        SlashCommand::Panel(switch) => {
            let panel = match switch {
                Some(OnOffArgument::On) => SidePanelChoice::Shown,
                Some(OnOffArgument::Off) => SidePanelChoice::Hidden,
                None => model.shared.settings.panel.toggled(),
            };
            model.shared.settings.panel = panel;
            model.shared.toast(NoticeLevel::Info, panel.told());
            Vec::new()
        }
        SlashCommand::Save => {
            vec![ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::Save)]
        }
        SlashCommand::Rename(title) => tell(model, agent::AgentCommand::SetTitle(title)),
        SlashCommand::Export => match model.conversation.status.session {
            Some(session) => {
                vec![sidebar::ask_for_export(&mut model.sidebar, &mut model.shared, session)]
            }
            None => warn(&mut model.shared, "No session yet. Send a message first."),
        },
        SlashCommand::Prompt { command, arguments } => {
            let wanted = server_offers::send(&mut model.shared, &command, &arguments);
            keys::carry_out(model, None, wanted)
        }
        SlashCommand::Quit => quit(&mut model.shared, &model.conversation.status),
    }
}
