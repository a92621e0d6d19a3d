//! The patterns in the brackets of rules: word patterns for Bash, path patterns for file tools.
//!
//! A Bash pattern is matched word by word, on words without quotes: `npm *` is `npm` with any
//! arguments or none, `git status` is exactly that. In a path pattern `*` stays in one component
//! and `**` crosses components. In doubt a pattern denies more and allows less, so both kinds are
//! told the rule's [`MatchPurpose`].

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use globset::{Glob, GlobMatcher};

use super::paths::{ResolvedPath, Workspace};
use super::programs;
use super::shell::{ShellWord, SimpleCommand, WrappedCommands};
use super::words::show;
use super::wrappers::{base_name, has_subcommands};
use crate::domain::parse_glob;

/// Deeper paths than this occur in no real project.
pub const MAX_DEPTH: usize = 128;

/// Whether a match restricts or allows, which decides what happens in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchPurpose {
    /// A deny or ask rule: in doubt it matches.
    Restrict,
    /// An allow rule: in doubt it does not match.
    Allow,
}

/// How closely a rule matches a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleMatchKind {
    /// The rule names exactly these words.
    Exact,
    /// A wildcard stands for some of the words.
    Wildcard,
}

/// The pattern of a `Bash(…)` rule: assignments in front, then words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashPattern {
    assignments: Vec<PatternWord>,
    words: Vec<PatternWord>,
}

