//! Draws the context ledger over the whole screen: the bar with its numbers, the list of sources and
//! items, and beneath it what can be done with the selected row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::agent::{ContextLedger, ContextSource, LedgerItem, LedgerItemState, LedgerSource};
use crate::tui::app::conversation::title::home_path;
use crate::tui::app::settings::ScreenSettings;
use crate::tui::dialogs::dialog::DialogView;
use crate::tui::dialogs::geometry::DialogGeometry;
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan, SyntaxTokenKind, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::list_rows;
use crate::tui::view::paint::{self, RoleStyles, span, spans_width};

use super::{ContextPage, LedgerEntry, lines};

/// Rows above the list: the heading, the bar, its numbers, a rule.
const ABOVE: u16 = 4;
/// Rows beneath the list, with the rule.
const BENEATH: u16 = 6;
/// The columns of an item's age and of its tokens.
const AGE: usize = 13;
const TOKENS: usize = 7;

/// Draws the page on all of `area`.
pub fn draw(
    around: DialogView<'_>,
    page: &ContextPage,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    measured: &mut DialogGeometry,
) {
    paint::clear(area, styles, buffer);
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let row = |at: u16| Rect { y: area.y + at, height: u16::from(at < area.height), ..inner };
    let Some(ledger) = &page.ledger else {
        paint::spans(&[span("Context", StyleRole::Strong)], styles, row(0), buffer);
        paint::spans(&[span("One moment …", StyleRole::Muted)], styles, row(2), buffer);
        return;
    };
    let left = [span("Context", StyleRole::Strong)];
    let right = [span(lines::used(ledger), StyleRole::Text)];
    paint::both_edges(&left, &right, styles, row(0), buffer);
    paint::spans(&bar(ledger, inner.width), styles, row(1), buffer);
    let [compaction, answer] = lines::limits(ledger);
    let legend = [
        span("│ ", StyleRole::Warning),
        span(format!("{compaction}   "), StyleRole::Muted),
        span("░ ", StyleRole::Muted),
        span(answer, StyleRole::Muted),
    ];
    paint::spans(&legend, styles, row(2), buffer);
    paint::rule(Rect { width: area.width, x: area.x, ..row(3) }, styles, buffer);

    let room = area.height.saturating_sub(ABOVE);
    let beneath = BENEATH.min(room / 2);
    let list = Rect { y: area.y + ABOVE.min(area.height), height: room - beneath, ..inner };
    draw_rows(around, page, ledger, styles, list, buffer);
    measured.list = Some(list.into());

    let below = list.y + list.height;
    if beneath > 0 {
        paint::rule(Rect { x: area.x, y: below, width: area.width, height: 1 }, styles, buffer);
    }
    let details = details(around, page, inner.width);
    for (y, line) in (below + 1..area.y + area.height).zip(&details) {
        paint::spans(&line.spans, styles, Rect { y, height: 1, ..inner }, buffer);
    }
}

/// The colour of a source.
fn role(kind: ContextSource) -> StyleRole {
    match kind {
        ContextSource::SystemPrompt => StyleRole::System,
        ContextSource::Tools => StyleRole::Link,
        ContextSource::Instructions => StyleRole::Syntax(SyntaxTokenKind::Keyword),
        ContextSource::Skills => StyleRole::Syntax(SyntaxTokenKind::Type),
        ContextSource::Notes => StyleRole::Muted,
        ContextSource::Summary => StyleRole::Syntax(SyntaxTokenKind::Attribute),
        ContextSource::UserMessages => StyleRole::User,
        ContextSource::Answers => StyleRole::Assistant,
        ContextSource::Thinking => StyleRole::Thinking,
        ContextSource::ToolCalls => StyleRole::Syntax(SyntaxTokenKind::Number),
        ContextSource::ToolResults => StyleRole::Tool,
        ContextSource::Images => StyleRole::Syntax(SyntaxTokenKind::String),
    }
}

/// The window as a bar: what each source takes, what is free, where a compaction comes (`│`), and
/// what is kept for the answer. Neighbours differ without colours, too.
fn bar(ledger: &ContextLedger, width: u16) -> Vec<StyledSpan> {
    let window = ledger.window.tokens().max(ledger.used).max(1);
    let cell = |tokens: u64| {
        let cells = tokens.saturating_mul(u64::from(width)) / window;
        usize::try_from(cells).unwrap_or(usize::MAX).min(usize::from(width))
    };
    let columns = usize::from(width);
    let mut cells = vec![("·", StyleRole::Border); columns];
    let reserved = cell(window.saturating_sub(ledger.reserve));
    cells[reserved..].fill(("░", StyleRole::Muted));
    let (mut tokens, mut drawn) = (0, 0);
    for (nth, source) in ledger.sources.iter().enumerate() {
        tokens += source.tokens;
        // Rounded up, so that what is there can be seen.
        let end = cell(tokens.saturating_add(window / u64::from(width.max(1)) / 2)).max(drawn);
        let sign = if nth % 2 == 0 { "█" } else { "▓" };
        cells[drawn..end].fill((sign, role(source.kind)));
        drawn = end;
    }
    if let Some(mark) = cells.get_mut(cell(ledger.compacts_at)) {
        *mark = ("│", StyleRole::Warning);
    }
    let runs = cells.chunk_by(|one, next| one == next);
    runs.map(|run| span(run[0].0.repeat(run.len()), run[0].1)).collect()
}

