//! The MCP servers that an editor passes on, in the form of `.mcp.json`, which slug's client of MCP reads.

use agent_client_protocol_schema::v1::McpServer;
use serde_json::{Map, Value, json};

/// The servers by name. One of a kind that slug does not announce is left out.
pub(super) fn table(servers: Vec<McpServer>) -> Map<String, Value> {
    servers.into_iter().filter_map(entry).collect()
}

fn entry(server: McpServer) -> Option<(String, Value)> {
    let of_http = |kind: &str, url: String, headers: Map<String, Value>| json!({"type": kind, "url": literal(&url), "headers": headers});
    let pair = |name: String, value: &str| (name, Value::String(literal(value)));
    Some(match server {
        McpServer::Stdio(it) => {
            let env = it.env.into_iter().map(|it| pair(it.name, &it.value));
            let args: Vec<String> = it.args.iter().map(|arg| literal(arg)).collect();
            let command = literal(&it.command.to_string_lossy());
            let value =
                json!({"command": command, "args": args, "env": env.collect::<Map<_, _>>()});
            (it.name, value)
        }
        McpServer::Http(it) => {
            let headers = it.headers.into_iter().map(|it| pair(it.name, &it.value)).collect();
            (it.name, of_http("http", it.url, headers))
        }
        McpServer::Sse(it) => {
            let headers = it.headers.into_iter().map(|it| pair(it.name, &it.value)).collect();
            (it.name, of_http("sse", it.url, headers))
        }
        _ => return None,
    })
}

/// A text in which nothing is a variable: what an editor sends is as it is meant. `${` becomes a variable
/// that is never set, whose default are these two signs.
fn literal(text: &str) -> String {
    text.replace("${", "${SLUG_NONE:-${}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_all_transports_are_read_as_a_file_has_them() {
        let servers: Vec<McpServer> = serde_json::from_value(json!([
            {"name": "a", "command": "/bin/a", "args": ["-x"], "env": [{"name": "K", "value": "v"}]},
            {"type": "http", "name": "b", "url": "http://b/", "headers": [{"name": "H", "value": "w"}]},
            {"type": "sse", "name": "c", "url": "http://c/", "headers": []},
        ]))
        .unwrap();
        assert_eq!(
            Value::Object(table(servers)),
            json!({
                "a": {"command": "/bin/a", "args": ["-x"], "env": {"K": "v"}},
                "b": {"type": "http", "url": "http://b/", "headers": {"H": "w"}},
                "c": {"type": "sse", "url": "http://c/", "headers": {}},
            })
        );
    }
}
