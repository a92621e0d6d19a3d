//! Images that are dropped as paths, or pasted from the clipboard.
//!
//! This file decides what a paste stands for without reading the disk: text that consists only of
//! paths of image files is taken as such.

use std::path::{Path, PathBuf};

use crate::domain::MessageImage;

/// The most images that one paste can bring; a paste that names more files is text.
const MOST: usize = 16;
/// The longest paste that can be a list of paths, in bytes.
const LONGEST: usize = 16 * 1024;
/// The file extensions of images.
const ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// Where to read an image from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    File(PathBuf),
    /// The clipboard, unless there is text on it.
    Clipboard,
}

/// What was found at an [`ImageSource`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageLoadResult {
    /// An image, stored among the session's blobs.
    Image(MessageImage),
    /// Text: the clipboard holds no image.
    Text(String),
    /// Nothing: there is no such file.
    Nothing,
}

/// A path of an image file in a pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedFile {
    /// The path as it was pasted.
    pub text: String,
    /// The absolute path of the file.
    pub path: PathBuf,
}

/// The image files that a pasted text names; `None` if the text contains anything else.
pub fn dropped(text: &str, cwd: &Path, home: Option<&Path>) -> Option<Vec<DroppedFile>> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let files = words(text).and_then(|words| {
        let files = words.into_iter().map(|word| file(word, cwd, home));
        files.collect::<Option<Vec<_>>>()
    });
    // Some terminals do not quote a dropped path with spaces.
    let files = files.or_else(|| {
        let begins = ["/", "~/", "file://"].iter().any(|start| text.starts_with(start));
        let word = PastedWord { text: text.to_owned(), value: text.to_owned() };
        (begins && !text.contains('\n')).then(|| file(word, cwd, home))?.map(|file| vec![file])
    })?;
    (files.len() <= MOST).then_some(files)
}

/// A word as it was pasted, and the value that a shell would read.
struct PastedWord {
    text: String,
    value: String,
}

/// The words of a text. As in a shell, quotes and backslashes keep spaces within a word. `None` if
/// a quote is left open.
fn words(text: &str) -> Option<Vec<PastedWord>> {
    let mut words: Vec<PastedWord> = Vec::new();
    let mut open: Option<PastedWord> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if quote.is_none() && c.is_whitespace() {
            words.extend(open.take());
            continue;
        }
        let word =
            open.get_or_insert_with(|| PastedWord { text: String::new(), value: String::new() });
        word.text.push(c);
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(mark), _) if c == mark => quote = None,
            (None | Some('"'), '\\') => {
                let escaped = chars.next()?;
                word.text.push(escaped);
                word.value.push(escaped);
            }
            (None | Some(_), _) => word.value.push(c),
        }
    }
    words.extend(open);
    quote.is_none().then_some(words)
}

fn file(word: PastedWord, cwd: &Path, home: Option<&Path>) -> Option<DroppedFile> {
    let value = match word.value.strip_prefix("file://") {
        Some(rest) => decoded(rest.strip_prefix("localhost").unwrap_or(rest))?,
        None if word.value.contains("://") => return None,
        None => word.value,
    };
    let path = match value.strip_prefix("~/") {
        Some(rest) => home?.join(rest),
        None => cwd.join(&value),
    };
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    ENDINGS.contains(&ending.as_str()).then_some(DroppedFile { text: word.text, path })
}

/// The path of a `file://` address, with escapes such as `%20` decoded. `None` if it names another
/// machine.
fn decoded(text: &str) -> Option<String> {
    if !text.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Option<Vec<String>> {
        let found = dropped(text, Path::new("/work"), Some(Path::new("/home/ada")))?;
        Some(found.iter().map(|file| file.path.display().to_string()).collect())
    }

    #[test]
    fn a_paste_that_is_nothing_but_image_paths_names_them() {
        let rows: &[(&str, &[&str])] = &[
            ("/tmp/a.png", &["/tmp/a.png"]),
            (" /tmp/a.PNG\n", &["/tmp/a.PNG"]),
            ("shots/a.jpeg", &["/work/shots/a.jpeg"]),
            ("~/a.webp", &["/home/ada/a.webp"]),
            ("'/tmp/my shot.png'", &["/tmp/my shot.png"]),
            ("\"/tmp/my \\\"shot\\\".gif\"", &["/tmp/my \"shot\".gif"]),
            ("/tmp/my\\ shot.png", &["/tmp/my shot.png"]),
            ("/tmp/my shot.png", &["/tmp/my shot.png"]),
            ("/tmp/it's.png", &["/tmp/it's.png"]),
            ("file:///tmp/my%20sh%C3%B6t.jpg", &["/tmp/my shöt.jpg"]),
            ("file://localhost/tmp/a.jpg", &["/tmp/a.jpg"]),
            ("/tmp/a.png '/tmp/b c.png'", &["/tmp/a.png", "/tmp/b c.png"]),
            ("/tmp/a.png\nfile:///tmp/b.png\r\n", &["/tmp/a.png", "/tmp/b.png"]),
        ];
        for (text, wanted) in rows {
            assert_eq!(paths(text).unwrap_or_default(), *wanted, "{text:?}");
        }
    }

    #[test]
    fn other_text_stays_text() {
        for text in [
            "",
            "look at /tmp/a.png",
            "/tmp/a.txt",
            "/tmp/png",
            "file://elsewhere/tmp/a.png",
            "file:///tmp/a%zz.png",
            "https://example.org/a.png and more",
            "a.png\nis broken",
            &"/a.png ".repeat(17),
        ] {
            assert_eq!(paths(text), None, "{text:?}");
        }
    }
}
