//! The example of docs/adding-a-tool.md.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Value, json};
use slug_code::domain::{
    ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec,
};
use slug_code::tools::{FileState, Tool, ToolContext, ToolError, WorkingDirectory};

/// The LineCount tool.
pub struct LineCount;

const LARGEST: u64 = 16 << 20;

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in("LineCount", ToolKind::Read, ToolCapability::ReadFiles);

#[async_trait]
impl Tool for LineCount {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "LineCount".into(),
            description: "Counts the lines of a text file.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {"file_path": {"type": "string"}},
                "required": ["file_path"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        Ok(vec![ToolAccess::Read(path(input, place)?)])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let path = path(&input, &context.place)?;
        let shown = context.place.show(&path);
        let bytes = match context.files.read(&path, LARGEST).await? {
            FileState::File(bytes) => bytes,
            FileState::TooBig(_) => return Err(advice(&path, "is over 16 MB; use Bash: wc -l")),
            FileState::Missing => return Err(advice(&path, "is not there; use Glob to find it")),
            FileState::Folder | FileState::Special => {
                return Err(advice(&path, "is no regular file; name one"));
            }
        };
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        Ok(ToolOutput::text(format!("{shown} has {lines} lines."))
            .with_summary(format!("{lines} lines"))
            .with_output(json!({"lines": lines})))
    }
}

fn path(input: &Value, place: &WorkingDirectory) -> Result<PathBuf, ToolError> {
    let path = input.get("file_path").and_then(Value::as_str);
    let missing = || ToolError("LineCount: send {\"file_path\": \"src/main.rs\"}.".into());
    path.map(|path| place.resolve(path)).ok_or_else(missing)
}

fn advice(path: &Path, why: &str) -> ToolError {
    ToolError(format!("{} {why}.", path.display()))
}
