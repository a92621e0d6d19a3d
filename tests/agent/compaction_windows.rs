//! Compaction where the window is smaller than slug takes it for, or becomes so; and what one costs that is
//! stopped.

use slug_code::agent::{AgentCommand, AgentEvent, ContextRequest, InitialSession};
use slug_code::domain::{ContentBlock, RequestSource, StopReason, format_tokens};
use slug_code::providers::{ProviderRequest, StreamEvent};
use slug_code::session::{ContextAction, TurnOutcome};

use super::compaction::{
    TASK, compactions, fixture, last_step, step_by_step, with_files, with_rounds,
};
use super::fakes::{ScriptedEvent, finish_event, words};
use super::test_agent::{AgentFixture, TestAgent};
use super::windowed_model::{WindowedModel, count_tokens, count_with_digits, whole_text};

/// Waits until the front end was told this window.
async fn wait_for_window(agent: &mut TestAgent, window: u64) {
    let is_told = |event: &AgentEvent| matches!(event, AgentEvent::ModelChanged { window: it, .. } if it.tokens() == window);
    if !agent.events.iter().any(is_told) {
        agent.wait_for("the window", is_told).await;
    }
}

/// A session goes on with a model whose window is much smaller.
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_of_many_windows_is_summarised_from_its_newest_part() {
    let answer = |request: &ProviderRequest| {
        words(&format!("Step {} is done. {}", last_step(request), "So it is. ".repeat(300)))
    };
    let large = WindowedModel::new(128_000, answer);
    let first = fixture(&large);
    let mut agent = with_rounds(&first, 30).await;
    let session = agent.id();
    agent.close().await;
    let small = WindowedModel::new(16_000, answer);
    let fixture = AgentFixture { provider: Some(small.clone()), ..first };
    agent = fixture.open(InitialSession::Resume(session)).await;
    let outcome = agent.turn("Step 30: go on.").await;
    assert_eq!(outcome, TurnOutcome::Answered, "{:?}", agent.notices());
    assert_eq!(small.refused(), 0, "nothing was sent in vain");
    assert_eq!(small.summaries().len(), 1);
    let asked = whole_text(&small.summaries()[0].messages);
    assert!(asked.contains("Step 29 is done.") && !asked.contains("Step 0 is done."), "{asked}");
    assert!(agent.notices().iter().any(|it| it.contains("covers its newest part")));
    let note = compactions(&agent).pop().unwrap().note.unwrap();
    assert!(note.text.contains("from the newest part of what is left out"), "{}", note.text);
    agent.close().await;
}

/// What the server has counted before is in the log: sizes are right from the first request on.
#[tokio::test(flavor = "multi_thread")]
async fn the_calibration_survives_a_resume() {
    let model = WindowedModel::new(64_000, step_by_step);
    let fixture = with_files(&model);
    let agent = with_rounds(&fixture, 10).await;
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    // Behind this the last count says nothing of the whole any more.
    agent.tell(AgentCommand::Shell { command: "ls".into() }).await;
    let is_output = |event: &AgentEvent| {
        let AgentEvent::Recorded(record) = event else { return false };
        record.entry.as_message().is_some_and(|message| message.result.is_some())
    };
    agent.wait_for("output", is_output).await;
    agent.tell(AgentCommand::Context(ContextRequest::Show)).await;
    let shown = agent.wait_for("sizes", |event| matches!(event, AgentEvent::Context(_))).await;
    let AgentEvent::Context(reply) = shown else { panic!("{shown:?}") };
    assert!(reply.ledger.is_estimate);
    agent.turn("Step 10: go on.").await;
    let mut requests = model.requests().into_iter().rev();
    let sent = requests.find(|it| it.messages.last().unwrap().answers().count() == 0).unwrap();
    let (counted, estimate) = (count_tokens(&sent), reply.ledger.used);
    assert!(counted.abs_diff(estimate) * 100 <= counted * 5, "~{estimate} for {counted} tokens");
    agent.close().await;
}

/// The first estimate after a resume is made before the server has said which models it has.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_estimate_after_a_resume_is_calibrated() {
    let model = WindowedModel::of_digits(64_000, step_by_step);
    let fixture = AgentFixture { model_name: None, ..with_files(&model) };
    let mut agent = with_rounds(&fixture, 4).await;
    agent.turn(&format!("Step 4: {}", "0123456789 ".repeat(900))).await;
    agent.tell(AgentCommand::Shell { command: "ls".into() }).await;
    let is_estimate = |event: &AgentEvent| matches!(event, AgentEvent::ContextEstimated(_));
    agent.wait_for("output", is_estimate).await;
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    let told = agent.wait_for("estimate", is_estimate).await;
    let AgentEvent::ContextEstimated(ledger) = told else { panic!("{told:?}") };
    let before = model.requests().len();
    agent.turn("Step 5: go on.").await;
    let counted = count_with_digits(&model.requests()[before]);
    let estimate = ledger.used;
    assert!(counted.abs_diff(estimate) * 100 <= counted * 12, "~{estimate} for {counted} tokens");
    agent.close().await;
}

