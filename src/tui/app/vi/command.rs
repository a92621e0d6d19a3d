//! What the keys of normal and visual mode say, read from the keys that have been pressed.
//!
//! The keys are kept and read anew with each one that is added, so that there is no state between
//! them: [`parse`] says what they mean, that more have to come, or that they mean nothing.

/// Something to do, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// The number before it, if there was one.
    pub count: Option<usize>,
    /// What.
    pub command: Command,
}

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Moves the caret.
    Move(Motion),
    /// Changes or takes part of the text.
    Operate(Operator, Over),
    /// Begins to insert.
    Insert(Place),
    /// Begins to select, or ends it.
    Select(Shape),
    /// Goes to the other end of what is selected.
    OtherEnd,
    /// Selects this.
    Take(Extent, Object),
    /// Puts in what was taken last.
    Put(Side),
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
pub enum Operator {
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
pub enum Over {
    /// From the caret to where this leads.
    Motion(Motion),
    /// This thing at the caret.
    Object(Extent, Object),
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
pub enum Motion {
    /// `h`
    Left,
    /// `l`
    Right,
    /// `k`
    Up,
    /// `j`
    Down,
    /// `w`, `W`
    Word(Words),
    /// `b`, `B`
    Back(Words),
    /// `e`, `E`
    End(Words),
    /// `0`
    LineStart,
    /// `^`
    FirstText,
    /// `$`
    LineEnd,
    /// `f`, `F`, `t`, `T`
    Find(Find),
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
pub enum Words {
    /// Letters and digits, or signs.
    Small,
    /// Everything between blanks.
    Big,
}

/// A search for a character in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Find {
    /// What is looked for.
    pub target: char,
    /// Where.
    pub side: Side,
    /// Where the caret stops.
    pub stop: Stop,
}

/// Where a search stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// On what was found.
    On,
    /// Just short of it.
    Short,
}

/// Before the caret or behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Before it.
    Before,
    /// Behind it.
    Behind,
}

/// How much of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// `i`: what is inside.
    Inner,
    /// `a`: with what is around it.
    Around,
}

/// A thing in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// A word.
    Word(Words),
    /// What stands between two of these on a line.
    Quote(char),
    /// What stands between these brackets.
    Pair(char, char),
    /// Lines up to an empty one.
    Paragraph,
}

/// Where inserting begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
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
pub enum Shape {
    /// `v`
    Chars,
    /// `V`
    Lines,
}

/// Where keys are pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// In normal mode.
    Normal,
    /// While something is selected.
    Visual,
}

/// What keys mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<T> {
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
pub fn parse(keys: &[char], place: Where) -> Parsed<Counted> {
    let (count, rest) = counted(keys);
    match place {
        Where::Normal => normal(count, rest),
        Where::Visual => visual(count, rest),
    }
}

/// Whether the next key is taken as the character that it is.
pub fn wants_literal(keys: &[char]) -> bool {
    matches!(keys.last(), Some('f' | 'F' | 't' | 'T' | 'r'))
        && parse(keys, Where::Normal) == Parsed::More
}

fn normal(count: Option<usize>, keys: &[char]) -> Parsed<Counted> {
    use Command::{Insert, Operate};
    let over = |motion| Over::Motion(motion);
    let command = match keys {
        ['d', tail @ ..] => return operator(Operator::Delete, 'd', count, tail),
        ['c', tail @ ..] => return operator(Operator::Change, 'c', count, tail),
        ['y', tail @ ..] => return operator(Operator::Yank, 'y', count, tail),
        ['>', tail @ ..] => return operator(Operator::Indent, '>', count, tail),
        ['<', tail @ ..] => return operator(Operator::Outdent, '<', count, tail),
        ['g', '~', tail @ ..] => return operator(Operator::SwapCase, '~', count, tail),
        ['g', 'u', tail @ ..] => return operator(Operator::Lower, 'u', count, tail),
        ['g', 'U', tail @ ..] => return operator(Operator::Upper, 'U', count, tail),
        ['r'] => return Parsed::More,
        ['r', c] => Command::Replace(*c),
        ['x'] => Operate(Operator::Delete, over(Motion::Right)),
        ['X'] => Operate(Operator::Delete, over(Motion::Left)),
        ['s'] => Operate(Operator::Change, over(Motion::Right)),
        ['S'] => Operate(Operator::Change, Over::Lines),
        ['D'] => Operate(Operator::Delete, over(Motion::LineEnd)),
        ['C'] => Operate(Operator::Change, over(Motion::LineEnd)),
        ['Y'] => Operate(Operator::Yank, Over::Lines),
        ['~'] => Operate(Operator::SwapCase, over(Motion::Right)),
        ['i'] => Insert(Place::Here),
        ['a'] => Insert(Place::Behind),
        ['I'] => Insert(Place::FirstText),
        ['A'] => Insert(Place::LineEnd),
        ['o'] => Insert(Place::LineBelow),
        ['O'] => Insert(Place::LineAbove),
        ['v'] => Command::Select(Shape::Chars),
        ['V'] => Command::Select(Shape::Lines),
        ['p'] => Command::Put(Side::Behind),
        ['P'] => Command::Put(Side::Before),
        ['J'] => Command::Join,
        ['u'] => Command::Undo,
        ['\u{12}'] => Command::Redo,
        ['.'] => Command::Repeat,
        _ => return moved(count, keys),
    };
    Parsed::Done(Counted { count, command })
}

