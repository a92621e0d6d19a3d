//! The port on real folders: what is kept of a file, and that swapping a path gains nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use tempfile::TempDir;

use super::*;
use crate::domain::faults::{self, with_failing_call};

/// A temporary folder, addressed by its real path.
struct RealTempDir {
    _held: TempDir,
    path: PathBuf,
}

impl RealTempDir {
    fn new() -> Self {
        let held = TempDir::new().unwrap();
        let path = held.path().canonicalize().unwrap();
        Self { _held: held, path }
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn r49_special_files_are_told_apart_without_blocking() {
    let dir = RealTempDir::new();
    let at = |name: &str| dir.path().join(name);
    crate::domain::testing::make_fifo(&at("fifo"));
    let _listener = UnixListener::bind(at("socket")).unwrap();
    symlink(at("fifo"), at("link")).unwrap();
    fs::write(at("file"), "x").unwrap();
    let cases = [
        (at("fifo"), FileState::Special),
        (at("socket"), FileState::Special),
        ("/dev/zero".into(), FileState::Special),
        (dir.path().to_owned(), FileState::Folder),
        (at("none"), FileState::Missing),
        (at("file/none"), FileState::Missing),
        (at("file"), FileState::File(b"x".to_vec())),
    ];
    for (path, expected) in cases {
        assert_eq!(DiskFiles.read(&path, 10).await.unwrap(), expected, "{path:?}");
    }
    assert!(DiskFiles.write(&at("fifo"), b"", None).await.is_err());
    assert!(DiskFiles.write(dir.path(), b"", None).await.is_err());
}

#[test]
fn a_search_opens_only_regular_files_that_no_link_leads_to() {
    let dir = RealTempDir::new();
    let at = |name: &str| dir.path().join(name);
    crate::domain::testing::make_fifo(&at("fifo"));
    let _listener = UnixListener::bind(at("socket")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("folder/file"), "x").unwrap();
    symlink(at("folder"), at("way")).unwrap();
    symlink(at("folder/file"), at("link")).unwrap();
    for name in ["fifo", "socket", "folder", "none", "folder/file/none"] {
        assert!(DiskFiles.open(&at(name)).unwrap().is_none(), "{name}");
    }
    for name in ["way/file", "link", "folder/../link"] {
        assert!(DiskFiles.open(&at(name)).is_err(), "{name}");
    }
    let found = DiskFiles.open(&at("folder/file")).unwrap().unwrap();
    assert_eq!(io::read_to_string(found).unwrap(), "x");
}

#[tokio::test]
async fn more_than_the_limit_is_not_read() {
    let dir = RealTempDir::new();
    let path = dir.path().join("f");
    fs::write(&path, "12345").unwrap();
    assert_eq!(DiskFiles.read(&path, 5).await.unwrap(), FileState::File(b"12345".to_vec()));
    assert_eq!(DiskFiles.read(&path, 4).await.unwrap(), FileState::TooBig(5));
    assert_eq!(DiskFiles.read_at(&path, 1, 3).await.unwrap(), b"234");
    assert_eq!(DiskFiles.read_at(&path, 9, 3).await.unwrap(), b"");
}

#[tokio::test]
async fn a_write_makes_folders_and_leaves_nothing_else() {
    let dir = RealTempDir::new();
    let path = dir.path().join("a/b/f");
    DiskFiles.write(&path, b"new", Some(None)).await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(&dir.path().join("a/b")), ["f"]);
}

#[tokio::test]
async fn a_new_file_has_the_mode_that_any_program_would_give_it() {
    let dir = RealTempDir::new();
    fs::write(dir.path().join("plain"), "").unwrap();
    DiskFiles.write(&dir.path().join("ours"), b"", None).await.unwrap();
    let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().mode();
    assert_eq!(mode("ours"), mode("plain"));
}

#[tokio::test]
async fn r15_a_replaced_file_keeps_its_mode() {
    let dir = RealTempDir::new();
    let path = dir.path().join("run.sh");
    fs::write(&path, "old").unwrap();
    for mode in [0o755, 0o600, 0o664] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        DiskFiles.write(&path, b"new", None).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    }
}

