//! What the model or an MCP server asks the user: as a form where the editor has forms, else question by
//! question as a choice of options. A plan is always a choice, since it is shown as a text.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
    ElicitationContentValue, ElicitationFormMode, ElicitationSchema, ElicitationSessionScope,
    EnumOption, MultiSelectPropertySchema, PermissionOption, PermissionOptionKind,
    RequestPermissionRequest, SessionId, StringPropertySchema, ToolCallUpdate,
};

use crate::domain::sanitize::sanitize_line;
use crate::domain::{QuestionAnswer, UserQuestion};

use super::approval::chosen_option;
use super::connection::EditorReply;

/// The option that leaves a question open.
const LEFT_OPEN: &str = "leave";

/// The request for a form of all questions.
pub(super) fn form(
    session: &SessionId,
    call: &ToolCallUpdate,
    questions: &[UserQuestion],
) -> CreateElicitationRequest {
    let mut schema = ElicitationSchema::new();
    for (number, question) in questions.iter().enumerate() {
        let title = title(question);
        let options: Vec<EnumOption> = question
            .options
            .iter()
            .enumerate()
            .map(|(at, option)| {
                let words = option.description.as_deref().map(sanitize_line);
                EnumOption::new(at.to_string(), sanitize_line(&option.label)).description(words)
            })
            .collect();
        let asked = sanitize_line(&question.question);
        if options.is_empty() {
            let field = StringPropertySchema::new().title(title).description(asked);
            schema = schema.property(text_field(number), field, false);
            continue;
        }
        let chosen = chosen_field(number);
        schema = if question.allows_several {
            let field = MultiSelectPropertySchema::titled(options);
            schema.property(chosen, field.title(title.clone()).description(asked), false)
        } else {
            let field = StringPropertySchema::new().one_of(options);
            schema.property(chosen, field.title(title.clone()).description(asked), false)
        };
        let own = StringPropertySchema::new().title(format!("{title}: another answer"));
        schema = schema.property(text_field(number), own, false);
    }
    let message = match questions {
        [question] => sanitize_line(&question.question),
        _ => "The model has some questions.".to_owned(),
    };
    let scope =
        ElicitationSessionScope::new(session.clone()).tool_call_id(call.tool_call_id.clone());
    CreateElicitationRequest::new(ElicitationFormMode::new(scope, schema), message)
}

/// The method of [`form`]'s request.
pub(super) fn form_method() -> &'static str {
    CLIENT_METHOD_NAMES.elicitation_create
}

/// The answers in a form. A form that is not filled in leaves all questions open.
pub(super) fn form_answers(reply: EditorReply, questions: &[UserQuestion]) -> Vec<QuestionAnswer> {
    let response: Option<CreateElicitationResponse> =
        reply.ok().and_then(|reply| serde_json::from_value(reply).ok());
    let mut content = match response.map(|response| response.action) {
        Some(ElicitationAction::Accept(accepted)) => accepted.content.unwrap_or_default(),
        _ => BTreeMap::new(),
    };
    let answers = questions.iter().enumerate().map(|(number, question)| {
        let chosen = match content.remove(&chosen_field(number)) {
            Some(ElicitationContentValue::String(one)) => vec![one],
            Some(ElicitationContentValue::StringArray(several)) => several,
            _ => Vec::new(),
        };
        let chosen = chosen.iter().filter_map(|at| at.parse().ok());
        let chosen = chosen.filter(|at| *at < question.options.len()).collect();
        let text = match content.remove(&text_field(number)) {
            Some(ElicitationContentValue::String(text)) if !text.trim().is_empty() => Some(text),
            _ => None,
        };
        QuestionAnswer { chosen, text, document: None }
    });
    answers.collect()
}

/// The request for one question as a choice. `call` says what it is about.
pub(super) fn choice(
    session: &SessionId,
    call: ToolCallUpdate,
    question: &UserQuestion,
) -> RequestPermissionRequest {
    let mut options: Vec<PermissionOption> = question
        .options
        .iter()
        .enumerate()
        .map(|(at, option)| {
            let words = option.description.as_deref().unwrap_or_default();
            let name = if words.is_empty() || question.document.is_some() {
                option.label.clone()
            } else {
                format!("{}: {words}", option.label)
            };
            let kind = match is_no(&option.label) {
                true => PermissionOptionKind::RejectOnce,
                false => PermissionOptionKind::AllowOnce,
            };
            PermissionOption::new(at.to_string(), sanitize_line(&name), kind)
        })
        .collect();
    if question.document.is_none() {
        let leave = match &question.server {
            Some(_) => "No answer",
            None => "Leave it to the model",
        };
        options.push(PermissionOption::new(LEFT_OPEN, leave, PermissionOptionKind::RejectOnce));
    }
    RequestPermissionRequest::new(session.clone(), call, options)
}

/// What was chosen; `None` where the editor has cancelled.
pub(super) fn choice_answer(reply: EditorReply, question: &UserQuestion) -> Option<QuestionAnswer> {
    let chosen = reply.ok().and_then(chosen_option)?;
    let at = chosen.parse().ok().filter(|at| *at < question.options.len());
    Some(QuestionAnswer { chosen: at.into_iter().collect(), text: None, document: None })
}

/// Whether an option says no, as far as its words tell: an editor may say yes to everything by itself.
fn is_no(label: &str) -> bool {
    matches!(label, "No" | "Decline") || label.starts_with("No,")
}

/// What a question is about in a word or two.
fn title(question: &UserQuestion) -> String {
    let words = if question.header.is_empty() { &question.question } else { &question.header };
    sanitize_line(words)
}

fn chosen_field(number: usize) -> String {
    format!("choice{}", number + 1)
}

fn text_field(number: usize) -> String {
    format!("text{}", number + 1)
}
