//! Has the redactor take tokens, and what else is sent to a server, out of what comes back from it.

use secrecy::SecretString;
use serde_json::Value;

use crate::domain::secrets::is_secret_name;
use crate::platform::redact::Redactor;

/// Shorter texts of nothing but letters are words, which other texts have, too; in bytes.
const LONGEST_WORD: usize = 12;

/// Has `redactor` take the tokens of a login to `server` out of texts; `login` is what is kept of it.
pub(super) fn learn_login(redactor: &Redactor, server: &str, login: &Value) {
    match login {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if is_secret_name(name) => {
                        learn_secrets(redactor, server, std::iter::once(text.as_str()));
                    }
                    value => learn_login(redactor, server, value),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| learn_login(redactor, server, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Has `redactor` take what `server` is sent out of texts, but for ordinary words.
pub(in crate::mcp) fn learn_secrets<'a>(
    redactor: &Redactor,
    server: &str,
    secrets: impl Iterator<Item = &'a str>,
) {
    for secret in secrets.filter(|it| !is_word(it)) {
        redactor.learn_of_server(server, &SecretString::from(secret));
    }
}

/// Whether a text is an ordinary word, which is no secret that could be told from other words.
pub(in crate::mcp) fn is_word(text: &str) -> bool {
    text.len() < LONGEST_WORD && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_of_a_login_are_taken_out_and_the_variable_stays_usable() {
        let redactor = Redactor::default();
        let login = json!({"client_id": "the-client-id", "token_response":
            {"access_token": "acce55-token", "refresh_token": "refre5h-token", "token_type": "bearer"}});
        learn_login(&redactor, "one", &login);
        let clean = redactor.redact_own("acce55-token refre5h-token the-client-id").into_owned();
        let mark = "[redacted: a secret for the MCP server one]";
        assert_eq!(clean, format!("{mark} {mark} the-client-id"));
        assert!(!redactor.holds_own_key("acce55-token"));
        redactor.learn(&SecretString::from("acce55-token"));
        assert!(redactor.holds_own_key("acce55-token"));
    }
}
