//! Which variables of slug's environment the commands that it runs may see.
//!
//! The table ([`TABLE`]) says which variables commands do not get, which are set for them, and why.
//! The value of a variable counts as well: a token, or an address with a password, is a secret
//! under any name. The user can list names that are passed on all the same, except slug's own
//! variables and those that change how bash reads a command. A variable that holds one of slug's
//! keys is never passed on, whatever its name is, even when slug learns the key after its start.

use std::ffi::{OsStr, OsString};

use crate::domain::ContentHash;
use crate::domain::secrets::{is_secret_name, is_secret_value};

use super::redact::Redactor;

/// The variables from which slug takes keys without any configuration.
pub const KEY_VARIABLES: [&str; 6] = [
    "SLUG_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "SERPER_API_KEY",
    "BRAVE_API_KEY",
];

/// How a variable is treated when a command is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableTreatment {
    Never,
    /// Passed on only where the user has listed its name.
    IfListed,
    /// Replaced by this value, whatever it was.
    Set(&'static str),
}

/// A row of [`TABLE`].
#[derive(Debug)]
pub struct EnvironmentRow {
    /// Names; `*` at an end stands for anything.
    pub names: &'static [&'static str],
    /// Names that fit `names` but are passed on all the same.
    pub except: &'static [&'static str],
    pub treatment: VariableTreatment,
    /// The reason, as the documentation shows it.
    pub reason: &'static str,
}

const fn row(
    names: &'static [&'static str],
    treatment: VariableTreatment,
    reason: &'static str,
) -> EnvironmentRow {
    EnvironmentRow { names, except: &[], treatment, reason }
}

/// The variables that are withheld from commands or set for them. The first row that fits a name
/// decides.
pub const TABLE: [EnvironmentRow; 16] = [
    row(&["GIT_TERMINAL_PROMPT"], VariableTreatment::Set("0"), "nobody is there to answer git"),
    row(&["GCM_INTERACTIVE"], VariableTreatment::Set("never"), "nor its credential manager"),
    row(&["GH_PROMPT_DISABLED"], VariableTreatment::Set("1"), "nor GitHub's program"),
    row(&["PAGER", "GIT_PAGER"], VariableTreatment::Set("cat"), "nobody turns pages"),
    row(&["TERM"], VariableTreatment::Set("dumb"), "no terminal is there"),
    row(&["GIT_OPTIONAL_LOCKS"], VariableTreatment::Set("0"), "git that only looks writes nothing"),
    row(&["GIT_CONFIG_*"], VariableTreatment::Never, "slug tells git its own settings by these"),
    row(&["SLUG_*"], VariableTreatment::Never, "slug's own settings and key"),
    row(&KEY_VARIABLES, VariableTreatment::Never, "the keys that slug itself uses"),
    row(
        &[
            "BASH_ENV",
            "ENV",
            "SHELLOPTS",
            "BASHOPTS",
            "BASH_COMPAT",
            "BASH_LOADABLES_PATH",
            "BASH_FUNC_*",
            "CDPATH",
            "GLOBIGNORE",
            "EXECIGNORE",
            "OLDPWD",
            "POSIXLY_CORRECT",
            "PS4",
        ],
        VariableTreatment::Never,
        "bash would run a command in another way than the rules have read it",
    ),
    EnvironmentRow {
        names: &["GIT_*"],
        except: &["GIT_AUTHOR_*", "GIT_COMMITTER_*"],
        treatment: VariableTreatment::IfListed,
        reason: "git would run other programs, or work on another repository",
    },
    row(
        &[
            "EDITOR",
            "*_EDITOR",
            "VISUAL",
            "*PAGER",
            "LESSOPEN",
            "LESSCLOSE",
            "BROWSER",
            "*ASKPASS",
            "SSH_ASKPASS_*",
        ],
        VariableTreatment::IfListed,
        "they name programs that others start",
    ),
    row(
        &[
            "NODE_OPTIONS",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "PERL5DB",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "_JAVA_OPTIONS",
        ],
        VariableTreatment::IfListed,
        "code that an interpreter runs before its program",
    ),
    row(
        &["RIPGREP_CONFIG_PATH", "TAR_OPTIONS"],
        VariableTreatment::IfListed,
        "options that a command does not show",
    ),
    row(
        &["DATABASE_URL", "*_DATABASE_URL", "REDIS_URL", "MONGO_URL", "MONGODB_URI", "AMQP_URL"],
        VariableTreatment::IfListed,
        "addresses of databases, which hold the password",
    ),
    row(
        &["*_CONNECTION_STRING", "*_WEBHOOK", "*_WEBHOOK_URL", "OP_SESSION_*"],
        VariableTreatment::IfListed,
        "secrets whose name does not say so",
    ),
];

