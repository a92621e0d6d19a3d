//! Tests of images: how they get into the input, how they are sent with a message, and how they are
//! shown.

use std::path::PathBuf;

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{
    Attachment, ContentBlock, MediaType, Message, MessageImage, MessageRole, UserInput,
};
use crate::platform::graphics::{GraphicsCanvas, GraphicsProtocol};
use crate::session::{LogEntry, MessageEntry};
use crate::tui::app::conversation::images::{ImageLoadResult, ImageSource};
use crate::tui::app::pictures::picture;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::test_screen::{AGENT, TURN, TestScreen, record, recorded, screen};

const LABEL: &str = "[Image 1 shot.png 1200×800]";

fn image() -> MessageImage {
    MessageImage::new("shot.png", MediaType::Png, (1200, 800), &[0; 34_000])
}

fn typed(text: &str) -> UserInput {
    UserInput {
        text: text.to_owned(),
        images: vec![Attachment { label: LABEL.to_owned(), image: image() }],
    }
}

fn taken(id: u64, taken: Result<ImageLoadResult, String>) -> ScreenMsg {
    ScreenMsg::ImageLoaded { id: RequestId(id), taken }
}

/// A screen on which an image was dropped and read.
fn dropped() -> TestScreen {
    let scene = screen(80, 24).msg(ScreenMsg::Paste("/tmp/shot.png".into()));
    let source = ImageSource::File("/tmp/shot.png".into());
    let scene = scene.shows("[reading an image]");
    let id = id_of(&scene, &source);
    scene.clear_effects().msg(taken(id, Ok(ImageLoadResult::Image(image()))))
}

/// The id of the request to load this source.
fn id_of(scene: &TestScreen, wanted: &ImageSource) -> u64 {
    let id = scene.effects.iter().find_map(|effect| match effect {
        ScreenEffect::LoadImage { id, source } if source == wanted => Some(id.0),
        _ => None,
    });
    id.unwrap_or_else(|| panic!("not asked for: {wanted:?} in {:?}", scene.effects))
}

#[test]
fn a_dropped_path_becomes_an_image_that_goes_with_the_message() {
    let scene = dropped().shows(LABEL).types(" why?").clear_effects().key("enter");
    let said = typed(&format!("{LABEL} why?"));
    let sent = ScreenEffect::Agent(AGENT, AgentCommand::Send { text: said.clone() });
    scene.expect_effects(&[ScreenEffect::AddHistory(said), sent]);
}

#[test]
fn an_image_is_deleted_as_one() {
    let scene = dropped().key("backspace").hides("Image");
    assert!(scene.model.conversation.composer.is_empty());
}

#[test]
fn a_pasted_path_that_is_no_image_stays_text() {
    let scene = screen(80, 24).types("see ").msg(ScreenMsg::Paste("'/tmp/my shot.png'".into()));
    let id = id_of(&scene, &ImageSource::File(PathBuf::from("/tmp/my shot.png")));
    let scene = scene.types(" ok").msg(taken(id, Ok(ImageLoadResult::Nothing)));
    assert_eq!(scene.model.conversation.composer.editor.text(), "see '/tmp/my shot.png' ok");
    let scene = scene.types("!");
    assert_eq!(scene.model.conversation.composer.editor.text(), "see '/tmp/my shot.png' ok!");
}

#[test]
fn an_image_that_cannot_be_read_says_why() {
    let scene = screen(80, 24).msg(ScreenMsg::Paste("/tmp/a.png".into()));
    let id = id_of(&scene, &ImageSource::File("/tmp/a.png".into()));
    let scene = scene.msg(taken(id, Err("a.png is larger than 20 MB.".into())));
    scene.shows("/tmp/a.png").shows("a.png is larger than 20 MB.");
}

#[test]
fn nothing_is_sent_while_an_image_is_read() {
    let scene = screen(80, 24).msg(ScreenMsg::Paste("/tmp/a.png".into())).clear_effects();
    let scene = scene.key("enter").shows("An image is still loading");
    assert!(!scene.effects.iter().any(|effect| matches!(effect, ScreenEffect::Agent(..))));
}

#[test]
fn a_key_takes_an_image_from_the_clipboard_or_else_text() {
    for key in ["ctrl+v", "alt+v"] {
        let scene = screen(80, 24).types("see ").key(key);
        let id = id_of(&scene, &ImageSource::Clipboard);
        scene.msg(taken(id, Ok(ImageLoadResult::Image(image())))).shows(&format!("see {LABEL}"));
    }
    let scene = screen(80, 24).key("ctrl+v");
    let id = id_of(&scene, &ImageSource::Clipboard);
    let scene = scene.msg(taken(id, Ok(ImageLoadResult::Text("some\ntext".into()))));
    assert_eq!(scene.model.conversation.composer.editor.text(), "some\ntext");
    let scene = screen(80, 24).key("ctrl+v");
    let id = id_of(&scene, &ImageSource::Clipboard);
    let scene = scene.msg(taken(id, Err("The clipboard is empty.".into())));
    assert!(scene.shows("The clipboard is empty.").model.conversation.composer.is_empty());
}

#[test]
fn a_file_copied_elsewhere_is_read_as_an_image() {
    let scene = screen(80, 24).key("ctrl+v");
    let id = id_of(&scene, &ImageSource::Clipboard);
    let scene = scene
        .clear_effects()
        .msg(taken(id, Ok(ImageLoadResult::Text("file:///tmp/a%20b.png\n".into()))));
    id_of(&scene, &ImageSource::File("/tmp/a b.png".into()));
}

