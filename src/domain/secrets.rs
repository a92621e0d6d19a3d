//! How the keys that are in wide use look, for whoever takes them out of a text.

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

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// Longer labels are none.
const LABEL: usize = 64;

/// The length of the private key at the start of `text`: `-----BEGIN … PRIVATE KEY-----` and on, to
/// the end of the text where its end was cut off. Public keys and certificates are none.
pub fn private_key(text: &str) -> Option<usize> {
    let label = text.strip_prefix(BEGIN)?;
    let close = label.as_bytes().windows(DASHES.len()).take(LABEL);
    let close = close.into_iter().position(|it| it == DASHES.as_bytes())?;
    if !label[..close].contains("PRIVATE KEY") {
        return None;
    }
    let Some(end) = text.find(END) else { return Some(text.len()) };
    let closing = end + END.len();
    let dashes = text[closing..].find(DASHES);
    Some(dashes.map_or(text.len(), |dashes| closing + dashes + DASHES.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_ends_with_its_last_dashes_or_with_the_text() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
        assert_eq!(private_key(&format!("{key}\nmore")), Some(key.len()));
        assert_eq!(private_key(&key[..40]), Some(40));
        for other in ["-----BEGIN CERTIFICATE-----\nMIIE", "BEGIN PRIVATE KEY", "-----BEGIN ééé"]
        {
            assert_eq!(private_key(other), None, "{other}");
        }
        assert_eq!(private_key(&format!("-----BEGIN {} PRIVATE KEY-----", "X".repeat(99))), None);
    }
}
