//! The tools of one agent, put together from parts, in the order in which models are told of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::built_in::{is_same_name, other_name};
use super::similarity::similarity;
use super::{Tool, ToolError};
use crate::domain::ToolSpec;

/// The tools of an agent. Never changes within a session, so that prefix caches hold.
#[derive(Clone)]
pub struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
    specs: Arc<[ToolSpec]>,
}

/// The tools that come from one source: slug itself, a server, a plugin.
pub struct ToolPart {
    /// What they come from, as the user reads it in a sentence: "slug itself".
    pub source: String,
    /// In the order in which models are told of them.
    pub tools: Vec<Arc<dyn Tool>>,
}

/// Two tools of the same name. Calls, rules and the log know tools by their names, so neither can
/// stand for both.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Both {first} and {second} have a tool {name}. Leave one of them out.")]
pub struct ToolNameConflict {
    pub name: String,
    /// The source of the part that came first.
    pub first: String,
    pub second: String,
}

impl ToolRegistry {
    /// The tools of these parts, one part after another.
    ///
    /// # Errors
    ///
    /// When two tools have the same name, whether in one part or in two.
    pub fn from_parts(parts: Vec<ToolPart>) -> Result<Self, ToolNameConflict> {
        let mut sources: HashMap<String, String> = HashMap::new();
        let (mut tools, mut specs) = (Vec::new(), Vec::new());
        for ToolPart { source, tools: of_part } in parts {
            for tool in of_part {
                let spec = tool.spec();
                if let Some(first) = sources.insert(spec.name.clone(), source.clone()) {
                    return Err(ToolNameConflict { name: spec.name, first, second: source });
                }
                specs.push(spec);
                tools.push(tool);
            }
        }
        Ok(Self { tools, specs: specs.into() })
    }

    /// The specs for the model, always in the same order.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    /// The tool of this name: as it is written, or else the only one that differs in case, `_` and
    /// `-` alone, or that other agents call so.
    ///
    /// # Errors
    ///
    /// When there is none; the error tells the model which tools there are.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Tool>, ToolError> {
        let found = self.find(|own| own == name).or_else(|| {
            let name = other_name(name).unwrap_or(name);
            self.find(|own| is_same_name(own, name))
        });
        found.ok_or_else(|| self.unknown(name))
    }

    /// The only tool whose name is meant.
    fn find(&self, is_meant: impl Fn(&str) -> bool) -> Option<Arc<dyn Tool>> {
        let mut found = self.specs.iter().zip(&self.tools).filter(|(spec, _)| is_meant(&spec.name));
        match (found.next(), found.next()) {
            (Some((_, tool)), None) => Some(tool.clone()),
            (Some(_), Some(_)) | (None, _) => None,
        }
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
    use crate::tools::testing::named_tool;

    fn standard() -> ToolRegistry {
        ToolRegistry::from_parts(vec![ToolPart::built_in()]).unwrap()
    }

    fn part(source: &str, names: &[&'static str]) -> ToolPart {
        let tools = names.iter().map(|name| named_tool(name)).collect();
        ToolPart { source: source.to_owned(), tools }
    }

    #[test]
    fn parts_follow_each_other_and_the_bytes_for_the_model_stay() {
        let parts = || {
            vec![ToolPart::built_in(), part("the server x", &["b", "a"]), part("a plugin", &["c"])]
        };
        let registry = ToolRegistry::from_parts(parts()).unwrap();
        let specs = registry.specs();
        let names: Vec<&str> = specs[7..].iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "c"]);
        assert!(registry.get("a").is_ok() && registry.get("Bash").is_ok());
        let again = ToolRegistry::from_parts(parts()).unwrap().specs();
        let bytes = |specs: &[ToolSpec]| serde_json::to_vec(specs).unwrap();
        assert_eq!(bytes(&specs), bytes(&again));
        assert!(Arc::ptr_eq(&registry.specs(), &registry.specs()));
    }

    #[test]
    fn two_tools_of_one_name_are_an_error_that_names_both_sources() {
        let parts = vec![ToolPart::built_in(), part("the server x", &["a", "Read"])];
        let error = ToolRegistry::from_parts(parts).err().unwrap();
        assert_eq!(
            error.to_string(),
            "Both slug itself and the server x have a tool Read. Leave one of them out."
        );
        let twice =
            ToolRegistry::from_parts(vec![part("the server x", &["a", "a"])]).err().unwrap();
        assert_eq!((twice.first.as_str(), twice.second.as_str()), ("the server x", "the server x"));
    }

    #[test]
    fn specs_serialise_to_under_3600_bytes() {
        let json = serde_json::to_string(&standard().specs()).unwrap();
        assert!(json.len() < 3600, "{} bytes", json.len());
    }

    #[test]
    fn specs_are_in_order_and_complete() {
        let registry = standard();
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

    /// What a model is told of is what it may send, and nothing else.
    #[test]
    fn every_tool_takes_the_arguments_of_its_schema_and_no_others() {
        let place = crate::tools::WorkingDirectory { cwd: "/w".into(), home: None };
        for tool in ToolPart::built_in().tools {
            let spec = tool.spec();
            let error = tool.access(&json!({"surplus": 1}), &place).unwrap_err().0;
            let named = error.strip_prefix(&format!(
                "{}: there is no argument `surplus`; there are ",
                spec.name
            ));
            let named = named.unwrap_or_else(|| panic!("{error}")).split_once(". Send").unwrap().0;
            let mut named: Vec<&str> = named.split(", ").collect();
            named.sort_unstable();
            let mut told: Vec<&str> = spec.input_schema["properties"]
                .as_object()
                .unwrap()
                .keys()
                .map(|it| &**it)
                .collect();
            told.sort_unstable();
            assert_eq!(named, told, "{}", spec.name);
        }
    }

    #[test]
    fn tools_are_found_by_name() {
        let registry = standard();
        for spec in registry.specs().iter() {
            assert_eq!(registry.get(&spec.name).ok().map(|tool| tool.spec()), Some(spec.clone()));
        }
    }

    #[test]
    fn a_name_in_another_case_or_of_another_agent_is_the_same_tool() {
        let registry = standard();
        for (name, own) in [
            ("bash", "Bash"),
            ("READ", "Read"),
            ("todowrite", "TodoWrite"),
            ("todo_write", "TodoWrite"),
            ("MultiEdit", "Edit"),
            ("multi_edit", "Edit"),
        ] {
            assert_eq!(registry.get(name).ok().unwrap().spec().name, own, "{name}");
        }
        let parts = vec![ToolPart::built_in(), part("the server x", &["a_b", "A-b", "read_"])];
        let registry = ToolRegistry::from_parts(parts).unwrap();
        assert!(registry.get("AB").is_err(), "one of two would be a guess");
        assert_eq!(registry.get("a_b").ok().unwrap().spec().name, "a_b");
        assert_eq!(registry.get("Read").ok().unwrap().spec().name, "Read");
    }

    #[test]
    fn an_unknown_name_gets_the_names_there_are() {
        let registry = standard();
        let cases = [("bashh", Some("Bash")), ("read_file", Some("Read")), ("browser", None)];
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
