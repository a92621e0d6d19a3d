//! `slug migrate`: what there is of Claude Code, Codex and opencode for this folder, what slug reads as
//! it is, a preview of what slug would take over, and taking it over.
//!
//! Nothing is written before the preview was printed. Files of the user that slug has already are only
//! added to; a `hooks.json` and a `SLUG.md` that are there stay as they are.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::{Cli, CliExitStatus, MigrateArguments};
use crate::disk::read_text;
use crate::domain::pluralise;
use crate::domain::sanitize::sanitize_line;
use crate::launch::print;
use crate::launch::questions::confirmed;
use crate::launch::run_context::RunContext;
use crate::mcp::{ImportableServer, McpImportFormat};
use crate::migration::{
    self, MigrationFormat, MigrationItem, MigrationOutcome, MigrationSource, SettingsOwner,
};
use crate::permissions::Workspace;
use crate::permissions::store::{ProjectSettingsTrust, RuleEdit, SettingsFiles};
use crate::platform::paths::replace_private;
use crate::tui::app::conversation::title::home_path;

use super::mcp::import::{self, FilePreview};

/// The most bytes of a file that is read.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What slug finds of one agent.
struct AgentSettings {
    source: MigrationSource,
    /// Files and folders that slug reads where they are.
    used: Vec<UsedPath>,
    files: Vec<SettingsFile>,
    servers: Vec<FilePreview>,
}

/// A file or folder of another agent that slug reads where it is.
struct UsedPath {
    path: PathBuf,
    what: &'static str,
}

/// A file with settings, and where those go that slug takes over.
struct SettingsFile {
    path: PathBuf,
    target: MigrationTarget,
    /// The error is a phrase without a full stop.
    items: Result<Vec<MigrationItem>, String>,
}

/// Where slug keeps what it takes over from a file.
#[derive(Debug, Clone)]
enum MigrationTarget {
    /// Rules in a settings file; hooks in a file that is not there yet.
    Settings { rules: PathBuf, hooks: Option<PathBuf> },
    /// The text, as slug's instructions.
    Instructions { file: PathBuf, text: String },
}

pub(super) fn run(
    cli: &Cli,
    run_context: &RunContext,
    arguments: &MigrateArguments,
) -> anyhow::Result<CliExitStatus> {
    let config = match run_context.config(cli, ProjectSettingsTrust::Untrusted) {
        Ok(config) => config,
        Err(errors) => return Ok(super::report_config_errors(&errors)),
    };
    let is_meant =
        |source: &MigrationSource| arguments.source.as_deref().is_none_or(|it| it == source.id());
    let found: Vec<AgentSettings> = MigrationSource::ALL
        .into_iter()
        .filter(is_meant)
        .map(|source| {
            let format = match source {
                MigrationSource::ClaudeCode => McpImportFormat::ClaudeCode,
                MigrationSource::Codex => McpImportFormat::Codex,
                MigrationSource::Opencode => McpImportFormat::Opencode,
            };
            let files = import::files_of(run_context, format);
            AgentSettings {
                source,
                used: used(run_context, source),
                files: settings_files(run_context, source),
                servers: import::previews(run_context, &config, files),
            }
        })
        .filter(|agent| !agent.is_empty())
        .collect();
    let mut out = print::out();
    if arguments.format.json && !arguments.yes {
        writeln!(out, "{}", json!({"agents": json_of(&found), "written": false}))?;
        return Ok(CliExitStatus::Answered);
    }
    if found.is_empty() {
        let looked_for = MigrationSource::ALL.into_iter().filter(is_meant);
        let names: Vec<&str> = looked_for.map(MigrationSource::title).collect();
        print::complain(&format!("No settings found here of: {}.", names.join(", ")));
        return Ok(CliExitStatus::Failed);
    }
    if !arguments.format.json {
        for agent in &found {
            agent.write_preview(run_context)?;
        }
    }
    let [agent] = found.as_slice() else {
        let ids: Vec<&str> = found.iter().map(|agent| agent.source.id()).collect();
        writeln!(out, "\nTo take one over: slug migrate {}", ids.join("|"))?;
        return Ok(CliExitStatus::Answered);
    };
    let source = agent.source.id();
    let Some(what) = agent.added() else {
        if !arguments.format.json {
            writeln!(out, "\nNothing to add.")?;
        }
        return Ok(CliExitStatus::Answered);
    };
    let may_write = arguments.source.is_some() && (arguments.yes || asked(&what)?);
    if may_write {
        agent.write(cli, run_context)?;
    }
    if arguments.format.json {
        writeln!(out, "{}", json!({"agents": json_of(&found), "written": may_write}))?;
    } else if may_write {
        let is_of_project = agent.files.iter().any(|file| file.adds_to(&run_context.cwd));
        let asks = " slug asks about the project's files at its next start.";
        writeln!(out, "Added {what}.{}", if is_of_project { asks } else { "" })?;
    } else {
        writeln!(out, "\nNothing is written. To add {what}: slug migrate {source} --yes")?;
    }
    Ok(CliExitStatus::Answered)
}

