//! The effects of plain programs: programs whose name, options and operands say for certain which
//! files they read, which they change, and that they run nothing else.
//!
//! Everything else is a program that can do anything: one that is not in the table, an option that
//! is not listed (an abbreviated one included), a word that is known only when the command runs. A
//! rule with a wildcard may allow such a program; only the sandbox confines it.
//!
//! git runs what its configuration names. Which git commands run without a question also depends on
//! the repository ([`super::repository`]), and every git that slug's child processes run gets
//! settings that switch off what a repository could add.

mod table;

use super::shell::{ShellWord, SimpleCommand};
use super::wrappers::base_name;
use table::ProgramOperands::{
    Compares, Copies, Folder, Formats, GitAddresses, GitBranches, GitChanges, GitConfig, GitReads,
    GitRemotes, GitRemoves, GitTakes, Lines, Moves, Nothing, PatternThenReads, Reads, ReadsOne,
    Search, Test, Text, TextThenWrites, Writes,
};
use table::{
    CONTENT_FREE_OPTIONS, PROGRAMS, PlainProgram, ProgramOperands, SEARCHES, VERSION_TELLERS,
};

/// What a command does, judged by its words alone. The paths are as they stand in the command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandEffects {
    pub reads: Vec<String>,
    /// What the command creates, changes or removes.
    pub writes: Vec<String>,
    /// What the command puts into the last of `writes`, where that is a folder.
    pub target_entries: Vec<String>,
    /// Whether the command may run without a question where it reads inside the workspace.
    pub is_reader: bool,
    /// Whether the command shows the contents of files that it is not given by name.
    pub shows_contents_below: bool,
    /// Whether the command also changes everything below the folders in `writes`.
    pub is_recursive: bool,
    /// Whether the command follows the links in a folder that it is given.
    pub follows_links_below: bool,
    /// How the command uses a git repository; `None` when it is not git.
    pub git: Option<GitUse>,
    /// Where the command may put links that were elsewhere before.
    pub moved_links: MovedLinks,
    /// The remote that git contacts, where the command names one.
    pub remote: Option<String>,
}

/// Where a command may put symbolic links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MovedLinks {
    #[default]
    Nowhere,
    /// In the command's targets, and below them.
    InTargets,
    /// Anywhere in the working tree.
    Anywhere,
}

/// Which part of a repository has to be checked before git may read there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitUse {
    /// Only commits, branches and the like are read.
    History,
    /// The files of the working tree are read, too.
    WorkingTree,
    /// The repository is changed, and git runs its hooks and filters.
    Changes,
}

/// The effects of a command; `None` when it can do anything. Redirections are not considered.
pub fn effects(command: &SimpleCommand) -> Option<CommandEffects> {
    if !command.assignments.is_empty() {
        return None;
    }
    let words: Option<Vec<&str>> =
        command.words.iter().map(|word| word.is_literal().then_some(word.text.as_str())).collect();
    effects_of(&words?)
}

/// The effects that a command has if its name and options mean what they usually mean: besides those of
/// the table, a program of it that is called by a path or with other options, all that `cp` copies with a
/// folder, and `find` that deletes what it finds. Words that are not known are passed over. All this leaves
/// open what the program meets on its way, so it is reason to ask and never to allow.
pub fn usual_effects(command: &SimpleCommand) -> Option<CommandEffects> {
    effects(command).or_else(|| {
        let words: Vec<&str> = command.words.iter().filter_map(ShellWord::known).collect();
        let (name, arguments) = words.split_first()?;
        let name = base_name(name);
        let by_name: Vec<&str> = std::iter::once(name).chain(arguments.iter().copied()).collect();
        effects_of(&by_name).or_else(|| match name {
            "find" => deleting_search(arguments),
            "chgrp" | "chown" | "shred" | "truncate" | "unlink" => Some(loose(Writes, arguments)),
            _ => {
                let program = PROGRAMS.iter().find(|program| program.name == name)?;
                let changes = [Writes, TextThenWrites, Copies, Moves].contains(&program.operands);
                changes.then(|| loose(program.operands, arguments))
            }
        })
    })
}

