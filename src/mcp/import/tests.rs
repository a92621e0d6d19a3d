//! Samples of each agent's form, whole and odd.

use serde_json::json;

use super::*;

fn read(format: McpImportFormat, text: &str) -> Vec<McpImportEntry> {
    read_import(Some(format), text, Path::new("/work")).unwrap()
}

/// The keys of each server, or why it is skipped.
fn keys(entries: &[McpImportEntry]) -> Vec<(&str, Result<Value, &str>)> {
    let each = entries.iter().map(|entry| match &entry.server {
        Ok(server) => (&*entry.name, Ok(Value::Object(server.keys.clone()))),
        Err(why) => (&*entry.name, Err(why.as_str())),
    });
    each.collect()
}

fn warnings(entries: &[McpImportEntry]) -> Vec<&str> {
    let servers = entries.iter().filter_map(|entry| entry.server.as_ref().ok());
    servers.flat_map(|server| &server.warnings).map(String::as_str).collect()
}

const CLAUDE_CODE: &str = r#"{
  "numStartups": 7,
  "mcpServers": {
    "git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"], "env": {"A": "${B:-c}"},
            "alwaysLoad": true},
    "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${T}"},
            "timeout": 60000, "oauth": {"clientId": "x"}},
    "asks": {"url": "https://example.com/mcp", "headersHelper": "/bin/get-headers"},
    "kind": {"type": "ws", "url": "wss://example.com"},
    "a/b": {"command": "x"}
  },
  "projects": {
    "/work": {"history": [], "mcpServers": {"local": {"command": "node", "args": ["x.js"]}}},
    "/other": {"mcpServers": {"other": {"command": "y"}}}
  }
}"#;

#[test]
fn claude_codes_servers_are_read_those_of_the_folder_first() {
    let found = read(McpImportFormat::ClaudeCode, CLAUDE_CODE);
    let own_keys = json!({"type": "stdio", "command": "uvx", "args": ["mcp-server-git"],
        "env": {"A": "${B:-c}"}, "always_load": true});
    let web = json!({"type": "http", "url": "https://example.com/mcp",
        "headers": {"Authorization": "Bearer ${T}"}, "timeout": 60000});
    assert_eq!(
        keys(&found),
        [
            ("local", Ok(json!({"command": "node", "args": ["x.js"]}))),
            ("git", Ok(own_keys)),
            ("web", Ok(web)),
            ("asks", Err("gets its headers from a command (`headersHelper`)")),
            ("kind", Err("has the unknown type \"ws\"")),
            ("a/b", Err("has a name that is not 1 to 64 letters, digits, `_`, `-`, `.` or spaces")),
        ]
    );
    assert_eq!(warnings(&found), ["slug has nothing like `oauth`, and leaves it out"]);
}

#[test]
fn codexs_servers_are_read_and_its_variables_become_references() {
    let found = read(
        McpImportFormat::Codex,
        r#"
model = "o"
[mcp_servers.git]
command = "uvx"
args = ["mcp-server-git"]
env = { LEVEL = "debug" }
env_vars = ["HOME_DIR", { name = "TOKEN", source = "local" }]
cwd = "/src"
startup_timeout_sec = 12.5
tool_timeout_sec = 90
enabled = false
enabled_tools = ["log"]
required = true
[mcp_servers.git.tools.log]
approval_mode = "approve"

[mcp_servers.web]
url = "https://example.com/mcp"
bearer_token_env_var = "WEB_TOKEN"
http_headers = { X-Team = "a" }
env_http_headers = { X-Key = "WEB_KEY" }
startup_timeout_ms = 2500

[mcp_servers.dollar]
command = "sh"
args = ["-c", "echo ${HOME}"]

[mcp_servers.remote]
command = "x"
env_vars = [{ name = "TOKEN", source = "remote" }]
"#,
    );
    let git = json!({"command": "uvx", "args": ["mcp-server-git"],
        "env": {"LEVEL": "debug", "HOME_DIR": "${HOME_DIR}", "TOKEN": "${TOKEN}"}, "cwd": "/src",
        "enabled": false, "enabled_tools": ["log"], "start_timeout": 13, "timeout": 90000});
    let web = json!({"url": "https://example.com/mcp", "headers": {
        "X-Team": "a", "Authorization": "Bearer ${WEB_TOKEN}", "X-Key": "${WEB_KEY}"},
        "start_timeout": 3});
    let found_keys = keys(&found);
    let by = |name: &str| found_keys.iter().find(|(it, _)| *it == name).unwrap().1.clone();
    assert_eq!(by("git"), Ok(git));
    assert_eq!(by("web"), Ok(web));
    assert!(by("dollar").unwrap_err().contains("slug would replace"));
    assert!(by("remote").unwrap_err().contains("`env_vars`"));
    let warnings = warnings(&found);
    assert!(warnings.iter().any(|it| it.contains("`required`") && it.contains("`tools`")));
    assert!(warnings.iter().any(|it| it.starts_with("the value of headers.X-Team may be")));
    let problem = read_import(Some(McpImportFormat::Codex), "a = 1\nkey = s3cr3t", Path::new("/"));
    assert_eq!(problem.unwrap_err(), "not valid TOML (line 2)");
}

