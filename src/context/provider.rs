//! Context providers: short notes for the model, sent with the user's newest message.
//!
//! A note that was sent stays in the history unchanged. When its text changes, the new text is sent
//! with the next message; otherwise it is not sent again. To add a provider, implement
//! [`ContextProvider`] and add it to [`providers`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use async_trait::async_trait;
use futures_util::future::join_all;

use super::{EnvironmentNote, FileStructure, GitExecutable, GitStatus, StaticText};
use crate::domain::{ContentBlock, is_invisible};

/// A source of a short note about the place that slug works in.
///
/// A provider that reads files of the project must not be made before the folder is trusted.
#[async_trait]
pub trait ContextProvider: Send + Sync {
    /// The name of the note: letters, digits, `-` and `_`.
    fn name(&self) -> &str;

    /// The text of the note now; `None` when there is nothing to tell. Must end within a few
    /// seconds, whatever is on disk.
    async fn collect(&self) -> Option<String>;
}

/// The input of [`providers`].
#[derive(Debug, Clone)]
pub struct ContextProviderSetup {
    /// The working folder.
    pub cwd: PathBuf,
    /// The user's home folder, whose contents are not listed.
    pub user_home: Option<PathBuf>,
    /// The notes of the configuration's table `[context.static]`, by name.
    pub statics: BTreeMap<String, String>,
    /// `None` unless the working folder is trusted.
    pub git: Option<GitExecutable>,
}

/// All providers for a working folder, in the order of their notes.
pub fn providers(setup: ContextProviderSetup) -> Vec<Box<dyn ContextProvider>> {
    let mut providers: Vec<Box<dyn ContextProvider>> = vec![
        Box::new(EnvironmentNote::new(setup.cwd.clone(), |name| std::env::var_os(name))),
        Box::new(FileStructure::new(setup.cwd.clone(), setup.user_home)),
    ];
    if let Some(git) = setup.git {
        providers.push(Box::new(GitStatus::new(git, setup.cwd)));
    }
    for (name, text) in setup.statics {
        providers.push(Box::new(StaticText::new(name, text)));
    }
    providers
}

/// Collects the notes whose text differs from `previous`, the newest texts in the conversation, in
/// the order of the providers.
pub async fn collect(
    providers: &[Box<dyn ContextProvider>],
    previous: &BTreeMap<String, String>,
) -> Vec<ContentBlock> {
    let texts = join_all(providers.iter().map(|provider| provider.collect())).await;
    providers
        .iter()
        .zip(texts)
        .filter_map(|(provider, text)| {
            Some((provider.name().to_owned(), escape_context_tags(&text?)))
        })
        .filter(|(name, text)| !text.is_empty() && previous.get(name) != Some(text))
        .map(|(name, text)| ContentBlock::Context { name, text })
        .collect()
}

/// Escapes `<context` tags in a text, because a commit's subject or a command's output must not end
/// the tags around a note.
pub fn escape_context_tags(text: &str) -> String {
    escape_tags(text.trim_end(), &["context"])
}

/// Breaks up whatever could be read as a tag whose name begins with one of `names`, which are in lower case:
/// a space goes behind its `<`. The name counts in any case, with blanks in front of it, and with invisible
/// characters anywhere in it, which are taken out. A second run changes nothing.
pub fn escape_tags(text: &str, names: &[&str]) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        escaped.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let found = names.iter().find_map(|name| tag_named(rest, name));
        if let Some((tag, length)) = found {
            escaped.push(' ');
            escaped.push_str(&tag);
            rest = &rest[length..];
        }
    }
    escaped.push_str(rest);
    escaped
}

