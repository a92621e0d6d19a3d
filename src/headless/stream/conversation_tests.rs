//! A conversation event by event, without an agent.

use chrono::DateTime;
use serde_json::{Value, json};

use super::super::output_line::MessageDelivery;
use super::super::run_facts::{RunEnd, RunFacts};
use super::conversation::{
    ClientRequest, ConversationLimits, ConversationStep, ScriptConversation,
};
use super::input_line::{InputLine, RememberedFor};
use crate::agent::{AddressedEvent, AgentCommand, AgentEvent, InitialSession, SteerId};
use crate::cli::CliExitStatus;
use crate::domain::{
    AgentId, ApprovalAnswer, ApprovalId, ApprovalKind, ApprovalRequest, CallDanger, CallId,
    ContentBlock, DangerFacts, EntryId, Message, MessageRole, NoticeLevel, PermissionMode,
    QuestionAnswer, QuestionOption, QuestionRequest, RuleFile, SessionId, TurnId, UserInput,
    UserQuestion,
};
use crate::session::{LogEntry, LogRecord, MessageEntry, TurnEnd, TurnOutcome};

const MAIN: AgentId = AgentId(1);
const CHILD: AgentId = AgentId(2);

fn limits(opening: InitialSession) -> ConversationLimits {
    ConversationLimits { opening, mode: PermissionMode::Ask, has_sandbox: false }
}

/// A conversation whose session is open and whose model is known.
fn opened() -> ScriptConversation {
    let limits = limits(InitialSession::New);
    let mut conversation = ScriptConversation::new(MAIN, RunFacts::default(), limits);
    let (session, records) = (SessionId::generate(), Vec::new().into());
    take(&mut conversation, AgentEvent::SessionOpened { session, records });
    conversation.begin_lines();
    conversation
}

fn take(conversation: &mut ScriptConversation, event: AgentEvent) -> Vec<ConversationStep> {
    conversation.event(&AddressedEvent { agent: MAIN, event })
}

fn record(entry: LogEntry) -> AgentEvent {
    let (id, timestamp) = (EntryId::generate(), DateTime::UNIX_EPOCH);
    AgentEvent::Recorded(LogRecord { id, timestamp, turn: TurnId(1), entry }.into())
}

fn said(role: MessageRole, text: &str) -> AgentEvent {
    let content = vec![ContentBlock::Text { text: text.into() }];
    record(LogEntry::Message(MessageEntry::new(Message { role, content })))
}

fn ended() -> AgentEvent {
    record(LogEntry::TurnEnd(TurnEnd::of(TurnOutcome::Answered)))
}

fn say(text: &str, delivery: MessageDelivery) -> ClientRequest {
    ClientRequest::Say(UserInput::from(text), delivery)
}

fn queued(text: &str) -> ClientRequest {
    say(text, MessageDelivery::Queue)
}

/// The messages that are sent, and the commands that go with them.
fn sent(steps: &[ConversationStep]) -> Vec<AgentCommand> {
    let command = |step: &ConversationStep| {
        let ConversationStep::Command(addressed) = step else { return None };
        Some(addressed.command.clone())
    };
    steps.iter().filter_map(command).collect()
}

/// The types of the lines.
fn kinds(steps: &[ConversationStep]) -> Vec<String> {
    lines(steps).iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect()
}

fn lines(steps: &[ConversationStep]) -> Vec<Value> {
    let line = |step: &ConversationStep| {
        let ConversationStep::Line(line) = step else { return None };
        Some(serde_json::from_str(line).unwrap())
    };
    steps.iter().filter_map(line).collect()
}

fn message(text: &str) -> AgentCommand {
    AgentCommand::Send { text: UserInput::from(text) }
}

fn begin_turn(conversation: &mut ScriptConversation, text: &str) {
    let steps = conversation.request(queued(text)).unwrap();
    assert_eq!(sent(&steps), [message(text)]);
    take(conversation, AgentEvent::TurnStarted { turn: TurnId(1) });
    take(conversation, said(MessageRole::User, text));
}

fn approval(id: u64) -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalId(id),
        turn: TurnId(1),
        call: CallId::new("c1"),
        tool: "Bash".into(),
        input: json!({"command": "make"}),
        cwd: "/w".into(),
        kind: ApprovalKind::Permission,
        reason: "It can do anything.".into(),
        parts: Vec::new(),
        allow_rules: vec!["Bash(make)".into()],
        deny_rule: None,
        rule_file: RuleFile("/w/settings.json".into()),
        preview: None,
        other_previews: Vec::new(),
        dangers: Vec::new(),
        facts: DangerFacts::default(),
    }
}

fn ask(conversation: &mut ScriptConversation, request: ApprovalRequest) -> Vec<ConversationStep> {
    take(conversation, AgentEvent::ApprovalAsked(Box::new(request)))
}

