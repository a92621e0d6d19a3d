//! Draws the start screen: what slug is and where it works, recent sessions, and three tips. On a low
//! screen the less important parts are left out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::start_screen::RecentSession;
use crate::tui::app::conversation::title::home_path;
use crate::tui::app::geometry::CellRect;
use crate::tui::app::keymap::{ChatKey, EmptyInputKey, InputKey, Keymap};
use crate::tui::app::settings::StartMode;
use crate::tui::layout::{StyleRole, StyledLine, plain};

use super::paint::{self, RoleStyles, line, span};

/// The columns that rows of the list take at most.
const WIDEST: u16 = 72;

/// The mark, in two rows.
const MARK: [&str; 2] = [" ▗▄▄▄▄▖  ╲╱", " ▀▀▀▀▀▀▀▀▀▀"];

/// The tips, of which each day shows three.
const TIPS: [StartTip; 12] = [
    StartTip { key: TipKey::Text("@"), words: "mentions a file for the model" },
    StartTip { key: TipKey::Text("!"), words: "runs a shell command of your own" },
    StartTip { key: TipKey::Chat(ChatKey::Palette), words: "lists every command and key" },
    StartTip { key: TipKey::Text("/undo"), words: "takes the last turn back, files included" },
    StartTip {
        key: TipKey::Chat(ChatKey::Sessions),
        words: "shows past sessions and searches them",
    },
    StartTip { key: TipKey::Text("/connect"), words: "adds a provider or changes its key" },
    StartTip { key: TipKey::Chat(ChatKey::NextMode), words: "changes how much slug asks" },
    StartTip { key: TipKey::Input(InputKey::Steer), words: "sends a message into a running turn" },
    StartTip { key: TipKey::Text("/diff"), words: "shows what this session changed" },
    StartTip { key: TipKey::Input(InputKey::History), words: "searches what you sent before" },
    StartTip { key: TipKey::Chat(ChatKey::Search), words: "searches the conversation" },
    StartTip { key: TipKey::Text("/model"), words: "switches the model" },
];

/// How many tips are shown at once.
const SHOWN_TIPS: usize = 3;

struct StartTip {
    key: TipKey,
    words: &'static str,
}

