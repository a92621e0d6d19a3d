//! Runs the commands of hooks under a supervisor, like the model's commands, with the same
//! environment and a few variables more.
//!
//! When a sandbox is in force, hooks run inside it. In plan mode nothing may change, and the name
//! of a program does not say what it does, so hooks run in a sandbox that can write only to a
//! folder of its own. That is the sandbox in force, made narrower, or else one that can read
//! everything. When this machine has no sandbox, a command runs in plan mode only if the analysis
//! of commands knows that it only reads.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::disk::private_folder;
use crate::domain::{
    PermissionMode, PermissionOutcome, SandboxNetwork, SandboxProfile, ToolAccess,
};
use crate::hooks::{
    HookCommand, HookCommandResult, HookConfinement, HookExit, HookFiles, HookRunner, HookSet,
    IN_HOOK, PROJECT_FOLDER_VARIABLES,
};
use crate::permissions::store::ProjectSettingsTrust;
use crate::permissions::{PermissionQuery, RuleSet, Workspace, decide};
use crate::platform::process::{PIPED_OUTPUT_LIMIT, PipedCommand, ProcessHost};
use crate::platform::redact::Redactor;
use crate::platform::{sandbox, which};
use crate::tools::{ExitCause, SHELL_TOOL};

use super::run_context::RunContext;

/// The hooks of a run in this folder.
pub(super) fn hooks(
    run_context: &RunContext,
    project: ProjectSettingsTrust,
    workspace: Workspace,
    inside: Arc<ProcessHost>,
    host: Arc<ProcessHost>,
    redactor: &Redactor,
) -> Arc<HookSet> {
    let project = match project {
        ProjectSettingsTrust::Trusted => Some(run_context.cwd.clone()),
        ProjectSettingsTrust::Untrusted => None,
    };
    let files = HookFiles { home: run_context.home.root().to_owned(), project };
    // A hook may run slug itself; that slug must not run the hook again.
    let files = std::env::var_os(IN_HOOK).is_none().then_some(files);
    let (read_only, redactor) = (OnceCell::new(), redactor.clone());
    let commands = SupervisedHookRunner { inside, host, workspace, redactor, read_only };
    Arc::new(HookSet::new(files, Arc::new(commands)))
}

struct SupervisedHookRunner {
    /// Runs commands inside the sandbox; on the host when there is no sandbox.
    inside: Arc<ProcessHost>,
    host: Arc<ProcessHost>,
    workspace: Workspace,
    /// Removes slug's keys, because the output of a hook may go to the model and the log.
    redactor: Redactor,
    /// The sandbox for plan mode, made when it is first needed; `None` inside when there is none.
    read_only: OnceCell<Option<PlanModeSandbox>>,
}

/// A sandbox that can write only to its scratch folder.
struct PlanModeSandbox {
    host: ProcessHost,
    scratch: TempDir,
}

#[async_trait]
impl HookRunner for SupervisedHookRunner {
    async fn run(&self, command: HookCommand, cancel: &CancellationToken) -> HookCommandResult {
        let read_only = match command.confine {
            HookConfinement::Normal => None,
            HookConfinement::ReadOnly => self.read_only().await,
        };
        if command.confine == HookConfinement::ReadOnly
            && read_only.is_none()
            && !self.only_reads(&command)
        {
            return not_run(
                "Not run in plan mode: without a sandbox slug cannot keep a hook from changing \
                 files. Leave plan mode, or disable the hook in /hooks.",
            );
        }
        let here = command.cwd.as_os_str().to_owned();
        let mut variables: Vec<_> =
            PROJECT_FOLDER_VARIABLES.map(|name| (name, here.clone())).into();
        variables.push((IN_HOOK, "1".into()));
        variables.extend(std::env::var_os("PATH").map(|path| ("PATH", which::absolute(&path))));
        variables.extend(read_only.map(|it| ("TMPDIR", it.scratch.path().as_os_str().to_owned())));
        let (line, cwd) = match read_only {
            None => (command.line, command.cwd),
            // A command in the sandbox starts in the scratch folder, so it changes the folder
            // itself.
            Some(it) => {
                let to = command.cwd.to_string_lossy().replace('\'', r"'\''");
                (format!("cd '{to}' || exit 127\n{}", command.line), it.scratch.path().to_owned())
            }
        };
        let piped = PipedCommand {
            line,
            cwd,
            timeout: command.limit,
            input: command.input,
            output_limit: PIPED_OUTPUT_LIMIT,
            variables,
        };
        let processes = read_only.map_or(&*self.inside, |it| &it.host);
        match processes.run_piped(piped, cancel).await {
            Ok(output) => HookCommandResult {
                exit: match output.exit.cause {
                    ExitCause::Code(code) => HookExit::Code(code),
                    ExitCause::Signal(signal) => HookExit::Signal(signal),
                    ExitCause::TimedOut => HookExit::TimedOut(command.limit),
                    ExitCause::Cancelled => HookExit::Cancelled,
                },
                stdout: self.redactor.redact_own(&output.stdout).into_owned(),
                stderr: self.redactor.redact_own(&output.stderr).into_owned(),
                elapsed: output.exit.elapsed,
            },
            Err(error) => not_run(&format!("It cannot run: {error}.")),
        }
    }
}

impl SupervisedHookRunner {
    async fn read_only(&self) -> Option<&PlanModeSandbox> {
        let found = self.read_only.get_or_init(|| async {
            let (inside, host) = (self.inside.clone(), self.host.clone());
            let root = self.workspace.root().to_owned();
            let sandbox =
                tokio::task::spawn_blocking(move || PlanModeSandbox::make(&inside, &host, &root));
            sandbox.await.ok().flatten()
        });
        found.await.as_ref()
    }

    fn only_reads(&self, command: &HookCommand) -> bool {
        let access = ToolAccess::foreground(command.line.clone(), command.cwd.clone());
        let query = PermissionQuery::resolve(SHELL_TOOL, &[access], &self.workspace);
        decide(&query, &RuleSet::new(), PermissionMode::Plan, &self.workspace).outcome()
            == PermissionOutcome::Allow
    }
}

impl PlanModeSandbox {
    /// `None` when this machine has no sandbox.
    fn make(inside: &ProcessHost, host: &ProcessHost, workspace: &Path) -> Option<Self> {
        let scratch = private_folder("slug-hook-").ok()?;
        let own = scratch.path().canonicalize().ok()?;
        if let Some(host) = inside.read_only(own.clone()) {
            return Some(Self { host, scratch });
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let backend = sandbox::find(None, &path, workspace).ok()?;
        let profile = SandboxProfile::for_folder(own, SandboxNetwork::On);
        let host = host.with_sandbox(backend, Arc::new(move || Ok(profile.clone())));
        Some(Self { host, scratch })
    }
}

fn not_run(why: &str) -> HookCommandResult {
    HookCommandResult {
        exit: HookExit::NotStarted(why.to_owned()),
        stdout: String::new(),
        stderr: String::new(),
        elapsed: std::time::Duration::ZERO,
    }
}
