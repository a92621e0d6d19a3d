//! The shapes of keys in wide use, for code that redacts them.

use std::ops::Range;

mod private_keys;

pub use private_keys::private_keys;

/// The prefix of a key, the least number of characters of its kind that follow, and the key's name.
pub const SHAPES: [(&str, usize, &str); 22] = [
    ("sk-", 16, "API key"),
    ("sk_live_", 16, "API key"),
    ("sk_test_", 16, "API key"),
    ("github_pat_", 20, "GitHub token"),
    ("ghp_", 20, "GitHub token"),
    ("gho_", 20, "GitHub token"),
    ("ghu_", 20, "GitHub token"),
    ("ghs_", 20, "GitHub token"),
    ("ghr_", 20, "GitHub token"),
    ("glpat-", 16, "GitLab token"),
    ("AKIA", 16, "AWS key"),
    ("ASIA", 16, "AWS key"),
    ("AIza", 30, "Google key"),
    ("xoxb-", 10, "Slack token"),
    ("xoxp-", 10, "Slack token"),
    ("xoxa-", 10, "Slack token"),
    ("xoxr-", 10, "Slack token"),
    ("xoxs-", 10, "Slack token"),
    ("xapp-", 10, "Slack token"),
    ("hf_", 20, "Hugging Face token"),
    ("npm_", 30, "npm token"),
    // Two parts of 22 and 43 characters with a dot between them.
    ("SG.", 50, "SendGrid key"),
];

/// Whether a variable's name suggests that its value is a secret.
pub fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 6] = ["KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE"];
    let name = name.to_ascii_uppercase();
    // `PWD` alone is the working folder.
    let last = name.rsplit_once('_').map_or("", |(_, last)| last);
    WORDS.iter().any(|word| name.contains(word))
        || ["PASS", "PWD", "PAT", "DSN", "AUTH"].contains(&last)
        || name == "PASS"
}

/// Whether a variable's value is a secret under any name: a key with a known shape, a token behind
/// `Bearer`, a private key, or an address with a password.
pub fn is_secret_value(value: &str) -> bool {
    let value = value.trim();
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(&byte);
    let is_shaped = SHAPES.iter().any(|(start, least, _)| {
        value.strip_prefix(start).is_some_and(|rest| rest.len() >= *least)
    });
    let lower = value.to_ascii_lowercase();
    let mut addresses = value.match_indices("://").map(|(at, sign)| &value[at + sign.len()..]);
    is_shaped && value.bytes().all(is_token)
        || lower.starts_with("bearer ")
        || lower.contains(" bearer ")
        || !private_keys(value).is_empty()
        || addresses.any(|rest| password_in_address(rest.as_bytes()).is_some())
}

/// The range of the password in `rest`, the part of an address behind `://`, as in
/// `user:password@host`.
pub fn password_in_address(rest: &[u8]) -> Option<Range<usize>> {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'<>`".contains(byte);
    let rest = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    let host = rest.iter().rposition(|byte| *byte == b'@')?;
    let password = rest[..host].iter().position(|byte| *byte == b':')? + 1..host;
    // `$NAME` is a reference to a variable, not a password.
    (!password.is_empty() && rest[password.start] != b'$').then_some(password)
}
