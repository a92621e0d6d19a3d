//! The protected places: files from which a program takes instructions, so that what is written
//! there runs or decides later without a question. Writing there is asked about in every mode.
//!
//! One table, with a reason in each row. A pattern is one or more names; it stands for what has
//! these names, at any depth, and for everything below. A `*` is any part of a name. Names are
//! compared without respect to case, because some file systems do so. What a program writes without
//! naming it is not seen here; only a sandbox prevents that.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::LazyLock;

use crate::domain::MaskedPathKind;

/// Why a place is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectionReason {
    pub kind: ProtectedPlaceKind,
    reason: &'static str,
}

/// Which program takes instructions from a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedPlaceKind {
    /// slug: its settings, permission rules and servers.
    SlugSettings,
    /// git: hooks, configuration, attributes.
    Git,
    /// What makes a folder without `.git` a git repository.
    BareRepository,
    /// Shells and logins, ssh included.
    StartUp,
    /// Editors, other agents, package managers, debuggers and build servers.
    Tooling,
    /// The kernel: `/proc`, `/sys`, `/dev`. Reading is asked about, too.
    System,
}

impl ProtectionReason {
    const fn new(kind: ProtectedPlaceKind, reason: &'static str) -> Self {
        Self { kind, reason }
    }

    /// What the place decides, as the end of "It changes …".
    pub fn description(self) -> &'static str {
        self.reason
    }
}

/// One row of the table.
#[derive(Debug)]
pub(super) struct ProtectedPlace {
    /// Names with slashes between them; a slash at the end for a folder.
    pattern: &'static str,
    pub(super) protected: ProtectionReason,
    pub(super) reserved: PlaceReservation,
}

/// Whether a sandbox keeps a place from being created: a place from which the user's own tools run
/// something later, without being told to. Each such name costs every command a mount, so not all
/// places are reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceReservation {
    Always,
    /// Only where the place's folder exists: its name is too common to reserve it elsewhere.
    InItsFolder,
    Never,
}

use ProtectedPlaceKind::{Git, SlugSettings, StartUp, Tooling};

/// The settings of slug itself.
pub(super) const SLUG_SETTINGS: ProtectionReason =
    ProtectionReason::new(SlugSettings, "what slug itself may do");
/// The home folder, the workspace, and the folders above them: with one of them goes all that is protected
/// in it.
pub(super) const WHOLE_HOME: ProtectionReason =
    ProtectionReason::new(SlugSettings, "all of your home folder or of the workspace");
/// `/proc`, `/sys` and `/dev`.
pub(super) const SYSTEM: ProtectionReason =
    ProtectionReason::new(ProtectedPlaceKind::System, "the running system");
/// `HEAD`, and the names that make a bare repository together with it.
pub(super) const BARE_REPOSITORY: ProtectionReason =
    ProtectionReason::new(ProtectedPlaceKind::BareRepository, "what git takes for a repository");

/// A file with other hard links.
pub(super) const OTHER_NAMES: ProtectionReason = ProtectionReason::new(
    ProtectedPlaceKind::System,
    "a file with other hard links, which slug does not know",
);

const GIT: &str = "what git runs";
const AGENT: &str = "what another coding agent may do";
const EDITOR: &str = "what an editor runs";
const BUILD_SERVER: &str = "what the build server runs";
const PACKAGES: &str = "what a package manager runs or where it gets packages from";
const TOOL_CHAIN: &str = "which compiler or interpreter runs";
const SHELL: &str = "what runs when you log in or open a shell";
const KEYS: &str = "your keys and logins";
const PROGRAMS: &str = "which programs your shell finds";
const SERVICES: &str = "what your desktop or system starts by itself";
const OF_PROGRAMS: &str = "what other programs do";

const fn reserved(
    pattern: &'static str,
    kind: ProtectedPlaceKind,
    reason: &'static str,
) -> ProtectedPlace {
    ProtectedPlace {
        pattern,
        protected: ProtectionReason::new(kind, reason),
        reserved: PlaceReservation::Always,
    }
}

const fn place(
    pattern: &'static str,
    kind: ProtectedPlaceKind,
    reason: &'static str,
) -> ProtectedPlace {
    ProtectedPlace {
        pattern,
        protected: ProtectionReason::new(kind, reason),
        reserved: PlaceReservation::Never,
    }
}

