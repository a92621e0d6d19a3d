//! BashInput: types into the terminal of a job.
//!
//! What is typed can do anything that the program on the terminal can, so the gate asks about it as
//! about a command, and shows it with its keys by their names. A line that the program reads without
//! showing it is the user's to type, and refused.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::job_tools::{JOB_NAMES, find, job_argument, job_title, report};
use super::terminal_output::{HIDDEN_INPUT, unread_screen};
use crate::domain::{
    HeldModifiers, JobId, TerminalInput, TerminalKey, TerminalKeyPress, ToolAccess, ToolCapability,
    ToolDescriptor, ToolKind, ToolOutput, ToolSpec,
};
use crate::tools::input::{ArgumentReader, InputShape};
use crate::tools::{
    JobTerminal, PrintedOutput, Tool, ToolContext, ToolError, WorkingDirectory, stopped_output,
};

/// The longest text and the most keys of a call.
const LONGEST_TEXT: usize = 16 << 10;
const MOST_KEYS: usize = 100;
/// How long a call waits for the program to answer, and for how long nothing more may come after it.
const ANSWER_WAIT: Duration = Duration::from_secs(2);
const QUIET: Duration = Duration::from_millis(150);

/// Types text and keys into the terminal of a job.
pub(in crate::tools) struct BashInputTool;

const SHAPE: InputShape = InputShape {
    tool: "BashInput",
    example: r#"{"job": 999, "text": "print(1)", "keys": ["enter"]}"#,
    arguments: &[("job", JOB_NAMES), ("text", &["input", "data", "chars"]), ("keys", &["key"])],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Execute, ToolCapability::RunCommands)
        .deferred()
        .in_order();

struct TypeArguments {
    job: JobId,
    text: String,
    keys: Vec<TerminalKeyPress>,
}

impl TypeArguments {
    fn parse(input: &Value) -> Result<Self, ToolError> {
        let input = ArgumentReader::new(SHAPE, input)?;
        let job = job_argument(&input)?;
        let text = input.optional_text("text")?.unwrap_or_default();
        let keys = match input.value("keys") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(key)) => vec![parse_key(&input, key)?],
            Some(Value::Array(keys)) => {
                let parse = |key: &Value| match key {
                    Value::String(key) => parse_key(&input, key),
                    other => Err(input.wrong(format!("`keys` holds {other}, which is no key"))),
                };
                keys.iter().map(parse).collect::<Result<_, _>>()?
            }
            Some(_) => return Err(input.wrong("`keys` is no list of keys")),
        };
        if text.is_empty() && keys.is_empty() {
            return Err(input.wrong("`text` and `keys` are both empty"));
        }
        if text.len() > LONGEST_TEXT || keys.len() > MOST_KEYS {
            let most = format!("at most {LONGEST_TEXT} bytes of text and {MOST_KEYS} keys");
            return Err(input.wrong(format!("it is too much at once: {most}")));
        }
        Ok(Self { job, text, keys })
    }

    /// All that is typed, in order: the text, in which control characters are keys, then the keys.
    fn typed(&self) -> Vec<TerminalKeyPress> {
        self.text.chars().map(key_of).chain(self.keys.iter().copied()).collect()
    }

    /// What is typed for the user to read.
    fn shown(&self) -> String {
        let name = |press: TerminalKeyPress| match press.key {
            TerminalKey::Character(c) if press.held == HeldModifiers::default() => c.to_string(),
            _ => format!("[{}]", press.written()),
        };
        self.typed().into_iter().map(name).collect()
    }

    /// What is typed as a command line would have it: a line for each enter, and no keys.
    fn as_command(&self) -> String {
        let plain = |press: TerminalKeyPress| match press.key {
            TerminalKey::Character(c) if press.held == HeldModifiers::default() => Some(c),
            TerminalKey::Enter => Some('\n'),
            TerminalKey::Tab => Some('\t'),
            _ => None,
        };
        self.typed().into_iter().filter_map(plain).collect()
    }
}

fn parse_key(input: &ArgumentReader<'_>, written: &str) -> Result<TerminalKeyPress, ToolError> {
    TerminalKeyPress::parse(written).ok_or_else(|| {
        input.wrong(format!(
            "there is no key {written:?}: keys are enter, escape, tab, up, pagedown, f5, ctrl+c, alt+x …"
        ))
    })
}

