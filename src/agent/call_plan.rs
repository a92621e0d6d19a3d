//! What a call would do, before anybody decides about it: the first step of a call.
//!
//! A plan is made of one set of arguments, and its tool is asked what they would touch. Every later
//! decision goes by that answer. Other arguments, from a hook or the user, make another
//! plan.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::domain::{CallInput, CommandPace, ToolAccess, ToolCall, ToolOutput, ToolPolling};
use crate::permissions::{HookPermission, PermissionQuery};
use crate::tools::{Tool, ToolError, ToolRegistry, WorkingDirectory};

use crate::session::holds_cut;

use super::partial_approval::PartialApproval;
use super::tool_gate::ToolGate;
use super::tool_messages::not_json;

/// What a model is told that repeats what a compaction has left of an earlier call: run, it would
/// write the mark into a file.
const HAS_MARK: &str = "Not run: an argument holds slug's mark for text that is left out of an earlier call. \
                        Send the whole text; read the file first if you no longer know it.";

/// A call with its tool and with what it would touch.
#[derive(Clone)]
pub(super) struct CallPlan {
    /// The call with the arguments of this plan, which need not be those that the model sent, and
    /// with the tool's own name, whatever the model called it.
    pub(super) call: ToolCall,
    pub(super) tool: Arc<dyn Tool>,
    pub(super) input: Value,
    /// What the tool says that the call would touch.
    pub(super) accesses: Vec<ToolAccess>,
}

/// Who wrote the arguments that are run.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum ArgumentsOrigin {
    Model,
    User,
    /// The model; the user accepted a part of the change.
    Partial(PartialApproval),
    /// A hook changed the model's arguments. Names the hook, at the beginning of a sentence.
    Hook(String),
}

/// Who wrote the arguments of a call, and what hooks say about the call.
#[derive(Clone)]
pub(super) struct CallProvenance {
    pub(super) origin: ArgumentsOrigin,
    /// The hooks' decision on the call.
    pub(super) word: HookPermission,
    /// What hooks tell the model together with the result.
    pub(super) notes: Vec<String>,
}

impl CallPlan {
    /// The plan of a call as it was sent. `Err` is what the model is told about a call without one:
    /// arguments that are no JSON object or not those of the tool, or a name that no tool has.
    pub(super) fn parse(
        call: &ToolCall,
        registry: &ToolRegistry,
        place: &WorkingDirectory,
    ) -> Result<Self, ToolError> {
        let input = match &call.input {
            CallInput::Valid(input) if holds_cut(input) => {
                return Err(ToolError(HAS_MARK.to_owned()));
            }
            CallInput::Valid(input) => input.clone(),
            CallInput::Invalid(raw) => return Err(not_json(raw)),
        };
        let tool = registry.get(&call.name)?;
        Self::new(call.clone(), tool, input, place)
    }

    /// The plan of the same call with other arguments. A plan that is not changed stays as it is.
    pub(super) fn with_input(
        self,
        input: Value,
        place: &WorkingDirectory,
    ) -> Result<Self, ToolError> {
        if input == self.input {
            return Ok(self);
        }
        Self::new(self.call, self.tool, input, place)
    }

    fn new(
        call: ToolCall,
        tool: Arc<dyn Tool>,
        input: Value,
        place: &WorkingDirectory,
    ) -> Result<Self, ToolError> {
        let input = tool.canonical_input(input);
        let name = tool.descriptor().name.to_string();
        let call = ToolCall { name, input: CallInput::Valid(input.clone()), ..call };
        let accesses = tool.access(&input, place)?;
        let capability = tool.descriptor().capability;
        if !accesses.iter().all(|access| capability.covers(access)) {
            tracing::error!(
                tool = call.name,
                ?capability,
                "a call would touch more than its tool may"
            );
            return Err(ToolError(format!(
                "Not run: this call would use files or commands that {} must not use. Use another tool.",
                call.name
            )));
        }
        Ok(Self { call, tool, input, accesses })
    }

    /// What the call touches, with symbolic links resolved as they are now. Runs off the async
    /// threads, because a network file system may be slow.
    pub(super) async fn resolve(&self, gate: &ToolGate) -> Result<PermissionQuery, ToolOutput> {
        let (name, accesses) = (self.call.name.clone(), self.accesses.clone());
        let (workspace, cwd) = (gate.workspace.clone(), gate.place().cwd.clone());
        let environment = gate.context.processes.environment();
        spawn_blocking(move || {
            PermissionQuery::resolve(&name, &accesses, &workspace).within(&cwd, &environment)
        })
        .await
        .map_err(|error| ToolOutput::failed(format!("The call could not be checked: {error}.")))
    }

    /// What the call touches, as far as its order among other calls matters.
    pub(super) fn footprint(&self) -> CallFootprint {
        if self.tool.has_changes_to_find(&self.input) {
            return CallFootprint::Changes(Vec::new());
        }
        match self.tool.descriptor().polling {
            ToolPolling::Polls => CallFootprint::Polls,
            ToolPolling::InOrder => CallFootprint::InOrder,
            ToolPolling::Never => CallFootprint::of(&self.accesses),
        }
    }

