//! Slug's default keys on pages: those of rules, a rewind, a text, the pager and the changes.

use crossterm::event::KeyCode;

use crate::tui::app::keymap::actions::{
    AgentsKey, ChangesKey, FindKey, JobsKey, LedgerKey, LspKey, McpKey, MemoryKey, PagerKey,
    QuestionKey, RaceKey, ReadingKey, ReviewKey, RewindKey, RulesKey, ScrollAction,
};

use super::{CTRL, KeyBinding, SHIFT, char, held, hinted, key, row};

/// The keys of the page of permission rules.
pub const RULES: &[KeyBinding<RulesKey>] = &[
    row(&[key(KeyCode::Up), char('k')], RulesKey::Previous, "previous row"),
    row(&[key(KeyCode::Down), char('j')], RulesKey::Next, "next row"),
    row(&[key(KeyCode::PageUp)], RulesKey::PageUp, "page up"),
    row(&[key(KeyCode::PageDown)], RulesKey::PageDown, "page down"),
    row(&[key(KeyCode::Home), char('g')], RulesKey::First, "first row"),
    row(&[key(KeyCode::End), char('G')], RulesKey::Last, "last row"),
    hinted(&[char('a')], RulesKey::Add, "add a rule", "add"),
    hinted(&[char('e'), key(KeyCode::Enter)], RulesKey::Edit, "edit the rule", "edit"),
    hinted(
        &[char('d'), key(KeyCode::Delete)],
        RulesKey::Remove,
        "remove the rule (press twice)",
        "remove",
    ),
    hinted(&[char('t')], RulesKey::Try, "test the rules on a command or path", "test"),
    hinted(&[key(KeyCode::Esc), char('q')], RulesKey::Back, "close", "close"),
];

/// The keys of the page of what fills the context window.
pub const LEDGER: &[KeyBinding<LedgerKey>] = &[
    row(&[key(KeyCode::Up), char('k')], LedgerKey::Previous, "previous row"),
    row(&[key(KeyCode::Down), char('j')], LedgerKey::Next, "next row"),
    row(&[key(KeyCode::PageUp)], LedgerKey::PageUp, "page up"),
    row(&[key(KeyCode::PageDown)], LedgerKey::PageDown, "page down"),
    row(&[key(KeyCode::Home), char('g')], LedgerKey::First, "first row"),
    row(&[key(KeyCode::End), char('G')], LedgerKey::Last, "last row"),
    hinted(&[key(KeyCode::Enter)], LedgerKey::Toggle, "open or close a source", "open"),
    row(&[key(KeyCode::Right), char('l')], LedgerKey::Open, "open a source"),
    row(&[key(KeyCode::Left), char('h')], LedgerKey::Close, "close a source"),
    hinted(
        &[char('x'), char(' ')],
        LedgerKey::Fold,
        "leave an item out, or restore it",
        "leave out",
    ),
    hinted(
        &[char('p')],
        LedgerKey::Pin,
        "pin or unpin an item (compaction keeps pinned items)",
        "pin",
    ),
    row(&[char('r')], LedgerKey::Reload, "refresh"),
    hinted(&[key(KeyCode::Esc), char('q')], LedgerKey::Back, "close", "close"),
];

