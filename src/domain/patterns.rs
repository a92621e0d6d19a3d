//! Compiles the regular expressions and the file name patterns that a user, a model or a file of others
//! writes, within bounds: without them a few characters like `(a{1000}){1000}` take a gigabyte and minutes.

use globset::{Glob, GlobBuilder};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// The most bytes of a pattern as it is written: each two may stand for a class of 700 ranges.
const LONGEST: usize = 16 << 10;
/// The most bytes of a compiled regular expression.
const LARGEST: usize = 4 << 20;
/// The smallest size that [`measured_regex`] tells apart, and the factor between two sizes.
const SMALLEST: usize = 4 << 10;
const SIZE_STEP: usize = 4;
/// The most bytes that a search remembers of the states it was in. Only its speed depends on it.
const STATES: usize = 16 << 20;

/// Why a text is not used as a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegexError {
    /// The parser's reason.
    #[error("{0}")]
    Invalid(String),
    #[error("it is too large; make it shorter or its repetitions smaller")]
    TooLarge,
}

/// Compiles a regular expression.
///
/// # Errors
///
/// When it is invalid or too large.
pub fn compile_regex(
    pattern: &str,
    options: impl Fn(&mut RegexMatcherBuilder),
) -> Result<RegexMatcher, RegexError> {
    compile(pattern, &options, LARGEST)
}

/// The same with a bound of the compiled size in bytes: the work for each byte that is searched is in
/// proportion to it at worst.
///
/// # Errors
///
/// When it is invalid or too large.
pub fn measured_regex(
    pattern: &str,
    options: impl Fn(&mut RegexMatcherBuilder),
) -> Result<(RegexMatcher, usize), RegexError> {
    let mut size = SMALLEST;
    loop {
        match compile(pattern, &options, size) {
            Err(RegexError::TooLarge) if size < LARGEST => size *= SIZE_STEP,
            compiled => return Ok((compiled?, size)),
        }
    }
}

fn compile(
    pattern: &str,
    options: &impl Fn(&mut RegexMatcherBuilder),
    size: usize,
) -> Result<RegexMatcher, RegexError> {
    if pattern.len() > LONGEST {
        return Err(RegexError::TooLarge);
    }
    let mut builder = RegexMatcherBuilder::new();
    options(&mut builder);
    builder.size_limit(size).dfa_size_limit(STATES).build(pattern).map_err(|error| {
        let told = error.to_string();
        // The error has no kind of its own for it.
        match told.contains("exceeds size limit") {
            true => RegexError::TooLarge,
            false => RegexError::Invalid(told),
        }
    })
}

/// Reads a pattern for paths, in which only `**` matches `/`.
///
/// # Errors
///
/// When the pattern is invalid or too long, with the reason.
pub fn parse_glob(glob: &str) -> Result<Glob, String> {
    /// A path has no more bytes on Linux.
    const MAX_GLOB: usize = 4096;
    const MAX_DEPTH: usize = 32;
    if glob.len() > MAX_GLOB {
        return Err(format!("the pattern is longer than {MAX_GLOB} bytes"));
    }
    // The library compiles one within the other, on the stack.
    let mut depth = 0_usize;
    for c in glob.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(format!("the pattern has more than {MAX_DEPTH} braces within each other"));
        }
    }
    let built = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
    built.map_err(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_bounded_in_what_it_says_and_in_what_it_is_compiled_to() {
        let many = "\\w".repeat(LONGEST);
        let nested = "(((a{100}){100}){100}){100}";
        for large in ["(a{1000}){1000}", nested, "\\w{1000}", &many] {
            assert_eq!(compile_regex(large, |_| {}).unwrap_err(), RegexError::TooLarge);
            assert_eq!(measured_regex(large, |_| {}).unwrap_err(), RegexError::TooLarge);
        }
        for invalid in ["a(", "(?=a)", "[z-a]"] {
            let error = compile_regex(invalid, |_| {}).unwrap_err();
            assert!(matches!(error, RegexError::Invalid(_)), "{error}");
        }
        assert!(parse_glob(&"{a,b}".repeat(1000)).is_err());
        assert!(parse_glob(&format!("{}a{}", "{".repeat(300), "}".repeat(300))).is_err());
        assert!(parse_glob("{a,{b,{c,d}}}").is_ok());
        assert!(parse_glob("src/**/*.{rs,toml}").is_ok());
    }

    #[test]
    fn usual_patterns_are_small() {
        let size = |pattern| measured_regex(pattern, |_| {}).unwrap().1;
        for (pattern, most) in [
            ("needle", SMALLEST),
            (r"fn\s+main|struct [A-Z]", SMALLEST),
            (r"\w+\s*\(", 64 << 10),
            (r"(\w+)\.(\w+)\((\w+)\)", 256 << 10),
            (r"\w{50}", LARGEST),
            ("(a{1000}){20}", LARGEST),
        ] {
            assert!(size(pattern) <= most, "{pattern} {}", size(pattern));
        }
    }
}
