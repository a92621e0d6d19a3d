//! What a git command may run besides the hooks and filters of the project's own repository: those of a
//! repository inside the project, which git enters once it is a submodule, the hooks of a remote that is a
//! folder of this machine, and what a rebase or a pick that was left goes on with.
//!
//! A rule that allows a git command covers none of these. They are looked for on the disk, not in what the
//! project says of its submodules: the command itself can change that before git goes on.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::disk::{git_left_to_run, git_modules, has_git_hooks};

use super::{GitRepository, GitSetting, MAX_BYTES, read, settings, text};
use crate::permissions::paths::Workspace;
use crate::permissions::programs::{CommandEffects, GitUse};

/// In a project with more files and folders than this nobody looks for repositories.
const MAX_ENTRIES: usize = 200_000;

const OTHER: &str = "a repository other than the project's may have hooks and filters of its own";
const NESTED: &str = "a repository inside the project may have hooks and filters of its own";
const TOO_MANY: &str =
    "the project has too many files to look for repositories with hooks of their own";
const REMOTE: &str = "a remote may be a folder of this machine with hooks of its own";
const HALF_DONE: &str = "an unfinished rebase or pick may run commands of its own";

/// Why a git command in these folders may run what another repository names than the project's own, or what
/// was left to run. `None` where it cannot.
pub(in crate::permissions) fn beyond_rules<'a>(
    mut folders: impl Iterator<Item = &'a Path>,
    effects: &CommandEffects,
    workspace: &Workspace,
) -> Option<&'static str> {
    // In a folder that is not trusted no rule covers git, whatever it would run.
    let part = effects.git.filter(|_| workspace.is_trusted())?;
    folders.find_map(|folder| foreign(folder, part, workspace))
}

fn foreign(folder: &Path, part: GitUse, workspace: &Workspace) -> Option<&'static str> {
    let found = GitRepository::find(folder);
    let own = GitRepository::find(workspace.root());
    let top = |it: &Result<GitRepository, &'static str>| {
        it.as_ref().map(|it| it.top.clone()).map_err(|why| *why)
    };
    if top(&own) != top(&found) {
        return found.map_or(true, |it| may_run(&it)).then_some(OTHER);
    }
    let found = found.ok()?;
    match part {
        GitUse::History => None,
        // Only a submodule is entered by what reads.
        GitUse::WorkingTree if found.has_only_files() => None,
        GitUse::WorkingTree => nested_may_run(&found),
        GitUse::Changes => {
            let left = git_left_to_run(&found.git_dir);
            let half_done = left.is_none_or(|left| !left.is_empty()).then_some(HALF_DONE);
            half_done
                .or_else(|| found.remotes_may_run().then_some(REMOTE))
                .or_else(|| nested_may_run(&found))
        }
    }
}

/// Whether git, when it works in a repository, may run something that the repository names.
fn may_run(repository: &GitRepository) -> bool {
    repository.look(true).is_err() || has_git_hooks(&repository.common)
}

/// Whether git may run something that a repository below the top of this one names.
fn nested_may_run(own: &GitRepository) -> Option<&'static str> {
    // Git enters a submodule when it fetches, whether it is checked out or not.
    let modules = git_modules(&own.common);
    if modules.is_none_or(|all| !all.iter().all(|data| is_plain_module(data))) {
        return Some(NESTED);
    }
    let (mut left, mut ahead) = (MAX_ENTRIES, vec![own.top.clone()]);
    while let Some(folder) = ahead.pop() {
        let Ok(entries) = folder.read_dir() else { return Some(NESTED) };
        for entry in entries {
            let Some((entry, more)) = entry.ok().zip(left.checked_sub(1)) else {
                return Some(TOO_MANY);
            };
            left = more;
            if entry.file_name().eq_ignore_ascii_case(".git") {
                if folder != own.top && !own.is_harmless_module(&folder) {
                    return Some(NESTED);
                }
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                ahead.push(entry.path());
            }
        }
    }
    None
}