fn json_of(agents: &[AgentSettings]) -> Vec<Value> {
    agents.iter().map(AgentSettings::json).collect()
}

/// Whether the user says yes on a terminal.
fn asked(what: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Ok(false);
    }
    let question = format!("Add {what}? [y/N]");
    writeln!(std::io::stderr(), "\n{question}")?;
    confirmed(&question)
}

/// The folder of an agent's own settings, which a variable can name.
fn own_folder(run_context: &RunContext, source: MigrationSource) -> Option<PathBuf> {
    let (variable, below) = match source {
        MigrationSource::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude"),
        MigrationSource::Codex => ("CODEX_HOME", ".codex"),
        MigrationSource::Opencode => ("XDG_CONFIG_HOME", ".config"),
    };
    let named = std::env::var_os(variable).filter(|it| !it.is_empty()).map(PathBuf::from);
    let folder = named.or_else(|| Some(run_context.user_home.as_ref()?.join(below)))?;
    Some(if source == MigrationSource::Opencode { folder.join("opencode") } else { folder })
}

/// What is there of the places that slug reads where they are.
fn used(run_context: &RunContext, source: MigrationSource) -> Vec<UsedPath> {
    let project: &[(&str, &str)] = match source {
        MigrationSource::ClaudeCode => &[
            ("CLAUDE.md", "instructions, where there is no SLUG.md and no AGENTS.md"),
            (".claude/rules", "rules, with the instructions"),
            (".claude/skills", "skills"),
            (".claude/commands", "commands"),
            (".claude/agents", "agents"),
            (".mcp.json", "MCP servers"),
        ],
        MigrationSource::Codex => &[
            ("AGENTS.md", "instructions, where there is no SLUG.md"),
            (".agents/skills", "skills"),
            (".codex/agents", "agents"),
        ],
        MigrationSource::Opencode => &[
            ("AGENTS.md", "instructions, where there is no SLUG.md"),
            (".opencode/command", "commands"),
            (".opencode/commands", "commands"),
            (".opencode/agent", "agents"),
            (".opencode/agents", "agents"),
        ],
    };
    let own: &[(&str, &str)] = match source {
        MigrationSource::ClaudeCode => {
            &[("skills", "skills"), ("commands", "commands"), ("agents", "agents")]
        }
        MigrationSource::Codex => &[("prompts", "commands"), ("agents", "agents")],
        MigrationSource::Opencode => &[
            ("command", "commands"),
            ("commands", "commands"),
            ("agent", "agents"),
            ("agents", "agents"),
        ],
    };
    // slug looks for these in the folders of the user's home alone.
    let home = run_context.user_home.as_ref();
    let home = home.map(|home| match source {
        MigrationSource::ClaudeCode => home.join(".claude"),
        MigrationSource::Codex => home.join(".codex"),
        MigrationSource::Opencode => home.join(".config/opencode"),
    });
    let project = project.iter().map(|(name, what)| (run_context.cwd.join(name), *what));
    let own = home.iter().flat_map(|home| own.iter().map(|(name, what)| (home.join(name), *what)));
    project
        .chain(own)
        .filter(|(path, _)| path.exists())
        .map(|(path, what)| UsedPath { path, what })
        .collect()
}

