//! `/jobs` on a real terminal: a job that the model starts is seen at work, and ended.

use serde_json::json;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

/// Prints a line, then another one once there is a file `go`, and does not end.
const SERVES: &str =
    "echo listening; while [ ! -e go ]; do sleep 0.05; done; echo it-went; exec sleep 1000";

fn starts(command: &str) -> ServerReply {
    let input = json!({"command": command, "run_in_background": true});
    ServerReply::calls("", &[("c1", "Bash", input)])
}

fn begun(env: &TestEnv, server: &ModelServer) -> PtySlug {
    server.reply(starts(SERVES));
    server.reply(ServerReply::text("It serves."));
    let mut slug = PtySlug::chat_with(env, server, &["--yolo"]);
    slug.say("serve it");
    slug.wait_for("It serves.");
    slug.wait_for("1 job");
    slug
}

#[test]
fn a_job_is_seen_at_work_and_ended_with_the_key() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = begun(&env, &server);
    slug.say("/jobs");
    slug.wait_for("Output of job 1");
    slug.wait_for("\n listening");
    assert!(!slug.screen().contains("\n it-went"), "{}", slug.screen());
    env.write("go", "");
    slug.wait_for("\n it-went");
    slug.wait_for("running 0:0");
    slug.keys("x");
    slug.wait_for_question("x again ends job 1");
    slug.keys("x");
    slug.wait_for("killed after");
    slug.keys(key::ESC);
    slug.wait_for("It serves.");
    slug.wait_for_no("1 job");
    slug.quit();
    server.assert_clean();
}

#[test]
fn a_new_session_says_which_jobs_have_ended() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = begun(&env, &server);
    slug.say("/new");
    slug.wait_for("The job `echo listening");
    slug.wait_for_no("1 job");
    slug.quit();
    server.assert_clean();
}

#[test]
fn ten_megabytes_in_one_go_are_followed_to_their_end() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let many = "while [ ! -e go ]; do sleep 0.05; done; seq 1500000; echo the-end; exec sleep 1000";
    server.reply(starts(many));
    server.reply(ServerReply::text("It counts."));
    let mut slug = PtySlug::chat_with(&env, &server, &["--yolo"]);
    slug.say("count");
    slug.wait_for("It counts.");
    slug.say("/jobs");
    slug.wait_for("No output yet.");
    env.write("go", "");
    slug.wait_for("\n the-end");
    slug.wait_for("10.9 MB");
    slug.keys(key::ESC);
    slug.wait_for("It counts.");
}

#[test]
fn in_linear_mode_the_jobs_are_listed_with_their_last_lines() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(starts("echo listening; exec sleep 1000"));
    server.reply(ServerReply::text("It serves."));
    let args = ["--linear", "--yolo"];
    let mut slug = PtySlug::at(&env, 100, 30).server(&server).args(&args).open();
    slug.wait_for_raw("a prompt", |raw| raw.ends_with("You: "));
    slug.keys("/jobs\r");
    slug.wait_for_raw("no jobs", |raw| raw.contains("No jobs. A job is a command"));
    slug.keys("serve it\r");
    slug.wait_for_raw("an answer", |raw| raw.contains("It serves.") && raw.ends_with("You: "));
    slug.keys("/jobs\r");
    slug.wait_for_raw("the list", |raw| {
        raw.contains("1 running") && raw.contains("exec sleep 1000: running 0:")
    });
    slug.wait_for_raw("its output", |raw| raw.contains("\r\n  listening\r\n"));
    slug.keys("/quit\r");
    slug.wait_for_raw("the question", |raw| raw.contains("again to quit"));
    slug.keys("/quit\r");
    assert!(slug.wait().success());
}
