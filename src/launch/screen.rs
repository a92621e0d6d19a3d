//! The full screen: the questions before the chat, then the chat.

use tempfile::TempDir;

use crate::cli::{Cli, Exit};
use crate::providers::demo;

use super::ground::Ground;

pub(super) async fn run(_cli: &Cli, _ground: &Ground) -> anyhow::Result<Exit> {
    anyhow::bail!("being built")
}

/// The scratch repository that the built-in demo works in; gone when it is dropped.
pub(super) fn scratch(cli: &Cli) -> anyhow::Result<Option<TempDir>> {
    if cli.demo != Some(None) || cli.directory.is_some() {
        return Ok(None);
    }
    let folder = tempfile::Builder::new().prefix("slug-demo-").tempdir()?;
    demo::materialise_repo(folder.path())?;
    Ok(Some(folder))
}
