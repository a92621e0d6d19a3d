//! What of a server's log is shown and kept when it has ended.

/// The most lines that an error shows.
const SHOWN: usize = 6;

/// The most lines that go into slug's own log.
const KEPT: usize = 40;

/// Words in a log, and what to do then.
const REMEDIES: [(&[&str], &str); 4] = [
    (
        &["out of memory", "failed to allocate", "unable to allocate", "bad_alloc"],
        "The memory does not suffice: choose a smaller model, or a smaller window with \
         --local-context.",
    ),
    (
        &["invalid argument", "unknown argument", "error while handling argument"],
        "Check `local.args` in ~/.slug/config.toml.",
    ),
    (
        &["unknown model architecture", "unsupported model", "unknown pre-tokenizer"],
        "This llama-server is older than the model: update llama.cpp.",
    ),
    (
        &["failed to load model", "invalid magic", "corrupt", "tensor data"],
        "The file may be damaged or incomplete: fetch it again, or choose another model.",
    ),
];

/// The last lines of a log as the middle of an error, each on a line of its own; a space for an empty log.
pub(super) fn quoted(log: &str) -> String {
    let lines: Vec<&str> =
        log.lines().map(without_prefix).filter(|line| !line.is_empty()).collect();
    let Some(last) = lines.get(lines.len().saturating_sub(SHOWN)..).filter(|it| !it.is_empty())
    else {
        return " ".to_owned();
    };
    let lines: Vec<String> = last.iter().map(|line| format!("\n  {line}")).collect();
    format!(" Its last lines:{}\n", lines.concat())
}

/// What to do, by what a log says.
pub(super) fn remedy(log: &str) -> &'static str {
    let log = log.to_lowercase();
    let matching = REMEDIES.iter().find(|(words, _)| words.iter().any(|word| log.contains(word)));
    matching.map_or("Send /retry to start it again, or choose another model.", |(_, what)| what)
}

/// Writes the last lines into slug's own log.
pub(super) fn keep(log: &str) {
    let lines: Vec<&str> = log.lines().collect();
    let last = lines.get(lines.len().saturating_sub(KEPT)..).unwrap_or_default();
    tracing::warn!(log = last.join("\n"), "the model server has ended");
}

/// A line without its time and level: `0.00.012.154 I srv  init: …`.
fn without_prefix(line: &str) -> &str {
    let line = line.trim();
    let is_time =
        |word: &str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_level = |word: &str| matches!(word, "I" | "W" | "E" | "D");
    match line.split_once(' ') {
        Some((time, rest)) if is_time(time) => match rest.split_once(' ') {
            Some((level, rest)) if is_level(level) => rest.trim_start(),
            Some(_) | None => rest.trim_start(),
        },
        Some(_) | None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown_without_times() {
        let log: String =
            (0..20).map(|n| format!("0.00.012.154 E srv  init: line {n}\n")).collect();
        let shown = quoted(&format!("{log}\nplain words\n"));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), SHOWN + 1);
        assert_eq!(lines[1], "  srv  init: line 15");
        assert_eq!(lines[SHOWN], "  plain words");
        assert_eq!(quoted(" \n"), " ");
    }

    #[test]
    fn known_causes_have_a_remedy_of_their_own() {
        for (log, said) in [
            ("ggml: failed to allocate buffer of 9 GB", "smaller window"),
            ("error: invalid argument: --x", "local.args"),
            ("unknown model architecture: 'new'", "update llama.cpp"),
            ("E llama_model_load: failed to load model", "damaged"),
            ("", "/retry"),
        ] {
            assert!(remedy(log).contains(said), "{log}");
        }
    }
}
