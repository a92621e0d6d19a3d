//! Finds what is being typed at the caret that a completion list can help with: a mention, a
//! command, its argument, or a path in a shell command. This is only about text: the rows come from
//! `completion_items`.

use std::ops::Range;

use crate::commands::{CommandDescriptor, CommandRegistry, SlashArgumentKind};
use crate::domain::mention::can_begin;

/// The kind of completion at the caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionTrigger {
    /// A path of the workspace, after `@`.
    Path,
    /// Lines of a file, after its path and a colon.
    Lines { path: String },
    /// A path that the index does not have: it is completed folder by folder.
    Folder {
        sign: TriggerPathUse,
        /// The folder, as typed, with its slash; empty for the working folder.
        folder: String,
    },
    /// A past session, after `@session:`.
    Session,
    /// A resource of an MCP server, after `@`, the server's name and a colon.
    Resource { server: String },
    /// A command's name, after `/`.
    Command,
    /// The argument of a command.
    Argument {
        /// The command's name.
        command: String,
        kind: SlashArgumentKind,
    },
    /// How to fold panes: the second argument of `/fold`.
    FoldHow,
}

/// What a typed path is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerPathUse {
    Mention,
    Shell,
}

impl CompletionTrigger {
    /// Whether this is a path in a shell command.
    pub fn is_shell(&self) -> bool {
        matches!(self, Self::Folder { sign: TriggerPathUse::Shell, .. })
    }
}

/// The kind of completion for the text before byte `caret`, and the bytes of the typed word,
/// without the sign before it. `known` says whether a file exists, `is_server` whether a server has
/// resources.
pub fn trigger(
    text: &str,
    caret: usize,
    commands: &CommandRegistry,
    known: impl Fn(&str) -> bool,
    is_server: impl Fn(&str) -> bool,
) -> Option<(CompletionTrigger, Range<usize>)> {
    let typed = text.get(..caret)?;
    if typed.starts_with('!') {
        return Some(shell(typed));
    }
    if let Some(line) = typed.strip_prefix('/').filter(|line| !line.contains('\n')) {
        return match line.split_once(' ') {
            None if line.contains('/') => None,
            None => Some((CompletionTrigger::Command, 1..caret)),
            Some((name, argument)) => {
                let of_name = commands.find(name)?;
                let takes = Some(of_name).filter(|it| it.argument != SlashArgumentKind::None)?;
                after_command(takes, argument).map(|(it, word)| (it, caret - word.len()..caret))
            }
        };
    }
    quoted(typed, &known, &is_server).or_else(|| mention(typed, &known, &is_server))
}

/// The filter for the list, from the typed word.
pub fn query(trigger: &CompletionTrigger, word: &str) -> String {
    match trigger {
        CompletionTrigger::Path
        | CompletionTrigger::Folder { sign: TriggerPathUse::Mention, .. } => {
            word.strip_prefix('"').unwrap_or(word).to_owned()
        }
        CompletionTrigger::Folder { sign: TriggerPathUse::Shell, .. } => unquoted(word),
        CompletionTrigger::Lines { .. }
        | CompletionTrigger::Session
        | CompletionTrigger::Resource { .. }
        | CompletionTrigger::Command
        | CompletionTrigger::Argument { .. }
        | CompletionTrigger::FoldHow => word.to_owned(),
    }
}

