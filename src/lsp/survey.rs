//! Which servers a folder would have: the languages of its files, whether a server for each is installed,
//! and which version. For `slug doctor`; no server is started, and nothing of the folder is run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::platform::server_program::{ServerErrorOutput, ServerProgram, ServerProgramSpec};

use super::connection::lsp_text;
use super::definition::LspServerDefinition;
use super::servers::{definitions_for, extension_of, installed_servers};
use super::slot::{LspPorts, PASSED_VARIABLES, find_program};

/// How long a program may take to tell its version.
const VERSION_LIMIT: Duration = Duration::from_secs(5);

/// The most bytes of what a program says of its version, and the most characters that are kept.
const MAX_ANSWER: u64 = 4096;
const MAX_VERSION: usize = 100;

/// What a folder has for one language or several with the same server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspSurveyRow {
    /// By the names that the protocol has for them.
    pub languages: Vec<String>,
    /// The name of the server.
    pub server: String,
    pub state: LspInstallState,
    /// How the user gets the server; empty where slug does not know.
    pub install: String,
}

/// Whether a server is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LspInstallState {
    /// With its version, where it tells one.
    Installed(Option<String>),
    /// The program is there and cannot run: what it says.
    Broken(String),
    /// A sentence with the reason.
    Missing(String),
}

/// What `workspace` has for the languages of these files, which are in it.
pub async fn survey_servers(
    definitions: Vec<LspServerDefinition>,
    workspace: &Path,
    files: Vec<PathBuf>,
    ports: &LspPorts,
) -> Vec<LspSurveyRow> {
    let definitions: Vec<_> = definitions.into_iter().map(Arc::new).collect();
    let (folder, search) = (workspace.to_owned(), ports.clone());
    let looking = tokio::task::spawn_blocking(move || {
        found_servers(&definitions, (&folder, &files), |definition| {
            find_program(definition, &search.programs)
        })
    });
    let Ok(found) = looking.await else { return Vec::new() };
    let mut rows = Vec::new();
    for FoundServer { definition, languages, program } in found {
        let state = match program {
            Ok(program) => version(&definition, &program, ports).await,
            Err(why) => LspInstallState::Missing(why),
        };
        let server = definition.name.clone();
        rows.push(LspSurveyRow { languages, server, state, install: definition.install.clone() });
    }
    rows
}

struct FoundServer {
    definition: Arc<LspServerDefinition>,
    languages: Vec<String>,
    program: Result<String, String>,
}

/// The servers for the first file of each ending: those that are installed, and of a family without any
/// the first. Blocks.
fn found_servers(
    definitions: &[Arc<LspServerDefinition>],
    (workspace, files): (&Path, &[PathBuf]),
    find: impl Fn(&LspServerDefinition) -> Result<String, String>,
) -> Vec<FoundServer> {
    let mut first: BTreeMap<String, &Path> = BTreeMap::new();
    for file in files {
        if let Some(extension) = extension_of(file) {
            first.entry(extension).or_insert(file);
        }
    }
    let mut found: Vec<FoundServer> = Vec::new();
    for (extension, file) in first {
        let fitting: Vec<_> = definitions_for(definitions, workspace, file).cloned().collect();
        let looks = installed_servers(&fitting, (file, workspace), |it| find(it).map(drop));
        let mut families: BTreeMap<String, bool> = BTreeMap::new();
        for look in &looks {
            *families.entry(look.definition.family.clone()).or_default() |= look.program.is_ok();
        }
        for look in looks {
            let is_wanted = match families.get(&look.definition.family) {
                Some(true) => look.program.is_ok(),
                // The first of those that are not installed stands for its family.
                Some(false) => families.remove(&look.definition.family).is_some(),
                None => false,
            };
            if !is_wanted {
                continue;
            }
            let language = look.definition.language(&extension).unwrap_or_default().to_owned();
            match found.iter_mut().find(|it| it.definition.name == look.definition.name) {
                Some(known) if known.languages.contains(&language) => {}
                Some(known) => known.languages.push(language),
                None => {
                    let program = find(&look.definition);
                    let languages = vec![language];
                    found.push(FoundServer { definition: look.definition, languages, program });
                }
            }
        }
    }
    found
}

/// Asks a program for its version, away from the folder. One that knows no such argument finds its input
/// at an end.
async fn version(
    definition: &LspServerDefinition,
    program: &str,
    ports: &LspPorts,
) -> LspInstallState {
    let args = ["-c", "exec \"$0\" --version 2>&1 </dev/null", program].map(str::to_owned);
    let spec = ServerProgramSpec {
        command: "sh",
        args: &args,
        env: &BTreeMap::new(),
        search_path: ports.programs.path(&definition.env),
        cwd: PathBuf::from("/"),
        passed: PASSED_VARIABLES,
        memory_limit: Some(ports.memory_limit),
    };
    let errors = ServerErrorOutput::default();
    let (running, streams) = match ServerProgram::start(spec, &*ports.processes, &errors).await {
        Ok(started) => started,
        Err(error) => return LspInstallState::Broken(error.to_string()),
    };
    let answer = tokio::time::timeout(VERSION_LIMIT, first_line(streams.output)).await;
    running.terminate();
    let line = answer.unwrap_or_default();
    match line {
        line if line.starts_with("error") => LspInstallState::Broken(line),
        line if is_version(&line) => LspInstallState::Installed(Some(line)),
        _ => LspInstallState::Installed(None),
    }
}

/// Whether a line tells a version, and not where a program was when it broke off.
fn is_version(line: &str) -> bool {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let triples = line.as_bytes().windows(3);
    !line.starts_with('/')
        && triples.filter(|it| it[1] == b'.').any(|it| is_digit(it.first()) && is_digit(it.last()))
}

/// The first line that is not empty.
async fn first_line(output: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    // What has come until an error is used.
    let _ = output.take(MAX_ANSWER).read_to_end(&mut bytes).await;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    lsp_text(line.trim(), MAX_VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsp::table::built_in_servers;

    fn rows(files: &[&str], installed: &[&str]) -> Vec<(String, String, bool)> {
        let workspace = Path::new("/nowhere/w");
        let files: Vec<PathBuf> = files.iter().map(|file| workspace.join(file)).collect();
        let definitions: Vec<_> = built_in_servers().into_iter().map(Arc::new).collect();
        let find = |definition: &LspServerDefinition| match installed.contains(&&*definition.name) {
            true => Ok(definition.name.clone()),
            false => Err("It is not installed.".to_owned()),
        };
        let found = found_servers(&definitions, (workspace, &files), find);
        let row = |it: FoundServer| {
            (it.definition.name.clone(), it.languages.join(" "), it.program.is_ok())
        };
        found.into_iter().map(row).collect()
    }

    fn row(name: &str, languages: &str, is_there: bool) -> (String, String, bool) {
        (name.to_owned(), languages.to_owned(), is_there)
    }

    #[test]
    fn each_language_has_the_first_server_that_is_installed() {
        let files = ["a.py", "b/c.py", "d.ts", "e.tsx", "f.sh", "README", "g.unknown"];
        assert_eq!(
            rows(&files, &["ty", "basedpyright", "bash"]),
            [
                row("basedpyright", "python", true),
                row("bash", "shellscript", true),
                row("typescript", "typescript typescriptreact", false),
            ]
        );
        assert_eq!(rows(&["a.py"], &[]), [row("pyright", "python", false)]);
        // A marker that is needed is not there.
        assert_eq!(rows(&["a.rs"], &["rust-analyzer"]), []);
        assert_eq!(rows(&[], &["ty"]), []);
    }
}
