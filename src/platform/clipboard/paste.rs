//! Reads the system's clipboard: an image, or else text.

use tokio::sync::oneshot;

use super::super::image::{self, PreparedImage};
use super::super::terminal_kind::TerminalLocation;
use super::{Clipboard, ClipboardRequest};

/// What a paste gives: an image is preferred to text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClipboardContent {
    /// An image, made fit for a model.
    Image(PreparedImage),
    Text(String),
}

/// The advice for the user where the clipboard cannot be reached.
const PASTE_HINT: &str = "Drop a file on the terminal, or paste its path.";

impl Clipboard {
    /// Takes what is there; the answer says why there is nothing. Does not wait.
    pub fn paste(&mut self) -> oneshot::Receiver<Result<ClipboardContent, String>> {
        let (reply, answer) = oneshot::channel();
        self.hand_over(ClipboardRequest::Paste(reply));
        answer
    }
}

/// Takes what is there. May block for seconds.
pub(super) fn take(
    opened: &mut Option<arboard::Clipboard>,
    place: TerminalLocation,
) -> Result<ClipboardContent, String> {
    if place == TerminalLocation::OverSsh {
        return Err(format!("Over ssh, slug cannot read your clipboard. {PASTE_HINT}"));
    }
    let unreachable =
        |error: arboard::Error| format!("Cannot read the clipboard: {error}. {PASTE_HINT}");
    let clipboard = match opened {
        Some(clipboard) => clipboard,
        None => opened.insert(arboard::Clipboard::new().map_err(unreachable)?),
    };
    match clipboard.get_image() {
        Ok(found) => {
            let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
            let size = (side(found.width), side(found.height));
            let fit = image::of_pixels("clipboard", size, &found.bytes);
            return fit.map(ClipboardContent::Image).map_err(|error| error.to_string());
        }
        Err(arboard::Error::ContentNotAvailable) => {}
        Err(error) => tracing::debug!(%error, "no image from the clipboard"),
    }
    match clipboard.get_text() {
        Ok(text) if !text.is_empty() => Ok(ClipboardContent::Text(text)),
        Ok(_) | Err(arboard::Error::ContentNotAvailable) => {
            Err("The clipboard contains neither an image nor text.".to_owned())
        }
        Err(error) => Err(unreachable(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_ssh_it_is_left_alone_and_says_what_to_do() {
        let message = take(&mut None, TerminalLocation::OverSsh).unwrap_err();
        assert_eq!(
            message,
            "Over ssh, slug cannot read your clipboard. Drop a file on the terminal, or paste \
             its path."
        );
    }
}
