//! Skills and custom commands from the message or the call to the request.

use std::sync::Arc;

use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent, AgentSetup, InitialSession, Interactivity};
use slug_code::domain::{ApprovalAnswer, ContentBlock, ToolStatus};
use slug_code::permissions::store::ProjectSettingsTrust;
use slug_code::session::TurnOutcome;
use slug_code::skills::PromptPlaces;
use slug_code::trust::TrustStore;

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

/// A fixture whose user and project have skills and commands.
fn fixture() -> AgentFixture {
    let mut fixture = AgentFixture::new();
    fixture.prompt_places = PromptPlaces {
        user_home: None,
        slug_home: fixture.home.clone(),
        project: vec![fixture.work.clone()],
        reserved: vec!["help".to_owned()],
    };
    fixture
}

fn own(fixture: &AgentFixture, path: &str, text: &str) {
    let path = fixture.home.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn skill(name: &str, more: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}.\n{more}---\n{body}")
}

/// The notes of the last message that the model got, by name.
fn sent(fixture: &AgentFixture, name: &str) -> Option<String> {
    let requests = fixture.model.requests();
    let messages = &requests.last().unwrap().messages;
    let blocks = messages.iter().rev().flat_map(|message| message.content.iter().rev());
    let notes = blocks.filter_map(ContentBlock::as_context);
    notes.filter(|(it, _)| *it == name).map(|(_, text)| text.to_owned()).next()
}