/// What was counted last may be another conversation than the one that is sent now.
#[tokio::test(flavor = "multi_thread")]
async fn the_calibration_survives_a_resume_behind_what_was_folded_out_and_brought_back() {
    let model = WindowedModel::of_digits(64_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 6).await;
    agent.turn(&format!("Step 6: {}", "0123456789 ".repeat(900))).await;
    let ledger = |event: AgentEvent| match event {
        AgentEvent::Context(reply) => reply.ledger,
        other => panic!("{other:?}"),
    };
    let is_ledger = |event: &AgentEvent| matches!(event, AgentEvent::Context(_));
    agent.tell(AgentCommand::Context(ContextRequest::Show)).await;
    let shown = ledger(agent.wait_for("sizes", is_ledger).await);
    let items = shown.sources.iter().flat_map(|source| &source.items);
    let largest = items.filter(|item| item.can_fold).max_by_key(|item| item.tokens).unwrap();
    for action in [ContextAction::FoldOut, ContextAction::BringBack] {
        let item = largest.item.unwrap();
        agent.tell(AgentCommand::Context(ContextRequest::Edit { item, action })).await;
        agent.wait_for("the edit", is_ledger).await;
        if action == ContextAction::FoldOut {
            agent.turn("Step 7: go on.").await;
        }
    }
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    agent.tell(AgentCommand::Context(ContextRequest::Show)).await;
    let shown = ledger(agent.wait_for("sizes", is_ledger).await);
    let before = model.requests().len();
    agent.turn("Step 8: go on.").await;
    let counted = count_with_digits(&model.requests()[before]);
    let estimate = shown.used;
    assert!(counted.abs_diff(estimate) * 100 <= counted * 12, "~{estimate} for {counted} tokens");
    agent.close().await;
}

