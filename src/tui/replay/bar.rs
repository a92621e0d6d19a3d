//! The last line of a replay on the full screen: how far it is, and its keys.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};

use crate::tui::app::conversation::status::clock;
use crate::tui::layout::{StyleRole, StyledSpan};
use crate::tui::view::RoleStyles;
use crate::tui::view::paint::{self, span, spans_width};

/// The keys of a replay, which are the same everywhere, the most important first.
pub const KEYS: [(&str, &str); 7] = [
    ("space", "pause"),
    ("q", "quit"),
    ("←", "step back"),
    ("→", "step"),
    ("+", "faster"),
    ("-", "slower"),
    ("home", "from the start"),
];

/// What the line says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayProgress {
    pub at: Duration,
    pub length: Duration,
    pub speed: f64,
    pub state: ReplayState,
}

/// Whether a replay moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayState {
    Playing,
    Paused,
    Ended,
}

/// Draws the line over the last row of the screen.
pub fn draw(progress: &ReplayProgress, styles: &dyn RoleStyles, screen: Rect, buffer: &mut Buffer) {
    let y = (screen.y + screen.height).saturating_sub(1);
    let row = Rect { y, height: screen.height.min(1), ..screen };
    Clear.render(row, buffer);
    buffer.set_style(row, styles.style(StyleRole::Screen));
    let (sign, word) = match progress.state {
        ReplayState::Playing => ("▶", "replay"),
        ReplayState::Paused => ("‖", "paused"),
        ReplayState::Ended => ("■", "the end"),
    };
    let time = format!("  {} / {}", clock(progress.at), clock(progress.length));
    let mut left = vec![
        span(format!(" {sign} {word}"), StyleRole::System),
        span(time, StyleRole::Text),
        span(format!("  {}×", speed(progress.speed)), StyleRole::Muted),
    ];
    let mut keys: Vec<StyledSpan> = Vec::new();
    for (key, meaning) in KEYS {
        let hint = [span(key, StyleRole::Key), span(format!(" {meaning}  "), StyleRole::Muted)];
        if spans_width(&left) + spans_width(&keys) + spans_width(&hint) + 2 > row.width {
            break;
        }
        keys.extend(hint);
    }
    left.push(span("  ", StyleRole::Text));
    paint::both_edges(&left, &keys, styles, row, buffer);
}

/// A speed without needless digits: `2`, `0.5`.
fn speed(speed: f64) -> String {
    let text = format!("{speed:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
