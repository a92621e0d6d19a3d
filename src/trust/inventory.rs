//! Lists what would become active in a folder when the user trusts it, for the question to the
//! user.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::context::{InstructionScope, nested_instruction_files, project_folders};
use crate::disk::read_regular;
use crate::domain::{ContentHash, jsonc};
use crate::hooks::{self, Hook, HookAction};
use crate::lsp::lsp_project_particulars;
use crate::mcp::{McpDefinitions, McpServerDefinition};
use crate::skills::{PromptFile, PromptFileKind, commands_in, project_prompt_files};
use crate::subagents::{project_agent_files, summary_line};

/// The most bytes that are read of a file.
const MAX_BYTES: u64 = 1024 * 1024;

/// What the line of a rule begins with that a skill or command wants allowed.
const ALLOWS: &str = "allows while it runs: ";

/// Files that give a folder privileges: rules, hooks and configuration.
const PRIVILEGED_FILES: [(&str, InventoryItemKind); 6] = [
    (".slug/hooks.json", InventoryItemKind::Hooks),
    (".slug/settings.json", InventoryItemKind::Settings),
    (".slug/settings.local.json", InventoryItemKind::Settings),
    (".slug/config.toml", InventoryItemKind::Configuration),
    (".mcp.json", InventoryItemKind::Servers),
    (".lsp.json", InventoryItemKind::LanguageServers),
];

/// One file that would become active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InventoryItem {
    /// Relative to the folder.
    pub path: PathBuf,
    /// Empty where nothing in the file takes effect.
    pub kinds: Vec<InventoryItemKind>,
    /// One line for each rule, hook or key that would take effect.
    pub lines: Vec<String>,
}

/// What a file holds for slug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InventoryItemKind {
    /// Permission rules.
    Settings,
    /// Commands that run on set events, and texts for the model. In a question, what git runs or obeys, too.
    Hooks,
    /// Keys of the configuration.
    Configuration,
    /// MCP servers, each of which needs a yes of its own besides.
    Servers,
    /// Language servers, which start when they are needed.
    LanguageServers,
    /// Types of agents that the model can start.
    Agents,
    /// Skills and commands: text for the model.
    PromptFiles,
    /// What skills and commands want allowed and run.
    PromptPermissions,
    /// Text for the model.
    Instructions,
}

impl InventoryItemKind {
    /// What a file of this kind holds, as a phrase for the user.
    pub fn words(self) -> &'static str {
        match self {
            Self::Settings => "permission rules",
            Self::Hooks => "programs that slug would run",
            Self::Configuration => "configuration",
            Self::Servers => "MCP servers, each with a yes of its own",
            Self::LanguageServers => "language servers that slug would start",
            Self::Agents => "agents that the model can start",
            Self::PromptFiles => "skill or command",
            Self::PromptPermissions => "with permissions",
            Self::Instructions => "instructions for the model",
        }
    }
}

/// The files that slug would read for work in `folder`, each once: those that run programs first, the
/// others in the order in which they would be read. What counts of the root of the repository above is
/// among them; a root that is the user's home folder does not count.
pub fn inventory(folder: &Path, user_home: Option<&Path>) -> Vec<InventoryItem> {
    let privileged =
        PRIVILEGED_FILES.into_iter().filter_map(|(name, kind)| item(folder, name.into(), kind));
    let texts = instructions(folder)
        .into_iter()
        .filter_map(|path| item(folder, path, InventoryItemKind::Instructions));
    let above = project_folders(folder, user_home).into_iter().filter(|above| above != folder);
    let above = above.flat_map(|root| texts_above(folder, &root));
    let agents = project_agent_files(folder)
        .into_iter()
        .filter_map(|path| item(folder, path, InventoryItemKind::Agents));
    let mut all: Vec<InventoryItem> = Vec::new();
    let mut places: HashMap<PathBuf, usize> = HashMap::new();
    let of_folder = privileged.chain(scripts(folder)).chain(agents).chain(prompt_files(folder));
    for item in of_folder.chain(texts).chain(above) {
        match places.get(&item.path).and_then(|at| all.get_mut(*at)) {
            // A hook can name a file that is read as instructions, too.
            Some(same) => {
                same.kinds.extend(item.kinds);
                same.lines.extend(item.lines);
            }
            None => {
                places.insert(item.path.clone(), all.len());
                all.push(item);
            }
        }
    }
    all.sort_by_key(|item| !item.kinds.contains(&InventoryItemKind::Hooks));
    all
}

