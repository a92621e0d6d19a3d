//! ToolSearch: finds the tools that are not in the tools array, and shows how they are called.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::{Tool, ToolContext, ToolError, WorkingDirectory};
use crate::domain::{
    CALL_TOOL, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec,
    pluralise,
};

/// Finds deferred tools.
pub(super) struct ToolSearchTool;

pub(super) const TOOL_SEARCH: &str = "ToolSearch";

const SHAPE: InputShape = InputShape {
    tool: TOOL_SEARCH,
    example: r#"{"query": "what the tool has to do"}"#,
    arguments: &[("query", &["q", "search", "names"]), ("max_results", &["limit"])],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Search, ToolCapability::Conversation);

/// How many tools a search by words shows unless the call says otherwise, and at most.
const SHOWN: (u64, u64) = (5, 20);
/// The most bytes of a result. One tool is always shown.
const MAX_BYTES: usize = 24 << 10;
/// The most characters that are shown of a description; servers write long ones.
const MAX_DESCRIPTION: usize = 4000;
/// What asks for tools by name.
const BY_NAME: &str = "select:";

#[async_trait]
impl Tool for ToolSearchTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            // Without names: one that is named is called, whether there is a job for it or not.
            description:
                "Finds more tools (jobs, web, tasks, MCP) by words or select:NAME,NAME, and shows \
                          their arguments."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "max_results": {"type": "integer"},
                },
                "required": ["query"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        query(input).map(|_| vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let (query, most) = query(&input)?;
        let tools = context.deferred.get();
        let mut text = String::new();
        let found = match strip_prefix_ignoring_case(&query, BY_NAME) {
            Some(names) => {
                let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                let selected = tools.select(names);
                for name in selected.listed {
                    text.push_str(&format!("{name} is in your tools: call it directly.\n"));
                }
                for name in selected.unknown {
                    let near = tools.nearest(&name, 3).join(", ");
                    let near = if near.is_empty() { near } else { format!(" Near: {near}.") };
                    text.push_str(&format!("There is no tool {name:?}.{near}\n"));
                }
                selected.found
            }
            None => tools.search(&query),
        };
        if found.is_empty() && text.is_empty() {
            let all: Vec<&str> = tools.names().take(60).collect();
            let all = match all.is_empty() {
                true => "You have all tools already".to_owned(),
                false => format!("Search for other words. Some names: {}", all.join(", ")),
            };
            return Ok(ToolOutput::text(format!("No tool matches {query:?}. {all}."))
                .with_summary("no tools")
                .with_output(json!([])));
        }
        let mut shown: Vec<&ToolSpec> = Vec::new();
        for spec in found.iter().take(most) {
            let (name, schema) = (&spec.name, &spec.input_schema);
            let about: String = spec.description.chars().take(MAX_DESCRIPTION).collect();
            let entry = format!("{name}: {about}\n  input: {schema}\n");
            if !shown.is_empty() && text.len() + entry.len() > MAX_BYTES {
                break;
            }
            text.push_str(&entry);
            shown.push(spec);
        }
        let left: Vec<&str> =
            found[shown.len()..].iter().take(40).map(|spec| spec.name.as_str()).collect();
        if !left.is_empty() {
            text.push_str(&format!("Also: {}.\n", left.join(", ")));
        }
        if let Some(first) = shown.first() {
            text.push_str(&format!(
                "Run one with {CALL_TOOL} {{\"tool\": \"{}\", \"input\": {{…}}}}.",
                first.name
            ));
        }
        Ok(ToolOutput::text(text.trim_end())
            .with_summary(pluralise(shown.len(), "tool"))
            .with_output(json!(shown)))
    }
}

/// The query, and how many tools it may show.
fn query(input: &Value) -> Result<(String, usize), ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let query = input.text("query")?.trim().to_owned();
    if query.is_empty() {
        return Err(input.wrong("`query` is empty"));
    }
    let most = match strip_prefix_ignoring_case(&query, BY_NAME) {
        Some(_) => SHOWN.1,
        None => input.number("max_results")?.unwrap_or(SHOWN.0).clamp(1, SHOWN.1),
    };
    Ok((query, most as usize))
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let begin = text.get(..prefix.len())?;
    begin.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::tools::deferred::{CurrentDeferredTools, DeferredTools};
    use crate::tools::testing::ToolTestEnv;

    fn spec(name: &str, description: &str) -> ToolSpec {
        let input_schema = json!({"type": "object", "properties": {"url": {"type": "string"}}});
        ToolSpec { name: name.into(), description: description.into(), input_schema }
    }

    async fn found(specs: Vec<ToolSpec>, input: Value) -> ToolOutput {
        let mut env = ToolTestEnv::new();
        env.context.deferred =
            CurrentDeferredTools::new(DeferredTools::new(specs, vec!["Read".into()]));
        env.run(&ToolSearchTool, input).await.unwrap()
    }

    #[tokio::test]
    async fn a_tool_is_shown_with_its_arguments_and_how_to_run_it() {
        let specs = || vec![spec("WebFetch", "Gets a page."), spec("WebSearch", "Searches.")];
        let fetch = "WebFetch: Gets a page.\n  input: {\"type\":\"object\",\"properties\":{\"url\":{\"type\":\"string\"}}}\nRun one with Call {\"tool\": \"WebFetch\", \"input\": {…}}.";
        for query in ["page", "select:WebFetch", "Select: webfetch"] {
            let output = found(specs(), json!({"query": query})).await;
            assert_eq!(output.observation, fetch, "{query}");
            assert_eq!(output.summary.as_deref(), Some("1 tool"));
        }
        let output = found(specs(), json!({"query": "web", "max_results": 1})).await;
        assert!(output.observation.contains("Also: WebSearch."), "{}", output.observation);
    }

    #[tokio::test]
    async fn names_that_lead_nowhere_are_told() {
        let specs = || vec![spec("WebFetch", "Gets a page.")];
        let output = found(specs(), json!({"query": "select:Read,WebFech,xyz"})).await;
        assert_eq!(
            output.observation,
            "Read is in your tools: call it directly.\nThere is no tool \"WebFech\". Near: WebFetch.\nThere is no tool \"xyz\"."
        );
        let output = found(specs(), json!({"query": "terraform"})).await;
        assert_eq!(
            output.observation,
            "No tool matches \"terraform\". Search for other words. Some names: WebFetch."
        );
        let output = found(Vec::new(), json!({"query": "web"})).await;
        assert!(output.observation.contains("You have all tools already"));
    }

    #[tokio::test]
    async fn a_result_is_bounded_whatever_servers_say_of_their_tools() {
        let huge = "records ".repeat(10_000);
        let specs = (0..40).map(|at| spec(&format!("list_{at}"), &huge)).collect();
        let output = found(specs, json!({"query": "records", "max_results": 20})).await;
        assert!(output.observation.len() < 25_000, "{}", output.observation.len());
        assert_eq!(output.summary.as_deref(), Some("6 tools"));
    }
}
