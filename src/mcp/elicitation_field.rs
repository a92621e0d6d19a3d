//! One field of a form that a server asks the user to fill in: how it is asked about, and what an answer
//! is worth.

use serde_json::{Number, Value, json};

use crate::domain::sanitize::sanitize_line;
use crate::domain::{QuestionAnswer, QuestionOption, UserQuestion};

use super::lists::cut;

/// The most bytes of a name, a description and an option that are shown, each.
const MAX_TEXT: usize = 400;

/// The most values that a field can offer.
const MAX_CHOICES: usize = 200;

/// A field of a form (2025-11-25, "Elicitation", "Requested Schema").
#[derive(Debug, PartialEq)]
pub(super) struct FormField {
    /// The name on the wire.
    pub(super) name: String,
    pub(super) title: String,
    description: String,
    is_required: bool,
    default: Option<Value>,
    kind: FieldKind,
}

#[derive(Debug, PartialEq)]
enum FieldKind {
    Text {
        least: u64,
        most: u64,
    },
    Number {
        is_whole: bool,
        least: f64,
        most: f64,
    },
    Switch,
    /// One of these values, or several.
    Choice {
        choices: Vec<FieldChoice>,
        is_several: bool,
    },
}

/// A value that can be chosen, and how it is shown.
#[derive(Debug, PartialEq)]
struct FieldChoice {
    value: String,
    label: String,
}

impl FormField {
    /// Reads the schema of a field; `None` for one of a kind that the protocol does not have.
    pub(super) fn read(name: &str, schema: &Value, is_required: bool) -> Option<Self> {
        let text = |key: &str| {
            let text = schema.get(key).and_then(Value::as_str).unwrap_or_default().trim();
            cut(&sanitize_line(text), MAX_TEXT).to_owned()
        };
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let kind = match schema.get("type").and_then(Value::as_str)? {
            "string" => match choices(schema) {
                Some(choices) => FieldKind::Choice { choices: choices?, is_several: false },
                None => FieldKind::Text {
                    least: count("minLength").unwrap_or(0),
                    most: count("maxLength").unwrap_or(u64::MAX),
                },
            },
            kind @ ("number" | "integer") => FieldKind::Number {
                is_whole: kind == "integer",
                least: bound("minimum").unwrap_or(f64::NEG_INFINITY),
                most: bound("maximum").unwrap_or(f64::INFINITY),
            },
            "boolean" => FieldKind::Switch,
            "array" => {
                FieldKind::Choice { choices: choices(schema.get("items")?)??, is_several: true }
            }
            _ => return None,
        };
        let title = [text("title"), cut(&sanitize_line(name), MAX_TEXT).to_owned()];
        Some(Self {
            name: name.to_owned(),
            title: title.into_iter().find(|title| !title.is_empty())?,
            description: text("description"),
            is_required,
            default: schema.get("default").filter(|it| !it.is_null()).cloned(),
            kind,
        })
    }

    /// What the user is asked, with why the last answer did not fit.
    pub(super) fn question(&self, server: &str, wrong: Option<&str>) -> UserQuestion {
        let mut question = wrong.map_or_else(String::new, |wrong| format!("{wrong} "));
        question.push_str(&self.title);
        if !self.description.is_empty() {
            question.push_str(&format!(": {}", self.description));
        }
        question.push_str(&match (&self.default, self.is_required) {
            (Some(default), _) => format!(" (default: {})", self.shown(default)),
            (None, true) => " (required)".to_owned(),
            (None, false) => " (optional)".to_owned(),
        });
        let options = self.options();
        if let (FieldKind::Choice { choices, .. }, true) = (&self.kind, options.is_empty()) {
            let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
            question.push_str(&format!(". One of: {}", cut(&labels.join(", "), MAX_TEXT * 4)));
        }
        UserQuestion {
            question,
            header: server.to_owned(),
            options,
            allows_several: matches!(self.kind, FieldKind::Choice { is_several: true, .. }),
            server: Some(server.to_owned()),
            ..UserQuestion::default()
        }
    }

    /// A default as the options and the user write it.
    fn shown(&self, default: &Value) -> String {
        let choices = match &self.kind {
            FieldKind::Choice { choices, .. } => choices.as_slice(),
            FieldKind::Text { .. } | FieldKind::Number { .. } | FieldKind::Switch => &[],
        };
        let label = |text: &str| {
            let choice = choices.iter().find(|choice| choice.value == text);
            choice.map_or_else(|| text.to_owned(), |choice| choice.label.clone())
        };
        let plain = |value: &Value| match value {
            Value::String(text) => label(text),
            Value::Bool(true) => "Yes".to_owned(),
            Value::Bool(false) => "No".to_owned(),
            other => other.to_string(),
        };
        let text = match default {
            Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
            other => plain(other),
        };
        cut(&sanitize_line(&text), MAX_TEXT).to_owned()
    }

