//! WebFetch: the text of a web page, part by part.
//!
//! The model reads the page itself: nothing sums it up first. What a page says is handed over as the
//! words of others.

use std::io::Write as _;
use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::web::{FetchedPage, PageFormat, PageText, untrusted};
use super::{Tool, ToolContext, ToolError, WorkingDirectory, stopped_output, titles};
use crate::domain::{
    ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec, WebAddress,
    format_bytes,
};

/// Fetches a page.
pub(super) struct WebFetchTool;

const SHAPE: InputShape = InputShape {
    tool: "WebFetch",
    example: r#"{"url": "https://host.example/path/to/page", "format": "markdown"}"#,
    arguments: &[("url", &["uri", "address", "link"]), ("format", &[]), ("offset", &["start"])],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Fetch, ToolCapability::Network).deferred();

/// The most bytes of a page that one result shows: some 8,000 tokens.
const PART_BYTES: usize = 30_000;
/// A part ends at a line if one ends within so many bytes before the limit.
const LINE_SEARCH: usize = 2_000;

struct FetchArguments {
    address: WebAddress,
    format: PageFormat,
    /// In bytes of the text.
    offset: usize,
}

#[async_trait]
impl Tool for WebFetchTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Gets a web page as Markdown or text. A long page comes in parts: the \
                          result says the offset of the next one."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "url": {"type": "string"},
                    "format": {"enum": ["markdown", "text"]},
                    "offset": {"type": "integer"},
                },
                "required": ["url"],
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
        let url = input.get("url").and_then(Value::as_str);
        url.map_or_else(|| titles::first_text(input), str::to_owned)
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        let url = arguments(input)?.address.to_string();
        Ok(vec![ToolAccess::Fetch { url }])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let FetchArguments { address, format, offset } = arguments(&input)?;
        let fetching = context.web.fetch(&address, format);
        let page = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Ok(stopped_output()),
            page = fetching => page.map_err(|error| ToolError(error.0))?,
        };
        match page {
            FetchedPage::Text(page) => part(&page, offset),
            FetchedPage::Elsewhere(target) => Ok(elsewhere(&address, &target)),
            FetchedPage::Image(bytes) => image(context, &address, bytes).await,
            FetchedPage::Binary { media_type, bytes } => {
                Ok(binary(context, &address, &media_type, &bytes))
            }
        }
    }
}

fn arguments(input: &Value) -> Result<FetchArguments, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let url = input.text("url")?;
    let shown: String = url.chars().take(200).collect();
    let address =
        WebAddress::parse(&url).map_err(|error| input.wrong(format!("`{shown}` {error}")))?;
    let format = match input.optional_text("format")?.unwrap_or_default().to_lowercase().as_str() {
        "" | "markdown" | "md" => PageFormat::Markdown,
        "text" | "txt" | "plain" => PageFormat::Text,
        _ => return Err(input.wrong("`format` must be markdown or text")),
    };
    let offset = input.number("offset")?.unwrap_or_default();
    Ok(FetchArguments { address, format, offset: usize::try_from(offset).unwrap_or(usize::MAX) })
}

/// The part of a page from `offset` on.
fn part(page: &PageText, offset: usize) -> Result<ToolOutput, ToolError> {
    let (text, length) = (&page.text, page.text.len());
    if offset >= length && offset > 0 {
        return Err(ToolError(format!(
            "The page has {length} bytes of text: send an `offset` below."
        )));
    }
    let start = text.floor_char_boundary(offset);
    let rest = &text[start..];
    let end = match rest.len() <= PART_BYTES {
        true => rest.len(),
        false => {
            let most = rest.floor_char_boundary(PART_BYTES);
            let line = rest[..most].rfind('\n').filter(|at| most - at < LINE_SEARCH);
            line.map_or(most, |at| at + 1)
        }
    };
    let mut head = page.address.to_string();
    let next = start + end;
    if start > 0 || next < length {
        head.push_str(&format!(", bytes {start} to {next} of {length}"));
    }
    if next < length {
        head.push_str(&format!(". Send offset {next} for more"));
    }
    let note = page.note.as_ref().map(|note| format!(" {note}")).unwrap_or_default();
    let title = page.title.as_ref().filter(|_| start == 0);
    let title = title.map(|title| format!("# {title}\n\n")).unwrap_or_default();
    let shown = untrusted(&format!("{title}{}", &rest[..end]));
    Ok(ToolOutput::text(format!("{head}.{note}\n{shown}"))
        .with_summary(format_bytes(end as u64))
        .with_output(json!({
            "url": page.address.as_str(),
            "title": page.title,
            "text": rest[..end],
            "next_offset": (next < length).then_some(next),
        })))
}

fn elsewhere(address: &WebAddress, target: &WebAddress) -> ToolOutput {
    ToolOutput::text(format!(
        "{address} redirects to another host, to which slug sent nothing. If you need the page, call \
         {} with:\n{}",
        SHAPE.tool,
        untrusted(target.as_str())
    ))
    .with_summary("redirect")
    .with_output(json!({"url": address.as_str(), "redirect": target.as_str()}))
}

async fn image(
    context: &ToolContext,
    address: &WebAddress,
    bytes: Vec<u8>,
) -> Result<ToolOutput, ToolError> {
    let size = format_bytes(bytes.len() as u64);
    let kept = context.effects.keep_image(address.as_str(), bytes).await;
    let kept = kept.map_err(|why| ToolError(format!("{address} is an image: {why}")))?;
    let output = ToolOutput::text(format!("{address} is an image, {size}.")).with_image(kept);
    Ok(output.with_summary(size))
}

/// Keeps what is no text in a file.
fn binary(
    context: &ToolContext,
    address: &WebAddress,
    media_type: &str,
    bytes: &[u8],
) -> ToolOutput {
    let size = format_bytes(bytes.len() as u64);
    let path = context.outputs.as_ref().and_then(|outputs| {
        let mut output = outputs.create().ok()?;
        output.file.write_all(bytes).ok()?;
        Some(output.path)
    });
    let place = match path {
        Some(path) => format!("it is in {}", path.display()),
        None => "it was not kept".to_owned(),
    };
    let kind: String = media_type.chars().filter(|c| c.is_ascii_graphic()).take(100).collect();
    ToolOutput::text(format!("{address} is no text: {kind}, {size}; {place}.")).with_summary(size)
}

#[cfg(test)]
#[path = "web_fetch_tests.rs"]
mod tests;
