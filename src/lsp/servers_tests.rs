//! The servers of a session, with servers that are played in memory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;

use super::status::{LspServerPhase, LspServerStatus};
use super::testing::{LspTestEnv, PlayedFindings, PlayedServer, WAIT_TIMEOUT, put_program};
use crate::tools::{
    CodeItem, CodeOperation, CodePlace, CodePosition, CodeQuery, FileChange, LanguageServers,
};

fn query(operation: CodeOperation, path: &Path, text: &str) -> CodeQuery {
    CodeQuery {
        operation,
        path: Some(path.to_owned()),
        text: text.into(),
        position: CodePosition::default(),
        name: String::new(),
    }
}

fn change(path: &Path, before: Option<&str>, after: &str) -> Vec<FileChange> {
    std::fs::write(path, after).unwrap();
    let before = before.map(|text| text.as_bytes().to_vec());
    vec![FileChange { path: path.to_owned(), before, after: after.into() }]
}

fn env_finding(findings: PlayedFindings) -> LspTestEnv {
    LspTestEnv::new(PlayedServer { findings, ..PlayedServer::default() })
}

#[tokio::test]
async fn a_server_starts_with_the_first_question_and_serves_the_next() {
    let env = LspTestEnv::new(PlayedServer::default());
    let path = env.put("a.x", "def\n");
    assert_eq!(env.played.starts.load(Ordering::Acquire), 0);
    for _ in 0..2 {
        let answer = env.servers.ask(&query(CodeOperation::Definition, &path, "def\n")).await;
        let place = CodePlace::File(path.clone());
        let item = CodeItem { place, line: 1, label: String::new(), depth: 0 };
        assert_eq!(answer.unwrap().items, [item]);
    }
    assert_eq!(env.played.starts.load(Ordering::Acquire), 1);
    let start = &env.played.heard("initialize")[0];
    assert_eq!(start["capabilities"]["textDocument"]["diagnostic"]["dynamicRegistration"], false);
    assert_eq!(start["processId"], std::process::id());
    assert!(start["rootUri"].as_str().unwrap().ends_with("/w"), "{start}");
    let opened = env.played.heard("textDocument/didOpen");
    assert_eq!(opened.len(), 1);
    assert_eq!(opened[0]["textDocument"]["languageId"], "x");
    let refused = env.servers.ask(&query(CodeOperation::Hover, &path, "def\n")).await.unwrap_err();
    assert_eq!(refused.0, "The language server played cannot answer that.");
}

#[tokio::test]
async fn findings_are_read_in_each_way_that_servers_tell_them() {
    for findings in [PlayedFindings::PushWithVersion, PlayedFindings::Push, PlayedFindings::Pull] {
        let env = env_finding(findings);
        let path = env.put("a.x", "bad\n");
        for text in ["bad\n", "bad\n", "good\n bad\n"] {
            std::fs::write(&path, text).unwrap();
            let answer = env.servers.ask(&query(CodeOperation::Diagnostics, &path, text)).await;
            let items = answer.unwrap().items;
            assert_eq!(items.len(), 1, "{findings:?} {text:?}");
            assert_eq!(items[0].line, text.lines().count() as u64);
            assert_eq!(items[0].label, "error: wrong: bad");
        }
    }
}

#[tokio::test]
async fn a_change_is_answered_with_what_is_new_in_it() {
    for findings in [PlayedFindings::PushWithVersion, PlayedFindings::Push, PlayedFindings::Pull] {
        let env = env_finding(findings);
        let path = env.put("a.x", "bad old\n");
        // Makes the server warm with another file.
        let other = env.put("b.x", "");
        env.servers.ask(&query(CodeOperation::Diagnostics, &other, "")).await.unwrap();
        let old = Some("bad old\n");
        let found = env.servers.check_changes(change(&path, old, "bad new\nbad old\n")).await;
        let text = "New diagnostics in a.x (found by language servers):\n1: error: wrong: bad new";
        assert_eq!(found.as_deref(), Some(text), "{findings:?}");
        let before = Some("bad new\nbad old\n");
        assert_eq!(env.servers.check_changes(change(&path, before, "bad old\n")).await, None);
        let new = env.workspace.join("c.x");
        let found = env.servers.check_changes(change(&new, None, "bad\n")).await;
        assert!(found.unwrap().contains("c.x"), "a new file had no findings before");
        let events = env.played.heard("workspace/didChangeWatchedFiles");
        let kinds: Vec<_> = events.iter().map(|it| it["changes"][0]["type"].clone()).collect();
        assert_eq!(kinds, [json!(2), json!(2), json!(1)]);
        assert_eq!(env.played.heard("textDocument/didSave").len(), 3);
    }
}

