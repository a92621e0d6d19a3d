//! The words of a shell command: what a source word means once its quotes are gone, how slug quotes
//! a word again, and the rough split that deny rules use where nothing parses.
//!
//! Invariants: a word is [`ShellWordKind::Literal`] only when bash would pass exactly its text,
//! whatever the environment, the file system and the shell's options; [`quote`], [`show`] and
//! [`quote_name`] give a source word that bash reads as exactly that text. In doubt a word is
//! dynamic.

use super::wrappers;
use crate::domain::{SCRATCH_VARIABLE, is_invisible};

/// One word of a simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellWord {
    /// The text without quotes; for a dynamic word, the source.
    pub text: String,
    pub kind: ShellWordKind,
}

/// How much is known of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellWordKind {
    /// Exactly the text.
    Literal,
    /// The text, decoded from `$'…'` or `$"…"`: enough to deny a command, not to allow it.
    Decoded,
    /// An expansion, a pattern, braces or a tilde: known only when the command runs.
    Dynamic,
}

impl ShellWord {
    /// A word that is exactly `text`.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: ShellWordKind::Literal }
    }

    /// A word that is known only when the command runs.
    pub fn dynamic(source: impl Into<String>) -> Self {
        Self { text: source.into(), kind: ShellWordKind::Dynamic }
    }

    /// Whether bash passes exactly the text.
    pub fn is_literal(&self) -> bool {
        self.kind == ShellWordKind::Literal
    }

    /// The text, except of a dynamic word.
    pub fn known(&self) -> Option<&str> {
        match self.kind {
            ShellWordKind::Literal | ShellWordKind::Decoded => Some(&self.text),
            ShellWordKind::Dynamic => None,
        }
    }

    /// Reads a source word: removes its quotes and decodes its escapes.
    pub fn read(source: &str) -> Self {
        Self::read_in(source, None)
    }

    /// Reads a source word where [`SCRATCH_VARIABLE`] holds `scratch`, a text that the shell does
    /// not split or expand again.
    pub fn read_in(source: &str, scratch: Option<&str>) -> Self {
        ShellWordReader {
            rest: source.chars().collect(),
            at: 0,
            text: String::new(),
            decoded: false,
            scratch,
        }
        .read()
        .unwrap_or_else(|DynamicWord| Self::dynamic(source))
    }
}

/// The text in single quotes, which bash reads as exactly this text.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for (at, part) in text.split('\'').enumerate() {
        if at > 0 {
            quoted.push_str(r"'\''");
        }
        quoted.push_str(part);
    }
    quoted.push('\'');
    quoted
}

/// The name of a command, quoted where bash could read it as an assignment or a keyword.
pub fn quote_name(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./+-".contains(c);
    let is_keyword = wrappers::KEYWORDS.contains(&text);
    let is_plain = !text.is_empty() && text.chars().all(plain) && !is_keyword;
    if is_plain { text.to_owned() } else { quote(text) }
}

/// The word as a user would write it, and as rules are written: quoted only where needed. bash
/// reads it as exactly this text where it is not a command's name.
pub fn show(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-^".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { quote(text) }
}

/// Words of text that did not parse, and the positions in them where a command may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoughCommand {
    words: Vec<ShellWord>,
    starts: Vec<usize>,
}

impl RoughCommand {
    /// Candidates are cut to this many words, so that the work stays in proportion to the text.
    const MAX_WORDS: usize = 256;

    /// A rough command in which every word but the first may begin a command.
    pub fn anywhere_in(words: &[ShellWord]) -> Self {
        let words: Vec<ShellWord> =
            words.iter().map(|word| ShellWord::literal(&*word.text)).collect();
        Self { starts: (1..words.len()).collect(), words }
    }

    /// The text, word by word.
    pub fn words(&self) -> &[ShellWord] {
        &self.words
    }

