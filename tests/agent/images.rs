//! Images from the user to the model, and from the log of a resumed session.

use slug_code::agent::{AgentCommand, AgentEvent, InitialSession};
use slug_code::domain::{
    Attachment, ContentBlock, MediaType, MessageImage, NoticeLevel, StopReason, UserInput,
};
use slug_code::providers::{ErrorRecovery, StreamEvent};
use slug_code::session::TurnOutcome;

use serde_json::json;

use super::fakes::{ScriptedEvent, calls, failure, finish_event, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

const BYTES: &[u8] = b"the bytes of an image";

/// A command that sends a message with an image, whose bytes are stored.
fn shown(fixture: &AgentFixture) -> AgentCommand {
    fixture.store.blobs().put(BYTES).unwrap();
    let image = MessageImage::new("shot.png", MediaType::Png, (3, 2), BYTES);
    let label = "[Image 1 shot.png 3×2]".to_owned();
    let text = format!("what is {label}?");
    AgentCommand::Send { text: UserInput { text, images: vec![Attachment { label, image }] } }
}

fn answer(fixture: &AgentFixture, text: &str) {
    let event = ScriptedEvent::Event(StreamEvent::Text(text.into()));
    fixture.model.reply(vec![event, finish_event(StopReason::EndTurn)]);
}

/// The images of the last request in base64, and its texts, which include the notes in place of
/// images.
fn last(fixture: &AgentFixture) -> (Vec<String>, String) {
    let request = fixture.model.last_request();
    let blocks = || request.messages.iter().flat_map(|message| &message.content);
    let images = blocks().filter_map(|block| match block {
        ContentBlock::Image(image) => Some(request.images.get(&image.hash).unwrap().to_owned()),
        _ => None,
    });
    let texts = blocks().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    (images.collect(), texts.collect::<Vec<_>>().join("|"))
}

async fn begun(fixture: &AgentFixture) -> TestAgent {
    let mut agent = fixture.open(InitialSession::New).await;
    answer(fixture, "A cat.");
    agent.tell(shown(fixture)).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    agent
}

#[tokio::test]
async fn an_image_is_sent_with_its_message_and_ever_after() {
    let fixture = AgentFixture::new();
    let mut agent = begun(&fixture).await;
    let encoded = "dGhlIGJ5dGVzIG9mIGFuIGltYWdl".to_owned();
    assert_eq!(last(&fixture), (vec![encoded.clone()], "what is [Image 1 shot.png 3×2]?".into()));
    let before = fixture.model.last_request();
    answer(&fixture, "Grey.");
    agent.turn("which colour?").await;
    let after = fixture.model.last_request();
    assert_eq!(after.messages[..1], before.messages[..]);
    assert_eq!(last(&fixture).0, [encoded]);
    agent.close().await;
}

#[tokio::test]
async fn a_resumed_session_and_a_fork_show_it_again() {
    let fixture = AgentFixture::new();
    let agent = begun(&fixture).await;
    let id = agent.session.unwrap();
    agent.close().await;
    for start in [InitialSession::Resume(id), InitialSession::Fork(id)] {
        let mut agent = fixture.open(start).await;
        answer(&fixture, "Grey.");
        agent.turn("which colour?").await;
        assert_eq!(last(&fixture).0.len(), 1, "{start:?}");
        agent.close().await;
    }
}

#[tokio::test]
async fn a_session_whose_image_is_lost_goes_on_with_a_note() {
    let fixture = AgentFixture::new();
    let agent = begun(&fixture).await;
    let id = agent.session.unwrap();
    agent.close().await;
    std::fs::remove_dir_all(fixture.home.join("blobs")).unwrap();
    let mut agent = fixture.open(InitialSession::Resume(id)).await;
    answer(&fixture, "Grey.");
    assert_eq!(agent.turn("which colour?").await, TurnOutcome::Answered);
    let (images, texts) = last(&fixture);
    assert_eq!(images, [""; 0]);
    assert!(texts.contains("[An image was here, shot.png 3×2. Its content is lost.]"), "{texts}");
    agent.close().await;
}

#[tokio::test]
async fn a_model_that_refuses_images_is_told_of_them_instead() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    fixture.model.reply(vec![failure(400, ErrorRecovery::LeaveImagesOut)]);
    answer(&fixture, "I cannot see it.");
    agent.tell(shown(&fixture)).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let is_told = agent.events.iter().any(|event| {
        matches!(event, AgentEvent::Notice { level: NoticeLevel::Warning, text }
            if text.contains("slug leaves the images out"))
    });
    assert!(is_told, "{:#?}", agent.events);
    answer(&fixture, "Still not.");
    agent.turn("look again").await;
    let (images, texts) = last(&fixture);
    assert_eq!(images, [""; 0]);
    assert!(texts.contains("this model takes no images"), "{texts}");
    assert_eq!(fixture.model.requests().len(), 3);
    agent.close().await;
}

#[tokio::test]
async fn an_image_that_read_shows_stands_behind_all_results() {
    let fixture = AgentFixture::new();
    let png = slug_code::platform::image::png("p", (3, 2), &[9; 24]).unwrap();
    std::fs::write(fixture.work.join("a.png"), &png).unwrap();
    fixture.put("b.txt", "text\n");
    let mut agent = fixture.open(InitialSession::New).await;
    let read = |id: &'static str, path: &str| (id, "read", json!({"path": path}));
    queue_replies(&fixture, [calls(&[read("r1", "a.png"), read("r2", "b.txt")]), words("grey")]);
    assert_eq!(agent.turn("what is it?").await, TurnOutcome::Answered);
    let request = fixture.model.last_request();
    let content = &request.messages.last().unwrap().content;
    let [ContentBlock::ToolResult { content: first, .. }, ContentBlock::ToolResult { .. }, image] =
        &content[..]
    else {
        panic!("{content:?}")
    };
    assert_eq!(first, "a.png is an image (PNG image, 3×2). It follows the results.");
    let ContentBlock::Image(image) = image else { panic!("{image:?}") };
    assert_eq!(fixture.store.blobs().get(&image.hash).unwrap(), Some(png));
    assert!(request.images.get(&image.hash).is_some());
    // A server that refuses it gets a sentence, and the turn goes on.
    queue_replies(&fixture, [vec![failure(400, ErrorRecovery::LeaveImagesOut)], words("well")]);
    assert_eq!(agent.turn("and now?").await, TurnOutcome::Answered);
    let (images, texts) = last(&fixture);
    assert!(images.is_empty() && texts.contains("this model takes no images"), "{texts}");
    agent.close().await;
}
