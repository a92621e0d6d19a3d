//! What a word with a pattern or with braces in it may turn out to name, among the names that mean
//! something to slug, git, a shell or an editor: `.slu?/x`, `.s*`, `{.slug,y}/x`.
//!
//! The file system is not asked: what is there when the command runs may have come with it. As in
//! bash, the dot at the beginning of a name has to be spelled, unless the command switches that off;
//! and so has the first letter of any other name here, or every `*` would mean all of them.

use super::paths::{FILES, FILES_BELOW, FOLDERS, START_UP_FILES, START_UP_FOLDERS};

/// As many ways to read a word are looked at; one with more may name anything.
const MOST: usize = 64;

/// Braces in braces deeper than this are read as text.
const DEEPEST: usize = 6;

/// As many steps are taken to read a word, since braces that are not closed are read again.
const STEPS: usize = 10_000;

/// What a pattern may begin with where a name begins with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// The dot itself.
    Spelled,
    /// Anything: the command may switch bash to that.
    Open,
}

impl Beginning {
    /// How it is in a command.
    pub(super) fn of(command: &str) -> Self {
        let switches = ["dotglob", "extglob", "GLOBIGNORE", "BASHOPTS", "SHELLOPTS"];
        if switches.iter().any(|it| command.contains(it)) { Self::Open } else { Self::Spelled }
    }
}

/// The texts that a source word may become in which a component is one of those names. What is an
/// expansion in it stays one.
pub(super) fn meant(source: &str, beginning: Beginning) -> Vec<String> {
    if !source.contains(['*', '?', '[', '{', '(']) {
        return Vec::new();
    }
    let mut reader = Reader { chars: source.chars().collect(), at: 0, steps: 0, is_crowded: false };
    let words = reader.sequence(0);
    let mut found: Vec<String> =
        words.iter().flat_map(|word| with_names(word, beginning)).take(MOST).collect();
    if reader.is_crowded {
        found.push(FOLDERS[0].0.to_owned());
    }
    found
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Char(char),
    /// `?` or `[…]`.
    One,
    /// `*`, and what may be anything of a name.
    Many,
    /// `$…`: in a name, nothing.
    Expansion(String),
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    steps: usize,
    is_crowded: bool,
}

impl Reader {
    /// The ways to read what comes, up to where a part of braces ends.
    fn sequence(&mut self, depth: usize) -> Vec<Vec<Token>> {
        let mut ways = vec![Vec::new()];
        while let Some(c) = self.chars.get(self.at).copied() {
            if depth > 0 && (c == ',' || c == '}') {
                break;
            }
            self.steps += 1;
            if self.steps > STEPS {
                self.is_crowded = true;
                self.at = self.chars.len();
                return ways;
            }
            let parts = match c {
                '{' if depth < DEEPEST => self.braces(depth),
                _ => vec![self.tokens(c)],
            };
            if ways.len() * parts.len() > MOST {
                self.is_crowded = true;
                return ways;
            }
            let one = |way: &Vec<Token>, part: &Vec<Token>| [&way[..], part].concat();
            ways =
                ways.iter().flat_map(|way| parts.iter().map(move |part| one(way, part))).collect();
        }
        ways
    }

    fn braces(&mut self, depth: usize) -> Vec<Vec<Token>> {
        let from = self.at;
        let mut parts = Vec::new();
        let mut commas = 0;
        loop {
            self.at += 1;
            parts.extend(self.sequence(depth + 1));
            match self.chars.get(self.at) {
                Some(',') => commas += 1,
                Some(_) => break,
                None => {
                    // They are not closed.
                    self.at = from + 1;
                    return vec![vec![Token::Char('{')]];
                }
            }
        }
        self.at += 1;
        if commas > 0 {
            return parts;
        }
        let inside: String = self.chars[from + 1..self.at - 1].iter().collect();
        if inside.contains("..") {
            return vec![vec![Token::Many]];
        }
        let around =
            |part: Vec<Token>| [&[Token::Char('{')], &part[..], &[Token::Char('}')]].concat();
        parts.into_iter().map(around).collect()
    }

