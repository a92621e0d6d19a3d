//! The note on the machine: date, system, shell, terminal, folder, repository, and the toolchains
//! that are installed.
//!
//! Nothing is run to find this out: the toolchains are names in the PATH outside the working folder,
//! and versions are those that the system keeps in files. What cannot change while slug runs is
//! looked up once, with the first message and on another thread.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::OnceCell;

use super::{ContextProvider, repository_root};
use crate::disk::read_text;
use crate::platform::which;

/// The programs by which a toolchain is recognised, in the order of the note.
const TOOLCHAINS: [&str; 37] = [
    "cargo", "rustc", "go", "gcc", "clang", "cmake", "make", "ninja", "bazel", "zig", "node",
    "npm", "pnpm", "yarn", "bun", "deno", "python3", "uv", "pip3", "poetry", "ruby", "bundle",
    "php", "composer", "java", "mvn", "gradle", "kotlinc", "dotnet", "swift", "ghc", "elixir",
    "perl", "git", "gh", "docker", "podman",
];

/// Where Linux says which distribution it is: os-release(5).
const OS_RELEASE: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];
/// The release of the running kernel: proc_sys_kernel(5).
const KERNEL_RELEASE: &str = "/proc/sys/kernel/osrelease";
/// Where macOS keeps its version, as a property list.
const MACOS_VERSION: &str = "/System/Library/CoreServices/SystemVersion.plist";
/// The most bytes that are read of such a file.
const MAX_BYTES: u64 = 16 << 10;
/// The most characters of a value that comes from a file or a variable.
const MAX_VALUE: usize = 80;

/// The date, the machine and the working folder. There is no time of day, so that the note changes
/// only once a day.
#[derive(Debug, Clone)]
pub struct EnvironmentNote {
    cwd: PathBuf,
    search_path: OsString,
    shell: Option<String>,
    terminal: Option<String>,
    host: Arc<OnceCell<HostFacts>>,
}

/// What is looked up once.
#[derive(Debug, Clone)]
struct HostFacts {
    system: String,
    toolchains: Vec<&'static str>,
}

impl EnvironmentNote {
    /// The note for work in `cwd`. `variable` is normally `std::env::var_os`.
    pub fn new(cwd: PathBuf, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| variable(name).and_then(|value| shown(&value.to_string_lossy()));
        let shell = variable("SHELL").map(PathBuf::from);
        let shell = shell.as_deref().and_then(Path::file_name).map(OsStr::to_string_lossy);
        // tmux and screen are what TERM names inside them; TERM_PROGRAM is more often the terminal.
        let terminal =
            text("TERM_PROGRAM").or_else(|| text("LC_TERMINAL")).or_else(|| text("TERM"));
        Self {
            cwd,
            search_path: variable("PATH").unwrap_or_default(),
            shell: shell.and_then(|name| shown(&name)),
            terminal,
            host: Arc::default(),
        }
    }

    async fn host(&self) -> &HostFacts {
        let look = || async {
            let (path, cwd) = (self.search_path.clone(), self.cwd.clone());
            let looked = tokio::task::spawn_blocking(move || HostFacts {
                system: system(),
                toolchains: which::find_all(&TOOLCHAINS, &path, &cwd),
            });
            looked.await.unwrap_or_else(|error| {
                tracing::error!(%error, "looking up the machine ended abnormally");
                HostFacts { system: platform(), toolchains: Vec::new() }
            })
        };
        self.host.get_or_init(look).await
    }
}

#[async_trait]
impl ContextProvider for EnvironmentNote {
    fn name(&self) -> &str {
        "environment"
    }

    async fn collect(&self) -> Option<String> {
        let today = chrono::Local::now().date_naive();
        let HostFacts { system, toolchains } = self.host().await;
        let folder = self.cwd.to_string_lossy().replace('\n', " ");
        let shell = match self.shell.as_deref() {
            None | Some("bash") => "bash".to_owned(),
            Some(other) => format!("bash for commands; the user's is {other}"),
        };
        let terminal = self.terminal.as_deref().unwrap_or("none");
        let repository = match repository_root(&self.cwd) {
            None => "no".to_owned(),
            Some(root) if root == self.cwd => "yes".to_owned(),
            Some(root) => format!("yes, its root is {}", root.to_string_lossy().replace('\n', " ")),
        };
        let toolchains =
            if toolchains.is_empty() { "none found".to_owned() } else { toolchains.join(" ") };
        Some(format!(
            "date: {today}\nsystem: {system}\nshell: {shell}\nterminal: {terminal}\n\
             working folder: {folder}\ngit repository: {repository}\ntoolchains: {toolchains}"
        ))
    }
}