const fn in_its_folder(
    pattern: &'static str,
    kind: ProtectedPlaceKind,
    reason: &'static str,
) -> ProtectedPlace {
    let protected = ProtectionReason::new(kind, reason);
    ProtectedPlace { pattern, protected, reserved: PlaceReservation::InItsFolder }
}

/// The places that are protected in every folder.
pub(super) const ANYWHERE: &[ProtectedPlace] = &[
    reserved(".slug/", SlugSettings, SLUG_SETTINGS.reason),
    reserved(".mcp.json", SlugSettings, SLUG_SETTINGS.reason),
    place(".lsp.json", SlugSettings, SLUG_SETTINGS.reason),
    reserved(".git/", Git, GIT),
    reserved(".gitmodules", Git, "where git gets submodules from"),
    reserved(".husky/", Git, GIT),
    place("lefthook*", Git, GIT),
    place(".lefthook*", Git, GIT),
    place(".overcommit.yml", Git, GIT),
    place(".local-overcommit.yml", Git, GIT),
    place(".git-hooks/", Git, GIT),
    place(".githooks/", Git, GIT),
    reserved(".pre-commit-config.yaml", Git, GIT),
    place(".hg/hgrc", Git, "what Mercurial runs"),
    place(".agents/", Tooling, AGENT),
    place(".claude/", Tooling, AGENT),
    place(".cursor/", Tooling, AGENT),
    place(".gemini/", Tooling, AGENT),
    place(".codex/", Tooling, AGENT),
    place(".opencode/", Tooling, AGENT),
    place("opencode.json*", Tooling, AGENT),
    reserved(".vscode/", Tooling, EDITOR),
    reserved(".idea/", Tooling, EDITOR),
    place(".zed/", Tooling, EDITOR),
    place(".fleet/", Tooling, EDITOR),
    place("*.code-workspace", Tooling, EDITOR),
    reserved(".devcontainer/", Tooling, "what a development container runs"),
    place(".devcontainer*", Tooling, "what a development container runs"),
    place(".vimrc", Tooling, EDITOR),
    place(".gvimrc", Tooling, EDITOR),
    place("_vimrc", Tooling, EDITOR),
    place(".exrc", Tooling, EDITOR),
    place(".nvimrc", Tooling, EDITOR),
    place(".nvim.lua", Tooling, EDITOR),
    place(".dir-locals*", Tooling, EDITOR),
    place(".gdbinit", Tooling, "what a debugger runs"),
    place(".lldbinit", Tooling, "what a debugger runs"),
    place(".pdbrc*", Tooling, "what a debugger runs"),
    place(".irbrc", Tooling, "what an interpreter runs first"),
    place(".pryrc", Tooling, "what an interpreter runs first"),
    place(".rprofile", Tooling, "what an interpreter runs first"),
    place(".github/workflows/", Tooling, BUILD_SERVER),
    place(".github/actions/", Tooling, BUILD_SERVER),
    place(".gitlab-ci.y*", Tooling, BUILD_SERVER),
    place(".gitea/workflows/", Tooling, BUILD_SERVER),
    place(".forgejo/workflows/", Tooling, BUILD_SERVER),
    place(".circleci/", Tooling, BUILD_SERVER),
    place(".buildkite/", Tooling, BUILD_SERVER),
    place(".woodpecker*", Tooling, BUILD_SERVER),
    place(".drone.y*", Tooling, BUILD_SERVER),
    place(".travis.yml", Tooling, BUILD_SERVER),
    place(".appveyor.yml", Tooling, BUILD_SERVER),
    place("appveyor.yml", Tooling, BUILD_SERVER),
    place("azure-pipelines*", Tooling, BUILD_SERVER),
    place("bitbucket-pipelines.yml", Tooling, BUILD_SERVER),
    place("jenkinsfile", Tooling, BUILD_SERVER),
    reserved(".envrc", Tooling, "what runs when you enter the folder"),
    reserved(".tool-versions", Tooling, TOOL_CHAIN),
    reserved("mise.toml", Tooling, TOOL_CHAIN),
    reserved(".mise.toml", Tooling, TOOL_CHAIN),
    place("mise.local.toml", Tooling, TOOL_CHAIN),
    place(".mise.local.toml", Tooling, TOOL_CHAIN),
    place(".mise/", Tooling, TOOL_CHAIN),
    place(".config/mise/", Tooling, TOOL_CHAIN),
    place("mise/config.toml", Tooling, TOOL_CHAIN),
    place(".rtx.toml", Tooling, TOOL_CHAIN),
    // As folders, which rustup ignores; an empty file would be an error to rustup.
    reserved("rust-toolchain/", Tooling, TOOL_CHAIN),
    reserved("rust-toolchain.toml/", Tooling, TOOL_CHAIN),
    place("rust-toolchain*", Tooling, TOOL_CHAIN),
    reserved(".npmrc", Tooling, PACKAGES),
    reserved(".yarnrc", Tooling, PACKAGES),
    reserved(".yarnrc.yml", Tooling, PACKAGES),
    in_its_folder(".yarn/releases/", Tooling, PACKAGES),
    in_its_folder(".yarn/plugins/", Tooling, PACKAGES),
    reserved(".pnpmfile.cjs", Tooling, PACKAGES),
    reserved(".pnpmfile.mjs", Tooling, PACKAGES),
    place(".pnp.*", Tooling, PACKAGES),
    reserved("bunfig.toml", Tooling, PACKAGES),
    place(".bundle/config", Tooling, PACKAGES),
    in_its_folder("gradle/wrapper/", Tooling, TOOL_CHAIN),
    reserved(".mvn/", Tooling, TOOL_CHAIN),
    place(".bazelrc", Tooling, TOOL_CHAIN),
    place(".bazelversion", Tooling, TOOL_CHAIN),
    reserved(".cargo/config.toml", Tooling, TOOL_CHAIN),
    reserved(".cargo/config", Tooling, TOOL_CHAIN),
    place(".ripgreprc", Tooling, "what ripgrep runs"),
];

