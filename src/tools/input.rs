//! Reads the arguments of a call, leniently where their meaning is certain.
//!
//! Numbers and flags may come as strings, optional arguments as null, and a few arguments under
//! the names that other agents give them. Everything else is an error that shows the model what to
//! send, an argument that the tool does not have among it: a call that is done without a part of
//! what it asks for is not the call that was made.
//!
//! [`InputShape::canonical`] gives the arguments their own names before anybody decides about the
//! call, so that hooks, dialogs and the log of permissions know one name for each.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{ToolError, WorkingDirectory};
use crate::domain::read_counted;

/// The shape of a tool's arguments, for error messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputShape {
    pub tool: &'static str,
    /// Valid arguments as JSON.
    pub example: &'static str,
    /// Each argument, with other names that are accepted for it.
    pub arguments: &'static [(&'static str, &'static [&'static str])],
    /// Where the arguments stand, as the end of a phrase: " in `todos`"; empty for those of the call.
    pub place: &'static str,
}

/// What models call the path of a file.
pub(super) const FILE_NAMES: &[&str] = &["path", "filePath", "filename", "file", "file_name"];

/// The most characters that are shown of the name of an unknown argument.
const MAX_NAME: usize = 60;

/// The arguments of one call, or of an object in it. Getters take the first name of an argument and
/// find it under its other names, too.
pub(super) struct ArgumentReader<'a> {
    shape: InputShape,
    fields: Cow<'a, Map<String, Value>>,
}

impl<'a> ArgumentReader<'a> {
    /// Takes the arguments of a call. A string that holds a JSON object counts as that object.
    ///
    /// # Errors
    ///
    /// When the arguments are no object, when one of them is not in the shape, and when one is sent
    /// under two names with two values; the error names them and shows an example.
    pub fn new(shape: InputShape, value: &'a Value) -> Result<Self, ToolError> {
        let fields = match value {
            Value::Object(fields) => Cow::Borrowed(fields),
            Value::Null
            | Value::String(_)
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_) => Cow::Owned(fields_of(value).ok_or_else(|| shape.no_object())?),
        };
        shape.check_names(&fields)?;
        Ok(Self { shape, fields })
    }

    /// The argument, unless it is absent or null.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let sent = || self.shape.names(name).filter_map(|name| self.fields.get(name));
        sent().find(|value| !is_empty(value)).or_else(|| sent().find(|value| !value.is_null()))
    }

    /// A string that must be present, but may be empty.
    ///
    /// # Errors
    ///
    /// When the argument is missing or is no string; the error shows an example.
    pub fn text(&self, name: &str) -> Result<String, ToolError> {
        self.optional_text(name)?.ok_or_else(|| self.missing(name))
    }

    /// A string that may be absent.
    ///
    /// # Errors
    ///
    /// When the argument is no string; the error shows an example.
    pub fn optional_text(&self, name: &str) -> Result<Option<String>, ToolError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(other @ (Value::Bool(_) | Value::Array(_) | Value::Object(_) | Value::Null)) => {
                Err(self.unfit(name, "a string", other))
            }
        }
    }

    /// A whole number that is not negative; `None` where it is absent.
    ///
    /// # Errors
    ///
    /// When the argument is anything else; the error shows an example.
    pub fn number(&self, name: &str) -> Result<Option<u64>, ToolError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let number = match value {
            Value::String(text) if text.trim().is_empty() => return Ok(None),
            Value::String(text) => text.trim().parse::<f64>().ok(),
            Value::Number(number) => number.as_f64(),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) | Value::Null => None,
        };
        match number {
            Some(number) if number >= 0.0 && number.fract() == 0.0 => Ok(Some(number as u64)),
            Some(_) | None => Err(self.unfit(name, "a whole number", value)),
        }
    }

    /// A flag; absent means false.
    ///
    /// # Errors
    ///
    /// When the argument is neither true nor false; the error shows an example.
    pub fn flag(&self, name: &str) -> Result<bool, ToolError> {
        self.flag_or(name, false)
    }

    /// A flag; absent or empty means `default`.
    ///
    /// # Errors
    ///
    /// When the argument is neither true nor false; the error shows an example.
    pub fn flag_or(&self, name: &str, default: bool) -> Result<bool, ToolError> {
        let Some(value) = self.value(name) else { return Ok(default) };
        let text = match value {
            Value::Bool(flag) => return Ok(*flag),
            Value::String(text) => text.trim().to_ascii_lowercase(),
            Value::Number(number) => number.to_string(),
            Value::Array(_) | Value::Object(_) | Value::Null => String::from("?"),
        };
        match text.as_str() {
            "true" | "1" | "yes" => Ok(true),
            "false" | "0" | "no" => Ok(false),
            "" => Ok(default),
            _ => Err(self.unfit(name, "true or false", value)),
        }
    }

    /// A path that must be present, made absolute.
    ///
    /// # Errors
    ///
    /// When the argument is missing, is no string, or is not usable as a path.
    pub fn path(&self, name: &str, place: &WorkingDirectory) -> Result<PathBuf, ToolError> {
        self.optional_path(name, place)?.ok_or_else(|| self.missing(name))
    }

    /// A path that may be absent or empty, made absolute.
    ///
    /// # Errors
    ///
    /// When the argument is no string or is not usable as a path.
    pub fn optional_path(
        &self,
        name: &str,
        place: &WorkingDirectory,
    ) -> Result<Option<PathBuf>, ToolError> {
        let Some(text) = self.optional_text(name)?.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        self.usable_path(&text)?;
        Ok(Some(place.resolve(&text)))
    }

    /// Refuses a text that a model may take for a path but that names no file.
    ///
    /// # Errors
    ///
    /// When the text holds a NUL character or is a `file:` URL.
    pub fn usable_path(&self, text: &str) -> Result<(), ToolError> {
        if text.contains('\0') {
            return Err(self.wrong("a path cannot hold a NUL character"));
        }
        if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
            return Err(self.wrong(format!("`{text}` is a URL; send a plain path")));
        }
        Ok(())
    }

    /// An error about these arguments, with an example of valid ones.
    pub fn wrong(&self, what: impl Display) -> ToolError {
        self.shape.wrong(what)
    }

    fn missing(&self, name: &str) -> ToolError {
        self.wrong(format!("`{}` is missing", name))
    }

    fn unfit(&self, name: &str, wanted: &str, value: &Value) -> ToolError {
        let value: String = value.to_string().chars().take(60).collect();
        self.wrong(format!("`{}` must be {wanted}, not {value}", name))
    }
}

