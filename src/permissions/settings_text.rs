//! Changes the rules in the text of a settings file. Comments, other keys and the order of
//! everything stay.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::json;

use crate::domain::jsonc;

use super::store::{RuleEdit, RuleEntry};

/// Why a text cannot be changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RuleEditError {
    /// The text is not that of a settings file; the phrase says why.
    NotSettings(String),
    /// The rule is not in the file.
    Gone(String),
}

/// The text with its rules changed. Without a text, that of a new file.
pub(super) fn apply_edit(text: Option<&str>, edit: &RuleEdit) -> Result<String, RuleEditError> {
    let Some(text) = text else {
        return match edit {
            RuleEdit::Add((kind, rule)) => {
                let rules = json!({ "permissions": { kind.word(): [rule.trim()] } });
                Ok(format!("{rules:#}\n"))
            }
            RuleEdit::Remove((_, rule)) | RuleEdit::Replace { from: (_, rule), .. } => {
                Err(RuleEditError::Gone(rule.clone()))
            }
        };
    };
    let not_settings = |why: &str| RuleEditError::NotSettings(why.to_owned());
    // A text that slug would refuse to read is not changed, either.
    jsonc::parse(text).map_err(|mistake| not_settings(&mistake.to_string()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = CstRootNode::parse(text, &jsonc::OPTIONS)
        .map_err(|error| not_settings(&error.to_string()))?;
    let settings = root.object_value().ok_or_else(|| not_settings("it is not an object"))?;
    let permissions = settings
        .object_value_or_create("permissions")
        .ok_or_else(|| not_settings("`permissions` is not an object"))?;
    match edit {
        RuleEdit::Add(rule) => add(&permissions, rule)?,
        RuleEdit::Remove(rule) => find(&permissions, rule)?.remove(),
        RuleEdit::Replace { from, to } => {
            let found = find(&permissions, from)?;
            match found.as_string_lit() {
                Some(text) if from.0 == to.0 => {
                    text.replace_with(CstInputValue::String(to.1.trim().to_owned()));
                }
                Some(_) | None => {
                    found.remove();
                    add(&permissions, to)?;
                }
            }
        }
    }
    Ok(root.to_string())
}

fn add(permissions: &CstObject, (kind, rule): &RuleEntry) -> Result<(), RuleEditError> {
    let rule = rule.trim();
    let list = permissions.array_value_or_create(kind.word());
    let list = list.ok_or_else(|| RuleEditError::NotSettings(no_list(kind.word())))?;
    if !list.elements().iter().any(|element| text_of(element).as_deref() == Some(rule)) {
        list.append(CstInputValue::String(rule.to_owned()));
    }
    Ok(())
}

fn find(permissions: &CstObject, (kind, rule): &RuleEntry) -> Result<CstNode, RuleEditError> {
    let missing = || RuleEditError::Gone(rule.clone());
    let list: CstArray = match permissions.get(kind.word()) {
        Some(list) => {
            list.array_value().ok_or_else(|| RuleEditError::NotSettings(no_list(kind.word())))?
        }
        None => return Err(missing()),
    };
    let is_it = |element: &CstNode| text_of(element).is_some_and(|text| text.trim() == rule.trim());
    list.elements().into_iter().find(is_it).ok_or_else(missing)
}

fn no_list(name: &str) -> String {
    format!("`permissions.{name}` is not a list")
}

fn text_of(element: &CstNode) -> Option<String> {
    element.as_string_lit()?.decoded_value().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::domain::RuleKind;

    fn allow(rule: &str) -> RuleEntry {
        (RuleKind::Allow, rule.to_owned())
    }

    #[test]
    fn comments_and_order_stay() {
        let before = "\
{
  // mine
  \"permissions\": {
    \"allow\": [
      \"Bash(a)\", // the first
      /* the second */ \"Bash(b)\",
    ],
    \"deny\": [\"Read(.env)\"] // never
  },
  \"hooks\": {} /* none */
}
";
        let added = apply_edit(Some(before), &RuleEdit::Add(allow("Bash(c)"))).unwrap();
        for comment in ["// mine", "// the first", "/* the second */", "// never", "/* none */"] {
            assert!(added.contains(comment), "{added}");
        }
        let rules = |text: &str| jsonc::parse(text).unwrap().value["permissions"].clone();
        assert_eq!(
            rules(&added),
            json!({"allow": ["Bash(a)", "Bash(b)", "Bash(c)"], "deny": ["Read(.env)"]})
        );
        let to = (RuleKind::Deny, "Bash(b)".to_owned());
        let moved =
            apply_edit(Some(&added), &RuleEdit::Replace { from: allow("Bash(b)"), to }).unwrap();
        assert_eq!(
            rules(&moved),
            json!({"allow": ["Bash(a)", "Bash(c)"], "deny": ["Read(.env)", "Bash(b)"]})
        );
        assert!(moved.contains("// never") && moved.contains("// mine"), "{moved}");
    }

    #[test]
    fn unreadable_settings_are_not_changed() {
        for text in ["", "{", "[]", "{\"permissions\": 1}", "{\"a\": 1, \"a\": 2}"] {
            let error = apply_edit(Some(text), &RuleEdit::Add(allow("Bash(c)"))).unwrap_err();
            assert!(matches!(error, RuleEditError::NotSettings(_)), "{text}: {error:?}");
        }
        let error = apply_edit(None, &RuleEdit::Remove(allow("Bash(c)"))).unwrap_err();
        assert_eq!(error, RuleEditError::Gone("Bash(c)".to_owned()));
    }

    fn spaced(value: &Value, space: &str) -> String {
        let space = match space {
            "line" => " // c\n",
            "block" => " /* c */ ",
            other => other,
        };
        match value {
            Value::Object(fields) => {
                let fields = fields.iter();
                let fields =
                    fields.map(|(key, it)| format!("{space}{key:?}:{}", spaced(it, space)));
                format!("{{{}{space}}}", fields.collect::<Vec<_>>().join(","))
            }
            Value::Array(items) => {
                let items = items.iter().map(|it| format!("{space}{}", spaced(it, space)));
                format!("[{}{space}]", items.collect::<Vec<_>>().join(","))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        }
    }

    proptest! {
        /// However a file is written, a change does what it says and nothing else.
        #[test]
        fn a_change_changes_one_rule(
            rules in prop::collection::btree_set("[a-d]{1,2}", 0..4),
            rule in "[a-d]{1,2}",
            space in prop::sample::select(vec!["", " ", "\n  ", "line", "block"]),
            is_removed in any::<bool>(),
        ) {
            let before = json!({"z": [1], "permissions": {"deny": ["x"], "allow": rules}, "y": {}});
            let text = spaced(&before, space);
            prop_assert_eq!(&jsonc::parse(&text).unwrap().value, &before);
            let mut expected = before;
            let list = expected["permissions"]["allow"].as_array_mut().unwrap();
            let at = list.iter().position(|it| *it == rule.as_str());
            let edit = match is_removed {
                true => RuleEdit::Remove(allow(&rule)),
                false => RuleEdit::Add(allow(&rule)),
            };
            match (is_removed, at) {
                (true, Some(at)) => drop(list.remove(at)),
                (false, None) => list.push(json!(rule)),
                (true, None) | (false, Some(_)) => {}
            }
            match apply_edit(Some(&text), &edit) {
                Ok(after) => prop_assert_eq!(jsonc::parse(&after).unwrap().value, expected, "{}", after),
                Err(error) => prop_assert_eq!((error, is_removed, at), (RuleEditError::Gone(rule), true, None)),
            }
        }
    }
}