/// What `find` deletes with `-delete`.
fn deleting_search(arguments: &[&str]) -> Option<CommandEffects> {
    let tests: Vec<&str> = arguments.iter().copied().filter(|it| *it != "-delete").collect();
    let deletes = tests.len() < arguments.len();
    let is_start = |it: &&&str| !it.starts_with(['-', '!', '(']);
    let mut starts: Vec<&str> = tests.iter().take_while(is_start).copied().collect();
    if starts.is_empty() {
        starts.push(".");
    }
    let writes = starts.into_iter().map(str::to_owned).collect();
    deletes.then(|| CommandEffects { writes, is_recursive: true, ..CommandEffects::default() })
}

/// The effects of a program that changes its operands, with options that the table does not list: each
/// word that is no option may be an operand.
fn loose(kind: ProgramOperands, arguments: &[&str]) -> CommandEffects {
    let is_option = |text: &&&str| text.starts_with('-') && text.len() > 1;
    let options: Vec<&str> = arguments.iter().filter(is_option).copied().collect();
    let mut operands: Vec<&str> = arguments.iter().filter(|it| !is_option(it)).copied().collect();
    let has = |letters: &[char], long: &[&str]| {
        options.iter().any(|option| match option.starts_with("--") {
            true => long.iter().any(|start| option.starts_with(start)),
            false => option.contains(letters),
        })
    };
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let recursive = has(&['r', 'R', 'a', 'd'], &["--r", "--a"]);
    if !matches!(kind, Copies | Moves) {
        let writes = owned(&operands);
        return CommandEffects { writes, is_recursive: recursive, ..CommandEffects::default() };
    }
    // The target stands last, or is named by an option.
    let glued = options.iter().find_map(|it| it.strip_prefix("--t")?.split_once('='));
    let target = match glued {
        Some((_, target)) => Some(target),
        None if has(&['t'], &["--t"]) && !operands.is_empty() => Some(operands.remove(0)),
        None => operands.pop(),
    };
    let sources = operands;
    let mut writes: Vec<String> = if kind == Moves { owned(&sources) } else { Vec::new() };
    writes.extend(target.map(str::to_owned));
    CommandEffects {
        reads: if kind == Copies { owned(&sources) } else { Vec::new() },
        target_entries: owned(&sources),
        writes,
        is_recursive: recursive || kind == Moves,
        ..CommandEffects::default()
    }
}

/// Whether the words begin a command of the table, as far as they go. What a rule's wildcard covers
/// behind them is then limited to the effects that the table knows.
pub fn is_listed(words: &[&str]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    let Some((program, arguments)) = find(name, arguments) else {
        // A bare `git` leaves the subcommand open.
        return *name == "git" && arguments.is_empty();
    };
    program.split(arguments).is_some_and(|(_, operands)| match program.operands {
        Search => find_start_paths(&operands).is_some(),
        GitAddresses => lists_addresses(&operands),
        _ => true,
    })
}

/// Whether the words begin a git command that only reads a repository.
pub fn is_read_only_git(words: &str) -> bool {
    let words: Vec<&str> = words.split(' ').collect();
    let program = words.split_first().and_then(|(name, rest)| find(name, rest));
    program.is_some_and(|(program, _)| matches!(program.operands, GitReads(_) | GitBranches))
}

/// The folders that options such as `-C` make a program start in; the program takes its paths from
/// there.
pub fn start_folders(words: &[ShellWord]) -> Vec<ShellWord> {
    let Some(name) = words.first().and_then(ShellWord::known).map(base_name) else {
        return Vec::new();
    };
    let letter = match name {
        "bsdtar" | "cargo" | "env" | "git" | "gmake" | "go" | "make" | "ninja" | "pnpm" | "tar" => {
            Some('C')
        }
        "sudo" => Some('D'),
        _ => None,
    };
    let folder_options =
        ["--chdir", "--cwd", "--dir", "--directory", "--prefix", "--project", "--work-tree"];
    let file_options = ["--manifest-path"];
    let mut folders = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let text = word.text.as_str();
        let is_long = text.starts_with("--");
        // The letter counts anywhere in a bundle: one too many only adds a folder that the command
        // may run in.
        let in_bundle = letter.filter(|_| text.starts_with('-') && !is_long);
        let in_bundle = in_bundle.and_then(|letter| text.split_once(letter));
        let (option, glued) = match (in_bundle, text.split_once('=')) {
            (Some((_, glued)), _) => (text, Some(glued).filter(|glued| !glued.is_empty())),
            (None, Some((option, value))) if is_long => (option, Some(value)),
            (None, _) => (text, None),
        };
        let value = || match glued {
            Some(value) => Some(ShellWord { text: value.to_owned(), kind: word.kind }),
            None => words.get(at + 1).cloned(),
        };
        if in_bundle.is_some() || folder_options.contains(&option) {
            folders.extend(value());
        } else if file_options.contains(&option) {
            folders.extend(
                value().map(|word| ShellWord { text: format!("{}/..", word.text), ..word }),
            );
        }
    }
    folders
}