    /// The same call with commands that later calls do not wait for.
    pub(super) fn in_background(&self) -> Self {
        let mut plan = self.clone();
        for access in &mut plan.accesses {
            if let ToolAccess::Run { pace, .. } = access {
                *pace = CommandPace::Background;
            }
        }
        plan
    }

    /// Whether the call names files that it changes.
    pub(super) fn writes_files(&self) -> bool {
        self.accesses.iter().any(|access| matches!(access, ToolAccess::Write(_)))
    }

    /// Whether the call runs a command.
    pub(super) fn runs_command(&self) -> bool {
        self.accesses.iter().any(|access| matches!(access, ToolAccess::Run { .. }))
    }
}

/// What a call touches, as far as its order among other calls matters.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CallFootprint {
    /// Changes nothing.
    Reads(Vec<PathBuf>),
    /// Changes these paths; with no path, it may change anything.
    Changes(Vec<PathBuf>),
    /// Looks at something that goes on by itself, and so at what it is after all calls before.
    Polls,
    /// Changes or shows what the conversation keeps, and nothing else.
    InOrder,
    /// The effects of the call are unknown: it runs alone.
    Unknown,
}

impl CallFootprint {
    fn of(accesses: &[ToolAccess]) -> Self {
        if accesses.is_empty() {
            Self::Unknown
        } else if accesses.iter().all(ToolAccess::is_read) {
            Self::Reads(accesses.iter().filter_map(ToolAccess::path).map(Path::to_owned).collect())
        } else {
            let changes = accesses.iter().filter(|access| !access.is_read());
            let paths: Option<Vec<PathBuf>> =
                changes.map(|access| access.path().map(Path::to_owned)).collect();
            Self::Changes(paths.unwrap_or_default())
        }
    }

    /// Whether the call may change something.
    pub(super) fn may_change(&self) -> bool {
        match self {
            Self::Reads(_) | Self::Polls => false,
            Self::Changes(_) | Self::InOrder | Self::Unknown => true,
        }
    }

