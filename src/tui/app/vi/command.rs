//! Parses the keys of Vi's normal and visual mode into commands.
//!
//! The keys of an unfinished command are kept, and all of them are parsed again with each new key,
//! so that there is no state between them: [`parse`] returns the command, that more keys are
//! needed, or that the keys mean nothing.

/// A command with its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViCountedCommand {
    /// The number typed before the command, at most `MOST`.
    pub count: Option<usize>,
    pub command: ViCommand,
}

/// A complete command of normal or visual mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViCommand {
    Move(ViMotion),
    /// Changes or copies a part of the text.
    Operate(ViOperator, ViOperatorTarget),
    Insert(ViInsertPlace),
    /// Begins, changes or ends a selection.
    Select(ViVisualShape),
    /// Moves the caret to the other end of the selection.
    OtherEnd,
    /// Selects a text object.
    Take(ViObjectExtent, ViTextObject),
    /// Inserts the register.
    Put(ViSide),
    /// Replaces each character by this one.
    Replace(char),
    /// Joins the line with the next one.
    Join,
    Undo,
    Redo,
    /// Repeats the last change at the caret.
    Repeat,
}

/// What an operator does with a part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViOperator {
    /// Removes the text into the register.
    Delete,
    /// Removes the text into the register, and begins to insert.
    Change,
    /// Copies the text into the register.
    Yank,
    /// Moves the lines to the right.
    Indent,
    /// Moves the lines to the left.
    Outdent,
    /// Swaps upper and lower case.
    SwapCase,
    /// Changes letters to lower case.
    Lower,
    /// Changes letters to upper case.
    Upper,
}

/// The part of the text that an operator works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViOperatorTarget {
    /// From the caret to where the motion leads.
    Motion(ViMotion),
    /// A text object at the caret.
    Object(ViObjectExtent, ViTextObject),
    /// As many whole lines as the count, from the caret's line down.
    Lines,
    /// As many characters as the count, from the caret on, across lines.
    Chars,
    /// The selected text.
    Selection,
    /// All lines that the selection touches.
    SelectedLines,
}

/// A motion; each variant names its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViMotion {
    /// `h`
    Left,
    /// `l`
    Right,
    /// `k`
    Up,
    /// `j`
    Down,
    /// `w`, `W`
    Word(ViWordKind),
    /// `b`, `B`
    Back(ViWordKind),
    /// `e`, `E`
    End(ViWordKind),
    /// `0`
    LineStart,
    /// The key `^`: the first character that is not blank.
    FirstText,
    /// The key `$`.
    LineEnd,
    /// `f`, `F`, `t`, `T`
    Find(ViCharSearch),
    /// The key `;`: the last character search again.
    Again,
    /// The key `,`: the same in the other direction.
    AgainBack,
    /// `gg`
    FirstLine,
    /// `G`
    LastLine,
    /// The key `{`.
    ParagraphBack,
    /// The key `}`.
    Paragraph,
    /// The key `%`: the matching bracket.
    Match,
}

/// What counts as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViWordKind {
    /// A run of letters and digits, or of signs.
    Small,
    /// Everything between blanks.
    Big,
}

/// A search for a character within the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViCharSearch {
    pub target: char,
    pub side: ViSide,
    pub stop: ViCharSearchStop,
}

/// Where a character search puts the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViCharSearchStop {
    /// On the found character.
    On,
    /// One character short of it.
    Short,
}

/// A side of the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViSide {
    Before,
    Behind,
}

/// How much of a text object is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViObjectExtent {
    /// The key `i`: without the quotes, brackets or blanks around it.
    Inner,
    /// The key `a`: including them.
    Around,
}

/// What `i` and `a` can take at the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViTextObject {
    Word(ViWordKind),
    /// The text between two of these quotes on a line.
    Quote(char),
    /// The text between these brackets.
    Pair(char, char),
    /// Lines up to a blank one.
    Paragraph,
}

/// Where inserting begins; each variant names its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViInsertPlace {
    /// `i`
    Here,
    /// The key `a`: behind the character at the caret.
    Behind,
    /// `I`
    FirstText,
    /// The key `A`.
    LineEnd,
    /// `o`
    LineBelow,
    /// `O`
    LineAbove,
}

/// The unit of a selection; each variant names its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViVisualShape {
    /// `v`
    Chars,
    /// `V`
    Lines,
}

/// The mode for which keys are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViCommandMode {
    Normal,
    /// There is a selection.
    Visual,
}

/// The result of parsing keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViParseResult<T> {
    /// The command is not complete.
    More,
    /// The keys mean nothing.
    Nothing,
    Done(T),
}

/// The largest count; a larger one is cut to this, as the user means "all".
const MOST: usize = 9_999;

/// Parses all keys of a command so far.
pub fn parse(keys: &[char], place: ViCommandMode) -> ViParseResult<ViCountedCommand> {
    let (count, rest) = counted(keys);
    match place {
        ViCommandMode::Normal => normal(count, rest),
        ViCommandMode::Visual => visual(count, rest),
    }
}

