//! The table of plain programs: those of which program, options and operands say for certain which
//! files they read, which they change, and that they run nothing else.
//!
//! Everything else is a program that can do anything: one that is not in the table, an option that
//! is not listed (an abbreviated one included), a word that is known only when it runs. A rule with a
//! wildcard may allow such a program; the sandbox alone holds it back.
//!
//! git runs what its configuration names. What of it runs without a question depends on the
//! repository, too ([`super::repository`]), and every git that slug's children run gets settings that
//! switch off what a repository could add.

use super::shell::{SimpleCommand, Word};
use super::wrappers::base_name;

/// What a command does, by its words alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// What it reads, as it stands there.
    pub reads: Vec<String>,
    /// What it makes, changes or removes, as it stands there.
    pub writes: Vec<String>,
    /// What it puts into the last of `writes`, where that is a folder.
    pub puts: Vec<String>,
    /// Whether it may run without a question where it reads inside the workspace.
    pub is_reader: bool,
    /// Whether it shows the contents of files that it is not given by name.
    pub shows_contents_below: bool,
    /// Whether it changes all that is in a folder, too.
    pub is_recursive: bool,
    /// Whether it follows the links in a folder that it is given.
    pub follows_links_below: bool,
    /// How it uses a repository of git's, if it is git.
    pub git: Option<GitUse>,
}

/// What of a repository has to be looked at before git may read there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitUse {
    /// Only commits, branches and the like.
    History,
    /// The files of the working tree, too.
    WorkingTree,
    /// It is changed, and runs its hooks and filters.
    Changes,
}

struct Program {
    /// Its name; of git's subcommands two words.
    name: &'static str,
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with a value that is no path.
    valued: &'static str,
    /// Long options. `name=` takes a value that is no path, glued or as the next word; `name=?` may
    /// have one, glued.
    long: &'static str,
    operands: Operands,
}

/// What the words behind the options are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Files and folders to read.
    Reads,
    /// One at most: a second would be written.
    ReadsOne,
    /// A pattern, then files and folders.
    PatternThenReads,
    /// Two to compare.
    Compares,
    /// Text that is only printed or compared.
    Text,
    /// Formats that begin with `+`.
    Formats,
    /// None.
    Nothing,
    /// A script of `sed` that only prints, then files.
    Lines,
    /// Folders, then tests.
    Search,
    /// Operators and files.
    Test,
    /// A folder to go to.
    Folder,
    /// Made, changed or removed.
    Writes,
    /// A mode or an owner, then what gets it.
    TextThenWrites,
    /// The last is where the others are copied to.
    Copies,
    /// The last is where the others are moved to.
    Moves,
    /// Revisions and paths, only looked at.
    GitReads(GitUse),
    /// The same, of branches: an operand would make one.
    GitBranches,
    /// Paths that git takes into the repository.
    GitTakes,
    /// Revisions and paths that git changes.
    GitChanges,
    /// Paths that git moves or removes.
    GitMoves,
    /// A configured remote, and what goes there or comes from there.
    GitRemotes,
    /// A key of git's configuration, and perhaps a value.
    GitConfig,
}

use Operands::{
    Compares, Copies, Folder, Formats, GitBranches, GitChanges, GitConfig, GitMoves, GitReads,
    GitRemotes, GitTakes, Lines, Moves, Nothing, PatternThenReads, Reads, ReadsOne, Search, Test,
    Text, TextThenWrites, Writes,
};

const fn program(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    long: &'static str,
    operands: Operands,
) -> Program {
    Program { name, flags, valued, long, operands }
}

/// Options of `git log`, `diff` and `show` that print.
const GIT_SHOWS: &str = "abbrev-commit abbrev=? after= all author= before= branches=? cached color=? \
         committer= date= decorate=? diff-filter= dirstat=? exit-code first-parent follow \
         format= graph grep= histogram ignore-all-space ignore-blank-lines \
         ignore-space-change left-right max-count= merge-base merges minimal name-only \
         name-status no-color no-ext-diff no-merges no-patch no-renames no-textconv numstat \
         oneline patch patience pretty=? quiet raw reverse shortstat since= skip= staged \
         stat=? stat-width= summary tags=? unified= until= word-diff=? wrap=";

