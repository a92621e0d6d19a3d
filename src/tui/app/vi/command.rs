//! What the keys of normal and visual mode say, read from the keys that have been pressed.
//!
//! The keys are kept and read anew with each one that is added, so that there is no state between
//! them: [`parse`] says what they mean, that more have to come, or that they mean nothing.

/// Something to do, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViCountedCommand {
    /// The number before it, if there was one.
    pub count: Option<usize>,
    /// What.
    pub command: ViCommand,
}

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViCommand {
    /// Moves the caret.
    Move(ViMotion),
    /// Changes or takes part of the text.
    Operate(ViOperator, ViOperatorTarget),
    /// Begins to insert.
    Insert(ViInsertPlace),
    /// Begins to select, or ends it.
    Select(ViVisualShape),
    /// Goes to the other end of what is selected.
    OtherEnd,
    /// Selects this.
    Take(ViObjectExtent, ViTextObject),
    /// Puts in what was taken last.
    Put(ViSide),
    /// Replaces characters by this one.
    Replace(char),
    /// Joins the line with the next one.
    Join,
    /// Takes the last change back.
    Undo,
    /// Makes it again.
    Redo,
    /// Does the last change once more, here.
    Repeat,
}

/// What is done to part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViOperator {
    /// Removes it.
    Delete,
    /// Removes it, and begins to insert.
    Change,
    /// Takes a copy.
    Yank,
    /// Moves its lines to the right.
    Indent,
    /// Moves its lines to the left.
    Outdent,
    /// Large letters become small ones and the other way round.
    SwapCase,
    /// Letters become small.
    Lower,
    /// Letters become large.
    Upper,
}

/// Which part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViOperatorTarget {
    /// From the caret to where this leads.
    Motion(ViMotion),
    /// This thing at the caret.
    Object(ViObjectExtent, ViTextObject),
    /// Whole lines, from the caret's down.
    Lines,
    /// Characters from the caret on, across lines.
    Chars,
    /// What is selected.
    Selection,
    /// The lines of what is selected.
    SelectedLines,
}

/// A way to go.
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
    /// `^`
    FirstText,
    /// `$`
    LineEnd,
    /// `f`, `F`, `t`, `T`
    Find(ViCharSearch),
    /// `;`
    Again,
    /// `,`
    AgainBack,
    /// `gg`
    FirstLine,
    /// `G`
    LastLine,
    /// `{`
    ParagraphBack,
    /// `}`
    Paragraph,
    /// `%`
    Match,
}

/// What counts as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViWordKind {
    /// Letters and digits, or signs.
    Small,
    /// Everything between blanks.
    Big,
}

/// A search for a character in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViCharSearch {
    /// What is looked for.
    pub target: char,
    /// Where.
    pub side: ViSide,
    /// Where the caret stops.
    pub stop: ViCharSearchStop,
}

/// Where a search stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViCharSearchStop {
    /// On what was found.
    On,
    /// Just short of it.
    Short,
}

/// Before the caret or behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViSide {
    /// Before it.
    Before,
    /// Behind it.
    Behind,
}

/// How much of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViObjectExtent {
    /// `i`: what is inside.
    Inner,
    /// `a`: with what is around it.
    Around,
}

/// A thing in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViTextObject {
    /// A word.
    Word(ViWordKind),
    /// What stands between two of these on a line.
    Quote(char),
    /// What stands between these brackets.
    Pair(char, char),
    /// Lines up to an empty one.
    Paragraph,
}

/// Where inserting begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViInsertPlace {
    /// `i`
    Here,
    /// `a`
    Behind,
    /// `I`
    FirstText,
    /// `A`
    LineEnd,
    /// `o`
    LineBelow,
    /// `O`
    LineAbove,
}

/// What is selected: characters or whole lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViVisualShape {
    /// `v`
    Chars,
    /// `V`
    Lines,
}

/// Where keys are pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViCommandMode {
    /// In normal mode.
    Normal,
    /// While something is selected.
    Visual,
}

/// What keys mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViParseResult<T> {
    /// More have to come.
    More,
    /// Nothing.
    Nothing,
    /// This.
    Done(T),
}

/// Counts beyond this are meant as "all".
const MOST: usize = 9_999;

/// Reads keys.
pub fn parse(keys: &[char], place: ViCommandMode) -> ViParseResult<ViCountedCommand> {
    let (count, rest) = counted(keys);
    match place {
        ViCommandMode::Normal => normal(count, rest),
        ViCommandMode::Visual => visual(count, rest),
    }
}

/// Whether the next key is taken as the character that it is.
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

/// The number at the beginning of keys. A zero that begins one is a motion.
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
