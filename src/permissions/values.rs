//! What a word with variables in it says, where the command itself sets them: `a=.sl; cp x ${a}ug`.
//!
//! Good enough to refuse by, or to ask: a variable may be any of the values that are given to it
//! anywhere in the command, and nothing is cut, replaced or run. Where one is not known its source
//! stays in the text.

use super::words::Word;

/// A text that may be what a variable holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The variable; any may hold what is read from somewhere.
    pub name: Option<String>,
    /// The text.
    pub word: Word,
}

/// The name that stands for all arguments of a script or a function.
pub const ARGUMENTS: &str = "@";

/// As many texts are made of a word.
const MOST: usize = 512;
/// As many values are looked at for them.
const STEPS: usize = 20_000;
/// Variables in variables deeper than this are left as they are.
const DEEPEST: usize = 4;

/// The texts that a dynamic word may come to, and whether there are more of them.
pub fn texts(source: &str, carried: &[Carried]) -> (Vec<String>, bool) {
    if !source.contains('$') {
        return (Vec::new(), false);
    }
    let mut maker = Maker { carried, steps: 0, is_crowded: false, is_changed: false };
    let texts = maker.of_source(source, 0);
    let texts = if maker.is_changed { texts } else { Vec::new() };
    (texts, maker.is_crowded)
}

/// `NAME=value`, as builtins and wrappers take it.
pub fn assigned(word: &Word) -> Option<Carried> {
    let (name, value) = word.text.split_once('=')?;
    let name = name.trim_end_matches('+');
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let value = Word { text: value.to_owned(), kind: word.kind };
    is_name.then(|| Carried { name: Some(name.to_owned()), word: value })
}

struct Maker<'a> {
    carried: &'a [Carried],
    steps: usize,
    is_crowded: bool,
    is_changed: bool,
}

impl Maker<'_> {
    fn of_word(&mut self, word: &Word, depth: usize) -> Vec<String> {
        match word.known() {
            Some(text) => vec![text.to_owned()],
            None => self.of_source(&word.text, depth),
        }
    }

    fn of_source(&mut self, source: &str, depth: usize) -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut rest = source;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            let parts = match c {
                '"' => continue,
                '\'' => {
                    let (inside, after) = rest.split_once('\'').unwrap_or((rest, ""));
                    rest = after;
                    vec![inside.to_owned()]
                }
                '\\' => {
                    let escaped = rest.chars().next();
                    rest = &rest[escaped.map_or(0, char::len_utf8)..];
                    vec![escaped.map(String::from).unwrap_or_default()]
                }
                '$' => {
                    let (expansion, after) = expansion(rest);
                    rest = after;
                    self.of_expansion(expansion, depth)
                }
                _ => vec![c.to_string()],
            };
            if texts.len() * parts.len() > MOST {
                self.is_crowded = true;
                return texts;
            }
            let one = |text: &String, part: &String| format!("{text}{part}");
            texts = texts
                .iter()
                .flat_map(|text| parts.iter().map(move |part| one(text, part)))
                .collect();
        }
        texts
    }

    /// The values of what stands behind a `$`, or that as it stands.
    fn of_expansion(&mut self, expansion: &str, depth: usize) -> Vec<String> {
        let inside = expansion.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
        let text = inside.map_or(expansion, |it| it.trim_start_matches(['!', '#']));
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = match text.find(|c| !is_name(c)) {
            Some(0) => text.get(..1).unwrap_or_default(),
            Some(end) => &text[..end],
            None => text,
        };
        let is_argument =
            |name: &str| matches!(name, "@" | "*") || name.chars().all(|c| c.is_ascii_digit());
        let known = if !name.is_empty() && is_argument(name) { ARGUMENTS } else { name };
        let mut values: Vec<String> = Vec::new();
        if depth < DEEPEST && !name.is_empty() {
            let fits = |it: &&Carried| it.name.as_deref().is_none_or(|name| name == known);
            for carried in self.carried.iter().filter(fits) {
                self.steps += 1;
                self.is_crowded |= self.steps > STEPS;
                if self.is_crowded {
                    break;
                }
                values.extend(self.of_word(&carried.word, depth + 1));
            }
            let behind = text[name.len()..].trim_start_matches(':');
            if let Some(other) = behind.strip_prefix(['-', '=', '+']).filter(|_| inside.is_some()) {
                values.extend(self.of_source(other, depth + 1));
            }
        }
        values.sort_unstable();
        values.dedup();
        if values.is_empty() {
            return vec![format!("${expansion}")];
        }
        self.is_changed = true;
        values
    }
}

