//! The formatters of a run. None runs here, and none ever in a folder without trust.
//!
//! They run in a sandbox of their own that reads what commands may read, writes nothing and has no
//! network: the sandbox in force, made narrower, else one around the folder. It is made when the first
//! file is formatted.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::cli::Cli;
use crate::config::ResolvedConfig;
use crate::disk::private_folder;
use crate::domain::ExitCause;
use crate::formatters::{
    FormatterCommand, FormatterDefinitions, FormatterEnd, FormatterOutput, FormatterPorts,
    FormatterRunner, ProjectFormatters,
};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::process::{PipedCommand, ProcessHost};
use crate::platform::server_program::{ServerProgramSearch, quoted};
use crate::tools::{NoFormatters, TextFormatter};

use super::lsp::may_start;
use super::run_context::RunContext;
use super::sandbox_setup::{self, ReadingSandbox};

/// How long a formatter may take for a file.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// The formatters of this run; without trust, and where the user has turned them off, there are none.
/// Also what is wrong in the user's configuration of them. Of the hosts the first runs things in the
/// sandbox in force.
pub(super) fn formatter(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    (inside, host): (Arc<ProcessHost>, Arc<ProcessHost>),
) -> (Arc<dyn TextFormatter>, Vec<String>) {
    let settings = &config.formatters;
    if !may_start(run_context, project) || !settings.enabled().value {
        return (Arc::new(NoFormatters), Vec::new());
    }
    let tables = settings.tables.iter().map(|(name, it)| (name.clone(), it.value.clone()));
    let tables: Map<String, Value> = tables.collect();
    let FormatterDefinitions { formatters, problems } = FormatterDefinitions::read(&tables);
    let changeable = sandbox_setup::changeable(run_context, config);
    let sandbox = sandbox_setup::reading(run_context, config, project, changeable.clone());
    let runner = SandboxedFormatterRunner { inside, host, sandbox, made: OnceCell::new() };
    let ports = FormatterPorts {
        runner: Arc::new(runner),
        programs: ServerProgramSearch {
            path: std::env::var_os("PATH").unwrap_or_default(),
            project: changeable,
        },
        allowed: settings.allow.as_ref().map(|it| it.value.clone()).unwrap_or_default(),
        time_limit: TIME_LIMIT,
    };
    let formatters = ProjectFormatters::new(formatters, run_context.cwd.clone(), ports);
    (Arc::new(formatters), problems)
}

/// Whether the user has set up formatters, so that each folder is asked about.
pub(super) fn is_set_up(cli: &Cli, run_context: &RunContext) -> bool {
    // Errors are told when the configuration is read for the run.
    let config = run_context.config(cli, ProjectSettingsTrust::Untrusted);
    config.is_ok_and(|config| config.formatters.is_set_up())
}

struct SandboxedFormatterRunner {
    inside: Arc<ProcessHost>,
    host: Arc<ProcessHost>,
    sandbox: ReadingSandbox,
    /// Where formatters run; made when it is first needed.
    made: OnceCell<FormatterPlace>,
}

/// Where formatters run.
struct FormatterPlace {
    host: Arc<ProcessHost>,
    /// An empty folder, the only one that a formatter in the sandbox may change; the error says why there
    /// is no sandbox.
    scratch: Result<TempDir, String>,
}

impl SandboxedFormatterRunner {
    async fn place(&self) -> &FormatterPlace {
        let make = || async {
            let (inside, sandbox) = (self.inside.clone(), self.sandbox.clone());
            let host = self.host.clone();
            let making = tokio::task::spawn_blocking(move || {
                let scratch = private_folder("slug-format-").map_err(|error| error.to_string())?;
                let own = scratch.path().canonicalize().map_err(|error| error.to_string())?;
                let confined = match inside.read_only_offline(own.clone()) {
                    Some(confined) => confined,
                    None => sandbox.around(&host, own)?,
                };
                Ok((Arc::new(confined), scratch))
            });
            let made = making.await.unwrap_or_else(|error| Err(error.to_string()));
            match made {
                Ok((host, scratch)) => FormatterPlace { host, scratch: Ok(scratch) },
                Err(why) => FormatterPlace { host: self.host.clone(), scratch: Err(why) },
            }
        };
        self.made.get_or_init(make).await
    }
}

#[async_trait]
impl FormatterRunner for SandboxedFormatterRunner {
    async fn confinement(&self) -> Result<(), String> {
        self.place().await.scratch.as_ref().map(drop).map_err(Clone::clone)
    }

    async fn run(&self, command: FormatterCommand) -> Result<FormatterOutput, String> {
        let place = self.place().await;
        // A command in the sandbox starts in the scratch folder, so it changes the folder itself.
        let mut line = format!("cd {} || exit 127\nexec", quoted(&command.cwd.to_string_lossy()));
        let program = command.program.to_string_lossy().into_owned();
        for word in std::iter::once(&program).chain(&command.arguments) {
            line.push(' ');
            line.push_str(&quoted(word));
        }
        let mut variables = vec![("PATH", command.search_path)];
        let scratch = place.scratch.as_ref().ok().map(|scratch| scratch.path().as_os_str());
        variables.extend(scratch.map(|path| ("TMPDIR", path.to_owned())));
        let piped = PipedCommand {
            line,
            cwd: scratch.map_or(command.cwd, PathBuf::from),
            timeout: command.time_limit,
            input: command.input,
            output_limit: command.output_limit,
            variables,
        };
        let output = place.host.run_piped(piped, &CancellationToken::new()).await;
        let output = output.map_err(|error| error.source.to_string())?;
        let end = match output.exit.cause {
            ExitCause::Code(code) => FormatterEnd::Code(code),
            ExitCause::TimedOut => FormatterEnd::TimedOut,
            ExitCause::Signal(_) | ExitCause::Cancelled => FormatterEnd::Killed,
        };
        Ok(FormatterOutput { end, text: output.stdout, complaint: output.stderr })
    }
}
