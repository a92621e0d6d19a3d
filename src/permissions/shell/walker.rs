//! Walks a parsed command: lists the simple commands in it, nested and wrapped ones too, and writes
//! its canonical text.

mod redirects;

use brush_parser::ast::{
    self, AndOr, Command, CommandPrefixOrSuffixItem, CompoundCommand, SeparatorOperator,
};

use crate::permissions::folders::changes_folder;
use crate::permissions::words::{RoughCommand, quote_name, rough_commands, show, substitutions};
use crate::permissions::wrappers::{self, WrapperTarget};

use super::{
    AnalysisKind, CommandAnalysis, CommandOrder, ShellAstWalker, ShellWord, SimpleCommand,
    WrappedCommands, analyse_at,
};

/// How deep scripts inside scripts are analysed.
const MAX_DEPTH: usize = 8;

impl ShellAstWalker {
    pub(super) fn finish(self) -> CommandAnalysis {
        let kind = match self.why {
            Some(why) => AnalysisKind::NotStatic { why },
            None if self.commands.is_empty() => AnalysisKind::NotStatic { why: "Is empty".into() },
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

    pub(super) fn program(&mut self, program: &ast::Program) {
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
            let first = self.commands.len();
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
                SeparatorOperator::Async => {
                    self.canonical.push_str(" &");
                    self.run_in_background(first);
                }
                SeparatorOperator::Sequence if at + 1 < list.0.len() => self.canonical.push(';'),
                SeparatorOperator::Sequence => {}
            }
        }
    }

    /// Marks the commands from `first` on. What stands behind nothing but `cd` starts at once.
    fn run_in_background(&mut self, first: usize) {
        let mut busy = None;
        for command in &mut self.commands[first..] {
            command.is_background = true;
            command.is_delayed |= busy.is_some_and(|pipeline| pipeline != command.pipeline);
            if !changes_folder(command) {
                busy.get_or_insert(command.pipeline);
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
            self.not_static("Contains an empty pipeline");
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
                self.compound_part("Defines a function");
                self.word(&function.fname.value);
                self.compound(&function.body.0);
                self.redirects_of_compound(function.body.1.as_ref());
            }
            Command::ExtendedTest(test, redirects) => {
                self.compound_part("Contains a `[[` test");
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
            self.compound_part("Sets a variable by a redirection");
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
                "Redirects without a command"
            } else {
                "Sets a variable for later commands"
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
                self.compound_part("Changes an array or appends to a variable");
                self.nested_in(source);
                (name.clone(), ShellWord::dynamic(value))
            }
        }
    }

    /// Reads a word. A word that is not literal makes the whole not static, and the scripts in it
    /// are analysed, too.
    fn word(&mut self, source: &str) -> ShellWord {
        let word = ShellWord::read_in(source, self.scratch.as_deref());
        if !word.is_literal() {
            self.not_static(format!("`{source}` is known only at run time"));
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
        self.not_static("Contains a process substitution");
        self.list(&script.list);
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

fn compound_name(compound: &CompoundCommand) -> &'static str {
    match compound {
        CompoundCommand::Arithmetic(_) => "Contains an arithmetic command",
        CompoundCommand::ArithmeticForClause(_)
        | CompoundCommand::ForClause(_)
        | CompoundCommand::WhileClause(_)
        | CompoundCommand::UntilClause(_) => "Contains a loop",
        CompoundCommand::BraceGroup(_) => "Contains a group",
        CompoundCommand::Subshell(_) => "Contains a subshell",
        CompoundCommand::CaseClause(_) | CompoundCommand::IfClause(_) => "Contains a condition",
        CompoundCommand::Coprocess(_) => "Starts a coprocess",
    }
}
