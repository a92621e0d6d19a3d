//! `slug prompt`: shows what is sent to the model with every request, and how large it is.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::domain::ToolSpec;

/// The part of every request that does not depend on the conversation.
#[derive(Debug, Clone)]
pub struct PromptReport<'a> {
    /// The system prompt, without instruction files.
    pub prompt: &'a str,
    /// The tools, in the order they are sent.
    pub tools: &'a [ToolSpec],
}

/// Bytes in a token; a good estimate for English, code and JSON.
const BYTES_PER_TOKEN: usize = 4;

impl PromptReport<'_> {
    /// Writes the prompt, each tool with its schema, and the sizes.
    ///
    /// # Errors
    ///
    /// When writing to `out` fails.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}\n", self.prompt)?;
        for tool in self.tools {
            writeln!(out, "{}  {}", tool.name, size(text(tool).len()))?;
            writeln!(out, "  {}", tool.description.replace('\n', "\n  "))?;
            writeln!(out, "  {}\n", tool.input_schema)?;
        }
        let (prompt, tools) = (self.prompt.len(), self.tools_size());
        writeln!(out, "prompt  {}", size(prompt))?;
        writeln!(out, "tools   {}", size(tools))?;
        writeln!(out, "all     {}", size(prompt + tools))
    }

    /// Writes `{"prompt","tools":[…],"bytes":{"prompt","tools","all"},"tokens":{…}}` on one line.
    ///
    /// # Errors
    ///
    /// When writing to `out` fails.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let (prompt, tools) = (self.prompt.len(), self.tools_size());
        let sizes = |unit: usize| {
            json!({"prompt": prompt.div_ceil(unit), "tools": tools.div_ceil(unit),
                   "all": (prompt + tools).div_ceil(unit)})
        };
        let report = json!({
            "prompt": self.prompt,
            "tools": self.tools.iter().map(sent).collect::<Vec<_>>(),
            "bytes": sizes(1),
            "tokens": sizes(BYTES_PER_TOKEN),
        });
        writeln!(out, "{report}")
    }

    fn tools_size(&self) -> usize {
        self.tools.iter().map(|tool| text(tool).len()).sum()
    }
}

/// A tool in the form of the Chat Completions API.
fn sent(tool: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
    }})
}

fn text(tool: &ToolSpec) -> String {
    sent(tool).to_string()
}

fn size(bytes: usize) -> String {
    format!("{bytes} bytes, about {} tokens", bytes.div_ceil(BYTES_PER_TOKEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_are_those_of_what_is_sent() {
        let tools = [ToolSpec {
            name: "Read".into(),
            description: "Reads a file.".into(),
            input_schema: json!({"type": "object"}),
        }];
        let report = PromptReport { prompt: "be brief", tools: &tools };
        let mut out = Vec::new();
        report.write_json(&mut out).unwrap();
        let json: Value = serde_json::from_slice(&out).unwrap();
        let tool = json["tools"][0].to_string().len();
        assert_eq!(json["bytes"], json!({"prompt": 8, "tools": tool, "all": 8 + tool}));
        assert_eq!(json["tokens"]["prompt"], 2);
        let mut out = Vec::new();
        report.write_text(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("be brief\n") && text.contains("Read  "), "{text}");
        assert!(text.contains(&format!("tools   {tool} bytes, about")), "{text}");
    }
}
