//! Searching through the tools of servers.

use divan::Bencher;
use serde_json::json;
use slug_code::domain::ToolSpec;
use slug_code::tools::DeferredTools;

/// 2,000 tools of 40 servers, each of which fits the query.
#[divan::bench]
fn search_2000(bencher: Bencher) {
    let about = "Lists, filters and sorts the records of one kind in the workspace. ".repeat(5);
    let spec = |at: usize| ToolSpec {
        name: format!("mcp__server{}__list_records_{at}", at % 40),
        description: about.clone(),
        input_schema: json!({"type": "object", "properties": {"page": {}, "filter": {}}}),
    };
    let tools = DeferredTools::new((0..2000).map(spec).collect(), Vec::new());
    bencher.bench_local(|| tools.search("list records by workspace 77").len());
}
