//! Tool calls as the editor sees them: what a call looks like, and the id under which it is told. Some
//! servers use the id of a call again in a later response; to the editor each call has an id of its own.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    self as acp, Content, ContentBlock, Diff, Meta, Terminal, TerminalId, ToolCall as EditorCall,
    ToolCallContent, ToolCallId, ToolCallLocation, ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::{Value, json};

use crate::domain::sanitize::sanitize_line;
use crate::domain::{CallId, CallInput, ToolCall, ToolKind};
use crate::tools::{self, EXIT_PLAN_MODE, ToolRegistry, WorkingDirectory};

/// The most locations of one call.
const MAX_LOCATIONS: usize = 20;

/// A call that the editor knows and whose end it does not know yet.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    pub(super) id: ToolCallId,
    pub(super) look: CallLook,
    pub(super) output: CallOutput,
    /// The changes of files so far.
    pub(super) diffs: Vec<Diff>,
}

/// Where the editor shows what a call prints while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallOutput {
    /// In a terminal of the editor's, which gets each part once.
    Terminal { is_empty: bool },
    /// In the content, which each update replaces.
    Text { all: String, sent: usize },
}

/// What a call looks like.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallLook {
    pub(super) kind: ToolKind,
    pub(super) title: String,
    name: String,
    locations: Vec<PathBuf>,
    input: Option<Value>,
}

/// The calls of a session.
pub(super) struct EditorCalls {
    registry: Arc<ToolRegistry>,
    place: WorkingDirectory,
    open: HashMap<CallId, OpenCall>,
    /// How often each id was used.
    used: HashMap<CallId, u32>,
}

impl EditorCalls {
    pub(super) fn new(registry: Arc<ToolRegistry>, place: WorkingDirectory) -> Self {
        Self { registry, place, open: HashMap::new(), used: HashMap::new() }
    }

    /// What a call looks like, whose arguments are known.
    pub(super) fn look(&self, call: &ToolCall) -> CallLook {
        let call = call.inner();
        let tool = self.registry.get(&call.name).ok();
        let mut look = self.bare_look(&call.name);
        let CallInput::Valid(input) = &call.input else { return look };
        let about = match &tool {
            Some(tool) => tool.call_title(&tool.canonical_input(input.clone()), &self.place.cwd),
            None => tools::call_title(&call.name, input, &self.place.cwd),
        };
        let about = sanitize_line(&about);
        look.title = match look.kind {
            _ if about.is_empty() => look.title,
            ToolKind::Execute => about,
            ToolKind::Read
            | ToolKind::Edit
            | ToolKind::Delete
            | ToolKind::Move
            | ToolKind::Search
            | ToolKind::Think
            | ToolKind::Fetch
            | ToolKind::Other => format!("{} {about}", look.title),
        };
        let access = tool
            .and_then(|tool| tool.access(&tool.canonical_input(input.clone()), &self.place).ok());
        let paths = access.into_iter().flatten().filter_map(|it| it.path().map(PathBuf::from));
        look.locations = paths.take(MAX_LOCATIONS).collect();
        look.input = Some(input.clone());
        look
    }

    /// What a call looks like, whose arguments are still written.
    pub(super) fn bare_look(&self, name: &str) -> CallLook {
        let tool = self.registry.get(name).ok();
        let (kind, title) = match &tool {
            Some(tool) => (tool.descriptor().kind, tool.descriptor().title.to_string()),
            None => (ToolKind::Other, sanitize_line(name)),
        };
        CallLook { kind, title, name: name.to_owned(), locations: Vec::new(), input: None }
    }

    pub(super) fn get(&mut self, call: &CallId) -> Option<&mut OpenCall> {
        self.open.get_mut(call)
    }

    /// Opens a call under an id that no other has had.
    pub(super) fn begin(&mut self, call: &CallId, look: CallLook, output: CallOutput) -> &OpenCall {
        let used = self.used.entry(call.clone()).or_default();
        *used += 1;
        let id = match *used {
            1 => call.as_str().to_owned(),
            again => format!("{}#{again}", call.as_str()),
        };
        let open = OpenCall { id: ToolCallId::new(id), look, output, diffs: Vec::new() };
        self.open.entry(call.clone()).insert_entry(open).into_mut()
    }

