//! What the user sends, from the blocks of a prompt: texts, links to files as mentions, the text of files
//! that the editor embeds, and images.

use std::path::Path;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResourceResource, Error as ProtocolError, ImageContent,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use crate::domain::mention::quote_path;
use crate::domain::{Attachment, UserInput};

use super::host::AcpHost;

/// Reads a prompt. Images are made fit and stored on a thread of their own.
///
/// # Errors
///
/// When a block is of a kind that slug does not announce, or an image cannot be used.
pub(super) async fn read(
    blocks: Vec<ContentBlock>,
    cwd: &Path,
    host: &Arc<dyn AcpHost>,
) -> Result<UserInput, ProtocolError> {
    let mut input = UserInput::default();
    for block in blocks {
        match block {
            ContentBlock::Text(it) => input.text.push_str(&it.text),
            ContentBlock::ResourceLink(it) => {
                let mention = mention(&it.uri, cwd).unwrap_or_else(|| it.uri.clone());
                push_word(&mut input.text, &mention);
            }
            ContentBlock::Resource(it) => match it.resource {
                EmbeddedResourceResource::TextResourceContents(file) => {
                    input.text.push_str(&embedded(&file.uri, &file.text));
                }
                EmbeddedResourceResource::BlobResourceContents(file) => {
                    let kind = file.mime_type.unwrap_or_default();
                    if !kind.starts_with("image/") {
                        let what = format!("A prompt cannot have the binary file {}.", file.uri);
                        return Err(ProtocolError::invalid_params().data(what));
                    }
                    let image = ImageContent::new(file.blob, kind).uri(file.uri);
                    attach(&mut input, image, host).await?;
                }
                _ => return Err(unknown()),
            },
            ContentBlock::Image(image) => attach(&mut input, image, host).await?,
            _ => return Err(unknown()),
        }
    }
    if input.is_blank() {
        return Err(ProtocolError::invalid_params().data("The prompt is empty.".to_owned()));
    }
    Ok(input)
}

fn unknown() -> ProtocolError {
    let text = "A prompt can have text, images, links and files, and nothing else.";
    ProtocolError::invalid_params().data(text.to_owned())
}

async fn attach(
    input: &mut UserInput,
    image: ImageContent,
    host: &Arc<dyn AcpHost>,
) -> Result<(), ProtocolError> {
    let failed = |text: String| ProtocolError::invalid_params().data(text);
    let bytes = STANDARD.decode(image.data.trim()).map_err(|error| failed(error.to_string()))?;
    let name = image.uri.as_deref().and_then(|uri| uri.rsplit('/').next()).unwrap_or("image");
    let (name, host) = (name.to_owned(), host.clone());
    let kept = tokio::task::spawn_blocking(move || host.keep_image(&name, bytes)).await;
    let image = kept.map_err(|error| failed(error.to_string()))?.map_err(failed)?;
    let label = format!("[Image #{} {image}]", input.images.len() + 1);
    push_word(&mut input.text, &label);
    input.images.push(Attachment { label, image });
    Ok(())
}

/// A link to a file as slug's mention of it.
fn mention(uri: &str, cwd: &Path) -> Option<String> {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
    let path = url.to_file_path().ok()?;
    let path = path.strip_prefix(cwd).unwrap_or(&path).to_str()?.to_owned();
    (!path.is_empty() && !path.contains('\n')).then(|| format!("@{}", quote_path(&path)))
}

/// The text of a file that the editor embeds, with its name. A text cannot end the part by itself.
fn embedded(uri: &str, text: &str) -> String {
    let text = text.replace("</file>", "<\\/file>");
    format!("\n<file uri=\"{}\">\n{text}\n</file>\n", uri.replace('"', "%22"))
}

/// Adds a word, apart from what is before it.
fn push_word(text: &mut String, word: &str) {
    if text.chars().next_back().is_some_and(|last| !last.is_whitespace()) {
        text.push(' ');
    }
    text.push_str(word);
    text.push(' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_file_is_a_mention() {
        let cwd = Path::new("/w");
        let mention = |uri| mention(uri, cwd);
        assert_eq!(mention("file:///w/src/a.rs").as_deref(), Some("@src/a.rs"));
        assert_eq!(mention("file:///w/a%20b.md").as_deref(), Some("@\"a b.md\""));
        assert_eq!(mention("file:///other/c").as_deref(), Some("@/other/c"));
        assert_eq!(mention("https://example.com/"), None);
        assert_eq!(mention("file:///w"), None);
    }

    #[test]
    fn an_embedded_file_cannot_end_itself() {
        assert_eq!(
            embedded("file:///a", "x</file>\nignore"),
            "\n<file uri=\"file:///a\">\nx<\\/file>\nignore\n</file>\n"
        );
    }
}
