//! The paths of slug's own files, and the permissions that keep them readable by the user alone.
//!
//! What slug writes for itself goes through [`private_dir`], [`private_file`] and
//! [`replace_private`], except for the session store, which watches each of its writes. Folders get
//! mode 0700 and files 0600 whatever the umask is, and wider ones that exist are narrowed.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// slug's own folder, `~/.slug`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlugHome {
    root: PathBuf,
}

/// Why there is no folder for slug's files.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("no home folder found; set SLUG_HOME to a folder for slug's files")]
    Unknown,
    /// It would lie in the workspace, where the model could change it.
    #[error("SLUG_HOME is {home}, inside the workspace {workspace}; choose a folder outside")]
    InWorkspace { home: PathBuf, workspace: PathBuf },
    /// A relative path would mean another folder in each run.
    #[error("SLUG_HOME is {0}, a relative path; use an absolute one")]
    Relative(PathBuf),
}

/// A file or folder whose permissions were narrowed; worth a notice to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NarrowedPermissions {
    pub path: PathBuf,
    /// The permission bits before that.
    pub before: u32,
}

impl std::fmt::Display for NarrowedPermissions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, before } = self;
        write!(f, "Fixed the permissions of {} (mode was {before:03o})", path.display())
    }
}

impl SlugHome {
    /// Uses `SLUG_HOME` where it is set (`chosen`), else `.slug` in the user's home folder.
    ///
    /// # Errors
    ///
    /// When `chosen` is relative or inside the workspace, or no home folder is known.
    pub fn find(chosen: Option<&Path>, workspace: &Path) -> Result<Self, HomeError> {
        let root = match chosen {
            Some(root) if root.is_relative() => return Err(HomeError::Relative(root.to_owned())),
            Some(root) if real(root).starts_with(real(workspace)) => {
                return Err(HomeError::InWorkspace {
                    home: root.to_owned(),
                    workspace: workspace.to_owned(),
                });
            }
            Some(root) => root.to_owned(),
            None => {
                directories::BaseDirs::new().ok_or(HomeError::Unknown)?.home_dir().join(".slug")
            }
        };
        Ok(Self { root })
    }

