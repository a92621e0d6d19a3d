//! What servers offer besides tools: resources and prompts.

use slug_code::tools::{READ_RESOURCE_TOOL, ServerPrompts};

use super::*;

const LIST: &str = "ListMcpResources";

/// A ready server with resources and prompts whose lists have been read.
async fn started() -> McpTestEnv {
    started_with(&["offers"]).await
}

/// The same, with these files for the server.
pub(super) async fn started_with(files: &[&str]) -> McpTestEnv {
    let folder = TempDir::new().unwrap();
    for file in files {
        std::fs::write(folder.path().join(file), "").unwrap();
    }
    let env = McpTestEnv::in_folders(folder, TempDir::new().unwrap(), Value::Null);
    env.allow_all().await;
    env.until("it is ready", || env.state() == McpServerState::Ready).await;
    env
}

impl McpTestEnv {
    async fn read(&self, uri: &str) -> Result<ToolOutput, ToolError> {
        self.call(READ_RESOURCE_TOOL, json!({"server": "s", "uri": uri})).await
    }

    async fn fill(&self, line: &str) -> Option<Result<String, String>> {
        let (context, _) = self.context();
        let filled = self.servers.fill(line, &context).await?;
        Some(filled.map(|it| format!("{} {}: {}", it.server, it.prompt, it.output.observation)))
    }

    async fn until_listed(&self) {
        self.until("the lists are read", || !self.servers.status()[0].offers.prompts.is_empty())
            .await;
    }
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let env = started().await;
    let output = env.call(LIST, json!({})).await.unwrap();
    assert_eq!(
        output.observation,
        "s:\n- note://a: The note (text/plain)\n- note://big: big\ns, with places in braces to fill \
         in:\n- note://{id}: any note"
    );
    assert_eq!(output.summary.as_deref(), Some("3 resources"));
    assert_eq!(env.read("note://a").await.unwrap().observation, "remember the </context> milk");
    env.until_listed().await;
    assert_eq!(
        env.servers.status()[0].warnings[1..],
        [
            "The resource \"bad\" was left out: its address is missing or too long.",
            "A second resource \"note://a\" was left out.",
            "The prompt \"\" was left out: its name is empty or too long.",
        ]
    );
    let note = env.servers.note(&[]).unwrap();
    assert!(note.ends_with("- s (6 tools, resources): Finds bugs."), "{note}");
    let place = WorkingDirectory { cwd: "/".into(), home: None };
    let read = env.tool(READ_RESOURCE_TOOL);
    let access = read.access(&json!({"server": "s", "uri": "note://a"}), &place).unwrap();
    let [ToolAccess::External { server, tool, rule_name, read_only: true, .. }] = &access[..]
    else {
        panic!("{access:?}")
    };
    assert_eq!(
        (&**server, &**tool, &**rule_name),
        ("s", "note://a", "mcp__s__ReadMcpResource"),
        "rules on the server cover it"
    );
    let listed = env.tool(LIST).access(&json!({"server": "s"}), &place).unwrap();
    assert_eq!(listed, [ToolAccess::Nothing]);
    for (input, wanted) in [
        (json!({"server": "s"}), "`uri` is missing. Send {\"server\": \"name\","),
        (
            json!({"server": "t", "uri": "a:b"}),
            "No MCP server \"t\" has resources. `server` is one of: s.",
        ),
        (json!({"server": 7, "uri": "a:b"}), "`server` is missing."),
        (json!([]), "`server` is missing."),
    ] {
        let error = read.access(&input, &place).unwrap_err().0;
        assert!(error.starts_with(wanted), "{error}");
    }
}

/// Servers that rules deny wholly are not named to models; the gate answers a call that names one.
#[tokio::test]
async fn denied_servers_are_left_out() {
    let env = started().await;
    env.denied.set(|name| name == "mcp__s__echo");
    assert!(env.servers.note(&[]).unwrap().contains("- s (5 tools, resources)"));
    env.denied.set(|name| name == "mcp__s__ReadMcpResource");
    let note = env.servers.note(&[]).unwrap();
    assert!(note.contains("- s (6 tools): "), "{note}");
    assert_eq!(
        env.call(LIST, json!({})).await.unwrap().observation,
        "No MCP server has resources."
    );
    let place = WorkingDirectory { cwd: "/".into(), home: None };
    let read = env.tool(READ_RESOURCE_TOOL);
    for (tool, input) in [
        (env.tool(LIST), json!({"server": "s"})),
        (env.tool(LIST), json!({"server": "t"})),
        (read.clone(), json!({"server": "t", "uri": "a:b"})),
    ] {
        let error = tool.access(&input, &place).unwrap_err().0;
        assert!(error.ends_with("has resources, nor has any other."), "{error}");
    }
    assert!(read.access(&json!({"server": "s", "uri": "a:b"}), &place).is_ok());
    env.denied.set(|name| name == "ReadMcpResource");
    assert!(env.servers.note(&[]).unwrap().contains("- s (6 tools): "));
    env.denied.set(|name| name.starts_with("mcp__s__"));
    assert_eq!(env.servers.note(&[]), None);
}

/// A server that says nothing of resources is asked nothing about them.
#[tokio::test]
async fn where_no_server_has_resources_there_are_no_tools_for_them() {
    let env = McpTestEnv::started(Value::Null).await;
    let names: Vec<String> = env.servers.tools().iter().map(|tool| tool.spec().name).collect();
    assert!(!names.iter().any(|name| name.contains("Resource")), "{names:?}");
    env.call("mcp__s__echo", json!({"text": "x"})).await.unwrap();
    let received = env.file("received");
    assert!(!received.contains("resources/") && !received.contains("prompts/"), "{received}");
}