#[tokio::test]
async fn a_server_that_is_not_warm_is_not_waited_for_and_told_later() {
    let env = env_finding(PlayedFindings::PushWithVersion);
    env.played.tells.send_replace(false);
    let path = env.put("a.x", "");
    assert_eq!(env.servers.check_changes(change(&path, Some(""), "bad\n")).await, None);
    env.played.until_heard("textDocument/didOpen", 1).await;
    assert_eq!(env.servers.take_late_findings(), None);
    env.played.tells.send_replace(true);
    let late = tokio::time::timeout(WAIT_TIMEOUT, async {
        loop {
            if let Some(late) = env.servers.take_late_findings() {
                return late;
            }
            tokio::task::yield_now().await;
        }
    });
    assert!(late.await.unwrap().ends_with("1: error: wrong: bad"));
}

#[tokio::test]
async fn what_commands_change_in_open_files_is_told_before_the_next_question() {
    let env = LspTestEnv::new(PlayedServer::default());
    let (one, two, gone) = (env.put("1.x", "a"), env.put("2.x", "b"), env.put("3.x", "c"));
    for (path, text) in [(&one, "a"), (&two, "b"), (&gone, "c")] {
        env.servers.ask(&query(CodeOperation::Definition, path, text)).await.unwrap();
    }
    std::fs::write(&two, "changed").unwrap();
    std::fs::remove_file(&gone).unwrap();
    env.servers.ask(&query(CodeOperation::Definition, &one, "a")).await.unwrap();
    let changed = env.played.heard("textDocument/didChange");
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!(changed[0]["contentChanges"][0], json!({"text": "changed"}));
    assert_eq!(env.played.heard("textDocument/didClose").len(), 1);
}

#[tokio::test]
async fn a_server_that_has_ended_starts_again_three_times() {
    let server = PlayedServer { ends_on: Some("textDocument/definition"), ..Default::default() };
    let env = LspTestEnv::new(server);
    let path = env.put("a.x", "");
    let asked = query(CodeOperation::Definition, &path, "");
    for _ in 0..4 {
        assert_eq!(
            env.servers.ask(&asked).await.unwrap_err().0,
            "The language server played: It has ended."
        );
    }
    assert_eq!(env.played.starts.load(Ordering::Acquire), 4);
    assert!(env.servers.ask(&asked).await.unwrap_err().0.contains("has ended too often"));
    assert_eq!(env.played.starts.load(Ordering::Acquire), 4);
}

#[tokio::test]
async fn a_server_that_ends_at_once_counts_as_not_installed_and_is_left_alone() {
    let server = PlayedServer { ends_on: Some("initialize"), ..PlayedServer::default() };
    let env = LspTestEnv::with(server, |it| it.install = "get it".into(), WAIT_TIMEOUT);
    let path = env.put("a.x", "");
    for _ in 0..2 {
        let answer = env.servers.ask(&query(CodeOperation::Definition, &path, "")).await;
        assert_eq!(
            answer.unwrap_err().0,
            "The language server played ended at once. It may not be installed. The user can install it: \
             get it."
        );
    }
    assert_eq!(env.played.starts.load(Ordering::Acquire), 1);
}

#[tokio::test]
async fn an_idle_server_is_sent_away_and_starts_again_when_needed() {
    let idle = Duration::from_millis(1);
    let env = LspTestEnv::with(PlayedServer::default(), |_| {}, idle);
    let path = env.put("a.x", "");
    for round in 1..=6 {
        env.servers.ask(&query(CodeOperation::Definition, &path, "")).await.unwrap();
        env.played.until_heard("exit", round).await;
    }
    assert!(env.played.heard("shutdown").iter().all(serde_json::Value::is_null), "no params");
}

#[tokio::test]
async fn files_without_a_server_cost_nothing() {
    let env = LspTestEnv::new(PlayedServer::default());
    for path in ["a.y", "x", ".x"] {
        assert!(!env.servers.covers(&env.workspace.join(path)), "{path}");
    }
    assert!(!env.servers.covers(Path::new("/elsewhere/a.x")));
    assert!(env.servers.covers(&env.workspace.join("sub/a.X")));
    let path = env.put("a.y", "");
    let error = env.servers.ask(&query(CodeOperation::Definition, &path, "")).await.unwrap_err();
    assert!(error.0.starts_with("No language server is known for this file (.y)"), "{error}");
    let nothing = CodeQuery { path: None, ..query(CodeOperation::WorkspaceSymbols, &path, "") };
    let error = env.servers.ask(&nothing).await.unwrap_err();
    assert!(error.0.starts_with("No language server runs yet"), "{error}");
    assert_eq!(env.played.starts.load(Ordering::Acquire), 0);
}

