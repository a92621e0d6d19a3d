//! A task that is longer than the model's context window.

use serde_json::{Value, json};

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;

const TASK: &str = "Read all forty chapters and say which one names the harbour.";
/// The window that the server says it serves, in tokens.
const WINDOW: usize = 16_000;

/// Forty files of about 2,000 tokens each: five windows of what the model reads.
#[test]
fn a_task_that_needs_five_windows_ends_with_an_answer() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let model = json!({"id": "test-model", "object": "model", "max_model_len": WINDOW});
    server.answer("GET /v1/models", ServerReply::json(200, &json!({"data": [model]})));
    server.summary(ServerReply::text(
        "## Task\nFind the harbour.\n## Constraints\nNone.\n## Decisions\nIn order.\n## Failed \
         attempts\nNone.\n## State\nNot found so far.\n## Next\nRead on.",
    ));
    for number in 0..40 {
        env.write(&format!("c{number}"), &format!("It rained in chapter {number}.\n").repeat(250));
        let read = json!({"file_path": format!("c{number}")});
        server.reply(ServerReply::calls("", &[(&format!("r{number}"), "Read", read)]));
    }
    server.reply(ServerReply::text("None of them."));
    let ran = env.ask(&server, &["-p", TASK, "--output-format", "stream-json"]).assert_exit_code(0);
    let lines = ran.lines();
    let compactions = lines.iter().filter(|line| line["type"] == "compaction").count();
    assert!(compactions >= 4, "{compactions} compactions: {}", ran.describe());
    assert!(ran.err.contains("Compacted: "), "{}", ran.err);
    let result = lines.last().unwrap();
    assert_eq!(result["text"], "None of them.");
    assert!(result["by_source"]["compaction"]["usage"]["input"].as_u64() > Some(0), "{result}");
    let requests = server.chat_requests();
    let read: usize =
        requests.iter().flat_map(|it| it.messages()).filter(|it| it["role"] == "tool").count();
    assert!(read > 40);
    for request in &requests {
        let has_task = |message: &Value| message["content"].to_string().contains(TASK);
        assert!(request.messages().iter().any(has_task), "the task is lost");
        assert!(request.raw.len() / 4 < WINDOW, "a request of {} bytes", request.raw.len());
    }
}
