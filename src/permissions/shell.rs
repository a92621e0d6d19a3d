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

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast::{
    self, AndOr, Command, CommandPrefixOrSuffixItem, CompoundCommand, IoFileRedirectKind,
    IoFileRedirectTarget, IoRedirect, SeparatorOperator,
};
use brush_parser::{ParserOptions, Token, TokenizerOptions};

use super::words::{RoughCommand, is_unreadable, quote_name, rough_commands, show, substitutions};
pub use super::words::{ShellWord, ShellWordKind};
use super::wrappers::{self, WrapperTarget};

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
/// How deep scripts inside scripts are analysed.
const MAX_DEPTH: usize = 8;
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
    NotAnalysable {
        /// As a phrase.
        why: String,
    },
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

fn parse(command: &str) -> Result<ast::Program, String> {
    let openers = look_before(command)?;
    if openers <= SHALLOW {
        return parse_guarded(command);
    }
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("shell-analysis".into())
            .stack_size(DEEP_STACK)
            .spawn_scoped(scope, || parse_guarded(command))
            .map_err(|error| format!("no thread to parse it on ({error})"))?
            .join()
            .unwrap_or_else(|_| Err("the parser failed on it".into()))
    })
}

/// Refuses text that the tokeniser must not get. Counts the openers, which the tokeniser recurses
/// into.
fn look_before(command: &str) -> Result<usize, String> {
    if command.len() > MAX_BYTES {
        return Err(format!("it is longer than {} KB", MAX_BYTES / 1024));
    }
    if let Some(c) = command.chars().find(|c| is_unreadable(*c)) {
        return Err(format!("it holds the character U+{:04X}", u32::from(c)));
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
            b'<' | b'>' if digits > 9 => return Err("a descriptor's number is too long".into()),
            _ => {}
        }
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
    }
    if openers > MAX_OPENERS { Err(too_deep()) } else { Ok(openers) }
}

fn too_deep() -> String {
    "it is nested too deeply".into()
}

fn parse_guarded(command: &str) -> Result<ast::Program, String> {
    catch_unwind(AssertUnwindSafe(|| parse_tokens(command)))
        .unwrap_or_else(|_| Err("the parser failed on it".into()))
}

fn parse_tokens(command: &str) -> Result<ast::Program, String> {
    // Extended patterns are off in a fresh `bash -c`: there `!(rm x)` is a subshell.
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    let tokenizer =
        TokenizerOptions { enable_extended_globbing: false, ..options.tokenizer_options() };
    let tokens = brush_parser::uncached_tokenize_str(command, &tokenizer)
        .map_err(|_| String::from("it does not parse"))?;
    check_nesting(&tokens)?;
    brush_parser::parse_tokens(&tokens, &options).map_err(|_| "it does not parse".into())
}

/// Refuses tokens that the parser must not get. Closing keywords are not counted against opening
/// ones, because `echo fi` closes nothing.
fn check_nesting(tokens: &[Token]) -> Result<(), String> {
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
            return Err(too_deep());
        }
    }
    Ok(())
}

/// Walks the parsed program in the order of its text.
#[derive(Default)]
struct ShellAstWalker {
    depth: usize,
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

impl ShellAstWalker {
    fn finish(self) -> CommandAnalysis {
        let kind = match self.why {
            Some(why) => AnalysisKind::NotStatic { why },
            None if self.commands.is_empty() => {
                AnalysisKind::NotStatic { why: "it is empty".into() }
            }
            None => AnalysisKind::Static { canonical: self.canonical },
        };
        let Self { commands, rough, is_compound, .. } = self;
        CommandAnalysis { kind, commands, rough, is_compound }
    }

    /// Notes that there is more than simple commands joined to a list.
    fn compound_part(&mut self, why: impl Into<String>) {
        self.is_compound = true;
        self.not_static(why);
    }

    /// Only the first reason is kept.
    fn not_static(&mut self, why: impl Into<String>) {
        self.why.get_or_insert_with(|| why.into());
    }