/// The files with settings that there are, the user's first.
fn settings_files(run_context: &RunContext, source: MigrationSource) -> Vec<SettingsFile> {
    let own = own_folder(run_context, source);
    let in_own = |name: &str| own.as_ref().map(|own| own.join(name));
    let (home, here) = (run_context.home.root(), &run_context.cwd);
    let user = || MigrationTarget::Settings {
        rules: run_context.home.settings(),
        hooks: Some(home.join("hooks.json")),
    };
    let project = || MigrationTarget::Settings {
        rules: here.join(".slug/settings.json"),
        hooks: Some(here.join(".slug/hooks.json")),
    };
    let local =
        || MigrationTarget::Settings { rules: here.join(".slug/settings.local.json"), hooks: None };
    let mut files: Vec<(Option<PathBuf>, MigrationFormat, MigrationTarget)> = Vec::new();
    let mut instructions = "AGENTS.md";
    match source {
        MigrationSource::ClaudeCode => {
            let of = MigrationFormat::ClaudeCodeSettings;
            instructions = "CLAUDE.md";
            files.push((in_own("settings.json"), of(SettingsOwner::User), user()));
            let settings = Some(here.join(".claude/settings.json"));
            files.push((settings, of(SettingsOwner::Project), project()));
            let settings = Some(here.join(".claude/settings.local.json"));
            files.push((settings, of(SettingsOwner::Project), local()));
        }
        MigrationSource::Codex => {
            files.push((in_own("config.toml"), MigrationFormat::CodexConfig, user()));
            let rules = in_own("rules").map(|folder| rule_files(&folder)).unwrap_or_default();
            let of_rules = |path| (Some(path), MigrationFormat::CodexRules, user());
            files.extend(rules.into_iter().map(of_rules));
            let config = Some(here.join(".codex/config.toml"));
            files.push((config, MigrationFormat::CodexConfig, project()));
        }
        MigrationSource::Opencode => {
            for name in ["opencode.jsonc", "opencode.json"] {
                files.push((in_own(name), MigrationFormat::OpencodeConfig, user()));
                let config = Some(here.join(name));
                files.push((config, MigrationFormat::OpencodeConfig, project()));
            }
        }
    }
    let workspace = run_context.workspace(ProjectSettingsTrust::Trusted);
    let settings = files
        .into_iter()
        .filter_map(|(path, format, target)| SettingsFile::read(path?, format, target, &workspace));
    let mut found: Vec<SettingsFile> = settings.collect();
    found.extend(in_own(instructions).and_then(|path| own_instructions(run_context, path)));
    found
}

/// Codex's files of rules, by name.
fn rule_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_rules = |path: &PathBuf| path.extension().is_some_and(|it| it == "rules");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_rules).collect();
    files.sort();
    files
}

/// The user's instructions for every project, which slug keeps in a file of its own.
fn own_instructions(run_context: &RunContext, path: PathBuf) -> Option<SettingsFile> {
    let text = match read_text(&path, MAX_BYTES) {
        Ok(text) => text.filter(|text| !text.trim().is_empty())?,
        Err(error) => {
            let target =
                MigrationTarget::Instructions { file: PathBuf::new(), text: String::new() };
            return Some(SettingsFile { path, target, items: Err(error.to_string()) });
        }
    };
    let file = run_context.home.instructions();
    let left = MigrationOutcome::Left(format!(
        "{} already exists: copy what you want into it",
        home_path(&file, run_context.user_home.as_deref())
    ));
    let items = file.exists().then(|| MigrationItem { name: "instructions".into(), outcome: left });
    let items = Ok(items.into_iter().collect());
    Some(SettingsFile { path, target: MigrationTarget::Instructions { file, text }, items })
}

