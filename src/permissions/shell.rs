//! The analysis of a shell command: which simple commands it runs, and whether that is certain.
//!
//! Invariants:
//! - [`AnalysisKind::Static`] is said only of simple commands joined by `&&` `||` `;` `|` `&` `!`
//!   and line ends, each word literal. Its canonical text runs exactly the listed words.
//! - Whatever the kind, every simple command that the parser sees is listed, nested ones too. Where
//!   the parser sees none, the text is split roughly, so that a deny rule always has something to
//!   match.
//! - Any bytes in, no panic and no unbounded work: size and nesting are checked before the parser
//!   is called, because it is recursive and backtracks.

#[cfg(test)]
mod tests;
mod walker;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::{ParseError, ParserOptions, Token, TokenizerOptions, ast};

use super::words::{RoughCommand, is_unreadable, rough_commands, show};
pub use super::words::{ShellWord, ShellWordKind};
use crate::domain::SCRATCH_VARIABLE;

/// Longer commands, in bytes, are not parsed: a decision has to come at once, and a model that
/// writes a file through a command can use the Write tool.
const MAX_BYTES: usize = 16 * 1024;
/// The most expansions and compound commands in all. The parser recurses into each.
const MAX_OPENERS: usize = 64;
/// Open parentheses at one place. The parser tries `((` as arithmetic first, which doubles its work
/// with each.
const MAX_PARENTHESES: usize = 10;
/// `case` and `coproc` in all: each may be parsed twice.
const MAX_TWICE: usize = 8;
/// The most here-documents without an end that get one added.
const MAX_ENDS: usize = 8;
/// With more openers than this the parser gets a thread with a stack of its own.
const SHALLOW: usize = 6;
const DEEP_STACK: usize = 64 * 1024 * 1024;

/// What a command runs, as far as its text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandAnalysis {
    /// How certain the list of commands is.
    pub kind: AnalysisKind,
    /// The simple commands found, in order, nested ones too.
    pub commands: Vec<SimpleCommand>,
    /// Where something did not parse: the words from each place where a command may begin.
    pub rough: Vec<RoughCommand>,
    /// Whether the text holds more than simple commands: loops, functions, variables. What one part
    /// names may then be used by any other.
    pub is_compound: bool,
}

/// How certain it is what a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnalysisKind {
    /// The command runs exactly the listed commands.
    Static {
        /// The same commands as slug writes them, every word quoted where needed. This text runs
        /// when a rule allows the command.
        canonical: String,
    },
    /// The text parses, but what it runs is known only when it runs.
    NotStatic {
        /// What makes it so, as a phrase.
        why: String,
    },
    /// The text does not parse, is too large or too deep to be parsed, or holds unreadable
    /// characters.
    NotAnalysable { why: CommandObstacle },
}

/// Why a command cannot be analysed, as a phrase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandObstacle {
    #[error("it is longer than {} KB", MAX_BYTES / 1024)]
    TooLong,
    #[error("it contains the character U+{:04X}", u32::from(*.0))]
    Character(char),
    #[error("it is nested too deeply")]
    TooDeep,
    #[error("a descriptor's number is too long")]
    Descriptor,
    /// `at` is the line and the column where the parser gave up, from 1.
    #[error("a quote, a bracket or a here-document may be open")]
    Syntax { at: Option<(usize, usize)> },
    #[error("the parser failed on it")]
    ParserFailed,
    #[error("no thread to parse it on ({0})")]
    NoThread(String),
}

impl CommandObstacle {
    /// What the model should send instead, as sentences.
    pub fn remedy(&self) -> String {
        match self {
            Self::TooLong => "Write long text to a file with Write, and send a command \
             that uses the file."
                .to_owned(),
            Self::Character(_) => "Send the command without that character.".to_owned(),
            Self::TooDeep => "Send it as several simpler commands.".to_owned(),
            Self::Descriptor => "Use descriptors from 0 to 9.".to_owned(),
            Self::Syntax { at: Some((line, column)) } => format!(
                "Look at line {line}, column {column}: close every quote, bracket and \
                 here-document, and send the whole command again."
            ),
            Self::Syntax { at: None } => "Close every quote, bracket and here-document, and send \
                                          the whole command again."
                .to_owned(),
            Self::ParserFailed | Self::NoThread(_) => {
                "Send a simpler command, or a script in a file.".to_owned()
            }
        }
    }
}

/// A name and its arguments, with everything that the shell does for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleCommand {
    /// `NAME=value` in front of the name, in order.
    pub assignments: Vec<(String, ShellWord)>,
    /// The command's name and its arguments.
    pub words: Vec<ShellWord>,
    /// Redirections that open files.
    pub redirects: Vec<FileRedirect>,
    /// The commands that this one runs as a wrapper.
    pub inner: WrappedCommands,
    /// The texts of its here-documents and here-strings.
    pub here_texts: Vec<String>,
    /// Which of the text's pipelines the command belongs to, from 0. What is nested in a pipeline
    /// is part of it.
    pub pipeline: usize,
    /// How the command follows the one before it.
    pub order: CommandOrder,
    /// Whether the shell goes on without waiting for it, as behind `&`.
    pub is_background: bool,
    /// Whether the shell starts it in the background only when something else has ended.
    pub is_delayed: bool,
}