/// Where nothing can become shorter, `/compact` says what the request is made of, if that leaves little
/// room, and else that there is room.
#[tokio::test(flavor = "multi_thread")]
async fn compact_says_whether_what_cannot_be_left_out_matters() {
    let model = WindowedModel::new(16_384, |_| words("Yes."));
    let fixture = fixture(&model);
    for (sent, told, is_warned) in [
        (2_300, "No need to compact yet: a request takes ~", false),
        (3_100, "Nothing can be left out: a request takes ~", true),
    ] {
        let mut agent = fixture.open(InitialSession::New).await;
        agent.turn(&(0..sent).map(|word| format!("word{word} ")).collect::<String>()).await;
        agent.tell(AgentCommand::Compact { focus: None }).await;
        assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
        let notices = agent.notices();
        let said = notices.last().unwrap();
        assert!(said.starts_with(told), "{notices:?}");
        assert_eq!(said.contains("take your last message (~"), is_warned, "{said}");
        assert_eq!(said.contains("compacts again"), is_warned, "{said}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_could_not_be_read_is_none_that_was_read() {
    let model = WindowedModel::new(64_000, step_by_step);
    let fixture = with_files(&model);
    std::fs::remove_file(fixture.work.join("f3")).unwrap();
    let mut agent = with_rounds(&fixture, 12).await;
    agent.tell(AgentCommand::Compact { focus: None }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let note = compactions(&agent).pop().unwrap().note.unwrap();
    let (_, read) = note.text.split_once("## Files read so far\n").unwrap();
    assert!(read.contains("f2") && !read.contains("f3"), "{read}");
    agent.close().await;
}

/// Where neither a summary nor a note from the log saves anything, that is said once.
#[tokio::test(flavor = "multi_thread")]
async fn a_summary_that_failed_and_a_note_that_saves_nothing_are_one_sentence() {
    let model = WindowedModel::new(64_000, |request| {
        let first = request.messages.len() * 1_000;
        words(&(0..25).map(|number| format!("fact{} ", first + number)).collect::<String>())
    });
    model.summarise(Some(words("No.")));
    let fixture = fixture(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    for number in 0..10 {
        agent.turn(&format!("Question {number}?")).await;
    }
    agent.tell(AgentCommand::Compact { focus: None }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let notices = agent.notices();
    let [said] = notices[..] else { panic!("{notices:?}") };
    assert_eq!(
        said,
        "test-model could not write a summary: two answers were no summary. Nothing was compacted: a \
         note from the log would save nothing."
    );
    assert!(compactions(&agent).is_empty());
    agent.close().await;
}

/// A local server that is started anew with a smaller context is believed at its first refusal, whether
/// that names the window or not.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_shrinks_is_read_again() {
    for model in [
        WindowedModel::new(32_000, step_by_step),
        WindowedModel::naming_its_window(32_000, step_by_step),
    ] {
        let fixture = with_files(&model);
        let first = with_rounds(&fixture, 16).await;
        let session = first.id();
        first.close().await;
        let mut agent = fixture.open(InitialSession::Resume(session)).await;
        wait_for_window(&mut agent, 32_000).await;
        let sent = count_tokens(&model.requests().pop().unwrap());
        assert!(sent > 9_500, "{sent} tokens fit into the smaller window");
        model.restart_with(9_400);
        for number in 16..30 {
            let outcome = agent.turn(&format!("Step {number}: go on.")).await;
            assert_eq!(outcome, TurnOutcome::Answered, "{:?}", agent.notices());
        }
        assert_eq!(model.refused(), 1, "{:?}", agent.notices());
        assert_eq!(
            agent.notices(),
            [
                "The context window of test-model has 9.4k tokens now, as its server says. slug sends no \
              more than that from now on."
            ]
        );
        wait_for_window(&mut agent, 9_400).await;
        for request in model.requests() {
            assert!(whole_text(&request.messages).contains(TASK));
        }
        agent.close().await;
    }
}

/// The same where the user asks for a compaction, whose request the smaller window would refuse.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_shrinks_before_compact_is_read_again() {
    let model = WindowedModel::naming_its_window(32_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 16).await;
    model.restart_with(9_000);
    agent.tell(AgentCommand::Compact { focus: None }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(agent.notices()[0].contains("has 9k tokens now"), "{:?}", agent.notices());
    for number in 16..20 {
        let outcome = agent.turn(&format!("Step {number}: go on.")).await;
        assert_eq!(outcome, TurnOutcome::Answered, "{:?}", agent.notices());
    }
    assert_eq!(model.refused(), 0, "{:?}", agent.notices());
    agent.close().await;
}

/// What `/compact` would do depends on the window, and a server that was started anew says so to nobody.
#[tokio::test(flavor = "multi_thread")]
async fn compact_reads_the_window_again_whether_it_has_shrunk_or_grown() {
    let model = WindowedModel::new(64_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 4).await;
    for (window, told) in [(9_000, "has 9k tokens now"), (32_000, "has 32k tokens now")] {
        model.restart_with(window);
        agent.tell(AgentCommand::Compact { focus: None }).await;
        agent.wait_for_turn_end().await;
        assert!(agent.notices().iter().any(|it| it.contains(told)), "{:?}", agent.notices());
    }
    assert_eq!(model.refused(), 0);
    agent.close().await;
}

/// A window that has grown since slug asked for it may have room for what was too much.
#[tokio::test(flavor = "multi_thread")]
async fn what_fits_into_a_window_that_has_grown_is_not_made_shorter() {
    let model = WindowedModel::new(32_000, step_by_step);
    let fixture = with_files(&model);
    let agent = with_rounds(&fixture, 8).await;
    let session = agent.id();
    let size = count_tokens(model.requests().last().unwrap());
    agent.close().await;
    model.restart_with(size + size / 8 + 1_024);
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    wait_for_window(&mut agent, size + size / 8 + 1_024).await;
    model.restart_with(64_000);
    agent.turn("Step 9: go on.").await;
    assert!(
        agent.notices().iter().any(|it| it.contains("64k tokens now")),
        "{:?}",
        agent.notices()
    );
    assert!(compactions(&agent).is_empty(), "{:?}", agent.notices());
    agent.close().await;
}

/// "Start the server with a larger context" is advice that can be followed.
#[tokio::test(flavor = "multi_thread")]
async fn a_larger_window_is_seen_by_the_message_after_one_that_was_too_large() {
    let model = WindowedModel::new(9_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    let outcome = agent.turn(&format!("Step 0: read {}", "some words ".repeat(3_000))).await;
    assert!(matches!(outcome, TurnOutcome::Failed(_)), "{outcome:?}");
    model.restart_with(64_000);
    let outcome = agent.turn("Step 1: go on.").await;
    assert_eq!(outcome, TurnOutcome::Answered, "{:?}", agent.notices());
    agent.close().await;
}

/// A server on this machine that was started anew between two turns says so to nobody: each turn asks.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_started_anew_while_nothing_ran_has_its_window_read_again() {
    let model = WindowedModel::new(64_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 2).await;
    for (window, told) in [
        (32_000, "has 32k tokens now, as its server says. slug sends no more than that"),
        (48_000, "has 48k tokens now, as its server says."),
    ] {
        model.restart_with(window);
        agent.turn("Go on.").await;
        let is_told = |event: &AgentEvent| matches!(event, AgentEvent::Notice { text, .. } if text.contains(told));
        let is_request = |event: &AgentEvent| matches!(event, AgentEvent::RequestSent { .. });
        let told = agent.events.iter().position(is_told);
        let sent = agent.events.iter().rposition(is_request);
        assert!(told.is_some() && told < sent, "the first request knows it: {:?}", agent.notices());
        wait_for_window(&mut agent, window).await;
    }
    let told = agent.notices().len();
    agent.turn("Go on.").await;
    assert_eq!(agent.notices().len(), told, "told once: {:?}", agent.notices());
    agent.close().await;
}

/// A server that was away may have come back with another window.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_read_again_when_the_server_was_away() {
    let model = WindowedModel::new(64_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 1).await;
    model.restart_with(32_000);
    model.break_next();
    assert_eq!(agent.turn("Step 1: go on.").await, TurnOutcome::Answered);
    let told = "has 32k tokens now";
    assert!(agent.notices().iter().any(|it| it.contains(told)), "{:?}", agent.notices());
    agent.close().await;
}

/// Digits are tokens of their own to many models: what the server has counted in a refusal is believed, so
/// that the user learns what is too long, and that no window is taken for smaller than it is.
#[tokio::test(flavor = "multi_thread")]
async fn the_tokens_that_a_refusal_names_are_believed() {
    let model = WindowedModel::of_digits(16_000, step_by_step);
    let fixture = with_files(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    let numbers = "0123456789 ".repeat(2_000);
    let outcome = agent.turn(&format!("Step 0: add up {numbers}")).await;
    let counted = count_with_digits(&model.requests()[0]);
    assert_eq!(model.refused(), 1, "{:?}", agent.notices());
    let TurnOutcome::Failed(told) = outcome else { panic!("{outcome:?}") };
    let size = format!("~{}", format_tokens(counted));
    assert!(told.contains(&size), "no {size} in {told}");
    agent.close().await;
}

/// A smaller window may show in an answer that ends before the limit that slug has asked for.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_ends_before_its_limit_has_the_window_read_again() {
    let model = WindowedModel::new(32_000, |request| {
        let notes = request.messages.last().unwrap().content.iter();
        let goes_on =
            notes.filter_map(ContentBlock::as_context).any(|(name, _)| name == "continuation");
        match goes_on {
            true => words("Yes."),
            false => vec![
                ScriptedEvent::Event(StreamEvent::Text("Well, ".into())),
                finish_event(StopReason::MaxTokens),
            ],
        }
    });
    let fixture = fixture(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    wait_for_window(&mut agent, 32_000).await;
    model.restart_with(9_000);
    // Fits, with the limit of before, into no window of 9k; a real server begins it all the same.
    model.accept_long_limits();
    assert_eq!(agent.turn(TASK).await, TurnOutcome::Answered);
    assert!(agent.notices()[0].contains("has 9k tokens now"), "{:?}", agent.notices());
    let limits: Vec<Option<u32>> = model.requests().iter().map(|it| it.max_tokens).collect();
    assert_eq!(limits, [Some(10_666), Some(3_000)]);
    agent.close().await;
}

/// Some servers add the output limit to the prompt. Where nothing can be left out, the request goes once
/// more with the least that an answer gets.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_request_that_cannot_become_shorter_goes_again_with_the_least_answer() {
    let model = WindowedModel::new(16_384, |_| words("Yes."));
    let fixture = fixture(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    // Long words, of more tokens than the estimate has for them.
    let long = "abcdefghijkl ".repeat(2_500);
    assert_eq!(agent.turn(&long).await, TurnOutcome::Answered, "{:?}", agent.notices());
    let limits: Vec<u32> = model.requests().iter().filter_map(|it| it.max_tokens).collect();
    assert_eq!((model.refused(), limits.last()), (1, Some(&1_000)), "{limits:?}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stopped_compaction_was_answered_is_counted() {
    let model = WindowedModel::new(64_000, step_by_step);
    model.summarise(None);
    model.summarise_next(words("No."));
    let fixture = with_files(&model);
    let mut agent = with_rounds(&fixture, 10).await;
    agent.tell(AgentCommand::Compact { focus: None }).await;
    while model.summaries().len() < 2 {
        tokio::task::yield_now().await;
    }
    let paid = count_tokens(&model.summaries()[0]);
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    let records = agent.records();
    let side = records.iter().filter_map(|record| record.entry.as_message());
    let side = side.filter(|message| message.source == RequestSource::Compaction);
    let inputs: Vec<u64> = side.filter_map(|message| Some(message.usage?.input)).collect();
    assert_eq!(inputs, [paid]);
    agent.close().await;
}
