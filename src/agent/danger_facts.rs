//! Counts what a dangerous call would touch, for the question about it: files, bytes, what git
//! tracks, commits that a push would send. The command itself never runs, nothing is fetched, and
//! what takes too long is left out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::context::GitExecutable;
use crate::domain::DangerFact;
use crate::permissions::danger_targets::{DangerTarget, FolderRemoval};

use super::blocking::blocking;

/// The longest that all counts together take.
const TIME_LIMIT: Duration = Duration::from_secs(3);
/// The longest walk through folders; what was counted by then is shown as a part.
const WALK_LIMIT: Duration = Duration::from_secs(1);
/// The most files and folders that are looked at.
const MOST_ENTRIES: usize = 20_000;

/// What can be said about these targets. git is asked only in the workspace, at `workspace`.
pub(super) async fn danger_facts(
    git: Option<&GitExecutable>,
    workspace: &Path,
    targets: &[DangerTarget],
) -> Vec<DangerFact> {
    let until = Instant::now() + TIME_LIMIT;
    let mut facts = Vec::new();
    for target in targets {
        let Ok(fact) = timeout_at(until, fact(git, workspace, target)).await else { break };
        facts.extend(fact);
    }
    facts
}

async fn fact(
    git: Option<&GitExecutable>,
    workspace: &Path,
    target: &DangerTarget,
) -> Option<DangerFact> {
    let workspace = workspace.to_owned();
    let workspace = blocking(move || workspace.canonicalize()).await.ok()?.ok()?;
    let git_in = |cwd: &Path| git.filter(|_| cwd.starts_with(&workspace));
    match target {
        DangerTarget::Paths { cwd, paths, folders } => {
            let count = count_files(paths.clone(), *folders).await?;
            let tracked = match git_in(cwd) {
                Some(git) if !count.is_partial => git.tracked_count(cwd, paths).await,
                Some(_) | None => None,
            };
            // A tracked file that is gone already is no file that would be deleted.
            let tracked = tracked.filter(|tracked| *tracked <= count.files);
            Some(count.fact(tracked))
        }
        DangerTarget::UntrackedFiles { cwd } => {
            let names = git_in(cwd)?.untracked(cwd).await?;
            let paths = names.into_iter().map(|name| cwd.join(name)).collect();
            Some(count_files(paths, FolderRemoval::WithContents).await?.fact(Some(0)))
        }
        DangerTarget::UnpushedCommits { cwd, remote, branch } => {
            let git = git_in(cwd)?;
            let remote = match remote {
                Some(remote) => remote.clone(),
                None => git.push_remote(cwd).await?,
            };
            let count = git.unpushed_count(cwd, &remote, branch.as_deref()).await?;
            Some(DangerFact::Commits { count, remote })
        }
    }
}

/// Files at some paths and below.
#[derive(Debug, Default, PartialEq, Eq)]
struct FileCount {
    files: u64,
    bytes: u64,
    is_partial: bool,
}

impl FileCount {
    fn fact(self, tracked: Option<u64>) -> DangerFact {
        let Self { files: count, bytes, is_partial } = self;
        DangerFact::Files { count, bytes, tracked, is_partial }
    }
}

/// Counts on another thread, which ends soon after nobody waits for it any more.
async fn count_files(paths: Vec<PathBuf>, folders: FolderRemoval) -> Option<FileCount> {
    let limits = WalkLimits {
        until: Instant::now() + WALK_LIMIT,
        entries: MOST_ENTRIES,
        stop: CancellationToken::new(),
    };
    let _stopped_with_the_question = limits.stop.clone().drop_guard();
    blocking(move || count_within(&paths, folders, &limits)).await.ok()
}

/// Where a walk ends, whatever is left.
struct WalkLimits {
    until: Instant,
    entries: usize,
    stop: CancellationToken,
}

impl WalkLimits {
    fn are_reached(&self, entries: usize) -> bool {
        entries >= self.entries || self.stop.is_cancelled() || Instant::now() >= self.until
    }
}

/// Counts without following a link: a link is one file. A folder that cannot be read makes the count
/// a part.
fn count_within(paths: &[PathBuf], folders: FolderRemoval, limits: &WalkLimits) -> FileCount {
    let mut count = FileCount::default();
    let mut paths = outermost(paths);
    let mut entries = paths.len();
    while let Some(path) = paths.pop() {
        if limits.are_reached(entries.saturating_sub(paths.len() + 1)) {
            count.is_partial = true;
            break;
        }
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if !metadata.is_dir() {
            count.files += 1;
            count.bytes = count.bytes.saturating_add(metadata.len());
            continue;
        }
        if folders == FolderRemoval::Refused {
            continue;
        }
        let Ok(inside) = path.read_dir() else {
            count.is_partial = true;
            continue;
        };
        for entry in inside {
            // Those that are over the limit are not even listed.
            let (Ok(entry), false) = (entry, limits.are_reached(entries)) else {
                count.is_partial = true;
                break;
            };
            entries += 1;
            paths.push(entry.path());
        }
    }
    count
}