    /// Closes a call.
    pub(super) fn end(&mut self, call: &CallId) -> Option<OpenCall> {
        self.open.remove(call)
    }

    /// Closes all calls that are open.
    pub(super) fn end_all(&mut self) -> Vec<OpenCall> {
        let mut ended: Vec<OpenCall> = self.open.drain().map(|(_, call)| call).collect();
        ended.sort_by(|a, b| a.id.0.cmp(&b.id.0));
        ended
    }
}

impl OpenCall {
    /// The message that tells the editor of the call.
    pub(super) fn announcement(&self, cwd: &std::path::Path) -> EditorCall {
        let look = &self.look;
        let call = EditorCall::new(self.id.clone(), look.title.clone())
            .name(look.name.clone())
            .kind(look.editor_kind())
            .locations(look.editor_locations())
            .raw_input(look.input.clone());
        match &self.output {
            CallOutput::Terminal { .. } => {
                let info = json!({"terminal_id": self.id, "cwd": cwd});
                call.content(self.content(Vec::new())).meta(meta("terminal_info", info))
            }
            CallOutput::Text { .. } => call,
        }
    }

    /// An update of all that the arguments say.
    pub(super) fn looks_now(&self) -> ToolCallUpdateFields {
        ToolCallUpdateFields::new()
            .title(self.look.title.clone())
            .kind(self.look.editor_kind())
            .locations(self.look.editor_locations())
            .raw_input(self.look.input.clone())
    }

    /// The whole content: what replaces the last one. `extra` follows the terminal.
    pub(super) fn content(&self, extra: Vec<ToolCallContent>) -> Vec<ToolCallContent> {
        let terminal = match self.output {
            CallOutput::Terminal { .. } => {
                Some(ToolCallContent::Terminal(Terminal::new(TerminalId::new(self.id.0.clone()))))
            }
            CallOutput::Text { .. } => None,
        };
        let diffs = self.diffs.iter().cloned().map(ToolCallContent::Diff);
        terminal.into_iter().chain(diffs).chain(extra).collect()
    }

    pub(super) fn update(&self, fields: ToolCallUpdateFields) -> ToolCallUpdate {
        ToolCallUpdate::new(self.id.clone(), fields)
    }

    /// More output for the terminal.
    pub(super) fn terminal_output(&self, data: &str) -> ToolCallUpdate {
        let output = json!({"terminal_id": self.id, "data": data});
        self.update(ToolCallUpdateFields::new()).meta(meta("terminal_output", output))
    }

    /// The end of the command in the terminal.
    pub(super) fn terminal_exit(
        &self,
        fields: ToolCallUpdateFields,
        code: Option<i32>,
    ) -> ToolCallUpdate {
        let exit = json!({"terminal_id": self.id, "exit_code": code, "signal": null});
        self.update(fields).meta(meta("terminal_exit", exit))
    }
}

impl CallLook {
    fn editor_kind(&self) -> acp::ToolKind {
        match self.kind {
            _ if self.name == EXIT_PLAN_MODE => acp::ToolKind::SwitchMode,
            ToolKind::Read => acp::ToolKind::Read,
            ToolKind::Edit => acp::ToolKind::Edit,
            ToolKind::Delete => acp::ToolKind::Delete,
            ToolKind::Move => acp::ToolKind::Move,
            ToolKind::Search => acp::ToolKind::Search,
            ToolKind::Execute => acp::ToolKind::Execute,
            ToolKind::Think => acp::ToolKind::Think,
            ToolKind::Fetch => acp::ToolKind::Fetch,
            ToolKind::Other => acp::ToolKind::Other,
        }
    }

    fn editor_locations(&self) -> Vec<ToolCallLocation> {
        self.locations.iter().map(ToolCallLocation::new).collect()
    }
}

/// A text as the content of a call.
pub(super) fn text(text: impl Into<String>) -> ToolCallContent {
    ToolCallContent::Content(Content::new(ContentBlock::from(text.into())))
}

fn meta(name: &str, value: Value) -> Meta {
    Meta::from_iter([(name.to_owned(), value)])
}
