//! `slug serve`: one session, many clients of a socket, and those that mean no good.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::json;

use super::stream_client::StreamClient;
use crate::support::model_server::{ModelServer, ReplyGate, ServerReply, wait_until};
use crate::support::skip::skip;
use crate::support::test_env::{HeadlessOutput, TestEnv};
use crate::{bash, result_of};

/// A daemon with its socket; ended when dropped.
pub(super) struct ServedSession {
    child: Child,
    pub(super) path: PathBuf,
}

impl ServedSession {
    pub(super) fn start(env: &TestEnv, server: &ModelServer) -> Self {
        Self::start_with(env.command_to(server, &["serve", "--socket"]), socket_path(env))
    }

    fn start_with(mut command: Command, path: PathBuf) -> Self {
        let mut child = command.arg(&path).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("Serving at "), "{line:?}");
        Self { child, path }
    }

    /// A client that has heard how things stand.
    pub(super) fn client(&self) -> StreamClient {
        let mut client = StreamClient::connected(&self.path);
        client.next_of("access");
        client
    }

    pub(super) fn writer(&self) -> StreamClient {
        let mut client = self.client();
        client.send(json!({"type": "write"}));
        assert_eq!(client.next_of("access")["writer"], "you");
        client
    }

    pub(super) fn ends_well(mut self) {
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        assert!(!self.path.exists());
    }

    /// The most memory that it has used, in megabytes.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    }
}

impl Drop for ServedSession {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn socket_path(env: &TestEnv) -> PathBuf {
    env.home().join("sockets/a.sock")
}

#[test]
fn one_client_writes_all_read_and_the_next_takes_over() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("First."));
    server.reply(ServerReply::text("Second."));
    let served = ServedSession::start(&env, &server);
    let (mut one, mut two) = (served.writer(), served.client());
    for command in [json!({"type": "interrupt"}), json!({"type": "end"})] {
        two.send(command);
        let refused = two.next_of("error");
        assert!(refused["message"].as_str().unwrap().contains("this one reads"), "{refused}");
    }
    two.send(json!({"type": "write"}));
    assert_eq!(two.next_of("access")["writer"], "other");
    one.say("go");
    for client in [&mut one, &mut two] {
        assert_eq!(client.next_of("result")["text"], "First.");
    }
    one.close();
    assert_eq!(two.next_of("access")["writer"], "nobody");
    assert!(one.rest().is_empty(), "it has left");
    two.send(json!({"type": "write"}));
    assert_eq!(two.next_of("access")["writer"], "you");
    two.say("again");
    assert_eq!(two.next_of("result")["text"], "Second.");
    two.send(json!({"type": "end"}));
    assert!(two.rest().is_empty());
    served.ends_well();
}

#[test]
fn a_new_client_gets_the_conversation_what_streams_and_the_open_question() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("First."));
    server.reply(bash("c1", "touch made.txt"));
    server.reply(ServerReply::words(["Once ", "upon ", "a time."]).gated(&gate));
    let served = ServedSession::start(&env, &server);
    let mut writer = served.writer();
    writer.say("hello");
    writer.next_of("result");
    writer.say("go");
    let asked = writer.next_of("approval_asked");
    let mut late = StreamClient::connected(&served.path);
    late.next_of("access");
    let kinds: Vec<&str> = late.seen.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let expected =
        ["session", "user", "message", "user", "message", "state", "approval_asked", "access"];
    assert_eq!(kinds, expected);
    assert_eq!(late.seen[6]["id"], asked["id"]);
    writer.send(json!({"type": "approval", "id": asked["id"], "allow": true}));
    gate.let_through(2);
    writer.next_of("text");
    let mut later = StreamClient::connected(&served.path);
    assert_eq!(later.next_of("state")["running"], true);
    assert!(later.next_of("text")["text"].as_str().unwrap().starts_with("Once"));
    gate.open();
    for client in [&mut writer, &mut late, &mut later] {
        assert_eq!(client.next_of("result")["text"], "Once upon a time.");
    }
    writer.send(json!({"type": "end"}));
    served.ends_well();
}

