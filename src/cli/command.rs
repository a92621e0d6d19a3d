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
    /// List all actions and the keys that they are bound to
    Keys {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// List the available models with context windows and prices, or update these facts
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
    /// List, add, remove and test MCP servers
    #[command(subcommand)]
    Mcp(McpCommand),
    /// List, search, print, rename, export, import or delete sessions, and free disk space
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Play a session as it happened, or write it as an asciicast, SVG, HTML or text, without secrets
    Replay(ReplayArguments),
    /// List the permission rules, or test them on a call
    Permissions(PermissionsArguments),
    /// Print the system prompt and the tools with their sizes
    Prompt {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Take over rules, hooks, servers and instructions of Claude Code, Codex or opencode, after a preview
    Migrate(MigrateArguments),
    /// Check configuration, endpoint, key, terminal and files, and suggest what to do
    Doctor {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Run self-checking tasks with one or more models, and report the results
    Eval(EvalArguments),
    /// Serve an editor over standard input and output, with the Agent Client Protocol
    Acp {
        /// Choose a model in this terminal instead, and save it; editors start this to sign in
        #[arg(long)]
        setup: bool,
    },
    /// Hold a session for many clients of a Unix socket, until one of them ends it
    Serve {
        /// Where the socket is made, in a folder that only you can open
        #[arg(long, value_name = "PATH")]
        socket: PathBuf,
    },
    /// Print completions for a shell
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

/// `slug migrate …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct MigrateArguments {
    /// claude-code, codex or opencode; without it, all of them are shown
    #[arg(value_name = "SOURCE", value_parser = ["claude-code", "codex", "opencode"])]
    pub source: Option<String>,
    /// Write without a question
    #[arg(short, long, requires = "source")]
    pub yes: bool,
    /// In which form.
    #[command(flatten)]
    pub format: PrintFormat,
}

/// `slug models …`
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ModelsCommand {
    /// List the models of the configured servers, with what slug's catalogue knows about them
    List(ModelsList),
    /// List the model files on this machine, and say which fit its memory
    Local(PrintFormat),
    /// Update context windows, prices and abilities from models.dev, and store them in ~/.slug
    Refresh,
}

/// `slug models list …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ModelsList {
    /// Only models whose name contains this, also those that only the catalogue knows
    pub filter: Option<String>,
    /// In which form.
    #[command(flatten)]
    pub format: PrintFormat,
}

/// `slug eval …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct EvalArguments {
    /// A task, or a folder of tasks: each has task.toml, instruction.md, environment/ and tests/
    pub tasks: PathBuf,
    /// Write the results as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Compare these models instead of using the configured one; separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "transcripts")]
    pub models: Vec<String>,
    /// Play the recorded answers in each task's transcript.toml, and skip tasks without one
    #[arg(long)]
    pub transcripts: bool,
    /// Run only tasks whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Run this many tasks at once
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub jobs: u8,
    /// Keep the repositories and the sessions of all runs in this folder
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

/// `slug tools …`
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum ToolsCommand {
    /// List the tools that the model can call
    List {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Run one tool, with the same permissions as a call by the model
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

/// `slug mcp …`
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum McpCommand {
    /// List the servers; none is started
    List {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Print how a server is defined; it is not started
    Get {
        /// The server's name.
        name: String,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Add a server to your configuration: a program with its arguments, or an address
    Add(McpAddArguments),
    /// Add a server to your configuration as .mcp.json has it
    AddJson {
        /// The server's name.
        name: String,
        /// The definition, as a JSON object
        #[arg(value_name = "JSON", value_parser = object)]
        definition: Value,
    },
    /// Add the servers of another agent to your configuration, after a preview
    Import(McpImportArguments),
    /// Remove a server from your configuration
    Remove {
        /// The server's name.
        name: String,
    },
    /// Use a server of your configuration again
    Enable {
        /// The server's name.
        name: String,
    },
    /// Keep a server in your configuration, and do not start it
    Disable {
        /// The server's name.
        name: String,
    },
    /// Let a server of this folder's .mcp.json start, as it is defined now
    Allow {
        /// The server's name.
        name: String,
    },
    /// Accept the definitions of a server's tools as they are now
    Accept {
        /// The server's name.
        name: String,
    },
    /// Log in to a server that needs it, in a browser of your own
    Login {
        /// The server's name.
        name: String,
    },
    /// Run a scenario of the protocol's conformance suite
    #[command(hide = true)]
    Conformance {
        /// The address of the scenario's server.
        url: String,
    },
    /// Forget the login to a server
    Logout {
        /// The server's name.
        name: String,
    },
    /// Start a server, list its tools and end it
    Test {
        /// The server's name.
        name: String,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
}

/// `slug mcp add …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct McpAddArguments {
    /// The server's name
    pub name: String,
    /// An environment variable for the program; ${NAME} in the value is replaced at the start
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = pair)]
    pub env: Vec<(String, String)>,
    /// A header for the address; ${NAME} in its value is read from the environment when slug connects
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub header: Vec<(String, String)>,
    /// The address is one of the older HTTP+SSE
    #[arg(long)]
    pub sse: bool,
    /// A program with its arguments (after `--` if they contain options), or the address of a server
    #[arg(value_name = "COMMAND_OR_URL", required = true)]
    pub target: Vec<String>,
}

/// `slug mcp import …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct McpImportArguments {
    /// claude-code, codex, opencode, crush, vscode, or a file in the form of one of them; without it,
    /// the files that there are
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    /// Add the servers without a question
    #[arg(short, long, requires = "source")]
    pub yes: bool,
    /// In which form.
    #[command(flatten)]
    pub format: PrintFormat,
}

/// `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("has to be NAME=VALUE".into()),
    }
}

