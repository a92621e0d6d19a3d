//! Takes the secrets that slug knows out of what a server says, where it comes in.
//!
//! Instructions, definitions and results go on to models, the log and files, and are cut on the way: a
//! secret that a cut has divided would no longer be found there. What the server only wants to have
//! back, such as the cursor of a list, stays as it is.

use rmcp::model::ElicitRequestParams;
use serde_json::Value;

use crate::platform::redact::Redactor;

/// Where the next page of a list begins: sent back, and shown to nobody.
const CURSOR: &str = "nextCursor";

/// An answer without secrets.
pub(super) fn heard_answer(redactor: &Redactor, mut answer: Value) -> Value {
    if redactor.knows_nothing() {
        return answer;
    }
    let cursor = answer.as_object_mut().and_then(|fields| fields.remove(CURSOR));
    let mut clean = redactor.redact_own_json(answer);
    if let (Some(cursor), Some(fields)) = (cursor, clean.as_object_mut()) {
        fields.insert(CURSOR.to_owned(), cursor);
    }
    clean
}

/// What a server asks the user, without secrets.
pub(super) fn heard_question(
    redactor: &Redactor,
    asked: &ElicitRequestParams,
) -> ElicitRequestParams {
    let clean = serde_json::to_value(asked).map(|asked| redactor.redact_own_json(asked));
    clean.and_then(serde_json::from_value).unwrap_or_else(|_| asked.clone())
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_says_has_no_secret_at_any_depth() {
        let redactor = Redactor::default();
        let said = |secret: &str| {
            let schema = json!({"type": "object", "properties": {"a": {"enum": [secret],
                "default": secret, "description": format!("such as {secret}")}}});
            let tool = json!({"name": "echo", "description": secret, "inputSchema": schema});
            json!({"tools": [tool], "nextCursor": "s3cret-canary", "ttl": 5})
        };
        let hostile = said("s3cret-canary");
        assert_eq!(heard_answer(&redactor, hostile.clone()), hostile);
        redactor.learn_of_server("one", &SecretString::from("s3cret-canary"));
        let mark = "[redacted: a secret for the MCP server one]";
        assert_eq!(heard_answer(&redactor, hostile), said(mark));
        assert_eq!(heard_answer(&redactor, said("usual")), said("usual"));
        assert_eq!(heard_answer(&redactor, json!(["s3cret-canary"])), json!([mark]));
    }

    #[test]
    fn a_question_has_no_secret_and_stays_a_question() {
        let redactor = Redactor::default();
        redactor.learn_of_server("one", &SecretString::from("s3cret-canary"));
        let asked = |text: &str| -> ElicitRequestParams {
            let name = json!({"type": "string", "description": text, "title": "Name"});
            let schema = json!({"type": "object", "properties": {"name": name}});
            let asked = json!({"mode": "form", "message": text, "requestedSchema": schema});
            serde_json::from_value(asked).unwrap()
        };
        let mark = "say [redacted: a secret for the MCP server one]";
        assert_eq!(heard_question(&redactor, &asked("say s3cret-canary")), asked(mark));
        assert_eq!(heard_question(&redactor, &asked("say yes")), asked("say yes"));
    }
}
