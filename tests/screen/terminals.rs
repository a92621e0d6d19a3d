//! slug in terminals that cannot be run in a test: what each sets in the environment, answers to the
//! query for its background, and sends for keys. `tests/terminals/run.sh` runs slug in real ones.

use crate::screen::exit::is_given_back;
use crate::support::model_server::ModelServer;
use crate::support::terminal::PtySlug;
use crate::support::test_env::TestEnv;

#[test]
fn xterm_sends_escape_for_alt_while_slug_runs() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = PtySlug::at(&env, 100, 24)
        .server(&server)
        .env("TERM", "xterm")
        .env("XTERM_VERSION", "XTerm(379)")
        .open();
    slug.wait_for("ctrl+j newline");
    slug.wait_for_raw("alt taken", |raw| raw.contains("\x1b[?1036s\x1b[?1036h"));
    slug.keys("/quit\r");
    assert!(slug.wait().success());
    is_given_back(&slug);
    slug.wait_for_raw("alt given back", |raw| raw.rfind("\x1b[?1036r") > raw.rfind("\x1b[?1049l"));
}

#[test]
fn in_gnu_screen_the_mouse_is_not_taken_so_that_escape_comes_at_once() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    for (name, taken) in [("STY", false), ("OTHER", true)] {
        let pty = PtySlug::at(&env, 100, 24).server(&server).env(name, "1.pts-0.host");
        let mut slug = pty.open();
        slug.wait_for("enter send");
        assert_eq!(slug.raw().contains("\x1b[?1000h"), taken, "{name}");
        slug.quit();
    }
}

/// The variables of a terminal, its answer to the query for the background, and the bytes of keys:
/// a new line, and alt+left.
type RecordedTerminal =
    (&'static [(&'static str, &'static str)], &'static str, &'static str, &'static str);

const RECORDED: [RecordedTerminal; 7] = [
    (&[("WT_SESSION", "guid")], "\x1b]11;rgb:0c0c/0c0c/0c0c\x1b\\", "\n", "\x1b[1;3D"),
    (
        &[("TERM_PROGRAM", "WezTerm"), ("COLORTERM", "truecolor")],
        "\x1b]11;rgb:0000/0000/0000\x1b\\",
        "\n",
        "\x1b[1;3D",
    ),
    (
        &[("TERM_PROGRAM", "vscode"), ("COLORTERM", "truecolor")],
        "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
        "\x1b\r",
        "\x1b[1;3D",
    ),
    (&[("TERM_PROGRAM", "Apple_Terminal")], "\x1b]11;rgb:ffff/ffff/ffff\x07", "\x1b\r", "\x1bb"),
    (
        &[("TERM_PROGRAM", "iTerm.app"), ("COLORTERM", "truecolor")],
        "\x1b]11;rgb:fefe/ffff/ffff\x07",
        "\x1b\r",
        "\x1b\x1b[D",
    ),
    (
        &[("TERM", "xterm-ghostty"), ("TERM_PROGRAM", "ghostty")],
        "\x1b]11;rgb:2828/2c2c/3434\x1b\\",
        "\x1b[13;2u",
        "\x1b[1;3D",
    ),
    (
        &[("TERM", "rxvt-unicode-256color")],
        "\x1b]11;rgb:0000/0000/0000\x1b\\",
        "\x1b\r",
        "\x1b\x1b[D",
    ),
];

#[test]
fn what_other_terminals_answer_and_send_is_understood() {
    for (variables, background, newline, alt_left) in RECORDED {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let mut pty = PtySlug::at(&env, 100, 24).server(&server);
        for (name, value) in variables {
            pty = pty.env(name, value);
        }
        let mut slug = pty.open();
        slug.wait_for("enter send");
        slug.wait_for_raw("the query", |raw| raw.contains("\x1b]11;?\x1b\\"));
        slug.keys(background);
        slug.keys("one two");
        slug.wait_for("❯ one two");
        slug.keys(alt_left);
        slug.keys("X");
        slug.wait_for("❯ one Xtwo");
        slug.keys(newline);
        slug.keys("Y");
        slug.wait_until("a second line", |screen| {
            screen.contains("❯ one X") && screen.lines().any(|line| line.trim() == "Ytwo")
        });
    }
}
