//! The subcommands.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde_json::Value;

use crate::domain::PermissionMode;

/// What slug can do besides chatting.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum CliCommand {
    /// Print every value of the configuration, and where it comes from
    Config {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// List what can be bound to keys, and the keys that hold
    Keys {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// List the models that can be asked, with their windows and prices, or fetch newer facts
    #[command(args_conflicts_with_subcommands = true)]
    Models {
        /// What is done.
        #[command(subcommand)]
        command: Option<ModelsCommand>,
        /// Which are listed, where nothing else is done.
        #[command(flatten)]
        list: ModelsList,
    },
    /// List the tools, or run one
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// List, search, print, rename or delete the stored sessions, and keep the store small
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// List the permission rules, or try them on a call
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// Print the fixed prompt and the tools, with their size
    Prompt {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Check configuration, endpoint, key, terminal and files, and say what to do
    Doctor {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Print the completions for a shell
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

/// In which form data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub struct PrintFormat {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `slug models …`
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ModelsCommand {
    /// List the models of the configured servers, and what the catalogue knows of them
    List(ModelsList),
    /// Fetch newer windows, prices and abilities from models.dev, and keep them in ~/.slug
    Refresh,
}

/// `slug models list …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ModelsList {
    /// Only those with this in their name, those that only the catalogue has included
    pub filter: Option<String>,
    /// In which form.
    #[command(flatten)]
    pub format: PrintFormat,
}

/// `slug tools …`
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum ToolsCommand {
    /// List the tools that the model is told of
    List {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Run one tool, under the same permissions as a call of the model's
    Run {
        /// The tool's name: Read, Grep, Bash, …
        name: String,
        /// The arguments, as a JSON object
        #[arg(long, value_name = "JSON", value_parser = object)]
        input: Value,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
}

/// `slug sessions …`
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions, newest first
    List {
        /// Which.
        #[command(flatten)]
        which: SessionsFilter,
        /// At most so many
        #[arg(long, value_name = "COUNT")]
        limit: Option<usize>,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Print what was said in a session
    Show {
        /// Which session; the beginning of its id is enough.
        id: String,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Look for a text in all that was said, newest sessions first
    Search {
        /// The text; a capital letter makes case count. Words like project:NAME, model:NAME, after:DATE,
        /// before:DATE and today narrow the search
        query: String,
        /// In which.
        #[command(flatten)]
        which: SessionsFilter,
        /// At most so many sessions
        #[arg(long, value_name = "COUNT", default_value_t = 50)]
        limit: usize,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Give a session another title
    Rename {
        /// Which session; the beginning of its id is enough.
        id: String,
        /// The title
        title: String,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Write a session as Markdown, as one HTML file or as JSON, without secrets
    Export(SessionsExport),
    /// Take over sessions of other tools: slug logs, chat messages, Claude Code, Codex
    Import(SessionsImport),
    /// Move sessions to the trash
    Delete {
        /// Which sessions; the beginnings of their ids are enough.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Remove what nothing needs any more, and pack what nobody has used for long
    Gc(SessionsGc),
}

/// `slug sessions export …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SessionsExport {
    /// Which session; the beginning of its id is enough
    pub id: String,
    /// In which form; else by the ending of FILE, else Markdown
    #[arg(long = "format", value_name = "FORM")]
    pub form: Option<ExportFormatArg>,
    /// Write into this file instead of printing
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Leave secrets in
    #[arg(long)]
    pub no_redact: bool,
    /// In which form what was done is told.
    #[command(flatten)]
    pub format: PrintFormat,
}

/// The forms that a session is exported in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormatArg {
    /// Markdown
    Md,
    /// One HTML file
    Html,
    /// JSON
    Json,
    /// A log that another slug imports, with its images and long outputs
    Jsonl,
}

/// `slug sessions import …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SessionsImport {
    /// Files, or folders to look through for them
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only say what would be taken over
    #[arg(long)]
    pub dry_run: bool,
    /// In which form.
    #[command(flatten)]
    pub format: PrintFormat,
}

/// Which sessions are meant.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SessionsFilter {
    /// Those with this in the folder they work in
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Those with this in the name of their model
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Those used on this day or later: 2026-11-01, 2026-11, today, 7d, 2w
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
}

/// `slug sessions gc …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SessionsGc {
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// For how many days deleted sessions can be brought back
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub trash_days: u32,
    /// After how many days without use sessions and contents are packed
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub pack_days: u32,
    /// In which form.
    #[command(flatten)]
    pub format: PrintFormat,
}

/// `slug permissions …`
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum PermissionsCommand {
    /// List the rules that hold here, and the file each comes from
    List {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Say what would happen to a call, and why, without making it
    Test(PermissionsTest),
}

/// `slug permissions test …`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct PermissionsTest {
    /// Use the rules of this settings file alone
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// Decide as in this mode: plan, ask, allow-edits, sandbox or yolo
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Option<PermissionMode>,
    /// The tool that the call is for
    #[arg(long, value_name = "NAME", default_value = "Bash")]
    pub tool: String,
    /// A command, a path or an address, by tool
    pub input: String,
    /// In which form.
    #[command(flatten)]
    pub format: PrintFormat,
}

fn mode(text: &str) -> Result<PermissionMode, crate::domain::UnknownMode> {
    text.parse()
}

fn object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("the arguments have to be a JSON object: {\"file_path\":\"…\"}".to_owned()),
        Err(error) => Err(format!("this is not JSON: {error}")),
    }
}
