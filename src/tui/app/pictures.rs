//! Pictures of the images in the transcript: what is on screen is asked for, and kept as long as
//! it is among the last that were.
//!
//! A frame only places what is ready. Where nothing can be shown (another terminal, a setting),
//! nothing is ever asked for.

use std::sync::Arc;

use crate::domain::{ContentHash, MessageImage};
use crate::platform::graphics::{GraphicsCanvas, SizeInCells};
use crate::tui::picture_cells::TerminalPicture;

use super::effect::{RequestId, ScreenEffect};
use super::model::ScreenModel;

/// Pictures that are kept, at most.
const KEPT: usize = 16;

/// The pictures there are, those on screen last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PictureCache {
    known: Vec<(PictureRequest, PictureState)>,
    made: u32,
}

/// A picture that is on screen, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureRequest {
    /// Of which image.
    pub image: MessageImage,
    /// How large.
    pub cells: SizeInCells,
}

#[derive(Debug, Clone, PartialEq)]
enum PictureState {
    /// It is being made.
    Asked(RequestId),
    /// It can be shown.
    Ready(TerminalPicture),
    /// It cannot: its bytes are gone, or damaged.
    Never,
}

impl PictureRequest {
    fn is(&self, hash: &ContentHash, cells: SizeInCells) -> bool {
        self.image.hash == *hash && self.cells == cells
    }
}

impl PictureCache {
    /// The picture of an image at this size, once it is there.
    pub fn ready(&self, hash: &ContentHash, cells: SizeInCells) -> Option<&TerminalPicture> {
        self.known.iter().find(|(wanted, _)| wanted.is(hash, cells)).and_then(|(_, state)| {
            match state {
                PictureState::Ready(picture) => Some(picture),
                PictureState::Asked(_) | PictureState::Never => None,
            }
        })
    }
}

/// These are on screen: what is not there yet is asked for.
pub fn seen(model: &mut ScreenModel, wanted: &[PictureRequest]) -> Vec<ScreenEffect> {
    let Some((canvas, first)) = model.settings.canvas else { return Vec::new() };
    let mut effects = Vec::new();
    for wanted in wanted {
        let known = &mut model.pictures.known;
        if let Some(at) = known.iter().position(|(it, _)| it.is(&wanted.image.hash, wanted.cells)) {
            let newest = known.remove(at);
            known.push(newest);
            continue;
        }
        if known.len() >= KEPT {
            known.remove(0);
        }
        let request = model.requests.issue();
        let number = first.wrapping_add(model.pictures.made) % 0xff_ffff + 1;
        model.pictures.made = model.pictures.made.wrapping_add(1);
        model.pictures.known.push((wanted.clone(), PictureState::Asked(request)));
        let PictureRequest { image, cells } = wanted.clone();
        effects.push(ScreenEffect::DrawPicture { id: request, canvas, number, image, cells });
    }
    effects
}

/// A picture was made, or cannot be.
pub fn made(model: &mut ScreenModel, id: RequestId, picture: Result<TerminalPicture, String>) {
    let asked =
        model.pictures.known.iter_mut().find(|(_, state)| *state == PictureState::Asked(id));
    // Scrolled away and forgotten meanwhile.
    let Some((_, state)) = asked else { return };
    *state = match picture {
        Ok(picture) => PictureState::Ready(picture),
        // The labelled box stays, and says what the image is.
        Err(_) => PictureState::Never,
    };
}

/// A picture of this sequence.
pub fn picture(
    canvas: GraphicsCanvas,
    number: u32,
    cells: SizeInCells,
    sequence: Vec<u8>,
) -> TerminalPicture {
    TerminalPicture { id: number, graphics: canvas.graphics, cells, sequence: Arc::from(sequence) }
}
