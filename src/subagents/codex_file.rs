//! An agent as Codex writes it: a TOML file.

use super::definition::SubagentType;
use super::files::SkippedFile;
use super::markdown_file::{effort, model};

/// Reads such a file.
pub(super) fn read(text: &str) -> Result<SubagentType, SkippedFile> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| SkippedFile::Broken(error.message().to_owned()))?;
    let text = |key: &str| {
        let text = table.get(key).and_then(toml::Value::as_str);
        text.map(str::trim).filter(|text| !text.is_empty())
    };
    let needed =
        |key: &str| text(key).ok_or_else(|| SkippedFile::Broken(format!("it has no `{key}`")));
    let mut kind = SubagentType::new(needed("name")?, needed("description")?);
    kind.instructions = needed("developer_instructions")?.to_owned();
    kind.model = text("model").and_then(model);
    kind.effort = text("model_reasoning_effort").and_then(effort);
    kind.is_read_only = text("sandbox_mode") == Some("read-only");
    Ok(kind)
}