#[test]
fn sigterm_ends_it_well() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::words(["Once ", "upon ", "a time."]).gated(&gate));
    let mut served = ServedSession::start(&env, &server);
    let mut writer = served.writer();
    writer.say("a story");
    gate.let_through(2);
    writer.next_of("text");
    let pid = Pid::from_raw(i32::try_from(served.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(writer.next_of("result")["error"]["kind"], "interrupted");
    assert!(writer.rest().is_empty());
    assert_eq!(served.child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    assert!(!served.path.exists());
    let id = writer.seen[0]["id"].as_str().unwrap();
    let log =
        std::fs::read_to_string(env.slug_home().join(format!("sessions/{id}.jsonl"))).unwrap();
    assert!(log.contains("Once ") && log.contains("turn_end"), "{log}");
}

#[test]
fn s103_the_socket_is_made_only_where_it_is_the_users_alone() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let folder = env.home().join("open");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let serve = |path: &Path| {
        let mut command = env.command_to(&server, &["serve", "--socket"]);
        HeadlessOutput::of(&command.arg(path).output().unwrap())
    };
    let ran = serve(&folder.join("a.sock")).assert_exit_code(1);
    assert!(ran.err.contains("chmod 700"), "{}", ran.describe());
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    // What a dead process leaves.
    drop(UnixListener::bind(folder.join("a.sock")).unwrap());
    let command = env.command_to(&server, &["serve", "--socket"]);
    let served = ServedSession::start_with(command, folder.join("a.sock"));
    assert_eq!(served.path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let ran = serve(&served.path).assert_exit_code(1);
    assert!(ran.err.contains("is served at"), "{}", ran.describe());
    // The first one is as it was.
    served.writer().send(json!({"type": "end"}));
    served.ends_well();
}

#[test]
fn hostile_clients_cost_little_and_harm_nobody() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Still here."));
    let served = ServedSession::start(&env, &server);
    let mut writer = served.writer();
    // Half a line, and gone.
    served.client().send_bytes(b"{\"type\":\"us");
    // No text at all.
    let mut binary = served.client();
    binary.send_bytes(b"\0\xff\xfe\x1b[2J\n");
    assert_eq!(binary.next_of("error")["line"], 1);
    // A line without an end: 100 MB of it.
    let mut endless = served.client();
    let megabyte = vec![b'x'; 1 << 20];
    (0..100).for_each(|_| endless.send_bytes(&megabyte));
    endless.send_bytes(b"\n");
    assert!(endless.next_of("error")["message"].as_str().unwrap().contains("longer than 16 MB"));
    // More connections than there may be, all open at once.
    let many: Vec<UnixStream> =
        (0..1000).filter_map(|_| UnixStream::connect(&served.path).ok()).collect();
    assert!(many.len() > 900, "{}", many.len());
    let mut last = String::new();
    BufReader::new(many.last().unwrap()).read_line(&mut last).unwrap();
    assert!(last.contains("clients are connected"), "{last}");
    drop(many);
    let memory = served.memory();
    assert!(memory < 200, "{memory} MB");
    writer.say("are you there?");
    assert_eq!(writer.next_of("result")["text"], "Still here.");
    // Those that have left make room.
    assert!(wait_until(|| {
        let mut line = String::new();
        let stream = UnixStream::connect(&served.path).unwrap();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.contains("\"session\"")
    }));
    writer.send(json!({"type": "end"}));
    served.ends_well();
}

#[test]
fn a_client_that_does_not_read_is_dropped_and_holds_nothing_up() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let served = ServedSession::start(&env, &server);
    let mut writer = served.writer();
    let mut slow = UnixStream::connect(&served.path).unwrap();
    // More lines than may wait for a client, and few enough words for the window.
    let words: Vec<String> = (0..14_000).map(|number| format!("{number} ")).collect();
    server.reply(ServerReply::words(words.iter().map(String::as_str)));
    writer.say("more");
    assert_eq!(writer.next_of("result")["exit"], 0);
    let mut text = Vec::new();
    slow.read_to_end(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let last = text.lines().last().unwrap();
    assert!(last.contains("does not read fast enough"), "{}", &last[..last.len().min(200)]);
    writer.send(json!({"type": "end"}));
    served.ends_well();
}

/// A program that connects, and prints the first line that it hears.
const CONNECT: &str = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); \
    print(s.makefile().readline())";

#[test]
fn a_command_of_the_model_may_not_speak_to_slug() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("python3 is missing");
    }
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let path = socket_path(&env);
    server.reply(bash("c1", &format!("python3 -c '{CONNECT}' {}", path.display())));
    server.reply(ServerReply::text("Refused."));
    let served = ServedSession::start(&env, &server);
    let mut writer = served.writer();
    writer.say("go");
    let asked = writer.next_of("approval_asked");
    writer.send(json!({"type": "approval", "id": asked["id"], "allow": true}));
    writer.next_of("result");
    let result = result_of(&server.chat_requests()[1], "c1");
    assert!(result.contains("A program that slug has started"), "{result}");
    writer.send(json!({"type": "end"}));
    served.ends_well();
}

#[test]
fn another_user_is_refused_even_where_the_files_are_open() {
    if !geteuid().is_root() {
        return skip("only root can become another user");
    }
    if Command::new("/usr/bin/python3").arg("--version").output().is_err() {
        return skip("/usr/bin/python3 is missing");
    }
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let served = ServedSession::start(&env, &server);
    let root = env.home().parent().unwrap().to_owned();
    for path in [&root, &env.home(), served.path.parent().unwrap(), &served.path] {
        std::fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    }
    let mut other = Command::new("/usr/bin/python3");
    other.args(["-c", CONNECT]).arg(&served.path).uid(65534).gid(65534).current_dir("/");
    let ran = HeadlessOutput::of(&other.stdin(Stdio::null()).output().unwrap());
    assert!(ran.out.contains("Only the user who runs slug"), "{}", ran.describe());
    let mut own = served.writer();
    own.send(json!({"type": "end"}));
    served.ends_well();
}