/// S63, S64: a program of the folder is never started, whether by name, by path or through a link.
#[tokio::test]
async fn s63_no_program_of_the_folder_is_started() {
    for command in ["own-lsp", "./own-lsp", "node_modules/.bin/own-lsp", "ABSOLUTE", "LINK"] {
        let env = LspTestEnv::with(PlayedServer::default(), |_| {}, WAIT_TIMEOUT);
        let inside = env.workspace.join("node_modules/.bin/own-lsp");
        put_program(&inside);
        put_program(&env.workspace.join("own-lsp"));
        let link = env.workspace.with_file_name("link");
        std::os::unix::fs::symlink(&inside, &link).unwrap();
        let command = match command {
            "ABSOLUTE" => inside.to_str().unwrap(),
            "LINK" => link.to_str().unwrap(),
            other => other,
        };
        let env = env.with_command(command);
        let path = env.put("a.x", "");
        let error =
            env.servers.ask(&query(CodeOperation::Definition, &path, "")).await.unwrap_err();
        assert!(
            error.0.contains("is not installed")
                || error.0.contains("not started")
                || error.0.contains("No such file"),
            "{command}: {error}"
        );
        assert_eq!(env.played.starts.load(Ordering::Acquire), 0, "{command}");
    }
}

#[tokio::test]
async fn of_one_server_no_two_start_at_once() {
    let env = Arc::new(LspTestEnv::new(PlayedServer::default()));
    let path = env.put("a.x", "");
    let asking = (0..8).map(|_| {
        let (env, path) = (env.clone(), path.clone());
        tokio::spawn(async move {
            env.servers.ask(&query(CodeOperation::Definition, &path, "")).await.unwrap();
        })
    });
    for asked in asking.collect::<Vec<_>>() {
        asked.await.unwrap();
    }
    assert_eq!(env.played.starts.load(Ordering::Acquire), 1);
}

#[tokio::test]
async fn a_server_that_finds_nothing_does_not_hold_up_a_change_for_ever() {
    let env = env_finding(PlayedFindings::Never);
    let path = env.put("a.x", "");
    // Not warm, so nobody waits.
    assert_eq!(env.servers.check_changes(change(&path, Some(""), "bad\n")).await, None);
    env.played.until_heard("textDocument/didOpen", 1).await;
    assert_eq!(env.servers.take_late_findings(), None);
    // What is no text, or too long, is not sent.
    let long = "x".repeat(3 << 20);
    assert_eq!(env.servers.check_changes(change(&path, None, &long)).await, None);
    let binary = FileChange { path, before: None, after: vec![0xff, 0xfe] };
    assert_eq!(env.servers.check_changes(vec![binary]).await, None);
    assert_eq!(env.played.heard("textDocument/didOpen").len(), 1);
}

fn renaming(capability: &serde_json::Value, edits: fn(&str) -> serde_json::Value) -> PlayedServer {
    let prepared = json!({"placeholder": "x"});
    let capabilities = json!({"renameProvider": capability});
    PlayedServer { capabilities, rename: (prepared, edits), ..PlayedServer::default() }
}

fn rename_of(path: &Path, text: &str) -> CodeQuery {
    CodeQuery { name: "new".into(), ..query(CodeOperation::Rename, path, text) }
}