    fn tokens(&mut self, c: char) -> Vec<Token> {
        self.at += 1;
        let next = self.chars.get(self.at).copied();
        match c {
            '\\' => {
                self.at += 1;
                next.map(Token::Char).into_iter().collect()
            }
            '\'' => self.until('\'').chars().map(Token::Char).collect(),
            '"' => {
                let inside = self.in_double_quotes();
                let plain = !inside.contains(['$', '`', '\\']);
                match plain {
                    true => inside.chars().map(Token::Char).collect(),
                    false => vec![Token::Expansion(inside)],
                }
            }
            '?' | '*' | '+' | '@' | '!' if next == Some('(') => {
                self.until(')');
                vec![Token::Many]
            }
            '*' => vec![Token::Many],
            '?' => vec![Token::One],
            '[' => match self.chars[self.at..].iter().skip(1).position(|c| *c == ']') {
                Some(end) => {
                    self.at += end + 2;
                    vec![Token::One]
                }
                None => vec![Token::Char('[')],
            },
            '$' => vec![Token::Expansion(self.expansion(next))],
            '`' => vec![Token::Expansion(format!("`{}`", self.until('`')))],
            _ => vec![Token::Char(c)],
        }
    }

    /// What comes up to this character, which is passed over.
    fn until(&mut self, end: char) -> String {
        let rest = &self.chars[self.at.min(self.chars.len())..];
        let length = rest.iter().position(|c| *c == end).unwrap_or(rest.len());
        let inside = rest[..length].iter().collect();
        self.at += length + 1;
        inside
    }

    /// What comes up to the quote that closes: those in a substitution do not.
    fn in_double_quotes(&mut self) -> String {
        let from = self.at;
        let mut depth = 0_usize;
        while let Some(c) = self.chars.get(self.at) {
            match c {
                '\\' => self.at += 1,
                '(' if depth > 0 || self.chars[self.at - 1] == '$' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                '"' if depth == 0 => break,
                _ => {}
            }
            self.at += 1;
        }
        let end = self.at.min(self.chars.len());
        self.at = end + 1;
        self.chars[from..end].iter().collect()
    }

    fn expansion(&mut self, next: Option<char>) -> String {
        match next {
            Some('{') => format!("${}}}", self.until('}')),
            Some('(') => format!("${})", self.until(')')),
            _ => {
                let rest = &self.chars[self.at..];
                let is_name = |c: &&char| c.is_ascii_alphanumeric() || **c == '_';
                let length = rest.iter().take_while(is_name).count();
                let name: String = rest[..length].iter().collect();
                self.at += length;
                format!("${name}")
            }
        }
    }
}

/// A word with each of its components as it stands or as the names that it may be; only where one of
/// them is such a name.
fn with_names(word: &[Token], beginning: Beginning) -> Vec<String> {
    let mut texts = vec![(String::new(), false)];
    for (at, component) in word.split(|token| *token == Token::Char('/')).enumerate() {
        let names: Vec<&str> = names().filter(|name| fits(component, name, beginning)).collect();
        let shown = [(shown(component), false)];
        let named: Vec<(String, bool)> =
            names.into_iter().map(|name| (name.to_owned(), true)).collect();
        let parts = if named.is_empty() { &shown[..] } else { &named[..] };
        let slash = if at > 0 { "/" } else { "" };
        let one = |(text, is_named): &(String, bool), (part, named): &(String, bool)| {
            (format!("{text}{slash}{part}"), *is_named || *named)
        };
        texts = texts
            .iter()
            .flat_map(|text| parts.iter().map(move |part| one(text, part)))
            .take(MOST)
            .collect();
    }
    texts.into_iter().filter(|(_, is_named)| *is_named).map(|(text, _)| text).collect()
}

/// All names that mean something, component by component.
fn names() -> impl Iterator<Item = &'static str> {
    let folders = FOLDERS.iter().map(|(name, _)| *name);
    let files = FILES.iter().map(|(name, _)| *name);
    let below = FILES_BELOW.iter().flat_map(|(folder, name, _)| [*folder, *name]);
    let of_home = START_UP_FOLDERS.iter().flat_map(|path| path.split('/'));
    folders.chain(files).chain(below).chain(START_UP_FILES).chain(of_home)
}

