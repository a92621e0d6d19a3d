//! The screen of a job on a terminal as the model reads it: the lines that have scrolled off it since
//! the model last looked, and what it shows now, as plain text within bounds.

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use tokio::time::Instant;

use super::shortened;
use crate::tools::{JobTerminal, SessionJob, truncation};

/// What the model is told while a password is read.
pub(super) const HIDDEN_INPUT: &str = "the program reads a line without showing it, as for a password. \
    Only the user can type it, in /jobs";

/// The text for the model, which counts as seen from then on. With a filter only lines that match.
pub(super) fn unread_screen(
    job: &SessionJob,
    terminal: &dyn JobTerminal,
    filter: Option<&RegexMatcher>,
) -> String {
    let text = terminal.text(job.progress.seen());
    job.progress.set_seen(text.next);
    let is_wanted = |line: &&String| filter.is_none_or(|filter| matches(filter, line));
    let part = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().filter(is_wanted).map(String::as_str).collect();
        lines.join("\n")
    };
    let (scrolled, screen) = (part(&text.scrolled), part(&text.screen));
    let mut shown = match text.skipped {
        0 => String::new(),
        skipped => format!("[{} not kept]\n", truncation::pluralise(skipped, "line")),
    };
    shown.push_str(&scrolled);
    if !shown.is_empty() && !screen.is_empty() {
        shown.push_str(if filter.is_some() { "\n" } else { "\n[on its screen now:]\n" });
    }
    shown.push_str(&screen);
    let mut shown = shortened(shown.trim_end(), terminal.printed(), None);
    if terminal.hides_input() {
        shown.push_str(&format!("\n[{HIDDEN_INPUT}]"));
    }
    shown
}

/// Waits until a job ends, a line that the model has not seen matches, or the time is over.
pub(super) async fn wait_for_screen(
    job: &SessionJob,
    terminal: &dyn JobTerminal,
    filter: Option<&RegexMatcher>,
    until: Instant,
) {
    let mut state = 0;
    loop {
        let is_there = filter.is_some_and(|filter| {
            let text = terminal.text(job.progress.seen());
            text.scrolled.iter().chain(&text.screen).any(|line| matches(filter, line))
        });
        if is_there || job.process.ended().is_some() || Instant::now() >= until {
            return;
        }
        tokio::select! {
            _ = job.process.wait() => {}
            next = terminal.changed(state), if filter.is_some() => state = next,
            () = tokio::time::sleep_until(until) => {}
        }
    }
}

/// The last rows that the screen shows.
pub(super) fn last_rows(terminal: &dyn JobTerminal, lines: usize, bytes: u64) -> String {
    let screen = terminal.text(u64::MAX).screen;
    let first = screen.len().saturating_sub(lines);
    let text = screen.get(first..).unwrap_or_default().join("\n");
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    let cut = text.len().saturating_sub(most);
    let cut = (cut..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[cut..].to_owned()
}

fn matches(filter: &RegexMatcher, line: &str) -> bool {
    // A search in memory does not fail.
    filter.is_match(line.as_bytes()).unwrap_or(false)
}