/// What a tip is about: text to type, or an action, which is shown by its key.
enum TipKey {
    Text(&'static str),
    Chat(ChatKey),
    Input(InputKey),
}

/// A row, with what stands at its right edge.
#[derive(Default)]
struct StartRow {
    left: StyledLine,
    right: StyledLine,
    /// Whether a click on it opens a session.
    is_session: bool,
}

/// Draws the start screen at the top of `area`, and returns how many rows it took. `kept` rows at
/// the bottom are left free, as far as the most important part leaves them. The places of the listed
/// sessions go into `recent`.
pub fn draw(
    model: &ScreenModel,
    kept: u16,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    recent: &mut Vec<CellRect>,
) -> u16 {
    let area = Rect { width: area.width.min(WIDEST), ..area };
    let room = usize::from(area.height.saturating_sub(kept).max(area.height.min(2)));
    let rows = rows(model, area.width, room);
    for (y, row) in (area.y..area.y + area.height).zip(&rows) {
        let place = Rect { y, height: 1, ..area };
        paint::both_edges(&row.left.spans, &row.right.spans, styles, place, buffer);
        if row.is_session {
            recent.push(place.into());
        }
    }
    u16::try_from(rows.len()).unwrap_or(area.height).min(area.height)
}

/// The rows that fit into `room`. Parts are dropped whole, the least important first: the mark, the
/// tips, the list.
fn rows(model: &ScreenModel, width: u16, room: usize) -> Vec<StartRow> {
    let mark: Vec<StartRow> = MARK.into_iter().map(|row| plain_row(row, StyleRole::User)).collect();
    let about = about(model, width);
    let recent = recent(model, width);
    let tips = tips(model);
    let gap = |part: &[StartRow]| part.len() + usize::from(!part.is_empty());
    let left = room.saturating_sub(about.len());
    let has_recent = gap(&recent) <= left;
    let left = left - if has_recent { gap(&recent) } else { 0 };
    let has_tips = gap(&tips) <= left;
    let left = left - if has_tips { gap(&tips) } else { 0 };
    // With a free row above the mark, and one below.
    let has_mark = mark.len() + 2 <= left && width >= 30;
    let mut rows = Vec::new();
    if has_mark {
        rows.push(StartRow::default());
        rows.extend(mark);
        rows.push(StartRow::default());
    }
    rows.extend(about.into_iter().take(room));
    for (fits, part) in [(has_recent, recent), (has_tips, tips)] {
        if fits && !part.is_empty() {
            rows.push(StartRow::default());
            rows.extend(part);
        }
    }
    rows
}

/// Name and version, model, folder and branch; then what to expect.
fn about(model: &ScreenModel, width: u16) -> Vec<StartRow> {
    let settings = &model.shared.settings;
    let status = &model.conversation.status;
    let name = match settings.start.version {
        "" => "slug".to_owned(),
        version => format!("slug {version}"),
    };
    let mut facts = Vec::new();
    if !status.model.is_empty() {
        facts.push(status.model.clone());
    }
    let folder = home_path(&settings.cwd, settings.home.as_deref());
    facts.push(match &status.git {
        Some(git) => format!("{folder} ({})", git.branch),
        None => folder,
    });
    let room = width.saturating_sub(paint::width(&name));
    let facts = paint::truncate(&format!(" \u{b7} {}", facts.join(" \u{b7} ")), room);
    let title = line(vec![span(name, StyleRole::Strong), span(facts, StyleRole::Muted)]);
    let words = match settings.start.mode {
        StartMode::Chat => "slug asks before it changes or runs anything.",
        StartMode::Demo | StartMode::Tour => {
            "This is the demo: a scripted model fixes a shop. enter starts the demo."
        }
    };
    let words = plain::render(words, StyleRole::Muted, width);
    let first = StartRow { left: title, ..StartRow::default() };
    std::iter::once(first)
        .chain(words.into_iter().map(|left| StartRow { left, ..StartRow::default() }))
        .collect()
}

fn recent(model: &ScreenModel, width: u16) -> Vec<StartRow> {
    let list = &model.conversation.recent;
    let sessions = list.rows(model.shared.geometry.height);
    if sessions.is_empty() {
        return Vec::new();
    }
    let selected = list.selected().filter(|_| model.conversation.composer.is_empty());
    let keys = model.shared.settings.keys.row(EmptyInputKey::Recent);
    let row = |(number, session): (usize, &RecentSession)| {
        let key = keys.and_then(|row| row.keys.get(number)).map(ToString::to_string);
        let key = format!("{:<5}  ", key.unwrap_or_default());
        let is_selected = selected == Some(number);
        let (mark, role) =
            if is_selected { ("❯ ", StyleRole::Strong) } else { ("  ", StyleRole::Text) };
        let used = paint::width(mark) + paint::width(&key) + paint::width(&session.age) + 2;
        let title = paint::truncate(&session.title, width.saturating_sub(used));
        StartRow {
            left: line(vec![
                span(mark, StyleRole::User),
                span(key, StyleRole::Key),
                span(title, role),
            ]),
            right: line(vec![span(session.age.clone(), StyleRole::Muted)]),
            is_session: true,
        }
    };
    let heading = std::iter::once(plain_row("Recent here", StyleRole::Muted));
    heading.chain(sessions.iter().enumerate().map(row)).collect()
}

/// The tips of the day. In the demo there are none: one thing is to be done there.
fn tips(model: &ScreenModel) -> Vec<StartRow> {
    let settings = &model.shared.settings;
    match settings.start.mode {
        StartMode::Demo | StartMode::Tour => return Vec::new(),
        StartMode::Chat => {}
    }
    let first = usize::try_from(settings.start.day).unwrap_or(0).saturating_mul(SHOWN_TIPS);
    let of_today = (0..SHOWN_TIPS).filter_map(|number| TIPS.get((first + number) % TIPS.len()));
    let row = |tip: &StartTip| {
        let key = tip.key.shown(&settings.keys);
        let left = line(vec![
            span(format!("  {key:<9}  "), StyleRole::Key),
            span(tip.words, StyleRole::Muted),
        ]);
        StartRow { left, ..StartRow::default() }
    };
    of_today.map(row).collect()
}

fn plain_row(text: &str, role: StyleRole) -> StartRow {
    StartRow { left: line(vec![span(text, role)]), ..StartRow::default() }
}

impl TipKey {
    fn shown(&self, keys: &Keymap) -> String {
        match self {
            Self::Text(text) => (*text).to_owned(),
            Self::Chat(key) => keys.key(*key),
            Self::Input(key) => keys.key(*key),
        }
    }
}
