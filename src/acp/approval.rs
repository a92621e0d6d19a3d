//! Asks through the editor whether a call may run. The call is told first, with the whole texts of a
//! change; then the question with its id. Whatever is no clear yes is a no.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    Diff, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SessionId, SessionUpdate,
};
use serde_json::Value;

use crate::domain::sanitize::{sanitize, sanitize_line};
use crate::domain::{
    ApprovalAnswer, ApprovalKind, ApprovalRequest, CallDanger, CallInput, FileDiff, ToolCall,
    ToolKind,
};
use crate::tools;

use super::connection::EditorReply;
use super::diffs;
use super::events::{EventMapper, fenced};
use super::tool_calls::text;

/// A question with what each of its options means.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AskedApproval {
    pub(super) request: RequestPermissionRequest,
    pub(super) answers: BTreeMap<String, ApprovalAnswer>,
}

/// The answers that a question offers: id, words, kind, and what is answered.
type OfferedOptions = Vec<(&'static str, String, PermissionOptionKind, ApprovalAnswer)>;

/// The updates that come before a question, and the question. `old` is the text of the file that would
/// be changed; `None` where there is none.
pub(super) fn ask(
    mapper: &mut EventMapper,
    session: &SessionId,
    request: &ApprovalRequest,
    old: Option<String>,
) -> (Vec<SessionUpdate>, Option<AskedApproval>) {
    let input = CallInput::Valid(request.input.clone());
    let call = ToolCall { id: request.call.clone(), name: request.tool.clone(), input };
    let mut updates = mapper.announce(&call);
    let Some(open) = mapper.calls.get(&request.call) else { return (updates, None) };
    if let Some(preview) = &request.preview {
        open.set_diff(whole_diff(preview, old));
    }
    for preview in &request.other_previews {
        let (old, new) = diffs::changed_places(preview);
        open.set_diff(Diff::new(preview.path.clone(), new).old_text(old));
    }
    let fields = open.looks_now().content(open.content(vec![text(why(request))]));
    let update = open.update(fields);
    updates.push(SessionUpdate::ToolCallUpdate(update.clone()));
    let mut options = Vec::new();
    let mut answers = BTreeMap::new();
    for (number, (id, name, kind, answer)) in offered(request).into_iter().enumerate() {
        let id = format!("{id}-{number}");
        options.push(PermissionOption::new(id.clone(), sanitize_line(&name), kind));
        answers.insert(id, answer);
    }
    let request = RequestPermissionRequest::new(session.clone(), update, options);
    (updates, Some(AskedApproval { request, answers }))
}

/// What the user has answered.
pub(super) fn answer(
    reply: EditorReply,
    answers: &BTreeMap<String, ApprovalAnswer>,
) -> ApprovalAnswer {
    let chosen = reply.ok().and_then(chosen_option);
    let answer = chosen.and_then(|chosen| answers.get(&chosen).cloned());
    answer.unwrap_or(ApprovalAnswer::Deny { instruction: None })
}

/// The option in an answer; `None` where none was chosen.
pub(super) fn chosen_option(reply: Value) -> Option<String> {
    let response: RequestPermissionResponse = serde_json::from_value(reply).ok()?;
    match response.outcome {
        RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.0.to_string()),
        _ => None,
    }
}

/// The same answers as the question on slug's own screen has, without those that need a text.
fn offered(request: &ApprovalRequest) -> OfferedOptions {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let mut options: OfferedOptions =
        vec![("once", "Yes".to_owned(), AllowOnce, ApprovalAnswer::Once)];
    let rules = &request.allow_rules;
    if request.kind == ApprovalKind::Budget {
        let session = ApprovalAnswer::Session { rules: rules.clone() };
        options.push(("session", "Yes, up to twice the budget".to_owned(), AllowAlways, session));
    } else if !rules.is_empty() {
        let all = rules.iter().map(|rule| named(rule)).collect::<Vec<_>>().join(", ");
        let session = ApprovalAnswer::Session { rules: rules.clone() };
        options.push((
            "session",
            format!("Yes, and for this session: {all}"),
            AllowAlways,
            session,
        ));
        // Never a rule for good for what is hard to take back.
        if request.dangers.is_empty() {
            let always = ApprovalAnswer::Always { rules: rules.clone() };
            options.push(("always", format!("Always allow {all}"), AllowAlways, always));
        }
        if rules.len() > 1 && request.dangers.is_empty() {
            options.extend(rules.iter().map(|rule| {
                let always = ApprovalAnswer::Always { rules: vec![rule.clone()] };
                ("always", format!("Yes, and always allow {}", named(rule)), AllowAlways, always)
            }));
        }
    }
    let deny = ApprovalAnswer::Deny { instruction: None };
    options.push(("no", "No".to_owned(), RejectOnce, deny));
    options.extend(request.deny_rule.as_ref().map(|rule| {
        let never = ApprovalAnswer::Never { rule: rule.clone() };
        ("never", format!("Never allow {}", named(rule)), RejectAlways, never)
    }));
    options
}

/// A rule in words: the hash in a rule on the definition of a server's tool says nothing to a user.
fn named(rule: &str) -> String {
    match rule.split_once("(definition:") {
        Some((tool, _)) => format!("{tool} as it is defined now"),
        None => rule.to_owned(),
    }
}

/// Why slug asks, and all that would be done, so that nobody says yes to a title.
fn why(request: &ApprovalRequest) -> String {
    let mut lines = vec![sanitize_line(&request.reason)];
    lines.retain(|line| !line.is_empty());
    lines
        .extend(request.dangers.iter().map(|danger| format!("**{}**", CallDanger::words(*danger))));
    lines.extend(request.lookalikes());
    let command = request.input.get("command").and_then(Value::as_str);
    match (&request.preview, command, tools::kind_of(&request.tool)) {
        (Some(_), _, _) => {}
        (None, Some(command), ToolKind::Execute) => lines.push(fenced(&sanitize(command))),
        (None, _, _) => {
            let input = serde_json::to_string_pretty(&request.input).unwrap_or_default();
            lines.push(fenced(&sanitize(&input)));
        }
    }
    lines.join("\n\n")
}

fn whole_diff(preview: &FileDiff, old: Option<String>) -> Diff {
    match diffs::new_text(preview, old.as_deref().unwrap_or_default()) {
        Some(new) => Diff::new(preview.path.clone(), new).old_text(old),
        None => {
            let (old, new) = diffs::changed_places(preview);
            Diff::new(preview.path.clone(), new).old_text(old)
        }
    }
}