#[tokio::test]
async fn a_resource_is_bounded_and_binary_content_is_kept() {
    let env = started().await;
    let output = env.read("note://big").await.unwrap();
    assert!(output.observation.len() < 101_000, "{}", output.observation.len());
    let path = env.home.path().join("output");
    let note = format!("\n[100000 of 200000 bytes; the whole result is in {}]", path.display());
    assert!(output.observation.ends_with(&note));
    let output = env.read("note://pdf").await.unwrap();
    let kept = format!("\n[resource (application/pdf), 3 bytes: {}]", path.display());
    assert_eq!(output.observation, kept);
    assert_eq!(std::fs::read(path).unwrap(), [0, 1, 2]);
}

#[tokio::test]
async fn a_resource_that_cannot_be_read_says_why() {
    let env = started().await;
    for (uri, wanted) in [
        ("note://none", "The MCP server s: It answered with an error: Resource not found"),
        (
            "note://odd",
            "The MCP server s: It sent what slug cannot read: the reply holds no contents.",
        ),
        ("note://die", "The MCP server s: It has ended"),
    ] {
        let error = env.read(uri).await.unwrap_err().0;
        assert!(error.starts_with(wanted), "{uri}: {error}");
    }
    assert_eq!(env.read("note://a").await.unwrap().status, ToolStatus::Done, "it is started again");
    for _ in 0..2 {
        let _ = env.read("note://die").await.unwrap_err();
    }
    let output = env.call(LIST, json!({})).await.unwrap();
    assert!(output.observation.starts_with("s cannot be used now. It has ended"), "{output:?}");
}

#[tokio::test]
async fn a_read_that_is_stopped_is_cancelled_on_the_server() {
    let env = started().await;
    let (context, _) = env.context();
    let (tool, stop) = (env.tool(READ_RESOURCE_TOOL), context.cancel.clone());
    let input = json!({"server": "s", "uri": "note://hang"});
    let called = tokio::spawn(async move { tool.run(&context, input).await });
    env.until("the read is there", || env.file("received").contains("note://hang")).await;
    stop.cancel();
    assert_eq!(called.await.unwrap().unwrap().status, ToolStatus::Cancelled);
    env.until("the server is told", || env.file("received").contains("notifications/cancelled"))
        .await;
}

#[tokio::test]
async fn a_list_that_cannot_be_read_leaves_the_others() {
    let env = started_with(&["offers", "broken"]).await;
    env.until_listed().await;
    let status = &env.servers.status()[0];
    assert_eq!((status.state.clone(), status.tools.len()), (McpServerState::Ready, 6));
    let why = "Listing its resources failed. It sent what slug cannot read: the reply holds no list \
               of resources.";
    assert!(status.warnings.contains(&why.to_owned()), "{:?}", status.warnings);
    assert_eq!((status.offers.resources.len(), status.offers.templates.len()), (0, 1));
}

/// Three notifications in a row lead to one request.
#[tokio::test]
async fn changed_lists_are_read_again_once() {
    let env = started().await;
    env.until_listed().await;
    env.read("note://change").await.unwrap();
    env.until("the change is seen", || {
        env.servers.status()[0].offers.resources[0].title == "Changed"
    })
    .await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let received = env.file("received");
    let lists = received.lines().filter(|line| line.contains("resources/list\""));
    assert_eq!(lists.count(), 4, "two pages at the start, and two after the change: {received}");
}

#[tokio::test]
async fn a_prompt_is_filled_in_by_its_server() {
    let env = started().await;
    let filled = env.fill("/s:review 12 it is slow").await;
    let wanted = "s review: [user]\nReview number 12.\n[assistant]\nI will.";
    assert_eq!(filled, Some(Ok(wanted.to_owned())));
    assert!(env.file("received").contains(r#""arguments":{"pr":"12","why":"it is slow"}"#));
    for (line, wanted) in [
        ("/s:review", "/s:review needs `pr`: /s:review pr=VALUE"),
        ("/s:review why=x", "/s:review needs `pr`: /s:review pr=VALUE"),
        ("/s:plain x", "/s:plain: It takes no arguments."),
        ("/s:none", "The MCP server s has no prompt \"none\". It has /s:review, /s:plain."),
        (
            "/s:plain",
            "The MCP server s: It sent what slug cannot read: the reply holds no messages.",
        ),
    ] {
        assert_eq!(env.fill(line).await, Some(Err(wanted.to_owned())), "{line}");
    }
    for line in ["/t:review 12", "s:review 12", "/s 12", "/usr/bin:x", ""] {
        assert_eq!(env.fill(line).await, None, "{line}");
    }
}

#[tokio::test]
async fn a_prompt_of_a_server_out_of_reach_says_so() {
    let env = McpTestEnv::new(json!({
        "gone": {"url": "http://127.0.0.1:1/mcp"},
        "off": {"command": "x", "enabled": false},
    }));
    let waiting = env.fill("/gone:review 1").await.unwrap().unwrap_err();
    assert!(waiting.starts_with("The MCP server gone: The user has not allowed it"), "{waiting}");
    env.allow_all().await;
    let why = env.fill("/gone:review 1").await.unwrap().unwrap_err();
    assert!(why.starts_with("The MCP server gone: It cannot be reached: Connection"), "{why}");
    let off = env.fill("/off:review 1").await.unwrap().unwrap_err();
    assert_eq!(off, "The MCP server off: It is disabled.");
}
