//! Flags, subcommands and exit statuses.
//!
//! One parser reads the command line, once. The value of a flag is never searched for further
//! flags, so a text from elsewhere that is given to `--prompt` stays a text.
//!
//! The doc comments of flags and commands are the text of `--help`.

mod command;
mod exit;
mod generate;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgGroup, CommandFactory, Parser, ValueEnum};
use secrecy::SecretString;

pub use command::{
    CliCommand, ExportFormatArg, ModelsCommand, ModelsList, PermissionsCommand, PermissionsTest,
    PrintFormat, SessionsCommand, SessionsExport, SessionsFilter, SessionsGc, SessionsImport,
    ToolsCommand,
};
pub use exit::CliExitStatus;
pub use generate::{completions, man};

use crate::config::{ConfigFlags, ModeChoice};
use crate::domain::{PermissionMode, UsageBudget};

/// The command line.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "slug",
    version,
    about = "A terminal coding agent for any model. Without a command it opens a full-screen chat \
        with the folder you are in, and asks before it changes or runs anything.",
    max_term_width = 100,
    after_help = AFTER_HELP,
    disable_help_subcommand = true,
    subcommand_help_heading = "Commands"
)]
#[command(group = ArgGroup::new("mode").args(["yolo", "allow_edits", "plan", "sandbox"]))]
#[command(group = ArgGroup::new("past").args(["continue_newest", "resume", "fork_session"]))]
pub struct Cli {
    /// Ask the model at this address; also SLUG_ENDPOINT
    #[arg(short, long, value_name = "URL", help_heading = "Model")]
    pub endpoint: Option<String>,

    /// Send this key to the endpoint; also SLUG_API_KEY, which other users cannot see
    #[arg(short = 'k', long, value_name = "KEY", help_heading = "Model", value_parser = secret)]
    pub api_key: Option<SecretString>,

    /// Use this model; also SLUG_MODEL. `default` takes the one the server offers
    #[arg(short, long, value_name = "NAME", help_heading = "Model")]
    pub model: Option<String>,

    /// Speak `openai` (chat completions; OpenAI's own where OPENAI_API_KEY is set and no endpoint
    /// is given), `responses`, `anthropic` or `gemini`, or use a [providers.NAME] of the
    /// configuration
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub provider: Option<String>,

    /// Say this to the model in place of slug's own prompt
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    pub system_prompt: Option<String>,

    /// Stop and ask before the session takes more than this: dollars (2.50) or tokens
    /// ("500k tokens"), or both with a comma between them. Without a screen slug exits with 3
    #[arg(long, value_name = "AMOUNT", help_heading = "Model")]
    pub budget: Option<UsageBudget>,

    /// Play a scripted model, without a server or a key; FILE is another script
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        help_heading = "Model",
        conflicts_with_all = ["endpoint", "api_key", "model", "provider"]
    )]
    pub demo: Option<Option<PathBuf>>,

    /// Read the configuration from FILE instead of ~/.slug/config.toml
    #[arg(short, long, value_name = "FILE", help_heading = "Model")]
    pub config: Option<PathBuf>,

    /// Answer once, without a screen, and exit. The next argument is the text, whatever it
    /// looks like; standard input is read as context, or as the text when none is given
    #[arg(
        short,
        long,
        value_name = "TEXT",
        num_args = 0..=1,
        allow_hyphen_values = true,
        help_heading = "Scripts"
    )]
    pub prompt: Option<Option<String>>,

    /// Print the answer as text, as json (one object), or as stream-json (one object a line)
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        requires = "prompt",
        help_heading = "Scripts"
    )]
    pub output_format: OutputFormat,

    /// Edit files under the working folder without asking
    #[arg(long, help_heading = "Permissions")]
    pub allow_edits: bool,

    /// Change nothing: read and plan
    #[arg(long, help_heading = "Permissions")]
    pub plan: bool,

    /// Ask nothing. Deny rules still hold
    #[arg(long, help_heading = "Permissions")]
    pub yolo: bool,

    /// Run commands in the operating system's sandbox: they change only DIR, reach no network, and
    /// are not asked about. The folder worked in has to lie in DIR
    #[arg(long, value_name = "DIR", help_heading = "Permissions")]
    pub sandbox: Option<PathBuf>,

    /// Trust this folder's settings and instructions, for this run alone
    #[arg(long, help_heading = "Permissions")]
    pub trust_workspace: bool,

    /// Open the newest session of this folder
    #[arg(long = "continue", help_heading = "Sessions")]
    pub continue_newest: bool,

    /// Open this session; the beginning of its id is enough
    #[arg(long, visible_alias = "session", value_name = "ID", help_heading = "Sessions")]
    pub resume: Option<String>,

    /// Open a copy of this session, and leave it as it is
    #[arg(long, value_name = "ID", help_heading = "Sessions")]
    pub fork_session: Option<String>,

    /// Work in DIR instead of the current folder
    #[arg(long, value_name = "DIR", help_heading = "Workspace")]
    pub directory: Option<PathBuf>,

    /// Count DIR as part of the workspace, too; may be given several times
    #[arg(long, value_name = "DIR", help_heading = "Workspace")]
    pub add_dir: Vec<PathBuf>,

    /// Say everything line by line, without a full screen: for screen readers and simple
    /// terminals. Lines may also come from a pipe
    #[arg(long, conflicts_with = "prompt", help_heading = "Screen")]
    pub linear: bool,

    /// Keep each request, response and tool call under ~/.slug/debug
    #[arg(long, help_heading = "Trouble")]
    pub debug_log: bool,

    /// Give a terminal back that a killed program has left unusable
    #[arg(long, exclusive = true, help_heading = "Trouble")]
    pub reset_tty: bool,

    /// What to do instead of opening the chat.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

