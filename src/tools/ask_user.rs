//! AskUser: questions to the user that only the user can answer.

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::{Tool, ToolContext, ToolError, WorkingDirectory, stopped_output};
use crate::domain::{
    QuestionAnswer, QuestionOption, ToolAccess, ToolCapability, ToolDescriptor, ToolKind,
    ToolOutput, ToolSpec, UserQuestion, pluralise, read_counted,
};

/// The tool that asks the user.
pub(super) const ASK_USER: &str = "AskUser";

/// Puts questions to the user.
#[async_trait]
pub trait AskUser: Send + Sync {
    /// The answers, one for each question in their order. `None` where the questions were withdrawn:
    /// the turn was stopped, or nobody is there.
    async fn ask(&self, questions: Vec<UserQuestion>) -> Option<Vec<QuestionAnswer>>;
}

/// A run without a user: every question is withdrawn at once.
pub struct NobodyToAsk;

#[async_trait]
impl AskUser for NobodyToAsk {
    async fn ask(&self, _: Vec<UserQuestion>) -> Option<Vec<QuestionAnswer>> {
        None
    }
}

/// Puts one to four questions with options to whoever is at the front end.
pub(super) struct AskUserTool;

const SHAPE: InputShape = InputShape {
    tool: ASK_USER,
    example: r#"{"questions": [{"question": "Which one?", "options": [{"label": "This"}, {"label": "That"}]}]}"#,
    arguments: &[("questions", &[])],
    place: "",
};

/// One of the questions.
const QUESTION: InputShape = InputShape {
    arguments: &[
        ("question", &["prompt", "text"]),
        ("header", &["title"]),
        ("options", &["choices", "answers"]),
        ("multiSelect", &["multi_select", "multiple", "several"]),
    ],
    place: " in `questions`",
    ..SHAPE
};

/// One of the options of a question.
const OPTION: InputShape = InputShape {
    arguments: &[
        ("label", &["value", "text", "option"]),
        ("description", &["detail"]),
        ("preview", &[]),
    ],
    place: " in `options`",
    ..SHAPE
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Other, ToolCapability::Conversation);

/// What the model is told of a question that the user leaves open.
const LEFT_OPEN: &str = "left to you: decide, and say what you assumed";

#[async_trait]
impl Tool for AskUserTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Asks the user what only they can decide: one to four questions.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {"questions": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "question": {"type": "string"},
                        "header": {"type": "string"},
                        "options": {"type": "array", "items": {
                            "type": "object",
                            "properties": {
                                "label": {"type": "string"},
                                "description": {"type": "string"},
                                "preview": {"type": "string"},
                            },
                            "required": ["label"],
                        }},
                        "multiSelect": {"type": "boolean"},
                    },
                    "required": ["question", "options"],
                }}},
                "required": ["questions"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        match questions(input).as_deref() {
            Ok([first]) => first.question.clone(),
            Ok([first, rest @ ..]) => {
                format!("{} and {}", first.question, pluralise(rest.len(), "more question"))
            }
            Ok([]) | Err(_) => String::new(),
        }
    }

    /// One question alone may come without the list around it.
    fn canonical_input(&self, input: Value) -> Value {
        let is_one = input.get("question").is_some() && input.get("questions").is_none();
        SHAPE.canonical(if is_one { json!({"questions": [input]}) } else { input })
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        questions(input).map(|_| vec![ToolAccess::AskUser])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let questions = questions(&input)?;
        let asking = context.user.ask(questions.clone());
        let answers = tokio::select! {
            biased;
            () = context.cancel.cancelled() => None,
            answers = asking => answers,
        };
        let Some(answers) = answers else { return Ok(stopped_output()) };
        Ok(answered(&questions, &answers))
    }
}

fn answered(questions: &[UserQuestion], answers: &[QuestionAnswer]) -> ToolOutput {
    let pairs: Vec<(&UserQuestion, Option<String>)> = questions
        .iter()
        .zip(answers)
        .map(|(question, answer)| (question, question.in_words(answer)))
        .collect();
    let lines: Vec<String> = pairs
        .iter()
        .map(|(question, words)| {
            format!("{}\n→ {}", question.question, words.as_deref().unwrap_or(LEFT_OPEN))
        })
        .collect();
    let given: Vec<&str> = pairs.iter().filter_map(|(_, words)| words.as_deref()).collect();
    let summary = if given.is_empty() { "no answer".to_owned() } else { given.join("; ") };
    let output: Vec<Value> = pairs
        .iter()
        .map(|(question, words)| json!({"question": question.question, "answer": words}))
        .collect();
    ToolOutput::text(lines.join("\n")).with_summary(summary).with_output(Value::from(output))
}

fn questions(input: &Value) -> Result<Vec<UserQuestion>, ToolError> {
    let call = ArgumentReader::new(SHAPE, input)?;
    let listed = list(&call, "questions")?.ok_or_else(|| call.wrong("`questions` is missing"))?;
    let most = UserQuestion::MAX_QUESTIONS;
    if listed.is_empty() || listed.len() > most {
        return Err(call.wrong(format!("`questions` must hold 1 to {most} questions")));
    }
    listed.iter().map(question).collect()
}

