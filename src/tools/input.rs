//! Reads the arguments of a call, leniently where their meaning is certain.
//!
//! Numbers and flags may come as strings, optional arguments as null, and a few arguments under
//! the names that other agents give them. Unknown arguments are ignored. Everything else is an
//! error that shows the model what to send.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{ToolError, WorkingDirectory};

/// The shape of a tool's arguments, for error messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputShape {
    pub tool: &'static str,
    /// Valid arguments as JSON.
    pub example: &'static str,
}

/// The arguments of one call. Each getter takes the name of an argument, followed by other names
/// that are accepted for it.
pub(super) struct ArgumentReader<'a> {
    shape: InputShape,
    fields: Cow<'a, Map<String, Value>>,
}

impl<'a> ArgumentReader<'a> {
    /// Takes the arguments of a call. A string that holds a JSON object counts as that object.
    ///
    /// # Errors
    ///
    /// When the arguments are no object; the error shows an example.
    pub fn new(shape: InputShape, value: &'a Value) -> Result<Self, ToolError> {
        let fields = match value {
            Value::Object(fields) => Cow::Borrowed(fields),
            Value::Null => Cow::Owned(Map::new()),
            Value::String(text) => match serde_json::from_str(text) {
                Ok(fields) => Cow::Owned(fields),
                Err(_) => return Err(shape.wrong("the arguments must be a JSON object")),
            },
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                return Err(shape.wrong("the arguments must be a JSON object"));
            }
        };
        Ok(Self { shape, fields })
    }

    /// The argument, unless it is absent or null.
    pub fn value(&self, names: &[&str]) -> Option<&Value> {
        names.iter().find_map(|name| self.fields.get(*name)).filter(|value| !value.is_null())
    }

    /// A string that must be present, but may be empty.
    ///
    /// # Errors
    ///
    /// When the argument is missing or is no string; the error shows an example.
    pub fn text(&self, names: &[&str]) -> Result<String, ToolError> {
        self.optional_text(names)?.ok_or_else(|| self.missing(names))
    }

    /// A string that may be absent.
    ///
    /// # Errors
    ///
    /// When the argument is no string; the error shows an example.
    pub fn optional_text(&self, names: &[&str]) -> Result<Option<String>, ToolError> {
        match self.value(names) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(other @ (Value::Bool(_) | Value::Array(_) | Value::Object(_) | Value::Null)) => {
                Err(self.unfit(names, "a string", other))
            }
        }
    }

    /// A whole number that is not negative; `None` where it is absent.
    ///
    /// # Errors
    ///
    /// When the argument is anything else; the error shows an example.
    pub fn number(&self, names: &[&str]) -> Result<Option<u64>, ToolError> {
        let Some(value) = self.value(names) else { return Ok(None) };
        let number = match value {
            Value::String(text) if text.trim().is_empty() => return Ok(None),
            Value::String(text) => text.trim().parse::<f64>().ok(),
            Value::Number(number) => number.as_f64(),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) | Value::Null => None,
        };
        match number {
            Some(number) if number >= 0.0 && number.fract() == 0.0 => Ok(Some(number as u64)),
            Some(_) | None => Err(self.unfit(names, "a whole number", value)),
        }
    }

    /// A flag; absent means false.
    ///
    /// # Errors
    ///
    /// When the argument is neither true nor false; the error shows an example.
    pub fn flag(&self, names: &[&str]) -> Result<bool, ToolError> {
        let Some(value) = self.value(names) else { return Ok(false) };
        let text = match value {
            Value::Bool(flag) => return Ok(*flag),
            Value::String(text) => text.trim().to_ascii_lowercase(),
            Value::Number(number) => number.to_string(),
            Value::Array(_) | Value::Object(_) | Value::Null => String::from("?"),
        };
        match text.as_str() {
            "true" | "1" | "yes" => Ok(true),
            "false" | "0" | "no" | "" => Ok(false),
            _ => Err(self.unfit(names, "true or false", value)),
        }
    }

    /// A path that must be present, made absolute.
    ///
    /// # Errors
    ///
    /// When the argument is missing, is no string, or is not usable as a path.
    pub fn path(&self, names: &[&str], place: &WorkingDirectory) -> Result<PathBuf, ToolError> {
        self.optional_path(names, place)?.ok_or_else(|| self.missing(names))
    }

    /// A path that may be absent or empty, made absolute.
    ///
    /// # Errors
    ///
    /// When the argument is no string or is not usable as a path.
    pub fn optional_path(
        &self,
        names: &[&str],
        place: &WorkingDirectory,
    ) -> Result<Option<PathBuf>, ToolError> {
        let Some(text) = self.optional_text(names)?.filter(|text| !text.is_empty()) else {
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

    fn missing(&self, names: &[&str]) -> ToolError {
        self.wrong(format!("`{}` is missing", names.first().unwrap_or(&"")))
    }

    fn unfit(&self, names: &[&str], wanted: &str, value: &Value) -> ToolError {
        let value: String = value.to_string().chars().take(60).collect();
        self.wrong(format!("`{}` must be {wanted}, not {value}", names.first().unwrap_or(&"")))
    }
}

impl InputShape {
    fn wrong(self, what: impl Display) -> ToolError {
        ToolError(format!("{}: {what}. Send for example {}", self.tool, self.example))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SHAPE: InputShape = InputShape { tool: "Read", example: r#"{"file_path": "a"}"# };

    fn place() -> WorkingDirectory {
        WorkingDirectory { cwd: "/w".into(), home: Some("/home/u".into()) }
    }

    #[test]
    fn certain_meanings_are_taken() {
        let value = json!({"path": "a", "limit": "12", "offset": 3.0, "all": "True", "n": 7,
            "nothing": null, "never": 1});
        let input = ArgumentReader::new(SHAPE, &value).unwrap();
        let path = input.path(&["file_path", "path"], &place()).unwrap();
        assert_eq!(path, PathBuf::from("/w/a"));
        assert_eq!(input.number(&["limit"]).unwrap(), Some(12));
        assert_eq!(input.number(&["offset"]).unwrap(), Some(3));
        assert_eq!(input.number(&["nothing"]).unwrap(), None);
        assert_eq!(input.text(&["n"]).unwrap(), "7");
        assert!(input.flag(&["all"]).unwrap());
        assert!(!input.flag(&["nothing"]).unwrap());

        let packed = json!("{\"file_path\": \"b\"}");
        let input = ArgumentReader::new(SHAPE, &packed).unwrap();
        assert_eq!(input.text(&["file_path"]).unwrap(), "b");
    }

    #[test]
    fn other_input_gets_an_error_that_shows_the_shape() {
        let value = json!({"file_path": ["a"], "limit": "many", "offset": -1, "all": "maybe",
            "url": "file:///etc/passwd"});
        let input = ArgumentReader::new(SHAPE, &value).unwrap();
        let errors = [
            (input.text(&["pattern"]).err(), "`pattern` is missing"),
            (input.text(&["file_path"]).err(), r#"`file_path` must be a string, not ["a"]"#),
            (input.number(&["limit"]).err(), "`limit` must be a whole number, not \"many\""),
            (input.number(&["offset"]).err(), "`offset` must be a whole number, not -1"),
            (input.flag(&["all"]).err(), "`all` must be true or false, not \"maybe\""),
            (
                input.path(&["url"], &place()).err(),
                "`file:///etc/passwd` is a URL; send a plain path",
            ),
            (ArgumentReader::new(SHAPE, &json!([1])).err(), "the arguments must be a JSON object"),
            (ArgumentReader::new(SHAPE, &json!("hm")).err(), "the arguments must be a JSON object"),
        ];
        for (error, expected) in errors {
            let expected = format!("Read: {expected}. Send for example {{\"file_path\": \"a\"}}");
            assert_eq!(error.unwrap().0, expected);
        }
    }
}