    fn program(&mut self, program: &ast::Program) {
        for (at, list) in program.complete_commands.iter().enumerate() {
            if at > 0 {
                self.canonical.push('\n');
            }
            self.list(list);
        }
    }

    fn list(&mut self, list: &ast::CompoundList) {
        for (at, ast::CompoundListItem(and_or, separator)) in list.0.iter().enumerate() {
            if at > 0 {
                self.canonical.push(' ');
            }
            self.pipeline(&and_or.first, CommandOrder::Free);
            // Behind `||` it is not known what has succeeded.
            let mut all_succeeded = succeeds_here(&and_or.first);
            for more in &and_or.additional {
                let (operator, pipeline) = match more {
                    AndOr::And(pipeline) => (" && ", pipeline),
                    AndOr::Or(pipeline) => {
                        all_succeeded = false;
                        (" || ", pipeline)
                    }
                };
                self.canonical.push_str(operator);
                let order =
                    if all_succeeded { CommandOrder::AfterSuccess } else { CommandOrder::Free };
                self.pipeline(pipeline, order);
                all_succeeded &= succeeds_here(pipeline);
            }
            match separator {
                SeparatorOperator::Async => self.canonical.push_str(" &"),
                SeparatorOperator::Sequence if at + 1 < list.0.len() => self.canonical.push(';'),
                SeparatorOperator::Sequence => {}
            }
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, order: CommandOrder) {
        let (number, first) = (self.pipeline, self.commands.len());
        self.order = order;
        if let Some(timed) = &pipeline.timed {
            self.canonical.push_str(if timed.is_posix_output() { "time -p " } else { "time " });
        }
        if pipeline.bang {
            self.canonical.push_str("! ");
        }
        if pipeline.seq.is_empty() {
            self.not_static("it has an empty pipeline");
        }
        for (at, command) in pipeline.seq.iter().enumerate() {
            if at > 0 {
                self.canonical.push_str(" | ");
            }
            self.command(command, pipeline.timed.is_some());
            self.order = CommandOrder::Free;
        }
        // What is nested in a pipeline is part of it, whatever number it got itself.
        for command in &mut self.commands[first..] {
            command.pipeline = number;
        }
        self.pipeline = number + 1;
    }

    fn command(&mut self, command: &Command, timed: bool) {
        match command {
            Command::Simple(simple) => self.simple(simple, timed),
            Command::Compound(compound, redirects) => {
                self.compound_part(compound_name(compound));
                self.compound(compound);
                self.redirects_of_compound(redirects.as_ref());
            }
            Command::Function(function) => {
                self.compound_part("it defines a function");
                self.word(&function.fname.value);
                self.compound(&function.body.0);
                self.redirects_of_compound(function.body.1.as_ref());
            }
            Command::ExtendedTest(test, redirects) => {
                self.compound_part("it holds a `[[` test");
                self.nested_in(&test.to_string());
                self.redirects_of_compound(redirects.as_ref());
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.nested_in(&arithmetic.expr.value),
            CompoundCommand::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                for part in parts.into_iter().flatten() {
                    self.nested_in(&part.value);
                }
                self.list(&clause.body.list);
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                for value in clause.values.iter().flatten() {
                    self.word(&value.value);
                }
                self.list(&clause.body.list);
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value);
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(&pattern.value);
                    }
                    if let Some(list) = &case.cmd {
                        self.list(list);
                    }
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for part in clause.elses.iter().flatten() {
                    if let Some(condition) = &part.condition {
                        self.list(condition);
                    }
                    self.list(&part.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Coprocess(coprocess) => {
                if let Some(name) = &coprocess.name {
                    self.word(&name.value);
                }
                self.command(&coprocess.body, false);
            }
        }
    }

    /// Whether bash reads a word as the variable of the redirection behind it, `{fd}>file`. The
    /// parser takes such a word for a word of the command.
    fn names_descriptor(
        &mut self,
        word: &ast::Word,
        next: Option<&CommandPrefixOrSuffixItem>,
    ) -> bool {
        let name = word.value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let is_name =
            |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "_[]".contains(c));
        let is_it = name.is_some_and(is_name)
            && matches!(next, Some(CommandPrefixOrSuffixItem::IoRedirect(_)));
        if is_it {
            self.compound_part("a redirection sets a variable");
        }
        is_it
    }

    fn simple(&mut self, simple: &ast::SimpleCommand, timed: bool) {
        let order = std::mem::take(&mut self.order);
        let mut command = SimpleCommand { order, ..SimpleCommand::default() };
        let mut text: Vec<String> = Vec::new();
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        for item in prefix {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, source) => {
                    let value = self.assignment(assignment, &source.value);
                    text.push(format!("{}={}", value.0, show(&value.1.text)));
                    command.assignments.push(value);
                }
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                    text.extend(self.redirect(redirect, &mut command));
                }
                CommandPrefixOrSuffixItem::Word(word) => {
                    command.words.push(self.word(&word.value));
                }
                CommandPrefixOrSuffixItem::ProcessSubstitution(_, script) => {
                    self.process_substitution(script);
                }
            }
        }
        let suffix = simple.suffix.as_ref().map_or(&[][..], |suffix| &suffix.0);
        if let Some(name) = &simple.word_or_name
            && !self.names_descriptor(name, suffix.first())
        {
            command.words.push(self.word(&name.value));
        }
        let mut after: Vec<String> = Vec::new();
        for (at, item) in suffix.iter().enumerate() {
            match item {
                CommandPrefixOrSuffixItem::Word(word)
                    if self.names_descriptor(word, suffix.get(at + 1)) => {}
                CommandPrefixOrSuffixItem::AssignmentWord(_, word)
                | CommandPrefixOrSuffixItem::Word(word) => {
                    command.words.push(self.word(&word.value));
                }
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                    after.extend(self.redirect(redirect, &mut command));
                }
                CommandPrefixOrSuffixItem::ProcessSubstitution(_, script) => {
                    self.process_substitution(script);
                    command.words.push(ShellWord::dynamic("<(…)"));
                }
            }
        }
        // bash skips `--` after `time`; the parser does not.
        if timed && command.words.first().is_some_and(|word| word.text == "--") {
            command.words.remove(0);
        }
        if command.words.is_empty() {
            self.compound_part(if command.assignments.is_empty() {
                "it redirects without a command"
            } else {
                "it sets a variable for what follows"
            });
        }
        text.extend(command.words.iter().take(1).map(|name| quote_name(&name.text)));
        text.extend(command.words.iter().skip(1).map(|word| show(&word.text)));
        text.extend(after);
        self.canonical.push_str(&text.join(" "));
        if wrappers::never_allowed(&command.words).is_some() {
            // The builtin may evaluate what stands in quotes.
            for word in command.words.iter().filter(|word| word.known().is_some()) {
                self.nested_in(&word.text);
            }
        }
        self.follow(&mut command);
        self.commands.push(command);
    }

    fn assignment(&mut self, assignment: &ast::Assignment, source: &str) -> (String, ShellWord) {
        let value = source.split_once('=').map_or("", |(_, value)| value);
        match (&assignment.name, &assignment.value) {
            (ast::AssignmentName::VariableName(name), ast::AssignmentValue::Scalar(_))
                if !assignment.append =>
            {
                (name.clone(), self.word(value))
            }
            (ast::AssignmentName::VariableName(name), _)
            | (ast::AssignmentName::ArrayElementName(name, _), _) => {
                self.compound_part("it changes an array or appends to a variable");
                self.nested_in(source);
                (name.clone(), ShellWord::dynamic(value))
            }
        }
    }

    /// Reads a word. A word that is not literal makes the whole not static, and the scripts in it
    /// are analysed, too.
    fn word(&mut self, source: &str) -> ShellWord {
        let word = ShellWord::read(source);
        if !word.is_literal() {
            self.not_static(format!("`{source}` is known only when it runs"));
            self.nested_in(source);
        }
        word
    }

    /// Analyses the scripts inside a word: by the parser and, because they cannot be cut out for
    /// certain, by the rough split as well.
    fn nested_in(&mut self, source: &str) {
        let scripts = substitutions(source);
        if scripts.is_empty() {
            return;
        }
        self.rough.extend(rough_commands(source));
        for script in scripts {
            self.script(&script);
        }
    }

    fn script(&mut self, script: &str) {
        if self.depth >= MAX_DEPTH {
            self.rough.extend(rough_commands(script));
            return;
        }
        let nested = analyse_at(script, self.depth + 1);
        let nested_commands = nested.commands.into_iter();
        self.commands
            .extend(nested_commands.map(|it| SimpleCommand { order: CommandOrder::Nested, ..it }));
        self.rough.extend(nested.rough);
        self.is_compound |= nested.is_compound;
    }

    fn process_substitution(&mut self, script: &ast::SubshellCommand) {
        self.not_static("it holds a process substitution");
        self.list(&script.list);
    }

    fn redirects_of_compound(&mut self, redirects: Option<&ast::RedirectList>) {
        let mut command = SimpleCommand::default();
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect, &mut command);
        }
        if !command.redirects.is_empty() || !command.here_texts.is_empty() {
            self.commands.push(command);
        }
    }

    /// Notes the file that a redirection opens, and gives the redirection as slug writes it.
    fn redirect(&mut self, redirect: &IoRedirect, command: &mut SimpleCommand) -> Option<String> {
        let files = &mut command.redirects;
        match redirect {
            IoRedirect::File(fd, kind, target) => {
                let fd = fd.map_or(String::new(), |fd| fd.to_string());
                self.file_redirect(&fd, kind, target, files)
            }
            IoRedirect::OutputAndError(target, append) => {
                let target = self.word(&target.value);
                let operator = if *append { "&>>" } else { "&>" };
                let text = format!("{operator}{}", show(&target.text));
                opens(RedirectDirection::Write, target, files);
                Some(text)
            }
            IoRedirect::HereDocument(_, document) => {
                self.not_static("it holds a here-document");
                command.here_texts.push(document.doc.value.clone());
                if document.requires_expansion {
                    self.nested_in(&document.doc.value);
                }
                None
            }
            IoRedirect::HereString(_, word) => {
                self.not_static("it holds a here-string");
                command.here_texts.push(self.word(&word.value).text);
                None
            }
        }
    }

    fn file_redirect(
        &mut self,
        fd: &str,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
        files: &mut Vec<FileRedirect>,
    ) -> Option<String> {
        let (operator, direction) = match kind {
            IoFileRedirectKind::Read => ("<", RedirectDirection::Read),
            IoFileRedirectKind::Write => (">", RedirectDirection::Write),
            IoFileRedirectKind::Append => (">>", RedirectDirection::Write),
            IoFileRedirectKind::ReadAndWrite => ("<>", RedirectDirection::Write),
            IoFileRedirectKind::Clobber => (">|", RedirectDirection::Write),
            IoFileRedirectKind::DuplicateInput => ("<&", RedirectDirection::Read),
            IoFileRedirectKind::DuplicateOutput => (">&", RedirectDirection::Write),
        };
        match target {
            IoFileRedirectTarget::Fd(target) => {
                self.copied_from(&target.to_string());
                Some(format!("{fd}{operator}{target}"))
            }
            IoFileRedirectTarget::Filename(word) => {
                let word = self.word(&word.value);
                let text = format!("{fd}{operator}{}", show(&word.text));
                opens(direction, word, files);
                Some(text)
            }
            IoFileRedirectTarget::Duplicate(word) => {
                let word = self.word(&word.value);
                let number = word.text.strip_suffix('-').unwrap_or(&word.text);
                if word.is_literal() && number.chars().all(|c| c.is_ascii_digit()) {
                    self.copied_from(number);
                    return Some(format!("{fd}{operator}{}", word.text));
                }
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./+-".contains(c);
                if !word.text.chars().all(is_plain) {
                    // bash expands the word a second time once its quotes are gone.
                    self.not_static("it copies a descriptor that has no number");
                    self.nested_in(&word.text);
                    opens(direction, ShellWord::dynamic(word.text), files);
                    return None;
                }
                let text = format!("{fd}{operator}{}", show(&word.text));
                opens(direction, word, files);
                Some(text)
            }
            IoFileRedirectTarget::ProcessSubstitution(_, script) => {
                self.process_substitution(script);
                None
            }
        }
    }

    /// Notes a copied descriptor. Above 2 it is not known whether it is open, and a command whose
    /// redirection fails does not run. An empty number closes a descriptor and copies nothing.
    fn copied_from(&mut self, number: &str) {
        if !matches!(number, "" | "0" | "1" | "2") {
            self.not_static("it copies a descriptor that it may not have");
        }
    }

    /// Analyses what a wrapper runs. A wrapper does not make the command less static.
    fn follow(&mut self, command: &mut SimpleCommand) {
        if self.depth >= MAX_DEPTH {
            command.inner = match wrappers::wrapper_target(&command.words) {
                WrapperTarget::Nothing => WrappedCommands::Nothing,
                WrapperTarget::Commands(_) | WrapperTarget::Script(_) | WrapperTarget::Unknown => {
                    self.rough.extend(rough_words(&command.words));
                    WrappedCommands::Unknown(Vec::new())
                }
            };
            return;
        }
        command.inner = match wrappers::wrapper_target(&command.words) {
            WrapperTarget::Nothing => WrappedCommands::Nothing,
            WrapperTarget::Commands(commands) => {
                let mut inner = Self { depth: self.depth + 1, ..Self::default() };
                let commands = commands.into_iter().map(|words| {
                    let mut command = SimpleCommand { words, ..SimpleCommand::default() };
                    inner.follow(&mut command);
                    command
                });
                let commands = commands.collect();
                self.rough.extend(inner.rough);
                WrappedCommands::Known(commands)
            }
            WrapperTarget::Script(script) => {
                let nested = analyse_at(&script, self.depth + 1);
                self.rough.extend(nested.rough);
                self.is_compound |= nested.is_compound;
                match nested.kind {
                    AnalysisKind::Static { .. } => WrappedCommands::Known(nested.commands),
                    AnalysisKind::NotStatic { .. } | AnalysisKind::NotAnalysable { .. } => {
                        WrappedCommands::Unknown(nested.commands)
                    }
                }
            }
            WrapperTarget::Unknown => {
                self.rough.extend(rough_words(&command.words));
                WrappedCommands::Unknown(Vec::new())
            }
        };
    }
}

