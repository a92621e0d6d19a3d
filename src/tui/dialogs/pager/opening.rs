//! Opens the full text of a block of the transcript.

use std::sync::Arc;

use crate::domain::NoticeLevel;
use crate::services::explanation::ExplainedPart;
use crate::services::store_query::StoreQuery;
use crate::tui::app::conversation::Conversation;
use crate::tui::app::conversation::block::{
    BlockBody, ToolCallBlock, ToolCallContent, ToolCallOrigin, TranscriptBlock,
};
use crate::tui::app::conversation::search::TranscriptMatch as Match;
use crate::tui::app::conversation::source::{self, BlockPart};
use crate::tui::app::conversation::transcript::BlockId;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::page_position::PagePosition;
use crate::tui::app::shared::SharedState;
use crate::tui::app::text_query::TextQuery;
use crate::tui::dialogs::dialog::DialogOpening;

use super::search::PagerSearch;
use super::{Pager, PagerFollow, PagerSource};
use crate::services::text_document::TextDocument;

/// Opens the full text of a block, or shows a notice if there is none.
pub fn open(
    conversation: &Conversation,
    shared: &mut SharedState,
    block: BlockId,
) -> DialogOpening<Pager> {
    let Some(block) = conversation.transcript.get(block) else { return DialogOpening::nothing() };
    let text = whole(block);
    let (title, tool) = match &block.body {
        BlockBody::User(_) => ("Your message".to_owned(), None),
        BlockBody::Assistant(_) => ("Answer".to_owned(), None),
        BlockBody::Thinking(_) => ("Thinking".to_owned(), None),
        BlockBody::Tool(tool) => (format!("{}  {}", tool.name, tool.title), Some((**tool).clone())),
        BlockBody::Image(image) => (image.name().to_owned(), None),
        BlockBody::Compacted(_) => ("Compaction note".to_owned(), None),
        BlockBody::Notice(_) | BlockBody::Lookups | BlockBody::TurnEnd(_) => {
            ("Notice".to_owned(), None)
        }
    };
    if text.is_empty() && tool.as_ref().is_none_or(ToolCallBlock::is_over) {
        shared.toast(NoticeLevel::Info, "Nothing more to show");
        return DialogOpening::nothing();
    }
    let id = shared.requests.issue();
    let mut effects = Vec::new();
    let hidden_lines = match tool.as_ref().map(|tool| &tool.content) {
        Some(ToolCallContent::Live(live)) => live.hidden,
        Some(
            ToolCallContent::Nothing
            | ToolCallContent::Text(_)
            | ToolCallContent::Terminal(_)
            | ToolCallContent::Diff(_),
        )
        | None => 0,
    };
    let mut pager = Pager::new(title, Arc::new(TextDocument::with(id.0, &text, hidden_lines)));
    if let Some(tool) = tool {
        if !tool.is_over() {
            pager.source = PagerSource::Running(tool.call.clone(), PagerFollow::Tail);
            pager.position = PagePosition::END;
        }
        if let Some(hash) = tool.full_output {
            pager.waiting = Some((id, PagerFollow::Paused));
            effects.push(ScreenEffect::QueryStore {
                id,
                job: StoreQuery::FullOutput { document: id.0, hash },
            });
        }
    }
    DialogOpening::of(pager, effects)
}

/// Opens what the log says about a block, or shows a notice if it says nothing of it.
pub fn explain(
    conversation: &Conversation,
    shared: &mut SharedState,
    block: BlockId,
) -> DialogOpening<Pager> {
    let block = conversation.transcript.get(block);
    let part = block.and_then(|block| match &block.body {
        BlockBody::Tool(tool) if tool.origin == ToolCallOrigin::Model => {
            Some(ExplainedPart::Call(tool.call.clone()))
        }
        BlockBody::Tool(_)
        | BlockBody::User(_)
        | BlockBody::Assistant(_)
        | BlockBody::Thinking(_)
        | BlockBody::Image(_) => block.entry.map(ExplainedPart::Message),
        BlockBody::Compacted(_)
        | BlockBody::Notice(_)
        | BlockBody::Lookups
        | BlockBody::TurnEnd(_) => None,
    });
    let (Some(part), Some(session)) = (part, conversation.status.session) else {
        shared.toast(NoticeLevel::Info, "The log has nothing more about this.");
        return DialogOpening::nothing();
    };
    let title = match block.and_then(|block| block.body.tool_call()) {
        Some(tool) => format!("Explained: {}  {}", tool.name, tool.title),
        None => "Explained".to_owned(),
    };
    let id = shared.requests.issue();
    let mut pager = Pager::new(title, Arc::new(TextDocument::new(id.0, "")));
    pager.waiting = Some((id, PagerFollow::Paused));
    let job = StoreQuery::Explanation { document: id.0, session, part };
    DialogOpening::of(pager, vec![ScreenEffect::QueryStore { id, job }])
}

/// Opens the full text of a block at a match of the transcript search.
pub fn open_at(
    conversation: &Conversation,
    shared: &mut SharedState,
    hit: Match,
    query: TextQuery,
) -> DialogOpening<Pager> {
    let block = conversation.transcript.get(hit.block);
    let place = block.and_then(|block| place_of(block, hit, &query));
    let mut opening = open(conversation, shared, hit.block);
    let (line, nth) = place.unwrap_or_default();
    let above = usize::from(shared.geometry.height / 3);
    let id = shared.requests.issue();
    if let Some(pager) = &mut opening.dialog {
        opening.effects.extend(pager.stand_at(PagerSearch::at(query, line, nth), above, id));
    }
    opening
}

/// The line of the pager's text that a match of the transcript is in, and which of the matches in
/// that line it is.
fn place_of(block: &TranscriptBlock, hit: Match, query: &TextQuery) -> Option<(usize, usize)> {
    let text = source::text(block, BlockPart::Body);
    let start = block.body.tool_call().map_or(0, source::output_start);
    let before = text.get(start..hit.from)?;
    let line = before.matches('\n').count();
    let in_line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
    Some((in_patch(block, line), query.matches(in_line).len()))
}

/// The line of the patch text for a line of the files: a patch adds two lines of names, and a
/// heading for each hunk.
fn in_patch(block: &TranscriptBlock, line: usize) -> usize {
    let BlockBody::Tool(tool) = &block.body else { return line };
    let ToolCallContent::Diff(diff) = &tool.content else { return line };
    let mut left = line;
    let names = 2;
    let headings = diff.hunks.iter().take_while(|hunk| {
        let is_above = left >= hunk.lines.len();
        left = left.saturating_sub(hunk.lines.len());
        is_above
    });
    names + headings.count() + 1 + line
}

/// The text of a block, with the colours of its output.
fn whole(block: &TranscriptBlock) -> String {
    match block.body.tool_call().map(|tool| &tool.content) {
        Some(ToolCallContent::Live(live)) => live.text.clone(),
        Some(ToolCallContent::Text(text) | ToolCallContent::Terminal(text)) => text.clone(),
        Some(ToolCallContent::Nothing | ToolCallContent::Diff(_)) | None => source::of_block(block),
    }
}
