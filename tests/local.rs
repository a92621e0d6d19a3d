//! Models whose server slug runs: a scripted `llama-server` (`tests/local/server.py`) on the PATH, and a
//! file that is a model's head.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use slug_code::local::{LocalServer, LocalServerFolder, LocalServerPlan, ModelFile};
use slug_code::net::{HttpClient, HttpEndpoint, PlainHttp, TransportConfig};
use slug_code::platform::environment::EnvironmentRules;
use tempfile::TempDir;

use super::support::model_server::wait_until;
use super::support::process_host::process_host;
use super::support::skip::skip;
use super::support::terminal::PtySlug;
use super::support::test_env::{HeadlessOutput, TestEnv, pid};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/local/server.py");

/// A folder with a model file, and a `llama-server` that does what files beside it say.
struct LocalModelEnv {
    env: TestEnv,
    folder: PathBuf,
}

impl LocalModelEnv {
    /// Skips the test where Python is missing, which plays the server.
    fn new_or_skip() -> Option<Self> {
        if !has_python() {
            return None;
        }
        let env = TestEnv::new();
        let folder = env.home().join("models");
        write_script(&folder);
        Some(Self { env, folder })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn model(&self) -> String {
        self.at("tiny.gguf").to_str().unwrap().to_owned()
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }

    /// The PATH with the scripted server in front.
    fn path(&self) -> String {
        format!("{}:{}", self.at("bin").display(), std::env::var("PATH").unwrap())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.command(&["--trust-workspace"]);
        command.args(arguments).env("PATH", self.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> HeadlessOutput {
        HeadlessOutput::of(&self.command(arguments).output().unwrap())
    }

    fn ask(&self) -> HeadlessOutput {
        self.run(&["--local", &self.model(), "-p", "hello"])
    }

    /// The arguments of each start.
    fn starts(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(self.at("starts")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn chat(&self) -> PtySlug {
        let model = self.model();
        let builder = PtySlug::at(&self.env, 80, 24).env("PATH", &self.path());
        let mut slug = builder.args(&["--trust-workspace", "--local", &model]).open();
        slug.wait_for("tiny");
        slug
    }
}

/// A model's head: what it is and a window of 32,768 tokens.
fn gguf() -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let mut head = b"GGUF\x03\0\0\0".to_vec();
    head.extend([0_u64.to_le_bytes(), 2_u64.to_le_bytes()].concat());
    head.extend([text("general.architecture"), 8_u32.to_le_bytes().into(), text("tiny")].concat());
    head.extend(text("tiny.context_length"));
    head.extend([&4_u32.to_le_bytes()[..], &32_768_u32.to_le_bytes()].concat());
    head
}

fn write_script(folder: &Path) {
    fs::create_dir_all(folder.join("bin")).unwrap();
    fs::write(folder.join("tiny.gguf"), gguf()).unwrap();
    let program = folder.join("bin/llama-server");
    let script = folder.display();
    let text = format!("#!/bin/sh\nSCRIPT='{script}' exec python3 '{SERVER}' \"$@\"\n");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

fn has_python() -> bool {
    let has = Command::new("python3").arg("--version").output().is_ok();
    if !has {
        skip("python3 is missing");
    }
    has
}

fn is_running(pid: rustix::process::Pid) -> bool {
    rustix::process::test_kill_process(pid).is_ok()
}

#[test]
fn a_server_is_started_asked_and_ended_with_slug() {
    let Some(local) = LocalModelEnv::new_or_skip() else { return };
    let answered = local.ask().assert_exit_code(0);
    assert_eq!(answered.out.trim(), "Good morning.", "{}", answered.describe());
    let [arguments] = &local.starts()[..] else { panic!("{:?}", local.starts()) };
    let value = |flag: &str| {
        let at = arguments.iter().position(|it| it == flag);
        at.map(|at| arguments[at + 1].as_str())
            .unwrap_or_else(|| panic!("no {flag}: {arguments:?}"))
    };
    assert_eq!((value("--alias"), value("--ctx-size")), ("tiny", "32768"));
    assert!(arguments.contains(&"--offline".to_owned()), "{arguments:?}");
    // What its help does not list is not used.
    assert!(!arguments.contains(&"--cache-ram".to_owned()), "{arguments:?}");
    // Nobody else can enter the folder of the socket and the key.
    let folder = Path::new(value("--host")).parent().unwrap();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let key = fs::metadata(value("--api-key-file")).unwrap().permissions().mode();
    assert_eq!(key & 0o777, 0o600);
    let server = pid(&local.at("pid"));
    assert!(wait_until(|| !is_running(server)), "the server still runs");
}

#[test]
fn loading_is_shown_until_the_model_answers() {
    let Some(local) = LocalModelEnv::new_or_skip() else { return };
    local.put("loading", "");
    let mut slug = local.chat();
    slug.wait_for("loading");
    slug.say("hello");
    slug.wait_for("Loading");
    fs::remove_file(local.at("loading")).unwrap();
    slug.wait_for("Good morning.");
    slug.wait_until("the window in the first line", |screen| {
        let first = screen.lines().next().unwrap_or_default();
        first.contains("32.8k") && !first.contains("loading")
    });
    let server = pid(&local.at("pid"));
    slug.quit();
    assert!(wait_until(|| !is_running(server)), "the server still runs");
}

#[test]
fn one_that_ends_while_it_loads_is_told_with_its_last_words_and_not_started_again() {
    let Some(local) = LocalModelEnv::new_or_skip() else { return };
    local.put("dies_loading", "0.01.2 I srv load: reading\n0.01.3 E failed to allocate buffer\n");
    let failed = local.ask().assert_exit_code(1);
    let said = failed.err.as_str();
    assert!(said.contains("llama-server ended with status 1 while it loaded"), "{said}");
    assert!(said.contains("failed to allocate buffer"), "{said}");
    assert!(said.contains("--local-context"), "{said}");
    assert_eq!(local.starts().len(), 1);
}

#[test]
fn one_that_ends_in_mid_answer_is_started_again() {
    let Some(local) = LocalModelEnv::new_or_skip() else { return };
    local.put("dies_answering", "the card was unplugged\n");
    let answered = local.ask().assert_exit_code(0);
    assert_eq!(answered.out.trim(), "Good morning.", "{}", answered.describe());
    assert!(answered.err.contains("the card was unplugged"), "{}", answered.err);
    assert_eq!(local.starts().len(), 2);
}

#[test]
fn sessions_of_one_file_share_a_server_and_another_takes_over() {
    let Some(local) = LocalModelEnv::new_or_skip() else { return };
    let mut first = local.chat();
    first.say("hello");
    first.wait_for("Good morning.");
    let mut second = local.chat();
    second.say("hello");
    second.wait_for("Good morning.");
    assert_eq!(local.starts().len(), 1);
    let server = pid(&local.at("pid"));
    first.kill();
    assert!(wait_until(|| !is_running(server)), "the server still runs");
    second.say("and again");
    second.wait_until("a second answer", |screen| screen.matches("Good morning.").count() == 2);
    assert_eq!(local.starts().len(), 2);
}

#[test]
fn what_cannot_work_is_refused_with_the_flag_to_set() {
    let Some(local) = LocalModelEnv::new_or_skip() else { return };
    let model = local.model();
    let refused = |arguments: &[&str], said: &str| {
        let failed = local.run(arguments).assert_exit_code(1);
        assert!(failed.err.contains(said), "{}", failed.describe());
    };
    refused(&["--local", &model, "--local-context", "4096", "-p", "x"], "--local-context 32768");
    refused(&["--local", "/nowhere/x.gguf", "-p", "x"], "slug models local");
    local.put("other.gguf", "this is no model, only a text");
    let other = local.at("other.gguf");
    refused(&["--local", other.to_str().unwrap(), "-p", "x"], "GGUF");
    assert!(local.starts().is_empty());
    local.put("old", "");
    refused(&["--local", &model, "-p", "x"], "Update llama.cpp");
    assert!(local.starts().is_empty());
    let failed =
        local.command(&["--local", &model, "-p", "x"]).env("PATH", "/usr/bin:/bin").output();
    let failed = HeadlessOutput::of(&failed.unwrap());
    assert!(failed.err.contains("no `llama-server` on the PATH"), "{}", failed.describe());
}

#[test]
fn a_served_window_that_is_too_small_is_refused_and_a_small_one_warned_about() {
    let Some(local) = LocalModelEnv::new_or_skip() else { return };
    let program = local.at("bin/llama-server");
    let text = fs::read_to_string(&program).unwrap();
    fs::write(&program, text.replace("SCRIPT=", "SERVED=4096 SCRIPT=")).unwrap();
    let failed = local.ask().assert_exit_code(1);
    assert!(failed.err.contains("window has 4.1k tokens"), "{}", failed.describe());
    fs::write(&program, text).unwrap();
    let model = local.model();
    let small = local.run(&["--local", &model, "--local-context", "10000", "-p", "x"]);
    let small = small.assert_exit_code(0);
    assert!(small.err.contains("The window of 10k tokens is small"), "{}", small.describe());
}

#[test]
fn the_configuration_names_a_model_and_a_server_that_it_names_counts_more() {
    let Some(local) = LocalModelEnv::new_or_skip() else { return };
    let text =
        "[local]\nmodel = \"~/models/tiny.gguf\"\ncontext = 20000\nargs = [\"--flag\", \"a b\"]\n";
    local.env.write_home("config.toml", text);
    let answered = local.run(&["-p", "hello"]).assert_exit_code(0);
    assert_eq!(answered.out.trim(), "Good morning.", "{}", answered.describe());
    let starts = local.starts();
    assert!(starts[0].join(" ").ends_with("--flag a b"), "{starts:?}");
    assert!(starts[0].contains(&"20000".to_owned()), "{starts:?}");
    let doctor = local.run(&["doctor"]);
    assert!(doctor.out.contains("window of 20k tokens"), "{}", doctor.describe());
    local.run(&["-e", "http://127.0.0.1:9/v1", "-m", "x", "-p", "x"]).assert_exit_code(1);
    local.env.write_home("config.toml", "[local]\nmodel = \"x\"\nargs = [\"--hf-repo=a/b\"]\n");
    let failed = local.ask().assert_exit_code(1);
    assert!(failed.err.contains("does not start a server with `--hf-repo`"), "{}", failed.err);
    assert_eq!(local.starts().len(), 1);
}

#[test]
fn files_are_listed_with_what_fits() {
    let Some(local) = LocalModelEnv::new_or_skip() else { return };
    let listed = local.run(&["models", "local"]).assert_exit_code(0);
    assert!(listed.out.contains("~/models/tiny.gguf"), "{}", listed.describe());
    assert!(listed.out.contains("slug --local ~/models/tiny.gguf"), "{}", listed.describe());
    let rows = local.run(&["models", "local", "--json"]).json();
    assert_eq!(rows[0]["trained_window"], Value::from(32_768));
    assert!(local.starts().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_never_gets_ready_is_ended() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().unwrap();
    write_script(folder.path());
    fs::write(folder.path().join("loading"), "").unwrap();
    let root = folder.path().join("state");
    let state = LocalServerFolder::open(&root, "tiny").unwrap();
    let transport =
        TransportConfig { unix_socket: Some(state.socket()), ..TransportConfig::default() };
    let plan = LocalServerPlan {
        model: ModelFile::open(&folder.path().join("tiny.gguf")).unwrap(),
        window: 32_768,
        program: folder.path().join("bin/llama-server").to_str().unwrap().to_owned(),
        args: Vec::new(),
        search_path: std::env::var_os("PATH").unwrap(),
        cache_megabytes: 256,
        load_limit: Duration::ZERO,
    };
    let processes = Arc::new(process_host(std::env::vars_os(), &EnvironmentRules::default()));
    let http = Arc::new(HttpClient::with_transport(transport));
    let endpoint = HttpEndpoint::parse("http://localhost/v1", PlainHttp::LoopbackOnly).unwrap();
    let server = LocalServer::new(plan, state, processes, (http, endpoint));
    let error = server.ready().await.unwrap_err().to_string();
    assert!(error.contains("has not become ready"), "{error}");
    // The same failure stands for a question that follows at once.
    assert_eq!(server.ready().await.unwrap_err().to_string(), error);
}