fn question(item: &Value) -> Result<UserQuestion, ToolError> {
    let read = ArgumentReader::new(QUESTION, item)?;
    let question = read.text("question")?.trim().to_owned();
    if question.is_empty() {
        return Err(read.wrong("`question` is empty"));
    }
    let options = list(&read, "options")?.unwrap_or_default();
    let options = options.iter().map(option).collect::<Result<Vec<_>, _>>()?;
    let most = UserQuestion::MAX_OPTIONS;
    if options.len() > most {
        return Err(read.wrong(format!("`options` holds more than {most} options")));
    }
    let header = read.optional_text("header")?.unwrap_or_default().trim().to_owned();
    let allows_several = read.flag("multiSelect")?;
    Ok(UserQuestion { question, header, options, allows_several, document: None, server: None })
}

fn option(item: &Value) -> Result<QuestionOption, ToolError> {
    if let Value::String(label) = item {
        return Ok(QuestionOption { label: label.clone(), description: None, preview: None });
    }
    let item = ArgumentReader::new(OPTION, item)?;
    let label = item.text("label")?.trim().to_owned();
    if label.is_empty() {
        return Err(item.wrong("`label` is empty"));
    }
    Ok(QuestionOption {
        label,
        description: item.optional_text("description")?.filter(|text| !text.trim().is_empty()),
        preview: item.optional_text("preview")?.filter(|text| !text.trim().is_empty()),
    })
}

/// A list, which may come as text.
fn list(read: &ArgumentReader<'_>, name: &str) -> Result<Option<Vec<Value>>, ToolError> {
    let wrong = || read.wrong(format!("`{name}` must be an array"));
    match read.value(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(Value::String(text)) => read_counted(text).map(Some).ok_or_else(wrong),
        Some(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::domain::ToolStatus;
    use crate::tools::testing::ToolTestEnv;

    /// A user who gives the answers that are written here.
    struct ScriptedUser {
        answers: Option<Vec<QuestionAnswer>>,
        asked: Mutex<Vec<UserQuestion>>,
    }

    #[async_trait]
    impl AskUser for ScriptedUser {
        async fn ask(&self, questions: Vec<UserQuestion>) -> Option<Vec<QuestionAnswer>> {
            *self.asked.lock().unwrap() = questions;
            self.answers.clone()
        }
    }

    async fn run(
        input: Value,
        answers: Option<Vec<QuestionAnswer>>,
    ) -> (Result<ToolOutput, ToolError>, Vec<UserQuestion>) {
        let mut env = ToolTestEnv::new();
        let user = Arc::new(ScriptedUser { answers, asked: Mutex::default() });
        env.context.user = user.clone();
        let output = env.run(&AskUserTool, input).await;
        (output, user.asked.lock().unwrap().clone())
    }

    #[tokio::test]
    async fn questions_are_asked_and_the_answers_are_told() {
        let input = json!({"questions": [
            {"question": "Which store?", "header": "Store", "options": [
                {"label": "SQLite", "description": "one file", "preview": "let db = …"},
                "Postgres",
            ]},
            {"prompt": "What else?", "choices": ["Logs", "Metrics"], "multiple": "true"},
            {"question": "Name?", "options": []},
        ]});
        let answers = vec![
            QuestionAnswer { chosen: vec![0], ..QuestionAnswer::default() },
            QuestionAnswer { chosen: vec![0, 1], text: Some("and traces".into()), document: None },
            QuestionAnswer::default(),
        ];
        let (output, asked) = run(input.clone(), Some(answers)).await;
        let output = output.unwrap();
        assert_eq!(
            output.observation,
            "Which store?\n→ SQLite\nWhat else?\n→ Logs, Metrics, and traces\nName?\n→ left to you: \
             decide, and say what you assumed"
        );
        assert_eq!(output.summary.as_deref(), Some("SQLite; Logs, Metrics, and traces"));
        assert_eq!(asked[0].options[0].preview.as_deref(), Some("let db = …"));
        assert!(asked[1].allows_several && !asked[0].allows_several);
        let title = AskUserTool.call_title(&input, Path::new("/w"));
        assert_eq!(title, "Which store? and 2 more questions");
    }

    #[tokio::test]
    async fn one_question_needs_no_list_and_a_withdrawn_one_is_a_stop() {
        let input = json!({"question": "Go on?", "options": "[\"Yes\", \"No\"]"});
        let (output, asked) = run(AskUserTool.canonical_input(input), None).await;
        assert_eq!(output.unwrap().status, ToolStatus::Cancelled);
        assert_eq!((asked.len(), asked[0].options.len()), (1, 2));
    }

    #[test]
    fn what_cannot_be_asked_is_refused_by_name() {
        let ten: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        let question = json!({"question": "Q", "options": ["a"]});
        let five = vec![question.clone(); 5];
        for (input, part) in [
            (json!({}), "`questions` is missing"),
            (json!({"questions": []}), "must hold 1 to 4 questions"),
            (json!({"questions": five}), "must hold 1 to 4 questions"),
            (json!({"questions": "what"}), "`questions` must be an array"),
            (json!({"questions": [{"options": ["a"]}]}), "`question` is missing"),
            (json!({"questions": [{"question": " ", "options": ["a"]}]}), "`question` is empty"),
            (json!({"questions": [{"question": "Q", "options": ten}]}), "more than 9 options"),
            (json!({"questions": [{"question": "Q", "options": [{"label": " "}]}]}), "`label` is"),
            (json!({"questions": [{"question": "Q", "options": [{"name": "a"}]}]}), "name"),
            (json!({"question": "Q", "questions": [question]}), "question"),
        ] {
            let error = questions(&input).unwrap_err();
            assert!(error.0.contains(part), "{input}: {error}");
        }
    }
}
