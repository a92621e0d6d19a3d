//! Pictures of the images in the transcript. Those on screen are requested, and the last few are
//! kept.
//!
//! A frame only places pictures that are ready. If pictures cannot be shown (by this terminal, or
//! because of a setting), none is ever requested.

use std::sync::Arc;

use crate::domain::{ContentHash, MessageImage};
use crate::platform::graphics::{GraphicsCanvas, SizeInCells};
use crate::tui::picture_cells::TerminalPicture;

use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::request_id::{RequestCounter, RequestId};

/// Most pictures that are kept.
const KEPT: usize = 16;

/// The pictures that are kept, the last ones seen at the end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PictureCache {
    known: Vec<(PictureRequest, PictureState)>,
    made: u32,
}

/// An image on screen and the size of its picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureRequest {
    pub image: MessageImage,
    pub cells: SizeInCells,
}

#[derive(Debug, Clone, PartialEq)]
enum PictureState {
    Asked(RequestId),
    Ready(TerminalPicture),
    /// It cannot be shown: the image's bytes are gone or damaged.
    Never,
}

impl PictureRequest {
    fn is(&self, hash: &ContentHash, cells: SizeInCells) -> bool {
        self.image.hash == *hash && self.cells == cells
    }
}

impl PictureCache {
    /// Requests the pictures on screen that are not known yet; `canvas` is how pictures are drawn,
    /// with the id of the first one.
    pub fn seen(
        &mut self,
        canvas: Option<(GraphicsCanvas, u32)>,
        ids: &mut RequestCounter,
        wanted: &[PictureRequest],
    ) -> Vec<ScreenEffect> {
        let Some((canvas, first)) = canvas else { return Vec::new() };
        let mut effects = Vec::new();
        for wanted in wanted {
            let known = &mut self.known;
            if let Some(at) =
                known.iter().position(|(it, _)| it.is(&wanted.image.hash, wanted.cells))
            {
                let newest = known.remove(at);
                known.push(newest);
                continue;
            }
            if known.len() >= KEPT {
                known.remove(0);
            }
            let request = ids.issue();
            let number = first.wrapping_add(self.made) % 0xff_ffff + 1;
            self.made = self.made.wrapping_add(1);
            self.known.push((wanted.clone(), PictureState::Asked(request)));
            let PictureRequest { image, cells } = wanted.clone();
            effects.push(ScreenEffect::DrawPicture { id: request, canvas, number, image, cells });
        }
        effects
    }

    /// Takes over a picture. If it could not be made, it is not requested again.
    pub fn made(&mut self, id: RequestId, picture: Result<TerminalPicture, String>) {
        let asked = self.known.iter_mut().find(|(_, state)| *state == PictureState::Asked(id));
        // It was scrolled away and dropped meanwhile.
        let Some((_, state)) = asked else { return };
        *state = match picture {
            Ok(picture) => PictureState::Ready(picture),
            // The labelled box in its place says what the image is.
            Err(_) => PictureState::Never,
        };
    }

    /// The picture of an image at this size; `None` until it is ready.
    pub fn ready(&self, hash: &ContentHash, cells: SizeInCells) -> Option<&TerminalPicture> {
        self.known.iter().find(|(wanted, _)| wanted.is(hash, cells)).and_then(|(_, state)| {
            match state {
                PictureState::Ready(picture) => Some(picture),
                PictureState::Asked(_) | PictureState::Never => None,
            }
        })
    }
}

/// A picture that the terminal draws for an escape sequence.
pub fn picture(
    canvas: GraphicsCanvas,
    number: u32,
    cells: SizeInCells,
    sequence: Vec<u8>,
) -> TerminalPicture {
    TerminalPicture { id: number, graphics: canvas.graphics, cells, sequence: Arc::from(sequence) }
}
