//! The model whose server slug runs: which file and program, with which window, and its provider.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use sha2::{Digest, Sha256};

use crate::agent::AgentProvider;
use crate::config::{ConfigOrigin, ResolvedConfig};
use crate::context::FIXED_PROMPT;
use crate::domain::{ProviderProtocol, format_bytes, format_tokens};
use crate::local::{
    LEAST_ROOM, LocalProvider, LocalServer, LocalServerFolder, LocalServerPlan, MemoryFit,
    ModelFile, SMALL_WINDOW, find, fit, too_small, usual_window,
};
use crate::net::{HttpEndpoint, PlainHttp};
use crate::platform::memory::MachineMemory;
use crate::platform::process::{HostPrograms, ProcessHost};
use crate::platform::redact::Redactor;
use crate::platform::which;
use crate::providers::{ConnectionConfig, connect};
use crate::services::connect::DetectedModelFile;

use super::build;
use super::run_context::RunContext;
use super::sandbox_setup;
use super::servers::ServerConnector;

/// The name of the provider.
pub(super) const LOCAL_PROVIDER: &str = "local";

/// The program that serves models.
pub(super) const SERVER_PROGRAM: &str = "llama-server";

/// What stands for the server's address; its client goes to the socket.
const ADDRESS: &str = "http://localhost/v1";

/// How long a model may take to load: some hundred gigabytes from a slow disk.
const LOAD_LIMIT: Duration = Duration::from_secs(20 * 60);

/// The bytes of slug's own prompt that make a token: fewer than of prose, since much of it is JSON.
const BYTES_PER_TOKEN: usize = 3;

/// The least and the most that a server remembers of other prompts, in megabytes.
const CACHE_MEGABYTES: (u64, u64) = (256, 8192);

/// The most files that the first run offers.
const MAX_OFFERED: usize = 5;

/// A model to run, and what the user should know about it at the start.
pub(super) struct LocalModel {
    pub(super) provider: AgentProvider,
    pub(super) notices: Vec<String>,
}

/// The model's file and how it would be served, before anything runs.
pub(super) struct LocalModelChoice {
    pub(super) file: ModelFile,
    pub(super) window: u64,
    pub(super) program: PathBuf,
    search_path: OsString,
}

/// The local model of this run; `None` where another server is asked. Nothing has started yet.
pub(super) fn model(
    run_context: &RunContext,
    config: &ResolvedConfig,
    redactor: &Redactor,
    servers: &ServerConnector<'_>,
) -> anyhow::Result<Option<LocalModel>> {
    let Some(choice) = choice(run_context, config).transpose()? else { return Ok(None) };
    let least = least_window()?;
    if choice.window < least {
        bail!("{}", too_small(choice.window, least));
    }
    let mut notices = Vec::new();
    if choice.window < SMALL_WINDOW {
        notices.push(format!(
            "The window of {} tokens is small for work on code: slug will often have to shorten the \
             conversation. With enough memory, start slug with --local-context 32768.",
            format_tokens(choice.window)
        ));
    }
    let LocalModelChoice { file, window, program, search_path } = choice;
    let folder = run_context.home.local_servers();
    let folder = LocalServerFolder::open(&folder, &folder_name(&file.path))
        .with_context(|| format!("Cannot use {} for the model server", folder.display()))?;
    redactor.learn(folder.key());
    let endpoint = HttpEndpoint::parse(ADDRESS, PlainHttp::LoopbackOnly)?;
    let http = servers.over_socket(folder.socket());
    let key = Some(folder.key().clone());
    let connection = ConnectionConfig::new(http.clone(), endpoint.clone(), key);
    let name = file.name();
    let plan = LocalServerPlan {
        model: file,
        window,
        program: program.to_string_lossy().into_owned(),
        args: config.local.args.as_ref().map(|it| it.value.clone()).unwrap_or_default(),
        search_path,
        cache_megabytes: cache_megabytes(MachineMemory::read()),
        load_limit: LOAD_LIMIT,
    };
    let processes = host(run_context, config, redactor)?;
    let server = LocalServer::new(plan, folder, processes, (http, endpoint));
    let inner = connect(ProviderProtocol::ChatCompletions, connection);
    let provider = AgentProvider {
        name: LOCAL_PROVIDER.to_owned(),
        provider: Arc::new(LocalProvider::new(server, inner, least)),
        model: Some(name),
        max_tokens: config.server.max_tokens.as_ref().map(|limit| limit.value),
        window,
        effort: config.server.effort.as_ref().map(|effort| effort.value),
    };
    Ok(Some(LocalModel { provider, notices }))
}

/// The file and the program that the configuration means; `None` where it means another server.
pub(super) fn choice(
    run_context: &RunContext,
    config: &ResolvedConfig,
) -> Option<anyhow::Result<LocalModelChoice>> {
    let model = config.local_model()?;
    Some(chosen(run_context, config, &model.value, &model.origin))
}

