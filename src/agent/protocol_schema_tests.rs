//! `docs/protocol.schema.json` is written from the types, and every example fits it.

use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::protocol_tests::{commands, events};
use super::{AddressedCommand, AddressedEvent};
use crate::domain::AgentId;

const PATH: &str = "docs/protocol.schema.json";

/// The schema of both directions. A command or an event stands under its name in `$defs`.
fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let command = generator.subschema_for::<AddressedCommand>();
    let event = generator.subschema_for::<AddressedEvent>();
    let mut definitions: Vec<_> = generator.take_definitions(true).into_iter().collect();
    definitions.sort_by(|(one, _), (other, _)| one.cmp(other));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Commands to slug's agents, and their events",
        "description": "What travels between agents and front ends; docs/protocol.md explains it.",
        "anyOf": [command, event],
        "$defs": Map::from_iter(definitions),
    })
}

/// `SLUG_WRITE_DOCS=1 cargo test --lib protocol_schema` writes the schema anew.
#[test]
fn the_schema_in_the_docs_is_that_of_the_types() {
    assert_is_in_docs(PATH, &schema(), "protocol_schema");
}

/// Fails unless the file has this schema, or writes it there if that is asked for.
pub(crate) fn assert_is_in_docs(name: &str, schema: &Value, test: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let wanted = format!("{schema:#}\n");
    if std::env::var_os("SLUG_WRITE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let advice = format!("{name} is not up to date: SLUG_WRITE_DOCS=1 cargo test --lib {test}");
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == wanted, "{advice}");
}

#[test]
fn every_example_fits_the_schema() {
    let schema = schema();
    let agent = AgentId(1);
    for command in commands() {
        let value = serde_json::to_value(command.to(agent)).unwrap();
        assert_eq!(fault(&schema, "AddressedCommand", &value), None, "{value:#}");
    }
    for event in events() {
        let value = serde_json::to_value(AddressedEvent { agent, event }).unwrap();
        assert_eq!(fault(&schema, "AddressedEvent", &value), None, "{value:#}");
    }
}

#[test]
fn the_examples_of_the_page_are_messages() {
    let page = include_str!("../../docs/protocol.md");
    let examples = page.split("```jsonl\n").nth(1).and_then(|rest| rest.split("```").next());
    let schema = schema();
    for example in examples.unwrap().lines() {
        let value: Value = serde_json::from_str(example).unwrap();
        if value.get("command").is_some() {
            assert_eq!(fault(&schema, "AddressedCommand", &value), None);
            serde_json::from_value::<AddressedCommand>(value).unwrap();
        } else {
            assert_eq!(fault(&schema, "AddressedEvent", &value), None);
            serde_json::from_value::<AddressedEvent>(value).unwrap();
        }
    }
}

#[test]
fn what_is_no_message_does_not_fit_the_schema() {
    let schema = schema();
    let retry = json!({"agent": 1, "command": {"type": "retry"}});
    assert_eq!(fault(&schema, "AddressedCommand", &retry), None);
    for wrong in [
        json!({"command": {"type": "retry"}}),
        json!({"agent": "1", "command": {"type": "retry"}}),
        json!({"agent": 1, "command": {"type": "dance"}}),
        json!({"agent": 1, "command": {"type": "send"}}),
        json!({"agent": 1, "command": {"type": "set_mode", "data": "loose"}}),
    ] {
        assert!(fault(&schema, "AddressedCommand", &wrong).is_some(), "{wrong}");
    }
}

/// What is wrong with a value, by a definition of the schema.
pub(crate) fn fault(root: &Value, definition: &str, value: &Value) -> Option<String> {
    check(root, &root["$defs"][definition], value).err()
}

/// Checks a value by the keywords of JSON Schema that occur in the schema.
fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let schema = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(schema) => schema,
        other => panic!("{other} is no schema"),
    };
    let fails = |what: &str| Err(format!("{what} at {value}"));
    let matching = |all: &Value| {
        all.as_array().unwrap().iter().filter(|one| check(root, one, value).is_ok()).count()
    };
    for (keyword, rule) in schema {
        match keyword.as_str() {
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                check(root, &root["$defs"][name], value)?;
            }
            "type" => {
                let fits = |name: &Value| match name.as_str().unwrap() {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "string" => value.is_string(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("{other} is no type"),
                };
                let fits = match rule {
                    Value::Array(types) => types.iter().any(fits),
                    one => fits(one),
                };
                if !fits {
                    return fails(&format!("no {rule}"));
                }
            }
            "const" if rule != value => return fails(&format!("not {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => {
                return fails(&format!("none of {rule}"));
            }
            "minimum" if value.is_number() && value.as_f64() < rule.as_f64() => {
                return fails("too small");
            }
            "maximum" if value.as_f64() > rule.as_f64() => return fails("too large"),
            "minItems" if value.is_array() && value.as_array().map(Vec::len) < length(rule) => {
                return fails("too few");
            }
            "maxItems" if value.as_array().map(Vec::len) > length(rule) => {
                return fails("too many");
            }
            "uniqueItems" if *rule == Value::Bool(true) => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                if (1..items.len()).any(|at| items[..at].contains(&items[at])) {
                    return fails("an item twice");
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    if value.get(name.as_str().unwrap()).is_none() {
                        return fails(&format!("no {name}"));
                    }
                }
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    value.get(name).map_or(Ok(()), |part| check(root, rule, part))?;
                }
            }
            "additionalProperties" => {
                let known = schema.get("properties");
                let others = value.as_object().into_iter().flatten();
                for (_, part) in
                    others.filter(|(name, _)| known.is_none_or(|known| known.get(name).is_none()))
                {
                    check(root, rule, part)?;
                }
            }
            "items" => {
                for part in value.as_array().into_iter().flatten() {
                    check(root, rule, part)?;
                }
            }
            "prefixItems" => {
                for (part, rule) in value.as_array().unwrap().iter().zip(rule.as_array().unwrap()) {
                    check(root, rule, part)?;
                }
            }
            "anyOf" if matching(rule) == 0 => return fails("nothing fits"),
            "oneOf" if matching(rule) != 1 => return fails("not exactly one fits"),
            "allOf" if matching(rule) != rule.as_array().unwrap().len() => {
                return fails("not all fit");
            }
            "const" | "enum" | "minimum" | "maximum" | "minItems" | "maxItems" | "uniqueItems"
            | "anyOf" | "oneOf" | "allOf" | "description" | "title" | "format" | "default" => {}
            other => panic!("the check does not know {other}"),
        }
    }
    Ok(())
}

fn length(rule: &Value) -> Option<usize> {
    rule.as_u64().and_then(|length| usize::try_from(length).ok())
}