/// The keys of a question of the model.
pub const QUESTIONS: &[KeyBinding<QuestionKey>] = &[
    row(
        &[
            char('1'),
            char('2'),
            char('3'),
            char('4'),
            char('5'),
            char('6'),
            char('7'),
            char('8'),
            char('9'),
        ],
        QuestionKey::Number,
        "the answer with this number",
    ),
    hinted(&[key(KeyCode::Enter)], QuestionKey::Accept, "the marked answer", "select"),
    hinted(&[key(KeyCode::Esc)], QuestionKey::Stop, "stop the turn", "stop"),
    hinted(&[char(' ')], QuestionKey::Toggle, "select or clear the marked answer", "choose"),
    row(&[key(KeyCode::Up)], QuestionKey::RowAbove, "mark the answer above"),
    row(&[key(KeyCode::Down)], QuestionKey::RowBelow, "mark the answer below"),
    row(&[char('t')], QuestionKey::OwnWords, "answer in your own words"),
    hinted(&[char('e')], QuestionKey::EditDocument, "change the plan", "edit plan"),
    row(&[char('n')], QuestionKey::LeaveOpen, "leave the question to the model"),
    hinted(&[key(KeyCode::Left)], QuestionKey::Back, "previous question", "back"),
    row(
        &[key(KeyCode::PageUp)],
        QuestionKey::Scroll(ScrollAction::PageUp),
        "page up: in the plan, or in a preview",
    ),
    row(&[key(KeyCode::PageDown)], QuestionKey::Scroll(ScrollAction::PageDown), "page down"),
    row(&[key(KeyCode::Home)], QuestionKey::Scroll(ScrollAction::Top), "go to the start"),
    row(&[key(KeyCode::End)], QuestionKey::Scroll(ScrollAction::Bottom), "go to the end"),
];