#[test]
fn both_forms_of_opencode_are_read() {
    let first = read(
        McpImportFormat::Opencode,
        r#"{ // JSONC
          "mcp": {
            "files": {"type": "local", "command": ["npx", "-y", "server"], "environment": {"K": "{env:KEY}"},
                      "enabled": true, "timeout": 10000},
            "web": {"type": "remote", "url": "https://example.com/{env:PART}", "headers": {"A": "x {env:B}"}},
            "file": {"type": "remote", "url": "https://example.com", "headers": {"A": "{file:~/.key}"}},
            "odd": {"type": "local", "command": "npx"},
            "none": {"type": "local", "command": []},
            "off": {"enabled": false},
          },
        }"#,
    );
    assert_eq!(
        keys(&first),
        [
            (
                "files",
                Ok(json!({"env": {"K": "${KEY}"}, "enabled": true, "command": "npx",
                    "args": ["-y", "server"], "start_timeout": 10}))
            ),
            ("web", Ok(json!({"url": "https://example.com/${PART}", "headers": {"A": "x ${B}"}}))),
            ("file", Err("has a value from a file (`{file:…}`)")),
            ("odd", Err("has a `command` that is not a list")),
            ("none", Err("has an empty `command`")),
            ("off", Err("needs either `command` or `url`")),
        ]
    );
    let second = read(
        McpImportFormat::Opencode,
        r#"{"mcp": {"servers": {"a": {"type": "local", "command": ["x"], "cwd": "/s", "disabled": true}}}}"#,
    );
    let a = json!({"cwd": "/s", "disabled": true, "command": "x", "args": []});
    assert_eq!(keys(&second), [("a", Ok(a))]);
}

#[test]
fn vs_codes_inputs_are_not_asked_for() {
    let found = read(
        McpImportFormat::VsCode,
        r#"{
          "inputs": [{"type": "promptString", "id": "k", "password": true}],
          "servers": {
            "good": {"type": "stdio", "command": "${userHome}/x", "env": {"A": "${env:A}"},
                     "cwd": "${workspaceFolder}", "gallery": true},
            "asks": {"type": "http", "url": "https://example.com", "headers": {"K": "${input:k}"}},
            "here": {"command": "x", "args": ["${workspaceFolder}/y"]},
            "file": {"command": "x", "envFile": "${workspaceFolder}/.env"},
            "empty": {"command": "x", "args": ["${env:}"]},
          },
        }"#,
    );
    assert_eq!(
        keys(&found),
        [
            ("good", Ok(json!({"type": "stdio", "command": "${HOME}/x", "env": {"A": "${A}"}}))),
            ("asks", Err("asks for a value when it starts (`${input:…}`)")),
            ("here", Err("has a `${…}` that VS Code alone replaces")),
            ("file", Err("reads variables from a file (`envFile`)")),
            ("empty", Err("has a `${env:…}` that does not name a variable")),
        ]
    );
    assert_eq!(warnings(&found), ["slug has nothing like `gallery`, and leaves it out"]);
}

#[test]
fn of_crushs_values_only_plain_variables_are_taken() {
    let found = read(
        McpImportFormat::Crush,
        r#"{"mcp": {
            "git": {"type": "stdio", "command": "x", "env": {"A": "$A", "B": "b ${B}c", "C": "${C:-d}"},
                    "timeout": 20, "disabled_tools": ["rm"]},
            "run": {"type": "stdio", "command": "x", "env": {"A": "$(cat ~/.key)"}},
            "tick": {"type": "stdio", "command": "`which x`"},
            "cut": {"type": "stdio", "command": "x", "args": ["${A%%.*}"]},
            "quoted": {"type": "stdio", "command": "x", "args": ["'$A'"]},
            "alone": {"type": "stdio", "command": "x", "args": ["$"]}
        }}"#,
    );
    let git = json!({"type": "stdio", "command": "x",
        "env": {"A": "${A}", "B": "b ${B}c", "C": "${C:-d}"}, "disabled_tools": ["rm"],
        "start_timeout": 20});
    let shell = "has a value that a shell would have to expand";
    let skipped = ["run", "tick", "cut", "quoted", "alone"].map(|name| (name, Err(shell)));
    assert_eq!(keys(&found)[0], ("git", Ok(git)));
    assert_eq!(keys(&found)[1..], skipped);
}

