//! What a definition says of the login to its server: the `oauth` table.

use serde::Serialize;
use serde_json::Value;

/// How slug logs in to a server, where its definition says it; everything else is found out from the
/// server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct McpLoginSettings {
    /// A client that was registered with the server by hand; `None`: slug registers itself.
    pub client_id: Option<String>,
    /// As it is written, perhaps with `${NAME}`.
    pub client_secret: Option<String>,
    /// The port of this machine that the browser comes back to; `None`: a free one.
    pub callback_port: Option<u16>,
    /// What the login asks for; empty: what the server proposes.
    pub scopes: Vec<String>,
}

impl McpLoginSettings {
    /// Reads an `oauth` table, in the spelling of `.mcp.json` or of config.toml. Besides it, the names of
    /// keys that slug does not use.
    ///
    /// # Errors
    ///
    /// With what is wrong, as the end of a sentence about the server.
    pub(in crate::mcp) fn read(value: &Value) -> Result<(Self, Vec<String>), String> {
        let keys = match value {
            Value::Object(keys) => keys,
            // opencode's word for a server without a login.
            Value::Bool(_) => return Ok((Self::default(), Vec::new())),
            _ => return Err("needs a table as `oauth`".into()),
        };
        let mut settings = Self::default();
        let mut unused = Vec::new();
        for (key, value) in keys {
            let wrong = |what: &str| format!("needs {what} as `oauth.{key}`");
            let text = || value.as_str().map(str::to_owned).ok_or_else(|| wrong("a text"));
            match key.as_str() {
                "clientId" | "client_id" => settings.client_id = Some(text()?),
                "clientSecret" | "client_secret" => settings.client_secret = Some(text()?),
                "callbackPort" | "callback_port" => {
                    let port = value.as_u64().and_then(|port| u16::try_from(port).ok());
                    settings.callback_port =
                        Some(port.filter(|it| *it > 0).ok_or_else(|| wrong("a port"))?);
                }
                "scopes" | "scope" => {
                    settings.scopes = scopes(value).ok_or_else(|| wrong("a list of texts"))?;
                }
                other => unused.push(other.to_owned()),
            }
        }
        if settings.client_secret.is_some() && settings.client_id.is_none() {
            return Err("needs `oauth.client_id` beside `oauth.client_secret`".into());
        }
        Ok((settings, unused))
    }
}

/// Scopes as a list, or as one text with blanks between.
fn scopes(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
        Value::Array(items) => {
            items.iter().map(|it| it.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_spellings_are_read_and_mistakes_named() {
        let of_json =
            json!({"clientId": "a", "clientSecret": "${S}", "callbackPort": 8080, "scopes": "x y"});
        let of_toml = json!({"client_id": "a", "client_secret": "${S}", "callback_port": 8080, "scopes": ["x", "y"]});
        let (settings, unused) = McpLoginSettings::read(&of_json).unwrap();
        assert_eq!((settings.clone(), unused), McpLoginSettings::read(&of_toml).unwrap());
        assert_eq!(settings.scopes, ["x", "y"]);
        assert_eq!(settings.callback_port, Some(8080));
        let (_, unused) = McpLoginSettings::read(&json!({"authServerMetadataUrl": "u"})).unwrap();
        assert_eq!(unused, ["authServerMetadataUrl"]);
        for (wrong, what) in [
            (json!("x"), "a table"),
            (json!({"clientId": 1}), "a text"),
            (json!({"callbackPort": 70000}), "a port"),
            (json!({"callbackPort": 0}), "a port"),
            (json!({"scopes": [1]}), "a list"),
            (json!({"clientSecret": "x"}), "client_id"),
        ] {
            let error = McpLoginSettings::read(&wrong).unwrap_err();
            assert!(error.contains(what), "{wrong}: {error}");
        }
        assert_eq!(
            McpLoginSettings::read(&Value::Bool(false)).unwrap().0,
            McpLoginSettings::default()
        );
    }
}
