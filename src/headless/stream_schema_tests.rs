//! `docs/stream-json.schema.json` is written from the types, and the examples of the page fit it.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::output_line::OutputLine;
use super::stream::input_line::InputLine;
use crate::agent::protocol_schema_tests::{assert_is_in_docs, fault};

fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let input = generator.subschema_for::<InputLine>();
    let output = generator.subschema_for::<OutputLine>();
    let definitions: std::collections::BTreeMap<_, _> =
        generator.take_definitions(true).into_iter().collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The lines of stream-json",
        "description": "What scripts write (InputLine) and read (OutputLine); docs/scripts.md explains it.",
        "anyOf": [input, output],
        "$defs": Map::from_iter(definitions),
    })
}

/// `SLUG_WRITE_DOCS=1 cargo test --lib stream_schema` writes the schema anew.
#[test]
fn the_schema_of_lines_is_that_of_the_types() {
    assert_is_in_docs("docs/stream-json.schema.json", &schema(), "stream_schema");
}

#[test]
fn the_examples_of_the_page_are_lines() {
    let page = include_str!("../../docs/scripts.md");
    let blocks: Vec<&str> = page.split("```jsonl\n").skip(1).collect();
    let schema = schema();
    let (mut inputs, mut outputs) = (0, 0);
    for example in blocks.iter().flat_map(|block| block.split("```").next().unwrap().lines()) {
        // The page marks who writes a line.
        let (mark, line) = example.split_at(2);
        let value: Value = serde_json::from_str(line).unwrap();
        let (of, count) = match mark {
            "> " => ("InputLine", &mut inputs),
            "< " => ("OutputLine", &mut outputs),
            other => panic!("{other:?} is no mark"),
        };
        assert_eq!(fault(&schema, of, &value), None, "{line}");
        *count += 1;
    }
    assert!(inputs >= 5 && outputs >= 5, "{inputs} and {outputs}");
    let wrong = json!({"type": "approval", "id": 1});
    assert!(fault(&schema, "InputLine", &wrong).is_some());
}