fn find<'a, 'b>(
    name: &str,
    arguments: &'b [&'a str],
) -> Option<(&'static PlainProgram, &'b [&'a str])> {
    if name != "git" {
        let program = PROGRAMS.iter().find(|program| program.name == name)?;
        return Some((program, arguments));
    }
    let mut rest = arguments;
    let subcommand = loop {
        let (first, behind) = rest.split_first()?;
        rest = match *first {
            "--no-pager" | "-P" | "--no-optional-locks" => behind,
            "-C" => behind.get(1..)?,
            _ => break *first,
        };
    };
    let is_it = |program: &&PlainProgram| program.name.strip_prefix("git ") == Some(subcommand);
    Some((PROGRAMS.iter().find(is_it)?, &rest[1..]))
}

fn effects_of(words: &[&str]) -> Option<CommandEffects> {
    let (name, arguments) = words.split_first()?;
    if *name == "git" && arguments.is_empty() {
        return Some(CommandEffects::default());
    }
    if arguments == ["--version"] && VERSION_TELLERS.contains(name) {
        return Some(CommandEffects { is_reader: true, ..CommandEffects::default() });
    }
    let (program, arguments) = find(name, arguments)?;
    program.effects(arguments)
}

impl PlainProgram {
    fn effects(&self, arguments: &[&str]) -> Option<CommandEffects> {
        let Some((options, mut operands)) = self.split(arguments) else {
            // Whatever the option is, the command changes the configuration.
            let configures = self.operands == GitConfig;
            let writes = vec![".git/config".to_owned()];
            return configures.then(|| CommandEffects { writes, ..CommandEffects::default() });
        };
        let has = |letters: &[char], long: &str| {
            options.iter().any(|option| match option.strip_prefix("--") {
                Some(name) => name == long,
                None => option.contains(letters),
            })
        };
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let is_git = self.name.starts_with("git ");
        // The operands of `commit` are a message.
        let has_formats = is_git && self.operands != GitTakes;
        if has_formats && arguments.iter().any(|text| verifies(text)) {
            return None;
        }
        // What such a pathspec names only git knows.
        let is_pattern =
            |text: &&str| text.starts_with(':') || text.contains(['*', '?', '[', '\\']);
        if is_git
            && matches!(self.operands, GitChanges | GitRemoves | Moves)
            && operands.iter().any(is_pattern)
        {
            return None;
        }
        let reader = |reads: &[&str]| CommandEffects {
            reads: owned(reads),
            is_reader: true,
            ..CommandEffects::default()
        };
        let writer =
            |writes: &[&str]| CommandEffects { writes: owned(writes), ..CommandEffects::default() };
        Some(match self.operands {
            Reads => reader(&operands),
            ReadsOne => reader(&operands).when(operands.len() <= 1)?,
            PatternThenReads => {
                let below = self.name == "rg" || has(&['r'], "recursive");
                CommandEffects { shows_contents_below: below, ..reader(operands.get(1..)?) }
            }
            Compares => CommandEffects {
                follows_links_below: true,
                shows_contents_below: true,
                ..reader(&operands)
            },
            // `%n` assigns to a variable, and so does `-v`.
            Text if self.name == "printf" => {
                reader(&[]).when(operands.iter().all(|text| !assigns_by_format(text)))?
            }
            Text => reader(&[]),
            Formats => reader(&[]).when(operands.iter().all(|text| text.starts_with('+')))?,
            Nothing => reader(&[]).when(operands.is_empty())?,
            Lines => {
                let (script, files) = operands.split_first()?;
                reader(files).when(prints_lines(script))?
            }
            Search => reader(&find_start_paths(&operands)?),
            Test => reader(&test_operands(&operands)?),
            Folder => match operands[..] {
                [] => reader(&[]),
                [folder] if !folder.is_empty() && folder != "-" => reader(&[folder]),
                _ => return None,
            },
            Writes => {
                CommandEffects { is_recursive: has(&['r', 'R'], "recursive"), ..writer(&operands) }
            }
            TextThenWrites => CommandEffects {
                is_recursive: has(&['R'], "recursive"),
                ..writer(operands.get(1..)?)
            },
            Copies => {
                let (target, sources) = operands.split_last()?;
                CommandEffects {
                    reads: owned(sources),
                    target_entries: owned(sources),
                    ..writer(&[*target])
                }
                .when(!sources.is_empty())?
            }
            Moves => {
                let sources = operands.split_last()?.1;
                CommandEffects {
                    git: is_git.then_some(GitUse::Changes),
                    target_entries: owned(sources),
                    is_recursive: true,
                    moved_links: MovedLinks::InTargets,
                    ..writer(&operands)
                }
                .when(!sources.is_empty())?
            }
            GitReads(part) => CommandEffects {
                git: Some(part),
                shows_contents_below: !self.shows_no_contents(&options),
                ..reader(&operands)
            },
            GitBranches => CommandEffects {
                git: Some(GitUse::History),
                shows_contents_below: !self.shows_no_contents(&options),
                ..reader(&[])
            }
            .when(
                operands.is_empty()
                    || ["list", "merged", "no-merged"].iter().any(|it| has(&[], it)),
            )?,
            GitTakes => CommandEffects {
                reads: owned(&operands),
                git: Some(GitUse::Changes),
                ..CommandEffects::default()
            },
            GitChanges => {
                // `HEAD` is a commit, not a file of that name.
                operands.retain(|text| *text != "HEAD");
                CommandEffects {
                    git: Some(GitUse::Changes),
                    moved_links: MovedLinks::Anywhere,
                    ..writer(&operands)
                }
            }
            GitRemoves => CommandEffects {
                git: Some(GitUse::Changes),
                is_recursive: true,
                ..writer(&operands)
            },
            GitRemotes => {
                // An address that is not configured may lead anywhere.
                let is_name = |it: &&str| !it.contains(['/', ':']) && !it.starts_with('.');
                let moved_links = match self.name {
                    "git pull" => MovedLinks::Anywhere,
                    _ => MovedLinks::Nowhere,
                };
                CommandEffects {
                    git: Some(GitUse::Changes),
                    remote: operands.first().map(|name| (*name).to_owned()),
                    moved_links,
                    ..CommandEffects::default()
                }
                .when(operands.first().is_none_or(is_name))?
            }
            GitAddresses => {
                CommandEffects { git: Some(GitUse::Changes), ..CommandEffects::default() }
                    .when(lists_addresses(&operands))?
            }
            GitConfig => {
                let reads = has(&['l'], "list") || options.iter().any(|it| it.starts_with("--get"));
                match (reads, operands.first()) {
                    (true, _) | (false, Some(&("get" | "list"))) => CommandEffects::default(),
                    (false, _) if operands.len() == 1 => CommandEffects::default(),
                    (false, _) => writer(&[".git/config"]),
                }
            }
        })
    }

    /// Whether git, with these options, shows no contents of files that it is not given by name.
    fn shows_no_contents(&self, options: &[&str]) -> bool {
        let Some((_, letters, long)) =
            CONTENT_FREE_OPTIONS.iter().find(|(name, ..)| *name == self.name)
        else {
            return false;
        };
        options.iter().all(|option| match option.strip_prefix("--") {
            Some(name) => long.split_whitespace().any(|known| known == name),
            None => {
                let valued = option.find(|c| self.valued.contains(c));
                let cluster = &option[1..valued.map_or(option.len(), |at| at + 1)];
                cluster.chars().all(|c| letters.contains(c) || c.is_ascii_digit())
            }
        })
    }

    /// The options, and the operands that are left without them; `None` where an option is not
    /// listed.
    fn split<'a>(&self, arguments: &[&'a str]) -> Option<(Vec<&'a str>, Vec<&'a str>)> {
        // The words of `find` and `test` look like options.
        if matches!(self.operands, Search | Test) {
            return Some((Vec::new(), arguments.to_vec()));
        }
        let (mut options, mut operands) = (Vec::new(), Vec::new());
        let mut arguments = arguments.iter().copied();
        while let Some(argument) = arguments.next() {
            let is_printed = matches!(self.name, "echo" | "printf");
            if argument == "--" && !is_printed {
                operands.extend(arguments);
                break;
            }
            if is_printed || argument == "-" || !argument.starts_with('-') {
                operands.push(argument);
                continue;
            }
            let takes_next = match argument.strip_prefix("--") {
                Some(long) => self.long_takes_next(long)?,
                None => self.letters_take_next(&argument[1..])?,
            };
            options.push(argument.split_once('=').map_or(argument, |(name, _)| name));
            if takes_next {
                arguments.next();
            }
        }
        Some((options, operands))
    }

    fn long_takes_next(&self, text: &str) -> Option<bool> {
        let (name, value) = match text.split_once('=') {
            Some((name, _)) => (name, true),
            None => (text, false),
        };
        self.long.split(' ').find_map(|known| {
            let (known, takes, may) = match known.strip_suffix("=?") {
                Some(known) => (known, false, true),
                None => match known.strip_suffix('=') {
                    Some(known) => (known, true, true),
                    None => (known, false, false),
                },
            };
            (known == name && (may || !value)).then_some(takes && !value)
        })
    }

    /// Whether a cluster of option letters takes the next word as its value; `None` when a letter
    /// is not listed.
    fn letters_take_next(&self, letters: &str) -> Option<bool> {
        // `head -20`, `git log -3`.
        let counts = matches!(self.name, "head" | "tail" | "git log" | "git show");
        if counts && letters.chars().all(|c| c.is_ascii_digit()) {
            return Some(false);
        }
        for (at, c) in letters.char_indices() {
            if self.valued.contains(c) {
                return Some(at + c.len_utf8() == letters.len());
            }
            if !self.flags.contains(c) {
                return None;
            }
        }
        Some(false)
    }
}