    /// The words from each position where a command may begin.
    pub fn candidates(&self) -> impl Iterator<Item = &[ShellWord]> {
        self.starts.iter().map(|start| {
            let end = self.words.len().min(start + Self::MAX_WORDS);
            &self.words[*start..end]
        })
    }
}

/// Splits text that does not parse into words that may be commands, without respect for quotes, so
/// that a deny rule finds `rm` wherever it may turn out to be a command.
pub fn rough_commands(text: &str) -> Vec<RoughCommand> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    // Behind `<` or `>` a file may come before the command.
    let mut redirected = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                if chars.peek() == Some(&'\n') {
                    chars.next();
                }
            }
            '\'' | '"' => {}
            ' ' | '\t' => end_word(&mut word, &mut words),
            _ if ";&|()<>{}`\n".contains(c) || is_unreadable(c) => {
                end_word(&mut word, &mut words);
                end_command(&mut words, redirected, &mut commands);
                redirected = matches!(c, '<' | '>') || (c == '&' && redirected);
            }
            _ => word.push(c),
        }
    }
    end_word(&mut word, &mut words);
    end_command(&mut words, redirected, &mut commands);
    commands
}

/// Whether a character keeps slug from saying what a command is: it may be invisible, or look like
/// a space or like another character.
pub fn is_unreadable(c: char) -> bool {
    if matches!(c, ' '..='~') {
        return false;
    }
    // The marks of numbers in Arabic, Syriac and Kaithi are drawn, but not everywhere.
    (c.is_control() && !matches!(c, '\t' | '\n'))
        || is_invisible(c)
        || matches!(c, '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
            | '\u{8e2}' | '\u{2800}' | '\u{110bd}' | '\u{110cd}')
        || (!c.is_ascii() && c.is_whitespace())
}

/// The scripts that an expansion inside `source` would run: the insides of `$(…)` and of
/// backquotes, as far as they can be told apart, wherever they stand and however they are quoted. A
/// script inside another one is part of it.
pub fn substitutions(source: &str) -> Vec<String> {
    let chars: Vec<char> = source.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            '\\' if chars.get(at + 1) != Some(&'`') => at += 1,
            '$' | '<' | '>' if chars.get(at + 1) == Some(&'(') => {
                let length = until_closed(&chars[at + 2..]);
                found.push(chars[at + 2..at + 2 + length].iter().collect());
                at += 1 + length;
            }
            '`' => {
                let (script, length) = until_backquote(&chars[at + 1..]);
                found.push(script);
                at += length;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn end_word(word: &mut String, words: &mut Vec<String>) {
    let trimmed = word.trim_start_matches('$');
    if !trimmed.is_empty() {
        words.push(trimmed.to_owned());
    }
    word.clear();
}

fn end_command(words: &mut Vec<String>, redirected: bool, commands: &mut Vec<RoughCommand>) {
    let words = std::mem::take(words);
    if words.is_empty() {
        return;
    }
    let target = usize::from(redirected);
    let leads = words.iter().skip(target).take_while(|word| wrappers::may_lead(word)).count();
    let leading = words.len().min(target + leads);
    // Behind a wrapper, the values of options cannot be told from the command.
    let wraps = words[..leading].iter().any(|word| wrappers::is_wrapper(word));
    let count = if wraps { words.len() } else { words.len().min(leading + 1) };
    let words = words.into_iter().map(ShellWord::literal).collect();
    commands.push(RoughCommand { words, starts: (0..count).collect() });
}

/// The length up to the closing parenthesis, or of all. Parentheses in quotes and comments count,
/// too, which can cut a script short; the rough split of the whole word covers what is lost.
fn until_closed(chars: &[char]) -> usize {
    let mut depth = 0_usize;
    for (at, c) in chars.iter().enumerate() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            _ => {}
        }
    }
    chars.len()
}

fn until_backquote(chars: &[char]) -> (String, usize) {
    let mut script = String::new();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            '`' => return (script, at + 1),
            '\\' if matches!(chars.get(at + 1), Some('`' | '\\' | '$')) => {
                at += 1;
                script.push(chars[at]);
            }
            c => script.push(c),
        }
        at += 1;
    }
    (script, at)
}