/// Git settings that `GIT_CONFIG_COUNT` and the like put above every configuration file: with them
/// git starts no program that a repository could name, when it only looks at the repository.
pub const GIT_SETTINGS: [(&str, &str); 7] = [
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    ("log.showSignature", "false"),
    // Else git writes the index, and then runs a hook.
    ("diff.autoRefreshIndex", "false"),
    ("diff.ignoreSubmodules", "dirty"),
    ("status.submoduleSummary", "false"),
    // Else the index tells each thread where it begins to read.
    ("index.threads", "1"),
];

/// The names that the user's configuration adds to the built-in ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentRules {
    /// Variables from which the configuration takes slug's keys: never passed on.
    pub own_keys: Vec<String>,
    /// Variables that are passed on although the table or their value says otherwise.
    pub passed: Vec<String>,
}

/// Variables without which nothing runs. They are passed on even where they hold a key's value: the
/// key for a server that takes any key may be an everyday word.
const NEEDED: [&str; 10] = [
    "PATH",
    "HOME",
    "PWD",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TERM",
    "LANG",
    "LD_LIBRARY_PATH",
];

/// The variables that commands get.
#[derive(Clone)]
pub struct ChildEnvironment {
    variables: Vec<(OsString, OsString)>,
    /// Knows slug's keys, including those that are fetched later.
    redactor: Redactor,
}

impl ChildEnvironment {
    /// Picks from slug's own variables (`std::env::vars_os()`) and adds those that are set.
    pub fn from_variables(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        rules: &EnvironmentRules,
    ) -> Self {
        let variables = variables
            .into_iter()
            .filter(|(name, value)| is_passed(name, value, rules))
            .chain(fixed())
            .collect();
        Self { variables, redactor: Redactor::default() }
    }

    /// The same without the variables that hold a secret which `redactor` knows at the time of use.
    pub fn without_secrets_of(self, redactor: &Redactor) -> Self {
        Self { redactor: redactor.clone(), ..self }
    }

    /// A hash over all names and values, to notice a change.
    pub fn hash(&self) -> ContentHash {
        let mut bytes = Vec::new();
        for (name, value) in self.variables() {
            for part in [name, value] {
                bytes.extend_from_slice(part.as_encoded_bytes());
                bytes.push(0);
            }
        }
        ContentHash::of(&bytes)
    }

    /// The variables that a command gets now, each name once.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let pairs = self.variables.iter();
        let pairs = pairs.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        pairs.filter(|(name, value)| !self.holds_a_secret(name, value))
    }

    fn holds_a_secret(&self, name: &OsStr, value: &OsStr) -> bool {
        let is_needed = NEEDED.iter().any(|needed| name == *needed);
        !is_needed && self.redactor.holds_own_key(&value.to_string_lossy())
    }
}

/// Compares what commands get now.
impl PartialEq for ChildEnvironment {
    fn eq(&self, other: &Self) -> bool {
        self.variables().eq(other.variables())
    }
}

impl Eq for ChildEnvironment {}

/// Those of `names` that hold slug's own keys, or keys that the configuration names. The user's own
/// commands get every variable except these.
pub fn keys_among(
    names: impl IntoIterator<Item = OsString>,
    configured: &[String],
) -> impl Iterator<Item = OsString> {
    names.into_iter().filter(|name| {
        let name = name.to_string_lossy();
        KEY_VARIABLES.contains(&name.as_ref()) || configured.iter().any(|own| *own == name)
    })
}

/// Shows the names only: values may be private even where the names are harmless.
impl std::fmt::Debug for ChildEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.variables.iter().map(|(name, _)| name)).finish()
    }
}

impl EnvironmentRow {
    fn is_of(&self, name: &str) -> bool {
        let fits = |pattern: &&str| fits(pattern, name);
        self.names.iter().any(fits) && !self.except.iter().any(fits)
    }
}

/// The variables that the table sets, and git's settings.
fn fixed() -> impl Iterator<Item = (OsString, OsString)> {
    let set = TABLE.iter().flat_map(|row| {
        let VariableTreatment::Set(value) = row.treatment else { return Vec::new() };
        row.names.iter().map(|name| (name.into(), value.into())).collect::<Vec<_>>()
    });
    let count = ("GIT_CONFIG_COUNT".into(), GIT_SETTINGS.len().to_string().into());
    let settings = GIT_SETTINGS.iter().enumerate().flat_map(|(at, (key, value))| {
        [
            (format!("GIT_CONFIG_KEY_{at}").into(), key.into()),
            (format!("GIT_CONFIG_VALUE_{at}").into(), value.into()),
        ]
    });
    set.chain(std::iter::once(count)).chain(settings)
}