#[tokio::test]
async fn a_replaced_file_keeps_its_owner_and_group() {
    // Only root can give files away.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = RealTempDir::new();
    let path = dir.path().join("f");
    fs::write(&path, "old").unwrap();
    std::os::unix::fs::chown(&path, Some(1234), Some(4321)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o6750)).unwrap();
    DiskFiles.write(&path, b"new", None).await.unwrap();
    let now = fs::metadata(&path).unwrap();
    assert_eq!((now.uid(), now.gid(), now.mode() & 0o7777), (1234, 4321, 0o6750));
}

#[tokio::test]
async fn a_file_that_may_not_be_written_is_not_replaced() {
    // Root may write all files.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let dir = RealTempDir::new();
    let path = dir.path().join("f");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    assert!(DiskFiles.write(&path, b"new", None).await.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[tokio::test]
async fn s42_no_link_is_followed_on_the_way_or_at_the_end() {
    let dir = RealTempDir::new();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("sub/target"), "old").unwrap();
    for (target, link) in [("sub", "way"), ("sub/target", "end"), ("loop", "loop"), ("none", "new")]
    {
        symlink(target, at(link)).unwrap();
    }
    let files = DiskFiles;
    for path in ["way/target", "way/new/file", "end", "loop", "new"] {
        let path = at(path);
        let linked = |error| matches!(error, FileError::Linked(at) if at == path);
        assert!(files.read(&path, 10).await.is_err_and(linked), "{path:?}");
        assert!(files.read_at(&path, 0, 3).await.is_err_and(linked), "{path:?}");
        assert!(files.open(&path).is_err_and(linked), "{path:?}");
        assert!(files.write(&path, b"new", None).await.is_err_and(linked), "{path:?}");
    }
    assert!(files.modified(&at("way/target")).is_none());
    assert!(files.modified(&at("end")).is_some(), "a link itself is there");
    assert_eq!(fs::read(at("sub/target")).unwrap(), b"old");
    assert_eq!(names(dir.path()), ["end", "loop", "new", "sub", "way"]);
}

/// Tells the other thread to stop when it is dropped.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `act` while a thread swaps the folder `d` of `root` for a link to `elsewhere` and back, as
/// fast as it can. One of the two is there at every moment.
fn while_swapping(root: &Path, elsewhere: &Path, act: impl FnOnce()) {
    let (folder, link) = (root.join("d"), root.join("link"));
    fs::create_dir_all(&folder).unwrap();
    symlink(elsewhere, &link).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let here = rustix::fs::CWD;
                rustix::fs::renameat_with(here, &folder, here, &link, RenameFlags::EXCHANGE)
                    .unwrap();
            }
        });
        // Also when a check in `act` fails; else the other thread would go on for ever.
        let _end = StopOnDrop(&done);
        act();
    });
}

#[test]
fn s42_no_write_lands_where_a_swapped_folder_points() {
    // A file system in memory where there is one: each write is synced.
    let dir = TempDir::new_in("/dev/shm").unwrap_or_else(|_| TempDir::new().unwrap());
    let root = dir.path().canonicalize().unwrap();
    // Both are inside the workspace: a check that only keeps within a root would not notice.
    let hooks = root.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let path = root.join("d/pre-commit");
    let (mut written, mut refused) = (0, 0);
    while_swapping(&root, &hooks, || {
        let began = Instant::now();
        let mut number = 0_u32;
        // A busy machine may leave the swapping thread waiting for a while.
        while number < 2000
            || (written == 0 || refused == 0) && began.elapsed() < Duration::from_secs(60)
        {
            number += 1;
            match write(&path, number.to_string().as_bytes(), None) {
                Ok(_) => written += 1,
                Err(_) => refused += 1,
            }
        }
    });
    assert_eq!(names(&hooks), [] as [&str; 0]);
    assert!(written > 0 && refused > 0, "{written} written, {refused} refused");
}

