//! Which package the running binary is of, so that the user knows who updates it.
//!
//! What a package manager keeps in plain files is read there; only rpm, whose list is a database, is
//! asked itself. That no package has the binary is no problem: somebody has built or unpacked it.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use super::DoctorFinding;

const SUBJECT: &str = "package";
const DPKG: &str = "var/lib/dpkg/info";
const PACMAN: &str = "var/lib/pacman/local";
const RPM: &str = "usr/bin/rpm";
/// A list of files larger than this is not read, in bytes.
const LIST_LIMIT: u64 = 16 << 20;

/// Where the running binary is, and the root of the system that it is on.
#[derive(Debug, Clone, Copy)]
pub struct BinaryPlace<'a> {
    /// Without symbolic links.
    pub binary: &'a Path,
    /// `/`, except in tests.
    pub root: &'a Path,
}

pub(super) fn check(place: BinaryPlace<'_>) -> DoctorFinding {
    let owner = of_path(place.binary)
        .or_else(|| of_cargo(place.binary))
        .or_else(|| of_dpkg(place))
        .or_else(|| of_pacman(place))
        .or_else(|| of_rpm(place))
        .map_or_else(|| "not from a package".to_owned(), |package| format!("from {package}"));
    let (version, binary) = (env!("CARGO_PKG_VERSION"), place.binary.display());
    DoctorFinding::ok(SUBJECT, format!("slug {version} at {binary}, {owner}."))
}

/// Homebrew and Nix have a folder for each package.
fn of_path(binary: &Path) -> Option<String> {
    let names: Vec<&str> = binary
        .components()
        .filter_map(|it| match it {
            Component::Normal(name) => name.to_str(),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => None,
        })
        .collect();
    if let ["nix", "store", folder, ..] = names[..] {
        let (_, name) = folder.split_once('-')?;
        return Some(format!("Nix's package `{name}`"));
    }
    let cellar = names.iter().position(|name| *name == "Cellar")?;
    names.get(cellar + 1).map(|name| format!("Homebrew's formula `{name}`"))
}

/// `cargo install` keeps a list beside the folder of the binaries.
fn of_cargo(binary: &Path) -> Option<String> {
    let list = read(&binary.parent()?.parent()?.join(".crates.toml"))?;
    let list: toml::Table = list.parse().ok()?;
    let name = binary.file_name()?.to_str()?;
    let has = |binaries: &toml::Value| {
        binaries.as_array().is_some_and(|all| all.iter().any(|it| it.as_str() == Some(name)))
    };
    let crates = list.get("v1")?.as_table()?;
    let (owner, _) = crates.iter().find(|(_, binaries)| has(binaries))?;
    // The name, the version, and where from.
    Some(format!("the crate `{}` by cargo install", owner.split(' ').next()?))
}

/// A list for each package: NAME.list or NAME:ARCHITECTURE.list, with full paths.
fn of_dpkg(place: BinaryPlace<'_>) -> Option<String> {
    let (package, _) = entries(&place.root.join(DPKG))
        .filter(|(name, _)| name.ends_with(".list"))
        .find(|(_, path)| has_line(path, place.binary.to_str()))?;
    let package = package.trim_end_matches(".list");
    let package = package.split_once(':').map_or(package, |(name, _)| name);
    Some(format!("the deb package `{package}`"))
}

/// A folder NAME-VERSION-RELEASE for each package, with a list of paths without the first slash.
fn of_pacman(place: BinaryPlace<'_>) -> Option<String> {
    let line = place.binary.to_str()?.strip_prefix('/')?;
    let (package, _) = entries(&place.root.join(PACMAN))
        .find(|(_, folder)| has_line(&folder.join("files"), Some(line)))?;
    let name = package.rsplitn(3, '-').last()?;
    Some(format!("pacman's package `{name}`"))
}

fn of_rpm(place: BinaryPlace<'_>) -> Option<String> {
    let ran = Command::new(place.root.join(RPM))
        .args(["-qf", "--queryformat", "%{NAME}\\n", "--"])
        .arg(place.binary)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let answer = String::from_utf8(ran.stdout).ok()?;
    let name = answer.lines().next().filter(|name| !name.is_empty())?;
    ran.status.success().then(|| format!("the rpm package `{name}`"))
}

