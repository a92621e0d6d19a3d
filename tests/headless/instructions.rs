//! Instruction files: which of them the model gets, in which order, and that no session keeps them.

use crate::bash;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;

#[test]
fn without_trust_the_folders_own_files_are_left_out_with_a_note() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("SLUG.md", "Speak like a PIRATE.\n");
    env.write(".slug/settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("No."));
    let arguments = ["-m", "test-model", "-e", &server.endpoint(), "-p", "go"];
    let ran = env.run(&arguments).assert_exit_code(4);
    assert!(ran.err.contains("not trusted"), "{}", ran.describe());
    assert!(!env.path("made").exists());
    assert!(!server.chat_requests()[0].body.to_string().contains("PIRATE"));
}

#[test]
fn instructions_are_sent_under_their_headings_in_order() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("SLUG.md", "global\n");
    env.write("SLUG.md", "project\n");
    env.write(".slug/rules/style.md", "style\n");
    env.write("SLUG.local.md", "private\n");
    server.reply(ServerReply::text("Understood."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    let body = server.chat_requests()[0].body["messages"].to_string();
    let headings =
        ["# Global Rules", "# Project Rules", "# Rule: style.md", "# Local Notes (private)"];
    let places: Vec<usize> = headings
        .iter()
        .map(|heading| body.find(heading).unwrap_or_else(|| panic!("no {heading} in {body}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn instructions_are_never_stored_in_the_session() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("SLUG.md", "Speak like a PIRATE.\n");
    server.reply(ServerReply::text("Arr."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    assert!(server.chat_requests()[0].body.to_string().contains("PIRATE"));
    let folder = env.slug_home().join("sessions");
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("PIRATE"), "{text}");
    }
}

#[test]
fn agents_md_is_read_where_there_is_no_slug_md() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write("AGENTS.md", "Tabs, not spaces.\n");
    server.reply(ServerReply::text("Understood."));
    env.ask(&server, &["-p", "hello"]).assert_exit_code(0);
    let body = server.chat_requests()[0].body["messages"].to_string();
    assert!(body.contains("# Project Rules") && body.contains("Tabs, not spaces."), "{body}");
}