/// What the wildcards of a pattern stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WildcardScope<'a> {
    /// The pattern has no wildcards.
    Nothing,
    /// Arguments of this program.
    Arguments(&'a str),
    /// The program itself.
    Program,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternWord {
    /// Exactly these characters.
    Exact(String),
    /// Pieces with anything between them, within one word.
    Glued(Vec<String>),
    /// Any number of words.
    Any,
}

/// The pattern of a rule on paths, compiled for its purpose.
#[derive(Debug, Clone)]
pub struct PathPattern {
    matchers: Vec<LazyGlobMatcher>,
    purpose: MatchPurpose,
}

/// A glob, and the literal text that each path it matches begins with. That text alone rules out
/// most of hundreds of rules before a glob is tried.
#[derive(Debug, Clone)]
struct LazyGlobMatcher {
    start: String,
    glob: Glob,
    /// Compiled for the first path that begins with `start`; most rules never see one.
    compiled: OnceLock<GlobMatcher>,
}

impl BashPattern {
    /// Reads a pattern. `name:*` at the end, as other agents write it, means `name *`.
    ///
    /// # Errors
    ///
    /// Fails when the pattern is empty, ends in a backslash or has an unclosed quote; the text says
    /// which.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = Vec::new();
        for pieces in split_words(text)? {
            words.push(match pieces.as_slice() {
                [only] => PatternWord::Exact(only.clone()),
                [first, last] if first.is_empty() && last.is_empty() => PatternWord::Any,
                _ => PatternWord::Glued(pieces),
            });
        }
        if let Some(PatternWord::Glued(pieces)) = words.last()
            && let [stem, end] = pieces.as_slice()
            && let (Some(stem), true) = (stem.strip_suffix(':'), end.is_empty())
        {
            let stem = stem.to_owned();
            words.pop();
            words.extend([PatternWord::Exact(stem), PatternWord::Any]);
        }
        if words.is_empty() {
            return Err("the pattern is empty".into());
        }
        let count = words.iter().take_while(|word| word.is_assignment()).count();
        let rest = words.split_off(count);
        Ok(Self { assignments: words, words: rest })
    }

    /// A word with a `*` glued to it, which is rarely what the user meant. Slug warns about it.
    pub fn glued(&self) -> Option<String> {
        self.words.iter().find_map(|word| match word {
            PatternWord::Glued(pieces) => Some(pieces.join("*")),
            PatternWord::Exact(_) | PatternWord::Any => None,
        })
    }

    /// What the wildcards of the pattern stand for.
    pub fn leaves_open(&self) -> WildcardScope<'_> {
        let wild = |word: &PatternWord| !matches!(word, PatternWord::Exact(_));
        match self.words.split_first() {
            Some((PatternWord::Exact(name), rest)) if rest.iter().any(wild) => {
                WildcardScope::Arguments(base_name(name))
            }
            // A glued `*` is the rest of one name; slug warns about it separately.
            Some((PatternWord::Exact(_) | PatternWord::Glued(_), _)) | None => {
                WildcardScope::Nothing
            }
            Some((PatternWord::Any, _)) => WildcardScope::Program,
        }
    }

    /// Whether the words before the first wildcard begin a command of the table of plain programs.
    /// The wildcards then cover only the effects that the table knows.
    pub fn is_limited(&self) -> bool {
        let words = self.words.iter().map_while(|word| match word {
            PatternWord::Exact(text) => Some(text.as_str()),
            PatternWord::Glued(_) | PatternWord::Any => None,
        });
        self.assignments.is_empty() && programs::is_listed(&words.collect::<Vec<_>>())
    }

    /// Whether `word` stands literally in the pattern.
    pub fn contains_word(&self, word: &str) -> bool {
        self.words.iter().any(|it| matches!(it, PatternWord::Exact(text) if text == word))
    }

    /// The words before the first wildcard, joined by spaces.
    pub fn beginning(&self) -> String {
        let words = self.words.iter().map_while(|word| match word {
            PatternWord::Exact(text) => Some(text.as_str()),
            PatternWord::Glued(_) | PatternWord::Any => None,
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// The name that a command must have to match; `None` where a wildcard stands for the name.
    pub(super) fn name(&self) -> Option<&str> {
        match self.words.first()? {
            PatternWord::Exact(name) => Some(name),
            PatternWord::Glued(_) | PatternWord::Any => None,
        }
    }

    /// Whether and how closely the pattern matches a simple command.
    pub fn fits(&self, command: &SimpleCommand, purpose: MatchPurpose) -> Option<RuleMatchKind> {
        let assigned = self.assignments.len() == command.assignments.len()
            && self.assignments.iter().zip(&command.assignments).all(|(pattern, (name, value))| {
                let fixed = value.known().is_some();
                fixed && pattern.fits(&format!("{name}={}", value.text), purpose)
            });
        let assignments_fit = match purpose {
            MatchPurpose::Allow => assigned,
            MatchPurpose::Restrict => assigned || self.assignments.is_empty(),
        };
        let words_fit = self.words_fit(&command.words, purpose)
            || (purpose == MatchPurpose::Restrict && self.fits_behind_options(&command.words));
        if !assignments_fit || !words_fit {
            return None;
        }
        let exact =
            self.words.iter().chain(&self.assignments).all(|w| matches!(w, PatternWord::Exact(_)));
        Some(if exact { RuleMatchKind::Exact } else { RuleMatchKind::Wildcard })
    }

    /// Whether a restricting pattern matches words from text that did not parse.
    pub fn fits_rough(&self, words: &[ShellWord]) -> bool {
        self.words_fit(words, MatchPurpose::Restrict) || self.fits_behind_options(words)
    }

    /// Whether the pattern names a subcommand that stands behind options: `git push *` also matches
    /// `git -C folder push`.
    fn fits_behind_options(&self, words: &[ShellWord]) -> bool {
        let [PatternWord::Exact(name), PatternWord::Exact(subcommand), ..] = &self.words[..] else {
            return false;
        };
        let is_option = |word: &ShellWord| word.text.starts_with(['-', '+']);
        let [first, second, ..] = words else { return false };
        if !is_option(second)
            || subcommand.starts_with('-')
            || !has_subcommands(name)
            || first.known().is_none_or(|text| base_name(text) != name)
        {
            return false;
        }
        for at in 2..words.len() {
            if !is_option(&words[at]) {
                if words[at].known() == Some(subcommand.as_str()) {
                    let rest: Vec<ShellWord> =
                        std::iter::once(first).chain(&words[at..]).cloned().collect();
                    return self.words_fit(&rest, MatchPurpose::Restrict);
                }
                // A word behind an option may be its value, and then the next word is the
                // subcommand.
                if !is_option(&words[at - 1]) {
                    return false;
                }
            }
        }
        false
    }

    /// Wildcard matching over words: on a mismatch the last `*` takes one more word.
    fn words_fit(&self, words: &[ShellWord], purpose: MatchPurpose) -> bool {
        let (mut pattern, mut word) = (0, 0);
        let mut last_any: Option<(usize, usize)> = None;
        while word < words.len() {
            match self.words.get(pattern) {
                Some(PatternWord::Any) => {
                    last_any = Some((pattern, word));
                    pattern += 1;
                    continue;
                }
                Some(expected) if one_fits(expected, &words[word], word == 0, purpose) => {
                    pattern += 1;
                    word += 1;
                    continue;
                }
                Some(_) | None => {}
            }
            let Some((any, taken)) = last_any else { return false };
            // A word that an allow rule's wildcard covers has to be known.
            if purpose == MatchPurpose::Allow && !words[taken].is_literal() {
                return false;
            }
            last_any = Some((any, taken + 1));
            pattern = any + 1;
            word = taken + 1;
        }
        let rest = &self.words[pattern..];
        rest.iter().all(|word| *word == PatternWord::Any) && !self.words.is_empty()
    }
}

impl PatternWord {
    fn is_assignment(&self) -> bool {
        let start = match self {
            Self::Exact(text) => text,
            Self::Glued(pieces) => &pieces[0],
            Self::Any => return false,
        };
        start.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    }

    fn fits(&self, text: &str, purpose: MatchPurpose) -> bool {
        match self {
            Self::Exact(expected) => expected == text,
            Self::Glued(pieces) => glued_fits(pieces, text, purpose),
            Self::Any => true,
        }
    }
}

fn one_fits(pattern: &PatternWord, word: &ShellWord, is_name: bool, purpose: MatchPurpose) -> bool {
    let known = match purpose {
        MatchPurpose::Allow => word.is_literal().then_some(word.text.as_str()),
        MatchPurpose::Restrict => word.known(),
    };
    let Some(text) = known else { return false };
    pattern.fits(text, purpose)
        || (purpose == MatchPurpose::Restrict && is_name && {
            let name = base_name(text);
            // Some file systems run `rm` for `RM`.
            pattern.fits(name, purpose)
                || (name.bytes().any(|byte| byte.is_ascii_uppercase())
                    && pattern.fits(&name.to_ascii_lowercase(), purpose))
        })
}

/// Whether the pieces occur in order with anything between. In an allow rule, what is between stays
/// in one component of a path, and the word has no `..`.
fn glued_fits(pieces: &[String], text: &str, purpose: MatchPurpose) -> bool {
    let [first, middle @ .., last] = pieces else { return false };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    let mut gaps = Vec::new();
    for piece in middle {
        let Some(at) = rest.find(piece.as_str()) else { return false };
        gaps.push(&rest[..at]);
        rest = &rest[at + piece.len()..];
    }
    let Some(gap) = rest.strip_suffix(last.as_str()) else { return false };
    gaps.push(gap);
    match purpose {
        MatchPurpose::Restrict => true,
        MatchPurpose::Allow => {
            !gaps.iter().any(|gap| gap.contains('/')) && !text.split('/').any(|part| part == "..")
        }
    }
}

/// The words of a pattern, each as the pieces between its unquoted `*`s.
fn split_words(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut words: Vec<Vec<String>> = Vec::new();
    let mut open = false;
    let mut chars = text.chars();
    let push = |words: &mut Vec<Vec<String>>, open: &mut bool, c: Option<char>| {
        if !std::mem::replace(open, true) {
            words.push(vec![String::new()]);
        }
        if let (Some(c), Some(piece)) = (c, words.last_mut().and_then(|word| word.last_mut())) {
            piece.push(c);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => open = false,
            '*' => {
                push(&mut words, &mut open, None);
                if let Some(word) = words.last_mut() {
                    word.push(String::new());
                }
            }
            '\\' => match chars.next() {
                Some(escaped) => push(&mut words, &mut open, Some(escaped)),
                None => return Err("the pattern ends in a backslash".into()),
            },
            '\'' | '"' => {
                push(&mut words, &mut open, None);
                loop {
                    match chars.next() {
                        Some(end) if end == c => break,
                        Some(inside) => push(&mut words, &mut open, Some(inside)),
                        None => return Err(format!("the pattern's {c} is not closed")),
                    }
                }
            }
            _ => push(&mut words, &mut open, Some(c)),
        }
    }
    Ok(words)
}

/// The rule that allows exactly this command; `None` where a word is not literal or the name holds
/// a `=`.
pub fn exact_rule(command: &SimpleCommand) -> Option<String> {
    let name = command.words.first()?;
    let literal = command.words.iter().chain(command.assignments.iter().map(|(_, value)| value));
    // A name with `=` would read as an assignment.
    if !literal.clone().all(ShellWord::is_literal) || name.text.contains('=') {
        return None;
    }
    let assignments =
        command.assignments.iter().map(|(name, value)| format!("{name}={}", show(&value.text)));
    let words = command.words.iter().map(|word| show(&word.text));
    Some(format!("Bash({})", assignments.chain(words).collect::<Vec<_>>().join(" ")))
}

/// The rule that the answer "never" would save: the command with any arguments, with its subcommand
/// named. For a wrapper, the rule on what it runs.
pub(super) fn refusing_rule(command: &SimpleCommand) -> Option<String> {
    match &command.inner {
        WrappedCommands::Nothing => {}
        WrappedCommands::Known(inner) => return inner.first().and_then(refusing_rule),
        WrappedCommands::Unknown(_) => return exact_rule(command),
    }
    let name = command.words.first().and_then(ShellWord::known)?;
    if name.is_empty() || name.contains('=') {
        return None;
    }
    let subcommand = command.words.get(1).and_then(ShellWord::known);
    Some(match subcommand.filter(|word| has_subcommands(name) && !word.starts_with('-')) {
        Some(subcommand) => format!("Bash({} {} *)", show(base_name(name)), show(subcommand)),
        None => format!("Bash({} *)", show(base_name(name))),
    })
}

/// The rule that names exactly this path, and everything below it where it is a folder: relative
/// inside the workspace, else absolute. `None` where the path is not valid Unicode.
pub fn path_rule(family: &str, path: &ResolvedPath, workspace: &Workspace) -> Option<String> {
    let (start, rest) = match path.path.strip_prefix(workspace.root()) {
        // A bare name would match at any depth in a deny rule.
        Ok(inside) => ("./", inside),
        Err(_) => ("/", path.path.strip_prefix("/").ok()?),
    };
    let text = globset::escape(rest.to_str()?);
    let start = if text.contains('/') && start == "./" { "" } else { start };
    let below = match (path.folder, text.is_empty()) {
        (false, _) => "",
        (true, false) => "/**",
        (true, true) => "**",
    };
    Some(format!("{family}({start}{text}{below})"))
}

impl PathPattern {
    /// Reads a pattern. A relative one starts at the workspace's root, `~/` at the home folder. A
    /// pattern without a slash in a deny or ask rule matches a name at any depth.
    ///
    /// # Errors
    ///
    /// Fails when the pattern is empty, holds `..`, needs a home folder that is not there, or is no
    /// valid glob; the text says which.
    pub fn parse(text: &str, purpose: MatchPurpose, workspace: &Workspace) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the pattern is empty".into());
        }
        let text = match text.strip_suffix('/') {
            Some(folder) => format!("{folder}/**"),
            None => text.to_owned(),
        };
        let mut globs = Vec::new();
        for (base, pattern) in bases(&text, purpose, workspace)? {
            globs.push(join_glob(&base, &pattern)?);
            // The same place by its real path.
            let fixed: PathBuf =
                Path::new(&pattern).components().take_while(|c| !has_glob(c.as_os_str())).collect();
            let start = base.join(&fixed);
            let real = workspace.real(&start);
            if real != start {
                let rest = Path::new(&pattern).strip_prefix(&fixed).unwrap_or(Path::new(""));
                globs.push(join_glob(&real, &rest.to_string_lossy())?);
            }
        }
        // `src/**` also matches the folder itself, which can be searched.
        let folders = globs.iter().filter_map(|glob| glob.strip_suffix("/**").map(str::to_owned));
        let folders: Vec<String> = folders.filter(|folder| !folder.is_empty()).collect();
        let matchers = globs
            .iter()
            .chain(&folders)
            .map(|glob| LazyGlobMatcher::new(glob))
            .collect::<Result<_, _>>()?;
        Ok(Self { matchers, purpose })
    }

    /// Whether the pattern matches a path. To restrict, a match of one of its two names or of a
    /// folder above is enough; to allow, both names have to match.
    pub fn fits(&self, path: &ResolvedPath) -> bool {
        let (one, other) = (path.path.as_path(), path.real.as_path());
        match self.purpose {
            MatchPurpose::Restrict => self.covers(one) || (one != other && self.covers(other)),
            MatchPurpose::Allow => self.is_match(one) && (one == other || self.is_match(other)),
        }
    }

    /// Whether the pattern matches a path or a folder above it, by this name alone.
    pub fn covers(&self, path: &Path) -> bool {
        self.matchers.iter().any(|matcher| matcher.covers(path))
    }

    /// Where to look for what the pattern matches: paths that it names, and the folders in which
    /// its wildcards begin.
    pub(super) fn starts(&self) -> impl Iterator<Item = PathBuf> {
        self.matchers.iter().map(|matcher| {
            let start = Path::new(&matcher.start);
            match matcher.start == matcher.glob.glob() {
                true => start.to_owned(),
                // The last name may continue in a wildcard.
                false if matcher.start.ends_with('/') => start.to_owned(),
                false => start.parent().unwrap_or(Path::new("/")).to_owned(),
            }
        })
    }

    /// Whether the pattern matches whatever is below a folder, however deep.
    pub(super) fn covers_below(&self, folder: &Path) -> bool {
        // A name that no pattern means. `*` stands for one, and only `**` for any number of them.
        let probe = |depth: usize| folder.join(vec!["\u{1}"; depth].join("/"));
        [1, 2, MAX_DEPTH / 4].into_iter().all(|depth| self.is_match(&probe(depth)))
    }

    /// Whether the pattern matches this very path, by this name alone.
    pub(super) fn is_match(&self, path: &Path) -> bool {
        self.matchers.iter().any(|matcher| matcher.fits(path))
    }
}