/// The key that types a character.
fn key_of(character: char) -> TerminalKeyPress {
    let plain = |key| TerminalKeyPress { key, held: HeldModifiers::default() };
    let control = HeldModifiers { control: true, ..HeldModifiers::default() };
    match character {
        '\n' | '\r' => plain(TerminalKey::Enter),
        '\t' => plain(TerminalKey::Tab),
        '\u{1b}' => plain(TerminalKey::Escape),
        '\u{7f}' => plain(TerminalKey::Backspace),
        '\0' => TerminalKeyPress { key: TerminalKey::Character(' '), held: control },
        c @ '\u{1}'..='\u{1f}' => {
            let letter = char::from(b'@' + c as u8).to_ascii_lowercase();
            TerminalKeyPress { key: TerminalKey::Character(letter), held: control }
        }
        c => plain(TerminalKey::Character(c)),
    }
}

#[async_trait]
impl Tool for BashInputTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description:
                "Types into a job that runs on a terminal (Bash with tty): text, then keys. \
                          Shows what the program answers. A password is the user's to type."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "job": {"type": "integer", "description": "the number of the job"},
                    "text": {"type": "string", "description": "a line end is the enter key"},
                    "keys": {"type": "array", "items": {"type": "string"}, "description": "such as enter, escape, up, f1, ctrl+c, alt+x"},
                },
                "required": ["job"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        let shown = TypeArguments::parse(input).map(|it| it.shown()).unwrap_or_default();
        format!("{}: {shown}", job_title(input))
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        let typed = TypeArguments::parse(input)?;
        let (text, shown) = (typed.as_command(), typed.shown());
        Ok(vec![ToolAccess::Type { text, shown, cwd: place.cwd.clone() }])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let wanted = TypeArguments::parse(&input)?;
        let job = find(context, wanted.job)?;
        let PrintedOutput::Terminal(terminal) = &job.output else {
            return Err(ToolError(format!(
                "Job {} has no terminal. Start the command with tty to type into it.",
                job.id.0
            )));
        };
        if terminal.hides_input() {
            return Err(ToolError(format!("Nothing was typed: {HIDDEN_INPUT}.")));
        }
        let state = terminal.changed(0).await;
        let typed: Vec<_> = wanted.typed().into_iter().map(TerminalInput::Key).collect();
        let typed = terminal.type_in(&typed);
        typed.map_err(|error| ToolError(format!("Nothing was typed: {error}.")))?;
        let waits = wait_for_answer(&**terminal, state);
        match context.cancel.run_until_cancelled(waits).await {
            Some(()) => Ok(report(&job, &unread_screen(&job, &**terminal, None), false)),
            None => Ok(stopped_output()),
        }
    }
}

/// Waits until the program has answered and nothing more comes.
async fn wait_for_answer(terminal: &dyn JobTerminal, mut state: u64) {
    let until = Instant::now() + ANSWER_WAIT;
    let mut quiet = ANSWER_WAIT;
    while let Ok(next) =
        tokio::time::timeout_at(until.min(Instant::now() + quiet), terminal.changed(state)).await
    {
        (state, quiet) = (next, QUIET);
        if Instant::now() >= until {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(input: &Value) -> TypeArguments {
        TypeArguments::parse(input).unwrap()
    }

    #[test]
    fn s73_keys_and_control_characters_are_shown_by_their_names() {
        let typed = arguments(&json!({
            "job": 3, "text": "rm -r x\n:q\u{1b}\u{3}\0\t", "keys": ["ctrl+d", "alt+x", "f2"],
        }));
        let shown = "rm -r x[enter]:q[escape][ctrl+c][ctrl+space][tab][ctrl+d][alt+x][f2]";
        assert_eq!(typed.shown(), shown);
        assert_eq!(typed.as_command(), "rm -r x\n:q\t");
        let title = BashInputTool.call_title(&json!({"job": 3, "keys": ["up"]}), Path::new("/"));
        assert_eq!(title, "job 3: [up]");
    }

    #[test]
    fn what_is_no_input_is_refused_with_what_to_send() {
        let too_long = "x".repeat(LONGEST_TEXT + 1);
        let too_many = vec!["up"; MOST_KEYS + 1];
        for (input, says) in [
            (json!({"job": 3}), "both empty"),
            (json!({"job": 3, "text": "", "keys": []}), "both empty"),
            (json!({"text": "x"}), "`job` is missing"),
            (json!({"job": 3, "keys": ["hyper"]}), "no key \"hyper\""),
            (json!({"job": 3, "keys": [7]}), "holds 7"),
            (json!({"job": 3, "keys": 7}), "no list"),
            (json!({"job": 3, "text": too_long}), "too much"),
            (json!({"job": 3, "keys": too_many}), "too much"),
            (json!({"job": 3, "text": "x", "colour": 1}), "colour"),
        ] {
            let error = TypeArguments::parse(&input).err().unwrap();
            assert!(error.0.contains(says), "{input}: {error}");
        }
    }
}