/// A path with backslashes, so that a shell reads it as one word.
pub fn escaped(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./+,:@%".contains(c);
    let home = path.starts_with("~/");
    let mut text = String::new();
    for (at, c) in path.char_indices() {
        let of_home = home && at == 0;
        if !(plain(c) || of_home) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// The completion for a command's argument. Only titles, paths and messages may contain spaces.
fn after_command<'a>(
    command: &CommandDescriptor,
    argument: &'a str,
) -> Option<(CompletionTrigger, &'a str)> {
    match (command.argument, argument.split_once(' ')) {
        // A number selects a message by its place: no list, or Enter would choose a message with
        // this number in its text.
        (SlashArgumentKind::Message, None) if is_number(argument) => None,
        (SlashArgumentKind::Focus | SlashArgumentKind::Title, _) => None,
        (_, None)
        | (
            SlashArgumentKind::Session
            | SlashArgumentKind::File
            | SlashArgumentKind::Message
            | SlashArgumentKind::Prompt,
            Some(_),
        ) => {
            let (command, kind) = (command.name.clone(), command.argument);
            Some((CompletionTrigger::Argument { command, kind }, argument))
        }
        (SlashArgumentKind::Fold, Some((_, how))) if !how.contains(' ') => {
            Some((CompletionTrigger::FoldHow, how))
        }
        (
            SlashArgumentKind::None
            | SlashArgumentKind::Model
            | SlashArgumentKind::Race
            | SlashArgumentKind::Mode
            | SlashArgumentKind::Copy
            | SlashArgumentKind::Theme
            | SlashArgumentKind::Fold
            | SlashArgumentKind::OneOf(_),
            Some(_),
        ) => None,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A mention that begins with a quote, whether it has been closed or not.
fn quoted(
    typed: &str,
    known: &impl Fn(&str) -> bool,
    is_server: &impl Fn(&str) -> bool,
) -> Option<(CompletionTrigger, Range<usize>)> {
    let sign = typed.rfind("@\"").filter(|sign| can_begin(&typed[..*sign]))?;
    match typed[sign + 2..].split_once('"') {
        None if typed[sign..].contains('\n') => None,
        None if let Some(found) = resource(typed, sign + 2, is_server) => Some(found),
        None => Some((by_place(&typed[sign + 2..]), sign + 1..typed.len())),
        Some((path, rest)) => {
            let range = rest.strip_prefix(':').filter(|range| is_range(range) && known(path))?;
            let path = path.to_owned();
            Some((CompletionTrigger::Lines { path }, typed.len() - range.len()..typed.len()))
        }
    }
}

/// The resource that is typed from this byte on.
fn resource(
    typed: &str,
    from: usize,
    is_server: &impl Fn(&str) -> bool,
) -> Option<(CompletionTrigger, Range<usize>)> {
    let (server, uri) = typed[from..].split_once(':').filter(|(server, _)| is_server(server))?;
    let server = server.to_owned();
    Some((CompletionTrigger::Resource { server }, typed.len() - uri.len()..typed.len()))
}

fn mention(
    typed: &str,
    known: &impl Fn(&str) -> bool,
    is_server: &impl Fn(&str) -> bool,
) -> Option<(CompletionTrigger, Range<usize>)> {
    let start = typed.char_indices().rfind(|(_, c)| c.is_whitespace());
    let start = start.map_or(0, |(at, c)| at + c.len_utf8());
    let mut signs = typed[start..].match_indices('@').map(|(offset, _)| start + offset).rev();
    let sign = signs.find(|sign| can_begin(&typed[..*sign]))?;
    let word = &typed[sign + 1..];
    let end = typed.len();
    if let Some(title) = word.strip_prefix("session:") {
        return Some((CompletionTrigger::Session, end - title.len()..end));
    }
    if let Some(found) = resource(typed, sign + 1, is_server) {
        return Some(found);
    }
    if let Some((path, range)) = word.rsplit_once(':').filter(|(_, range)| is_range(range))
        && known(path)
    {
        return Some((CompletionTrigger::Lines { path: path.to_owned() }, end - range.len()..end));
    }
    Some((by_place(word), sign + 1..end))
}

/// Paths of the workspace are in the index; others are completed folder by folder.
fn by_place(path: &str) -> CompletionTrigger {
    if ["/", "~/", "./", "../"].iter().any(|beginning| path.starts_with(beginning)) {
        CompletionTrigger::Folder { sign: TriggerPathUse::Mention, folder: folder_of(path) }
    } else {
        CompletionTrigger::Path
    }
}

/// The last word of a shell command, including its quotes.
fn shell(typed: &str) -> (CompletionTrigger, Range<usize>) {
    let mut start = 1;
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in typed.char_indices().skip(1) {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('\''), '\\') => {}
            (_, '\\') => escaped = true,
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, _) if c.is_whitespace() || "|;&<>(=".contains(c) => start = at + c.len_utf8(),
            (None, _) => {}
        }
    }
    let folder = folder_of(&unquoted(&typed[start..]));
    (CompletionTrigger::Folder { sign: TriggerPathUse::Shell, folder }, start..typed.len())
}

fn folder_of(path: &str) -> String {
    path.rfind('/').map_or("", |slash| &path[..=slash]).to_owned()
}

