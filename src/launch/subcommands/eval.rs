//! `slug eval`: runs tasks with models, one after another or several at once, and reports how they
//! did. Each run has a copy of its task's repository, and a store of sessions of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures_util::{StreamExt, stream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agent::{self, AgentCommand, AgentEventReceiver, AgentHandle, InitialSession};
use crate::cli::{Cli, CliExitStatus, EvalArguments};
use crate::disk::private_folder;
use crate::domain::PermissionMode;
use crate::eval::{EvalFigures, EvalReport, EvalResult, EvalTask};
use crate::launch::build::{self, RunParticipants, RunParts};
use crate::launch::print;
use crate::launch::run_context::RunContext;
use crate::platform::process::ProcessHost;
use crate::platform::redact::Redactor;
use crate::session::SessionStore;
use crate::tools::{ExitCause, Processes, ScriptSpec};

/// How long a stopped agent may take to save its session.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// The most bytes of a failed check's output that are reported: its end.
const CHECK_OUTPUT: usize = 2000;

/// The name in the report of a run that plays a transcript.
const TRANSCRIPT: &str = "transcript";

pub(super) async fn run(
    cli: &Cli,
    run_context: &RunContext,
    arguments: &EvalArguments,
) -> anyhow::Result<CliExitStatus> {
    let mut tasks = EvalTask::read_all(&arguments.tasks)?;
    tasks.retain(|task| arguments.only.as_ref().is_none_or(|only| task.name.contains(only)));
    if arguments.transcripts {
        tasks.retain(|task| task.transcript().is_some());
    }
    if tasks.is_empty() {
        bail!("No task to run. Check --only and --transcripts.");
    }
    let models: Vec<Option<&String>> = match arguments.models.is_empty() {
        true => vec![None],
        false => arguments.models.iter().map(Some).collect(),
    };
    let runs: Vec<EvalRun> = tasks
        .iter()
        .flat_map(|task| models.iter().map(move |model| EvalRun::new(cli, task, *model, arguments)))
        .collect();
    let results = stream::iter(runs.iter().map(async |run| {
        let result = run.result(run_context).await;
        tell(&result);
        result
    }));
    let results = results.buffered(arguments.jobs.into()).collect().await;
    let report = EvalReport::new(results);
    if let Some(file) = &arguments.out {
        let text = format!("{:#}\n", report.json());
        std::fs::write(file, text).with_context(|| format!("Writing {}", file.display()))?;
    }
    writeln!(print::out(), "{}", report.table())?;
    Ok(if report.has_passed() { CliExitStatus::Answered } else { CliExitStatus::Failed })
}

fn tell(result: &EvalResult) {
    let verdict = if result.passed { "pass" } else { "FAIL" };
    let problem = result.problem.as_deref().and_then(|text| text.lines().last());
    let problem = problem.map_or_else(String::new, |text| format!(": {text}"));
    print::complain(&format!("{verdict} {} ({}){problem}", result.task, result.model));
}

/// One task with one model.
struct EvalRun<'a> {
    task: &'a EvalTask,
    /// The command line as if slug were started for this run alone.
    cli: Cli,
    keep: Option<PathBuf>,
}

/// What a run has come to before its check.
struct AgentRun {
    model: String,
    figures: EvalFigures,
    elapsed: Duration,
    /// Whether the agent was stopped at the task's time limit.
    timed_out: bool,
}

impl<'a> EvalRun<'a> {
    fn new(
        cli: &Cli,
        task: &'a EvalTask,
        model: Option<&String>,
        arguments: &EvalArguments,
    ) -> Self {
        let mut cli = cli.clone();
        if let Some(model) = model {
            cli.model = Some(model.clone());
        }
        if arguments.transcripts {
            cli.demo = Some(task.transcript());
        }
        let name = |model: &String| format!("{}-{}", task.name, model.replace('/', "-"));
        let name = model.map_or_else(|| task.name.clone(), name);
        Self { task, cli, keep: arguments.keep.as_ref().map(|folder| folder.join(name)) }
    }

    /// Runs the task and its check. What prevents that is the result's problem.
    async fn result(&self, run_context: &RunContext) -> EvalResult {
        let mut done = AgentRun {
            model: self.cli.model.clone().unwrap_or_else(|| "configured".to_owned()),
            figures: EvalFigures::default(),
            elapsed: Duration::ZERO,
            timed_out: false,
        };
        let problem = match self.run(run_context, &mut done).await {
            Ok(problem) => problem,
            Err(error) => Some(format!("{error:#}")),
        };
        EvalResult {
            task: self.task.name.clone(),
            model: done.model,
            passed: problem.is_none(),
            seconds: done.elapsed.as_secs_f64(),
            cache_share: done.figures.cache_share(),
            figures: done.figures,
            problem,
        }
    }