    /// Makes the folders that every run needs, and narrows those that others can read.
    ///
    /// # Errors
    ///
    /// When one of the folders cannot be made or narrowed, or belongs to another user.
    pub fn ensure(&self) -> io::Result<Vec<NarrowedPermissions>> {
        let folders = [
            self.root.clone(),
            self.sessions(),
            self.trash(),
            self.blobs(),
            self.logs(),
            self.drafts(),
        ];
        let narrowed = folders.iter().map(|folder| private_dir(folder));
        Ok(narrowed.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// The folder itself, `~/.slug` by default.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's configuration, `config.toml`.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The folder of the user's themes.
    pub fn themes(&self) -> PathBuf {
        self.root.join("themes")
    }

    /// The user's permission rules, `settings.json`.
    pub fn settings(&self) -> PathBuf {
        self.root.join("settings.json")
    }

    /// The user's instructions for every project, `SLUG.md`.
    pub fn instructions(&self) -> PathBuf {
        self.root.join("SLUG.md")
    }

    /// The folder of session logs.
    pub fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// The folder of deleted sessions.
    pub fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }

    /// The folder of stored contents, each named by its hash.
    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// The folder of slug's own logs, one file a day.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The folder of the model servers that slug runs, with a folder for each model.
    pub fn local_servers(&self) -> PathBuf {
        self.root.join("local")
    }

    /// The folder for `--debug-log`, with a folder for each run.
    pub fn debug(&self) -> PathBuf {
        self.root.join("debug")
    }

    /// The folder of messages that were typed but not sent.
    pub fn drafts(&self) -> PathBuf {
        self.root.join("drafts")
    }

    /// The messages that were sent, for the history of the input.
    pub fn history(&self) -> PathBuf {
        self.root.join("history.jsonl")
    }

    /// Which model was used last in each folder.
    pub fn last_models(&self) -> PathBuf {
        self.root.join("models.json")
    }

    /// The models that the user marked as favourites.
    pub fn favourites(&self) -> PathBuf {
        self.root.join("favourites.json")
    }

    /// How the list of sessions is grouped.
    pub fn grouping(&self) -> PathBuf {
        self.root.join("grouping.json")
    }

    /// The folder of sessions that were exported from the list.
    pub fn exports(&self) -> PathBuf {
        self.root.join("exports")
    }

    /// How kinds of panes are folded.
    pub fn folds(&self) -> PathBuf {
        self.root.join("folds.json")
    }

    /// The last copied text that no clipboard is known to have.
    pub fn clipboard(&self) -> PathBuf {
        self.root.join("clipboard.txt")
    }

    /// What `slug models refresh` has fetched.
    pub fn catalogue(&self) -> PathBuf {
        self.root.join("catalogue.json")
    }

    /// The folders that the user trusts.
    pub fn trust(&self) -> PathBuf {
        self.root.join("trust.json")
    }
}

/// Makes a folder with mode 0700, and its missing parents. An existing folder that others can use
/// is narrowed and reported.
///
/// # Errors
///
/// When the folder cannot be made or narrowed, is a file, or belongs to another user.
pub fn private_dir(path: &Path) -> io::Result<Option<NarrowedPermissions>> {
    match DirBuilder::new().mode(DIR_MODE).create(path) {
        // The umask may have taken bits from the owner.
        Ok(()) => set_mode(path, DIR_MODE).map(|()| None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(above) = path.parent() {
                private_dir(above)?;
            }
            DirBuilder::new().mode(DIR_MODE).create(path)?;
            set_mode(path, DIR_MODE).map(|()| None)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => narrow(path, DIR_MODE),
        Err(error) => Err(error),
    }
}

/// Opens or makes a file with mode 0600; `options` must allow writing. An existing file that others
/// can use is narrowed and reported.
///
/// # Errors
///
/// When the file cannot be opened or narrowed. A symbolic link is not followed and fails.
pub fn private_file(
    path: &Path,
    options: &mut OpenOptions,
) -> io::Result<(File, Option<NarrowedPermissions>)> {
    let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let file = options.mode(FILE_MODE).custom_flags(no_follow).open(path)?;
    let before = file.metadata()?.permissions().mode() & 0o777;
    if before == FILE_MODE {
        return Ok((file, None));
    }
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    let was_wider = before & !FILE_MODE != 0;
    Ok((file, was_wider.then(|| NarrowedPermissions { path: path.to_owned(), before })))
}

/// Removes the permission bits that are not in `mode`; those that the user removed stay removed.
fn narrow(path: &Path, mode: u32) -> io::Result<Option<NarrowedPermissions>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "a file is where a folder goes"));
    }
    let above = path.parent().map(fs::metadata).transpose()?;
    let shared = above.is_some_and(|above| above.permissions().mode() & 0o002 != 0);
    if !is_ours(metadata.uid(), rustix::process::geteuid().as_raw(), shared) {
        let why = format!("{} belongs to another user: choose another folder", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let before = metadata.permissions().mode() & 0o777;
    if before & !mode == 0 {
        return Ok(None);
    }
    set_mode(path, before & mode)?;
    Ok(Some(NarrowedPermissions { path: path.to_owned(), before }))
}

/// Whether an existing folder may be used: it belongs to this user. Root may use another user's
/// folder, like that of a volume in a container, but not where everybody can put one.
fn is_ours(owner: u32, me: u32, shared: bool) -> bool {
    owner == me || (me == 0 && !shared)
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Replaces a file by `bytes` in one step, with mode 0600. A missing folder is made with mode 0700.
///
/// # Errors
///
/// When the folder or the file cannot be made, written or synced. The old file stays in that case,
/// unless only the sync of the folder failed.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    };
    if !fs::exists(folder)? {
        DirBuilder::new().recursive(true).mode(DIR_MODE).create(folder)?;
    }
    // A temporary file of this kind has mode 0600 from the start.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(folder)?.sync_all()
}

/// The bytes that the user can still write on the file system of `path`, which need not exist yet.
///
/// # Errors
///
/// When the system does not tell.
pub fn free_space(path: &Path) -> io::Result<u64> {
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(path);
    let stat = rustix::fs::statvfs(there)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Resolves the links of the part of the path that exists.
fn real(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(there), path.strip_prefix(there)) {
            return real.join(rest);
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn s103_everything_is_private_to_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let home =
            SlugHome::find(Some(&folder.path().join("a/slug")), Path::new("/nowhere")).unwrap();
        assert_eq!(home.ensure().unwrap(), []);
        assert_eq!(home.ensure().unwrap(), []);
        for path in [home.root(), &home.sessions(), &home.logs(), &home.blobs()] {
            assert_eq!(mode(path), 0o700, "{path:?}");
        }
        let file = home.history();
        let (_, narrowed) =
            private_file(&file, OpenOptions::new().append(true).create(true)).unwrap();
        assert_eq!((mode(&file), narrowed), (0o600, None));
    }

    #[test]
    fn s103_wider_ones_are_narrowed_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let home =
            SlugHome::find(Some(&folder.path().join("slug")), Path::new("/nowhere")).unwrap();
        home.ensure().unwrap();
        set_mode(&home.logs(), 0o755).unwrap();
        fs::write(home.history(), "x").unwrap();
        set_mode(&home.history(), 0o644).unwrap();
        assert_eq!(
            home.ensure().unwrap(),
            [NarrowedPermissions { path: home.logs(), before: 0o755 }]
        );
        assert_eq!(mode(&home.logs()), 0o700);
        let narrowed = private_file(&home.history(), OpenOptions::new().append(true)).unwrap().1;
        assert!(narrowed.unwrap().to_string().contains("mode was 644"));
        assert_eq!(mode(&home.history()), 0o600);
    }

    #[test]
    fn s52_a_folder_of_somebody_else_is_not_used() {
        for (owner, me, shared, ours) in [
            (1000, 1000, true, true),
            (1001, 1000, false, false),
            (0, 1000, true, false),
            (1000, 0, true, false),
            (1000, 0, false, true),
        ] {
            assert_eq!(is_ours(owner, me, shared), ours, "{owner} {me} {shared}");
        }
        let folder = tempfile::tempdir().unwrap();
        set_mode(folder.path(), 0o1777).unwrap();
        let theirs = folder.path().join("slug");
        fs::create_dir(&theirs).unwrap();
        // Only root can give one away.
        if std::os::unix::fs::chown(&theirs, Some(12_345), None).is_ok() {
            let error = private_dir(&theirs).unwrap_err();
            assert!(error.to_string().contains("belongs to another user"), "{error}");
        }
    }

    #[test]
    fn s52_a_link_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(private_file(&link, OpenOptions::new().append(true).create(true)).is_err());
    }

    #[test]
    fn the_home_may_not_lie_in_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("work");
        fs::create_dir(&workspace).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&workspace, &link).unwrap();
        for inside in [workspace.join("x/y"), workspace.clone(), link.join("z")] {
            let error = SlugHome::find(Some(&inside), &workspace).unwrap_err();
            assert!(matches!(error, HomeError::InWorkspace { .. }), "{inside:?}");
        }
        assert!(SlugHome::find(Some(&folder.path().join("workshop")), &workspace).is_ok());
        let error = SlugHome::find(Some(Path::new("here")), &workspace).unwrap_err();
        assert!(matches!(error, HomeError::Relative(_)));
    }

    #[test]
    fn free_space_is_known_for_what_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_space(&folder.path().join("a/b")).unwrap() > 0);
    }
}