/// The places that are protected in the home folder alone.
pub(super) const AT_HOME: &[ProtectedPlace] = &[
    reserved(".bashrc", StartUp, SHELL),
    reserved(".bash_profile", StartUp, SHELL),
    reserved(".bash_login", StartUp, SHELL),
    reserved(".bash_logout", StartUp, SHELL),
    reserved(".bash_aliases", StartUp, SHELL),
    reserved(".profile", StartUp, SHELL),
    reserved(".zshrc", StartUp, SHELL),
    reserved(".zshenv", StartUp, SHELL),
    reserved(".zprofile", StartUp, SHELL),
    reserved(".zlogin", StartUp, SHELL),
    reserved(".zlogout", StartUp, SHELL),
    reserved(".kshrc", StartUp, SHELL),
    reserved(".cshrc", StartUp, SHELL),
    reserved(".tcshrc", StartUp, SHELL),
    reserved(".inputrc", StartUp, SHELL),
    reserved(".gitconfig", StartUp, GIT),
    reserved(".pam_environment", StartUp, SHELL),
    reserved(".xprofile", StartUp, SHELL),
    reserved(".xinitrc", StartUp, SHELL),
    reserved(".xsession", StartUp, SHELL),
    reserved(".netrc", StartUp, KEYS),
    reserved(".tmux.conf", StartUp, SHELL),
    reserved(".vimrc", StartUp, EDITOR),
    reserved(".ssh/", StartUp, KEYS),
    reserved(".gnupg/", StartUp, KEYS),
    reserved(".aws/", StartUp, KEYS),
    reserved(".kube/", StartUp, KEYS),
    reserved(".config/git/", StartUp, GIT),
    reserved(".config/fish/", StartUp, SHELL),
    reserved(".config/autostart/", StartUp, SERVICES),
    reserved(".config/systemd/", StartUp, SERVICES),
    reserved(".config/environment.d/", StartUp, SERVICES),
    reserved(".config/nvim/", StartUp, EDITOR),
    reserved(".local/bin/", StartUp, PROGRAMS),
    reserved("library/launchagents/", StartUp, SERVICES),
    reserved("bin/", StartUp, PROGRAMS),
    // Shells, editors and desktops that the rows above do not name.
    place(".config/zsh/", StartUp, SHELL),
    place(".config/nushell/", StartUp, SHELL),
    place(".config/elvish/", StartUp, SHELL),
    place(".config/xonsh/", StartUp, SHELL),
    place(".config/plasma-workspace/", StartUp, SERVICES),
    place(".local/share/systemd/", StartUp, SERVICES),
    place(".local/share/applications/", StartUp, SERVICES),
    place(".cargo/env*", StartUp, SHELL),
    place(".emacs.d/", StartUp, EDITOR),
    // Where slug itself takes skills, commands and agents from. Most are protected in every folder; here
    // they are looked through for links, too.
    place(".agents/skills/", Tooling, AGENT),
    place(".claude/skills/", Tooling, AGENT),
    place(".claude/commands/", Tooling, AGENT),
    place(".claude/agents/", Tooling, AGENT),
    place(".codex/prompts/", Tooling, AGENT),
    place(".codex/agents/", Tooling, AGENT),
    place(".gemini/commands/", Tooling, AGENT),
    place(".config/opencode/command/", Tooling, AGENT),
    place(".config/opencode/commands/", Tooling, AGENT),
    place(".config/opencode/agent/", Tooling, AGENT),
    place(".config/opencode/agents/", Tooling, AGENT),
    // Its configuration and its plugins, which are programs.
    place(".config/opencode/", Tooling, AGENT),
];

