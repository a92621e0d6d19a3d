//! From text to lines that fit a width: wrapping, Markdown, highlighting, diffs, terminal output.
//!
//! Lines hold roles, not colours: they get their colours when painted, so that a change of theme
//! lays nothing out again. Every function here makes its text harmless with `domain::sanitize` as
//! it cuts it into spans, whatever its caller did before.

pub mod ansi;
pub mod cache;
mod clock_cache;
mod code;
pub mod diff;
pub mod highlight;
mod language_detection;
mod link;
pub mod markdown;
pub mod pager_lines;
pub mod plain;
mod runs;
pub mod two_columns;
pub mod wrap;

pub use cache::{LayoutCache, LayoutKey, PaneFold};
pub use highlight::SyntaxHighlighter;
pub use link::WebLink;
pub use runs::SourceRun;

/// One row of the screen, laid out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StyledLine {
    /// What it shows, from the left.
    pub spans: Vec<StyledSpan>,
    /// Where its text begins in the source of its block, in bytes: the anchor of the scroll
    /// position, which survives a change of width.
    pub source: usize,
    /// Columns on the left that are decoration (indent, quote bar, line numbers) and not copied.
    pub gutter: u16,
    /// How the line follows from the one above, for copying without wrap breaks.
    pub join: LineJoin,
    /// Which columns show which bytes of the source, from the left.
    pub runs: Vec<SourceRun>,
    /// What the row is filled with behind its text, up to the edge of the column.
    pub fill: Option<StyleRole>,
}

/// A block laid out, and whether colours may still change it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockLayout {
    /// Its lines.
    pub lines: Vec<StyledLine>,
    /// Whether its code has its colours.
    pub colours: HighlightState,
}

/// Whether code has been highlighted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HighlightState {
    /// As far as it ever will be.
    #[default]
    Final,
    /// Not all of it: lay it out again when the highlighter's generation has changed.
    Pending,
}

impl StyledSpan {
    /// A run of text that holds no control character.
    pub fn new(text: impl Into<String>, role: StyleRole) -> Self {
        Self { text: text.into(), role, link: None }
    }
}

impl HighlightState {
    /// Pending if either is.
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::Final => other,
            Self::Pending => Self::Pending,
        }
    }
}

/// How a line follows from the one above.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LineJoin {
    /// On a line of its own.
    #[default]
    Newline,
    /// Wrapped at a space that is not shown.
    Space,
    /// Wrapped inside a word.
    Nothing,
}

/// A run of text in one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledSpan {
    /// The text; holds no control character.
    pub text: String,
    /// What it is.
    pub role: StyleRole,
    /// Where a click on it leads.
    pub link: Option<WebLink>,
}

/// What a piece of text is. The theme gives each role its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StyleRole {
    /// The screen itself: what is painted before anything stands on it.
    Screen,
    /// Body text: has the look of what it stands on.
    Text,
    /// Less important: hints, counts, paths.
    Muted,
    /// Rules and frames.
    Border,
    /// Titles of dialogs and lists.
    Title,
    /// A key's name, where it is said what it does.
    Key,
    /// The chosen row of a list, below what stands in it.
    Selected,
    /// Selected text, over what it is.
    Selection,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The model's reasoning.
    Thinking,
    /// A tool's name and mark.
    Tool,
    /// slug itself.
    System,
    /// Went well.
    Success,
    /// Worth a look.
    Warning,
    /// Went wrong.
    Error,
    /// A heading of this level, 1 to 6.
    Heading(u8),
    /// `code` in running text.
    Code,
    /// Code in a block, not highlighted.
    CodeBlock,
    /// Highlighted code.
    Syntax(SyntaxTokenKind),
    /// Strong text.
    Strong,
    /// Emphasised text.
    Emphasis,
    /// Both at once.
    StrongEmphasis,
    /// Struck text.
    Strikethrough,
    /// A link's text or address.
    Link,
    /// Bullets and numbers of lists.
    ListMarker,
    /// A quote's bar and text.
    Quote,
    /// An added line of a diff.
    Added,
    /// The changed words of an added line.
    AddedWord,
    /// A removed line of a diff.
    Removed,
    /// The changed words of a removed line.
    RemovedWord,
    /// Highlighted code of an added line.
    AddedSyntax(SyntaxTokenKind),
    /// Highlighted code of a removed line.
    RemovedSyntax(SyntaxTokenKind),
    /// Line numbers.
    LineNumber,
    /// Characters that were made visible: escapes, controls, bidi marks.
    Escaped,
    /// Output of a command in one of the terminal's own colours.
    Ansi(AnsiStyle),
    /// A match of a search or filter.
    Match,
    /// The match that a search stands on.
    CurrentMatch,
}

/// Kinds of highlighted code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyntaxTokenKind {
    /// Words of the language.
    Keyword,
    /// Names of functions.
    Function,
    /// Names of types.
    Type,
    /// Strings and characters.
    String,
    /// Numbers and other constants.
    Number,
    /// Comments.
    Comment,
    /// Operators and punctuation.
    Punctuation,
    /// Attributes, tags, macros.
    Attribute,
    /// Variables and everything else.
    Variable,
}

/// What SGR sequences ask for. Colours are the terminal's 16, the 256 palette, or 24 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct AnsiStyle {
    /// The text's colour.
    pub foreground: Option<AnsiColor>,
    /// The background's colour.
    pub background: Option<AnsiColor>,
    /// Bold.
    pub bold: bool,
    /// Dim.
    pub dim: bool,
    /// Italic.
    pub italic: bool,
    /// Underlined.
    pub underline: bool,
    /// Colours swapped.
    pub reverse: bool,
}

/// A colour as SGR names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnsiColor {
    /// One of the palette's 256; the first 16 are the terminal's own.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}
