//! The definitions that hold for a whole text (addresses of link references, and footnotes), and
//! the labels that could refer to them.
//!
//! Labels are matched a little more loosely here than by the parser: an extra match only costs
//! time, a missed one would leave a link out of date.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A label, and what it stands for everywhere in the text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LabelDefinition {
    label: String,
    meaning: DefinitionTarget,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum DefinitionTarget {
    Address(String),
    Note,
}

impl LabelDefinition {
    pub(super) fn link(label: &str, address: &str) -> Self {
        Self { label: label.into(), meaning: DefinitionTarget::Address(address.into()) }
    }

    pub(super) fn note(label: &str) -> Self {
        Self { label: label.into(), meaning: DefinitionTarget::Note }
    }

    /// The key by which references to the label are found.
    pub(super) fn key(&self) -> String {
        match self.meaning {
            DefinitionTarget::Address(_) => key(&self.label),
            DefinitionTarget::Note => key(&format!("^{}", self.label)),
        }
    }

    fn write(&self, out: &mut String) {
        let label = &self.label;
        // Writing to a string cannot fail.
        let _ = match &self.meaning {
            DefinitionTarget::Address(address) => {
                // On one line it would read as a footnote.
                let end = if label.starts_with('^') { "\n" } else { "" };
                writeln!(out, "[{label}{end}]: <{}>", encoded(address))
            }
            DefinitionTarget::Note => writeln!(out, "[^{label}]: x\n"),
        };
    }
}

/// Definitions by the key of their references.
#[derive(Debug, Default)]
pub(super) struct LabelDefinitions {
    known: BTreeMap<String, Vec<LabelDefinition>>,
}

impl LabelDefinitions {
    /// Adds a definition unless it is known: the first one in a text is the one that holds.
    pub(super) fn add(&mut self, definition: LabelDefinition) {
        if !self.contains(&definition) {
            self.known.entry(definition.key()).or_default().push(definition);
        }
    }

    pub(super) fn contains(&self, definition: &LabelDefinition) -> bool {
        let known = self.known.get(&definition.key());
        known.is_some_and(|known| known.contains(definition))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The definitions that `labels` could refer to, as Markdown to put in front of a text so that
    /// the parser knows them and reads the text as if it stood alone. Empty if there are none.
    pub(super) fn preface(&self, open: &Self, labels: &LabelSet) -> String {
        let mut wanted = self.wanted(labels);
        wanted.extend(open.wanted(labels));
        if wanted.is_empty() {
            return String::new();
        }
        // What follows a footnote could be read as more of it, so footnotes come last.
        let (links, notes): (Vec<_>, Vec<_>) = wanted
            .into_iter()
            .partition(|definition| matches!(definition.meaning, DefinitionTarget::Address(_)));
        let mut text = String::new();
        for definition in links.into_iter().chain(notes) {
            definition.write(&mut text);
        }
        text.push_str("\n***\n\n");
        text
    }

    /// The definitions that `labels` could refer to. The cost grows with the number of labels.
    fn wanted(&self, labels: &LabelSet) -> Vec<&LabelDefinition> {
        match labels {
            LabelSet::Any => self.known.values().flatten().collect(),
            LabelSet::Known(keys) => {
                keys.iter().filter_map(|key| self.known.get(key)).flatten().collect()
            }
        }
    }
}

impl FromIterator<LabelDefinition> for LabelDefinitions {
    fn from_iter<I: IntoIterator<Item = LabelDefinition>>(all: I) -> Self {
        let mut definitions = Self::default();
        all.into_iter().for_each(|definition| definitions.add(definition));
        definitions
    }
}

/// The labels in a text that could refer to a definition.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LabelSet {
    Known(BTreeSet<String>),
    /// At least one label cannot be determined from the text alone.
    Any,
}

impl LabelSet {
    pub(super) fn of(text: &str) -> Self {
        let mut keys = BTreeSet::new();
        let mut start = None;
        let mut bytes = text.bytes().enumerate();
        while let Some((at, byte)) = bytes.next() {
            match byte {
                // After a bracket the parser takes an escaped bracket for the start of a label.
                b'\\' => match bytes.next() {
                    Some((at, b'[')) if start.is_none() => start = Some(at + 1),
                    Some((_, b'[')) => return Self::Any,
                    Some(_) | None => {}
                },
                b'[' => start = Some(at + 1),
                b']' => {
                    let Some(label) = start.take().map(|start| &text[start..at]) else { continue };
                    // Across line ends there are marks of the containers, and tables read escapes
                    // differently.
                    if label.contains(['\n', '\r', '\\']) {
                        return Self::Any;
                    }
                    keys.insert(key(label));
                }
                _ => {}
            }
        }
        Self::Known(keys)
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Known(keys) if keys.is_empty())
    }
}

