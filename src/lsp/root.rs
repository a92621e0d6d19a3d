//! The folder that a server works in for a file.

use std::path::{Path, PathBuf};

use crate::disk::read_text;

use super::definition::{LspRootRule, LspServerDefinition};

/// The most bytes that are read of a `Cargo.toml`.
const MAX_MANIFEST: u64 = 256 << 10;

/// The most entries of a folder that are compared with a marker that has a `*`.
const MAX_ENTRIES: usize = 5_000;

/// The root for a file in `workspace`; `None` where the server is not for it. Blocks.
pub(super) fn root_for(
    server: &LspServerDefinition,
    file: &Path,
    workspace: &Path,
) -> Option<PathBuf> {
    let folders: Vec<&Path> =
        file.ancestors().skip(1).take_while(|folder| folder.starts_with(workspace)).collect();
    if folders.is_empty() {
        return None;
    }
    let has_any = |folder: &Path, markers: &[String]| markers.iter().any(|it| has(folder, it));
    if folders.iter().any(|folder| has_any(folder, &server.not_below)) {
        return None;
    }
    let special = match server.root {
        LspRootRule::Nearest => None,
        LspRootRule::CargoWorkspace => folders.iter().rev().find(|it| is_cargo_workspace(it)),
        LspRootRule::GoWorkspace => folders.iter().find(|folder| folder.join("go.work").is_file()),
    };
    let nearest = || folders.iter().find(|folder| has_any(folder, &server.markers));
    match special.or_else(nearest) {
        Some(root) => Some(root.to_path_buf()),
        None => (!server.needs_marker).then(|| workspace.to_owned()),
    }
}

fn is_cargo_workspace(folder: &Path) -> bool {
    let text = read_text(&folder.join("Cargo.toml"), MAX_MANIFEST).ok().flatten();
    text.is_some_and(|text| text.lines().any(|line| line.trim_start().starts_with("[workspace")))
}

/// Whether a folder has a file of this name; a `*` stands for any characters.
fn has(folder: &Path, marker: &str) -> bool {
    let Some((start, end)) = marker.split_once('*') else { return folder.join(marker).exists() };
    let fits = |name: &str| {
        name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
    };
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    let mut names = entries.take(MAX_ENTRIES).flatten().map(|entry| entry.file_name());
    names.any(|name| name.to_str().is_some_and(fits))
}

#[cfg(test)]
mod tests {
    use super::super::table::built_in_servers;
    use super::*;

    fn roots(files: &[(&str, &str)], server: &str, file: &str) -> Option<String> {
        let workspace = tempfile::tempdir().unwrap();
        let top = workspace.path().join("w");
        for (name, text) in files {
            let path = top.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let server = built_in_servers().into_iter().find(|it| it.name == server).unwrap();
        let root = root_for(&server, &crate::domain::clean_path(&top.join(file)), &top)?;
        Some(root.strip_prefix(&top).unwrap().to_str().unwrap().to_owned())
    }

    #[test]
    fn the_root_is_the_nearest_marker_and_never_above_the_workspace() {
        let some = |path: &str| Some(path.to_owned());
        let python = [("a/pyproject.toml", ""), ("../pyproject.toml", "")];
        assert_eq!(roots(&python, "pyright", "a/b/c.py"), some("a"));
        assert_eq!(roots(&python, "pyright", "x/c.py"), some(""), "the workspace itself");
        assert_eq!(roots(&python, "pyright", "../c.py"), None);
        assert_eq!(roots(&[("../Cargo.toml", "")], "rust-analyzer", "src/a.rs"), None);
        let member = [("Cargo.toml", "[workspace]\n"), ("m/Cargo.toml", "[package]")];
        assert_eq!(roots(&member, "rust-analyzer", "m/src/a.rs"), some(""));
        let single = [("m/Cargo.toml", "[package]")];
        assert_eq!(roots(&single, "rust-analyzer", "m/src/a.rs"), some("m"));
        let go = [("go.work", ""), ("m/go.mod", ""), ("n/go.mod", "")];
        assert_eq!(roots(&go, "gopls", "m/a.go"), some(""));
        assert_eq!(roots(&go[1..], "gopls", "m/a.go"), some("m"));
        assert_eq!(roots(&[("x/A.csproj", "")], "csharp-ls", "x/y/a.cs"), some("x"));
        assert_eq!(roots(&[("x/.csproj.bak", "")], "csharp-ls", "x/y/a.cs"), None);
        let deno = [("deno.json", ""), ("p/package.json", "")];
        assert_eq!(roots(&deno, "typescript", "p/a.ts"), None);
        assert_eq!(roots(&deno[1..], "typescript", "p/a.ts"), some("p"));
    }
}
