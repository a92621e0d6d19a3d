//! Definitions that change while a call waits for its user, for its server, or for its answer.

use serde_json::json;
use slug_code::domain::ToolStatus;

use super::McpTestEnv;
use super::offers::started_with as started;

impl McpTestEnv {
    async fn until_echo_has_changed(&self) {
        self.until("the change is seen", || self.servers.status()[0].changed_tools == ["echo"])
            .await;
    }

    fn calls_of(&self, tool: &str) -> usize {
        self.file("received").matches(&format!("\"name\":\"{tool}\"")).count()
    }
}

/// S93: the user was asked about the definition as it was.
#[tokio::test]
async fn s93_a_tool_that_changes_while_its_call_waits_for_the_user_is_not_run() {
    let env = started(&["watch"]).await;
    // As the gate keeps it while it asks.
    let waiting = env.tool("mcp__s__echo");
    std::fs::write(env.folder.path().join("change_now"), "").unwrap();
    env.until_echo_has_changed().await;
    let (context, _) = env.context();
    let error = waiting.run(&context, json!({"text": "x"})).await.unwrap_err().0;
    let expected = "The MCP server s: It has changed the definition of this tool. The user has to accept \
                    it first, in /mcp or with `slug mcp accept s`. Do not retry before.";
    assert_eq!((error.as_str(), env.calls_of("echo")), (expected, 0));
}

#[tokio::test]
async fn a_call_under_way_gets_its_answer_though_tools_change() {
    let env = started(&["watch", "slow"]).await;
    let (context, progress) = env.context();
    let hang = env.tool("mcp__s__hang");
    let called = tokio::spawn(async move { hang.run(&context, json!({})).await });
    let progress = || progress.0.lock().unwrap().clone();
    env.until("its progress is told", || progress() == "1/2 halfway\n").await;
    std::fs::write(env.folder.path().join("change_now"), "").unwrap();
    env.until_echo_has_changed().await;
    assert!(env.call("mcp__s__echo", json!({"text": "x"})).await.is_err(), "it has changed");
    std::fs::write(env.folder.path().join("release"), "").unwrap();
    let output = called.await.unwrap().unwrap();
    assert_eq!((&*output.observation, output.status), ("let go", ToolStatus::Done));
}

/// S93: a server that is started again for a call may have another definition of its tool.
#[tokio::test]
async fn s93_a_server_that_comes_back_with_another_definition_is_not_called() {
    let env = started(&[]).await;
    let _ = env.call("mcp__s__die", json!({})).await.unwrap_err();
    std::fs::write(env.folder.path().join("description"), "changed").unwrap();
    let error = env.call("mcp__s__echo", json!({"text": "x"})).await.unwrap_err().0;
    assert!(error.contains("It has changed the definition of this tool"), "{error}");
    assert_eq!(env.file("starts").matches("started").count(), 2);
    assert_eq!(env.calls_of("echo"), 0);
}
