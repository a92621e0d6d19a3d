//! Images on their way into the input: a chip holds the place of each while `executor` reads it. If
//! there is no such file, the chip turns back into the pasted text.

use crate::domain::NoticeLevel;

use super::Conversation;
use super::images::{DroppedFile, ImageLoadResult, ImageSource, dropped};
use crate::tui::app::editor::ChipContent;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::shared::SharedState;

/// Inserts a chip for each of these files, and reads them.
pub fn take_files(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    files: Vec<DroppedFile>,
) -> Vec<ScreenEffect> {
    let mut effects = Vec::new();
    for (number, DroppedFile { text, path }) in files.into_iter().enumerate() {
        if number > 0 {
            conversation.composer.paste(" ");
        }
        effects.extend(take(conversation, shared, ImageSource::File(path), text));
    }
    effects
}

/// Inserts a chip for the content of the clipboard, and reads it.
pub fn take_clipboard(
    conversation: &mut Conversation,
    shared: &mut SharedState,
) -> Vec<ScreenEffect> {
    take(conversation, shared, ImageSource::Clipboard, String::new()).into_iter().collect()
}

/// Takes the result of a read: the chip becomes an image or text.
pub fn on_image_loaded(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    id: RequestId,
    result: Result<ImageLoadResult, String>,
) -> Vec<ScreenEffect> {
    match result {
        Ok(ImageLoadResult::Image(image)) => conversation.composer.settle_image(id, image),
        Ok(ImageLoadResult::Text(text)) => {
            let home = shared.settings.home.as_deref();
            if let Some(files) = dropped(&text, &shared.settings.cwd, home) {
                // Files were copied in a file manager.
                conversation.composer.settle_text(id, None);
                return take_files(conversation, shared, files);
            }
            conversation.composer.settle_text(id, Some(&text));
        }
        Ok(ImageLoadResult::Nothing) => conversation.composer.settle_text(id, None),
        Err(reason) => {
            conversation.composer.settle_text(id, None);
            shared.toast(NoticeLevel::Warning, reason);
        }
    }
    Vec::new()
}

fn take(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    source: ImageSource,
    fallback: String,
) -> Option<ScreenEffect> {
    let id = shared.requests.issue();
    conversation.composer.insert_chip(ChipContent::Reading { id, fallback })?;
    Some(ScreenEffect::LoadImage { id, source })
}
