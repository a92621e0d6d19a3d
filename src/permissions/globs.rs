//! What a word with a pattern or with braces in it may turn out to name, among the names that mean
//! something to slug, git, a shell or an editor: `.slu?/x`, `.s*`, `{.slug,y}/x`.
//!
//! For these names the file system is not asked: what is there when the command runs may have come
//! with it. As in bash, the dot at the beginning of a name has to be spelled, unless the command
//! switches that off; and so has the first letter of any other name here, or every `*` would mean
//! all of them. Behind such a letter an expansion may be anything: `.s$x`. What there is besides is
//! listed, for it may be a link, or denied by its name.

use std::path::{Path, PathBuf};

use super::paths::{FILES, FILES_BELOW, FOLDERS, START_UP_FILES, START_UP_FOLDERS};
use super::values::closed;

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

/// The ways to read a source word with a pattern or braces in it. What is an expansion stays one.
#[derive(Debug)]
pub(super) struct Ways {
    ways: Vec<Vec<Token>>,
    beginning: Beginning,
    is_crowded: bool,
}

/// Where patterns are looked for, and how much may still be looked at.
#[derive(Debug)]
pub(super) struct Places<'a> {
    /// The folders in which the command may be.
    pub(super) folders: &'a [PathBuf],
    /// The person's home folder.
    pub(super) home: Option<&'a Path>,
    /// So many entries more are listed.
    pub(super) left: usize,
}

impl Ways {
    /// Reads a word; one without pattern and braces has no ways here.
    pub(super) fn read(source: &str, beginning: Beginning) -> Self {
        if !source.contains(['*', '?', '[', '{', '(', '$', '`']) {
            return Self { ways: Vec::new(), beginning, is_crowded: false };
        }
        let chars = source.chars().collect();
        let mut reader = Reader { chars, at: 0, steps: 0, is_crowded: false };
        let ways = reader.sequence(0);
        Self { ways, beginning, is_crowded: reader.is_crowded }
    }

    /// The texts that it may become in which a component is one of the names that mean something.
    pub(super) fn meant(&self) -> Vec<String> {
        let named = self.ways.iter().flat_map(|way| with_names(way, self.beginning));
        let mut found: Vec<String> = named.take(MOST).collect();
        if self.is_crowded {
            found.push(FOLDERS[0].0.to_owned());
        }
        found
    }

    /// The texts that braces alone spell.
    pub(super) fn spelled(&self) -> impl Iterator<Item = String> {
        let is_plain = |way: &&Vec<Token>| way.iter().all(|it| matches!(it, Token::Char(_)));
        self.ways.iter().filter(is_plain).map(|way| shown(way))
    }

    /// Whether it may be a program of this name.
    pub(super) fn may_run(&self, name: &str) -> bool {
        self.ways.iter().any(|way| {
            let last = way.rsplit(|token| *token == Token::Char('/')).next().unwrap_or_default();
            // That the name of a program goes on with an expansion says too little.
            let is_said = |token: &&Token| !matches!(token, Token::Expansion(_));
            let last: Vec<Token> = last.iter().filter(is_said).cloned().collect();
            let says_something = last.iter().any(|token| matches!(token, Token::Char(_)));
            says_something && fits(&last, name, Beginning::Open)
        })
    }

    /// What is there at the moment that its patterns fit.
    pub(super) fn listed(&self, places: &mut Places<'_>) -> Vec<PathBuf> {
        let is_pattern = |way: &&Vec<Token>| {
            way.iter().any(|it| matches!(it, Token::One | Token::Many | Token::Rest))
        };
        let mut found = Vec::new();
        for way in self.ways.iter().filter(is_pattern) {
            let components: Vec<&[Token]> = way.split(|it| *it == Token::Char('/')).collect();
            let Some((folders, passed)) = starts(components[0], places) else { continue };
            for folder in folders {
                self.list(folder, &components[passed..], places, &mut found);
            }
        }
        found
    }

