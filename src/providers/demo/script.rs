//! The format of a demo's script, a TOML file:
//!
//! ```toml
//! model = "demo"        # the name shown, "demo" if left out
//! pace = 200            # characters a second, 200 if left out
//!
//! [[response]]          # the first response of the model
//! [[response.step]]
//! wait = 500            # milliseconds
//! [[response.step]]
//! think = "Where is it?"
//! [[response.step]]
//! say = "I'll **look**."
//! [[response.step]]
//! call = "Read"
//! input = { file_path = "README.md" }
//!
//! [[response]]          # its response to the result
//! [[response.step]]
//! fail = "overloaded"   # or rate-limit, disconnect, too-long, bad-key
//! [[response.step]]
//! say = "It says hello."
//! [[response.on_error]] # played in the place of the steps when that call failed or was refused
//! say = "Then not."
//!
//! [[epilogue]]          # when the script is over; several take turns
//! [[epilogue.step]]
//! say = "That was all."
//! ```
//!
//! Responses follow each other. A response without calls ends a turn, and the next response answers
//! the user's next message. If the user writes during a scripted turn whose last calls failed or
//! were stopped, the rest of that turn is skipped; the same happens after an `on_error` that makes
//! no calls. A failure is played the first time that its response is requested: the steps before it
//! have streamed by then, and a retry plays the whole response without the failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

const PACE: u32 = 200;

/// A valid script.
#[derive(Debug, Clone, PartialEq)]
pub struct DemoScript {
    pub(super) model: String,
    /// Characters per second; not zero.
    pub(super) pace: u32,
    pub(super) responses: Vec<DemoResponse>,
    /// Never empty.
    pub(super) epilogues: Vec<Vec<DemoStep>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct DemoResponse {
    pub(super) steps: Vec<DemoStep>,
    pub(super) on_error: Vec<DemoStep>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum DemoStep {
    Wait(Duration),
    Think(String),
    Say(String),
    Call { name: String, input: Value },
    Fail(DemoFailure),
}

/// A failure that a script plays on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DemoFailure {
    Overloaded,
    RateLimit,
    Disconnect,
    TooLong,
    BadKey,
}

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum DemoScriptError {
    /// The file cannot be read.
    #[error("cannot read the demo {file}: {source}. Check the path given to --demo.")]
    Read {
        /// The path that was given.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The text is not a valid script.
    #[error("{file}, line {line}: {problem}. Fix that line and restart slug.")]
    Format {
        /// The path that was given.
        file: PathBuf,
        /// The line of the mistake, counted from 1.
        line: usize,
        /// The parser's description of the mistake.
        problem: String,
    },
}

impl DemoScript {
    /// Reads the script in `file`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or if its text is not a valid script. The error names the
    /// file.
    pub fn read(file: &Path) -> Result<Self, DemoScriptError> {
        let text = fs::read_to_string(file)
            .map_err(|source| DemoScriptError::Read { file: file.to_owned(), source })?;
        Self::parse(&text, file)
    }

    /// Parses a script; `file` is used in error messages.
    ///
    /// # Errors
    ///
    /// Fails if `text` is not TOML in this format, if a response has no step, or if a step is
    /// invalid. The error carries the line.
    pub fn parse(text: &str, file: &Path) -> Result<Self, DemoScriptError> {
        let at = |offset: usize, problem: String| DemoScriptError::Format {
            file: file.to_owned(),
            line: text.bytes().take(offset).filter(|&byte| byte == b'\n').count() + 1,
            problem,
        };
        let raw: RawScript = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            at(offset, error.message().trim_end_matches('.').replace('\n', " "))
        })?;
        let steps = |raw: Vec<Spanned<RawStep>>| {
            raw.into_iter()
                .map(|step| {
                    let offset = step.span().start;
                    step.into_inner().resolve().map_err(|problem| at(offset, problem.to_owned()))
                })
                .collect::<Result<Vec<DemoStep>, DemoScriptError>>()
        };
        let mut responses = Vec::new();
        for response in raw.response {
            let offset = response.span().start;
            let response = response.into_inner();
            if response.step.is_empty() {
                return Err(at(offset, "a response needs at least one step".to_owned()));
            }
            let on_error = steps(response.on_error)?;
            responses.push(DemoResponse { steps: steps(response.step)?, on_error });
        }
        let mut epilogues =
            raw.epilogue.into_iter().map(|last| steps(last.step)).collect::<Result<Vec<_>, _>>()?;
        if epilogues.is_empty() {
            epilogues.push(vec![DemoStep::Say("The demo's script has ended.".to_owned())]);
        }
        let model = raw.model.unwrap_or_else(|| "demo".to_owned());
        Ok(Self { model, pace: raw.pace.unwrap_or(PACE).max(1), responses, epilogues })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    model: Option<String>,
    pace: Option<u32>,
    #[serde(default)]
    response: Vec<Spanned<RawResponse>>,
    #[serde(default)]
    epilogue: Vec<RawEpilogue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawResponse {
    #[serde(default)]
    step: Vec<Spanned<RawStep>>,
    #[serde(default)]
    on_error: Vec<Spanned<RawStep>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEpilogue {
    step: Vec<Spanned<RawStep>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    wait: Option<u64>,
    think: Option<String>,
    say: Option<String>,
    call: Option<String>,
    input: Option<Value>,
    fail: Option<DemoFailure>,
}

impl RawStep {
    fn resolve(self) -> Result<DemoStep, &'static str> {
        let Self { wait, think, say, call, input, fail } = self;
        if input.is_some() && call.is_none() {
            return Err("`input` belongs to a `call`");
        }
        let input = input.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        let choices = [
            wait.map(|milliseconds| DemoStep::Wait(Duration::from_millis(milliseconds))),
            think.map(DemoStep::Think),
            say.map(DemoStep::Say),
            call.map(|name| DemoStep::Call { name, input }),
            fail.map(DemoStep::Fail),
        ];
        let mut chosen = choices.into_iter().flatten();
        match (chosen.next(), chosen.next()) {
            (Some(step), None) => Ok(step),
            (None, _) => Err("a step needs one of `wait`, `think`, `say`, `call` and `fail`"),
            (Some(_), Some(_)) => {
                Err("a step does one thing: begin another [[…step]] for the next")
            }
        }
    }
}