/// The names in a folder with their paths, in order.
fn entries(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    let mut all: Vec<(String, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    all.sort();
    all.into_iter()
}

fn has_line(list: &Path, line: Option<&str>) -> bool {
    line.is_some() && read(list).is_some_and(|text| text.lines().any(|it| Some(it) == line))
}

/// The text of a plain file that is not too large.
fn read(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= LIST_LIMIT).then(|| fs::read_to_string(path).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::DoctorStatus;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn owner(root: &Path, binary: &str) -> String {
        let found = check(BinaryPlace { binary: Path::new(binary), root });
        assert_eq!(found.state, DoctorStatus::Ok);
        let start = format!("slug {} at {binary}, ", env!("CARGO_PKG_VERSION"));
        found.text.strip_prefix(&start).unwrap().to_owned()
    }

    #[test]
    fn the_package_is_found_in_the_list_of_each_manager() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(owner(root, "/usr/bin/slug"), "not from a package.");

        write(root, "var/lib/pacman/local/ALPM_DB_VERSION", "9\n");
        write(root, "var/lib/pacman/local/slug-code-bin-0.1.0-1/files", "%FILES%\nusr/bin/slug\n");
        assert_eq!(owner(root, "/usr/bin/slug"), "from pacman's package `slug-code-bin`.");

        write(root, "var/lib/dpkg/info/bash.list", "/.\n/usr/bin/slug-of-another\n");
        write(root, "var/lib/dpkg/info/slug-code.list", "/.\n/usr/bin\n/usr/bin/slug\n");
        write(root, "var/lib/dpkg/info/other.conffiles", "/opt/slug\n");
        assert_eq!(owner(root, "/usr/bin/slug"), "from the deb package `slug-code`.");
        assert_eq!(owner(root, "/opt/slug"), "not from a package.");
        write(root, "var/lib/dpkg/info/slug-code:amd64.list", "/opt/slug\n");
        assert_eq!(owner(root, "/opt/slug"), "from the deb package `slug-code`.");
    }

    #[test]
    fn the_package_is_found_by_the_path_and_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let nix = "/nix/store/0c2m8y-slug-code-0.1.0/bin/slug";
        assert_eq!(owner(root, nix), "from Nix's package `slug-code-0.1.0`.");
        let brewed = "/opt/homebrew/Cellar/slug-code/0.1.0/bin/slug";
        assert_eq!(owner(root, brewed), "from Homebrew's formula `slug-code`.");

        let installed = root.join("bin/slug");
        let installed = installed.to_str().unwrap();
        for (list, expected) in [
            ("not TOML [", "not from a package."),
            ("v1 = 1", "not from a package."),
            ("[v1]\n\"other 1.0.0 (x)\" = [\"other\"]\n", "not from a package."),
            (
                "[v1]\n\"other 1.0.0 (x)\" = [\"o\"]\n\"slug-code 0.1.0 (path+file:///s)\" = [\"slug\"]\n",
                "from the crate `slug-code` by cargo install.",
            ),
        ] {
            write(root, ".crates.toml", list);
            assert_eq!(owner(root, installed), expected, "{list}");
        }
    }

    #[test]
    fn rpm_is_asked_and_believed_only_when_it_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (script, expected) in [
            ("test \"$5\" = /usr/bin/slug && echo slug-code", "from the rpm package `slug-code`."),
            ("echo 'file is not owned by any package'; exit 1", "not from a package."),
            ("true", "not from a package."),
        ] {
            write(root, "script", &format!("#!/bin/sh\n{script}\n"));
            // By another process: what this one has open for writing, a fork elsewhere may hold.
            let mut install = Command::new("install");
            install.arg("-Dm755").arg(root.join("script")).arg(root.join(RPM));
            assert!(install.status().unwrap().success());
            assert_eq!(owner(root, "/usr/bin/slug"), expected, "{script}");
        }
    }
}