/// Folders in slug's own folder that are looked through for links, as those of the home folder are.
pub(super) const IN_SLUG_HOME: [&str; 3] = ["skills", "commands", "agents"];

/// Each hidden file right in the home folder.
const HIDDEN_AT_HOME: ProtectionReason = ProtectionReason::new(StartUp, OF_PROGRAMS);

/// The names that, beside a `HEAD`, make git take a folder for a repository, and from which git
/// then takes instructions.
const OF_A_REPOSITORY: [&str; 8] =
    ["commondir", "config", "hooks", "info", "modules", "objects", "refs", "worktrees"];

impl ProtectedPlace {
    /// The path below a folder and its kind; `None` where the pattern is not one fixed path.
    pub(super) fn fixed(&self) -> Option<(&'static Path, MaskedPathKind)> {
        let kind =
            if self.pattern.ends_with('/') { MaskedPathKind::Folder } else { MaskedPathKind::File };
        (!self.pattern.contains('*')).then(|| (Path::new(self.text()), kind))
    }

    pub(super) fn text(&self) -> &'static str {
        self.pattern.trim_end_matches('/')
    }

    fn first_name(&self) -> &'static str {
        self.text().split('/').next().unwrap_or_default()
    }

    fn may_begin(&self, letter: u8) -> bool {
        let first = self.pattern.as_bytes().first().copied();
        first == Some(b'*') || first == Some(letter.to_ascii_lowercase())
    }

    /// Whether names begin with the pattern. Fewer names match where they are the folder that holds
    /// the place, if the pattern begins with a dot.
    fn fits(&self, names: &[&[u8]]) -> bool {
        let mut names = names.iter();
        let matches_folder = self.pattern.starts_with('.');
        let mut parts = self.text().split('/');
        parts.all(|part| names.next().map_or(matches_folder, |name| fits_name(part, name)))
    }
}

/// Whether a name matches one name of a pattern, which may have one `*`.
fn fits_name(pattern: &str, name: &[u8]) -> bool {
    let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
    let is_long_enough = match pattern.len() - start.len() - end.len() {
        0 => name.len() == pattern.len(),
        _ => name.len() >= start.len() + end.len(),
    };
    is_long_enough
        && name[..start.len()].eq_ignore_ascii_case(start.as_bytes())
        && name[name.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
}

/// The rows by the first letter of a name that could match them: that letter alone rules out most
/// rows.
static BY_LETTER: LazyLock<Vec<Vec<&'static ProtectedPlace>>> = LazyLock::new(|| {
    let rows = |letter: u8| ANYWHERE.iter().filter(move |row| row.may_begin(letter)).collect();
    (0..=u8::MAX).map(rows).collect()
});

