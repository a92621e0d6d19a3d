//! `slug models local`: the model files on this machine, and which of them its memory is enough for.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::{Cli, CliExitStatus};
use crate::domain::format_bytes;
use crate::domain::sanitize::sanitize_line;
use crate::launch::local::{SERVER_PROGRAM, files};
use crate::launch::run_context::RunContext;
use crate::launch::{print, sandbox_setup};
use crate::local::{self, MemoryFit, ModelFile};
use crate::platform::memory::MachineMemory;
use crate::platform::which;
use crate::tui::app::conversation::title::home_path;

use super::report_config_errors;

pub(super) fn list(
    cli: &Cli,
    run_context: &RunContext,
    is_json: bool,
) -> anyhow::Result<CliExitStatus> {
    let config = match run_context.config(cli, run_context.project(cli)?) {
        Ok(config) => config,
        Err(errors) => return Ok(report_config_errors(&errors)),
    };
    let home = run_context.user_home.as_deref();
    let models = files(run_context, &config);
    let memory = MachineMemory::read();
    let mut out = print::out();
    if is_json {
        let rows: Vec<Value> = models.iter().map(|model| row(model, memory)).collect();
        writeln!(out, "{}", Value::from(rows))?;
        return Ok(CliExitStatus::Answered);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let changeable = sandbox_setup::changeable(run_context, &config);
    let server = match &config.local.server {
        Some(server) => Some(server.value.clone()),
        None => which::find(SERVER_PROGRAM, &path, &changeable)
            .map(|it| it.to_string_lossy().into_owned()),
    };
    out.write_all(text(&models, home, memory, server.as_deref()).as_bytes())?;
    Ok(CliExitStatus::Answered)
}

fn row(model: &ModelFile, memory: Option<MachineMemory>) -> Value {
    let fit = local::fit(&model.facts, model.size, memory);
    json!({
        "path": model.path,
        "name": model.name(),
        "bytes": model.size,
        "architecture": model.facts.architecture,
        "trained_window": model.facts.trained_window,
        "window": match fit {
            MemoryFit::Fits(window) => Some(window),
            MemoryFit::TooLargeNow | MemoryFit::TooLarge | MemoryFit::Unknown => None,
        },
        "fits": match fit {
            MemoryFit::Fits(_) => Some(true),
            MemoryFit::TooLargeNow | MemoryFit::TooLarge => Some(false),
            MemoryFit::Unknown => None,
        },
    })
}

fn text(
    models: &[ModelFile],
    home: Option<&Path>,
    memory: Option<MachineMemory>,
    server: Option<&str>,
) -> String {
    let mut text = String::new();
    let rows: Vec<[String; 3]> = models
        .iter()
        .map(|model| {
            let path = sanitize_line(&home_path(&model.path, home));
            let fit = local::fit(&model.facts, model.size, memory);
            [path, format_bytes(model.size), fit.words()]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let (paths, sizes) = (width(0).unwrap_or(0), width(1).unwrap_or(0));
    // Writing to a String cannot fail.
    for [path, size, fit] in &rows {
        let line = format!("{path:<paths$}  {size:>sizes$}  {fit}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if rows.is_empty() {
        text.push_str(
            "No model files (GGUF) in the usual folders. slug fetches none: get one yourself, put it \
             into ~/models, or name its folder with `local.folders` in ~/.slug/config.toml.\n",
        );
    }
    if let Some(memory) = memory {
        let _ = writeln!(text, "\n{}", local::memory_words(memory));
    }
    match (server, rows.first()) {
        (Some(server), Some([path, ..])) => {
            let _ = writeln!(text, "{} serves them: slug --local {path}", sanitize_line(server));
        }
        (Some(_), None) => {}
        (None, _) => {
            let _ = writeln!(
                text,
                "There is no {SERVER_PROGRAM} on the PATH. Install llama.cpp to serve models here."
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::GgufFacts;

    #[test]
    fn models_are_listed_with_what_fits_and_what_to_type() {
        let model = |path: &str, size| ModelFile {
            path: path.into(),
            size,
            facts: GgufFacts { trained_window: Some(32_768), ..GgufFacts::default() },
        };
        let models = [model("/home/me/models/small.gguf", 2 << 30), model("/m/large", 40 << 30)];
        let memory = MachineMemory { total: 16 << 30, available: 12 << 30 };
        let (home, server) = (Some(Path::new("/home/me")), Some("/usr/bin/llama-server"));
        assert_eq!(
            text(&models, home, Some(memory), server),
            "~/models/small.gguf   2.1 GB  fits, with a window of 32.8k\n\
             /m/large             42.9 GB  too large for the memory\n\n\
             This machine has 17.2 GB of memory, 12.9 GB of it free. That is enough for models up to \
             about 18B parameters at 4 bits.\n\
             /usr/bin/llama-server serves them: slug --local ~/models/small.gguf\n"
        );
        let nothing = text(&[], home, None, None);
        assert!(nothing.contains("slug fetches none"), "{nothing}");
        assert!(nothing.contains("Install llama.cpp"), "{nothing}");
    }
}