    /// Whether a call runs after an earlier one.
    pub(super) fn waits_for(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Unknown | Self::Changes(_) | Self::Polls | Self::InOrder, _)
            | (_, Self::Unknown) => true,
            (Self::Reads(_), Self::Reads(_) | Self::Polls | Self::InOrder) => false,
            (Self::Reads(_), Self::Changes(paths)) => paths.is_empty() || self.overlaps(earlier),
        }
    }

    /// Whether the question about a call depends on what an earlier one does.
    pub(super) fn is_asked_after(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Reads(_), Self::Reads(_))
            | (Self::Unknown | Self::Polls | Self::InOrder, _)
            | (_, Self::Unknown | Self::Polls | Self::InOrder) => false,
            (Self::Reads(_), Self::Changes(_))
            | (Self::Changes(_), Self::Reads(_) | Self::Changes(_)) => self.overlaps(earlier),
        }
    }

    /// The files that the call names and changes.
    pub(super) fn paths_to_change(&self) -> &[PathBuf] {
        match self {
            Self::Changes(paths) => paths,
            Self::Reads(_) | Self::Polls | Self::InOrder | Self::Unknown => &[],
        }
    }

    fn paths(&self) -> &[PathBuf] {
        match self {
            Self::Reads(paths) | Self::Changes(paths) => paths,
            Self::Polls | Self::InOrder | Self::Unknown => &[],
        }
    }

    /// Whether both touch the same path, or one touches a folder that holds the other's.
    fn overlaps(&self, earlier: &Self) -> bool {
        let (mine, theirs) = (self.paths(), earlier.paths());
        mine.iter().any(|mine| {
            theirs.iter().any(|theirs| mine.starts_with(theirs) || theirs.starts_with(mine))
        })
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::json;

    use super::*;
    use crate::domain::{CallId, ToolCapability, ToolDescriptor, ToolKind, ToolSpec, ToolStatus};
    use crate::tools::{ToolContext, ToolPart};

    fn reads(path: &str) -> CallFootprint {
        CallFootprint::Reads(vec![path.into()])
    }

    fn writes(path: &str) -> CallFootprint {
        CallFootprint::Changes(vec![path.into()])
    }

    #[test]
    fn a_call_waits_only_for_calls_it_depends_on() {
        let command = CallFootprint::Changes(Vec::new());
        for (later, earlier, waits) in [
            (reads("/w/a"), reads("/w/a"), false),
            (reads("/w/a"), writes("/w/a"), true),
            (reads("/w"), writes("/w/a"), true),
            (reads("/w/ab"), writes("/w/a"), false),
            (reads("/w/a"), CallFootprint::Changes(Vec::new()), true),
            (writes("/w/a"), reads("/w/b"), true),
            (writes("/w/a"), writes("/w/b"), true),
            (CallFootprint::Changes(Vec::new()), command, true),
            (CallFootprint::Polls, CallFootprint::Polls, true),
            (CallFootprint::Polls, reads("/w/a"), true),
            (reads("/w/a"), CallFootprint::Polls, false),
            (CallFootprint::InOrder, CallFootprint::InOrder, true),
            (CallFootprint::InOrder, reads("/w/a"), true),
            (reads("/w/a"), CallFootprint::InOrder, false),
            (CallFootprint::Unknown, reads("/w/a"), true),
            (reads("/w/a"), CallFootprint::Unknown, true),
        ] {
            assert_eq!(later.waits_for(&earlier), waits, "{later:?} after {earlier:?}");
        }
    }

    #[test]
    fn a_question_waits_for_what_it_shows() {
        let command = || CallFootprint::Changes(Vec::new());
        for (later, earlier, waits) in [
            (writes("/w/a"), reads("/w/a"), true),
            (writes("/w/a"), writes("/w/a"), true),
            (writes("/w/a"), reads("/w/b"), false),
            (writes("/w/a"), command(), false),
            (reads("/w/a"), reads("/w/a"), false),
            (command(), reads("/w/a"), false),
        ] {
            assert_eq!(later.is_asked_after(&earlier), waits, "{later:?} after {earlier:?}");
        }
    }

    /// A tool that reads files by its descriptor, and declares what its call names.
    struct ReadingTool;

    static READING: ToolDescriptor =
        ToolDescriptor::built_in("Peek", ToolKind::Read, ToolCapability::ReadFiles);

    #[async_trait]
    impl Tool for ReadingTool {
        fn spec(&self) -> ToolSpec {
            let (name, description) = (READING.name.to_string(), String::new());
            ToolSpec { name, description, input_schema: json!({}) }
        }

        fn descriptor(&self) -> &ToolDescriptor {
            &READING
        }

        fn access(
            &self,
            input: &Value,
            place: &WorkingDirectory,
        ) -> Result<Vec<ToolAccess>, ToolError> {
            let path = |name: &str| input.get(name)?.as_str().map(|path| place.resolve(path));
            let reads = path("read").map(ToolAccess::Read);
            Ok(reads.into_iter().chain(path("write").map(ToolAccess::Write)).collect())
        }

        async fn run(&self, _: &ToolContext, _: Value) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::text(""))
        }
    }

    fn plan(name: &str, input: CallInput) -> Result<CallPlan, ToolError> {
        let own = ToolPart { source: "a test".into(), tools: vec![Arc::new(ReadingTool)] };
        let registry = ToolRegistry::from_parts(vec![ToolPart::built_in(), own]).unwrap();
        let call = ToolCall { id: CallId::new("c1"), name: name.into(), input };
        CallPlan::parse(&call, &registry, &WorkingDirectory { cwd: "/w".into(), home: None })
    }

    #[test]
    fn a_call_without_a_plan_is_an_ordinary_failure_that_says_what_to_send() {
        for (name, input, told) in [
            (
                "Read",
                CallInput::Invalid("{".into()),
                "Not run: the arguments are not a JSON object",
            ),
            ("Raed", CallInput::Valid(json!({})), "There is no tool \"Raed\". The tools are "),
            (
                "Read",
                CallInput::Valid(json!({"file_path": "a", "pages": "1-2"})),
                "Read: unknown argument `pages`. Arguments: file_path, offset, limit. Send for \
                 example {",
            ),
            (
                "Peek",
                CallInput::Valid(json!({"read": "a", "write": "b"})),
                "Not run: this call would use files or commands that Peek must not use",
            ),
        ] {
            let output = ToolOutput::from(plan(name, input).err().unwrap());
            assert_eq!(output.status, ToolStatus::Failed);
            assert!(output.observation.starts_with(told), "{}", output.observation);
        }
    }

    #[test]
    fn a_plan_has_the_tools_own_names() {
        let sent = CallInput::Valid(json!({"cmd": ["echo", "a b"], "timeout_ms": 9000}));
        let plan = plan("bash", sent).ok().unwrap();
        let input = json!({"command": "echo 'a b'", "timeout": 9000});
        assert_eq!((plan.call.name.as_str(), &plan.input), ("Bash", &input));
        assert_eq!(plan.call.input, CallInput::Valid(input));
        let command = "echo 'a b'".to_owned();
        assert_eq!(plan.accesses, [ToolAccess::foreground(command, "/w")]);
    }

    #[test]
    fn other_arguments_make_another_plan() {
        let place = WorkingDirectory { cwd: "/w".into(), home: None };
        let first = plan("Peek", CallInput::Valid(json!({"read": "a"}))).ok().unwrap();
        assert_eq!(first.accesses, [ToolAccess::Read("/w/a".into())]);
        let second = first.with_input(json!({"read": "b"}), &place).ok().unwrap();
        assert_eq!(second.accesses, [ToolAccess::Read("/w/b".into())]);
        assert_eq!(second.call.input, CallInput::Valid(json!({"read": "b"})));
        assert!(second.with_input(json!({"write": "b"}), &place).is_err());
    }
}
