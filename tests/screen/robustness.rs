//! A terminal that stops reading, is resized all the time, stops and continues slug, or goes away
//! at the worst moment.

use rustix::process::Signal;

use super::exit::is_given_back;
use crate::bash;
use crate::support::model_server::{ModelServer, ReplyGate, ServerReply, wait_until};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

/// A reply with more text than a pseudo-terminal and slug's own frames can buffer.
fn long_answer() -> ServerReply {
    let words: Vec<String> = (0..4000).map(|n| format!("line {n} of a long answer\n\n")).collect();
    ServerReply::words(words.iter().map(String::as_str).chain(["the very end"]))
}

/// Whether the log of the only session contains this text.
fn log_has(env: &TestEnv, text: &str) -> bool {
    let Ok(files) = std::fs::read_dir(env.slug_home().join("sessions")) else { return false };
    let logs = files.map(|file| file.unwrap().path());
    logs.filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .any(|path| std::fs::read_to_string(path).is_ok_and(|log| log.contains(text)))
}

#[test]
fn a_terminal_that_stops_reading_does_not_stop_the_agent() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(long_answer());
    let mut slug = PtySlug::chat(&env, &server);
    slug.keys("talk");
    slug.wait_for("talk");
    slug.stop_reading();
    slug.keys(key::ENTER);
    assert!(wait_until(|| log_has(&env, "the very end")), "the agent waits for the terminal");
    slug.resume_reading();
    slug.wait_for("the very end");
    slug.quit();
}

#[test]
fn escape_works_while_the_terminal_reads_nothing() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(long_answer().gated(&gate));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("talk");
    gate.let_through(100);
    slug.wait_for("line 9");
    slug.stop_reading();
    gate.let_through(2000);
    slug.keys(key::ESC);
    assert!(wait_until(|| server.aborted_replies() == 1), "the server still generates");
    slug.resume_reading();
    slug.wait_for("You stopped the turn");
}

#[test]
fn slug_ends_though_the_terminal_reads_nothing() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(long_answer());
    let mut slug = PtySlug::chat(&env, &server);
    slug.keys("talk");
    slug.wait_for("talk");
    slug.stop_reading();
    slug.keys(key::ENTER);
    assert!(wait_until(|| log_has(&env, "the very end")));
    slug.signal(Signal::TERM);
    assert_eq!(slug.wait().signal(), Some("Terminated"));
    assert!(slug.edits_lines(), "the terminal is still raw");
}

#[test]
fn a_signal_at_any_moment_gives_the_terminal_back_and_keeps_what_was_said() {
    let signals = [
        (Signal::TERM, "Terminated"),
        (Signal::HUP, "Hangup"),
        (Signal::QUIT, "Quit"),
        (Signal::INT, "Interrupt"),
    ];
    // Positions in the output, in bytes: in the first frame, while the message is typed, in the
    // answer.
    for (round, bytes) in [1, 300, 900, 1_400, 1_800, 2_200, 2_600, 3_000].into_iter().enumerate() {
        let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
        server.reply(long_answer().gated(&gate));
        let (signal, name) = signals[round % signals.len()];
        let mut slug = PtySlug::at(&env, 100, 30).server(&server).open();
        if round > 2 {
            slug.wait_for("test-model");
            slug.say("talk");
            assert!(wait_until(|| log_has(&env, "talk")), "it is not taken in");
        }
        // Piece by piece: an answer that comes at once can be painted in one short frame.
        slug.wait_for_raw(&format!("{bytes} bytes"), |raw| {
            gate.let_through(1);
            raw.len() >= bytes
        });
        slug.signal(signal);
        let status = slug.wait();
        assert!(status.signal().is_some_and(|it| it.starts_with(name)), "{bytes}: {status:?}");
        is_given_back(&slug);
        assert!(round <= 2 || log_has(&env, "talk"), "it is no longer on the disk");
    }
}