fn visual(count: Option<usize>, keys: &[char]) -> Parsed<Counted> {
    let on = |operator, over| Command::Operate(operator, over);
    let command = match keys {
        ['d' | 'x'] => on(Operator::Delete, Over::Selection),
        ['D' | 'X'] => on(Operator::Delete, Over::SelectedLines),
        ['c' | 's'] => on(Operator::Change, Over::Selection),
        ['C' | 'S' | 'R'] => on(Operator::Change, Over::SelectedLines),
        ['y'] => on(Operator::Yank, Over::Selection),
        ['Y'] => on(Operator::Yank, Over::SelectedLines),
        ['>'] => on(Operator::Indent, Over::SelectedLines),
        ['<'] => on(Operator::Outdent, Over::SelectedLines),
        ['~'] | ['g', '~'] => on(Operator::SwapCase, Over::Selection),
        ['u'] | ['g', 'u'] => on(Operator::Lower, Over::Selection),
        ['U'] | ['g', 'U'] => on(Operator::Upper, Over::Selection),
        ['r'] | ['i' | 'a'] => return Parsed::More,
        ['r', c] => Command::Replace(*c),
        [extent @ ('i' | 'a'), kind] => match object(*kind) {
            Some(object) => Command::Take(extent_of(*extent), object),
            None => return Parsed::Nothing,
        },
        ['v'] => Command::Select(Shape::Chars),
        ['V'] => Command::Select(Shape::Lines),
        ['o' | 'O'] => Command::OtherEnd,
        ['p' | 'P'] => Command::Put(Side::Before),
        ['J'] => Command::Join,
        _ => return moved(count, keys),
    };
    Parsed::Done(Counted { count, command })
}

fn moved(count: Option<usize>, keys: &[char]) -> Parsed<Counted> {
    match motion(keys) {
        Parsed::Done(motion) => Parsed::Done(Counted { count, command: Command::Move(motion) }),
        Parsed::More => Parsed::More,
        Parsed::Nothing => Parsed::Nothing,
    }
}

fn operator(
    operator: Operator,
    same: char,
    first: Option<usize>,
    keys: &[char],
) -> Parsed<Counted> {
    let (second, keys) = counted(keys);
    let count = match (first, second) {
        (None, None) => None,
        (one, other) => Some((one.unwrap_or(1) * other.unwrap_or(1)).min(MOST)),
    };
    let over = match keys {
        [] | ['i' | 'a'] => return Parsed::More,
        [c] if *c == same => Over::Lines,
        ['g', c] if *c == same => Over::Lines,
        [extent @ ('i' | 'a'), kind] => match object(*kind) {
            Some(object) => Over::Object(extent_of(*extent), object),
            None => return Parsed::Nothing,
        },
        _ => match motion(keys) {
            Parsed::Done(motion) => Over::Motion(motion),
            Parsed::More => return Parsed::More,
            Parsed::Nothing => return Parsed::Nothing,
        },
    };
    Parsed::Done(Counted { count, command: Command::Operate(operator, over) })
}

fn motion(keys: &[char]) -> Parsed<Motion> {
    let find = |c: &char, side, stop| Motion::Find(Find { target: *c, side, stop });
    Parsed::Done(match keys {
        [] | ['g' | 'f' | 'F' | 't' | 'T'] => return Parsed::More,
        ['h'] => Motion::Left,
        ['l' | ' '] => Motion::Right,
        ['k'] => Motion::Up,
        ['j'] => Motion::Down,
        ['w'] => Motion::Word(Words::Small),
        ['W'] => Motion::Word(Words::Big),
        ['b'] => Motion::Back(Words::Small),
        ['B'] => Motion::Back(Words::Big),
        ['e'] => Motion::End(Words::Small),
        ['E'] => Motion::End(Words::Big),
        ['0'] => Motion::LineStart,
        ['^'] => Motion::FirstText,
        ['$'] => Motion::LineEnd,
        ['f', c] => find(c, Side::Behind, Stop::On),
        ['F', c] => find(c, Side::Before, Stop::On),
        ['t', c] => find(c, Side::Behind, Stop::Short),
        ['T', c] => find(c, Side::Before, Stop::Short),
        [';'] => Motion::Again,
        [','] => Motion::AgainBack,
        ['g', 'g'] => Motion::FirstLine,
        ['G'] => Motion::LastLine,
        ['{'] => Motion::ParagraphBack,
        ['}'] => Motion::Paragraph,
        ['%'] => Motion::Match,
        _ => return Parsed::Nothing,
    })
}

fn extent_of(key: char) -> Extent {
    if key == 'i' { Extent::Inner } else { Extent::Around }
}

fn object(key: char) -> Option<Object> {
    Some(match key {
        'w' => Object::Word(Words::Small),
        'W' => Object::Word(Words::Big),
        '"' | '\'' | '`' => Object::Quote(key),
        '(' | ')' | 'b' => Object::Pair('(', ')'),
        '[' | ']' => Object::Pair('[', ']'),
        '{' | '}' | 'B' => Object::Pair('{', '}'),
        '<' | '>' => Object::Pair('<', '>'),
        'p' => Object::Paragraph,
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