/// Why a clean path is protected by its names; inside a workspace, pass only those below its root.
pub(super) fn by_name(path: &Path) -> Option<ProtectionReason> {
    let mut rest = path.as_os_str().as_bytes();
    while let Some(first) = rest.first() {
        let end = memchr::memchr(b'/', rest).unwrap_or(rest.len());
        let (name, from_here) = (&rest[..end], rest);
        let is_it = |row: &&&ProtectedPlace| {
            fits_name(row.first_name(), name) && row.fits(&names(from_here).collect::<Vec<_>>())
        };
        if let Some(row) = BY_LETTER[usize::from(*first)].iter().find(is_it) {
            return Some(row.protected);
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    None
}

/// Why a path below the home folder is protected there.
pub(super) fn at_home(path: &Path) -> Option<ProtectionReason> {
    let names: Vec<&[u8]> = names(path.as_os_str().as_bytes()).collect();
    let mut rows = AT_HOME.iter().filter(|_| !names.is_empty());
    let row = rows.find(|row| row.fits(&names)).map(|row| row.protected);
    let is_hidden = || matches!(names[..], [name] if name.starts_with(b"."));
    row.or_else(|| is_hidden().then_some(HIDDEN_AT_HOME))
}

/// The folders whose entries may be places protected in the home folder, relative to it, which is
/// the empty path. Not those of programs: what a link in `~/bin` leads to is a program like others.
pub(super) fn folders_at_home() -> BTreeSet<&'static Path> {
    let folders = |row: &ProtectedPlace| {
        let (path, kind) = row.fixed()?;
        let is_entered = kind == MaskedPathKind::Folder && row.protected.reason != PROGRAMS;
        Some(path.ancestors().skip(usize::from(!is_entered)))
    };
    AT_HOME.iter().filter_map(folders).flatten().collect()
}

/// Whether one entry of a folder, by its name, is a protected place or the last part of one.
pub(super) fn is_protected_entry(folder: &Path, name: &str) -> bool {
    ANYWHERE.iter().any(|row| {
        let mut parts = row.text().rsplit('/');
        let mut above = folder.iter().rev();
        parts.next().is_some_and(|part| fits_name(part, name.as_bytes()))
            && parts.all(|part| above.next().is_some_and(|it| fits_name(part, it.as_bytes())))
    })
}

/// Whether writing a path could make git take a folder for a repository, or change a folder that
/// git takes for one. `has` says whether something exists at a path.
pub(super) fn is_of_bare_repository(path: &Path, mut has: impl FnMut(&Path) -> bool) -> bool {
    if path.file_name() == Some(OsStr::new("HEAD")) {
        return true;
    }
    let is_part = |name: &OsStr| OF_A_REPOSITORY.iter().any(|it| name == *it);
    let is_one = |name: &[u8]| OF_A_REPOSITORY.iter().any(|it| name == it.as_bytes());
    if !names(path.as_os_str().as_bytes()).any(is_one) {
        return false;
    }
    path.ancestors()
        .filter(|it| it.file_name().is_some_and(is_part))
        .filter_map(Path::parent)
        .any(|folder| has(&folder.join("HEAD")))
}

/// The protected place that a text names somewhere in it, whatever stands around the name.
pub(super) fn named_in(text: &str) -> Option<ProtectionReason> {
    let text = text.replace(['"', '\'', '\\'], "").to_ascii_lowercase();
    let has_dot = text.contains('.');
    let continues_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_named = |row: &&ProtectedPlace| {
        let (start, rest) = match row.text().strip_prefix('*') {
            Some(rest) => (true, rest),
            None => (false, row.text()),
        };
        let (end, name) = match rest.strip_suffix('*') {
            Some(name) => (true, name),
            None => (false, rest),
        };
        text.match_indices(name).any(|(at, _)| {
            let after = &text[at + name.len()..];
            // A letter of an option or a script may be glued to the name: `-O.npmrc`,
            // `w.git/config`.
            let is_distinctive = row.pattern.starts_with('.') || name.len() >= 10;
            let may_be_glued =
                is_distinctive && (!row.pattern.ends_with('/') || after.starts_with('/'));
            (start || may_be_glued || !text[..at].ends_with(continues_name))
                && (end || !after.starts_with(continues_name))
                && !(name == ".slug" && after.starts_with("/memory/"))
        })
    };
    // `bin` is too common to be a sign of the place, and so are the names that are not reserved.
    let is_sign = |row: &&ProtectedPlace| {
        row.text().starts_with('.') && row.reserved == PlaceReservation::Always
    };
    let of_home = AT_HOME.iter().filter(is_sign);
    let all = ANYWHERE.iter().chain(of_home);
    all.filter(|row| has_dot || !row.pattern.contains('.')).find(is_named).map(|row| row.protected)
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_protected_at_any_depth_with_all_below() {
        for path in [
            ".git",
            ".git/config",
            "a/.GIT/x",
            ".slug/settings.json",
            "x.code-workspace",
            ".devcontainer.json",
            ".devcontainer/x",
            ".github/workflows/ci.yml",
            ".github",
            "rust-toolchain.toml",
            "sub/Jenkinsfile",
            ".yarn/releases/y.cjs",
            ".cargo/config.toml",
            "gradle/wrapper/gradle-wrapper.properties",
            ".pdbrc.py",
            "lefthook.yaml",
            ".claude/settings.json",
        ] {
            assert!(by_name(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            "",
            "src/main.rs",
            ".gitignore",
            ".github/ISSUE_TEMPLATE/x.md",
            "gits/.gitx",
            "code-workspace",
            "my.rust-toolchain",
            "Cargo.toml",
            ".cargo/registry/x",
            "gradle/x",
            ".yarn/cache/x",
            "HEAD",
        ] {
            assert_eq!(by_name(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn reserved_places_are_fixed_paths_and_few() {
        for row in ANYWHERE.iter().filter(|row| row.reserved != PlaceReservation::Never) {
            assert!(row.fixed().is_some(), "{}: nobody can keep a pattern free", row.pattern);
        }
        let always = ANYWHERE.iter().filter(|row| row.reserved == PlaceReservation::Always);
        assert!(
            always.count() <= 26,
            "each costs every command a mount, half a millisecond or more"
        );
    }

    #[test]
    fn each_row_fits_its_own_name_and_has_a_reason() {
        for row in ANYWHERE {
            let path = row.text().replace('*', "x");
            assert_eq!(
                by_name(Path::new(&path)).map(|it| it.description()),
                Some(row.protected.description()),
                "{path}"
            );
            assert!(named_in(&format!("cp a sub/{path}")).is_some(), "{path}");
            let (folder, name) = match path.rsplit_once('/') {
                Some((folder, name)) => (format!("/w/{folder}"), name),
                None => ("/w".to_owned(), &*path),
            };
            assert!(is_protected_entry(Path::new(&folder), name), "{path}");
        }
        for row in AT_HOME {
            assert!(at_home(Path::new(row.text())).is_some(), "{}", row.pattern);
        }
        for name in [
            ".mkshrc",
            ".bash_completion",
            ".cargo/env",
            ".config/zsh/.zshrc",
            ".config/elvish/rc.elv",
            ".emacs.d/init.el",
        ] {
            assert!(at_home(Path::new(name)).is_some(), "{name}");
        }
        for name in ["src", "src/.zshrc", "venv/bin/x", ".config/app.toml", ".cache/x", "x.rc"] {
            assert!(at_home(Path::new(name)).is_none(), "{name}");
        }
    }

    #[test]
    fn a_text_names_a_place_by_whole_names() {
        for text in [
            "sed 'w .git/config'",
            "--output=.git/config",
            "open('.slug/settings.json','w')",
            "cd .git;x",
            "a/.g\"i\"t/config",
            "x>~/.bashrc",
            ".CARGO/config.toml",
            "my.code-workspace",
            "{.envrc,y}",
            "\"$x\"/.ssh/id",
            "sed 'w.git/config'",
            "-O.npmrc",
        ] {
            assert!(named_in(text).is_some(), "{text}");
        }
        for text in [
            "https://example.org/x.git",
            ".gitignore",
            "cargo test",
            "mise.tomlx",
            ".slug/memory/x",
            ".slugs",
            "ls bin/x",
            ".environment",
        ] {
            assert_eq!(named_in(text), None, "{text}");
        }
    }

    #[test]
    fn bare_repositories_are_recognised_by_their_head() {
        let bare = |path: &str| {
            is_of_bare_repository(Path::new(path), |it| it == Path::new("/w/bare/HEAD"))
        };
        for path in ["/w/HEAD", "/w/bare/config", "/w/bare/hooks/x", "/w/bare/refs/heads/x"] {
            assert!(bare(path), "{path}");
        }
        for path in ["/w/config", "/w/src/hooks/x", "/w/bare/readme", "/w/head"] {
            assert!(!bare(path), "{path}");
        }
    }
}
