//! All tools by name, in the order in which models are told of them.

use std::sync::Arc;

use super::bash::BashTool;
use super::edit::EditTool;
use super::glob::GlobTool;
use super::grep::GrepTool;
use super::read::ReadTool;
use super::similarity::similarity;
use super::todo_write::TodoWriteTool;
use super::write::WriteTool;
use super::{Tool, ToolError};
use crate::domain::ToolSpec;

/// The tools of an agent. Never changes within a session, so that prefix caches hold.
#[derive(Clone)]
pub struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
    specs: Arc<[ToolSpec]>,
}

impl ToolRegistry {
    /// The built-in tools.
    pub fn standard() -> Self {
        let tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(BashTool),
            Arc::new(ReadTool),
            Arc::new(WriteTool),
            Arc::new(EditTool),
            Arc::new(GlobTool),
            Arc::new(GrepTool),
            Arc::new(TodoWriteTool),
        ];
        let specs = tools.iter().map(|tool| tool.spec()).collect();
        Self { tools, specs }
    }

    /// The specs for the model, always in the same order.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    /// The tool of this name.
    ///
    /// # Errors
    ///
    /// When there is none; the error tells the model which tools there are.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Tool>, ToolError> {
        let named = self.specs.iter().zip(&self.tools).find(|(spec, _)| spec.name == name);
        named.map(|(_, tool)| tool.clone()).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> ToolError {
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        let lower = name.to_lowercase();
        let score = |known: &&&str| similarity(&lower, &known.to_lowercase());
        let near = names.iter().max_by(|a, b| score(a).total_cmp(&score(b)));
        let advice = match near.filter(|near| score(near) >= 0.5) {
            Some(near) => format!(" Did you mean {near}?"),
            None => String::new(),
        };
        ToolError(format!("There is no tool {name:?}.{advice} The tools are {}.", names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn specs_serialise_to_under_3600_bytes() {
        let json = serde_json::to_string(&ToolRegistry::standard().specs()).unwrap();
        assert!(json.len() < 3600, "{} bytes", json.len());
    }

    #[test]
    fn specs_are_in_order_and_complete() {
        let registry = ToolRegistry::standard();
        let specs = registry.specs();
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["Bash", "Read", "Write", "Edit", "Glob", "Grep", "TodoWrite"]);
        for spec in specs.iter() {
            assert_eq!(spec.input_schema["type"], "object");
            for required in spec.input_schema["required"].as_array().unwrap() {
                let name = required.as_str().unwrap();
                assert_ne!(spec.input_schema["properties"][name], json!(null), "{name}");
            }
        }
    }

    #[test]
    fn tools_are_found_by_name() {
        let registry = ToolRegistry::standard();
        for spec in registry.specs().iter() {
            assert_eq!(registry.get(&spec.name).ok().map(|tool| tool.spec()), Some(spec.clone()));
        }
    }

    #[test]
    fn an_unknown_name_gets_the_names_there_are() {
        let registry = ToolRegistry::standard();
        let cases = [
            ("bash", Some("Bash")),
            ("read_file", Some("Read")),
            ("todowrite", Some("TodoWrite")),
            ("MultiEdit", Some("Edit")),
            ("browser", None),
        ];
        for (name, near) in cases {
            let error = registry.get(name).err().unwrap().0;
            let expected = match near {
                Some(near) => {
                    format!("There is no tool {name:?}. Did you mean {near}? The tools are Bash, ")
                }
                None => format!("There is no tool {name:?}. The tools are Bash, "),
            };
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