const PROGRAMS: &[Program] = &[
    program("basename", "az", "s", "", Text),
    program("cat", "AbeEnstTuv", "", "number show-all", Reads),
    program("cd", "LPe", "", "", Folder),
    program("chmod", "cfvR", "", "recursive", TextThenWrites),
    program("cmp", "bls", "n", "silent quiet", Reads),
    program("comm", "123", "", "", Reads),
    program("cp", "fnpuv", "", "force no-clobber update verbose", Copies),
    program("cut", "sz", "bcdf", "only-delimited complement delimiter= fields=", Reads),
    program("date", "uR", "", "utc rfc-email iso-8601=?", Formats),
    program("df", "ahiklTP", "", "human-readable", Reads),
    program("diff", "abBiqrsuwyN", "U", "brief recursive unified=?", Compares),
    program("dirname", "z", "", "", Text),
    program("du", "abchkmsx", "d", "human-readable summarize max-depth=", Reads),
    program("echo", "neE", "", "", Text),
    program("false", "", "", "", Nothing),
    program("file", "bihL", "", "brief mime mime-type", Reads),
    program("find", "", "", "", Search),
    program(
        "grep",
        "EFGivwxcnHhlLoqsrabzZ",
        "ABCm",
        "after-context= before-context= color=? context= count exclude-dir= exclude= \
         extended-regexp files-with-matches files-without-match fixed-strings ignore-case \
         include= invert-match line-number line-regexp max-count= no-filename no-messages \
         only-matching quiet recursive with-filename word-regexp",
        PatternThenReads,
    ),
    program("head", "qvz", "nc", "quiet verbose lines= bytes=", Reads),
    program("id", "Ggnru", "", "", Text),
    program(
        "ls",
        "1aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ",
        "",
        "all almost-all color=? directory format= human-readable recursive reverse size sort= \
         time-style=",
        Reads,
    ),
    program("md5sum", "btz", "", "", Reads),
    program("mkdir", "pv", "m", "parents verbose mode=", Writes),
    program("mv", "fnuv", "", "force no-clobber update verbose", Moves),
    program("nl", "p", "bvw", "", Reads),
    program("nproc", "", "", "all", Nothing),
    program("printf", "", "", "", Text),
    program("pwd", "LP", "", "", Nothing),
    program("readlink", "efmnz", "", "canonicalize", Reads),
    program("realpath", "emsz", "", "", Reads),
    program(
        "rg",
        "FHINSUacilnosvwx",
        "ABCMgmtT",
        "after-context= before-context= case-sensitive color= context= count count-matches \
         files-with-matches files-without-match fixed-strings glob= heading hidden iglob= \
         ignore-case invert-match json line-number line-regexp max-columns= max-count= \
         max-depth= multiline no-config no-filename no-heading no-ignore no-line-number \
         only-matching sort= smart-case stats trim type-not= type= with-filename word-regexp",
        PatternThenReads,
    ),
    program("rm", "dfiIrRv", "", "dir force recursive verbose", Writes),
    program("rmdir", "pv", "", "parents verbose", Writes),
    program("sed", "nErsu", "", "quiet silent regexp-extended", Lines),
    program("sha256sum", "btz", "", "", Reads),
    program(
        "sort",
        "bdfgiMhnRrVszuc",
        "kt",
        "field-separator= human-numeric-sort ignore-case key= numeric-sort reverse unique \
         version-sort",
        Reads,
    ),
    program("stat", "Lft", "c", "dereference terse format= printf=", Reads),
    program("tac", "", "", "", Reads),
    program("tail", "qvz", "nc", "quiet verbose lines= bytes=", Reads),
    program("tee", "ai", "", "append", Writes),
    program("test", "", "", "", Test),
    program("[", "", "", "", Test),
    program("touch", "acm", "dt", "date= no-create time=", Writes),
    program("tr", "cCdst", "", "delete squeeze-repeats complement", Text),
    program("tree", "aACdDfFghinpqrsStuUvx", "IL", "dirsfirst du gitignore noreport prune", Reads),
    program("true", "", "", "", Nothing),
    program("uname", "asnrvmpio", "", "", Nothing),
    program("uniq", "cdDiuz", "fsw", "count repeated unique", ReadsOne),
    program("wc", "clmwL", "", "bytes lines words chars", Reads),
    program("which", "a", "", "", Text),
    program("whoami", "", "", "", Nothing),
    program(
        "git add",
        "AfNnuv",
        "",
        "all dry-run force intent-to-add no-all update verbose",
        GitTakes,
    ),
    program(
        "git blame",
        "bcefklnstwCM",
        "L",
        "abbrev= color-lines date= porcelain line-porcelain root show-email show-name",
        GitReads(GitUse::WorkingTree),
    ),
    program(
        "git branch",
        "aqrv",
        "",
        "all color=? contains= format= ignore-case list merged=? no-color no-contains= \
         no-merged=? points-at= remotes show-current sort= verbose",
        GitBranches,
    ),
    program("git checkout", "Bbdfqt", "", "detach force ours quiet theirs track=?", GitChanges),
    program("git cherry-pick", "enx", "m", "abort continue no-commit quit skip", GitChanges),
    program(
        "git commit",
        "aqsv",
        "m",
        "all allow-empty amend author= date= dry-run fixup= message= no-edit quiet signoff \
         squash= trailer= verbose",
        GitTakes,
    ),
    program(
        "git config",
        "l",
        "",
        "bool get get-all get-regexp global int list local show-origin system type=",
        GitConfig,
    ),
    program(
        "git describe",
        "",
        "",
        "abbrev= all always contains exact-match long match= tags",
        GitReads(GitUse::History),
    ),
    program("git diff", "abBDMRWpqswz", "GSUl", GIT_SHOWS, GitReads(GitUse::WorkingTree)),
    program(
        "git fetch",
        "afnpqtv",
        "",
        "all depth= dry-run force prune quiet tags unshallow verbose",
        GitRemotes,
    ),
    program("git log", "DMRWcimpqswz", "GLSUln", GIT_SHOWS, GitReads(GitUse::History)),
    program(
        "git ls-files",
        "cdikmostvz",
        "x",
        "cached deleted exclude-standard exclude= modified others stage unmerged",
        GitReads(GitUse::WorkingTree),
    ),
    program(
        "git merge",
        "nqv",
        "m",
        "abort continue ff ff-only no-commit no-edit no-ff quiet squash stat",
        GitChanges,
    ),
    program("git mv", "fknv", "", "dry-run force verbose", GitMoves),
    program(
        "git pull",
        "fnpqrtv",
        "",
        "all autostash ff-only no-edit no-rebase prune quiet rebase tags",
        GitRemotes,
    ),
    program(
        "git push",
        "dfnqtuv",
        "",
        "all delete dry-run follow-tags force force-with-lease=? prune quiet set-upstream \
         tags verbose",
        GitRemotes,
    ),
    program("git rebase", "fqv", "", "abort autostash continue onto= quit root skip", GitChanges),
    program("git remote", "v", "", "verbose", GitChanges),
    program("git reset", "NpqU", "", "hard keep merge mixed quiet soft", GitChanges),
    program("git restore", "SWqp", "s", "ours source= staged theirs worktree", GitChanges),
    program(
        "git rev-parse",
        "q",
        "",
        "abbrev-ref=? git-dir is-inside-work-tree short=? show-toplevel verify",
        GitReads(GitUse::History),
    ),
    program("git revert", "en", "m", "abort continue no-commit no-edit skip", GitChanges),
    program("git rm", "fnqr", "", "cached dry-run force quiet", GitMoves),
    program("git shortlog", "cens", "", "email numbered summary", GitReads(GitUse::History)),
    program("git show", "DMRWcmpqswz", "GSU", GIT_SHOWS, GitReads(GitUse::History)),
    program(
        "git stash",
        "akqu",
        "m",
        "all include-untracked keep-index message= quiet staged",
        GitChanges,
    ),
    program(
        "git status",
        "abnlosuvz",
        "",
        "ahead-behind branch column=? ignored=? long no-renames porcelain=? renames short \
         show-stash untracked-files=? verbose",
        GitReads(GitUse::WorkingTree),
    ),
    program(
        "git switch",
        "Ccdfqt",
        "",
        "create= detach discard-changes force quiet track=?",
        GitChanges,
    ),
    program(
        "git tag",
        "adfln",
        "m",
        "annotate contains= delete force list message= sort=",
        GitChanges,
    ),
];