#[test]
fn s42_no_read_gives_what_a_swapped_folder_points_to() {
    let dir = RealTempDir::new();
    let outside = dir.path().join("outside");
    let root = dir.path().join("root");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(root.join("d")).unwrap();
    fs::write(outside.join("f"), "theirs").unwrap();
    fs::write(root.join("d/f"), "ours").unwrap();
    let path = root.join("d/f");
    let files = DiskFiles;
    let (mut ours, mut refused, mut count) = (0, 0, 0);
    while_swapping(&root, &outside, || {
        let began = Instant::now();
        while count < 20_000
            || (ours == 0 || refused == 0) && began.elapsed() < Duration::from_secs(60)
        {
            count += 1;
            match read(&path, 100) {
                Ok(FileState::File(bytes)) => {
                    assert_eq!(bytes, b"ours");
                    ours += 1;
                }
                Ok(_) | Err(_) => refused += 1,
            }
            if let Ok(Some(file)) = files.open(&path) {
                assert_eq!(io::read_to_string(file).unwrap(), "ours");
            }
        }
    });
    assert!(ours > 0 && refused > 0, "{ours} read, {refused} refused");
}

#[tokio::test]
async fn s43_the_other_name_of_a_hard_link_is_not_changed() {
    let dir = RealTempDir::new();
    let (ours, theirs) = (dir.path().join("x"), dir.path().join("bashrc"));
    fs::write(&theirs, "old").unwrap();
    fs::hard_link(&theirs, &ours).unwrap();
    let written = DiskFiles.write(&ours, b"new", None).await.unwrap();
    assert_eq!(written, WriteReport { other_names: 1 });
    assert_eq!(
        (fs::read(&ours).unwrap(), fs::read(&theirs).unwrap()),
        (b"new".to_vec(), b"old".to_vec())
    );
}

#[tokio::test]
async fn s51_other_content_than_expected_is_left_alone() {
    let dir = RealTempDir::new();
    let path = dir.path().join("f");
    fs::write(&path, "theirs").unwrap();
    for expected in [None, Some(ContentHash::of(b"mine"))] {
        let result = DiskFiles.write(&path, b"new", Some(expected)).await;
        assert!(matches!(result, Err(FileError::Changed(_))));
    }
    let gone = dir.path().join("gone");
    let result = DiskFiles.write(&gone, b"new", Some(Some(ContentHash::of(b"mine")))).await;
    assert!(matches!(result, Err(FileError::Changed(_))));
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    assert_eq!(names(dir.path()), ["f"], "no temporary file stays behind");

    let hash = ContentHash::of(b"theirs");
    DiskFiles.write(&path, b"new", Some(Some(hash))).await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_of_many_writers_one_wins() {
    let dir = RealTempDir::new();
    let path = dir.path().join("f");
    fs::write(&path, "old").unwrap();
    let files = DiskFiles;
    let writers = (0..16_u8).map(|number| {
        let path = path.clone();
        let expected = Some(Some(ContentHash::of(b"old")));
        tokio::spawn(async move { files.write(&path, &[number], expected).await.is_ok() })
    });
    let mut winners = 0;
    for writer in writers.collect::<Vec<_>>() {
        winners += usize::from(writer.await.unwrap());
    }
    assert_eq!(winners, 1);
}

#[tokio::test]
async fn extended_attributes_are_kept_where_there_are_any() {
    let dir = RealTempDir::new();
    let path = dir.path().join("f");
    fs::write(&path, "old").unwrap();
    let file = File::open(&path).unwrap();
    let name = "user.slug-test";
    if rustix::fs::fsetxattr(&file, name, b"yes", XattrFlags::empty()).is_err() {
        return;
    }
    DiskFiles.write(&path, b"new", None).await.unwrap();
    let mut value = [0; 3];
    rustix::fs::fgetxattr(File::open(&path).unwrap(), name, &mut value).unwrap();
    assert_eq!(&value, b"yes");
}

/// The variable with the number of the call to the disk, from 0, before which the process dies.
pub(in crate::platform) const KILL_AT: &str = "SLUG_TEST_KILL_AT";

/// Runs before each call to the disk.
pub(super) fn step() -> io::Result<()> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static KILL: LazyLock<Option<usize>> =
        LazyLock::new(|| std::env::var(KILL_AT).ok()?.parse().ok());
    if *KILL == Some(CALLS.fetch_add(1, Ordering::SeqCst)) {
        // As SIGKILL does: nothing is dropped, flushed or removed.
        std::process::abort();
    }
    faults::step()
}