impl LazyGlobMatcher {
    fn new(glob: &str) -> Result<Self, String> {
        let end = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
        let start = glob[..end].to_owned();
        Ok(Self { start, glob: parse_glob(glob)?, compiled: OnceLock::new() })
    }

    fn fits(&self, path: &Path) -> bool {
        let compiled = || self.compiled.get_or_init(|| self.glob.compile_matcher());
        self.may_fit(path) && compiled().is_match(path)
    }

    /// Whether the glob matches a path or a folder above it. Of a path deeper than [`MAX_DEPTH`]
    /// only the folders at its two ends are tried, because the work grows with the square of the
    /// depth; a command that names such a path is asked about in any case.
    fn covers(&self, path: &Path) -> bool {
        // A folder above begins like the path.
        if !self.may_fit(path) {
            return false;
        }
        let (depth, half) = (path.ancestors().count(), MAX_DEPTH / 2);
        let is_looked_at = |at: usize| depth <= MAX_DEPTH || at < half || at >= depth - half;
        path.ancestors().enumerate().any(|(at, folder)| is_looked_at(at) && self.fits(folder))
    }

    fn may_fit(&self, path: &Path) -> bool {
        path.as_os_str().as_encoded_bytes().starts_with(self.start.as_bytes())
    }
}

/// The folders that a pattern starts from, each with the rest of the pattern.
fn bases(
    text: &str,
    purpose: MatchPurpose,
    workspace: &Workspace,
) -> Result<Vec<(PathBuf, String)>, String> {
    if let Some(rest) = text.strip_prefix("~/") {
        let home = workspace.home().ok_or("there is no home folder to start `~/` from")?;
        return Ok(vec![(home.to_owned(), rest.to_owned())]);
    }
    if text.starts_with('/') {
        return Ok(vec![(PathBuf::from("/"), text.trim_start_matches('/').to_owned())]);
    }
    if text.split('/').any(|part| part == "..") {
        return Err("`..` is not read in patterns; write the folder's full path".into());
    }
    match purpose {
        MatchPurpose::Allow => {
            let text = text.strip_prefix("./").unwrap_or(text);
            Ok(vec![(workspace.root().to_owned(), text.to_owned())])
        }
        MatchPurpose::Restrict => {
            let anywhere = !text.contains('/');
            let text = text.strip_prefix("./").unwrap_or(text);
            let text = if anywhere { format!("**/{text}") } else { text.to_owned() };
            Ok(workspace.roots().map(|root| (root.to_owned(), text.clone())).collect())
        }
    }
}

fn join_glob(base: &Path, pattern: &str) -> Result<String, String> {
    let base = base.to_str().ok_or("its folder's name is not valid Unicode")?;
    let base = globset::escape(base.trim_end_matches('/'));
    Ok(if pattern.is_empty() { base } else { format!("{base}/{pattern}") })
}

fn has_glob(component: &std::ffi::OsStr) -> bool {
    component.to_string_lossy().contains(['*', '?', '[', '{', '\\'])
}
