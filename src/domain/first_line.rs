//! Long texts in one line.

/// The line of a shell script that says what it does, with ` …` if there are more: the first that does
/// more than set the shell up (`set`, `cd`, `export`), else the first.
pub fn first_step(script: &str) -> String {
    let script = script.trim();
    let is_step = |line: &&str| {
        let first = line.split_whitespace().next().unwrap_or("#");
        !first.starts_with('#') && !matches!(first, "set" | "cd" | "export")
    };
    match script.lines().find(is_step) {
        Some(step) if script.contains('\n') => format!("{} …", step.trim()),
        Some(_) | None => first_line(script),
    }
}

/// The first line of a text, with ` …` if there are more.
pub fn first_line(text: &str) -> String {
    let text = text.trim();
    match text.split_once('\n') {
        Some((first, _)) => format!("{} …", first.trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_named_by_what_it_does() {
        for (script, named) in [
            ("make", "make"),
            ("cd src", "cd src"),
            ("make\nls", "make …"),
            ("set -euo pipefail\n\n# build\ncd /srv\nexport A=1\n  make all\nls", "make all …"),
            ("set -e\ncd /srv", "set -e …"),
        ] {
            assert_eq!(first_step(script), named);
        }
    }
}
