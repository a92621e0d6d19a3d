//! How the commands of hooks are run: below a supervisor, as the model's own commands are, with the
//! same environment and a few names more.
//!
//! Where a sandbox is in force they run inside it. In plan mode nothing may be changed, and what a
//! program does cannot be told from its name: there they run in a sandbox in which only a folder of
//! their own can be written. That is the one in force, made narrower, or one in which all can be
//! read. Where this machine has none, a command is run only if the analysis that decides commands
//! in plan mode knows it to read.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::domain::{
    PermissionMode, PermissionOutcome, SandboxNetwork, SandboxProfile, ToolAccess,
};
use crate::hooks::{
    HookCommand, HookCommandResult, HookConfinement, HookExit, HookFiles, HookRunner, HookSet,
    IN_HOOK, PROJECT_FOLDER_VARIABLES,
};
use crate::permissions::store::ProjectSettingsTrust;
use crate::permissions::{PermissionQuery, RuleSet, Workspace, decide};
use crate::platform::process::{PipedCommand, ProcessHost};
use crate::platform::redact::Redactor;
use crate::platform::sandbox;
use crate::tools::ExitCause;

use super::run_context::RunContext;

/// The hooks of a run in this folder.
pub(super) fn hooks(
    ground: &RunContext,
    project: ProjectSettingsTrust,
    inside: Arc<ProcessHost>,
    host: Arc<ProcessHost>,
    redactor: &Redactor,
) -> Arc<HookSet> {
    let workspace = ground.workspace(project);
    let project = match project {
        ProjectSettingsTrust::Trusted => Some(ground.cwd.clone()),
        ProjectSettingsTrust::Untrusted => None,
    };
    let files = HookFiles { home: ground.home.root().to_owned(), project };
    // A hook that runs slug must not be run by that again.
    let files = std::env::var_os(IN_HOOK).is_none().then_some(files);
    let (read_only, redactor) = (OnceCell::new(), redactor.clone());
    let commands = SupervisedHookRunner { inside, host, workspace, redactor, read_only };
    Arc::new(HookSet::new(files, Arc::new(commands)))
}

struct SupervisedHookRunner {
    /// Inside the sandbox that is in force, if one is.
    inside: Arc<ProcessHost>,
    host: Arc<ProcessHost>,
    workspace: Workspace,
    /// What a hook prints may go to the model and the log.
    redactor: Redactor,
    /// For plan mode; made when it is first needed.
    read_only: OnceCell<Option<PlanModeSandbox>>,
}

/// A sandbox in which nothing can be changed but a folder of its own.
struct PlanModeSandbox {
    host: ProcessHost,
    scratch: TempDir,
}

#[async_trait]
impl HookRunner for SupervisedHookRunner {
    async fn run(&self, order: HookCommand, cancel: &CancellationToken) -> HookCommandResult {
        let read_only = match order.confine {
            HookConfinement::Normal => None,
            HookConfinement::ReadOnly => self.read_only().await,
        };
        if order.confine == HookConfinement::ReadOnly
            && read_only.is_none()
            && !self.only_reads(&order)
        {
            return not_run(
                "It is not run in plan mode: it might change something, and there is no sandbox \
                 here that would keep it from that. Leave plan mode, or switch it off with /hooks.",
            );
        }
        let here = order.cwd.as_os_str().to_owned();
        let mut variables: Vec<_> =
            PROJECT_FOLDER_VARIABLES.map(|name| (name, here.clone())).into();
        variables.push((IN_HOOK, "1".into()));
        variables.extend(read_only.map(|it| ("TMPDIR", it.scratch.path().as_os_str().to_owned())));
        let (line, cwd) = match read_only {
            None => (order.line, order.cwd),
            // A sandbox begins in its own folder.
            Some(it) => {
                let to = order.cwd.to_string_lossy().replace('\'', r"'\''");
                (format!("cd '{to}' || exit 127\n{}", order.line), it.scratch.path().to_owned())
            }
        };
        let piped = PipedCommand { line, cwd, timeout: order.limit, input: order.input, variables };
        let processes = read_only.map_or(&*self.inside, |it| &it.host);
        match processes.run_piped(piped, cancel).await {
            Ok(said) => HookCommandResult {
                exit: match said.exit.cause {
                    ExitCause::Code(code) => HookExit::Code(code),
                    ExitCause::Signal(signal) => HookExit::Signal(signal),
                    ExitCause::TimedOut => HookExit::TimedOut(order.limit),
                    ExitCause::Cancelled => HookExit::Cancelled,
                },
                stdout: self.redactor.redact_own(&said.stdout).into_owned(),
                stderr: self.redactor.redact_own(&said.stderr).into_owned(),
                elapsed: said.exit.elapsed,
            },
            Err(error) => not_run(&format!("It cannot be run: {error}.")),
        }
    }
}

impl SupervisedHookRunner {
    async fn read_only(&self) -> Option<&PlanModeSandbox> {
        let found = self.read_only.get_or_init(|| async {
            let (inside, host) = (self.inside.clone(), self.host.clone());
            let root = self.workspace.root().to_owned();
            let made =
                tokio::task::spawn_blocking(move || PlanModeSandbox::make(&inside, &host, &root));
            made.await.ok().flatten()
        });
        found.await.as_ref()
    }

    fn only_reads(&self, order: &HookCommand) -> bool {
        let access = ToolAccess::Run { command: order.line.clone(), cwd: order.cwd.clone() };
        let query = PermissionQuery::resolve("Bash", &[access], &self.workspace);
        decide(&query, &RuleSet::new(), PermissionMode::Plan, &self.workspace).outcome()
            == PermissionOutcome::Allow
    }
}

impl PlanModeSandbox {
    /// `None` where this machine has no sandbox.
    fn make(inside: &ProcessHost, host: &ProcessHost, workspace: &Path) -> Option<Self> {
        let scratch = tempfile::tempdir().ok()?;
        let own = scratch.path().canonicalize().ok()?;
        if let Some(host) = inside.read_only(own.clone()) {
            return Some(Self { host, scratch });
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let means = sandbox::find(None, &path, workspace).ok()?;
        let view = SandboxProfile::for_folder(own, SandboxNetwork::On);
        let host = host.with_sandbox(means, Arc::new(move || Ok(view.clone())));
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
