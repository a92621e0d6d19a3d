//! Laid-out lines: spans of text in roles. The theme gives each role its style when it is painted.

use super::link::WebLink;
use super::runs::SourceRun;

/// One row of the screen, laid out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StyledLine {
    /// From the left, decoration included.
    pub spans: Vec<StyledSpan>,
    /// Where its text begins in the source of its block, in bytes: the anchor of the scroll
    /// position, which survives a change of width.
    pub source: usize,
    /// Columns on the left that are decoration (indent, quote bar, line numbers) and are not
    /// copied.
    pub gutter: u16,
    /// How the line follows from the one above, so that copied text has no wrap breaks.
    pub join: LineJoin,
    /// Which columns show which bytes of the source, from the left.
    pub runs: Vec<SourceRun>,
    /// The role that fills the row after its text, up to the edge of the column.
    pub fill: Option<StyleRole>,
}

/// A laid-out block, and whether colours may still change it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockLayout {
    pub lines: Vec<StyledLine>,
    pub colours: HighlightState,
}

/// Whether code has been highlighted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HighlightState {
    /// All of it that ever will be.
    #[default]
    Final,
    /// Not all of it: lay the block out again when the highlighter's generation has changed.
    Pending,
}

impl StyledSpan {
    /// A span of `text`, made harmless, without a link.
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
    /// A line of the source begins here.
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
    pub role: StyleRole,
    /// The link that a click on it opens.
    pub link: Option<WebLink>,
}

/// What a piece of text is. The theme gives each role its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StyleRole {
    /// The screen itself: painted before anything stands on it.
    Screen,
    /// Body text: looks like what it stands on.
    Text,
    /// Less important: hints, counts, paths.
    Muted,
    /// Rules and frames.
    Border,
    /// Titles of dialogs and lists.
    Title,
    /// A key's name in a hint.
    Key,
    /// The selected row of a list, beneath its text.
    Selected,
    /// Selected text, over its own role.
    Selection,
    /// The user: the mark of their messages, and the input's prompt.
    User,
    /// A message of the user, and the band that it stands on.
    UserMessage,
    /// The model.
    Assistant,
    /// The model's reasoning.
    Thinking,
    /// A tool's name and mark.
    Tool,
    /// slug itself.
    System,
    Success,
    Warning,
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
    /// Text both strong and emphasised.
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
    LineNumber,
    /// Characters that were made visible: escapes, controls, bidi marks.
    Escaped,
    /// Output of a command, in the style that it asked for.
    Ansi(AnsiStyle),
    /// A match of a search or filter.
    Match,
    /// The current match of a search.
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
    Comment,
    /// Operators and punctuation.
    Punctuation,
    /// Attributes, tags, macros.
    Attribute,
    /// Variables and everything else.
    Variable,
}

/// The style that SGR sequences ask for. Colours are the terminal's 16, the palette of 256, or 24
/// bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct AnsiStyle {
    /// `None` is the terminal's default.
    pub foreground: Option<AnsiColor>,
    /// `None` is the terminal's default.
    pub background: Option<AnsiColor>,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    /// Text and background colours are swapped.
    pub reverse: bool,
}

/// A colour as SGR names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnsiColor {
    /// A colour of the palette of 256; the first 16 are the terminal's own.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}