fn fits(component: &[Token], name: &str, beginning: Beginning) -> bool {
    let rest: Vec<&Token> =
        component.iter().filter(|token| !matches!(token, Token::Expansion(_))).collect();
    let is_spelled = || {
        let first = name.chars().next();
        matches!(rest.first(), Some(Token::Char(c)) if Some(c.to_ascii_lowercase()) == first)
    };
    (beginning == Beginning::Open || is_spelled()) && fits_from(&rest, name)
}

fn fits_from(tokens: &[&Token], name: &str) -> bool {
    let Some((token, rest)) = tokens.split_first() else { return name.is_empty() };
    let mut chars = name.chars();
    match token {
        Token::Many => {
            (0..=name.len()).any(|at| name.get(at..).is_some_and(|left| fits_from(rest, left)))
        }
        Token::One => chars.next().is_some() && fits_from(rest, chars.as_str()),
        Token::Char(c) => {
            chars.next() == Some(c.to_ascii_lowercase()) && fits_from(rest, chars.as_str())
        }
        Token::Expansion(_) => fits_from(rest, name),
    }
}

fn shown(component: &[Token]) -> String {
    component.iter().fold(String::new(), |mut text, token| {
        match token {
            Token::Char(c) => text.push(*c),
            Token::One => text.push('?'),
            Token::Many => text.push('*'),
            Token::Expansion(source) => text.push_str(source),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_the_names_that_it_fits() {
        for (source, one_of_them) in [
            (".slu?/settings.json", ".slug/settings.json"),
            (".s*/x", ".slug/x"),
            (".[s]lug/x", ".slug/x"),
            (".SL*G", ".slug"),
            ("'.sl'*/x", ".slug/x"),
            (".\\slu?", ".slug"),
            ("{.slug,y}/x", ".slug/x"),
            (".sl{ug/settings,x}.json", ".slug/settings.json"),
            (".{a,{b,sl}}ug/x", ".slug/x"),
            (".slu{f..h}/x", ".slug/x"),
            ("$X/.slu?/x", "$X/.slug/x"),
            ("${HOME}/.bash?c", "${HOME}/.bashrc"),
            ("~/.ss*/id", "~/.ssh/id"),
            ("../.mc?.json", "../.mcp.json"),
            (".carg?/config.tom?", ".cargo/config.toml"),
            ("mise.tom?", "mise.toml"),
            (".@(slug)", ".slug"),
        ] {
            let meant = meant(source, Beginning::Spelled);
            assert!(meant.iter().any(|it| it == one_of_them), "{source}: {meant:?}");
        }
    }

    #[test]
    fn what_fits_no_such_name_means_nothing() {
        for source in [
            "*", "*.json", "src/*.rs", "?slug", "[.]slug", ".slugs*", "a{b,c}", "{a,b", "{}",
            "x{1..9}", "$X", "'.slu?'", "[", "",
        ] {
            assert_eq!(meant(source, Beginning::Spelled), Vec::<String>::new(), "{source}");
        }
        assert!(
            meant("*lug", Beginning::of("shopt -s dotglob; cp x *lug")).contains(&".slug".into())
        );
        assert!(!meant(&"{a,b}".repeat(9), Beginning::Spelled).is_empty());
        let message = "\"$(cat <<'E'\nsay \"a\" to .s* and {b,c}\nE\n)\"";
        assert!(meant(message, Beginning::Spelled).is_empty());
    }

    #[test]
    fn s22_hostile_braces_take_no_time() {
        for source in ["{".repeat(10_000), "{a,".repeat(10_000), "{,}".repeat(10_000)] {
            assert!(!meant(&source, Beginning::Spelled).is_empty());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_word_is_read_without_a_panic(source in "[-.a-z*?{},\\[\\]()$'\"`\\\\/@!]{0,40}") {
            for beginning in [Beginning::Spelled, Beginning::Open] {
                proptest::prop_assert!(meant(&source, beginning).len() <= MOST + 1);
            }
        }
    }
}