/// Tests and actions of find that only read, each with how many words follow.
const SEARCHES: &[(&str, usize)] = &[
    ("!", 0),
    ("(", 0),
    (")", 0),
    ("-a", 0),
    ("-amin", 1),
    ("-and", 0),
    ("-atime", 1),
    ("-cmin", 1),
    ("-ctime", 1),
    ("-empty", 0),
    ("-group", 1),
    ("-iname", 1),
    ("-ipath", 1),
    ("-iregex", 1),
    ("-links", 1),
    ("-ls", 0),
    ("-maxdepth", 1),
    ("-mindepth", 1),
    ("-mmin", 1),
    ("-mtime", 1),
    ("-name", 1),
    ("-not", 0),
    ("-o", 0),
    ("-or", 0),
    ("-path", 1),
    ("-perm", 1),
    ("-print", 0),
    ("-print0", 0),
    ("-prune", 0),
    ("-regex", 1),
    ("-size", 1),
    ("-type", 1),
    ("-user", 1),
    ("-xdev", 0),
];

/// What a command does; `None` when it can do anything. Its redirections are not looked at.
pub fn plan(command: &SimpleCommand) -> Option<Plan> {
    if !command.assignments.is_empty() {
        return None;
    }
    let words: Option<Vec<&str>> =
        command.words.iter().map(|word| word.is_literal().then_some(word.text.as_str())).collect();
    plan_of(&words?)
}