fn approve(id: u64, allow: bool) -> ClientRequest {
    ClientRequest::Approve { id: ApprovalId(id), allow, remember: None, message: None }
}

fn end_turn(conversation: &mut ScriptConversation) -> Vec<ConversationStep> {
    let steps = take(conversation, ended());
    assert_eq!(steps.last(), Some(&ConversationStep::TurnEnded));
    conversation.end_turn(&RunEnd::default())
}

#[test]
fn messages_of_a_running_turn_wait_and_follow_in_order() {
    let mut it = opened();
    begin_turn(&mut it, "one");
    for text in ["two", "three"] {
        let steps = it.request(queued(text)).unwrap();
        assert_eq!((kinds(&steps), sent(&steps)), (vec!["waiting".to_owned()], vec![]));
    }
    let steps = end_turn(&mut it);
    assert_eq!((kinds(&steps), sent(&steps)), (vec!["result".to_owned()], vec![message("two")]));
    // It is not in the conversation yet, so another one waits, too.
    assert!(sent(&it.request(queued("four")).unwrap()).is_empty());
    take(&mut it, AgentEvent::TurnStarted { turn: TurnId(2) });
    take(&mut it, said(MessageRole::User, "two"));
    assert_eq!(sent(&end_turn(&mut it)), [message("three")]);
}

#[test]
fn a_message_that_steers_comes_back_before_the_others_if_the_turn_was_over() {
    let mut it = opened();
    begin_turn(&mut it, "one");
    it.request(queued("later")).unwrap();
    let steer = |text| say(text, MessageDelivery::Steer);
    let steps = it.request(steer("now")).unwrap();
    let text = UserInput::from("now");
    assert_eq!(sent(&steps), [AgentCommand::Steer { id: SteerId(1), text }]);
    it.request(steer("too late")).unwrap();
    take(&mut it, AgentEvent::SteerSettled { id: SteerId(1), returned: None });
    assert_eq!(sent(&end_turn(&mut it)), [message("too late")]);
    take(&mut it, said(MessageRole::User, "too late"));
    assert_eq!(sent(&end_turn(&mut it)), [message("later")]);
}

#[test]
fn the_number_of_waiting_messages_is_bounded() {
    let mut it = opened();
    begin_turn(&mut it, "one");
    for _ in 0..100 {
        it.request(queued("more")).unwrap();
    }
    let why = it.request(queued("too many")).unwrap_err();
    assert!(why.contains("100 messages wait"), "{why}");
}

#[test]
fn an_approval_reaches_the_agent_that_asked() {
    let mut it = opened();
    begin_turn(&mut it, "one");
    let event = AgentEvent::ApprovalAsked(Box::new(approval(7)));
    let steps = it.event(&AddressedEvent { agent: CHILD, event });
    let line = &lines(&steps)[0];
    assert_eq!(
        (&line["id"], &line["agent"], &line["tool"]),
        (&json!(7), &json!(2), &json!("Bash"))
    );
    let steps = it.request(approve(7, true)).unwrap();
    let answer = AgentCommand::Answer { id: ApprovalId(7), answer: ApprovalAnswer::Once };
    assert!(steps.contains(&ConversationStep::Command(answer.to(CHILD))), "{steps:?}");
    assert_eq!(kinds(&steps), ["question_closed"]);
    let again = it.request(approve(7, true)).unwrap_err();
    assert!(again.contains("No call waits"), "{again}");
}

#[test]
fn a_yes_is_remembered_only_by_rules_that_were_offered() {
    let yes = |id, remember| ClientRequest::Approve {
        id: ApprovalId(id),
        allow: true,
        remember: Some(remember),
        message: None,
    };
    let mut it = opened();
    ask(&mut it, approval(1));
    let rules = vec!["Bash(make)".to_owned()];
    let answer = ApprovalAnswer::Session { rules: rules.clone() };
    let steps = it.request(yes(1, RememberedFor::Session)).unwrap();
    assert_eq!(sent(&steps), [AgentCommand::Answer { id: ApprovalId(1), answer }]);
    ask(&mut it, approval(2));
    let answer = ApprovalAnswer::Always { rules };
    let steps = it.request(yes(2, RememberedFor::Always)).unwrap();
    assert_eq!(sent(&steps), [AgentCommand::Answer { id: ApprovalId(2), answer }]);
    ask(&mut it, ApprovalRequest { allow_rules: Vec::new(), ..approval(3) });
    assert!(it.request(yes(3, RememberedFor::Session)).is_err());
    ask(&mut it, ApprovalRequest { dangers: vec![CallDanger::PushesCommits], ..approval(4) });
    assert!(it.request(yes(4, RememberedFor::Always)).is_err());
    // What was refused is still open.
    assert!(it.request(approve(4, true)).is_ok());
}

