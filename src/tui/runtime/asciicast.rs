//! Records a replay as an asciicast: the bytes that slug's own backend sends to a terminal, with
//! their times. The formats are <https://docs.asciinema.org/manual/asciicast/v2/> and `…/v3/`.
//!
//! No sequence but those of the backend gets into the file: links, titles and pictures are left out.

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::json;

use crate::platform::hyperlinks::HyperlinkSupport;
use crate::tui::links::LinkTable;
use crate::tui::replay::{ReplayCut, ReplayRecorder};

use super::backend::TerminalBackend;
use super::tty::FrameBuffer;

/// The most bytes of a file.
const MOST_BYTES: usize = 64 << 20;

/// The versions of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsciicastVersion {
    /// Each event has its time since the beginning; what most players read.
    Two,
    /// Each event has the time since the one before.
    Three,
}

/// Records a replay on a screen of this size (columns, rows), under a title. Returns the file, and
/// where it had to end.
///
/// # Errors
///
/// Fails when a frame cannot be drawn, which does not happen in memory.
pub fn record_asciicast(
    recorder: ReplayRecorder,
    version: AsciicastVersion,
    size: (u16, u16),
    title: &str,
) -> io::Result<(String, Option<ReplayCut>)> {
    let (columns, rows) = size;
    let header = match version {
        AsciicastVersion::Two => {
            json!({"version": 2, "width": columns, "height": rows, "title": title})
        }
        AsciicastVersion::Three => {
            json!({"version": 3, "term": {"cols": columns, "rows": rows}, "title": title})
        }
    };
    let mut file = format!("{header}\n");
    let batch = FrameBuffer::default();
    let backend =
        TerminalBackend::new(batch.clone(), LinkTable::default(), HyperlinkSupport::Plain)
            .with_size(columns, rows);
    let mut before = Duration::ZERO;
    let cut = recorder.record(backend, |frame| {
        let bytes = batch.take();
        // The backend writes whole characters.
        let text = String::from_utf8_lossy(&bytes);
        let at = match version {
            AsciicastVersion::Two => frame.at,
            AsciicastVersion::Three => frame.at.saturating_sub(before),
        };
        before = frame.at;
        let seconds = (at.as_secs_f64() * 1000.0).round() / 1000.0;
        file.push_str(&format!("{}\n", json!([seconds, "o", text])));
        let is_full = file.len() > MOST_BYTES;
        io::Result::Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok((file, cut))
}