    async fn run(
        &self,
        run_context: &RunContext,
        done: &mut AgentRun,
    ) -> anyhow::Result<Option<String>> {
        let temporary = match &self.keep {
            Some(_) => None,
            None => Some(private_folder("slug-eval-")?),
        };
        let folder = match (&self.keep, &temporary) {
            (Some(folder), _) => folder.as_path(),
            (None, Some(temporary)) => temporary.path(),
            (None, None) => bail!("There is no folder for the run."),
        };
        let work = folder.join("work");
        if work.exists() {
            bail!("{} already exists. Choose another folder for --keep.", work.display());
        }
        self.task.copy_environment(&work).context("Copying the task's environment")?;
        let work = work.canonicalize()?;
        let mut cli = self.cli.clone();
        // Whatever folder the flag names: the sandbox is around the copy.
        cli.sandbox = cli.sandbox.map(|_| work.clone());
        let run_context = run_context.moved_to(work.clone());
        let project = run_context.project(&cli)?;
        let config = run_context.config(&cli, project).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("{}", errors.join(" "))
        })?;
        if matches!(config.mode.value, PermissionMode::Ask | PermissionMode::Plan) {
            bail!(
                "Nobody can be asked here: pass --sandbox . or --yolo before `eval`. The \
                 model's commands run on this machine."
            );
        }
        let redactor = Redactor::default();
        let participants = RunParticipants::headless(&cli, &run_context, &config, &redactor)?;
        let RunParts { mut setup, processes, .. } =
            build::parts(&run_context, &config, project, participants, &redactor)?;
        let place = |name: &str| folder.join(name);
        setup.store = SessionStore::new(place("sessions"), place("trash"), place("blobs"));
        setup.blobs = setup.store.blobs().clone();
        done.model = match &self.cli.demo {
            Some(_) => TRANSCRIPT.to_owned(),
            None => setup.model.clone().unwrap_or_else(|| "the server's".to_owned()),
        };
        if work.join("setup.sh").exists() {
            let (status, output) = self
                .script(&processes, "bash setup.sh".to_owned(), &work, self.task.check_limit)
                .await?;
            if status != ExitCause::Code(0) {
                bail!("setup.sh failed: {output}");
            }
        }
        let (agent, mut events) = agent::spawn(setup, InitialSession::New);
        let worked = self.work(&agent, &mut events, done).await;
        let AgentHandle { commands, task, .. } = agent;
        drop((commands, events));
        // A session that is not saved in time is no reason to give the run up.
        let _ = timeout(STOP_LIMIT, task).await;
        processes.end_all().await;
        if let (None, Some(answered)) = (&self.cli.demo, &done.figures.model) {
            done.model.clone_from(answered);
        }
        worked?;
        let check = format!("bash {}", shell_word(&self.task.check_script()));
        let (status, output) = self.script(&processes, check, &work, self.task.check_limit).await?;
        processes.end_all().await;
        Ok(match status {
            ExitCause::Code(0) => None,
            _ if done.timed_out => Some(format!(
                "{output}\nThe agent was stopped after {} s.",
                self.task.agent_limit.as_secs()
            )),
            ExitCause::TimedOut => Some(format!("{output}\nThe check took too long.")),
            ExitCause::Code(_) | ExitCause::Signal(_) | ExitCause::Cancelled => {
                let why = done.figures.failure().map(|why| format!("\n{why}"));
                Some(output + &why.unwrap_or_default())
            }
        })
    }

    /// Sends the instruction, and counts what happens until the turn is over.
    async fn work(
        &self,
        agent: &AgentHandle,
        events: &mut AgentEventReceiver,
        done: &mut AgentRun,
    ) -> anyhow::Result<()> {
        let text = self.task.instruction.trim().to_owned();
        agent.commands.send(AgentCommand::Send { text: text.into() }.to(agent.id)).await?;
        let start = Instant::now();
        let ended = timeout(self.task.agent_limit, until_over(events, &mut done.figures)).await;
        done.elapsed = start.elapsed();
        match ended {
            Ok(ended) => ended,
            Err(_) => {
                done.timed_out = true;
                agent.stop.stop_all();
                // What it has done so far is checked all the same.
                let _ = timeout(STOP_LIMIT, until_over(events, &mut done.figures)).await;
                Ok(())
            }
        }
    }

    /// Runs one of the task's own scripts, outside of any sandbox.
    async fn script(
        &self,
        processes: &ProcessHost,
        text: String,
        folder: &Path,
        limit: Duration,
    ) -> anyhow::Result<(ExitCause, String)> {
        let script = ScriptSpec {
            text,
            cwd: folder.to_owned(),
            timeout: limit,
            search_path: None,
            scratch: None,
        };
        let mut output = Vec::new();
        let mut take = |bytes: &[u8]| {
            output.extend_from_slice(bytes);
            let surplus = output.len().saturating_sub(CHECK_OUTPUT);
            output.drain(..surplus);
        };
        let exit = processes.run(script, &mut take, CancellationToken::new()).await?;
        Ok((exit.cause, String::from_utf8_lossy(&output).trim().to_owned()))
    }
}

async fn until_over(
    events: &mut AgentEventReceiver,
    figures: &mut EvalFigures,
) -> anyhow::Result<()> {
    while !figures.is_over() {
        match events.recv().await {
            Some(addressed) => figures.take(&addressed.event),
            None => bail!("The agent ended before its turn did."),
        }
    }
    Ok(())
}

/// The path as one word of a shell script.
fn shell_word(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
