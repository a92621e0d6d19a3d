//! `slug mcp import`: where other agents keep their servers, a preview of what slug would add, and
//! adding it.
//!
//! Nothing is written before the preview was printed. Values of variables and headers are not printed;
//! of arguments, those that look like secrets are not. Servers that the user has are never changed.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::{Cli, CliExitStatus, McpImportArguments};
use crate::config::{self, ConfigChange, ResolvedConfig};
use crate::disk::read_text;
use crate::domain::pluralise;
use crate::domain::sanitize::sanitize_line;
use crate::launch::print;
use crate::launch::questions::confirmed;
use crate::launch::run_context::RunContext;
use crate::mcp::{ImportableServer, McpImportEntry, McpImportFormat, read_import};
use crate::permissions::store::ProjectSettingsTrust;
use crate::tui::app::conversation::title::home_path;

/// The most bytes of a file that is read: Claude Code keeps its history in the file with its servers.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A file that can have servers.
pub(in crate::launch::subcommands) struct ImportFile {
    /// `None`: as its keys say.
    format: Option<McpImportFormat>,
    path: PathBuf,
}

/// What a file has for slug.
pub(in crate::launch::subcommands) struct FilePreview {
    file: ImportFile,
    /// The error is a phrase without a full stop.
    entries: Result<Vec<McpImportEntry>, String>,
}

pub(super) fn run(
    cli: &Cli,
    run_context: &RunContext,
    config: &ResolvedConfig,
    arguments: &McpImportArguments,
) -> anyhow::Result<CliExitStatus> {
    let Some(source) = &arguments.source else {
        return list(run_context, config, arguments.format.json);
    };
    let files = match McpImportFormat::ALL.into_iter().find(|format| format.id() == source) {
        Some(format) => files_of(run_context, format),
        None => vec![ImportFile { format: None, path: run_context.cwd.join(source) }],
    };
    let previews = previews(run_context, config, files);
    if previews.is_empty() {
        print::complain(&match McpImportFormat::ALL.iter().find(|format| format.id() == source) {
            Some(format) => format!("{} has no file with MCP servers here.", format.title()),
            None => format!(
                "There is no file {source:?}. Name a file, or one of {}.",
                McpImportFormat::ALL.map(McpImportFormat::id).join(", ")
            ),
        });
        return Ok(CliExitStatus::Failed);
    }
    let added: Vec<&ImportableServer> = previews.iter().flat_map(FilePreview::servers).collect();
    let target = run_context.config_file(cli);
    if !arguments.format.json {
        write_preview(run_context, &previews)?;
    }
    let may_write =
        !added.is_empty() && (arguments.yes || !arguments.format.json && asked(&added, &target)?);
    if may_write {
        write(cli, run_context, &target, &added)?;
    }
    let mut out = print::out();
    let is_read = previews.iter().all(|preview| preview.entries.is_ok());
    if arguments.format.json {
        let files: Vec<Value> = previews.iter().map(FilePreview::json).collect();
        writeln!(out, "{}", json!({"files": files, "written": may_write}))?;
    } else if may_write {
        let names: Vec<&str> = added.iter().map(|it| it.definition.name.as_str()).collect();
        writeln!(out, "Added {} to {}.", names.join(", "), target.display())?;
        writeln!(out, "Try each: slug mcp test NAME")?;
    } else if !added.is_empty() {
        writeln!(out, "Nothing is written. To add: slug mcp import {source} --yes")?;
    } else if is_read {
        writeln!(out, "Nothing to add.")?;
    }
    Ok(if is_read { CliExitStatus::Answered } else { CliExitStatus::Failed })
}

/// The files of all agents, and how many servers each has.
fn list(
    run_context: &RunContext,
    config: &ResolvedConfig,
    json: bool,
) -> anyhow::Result<CliExitStatus> {
    let files = McpImportFormat::ALL.into_iter().flat_map(|format| files_of(run_context, format));
    let previews = previews(run_context, config, files.collect());
    let mut out = print::out();
    if json {
        let files: Vec<Value> = previews.iter().map(FilePreview::json).collect();
        writeln!(out, "{}", json!({"files": files, "written": false}))?;
        return Ok(CliExitStatus::Answered);
    }
    for preview in &previews {
        let has = match &preview.entries {
            Ok(entries) => {
                let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
                let names = sanitize_line(&names.join(", "));
                format!("{}: {names}", pluralise(entries.len(), "server"))
            }
            Err(problem) => problem.clone(),
        };
        let has = has.trim_end_matches(": ");
        writeln!(out, "{:11}  {}  {has}", preview.source(), preview.shown(run_context))?;
    }
    match previews.first() {
        Some(first) => {
            writeln!(out, "See what slug would add: slug mcp import {}", first.source())?;
        }
        None => writeln!(
            out,
            "No MCP servers of {} were found. Name a file: slug mcp import FILE",
            McpImportFormat::ALL.map(McpImportFormat::title).join(", ")
        )?,
    }
    Ok(CliExitStatus::Answered)
}

