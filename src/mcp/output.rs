//! What models are shown of a server's answer: bounded, with the rest and all binary content in files.

use std::io::Write as _;

use crate::domain::{ToolOutput, ToolStatus};
use crate::platform::redact::Redactor;
use crate::tools::{ToolContext, ToolError};

use super::call_result::{McpCallResult, McpResultFile};
use super::connection::McpError;
use super::lists::cut;

/// How much of an answer models are shown: some 25,000 tokens at four bytes each.
const MAX_RESULT: usize = 100_000;

/// How many files one answer may make, with one for a text that is too long. What comes after them is
/// counted.
const MAX_FILES: usize = 20;

/// The output for an answer. `name` is what its images are called after, `redactor` takes secrets
/// out of what goes into a file.
pub(super) async fn tool_output(
    context: &ToolContext,
    redactor: &Redactor,
    name: &str,
    result: McpCallResult,
) -> ToolOutput {
    let mut text = result.text;
    let mut image = None;
    let mut files = result.files;
    for (at, bytes) in result.images.into_iter().enumerate() {
        if image.is_some() {
            files.push(McpResultFile { kind: "image".to_owned(), bytes });
            continue;
        }
        match context.effects.keep_image(&format!("{name}-{}", at + 1), bytes).await {
            Ok(kept) => image = Some(kept),
            Err(why) => text.push_str(&format!("\n[an image was left out: {why}]")),
        }
    }
    let (kept, left_out) = files.split_at(files.len().min(MAX_FILES - 1));
    for file in kept {
        text.push_str(&saved(context, file));
    }
    if !left_out.is_empty() {
        text.push_str(&format!(
            "\n[{} more files of this result were left out: slug keeps {} of one result]",
            left_out.len(),
            kept.len()
        ));
    }
    let mut text = shortened(context, redactor, &text);
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

/// The text, or its beginning with the rest in a file. Secrets are taken out first: one across the cut
/// would be found on neither side of it.
pub(super) fn shortened(context: &ToolContext, redactor: &Redactor, text: &str) -> String {
    let text = redactor.redact_own(text);
    if text.len() <= MAX_RESULT {
        return text.into_owned();
    }
    let shown = cut(&text, MAX_RESULT);
    let rest = match write(context, text.as_bytes()) {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use secrecy::SecretString;

    use super::*;
    use crate::platform::scratch::ScratchRoot;
    use crate::tools::OutputFiles;
    use crate::tools::testing::ToolTestEnv;

    #[tokio::test]
    async fn one_result_makes_few_files_and_a_short_text() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = ScratchRoot::in_folder(folder.path().to_owned()).open("s1").unwrap();
        let path = scratch.path().to_owned();
        let outputs: Arc<dyn OutputFiles> = Arc::new(scratch);
        let context = ToolContext { outputs: Some(outputs), ..ToolTestEnv::new().context };
        let redactor = Redactor::default();
        let file = |at: usize| McpResultFile {
            kind: format!("audio ({})", "x".repeat(80)),
            bytes: at.to_string().into_bytes(),
        };
        for (text, count) in [(MAX_RESULT - 100, 5000), (MAX_RESULT + 1, 5000), (2, 19)] {
            let before = std::fs::read_dir(&path).unwrap().count();
            let result = McpCallResult {
                text: "t".repeat(text),
                files: (0..count).map(file).collect(),
                ..McpCallResult::default()
            };
            let shown = tool_output(&context, &redactor, "name", result).await.observation;
            assert!(shown.len() < MAX_RESULT + 300, "{}", shown.len());
            let made = std::fs::read_dir(&path).unwrap().count() - before;
            assert_eq!(made, if count > 19 { MAX_FILES } else { 19 });
            assert_eq!(text == 2, !shown.contains("the whole result is in"));
        }
    }

    /// Wherever the cut divides it, no part of a secret is left.
    #[test]
    fn a_secret_across_the_cut_is_taken_out_whole() {
        let redactor = Redactor::default();
        redactor.learn_of_server("one", &SecretString::from("s3cret-canary"));
        let context = ToolTestEnv::new().context;
        for before in MAX_RESULT - 14..=MAX_RESULT {
            let text = format!("{}s3cret-canary{}", "q".repeat(before), "z".repeat(500));
            let shown = shortened(&context, &redactor, &text);
            assert!(!shown.contains("s3c") && shown.contains("100000 of"), "{before}");
        }
        let usual = "q".repeat(MAX_RESULT);
        assert_eq!(shortened(&context, &redactor, &usual), usual);
    }
}