#[test]
fn a_no_may_say_what_to_do_instead() {
    let mut it = opened();
    ask(&mut it, approval(1));
    let no = |allow| ClientRequest::Approve {
        id: ApprovalId(1),
        allow,
        remember: None,
        message: Some("use rg".to_owned()),
    };
    assert!(it.request(no(true)).is_err());
    let answer = ApprovalAnswer::Deny { instruction: Some("use rg".to_owned()) };
    let steps = it.request(no(false)).unwrap();
    assert_eq!(sent(&steps), [AgentCommand::Answer { id: ApprovalId(1), answer }]);
}

#[test]
fn questions_take_only_answers_that_they_have() {
    let mut it = opened();
    let option = |label: &str| QuestionOption { label: label.into(), ..option_of_nothing() };
    let question =
        UserQuestion { options: vec![option("a"), option("b")], ..UserQuestion::default() };
    let request = QuestionRequest {
        id: ApprovalId(3),
        turn: TurnId(1),
        call: CallId::new("c1"),
        questions: vec![question],
    };
    let steps = take(&mut it, AgentEvent::QuestionsAsked(Box::new(request)));
    assert_eq!(kinds(&steps), ["questions_asked"]);
    let answer = |answers: Value| {
        let line = json!({"type": "answers", "id": 3, "answers": answers}).to_string();
        match InputLine::read(line.as_bytes()).unwrap() {
            InputLine::Answers { id, answers } => ClientRequest::Answer { id, answers },
            other => panic!("{other:?}"),
        }
    };
    for wrong in [json!([{"chosen": [2]}]), json!([{"chosen": [0, 1]}]), json!([{}, {}])] {
        assert!(it.request(answer(wrong.clone())).is_err(), "{wrong}");
    }
    let steps = it.request(answer(json!([{"chosen": [1], "text": "but slowly"}]))).unwrap();
    let text = Some("but slowly".to_owned());
    let answers = vec![QuestionAnswer { chosen: vec![1], text, document: None }];
    assert_eq!(sent(&steps), [AgentCommand::AnswerQuestions { id: ApprovalId(3), answers }]);
}

fn option_of_nothing() -> QuestionOption {
    QuestionOption { label: String::new(), description: None, preview: None }
}

#[test]
fn the_end_refuses_what_is_open_and_what_is_asked_later() {
    let mut it = opened();
    begin_turn(&mut it, "one");
    ask(&mut it, approval(1));
    let is_no = |steps: &[ConversationStep]| match sent(steps).as_slice() {
        [AgentCommand::Answer { answer: ApprovalAnswer::Deny { .. }, .. }] => true,
        other => panic!("{other:?}"),
    };
    assert!(is_no(&it.end()));
    assert!(!it.is_finished(), "its turn runs");
    let steps = ask(&mut it, approval(2));
    assert_eq!(kinds(&steps), ["approval_asked", "question_closed"]);
    assert!(is_no(&steps));
    assert!(it.request(queued("more")).is_err());
    let result = lines(&end_turn(&mut it)).pop().unwrap();
    assert_eq!((&result["exit"], result["refused"].as_array().unwrap().len()), (&json!(4), 2));
    assert!(it.is_finished());
    assert_eq!(it.exit(), CliExitStatus::Refused);
}

#[test]
fn the_end_waits_for_the_messages_before_it() {
    let mut it = opened();
    begin_turn(&mut it, "one");
    it.request(queued("two")).unwrap();
    it.request(ClientRequest::End).unwrap();
    assert_eq!(sent(&end_turn(&mut it)), [message("two")]);
    assert!(!it.is_finished());
    take(&mut it, said(MessageRole::User, "two"));
    end_turn(&mut it);
    assert!(it.is_finished());
}

#[test]
fn s108_a_mode_is_only_what_slug_was_started_for() {
    let mut it = opened();
    for mode in [PermissionMode::Ask, PermissionMode::AllowEdits, PermissionMode::Plan] {
        let steps = it.request(ClientRequest::SetMode(mode)).unwrap();
        assert_eq!(sent(&steps), [AgentCommand::SetMode(mode)]);
    }
    for mode in [PermissionMode::Yolo, PermissionMode::Sandbox] {
        let why = it.request(ClientRequest::SetMode(mode)).unwrap_err();
        assert!(why.contains("started in it"), "{why}");
    }
    let limits = ConversationLimits {
        opening: InitialSession::New,
        mode: PermissionMode::Yolo,
        has_sandbox: true,
    };
    let mut it = ScriptConversation::new(MAIN, RunFacts::default(), limits);
    for mode in PermissionMode::ALL {
        assert!(it.request(ClientRequest::SetMode(mode)).is_ok(), "{mode}");
    }
}

