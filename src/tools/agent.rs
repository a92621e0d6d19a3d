//! Agent: starts another agent with a task of its own. Starting and following it is the agent's matter
//! ([`SubagentStarter`]).

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::{Tool, ToolContext, ToolError, WorkingDirectory, titles};
use crate::domain::{ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec};

/// The tool that starts agents, which an agent that was started does not have.
pub const AGENT_TOOL: &str = "Agent";

/// What a call wants to have done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentOrder {
    /// The task in a few words, for the user.
    pub description: String,
    /// All that the agent is told.
    pub prompt: String,
    /// The name of its type; `None` for the general one.
    pub kind: Option<String>,
    /// Whether the call ends at once; `None` leaves it to the type.
    pub in_background: Option<bool>,
    /// The model instead of that of the type.
    pub model: Option<String>,
}

/// Starts agents for a call.
#[async_trait]
pub trait SubagentStarter: Send + Sync {
    /// Starts an agent, and waits for its end unless it is to work in the background. A result that is no
    /// report says so; none is an error of the call's arguments.
    async fn start(&self, order: SubagentOrder) -> ToolOutput;
}

/// For whoever has no agent around: nothing is started.
pub struct NoSubagents;

#[async_trait]
impl SubagentStarter for NoSubagents {
    async fn start(&self, _: SubagentOrder) -> ToolOutput {
        ToolOutput::failed("No agent can be started here. Do not retry; do the work yourself.")
    }
}

/// Starts an agent and returns its report.
pub(super) struct AgentTool;

const SHAPE: InputShape = InputShape {
    tool: AGENT_TOOL,
    example: r#"{"description": "find the callers", "prompt": "Find every caller of parse and name the line of each", "subagent_type": "explore"}"#,
    arguments: &[
        ("description", &["title", "task_name"]),
        ("prompt", &["task", "message", "instructions"]),
        ("subagent_type", &["type", "agent", "agent_type", "subagentType"]),
        ("run_in_background", &["background", "runInBackground"]),
        ("model", &[]),
    ],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(AGENT_TOOL, ToolKind::Other, ToolCapability::Conversation);

#[async_trait]
impl Tool for AgentTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: AGENT_TOOL.into(),
            description:
                "Has an agent do a task. It knows only the prompt. Types: general, explore, \
                          plan, review."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "description": {"type": "string"},
                    "prompt": {"type": "string"},
                    "subagent_type": {"type": "string"},
                    "run_in_background": {"type": "boolean"},
                    "model": {"type": "string"},
                },
                "required": ["description", "prompt"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        let model = titles::text(input, "model");
        let model = if model.is_empty() { String::new() } else { format!("with {model}") };
        let kind = match titles::text(input, "subagent_type") {
            "" => String::new(),
            kind => format!("{kind}:"),
        };
        titles::join(&[&kind, titles::text(input, "description"), &model])
    }

    fn access(&self, input: &Value, _: &WorkingDirectory) -> Result<Vec<ToolAccess>, ToolError> {
        order(input)?;
        Ok(vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        Ok(context.agents.start(order(&input)?).await)
    }
}

fn order(input: &Value) -> Result<SubagentOrder, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let order = SubagentOrder {
        description: input.text("description")?,
        prompt: input.text("prompt")?,
        kind: input.optional_text("subagent_type")?,
        in_background: match input.value("run_in_background") {
            Some(_) => Some(input.flag("run_in_background")?),
            None => None,
        },
        model: input.optional_text("model")?.filter(|model| !model.trim().is_empty()),
    };
    match order.prompt.trim() {
        "" => Err(input.wrong("`prompt` is empty")),
        _ => Ok(order),
    }
}
