//! How the commands of hooks are run: below a supervisor, as the model's own commands are, with the
//! same environment and a few names more.
//!
//! In plan mode nothing may be changed, and what a program does cannot be told from its name: a
//! hook's command is run there only where the same analysis that decides commands in plan mode
//! knows it to read.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::domain::{Access, Mode, Outcome};
use crate::hooks::{Confine, Ended, HookFiles, Hooks, IN_HOOK, Order, Ran, Runner, VARIABLES};
use crate::permissions::store::ProjectFiles;
use crate::permissions::{Query, RuleSet, Workspace, decide};
use crate::platform::process::{Piped, ProcessHost};
use crate::tools::ExitCause;

use super::ground::Ground;

/// The hooks of a run in this folder.
pub(super) fn hooks(
    ground: &Ground,
    project: ProjectFiles,
    processes: Arc<ProcessHost>,
) -> Arc<Hooks> {
    let project = match project {
        ProjectFiles::Trusted => Some(ground.cwd.clone()),
        ProjectFiles::Untrusted => None,
    };
    let files = HookFiles { home: ground.home.root().to_owned(), project };
    // A hook that runs slug must not be run by that again.
    let files = std::env::var_os(IN_HOOK).is_none().then_some(files);
    let workspace = ground.workspace();
    Arc::new(Hooks::new(files, Arc::new(Commands { processes, workspace })))
}

struct Commands {
    processes: Arc<ProcessHost>,
    workspace: Workspace,
}

#[async_trait]
impl Runner for Commands {
    async fn run(&self, order: Order, cancel: &CancellationToken) -> Ran {
        if order.confine == Confine::ReadOnly && !self.only_reads(&order) {
            return not_run(
                "It is not run in plan mode, since it might change something. Leave plan mode, or \
                 switch the hook off with /hooks.",
            );
        }
        let here = order.cwd.as_os_str().to_owned();
        let variables = VARIABLES.map(|name| (name, here.clone()));
        let piped = Piped {
            line: order.line,
            cwd: order.cwd,
            timeout: order.limit,
            input: order.input,
            variables: variables.into_iter().chain([(IN_HOOK, "1".into())]).collect(),
        };
        match self.processes.run_piped(piped, cancel).await {
            Ok(said) => Ran {
                ended: match said.exit.cause {
                    ExitCause::Code(code) => Ended::Code(code),
                    ExitCause::Signal(signal) => Ended::Signal(signal),
                    ExitCause::TimedOut => Ended::TimedOut(order.limit),
                    ExitCause::Cancelled => Ended::Cancelled,
                },
                output: said.output,
                complaint: said.complaint,
                elapsed: said.exit.elapsed,
            },
            Err(error) => not_run(&format!("It cannot be run: {error}.")),
        }
    }
}

impl Commands {
    fn only_reads(&self, order: &Order) -> bool {
        let access = Access::Run { command: order.line.clone(), cwd: order.cwd.clone() };
        let query = Query::resolve("Bash", &[access], &self.workspace);
        decide(&query, &RuleSet::new(), Mode::Plan, &self.workspace).outcome() == Outcome::Allow
    }
}

fn not_run(why: &str) -> Ran {
    Ran {
        ended: Ended::NotStarted(why.to_owned()),
        output: String::new(),
        complaint: String::new(),
        elapsed: std::time::Duration::ZERO,
    }
}
