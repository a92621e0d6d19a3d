//! How the keys that are in wide use look, for whoever takes them out of a text.

mod private_keys;

pub use private_keys::private_keys;

/// How a key begins, how many characters of its kind follow at least, and what it is.
pub const SHAPES: [(&str, usize, &str); 21] = [
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
];
