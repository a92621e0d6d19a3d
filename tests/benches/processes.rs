//! Runs a command that does nothing, through the Bash tool and the real supervisor.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use divan::Bencher;
use serde_json::json;
use slug_code::domain::{ContentHash, MessageImage, PermissionMode, TodoItem};
use slug_code::platform::environment::{ChildEnvironment, EnvironmentRules};
use slug_code::platform::files::DiskFiles;
use slug_code::platform::process::{HostPrograms, ProcessHost};
use slug_code::tools::{
    FileChange, FixedMode, InMemoryTasks, NoFormatters, NoLanguageServers, NoPdfReader,
    NoSessionJobs, NoSkills, NoSubagents, NoWebPages, NobodyToAsk, ReadLedger, SHELL_TOOL,
    ToolContext, ToolEffects, ToolPart, ToolRegistry, WorkingDirectory,
};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Takes what a call tells, and keeps nothing.
struct IgnoredEffects;

#[async_trait]
impl ToolEffects for IgnoredEffects {
    fn progress(&self, _text: &str) {}
    fn todos(&self, _todos: Vec<TodoItem>) {}
    fn file_changed(&self, _change: FileChange) {}
    async fn keep(&self, _bytes: Vec<u8>) -> Option<ContentHash> {
        None
    }
    async fn keep_image(&self, name: &str, _bytes: Vec<u8>) -> Result<MessageImage, String> {
        Err(format!("{name} is not kept."))
    }
}

fn context() -> ToolContext {
    let programs = HostPrograms {
        slug: PathBuf::from(env!("CARGO_BIN_EXE_slug")),
        ..HostPrograms::find(&std::env::var_os("PATH").unwrap(), Path::new("/nowhere")).unwrap()
    };
    let rules = EnvironmentRules::default();
    let environment = ChildEnvironment::from_variables(std::env::vars_os(), &rules);
    ToolContext {
        place: WorkingDirectory { cwd: std::env::temp_dir(), home: None },
        files: Arc::new(DiskFiles),
        processes: Arc::new(ProcessHost::new(programs, environment).unwrap()),
        user: Arc::new(NobodyToAsk),
        agents: Arc::new(NoSubagents),
        tasks: Arc::new(InMemoryTasks::default()),
        skills: Arc::new(NoSkills),
        steering: Default::default(),
        pdfs: Arc::new(NoPdfReader),
        code: Arc::new(NoLanguageServers),
        formatter: Arc::new(NoFormatters),
        mode: Arc::new(FixedMode(PermissionMode::Ask)),
        jobs: Arc::new(NoSessionJobs),
        web: Arc::new(NoWebPages),
        searches: Arc::default(),
        reads: Arc::new(ReadLedger::default()),
        is_hidden: Arc::new(|_| false),
        deferred: Default::default(),
        effects: Arc::new(IgnoredEffects),
        outputs: None,
        cancel: CancellationToken::new(),
    }
}

#[divan::bench(sample_count = 200)]
fn a_bash_call_of_true(bencher: Bencher) {
    let (runtime, registry) =
        (Runtime::new().unwrap(), ToolRegistry::from_parts(vec![ToolPart::built_in()]).unwrap());
    let bash = registry.get(SHELL_TOOL).unwrap();
    let context = runtime.block_on(async { context() });
    bencher
        .bench_local(|| runtime.block_on(bash.run(&context, json!({"command": "true"}))).unwrap());
}