/// How a command comes after the one before it in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommandOrder {
    /// In any other way: whether the earlier command has run and succeeded is not known.
    #[default]
    Free,
    /// In the same shell, and only if the earlier command succeeded.
    AfterSuccess,
    /// As part of a word or a wrapper, perhaps in a shell of its own.
    Nested,
}

/// The commands that a wrapper such as `env` or `sh -c` runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WrappedCommands {
    /// The command is no wrapper.
    #[default]
    Nothing,
    /// Exactly these commands.
    Known(Vec<SimpleCommand>),
    /// These commands and others that are not known.
    Unknown(Vec<SimpleCommand>),
}

/// A redirection that opens a file. Duplicated descriptors and `/dev/null` are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRedirect {
    pub direction: RedirectDirection,
    pub target: ShellWord,
}

/// Whether a redirection reads its file or may change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectDirection {
    Read,
    /// Every operator but `<` and `<&`.
    Write,
}

impl SimpleCommand {
    /// The command as a user would write it.
    pub fn show(&self) -> String {
        let assignments =
            self.assignments.iter().map(|(name, value)| format!("{name}={}", show_word(value)));
        assignments.chain(self.words.iter().map(show_word)).collect::<Vec<_>>().join(" ")
    }

    /// The command and all commands that it is known to run.
    pub fn flatten(&self) -> Vec<&Self> {
        let inner = match &self.inner {
            WrappedCommands::Nothing => [].as_slice(),
            WrappedCommands::Known(inner) | WrappedCommands::Unknown(inner) => inner,
        };
        std::iter::once(self).chain(inner.iter().flat_map(Self::flatten)).collect()
    }
}

/// Analyses a command, nested scripts included.
pub fn analyse(command: &str) -> CommandAnalysis {
    analyse_at(command, 0)
}

/// Analyses a command that runs where [`SCRATCH_VARIABLE`] holds `scratch`: letters, digits and
/// `_./-` alone. The variable is known only in the command itself, not in scripts that another
/// program runs, and not where the command names it in any other way than to read it.
pub fn analyse_in(command: &str, scratch: Option<&str>) -> CommandAnalysis {
    let Some(scratch) = scratch.filter(|_| only_reads_scratch_variable(command)) else {
        return analyse(command);
    };
    let Ok(program) = parse(command) else { return analyse(command) };
    let scratch = Some(scratch.to_owned());
    let mut walker = ShellAstWalker { scratch, ..ShellAstWalker::default() };
    walker.program(&program);
    walker.finish()
}

/// Whether the variable of the scratch folder occurs, and only as `$NAME` or `${NAME}`.
fn only_reads_scratch_variable(command: &str) -> bool {
    let mut parts = command.split(SCRATCH_VARIABLE);
    let Some(mut before) = parts.next() else { return false };
    let mut occurs = false;
    for after in parts {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_read = (before.ends_with('$') && !after.starts_with(is_name))
            || (before.ends_with("${") && after.starts_with('}'));
        if !is_read {
            return false;
        }
        (before, occurs) = (after, true);
    }
    occurs
}

fn analyse_at(command: &str, depth: usize) -> CommandAnalysis {
    match parse(command) {
        Ok(program) => {
            let mut walker = ShellAstWalker { depth, ..ShellAstWalker::default() };
            walker.program(&program);
            walker.finish()
        }
        Err(why) => {
            let kind = AnalysisKind::NotAnalysable { why };
            let rough = rough_commands(command);
            let Some(program) = close_here_documents(command).and_then(|text| parse(&text).ok())
            else {
                return CommandAnalysis { kind, commands: Vec::new(), rough, is_compound: true };
            };
            let mut walker = ShellAstWalker { depth, rough, ..ShellAstWalker::default() };
            walker.program(&program);
            CommandAnalysis { kind, is_compound: true, ..walker.finish() }
        }
    }
}

/// The command with an end added for each here-document that has none, because bash runs it all the
/// same.
fn close_here_documents(command: &str) -> Option<String> {
    let mut text = command.to_owned();
    let mut rest = command;
    for _ in 0..MAX_ENDS {
        let Some((_, behind)) = rest.split_once("<<") else { break };
        rest = behind.trim_start_matches(['-', ' ', '\t', '\'', '"', '\\']);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        if !name.is_empty() && !behind.starts_with('<') {
            text.push_str(&format!("\n{name}"));
        }
    }
    (text.len() > command.len()).then(|| text + "\n")
}