    /// The values that can be chosen; none where there are too many for the digits.
    fn options(&self) -> Vec<QuestionOption> {
        let option = |label: String| QuestionOption { label, description: None, preview: None };
        match &self.kind {
            FieldKind::Switch => ["Yes", "No"].map(|label| option(label.to_owned())).to_vec(),
            FieldKind::Choice { choices, .. } if choices.len() <= UserQuestion::MAX_OPTIONS => {
                choices.iter().map(|choice| option(choice.label.clone())).collect()
            }
            // A number that is typed must not read as that of an option.
            FieldKind::Choice { .. } | FieldKind::Text { .. } | FieldKind::Number { .. } => {
                Vec::new()
            }
        }
    }

    /// What an answer is worth; `None` for a field that is left open.
    ///
    /// # Errors
    ///
    /// When it does not fit; a sentence for the user.
    pub(super) fn value(&self, answer: &QuestionAnswer) -> Result<Option<Value>, String> {
        let written = answer.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        if written.is_none() && answer.chosen.is_empty() {
            return match (&self.default, self.is_required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, true) => Err("This one is needed.".to_owned()),
                (None, false) => Ok(None),
            };
        }
        match &self.kind {
            FieldKind::Choice { choices, is_several } => {
                let mut values: Vec<&str> = Vec::new();
                values
                    .extend(answer.chosen.iter().filter_map(|at| Some(&*choices.get(*at)?.value)));
                for word in written.into_iter().flat_map(|text| words(text, *is_several)) {
                    let found = choices.iter().find(|it| it.label == word || it.value == word);
                    let found = found.ok_or_else(|| format!("{word:?} is none of the values."))?;
                    values.push(&found.value);
                }
                match (is_several, &values[..]) {
                    (true, values) => Ok(Some(json!(values))),
                    (false, [value]) => Ok(Some(json!(value))),
                    (false, _) => Err("Choose one.".to_owned()),
                }
            }
            FieldKind::Switch => match (answer.chosen.first(), written.map(str::to_lowercase)) {
                (Some(at), None) => Ok(Some(Value::Bool(*at == 0))),
                (_, Some(word)) if ["yes", "y", "true"].contains(&&*word) => Ok(Some(json!(true))),
                (_, Some(word)) if ["no", "n", "false"].contains(&&*word) => Ok(Some(json!(false))),
                (_, _) => Err("Answer yes or no.".to_owned()),
            },
            FieldKind::Text { .. } | FieldKind::Number { .. } => {
                self.typed(written.unwrap_or_default()).map(Some)
            }
        }
    }

    /// The value of what was typed into a field for a text or a number.
    fn typed(&self, text: &str) -> Result<Value, String> {
        match &self.kind {
            FieldKind::Number { is_whole, least, most } => {
                let number = match is_whole {
                    true => text.parse::<i64>().ok().map(Number::from),
                    false => text.parse::<f64>().ok().and_then(Number::from_f64),
                };
                let number = number.ok_or_else(|| match is_whole {
                    true => format!("{text:?} is no whole number."),
                    false => format!("{text:?} is no number."),
                })?;
                let size = number.as_f64().unwrap_or_default();
                match (size < *least, size > *most) {
                    (true, _) => Err(format!("It must be at least {least}.")),
                    (_, true) => Err(format!("It must be at most {most}.")),
                    (false, false) => Ok(Value::Number(number)),
                }
            }
            FieldKind::Text { least, most } => {
                let length = text.chars().count() as u64;
                match (length < *least, length > *most) {
                    (true, _) => Err(format!("It must have at least {least} characters.")),
                    (_, true) => Err(format!("It must have at most {most} characters.")),
                    (false, false) => Ok(json!(text)),
                }
            }
            FieldKind::Switch | FieldKind::Choice { .. } => Err("Choose one.".to_owned()),
        }
    }
}

/// The values that a schema lists; `None` where it lists none, `Some(None)` where it is no list that the
/// protocol has.
#[allow(clippy::option_option, reason = "no list and a broken list are two things")]
fn choices(schema: &Value) -> Option<Option<Vec<FieldChoice>>> {
    let choice = |value: &Value, label: Option<&Value>| {
        let value = value.as_str()?.to_owned();
        let label = label.and_then(Value::as_str).unwrap_or(&value);
        Some(FieldChoice { label: cut(&sanitize_line(label), MAX_TEXT).to_owned(), value })
    };
    let listed = ["enum", "oneOf", "anyOf"].into_iter().find_map(|key| schema.get(key))?;
    let Some(listed) = listed.as_array().filter(|it| (1..=MAX_CHOICES).contains(&it.len())) else {
        return Some(None);
    };
    let names = schema.get("enumNames").and_then(Value::as_array);
    let read = listed.iter().enumerate().map(|(at, item)| match item.get("const") {
        Some(value) => choice(value, item.get("title")),
        None => choice(item, names.and_then(|names| names.get(at))),
    });
    Some(read.collect())
}

