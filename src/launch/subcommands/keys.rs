//! `slug keys`: every action that can be bound to keys, its keys, and where they were bound.

use std::io::Write;

use serde_json::{Value, json};

use crate::cli::{CliExitStatus, PrintFormat};
use crate::config::ResolvedConfig;
use crate::launch::print;
use crate::launch::run_context::RunContext;
use crate::tui::app::keymap::{KeyContext, KeyOrigin, Keymap, KeymapRow};

pub(super) fn run(
    run_context: &RunContext,
    config: &ResolvedConfig,
    format: PrintFormat,
) -> anyhow::Result<CliExitStatus> {
    let (map, warnings) = run_context.keys(config);
    let file = run_context.home.root().join("keys.toml").display().to_string();
    let mut out = print::out();
    if format.json {
        let keys: Vec<Value> = rows(&map).map(|row| as_json(row, &file)).collect();
        let preset = map.preset().name();
        writeln!(out, "{}", json!({"preset": preset, "keys": keys, "warnings": warnings}))?;
        return Ok(CliExitStatus::Answered);
    }
    let names = rows(&map).map(|row| row.full_name().len()).max().unwrap_or_default();
    let keys = rows(&map).map(|row| written(row).chars().count()).max().unwrap_or_default();
    for row in rows(&map) {
        let (name, written) = (row.full_name(), written(row));
        let origin = match row.origin {
            KeyOrigin::Default => String::new(),
            KeyOrigin::Preset => format!("  ({} preset)", map.preset()),
            KeyOrigin::File(line) => format!("  ({file}:{line})"),
        };
        writeln!(out, "{name:names$}  {written:keys$}  {}{origin}", row.help)?;
    }
    for warning in warnings {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(CliExitStatus::Answered)
}

fn rows(map: &Keymap) -> impl Iterator<Item = &KeymapRow> {
    KeyContext::ALL.into_iter().flat_map(|context| map.rows(context))
}

fn written(row: &KeymapRow) -> String {
    let keys: Vec<String> = row.keys.iter().map(ToString::to_string).collect();
    keys.join(", ")
}

fn as_json(row: &KeymapRow, file: &str) -> Value {
    let keys: Vec<String> = row.keys.iter().map(ToString::to_string).collect();
    let origin = match row.origin {
        KeyOrigin::Default => json!({"kind": "default"}),
        KeyOrigin::Preset => json!({"kind": "preset"}),
        KeyOrigin::File(line) => json!({"kind": "file", "file": file, "line": line}),
    };
    json!({
        "context": row.id.context.name(),
        "action": row.name,
        "keys": keys,
        "help": row.help,
        "origin": origin,
    })
}