#[test]
fn a_file_is_read_in_the_form_that_its_keys_show() {
    let names = |text: &str| {
        let found = read_import(None, text, Path::new("/work"));
        found.map(|it| it.into_iter().map(|it| it.name).collect::<Vec<_>>())
    };
    for text in [
        r#"{"mcpServers": {"s": {"command": "x"}}}"#,
        r#"{"projects": {"/work": {"mcpServers": {"s": {"command": "x"}}}}}"#,
        r#"{"s": {"command": "x"}}"#,
        r#"{"servers": {"s": {"command": "x"}}}"#,
        r#"{"mcp": {"s": {"type": "local", "command": ["x"]}}}"#,
        r#"{"mcp": {"s": {"type": "stdio", "command": "x"}}}"#,
        r#"{"mcp": {"servers": {"s": {"type": "local", "command": ["x"]}}}}"#,
        "[mcp_servers.s]\ncommand = \"x\"",
    ] {
        assert_eq!(names(text), Ok(vec!["s".to_owned()]), "{text}");
    }
    for text in ["", "{}", "[]", "1", "{", "a = 1", r#"{"mcpServers": []}"#, r#"{"x": {"y": 1}}"#] {
        assert!(names(text).is_err(), "{text}");
    }
}

/// Servers of any form are skipped one by one, and nothing of the file is fatal to the others.
#[test]
fn odd_servers_leave_the_others() {
    for format in McpImportFormat::ALL {
        for odd in [
            json!(null),
            json!([]),
            json!({"command": 1}),
            json!({"command": [1]}),
            json!({"url": {}}),
            json!({"timeout": "x", "command": "x"}),
            json!({"env": [], "command": "x"}),
        ] {
            let servers = json!({"odd": odd, "url": {"url": "https://example.com"}});
            let text = match format {
                McpImportFormat::ClaudeCode => json!({"mcpServers": servers}),
                McpImportFormat::VsCode => json!({"servers": servers}),
                McpImportFormat::Codex => continue,
                McpImportFormat::Crush | McpImportFormat::Opencode => json!({"mcp": servers}),
            };
            let found = read(format, &text.to_string());
            assert_eq!(found.len(), 2, "{format:?} {odd}");
            assert!(found[1].server.is_ok(), "{format:?} {odd}");
        }
    }
}

/// A secret is named by its key, and no text that is shown has it.
#[test]
fn copied_secrets_are_named_and_never_shown() {
    let found = read(
        McpImportFormat::ClaudeCode,
        r#"{"mcpServers": {
            "a": {"command": "x", "args": ["--api-key", "s3cr3t-1", "--token=s3cr3t-2",
                    "--header", "Authorization: Bearer s3cr3t-3", "-e", "GH_TOKEN=s3cr3t-4", "--key", "${K}"],
                  "env": {"API_KEY": "s3cr3t-5", "MODE": "fast", "OTHER_KEY": "${O}", "WITH_KEY": "${W:-s3cr3t-6}"}},
            "b": {"url": "https://me:s3cr3t-7@example.com/mcp?key=s3cr3t-8", "headers": {
                    "X-Key": "s3cr3t-9", "Authorization": "Bearer ${T}", "User-Agent": "slug"}}
        }}"#,
    );
    let shown: Vec<String> = found
        .iter()
        .filter_map(|entry| entry.server.as_ref().ok())
        .flat_map(|server| server.warnings.iter().cloned().chain([server.summary()]))
        .collect();
    assert!(!shown.concat().contains("s3cr3t"), "{shown:#?}");
    let copied = |key: &str| {
        shown.iter().filter(|it| it.starts_with(&format!("{key} may be a secret"))).count()
    };
    for key in [
        "the value of env.API_KEY",
        "the value of env.WITH_KEY",
        "something in args",
        "something in url",
        "the value of headers.X-Key",
    ] {
        assert_eq!(copied(key), 1, "{key}: {shown:#?}");
    }
    assert_eq!(shown.len(), 5 + 2, "{shown:#?}");
    assert!(shown.iter().any(|it| it.contains("--api-key [redacted] --token=[redacted]")));
}

#[test]
fn a_name_that_is_taken_or_like_one_is_skipped() {
    let entry = || {
        read(McpImportFormat::ClaudeCode, r#"{"mcpServers": {"a b": {"command": "x"}}}"#).remove(0)
    };
    assert!(entry().beside(["b", "a"].into_iter()).server.is_ok());
    assert_eq!(
        entry().beside(["a b"].into_iter()).server.unwrap_err(),
        "there is a server of this name"
    );
    assert_eq!(
        entry().beside(["a_b"].into_iter()).server.unwrap_err(),
        "rules could not tell its name from that of the server \"a_b\""
    );
}