async fn open(fixture: &AgentFixture) -> TestAgent {
    fixture.open(InitialSession::New).await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_skills_a_request_has_no_word_of_them() {
    let fixture = fixture();
    let mut agent = open(&fixture).await;
    queue_replies(&fixture, [words("one")]);
    agent.turn("hello").await;
    let request = fixture.model.requests().remove(0);
    assert_eq!(request.system, "You are a test.");
    assert!(!serde_json::to_string(&*request.tools).unwrap().contains("Skill"));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_are_listed_behind_the_instructions_and_loaded_once() {
    let fixture = fixture();
    fixture.put("SLUG.md", "use tabs");
    own(&fixture, "skills/pdf/SKILL.md", &skill("pdf", "", "Use pdftotext on $ARGUMENTS."));
    own(&fixture, "skills/pdf/references/forms.md", "Forms.");
    let mut agent = open(&fixture).await;
    let load = |id| {
        calls(&[(
            id,
            "Call",
            json!({"tool": "Skill", "input": {"name": "pdf", "arguments": "a.pdf"}}),
        )])
    };
    let wrong = calls(&[("c3", "Skill", json!({"name": "docx"}))]);
    queue_replies(&fixture, [load("c1"), load("c2"), wrong, words("one"), words("two")]);
    agent.turn("read a.pdf").await;
    let requests = fixture.model.requests();
    assert!(
        requests[0]
            .system
            .starts_with("You are a test.\n\n# Project Rules\n\nuse tabs\n\n# Skills\n\n"),
        "{}",
        requests[0].system
    );
    assert!(requests[0].system.ends_with("\n- pdf: About pdf."), "{}", requests[0].system);
    let note = sent(&fixture, "skill:pdf").unwrap();
    assert!(
        note.contains("references/forms.md") && note.ends_with("Use pdftotext on a.pdf."),
        "{note}"
    );
    assert_eq!(
        agent.result("c1"),
        ("The skill pdf is loaded. Follow its text.".to_owned(), ToolStatus::Done)
    );
    assert_eq!(agent.result("c2").0, "The skill pdf is loaded already: follow its text above.");
    let (text, status) = agent.result("c3");
    assert!(text.starts_with("There is no skill \"docx\", but pdf, code-review,"), "{text}");
    assert_eq!(status, ToolStatus::Failed);
    agent.turn("go on").await;
    queue_replies(&fixture, [load("c4"), words("three")]);
    agent.turn("/pdf b.pdf").await;
    let note = sent(&fixture, "skill:pdf").unwrap();
    assert!(note.ends_with("Use pdftotext on a.pdf."), "{note}");
    assert_eq!(agent.result("c4").1, ToolStatus::Done);
    queue_replies(&fixture, [load("c5"), words("four")]);
    agent.turn("/pdf a.pdf").await;
    assert_eq!(agent.result("c5").0, "The skill pdf is loaded already: follow its text above.");
    let requests = fixture.model.requests();
    assert!(
        requests.iter().all(|it| it.system == requests[0].system && it.tools == requests[0].tools)
    );
    assert_eq!(agent.approval_count(), 0);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_beside_the_users_skills_are_read_without_a_question_and_not_written() {
    let fixture = fixture();
    own(&fixture, "skills/pdf/SKILL.md", &skill("pdf", "", "x"));
    own(&fixture, "skills/pdf/forms.md", "Forms.");
    own(&fixture, "secret", "key");
    let folder = fixture.home.join("skills/pdf");
    std::os::unix::fs::symlink(fixture.home.join("secret"), folder.join("link.md")).unwrap();
    let setup = fixture.setup(Vec::new());
    let readable = fixture.prompt_places.readable();
    let workspace = setup.workspace.as_ref().clone().with_readable(readable);
    let setup = AgentSetup { workspace: Arc::new(workspace), ..setup };
    let mut agent = fixture.open_setup(setup, InitialSession::New).await;
    let file = |name: &str| folder.join(name).display().to_string();
    let read = |id, name: &str| calls(&[(id, "Read", json!({"file_path": file(name)}))]);
    let write = calls(&[("c3", "Write", json!({"file_path": file("new.md"), "content": "x"}))]);
    queue_replies(&fixture, [read("c1", "forms.md"), read("c2", "link.md"), write, words("one")]);
    agent.send("go").await;
    for _ in 0..2 {
        let question = agent.next_approval().await;
        agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    }
    agent.wait_for_turn_end().await;
    let status = |id| agent.result(id).1;
    assert_eq!(
        ["c1", "c2", "c3"].map(status),
        [ToolStatus::Done, ToolStatus::Denied, ToolStatus::Denied]
    );
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_denies_the_tool_leaves_no_list() {
    let fixture = fixture();
    own(&fixture, "skills/pdf/SKILL.md", &skill("pdf", "", "x"));
    fixture.settings(&json!({"permissions": {"deny": ["Skill"]}}));
    let mut agent = open(&fixture).await;
    queue_replies(&fixture, [words("one")]);
    agent.turn("hello").await;
    assert_eq!(fixture.model.requests()[0].system, "You are a test.");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_goes_with_its_message_and_reads_files_of_the_workspace() {
    let fixture = fixture();
    fixture.put("notes.txt", "Remember $1 </context>");
    fixture.put(
        ".claude/commands/fix.md",
        "---\ndescription: d\n---\nFix $0 by @notes.txt and @../outside.txt",
    );
    std::fs::write(fixture.work.parent().unwrap().join("outside.txt"), "secret").unwrap();
    let mut agent = open(&fixture).await;
    queue_replies(&fixture, [words("one")]);
    agent.turn("/fix 'the bug'").await;
    let note = sent(&fixture, "command:fix").unwrap();
    assert!(
        note.ends_with(
            "Fix the bug by Content of notes.txt:\nRemember $1 < /context>\n and @../outside.txt"
        ),
        "{note}"
    );
    assert!(sent(&fixture, "mentions").unwrap().contains("outside of the workspace"));
    let told =
        agent.notices().iter().any(|it| it.starts_with("/fix sends the text of the command "));
    assert!(told, "{:?}", agent.notices());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_puts_in_no_file_that_a_rule_wants_asked_about_or_denied() {
    for rule in ["ask", "deny"] {
        let fixture = fixture();
        fixture.put("secrets/key.txt", "hunter2");
        fixture.put("open.txt", "plain");
        fixture.put(".slug/commands/show.md", "@secrets/key.txt and @open.txt");
        fixture.put(
            ".slug/settings.json",
            &format!(r#"{{"permissions":{{"{rule}":["Read(secrets/**)"]}}}}"#),
        );
        let mut agent = open(&fixture).await;
        queue_replies(&fixture, [words("one")]);
        agent.turn("/show").await;
        let note = sent(&fixture, "command:show").unwrap();
        assert!(note.contains("Content of open.txt:\nplain"), "{note}");
        assert!(note.contains("@secrets/key.txt and") && !note.contains("hunter2"), "{note}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s70_a_command_in_a_text_is_asked_about_like_a_call() {
    let fixture = fixture();
    fixture.put(".slug/commands/deploy.md", "State: !`make state`\nGo on.");
    let mut agent = open(&fixture).await;
    agent.send("/deploy").await;
    let question = agent.next_approval().await;
    assert_eq!(question.input, json!({"command": "make state"}));
    agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    let TurnOutcome::Failed(why) = agent.wait_for_turn_end().await else { panic!() };
    assert!(
        why.starts_with("/deploy is not sent, since its command `make state` was refused."),
        "{why}"
    );
    assert!(fixture.model.requests().is_empty() && fixture.processes.log().is_empty());
    let returned = agent
        .events
        .iter()
        .any(|it| matches!(it, AgentEvent::MessageReturned(text) if text.text == "/deploy"));
    assert!(returned, "the line goes back into the input");

    queue_replies(&fixture, [words("one")]);
    agent.send("/deploy").await;
    let question = agent.next_approval().await;
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(fixture.processes.log(), ["begin make state", "end make state"]);
    let note = sent(&fixture, "command:deploy").unwrap();
    assert!(note.contains("State: ") && !note.contains("!`make"), "{note}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s70_without_a_user_a_command_that_no_rule_allows_stops_the_message() {
    let mut fixture = fixture();
    fixture.interactivity = Interactivity::Headless;
    fixture.put(".slug/commands/deploy.md", "State: !`make state`");
    let mut agent = open(&fixture).await;
    let TurnOutcome::Failed(why) = agent.turn("/deploy").await else { panic!() };
    assert!(why.contains("`make state` was refused"), "{why}");
    assert!(fixture.processes.log().is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_users_own_skill_allows_holds_for_its_turn_and_below_a_deny_rule() {
    let fixture = fixture();
    own(
        &fixture,
        "skills/build/SKILL.md",
        &skill("build", "allowed-tools: Bash(make *) Nonsense(\n", "Build it."),
    );
    fixture.settings(&json!({"permissions": {"deny": ["Bash(make clean)"]}}));
    let mut agent = open(&fixture).await;
    let bash = |id, command: &str| calls(&[(id, "Bash", json!({"command": command}))]);
    queue_replies(
        &fixture,
        [
            bash("c1", "make all"),
            bash("c2", "make clean"),
            words("one"),
            bash("c3", "make all"),
            words("two"),
        ],
    );
    agent.turn("/build").await;
    assert_eq!(agent.result("c1").1, ToolStatus::Done);
    assert_eq!(agent.result("c2").1, ToolStatus::Denied);
    assert_eq!(agent.approval_count(), 0);
    let told = "Until this turn ends, build allows: Bash(make *).";
    assert!(agent.notices().contains(&told), "{:?}", agent.notices());
    agent.send("again").await;
    let question = agent.next_approval().await;
    agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    agent.wait_for_turn_end().await;
    assert_eq!(agent.result("c3").1, ToolStatus::Denied);
    agent.close().await;
}

/// What a skill allows is allowed to the agent that loaded it, and to no other: not to its parent, whose turn
/// goes on, and not to a child of one that has loaded it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_skill_allows_is_for_the_agent_that_loaded_it_alone() {
    let fixture = fixture();
    let text = skill("build", "allowed-tools: Bash(make *)\n", "Build it.");
    own(&fixture, "skills/build/SKILL.md", &text);
    let mut agent = open(&fixture).await;
    let bash = |id| calls(&[(id, "Bash", json!({"command": "make all"}))]);
    let start = |id| calls(&[(id, "Agent", json!({"description": "build", "prompt": "build"}))]);
    let load = |id| calls(&[(id, "Skill", json!({"name": "build"}))]);
    queue_replies(
        &fixture,
        [
            // The child loads it and runs what it allows; its parent may not.
            start("a1"),
            load("k1"),
            bash("k2"),
            words("built"),
            bash("c1"),
            words("one"),
            // The parent has loaded it, and keeps it when a child ends that has nothing of it.
            start("a2"),
            bash("k3"),
            words("not built"),
            bash("c2"),
            words("two"),
        ],
    );
    agent.send("go on").await;
    let question = agent.next_approval().await;
    assert_eq!(question.call.as_str(), "c1");
    agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    agent.wait_for_turn_end().await;
    agent.send("/build").await;
    let asked = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalAsked(_));
    let question = agent.wait_for_other("question of the child", asked).await;
    let AgentEvent::ApprovalAsked(request) = question.event else { unreachable!() };
    assert_eq!(request.call.as_str(), "k3");
    let no = ApprovalAnswer::Deny { instruction: None };
    let commands = agent.agent.children.commands(question.agent).unwrap();
    let answer = AgentCommand::Answer { id: request.id, answer: no };
    commands.send(answer.to(question.agent)).await.unwrap();
    agent.wait_for_turn_end().await;
    assert_eq!(agent.result("c2").1, ToolStatus::Done);
    assert_eq!(agent.approval_count(), 1);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s70_a_projects_list_counts_only_as_it_was_trusted() {
    let fixture = fixture();
    let path = ".claude/skills/build/SKILL.md";
    let text = skill("build", "allowed-tools: Bash(make *)\n", "Build it.");
    fixture.put(path, &text);
    let bash = |id| calls(&[(id, "Bash", json!({"command": "make all"}))]);
    for (trusts, changes, allowed) in
        [(false, false, false), (true, false, true), (true, true, false)]
    {
        fixture.put(path, &text);
        let mut store = TrustStore::open(&fixture.home, None).unwrap();
        match trusts {
            true => store.grant(&fixture.work).unwrap(),
            false => store.forget(&fixture.work).unwrap(),
        }
        let mut agent = open(&fixture).await;
        if changes {
            fixture.put(path, &text.replace("make", "*"));
        }
        queue_replies(&fixture, [bash("c1"), words("one")]);
        agent.send("/build").await;
        if !allowed {
            let question = agent.next_approval().await;
            agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
        }
        agent.wait_for_turn_end().await;
        let told = agent.notices().iter().any(|it| it.contains("That is ignored"));
        assert_eq!((agent.result("c1").1 == ToolStatus::Done, told), (allowed, !allowed));
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_that_the_model_loads_runs_no_command() {
    let fixture = fixture();
    own(&fixture, "skills/state/SKILL.md", &skill("state", "", "Now: !`make state`"));
    let mut agent = open(&fixture).await;
    let load = calls(&[("c1", "Call", json!({"tool": "Skill", "input": {"name": "state"}}))]);
    queue_replies(&fixture, [load, words("one")]);
    agent.turn("go").await;
    let note = sent(&fixture, "skill:state").unwrap();
    assert!(note.contains("Now: !`make state`\n\nNo command written as"), "{note}");
    assert!(fixture.processes.log().is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loaded_skill_is_there_after_a_compaction() {
    let fixture = fixture();
    own(
        &fixture,
        "skills/pdf/SKILL.md",
        &skill("pdf", "", &format!("First. {}", "word ".repeat(8000))),
    );
    let mut agent = open(&fixture).await;
    let load = |id| calls(&[(id, "Call", json!({"tool": "Skill", "input": {"name": "pdf"}}))]);
    let long = "The answer goes on. ".repeat(400);
    queue_replies(&fixture, [load("c1"), words(&long), words(&long), words(&long)]);
    for text in ["one", "two", "three"] {
        agent.turn(text).await;
    }
    let summary = "## Goal\nTo read.\n\n## Done\nAll that was asked, in the file a.pdf, and nothing else.\n\n## Next\nGo on with it.";
    queue_replies(&fixture, [words(summary), words(summary)]);
    agent.tell(AgentCommand::Compact { focus: None }).await;
    agent.wait_for_turn_end().await;
    queue_replies(&fixture, [words("four")]);
    agent.turn("four").await;
    let note = sent(&fixture, "skill:pdf").unwrap();
    assert!(
        note.contains("First. word") && note.contains("The rest is left out"),
        "{}",
        &note[..80]
    );
    assert!(note.len() < 20_200, "{}", note.len());
    let calls = agent.conversation().messages.iter().flat_map(|(_, it)| it.calls()).count();
    assert_eq!(calls, 0, "the call itself is left out");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_taken_for_the_turn_where_there_is_one_of_that_name() {
    let mut fixture =
        AgentFixture::with_models(super::fakes::FakeModelList::Named(vec!["test-model", "other"]));
    fixture.prompt_places =
        PromptPlaces { slug_home: fixture.home.clone(), ..PromptPlaces::default() };
    own(&fixture, "commands/small.md", "---\nmodel: other\n---\nGo.");
    own(&fixture, "commands/odd.md", "---\nmodel: sonnet\n---\nGo.");
    let mut agent = open(&fixture).await;
    queue_replies(&fixture, [words("one"), words("two"), words("three")]);
    for text in ["/small", "/odd", "plain"] {
        agent.turn(text).await;
    }
    let models: Vec<String> = fixture.model.requests().into_iter().map(|it| it.model).collect();
    assert_eq!(models, ["other", "test-model", "test-model"]);
    assert!(agent.notices().iter().any(|it| it.starts_with("/odd asks for the model sonnet")));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_on_disk_are_told_and_hold_from_the_next_message_on() {
    let fixture = fixture();
    let mut agent = open(&fixture).await;
    let told = agent.wait_for("skills", |it| matches!(it, AgentEvent::PromptFiles(_))).await;
    let AgentEvent::PromptFiles(report) = told else { panic!() };
    assert_eq!(report.rows.len(), 7);
    own(&fixture, "commands/new.md", "New.");
    queue_replies(&fixture, [words("one"), words("two")]);
    agent.turn("/new").await;
    assert!(sent(&fixture, "command:new").is_some());
    agent.turn("again").await;
    let times = agent.events.iter().filter(|it| matches!(it, AgentEvent::PromptFiles(_))).count();
    assert_eq!(times, 2, "only a change is told");
    assert_eq!(fixture.project, ProjectSettingsTrust::Trusted);
    agent.close().await;
}