/// Whether words are the beginning of a command of the table, as far as they go: what stands behind
/// them in a rule is then held to the table, too.
pub fn is_listed(words: &[&str]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    let Some((program, arguments)) = find(name, arguments) else {
        // Which of its subcommands is left open.
        return *name == "git" && arguments.is_empty();
    };
    program.split(arguments).is_some_and(|(_, operands)| match program.operands {
        Search => searches(&operands).is_some(),
        _ => true,
    })
}

/// Whether the words begin a command of git's that only looks at a repository.
pub fn only_looks(words: &str) -> bool {
    let words: Vec<&str> = words.split(' ').collect();
    let program = words.split_first().and_then(|(name, rest)| find(name, rest));
    program.is_some_and(|(program, _)| matches!(program.operands, GitReads(_) | GitBranches))
}

/// The folders that options such as `-C` make a program start in, from which it then goes by.
pub fn started_in(words: &[Word]) -> Vec<Word> {
    let Some(name) = words.first().and_then(Word::known).map(base_name) else { return Vec::new() };
    let takes_c = matches!(
        name,
        "bsdtar"
            | "cargo"
            | "env"
            | "git"
            | "gmake"
            | "go"
            | "make"
            | "ninja"
            | "pnpm"
            | "sudo"
            | "tar"
    );
    let folder_options =
        ["--chdir", "--cwd", "--dir", "--directory", "--prefix", "--project", "--work-tree"];
    let file_options = ["--manifest-path"];
    let mut folders = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let text = word.text.as_str();
        let (option, glued) = match text.split_once('=') {
            Some((option, value)) if text.starts_with("--") => (option, Some(value.to_owned())),
            Some(_) | None if takes_c && text.starts_with("-C") && text.len() > 2 => {
                ("-C", Some(text[2..].to_owned()))
            }
            Some(_) | None => (text, None),
        };
        let value = || match &glued {
            Some(value) => Some(Word { text: value.clone(), kind: word.kind }),
            None => words.get(at + 1).cloned(),
        };
        if (takes_c && option == "-C") || folder_options.contains(&option) {
            folders.extend(value());
        } else if file_options.contains(&option) {
            folders.extend(value().map(|word| Word { text: format!("{}/..", word.text), ..word }));
        }
    }
    folders
}

