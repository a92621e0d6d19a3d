//! Programs that are servers: what lies on the disk while they run, and what is left of them.

use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::PathBuf;
use std::time::Duration;

use slug_code::platform::server_program::{
    ServerErrorOutput, ServerProgram, ServerProgramSpec, ServerProgramStreams,
};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::host;

const SECRET: &str = "it's $(a) \"secret\"";

/// The folder of the program with this process id.
fn folder_of(program: &ServerProgram) -> PathBuf {
    let pid = program.pid().unwrap().to_string();
    let folders = std::fs::read_dir(std::env::temp_dir()).unwrap().map(|it| it.unwrap().path());
    let is_its = |folder: &PathBuf| {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("slug-server-")
            && std::fs::read_to_string(folder.join("pid")).is_ok_and(|it| it.trim() == pid)
    };
    folders.into_iter().find(is_its).unwrap()
}

#[tokio::test]
async fn a_servers_variables_are_in_no_file_and_its_folder_goes_with_it() {
    let host = host();
    let env = [("MY_SECRET", SECRET), ("BASH_ENV", "/none"), ("IFS", "x")];
    let env: BTreeMap<String, String> =
        env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let script = "printf '%s|%s|%s\\n' \"$MY_SECRET\" \"$BASH_ENV\" \"$1\"; \
                  env | grep -c SLUG_SERVER; exec cat";
    let spec = ServerProgramSpec {
        command: "/bin/sh",
        args: &["-c".into(), script.into(), "sh".into(), "$x 'y'".into()],
        env: &env,
        search_path: std::env::var_os("PATH").unwrap(),
        cwd: "/".into(),
        passed: "",
        memory_limit: None,
    };
    let errors = ServerErrorOutput::default();
    let (program, streams) = ServerProgram::start(spec, &host, &errors).await.unwrap();
    let ServerProgramStreams { output, input: _input } = streams;
    let mut lines = BufReader::new(output).lines();
    let mut line = async || lines.next_line().await.unwrap().unwrap();
    assert_eq!(line().await, format!("{SECRET}|/none|$x 'y'"));
    assert_eq!(line().await, "0");

    let folder = folder_of(&program);
    let mode = |path: &PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{path:?}");
        if !path.metadata().unwrap().file_type().is_fifo() {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("secret"), "{path:?}: {text}");
        }
    }

    // As at the end of slug: the program's own value is never dropped.
    let program = std::mem::ManuallyDrop::new(program);
    tokio::time::timeout(Duration::from_secs(30), host.end_all()).await.unwrap();
    assert!(program.ended().is_some() && !folder.exists());
}