/// The words as rough commands: every word after the first may be the command, or a script.
fn rough_words(words: &[ShellWord]) -> Vec<RoughCommand> {
    let scripts = words.iter().skip(1).flat_map(|word| {
        let text = word.text.as_str();
        let value = text.split_once('=').map(|(_, value)| value);
        // `-S'rm x'`.
        let glued = text.strip_prefix('-').and_then(|option| option.get(1..));
        let parts = [Some(text), value, glued].into_iter().flatten();
        parts.flat_map(rough_commands).collect::<Vec<_>>()
    });
    std::iter::once(RoughCommand::anywhere_in(words)).chain(scripts).collect()
}

/// Whether a pipeline that succeeds is one simple command that succeeded in this very shell.
fn succeeds_here(pipeline: &ast::Pipeline) -> bool {
    !pipeline.bang && matches!(pipeline.seq[..], [Command::Simple(_)])
}

fn opens(direction: RedirectDirection, target: ShellWord, files: &mut Vec<FileRedirect>) {
    if target.known() != Some("/dev/null") {
        files.push(FileRedirect { direction, target });
    }
}

fn compound_name(compound: &CompoundCommand) -> &'static str {
    match compound {
        CompoundCommand::Arithmetic(_) => "it holds an arithmetic command",
        CompoundCommand::ArithmeticForClause(_)
        | CompoundCommand::ForClause(_)
        | CompoundCommand::WhileClause(_)
        | CompoundCommand::UntilClause(_) => "it holds a loop",
        CompoundCommand::BraceGroup(_) => "it holds a group",
        CompoundCommand::Subshell(_) => "it holds a subshell",
        CompoundCommand::CaseClause(_) | CompoundCommand::IfClause(_) => "it holds a condition",
        CompoundCommand::Coprocess(_) => "it starts a coprocess",
    }
}
