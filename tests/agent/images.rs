//! Images on their way from the person to the model, and back from a log.

use slug_code::agent::{AgentCommand, AgentEvent, InitialSession};
use slug_code::domain::{
    Attachment, ContentBlock, MediaType, MessageImage, NoticeLevel, StopReason, UserInput,
};
use slug_code::providers::{ErrorRecovery, StreamEvent};
use slug_code::session::TurnOutcome;

use super::fakes::{ScriptedEvent, failure, finish_event};
use super::test_agent::{AgentFixture, TestAgent};

const BYTES: &[u8] = b"the bytes of an image";

/// A message with an image whose bytes are kept.
fn shown(scene: &AgentFixture) -> AgentCommand {
    scene.store.blobs().put(BYTES).unwrap();
    let image = MessageImage::new("shot.png", MediaType::Png, (3, 2), BYTES);
    let label = "[Image 1 shot.png 3×2]".to_owned();
    let text = format!("what is {label}?");
    AgentCommand::Send { text: UserInput { text, images: vec![Attachment { label, image }] } }
}

fn answer(scene: &AgentFixture, text: &str) {
    let said = ScriptedEvent::Event(StreamEvent::Text(text.into()));
    scene.model.reply(vec![said, finish_event(StopReason::EndTurn)]);
}

/// The images of the last request, as they are sent, and what stands in their place.
fn last(scene: &AgentFixture) -> (Vec<String>, String) {
    let request = scene.model.last_request();
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

async fn begun(scene: &AgentFixture) -> TestAgent {
    let mut rig = scene.open(InitialSession::New).await;
    answer(scene, "A cat.");
    rig.tell(shown(scene)).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    rig
}

#[tokio::test]
async fn an_image_is_sent_with_its_message_and_ever_after() {
    let scene = AgentFixture::new();
    let mut rig = begun(&scene).await;
    let encoded = "dGhlIGJ5dGVzIG9mIGFuIGltYWdl".to_owned();
    assert_eq!(last(&scene), (vec![encoded.clone()], "what is [Image 1 shot.png 3×2]?".into()));
    let before = scene.model.last_request();
    answer(&scene, "Grey.");
    rig.turn("which colour?").await;
    let after = scene.model.last_request();
    assert_eq!(after.messages[..1], before.messages[..]);
    assert_eq!(last(&scene).0, [encoded]);
    rig.close().await;
}

#[tokio::test]
async fn a_resumed_session_and_a_fork_show_it_again() {
    let scene = AgentFixture::new();
    let rig = begun(&scene).await;
    let id = rig.session.unwrap();
    rig.close().await;
    for start in [InitialSession::Resume(id), InitialSession::Fork(id)] {
        let mut rig = scene.open(start).await;
        answer(&scene, "Grey.");
        rig.turn("which colour?").await;
        assert_eq!(last(&scene).0.len(), 1, "{start:?}");
        rig.close().await;
    }
}

#[tokio::test]
async fn a_session_whose_image_is_lost_goes_on_with_a_note() {
    let scene = AgentFixture::new();
    let rig = begun(&scene).await;
    let id = rig.session.unwrap();
    rig.close().await;
    std::fs::remove_dir_all(scene.home.join("blobs")).unwrap();
    let mut rig = scene.open(InitialSession::Resume(id)).await;
    answer(&scene, "Grey.");
    assert_eq!(rig.turn("which colour?").await, TurnOutcome::Answered);
    let (images, texts) = last(&scene);
    assert_eq!(images, [""; 0]);
    assert!(texts.contains("[An image was here, shot.png 3×2. Its content is lost.]"), "{texts}");
    rig.close().await;
}

#[tokio::test]
async fn a_model_that_refuses_images_is_told_of_them_instead() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    scene.model.reply(vec![failure(400, ErrorRecovery::LeaveImagesOut)]);
    answer(&scene, "I cannot see it.");
    rig.tell(shown(&scene)).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    let told = rig.events.iter().any(|event| {
        matches!(event, AgentEvent::Notice { level: NoticeLevel::Warning, text }
            if text.contains("images of this conversation are left out"))
    });
    assert!(told, "{:#?}", rig.events);
    answer(&scene, "Still not.");
    rig.turn("look again").await;
    let (images, texts) = last(&scene);
    assert_eq!(images, [""; 0]);
    assert!(texts.contains("this model takes no images"), "{texts}");
    assert_eq!(scene.model.requests().len(), 3);
    rig.close().await;
}