#[tokio::test]
async fn a_rename_is_prepared_asked_and_comes_as_bytes_of_the_files_on_the_disk() {
    let env = LspTestEnv::new(renaming(&json!({"prepareProvider": true}), |uri| {
        let other = uri.replace("a.x", "b.x");
        let edit = |line: u32, from: u32| {
            json!({"newText": "new", "range": {
            "start": {"line": line, "character": from}, "end": {"line": line, "character": from + 3}}})
        };
        json!({"documentChanges": [
            {"textDocument": {"uri": uri, "version": 1}, "edits": [edit(0, 2)]},
            {"textDocument": {"uri": other, "version": null}, "edits": [edit(1, 0), edit(0, 3)]},
        ]})
    }));
    let path = env.put("a.x", "\u{1f600}old\n");
    let other = env.put("b.x", "\u{feff}\u{e4} \told\r\nold");
    let answer = env.servers.ask(&rename_of(&path, "\u{1f600}old\n")).await.unwrap();
    let places: Vec<_> = answer
        .edits
        .iter()
        .map(|file| {
            (file.path.clone(), file.edits.iter().map(|it| (it.start, it.end)).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(places, [(path, vec![(4, 7)]), (other, vec![(7, 10), (12, 15)])]);
    assert_eq!(env.played.heard("textDocument/prepareRename").len(), 1);
    assert_eq!(env.played.heard("textDocument/rename")[0]["newName"], "new");
    let told = &env.played.heard("initialize")[0]["capabilities"]["workspace"];
    assert_eq!(told["workspaceEdit"], json!({"documentChanges": true}), "no files made or moved");
}

#[tokio::test]
async fn a_rename_that_cannot_be_is_refused_with_the_reason() {
    fn gone(uri: &str) -> serde_json::Value {
        json!({"documentChanges": [{"textDocument": {"uri": uri, "version": 9}, "edits": [
            {"newText": "x", "range": {"start": {"line": 0, "character": 0},
                                       "end": {"line": 0, "character": 1}}}]}]})
    }
    for (server, part) in [
        (
            PlayedServer {
                rename: (json!(null), gone),
                ..renaming(&json!({"prepareProvider": true}), gone)
            },
            "cannot be renamed",
        ),
        (renaming(&json!(true), gone), "has changed meanwhile"),
        (renaming(&json!(false), gone), "cannot answer that"),
        (
            renaming(&json!(true), |_| json!({"documentChanges": [{"kind": "create"}]})),
            "also create a file",
        ),
    ] {
        let env = LspTestEnv::new(server);
        let path = env.put("a.x", "old\n");
        let refused = env.servers.ask(&rename_of(&path, "old\n")).await.unwrap_err();
        assert!(refused.0.contains(part), "{refused}");
    }
}

#[tokio::test]
async fn what_a_change_breaks_in_another_open_file_is_told_too() {
    for findings in [PlayedFindings::PushWithVersion, PlayedFindings::Push, PlayedFindings::Pull] {
        let env = env_finding(findings);
        let (a, b) = (env.put("a.x", ""), env.put("b.x", "uses a\n"));
        for (path, text) in [(&a, ""), (&b, "uses a\n")] {
            env.servers.ask(&query(CodeOperation::Diagnostics, path, text)).await.unwrap();
        }
        // The played server finds mistakes in what uses a file that says `breaks`.
        let found = env.servers.check_changes(change(&a, Some(""), "breaks\n")).await;
        let text = "New diagnostics in b.x (found by language servers):\n1: error: wrong: uses a";
        assert_eq!(found.as_deref(), Some(text), "{findings:?}");
        let still = env.servers.check_changes(change(&a, Some("breaks\n"), "breaks it\n")).await;
        assert_eq!(still, None, "{findings:?}: it was so before");
    }
}

#[tokio::test]
async fn several_files_of_one_call_are_told_before_any_is_judged() {
    let env = env_finding(PlayedFindings::PushWithVersion);
    let (a, b) = (env.put("a.x", ""), env.put("b.x", "uses a\n"));
    env.servers.ask(&query(CodeOperation::Diagnostics, &a, "")).await.unwrap();
    let changes =
        [change(&a, Some(""), "breaks\n"), change(&b, Some("uses a\n"), "uses nothing\n")];
    assert_eq!(env.servers.check_changes(changes.concat()).await, None);
    let twice =
        [change(&b, Some("uses nothing\n"), "bad\n"), change(&b, Some("bad\n"), "bad too\n")];
    let found = env.servers.check_changes(twice.concat()).await.unwrap();
    assert!(
        found.ends_with("b.x (found by language servers):\n1: error: wrong: bad too"),
        "{found}"
    );
}

#[tokio::test]
async fn the_status_follows_a_server_from_its_first_use_to_its_end() {
    let env = env_finding(PlayedFindings::PushWithVersion);
    let (seen, before) = env.servers.status_after(None).await;
    let state = |all: &[LspServerStatus]| {
        let found = all.iter().find(|it| it.name == "played").unwrap();
        (found.phase.clone(), found.counts.files, found.counts.errors)
    };
    assert_eq!(state(&before), (LspServerPhase::NotNeeded, 0, 0));
    let path = env.put("a.x", "bad\n");
    env.servers.ask(&query(CodeOperation::Diagnostics, &path, "bad\n")).await.unwrap();
    let (seen, now) = env.servers.status_after(Some(seen)).await;
    assert_eq!(state(&now), (LspServerPhase::Ready, 1, 1));
    assert_eq!(now[0].name, "played", "what runs comes first");
    let root = now[0].root.clone().unwrap();
    env.servers.stop("played", &root).await.unwrap();
    let (_, now) = env.servers.status_after(Some(seen)).await;
    assert_eq!(state(&now), (LspServerPhase::Stopped, 0, 0));
    let refused = env.servers.ask(&query(CodeOperation::Definition, &path, "bad\n")).await;
    assert!(refused.unwrap_err().0.contains("They can start it in /lsp"));
    env.servers.restart("played", &root).await.unwrap();
    assert_eq!(state(&env.servers.status_after(None).await.1).0, LspServerPhase::Ready);
    assert_eq!(env.played.starts.load(Ordering::Acquire), 2);
    let unknown = env.servers.restart("nothing", &root).await.unwrap_err();
    assert!(unknown.starts_with("No language server nothing has started in"), "{unknown}");
}
