//! Fills in the placeholders of a skill's or a command's text. Pure.
//!
//! One pass: what is put in is not looked at again, so that an argument or an output with a placeholder
//! in it stays as it is. What has to be run or read is handed back as a piece; whoever has the gate does
//! that.

use std::collections::HashMap;

use super::prompt_file::{PromptDialect, PromptFile};

/// A part of an expanded text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptPiece {
    Text(String),
    /// A command whose output goes here.
    Command(String),
    /// A file whose content goes here, as it is named.
    File(String),
}

/// What placeholders besides the arguments stand for.
#[derive(Debug, Clone, Default)]
pub struct PromptVariables {
    pub skill_folder: String,
    pub project_folder: String,
    pub session: String,
}

/// The pieces of a text with what was typed behind its name.
pub fn expand(file: &PromptFile, typed: &str, variables: &PromptVariables) -> Vec<PromptPiece> {
    let typed = typed.trim();
    let words = split_arguments(typed);
    let mut expansion = PromptExpansion {
        dialect: file.dialect(),
        names: &file.argument_names,
        typed,
        words: &words,
        variables,
        pieces: Vec::new(),
        has_used_arguments: false,
        closed: HashMap::new(),
    };
    expansion.run(&file.body);
    expansion.finish()
}

/// The commands that a text would run, as they are written.
pub fn commands_in(file: &PromptFile) -> Vec<String> {
    let pieces = expand(file, "", &PromptVariables::default()).into_iter();
    pieces
        .filter_map(|piece| match piece {
            PromptPiece::Command(command) => Some(command),
            PromptPiece::Text(_) | PromptPiece::File(_) => None,
        })
        .collect()
}

/// The words of what was typed: blanks separate them, quotes and backslashes keep them together.
pub fn split_arguments(typed: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    let mut chars = typed.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"') | None, '\\')
                if chars.peek().is_some_and(|next| "\"'\\ ".contains(*next)) =>
            {
                word.extend(chars.next());
                begun = true;
            }
            (None, '"' | '\'') if !begun || !word.ends_with(char::is_alphanumeric) => {
                (quote, begun) = (Some(c), true);
            }
            (None, c) if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (_, c) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

struct PromptExpansion<'a> {
    dialect: PromptDialect,
    names: &'a [String],
    typed: &'a str,
    words: &'a [String],
    variables: &'a PromptVariables,
    pieces: Vec<PromptPiece>,
    has_used_arguments: bool,
    /// Where each opening brace of the text is closed, where it is.
    closed: HashMap<usize, usize>,
}

/// How an argument is put into its surroundings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentQuoting {
    AsTyped,
    /// As one word of a shell.
    Shell,
}

