//! What is done with the search in the transcript: opening it, typing the query, stepping from match
//! to match.

use super::line_matches::matches;
use super::{
    STEP, TranscriptMatch, TranscriptScan, TranscriptSearch, TranscriptSearchDirection,
    TranscriptSearchStage, is_shown,
};
use crate::tui::app::conversation::Conversation;
use crate::tui::app::conversation::block::{BlockId, PaneFold};
use crate::tui::app::conversation::fold_actions;
use crate::tui::app::conversation::navigation::hold;
use crate::tui::app::conversation::scroll::{BlockPosition, ScrollAnchor};
use crate::tui::app::conversation::source::{self, BlockPart};
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::intent::{Intent, intents};
use crate::tui::app::keymap::{self, KeyPress, SearchKey, SearchMatchKey};
use crate::tui::app::text_query::{TextQuery, TextQueryKind};

/// Whether keys are typed into the query.
pub fn is_typed(conversation: &Conversation) -> bool {
    conversation.search.as_ref().is_some_and(|search| search.stage == TranscriptSearchStage::Typing)
}

/// Opens the search, or returns to typing in the open one.
pub fn open(conversation: &mut Conversation) {
    match &mut conversation.search {
        Some(search) => search.stage = TranscriptSearchStage::Typing,
        None => {
            let origin = (conversation.scroll.anchor, conversation.focus);
            conversation.search = Some(Box::new(TranscriptSearch::new(origin)));
        }
    }
}

/// Handles a key while the query is typed.
pub fn typing_key(conversation: &mut Conversation, key: &KeyPress<'_>) -> Vec<Intent> {
    match keymap::find(keymap::SEARCH, key) {
        Some(SearchKey::Stay) => return stay(conversation),
        Some(SearchKey::Back) => back(conversation),
        Some(SearchKey::Previous) => go(conversation, TranscriptSearchDirection::Previous),
        Some(SearchKey::Next) => go(conversation, TranscriptSearchDirection::Next),
        Some(SearchKey::Regex) => {
            if let Some(search) = &mut conversation.search {
                search.kind = match search.kind {
                    TextQueryKind::Plain => TextQueryKind::Regex,
                    TextQueryKind::Regex => TextQueryKind::Plain,
                };
            }
            restart(conversation);
        }
        None => {
            let Some(search) = &mut conversation.search else { return Vec::new() };
            let before = search.field.revision();
            search.field.key(key);
            if search.field.revision() != before {
                restart(conversation);
            }
        }
    }
    Vec::new()
}

/// Handles a key while matches are stepped through; `None` if the search does not use it.
pub fn found_key(conversation: &mut Conversation, key: &KeyPress<'_>) -> Option<Vec<Intent>> {
    conversation.search.as_ref()?;
    match keymap::find(keymap::FOUND, key)? {
        SearchMatchKey::Previous => go(conversation, TranscriptSearchDirection::Previous),
        SearchMatchKey::Next => go(conversation, TranscriptSearchDirection::Next),
        SearchMatchKey::Edit => open(conversation),
        SearchMatchKey::Close => return Some(close(conversation)),
    }
    Some(Vec::new())
}

/// Pastes text into the query.
pub fn paste(conversation: &mut Conversation, text: &str) {
    if let Some(search) = &mut conversation.search {
        search.field.insert(text);
        restart(conversation);
    }
}

/// Ends the search and stays at the match, whose pane stays open. A search opened from the list of
/// sessions gives the focus back to the list.
pub fn close(conversation: &mut Conversation) -> Vec<Intent> {
    let origin = conversation.search.take().map(|search| search.origin.1);
    let has_unfolded = conversation.transcript.keep_peek();
    let saved = has_unfolded.then(|| fold_actions::keep_session(conversation)).flatten();
    let mut wanted = intents(saved.into_iter().collect());
    if origin == Some(KeyboardFocus::Sidebar) {
        wanted.push(Intent::ReturnToSessions);
    }
    wanted
}