impl GitRepository {
    /// Whether git may work in the repository at this folder of the working tree without running what that
    /// names.
    fn is_harmless_module(&self, folder: &Path) -> bool {
        if let Ok(nested) = Self::find(folder) {
            // A working tree of the same repository has its hooks and filters.
            return nested.common == self.common || !may_run(&nested);
        }
        let Some(leads) = text(&folder.join(".git")) else { return false };
        let Some(target) = leads.strip_prefix("gitdir: ") else { return false };
        // A submodule as git makes it has its data in the repository that it belongs to.
        let Ok(data) = folder.join(target.trim_end_matches('\n')).canonicalize() else {
            return false;
        };
        let modules = self.common.join("modules").canonicalize();
        modules.is_ok_and(|modules| data.starts_with(modules)) && is_plain_module(&data)
    }

    /// Whether a remote, or a branch's, may be a folder of this machine in which git runs something.
    fn remotes_may_run(&self) -> bool {
        let Some(configuration) = self.configuration() else { return true };
        let addresses = configuration.iter().filter_map(|it| match it.name.as_str() {
            "remote.url" | "remote.pushurl" => Some(&it.value),
            "branch.remote" | "branch.pushremote" | "remote.pushdefault" => Some(&it.value),
            // What an address begins with once it is rewritten.
            "url.insteadof" | "url.pushinsteadof" => Some(&it.of),
            _ => None,
        });
        // Git takes remotes from files of an older form, too.
        let older = ["remotes", "branches"].map(|name| self.common.join(name));
        let has_older = older.iter().any(|folder| match folder.read_dir() {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) => error.kind() != ErrorKind::NotFound,
        });
        has_older
            || addresses.filter_map(|it| local_address(it)).any(|address| match address {
                LocalAddress::Path(path) => remote_may_run(&self.top.join(path)),
                LocalAddress::Unknown => true,
            })
    }
}

/// The schemes of addresses that certainly lead to the network, where a host follows.
const NETWORK: [&str; 6] = ["git", "git+ssh", "http", "https", "ssh", "ssh+git"];

/// Where an address leads that is not certainly one of the network.
enum LocalAddress {
    Path(PathBuf),
    /// Only git knows what it makes of it.
    Unknown,
}

/// `None` for an address of the network.
fn local_address(address: &str) -> Option<LocalAddress> {
    let address = address.trim_matches('"');
    if let Some((scheme, rest)) = address.split_once("://") {
        let is_network = NETWORK.contains(&scheme) && !rest.is_empty() && !rest.starts_with('/');
        return (!is_network).then_some(LocalAddress::Unknown);
    }
    match address.split_once(':') {
        // `HOST:PATH` is reached by ssh, and `HELPER::ADDRESS` by a program of that name.
        Some((host, path)) if !host.contains('/') && !host.is_empty() => {
            path.starts_with(':').then_some(LocalAddress::Unknown)
        }
        // A branch may follow one of its own repository, which is `.`.
        _ => (!matches!(address, "" | ".")).then(|| LocalAddress::Path(PathBuf::from(address))),
    }
}

/// Whether git may run something in the repository that it takes a path for.
fn remote_may_run(path: &Path) -> bool {
    // The names that git tries.
    let names = ["", "/.git", ".git", ".git/.git"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    });
    names.iter().any(|data| match data.metadata() {
        // It says where the repository is, or is a bundle.
        Ok(it) if it.is_file() => true,
        Ok(_) => {
            let has = |name: &str| data.join(name).symlink_metadata().is_ok();
            has("commondir") || (has("HEAD") && data_may_run(data))
        }
        Err(_) => false,
    })
}

/// Whether the data of a submodule is as git makes it, with nothing that git may run.
fn is_plain_module(data: &Path) -> bool {
    let configuration = text(&data.join("config")).and_then(|text| settings(&text));
    let is_plain = |it: &GitSetting| it.is_plain() || it.name == "core.worktree";
    let other = ["config.worktree", "commondir"].map(|name| data.join(name));
    !has_git_hooks(data)
        && configuration.is_some_and(|all| all.iter().all(is_plain))
        && other.iter().all(|it| it.symlink_metadata().is_err())
}