impl CommandEffects {
    fn when(self, holds: bool) -> Option<Self> {
        holds.then_some(self)
    }
}

/// Whether a format of `printf` assigns to a variable: `%n`, with whatever between.
pub fn assigns_by_format(text: &str) -> bool {
    let text = text.replace("%%", "");
    text.split('%').skip(1).any(|rest| {
        let between = |c: char| c.is_ascii_digit() || "-+ #0'.*hjlLqtz".contains(c);
        rest.trim_start_matches(between).starts_with('n')
    })
}

/// Whether a format makes git ask gpg about a signature: `%G`, whatever stands between, as in
/// `%+GK`, and `%(signature)`.
fn verifies(text: &str) -> bool {
    let of_commits = |rest: &str| {
        rest.trim_start_matches(|c: char| !c.is_ascii_alphabetic() && c != '(').starts_with('G')
    };
    text.split('%').skip(1).any(of_commits) || text.contains("signature")
}

/// Whether the words behind `git remote` only list the configured addresses.
fn lists_addresses(words: &[&str]) -> bool {
    matches!(words, [] | ["get-url", ..])
}

/// Whether a script of `sed` only prints lines by their numbers: `10,25p`, `5p;$p`, `3q`.
fn prints_lines(script: &str) -> bool {
    script.split([';', '\n']).map(str::trim).all(|part| {
        let addresses = part.strip_suffix(['p', 'q', 'd', '=']).unwrap_or("x");
        addresses.split(',').count() <= 2
            && addresses.chars().all(|c| c.is_ascii_digit() || ",$!+~ ".contains(c))
    })
}