/// What `slug -p` prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The answer alone.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object a line, as things happen.
    StreamJson,
}

const AFTER_HELP: &str = "\
Examples:
  slug                                    chat with the folder you are in
  slug --demo                             look at slug without a model
  slug -e http://localhost:11434/v1       use the model that Ollama serves
  slug -p \"what does src/main.rs do?\"     print an answer
  git diff | slug -p \"review this\"        standard input is context
  slug --plan --continue                  go on where you were, changing nothing
  slug permissions test 'rm -rf build'    say what would happen, and why

Flags stand before a command: slug --config FILE doctor.

Exit status:
  0   answered, or done              1   failed
  2   the command line is wrong      3   stopped by a budget
  4   answered, but calls were refused
  78  a sandbox was asked for, and there can be none";

/// Parses a command line that begins with the program's name.
///
/// # Errors
///
/// When the command line is wrong, and for `--help` and `--version`, whose output is the error. The
/// error can print itself and has the exit status.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return Err(explain(error, &arguments)),
    };
    match &cli.prompt {
        Some(Some(text)) if is_flag(text) => Err(prompt_took(text)),
        Some(Some(_) | None) | None => Ok(cli),
    }
}

impl Cli {
    /// The flags that are part of the configuration.
    pub fn flags(&self) -> ConfigFlags {
        ConfigFlags {
            endpoint: self.endpoint.clone(),
            api_key: self.api_key.clone(),
            model: self.model.clone(),
            provider: self.provider.clone(),
            system_prompt: self.system_prompt.clone(),
            mode: self.mode(),
            budget: self.budget,
        }
    }

    fn mode(&self) -> Option<(ModeChoice, &'static str)> {
        if let Some(dir) = &self.sandbox {
            return Some((ModeChoice::Sandbox(Some(dir.clone())), "--sandbox"));
        }
        [
            (self.yolo, PermissionMode::Yolo, "--yolo"),
            (self.allow_edits, PermissionMode::AllowEdits, "--allow-edits"),
            (self.plan, PermissionMode::Plan, "--plan"),
        ]
        .into_iter()
        .find(|(given, _, _)| *given)
        .map(|(_, mode, flag)| (ModeChoice::Mode(mode), flag))
    }
}

/// Replaces the error for `slug -p --output-format json`, where `--prompt` takes the flag as its
/// text and clap's message about the rest does not help.
fn explain(error: clap::Error, arguments: &[OsString]) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument => {}
        _ => return error,
    }
    let taken = arguments.windows(2).find_map(|pair| {
        let is_prompt = pair[0] == "-p" || pair[0] == "--prompt";
        pair[1].to_str().filter(|text| is_prompt && is_flag(text))
    });
    taken.map_or(error, prompt_took)
}

fn prompt_took(text: &str) -> clap::Error {
    Cli::command().error(
        ErrorKind::InvalidValue,
        format!(
            "--prompt takes the next argument as its text, here '{text}': write the text right \
             after it, or put it last and give the text on standard input"
        ),
    )
}

/// Whether `text` is written like one of slug's own flags.
fn is_flag(text: &str) -> bool {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    let command = Cli::command();
    let is_long = |long: &str| {
        command.get_arguments().any(|argument| {
            argument.get_long() == Some(long)
                || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&long))
        })
    };
    match name.strip_prefix("--") {
        Some(long) => is_long(long) || matches!(long, "help" | "version"),
        None => match name.strip_prefix('-').map(|short| short.chars().collect::<Vec<_>>()) {
            Some(short) if short.len() == 1 => {
                matches!(short[0], 'h' | 'V')
                    || command.get_arguments().any(|it| it.get_short() == Some(short[0]))
            }
            Some(_) | None => false,
        },
    }
}

// clap quotes a wrong value in its message. This parser cannot fail, so the key is never quoted.
fn secret(text: &str) -> Result<SecretString, std::convert::Infallible> {
    Ok(SecretString::from(text))
}

#[cfg(test)]
mod tests;
