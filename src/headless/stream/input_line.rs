//! The lines that a script writes: one JSON object each. Fields that slug does not know are left out of
//! account, since clients of other agents send some; an unknown `type` is an error.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use crate::domain::{
    ApprovalId, Attachment, MessageImage, MessageRole, PermissionMode, QuestionAnswer, UserInput,
};

use super::super::output_line::MessageDelivery;

/// A line of `--input-format stream-json`, and of a client of `slug serve`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::headless) enum InputLine {
    /// A message for the model.
    User {
        message: InputMessage,
        /// For a message that comes while a turn runs.
        #[serde(default)]
        delivery: MessageDelivery,
    },
    /// The answer to `approval_asked`.
    Approval {
        id: ApprovalId,
        /// Whether the call may run.
        allow: bool,
        /// With a yes: for how long the offered rules (`allow_rules`) hold.
        #[serde(default)]
        remember: Option<RememberedFor>,
        /// With a no: what the model should do instead.
        #[serde(default)]
        message: Option<String>,
    },
    /// The answers to `questions_asked`, in the order of the questions. What is missing is left to the
    /// model.
    Answers { id: ApprovalId, answers: Vec<InputAnswer> },
    /// Stops the running turn.
    Interrupt,
    /// Changes the permission mode.
    Mode { mode: PermissionMode },
    /// Asks to be the client that writes; `access` answers.
    Write,
    /// Ends the session after the running turn and the messages that wait.
    End,
}

/// A message in the form of Anthropic's API, which clients of other agents write, too.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::headless) struct InputMessage {
    /// `user`.
    role: MessageRole,
    content: InputContent,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "`content` has to be a text or a list of text and image blocks")]
enum InputContent {
    Text(String),
    Blocks(Vec<InputBlock>),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputBlock {
    Text { text: String },
    Image { source: InputImage },
}

/// The bytes of a PNG, JPEG, GIF or WebP.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputImage {
    Base64 { data: String },
}

/// How long a yes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::headless) enum RememberedFor {
    /// Until slug ends.
    Session,
    /// For good: the rules are saved.
    Always,
}

/// The answer to one question. Without a choice and a text it is left to the model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::headless) struct InputAnswer {
    /// The chosen options, by their index from 0.
    #[serde(default)]
    chosen: Vec<usize>,
    /// An answer in words, in place of the options or besides them.
    #[serde(default)]
    text: Option<String>,
    /// The document of the question, if it was changed.
    #[serde(default)]
    document: Option<String>,
}

impl InputLine {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as a sentence.
    pub(super) fn read(line: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| format!("This line is not JSON: {error}."))?;
        if value.get("type").and_then(Value::as_str).is_none() {
            return Err("This line is not an object with a `type`.".to_owned());
        }
        Self::deserialize(value).map_err(|error| format!("This line is not understood: {error}."))
    }
}

impl InputMessage {
    /// What the user says. `keep` stores an image under a name; it may take a while.
    ///
    /// # Errors
    ///
    /// What is wrong with the message, as a sentence.
    pub(super) fn into_input(
        self,
        keep: impl Fn(&str, Vec<u8>) -> Result<MessageImage, String>,
    ) -> Result<UserInput, String> {
        if self.role != MessageRole::User {
            return Err("A message has to be of the role `user`.".to_owned());
        }
        let mut input = UserInput::default();
        match self.content {
            InputContent::Text(text) => input.text = text,
            InputContent::Blocks(blocks) => {
                for block in blocks {
                    add(&mut input, block, &keep)?;
                }
            }
        }
        match input.is_blank() {
            true => Err("The message is empty.".to_owned()),
            false => Ok(input),
        }
    }
}

fn add(
    input: &mut UserInput,
    block: InputBlock,
    keep: &impl Fn(&str, Vec<u8>) -> Result<MessageImage, String>,
) -> Result<(), String> {
    if !input.text.is_empty() {
        input.text.push('\n');
    }
    match block {
        InputBlock::Text { text } => input.text.push_str(&text),
        InputBlock::Image { source: InputImage::Base64 { data } } => {
            let bytes = STANDARD.decode(data.trim());
            let bytes = bytes.map_err(|error| format!("An image is not base64: {error}."))?;
            let image = keep("image", bytes)?;
            let label = format!("[Image #{} {image}]", input.images.len() + 1);
            input.text.push_str(&label);
            input.images.push(Attachment { label, image });
        }
    }
    Ok(())
}

impl From<InputAnswer> for QuestionAnswer {
    fn from(answer: InputAnswer) -> Self {
        let InputAnswer { chosen, text, document } = answer;
        Self { chosen, text, document }
    }
}