/// The files of the folder that the commands of hooks name.
fn scripts(folder: &Path) -> impl Iterator<Item = InventoryItem> {
    let agents = project_agent_files(folder);
    let is_script = move |path: &PathBuf| {
        !PRIVILEGED_FILES.iter().any(|(name, _)| path == Path::new(name)) && !agents.contains(path)
    };
    let paths = configured_files(folder).into_iter().map(|(path, _)| path).filter(is_script);
    let lines = || vec!["run by a hook".to_owned()];
    paths.map(move |path| InventoryItem {
        path,
        kinds: vec![InventoryItemKind::Hooks],
        lines: lines(),
    })
}

/// The skills and commands of the folder, each with what it would have allowed and run.
fn prompt_files(folder: &Path) -> Vec<InventoryItem> {
    let files = project_prompt_files(folder).into_iter();
    let item = |file: PromptFile| {
        let path = file.path.strip_prefix(folder).ok()?.to_owned();
        let kind = if file.kind == PromptFileKind::Skill { "skill" } else { "command" };
        let mut lines = vec![format!("{kind} {}: {}", file.name, file.description)];
        lines.extend(file.allowed_tools.iter().map(|rule| format!("{ALLOWS}{rule}")));
        lines.extend(commands_in(&file).into_iter().map(|command| format!("runs: {command}")));
        let mut kinds = vec![InventoryItemKind::PromptFiles];
        if lines.len() > 1 {
            kinds.push(InventoryItemKind::PromptPermissions);
        }
        Some(InventoryItem { path, kinds, lines })
    };
    files.filter_map(item).collect()
}

/// What counts of the root of the repository: texts alone, named by the way there from the folder.
fn texts_above(folder: &Path, root: &Path) -> Vec<InventoryItem> {
    let Ok(below) = folder.strip_prefix(root) else { return Vec::new() };
    let up: PathBuf = below.components().map(|_| Component::ParentDir).collect();
    let text = |mut it: InventoryItem| {
        // No permission that it asks for is given.
        it.kinds.retain(|kind| *kind != InventoryItemKind::PromptPermissions);
        it.lines.retain(|line| !line.starts_with(ALLOWS));
        InventoryItem { path: up.join(&it.path), ..it }
    };
    let instructions = main_instructions(root)
        .into_iter()
        .filter_map(|path| item(root, path, InventoryItemKind::Instructions));
    prompt_files(root).into_iter().chain(instructions).map(text).collect()
}

/// The files that give privileges and exist, each with the hash of its content. The files that
/// hooks name are among them, and skills and commands.
pub fn privileged_files(folder: &Path) -> Vec<(PathBuf, ContentHash)> {
    let mut found = configured_files(folder);
    for file in project_prompt_files(folder) {
        if let Ok(path) = file.path.strip_prefix(folder) {
            found.push((path.to_owned(), file.hash));
        }
    }
    found
}

/// Settings, configuration and the like, with the files that hooks name.
fn configured_files(folder: &Path) -> Vec<(PathBuf, ContentHash)> {
    let mut found = Vec::new();
    for (name, kind) in PRIVILEGED_FILES {
        let Some(bytes) = content(&folder.join(name)) else { continue };
        found.push((PathBuf::from(name), ContentHash::of(&bytes)));
        if matches!(
            kind,
            InventoryItemKind::Configuration
                | InventoryItemKind::Servers
                | InventoryItemKind::LanguageServers
        ) {
            continue;
        }
        let (hooks, _) = hooks::read(&String::from_utf8_lossy(&bytes), Path::new(name));
        for hook in hooks {
            let scripts = match &hook.action {
                HookAction::Command { line, .. } => hooks::scripts(line, folder),
                HookAction::Prompt(_) | HookAction::Unreadable(_) => Vec::new(),
            };
            let new = scripts.into_iter().filter(|script| !found.contains(script));
            found.extend(new.collect::<Vec<_>>());
        }
    }
    for path in project_agent_files(folder) {
        let hash = content(&folder.join(&path)).map(|bytes| ContentHash::of(&bytes));
        found.extend(hash.map(|hash| (path, hash)));
    }
    found
}

/// The instruction files: those that are read from the start with what they include, those that hold
/// for some files only, and those of folders below. A link that leads out of the folder is not read, and
/// a file that another one hides is not, either.
fn instructions(folder: &Path) -> Vec<PathBuf> {
    main_instructions(folder).into_iter().chain(nested_instruction_files(folder)).collect()
}

