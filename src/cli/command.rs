//! The subcommands.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;
use serde_json::Value;

use crate::domain::Mode;

/// What slug can do besides chatting.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// Print every value of the configuration, and where it comes from
    Config {
        /// In which form.
        #[command(flatten)]
        format: Format,
    },
    /// List what can be bound to keys, and the keys that hold
    Keys {
        /// In which form.
        #[command(flatten)]
        format: Format,
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
    /// List the stored sessions, or print one
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// List the permission rules, or try them on a call
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// Print the fixed prompt and the tools, with their size
    Prompt {
        /// In which form.
        #[command(flatten)]
        format: Format,
    },
    /// Check configuration, endpoint, key, terminal and files, and say what to do
    Doctor {
        /// In which form.
        #[command(flatten)]
        format: Format,
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
pub struct Format {
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
    pub format: Format,
}

/// `slug tools …`
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum ToolsCommand {
    /// List the tools that the model is told of
    List {
        /// In which form.
        #[command(flatten)]
        format: Format,
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
        format: Format,
    },
}

/// `slug sessions …`
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions, newest first
    List {
        /// In which form.
        #[command(flatten)]
        format: Format,
    },
    /// Print what was said in a session
    Show {
        /// Which session; the beginning of its id is enough.
        id: String,
        /// In which form.
        #[command(flatten)]
        format: Format,
    },
}

/// `slug permissions …`
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum PermissionsCommand {
    /// List the rules that hold here, and the file each comes from
    List {
        /// In which form.
        #[command(flatten)]
        format: Format,
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
    /// Decide as in this mode: plan, ask, allow-edits or yolo
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Option<Mode>,
    /// The tool that the call is for
    #[arg(long, value_name = "NAME", default_value = "Bash")]
    pub tool: String,
    /// A command, a path or an address, by tool
    pub input: String,
    /// In which form.
    #[command(flatten)]
    pub format: Format,
}

fn mode(text: &str) -> Result<Mode, crate::domain::UnknownMode> {
    text.parse()
}

fn object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("the arguments have to be a JSON object: {\"file_path\":\"…\"}".to_owned()),
        Err(error) => Err(format!("this is not JSON: {error}")),
    }
}
