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
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgGroup, CommandFactory, Parser, ValueEnum};
use secrecy::SecretString;

pub use command::{
    CliCommand, EvalArguments, ExportFormatArg, McpAddArguments, McpCommand, McpImportArguments,
    MigrateArguments, ModelsCommand, ModelsList, PermissionsArguments, PermissionsCommand,
    PermissionsTest, PrintFormat, ReplayArguments, ReplayFormatArg, SessionsCommand,
    SessionsExport, SessionsFilter, SessionsGc, SessionsImport, ToolsCommand,
};
pub use exit::CliExitStatus;
pub use generate::{completions, man};

use crate::config::{ConfigFlags, ModeChoice};
use crate::domain::{PermissionMode, UsageBudget, UserInput, nearest};

/// The command line.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "slug",
    version,
    about = "A terminal coding agent for any model. Without a command, slug opens a full-screen chat \
        in the current folder. It asks before it changes files or runs commands, except those that only read.",
    max_term_width = 100,
    after_help = AFTER_HELP,
    disable_help_subcommand = true,
    subcommand_help_heading = "Commands"
)]
#[command(group = ArgGroup::new("mode").args(["yolo", "allow_edits", "plan", "sandbox"]))]
#[command(group = ArgGroup::new("past").args(["continue_newest", "resume", "fork_session"]))]
pub struct Cli {
    /// Send requests to the server at this address; also SLUG_ENDPOINT
    #[arg(short, long, value_name = "URL", help_heading = "Model")]
    pub endpoint: Option<String>,

    /// Use this API key; also SLUG_API_KEY, which other users of the machine cannot see
    #[arg(short = 'k', long, value_name = "KEY", help_heading = "Model", value_parser = secret)]
    pub api_key: Option<SecretString>,

    /// Use this model; also SLUG_MODEL. `default` means the one that the server offers
    #[arg(short, long, value_name = "NAME", help_heading = "Model")]
    pub model: Option<String>,

    /// Use this provider: `openai`, `responses`, `anthropic`, `gemini`, or NAME of a [providers.NAME] in
    /// config.toml. openai without an endpoint is OpenAI itself where OPENAI_API_KEY is set
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub provider: Option<String>,

    /// Start a server for this model file (GGUF) with the llama-server on the PATH, use it, and end it
    /// with slug; `slug models local` lists files
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Model",
        conflicts_with_all = ["endpoint", "api_key", "model", "provider", "demo"]
    )]
    pub local: Option<PathBuf>,

    /// The window of that model, in tokens; 32768 by default, less where the model or the memory is
    /// too small
    #[arg(
        long,
        value_name = "TOKENS",
        help_heading = "Model",
        value_parser = clap::value_parser!(u32).range(1024..)
    )]
    pub local_context: Option<u32>,

    /// Use this system prompt instead of slug's own
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    pub system_prompt: Option<String>,

    /// Ask before the session takes more than this: dollars (2.50), tokens ("500k tokens"), or
    /// both, separated by a comma. Without a screen, slug stops with exit status 3
    #[arg(long, value_name = "AMOUNT", help_heading = "Model")]
    pub budget: Option<UsageBudget>,

    /// Take a guided tour with a scripted model, without a server or a key. `plain` plays the same
    /// task without the tour, and FILE is a script of your own
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

    /// Answer once without a screen, and exit. The next argument is always the text; standard
    /// input is added as context, or is the text if none is given
    #[arg(
        short,
        long,
        value_name = "TEXT",
        num_args = 0..=1,
        allow_hyphen_values = true,
        help_heading = "Scripts"
    )]
    pub prompt: Option<Option<String>>,

    /// Print the answer as text, as json (one object) or as stream-json (one object per line)
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

    /// Read standard input as text, or as stream-json: messages, answers to questions and interrupts, one
    /// object per line, until the input ends. Needs the same --output-format
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        requires = "prompt",
        help_heading = "Scripts"
    )]
    pub input_format: InputFormat,

    /// End a turn after this many rounds of tool calls, with a summary and exit status 3; without a
    /// screen 300 by default, otherwise no limit
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Scripts"
    )]
    pub max_rounds: Option<u32>,

    /// Stop after this time, with exit status 3: seconds (90), or 90s, 10m, 2h
    #[arg(
        long,
        value_name = "TIME",
        value_parser = time_limit,
        requires = "prompt",
        help_heading = "Scripts"
    )]
    pub timeout: Option<Duration>,

    /// Edit files in the working folder without asking
    #[arg(long, help_heading = "Permissions")]
    pub allow_edits: bool,

    /// Read and plan, but change nothing
    #[arg(long, help_heading = "Permissions")]
    pub plan: bool,

    /// Do not ask, except where an ask rule or a protected place is concerned. Deny rules still apply
    #[arg(long, help_heading = "Permissions")]
    pub yolo: bool,

    /// Edit files in DIR and run commands there in the operating system's sandbox, without asking.
    /// Commands can change only DIR, and have no network unless `sandbox.hosts` or `sandbox.network`
    /// allows it. The working folder must be in DIR
    #[arg(long, value_name = "DIR", help_heading = "Permissions")]
    pub sandbox: Option<PathBuf>,

    /// Trust this folder's settings and instructions for this run only
    #[arg(long, help_heading = "Permissions")]
    pub trust_workspace: bool,

    /// Continue the newest session of this folder
    #[arg(long = "continue", help_heading = "Sessions")]
    pub continue_newest: bool,

    /// Continue this session; the beginning of its id is enough
    #[arg(long, visible_alias = "session", value_name = "ID", help_heading = "Sessions")]
    pub resume: Option<String>,

    /// Continue a copy of this session; the session itself stays as it is
    #[arg(long, value_name = "ID", help_heading = "Sessions")]
    pub fork_session: Option<String>,

    /// Work in DIR instead of the current folder
    #[arg(long, value_name = "DIR", help_heading = "Workspace")]
    pub directory: Option<PathBuf>,

    /// Add DIR to the workspace; can be given several times
    #[arg(long, value_name = "DIR", help_heading = "Workspace")]
    pub add_dir: Vec<PathBuf>,

    /// Print everything line by line instead of using the full screen, for screen readers and
    /// simple terminals. The input may come from a pipe
    #[arg(long, conflicts_with = "prompt", help_heading = "Screen")]
    pub linear: bool,

    /// Log every request, response and tool call of this run below ~/.slug/debug
    #[arg(long, help_heading = "Troubleshooting")]
    pub debug_log: bool,

    /// Restore a terminal that a killed program has left unusable
    #[arg(long, exclusive = true, help_heading = "Troubleshooting")]
    pub reset_tty: bool,

    /// Open the chat and send this message first
    #[arg(value_name = "MESSAGE", conflicts_with = "prompt")]
    pub message: Vec<String>,

    /// What to do instead of opening the chat.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