/// A value from outside in one short line of visible characters; `None` where nothing is left.
fn shown(value: &str) -> Option<String> {
    let visible = value.chars().filter(|it| it.is_ascii_graphic() || *it == ' ');
    let text: String = visible.take(MAX_VALUE).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn platform() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}

/// The system with its version and the machine's architecture.
fn system() -> String {
    let read = |path: &str| read_text(Path::new(path), MAX_BYTES).ok().flatten();
    let name = OS_RELEASE
        .iter()
        .find_map(|path| pretty_name(&read(path)?))
        .or_else(|| read(MACOS_VERSION).as_deref().and_then(macos_version));
    let kernel = read(KERNEL_RELEASE).and_then(|text| shown(&text));
    let parts = [name, kernel.map(|release| format!("kernel {release}"))];
    parts.into_iter().flatten().fold(platform(), |text, part| format!("{text}, {part}"))
}

/// `PRETTY_NAME` of an os-release file.
fn pretty_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    shown(value.trim().trim_matches(['"', '\'']))
}

/// `ProductVersion` of macOS's property list.
fn macos_version(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<key>ProductVersion</key>")?;
    let (_, rest) = rest.split_once("<string>")?;
    let (version, _) = rest.split_once("</string>")?;
    shown(version).map(|version| format!("macOS {version}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn program(folder: &Path, name: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(name), "").unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn lines(text: &str) -> Vec<(&str, &str)> {
        text.lines().map(|line| line.split_once(": ").unwrap()).collect()
    }

    #[tokio::test]
    async fn the_note_has_the_machine_and_the_folder_and_no_time() {
        let root = tempfile::tempdir().unwrap();
        let (project, bin) = (root.path().join("project"), root.path().join("bin"));
        program(&bin, "cargo");
        program(&project.join("bin"), "node");
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::create_dir_all(project.join("src")).unwrap();
        let search_path = std::env::join_paths([&bin, &project.join("bin")]).unwrap();
        let note = |cwd: &Path| {
            EnvironmentNote::new(cwd.to_owned(), |name| match name {
                "PATH" => Some(search_path.clone()),
                "SHELL" => Some("/usr/bin/fish".into()),
                "TERM" => Some("xterm-kitty\u{1b}[31m\n".into()),
                _ => None,
            })
        };
        let text = note(&project).collect().await.unwrap();
        let rows = lines(&text);
        assert!(rows[0].1.parse::<chrono::NaiveDate>().is_ok(), "{text}");
        assert!(rows[1].1.starts_with(&platform()), "{text}");
        let rest = [
            ("shell", "bash for commands; the user's is fish"),
            ("terminal", "xterm-kitty[31m"),
            ("working folder", project.to_str().unwrap()),
            ("git repository", "yes"),
            // What the project itself brings does not count.
            ("toolchains", "cargo"),
        ];
        assert_eq!(rows[2..], rest, "{text}");
        let below = note(&project.join("src")).collect().await.unwrap();
        let root = format!("git repository: yes, its root is {}", project.display());
        assert!(below.contains(&root), "{below}");
    }

    #[tokio::test]
    async fn the_note_stays_the_same_while_programs_come_and_go() {
        let root = tempfile::tempdir().unwrap();
        let (project, bin) = (root.path().join("project"), root.path().join("bin"));
        fs::create_dir_all(&project).unwrap();
        program(&bin, "go");
        let note = EnvironmentNote::new(project, |name| {
            (name == "PATH").then(|| bin.clone().into_os_string())
        });
        let first = note.collect().await.unwrap();
        let told = ["shell: bash\n", "terminal: none\n", "git repository: no\n", "toolchains: go"];
        assert!(told.iter().all(|line| first.contains(line)), "{first}");
        program(&bin, "cargo");
        fs::remove_file(bin.join("go")).unwrap();
        assert_eq!(note.collect().await.unwrap(), first);
    }

    #[test]
    fn versions_are_read_from_the_systems_files() {
        let debian = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n";
        assert_eq!(pretty_name(debian).as_deref(), Some("Debian GNU/Linux 13 (trixie)"));
        assert_eq!(pretty_name("PRETTY_NAME='Alpine'\n").as_deref(), Some("Alpine"));
        assert_eq!(pretty_name("NAME=x\nPRETTY_NAME=\n"), None);
        let plist = "<dict><key>ProductName</key><string>macOS</string>\n\
                     <key>ProductVersion</key>\n<string>15.3.1</string></dict>";
        assert_eq!(macos_version(plist).as_deref(), Some("macOS 15.3.1"));
        assert_eq!(macos_version("<key>ProductVersion</key>"), None);
    }
}