/// Whether git, when it reads from or writes to a repository as a remote, may run what that names.
fn data_may_run(data: &Path) -> bool {
    let configuration = match read(&data.join("config"), MAX_BYTES) {
        Ok(None) => Some(Vec::new()),
        Ok(Some(bytes)) => std::str::from_utf8(&bytes).ok().and_then(settings),
        Err(_) => None,
    };
    let is_plain = configuration.is_some_and(|all| all.iter().all(GitSetting::is_plain));
    !is_plain || has_git_hooks(data)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A project with a repository, and the reason that stands against a rule there.
    struct ProjectFolder(tempfile::TempDir);

    impl ProjectFolder {
        fn new(config: &str) -> Self {
            let project = Self(tempfile::tempdir().unwrap());
            project.repository(".git", config);
            project
        }

        fn root(&self) -> PathBuf {
            self.0.path().canonicalize().unwrap()
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Git's own folder as `git init` makes it.
        fn repository(&self, data: &str, config: &str) {
            self.write(&format!("{data}/HEAD"), "ref: refs/heads/a\n");
            self.write(&format!("{data}/config"), config);
            for folder in ["objects", "refs"] {
                fs::create_dir_all(self.root().join(data).join(folder)).unwrap();
            }
        }

        fn against(&self, part: GitUse) -> Option<&'static str> {
            let root = self.root();
            let workspace = Workspace::new(root.clone(), Vec::new(), None, "/nowhere").trusted();
            let effects = CommandEffects { git: Some(part), ..CommandEffects::default() };
            beyond_rules(std::iter::once(root.as_path()), &effects, &workspace)
        }

        #[track_caller]
        fn stands_against_changes(&self, reason: Option<&str>) {
            assert_eq!(self.against(GitUse::Changes), reason);
        }
    }

    const FSMONITOR: &str = "[core]\n\tfsmonitor = ./evil\n";

    #[test]
    fn the_own_hooks_and_filters_are_covered() {
        let project = ProjectFolder::new("[filter \"x\"]\n\tclean = ./tool\n");
        project.write(".git/hooks/pre-commit", "");
        project.stands_against_changes(None);
    }

    #[test]
    fn a_nested_repository_that_could_run_something_is_asked_about_wherever_it_is() {
        let project = ProjectFolder::new("");
        project.repository("a/b/.git", "[core]\n\tbare = false\n");
        project.stands_against_changes(None);
        project.repository("node_modules/x/.git", FSMONITOR);
        project.stands_against_changes(Some(NESTED));
        assert_eq!(project.against(GitUse::WorkingTree), None, "git lists no submodule");
        assert_eq!(project.against(GitUse::History), None, "no file of the working tree is read");
        project.write("node_modules/x/.git/config", "[remote \"o\"]\n\tuploadpack = ./evil\n");
        project.stands_against_changes(Some(NESTED));
        project.write("node_modules/x/.git/config", "");
        project.stands_against_changes(None);
        project.write("node_modules/x/.git/hooks/post-checkout", "");
        project.stands_against_changes(Some(NESTED));
    }

    #[test]
    fn a_submodule_as_git_makes_it_is_covered_until_it_could_run_something() {
        let project = ProjectFolder::new("");
        project.repository(".git/modules/m", "[core]\n\tworktree = ../../../m\n");
        project.write("m/.git", "gitdir: ../.git/modules/m\n");
        project.stands_against_changes(None);
        project.write(".git/modules/m/config", FSMONITOR);
        project.stands_against_changes(Some(NESTED));
        // Its data lies where nobody has looked.
        project.repository("data", "");
        project.write("m/.git", "gitdir: ../data\n");
        project.stands_against_changes(Some(NESTED));
    }

    #[test]
    fn a_remote_on_this_machine_is_asked_about_if_it_could_run_something() {
        for line in [
            "[remote \"origin\"]\n\turl = ./vendor/evil\n",
            "[remote \"origin\"]\n\tpushurl = vendor/evil\n",
            "[branch \"a\"]\n\tremote = ./vendor/evil\n",
            "[url \"./vendor/evil\"]\n\tinsteadOf = https://example.org/x\n",
        ] {
            let project = ProjectFolder::new(line);
            project.stands_against_changes(None);
            project.repository("vendor/evil", "[core]\n\tbare = true\n");
            project.stands_against_changes(None);
            project.write("vendor/evil/hooks/update", "");
            project.stands_against_changes(Some(REMOTE));
            assert_eq!(project.against(GitUse::WorkingTree), None, "{line}");
        }
        let project = ProjectFolder::new("");
        project.repository("evil.git", FSMONITOR);
        for address in ["file://ROOT/evil.git", "ROOT/evil", "evil"] {
            let address = address.replace("ROOT", project.root().to_str().unwrap());
            project.write(".git/config", &format!("[remote \"o\"]\n\turl = {address}\n"));
            project.stands_against_changes(Some(REMOTE));
        }
        for address in
            ["file://localhost/x", "file:///%65vil", "ext::sh -c x", "foo://host/x", "https:///x"]
        {
            project.write(".git/config", &format!("[remote \"o\"]\n\turl = {address}\n"));
            project.stands_against_changes(Some(REMOTE));
        }
        for address in ["https://example.org/evil.git", "git@example.org:evil.git", "."] {
            project.write(".git/config", &format!("[remote \"o\"]\n\turl = {address}\n"));
            project.stands_against_changes(None);
        }
    }

    #[test]
    fn a_remote_that_leads_on_to_another_folder_is_asked_about() {
        let project = ProjectFolder::new("[remote \"o\"]\n\turl = ./cd\n");
        project.write("cd/HEAD", "ref: refs/heads/a\n");
        project.write("cd/commondir", "../vendor/evil\n");
        project.stands_against_changes(Some(REMOTE));
        let project = ProjectFolder::new("[remote \"o\"]\n\turl = ./gf\n");
        project.write("gf/.git", "gitdir: ../vendor/evil\n");
        project.stands_against_changes(Some(REMOTE));
    }

    #[test]
    fn remotes_in_files_of_an_older_form_are_asked_about() {
        for name in ["remotes", "branches"] {
            let project = ProjectFolder::new("");
            fs::create_dir_all(project.root().join(".git").join(name)).unwrap();
            project.stands_against_changes(None);
            project.write(&format!(".git/{name}/origin"), "URL: ./vendor/evil\n");
            project.stands_against_changes(Some(REMOTE));
        }
    }

    #[test]
    fn the_data_of_a_submodule_that_is_not_checked_out_counts() {
        let project = ProjectFolder::new("");
        project.repository(".git/modules/a/b", "[core]\n\tworktree = ../../../../a/b\n");
        project.repository(".git/modules/a/b/modules/c", "");
        project.stands_against_changes(None);
        for data in ["a/b/modules/c", "a/b", "d"] {
            project.repository(&format!(".git/modules/{data}"), FSMONITOR);
            project.stands_against_changes(Some(NESTED));
            project.write(&format!(".git/modules/{data}/config"), "");
            project.stands_against_changes(None);
        }
    }

    #[test]
    fn what_was_left_with_a_strategy_of_its_own_is_asked_about() {
        let project = ProjectFolder::new("");
        project.write(".git/rebase-merge/strategy", "ort\n");
        project.write(".git/sequencer/opts", "[options]\n\tstrategy = ours\n\tmainline = 1\n");
        project.stands_against_changes(None);
        project.write(".git/rebase-merge/strategy", "x/evil\n");
        project.stands_against_changes(Some(HALF_DONE));
        project.write(".git/rebase-merge/strategy", "");
        project.stands_against_changes(Some(HALF_DONE));
        fs::remove_file(project.root().join(".git/rebase-merge/strategy")).unwrap();
        project.stands_against_changes(None);
        project.write(".git/sequencer/opts", "[options]\n\tstrategy = x/evil\n");
        project.stands_against_changes(Some(HALF_DONE));
    }

    #[test]
    fn a_rebase_that_was_left_with_commands_is_asked_about() {
        let project = ProjectFolder::new("");
        project.write(".git/rebase-merge/git-rebase-todo", "pick 1 a\n# exec is a word\n");
        project.stands_against_changes(None);
        for line in ["exec touch x", "  x touch x", "pick 1 a\nexec\ttouch x"] {
            project.write(".git/rebase-merge/git-rebase-todo", line);
            project.stands_against_changes(Some(HALF_DONE));
        }
        assert_eq!(project.against(GitUse::WorkingTree), None);
    }
}