/// The keys of the page of jobs.
pub const JOBS: &[KeyBinding<JobsKey>] = &[
    row(&[key(KeyCode::Up), char('k')], JobsKey::Previous, "previous job"),
    row(&[key(KeyCode::Down), char('j')], JobsKey::Next, "next job"),
    row(&[held(SHIFT, KeyCode::Up)], JobsKey::Scroll(ScrollAction::LineUp), "line up"),
    row(&[held(SHIFT, KeyCode::Down)], JobsKey::Scroll(ScrollAction::LineDown), "line down"),
    row(&[key(KeyCode::PageUp), char('b')], JobsKey::Scroll(ScrollAction::PageUp), "page up"),
    row(&[key(KeyCode::PageDown), char(' ')], JobsKey::Scroll(ScrollAction::PageDown), "page down"),
    row(&[char('u')], JobsKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[char('d')], JobsKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(&[key(KeyCode::Home), char('g')], JobsKey::Scroll(ScrollAction::Top), "go to the start"),
    hinted(
        &[key(KeyCode::End), char('G')],
        JobsKey::Scroll(ScrollAction::Bottom),
        "go to the end, and follow it",
        "follow",
    ),
    hinted(
        &[char('x'), key(KeyCode::Delete)],
        JobsKey::End,
        "end the job (press twice)",
        "end job",
    ),
    hinted(&[char('y')], JobsKey::Copy, "copy the output on screen", "copy"),
    hinted(
        &[char('o'), key(KeyCode::Enter)],
        JobsKey::Open,
        "open the output in full view, to search and mark it",
        "open",
    ),
    hinted(
        &[char('t')],
        JobsKey::TakeOver,
        "take over the job's terminal: all keys go to its program",
        "take over",
    ),
    hinted(
        // Without the kitty protocol, terminals report ctrl+] as ctrl+5.
        &[held(CTRL, KeyCode::Char(']')), held(CTRL, KeyCode::Char('5'))],
        JobsKey::GiveBack,
        "give the terminal back (press twice to send this key to the program)",
        "give back",
    ),
    hinted(&[key(KeyCode::Esc), char('q')], JobsKey::Back, "close", "close"),
];

/// The keys of the page of agents.
pub const AGENTS: &[KeyBinding<AgentsKey>] = &[
    row(&[key(KeyCode::Up), char('k')], AgentsKey::Previous, "previous agent"),
    row(&[key(KeyCode::Down), char('j')], AgentsKey::Next, "next agent"),
    hinted(&[key(KeyCode::Enter), char('o')], AgentsKey::Open, "show its conversation", "open"),
    hinted(
        &[char('x'), key(KeyCode::Delete)],
        AgentsKey::Stop,
        "stop the agent (press twice)",
        "stop",
    ),
    hinted(&[key(KeyCode::Esc), char('q')], AgentsKey::Back, "close", "close"),
];

/// The keys of the page of a race.
pub const RACE: &[KeyBinding<RaceKey>] = &[
    hinted(&[char('t')], RaceKey::Take, "take this answer", "take this answer"),
    hinted(&[key(KeyCode::Tab)], RaceKey::Switch, "the other answer", "other answer"),
    row(&[key(KeyCode::Left), char('h'), char('1')], RaceKey::Left, "the first answer"),
    row(&[key(KeyCode::Right), char('l'), char('2')], RaceKey::Right, "the second answer"),
    hinted(
        &[key(KeyCode::Enter), char('o')],
        RaceKey::Open,
        "show its whole conversation, to search in it and copy from it",
        "open conversation",
    ),
    row(&[key(KeyCode::Up), char('k')], RaceKey::Scroll(ScrollAction::LineUp), "line up"),
    row(&[key(KeyCode::Down), char('j')], RaceKey::Scroll(ScrollAction::LineDown), "line down"),
    row(&[key(KeyCode::PageUp), char('b')], RaceKey::Scroll(ScrollAction::PageUp), "page up"),
    row(&[key(KeyCode::PageDown), char(' ')], RaceKey::Scroll(ScrollAction::PageDown), "page down"),
    row(&[char('u')], RaceKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[char('d')], RaceKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(&[key(KeyCode::Home), char('g')], RaceKey::Scroll(ScrollAction::Top), "go to the start"),
    row(
        &[key(KeyCode::End), char('G')],
        RaceKey::Scroll(ScrollAction::Bottom),
        "go to the end, and follow it",
    ),
    hinted(&[key(KeyCode::Esc)], RaceKey::Stop, "stop both and take neither", "take neither"),
];

/// The keys of the page of MCP servers.
pub const MCP: &[KeyBinding<McpKey>] = &[
    row(
        &[key(KeyCode::Up), char('k')],
        McpKey::Scroll(ScrollAction::LineUp),
        "previous server, or line up",
    ),
    row(
        &[key(KeyCode::Down), char('j')],
        McpKey::Scroll(ScrollAction::LineDown),
        "next server, or line down",
    ),
    row(&[key(KeyCode::PageUp), char('b')], McpKey::Scroll(ScrollAction::PageUp), "page up"),
    row(&[key(KeyCode::PageDown), char(' ')], McpKey::Scroll(ScrollAction::PageDown), "page down"),
    row(&[key(KeyCode::Home), char('g')], McpKey::Scroll(ScrollAction::Top), "go to the start"),
    row(&[key(KeyCode::End), char('G')], McpKey::Scroll(ScrollAction::Bottom), "go to the end"),
    hinted(
        &[key(KeyCode::Enter), key(KeyCode::Right), char('l')],
        McpKey::Open,
        "show the server and its tools",
        "open",
    ),
    row(&[key(KeyCode::Left), char('h')], McpKey::Leave, "back to the list"),
    hinted(&[char('r')], McpKey::Restart, "restart the server", "restart"),
    hinted(&[char('i')], McpKey::LogIn, "log in to the server", "log in"),
    row(&[char('y')], McpKey::Allow, "let the project's server that is shown start here"),
    row(
        &[char('c')],
        McpKey::Accept,
        "accept the changed tool definitions, or copy the login address",
    ),
    hinted(&[key(KeyCode::Esc), char('q')], McpKey::Back, "back, or close", "close"),
];

/// The keys of the page of instruction files.
pub const MEMORY: &[KeyBinding<MemoryKey>] = &[
    row(&[key(KeyCode::Up), char('k')], MemoryKey::Scroll(ScrollAction::LineUp), "previous file"),
    row(&[key(KeyCode::Down), char('j')], MemoryKey::Scroll(ScrollAction::LineDown), "next file"),
    row(&[key(KeyCode::PageUp), char('b')], MemoryKey::Scroll(ScrollAction::PageUp), "page up"),
    row(
        &[key(KeyCode::PageDown), char(' ')],
        MemoryKey::Scroll(ScrollAction::PageDown),
        "page down",
    ),
    row(&[key(KeyCode::Home), char('g')], MemoryKey::Scroll(ScrollAction::Top), "first file"),
    row(&[key(KeyCode::End), char('G')], MemoryKey::Scroll(ScrollAction::Bottom), "last file"),
    hinted(&[key(KeyCode::Enter)], MemoryKey::Open, "show the file", "show"),
    hinted(&[char('e')], MemoryKey::Edit, "edit the file in your editor", "edit"),
    hinted(&[key(KeyCode::Esc), char('q')], MemoryKey::Back, "close", "close"),
];

/// The keys of the page of language servers.
pub const LSP: &[KeyBinding<LspKey>] = &[
    row(&[key(KeyCode::Up), char('k')], LspKey::Scroll(ScrollAction::LineUp), "previous server"),
    row(&[key(KeyCode::Down), char('j')], LspKey::Scroll(ScrollAction::LineDown), "next server"),
    row(&[key(KeyCode::PageUp), char('b')], LspKey::Scroll(ScrollAction::PageUp), "page up"),
    row(&[key(KeyCode::PageDown), char(' ')], LspKey::Scroll(ScrollAction::PageDown), "page down"),
    row(&[key(KeyCode::Home), char('g')], LspKey::Scroll(ScrollAction::Top), "first server"),
    row(&[key(KeyCode::End), char('G')], LspKey::Scroll(ScrollAction::Bottom), "last server"),
    hinted(&[char('r')], LspKey::Restart, "restart the server", "restart"),
    hinted(&[char('s')], LspKey::Stop, "stop the server until you restart it", "stop"),
    hinted(&[key(KeyCode::Esc), char('q')], LspKey::Back, "close", "close"),
];

/// The keys of the rewind dialog.
pub const REWIND: &[KeyBinding<RewindKey>] = &[
    hinted(&[char('y'), key(KeyCode::Enter)], RewindKey::Accept, "files and conversation", "yes"),
    row(&[char('f')], RewindKey::Files, "files only"),
    row(&[char('c')], RewindKey::Conversation, "conversation only"),
    row(&[char(' ')], RewindKey::Answer, "include or skip a file that you changed"),
    row(&[key(KeyCode::Tab)], RewindKey::NextQuestion, "next file that you changed"),
    row(&[key(KeyCode::Up), char('k')], RewindKey::Scroll(ScrollAction::LineUp), "line up"),
    row(&[key(KeyCode::Down), char('j')], RewindKey::Scroll(ScrollAction::LineDown), "line down"),
    row(&[key(KeyCode::PageUp)], RewindKey::Scroll(ScrollAction::PageUp), "page up"),
    row(&[key(KeyCode::PageDown)], RewindKey::Scroll(ScrollAction::PageDown), "page down"),
    hinted(&[key(KeyCode::Esc), char('n'), char('q')], RewindKey::Back, "cancel", "cancel"),
];

/// The keys of the review of a turn.
pub const REVIEW: &[KeyBinding<ReviewKey>] = &[
    row(&[key(KeyCode::Up), char('k')], ReviewKey::Scroll(ScrollAction::LineUp), "line up"),
    row(&[key(KeyCode::Down), char('j')], ReviewKey::Scroll(ScrollAction::LineDown), "line down"),
    row(&[key(KeyCode::PageUp), char('b')], ReviewKey::Scroll(ScrollAction::PageUp), "page up"),
    row(&[key(KeyCode::PageDown)], ReviewKey::Scroll(ScrollAction::PageDown), "page down"),
    row(&[char('u')], ReviewKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[char('d')], ReviewKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(&[key(KeyCode::Home), char('g')], ReviewKey::Scroll(ScrollAction::Top), "go to the start"),
    row(&[key(KeyCode::End), char('G')], ReviewKey::Scroll(ScrollAction::Bottom), "go to the end"),
    hinted(&[char(' ')], ReviewKey::Toggle, "reject or keep the change", "reject"),
    hinted(&[char('n')], ReviewKey::NextChange, "next change", "next"),
    row(&[char('N'), char('p')], ReviewKey::PreviousChange, "previous change"),
    hinted(&[char('f')], ReviewKey::ToggleFile, "reject or keep the whole file", "file"),
    hinted(&[char('a')], ReviewKey::ToggleAll, "reject or keep all changes", "all"),
    hinted(
        &[key(KeyCode::Enter)],
        ReviewKey::Apply,
        "remove the rejected changes from the files",
        "apply",
    ),
    row(&[key(KeyCode::Tab), key(KeyCode::Right)], ReviewKey::NextFile, "next file"),
    row(&[held(SHIFT, KeyCode::Tab), key(KeyCode::Left)], ReviewKey::PreviousFile, "previous file"),
    hinted(&[char('[')], ReviewKey::EarlierTurn, "earlier turn", "earlier turn"),
    row(&[char(']')], ReviewKey::LaterTurn, "later turn"),
    hinted(&[char('w')], ReviewKey::Session, "the whole session, or the last turn", "session"),
    row(&[char('s')], ReviewKey::Sides, "toggle side by side"),
    hinted(&[key(KeyCode::Esc), char('q')], ReviewKey::Back, "close", "close"),
];

/// The keys of a page of text.
pub const READING: &[KeyBinding<ReadingKey>] = &[
    row(&[key(KeyCode::Up), char('k')], ReadingKey::Scroll(ScrollAction::LineUp), "line up"),
    row(&[key(KeyCode::Down), char('j')], ReadingKey::Scroll(ScrollAction::LineDown), "line down"),
    hinted(
        &[key(KeyCode::PageUp), char('u')],
        ReadingKey::Scroll(ScrollAction::PageUp),
        "page up",
        "up",
    ),
    hinted(
        &[key(KeyCode::PageDown), char(' '), char('d')],
        ReadingKey::Scroll(ScrollAction::PageDown),
        "page down",
        "down",
    ),
    row(&[], ReadingKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[], ReadingKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(&[key(KeyCode::Home), char('g')], ReadingKey::Scroll(ScrollAction::Top), "go to the start"),
    row(
        &[key(KeyCode::End), char('G')],
        ReadingKey::Scroll(ScrollAction::Bottom),
        "go to the \
        end",
    ),
    hinted(
        &[key(KeyCode::Esc), char('q'), char('?'), key(KeyCode::F(1))],
        ReadingKey::Back,
        "close",
        "close",
    ),
];

/// The keys of the pager.
pub const PAGER: &[KeyBinding<PagerKey>] = &[
    row(&[key(KeyCode::Up), char('k')], PagerKey::Scroll(ScrollAction::LineUp), "line up"),
    row(&[key(KeyCode::Down), char('j')], PagerKey::Scroll(ScrollAction::LineDown), "line down"),
    row(&[key(KeyCode::PageUp), char('b')], PagerKey::Scroll(ScrollAction::PageUp), "page up"),
    row(
        &[key(KeyCode::PageDown), char(' ')],
        PagerKey::Scroll(ScrollAction::PageDown),
        "page down",
    ),
    row(&[char('u')], PagerKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[char('d')], PagerKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(&[key(KeyCode::Home), char('g')], PagerKey::Scroll(ScrollAction::Top), "go to the start"),
    row(&[key(KeyCode::End), char('G')], PagerKey::Scroll(ScrollAction::Bottom), "go to the end"),
    hinted(
        &[key(KeyCode::Esc), char('q')],
        PagerKey::Back,
        "clear the selection, else close",
        "close",
    ),
    hinted(&[char('/')], PagerKey::Search, "search", "search"),
    hinted(&[char('n')], PagerKey::Next, "next match", "next"),
    row(&[char('N')], PagerKey::Previous, "previous match"),
    hinted(&[char('c')], PagerKey::Copy, "copy the selected lines, or all", "copy"),
    hinted(&[char('v')], PagerKey::Mark, "start or end selecting lines", "select"),
    hinted(&[char('w')], PagerKey::Wrap, "toggle line wrap", "wrap"),
    hinted(&[char('#')], PagerKey::Numbers, "toggle line numbers", "numbers"),
    hinted(&[char('F')], PagerKey::Follow, "follow new output", "follow"),
    row(&[key(KeyCode::Left)], PagerKey::Left, "scroll left"),
    row(&[key(KeyCode::Right)], PagerKey::Right, "scroll right"),
    row(&[char('P')], PagerKey::OpenPager, "open it in $PAGER"),
];

/// The keys of the pager's search field.
pub const FIND: &[KeyBinding<FindKey>] = &[
    hinted(&[key(KeyCode::Enter)], FindKey::Accept, "keep this position", "keep"),
    hinted(&[key(KeyCode::Esc)], FindKey::Back, "cancel", "back"),
    hinted(&[key(KeyCode::Tab)], FindKey::Regex, "toggle regular expression", "regex"),
    hinted(&[key(KeyCode::Down)], FindKey::Next, "next match", "next"),
    hinted(&[key(KeyCode::Up)], FindKey::Previous, "previous match", "previous"),
];

/// The keys of the changes page.
pub const CHANGES: &[KeyBinding<ChangesKey>] = &[
    row(&[key(KeyCode::Up), char('k')], ChangesKey::Scroll(ScrollAction::LineUp), "line up"),
    row(&[key(KeyCode::Down), char('j')], ChangesKey::Scroll(ScrollAction::LineDown), "line down"),
    row(&[key(KeyCode::PageUp), char('b')], ChangesKey::Scroll(ScrollAction::PageUp), "page up"),
    row(
        &[key(KeyCode::PageDown), char(' ')],
        ChangesKey::Scroll(ScrollAction::PageDown),
        "page down",
    ),
    row(&[char('u')], ChangesKey::Scroll(ScrollAction::HalfUp), "half a page up"),
    row(&[char('d')], ChangesKey::Scroll(ScrollAction::HalfDown), "half a page down"),
    row(&[key(KeyCode::Home), char('g')], ChangesKey::Scroll(ScrollAction::Top), "go to the start"),
    row(
        &[key(KeyCode::End), char('G')],
        ChangesKey::Scroll(ScrollAction::Bottom),
        "go to the \
        end",
    ),
    hinted(&[key(KeyCode::Esc), char('q')], ChangesKey::Back, "close", "close"),
    hinted(
        &[key(KeyCode::Tab), key(KeyCode::Right)],
        ChangesKey::NextFile,
        "next file",
        "next file",
    ),
    row(
        &[held(SHIFT, KeyCode::Tab), key(KeyCode::Left)],
        ChangesKey::PreviousFile,
        "previous file",
    ),
    hinted(&[char('n'), char(']')], ChangesKey::NextHunk, "next change", "next change"),
    row(&[char('N'), char('[')], ChangesKey::PreviousHunk, "previous change"),
    hinted(&[char('s')], ChangesKey::Sides, "toggle side by side", "sides"),
    hinted(&[char('x')], ChangesKey::Context, "show or fold unchanged lines", "context"),
    hinted(&[key(KeyCode::Enter)], ChangesKey::Unfold, "open the first fold", "unfold"),
    hinted(&[char('c')], ChangesKey::Copy, "copy the file's patch (for git apply)", "copy patch"),
    row(&[char('C')], ChangesKey::CopyAll, "copy the patch of all files"),
    row(&[char('r')], ChangesKey::Reload, "reload the files"),
];
