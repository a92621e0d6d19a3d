//! What of slug's environment the commands that it runs may see.
//!
//! Keys that slug itself uses are never passed on. Names that look like secrets are left out
//! unless the person lists them. What would change what an approved command means (`BASH_ENV`,
//! exported functions, `CDPATH`) is left out as well, and programs are told that nobody can
//! answer them.

use std::ffi::{OsStr, OsString};

use crate::domain::ContentHash;

/// slug's own keys, by name; `SLUG_*` comes on top.
const OWN_KEYS: [&str; 4] =
    ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "SERPER_API_KEY"];

/// A name that holds one of these is taken for a secret.
const SECRET_WORDS: [&str; 4] = ["KEY", "SECRET", "TOKEN", "PASSWORD"];

/// bash reads these before or while it runs a script, and ripgrep the last; each could make an
/// approved command do something else.
const MEANING_CHANGERS: [&str; 8] = [
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "GLOBIGNORE",
    "OLDPWD",
    "RIPGREP_CONFIG_PATH",
];

/// Nobody sees a pager or answers a question: no terminal is there.
const FIXED: [(&str, &str); 4] =
    [("GIT_TERMINAL_PROMPT", "0"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("TERM", "dumb")];

/// The names that decide beyond the built-in ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentRules {
    /// Variables that the configuration takes slug's keys from: never passed on.
    pub own_keys: Vec<String>,
    /// Variables that look like secrets and are passed on all the same.
    pub passed: Vec<String>,
}

/// The variables that children get.
#[derive(Clone, PartialEq, Eq)]
pub struct ChildEnvironment {
    variables: Vec<(OsString, OsString)>,
}

impl ChildEnvironment {
    /// Picks from slug's own variables (`std::env::vars_os()`).
    pub fn from_variables(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        rules: &EnvironmentRules,
    ) -> Self {
        let fixed = FIXED.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let variables = variables
            .into_iter()
            .filter(|(name, _)| is_passed(name, rules))
            .filter(|(name, _)| FIXED.iter().all(|(fixed, _)| name != fixed))
            .chain(fixed)
            .collect();
        Self { variables }
    }

    /// Stands for all of them.
    pub fn hash(&self) -> ContentHash {
        let mut bytes = Vec::new();
        for (name, value) in &self.variables {
            for part in [name, value] {
                bytes.extend_from_slice(part.as_encoded_bytes());
                bytes.push(0);
            }
        }
        ContentHash::of(&bytes)
    }

    /// The variables, each name once.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Of `names`, the variables that hold slug's own keys, and those that the configuration takes some
/// from: what the person's own commands do not get. All else they do.
pub fn keys_among(
    names: impl IntoIterator<Item = OsString>,
    configured: &[String],
) -> impl Iterator<Item = OsString> {
    names.into_iter().filter(|name| {
        let name = name.to_string_lossy();
        name == "SLUG_API_KEY"
            || OWN_KEYS.contains(&name.as_ref())
            || configured.iter().any(|own| *own == name)
    })
}

/// Values may be private even where the names are harmless.
impl std::fmt::Debug for ChildEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.variables.iter().map(|(name, _)| name)).finish()
    }
}

fn is_passed(name: &OsStr, rules: &EnvironmentRules) -> bool {
    let name = name.to_string_lossy();
    let is_own = name.starts_with("SLUG_")
        || OWN_KEYS.contains(&name.as_ref())
        || rules.own_keys.iter().any(|own| *own == name);
    let changes_meaning =
        MEANING_CHANGERS.contains(&name.as_ref()) || name.starts_with("BASH_FUNC_");
    if is_own || changes_meaning {
        return false;
    }
    rules.passed.iter().any(|passed| *passed == name) || !looks_secret(&name)
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(given: &[&str], rules: &EnvironmentRules) -> Vec<String> {
        let given = given.iter().map(|name| (OsString::from(name), OsString::from("value")));
        ChildEnvironment::from_variables(given, rules)
            .variables()
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .filter(|name| FIXED.iter().all(|(fixed, _)| name != fixed))
            .collect()
    }

    #[test]
    fn ordinary_variables_pass() {
        let given = ["PATH", "HOME", "LANG", "AWS_PROFILE", "SSH_AUTH_SOCK", "CARGO_HOME"];
        assert_eq!(names(&given, &EnvironmentRules::default()), given);
    }

    #[test]
    fn s100_secrets_and_meaning_changers_stay_out() {
        let given = [
            "ANTHROPIC_API_KEY",
            "SLUG_ENDPOINT",
            "GITHUB_TOKEN",
            "npm_config_token",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "PGPASSWORD",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "SHELLOPTS",
            "RIPGREP_CONFIG_PATH",
        ];
        assert_eq!(names(&given, &EnvironmentRules::default()), Vec::<String>::new());
    }

    #[test]
    fn s100_a_listed_name_passes_unless_it_is_a_key_of_slugs() {
        let rules = EnvironmentRules {
            own_keys: vec!["MY_LLM".to_owned()],
            passed: ["GITHUB_TOKEN", "OPENAI_API_KEY", "MY_LLM", "SLUG_API_KEY"]
                .map(str::to_owned)
                .to_vec(),
        };
        let given = ["GITHUB_TOKEN", "OPENAI_API_KEY", "MY_LLM", "SLUG_API_KEY", "NPM_TOKEN"];
        assert_eq!(names(&given, &rules), ["GITHUB_TOKEN"]);
    }

    #[test]
    fn the_persons_own_commands_get_all_but_slugs_keys() {
        let given = ["PATH", "VAULT_TOKEN", "SLUG_HOME", "SLUG_API_KEY", "OPENAI_API_KEY", "MINE"];
        let own = ["MINE".to_owned()];
        let kept = keys_among(given.map(OsString::from), &own);
        assert_eq!(kept.collect::<Vec<_>>(), ["SLUG_API_KEY", "OPENAI_API_KEY", "MINE"]);
    }

    #[test]
    fn fixed_values_replace_inherited_ones() {
        let given = [("TERM", "xterm"), ("PAGER", "less")]
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let environment = ChildEnvironment::from_variables(given, &EnvironmentRules::default());
        let found: Vec<_> = environment.variables().collect();
        assert_eq!(found.len(), FIXED.len());
        assert!(found.contains(&(OsStr::new("TERM"), OsStr::new("dumb"))));
        assert!(found.contains(&(OsStr::new("PAGER"), OsStr::new("cat"))));
    }

    #[test]
    fn debug_shows_no_value() {
        let given = [(OsString::from("HOME"), OsString::from("CANARY"))];
        let environment = ChildEnvironment::from_variables(given, &EnvironmentRules::default());
        assert!(!format!("{environment:?}").contains("CANARY"));
    }
}