/// The folders that `find` searches; `None` unless all of its tests and actions only read.
fn find_start_paths<'a>(arguments: &[&'a str]) -> Option<Vec<&'a str>> {
    let starts = |text: &&str| !text.starts_with(['-', '!', '(']);
    let count = arguments.iter().take_while(|text| starts(text)).count();
    let mut rest = arguments[count..].iter();
    while let Some(word) = rest.next() {
        let (_, values) = SEARCHES.iter().find(|(name, _)| name == word)?;
        for _ in 0..*values {
            rest.next();
        }
    }
    Some(arguments[..count].to_vec())
}

/// The operands of `test`: every word that is no operator. `None` where a test evaluates its
/// operand.
fn test_operands<'a>(arguments: &[&'a str]) -> Option<Vec<&'a str>> {
    let is_operator = |text: &str| {
        text.strip_prefix('-').is_some_and(|rest| rest.chars().all(|c| c.is_ascii_alphabetic()))
            || matches!(text, "!" | "=" | "==" | "!=" | "(" | ")" | "]" | "<" | ">" | "")
    };
    let assigns = |text: &&str| matches!(*text, "-v" | "-R");
    if arguments.iter().any(assigns) {
        return None;
    }
    Some(arguments.iter().copied().filter(|text| !is_operator(text)).collect())
}