/// A folder with an old `f`, which the test replaces.
fn begun() -> (RealTempDir, PathBuf) {
    let dir = RealTempDir::new();
    let path = dir.path().join("f");
    fs::write(&path, b"old".repeat(1000)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    (dir, path)
}

fn new() -> Vec<u8> {
    b"new!".repeat(2000)
}

fn is_old_or_new(path: &Path) -> bool {
    let (bytes, mode) = (fs::read(path).unwrap(), fs::metadata(path).unwrap().mode() & 0o777);
    (bytes == b"old".repeat(1000) || bytes == new()) && mode == 0o640
}

#[test]
fn r15_whichever_call_fails_the_file_is_the_old_or_the_new_one() {
    for call in 0.. {
        let (dir, path) = begun();
        let done = with_failing_call(call, || write(&path, &new(), None).is_ok());
        assert!(is_old_or_new(&path), "call {call}");
        assert_eq!(names(dir.path()), ["f"], "call {call}");
        if done.is_none() {
            assert!(call > 4 && fs::read(&path).unwrap() == new());
            return;
        }
        assert_eq!(done, Some(false), "call {call} failed and nobody was told");
    }
}

#[test]
fn r15_killed_at_any_call_the_file_is_the_old_or_the_new_one_and_what_is_left_goes() {
    let mut left_something = false;
    for call in 0.. {
        let (dir, path) = begun();
        let writer = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "platform::files::tests::a_writer_that_kills_itself", "--ignored"])
            .env(KILL_AT, call.to_string())
            .env("SLUG_TEST_TARGET", &path)
            .output()
            .unwrap();
        assert!(is_old_or_new(&path), "call {call}");
        let before = names(dir.path());
        left_something |= before.len() > 1;
        remove_leftovers(&path).unwrap();
        assert_eq!(names(dir.path()), ["f"], "call {call}: {before:?}");
        if writer.status.success() {
            assert!(call > 4 && left_something);
            return;
        }
    }
}

#[test]
#[ignore = "it is started by the test before it"]
fn a_writer_that_kills_itself() {
    let path = std::env::var_os("SLUG_TEST_TARGET").unwrap();
    write(Path::new(&path), &new(), None).unwrap();
}

#[test]
fn temporary_files_of_the_living_and_of_others_stay() {
    let dir = RealTempDir::new();
    let id = Uuid::new_v4().simple();
    let living = format!(".slug-{}-{id}.tmp", std::process::id());
    let stays = [living.as_str(), ".slug-9.tmp", ".slug-x-y.tmp", "slug-4194305-1.tmp"];
    let dead = format!(".slug-4194305-{id}.tmp");
    for name in stays.iter().chain([&dead.as_str()]) {
        fs::write(dir.path().join(name), "").unwrap();
    }
    let link = format!(".slug-4194305-{}.tmp", Uuid::new_v4().simple());
    symlink("nowhere", dir.path().join(link)).unwrap();
    assert_eq!(remove_leftovers(&dir.path().join("f")).unwrap(), 2);
    assert_eq!(names(dir.path()).len(), stays.len());
}