/// Whether the next key is the character for `f`, `F`, `t`, `T` or `r`, and not a command.
pub fn wants_literal(keys: &[char]) -> bool {
    matches!(keys.last(), Some('f' | 'F' | 't' | 'T' | 'r'))
        && parse(keys, ViCommandMode::Normal) == ViParseResult::More
}

fn normal(count: Option<usize>, keys: &[char]) -> ViParseResult<ViCountedCommand> {
    use ViCommand::{Insert, Operate};
    let over = |motion| ViOperatorTarget::Motion(motion);
    let command = match keys {
        ['d', tail @ ..] => return operator(ViOperator::Delete, 'd', count, tail),
        ['c', tail @ ..] => return operator(ViOperator::Change, 'c', count, tail),
        ['y', tail @ ..] => return operator(ViOperator::Yank, 'y', count, tail),
        ['>', tail @ ..] => return operator(ViOperator::Indent, '>', count, tail),
        ['<', tail @ ..] => return operator(ViOperator::Outdent, '<', count, tail),
        ['g', '~', tail @ ..] => return operator(ViOperator::SwapCase, '~', count, tail),
        ['g', 'u', tail @ ..] => return operator(ViOperator::Lower, 'u', count, tail),
        ['g', 'U', tail @ ..] => return operator(ViOperator::Upper, 'U', count, tail),
        ['r'] => return ViParseResult::More,
        ['r', c] => ViCommand::Replace(*c),
        ['x'] => Operate(ViOperator::Delete, over(ViMotion::Right)),
        ['X'] => Operate(ViOperator::Delete, over(ViMotion::Left)),
        ['s'] => Operate(ViOperator::Change, over(ViMotion::Right)),
        ['S'] => Operate(ViOperator::Change, ViOperatorTarget::Lines),
        ['D'] => Operate(ViOperator::Delete, over(ViMotion::LineEnd)),
        ['C'] => Operate(ViOperator::Change, over(ViMotion::LineEnd)),
        ['Y'] => Operate(ViOperator::Yank, ViOperatorTarget::Lines),
        ['~'] => Operate(ViOperator::SwapCase, over(ViMotion::Right)),
        ['i'] => Insert(ViInsertPlace::Here),
        ['a'] => Insert(ViInsertPlace::Behind),
        ['I'] => Insert(ViInsertPlace::FirstText),
        ['A'] => Insert(ViInsertPlace::LineEnd),
        ['o'] => Insert(ViInsertPlace::LineBelow),
        ['O'] => Insert(ViInsertPlace::LineAbove),
        ['v'] => ViCommand::Select(ViVisualShape::Chars),
        ['V'] => ViCommand::Select(ViVisualShape::Lines),
        ['p'] => ViCommand::Put(ViSide::Behind),
        ['P'] => ViCommand::Put(ViSide::Before),
        ['J'] => ViCommand::Join,
        ['u'] => ViCommand::Undo,
        ['\u{12}'] => ViCommand::Redo,
        ['.'] => ViCommand::Repeat,
        _ => return moved(count, keys),
    };
    ViParseResult::Done(ViCountedCommand { count, command })
}

fn visual(count: Option<usize>, keys: &[char]) -> ViParseResult<ViCountedCommand> {
    let on = |operator, over| ViCommand::Operate(operator, over);
    let command = match keys {
        ['d' | 'x'] => on(ViOperator::Delete, ViOperatorTarget::Selection),
        ['D' | 'X'] => on(ViOperator::Delete, ViOperatorTarget::SelectedLines),
        ['c' | 's'] => on(ViOperator::Change, ViOperatorTarget::Selection),
        ['C' | 'S' | 'R'] => on(ViOperator::Change, ViOperatorTarget::SelectedLines),
        ['y'] => on(ViOperator::Yank, ViOperatorTarget::Selection),
        ['Y'] => on(ViOperator::Yank, ViOperatorTarget::SelectedLines),
        ['>'] => on(ViOperator::Indent, ViOperatorTarget::SelectedLines),
        ['<'] => on(ViOperator::Outdent, ViOperatorTarget::SelectedLines),
        ['~'] | ['g', '~'] => on(ViOperator::SwapCase, ViOperatorTarget::Selection),
        ['u'] | ['g', 'u'] => on(ViOperator::Lower, ViOperatorTarget::Selection),
        ['U'] | ['g', 'U'] => on(ViOperator::Upper, ViOperatorTarget::Selection),
        ['r'] | ['i' | 'a'] => return ViParseResult::More,
        ['r', c] => ViCommand::Replace(*c),
        [extent @ ('i' | 'a'), kind] => match object(*kind) {
            Some(object) => ViCommand::Take(extent_of(*extent), object),
            None => return ViParseResult::Nothing,
        },
        ['v'] => ViCommand::Select(ViVisualShape::Chars),
        ['V'] => ViCommand::Select(ViVisualShape::Lines),
        ['o' | 'O'] => ViCommand::OtherEnd,
        ['p' | 'P'] => ViCommand::Put(ViSide::Before),
        ['J'] => ViCommand::Join,
        _ => return moved(count, keys),
    };
    ViParseResult::Done(ViCountedCommand { count, command })
}

