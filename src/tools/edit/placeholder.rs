//! Finds "// ... rest of the code" in what a model wants to write. Pure.

/// The first line of `new` that stands for text the model left out, unless `old` has that line,
/// too.
pub(in crate::tools) fn find<'a>(new: &'a str, old: &str) -> Option<&'a str> {
    let is_old = |line: &str| old.lines().any(|known| known.trim() == line);
    new.lines().map(str::trim).find(|line| is_placeholder(line) && !is_old(line))
}

/// Whether the line is nothing but such a phrase, apart from comment signs and dots.
fn is_placeholder(line: &str) -> bool {
    // Longer lines are prose.
    if line.len() > 80 {
        return false;
    }
    let core = line.trim_matches(|c: char| "/#*<>!-;%{}()[] .…".contains(c));
    let start = line.find(core).unwrap_or(0);
    let around = [&line[..start], &line[start + core.len()..]];
    let has_dots = around.iter().any(|part| part.contains("...") || part.contains('…'));
    let is_comment = around[0].contains(|c: char| "/#*<-;%".contains(c));
    let core = core.to_lowercase();
    let words: Vec<&str> = core.split_whitespace().collect();
    let says_rest = matches!(
        words.as_slice(),
        ["rest" | "remainder", "of", ..] | ["the", "rest" | "remainder", "of", ..]
    );
    let says_same = ["existing code", "remaining code", "previous code", "other code", "same code"]
        .iter()
        .any(|phrase| core.starts_with(phrase))
        || ["unchanged", "same as before", "omitted for brevity", "remains the same"]
            .iter()
            .any(|phrase| core.ends_with(phrase));
    (has_dots && (says_rest || says_same))
        || (is_comment && words.len() <= 6 && says_rest && names_code(&words))
        || (is_comment && words.len() <= 3 && says_same)
        || matches!(core.as_str(), "rest of code" | "rest of the code" | "rest of file")
}

fn names_code(words: &[&str]) -> bool {
    let code = ["code", "file", "function", "method", "class", "implementation"];
    words.iter().any(|word| code.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_out_text_is_found() {
        let lines = [
            "// ... rest of code",
            "// ... rest of the function ...",
            "# … existing code …",
            "/* rest of the file unchanged */",
            "<!-- ... remaining code ... -->",
            "{/* ... existing code ... */}",
            "... rest of file ...",
            "rest of code",
            "// rest of the implementation",
            "-- existing code here",
            "    # ... (rest of the class stays the same)",
        ];
        for line in lines {
            assert_eq!(find(&format!("a\n{line}\nb"), ""), Some(line.trim()), "{line}");
        }
    }

    #[test]
    fn ordinary_lines_are_not() {
        let lines = [
            "// The rest of the arguments is passed on to the child as it came.",
            "let rest = of_code();",
            "    ...",
            "print(\"...\")",
            "fn existing_code() {}",
            "# Rest of the world",
            "The file is unchanged",
            "f(a, ...rest)",
        ];
        for line in lines {
            assert_eq!(find(line, ""), None, "{line}");
        }
    }

    #[test]
    fn a_line_that_was_there_may_stay() {
        assert_eq!(find("// ... rest of code\nb", "a\n  // ... rest of code\n"), None);
    }
}