/// The model files in the usual folders and in those that the configuration names.
pub(super) fn files(run_context: &RunContext, config: &ResolvedConfig) -> Vec<ModelFile> {
    let folders = config.local.folders.iter().flat_map(|it| &it.value);
    let folders: Vec<_> = folders.map(|it| run_context.expanded(Path::new(it))).collect();
    find(run_context.user_home.as_deref(), &folders)
}

/// The model files that the first run offers: none without a program to serve them.
pub(super) fn offered(run_context: &RunContext, config: &ResolvedConfig) -> Vec<DetectedModelFile> {
    if program(run_context, config).is_err() {
        return Vec::new();
    }
    let memory = MachineMemory::read();
    let found = files(run_context, config).into_iter();
    let offered = found.filter_map(|file| match fit(&file.facts, file.size, memory) {
        MemoryFit::TooLargeNow | MemoryFit::TooLarge => None,
        fit @ (MemoryFit::Fits(_) | MemoryFit::Unknown) => Some(DetectedModelFile {
            name: file.name(),
            details: [format_bytes(file.size), fit.words()].join(", "),
            path: file.path,
        }),
    });
    offered.take(MAX_OFFERED).collect()
}

/// What would be started, as a sentence, or why that cannot be.
pub(super) fn found(
    run_context: &RunContext,
    config: &ResolvedConfig,
) -> Option<Result<String, String>> {
    let found = choice(run_context, config)?;
    Some(found.map_err(|error| format!("{error:#}")).map(|choice| {
        let LocalModelChoice { file, window, program, .. } = choice;
        format!(
            "slug starts {} for {} ({}), with a window of {} tokens.",
            program.display(),
            file.path.display(),
            format_bytes(file.size),
            format_tokens(window)
        )
    }))
}

fn chosen(
    run_context: &RunContext,
    config: &ResolvedConfig,
    model: &Path,
    origin: &ConfigOrigin,
) -> anyhow::Result<LocalModelChoice> {
    let path = run_context.expanded(model);
    let path = match origin {
        // As the shell means it, wherever slug works then.
        ConfigOrigin::Flag(_) => std::path::absolute(&path)?,
        ConfigOrigin::Default | ConfigOrigin::File { .. } | ConfigOrigin::Environment(_) => path,
    };
    let file = ModelFile::open(&path).map_err(|error| anyhow!(error))?;
    // One server for the same file, by whatever name.
    let file = ModelFile { path: path.canonicalize()?, ..file };
    let (program, search_path) = program(run_context, config)?;
    let window = match &config.local.context {
        Some(context) => u64::from(context.value),
        None => usual_window(&file.facts, file.size, MachineMemory::read()),
    };
    let window = file.facts.trained_window.map_or(window, |trained| window.min(trained));
    Ok(LocalModelChoice { file, window, program, search_path })
}

/// The server's program, outside of the project, and the PATH that it gets.
fn program(
    run_context: &RunContext,
    config: &ResolvedConfig,
) -> anyhow::Result<(PathBuf, OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let changeable = sandbox_setup::changeable(run_context, config);
    let search_path = which::outside(&path, &changeable);
    let name = config.local.server.as_ref().map_or(SERVER_PROGRAM, |it| it.value.as_str());
    if name.contains('/') {
        return Ok((run_context.expanded(Path::new(name)), search_path));
    }
    match which::find(name, &path, &changeable) {
        Some(program) => Ok((program, search_path)),
        None => bail!(
            "There is no `{name}` on the PATH. Install llama.cpp (most systems have a package of it), \
             or name its program with `local.server` in ~/.slug/config.toml."
        ),
    }
}

/// The fewest tokens of a window in which slug can work: its own prompt and tools, and room beside.
fn least_window() -> anyhow::Result<u64> {
    let tools = serde_json::to_string(&build::tool_registry()?.specs())?;
    let fixed = FIXED_PROMPT.len().saturating_add(tools.len()).div_ceil(BYTES_PER_TOKEN);
    Ok(LEAST_ROOM.saturating_add(fixed as u64))
}

/// A host of its own: the server runs outside of any sandbox, and as long as slug.
fn host(
    run_context: &RunContext,
    config: &ResolvedConfig,
    redactor: &Redactor,
) -> anyhow::Result<Arc<ProcessHost>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = HostPrograms::find(&path, &sandbox_setup::changeable(run_context, config))?;
    let environment = build::child_environment(config, redactor);
    Ok(Arc::new(ProcessHost::new(programs, environment)?))
}

fn cache_megabytes(memory: Option<MachineMemory>) -> u64 {
    let (least, most) = CACHE_MEGABYTES;
    memory.map_or(least, |memory| (memory.available >> 23).clamp(least, most))
}

/// The name of a file's folder: no path is a name.
fn folder_name(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;

    let hash = Sha256::digest(path.as_os_str().as_bytes());
    let mut name = String::new();
    for byte in hash.iter().take(8) {
        // Writing to a String cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}