/// A word of a shell command without its quotes and backslashes.
fn unquoted(word: &str) -> String {
    let mut text = String::new();
    let mut quote = None;
    let mut escaped = false;
    for c in word.chars() {
        match (quote, c) {
            _ if escaped => {
                escaped = false;
                text.push(c);
            }
            (None | Some('"'), '\\') => escaped = true,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            (None | Some(_), _) => text.push(c),
        }
    }
    text
}

fn is_range(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(sign: TriggerPathUse, folder: &str) -> CompletionTrigger {
        CompletionTrigger::Folder { sign, folder: folder.to_owned() }
    }

    #[test]
    fn the_word_at_the_caret_opens_a_list() {
        use TriggerPathUse::{Mention, Shell};
        let commands = CommandRegistry::built_in();
        let argument = |name: &str| {
            let kind = commands.find(name).unwrap().argument;
            CompletionTrigger::Argument { command: name.to_owned(), kind }
        };
        let lines = |path: &str| CompletionTrigger::Lines { path: path.to_owned() };
        let resource = |server: &str| CompletionTrigger::Resource { server: server.to_owned() };
        type ExpectedTrigger = Option<(CompletionTrigger, Range<usize>)>;
        let rows: &[(&str, ExpectedTrigger)] = &[
            ("look at @src/ca", Some((CompletionTrigger::Path, 9..15))),
            ("@", Some((CompletionTrigger::Path, 1..1))),
            ("(@src", Some((CompletionTrigger::Path, 2..5))),
            ("me@example", None),
            ("@\"my no", Some((CompletionTrigger::Path, 1..7))),
            ("@\"my notes.md\" and", None),
            ("@src/cart.rs:", Some((lines("src/cart.rs"), 13..13))),
            ("@src/cart.rs:10-", Some((lines("src/cart.rs"), 13..16))),
            ("@\"src/cart.rs\":7", Some((lines("src/cart.rs"), 15..16))),
            ("@gone.rs:10", Some((CompletionTrigger::Path, 1..11))),
            ("@session:fix", Some((CompletionTrigger::Session, 9..12))),
            ("@notes:", Some((resource("notes"), 7..7))),
            ("(@notes:note://a", Some((resource("notes"), 8..16))),
            ("@\"my notes:note://a b", Some((resource("my notes"), 11..21))),
            ("@notes", Some((CompletionTrigger::Path, 1..6))),
            ("@others:note://a", Some((CompletionTrigger::Path, 1..16))),
            ("@../other/a", Some((folder(Mention, "../other/"), 1..11))),
            ("@~/", Some((folder(Mention, "~/"), 1..3))),
            ("@\"../my n", Some((folder(Mention, "../"), 1..9))),
            ("!cat src/ca", Some((folder(Shell, "src/"), 5..11))),
            ("!cat my\\ no", Some((folder(Shell, ""), 5..11))),
            ("!cat \"a b/c", Some((folder(Shell, "a b/"), 5..11))),
            ("!ls|wc", Some((folder(Shell, ""), 4..6))),
            ("/mo", Some((CompletionTrigger::Command, 1..3))),
            ("/", Some((CompletionTrigger::Command, 1..1))),
            ("/usr/bin", None),
            ("/mode pl", Some((argument("mode"), 6..8))),
            ("/mode ", Some((argument("mode"), 6..6))),
            ("/mode plan x", None),
            ("/fold tools o", Some((CompletionTrigger::FoldHow, 12..13))),
            ("/fold tools open x", None),
            ("/sessions fix the", Some((argument("sessions"), 10..17))),
            ("/help x", None),
            ("a /mo", None),
            ("plain", None),
        ];
        for (text, want) in rows {
            let known = |path: &str| path == "src/cart.rs";
            let is_server = |name: &str| ["notes", "my notes"].contains(&name);
            let found = trigger(text, text.len(), &commands, known, is_server);
            assert_eq!(found, *want, "{text}");
        }
    }

    #[test]
    fn escaped_paths_unquote_to_themselves() {
        for (path, want) in [
            ("src/a.rs", "src/a.rs"),
            ("my notes.md", "my\\ notes.md"),
            ("it's $5 (a).txt", "it\\'s\\ \\$5\\ \\(a\\).txt"),
            ("~/a b", "~/a\\ b"),
            ("~tilde", "\\~tilde"),
        ] {
            assert_eq!(escaped(path), want);
            assert_eq!(unquoted(want), path);
        }
        assert_eq!(unquoted("\"a \\\"b\"'c\\d'"), "a \"bc\\d");
    }
}
