//! Where a socket is made, where not, and who is let in.

use std::os::unix::fs::symlink;

use super::*;

fn folder(mode: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
    folder
}

fn refusal(path: &Path) -> String {
    LocalSocket::bind(path).expect_err("a socket was made").to_string()
}

#[tokio::test]
async fn s103_a_socket_is_its_users_alone_and_goes_with_its_owner() {
    let folder = folder(0o700);
    let path = folder.path().join("new/a.sock");
    let socket = LocalSocket::bind(&path).unwrap();
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(path.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
    drop(socket);
    assert!(!path.exists());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn s103_what_slug_has_started_is_known_when_the_process_between_has_ended() {
    let folder = folder(0o700);
    let _socket = LocalSocket::bind(&folder.path().join("a.sock")).unwrap();
    let script = "setsid sleep 60 >/dev/null 2>&1 & echo $!";
    let ended = std::process::Command::new("sh").args(["-c", script]).output().unwrap();
    let pid: i32 = String::from_utf8(ended.stdout).unwrap().trim().parse().unwrap();
    assert!(is_own_child(pid));
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn s103_a_folder_that_others_can_open_is_refused() {
    for mode in [0o755, 0o710, 0o701, 0o777] {
        let folder = folder(mode);
        let why = refusal(&folder.path().join("a.sock"));
        assert!(why.contains("chmod 700"), "{mode:o}: {why}");
    }
    // A link does not hide it.
    let (open, own) = (folder(0o755), folder(0o700));
    symlink(open.path(), own.path().join("link")).unwrap();
    assert!(refusal(&own.path().join("link/a.sock")).contains("chmod 700"));
}

#[tokio::test]
async fn a_socket_of_a_dead_process_is_replaced_and_of_a_living_one_is_not() {
    let folder = folder(0o700);
    let path = folder.path().join("a.sock");
    // Dropping this listener leaves the file, as the end of a process does.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let socket = LocalSocket::bind(&path).unwrap();
    assert!(refusal(&path).contains("served"), "{}", refusal(&path));
    drop(socket);
    assert!(LocalSocket::bind(&path).is_ok());
}

#[tokio::test]
async fn s52_what_is_no_socket_stays_as_it_is() {
    let folder = folder(0o700);
    let (file, target) = (folder.path().join("a"), folder.path().join("b"));
    std::fs::write(&file, "mine").unwrap();
    symlink(&file, &target).unwrap();
    for path in [&file, &target] {
        assert!(refusal(path).contains("no socket"), "{}", refusal(path));
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let inside = refusal(&file.join("a.sock"));
    assert!(inside.contains("Cannot open the folder"), "{inside}");
    let long = refusal(&folder.path().join("x".repeat(200)));
    assert!(long.contains("Cannot make the socket"), "{long}");
    assert!(refusal(Path::new("/")).contains("Name a file"));
}

#[tokio::test]
async fn another_socket_in_its_place_is_not_removed() {
    let folder = folder(0o700);
    let path = folder.path().join("a.sock");
    let socket = LocalSocket::bind(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let other = LocalSocket::bind(&path).unwrap();
    drop(socket);
    assert!(other.path().exists());
}

#[tokio::test]
async fn this_process_is_accepted_and_its_child_is_not() {
    let folder = folder(0o700);
    let path = folder.path().join("a.sock");
    let socket = LocalSocket::bind(&path).unwrap();
    let _client = BlockingStream::connect(&path).unwrap();
    assert!(matches!(socket.accept().await.unwrap(), LocalPeer::Accepted(_)));
    let script =
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(1)";
    let child = std::process::Command::new("python3").args(["-c", script]).arg(&path).spawn();
    // Without Python, tests/scripts/serve.rs has the same with a command of the model's.
    let Ok(mut child) = child else { return };
    assert!(matches!(socket.accept().await.unwrap(), LocalPeer::Refused(..)));
    child.kill().unwrap();
    child.wait().unwrap();
}