fn is_passed(name: &OsStr, value: &OsStr, rules: &EnvironmentRules) -> bool {
    let name = name.to_string_lossy();
    let row = TABLE.iter().find(|row| row.is_of(&name));
    let is_listed = rules.passed.iter().any(|passed| *passed == name);
    if rules.own_keys.iter().any(|own| *own == name) {
        return false;
    }
    if is_open_search(&name, &value.to_string_lossy()) {
        return false;
    }
    match row.map(|row| row.treatment) {
        Some(VariableTreatment::Never | VariableTreatment::Set(_)) => false,
        Some(VariableTreatment::IfListed) => is_listed,
        None => is_listed || !is_secret_name(&name) && !is_secret_value(&value.to_string_lossy()),
    }
}

/// Whether the variable makes programs load libraries from their current folder: `LD_LIBRARY_PATH`
/// or a similar variable with an empty or relative part.
fn is_open_search(name: &str, value: &str) -> bool {
    let is_for_loader = name.starts_with("LD_") || name.starts_with("DYLD_");
    let is_open = |part: &str| !part.starts_with('/');
    is_for_loader && name.ends_with("_PATH") && value.split(':').any(is_open)
}

/// Whether `name` fits `pattern`, which may have a `*` at its beginning or at its end.
fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(given: &[(&str, &str)], rules: &EnvironmentRules) -> Vec<(String, String)> {
        let given = given.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = ChildEnvironment::from_variables(given, rules);
        let text = |it: &OsStr| it.to_string_lossy().into_owned();
        environment.variables().map(|(name, value)| (text(name), text(value))).collect()
    }

    /// The names in `given` that are passed on with their value unchanged.
    fn passed<'a>(given: &[(&'a str, &str)], rules: &EnvironmentRules) -> Vec<&'a str> {
        let environment = environment(given, rules);
        let is_same = |(name, value): &&(&str, &str)| {
            environment.iter().any(|it| (it.0.as_str(), it.1.as_str()) == (*name, *value))
        };
        given.iter().filter(is_same).map(|(name, _)| *name).collect()
    }

    fn listing(names: &[&str]) -> EnvironmentRules {
        let passed = names.iter().map(|name| (*name).to_owned()).collect();
        EnvironmentRules { own_keys: Vec::new(), passed }
    }

    /// One name for each pattern of the row.
    fn examples(row: &EnvironmentRow) -> impl Iterator<Item = String> {
        row.names.iter().map(|pattern| pattern.replace('*', "MY"))
    }

    #[test]
    fn ordinary_variables_pass() {
        let given = [
            ("PATH", "/usr/bin:/opt/sk-tools-and-many-more/bin"),
            ("HOME", "/home/u"),
            ("PWD", "/home/u/app"),
            ("LANG", "en_US.UTF-8"),
            ("AWS_PROFILE", "work"),
            ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
            ("XDG_SESSION_ID", "3"),
            ("CARGO_HOME", "/home/u/.cargo"),
            ("MAKEFLAGS", "-j8"),
            ("COMPASS", "north"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@example.org"),
            ("HTTPS_PROXY", "http://proxy.example:3128"),
            ("HOMEPAGE", "https://example.org/@me"),
        ];
        let names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
        assert_eq!(passed(&given, &EnvironmentRules::default()), names);
    }

    #[test]
    fn s100_each_row_of_the_table_holds_and_says_why() {
        for row in &TABLE {
            assert!(!row.reason.is_empty(), "{row:?}");
            for name in examples(row) {
                let given = [(name.as_str(), "value")];
                assert!(passed(&given, &EnvironmentRules::default()).is_empty(), "{name}");
                let is_listed = passed(&given, &listing(&[&name])) == [name.as_str()];
                assert_eq!(is_listed, row.treatment == VariableTreatment::IfListed, "{name}");
                if let VariableTreatment::Set(value) = row.treatment {
                    let wanted = (name.clone(), value.to_owned());
                    assert!(environment(&given, &EnvironmentRules::default()).contains(&wanted));
                }
            }
        }
    }

    #[test]
    fn s100_the_documentation_has_the_table() {
        let page = include_str!("../../docs/configuration.md");
        for row in &TABLE {
            for name in row.names {
                assert!(page.contains(&format!("`{name}`")), "{name} is not in configuration.md");
            }
        }
        for (key, value) in GIT_SETTINGS {
            assert!(page.contains(&format!("`{key}={value}`")), "{key} is not in configuration.md");
        }
    }

    #[test]
    fn libraries_are_loaded_from_named_folders_alone() {
        let rules = EnvironmentRules::default();
        let given = |value| [("LD_LIBRARY_PATH", value)];
        assert_eq!(passed(&given("/opt/a:/opt/b"), &rules), ["LD_LIBRARY_PATH"]);
        for value in ["", ".", "/opt/a:", ":/opt/a", "/a::/b", "lib", "/a:../b"] {
            assert!(passed(&given(value), &rules).is_empty(), "{value}");
        }
    }

    #[test]
    fn s100_secrets_are_recognised_by_name() {
        for name in [
            "GITHUB_TOKEN",
            "npm_config_token",
            "npm_config__auth",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "PGPASSWORD",
            "DB_PASS",
            "MYSQL_PWD",
            "GH_PAT",
            "SENTRY_DSN",
            "VAULT_PASSPHRASE",
        ] {
            let given = [(name, "value")];
            assert!(passed(&given, &EnvironmentRules::default()).is_empty(), "{name}");
            assert_eq!(passed(&given, &listing(&[name])), [name]);
        }
    }

    #[test]
    fn s100_secrets_are_recognised_by_value() {
        let github = format!("ghp_{}", "a1".repeat(18));
        let sendgrid = format!("SG.{}.{}", "a1".repeat(11), "b2".repeat(21));
        for value in [
            github.as_str(),
            &sendgrid,
            "AKIAIOSFODNN7EXAMPLE",
            "postgres://me:hunter2@db.example/shop",
            "http://me:hunter2@proxy.example:3128",
            "Authorization: Bearer abc.def-ghi",
            "-----BEGIN PRIVATE KEY-----\nMIIE4Z9\n-----END PRIVATE KEY-----",
        ] {
            let given = [("HARMLESS", value)];
            assert!(passed(&given, &EnvironmentRules::default()).is_empty(), "{value}");
            assert_eq!(passed(&given, &listing(&["HARMLESS"])), ["HARMLESS"]);
        }
    }

    #[test]
    fn s100_a_listed_name_passes_unless_it_is_a_key_of_slugs() {
        let own_keys = vec!["MY_LLM".to_owned()];
        let given =
            ["GITHUB_TOKEN", "OPENAI_API_KEY", "MY_LLM", "SLUG_API_KEY", "NPM_TOKEN", "BASH_ENV"];
        let rules = EnvironmentRules { own_keys, ..listing(&given[..4]) };
        assert_eq!(passed(&given.map(|name| (name, "value")), &rules), ["GITHUB_TOKEN"]);
    }

    #[test]
    fn s100_a_variable_that_holds_a_key_of_slugs_is_not_passed_on() {
        const KEY: &str = "made-up words of mine";
        let json = format!("{{\"k\":\"{KEY}\"}}");
        let backwards: String = KEY.chars().rev().collect();
        let path = format!("/usr/bin:/opt/{KEY}/bin");
        let given =
            [("MYLLM", KEY), ("CONF", json.as_str()), ("KCAB", &backwards), ("PATH", &path)];
        let given = given.into_iter().chain([("SHORT", "made-up")]);
        let given: Vec<(&str, &str)> = given.collect();
        let redactor = Redactor::default();
        let variables = given.iter().map(|(name, value)| (name.into(), value.into()));
        let rules = listing(&["MYLLM"]);
        let environment = ChildEnvironment::from_variables(variables, &rules);
        let environment = environment.without_secrets_of(&redactor);
        let names = || -> Vec<&str> {
            let names = environment.variables().filter_map(|(name, _)| name.to_str());
            names.filter(|name| given.iter().any(|it| it.0 == *name)).collect()
        };
        assert_eq!(names(), ["MYLLM", "CONF", "KCAB", "PATH", "SHORT"]);
        let before = environment.hash();
        // Like a key that a program gives at the first request.
        redactor.learn_key("work", &KEY.into());
        assert_eq!(names(), ["PATH", "SHORT"]);
        assert_ne!(environment.hash(), before);
    }

    #[test]
    fn the_users_own_commands_get_all_but_slugs_keys() {
        let given = ["PATH", "VAULT_TOKEN", "SLUG_HOME", "SLUG_API_KEY", "OPENAI_API_KEY", "MINE"];
        let own = ["MINE".to_owned()];
        let kept = keys_among(given.map(OsString::from), &own);
        assert_eq!(kept.collect::<Vec<_>>(), ["SLUG_API_KEY", "OPENAI_API_KEY", "MINE"]);
    }

    #[test]
    fn a_variable_that_is_set_appears_once() {
        let found = environment(&[("TERM", "xterm"), ("PAGER", "less")], &listing(&["PAGER"]));
        assert_eq!(found.len(), fixed().count());
        assert!(found.contains(&("TERM".into(), "dumb".into())));
        assert!(found.contains(&("PAGER".into(), "cat".into())));
    }

    #[test]
    fn debug_shows_no_value() {
        let given = [(OsString::from("HOME"), OsString::from("CANARY"))];
        let environment = ChildEnvironment::from_variables(given, &EnvironmentRules::default());
        assert!(!format!("{environment:?}").contains("CANARY"));
    }
}
