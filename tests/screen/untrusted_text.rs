//! Foreign text reaches the terminal only as text, wherever it comes from.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;

use crate::bash;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

/// Clears the screen, sets titles, writes to the clipboard, opens links, and sends queries, with
/// both forms of control characters.
const EVIL: &str = "\u{1b}]0;PWN\u{7}\u{1b}]52;c;UFdO\u{7}\u{1b}]8;;http://pwn\u{1b}\\x\
                    \u{1b}]9;PWN\u{7}\u{1b}]777;notify;PWN;PWN\u{7}\u{1b}[21t\u{1b}[>0q\
                    \u{1b}P+q544e\u{1b}\\\u{9b}2J\u{9d}0;PWN\u{9c}\u{7f}\u{202e}\u{e0041}";

/// Parts of it that must never reach the terminal as sequences.
const NEVER: [&str; 14] = [
    "]0;PWN\u{7}",
    "]52;c;UFdO",
    "]8;;http://pwn",
    "]9;PWN",
    "]777;notify;PWN",
    "\u{1b}[21t",
    "\u{1b}[>0q",
    "\u{1b}P+q544e",
    "\u{9b}",
    "\u{9d}",
    "\u{9c}",
    "\u{7f}",
    "\u{202e}",
    "\u{e0041}",
];

#[track_caller]
fn assert_harmless(slug: &PtySlug) {
    let raw = slug.raw();
    for never in NEVER {
        // Without its escape character the sequence is only text.
        let is_sequence = raw.match_indices(never).any(|(at, _)| {
            !never.starts_with(']')
                || raw[..at].ends_with('\u{1b}')
                || raw[..at].ends_with('\u{9d}')
        });
        assert!(!is_sequence, "{never:?} is in what the terminal got");
    }
}

#[test]
fn s73_text_of_models_tools_files_and_servers_is_shown_and_not_obeyed() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write(".git/HEAD", &format!("ref: refs/heads/{EVIL}\n"));
    env.write(&format!("file{}", EVIL.replace('/', "_")), "needle\n");
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash(printf *)"]}}"#);
    let printf = format!("printf '%s\\n' '{EVIL}out'");
    server.reply(ServerReply::thinking(&format!("thought {EVIL}"), &format!("said {EVIL}")));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("speak");
    slug.wait_for("said");

    server.reply(ServerReply::calls(
        "",
        &[
            ("g1", "Glob", json!({"pattern": "*"})),
            ("g2", "Grep", json!({"pattern": "needle"})),
            ("x1", EVIL, json!({EVIL: EVIL})),
            ("b1", "Bash", json!({"command": printf, "description": EVIL})),
        ],
    ));
    server.reply(ServerReply::text("Called."));
    slug.say("call");
    slug.answer("printf", "y");
    slug.wait_for("Called.");

    server.reply(ServerReply::error(400, &format!("refused {EVIL}")));
    slug.say("fail");
    slug.wait_for("refused");
    assert_harmless(&slug);

    // The session's title is the hostile text.
    server.reply(ServerReply::text("Titled."));
    slug.wait_for("What should I do?");
    slug.keys("/new\r");
    slug.wait_for_no("refused");
    // The part of it that can be typed: a terminal sends no control characters as text.
    slug.keys(&format!("title {}", EVIL.replace(['\u{1b}', '\u{7}', '\u{7f}'], "")));
    slug.wait_for("‹U+E0041›");
    slug.keys(key::ENTER);
    slug.wait_for("Titled.");
    slug.keys(key::CTRL_B);
    slug.wait_for("Sessions");
    slug.keys(key::ESC);
    slug.wait_for_no("Sessions");
    assert_harmless(&slug);
    slug.quit();
}