impl SettingsFile {
    /// `None` where there is no such file, or nothing in it.
    fn read(
        path: PathBuf,
        format: MigrationFormat,
        target: MigrationTarget,
        workspace: &Workspace,
    ) -> Option<Self> {
        let items = match read_text(&path, MAX_BYTES) {
            Ok(None) => return None,
            Ok(Some(text)) => migration::read(format, &text, workspace),
            Err(error) => Err(error.to_string()),
        };
        let items = items.map(|items| beside(items, &target, workspace));
        let is_empty = items.as_ref().is_ok_and(Vec::is_empty);
        (!is_empty).then_some(Self { path, target, items })
    }

    fn items(&self) -> impl Iterator<Item = &MigrationItem> {
        self.items.iter().flatten()
    }

    /// Whether the text is taken over as instructions.
    fn is_new_instructions(&self) -> bool {
        matches!(self.target, MigrationTarget::Instructions { .. })
            && self.items.as_ref().is_ok_and(Vec::is_empty)
    }

    /// Whether something goes into files below this folder.
    fn adds_to(&self, folder: &Path) -> bool {
        let MigrationTarget::Settings { rules, .. } = &self.target else { return false };
        let is_left = |item: &MigrationItem| matches!(item.outcome, MigrationOutcome::Left(_));
        rules.starts_with(folder) && !self.items().all(is_left)
    }

    fn hooks(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.items().filter_map(|item| match &item.outcome {
            MigrationOutcome::Hook { event, entry } => Some((event.as_str(), entry)),
            MigrationOutcome::Rule(_) | MigrationOutcome::Left(_) => None,
        })
    }
}

const FOLDER_IS_LINK: &str = "slug's folder there is a link";

/// The items with those left that slug has, or has no place for.
fn beside(
    items: Vec<MigrationItem>,
    target: &MigrationTarget,
    workspace: &Workspace,
) -> Vec<MigrationItem> {
    let MigrationTarget::Settings { rules, hooks } = target else { return items };
    let known = SettingsFiles::read(workspace, ProjectSettingsTrust::Trusted).rules(workspace);
    let is_known = |kind, rule: &str| {
        known.sources().any(|it| {
            it.kind == kind && it.rule == rule && it.file.as_deref() == Some(rules.as_path())
        })
    };
    let left = |why: &str| MigrationOutcome::Left(why.to_owned());
    // The user's own folder may be a link: a clone has not made that.
    let is_in_link = |file: &Path| {
        file.starts_with(workspace.root()) && file.parent().is_some_and(Path::is_symlink)
    };
    let items = items.into_iter().map(|mut item| {
        item.outcome = match (item.outcome, hooks) {
            (MigrationOutcome::Rule((kind, rule)), _) if is_known(kind, &rule) => {
                left("slug has it")
            }
            (MigrationOutcome::Rule(_), _) if is_in_link(rules) => left(FOLDER_IS_LINK),
            (MigrationOutcome::Hook { .. }, None) => {
                left("it is yours alone: put it into `hooks` of .slug/settings.local.json")
            }
            (MigrationOutcome::Hook { .. }, Some(file)) if is_in_link(file) => left(FOLDER_IS_LINK),
            (MigrationOutcome::Hook { .. }, Some(file)) if file.exists() => {
                left("slug has a hooks.json there; add it to that")
            }
            (outcome, _) => outcome,
        };
        item
    });
    items.collect()
}

impl AgentSettings {
    fn is_empty(&self) -> bool {
        self.used.is_empty() && self.files.is_empty() && self.servers.is_empty()
    }

    fn new_servers(&self) -> Vec<&ImportableServer> {
        self.servers.iter().flat_map(FilePreview::servers).collect()
    }

