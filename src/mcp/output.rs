//! What models are shown of a server's answer: bounded, with the rest and all binary content in files.

use std::io::Write as _;

use crate::domain::{ToolOutput, ToolStatus};
use crate::tools::{ToolContext, ToolError};

use super::call_result::{McpCallResult, McpResultFile};
use super::connection::McpError;
use super::lists::cut;

/// How much of an answer models are shown: some 25,000 tokens at four bytes each.
const MAX_RESULT: usize = 100_000;

/// The output for an answer. `name` is what its images are called after, `redact` takes slug's own keys
/// out of what goes into a file.
pub(super) async fn tool_output(
    context: &ToolContext,
    redact: &(dyn Fn(&str) -> String + Send + Sync),
    name: &str,
    result: McpCallResult,
) -> ToolOutput {
    let mut text = shortened(context, redact, &result.text);
    let mut image = None;
    for (at, bytes) in result.images.into_iter().enumerate() {
        if image.is_some() {
            let kind = "image".to_owned();
            text.push_str(&saved(context, &McpResultFile { kind, bytes }));
            continue;
        }
        match context.effects.keep_image(&format!("{name}-{}", at + 1), bytes).await {
            Ok(kept) => image = Some(kept),
            Err(why) => text.push_str(&format!("\n[an image was left out: {why}]")),
        }
    }
    for file in &result.files {
        text.push_str(&saved(context, file));
    }
    if text.is_empty() && image.is_none() {
        text.push_str("[no content]");
    }
    let mut output = ToolOutput::text(text);
    if let Some(structured) = result.structured {
        output = output.with_output(structured);
    }
    if let Some(image) = image {
        output = output.with_image(image);
    }
    if result.is_error {
        output.status = ToolStatus::Failed;
    }
    output
}

/// What a call leads to that a server did not answer.
pub(super) fn failed(server: &str, error: McpError) -> Result<ToolOutput, ToolError> {
    match error {
        McpError::Cancelled => Ok(ToolOutput {
            status: ToolStatus::Cancelled,
            ..ToolOutput::text("Stopped by the user.")
        }),
        error => Err(ToolError(format!("The MCP server {server}: {error}"))),
    }
}

/// The text, or its beginning with the rest in a file.
pub(super) fn shortened(
    context: &ToolContext,
    redact: &(dyn Fn(&str) -> String + Send + Sync),
    text: &str,
) -> String {
    if text.len() <= MAX_RESULT {
        return text.to_owned();
    }
    let shown = cut(text, MAX_RESULT);
    let rest = match write(context, redact(text).as_bytes()) {
        Some(path) => format!("the whole result is in {path}"),
        None => "the rest could not be kept".into(),
    };
    format!("{shown}\n[{} of {} bytes; {rest}]", shown.len(), text.len())
}

/// Keeps binary content, and says where.
fn saved(context: &ToolContext, file: &McpResultFile) -> String {
    let size = file.bytes.len();
    match write(context, &file.bytes) {
        Some(path) => format!("\n[{}, {size} bytes: {path}]", file.kind),
        None => format!("\n[{}, {size} bytes: could not be kept]", file.kind),
    }
}

fn write(context: &ToolContext, bytes: &[u8]) -> Option<String> {
    let mut output = context.outputs.as_ref()?.create().ok()?;
    output.file.write_all(bytes).ok()?;
    Some(output.path.display().to_string())
}