fn show_word(word: &ShellWord) -> String {
    if word.kind == ShellWordKind::Dynamic { word.text.clone() } else { show(&word.text) }
}

fn parse(command: &str) -> Result<ast::Program, CommandObstacle> {
    let openers = look_before(command)?;
    if openers <= SHALLOW {
        return parse_guarded(command);
    }
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("shell-analysis".into())
            .stack_size(DEEP_STACK)
            .spawn_scoped(scope, || parse_guarded(command))
            .map_err(|error| CommandObstacle::NoThread(error.to_string()))?
            .join()
            .unwrap_or(Err(CommandObstacle::ParserFailed))
    })
}

/// Refuses text that the tokeniser must not get. Counts the openers, which the tokeniser recurses
/// into.
fn look_before(command: &str) -> Result<usize, CommandObstacle> {
    if command.len() > MAX_BYTES {
        return Err(CommandObstacle::TooLong);
    }
    if let Some(c) = command.chars().find(|c| is_unreadable(*c)) {
        return Err(CommandObstacle::Character(c));
    }
    let bytes = command.as_bytes();
    let mut openers = 0;
    let mut digits = 0;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'`' => openers += 1,
            b'(' | b'{' => openers += 1,
            b'[' if at > 0 && bytes[at - 1] == b'$' => openers += 1,
            // The parser would panic on such a descriptor.
            b'<' | b'>' if digits > 9 => return Err(CommandObstacle::Descriptor),
            _ => {}
        }
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
    }
    if openers > MAX_OPENERS { Err(CommandObstacle::TooDeep) } else { Ok(openers) }
}

fn parse_guarded(command: &str) -> Result<ast::Program, CommandObstacle> {
    catch_unwind(AssertUnwindSafe(|| parse_tokens(command)))
        .unwrap_or(Err(CommandObstacle::ParserFailed))
}

fn parse_tokens(command: &str) -> Result<ast::Program, CommandObstacle> {
    // Extended patterns are off in a fresh `bash -c`: there `!(rm x)` is a subshell.
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    let tokenizer =
        TokenizerOptions { enable_extended_globbing: false, ..options.tokenizer_options() };
    let ended = end_here_document_lines(command)?;
    let tokens = brush_parser::uncached_tokenize_str(&ended, &tokenizer)
        .map_err(|_| CommandObstacle::Syntax { at: None })?;
    check_nesting(&tokens)?;
    brush_parser::parse_tokens(&tokens, &options).map_err(|error| {
        let at = match error {
            ParseError::ParsingNear(at) => Some((at.line, at.column)),
            ParseError::ParsingAtEndOfInput | ParseError::Tokenizing { .. } => None,
        };
        CommandObstacle::Syntax { at }
    })
}

/// The command with a line end behind it where it may hold a here-document. The tokeniser compares
/// what it has read at the end of the text with the delimiter, takes an empty delimiter for found,
/// reads on, and is at the end again: for ever, unless the delimiter's own line has ended. A
/// backslash would take the line end away.
fn end_here_document_lines(command: &str) -> Result<Cow<'_, str>, CommandObstacle> {
    match (command.contains("<<"), command.ends_with('\\')) {
        (false, _) => Ok(command.into()),
        (true, false) => Ok(format!("{command}\n").into()),
        (true, true) => Err(CommandObstacle::Syntax { at: None }),
    }
}

/// Refuses tokens that the parser must not get. Closing keywords are not counted against opening
/// ones, because `echo fi` closes nothing.
fn check_nesting(tokens: &[Token]) -> Result<(), CommandObstacle> {
    let (mut parentheses, mut openers, mut twice) = (0_usize, 0_usize, 0_usize);
    for token in tokens {
        match token {
            Token::Operator(text, _) if text == "(" => {
                parentheses += 1;
                openers += 1;
            }
            Token::Operator(text, _) if text == ")" => parentheses = parentheses.saturating_sub(1),
            Token::Operator(..) => {}
            Token::Word(text, _) => match text.as_str() {
                "case" | "coproc" => {
                    twice += 1;
                    openers += 1;
                }
                "if" | "elif" | "while" | "until" | "for" | "select" | "function" | "{" | "!"
                | "time" => openers += 1,
                _ => {}
            },
        }
        if parentheses > MAX_PARENTHESES || openers > MAX_OPENERS || twice > MAX_TWICE {
            return Err(CommandObstacle::TooDeep);
        }
    }
    Ok(())
}

/// Walks the parsed program in the order of its text.
#[derive(Default)]
struct ShellAstWalker {
    depth: usize,
    /// The value of [`SCRATCH_VARIABLE`], where it is known.
    scratch: Option<String>,
    commands: Vec<SimpleCommand>,
    rough: Vec<RoughCommand>,
    canonical: String,
    why: Option<String>,
    is_compound: bool,
    /// The pipeline that is being read, from 0.
    pipeline: usize,
    /// How the next command follows the one before it.
    order: CommandOrder,
}