    /// What would be added, in words; `None` for nothing.
    fn added(&self) -> Option<String> {
        let items = || self.files.iter().flat_map(SettingsFile::items);
        let rules =
            items().filter(|item| matches!(item.outcome, MigrationOutcome::Rule(_))).count();
        let hooks = self.files.iter().flat_map(SettingsFile::hooks).count();
        let texts = self.files.iter().filter(|file| file.is_new_instructions()).count();
        let servers = self.new_servers().len();
        let counts =
            [(rules, "rule"), (hooks, "hook"), (servers, "server"), (texts, "instruction file")];
        let words: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| pluralise(count, word))
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    fn write_preview(&self, run_context: &RunContext) -> anyhow::Result<()> {
        let home = run_context.user_home.as_deref();
        let shown = |path: &Path| {
            let below = path.strip_prefix(&run_context.cwd).unwrap_or(path);
            sanitize_line(&home_path(below, home))
        };
        let mut out = print::out();
        writeln!(out, "{}", self.source.title())?;
        for used in &self.used {
            writeln!(out, "  as it is  {}: {}", shown(&used.path), used.what)?;
        }
        for file in &self.files {
            let items = match &file.items {
                Ok(items) => items,
                Err(why) => {
                    writeln!(out, "{}", shown(&file.path))?;
                    writeln!(out, "  skip  the file: {}", sanitize_line(why))?;
                    continue;
                }
            };
            let target = match &file.target {
                MigrationTarget::Settings { rules, .. } => rules,
                MigrationTarget::Instructions { file, .. } => file,
            };
            writeln!(out, "{} to {}", shown(&file.path), shown(target))?;
            if file.is_new_instructions() {
                writeln!(out, "  add   instructions for every project")?;
            }
            for item in items {
                let name = sanitize_line(&item.name);
                match &item.outcome {
                    MigrationOutcome::Rule((kind, rule)) => {
                        let written = format!("{} {rule}", kind.word());
                        let as_written = if written == name {
                            String::new()
                        } else {
                            format!(", in slug: {}", sanitize_line(rule))
                        };
                        writeln!(out, "  add   {name}{as_written}")?;
                    }
                    MigrationOutcome::Hook { .. } => writeln!(out, "  add   {name}")?,
                    MigrationOutcome::Left(why) => {
                        writeln!(out, "  skip  {name}: {}", sanitize_line(why))?;
                    }
                }
            }
        }
        import::write_preview(run_context, &self.servers)
    }

    fn json(&self) -> Value {
        let used = self.used.iter().map(|it| json!({"path": it.path, "what": it.what}));
        let files = self.files.iter().map(|file| {
            let items = file.items().map(|item| {
                let (add, skip) = match &item.outcome {
                    MigrationOutcome::Rule((kind, rule)) => {
                        (json!({"rule": rule, "list": kind.word()}), Value::Null)
                    }
                    MigrationOutcome::Hook { event, entry } => {
                        (json!({"hook": entry, "event": event}), Value::Null)
                    }
                    MigrationOutcome::Left(why) => (Value::Null, json!(why)),
                };
                json!({"name": item.name, "add": add, "skip": skip})
            });
            json!({
                "file": file.path, "items": items.collect::<Vec<_>>(),
                "instructions": file.is_new_instructions(), "problem": file.items.as_ref().err(),
            })
        });
        json!({
            "source": self.source.id(), "used": used.collect::<Vec<_>>(),
            "files": files.collect::<Vec<_>>(),
            "servers": self.servers.iter().map(FilePreview::json).collect::<Vec<_>>(),
        })
    }

    /// Writes all that is added. What is written before an error stays, and a second run goes on.
    fn write(&self, cli: &Cli, run_context: &RunContext) -> anyhow::Result<()> {
        let workspace = run_context.workspace(ProjectSettingsTrust::Trusted);
        for file in &self.files {
            let (rules, hooks) = match &file.target {
                MigrationTarget::Settings { rules, hooks } => (rules, hooks),
                MigrationTarget::Instructions { file: target, text } => {
                    if file.is_new_instructions() {
                        replace_private(target, text.as_bytes())?;
                    }
                    continue;
                }
            };
            let mut settings = SettingsFiles::read(&workspace, ProjectSettingsTrust::Trusted);
            for item in file.items() {
                if let MigrationOutcome::Rule(rule) = &item.outcome {
                    settings.change(rules, &RuleEdit::Add(rule.clone()), |_| true)?;
                }
            }
            if let (Some(target), Some(text)) = (hooks, migration::hook_file(file.hooks())) {
                replace_private(target, text.as_bytes())?;
            }
        }
        let servers = self.new_servers();
        if !servers.is_empty() {
            import::write(cli, run_context, &run_context.config_file(cli), &servers)?;
        }
        Ok(())
    }
}