/// The arguments of a call that did not send them as an object: none, or an object in a string.
fn fields_of(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Null => Some(Map::new()),
        Value::String(text) if matches!(text.trim(), "" | "null") => Some(Map::new()),
        Value::String(text) => read_counted(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether a value is what models put where they mean nothing. Some arguments may be an empty text.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(str::is_empty)
}

impl InputShape {
    /// The arguments under their own names. What has no certain meaning stays as it is, for
    /// [`ArgumentReader::new`] to refuse.
    pub fn canonical(self, input: Value) -> Value {
        let mut fields = match input {
            Value::Object(fields) => fields,
            other => match fields_of(&other) {
                Some(fields) => fields,
                None => return other,
            },
        };
        if self.check_names(&fields).is_err() {
            return Value::Object(fields);
        }
        for (own, others) in self.arguments {
            let sent: Vec<Value> = others.iter().filter_map(|name| fields.remove(*name)).collect();
            let own_value = fields.get(*own).filter(|value| !value.is_null());
            let better = sent.iter().find(|value| !is_empty(value));
            let value = better.filter(|_| own_value.is_none_or(is_empty));
            let any = sent.iter().find(|value| !value.is_null()).filter(|_| own_value.is_none());
            if let Some(value) = value.or(any).cloned() {
                fields.insert((*own).to_owned(), value);
            }
        }
        Value::Object(fields)
    }

    /// The names that the argument can have, its own first.
    fn names(self, name: &str) -> impl Iterator<Item = &str> {
        let row = self.arguments.iter().find(|(own, _)| *own == name);
        std::iter::once(name).chain(row.into_iter().flat_map(|(_, others)| others.iter().copied()))
    }

    fn check_names(self, fields: &Map<String, Value>) -> Result<(), ToolError> {
        let is_known = |name: &str| {
            self.arguments.iter().any(|(own, others)| *own == name || others.contains(&name))
        };
        let unknown: Vec<String> = fields
            .keys()
            .filter(|name| !is_known(name))
            .map(|name| format!("`{}`", name.chars().take(MAX_NAME).collect::<String>()))
            .collect();
        if !unknown.is_empty() {
            let (unknown, place) = (unknown.join(" or "), self.place);
            let known: Vec<&str> = self.arguments.iter().map(|(name, _)| *name).collect();
            if known.is_empty() {
                return Err(
                    self.wrong(format!("unknown argument {unknown}{place}: there are none"))
                );
            }
            return Err(self.wrong(format!(
                "unknown argument {unknown}{place}. Arguments: {}",
                known.join(", ")
            )));
        }
        for (own, _) in self.arguments {
            let mut sent = self.names(own).filter_map(|name| {
                fields.get_key_value(name).filter(|(_, value)| !is_empty(value))
            });
            let Some((first, value)) = sent.next() else { continue };
            if let Some((second, _)) = sent.find(|(_, other)| *other != value) {
                return Err(self.wrong(format!(
                    "`{first}` and `{second}` are the same argument with two values; send `{own}` alone"
                )));
            }
        }
        Ok(())
    }

    fn no_object(self) -> ToolError {
        match self.place {
            "" => self.wrong("the arguments must be a JSON object"),
            place => self.wrong(format!("what is{place} must be JSON objects")),
        }
    }

    /// An error about arguments of this shape, with an example of valid ones.
    pub fn wrong(self, what: impl Display) -> ToolError {
        ToolError(format!("{}: {what}. Send for example {}", self.tool, self.example))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SHAPE: InputShape = InputShape {
        tool: "Read",
        example: r#"{"file_path": "a"}"#,
        arguments: &[
            ("file_path", &["path", "filename"]),
            ("limit", &[]),
            ("offset", &[]),
            ("all", &[]),
            ("n", &[]),
            ("nothing", &[]),
            ("pattern", &[]),
            ("url", &[]),
        ],
        place: "",
    };

    fn place() -> WorkingDirectory {
        WorkingDirectory { cwd: "/w".into(), home: Some("/home/u".into()) }
    }

    #[test]
    fn certain_meanings_are_taken() {
        let value = json!({"path": "a", "limit": "12", "offset": 3.0, "all": "True", "n": 7,
            "nothing": null});
        let input = ArgumentReader::new(SHAPE, &value).unwrap();
        let path = input.path("file_path", &place()).unwrap();
        assert_eq!(path, PathBuf::from("/w/a"));
        assert_eq!(input.number("limit").unwrap(), Some(12));
        assert_eq!(input.number("offset").unwrap(), Some(3));
        assert_eq!(input.number("nothing").unwrap(), None);
        assert_eq!(input.text("n").unwrap(), "7");
        assert!(input.flag("all").unwrap());
        assert!(!input.flag("nothing").unwrap());

        let packed = json!("{\"file_path\": \"b\"}");
        let input = ArgumentReader::new(SHAPE, &packed).unwrap();
        assert_eq!(input.text("file_path").unwrap(), "b");
    }

    #[test]
    fn canonical_arguments_have_their_own_names() {
        for (sent, canonical) in [
            (json!({"path": "a", "limit": 3}), json!({"file_path": "a", "limit": 3})),
            (json!({"filename": "a", "path": null}), json!({"file_path": "a"})),
            (json!({"file_path": "a", "path": "a"}), json!({"file_path": "a"})),
            (json!({"file_path": null, "path": "a"}), json!({"file_path": "a"})),
            (json!("{\"path\": \"a\"}"), json!({"file_path": "a"})),
            (json!(null), json!({})),
            (json!(""), json!({})),
            (json!("null"), json!({})),
            (json!([1]), json!([1])),
            (json!({"path": "a", "lines": 3}), json!({"path": "a", "lines": 3})),
            (json!({"path": "a", "filename": "b"}), json!({"path": "a", "filename": "b"})),
        ] {
            assert_eq!(SHAPE.canonical(sent.clone()), canonical, "{sent}");
        }
    }

    #[test]
    fn other_input_gets_an_error_that_shows_the_shape() {
        let value = json!({"file_path": ["a"], "limit": "many", "offset": -1, "all": "maybe",
            "url": "file:///etc/passwd"});
        let input = ArgumentReader::new(SHAPE, &value).unwrap();
        let errors = [
            (input.text("pattern").err(), "`pattern` is missing"),
            (input.text("file_path").err(), r#"`file_path` must be a string, not ["a"]"#),
            (input.number("limit").err(), "`limit` must be a whole number, not \"many\""),
            (input.number("offset").err(), "`offset` must be a whole number, not -1"),
            (input.flag("all").err(), "`all` must be true or false, not \"maybe\""),
            (input.path("url", &place()).err(), "`file:///etc/passwd` is a URL; send a plain path"),
            (ArgumentReader::new(SHAPE, &json!([1])).err(), "the arguments must be a JSON object"),
            (ArgumentReader::new(SHAPE, &json!("hm")).err(), "the arguments must be a JSON object"),
        ];
        for (error, expected) in errors {
            let expected = format!("Read: {expected}. Send for example {{\"file_path\": \"a\"}}");
            assert_eq!(error.unwrap().0, expected);
        }
    }

    #[test]
    fn an_argument_that_the_tool_does_not_have_is_refused_by_name() {
        let known = "Arguments: file_path, limit, offset, all, n, nothing, pattern, url";
        for (value, expected) in [
            (json!({"file_path": "a", "lines": 3}), format!("unknown argument `lines`. {known}")),
            (json!({"file_path": "a", "lines": null}), format!("unknown argument `lines`. {known}")),
            (json!({"x": 1, "File_path": "a"}), format!("unknown argument `x` or `File_path`. {known}")),
            (json!("{\"why\": 1}"), format!("unknown argument `why`. {known}")),
            (
                json!({"path": "a", "filename": "b"}),
                "`path` and `filename` are the same argument with two values; send `file_path` alone"
                    .to_owned(),
            ),
        ] {
            let error = ArgumentReader::new(SHAPE, &value).err().unwrap().0;
            assert!(error.starts_with(&format!("Read: {expected}. Send for example ")), "{error}");
        }
        for value in [
            json!({"path": "a", "filename": null}),
            json!({"path": "a", "file_path": "a"}),
            json!({"file_path": null, "path": "a"}),
        ] {
            let input = ArgumentReader::new(SHAPE, &value).unwrap();
            assert_eq!(input.text("file_path").unwrap(), "a", "{value}");
        }
    }
}
