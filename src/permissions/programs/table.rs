//! The plain programs that slug knows, with their options and what their operands are.
//!
//! An option that is not listed here makes its command unknown. Left out on purpose are options
//! that run a program, write to a file that they name, follow links, or read file names from a
//! file.

use super::GitUse;

/// Programs that print their version for `--version` and do nothing else. Those that a file of the project
/// could turn into another program are not here: `cargo` and `rustc` (`rust-toolchain.toml`), `go`
/// (`go.mod`), `npm`, `pnpm` and `yarn` (`package.json`, `.yarnrc.yml`).
pub(super) const VERSION_TELLERS: [&str; 18] = [
    "bash", "cc", "clang", "clang++", "cmake", "curl", "g++", "gcc", "git", "grep", "jq", "make",
    "ninja", "node", "perl", "python", "python3", "rg",
];

/// A program of the table.
pub(super) struct PlainProgram {
    /// Its name; for git's subcommands two words.
    pub(super) name: &'static str,
    /// Letters of options without a value.
    pub(super) flags: &'static str,
    /// Letters of options with a value that is no path.
    pub(super) valued: &'static str,
    /// Long options, with spaces between. `name=` takes a value that is no path, glued or as the
    /// next word; `name=?` may have one, glued.
    pub(super) long: &'static str,
    pub(super) operands: ProgramOperands,
}

/// What the words behind the options are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramOperands {
    /// Files and folders to read.
    Reads,
    /// At most one file to read: a second would be written.
    ReadsOne,
    /// A pattern, then files and folders.
    PatternThenReads,
    /// Two files or folders to compare.
    Compares,
    /// Text that is only printed or compared.
    Text,
    /// Formats that begin with `+`.
    Formats,
    /// No operands.
    Nothing,
    /// A script of `sed` that only prints, then files.
    Lines,
    /// Folders, then tests.
    Search,
    /// Operators and files.
    Test,
    /// The folder to change to.
    Folder,
    /// Files and folders that are created, changed or removed.
    Writes,
    /// A mode or an owner, then the files that get it.
    TextThenWrites,
    /// The last is where the others are copied to.
    Copies,
    /// The last is where the others are moved to.
    Moves,
    /// Revisions and paths that git only reads.
    GitReads(GitUse),
    /// Branches that git only lists: an operand would create one.
    GitBranches,
    /// Paths that git adds to the repository, or a commit's message.
    GitTakes,
    /// Revisions and paths that git changes.
    GitChanges,
    /// Paths that git removes.
    GitRemoves,
    /// A configured remote, and what goes there or comes from there.
    GitRemotes,
    /// Addresses of remotes, which may be changed.
    GitAddresses,
    /// A key of git's configuration, and perhaps a value.
    GitConfig,
}

use ProgramOperands::{
    Compares, Copies, Folder, Formats, GitAddresses, GitBranches, GitChanges, GitConfig, GitReads,
    GitRemotes, GitRemoves, GitTakes, Lines, Moves, Nothing, PatternThenReads, Reads, ReadsOne,
    Search, Test, Text, TextThenWrites, Writes,
};

const fn program(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    long: &'static str,
    operands: ProgramOperands,
) -> PlainProgram {
    PlainProgram { name, flags, valued, long, operands }
}

/// Options of `git log`, `diff` and `show` that only print.
const GIT_SHOWS: &str = "abbrev-commit abbrev=? after= all author= before= branches=? cached color=? \
         committer= date= decorate=? diff-filter= dirstat=? exit-code first-parent follow \
         format= graph grep= histogram ignore-all-space ignore-blank-lines \
         ignore-space-change left-right max-count= merge-base merges minimal name-only \
         name-status no-color no-ext-diff no-merges no-patch no-renames no-textconv numstat \
         oneline patch patience pretty=? quiet raw reverse shortstat since= skip= staged \
         stat=? stat-width= summary tags=? unified= until= word-diff=? wrap=";

/// The plain programs, by name; git's subcommands after the others.
pub(super) const PROGRAMS: &[PlainProgram] = &[
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
    program("git mv", "fknv", "", "dry-run force verbose", Moves),
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
    program("git remote", "v", "", "all push verbose", GitAddresses),
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
    program("git rm", "fnqr", "", "cached dry-run force quiet", GitRemoves),
    program("git shortlog", "cens", "", "email numbered summary", GitReads(GitUse::History)),
    program("git show", "DMRWcmpqswz", "GSU", GIT_SHOWS, GitReads(GitUse::History)),
    program("git stash", "kq", "m", "keep-index message= quiet staged", GitChanges),
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

/// git commands that only read, each with the short and the long options with which it is known to
/// show no contents of files that it is not given by name.
pub(super) const CONTENT_FREE_OPTIONS: &[(&str, &str, &str)] = &[
    (
        "git blame",
        "bcefklnstwCML",
        "abbrev color-lines date porcelain line-porcelain root show-email show-name",
    ),
    (
        "git branch",
        "aqrv",
        "all color contains ignore-case list merged no-color no-contains no-merged points-at \
         remotes show-current sort verbose",
    ),
    ("git describe", "", "abbrev all always contains exact-match long match tags"),
    (
        "git log",
        "inqsz",
        "abbrev abbrev-commit after all author before branches color committer date decorate \
         diff-filter dirstat first-parent follow format graph grep left-right max-count merges \
         name-only name-status no-color no-merges no-patch no-renames numstat oneline pretty quiet \
         raw reverse shortstat since skip stat stat-width summary tags until",
    ),
    (
        "git ls-files",
        "cdikmostvxz",
        "cached deleted exclude exclude-standard modified others stage unmerged",
    ),
    ("git rev-parse", "q", "abbrev-ref git-dir is-inside-work-tree short show-toplevel verify"),
    ("git shortlog", "cens", "email numbered summary"),
    (
        "git status",
        "abnlosuz",
        "ahead-behind branch column ignored long no-renames porcelain renames short show-stash \
         untracked-files",
    ),
];

/// Tests and actions of `find` that only read, each with the number of words that follow it.
pub(super) const SEARCHES: &[(&str, usize)] = &[
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