fn draw_rows(
    around: DialogView<'_>,
    page: &ContextPage,
    ledger: &ContextLedger,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    let height = usize::from(area.height.max(1));
    let first = (page.selected + 1).saturating_sub(height);
    let shown = page.rows().iter().enumerate().skip(first);
    for (y, (at, row)) in (area.y..area.y + area.height).zip(shown) {
        let Some(entry) = page.entry(*row) else { continue };
        let place = Rect { y, height: 1, ..area };
        let is_selected = at == page.selected;
        if is_selected {
            paint::selected(place, styles, buffer);
        }
        let mark = span(if is_selected { "❯ " } else { "  " }, StyleRole::User);
        let (mut left, right) = match entry {
            LedgerEntry::Source(source) => of_source(around, page, source, ledger),
            LedgerEntry::Item(source, item) => of_item(source, item, ledger, area.width),
        };
        left.insert(0, mark);
        let room = area.width.saturating_sub(spans_width(&right) + 2);
        paint::both_edges(&list_rows::fit(left, room), &right, styles, place, buffer);
    }
}

fn of_source(
    around: DialogView<'_>,
    page: &ContextPage,
    source: &LedgerSource,
    ledger: &ContextLedger,
) -> (Vec<StyledSpan>, Vec<StyledSpan>) {
    let opens = match (source.items.is_empty(), page.is_open(source)) {
        (true, _) => "  ",
        (false, true) => "▾ ",
        (false, false) => "▸ ",
    };
    let name = lines::source_name(source, |path| shown_path(path, &around.shared.settings));
    let left = vec![
        span("■ ", role(source.kind)),
        span(opens, StyleRole::Muted),
        span(harmless(&name), StyleRole::Text),
    ];
    (left, numbers(source.tokens, ledger, StyleRole::Text))
}

fn of_item(
    source: &LedgerSource,
    item: &LedgerItem,
    ledger: &ContextLedger,
    width: u16,
) -> (Vec<StyledSpan>, Vec<StyledSpan>) {
    let mut left = vec![span("    ", StyleRole::Text)];
    if !item.name.is_empty() {
        left.push(span(format!("{} ", harmless(&item.name)), StyleRole::Tool));
    }
    let is_sent = matches!(item.state, LedgerItemState::Full | LedgerItemState::Pinned);
    let text = if is_sent { StyleRole::Text } else { StyleRole::Muted };
    left.push(span(harmless(&item.about), text));
    let state = lines::state(source.kind, item.state);
    let state_role = match item.state {
        LedgerItemState::Pinned => StyleRole::Success,
        LedgerItemState::FoldedOut => StyleRole::Warning,
        LedgerItemState::Full | LedgerItemState::Compacted => StyleRole::Muted,
    };
    let mut right = vec![span(state, state_role)];
    // A narrow screen has no room for it beside the text.
    if width >= 60 {
        right.push(span(format!("{:>AGE$}", lines::age(item)), StyleRole::Muted));
    }
    right.extend(numbers(item.tokens, ledger, StyleRole::Muted));
    (left, right)
}

fn numbers(tokens: u64, ledger: &ContextLedger, role: StyleRole) -> Vec<StyledSpan> {
    let share = lines::percent(tokens, ledger);
    vec![
        span(format!("{:>TOKENS$}", lines::tokens(tokens)), role),
        span(format!("{share:>5}"), StyleRole::Muted),
    ]
}

/// The text beneath the list.
fn details(around: DialogView<'_>, page: &ContextPage, width: u16) -> Vec<StyledLine> {
    let mut details = Vec::new();
    let mut add = |text: &str, role| details.extend(plain::render(text, role, width));
    if let Some(failed) = &page.failed {
        add(failed, StyleRole::Error);
    }
    match page.chosen() {
        Some(LedgerEntry::Source(source)) => {
            if let Some(path) = &source.path {
                add(&shown_path(path, &around.shared.settings), StyleRole::Text);
            }
            if source.items.iter().all(|item| item.item.is_none()) {
                add(source.kind.why_fixed(), StyleRole::Muted);
            } else {
                let text = "Open it to leave out, restore or pin items.";
                add(text, StyleRole::Muted);
            }
        }
        Some(LedgerEntry::Item(source, item)) => {
            let name = plain::render(&harmless(&lines::item_name(item)), StyleRole::Text, width);
            let pinned = match item.state {
                LedgerItemState::Pinned => "Pinned: compaction keeps it. ",
                LedgerItemState::Full | LedgerItemState::FoldedOut | LedgerItemState::Compacted => {
                    ""
                }
            };
            let text = format!("{pinned}{}", lines::consequence(source, item));
            details.extend(name.into_iter().take(1));
            details.extend(plain::render(&text, StyleRole::Muted, width));
        }
        None => {}
    }
    details
}

/// A path for the screen: relative to the working folder, or below `~`.
pub fn shown_path(path: &str, settings: &ScreenSettings) -> String {
    let path = std::path::Path::new(path);
    match path.strip_prefix(&settings.cwd) {
        Ok(inside) => inside.display().to_string(),
        Err(_) => home_path(path, settings.home.as_deref()),
    }
}
