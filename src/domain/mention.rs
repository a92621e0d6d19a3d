//! Mentions in what the user writes: `@src/main.rs`, `@"with a space.md"`, `@src/main.rs:10-40`,
//! `@session:ID`, `@server:note://a`. A mention is a reference: the text keeps it as written.

use std::fmt;
use std::ops::Range;

use super::SessionId;

/// A reference in a text to a file, a folder, a session or a resource of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The byte range in the text, including the `@`.
    pub span: Range<usize>,
    /// What the mention refers to.
    pub target: MentionTarget,
}

/// What a mention refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MentionTarget {
    /// A file or folder, or some lines of a file.
    Path {
        /// The path as written, without quotes.
        path: String,
        /// The lines; `None` for the whole file or folder.
        lines: Option<LineRange>,
    },
    /// An earlier session.
    Session(SessionId),
    /// A resource of a server, if there is a server of that name.
    Resource {
        server: String,
        /// Begins with a scheme and a colon.
        uri: String,
    },
}

/// A range of lines, counted from 1, with both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// The first line, from 1.
    pub first: u64,
    /// The last line; not less than `first`.
    pub last: u64,
}

/// All mentions in a text, in order.
pub fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find('@') {
        let sign = at + offset;
        at = sign + 1;
        if !can_begin(&text[..sign]) {
            continue;
        }
        if let Some((length, names)) = parse_target(&text[at..]) {
            at += length;
            found.push(Mention { span: sign..at, target: names });
        }
    }
    found
}

/// Whether a mention may begin behind `before`: not inside a word, as in an e-mail address.
pub fn can_begin(before: &str) -> bool {
    before.chars().next_back().is_none_or(|c| c.is_whitespace() || "([{\"'`".contains(c))
}

/// A path as a mention writes it: in quotes if it would not be read whole without them.
pub fn quote_path(path: &str) -> String {
    let plain = path.chars().all(|c| !c.is_whitespace() && c != '"')
        && !path.ends_with(TRAILING)
        && LineRange::split(path).is_none();
    if plain { path.to_owned() } else { format!("\"{path}\"") }
}

/// Punctuation that may follow a mention without belonging to it.
const TRAILING: [char; 12] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '`'];

/// The target at the beginning of a text, and its length in bytes.
fn parse_target(text: &str) -> Option<(usize, MentionTarget)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = quoted.find(['"', '\n']).filter(|end| quoted[*end..].starts_with('"'))?;
        let (path, rest) = (quoted[..end].to_owned(), &quoted[end + 1..]);
        let in_range = |c: char| c.is_ascii_digit() || c == ':' || c == '-';
        let tail = rest.len() - rest.trim_start_matches(in_range).len();
        let range = rest[..tail].strip_prefix(':').and_then(LineRange::parse);
        let length = end + 2 + range.map_or(0, |_| tail);
        if let Some(resource) = resource(&path).filter(|_| range.is_none()) {
            return Some((length, resource));
        }
        return (!path.is_empty()).then_some((length, MentionTarget::Path { path, lines: range }));
    }
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_end_matches(TRAILING);
    if word.is_empty() {
        return None;
    }
    let session = word.strip_prefix("session:").and_then(|id| id.parse().ok());
    if let Some(resource) = resource(word) {
        return Some((word.len(), resource));
    }
    let names = match (session, LineRange::split(word)) {
        (Some(session), _) => MentionTarget::Session(session),
        (None, Some((path, lines))) => {
            MentionTarget::Path { path: path.to_owned(), lines: Some(lines) }
        }
        (None, None) => MentionTarget::Path { path: word.to_owned(), lines: None },
    };
    Some((word.len(), names))
}

/// The server and the address in `server:scheme:rest`. Without a scheme it would be a file, or lines of
/// one.
fn resource(written: &str) -> Option<MentionTarget> {
    let (server, uri) = written.split_once(':')?;
    let (scheme, rest) = uri.split_once(':')?;
    let mut letters = scheme.chars();
    let is_scheme = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    (!server.is_empty() && is_scheme && !rest.is_empty())
        .then(|| MentionTarget::Resource { server: server.to_owned(), uri: uri.to_owned() })
}