/// What belongs to an expansion behind its `$`, and what comes behind that.
fn expansion(rest: &str) -> (&str, &str) {
    let end = match rest.chars().next() {
        Some('{') => closed(rest, '{', '}'),
        Some('(') => closed(rest, '(', ')'),
        Some(c) if c.is_ascii_alphabetic() || c == '_' => {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            rest.find(|c| !is_name(c)).unwrap_or(rest.len())
        }
        Some(c) => c.len_utf8(),
        None => 0,
    };
    rest.split_at(end)
}

/// The length of what begins with `open`, up to where that is closed. Quotes are passed over.
pub fn closed(text: &str, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                chars.next();
            }
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(opening)) if c == opening => quote = None,
            (_, None) if c == open => depth += 1,
            (_, None) if c == close => {
                depth -= 1;
                if depth == 0 {
                    return at + c.len_utf8();
                }
            }
            (_, _) => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(values: &[(&str, &str)]) -> Vec<Carried> {
        let one = |(name, source): &(&str, &str)| Carried {
            name: (!name.is_empty()).then(|| (*name).to_owned()),
            word: Word::read(source),
        };
        values.iter().map(one).collect()
    }

    #[test]
    fn a_word_says_what_its_variables_hold() {
        for (values, source, said) in [
            (&[("a", ".sl")][..], "${a}ug/x", ".slug/x"),
            (&[("a", ".sl"), ("b", "ug")], "$a$b", ".slug"),
            (&[("a", ".sl"), ("b", "\"$a\"ug")], "\"$b/x\"", ".slug/x"),
            (&[("a", ".sl")], "${a[0]}'u'\\g", ".slug"),
            (&[("", ".sl")], "$line\"ug\"", ".slug"),
            (&[("@", "lug")], ".s$1", ".slug"),
            (&[], "${x:-.sl}ug", ".slug"),
            (&[("a", "x")], "${a}/$b/y", "x/$b/y"),
            (&[("a", "x")], "$a$(pwd)", "x$(pwd)"),
        ] {
            let (texts, _) = texts(source, &carried(values));
            assert!(texts.iter().any(|it| it == said), "{source}: {texts:?}");
        }
    }

    #[test]
    fn what_holds_nothing_known_says_nothing() {
        for source in ["$a", "a$", "${", "$(a)", "plain", "$$"] {
            assert_eq!(texts(source, &carried(&[("b", "x")])), (Vec::new(), false), "{source}");
        }
    }

    #[test]
    fn what_could_be_too_much_is_told() {
        let many: Vec<(String, String)> =
            (0..40).map(|at| ("a".to_owned(), format!("v{at}"))).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|(a, v)| (&**a, &**v)).collect();
        assert!(texts("$a$a", &carried(&many)).1);
        // A variable that holds itself comes to an end.
        assert!(texts("$a", &carried(&[("a", "$a$a")])).0.len() <= MOST);
    }

    #[test]
    fn what_is_assigned_has_a_name() {
        let name = |text: &str| assigned(&Word::literal(text)).and_then(|it| it.name);
        assert_eq!(name("a=b"), Some("a".into()));
        assert_eq!((name("--x=b"), name("=b"), name("1=b"), name("a")), (None, None, None, None));
    }

    proptest::proptest! {
        #[test]
        fn any_word_is_read_without_a_panic(source in "[-.a-c$@{}()'\"\\\\:!1é]{0,30}") {
            let values = carried(&[("a", "$b$a"), ("b", "x"), ("", "y"), ("@", "$1")]);
            proptest::prop_assert!(texts(&source, &values).0.len() <= MOST);
        }
    }
}