/// The word is known only when the command runs.
struct DynamicWord;

struct ShellWordReader<'a> {
    rest: Vec<char>,
    at: usize,
    text: String,
    decoded: bool,
    scratch: Option<&'a str>,
}

impl ShellWordReader<'_> {
    fn read(mut self) -> Result<ShellWord, DynamicWord> {
        // Words that look like a brace expression or a pattern and are neither: `find -exec` needs
        // the first; `[` and `]` are a command and its last argument.
        if matches!(self.rest.as_slice(), ['{', '}'] | ['['] | [']']) {
            let text: String = self.rest.iter().collect();
            return Ok(ShellWord::literal(text));
        }
        while let Some(c) = self.next() {
            match c {
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(escaped) => self.text.push(escaped),
                    None => return Err(DynamicWord),
                },
                '\'' => self.single_quoted()?,
                '"' => self.double_quoted()?,
                '$' => match self.next() {
                    Some('\'') => self.ansi_quoted()?,
                    Some('"') => {
                        self.decoded = true;
                        self.double_quoted()?;
                    }
                    Some(_) | None => {
                        self.at -= 1;
                        self.scratch_variable()?;
                    }
                },
                '~' if self.tilde_may_expand() => return Err(DynamicWord),
                _ if "`*?[]{}()<>|&;".contains(c) || c.is_whitespace() => return Err(DynamicWord),
                _ => self.text.push(c),
            }
        }
        let kind = if self.decoded { ShellWordKind::Decoded } else { ShellWordKind::Literal };
        Ok(ShellWord { text: self.text, kind })
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.get(self.at).copied();
        self.at += 1;
        c
    }

    /// A tilde expands at the start, and after `=` and `:` where the word could be an assignment.
    fn tilde_may_expand(&self) -> bool {
        self.at == 1 || matches!(self.rest[self.at - 2], '=' | ':')
    }

    fn single_quoted(&mut self) -> Result<(), DynamicWord> {
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(c) => self.text.push(c),
                None => return Err(DynamicWord),
            }
        }
    }

    fn double_quoted(&mut self) -> Result<(), DynamicWord> {
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('$') => self.scratch_variable()?,
                Some('`') | None => return Err(DynamicWord),
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some(c) if "$`\"\\".contains(c) => self.text.push(c),
                    Some(c) => self.text.extend(['\\', c]),
                    None => return Err(DynamicWord),
                },
                Some(c) => self.text.push(c),
            }
        }
    }

    /// Reads the name behind a `$`: the scratch folder's is the only variable whose value is known.
    fn scratch_variable(&mut self) -> Result<(), DynamicWord> {
        let value = self.scratch.ok_or(DynamicWord)?;
        let rest = &self.rest[self.at.min(self.rest.len())..];
        let braced = rest.first() == Some(&'{');
        let rest = &rest[usize::from(braced)..];
        let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let length = rest.iter().take_while(|c| is_name(c)).count();
        let is_it = rest[..length].iter().copied().eq(SCRATCH_VARIABLE.chars());
        if !is_it || (braced && rest.get(length) != Some(&'}')) {
            return Err(DynamicWord);
        }
        self.text.push_str(value);
        self.at += length + 2 * usize::from(braced);
        Ok(())
    }

    fn ansi_quoted(&mut self) -> Result<(), DynamicWord> {
        self.decoded = true;
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some('\\') => self.ansi_escape()?,
                Some(c) => self.text.push(c),
                None => return Err(DynamicWord),
            }
        }
    }

    fn ansi_escape(&mut self) -> Result<(), DynamicWord> {
        let c = self.next().ok_or(DynamicWord)?;
        let decoded = match c {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => self.number(16, 2)?,
            'u' => self.number(16, 4)?,
            'U' => self.number(16, 8)?,
            '0'..='7' => {
                self.at -= 1;
                self.number(8, 3)?
            }
            'c' => char::from(
                u8::try_from(self.next().ok_or(DynamicWord)?).map_err(|_| DynamicWord)? & 31,
            ),
            '\\' | '\'' | '"' | '?' => c,
            _ => {
                self.text.push('\\');
                c
            }
        };
        self.text.push(decoded);
        Ok(())
    }

    fn number(&mut self, radix: u32, digits: usize) -> Result<char, DynamicWord> {
        let mut value = 0_u32;
        let mut any = false;
        for _ in 0..digits {
            let Some(digit) = self.rest.get(self.at).and_then(|c| c.to_digit(radix)) else { break };
            value = value.wrapping_mul(radix) + digit;
            any = true;
            self.at += 1;
        }
        if any { char::from_u32(value).ok_or(DynamicWord) } else { Err(DynamicWord) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes_are_read_as_bash_reads_them() {
        for (source, text) in [
            ("ls", "ls"),
            ("'rm'", "rm"),
            ("r'm'", "rm"),
            (r"\rm", "rm"),
            (r"\/", "/"),
            ("r\\\nm", "rm"),
            (r#"'a'"b"\c"#, "abc"),
            (r#""a\"b\$c\d""#, r#"a"b$c\d"#),
            ("a\"\"b''", "ab"),
            ("''", ""),
            ("{}", "{}"),
            ("HEAD~1", "HEAD~1"),
            ("a=b", "a=b"),
            ("#x", "#x"),
            ("!=", "!="),
            ("[", "["),
        ] {
            assert_eq!(ShellWord::read(source), ShellWord::literal(text), "{source}");
        }
    }

    #[test]
    fn what_bash_would_expand_is_dynamic() {
        for source in [
            "$x", "${x}", "$(id)", "`id`", "\"$x\"", "\"`id`\"", "*.rs", "a?", "[ab]", "{a,b}",
            "a{1..3}", "~", "~/x", "a=~/x", "a:~", "$((1))", "'x", "\"x", "x\\", "!(a)", "$",
        ] {
            assert_eq!(ShellWord::read(source).kind, ShellWordKind::Dynamic, "{source}");
        }
    }

    #[test]
    fn ansi_and_translated_quotes_are_decoded_but_not_literal() {
        for (source, text) in
            [(r"$'\x72m'", "rm"), (r"$'\162\155'", "rm"), ("$\"rm\"", "rm"), (r"r$'\u006d'", "rm")]
        {
            let word = ShellWord::read(source);
            assert_eq!((word.text.as_str(), word.kind), (text, ShellWordKind::Decoded), "{source}");
        }
    }

    #[test]
    fn rough_commands_begin_wherever_one_could() {
        let found = |text: &str, name: &str| {
            rough_commands(text)
                .iter()
                .flat_map(RoughCommand::candidates)
                .any(|words| words[0].text == name)
        };
        for text in [
            "ls 'x; rm y",
            "ls && rm",
            "ls\nrm",
            "$(rm x",
            "`rm x",
            "(rm",
            "{ rm",
            "then rm x",
            "env A=1 rm x",
            "'r'm x",
            "r\\\nm x",
            "ls\rrm x",
            "timeout 5 rm",
            "sudo -u bob rm x\n'",
        ] {
            assert!(found(text, "rm"), "{text}");
        }
        assert!(!found("echo rm", "rm"));
    }

    #[test]
    fn substitutions_are_found_however_they_are_quoted() {
        assert_eq!(substitutions("a$(id)b"), ["id"]);
        assert_eq!(substitutions("\"$(id -u)\""), ["id -u"]);
        assert_eq!(substitutions("'a[$(id)]'"), ["id"]);
        assert_eq!(substitutions("`id`"), ["id"]);
        assert_eq!(substitutions(r"\$(id)"), Vec::<String>::new());
        assert_eq!(substitutions("$(a $(b))"), ["a $(b)"]);
        assert_eq!(substitutions("${x:-$(id)}"), ["id"]);
    }
}