/// A resource as a mention writes it behind the sign: in quotes if it would not be read whole without
/// them.
pub fn quote_resource(server: &str, uri: &str) -> String {
    let written = format!("{server}:{uri}");
    let is_plain = !written.contains(char::is_whitespace) && !written.ends_with(TRAILING);
    if is_plain { written } else { format!("\"{written}\"") }
}

impl LineRange {
    /// Reads `10` or `10-40`.
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = match text.split_once('-') {
            Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
            None => {
                let line = text.parse().ok()?;
                (line, line)
            }
        };
        (first > 0 && first <= last).then_some(Self { first, last })
    }

    /// Splits a line range off the end of a path.
    fn split(word: &str) -> Option<(&str, Self)> {
        let (path, range) = word.rsplit_once(':')?;
        let range = Self::parse(range)?;
        (!path.is_empty()).then_some((path, range))
    }
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(f, "line {}", self.first),
            false => write!(f, "lines {} to {}", self.first, self.last),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(path: &str, lines: Option<(u64, u64)>) -> MentionTarget {
        let lines = lines.map(|(first, last)| LineRange { first, last });
        MentionTarget::Path { path: path.to_owned(), lines }
    }

    fn resource(server: &str, uri: &str) -> MentionTarget {
        MentionTarget::Resource { server: server.to_owned(), uri: uri.to_owned() }
    }

    #[test]
    fn a_text_names_paths_lines_sessions_and_resources() {
        let id = "0190a0a0-0000-7000-8000-000000000001";
        let session = format!("as in @session:{id}, please");
        let rows = [
            ("see @src/cart.rs.", vec![path("src/cart.rs", None)]),
            ("@a and (@b/)", vec![path("a", None), path("b/", None)]),
            ("@src/cart.rs:10-40", vec![path("src/cart.rs", Some((10, 40)))]),
            ("@src/cart.rs:7: here", vec![path("src/cart.rs", Some((7, 7)))]),
            ("@\"my notes.md\" and", vec![path("my notes.md", None)]),
            ("@\"my notes.md\":3-4 and", vec![path("my notes.md", Some((3, 4)))]),
            ("@src/cart.rs:40-10", vec![path("src/cart.rs:40-10", None)]),
            ("me@example.com @", vec![]),
            ("@\"open", vec![]),
            ("(@notes:note://a/b:7).", vec![resource("notes", "note://a/b:7")]),
            ("@\"my notes:note://a b.\" x", vec![resource("my notes", "note://a b.")]),
            ("@notes:urn:isbn:1?", vec![resource("notes", "urn:isbn:1")]),
            ("@src/cart.rs:10:20", vec![path("src/cart.rs:10", Some((20, 20)))]),
            ("@a:b:", vec![path("a:b", None)]),
            (session.as_str(), vec![MentionTarget::Session(id.parse().unwrap())]),
        ];
        for (text, want) in rows {
            let found: Vec<MentionTarget> =
                mentions(text).into_iter().map(|it| it.target).collect();
            assert_eq!(found, want, "{text}");
        }
        assert_eq!(mentions("see @src/cart.rs.")[0].span, 4..16);
    }

    proptest! {
        #[test]
        fn a_written_path_is_read_as_it_is(name in "[a-z .:0-9'()é/-]{1,20}") {
            let text = format!("look at @{} now", quote_path(&name));
            // What reads as a server and an address is looked up as that first.
            if let MentionTarget::Resource { server, uri } = &mentions(&text)[0].target {
                prop_assert_eq!(format!("{server}:{uri}"), name);
                return Ok(());
            }
            prop_assert_eq!(&mentions(&text)[0].target, &path(&name, None));
        }

        #[test]
        fn a_written_resource_is_read_as_it_is(
            server in "[a-z][a-z .-]{0,8}[a-z]", uri in "[a-z]{1,5}:[a-z .:0-9'(){}é/?#-]{1,20}",
        ) {
            let text = format!("look at @{} now", quote_resource(&server, &uri));
            prop_assert_eq!(&mentions(&text)[0].target, &resource(&server, &uri));
        }
    }
}
