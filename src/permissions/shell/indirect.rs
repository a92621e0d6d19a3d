//! What a command runs and names that its own words do not say: what variables hold, what scripts
//! are fed, and what is written first and run then.

use super::{Direction, MAX_CARRIED, Redirect, SimpleCommand, Walker, Word, rough_words};
use crate::permissions::values::{self, ARGUMENTS, Carried};
use crate::permissions::words::{RoughCommand, quote, rough_commands};
use crate::permissions::wrappers;

/// With more values than this it is not followed what is appended to them.
const MAX_APPENDED: usize = 1024;

impl Walker {
    /// Where a shell reads its script from somewhere, what this text feeds or prints may be it; and
    /// so it is with a file that this text writes first.
    pub(super) fn read_what_is_fed(&mut self) {
        let all = || self.commands.iter().flat_map(SimpleCommand::flatten);
        let written: Vec<String> = all().flat_map(written).collect();
        let runs = |reads: fn(&[Word]) -> bool| {
            all().any(|command| reads(&command.words) || runs_one_of(&command.words, &written))
        };
        let (by_shell, by_other) =
            (runs(wrappers::reads_script), runs(wrappers::reads_foreign_script));
        if !by_shell && !by_other {
            return;
        }
        let printed: Vec<&SimpleCommand> = all()
            .filter(|command| {
                let name = command.words.first().and_then(Word::known).map(wrappers::base_name);
                matches!(name, Some("echo" | "printf"))
            })
            .collect();
        let texts: Vec<String> = printed
            .iter()
            .map(|command| {
                let texts: Vec<&str> =
                    command.words[1..].iter().map(|word| word.text.as_str()).collect();
                texts.join(" ")
            })
            .chain(self.fed.iter().cloned())
            .collect();
        let mut found = Vec::new();
        if by_shell {
            found.extend(self.fed.iter().flat_map(|text| rough_commands(text)));
            found.extend(printed.iter().flat_map(|command| rough_words(&command.words)));
            let values = all().flat_map(|command| &command.assignments);
            found.extend(values.flat_map(|(_, value)| rough_commands(&value.text)));
        }
        self.rough.extend(found);
        if by_shell {
            for text in &texts {
                self.script(text);
            }
        }
        if by_other {
            self.foreign.extend(texts);
        }
    }

    /// What functions and scripts in arguments are given, and what builtins and wrappers set.
    pub(super) fn carry_arguments(&mut self, words: &[Word]) {
        let Some((name, arguments)) = words.split_first() else { return };
        self.carried.extend(arguments.iter().filter_map(values::assigned));
        let name = name.known().map(wrappers::base_name);
        if self.has_functions || name.is_some_and(|it| it == "set" || wrappers::is_shell(it)) {
            let one = |word: &Word| Carried { name: Some(ARGUMENTS.into()), word: word.clone() };
            self.carried.extend(arguments.iter().map(one));
        }
    }

    /// Where a variable names the command, that may be what a variable holds.
    pub(super) fn name_what_is_carried(&mut self) {
        let mut found = Vec::new();
        for command in self.commands.iter().flat_map(SimpleCommand::flatten) {
            let Some((name, arguments)) = command.words.split_first() else { continue };
            if name.known().is_some() {
                continue;
            }
            let held = self.carried.iter().map(|it| it.word.text.clone()).take(MAX_CARRIED);
            let (put_together, _) = values::texts(&name.text, &self.carried);
            for text in held.chain(put_together.into_iter().take(MAX_CARRIED)) {
                let words = text.split_whitespace().map(Word::literal);
                let words = words.chain(arguments.iter().cloned()).collect();
                found.push(RoughCommand::at_once(words));
            }
        }
        self.rough.extend(found);
    }

    pub(super) fn carry(&mut self, source: &str) {
        self.carry_for(None, source);
    }

    pub(super) fn carry_for(&mut self, name: Option<&str>, source: &str) {
        let one = |word| Carried { name: name.map(str::to_owned), word: Word::read(word) };
        self.carried.extend(source.split_whitespace().map(one));
    }

    /// What a variable may hold with more behind it.
    pub(super) fn append(&mut self, name: &str, value: &str) {
        let longer = |it: &Carried| Carried {
            name: it.name.clone(),
            word: Word::read(&format!("{}{value}", quoted_again(&it.word))),
        };
        let of_it = self.carried.iter().filter(|it| it.name.as_deref() == Some(name));
        let all: Vec<Carried> = of_it.take(MAX_CARRIED).map(longer).collect();
        if self.carried.len() < MAX_APPENDED {
            self.carried.extend(all);
        }
    }
}

/// The word as a source that says the same.
fn quoted_again(word: &Word) -> String {
    word.known().map_or_else(|| word.text.clone(), quote)
}

/// The names of the files that a command writes.
fn written(command: &SimpleCommand) -> Vec<String> {
    let writes = |it: &&Redirect| it.direction == Direction::Write;
    let targets = command.redirects.iter().filter(writes).map(|it| &it.target);
    let name = command.words.first().and_then(Word::known).map(wrappers::base_name);
    let copies = command.words.iter().skip(1).filter(|_| matches!(name, Some("tee" | "cp" | "mv")));
    let known = targets.chain(copies).filter_map(Word::known);
    known.map(|path| wrappers::base_name(path).to_owned()).collect()
}

/// Whether a command runs a file of one of these names.
fn runs_one_of(words: &[Word], names: &[String]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    let is_one = |word: &Word| {
        let name = word.known().map(wrappers::base_name);
        name.is_some_and(|name| names.iter().any(|it| it == name))
    };
    let runs_files = name
        .known()
        .map(wrappers::base_name)
        .is_some_and(|name| wrappers::runs_files(name) || matches!(name, "." | "source"));
    is_one(name) || (runs_files && arguments.iter().any(is_one))
}
