//! The rows of `/status`: the session, the model, and the tokens and cost of each model. The full
//! screen and the line mode show the same rows.

use crate::domain::{ContextWindow, Money, SandboxSummary, SessionId, format_bytes, format_tokens};
use crate::session::{SpendingSum, StoreSize};

use crate::tui::dialogs::dialog::DialogView;

/// A row of the status page, before it is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusPageRow {
    /// An empty row.
    Gap,
    /// The title of the rows that follow.
    Heading(&'static str),
    /// A name and its value.
    Pair(&'static str, String),
    /// The totals of one model, of one source, or of all.
    Sums(Box<StatusPageTotals>),
    /// A sentence.
    Note(String),
}

/// Tokens and cost as text. Unknown values are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusPageTotals {
    pub name: String,
    /// Input tokens.
    pub read: String,
    /// Input tokens that came from the provider's cache.
    pub cached: String,
    /// Input tokens that were written to the cache.
    pub stored: String,
    /// Output tokens.
    pub written: String,
    /// With a `+` if the price of some responses is unknown.
    pub cost: String,
}

/// The column titles over the totals, in the order of [`StatusPageTotals::cells`].
pub const HEADS: [&str; 6] = ["", "input", "cache read", "cache write", "output", "cost"];

impl StatusPageTotals {
    fn of(name: &str, spent: &SpendingSum) -> Self {
        let usage = spent.usage;
        let some = |count| if count == 0 { String::new() } else { format_tokens(count) };
        Self {
            name: name.to_owned(),
            read: format_tokens(usage.input),
            cached: some(usage.cache_read),
            stored: some(usage.cache_write),
            written: format_tokens(usage.output),
            cost: cost(spent).unwrap_or_default(),
        }
    }

    /// The cells of a table row.
    pub fn cells(&self) -> [&str; 6] {
        [&self.name, &self.read, &self.cached, &self.stored, &self.written, &self.cost]
    }
}

/// The known cost, with a `+` if the price of some responses is unknown; `None` if all are unknown.
pub fn cost(spent: &SpendingSum) -> Option<String> {
    let known: Money = spent.known_cost()?;
    Some(format!("{known}{}", if spent.unpriced > 0 { "+" } else { "" }))
}

/// The rows of the page for the present state.
pub fn rows(around: DialogView<'_>) -> Vec<StatusPageRow> {
    let mut rows = about(around);
    rows.extend([StatusPageRow::Gap, StatusPageRow::Heading("Tokens and cost")]);
    rows.extend(spending_rows(around));
    rows
}

fn about(around: DialogView<'_>) -> Vec<StatusPageRow> {
    let status = &around.conversation.status;
    let mut rows = vec![StatusPageRow::Heading("Session")];
    let id = status.session.as_ref().map(SessionId::to_string);
    let pairs = [
        ("title", status.title.clone()),
        ("id", id),
        ("model", (!status.model.is_empty()).then(|| status.model.clone())),
        ("window", status.window.map(window)),
        ("mode", Some(status.mode.name().to_owned())),
        ("sandbox", around.shared.settings.boundary.as_ref().map(SandboxSummary::folder_phrase)),
        ("network", around.shared.settings.boundary.as_ref().map(SandboxSummary::network_phrase)),
        ("store", status.store.map(store)),
    ];
    let jobs = status.jobs.iter().map(|job| StatusPageRow::Pair("job", job.command.clone()));
    rows.extend(
        pairs.into_iter().filter_map(|(name, value)| Some(StatusPageRow::Pair(name, value?))),
    );
    rows.extend(jobs);
    rows
}

fn store(size: StoreSize) -> String {
    let sessions = if size.sessions == 1 { "session" } else { "sessions" };
    let (logs, contents) = (format_bytes(size.logs), format_bytes(size.contents));
    let trash = match size.trash {
        0 => String::new(),
        trash => format!(", {} deleted", format_bytes(trash)),
    };
    format!("{} {sessions}: {logs} of logs, {contents} of contents{trash}", size.sessions)
}

fn window(window: ContextWindow) -> String {
    match window {
        ContextWindow::Served(size) => {
            format!("{} tokens (from the server)", format_tokens(size))
        }
        ContextWindow::Known(size) => {
            format!("{} tokens (from the catalogue)", format_tokens(size))
        }
        ContextWindow::Assumed(size) => {
            format!("~{} tokens (assumed)", format_tokens(size))
        }
    }
}

/// The totals by source: the conversation, and requests beside it. Empty if there is only the
/// conversation.
fn parts<'a>(parts: impl Iterator<Item = (&'static str, &'a SpendingSum)>) -> Vec<StatusPageRow> {
    let rows: Vec<StatusPageRow> =
        parts.map(|(of, spent)| sums(&format!("of it {of}"), spent)).collect();
    if rows.len() > 1 { rows } else { Vec::new() }
}

fn sums(name: &str, spent: &SpendingSum) -> StatusPageRow {
    StatusPageRow::Sums(Box::new(StatusPageTotals::of(name, spent)))
}

fn spending_rows(around: DialogView<'_>) -> Vec<StatusPageRow> {
    let spending = &around.conversation.status.spending;
    let (total, before) = (spending.total(), spending.taken_over());
    let mut rows = Vec::new();
    rows.extend(spending.by_model().iter().map(|row| sums(&spending.name(row), &row.spent)));
    match spending.by_model().len() {
        0 => {
            rows.push(StatusPageRow::Note("No model has answered yet.".to_owned()));
        }
        1 => {}
        _ => rows.push(sums("total", &total)),
    }
    rows.extend(parts(spending.by_source().iter().map(|(of, spent)| (of.name(), spent))));
    if before.responses > 0 {
        rows.push(sums("before the fork (counted there)", &before));
    }
    rows.extend(
        around
            .conversation
            .status
            .cache_miss
            .clone()
            .map(|reason| StatusPageRow::Pair("cache", reason)),
    );
    match (total.responses, total.unpriced) {
        (_, 0) => {}
        (all, unpriced) if all == unpriced => {
            rows.push(StatusPageRow::Note("No prices: this is your own server.".to_owned()));
        }
        (_, 1) => rows.push(StatusPageRow::Note("1 response without a known price.".to_owned())),
        (_, unpriced) => {
            rows.push(StatusPageRow::Note(format!("{unpriced} responses without a known price.")));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use crate::tui::dialogs::reading::status_page::*;

    #[test]
    fn totals_by_source_are_shown_only_if_there_are_several() {
        let spent = SpendingSum { responses: 1, ..SpendingSum::default() };
        assert_eq!(parts([("main", &spent)].into_iter()), []);
        let rows = parts([("main", &spent), ("title", &spent)].into_iter());
        assert_eq!(rows, [sums("of it main", &spent), sums("of it title", &spent)]);
    }
}