/// Opens a search at the first match in these blocks. False if `blocks` is empty.
pub fn open_at_match(conversation: &mut Conversation, blocks: &[BlockId], text: &str) -> bool {
    let Some(first) = blocks.first().copied() else { return false };
    let mut search = TranscriptSearch::new((conversation.scroll.anchor, KeyboardFocus::Sidebar));
    search.field = TextEditor::with_text(EditorLines::One, text);
    search.stage = TranscriptSearchStage::Navigating;
    search.query = TextQuery::new(text, search.kind).ok();
    let parts =
        blocks.iter().flat_map(|block| [(*block, BlockPart::Head), (*block, BlockPart::Body)]);
    search.current = search.query.as_ref().and_then(|query| {
        parts
            .filter_map(|(id, part)| {
                let text = source::text(conversation.transcript.get(id)?, part);
                let found = matches(query, &text).into_iter().next()?;
                Some(TranscriptMatch { block: id, part, from: found.start, to: found.end })
            })
            .next()
    });
    search.scan = TranscriptScan::from(BlockId(first.0.saturating_add(1)));
    let found = search.current.is_some();
    conversation.search = Some(Box::new(search));
    tick(conversation);
    if found {
        show_match(conversation);
    } else {
        // The text was found across lines, or in a part that the block does not show.
        let lines = conversation.transcript.lines();
        conversation
            .scroll
            .hold(ScrollAnchor::At { block: first, place: BlockPosition::Head(0) }, lines);
        conversation.focus = KeyboardFocus::Pane(first);
    }
    true
}

/// Ends typing the query; matches stay marked.
pub fn stop_typing(conversation: &mut Conversation) {
    if let Some(search) = &mut conversation.search {
        search.stage = TranscriptSearchStage::Navigating;
    }
}

/// Asks for the pager at the current match, if its pane has the focus, is unfolded and leaves the
/// match out. `None` otherwise.
pub fn open_hidden(conversation: &Conversation) -> Option<Intent> {
    let search = conversation.search.as_ref()?;
    let (hit, query) = (search.current?, search.query.clone()?);
    let block = conversation.transcript.get(hit.block)?;
    let is_hidden = hit.part == BlockPart::Body
        && conversation.transcript.fold(block) != PaneFold::Closed
        && conversation.focus == KeyboardFocus::Pane(hit.block)
        && is_drawn(conversation)
        && !is_shown(&conversation.geometry, hit);
    is_hidden.then(|| Intent::OpenPagerAt(hit, query))
}

/// Searches the next bounded part of the transcript.
pub fn tick(conversation: &mut Conversation) {
    let Some(search) = &mut conversation.search else { return };
    if !search.is_looking(&conversation.transcript) {
        return;
    }
    search.step(&conversation.transcript, STEP);
    settle(conversation);
}

/// Whether a part of the transcript still has to be searched.
pub fn is_looking(conversation: &Conversation) -> bool {
    conversation.search.as_ref().is_some_and(|search| search.is_looking(&conversation.transcript))
}

/// The transcript has changed: searches the changed blocks among the newest again.
pub fn changed(conversation: &mut Conversation) {
    if let Some(search) = &mut conversation.search {
        search.look_again(&conversation.transcript);
        settle(conversation);
    }
}

/// Ends the search and goes back to where it was opened.
pub fn back(conversation: &mut Conversation) {
    let Some(search) = conversation.search.take() else { return };
    hold(conversation);
    conversation.transcript.peek(None);
    let (anchor, focus) = search.origin;
    conversation.focus = focus;
    match anchor {
        ScrollAnchor::Tail => conversation.scroll.to_tail(),
        ScrollAnchor::At { .. } => {
            conversation.scroll.hold(anchor, conversation.transcript.lines());
        }
    }
}

