//! Skill: loads the text of a skill into the conversation. What skills there are the agent knows.
//!
//! The text goes to the model as a context note behind the result and not in the result itself: older
//! results are left out when a conversation becomes long, and the note of a skill is kept.

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::{Tool, ToolContext, ToolError, WorkingDirectory};
use crate::domain::{
    ContentBlock, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec,
};

/// The tool that loads a skill.
pub const SKILL_TOOL: &str = "Skill";

/// Loads a skill.
pub(super) struct SkillTool;

/// Finds skills by name. The agent implements it.
#[async_trait]
pub trait SkillSource: Send + Sync {
    /// The text of a skill with its placeholders filled in, and all that follows from loading it.
    ///
    /// # Errors
    ///
    /// When there is no such skill: a sentence for the model, with the names that there are.
    async fn load(&self, name: &str, arguments: &str) -> Result<LoadedSkill, String>;
}

/// What came of loading a skill.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadedSkill {
    /// The note with its text. It names the skill.
    Text { note: ContentBlock, tokens: u64 },
    /// The conversation has the same text already.
    AlreadyThere,
}

/// For calls outside of a conversation: there are no skills.
#[derive(Debug)]
pub struct NoSkills;

#[async_trait]
impl SkillSource for NoSkills {
    async fn load(&self, name: &str, _: &str) -> Result<LoadedSkill, String> {
        Err(format!("There is no skill {name:?}."))
    }
}

const SHAPE: InputShape = InputShape {
    tool: SKILL_TOOL,
    example: r#"{"name": "name of the skill"}"#,
    arguments: &[("name", &["skill", "command"]), ("arguments", &["args"])],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Think, ToolCapability::Conversation).deferred();

#[async_trait]
impl Tool for SkillTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Loads a skill: instructions for one kind of task.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "arguments": {"type": "string", "description": "What the skill is to work on"},
                },
                "required": ["name"],
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
        input.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        wanted(input).map(|_| vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let (name, arguments) = wanted(&input)?;
        match context.skills.load(&name, &arguments).await.map_err(ToolError)? {
            LoadedSkill::AlreadyThere => {
                let text = format!("The skill {name} is loaded already: follow its text above.");
                Ok(ToolOutput::text(text).with_summary("already loaded"))
            }
            LoadedSkill::Text { note, tokens } => {
                let text = format!("The skill {name} is loaded. Follow its text.");
                let output = ToolOutput::text(text).with_summary(format!("{tokens} tokens"));
                Ok(ToolOutput { note: Some(note), ..output })
            }
        }
    }
}

/// The name of the skill and what it is to work on.
fn wanted(input: &Value) -> Result<(String, String), ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let name = input.text("name")?.trim().to_owned();
    if name.is_empty() {
        return Err(input.wrong("`name` is empty"));
    }
    let arguments = input.optional_text("arguments")?.unwrap_or_default();
    Ok((name, arguments))
}