#[test]
fn s73_headless_answers_are_harmless_on_a_terminal() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text(&format!("said {EVIL}")));
    let run = |arguments: &[&str], shown: &str| {
        let mut slug = PtySlug::at(&env, 100, 30).server(&server).args(arguments).open();
        slug.wait();
        slug.wait_for_raw(shown, |raw| raw.contains(shown));
        assert_harmless(&slug);
    };
    run(&["-p", "speak"], "said ␛]0;PWN␇");
    run(&["sessions", "list"], "speak");
    let session = env.sessions()[0]["session_id"].as_str().unwrap().to_owned();
    run(&["sessions", "show", &session], "said ␛]0;PWN␇");
    run(&["sessions", "show", &session, "--json"], "said \\u001b]0;PWN");
    // A program that reads the output gets the model's bytes.
    server.reply(ServerReply::text(&format!("said {EVIL}")));
    assert!(env.ask(&server, &["-p", "speak"]).out.contains(EVIL));
}

#[test]
fn s79_a_question_shows_letters_that_only_look_latin() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "curl https://pаypal.example \u{202e}\u{2066}\u{200b}"));
    server.reply(ServerReply::text("Done."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("go");
    slug.wait_for_dialog("curl");
    slug.wait_for("Look twice: the а in pаypal is U+0430");
    slug.wait_for("‹U+202E›‹U+2066›‹U+200B›");
    slug.keys("n");
    slug.wait_for("Done.");
    assert_harmless(&slug);
}

#[test]
fn s81_a_paste_runs_nothing_and_answers_nothing() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("Done."));
    let mut slug = PtySlug::chat(&env, &server);
    slug.keys("\u{1b}[200~one\r/mode yolo\ry\r\u{1b}[201~");
    slug.wait_for("/mode yolo");
    assert!(server.chat_requests().is_empty(), "a paste sends nothing");
    slug.keys("\r");
    slug.wait_for_dialog("touch made");
    // The paste goes to the input, and the question waits until nothing is typed.
    slug.keys("\u{1b}[200~y\ra\r\u{1b}[201~");
    slug.wait_for("❯ y");
    assert!(slug.screen().contains("touch made"));
    slug.wait_for_dialog_after_text("touch made");
    slug.keys("n");
    slug.wait_for("Done.");
    assert!(!env.path("made").exists());
    assert!(fs::read_dir(env.workspace()).unwrap().all(|it| it.unwrap().file_name() != "made"));
}

#[test]
fn s82_nothing_is_fetched_for_what_an_answer_names() {
    let (env, server, evil) = (TestEnv::new(), ModelServer::start(), ModelServer::start());
    let address = format!("{}/?q=SECRET", evil.endpoint());
    server.reply(ServerReply::text(&format!(
        "![x]({address}) [docs]({address}) [https://example.org]({address}) told"
    )));
    let mut slug = PtySlug::chat(&env, &server);
    slug.say("go");
    slug.wait_for("told");
    slug.wait_for("?q=SECRET");
    slug.quit();
    assert_eq!(evil.connections(), 0);
}

#[test]
fn s103_a_conversation_is_kept_for_the_user_alone_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let picture = image::RgbaImage::from_pixel(4, 4, image::Rgba([255, 0, 0, 255]));
    picture.save(env.path("a.png")).unwrap();
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("Done."));
    let mut slug = PtySlug::at(&env, 100, 30).server(&server).umask(0).open();
    slug.wait_for("test-model");
    slug.keys(&format!("\u{1b}[200~{}\u{1b}[201~", env.path("a.png").display()));
    slug.wait_for("[Image 1 a.png 4×4]");
    slug.say(" hello");
    slug.answer("touch made", "a");
    slug.wait_for("Allow from now on");
    slug.keys(key::ENTER);
    slug.wait_for("Done.");
    // While the turn still runs, /compact only says that it has to wait.
    slug.wait_for("What should I do?");
    slug.keys("/compact\r");
    slug.wait_for("No need to compact yet");
    slug.keys("/copy\r");
    slug.keys("/theme dracula\r");
    slug.keys("/fork\r");
    slug.keys(&format!("\u{1b}[200~{}\u{1b}[201~", "a long paste\n".repeat(50)));
    slug.keys("a draft that is not sent");
    slug.wait_for("a draft that is not sent");
    slug.signal(Signal::TERM);
    slug.wait();
    let mut folders = vec![env.slug_home()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        let mode = |path: &Path| path.symlink_metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
    }
    assert!(files > 4, "{files} files");
}