/// Ends typing and stays on the match: from now on letters are keys of the panes. If the pane
/// leaves the match out, opens it in the pager.
fn stay(conversation: &mut Conversation) -> Vec<Intent> {
    let Some(search) = &mut conversation.search else { return Vec::new() };
    if let Some(current) = search.current {
        search.stage = TranscriptSearchStage::Navigating;
        conversation.focus = KeyboardFocus::Pane(current.block);
    }
    open_hidden(conversation).into_iter().collect()
}

/// Goes to the next or previous match; wraps around at the ends.
fn go(conversation: &mut Conversation, direction: TranscriptSearchDirection) {
    let Some(search) = &mut conversation.search else { return };
    let Some(next) = search.other(direction) else { return };
    search.current = Some(next);
    show_match(conversation);
}

/// Goes to the nearest match, if there is no current one: the last match above the end of the
/// screen, else the first one below.
fn settle(conversation: &mut Conversation) {
    let Some(search) = conversation.search.as_mut().filter(|search| search.current.is_none())
    else {
        return;
    };
    let above = search.hits.partition_point(|hit| hit.block < search.scan.start);
    let nearest = match above.checked_sub(1) {
        Some(last) => search.hits.get(last),
        None if !search.has_more_above(&conversation.transcript) => search.hits.front(),
        None => None,
    };
    search.current = nearest.copied();
    if search.current.is_some() {
        show_match(conversation);
    }
}

/// Starts over with the query as it is typed now.
fn restart(conversation: &mut Conversation) {
    let bottom = conversation.geometry.rows.last().map(|row| row.block);
    let last = conversation.transcript.blocks().last().map(|block| block.id);
    let Some(search) = &mut conversation.search else { return };
    let text = search.field.text();
    (search.query, search.error) = match TextQuery::new(&text, search.kind) {
        Ok(query) => (Some(query), None),
        Err(_) if text.is_empty() => (None, None),
        Err(error) => (None, Some(error.to_string())),
    };
    search.hits.clear();
    search.scanned.clear();
    search.current = None;
    let from = bottom.or(last).unwrap_or(BlockId(0));
    search.scan = TranscriptScan::from(BlockId(from.0.saturating_add(1)));
    // A match of the shorter query before may have scrolled far away.
    let (anchor, _) = search.origin;
    conversation.transcript.peek(None);
    match anchor {
        ScrollAnchor::Tail => conversation.scroll.to_tail(),
        ScrollAnchor::At { .. } => {
            conversation.scroll.hold(anchor, conversation.transcript.lines());
        }
    }
    tick(conversation);
}

/// Scrolls the current match into sight, and unfolds its pane.
fn show_match(conversation: &mut Conversation) {
    let Some(hit) = conversation.search.as_ref().and_then(|search| search.current) else {
        return;
    };
    if conversation
        .search
        .as_ref()
        .is_some_and(|search| search.stage == TranscriptSearchStage::Navigating)
    {
        conversation.focus = KeyboardFocus::Pane(hit.block);
    }
    let is_folded = conversation.transcript.shown(hit.block) != hit.block;
    let peek = (hit.part == BlockPart::Body || is_folded).then_some(hit.block);
    let unfolds = conversation.transcript.peek(peek);
    let seen = is_drawn(conversation)
        && conversation.geometry.rows.iter().any(|row| {
            row.block == hit.block
                && row.kind.part() == hit.part
                && row.runs.iter().any(|run| run.columns(&(hit.from..hit.to)).is_some())
        });
    if seen && !unfolds {
        return;
    }
    let place = match hit.part {
        BlockPart::Head => BlockPosition::Head(0),
        BlockPart::Body => BlockPosition::Body { source: hit.from, row: 0 },
    };
    let above = i32::from(conversation.geometry.transcript.height / 3);
    let lines = conversation.transcript.lines();
    conversation.scroll.hold(ScrollAnchor::At { block: hit.block, place }, lines);
    conversation.scroll.by(-above, lines);
}

/// Whether the last frame shows the present position: nothing has scrolled since.
fn is_drawn(conversation: &Conversation) -> bool {
    conversation.scroll.delta == 0 && conversation.scroll.anchor == conversation.geometry.anchor
}