/// Without those of folders below.
fn main_instructions(folder: &Path) -> Vec<PathBuf> {
    let project = [folder.to_owned()];
    let nowhere = folder.join(".slug/no-home");
    let scope = InstructionScope { home: &nowhere, project: &project, hides: &|_| false };
    let found = scope.read();
    let sent = found.files.into_iter().map(|file| file.path);
    let later = found.unread.into_iter().filter(|file| file.is_for_a_part).map(|file| file.path);
    let below = |path: PathBuf| path.strip_prefix(folder).map(Path::to_owned).ok();
    sent.chain(later).filter_map(below).collect()
}

fn item(folder: &Path, path: PathBuf, kind: InventoryItemKind) -> Option<InventoryItem> {
    let bytes = content(&folder.join(&path))?;
    let text = String::from_utf8_lossy(&bytes);
    let hooks = || (InventoryItemKind::Hooks, hook_lines(&text, &path, folder));
    let parts = match kind {
        InventoryItemKind::Settings => vec![hooks(), (kind, rules(&text))],
        InventoryItemKind::Hooks => vec![hooks()],
        InventoryItemKind::Configuration => vec![(kind, keys(&text))],
        InventoryItemKind::Servers => vec![(kind, servers(&text, folder))],
        InventoryItemKind::LanguageServers => vec![(kind, lsp_project_particulars(&text))],
        InventoryItemKind::Agents => vec![(kind, vec![summary_line(&path, &text)])],
        InventoryItemKind::PromptFiles | InventoryItemKind::PromptPermissions => Vec::new(),
        InventoryItemKind::Instructions => {
            let count = text.lines().count();
            let lines = if count == 1 { "line" } else { "lines" };
            vec![(kind, vec![format!("{count} {lines} of instructions")])]
        }
    };
    let parts = parts.into_iter().filter(|(_, lines)| !lines.is_empty());
    let (kinds, lines): (Vec<InventoryItemKind>, Vec<Vec<String>>) = parts.unzip();
    Some(InventoryItem { path, kinds, lines: lines.concat() })
}

fn hook_lines(text: &str, path: &Path, folder: &Path) -> Vec<String> {
    let (hooks, _) = hooks::read(text, path);
    let line = |hook: &Hook| {
        let when = format!("{} {}", hook.event.name(), hook.filter.text());
        match &hook.action {
            HookAction::Command { line, .. } => {
                let unresolved = hooks::unresolved_program(line, folder);
                let unresolved =
                    unresolved.map(|it| format!(" (slug cannot tell which files {it} uses)"));
                format!("on {} runs {line}{}", when.trim_end(), unresolved.unwrap_or_default())
            }
            HookAction::Prompt(text) => format!("on {} tells the model: {text}", when.trim_end()),
            HookAction::Unreadable(why) => format!("on {} not readable: {why}", when.trim_end()),
        }
    };
    hooks.iter().map(line).collect()
}

fn rules(text: &str) -> Vec<String> {
    let settings = match jsonc::parse(text) {
        Ok(document) => document.value,
        Err(mistake) => return vec![format!("not readable: {mistake}")],
    };
    let mut lines = Vec::new();
    for kind in ["deny", "ask", "allow"] {
        let list = settings.pointer(&format!("/permissions/{kind}")).and_then(Value::as_array);
        let rules = list.into_iter().flatten().filter_map(Value::as_str);
        lines.extend(rules.map(|rule| format!("{kind} {rule}")));
    }
    lines
}

/// What each server would start or reach and get, as it is written.
fn servers(text: &str, folder: &Path) -> Vec<String> {
    let found = McpDefinitions::read_file(text);
    let lines = |server: &McpServerDefinition| {
        let lines = server.particulars(folder).into_iter();
        lines.map(|line| format!("{}: {line}", server.name)).collect::<Vec<_>>()
    };
    found.servers.iter().flat_map(lines).chain(found.problems).collect()
}

fn keys(text: &str) -> Vec<String> {
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return vec![format!("not readable: {}", error.message())],
    };
    let mut lines = Vec::new();
    flatten("", &table, &mut lines);
    lines
}

fn flatten(before: &str, table: &toml::Table, lines: &mut Vec<String>) {
    for (key, value) in table {
        match value {
            toml::Value::Table(table) => flatten(&format!("{before}{key}."), table, lines),
            toml::Value::String(_)
            | toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_) => lines.push(format!("{before}{key} = {value}")),
        }
    }
}

/// The content of a regular file, one megabyte at most.
fn content(path: &Path) -> Option<Vec<u8>> {
    read_regular(path, MAX_BYTES).ok()?
}