impl PromptExpansion<'_> {
    fn run(&mut self, body: &str) {
        if self.dialect == PromptDialect::Braces {
            self.closed = closed_braces(body);
        }
        let mut rest = body;
        let mut before = '\n';
        while let Some(c) = rest.chars().next() {
            let used = match self.dialect {
                PromptDialect::Braces => self.braces(rest, body.len() - rest.len()),
                PromptDialect::FromZero | PromptDialect::FromOne => self.marks(rest, before),
            };
            let used = used.unwrap_or_else(|| {
                self.push(c.encode_utf8(&mut [0; 4]));
                c.len_utf8()
            });
            before = rest[..used].chars().next_back().unwrap_or(before);
            rest = &rest[used..];
        }
    }

    fn push(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(PromptPiece::Text(last)) => last.push_str(text),
            Some(PromptPiece::Command(_) | PromptPiece::File(_)) | None => {
                self.pieces.push(PromptPiece::Text(text.to_owned()));
            }
        }
    }

    /// What was typed and has no place in the text goes behind it.
    fn finish(mut self) -> Vec<PromptPiece> {
        if !self.has_used_arguments && !self.typed.is_empty() {
            let text = format!("\n\nARGUMENTS: {}", self.typed);
            self.push(&text);
        }
        self.pieces
    }

    /// `{{args}}`, `!{command}` and `@{path}` at the beginning of the rest of a text; how many bytes it
    /// takes.
    fn braces(&mut self, rest: &str, at: usize) -> Option<usize> {
        if let Some((value, used)) = self.braced_argument(rest, ArgumentQuoting::AsTyped) {
            self.push(&value);
            return Some(used);
        }
        let (is_command, inner) = match (rest.strip_prefix("!{"), rest.strip_prefix("@{")) {
            (Some(inner), _) => (true, inner),
            (None, Some(inner)) => (false, inner),
            (None, None) => return None,
        };
        let end = self.closed.get(&(at + 1))?.checked_sub(at + 2)?;
        let quoting = if is_command { ArgumentQuoting::Shell } else { ArgumentQuoting::AsTyped };
        let (mut text, mut left) = (String::new(), &inner[..end]);
        while let Some(c) = left.chars().next() {
            let used = match self.braced_argument(left, quoting) {
                Some((value, used)) => {
                    text.push_str(&value);
                    used
                }
                None => {
                    text.push(c);
                    c.len_utf8()
                }
            };
            left = &left[used..];
        }
        let text = text.trim().to_owned();
        self.pieces.push(match is_command {
            true => PromptPiece::Command(text),
            false => PromptPiece::File(text),
        });
        Some(2 + end + 1)
    }

    fn braced_argument(&mut self, rest: &str, quoting: ArgumentQuoting) -> Option<(String, usize)> {
        const ARGUMENTS: &str = "{{args}}";
        rest.starts_with(ARGUMENTS).then(|| {
            self.has_used_arguments = true;
            let value = match quoting {
                ArgumentQuoting::AsTyped => self.typed.to_owned(),
                ArgumentQuoting::Shell => format!("'{}'", self.typed.replace('\'', "'\\''")),
            };
            (value, ARGUMENTS.len())
        })
    }

    /// A placeholder, a command or a file at the beginning of a text; how many bytes it takes.
    fn marks(&mut self, rest: &str, before: char) -> Option<usize> {
        if let Some((value, used)) = self.argument(rest) {
            self.push(&value);
            return Some(used);
        }
        let is_at_word = before.is_whitespace();
        if is_at_word && let Some(inner) = rest.strip_prefix("!`") {
            let end = inner.find('`').filter(|end| !inner[..*end].contains('\n'))?;
            let command = self.arguments_in(&inner[..end]);
            self.pieces.push(PromptPiece::Command(command.trim().to_owned()));
            return Some(2 + end + 1);
        }
        if before == '\n'
            && let Some(inner) = rest.strip_prefix("```!\n")
        {
            let end = inner.find("\n```")?;
            let command = self.arguments_in(&inner[..end]);
            self.pieces.push(PromptPiece::Command(command.trim().to_owned()));
            return Some("```!\n".len() + end + "\n```".len());
        }
        if is_at_word && let Some(path) = rest.strip_prefix('@') {
            let end = path.find(|c: char| c.is_whitespace() || "`\"'<>|)]},;".contains(c));
            let path = path[..end.unwrap_or(path.len())].trim_end_matches(['.', ':', '!', '?']);
            if path.is_empty() {
                return None;
            }
            let used = 1 + path.len();
            let path = self.arguments_in(path);
            self.pieces.push(PromptPiece::File(path));
            return Some(used);
        }
        None
    }

    /// The text of a command or a path with its arguments.
    fn arguments_in(&mut self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(c) = rest.chars().next() {
            let used = match self.argument(rest) {
                Some((value, used)) => {
                    out.push_str(&value);
                    used
                }
                None => {
                    out.push(c);
                    c.len_utf8()
                }
            };
            rest = &rest[used..];
        }
        out
    }

    /// What a placeholder at the beginning of a text stands for, and how many bytes it takes.
    fn argument(&mut self, rest: &str) -> Option<(String, usize)> {
        if self.dialect == PromptDialect::FromZero && rest.starts_with("\\$") {
            return Some(("$".to_owned(), 2));
        }
        let name = rest.strip_prefix('$')?;
        if let Some(inner) = name.strip_prefix('{') {
            let end = inner.find('}')?;
            let value = match &inner[..end] {
                "CLAUDE_SKILL_DIR" => &self.variables.skill_folder,
                "CLAUDE_PROJECT_DIR" => &self.variables.project_folder,
                "CLAUDE_SESSION_ID" => &self.variables.session,
                _ => return None,
            };
            return Some((value.clone(), 2 + end + 1));
        }
        if let Some(after) = name.strip_prefix("ARGUMENTS") {
            let index = after.strip_prefix('[').and_then(|inner| inner.split_once(']'));
            let index =
                index.and_then(|(number, _)| Some((number.parse::<usize>().ok()?, number.len())));
            if let (Some((at, digits)), PromptDialect::FromZero) = (index, self.dialect) {
                return self.word(at).map(|word| (word, "$ARGUMENTS[]".len() + digits));
            }
            if after.starts_with(is_of_name) {
                return None;
            }
            self.has_used_arguments = true;
            return Some((self.typed.to_owned(), "$ARGUMENTS".len()));
        }
        let digits = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
        if digits > 0 {
            // `$10` is not the first word with a zero behind it, and `$5.00` is money.
            let number: usize = name[..digits].parse().ok()?;
            let at = match self.dialect {
                PromptDialect::FromZero => number,
                PromptDialect::FromOne => number.checked_sub(1)?,
                PromptDialect::Braces => return None,
            };
            let word = self.word(at);
            let word = if self.dialect == PromptDialect::FromOne {
                Some(word.unwrap_or_default())
            } else {
                word
            };
            return word.map(|word| (word, 1 + digits));
        }
        let end = name.find(|c: char| !is_of_name(c)).unwrap_or(name.len());
        let at = self.names.iter().position(|known| *known == name[..end])?;
        self.word(at).map(|word| (word, 1 + end))
    }

    fn word(&mut self, at: usize) -> Option<String> {
        self.has_used_arguments = true;
        self.words.get(at).cloned()
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The place of each opening brace with that of its closing one. In one pass, since a text may open more
/// than it closes.
fn closed_braces(text: &str) -> HashMap<usize, usize> {
    let (mut open, mut closed) = (Vec::new(), HashMap::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open.push(at),
            b'}' => {
                closed.extend(open.pop().map(|from| (from, at)));
            }
            _ => {}
        }
    }
    closed
}