/// The files of an agent that there may be, the more particular first.
pub(in crate::launch::subcommands) fn files_of(
    run_context: &RunContext,
    format: McpImportFormat,
) -> Vec<ImportFile> {
    let folder = |variable: &str, below: &str| {
        let named = std::env::var_os(variable).filter(|it| !it.is_empty()).map(PathBuf::from);
        named.or_else(|| Some(run_context.user_home.as_ref()?.join(below))).into_iter()
    };
    let settings = || folder("XDG_CONFIG_HOME", ".config");
    let here = &run_context.cwd;
    let paths: Vec<PathBuf> = match format {
        McpImportFormat::ClaudeCode => {
            folder("CLAUDE_CONFIG_DIR", "").map(|it| it.join(".claude.json")).collect()
        }
        McpImportFormat::Codex => {
            folder("CODEX_HOME", ".codex").map(|it| it.join("config.toml")).collect()
        }
        McpImportFormat::Opencode => settings()
            .flat_map(|it| {
                ["opencode.jsonc", "opencode.json"].map(|file| it.join("opencode").join(file))
            })
            .collect(),
        McpImportFormat::Crush => [here.join(".crush.json"), here.join("crush.json")]
            .into_iter()
            .chain(settings().map(|it| it.join("crush/crush.json")))
            .collect(),
        McpImportFormat::VsCode => std::iter::once(here.join(".vscode/mcp.json"))
            .chain(settings().flat_map(|it| {
                ["Code", "Code - Insiders", "VSCodium"]
                    .map(|name| it.join(name).join("User/mcp.json"))
            }))
            .collect(),
    };
    paths.into_iter().map(|path| ImportFile { format: Some(format), path }).collect()
}

/// Those of `files` that there are and that have servers or cannot be read.
pub(in crate::launch::subcommands) fn previews(
    run_context: &RunContext,
    config: &ResolvedConfig,
    files: Vec<ImportFile>,
) -> Vec<FilePreview> {
    let mut taken: Vec<String> = config.mcp.keys().cloned().collect();
    let mut found = Vec::new();
    for file in files {
        let entries = match read_text(&file.path, MAX_BYTES) {
            Ok(None) => continue,
            Ok(Some(text)) => read_import(file.format, &text, &run_context.cwd),
            Err(error) => Err(error.to_string()),
        };
        let entries = entries.map(|entries| {
            let beside = entries.into_iter().map(|entry| {
                let entry = entry.beside(taken.iter().map(String::as_str));
                if entry.server.is_ok() {
                    taken.push(entry.name.clone());
                }
                entry
            });
            beside.collect::<Vec<_>>()
        });
        if file.format.is_none() || !entries.as_ref().is_ok_and(Vec::is_empty) {
            found.push(FilePreview { file, entries });
        }
    }
    found
}

impl FilePreview {
    pub(in crate::launch::subcommands) fn servers(
        &self,
    ) -> impl Iterator<Item = &ImportableServer> {
        let entries = self.entries.iter().flatten();
        entries.filter_map(|entry| entry.server.as_deref().ok())
    }

    fn source(&self) -> &str {
        self.file.format.map_or("", McpImportFormat::id)
    }

    fn shown(&self, run_context: &RunContext) -> String {
        sanitize_line(&home_path(&self.file.path, run_context.user_home.as_deref()))
    }

    pub(in crate::launch::subcommands) fn json(&self) -> Value {
        let add = self.servers().map(|server| {
            json!({
                "name": server.definition.name, "starts": server.summary(),
                "sends": server.definition.sent_names(), "warnings": server.warnings,
            })
        });
        let skip = self.entries.iter().flatten().filter_map(|entry| {
            let why = entry.server.as_ref().err()?;
            Some(json!({"name": entry.name, "why": why}))
        });
        json!({
            "source": self.file.format.map(McpImportFormat::id), "file": self.file.path,
            "add": add.collect::<Vec<_>>(), "skip": skip.collect::<Vec<_>>(),
            "problem": self.entries.as_ref().err(),
        })
    }
}

pub(in crate::launch::subcommands) fn write_preview(
    run_context: &RunContext,
    previews: &[FilePreview],
) -> anyhow::Result<()> {
    let mut out = print::out();
    for preview in previews {
        let entries = match &preview.entries {
            Ok(entries) => entries,
            Err(problem) => {
                print::complain(&format!("{}: {problem}.", preview.shown(run_context)));
                continue;
            }
        };
        writeln!(out, "{}", preview.shown(run_context))?;
        for entry in entries {
            let name = sanitize_line(&entry.name);
            let server = match &entry.server {
                Ok(server) => server,
                Err(why) => {
                    writeln!(out, "  skip  {name}: {}", sanitize_line(why))?;
                    continue;
                }
            };
            let off = if server.definition.is_enabled { "" } else { "  (disabled)" };
            writeln!(out, "  add   {name}: {}{off}", sanitize_line(&server.summary()))?;
            let sent = server.definition.sent_names();
            if !sent.is_empty() {
                writeln!(out, "        sends {}", sanitize_line(&sent.join(", ")))?;
            }
            for variable in server.definition.variables() {
                writeln!(out, "        uses your {variable}")?;
            }
            for warning in &server.warnings {
                writeln!(out, "        note: {}", sanitize_line(warning))?;
            }
        }
    }
    Ok(())
}

/// Whether the user says yes on a terminal.
fn asked(added: &[&ImportableServer], target: &Path) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Ok(false);
    }
    let question =
        format!("Add {} to {}? [y/N]", pluralise(added.len(), "server"), target.display());
    writeln!(std::io::stderr(), "{question}")?;
    confirmed(&question)
}

/// Writes the servers into the user's configuration, as it is now.
pub(in crate::launch::subcommands) fn write(
    cli: &Cli,
    run_context: &RunContext,
    target: &Path,
    added: &[&ImportableServer],
) -> anyhow::Result<()> {
    // The file may have changed while the question was open.
    let now = run_context.config(cli, ProjectSettingsTrust::Untrusted);
    let now = now.map_err(|_| anyhow::anyhow!("Cannot read {} any longer.", target.display()))?;
    let mut changes = Vec::new();
    for server in added {
        let name = &server.definition.name;
        anyhow::ensure!(
            !now.mcp.contains_key(name),
            "{name} has been added to {} in the meantime. Nothing is written: do it again.",
            target.display()
        );
        changes.push(ConfigChange::McpServer(name.clone(), Some(server.keys.clone())));
    }
    config::save(target, &changes)?;
    Ok(())
}