fn moved(count: Option<usize>, keys: &[char]) -> ViParseResult<ViCountedCommand> {
    match motion(keys) {
        ViParseResult::Done(motion) => {
            ViParseResult::Done(ViCountedCommand { count, command: ViCommand::Move(motion) })
        }
        ViParseResult::More => ViParseResult::More,
        ViParseResult::Nothing => ViParseResult::Nothing,
    }
}

fn operator(
    operator: ViOperator,
    same: char,
    first: Option<usize>,
    keys: &[char],
) -> ViParseResult<ViCountedCommand> {
    let (second, keys) = counted(keys);
    let count = match (first, second) {
        (None, None) => None,
        (one, other) => Some((one.unwrap_or(1) * other.unwrap_or(1)).min(MOST)),
    };
    let over = match keys {
        [] | ['i' | 'a'] => return ViParseResult::More,
        [c] if *c == same => ViOperatorTarget::Lines,
        ['g', c] if *c == same => ViOperatorTarget::Lines,
        [extent @ ('i' | 'a'), kind] => match object(*kind) {
            Some(object) => ViOperatorTarget::Object(extent_of(*extent), object),
            None => return ViParseResult::Nothing,
        },
        _ => match motion(keys) {
            ViParseResult::Done(motion) => ViOperatorTarget::Motion(motion),
            ViParseResult::More => return ViParseResult::More,
            ViParseResult::Nothing => return ViParseResult::Nothing,
        },
    };
    ViParseResult::Done(ViCountedCommand { count, command: ViCommand::Operate(operator, over) })
}

fn motion(keys: &[char]) -> ViParseResult<ViMotion> {
    let find = |c: &char, side, stop| ViMotion::Find(ViCharSearch { target: *c, side, stop });
    ViParseResult::Done(match keys {
        [] | ['g' | 'f' | 'F' | 't' | 'T'] => return ViParseResult::More,
        ['h'] => ViMotion::Left,
        ['l' | ' '] => ViMotion::Right,
        ['k'] => ViMotion::Up,
        ['j'] => ViMotion::Down,
        ['w'] => ViMotion::Word(ViWordKind::Small),
        ['W'] => ViMotion::Word(ViWordKind::Big),
        ['b'] => ViMotion::Back(ViWordKind::Small),
        ['B'] => ViMotion::Back(ViWordKind::Big),
        ['e'] => ViMotion::End(ViWordKind::Small),
        ['E'] => ViMotion::End(ViWordKind::Big),
        ['0'] => ViMotion::LineStart,
        ['^'] => ViMotion::FirstText,
        ['$'] => ViMotion::LineEnd,
        ['f', c] => find(c, ViSide::Behind, ViCharSearchStop::On),
        ['F', c] => find(c, ViSide::Before, ViCharSearchStop::On),
        ['t', c] => find(c, ViSide::Behind, ViCharSearchStop::Short),
        ['T', c] => find(c, ViSide::Before, ViCharSearchStop::Short),
        [';'] => ViMotion::Again,
        [','] => ViMotion::AgainBack,
        ['g', 'g'] => ViMotion::FirstLine,
        ['G'] => ViMotion::LastLine,
        ['{'] => ViMotion::ParagraphBack,
        ['}'] => ViMotion::Paragraph,
        ['%'] => ViMotion::Match,
        _ => return ViParseResult::Nothing,
    })
}

fn extent_of(key: char) -> ViObjectExtent {
    if key == 'i' { ViObjectExtent::Inner } else { ViObjectExtent::Around }
}

fn object(key: char) -> Option<ViTextObject> {
    Some(match key {
        'w' => ViTextObject::Word(ViWordKind::Small),
        'W' => ViTextObject::Word(ViWordKind::Big),
        '"' | '\'' | '`' => ViTextObject::Quote(key),
        '(' | ')' | 'b' => ViTextObject::Pair('(', ')'),
        '[' | ']' => ViTextObject::Pair('[', ']'),
        '{' | '}' | 'B' => ViTextObject::Pair('{', '}'),
        '<' | '>' => ViTextObject::Pair('<', '>'),
        'p' => ViTextObject::Paragraph,
        _ => return None,
    })
}

/// The count at the beginning of keys, and the keys behind it. A leading zero is a motion.
fn counted(keys: &[char]) -> (Option<usize>, &[char]) {
    if !matches!(keys.first(), Some('1'..='9')) {
        return (None, keys);
    }
    let digits = keys.iter().take_while(|key| key.is_ascii_digit()).count();
    let count = keys[..digits]
        .iter()
        .filter_map(|key| key.to_digit(10))
        .fold(0, |sum, digit| (sum * 10 + usize::try_from(digit).unwrap_or(0)).min(MOST));
    (Some(count), &keys[digits..])
}