fn find<'a, 'b>(name: &str, arguments: &'b [&'a str]) -> Option<(&'static Program, &'b [&'a str])> {
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
    let is_it = |program: &&Program| program.name.strip_prefix("git ") == Some(subcommand);
    Some((PROGRAMS.iter().find(is_it)?, &rest[1..]))
}

fn plan_of(words: &[&str]) -> Option<Plan> {
    let (name, arguments) = words.split_first()?;
    if *name == "git" && matches!(arguments, [] | ["--version"]) {
        return Some(Plan::default());
    }
    let (program, arguments) = find(name, arguments)?;
    program.plan(arguments)
}

impl Program {
    fn plan(&self, arguments: &[&str]) -> Option<Plan> {
        let Some((options, mut operands)) = self.split(arguments) else {
            // Whatever the option, it is the configuration that it changes.
            let configures = self.operands == GitConfig;
            let writes = vec![".git/config".to_owned()];
            return configures.then(|| Plan { writes, ..Plan::default() });
        };
        let has = |letters: &[char], long: &str| {
            options.iter().any(|option| match option.strip_prefix("--") {
                Some(name) => name == long,
                None => option.contains(letters),
            })
        };
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        // These ask gpg about a signature.
        let verifies = |text: &&str| text.contains("%G") || text.contains("signature");
        if self.name.starts_with("git ") && arguments.iter().any(verifies) {
            return None;
        }
        let reader =
            |reads: &[&str]| Plan { reads: owned(reads), is_reader: true, ..Plan::default() };
        let writer = |writes: &[&str]| Plan { writes: owned(writes), ..Plan::default() };
        Some(match self.operands {
            Reads => reader(&operands),
            ReadsOne => reader(&operands).when(operands.len() <= 1)?,
            PatternThenReads => {
                let below = self.name == "rg" || has(&['r'], "recursive");
                Plan { shows_contents_below: below, ..reader(operands.get(1..)?) }
            }
            Compares => {
                Plan { follows_links_below: true, shows_contents_below: true, ..reader(&operands) }
            }
            // `%n` assigns, and `-v` does.
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
            Search => reader(&searches(&operands)?),
            Test => reader(&tested(&operands)?),
            Folder => match operands[..] {
                [] => reader(&[]),
                [folder] if !folder.is_empty() && folder != "-" => reader(&[folder]),
                _ => return None,
            },
            Writes => Plan { is_recursive: has(&['r', 'R'], "recursive"), ..writer(&operands) },
            TextThenWrites => {
                Plan { is_recursive: has(&['R'], "recursive"), ..writer(operands.get(1..)?) }
            }
            Copies => {
                let (target, sources) = operands.split_last()?;
                Plan { reads: owned(sources), puts: owned(sources), ..writer(&[*target]) }
                    .when(!sources.is_empty())?
            }
            Moves => {
                let sources = operands.split_last()?.1;
                Plan { puts: owned(sources), is_recursive: true, ..writer(&operands) }
                    .when(!sources.is_empty())?
            }
            GitReads(part) => {
                let patch = has(&['p', 'G', 'S', 'L', 'U', 'c', 'm', 'W'], "patch");
                let tells_names =
                    matches!(self.name, "git status" | "git ls-files" | "git rev-parse");
                let contents = patch || matches!(self.name, "git diff" | "git show");
                Plan {
                    git: Some(part),
                    shows_contents_below: contents && !tells_names,
                    ..reader(&operands)
                }
            }
            GitBranches => Plan { git: Some(GitUse::History), ..reader(&[]) }.when(
                operands.is_empty()
                    || ["list", "merged", "no-merged"].iter().any(|it| has(&[], it)),
            )?,
            GitTakes => {
                Plan { reads: owned(&operands), git: Some(GitUse::Changes), ..Plan::default() }
            }
            GitChanges => {
                // A commit, not a file of that name.
                operands.retain(|text| *text != "HEAD");
                Plan { git: Some(GitUse::Changes), ..writer(&operands) }
            }
            GitMoves => {
                Plan { git: Some(GitUse::Changes), is_recursive: true, ..writer(&operands) }
            }
            GitRemotes => {
                // Another address than a configured one may lead anywhere.
                let is_name = |it: &&str| !it.contains(['/', ':']) && !it.starts_with('.');
                Plan { git: Some(GitUse::Changes), ..Plan::default() }
                    .when(operands.first().is_none_or(is_name))?
            }
            GitConfig => {
                let reads = has(&['l'], "list") || options.iter().any(|it| it.starts_with("--get"));
                match (reads, operands.first()) {
                    (true, _) | (false, Some(&("get" | "list"))) => Plan::default(),
                    (false, _) if operands.len() == 1 => Plan::default(),
                    (false, _) => writer(&[".git/config"]),
                }
            }
        })
    }

    /// The options, and what is left once they are gone; `None` where one is not listed.
    fn split<'a>(&self, arguments: &[&'a str]) -> Option<(Vec<&'a str>, Vec<&'a str>)> {
        // Their words begin as options do.
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

    /// Whether a cluster of letters takes the next word as its value; `None` when one is not listed.
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

impl Plan {
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

/// Whether a script of `sed` only prints lines by their numbers: `10,25p`, `5p;$p`, `3q`.
fn prints_lines(script: &str) -> bool {
    script.split([';', '\n']).map(str::trim).all(|part| {
        let addresses = part.strip_suffix(['p', 'q', 'd', '=']).unwrap_or("x");
        addresses.split(',').count() <= 2
            && addresses.chars().all(|c| c.is_ascii_digit() || ",$!+~ ".contains(c))
    })
}

/// Where find searches, if all of its tests and actions only read.
fn searches<'a>(arguments: &[&'a str]) -> Option<Vec<&'a str>> {
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

/// What a test looks at: every word that is no operator.
fn tested<'a>(arguments: &[&'a str]) -> Option<Vec<&'a str>> {
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