/// The paths without those that are inside others, so that no file is counted twice.
fn outermost(paths: &[PathBuf]) -> Vec<PathBuf> {
    // With a slash at its end, a link would be followed.
    let mut paths: Vec<PathBuf> = paths.iter().map(|path| path.components().collect()).collect();
    paths.sort();
    paths.dedup_by(|path, before| path.starts_with(before));
    paths
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn limits(entries: usize) -> WalkLimits {
        let until = Instant::now() + Duration::from_secs(60);
        WalkLimits { until, entries, stop: CancellationToken::new() }
    }

    fn count(paths: &[PathBuf], limits: &WalkLimits) -> FileCount {
        count_within(paths, FolderRemoval::WithContents, limits)
    }

    #[test]
    fn files_are_counted_once_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let build = folder.path().join("build");
        fs::create_dir_all(build.join("deep")).unwrap();
        fs::create_dir(folder.path().join("other")).unwrap();
        fs::write(folder.path().join("other/large"), vec![0; 5000]).unwrap();
        for name in ["a", "b", "deep/c"] {
            fs::write(build.join(name), "12345").unwrap();
        }
        symlink(folder.path().join("other"), build.join("link")).unwrap();
        let counted = count(&[build.join("")], &limits(100));
        assert_eq!((counted.files, counted.is_partial), (4, false));
        assert!(counted.bytes < 1000, "{counted:?}");
        let twice = [build.join("deep"), build.clone(), build.join("a"), build.join("link/")];
        assert_eq!(count(&twice, &limits(100)), counted);
        let alone = count(&[build.join("link/")], &limits(100));
        assert_eq!((alone.files, alone.is_partial), (1, false));
        let gone = count(&[folder.path().join("none")], &limits(100));
        assert_eq!(gone, FileCount::default());
        // Without -r a folder stays.
        let paths = [build, folder.path().join("other/large")];
        let files = count_within(&paths, FolderRemoval::Refused, &limits(100));
        assert_eq!(files, FileCount { files: 1, bytes: 5000, is_partial: false });
    }

    #[test]
    fn a_walk_ends_at_each_limit() {
        let folder = tempfile::tempdir().unwrap();
        let many = folder.path().join("many");
        fs::create_dir(&many).unwrap();
        for name in 0..50 {
            fs::write(many.join(name.to_string()), "1").unwrap();
        }
        let whole = count(std::slice::from_ref(&many), &limits(100));
        assert_eq!(whole, FileCount { files: 50, bytes: 50, is_partial: false });
        let part = count(std::slice::from_ref(&many), &limits(10));
        assert!(part.is_partial && (1..=10).contains(&part.files), "{part:?}");
        // Folders without files are entries, too.
        fs::create_dir_all(folder.path().join("empty/a/b/c/d/e/f")).unwrap();
        assert!(count(&[folder.path().join("empty")], &limits(3)).is_partial);
        let late = WalkLimits { until: Instant::now(), ..limits(100) };
        assert_eq!(
            count(std::slice::from_ref(&many), &late),
            FileCount { is_partial: true, ..FileCount::default() }
        );
        let stopped = limits(100);
        stopped.stop.cancel();
        assert_eq!(
            count(&[many], &stopped),
            FileCount { is_partial: true, ..FileCount::default() }
        );
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_a_part() {
        let folder = tempfile::tempdir().unwrap();
        let closed = folder.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::write(folder.path().join("open"), "12").unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        if closed.read_dir().is_ok() {
            eprintln!("skipped: root reads every folder");
            return;
        }
        let counted = count(&[folder.path().to_owned()], &limits(100));
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(counted, FileCount { files: 1, bytes: 2, is_partial: true });
    }

    #[tokio::test]
    async fn without_git_files_are_counted_and_commits_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().to_owned();
        fs::write(cwd.join("a"), "12").unwrap();
        let targets = [
            DangerTarget::UnpushedCommits { cwd: cwd.clone(), remote: None, branch: None },
            DangerTarget::UntrackedFiles { cwd: cwd.clone() },
            DangerTarget::Paths {
                paths: vec![cwd.join("a")],
                folders: FolderRemoval::Refused,
                cwd: cwd.clone(),
            },
        ];
        let counted = DangerFact::Files { count: 1, bytes: 2, tracked: None, is_partial: false };
        assert_eq!(danger_facts(None, &cwd, &targets).await, [counted]);
    }
}
