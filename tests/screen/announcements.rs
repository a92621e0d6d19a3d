//! What the terminal is told outside of the frame: the window's title, calls for the user,
//! progress.

use crate::bash;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::PtySlug;
use crate::support::test_env::TestEnv;

const FOCUS_LOST: &str = "\x1b[O";
const TITLE_KEPT: &str = "\x1b[22;2t";
const TITLE_BACK: &str = "\x1b]2;\x07\x1b[23;2t";
const PROGRESS_OFF: &str = "\x1b]9;4;0;\x07";

/// A chat in a terminal that these variables identify.
fn chat_in(env: &TestEnv, server: &ModelServer, variables: &[(&str, &str)]) -> PtySlug {
    let mut start = PtySlug::at(env, 100, 30).server(server);
    for (name, value) in variables {
        start = start.env(name, value);
    }
    let mut slug = start.open();
    slug.wait_for("test-model");
    slug
}

/// Asks a question while the window has no focus, and checks the bytes that call the user.
fn calls(variables: &[(&str, &str)], config: &str, wanted: &str) {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("config.toml", config);
    server.reply(bash("c1", "touch made"));
    let mut slug = chat_in(&env, &server, variables);
    slug.keys(FOCUS_LOST);
    slug.say("make it");
    slug.wait_for_raw(&format!("{wanted:?}"), |raw| raw.contains(wanted));
}

#[test]
fn each_terminal_is_called_in_its_own_way() {
    let text = "shop: Bash needs your answer";
    calls(&[("TERM", "xterm-kitty")], "", &format!("\x1b]99;i=slug:p=body;{text}\x1b\\"));
    let ghostty = [("TERM", "xterm-ghostty")];
    calls(&ghostty, "", &format!("\x1b]777;notify;slug;{text}\x07"));
    let iterm = [("TERM_PROGRAM", "iTerm.app")];
    calls(&iterm, "", &format!("\x1b]9;slug: {text}\x07"));
    let tmux = [("TERM", "xterm-kitty"), ("TMUX", "/tmp/t,1,0")];
    calls(&tmux, "", &format!("{text}\x1b\x1b\\\x1b\\\x07"));
    calls(&[], "[ui]\nnotify = \"osc777\"", &format!("\x1b]777;notify;slug;{text}\x07"));
    // The sequence for the title ends in BEL, too; without a title the only BEL is the bell.
    calls(&[], "[ui]\ntitle = false", "\x07");
}

#[test]
fn the_window_is_named_and_gets_its_old_name_back() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Good morning."));
    let mut slug = chat_in(&env, &server, &[]);
    slug.say("hello there");
    slug.wait_for("Good morning.");
    slug.wait_for_raw("the session's title", |raw| raw.contains("\x1b]2;slug · hello there\x07"));
    slug.keys("/quit\r");
    assert!(slug.wait().success());
    slug.wait_for_raw("its old name", |raw| {
        let kept = raw.find(TITLE_KEPT).unwrap();
        kept < raw.find("\x1b]2;slug").unwrap()
            && raw.rfind(TITLE_BACK) > raw.rfind("\x1b]2;slug")
            && raw.matches(TITLE_KEPT).count() == 1
    });
    slug.wait_for_raw("no progress", |raw| !raw.contains("\x1b]9;"));
}

#[test]
fn progress_is_told_where_it_is_safe_and_taken_off_at_the_end() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    let mut slug = chat_in(&env, &server, &[("WT_SESSION", "1")]);
    slug.say("make it");
    slug.wait_for_dialog("touch made");
    slug.wait_for_raw("busy, then waiting", |raw| {
        raw.find("\x1b]9;4;3;\x07").is_some_and(|busy| Some(busy) < raw.find("\x1b]9;4;4;100\x07"))
    });
    slug.signal(rustix::process::Signal::TERM);
    slug.wait();
    slug.wait_for_raw("progress taken off", |raw| {
        raw.rfind(PROGRESS_OFF) > raw.rfind("\x1b[?1049l")
    });
}

#[test]
fn unwanted_announcements_are_not_sent() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let config = "[ui]\ntitle = false\nprogress = false\nnotify = \"never\"\n";
    env.write_home("config.toml", config);
    server.reply(bash("c1", "touch made"));
    let mut slug = chat_in(&env, &server, &[("WT_SESSION", "1")]);
    slug.keys(FOCUS_LOST);
    slug.say("make it");
    slug.wait_for_dialog("touch made");
    slug.wait_for_raw("nothing but the question for the background", |raw| {
        let told = raw.replace("\x1b]11;?\x1b\\", "");
        !told.contains('\x07') && !told.contains("\x1b]")
    });
}

#[test]
fn the_first_line_shows_what_a_command_says() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let command = "sed 's/.*\"model\":{\"id\":\"\\([^\"]*\\)\".*/[\\1 says hi]/'";
    let config = format!("[ui]\nstatus_command = '''{command}'''\n");
    env.write_home("config.toml", &config);
    let mut slug = chat_in(&env, &server, &[]);
    slug.wait_for("[test-model says hi]");
}