#[test]
fn ctrl_z_stops_slug_under_a_shell_and_fg_goes_on() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::text("one two three four five").gated(&gate));
    let mut slug = PtySlug::at(&env, 100, 30).server(&server).in_shell().open();
    // The model's name is no sign of a started slug: the command holds it, and the shell shows that
    // first.
    slug.wait_for("What should I do?");
    slug.say("count");
    gate.let_through(3);
    slug.wait_for("one two");
    slug.keys(key::CTRL_Z);
    slug.wait_for("Stopped");
    is_given_back(&slug);
    slug.keys("echo from the $((1+1))nd program\n");
    slug.wait_for("from the 2nd program");
    slug.resize(80, 20);
    slug.keys("fg\n");
    slug.wait_for("one two");
    slug.wait_for_no("2nd program");
    gate.open();
    slug.wait_for("four five");
    slug.keys("/quit\r");
    slug.wait_for("To continue this session");
    slug.keys("exit\n");
    assert!(slug.wait().success());
}

#[test]
fn a_stop_from_outside_gives_the_terminal_back_and_one_that_cannot_is_made_good() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = PtySlug::at(&env, 100, 30).server(&server).in_shell().open();
    slug.wait_for("What should I do?");
    slug.keys("half a thought");
    slug.wait_for("half a thought");
    for (signal, more) in
        [(Signal::TSTP, "half a thought more"), (Signal::STOP, "thought more more")]
    {
        slug.signal_child(signal);
        slug.wait_for("Stopped");
        slug.keys("fg\n");
        slug.wait_for("half a thought");
        slug.wait_for_no("Stopped");
        slug.keys(" more");
        slug.wait_for(more);
    }
    slug.keys("\x03/quit\r");
    slug.wait_for("shell>");
    is_given_back(&slug);
}

#[test]
fn the_editor_and_back_keep_the_screen() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = PtySlug::at(&env, 100, 30)
        .server(&server)
        .env(
            "EDITOR",
            "bash -c 'echo IN THE EDITOR; echo a complaint >&2; read; echo more >> \"$0\"'",
        )
        .open();
    slug.wait_for("test-model");
    slug.keys("half a thought");
    slug.wait_for("half a thought");
    slug.keys(key::CTRL_G);
    slug.wait_for("a complaint");
    is_given_back(&slug);
    slug.keys("\n");
    slug.wait_for("more");
    slug.wait_for_no("IN THE EDITOR");
    slug.wait_for("half a thought");
}

#[test]
fn a_storm_of_sizes_ends_with_a_whole_screen() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(long_answer().gated(&gate));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("talk");
    let sizes = [(1, 1), (20, 5), (500, 200), (3, 2), (80, 24), (0, 0), (200, 60), (41, 9)];
    for _ in 0..25 {
        for (columns, rows) in sizes {
            slug.resize_pty_only(columns, rows);
            gate.let_through(20);
        }
    }
    gate.open();
    slug.resize(100, 30);
    slug.wait_for("the very end");
    slug.quit();
}

#[test]
fn a_key_at_the_instant_of_a_resize_is_not_left_behind() {
    let env = TestEnv::new();
    let server = ModelServer::start();
    let mut slug = PtySlug::chat(&env, &server);
    let mut typed = String::from("❯ ");
    for round in 0..40_u16 {
        typed.push('x');
        slug.resize(100 + round % 2, 30);
        slug.keys("x");
        slug.resize(100 + round % 2, 31);
        // No other key follows that could make slug read this one.
        slug.wait_for(&typed);
    }
}

#[test]
fn a_question_outlives_a_storm_of_sizes() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("It is there."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("make it");
    slug.wait_for_dialog("touch made");
    for round in 0..100_u16 {
        slug.resize_pty_only(1 + round * 5 % 300, 1 + round * 3 % 90);
    }
    slug.resize(100, 30);
    slug.answer("touch made", "y");
    slug.wait_for("It is there.");
    assert!(env.path("made").exists());
    slug.quit();
}