/// `slug sessions …`
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions, newest first
    List {
        /// Which.
        #[command(flatten)]
        which: SessionsFilter,
        /// List at most this many
        #[arg(long, value_name = "COUNT")]
        limit: Option<usize>,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Print the messages of a session
    Show {
        /// Which session; the beginning of its id is enough.
        id: String,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Search the messages of all sessions for a text, newest sessions first
    Search {
        /// The text; case matters only if it has a capital letter. Words like project:NAME,
        /// model:NAME, after:DATE, before:DATE and today narrow the search
        query: String,
        /// In which.
        #[command(flatten)]
        which: SessionsFilter,
        /// List at most this many sessions
        #[arg(long, value_name = "COUNT", default_value_t = 50)]
        limit: usize,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Change the title of a session
    Rename {
        /// Which session; the beginning of its id is enough.
        id: String,
        /// The title
        title: String,
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Write a session as Markdown, as a single HTML file or as JSON, without secrets
    Export(SessionsExport),
    /// Import sessions: slug logs, chat messages, and those of Claude Code and Codex
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
    /// Free disk space: remove unneeded files and compress old ones
    Gc(SessionsGc),
}

/// `slug sessions export …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SessionsExport {
    /// Which session; the beginning of its id is enough
    pub id: String,
    /// The format; by default that of FILE's extension, else Markdown
    #[arg(long = "format", value_name = "FORM")]
    pub form: Option<ExportFormatArg>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Do not remove secrets
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
    /// A single HTML file
    Html,
    /// JSON
    Json,
    /// A log with its images and long outputs, for import by slug
    Jsonl,
}

/// `slug replay …`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ReplayArguments {
    /// Which session; the beginning of its id is enough
    pub id: String,
    /// Write the replay in this format instead of playing it
    #[arg(long, value_name = "FORM")]
    pub format: Option<ReplayFormatArg>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", requires = "format")]
    pub out: Option<PathBuf>,
    /// Draw on a screen of so many columns and rows
    #[arg(long, value_name = "SIZE", default_value = "120x36", value_parser = screen_size, requires = "format")]
    pub size: (u16, u16),
    /// Play this many times as fast: 2, or 0.5 for half the speed
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = replay_speed)]
    pub speed: f64,
    /// Shorten pauses to this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = pause)]
    pub max_pause: f64,
}

/// The forms that a replay is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReplayFormatArg {
    /// An asciicast of version 2, for asciinema and its players
    Asciicast,
    /// An asciicast of version 3
    AsciicastV3,
    /// One animated picture, without script
    Svg,
    /// One page with pause, seek and speed
    Html,
    /// What was said and done, line by line with times
    Text,
}

/// `slug sessions import …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SessionsImport {
    /// Files, or folders to search for them
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only show what would be imported
    #[arg(long)]
    pub dry_run: bool,
    /// In which form.
    #[command(flatten)]
    pub format: PrintFormat,
}

/// Which sessions are meant.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SessionsFilter {
    /// Only sessions whose working folder contains this
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Only sessions whose model's name contains this
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Only sessions used on or after this day: 2026-11-01, 2026-11, today, 7d, 2w
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
}

/// `slug sessions gc …`
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SessionsGc {
    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// How many days to keep deleted sessions
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub trash_days: u32,
    /// Compress sessions and contents that were not used for this many days
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub pack_days: u32,
    /// In which form.
    #[command(flatten)]
    pub format: PrintFormat,
}

/// `slug permissions …`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct PermissionsArguments {
    /// What to do; without it the rules are listed.
    #[command(subcommand)]
    pub command: Option<PermissionsCommand>,
}

/// What `slug permissions` can do.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum PermissionsCommand {
    /// List the rules that apply here, each with its file
    List {
        /// In which form.
        #[command(flatten)]
        format: PrintFormat,
    },
    /// Show what would happen to a call, and why, without making it
    Test(PermissionsTest),
}

/// `slug permissions test …`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct PermissionsTest {
    /// Use only the rules of this settings file
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// Decide as in this permission mode: plan, ask, allow-edits, sandbox or yolo
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Option<PermissionMode>,
    /// The tool that the call is for
    #[arg(long, value_name = "NAME", default_value = "Bash")]
    pub tool: String,
    /// A command, path or address, depending on the tool
    pub input: String,
    /// In which form.
    #[command(flatten)]
    pub format: PrintFormat,
}

/// Columns and rows, as in `120x36`. The limits keep a picture at a size that programs can show.
fn screen_size(text: &str) -> Result<(u16, u16), String> {
    let wrong = || "give columns and rows from 20x8 to 400x200, as in 120x36".to_owned();
    let (columns, rows) = text.split_once('x').ok_or_else(wrong)?;
    let columns = columns.parse().ok().filter(|columns| (20..=400).contains(columns));
    let rows = rows.parse().ok().filter(|rows| (8..=200).contains(rows));
    columns.zip(rows).ok_or_else(wrong)
}

fn replay_speed(text: &str) -> Result<f64, String> {
    number(text, 0.1, 64.0)
}

fn pause(text: &str) -> Result<f64, String> {
    number(text, 0.0, 3600.0)
}

fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("give a number from {least} to {most}"))
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