fn words(text: &str, is_several: bool) -> Vec<&str> {
    match is_several {
        true => text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
        false => vec![text],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(schema: &Value, is_required: bool) -> FormField {
        FormField::read("f", schema, is_required).unwrap()
    }

    fn typed(text: &str) -> QuestionAnswer {
        QuestionAnswer { text: Some(text.into()), ..QuestionAnswer::default() }
    }

    fn chosen(at: &[usize]) -> QuestionAnswer {
        QuestionAnswer { chosen: at.to_vec(), ..QuestionAnswer::default() }
    }

    #[test]
    fn each_kind_of_field_takes_what_fits_it() {
        let titled = json!({"type": "string", "oneOf": [
            {"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"},
        ]});
        let several =
            json!({"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}});
        let number = json!({"type": "number", "minimum": 0, "maximum": 1});
        let text = json!({"type": "string", "minLength": 2, "maxLength": 3});
        for (schema, answer, wanted) in [
            (&text, typed(" ab "), Ok(Some(json!("ab")))),
            (&text, typed("a"), Err("It must have at least 2 characters.")),
            (&text, typed("äöüß"), Err("It must have at most 3 characters.")),
            (&number, typed("0.5"), Ok(Some(json!(0.5)))),
            (&number, typed("nan"), Err("\"nan\" is no number.")),
            (&number, typed("-1"), Err("It must be at least 0.")),
            (&json!({"type": "integer"}), typed("7"), Ok(Some(json!(7)))),
            (&json!({"type": "integer"}), typed("7.5"), Err("\"7.5\" is no whole number.")),
            (&json!({"type": "boolean"}), chosen(&[1]), Ok(Some(json!(false)))),
            (&json!({"type": "boolean"}), typed("Yes"), Ok(Some(json!(true)))),
            (&json!({"type": "boolean"}), typed("maybe"), Err("Answer yes or no.")),
            (&titled, chosen(&[1]), Ok(Some(json!("#0f0")))),
            (&titled, typed("Red"), Ok(Some(json!("#f00")))),
            (&titled, typed("Blue"), Err("\"Blue\" is none of the values.")),
            (&several, chosen(&[0, 2]), Ok(Some(json!(["a", "c"])))),
            (&several, typed("b, c"), Ok(Some(json!(["b", "c"])))),
            (&text, QuestionAnswer::default(), Ok(None)),
            (&json!({"type": "string", "default": "d"}), typed("e"), Ok(Some(json!("e")))),
            (
                &json!({"type": "integer", "default": 5}),
                QuestionAnswer::default(),
                Ok(Some(json!(5))),
            ),
        ] {
            let value = field(schema, false).value(&answer);
            assert_eq!(value, wanted.map_err(str::to_owned), "{schema} {answer:?}");
        }
        let needed = field(&text, true).value(&QuestionAnswer::default());
        assert_eq!(needed, Err("This one is needed.".to_owned()));
    }

    #[test]
    fn a_field_that_the_protocol_does_not_have_is_none() {
        let huge: Vec<String> = (0..300).map(|at| at.to_string()).collect();
        for schema in [
            json!({}),
            json!("string"),
            json!({"type": "object", "properties": {}}),
            json!({"type": "string", "enum": "a"}),
            json!({"type": "string", "enum": []}),
            json!({"type": "string", "enum": [1, 2]}),
            json!({"type": "string", "enum": huge}),
            json!({"type": "array", "items": {"type": "string"}}),
        ] {
            assert_eq!(FormField::read("f", &schema, false), None, "{schema}");
        }
    }

    #[test]
    fn what_is_shown_of_a_field_is_short_and_harmless() {
        let huge = "x\u{1b}[2J".repeat(5000);
        let schema = json!({"type": "string", "title": huge, "description": huge, "default": huge});
        let question = field(&schema, true).question("s", Some("It is wrong."));
        assert!(question.question.len() < 1300 && question.question.starts_with("It is wrong. x"));
        let shown = format!("{question:?}");
        assert!(!shown.contains('\u{1b}') && shown.len() < 3000, "{shown}");
        let items = json!({"anyOf": [{"const": "a", "title": "An A"}, {"const": "b"}]});
        let several = json!({"type": "array", "items": items, "default": ["a", "b"]});
        for (schema, expected) in [
            (several, "f (default: An A, b)"),
            (json!({"type": "boolean", "default": true}), "f (default: Yes)"),
        ] {
            assert_eq!(field(&schema, false).question("s", None).question, expected);
        }
        let question = field(&json!({"type": "integer", "default": 5}), true).question("s", None);
        assert_eq!((&*question.question, question.options.len()), ("f (default: 5)", 0));
        let many: Vec<String> = (0..20).map(|at| format!("v{at}")).collect();
        let question = field(&json!({"type": "string", "enum": many}), true).question("s", None);
        assert!(question.options.is_empty() && question.question.contains("One of: v0, v1"));
    }
}