    fn list(
        &self,
        folder: PathBuf,
        components: &[&[Token]],
        places: &mut Places<'_>,
        found: &mut Vec<PathBuf>,
    ) {
        let Some((component, rest)) = components.split_first() else { return found.push(folder) };
        if component.iter().any(|token| matches!(token, Token::Expansion(_))) {
            return;
        }
        if component.iter().all(|token| matches!(token, Token::Char(_))) {
            return self.list(folder.join(shown(component)), rest, places, found);
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if places.left == 0 {
                return;
            }
            places.left -= 1;
            let name = entry.file_name();
            let lower = name.to_string_lossy().to_lowercase();
            let is_hidden = lower.starts_with('.') && self.beginning == Beginning::Spelled;
            if (!is_hidden || component.first() == Some(&Token::Char('.')))
                && fits(component, &lower, Beginning::Open)
            {
                self.list(folder.join(name), rest, places, found);
            }
        }
    }
}

/// The folders in which a way begins, and how many of its components say so.
fn starts(first: &[Token], places: &Places<'_>) -> Option<(Vec<PathBuf>, usize)> {
    let home = || places.home.map(|home| (vec![home.to_owned()], 1));
    match first {
        [] => Some((vec![PathBuf::from("/")], 1)),
        [Token::Char('~')] => home(),
        [Token::Expansion(name)] if name == "$HOME" || name == "${HOME}" => home(),
        [Token::Expansion(_)] => None,
        _ => Some((places.folders.to_vec(), 0)),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Char(char),
    /// `?`.
    One,
    /// `*`, and what may be anything of a name.
    Many,
    /// What is left of a name, whatever it says: a bracket in it is closed behind braces.
    Rest,
    /// `$…`: where a name begins, nothing; behind that, anything.
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
                '[' => vec![self.bracket(depth)],
                _ => {
                    self.is_crowded |= c == '{';
                    vec![self.tokens(c)]
                }
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
        if inside.is_empty() {
            // What is run may put something there, as `find -exec` and xargs do.
            return vec![vec![Token::Expansion("{}".into())]];
        }
        if inside.contains("..") {
            return vec![vec![Token::Many]];
        }
        let around =
            |part: Vec<Token>| [&[Token::Char('{')], &part[..], &[Token::Char('}')]].concat();
        parts.into_iter().map(around).collect()
    }

    /// Where a bracket ends depends on what is in it, and braces come first: up to the last one that
    /// closes in what surely belongs together it is anything.
    fn bracket(&mut self, depth: usize) -> Vec<Token> {
        self.at += 1;
        let rest = &self.chars[self.at..];
        if !rest.contains(&']') {
            return vec![Token::Char('[')];
        }
        let ends = |c: &char| *c == '/' || *c == '{' || (depth > 0 && (*c == ',' || *c == '}'));
        let together = rest.iter().position(ends).unwrap_or(rest.len());
        match rest[..together].iter().rposition(|c| *c == ']') {
            Some(end) => {
                self.at += end + 1;
                vec![Token::Many]
            }
            None => vec![Token::Rest],
        }
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
                let chars = inside.chars().collect();
                Self { chars, at: 0, steps: 0, is_crowded: false }.quoted()
            }
            '?' | '*' | '+' | '@' | '!' if next == Some('(') => {
                self.until(')');
                vec![Token::Many]
            }
            '*' => vec![Token::Many],
            '?' => vec![Token::One],
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

    /// What stands in double quotes: no patterns, but expansions.
    fn quoted(mut self) -> Vec<Token> {
        let mut tokens = Vec::new();
        while let Some(c) = self.chars.get(self.at).copied() {
            self.at += 1;
            let next = self.chars.get(self.at).copied();
            tokens.push(match (c, next) {
                ('\\', Some(escaped @ ('$' | '`' | '"' | '\\'))) => {
                    self.at += 1;
                    Token::Char(escaped)
                }
                ('$', _) => Token::Expansion(self.expansion(next)),
                ('`', _) => Token::Expansion(format!("`{}`", self.until('`'))),
                (_, _) => Token::Char(c),
            });
        }
        tokens
    }

    /// What is closed behind the place where it is opened.
    fn closed(&mut self, open: char, close: char) -> String {
        let rest: String = self.chars[self.at..].iter().collect();
        let inside = &rest[..closed(&rest, open, close)];
        self.at += inside.chars().count();
        format!("${inside}")
    }

    fn expansion(&mut self, next: Option<char>) -> String {
        match next {
            Some('{') => self.closed('{', '}'),
            Some('(') => self.closed('(', ')'),
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
    let begins_open = matches!(component.first(), Some(Token::Expansion(_)));
    let is_text = |token: &&Token| !(begins_open && matches!(token, Token::Expansion(_)));
    let rest: Vec<&Token> = component.iter().filter(is_text).collect();
    let is_spelled = || {
        let first = name.chars().next();
        matches!(rest.first(), Some(Token::Char(c)) if Some(c.to_ascii_lowercase()) == first)
    };
    (beginning == Beginning::Open || is_spelled()) && fits_from(&rest, name)
}

/// Step by step over all places that a name may have come to, for no pattern may take long.
fn fits_from(tokens: &[&Token], name: &str) -> bool {
    let chars: Vec<char> = name.chars().collect();
    let mut reached = vec![false; chars.len() + 1];
    reached[0] = true;
    for token in tokens {
        match token {
            Token::Rest => return reached.contains(&true),
            Token::Many | Token::Expansion(_) => {
                let first = reached.iter().position(|it| *it).unwrap_or(reached.len());
                reached[first..].fill(true);
            }
            Token::One | Token::Char(_) => {
                let fits = |c: char| match token {
                    Token::Char(wanted) => c == wanted.to_ascii_lowercase(),
                    Token::One | Token::Many | Token::Rest | Token::Expansion(_) => true,
                };
                for at in (0..chars.len()).rev() {
                    reached[at + 1] = reached[at] && fits(chars[at]);
                }
                reached[0] = false;
            }
        }
    }
    reached.last() == Some(&true)
}

fn shown(component: &[Token]) -> String {
    component.iter().fold(String::new(), |mut text, token| {
        match token {
            Token::Char(c) => text.push(*c),
            Token::One => text.push('?'),
            Token::Many | Token::Rest => text.push('*'),
            Token::Expansion(source) => text.push_str(source),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(source: &str, beginning: Beginning) -> Vec<String> {
        Ways::read(source, beginning).meant()
    }

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
            (".slu[[:lower:]]/x", ".slug/x"),
            (".slu[!]x]", ".slug"),
            (".slu[^]x]", ".slug"),
            (".slu[[=g=]]", ".slug"),
            (".slu[\\]g]", ".slug"),
            (".slu[\"]\"g]", ".slug"),
            (".sl[u{x,]}g", ".slug"),
            ("{[a],.slug}/x", ".slug/x"),
            ("{a,{b,{c,{d,{e,{f,{g,{.slug,h}}}}}}}}/x", ".slug"),
            (".s$x/y", ".slug/y"),
            ("\".sl$x/y\"", ".slug/y"),
            (".sl$(echo $(echo ug))/y", ".slug/y"),
            (".sl\"`echo ug`\"", ".slug"),
            ("\"$d\"/.$x", "$d/.slug"),
        ] {
            let meant = meant(source, Beginning::Spelled);
            assert!(meant.iter().any(|it| it == one_of_them), "{source}: {meant:?}");
        }
    }

    #[test]
    fn what_fits_no_such_name_means_nothing() {
        for source in [
            "*",
            "*.json",
            "src/*.rs",
            "?slug",
            "[.]slug",
            ".slugs*",
            "a{b,c}",
            "{a,b",
            "{}",
            "x{1..9}",
            "$X",
            "'.slu?'",
            "[",
            "",
            "$a$b",
            "\"$a.$b\"",
            "${f%.*}.$x",
            "a.$b",
            ".sx$a",
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
    fn s22_hostile_patterns_take_no_time() {
        let long = "a".repeat(250);
        for source in [format!(".{}q", "*".repeat(200)), format!("{}q", "*?".repeat(100))] {
            let ways = Ways::read(&source, Beginning::Open);
            assert!(!ways.may_run(&long) && !ways.may_run(".slug"), "{source}");
        }
        assert!(Ways::read("*a?a*", Beginning::Open).may_run(&long));
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