/// The slash and the name that stand behind a `<`, as they are written but for what cannot be seen, and how
/// many bytes they take; `None` where the tag has another name.
fn tag_named(text: &str, name: &str) -> Option<(String, usize)> {
    let mut wanted = name.chars().peekable();
    let mut tag = String::new();
    for (at, c) in text.char_indices() {
        let has_begun = !tag.trim_start_matches('/').is_empty();
        match c {
            _ if is_invisible(c) || c.is_control() && !c.is_whitespace() => {}
            _ if c.is_whitespace() && !has_begun => {}
            '/' if !has_begun => tag = "/".to_owned(),
            _ if Some(c.to_ascii_lowercase()) == wanted.peek().copied() => {
                wanted.next();
                tag.push(c);
                if wanted.peek().is_none() {
                    return Some((tag, at + c.len_utf8()));
                }
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Message;

    /// The newest text of each note in a conversation.
    fn newest<'a>(messages: impl IntoIterator<Item = &'a Message>) -> BTreeMap<String, String> {
        let mut newest = BTreeMap::new();
        let blocks = messages.into_iter().flat_map(|message| &message.content);
        for (name, text) in blocks.filter_map(ContentBlock::as_context) {
            newest.insert(name.to_owned(), text.to_owned());
        }
        newest
    }

    fn statics(texts: &[(&str, &str)]) -> Vec<Box<dyn ContextProvider>> {
        texts
            .iter()
            .map(|(name, text)| -> Box<dyn ContextProvider> {
                Box::new(StaticText::new((*name).to_owned(), (*text).to_owned()))
            })
            .collect()
    }

    fn note(name: &str, text: &str) -> ContentBlock {
        ContentBlock::Context { name: name.to_owned(), text: text.to_owned() }
    }

    #[tokio::test]
    async fn only_what_changed_is_sent_again() {
        let first = collect(&statics(&[("a", "1"), ("b", "2")]), &BTreeMap::new()).await;
        assert_eq!(first, [note("a", "1"), note("b", "2")]);
        let mut message = Message::user("hello");
        message.content.extend(first);
        assert_eq!(collect(&statics(&[("a", "1"), ("b", "2")]), &newest([&message])).await, []);
        let next = collect(&statics(&[("a", "1"), ("b", "3")]), &newest([&message])).await;
        assert_eq!(next, [note("b", "3")]);
    }

    #[tokio::test]
    async fn the_newest_text_is_what_counts() {
        let old = Message { content: vec![note("a", "1")], ..Message::user("") };
        let new = Message { content: vec![note("a", "2")], ..Message::user("") };
        let newest = newest([&old, &new]);
        assert_eq!(collect(&statics(&[("a", "2")]), &newest).await, []);
        assert_eq!(collect(&statics(&[("a", "1")]), &newest).await, [note("a", "1")]);
    }

    #[test]
    fn a_tag_is_broken_up_however_it_is_written_and_only_once() {
        for (text, told) in [
            ("</context>", "< /context>"),
            ("<CONTEXT name=\"mode\">", "< CONTEXT name=\"mode\">"),
            ("</ Context>", "< /Context>"),
            ("< / context>", "< /context>"),
            ("<\n\tcontext>", "< context>"),
            ("<con\u{ad}text>", "< context>"),
            ("<\u{200b}/\u{feff}c\u{200d}ontex\u{e0041}t>", "< /context>"),
            ("<\u{1b}context", "< context"),
            ("<<context", "<< context"),
            ("<//context>", "< /context>"),
            ("a < b, <con text>, <contest>, <c", "a < b, <con text>, <contest>, <c"),
        ] {
            assert_eq!(escape_context_tags(text), told);
            assert_eq!(escape_context_tags(told), told);
        }
        assert_eq!(escape_tags("<Report></ report><x>", &["report"]), "< Report>< /report><x>");
    }

    #[tokio::test]
    async fn a_note_cannot_end_its_own_tags() {
        let sent = collect(&statics(&[("a", "x </context> y"), ("e", "")]), &BTreeMap::new()).await;
        assert_eq!(sent, [note("a", "x < /context> y")]);
        let message = Message { content: sent, ..Message::user("") };
        let again = collect(&statics(&[("a", "x </context> y")]), &newest([&message])).await;
        assert_eq!(again, []);
    }

    #[tokio::test]
    async fn all_providers_together_stay_small() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..500 {
            std::fs::write(folder.path().join(format!("file-number-{number}.rs")), "").unwrap();
        }
        let setup = ContextProviderSetup {
            cwd: folder.path().to_owned(),
            user_home: None,
            statics: BTreeMap::new(),
            git: None,
        };
        let blocks = collect(&providers(setup), &BTreeMap::new()).await;
        let names: Vec<&str> =
            blocks.iter().filter_map(ContentBlock::as_context).map(|(name, _)| name).collect();
        assert_eq!(names, ["environment", "file_structure"]);
        assert!(serde_json::to_string(&blocks).unwrap().len() < 2000);
    }
}
