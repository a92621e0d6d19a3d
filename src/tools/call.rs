//! Call: runs a tool that is not in the tools array.
//!
//! A call that names a tool is unwrapped before anybody looks at it (`domain::ToolCall::inner`), so
//! that the gate, hooks, rules, the log of permissions and the screen know the tool inside alone. What
//! is left for this file is to say what to send where no tool is named.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::{Tool, ToolContext, ToolError, WorkingDirectory};
use crate::domain::{
    CALL_TOOL, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec,
};

/// Stands for the call of another tool.
pub(super) struct CallTool;

const SHAPE: InputShape = InputShape {
    tool: CALL_TOOL,
    example: r#"{"tool": "name of the tool", "input": {"argument": "value"}}"#,
    arguments: &[("tool", &["name", "tool_name"]), ("input", &["arguments", "args", "parameters"])],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Other, ToolCapability::Conversation);

#[async_trait]
impl Tool for CallTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Runs a tool that ToolSearch has shown.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {"tool": {"type": "string"}, "input": {"type": "object"}},
                "required": ["tool", "input"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        let input = ArgumentReader::new(SHAPE, input)?;
        let tool = input.text("tool")?;
        Err(input.wrong(format!("`tool` must be the name of a tool, not {tool:?}")))
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        self.access(&input, &context.place).map(|_| ToolOutput::text(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_names_no_tool_is_told_what_to_send() {
        let place = WorkingDirectory { cwd: "/w".into(), home: None };
        for (input, expected) in [
            (
                json!({}),
                "Call: `tool` is missing. Send for example {\"tool\": \"name of the tool\"",
            ),
            (json!({"tool": ""}), "Call: `tool` must be the name of a tool, not \"\"."),
            (json!({"tool": 7, "x": 1}), "Call: unknown argument `x`. Arguments: tool, input."),
        ] {
            let error = CallTool.access(&input, &place).unwrap_err().0;
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
