//! `slug eval`: tasks that check themselves, played from transcripts and run with scripted models.

use std::fs;

use serde_json::Value;

use crate::bash;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::skip::sandbox_or_skip;
use crate::support::test_env::TestEnv;

const TRANSCRIPT: &str = "pace = 100000\n[[response]]\n[[response.step]]\ncall = \"Bash\"\n\
    input = { command = \"touch done\" }\n[[response]]\n[[response.step]]\nsay = \"Done.\"\n";

/// Writes a task whose environment has a script that sets it up.
fn task(env: &TestEnv, name: &str, check: &str) {
    let file = |path: &str, text: &str| env.write(&format!("tasks/{name}/{path}"), text);
    file("task.toml", "[metadata]\nkind = \"test\"\n[agent]\ntimeout_sec = 3\n");
    file("instruction.md", "Make the file `done`.\n");
    file("environment/setup.sh", "touch made; rm setup.sh\n");
    file("tests/test.sh", check);
}

fn report(env: &TestEnv) -> Value {
    serde_json::from_str(&fs::read_to_string(env.path("out.json")).unwrap()).unwrap()
}

fn of<'a>(report: &'a Value, field: &str, value: &str) -> &'a Value {
    let results = report["results"].as_array().unwrap();
    results.iter().find(|it| it[field] == value).unwrap()
}

#[test]
fn transcripts_are_played_and_checked() {
    let env = TestEnv::new();
    task(&env, "good", "test -f done && test -f made");
    task(&env, "bad", "echo not yet; exit 1");
    task(&env, "without", "true");
    for name in ["good", "bad"] {
        env.write(&format!("tasks/{name}/transcript.toml"), TRANSCRIPT);
    }
    let ran = env.run(&[
        "--yolo",
        "eval",
        "tasks",
        "--transcripts",
        "--jobs",
        "2",
        "--out",
        "out.json",
        "--keep",
        "kept",
    ]);
    let ran = ran.assert_exit_code(1);
    assert!(ran.out.contains("good  pass 2 rounds"), "{}", ran.describe());
    let report = report(&env);
    assert_eq!(report["results"].as_array().unwrap().len(), 2);
    let (good, bad) = (of(&report, "task", "good"), of(&report, "task", "bad"));
    assert_eq!((&good["passed"], &good["rounds"]), (&true.into(), &2.into()));
    assert_eq!((&good["calls"], &good["outcome"]), (&1.into(), &"answered".into()));
    assert_eq!((&bad["passed"], &bad["problem"]), (&false.into(), &"not yet".into()));
    assert_eq!(
        (&report["models"][0]["passed"], &report["models"][0]["tasks"]),
        (&1.into(), &2.into())
    );
    assert!(env.path("kept/good/work/done").exists());
    assert!(env.path("kept/good/sessions").exists());
    assert!(!env.path("done").exists());
    // The user's own sessions are not among them.
    assert!(env.run(&["sessions", "list"]).assert_exit_code(0).out.lines().count() <= 1);
}

#[test]
fn the_sandbox_is_around_the_copy_of_each_run() {
    let env = TestEnv::new();
    if sandbox_or_skip(&env.workspace()).is_none() {
        return;
    }
    task(&env, "good", "test -f done && ! test -f ../../out");
    let script = TRANSCRIPT.replace("touch done", "touch done; touch ../../out ../out || true");
    env.write("tasks/good/transcript.toml", &script);
    let ran = env.run(&["--sandbox", ".", "eval", "tasks", "--transcripts", "--keep", "kept"]);
    ran.assert_exit_code(0);
    assert!(env.path("kept/good/work/done").exists() && !env.path("kept/good/out").exists());
}

#[test]
fn models_are_compared_on_the_same_task() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    task(&env, "good", "test -f done");
    server.reply(bash("c1", "touch done"));
    server.reply(ServerReply::text("Done."));
    server.reply(ServerReply::text("I cannot."));
    let arguments = ["--yolo", "eval", "tasks/good", "--models", "big,small", "--out", "out.json"];
    env.ask(&server, &arguments).assert_exit_code(1);
    let report = report(&env);
    let (big, small) = (of(&report, "model", "big"), of(&report, "model", "small"));
    assert_eq!((&big["passed"], &small["passed"]), (&true.into(), &false.into()));
    let asked: Vec<_> = server.chat_requests().iter().map(|it| it.body["model"].clone()).collect();
    assert_eq!(asked, ["big", "big", "small"]);
    assert_eq!(report["models"].as_array().unwrap().len(), 2);
}

#[test]
fn a_model_that_never_ends_is_stopped_and_its_work_is_checked() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    task(&env, "good", "test -f done");
    server.reply(bash("c1", "touch done; sleep 300"));
    let ran = env.ask(&server, &["--yolo", "eval", "tasks", "--out", "out.json"]);
    ran.assert_exit_code(0);
    let report = report(&env);
    assert_eq!(of(&report, "task", "good")["outcome"], "interrupted");
}

#[test]
fn where_somebody_would_be_asked_nothing_runs() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    task(&env, "good", "test -f done");
    let ran = env.ask(&server, &["eval", "tasks"]);
    let ran = ran.assert_exit_code(1);
    assert!(ran.err.contains("--sandbox"), "{}", ran.describe());
    assert!(server.chat_requests().is_empty());
    let ran = env.run(&["--yolo", "eval", "nowhere"]);
    assert!(ran.code == Some(1) && ran.err.contains("nowhere"), "{}", ran.describe());
}