/// The name after `--demo` that means slug's own script without the tour.
const PLAIN_DEMO: &str = "plain";

/// What a scripted model plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DemoChoice {
    /// slug's own script, with marks that say what to press.
    Tour,
    /// slug's own script alone.
    Plain,
    /// A script of the user's.
    File(PathBuf),
}

impl DemoChoice {
    /// The user's file; `None` for slug's own script.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::Tour | Self::Plain => None,
            Self::File(file) => Some(file),
        }
    }
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

/// What `slug -p` reads on standard input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// The prompt, or context for it.
    #[default]
    Text,
    /// One JSON object a line, until the end.
    StreamJson,
}

const AFTER_HELP: &str = "\
Examples:
  slug                                    chat in the current folder
  slug \"fix the failing test\"             chat, and send this first
  slug --demo                             try slug without a model
  slug -e http://localhost:11434/v1       use the model that Ollama serves
  slug --local qwen3-8b.gguf              start a server for this file, and use it
  slug -p \"what does src/main.rs do?\"     print an answer
  git diff | slug -p \"review this\"        add standard input as context
  slug --plan --continue                  continue where you were, changing nothing
  slug permissions test 'rm -rf build'    show what would happen, and why

Flags go before the command: slug --config FILE doctor.

Exit status:
  0   answered, or done              1   failed
  2   the command line is wrong      3   stopped by a budget or a limit
  4   answered, but calls were refused
  78  a sandbox was requested, and none is available";

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
    if let Some(command) = mistyped_command(&cli.message) {
        return Err(no_command(&cli.message[0], &command));
    }
    if cli.input_format == InputFormat::StreamJson && cli.output_format != OutputFormat::StreamJson
    {
        return Err(Cli::command().error(
            ErrorKind::ArgumentConflict,
            "--input-format stream-json needs --output-format stream-json, since questions and answers \
             go both ways",
        ));
    }
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
            max_tool_rounds: self.max_rounds,
            local: self.local.clone(),
            local_context: self.local_context,
        }
    }

    /// The script that is played, and whether with the tour; `None` without `--demo`.
    pub fn demo_choice(&self) -> Option<DemoChoice> {
        Some(match self.demo.as_ref()? {
            None => DemoChoice::Tour,
            Some(name) if name.as_os_str() == PLAIN_DEMO => DemoChoice::Plain,
            Some(file) => DemoChoice::File(file.clone()),
        })
    }

    /// The message that the chat begins with; `None` without one.
    pub fn first_message(&self) -> Option<UserInput> {
        let text = self.message.join(" ");
        (!text.trim().is_empty()).then(|| UserInput::from(text))
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

/// The subcommand that a message of one word probably means. Several words, and a quoted sentence, are
/// a message.
fn mistyped_command(message: &[String]) -> Option<String> {
    let [word] = message else { return None };
    if word.contains(char::is_whitespace) {
        return None;
    }
    let command = Cli::command();
    nearest(word, command.get_subcommands().map(clap::Command::get_name)).map(str::to_owned)
}

fn no_command(written: &str, meant: &str) -> clap::Error {
    Cli::command().error(
        ErrorKind::InvalidSubcommand,
        format!(
            "there is no command '{written}'. Did you mean `slug {meant}`? To send one word as a \
             message, type it in the chat"
        ),
    )
}

/// Replaces the error for `slug -p --output-format json`, where `--prompt` takes the flag as its
/// text and clap's message about the rest does not help.
fn explain(error: clap::Error, arguments: &[OsString]) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument | ErrorKind::ArgumentConflict => {
        }
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

/// A time limit: a whole number of seconds, or with `s`, `m` or `h` behind it.
fn time_limit(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        Some(_) | None => (text, 1),
    };
    let seconds = number.parse::<u32>().ok().filter(|seconds| *seconds > 0);
    seconds
        .map(|count| Duration::from_secs(u64::from(count) * unit))
        .ok_or_else(|| "give a whole number of seconds from 1, or 90s, 10m, 2h".to_owned())
}

// clap quotes a wrong value in its message. This parser cannot fail, so the key is never quoted.
fn secret(text: &str) -> Result<SecretString, std::convert::Infallible> {
    Ok(SecretString::from(text))
}

#[cfg(test)]
mod tests;
