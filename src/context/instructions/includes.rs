//! `@path` in an instruction file: where it counts, and which paths are never included. Reading is the
//! business of the room above.

use std::ops::Range;
use std::path::{Component, Path};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::domain::sanitize::sanitize_line;

/// How many files deep one includes another.
pub(super) const MAX_DEPTH: usize = 4;
/// The most files that are included in all.
pub(super) const MAX_FILES: usize = 50;
/// The most `@` of one file that are looked at.
const MAX_NAMES: usize = 500;
/// Hidden folders that people keep texts for agents in.
const OPEN_FOLDERS: [&str; 6] = [".slug", ".claude", ".agents", ".github", ".cursor", ".codex"];

/// The names behind `@` in a Markdown text, each once. In code and in HTML there are none.
pub(super) fn included(text: &str) -> Vec<String> {
    if !text.contains('@') {
        return Vec::new();
    }
    let opaque = opaque_ranges(text);
    let mut names: Vec<String> = Vec::new();
    for (at, _) in text.match_indices('@').take(MAX_NAMES) {
        let is_begin = text[..at].chars().next_back().is_none_or(char::is_whitespace);
        if !is_begin || opaque.iter().any(|range| range.contains(&at)) {
            continue;
        }
        let rest = &text[at + 1..];
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches(['.', ',', ';', ':', ')', '!', '?', '"', '\'']);
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Where the text is code or HTML.
fn opaque_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut block = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) => block = Some(range.start),
            Event::End(TagEnd::CodeBlock | TagEnd::HtmlBlock) => {
                ranges.extend(block.take().map(|start| start..range.end));
            }
            Event::Code(_) | Event::InlineHtml(_) | Event::Html(_) => ranges.push(range),
            _ => {}
        }
    }
    ranges
}

/// Whether a name that leads to nothing was meant as a file. `@name` alone names somebody, and
/// `@scope/name` a package.
pub(super) fn looks_like_text(name: &str) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|it| it.eq_ignore_ascii_case("md") || it.eq_ignore_ascii_case("txt"))
}

/// Whether a path below `folder` passes a symbolic link, or is none that can be resolved.
pub(super) fn passes_link(path: &Path, folder: &Path) -> bool {
    let (Ok(real), Ok(root)) = (path.canonicalize(), folder.canonicalize()) else { return true };
    path.strip_prefix(folder).map_or(true, |below| real != root.join(below))
}

/// Whether a file is one that people keep keys and the like in, such as `.env` or what is in `.git`.
pub(super) fn is_hidden(path: &Path, folder: &Path) -> bool {
    let below = path.strip_prefix(folder).unwrap_or(path);
    below.components().any(|part| match part {
        Component::Normal(name) => {
            let name = name.to_string_lossy();
            name.starts_with('.') && !OPEN_FOLDERS.contains(&&*name)
        }
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            false
        }
    })
}

/// A path as a heading or a warning has it.
pub(super) fn shown(path: &Path, folder: &Path) -> String {
    sanitize_line(&path.strip_prefix(folder).unwrap_or(path).to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_outside_of_code_and_html() {
        let text = "@docs/a.md and (see @no.md), @b.md.\n`@c.md` ``x @d.md``\n\n```\n@e.md\n```\n\n    \
                    @f.md\n\n<!-- @g.md -->\n\n- me@h.md @docs/a.md\n\n@last.txt";
        assert_eq!(included(text), ["docs/a.md", "no.md", "b.md", "last.txt"]);
        assert!(included("no names").is_empty() && included("@ @.").is_empty());
    }

    #[test]
    fn an_open_block_of_code_hides_what_follows() {
        assert!(included("~~~\n@a.md\n").is_empty());
        assert_eq!(included(&"@x ".repeat(100_000)), ["x"]);
    }

    #[test]
    fn hidden_files_are_none_to_include() {
        let is_hidden = |path: &str| is_hidden(&Path::new("/w/.x").join(path), Path::new("/w/.x"));
        assert!(is_hidden(".env") && is_hidden(".git/config") && is_hidden("a/.ssh/id"));
        assert!(!is_hidden("docs/a.md") && !is_hidden(".claude/style.md"));
    }
}