#[test]
fn a_queued_message_that_is_taken_back_has_its_image() {
    let scene =
        dropped().event(AgentEvent::TurnStarted { turn: TURN }).key("enter").shows("+ [Image 1");
    let scene = scene.key("up").shows(&format!("❯ {LABEL}"));
    assert_eq!(scene.model.conversation.composer.typed(), typed(LABEL));
    let scene = scene.key("ctrl+s").clear_effects();
    let (id, returned) = (scene.model.conversation.queue.items()[0].id, Some(typed(LABEL)));
    let scene = scene.event(AgentEvent::SteerSettled { id, returned });
    assert_eq!(scene.model.conversation.composer.typed(), typed(LABEL));
}

#[test]
fn an_image_comes_back_from_the_history_and_stays_in_the_draft() {
    let scene = dropped().key("ctrl+c").key("up").shows(LABEL);
    assert_eq!(scene.model.conversation.composer.typed(), typed(LABEL));
    let scene = dropped().clear_effects().after(600).after(600);
    let draft = ScreenEffect::SaveDraft { text: typed(LABEL) };
    assert!(scene.effects.contains(&draft), "{:?}", scene.effects);
}

#[test]
fn an_editor_that_keeps_the_label_keeps_the_image() {
    let kept = format!("look: {LABEL}\n");
    let scene = dropped().msg(ScreenMsg::EditorClosed(Ok(kept)));
    assert_eq!(scene.model.conversation.composer.typed(), typed(&format!("look: {LABEL}")));
    let scene = scene.msg(ScreenMsg::EditorClosed(Ok("look:".into())));
    assert_eq!(scene.model.conversation.composer.typed(), UserInput::from("look:"));
}

fn shown(width: u16, height: u16) -> TestScreen {
    let content =
        vec![ContentBlock::Text { text: format!("why {LABEL}?") }, ContentBlock::Image(image())];
    let message = Message { role: MessageRole::User, content };
    screen(width, height).event(recorded(&record(LogEntry::Message(MessageEntry::new(message)))))
}

#[test]
fn an_image_is_a_labelled_box_that_folds() {
    let scene = shown(80, 24);
    insta::assert_snapshot!(scene.readable_text());
    scene.key("tab").key("enter").hides("┌").shows("▸ Image");
}

/// A screen that can show pictures, with an image in the transcript.
fn canvas(graphics: GraphicsProtocol, width: u16, height: u16) -> TestScreen {
    let mut scene = shown(width, height);
    scene.model.shared.settings.canvas = Some((GraphicsCanvas { graphics, cell: (10, 20) }, 0));
    scene.after(10)
}

/// Delivers the picture that was requested.
fn made(scene: TestScreen) -> TestScreen {
    let asked = scene.effects.iter().find_map(|effect| match effect {
        ScreenEffect::DrawPicture { id, canvas, number, cells, .. } => {
            Some((*id, picture(*canvas, *number, *cells, b"picture".to_vec())))
        }
        _ => None,
    });
    let (id, picture) = asked.unwrap_or_else(|| panic!("nothing asked: {:?}", scene.effects));
    scene.clear_effects().msg(ScreenMsg::PictureMade { id, picture: Ok(picture) })
}

#[test]
fn a_picture_takes_the_place_of_its_frame_once_it_is_there() {
    let scene = canvas(GraphicsProtocol::Kitty, 80, 30);
    let frame = scene.text();
    assert_eq!(frame.matches('│').count(), 2 * 13, "{frame}");
    let scene = made(scene);
    let lines = scene.text();
    // 1200×800 pixels in at most 15 rows of 20 pixels: 300 high, so 450 wide.
    assert_eq!(lines.matches('\u{10eeee}').count(), 45 * 15);
    assert!(!lines.contains('│') && lines.contains("▾ Image   shot.png"));
    assert!(scene.after(10).effects.is_empty(), "it is asked for once");
}

#[test]
fn a_picture_that_is_partly_visible_is_painted_where_cells_name_their_parts() {
    let kitty = made(canvas(GraphicsProtocol::Kitty, 80, 30)).resized(80, 16).text();
    let count = kitty.matches('\u{10eeee}').count();
    assert!(count > 0 && count < 45 * 15, "{kitty}");
    let iterm = made(canvas(GraphicsProtocol::Iterm, 80, 30)).resized(80, 16).text();
    assert!(!iterm.contains('\u{10eeee}') && iterm.contains('│'), "{iterm}");
}

#[test]
fn a_picture_that_cannot_be_made_stays_a_frame_and_is_not_requested_again() {
    let scene = canvas(GraphicsProtocol::Sixel, 80, 30);
    let Some(ScreenEffect::DrawPicture { id, .. }) = scene.effects.back().cloned() else {
        panic!("{:?}", scene.effects)
    };
    let scene =
        scene.clear_effects().msg(ScreenMsg::PictureMade { id, picture: Err("gone".into()) });
    assert!(scene.after(10).shows("PNG 1200×800").effects.is_empty());
}

#[test]
fn a_folded_image_asks_for_no_picture() {
    let scene = shown(80, 30).key("tab").key("enter").clear_effects();
    let mut scene = scene.shows("▸ Image");
    let canvas = GraphicsCanvas { graphics: GraphicsProtocol::Kitty, cell: (10, 20) };
    scene.model.shared.settings.canvas = Some((canvas, 0));
    assert_eq!(scene.after(10).effects.len(), 0);
}