#[test]
fn another_session_than_the_one_that_was_asked_for_is_a_failure() {
    let wanted = SessionId::generate();
    let limits = limits(InitialSession::Resume(wanted));
    let mut it = ScriptConversation::new(MAIN, RunFacts::default(), limits.clone());
    let opened = |session| AgentEvent::SessionOpened { session, records: Vec::new().into() };
    take(&mut it, opened(SessionId::generate()));
    assert!(!it.is_open());
    let text = "It is damaged.".to_owned();
    let steps = take(&mut it, AgentEvent::Notice { level: NoticeLevel::Error, text: text.clone() });
    assert!(steps.contains(&ConversationStep::Failed(text)), "{steps:?}");
    let mut it = ScriptConversation::new(MAIN, RunFacts::default(), limits);
    take(&mut it, opened(wanted));
    assert!(it.is_open());
}

#[test]
fn a_new_client_hears_what_is_in_no_record() {
    let mut it = opened();
    begin_turn(&mut it, "one");
    for text in ["Hel", "lo"] {
        take(&mut it, AgentEvent::Text { turn: TurnId(1), text: text.into() });
    }
    ask(&mut it, approval(5));
    let so_far = it.so_far();
    assert_eq!(so_far.records.len(), 1);
    let now: Vec<Value> =
        so_far.now.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&now[0]["type"], &now[0]["running"]), (&json!("state"), &json!(true)));
    assert_eq!(now[1], json!({"type": "text", "text": "Hello"}));
    assert_eq!((&now[2]["type"], &now[2]["id"]), (&json!("approval_asked"), &json!(5)));
    take(&mut it, said(MessageRole::Assistant, "Hello"));
    assert_eq!(it.so_far().now.len(), 2, "the record has the text");
}

#[test]
fn each_turn_has_a_result_of_its_own() {
    let mut it = opened();
    for text in ["first", "second"] {
        begin_turn(&mut it, text);
        take(&mut it, said(MessageRole::Assistant, &format!("answer to the {text}")));
        let result = lines(&end_turn(&mut it)).pop().unwrap();
        assert_eq!(result["text"], format!("answer to the {text}"));
    }
    // A turn of slug's own.
    take(&mut it, AgentEvent::TurnStarted { turn: TurnId(3) });
    take(&mut it, said(MessageRole::Assistant, "by the way"));
    assert_eq!(lines(&end_turn(&mut it)).pop().unwrap()["text"], "by the way");
}

#[test]
fn lines_are_read_leniently_where_nothing_depends_on_it() {
    let read = |line: &str| InputLine::read(line.as_bytes());
    let sdk = json!({"type": "user", "session_id": "x", "parent_tool_use_id": null,
        "message": {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {}}]}});
    let Ok(InputLine::User { message, delivery: MessageDelivery::Queue }) = read(&sdk.to_string())
    else {
        panic!("it is not understood")
    };
    let no_image = |_: &str, _| Err("no image".to_owned());
    assert_eq!(message.into_input(no_image), Ok(UserInput::from("hi")));
    for (wrong, why) in [
        ("", "not JSON"),
        ("\0\u{1}", "not JSON"),
        ("[1]", "a `type`"),
        ("null", "a `type`"),
        (r#"{"type":"dance"}"#, "unknown variant `dance`"),
        (r#"{"type":"user","message":{"role":"user","content":7}}"#, "a text or a list"),
        (r#"{"type":"approval","id":-1,"allow":true}"#, "not understood"),
        (r#"{"type":"approval","id":1,"allow":"yes"}"#, "not understood"),
        (r#"{"type":"mode","mode":"loose"}"#, "not understood"),
    ] {
        let told = read(wrong).unwrap_err();
        assert!(told.contains(why), "{wrong}: {told}");
    }
    assert!(read(&"[".repeat(100_000)).unwrap_err().contains("not JSON"));
}

#[test]
fn a_message_needs_a_user_and_something_to_say() {
    let input = |message: Value| {
        let line = json!({"type": "user", "message": message}).to_string();
        let Ok(InputLine::User { message, .. }) = InputLine::read(line.as_bytes()) else {
            panic!("{line} is not understood")
        };
        message.into_input(|_, bytes| Err(format!("{} bytes", bytes.len())))
    };
    assert!(input(json!({"role": "user", "content": " \n"})).unwrap_err().contains("empty"));
    assert!(input(json!({"role": "user", "content": []})).unwrap_err().contains("empty"));
    assert!(input(json!({"role": "assistant", "content": "hi"})).unwrap_err().contains("`user`"));
    let image = |data| {
        let source = json!({"type": "base64", "media_type": "image/png", "data": data});
        input(json!({"role": "user", "content": [{"type": "image", "source": source}]}))
    };
    assert_eq!(image("AAAA").unwrap_err(), "3 bytes");
    assert!(image("%%%").unwrap_err().contains("not base64"));
}
