//! How a server is reached and with which key, and that what belongs to one server is not sent to
//! another.

use super::*;
use crate::domain::ChatDialect;

#[test]
fn a_key_goes_to_the_server_it_was_configured_for_alone() {
    let local = "http://localhost:8000";
    let mine = "endpoint = \"https://mine.example/v1\"\n";
    let with_key = "endpoint = \"https://mine.example/v1\"\napi_key = \"file\"\n";
    let elsewhere = "https://evil.example/v1";
    for (user, environment, endpoint_flag, key_flag, sent, withheld) in [
        ("api_key = \"file\"", vec![], "", "", Some("file"), None),
        (with_key, vec![], "", "", Some("file"), None),
        (with_key, vec![], elsewhere, "", None, Some("https://mine.example")),
        (with_key, vec![], "https://mine.example/v2", "", Some("file"), None),
        (with_key, vec![], elsewhere, "flag", Some("flag"), None),
        (with_key, vec![("SLUG_ENDPOINT", elsewhere)], "", "", None, Some("https://mine.example")),
        (with_key, vec![("SLUG_API_KEY", "env")], "", "", Some("env"), None),
        (mine, vec![("SLUG_API_KEY", "env")], "", "", Some("env"), None),
        (mine, vec![("SLUG_API_KEY", "env")], elsewhere, "", None, Some("https://mine.example")),
        ("", vec![("SLUG_API_KEY", "env")], elsewhere, "", None, Some(local)),
        (
            "",
            vec![("SLUG_API_KEY", "env"), ("SLUG_ENDPOINT", elsewhere)],
            "",
            "",
            Some("env"),
            None,
        ),
        ("", vec![("OPENAI_API_KEY", "oa")], "", "", None, None),
        ("", vec![("OPENAI_API_KEY", "oa")], elsewhere, "", None, None),
        ("", vec![("OPENAI_API_KEY", "oa")], "https://api.openai.com/v1", "", Some("oa"), None),
        ("", vec![("OPENAI_API_KEY", "oa")], "http://api.openai.com/v1", "", None, None),
        (
            "",
            vec![("OPENAI_API_KEY", "oa")],
            "https://api.openai.com.evil.example/v1",
            "",
            None,
            None,
        ),
        (
            "endpoint = \"https://api.openai.com/v1\"",
            vec![("OPENAI_API_KEY", "oa"), ("SLUG_API_KEY", "env")],
            "",
            "",
            Some("env"),
            None,
        ),
    ] {
        let case = format!("{user} {environment:?} {endpoint_flag} {key_flag}");
        let found = config(&TestConfigLayers {
            user,
            project: "",
            environment: &environment,
            flags: flags(|it| {
                it.endpoint = (!endpoint_flag.is_empty()).then(|| endpoint_flag.to_owned());
                it.api_key = (!key_flag.is_empty()).then(|| key_flag.into());
            }),
            ..TestConfigLayers::default()
        });
        assert_eq!(key(&found), sent, "{case}");
        let belongs = found.server.withheld_key.as_ref().map(|key| key.belongs_to.as_str());
        assert_eq!(belongs, withheld, "{case}");
        assert_eq!(found.warnings.len(), usize::from(withheld.is_some()), "{case}");
    }
}

#[test]
fn a_key_is_where_the_file_says() {
    for (written, shown) in [
        ("api_key = \"CANARY\"", "set"),
        ("api_key = { env = \"MY_KEY\" }", "in $MY_KEY"),
        ("api_key = { keyring = \"work\" }", "in the keyring as `work`"),
        ("api_key_command = [\"op\", \"read\"]", "printed by `op`"),
        ("api_key_command = \"cat CANARY\"", "printed by a command"),
    ] {
        let named = format!("[providers.p]\nendpoint = \"https://p.example/v1\"\n{written}");
        for (user, provider) in [(written, None), (named.as_str(), Some("p".to_owned()))] {
            let flags = flags(|it| it.provider = provider);
            let found = config(&TestConfigLayers { user, flags, ..TestConfigLayers::default() });
            assert_eq!(found.server.api_key.unwrap().value.to_string(), shown, "{user}");
        }
        // The key is sent only to its own server.
        let elsewhere = flags(|it| it.endpoint = Some("https://evil.example/v1".to_owned()));
        let found = config(&TestConfigLayers {
            user: written,
            flags: elsewhere,
            ..TestConfigLayers::default()
        });
        assert!(found.server.api_key.is_none(), "{written}");
        assert!(found.server.withheld_key.is_some(), "{written}");
    }
}

#[test]
fn s102_a_panic_with_the_configuration_in_scope_shows_no_key() {
    let named = "[providers.p]\nendpoint = \"https://p.example/v1\"\napi_key = \"CANARY-two\"\n";
    let user = format!("api_key = \"CANARY-one\"\nheaders = {{ X-Team = \"t\" }}\n{named}");
    let flags = flags(|it| it.api_key = Some("CANARY-three".into()));
    let found = config(&TestConfigLayers { user: &user, flags, ..TestConfigLayers::default() });
    let whole = || panic!("{found:?} {found:#?}");
    let message = std::panic::catch_unwind(std::panic::AssertUnwindSafe(whole)).unwrap_err();
    let message = message.downcast_ref::<String>().unwrap();
    assert!(message.contains("p.example") && !message.contains("CANARY"), "{message}");
}

