//! The words of the ledger: those that the page and the line mode share, and the whole as lines.

use crate::agent::{ContextLedger, ContextSource, LedgerItem, LedgerItemState, LedgerSource};
use crate::domain::{ContextWindow, format_tokens};
use crate::session::ContextAction;

use super::ContextPage;

/// The most items of one source that are read out; the newest.
const READ_OUT: usize = 40;

/// The tokens of a part, which are an estimate.
pub fn tokens(count: u64) -> String {
    format!("~{}", format_tokens(count))
}

/// How full the window is: `~12k of 128k tokens, 9%`.
pub fn used(ledger: &ContextLedger) -> String {
    let about = if ledger.is_estimate { "~" } else { "" };
    let window = match ledger.window {
        ContextWindow::Served(size) | ContextWindow::Known(size) => format_tokens(size),
        ContextWindow::Assumed(size) => format!("~{}", format_tokens(size)),
    };
    format!(
        "{about}{} of {window} tokens, {about}{}",
        format_tokens(ledger.used),
        percent(ledger.used, ledger)
    )
}

/// The sizes that decide what happens to the rest of the window.
pub fn limits(ledger: &ContextLedger) -> [String; 2] {
    [
        format!("compacts at {}", format_tokens(ledger.compacts_at)),
        format!("{} reserved", format_tokens(ledger.reserve)),
    ]
}

/// The share of the window in percent.
pub fn percent(tokens: u64, ledger: &ContextLedger) -> String {
    let window = ledger.window.tokens().max(1);
    match tokens.saturating_mul(100).saturating_add(window / 2) / window {
        0 if tokens > 0 => "<1%".to_owned(),
        share => format!("{share}%"),
    }
}

/// The name of a source, with the number of its items.
pub fn source_name(source: &LedgerSource, shown_path: impl Fn(&str) -> String) -> String {
    match (&source.path, source.items.len()) {
        (Some(path), _) => shown_path(path),
        (None, 0) => source.kind.title().to_owned(),
        (None, count) => format!("{} ({count})", source.kind.title()),
    }
}

/// The tool or note, and what it is about.
pub fn item_name(item: &LedgerItem) -> String {
    format!("{} {}", item.name, item.about).trim().to_owned()
}

/// How an item is sent, where that is not plainly in full.
pub fn state(kind: ContextSource, state: LedgerItemState) -> &'static str {
    match (kind, state) {
        (ContextSource::Summary, LedgerItemState::Full) => "undone",
        (ContextSource::Summary, _) => "active",
        (_, LedgerItemState::Full) => "",
        (_, LedgerItemState::Pinned) => "pinned",
        (_, LedgerItemState::FoldedOut) => "left out",
        (_, LedgerItemState::Compacted) => "compacted",
    }
}

/// How long ago an item came.
pub fn age(item: &LedgerItem) -> String {
    match item.turns_ago {
        None => String::new(),
        Some(0) => "this turn".to_owned(),
        Some(1) => "1 turn ago".to_owned(),
        Some(turns) => format!("{turns} turns ago"),
    }
}

/// What a key does with the item, as the last line says it.
pub fn verb(action: ContextAction) -> &'static str {
    match action {
        ContextAction::FoldOut => "leave out",
        ContextAction::BringBack => "restore",
        ContextAction::Pin => "pin",
        ContextAction::Unpin => "unpin",
    }
}

/// What folding an item, or bringing it back, means and costs.
pub fn consequence(source: &LedgerSource, item: &LedgerItem) -> String {
    let anew = match item.behind {
        0 => String::new(),
        behind => format!(
            " The server then reads the {} tokens after it once more, since its cache no longer \
             fits.",
            tokens(behind)
        ),
    };
    let what = match (source.kind, item.fold_action()) {
        (ContextSource::Summary, Some(ContextAction::BringBack)) => {
            "Sends everything again that this compaction left out."
        }
        (ContextSource::Summary, _) => "Applies this compaction again.",
        (_, Some(ContextAction::FoldOut)) => {
            "Leaves a short stub in its place in the next requests. The log keeps the whole text."
        }
        (_, Some(_)) => "Sends it in full again in the next requests.",
        (_, None) => return source.kind.why_fixed().to_owned(),
    };
    format!("{what}{anew}")
}

/// The whole ledger for a front end without keys. Items that can be edited have their numbers.
pub fn all(page: &ContextPage, shown_path: impl Fn(&str) -> String) -> Vec<String> {
    let Some(ledger) = &page.ledger else { return Vec::new() };
    let mut out: Vec<String> = page.failed.iter().cloned().collect();
    out.push(format!("The window holds {}.", used(ledger)));
    let [compaction, answer] = limits(ledger);
    out.push(format!("It {compaction}; {answer} for the answer."));
    let mut number = 0;
    for source in &ledger.sources {
        let share = percent(source.tokens, ledger);
        let name = source_name(source, &shown_path);
        out.push(format!("{name}: {}, {share}", tokens(source.tokens)));
        let hidden = source.items.len().saturating_sub(READ_OUT);
        if hidden > 0 {
            out.push(format!("  {hidden} older items are not listed"));
        }
        for (at, item) in source.items.iter().enumerate() {
            number += usize::from(item.item.is_some());
            if at >= hidden {
                out.push(item_line(source, item, item.item.map(|_| number)));
            }
        }
    }
    out.push(
        "Type `fold` or `pin` and a number; the same again undoes it. An empty line closes."
            .to_owned(),
    );
    out
}

fn item_line(source: &LedgerSource, item: &LedgerItem, number: Option<usize>) -> String {
    let number = number.map_or_else(|| "  ".to_owned(), |number| format!("  {number} "));
    let state = state(source.kind, item.state);
    let parts = [item_name(item), tokens(item.tokens), age(item), state.to_owned()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{number}{}", parts.join(", "))
}