/// Which frozen parts contain which labels.
#[derive(Debug, Default)]
pub(super) struct ReferenceIndex {
    by_key: BTreeMap<String, Vec<usize>>,
    any: Vec<usize>,
}

impl ReferenceIndex {
    pub(super) fn add(&mut self, part: usize, labels: LabelSet) {
        match labels {
            LabelSet::Known(keys) => {
                for key in keys {
                    self.by_key.entry(key).or_default().push(part);
                }
            }
            LabelSet::Any => self.any.push(part),
        }
    }

    /// The parts that could refer to `definition`.
    pub(super) fn to(&self, definition: &LabelDefinition) -> impl Iterator<Item = usize> {
        let known = self.by_key.get(&definition.key()).map_or(&[][..], Vec::as_slice);
        known.iter().chain(&self.any).copied()
    }
}

/// The same key for all labels that are equal to the parser: runs of white space count as one
/// space, and case does not matter. Lower case, upper case and lower case again, since some letters
/// have irregular case mappings.
fn key(label: &str) -> String {
    let words: Vec<&str> = label.split_ascii_whitespace().collect();
    words.join(" ").to_lowercase().to_uppercase().to_lowercase()
}

/// An address with each special character as a numeric entity, so that the parser finds no markup
/// in it.
fn encoded(address: &str) -> Cow<'_, str> {
    let means = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '\0';
    if !address.contains(means) {
        return Cow::Borrowed(address);
    }
    let mut out = String::with_capacity(address.len() * 2);
    for c in address.chars() {
        if means(c) {
            let _ = write!(out, "&#{};", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(keys: &[&str]) -> LabelSet {
        LabelSet::Known(keys.iter().map(|&key| key.to_owned()).collect())
    }

    #[test]
    fn labels_are_texts_in_brackets() {
        for (text, labels) in [
            ("plain", known(&[])),
            ("[A  b][c] [^1] [x](y)", known(&["a b", "c", "^1", "x"])),
            ("[a [b] c]", known(&["b"])),
            (r"\[a] ]b[", known(&["a"])),
            (r"[a\[b]", LabelSet::Any),
            ("[Straße] [STRASSE] [\u{1e9e}]", known(&["strasse", "ss"])),
            ("[a\n> b]", LabelSet::Any),
            (r"[a\|b]", LabelSet::Any),
        ] {
            assert_eq!(LabelSet::of(text), labels, "{text:?}");
        }
    }

    #[test]
    fn a_preface_is_read_as_what_was_defined() {
        let mut definitions = LabelDefinitions::default();
        definitions.add(LabelDefinition::link("A b", "/x y>\\<`*[1]&amp;\n"));
        definitions.add(LabelDefinition::link("^ c", "/c"));
        definitions.add(LabelDefinition::note("n"));
        definitions.add(LabelDefinition::link("unasked", "/z"));
        let preface =
            definitions.preface(&LabelDefinitions::default(), &LabelSet::of("[^ C] [a B] [^N]"));
        let text = format!("{preface}    [a B] is code\n\n[a B]");
        let parser = crate::tui::layout::markdown::events::parser(&text);
        let links = parser.reference_definitions();
        assert_eq!(links.iter().count(), 2);
        assert_eq!(&*links.get("a B").unwrap().dest, "/x y>\\<`*[1]&amp;\n");
        assert_eq!(&*links.get("^ c").unwrap().dest, "/c");
        let own = parser.into_offset_iter().filter(|(_, range)| range.start >= preface.len());
        let starts: Vec<_> = own
            .filter_map(|(event, _)| match event {
                pulldown_cmark::Event::Start(tag) => Some(format!("{tag:?}")),
                _ => None,
            })
            .collect();
        assert!(starts[0].starts_with("CodeBlock") && starts[2].starts_with("Link"), "{starts:?}");
        assert_eq!(definitions.preface(&LabelDefinitions::default(), &LabelSet::of("[c]")), "");
    }
}