#[test]
fn headers_of_one_server_are_sent_to_no_other() {
    let own = "headers = { X-Team = \"t\" }\nquery = { v = \"1\" }\nkey_header = \"api-key\"\n\
               client_certificate = \"me.pem\"\nmodels = [\"m\"]\ndialect = \"mistral\"\n";
    let user = format!(
        "{own}endpoint = \"https://mine.example/v1\"\nca_file = \"ca.pem\"\nproxy = \"none\"\n\
         [providers.work]\nendpoint = \"https://work.example/v1\"\nmodels = []"
    );
    let mine = config(&TestConfigLayers { user: &user, ..TestConfigLayers::default() });
    let ModelServerConfig { connection, models, dialect, .. } = &mine.server;
    assert_eq!(connection.origin_bound.headers.len() + connection.origin_bound.query.len(), 2);
    assert_eq!(models.as_ref().unwrap().value, ["m"]);
    assert_eq!(dialect.as_ref().unwrap().value, ChatDialect::Mistral);
    let file = connection.origin_bound.client_certificate.as_ref().unwrap();
    assert_eq!(file.value, PathBuf::from("me.pem"));

    // Certificates and the proxy are those of the user's whole network.
    let elsewhere = flags(|it| it.endpoint = Some("https://evil.example/v1".to_owned()));
    let found =
        config(&TestConfigLayers { user: &user, flags: elsewhere, ..TestConfigLayers::default() });
    for server in [&found.server, &mine.others[0]] {
        assert!(
            server.connection.origin_bound.is_empty() && server.dialect.is_none(),
            "{server:?}"
        );
        assert!(server.connection.ca_file.is_some() && server.connection.proxy.is_some());
    }
    assert!(found.warnings[0].starts_with("user.toml:1: headers"), "{:?}", found.warnings);
}

#[test]
fn a_project_does_not_say_how_a_server_is_reached() {
    let project = "api_key_command = \"evil\"\nkey_header = \"x\"\nheaders = { a = \"b\" }\n\
                   query = { a = \"b\" }\nca_file = \"evil.pem\"\nclient_certificate = \"e\"\n\
                   client_key = \"e\"\nproxy = \"http://evil.example\"";
    let found = config(&TestConfigLayers { project, ..TestConfigLayers::default() });
    assert_eq!(found.warnings.len(), 8, "{:?}", found.warnings);
    let ModelServerConfig { api_key, connection, .. } = &found.server;
    assert!(api_key.is_none() && connection.origin_bound.is_empty());
    assert!(connection.ca_file.is_none() && connection.proxy.is_none());
}

#[test]
fn an_impossible_connection_is_reported() {
    for (user, words) in [
        ("api_key = \"k\"\napi_key_command = \"c\"", "user.toml:2: `api_key` and"),
        ("api_key_command = []", "is empty"),
        ("api_key = { keyring = \"--all\" }", "a name in the keyring"),
        ("api_key = { env = \"A=B\" }", "not a valid name of an environment variable"),
        ("headers = { Host = \"x\" }", "slug sets the header"),
        ("headers = { \"a b\" = \"x\" }", "is not a valid header name"),
        ("headers = { a = \"x\\ny\" }", "one line of ASCII"),
        ("headers = { a = { keyring = \"x\" } }", "the keyring is only for keys"),
        ("headers = { Authorization = \"Basic x\" }", "slug sends the key in the header `auth"),
        ("proxy = \"ftp://p\"", "starts with http://, https://"),
        ("client_key = \"k\"", "without `client_certificate`: set both"),
        ("dialect = \"french\"", "\"common\", \"openai\""),
        (
            "[providers.p]\nendpoint = \"https://p/v1\"\nheaders = { api-key = \"x\" }\nkey_header = \"Api-Key\"",
            "header `api-key`",
        ),
    ] {
        let problem = problem(&TestConfigLayers { user, ..TestConfigLayers::default() });
        assert!(problem.contains(words), "{user}: {problem}");
    }
    let user = "key_header = \"api-key\"\nheaders = { Authorization = \"Basic x\" }";
    assert!(resolved(&TestConfigLayers { user, ..TestConfigLayers::default() }).is_ok());
}

#[test]
fn a_proxys_password_is_not_shown() {
    let found = config(&TestConfigLayers {
        user: "proxy = \"socks5h://me:CANARY@p:1\"",
        ..TestConfigLayers::default()
    });
    let proxy = found.server.connection.proxy.as_ref().unwrap();
    assert_eq!(proxy.value.to_string(), "socks5h://p:1");
    assert!(!format!("{found:?}").contains("CANARY"));
}

#[test]
fn secrets_are_not_in_debug_output() {
    let environment = [
        ("SLUG_API_KEY", "CANARY-1"),
        ("OPENAI_API_KEY", "CANARY-2"),
        ("SLUG_ENDPOINT", "http://h/v1"),
    ];
    let given = TestConfigLayers {
        user: "api_key = \"CANARY-3\"\n[providers.p]\nendpoint = \"http://p/v1\"\napi_key = \"CANARY-4\"",
        environment: &environment,
        flags: flags(|it| it.api_key = Some("CANARY-5".into())),
        ..TestConfigLayers::default()
    };
    let inputs = ConfigEnvironment::read(|name| {
        environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
    });
    assert!(!format!("{:?} {inputs:?}", given.flags).contains("CANARY"));
    let config = config(&given);
    assert_eq!(key(&config), Some("CANARY-5"));
    assert!(!format!("{config:?}").contains("CANARY"));
}
