//! What git knows about files and commits before a command touches them. Only git's index and its
//! local refs are read: no filter, hook or transport runs, and nothing is fetched.

use std::path::{Path, PathBuf};

use super::GitExecutable;

impl GitExecutable {
    /// How many of the files at these paths git tracks. `None` outside of a repository, and where
    /// the list is longer than slug reads.
    pub async fn tracked_count(&self, cwd: &Path, paths: &[PathBuf]) -> Option<u64> {
        let mut arguments = vec!["--literal-pathspecs", "ls-files", "-z", "--"];
        for path in paths {
            arguments.push(path.to_str()?);
        }
        let listed = self.run(cwd, &[], &arguments).await?.whole()?;
        Some(entries(&listed).count() as u64)
    }

    /// The files below `cwd` that git neither tracks nor ignores, relative to it. `None` as above.
    pub async fn untracked(&self, cwd: &Path) -> Option<Vec<PathBuf>> {
        let arguments = ["ls-files", "--others", "--exclude-standard", "-z"];
        let listed = self.run(cwd, &[], &arguments).await?.whole()?;
        // A name that ends in a slash is a repository of its own.
        Some(entries(&listed).filter(|name| !name.ends_with('/')).map(PathBuf::from).collect())
    }

    /// The remote that a plain `git push` on the current branch goes to. `None` without a branch.
    pub async fn push_remote(&self, cwd: &Path) -> Option<String> {
        let branch = self.run(cwd, &[], &["symbolic-ref", "-q", "HEAD"]).await?.whole()?;
        let configured = ["for-each-ref", "--format=%(push:remotename)", branch.trim()];
        let configured = self.run(cwd, &[], &configured).await?.whole()?;
        let remote = configured.trim();
        Some(if remote.is_empty() { "origin" } else { remote }.to_owned())
    }

    /// How many commits of a branch (`None`: the current one) the refs of a remote do not have, as
    /// it was fetched last. `None` for a remote that was never fetched.
    pub async fn unpushed_count(
        &self,
        cwd: &Path,
        remote: &str,
        branch: Option<&str>,
    ) -> Option<u64> {
        let refs = format!("refs/remotes/{remote}/");
        let known = ["for-each-ref", "--count=1", "--format=%(refname)", &refs];
        if self.run(cwd, &[], &known).await?.whole()?.trim().is_empty() {
            return None;
        }
        let branch = branch.map_or_else(|| "HEAD".to_owned(), |it| format!("refs/heads/{it}"));
        let remotes = format!("--remotes={remote}");
        let count = ["rev-list", "--count", &branch, "--not", &remotes];
        self.run(cwd, &[], &count).await?.whole()?.trim().parse().ok()
    }
}

fn entries(listed: &str) -> impl Iterator<Item = &str> {
    listed.split('\0').filter(|name| !name.is_empty())
}
