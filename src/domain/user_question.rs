//! What a model asks its user, and the answers.

use serde::{Deserialize, Serialize};

use super::{ApprovalId, CallId, TurnId};

/// What a call of the model asks the user at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuestionRequest {
    /// The id that the answers have to carry.
    pub id: ApprovalId,
    pub turn: TurnId,
    /// The call that waits for the answers.
    pub call: CallId,
    /// At least one.
    pub questions: Vec<UserQuestion>,
}

/// A question with the answers that the model thinks of. The user may always write another one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UserQuestion {
    pub question: String,
    /// A word or two for the subject; empty if the model gave none.
    #[serde(default)]
    pub header: String,
    /// At most [`UserQuestion::MAX_OPTIONS`]; none where only the user can say.
    pub options: Vec<QuestionOption>,
    /// Whether the user may choose more than one option.
    #[serde(default)]
    pub allows_several: bool,
    /// A text in Markdown that the question is about, such as a plan, which the user may change. Such a
    /// question is not left open.
    #[serde(default)]
    pub document: Option<String>,
    /// The MCP server that asks; `None` where the model does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// An answer that the model offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuestionOption {
    pub label: String,
    /// What choosing it means.
    #[serde(default)]
    pub description: Option<String>,
    /// What it would look like, such as a piece of code; shown as it is while the option is marked.
    #[serde(default)]
    pub preview: Option<String>,
}

/// The user's answer to one question. Without a choice and a text the user leaves it to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuestionAnswer {
    /// The chosen options, by their index.
    pub chosen: Vec<usize>,
    /// The user's own words, in place of the options or besides them.
    pub text: Option<String>,
    /// The document as the user has changed it.
    #[serde(default)]
    pub document: Option<String>,
}

impl UserQuestion {
    /// The most questions of one call.
    pub const MAX_QUESTIONS: usize = 4;
    /// The most options: each has a digit from 1 to 9.
    pub const MAX_OPTIONS: usize = 9;

    /// An answer in words: the labels that were chosen, then the user's own text. `None` where the
    /// user has left it open.
    pub fn in_words(&self, answer: &QuestionAnswer) -> Option<String> {
        let labels = answer.chosen.iter().filter_map(|at| self.options.get(*at));
        let own = answer.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let parts: Vec<&str> = labels.map(|option| option.label.as_str()).chain(own).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_what_was_chosen_and_said() {
        let option =
            |label: &str| QuestionOption { label: label.into(), description: None, preview: None };
        let question = UserQuestion {
            question: "Which?".into(),
            header: String::new(),
            options: vec![option("a"), option("b"), option("c")],
            allows_several: true,
            ..UserQuestion::default()
        };
        let words = |chosen: &[usize], text: Option<&str>| {
            let text = text.map(str::to_owned);
            let answer = QuestionAnswer { chosen: chosen.to_vec(), text, document: None };
            question.in_words(&answer)
        };
        assert_eq!(words(&[2, 0], None).as_deref(), Some("c, a"));
        assert_eq!(words(&[1], Some(" and d ")).as_deref(), Some("b, and d"));
        assert_eq!(words(&[], Some("other")).as_deref(), Some("other"));
        assert_eq!(words(&[], Some("  ")), None);
        assert_eq!(words(&[7], None), None);
    }
}
