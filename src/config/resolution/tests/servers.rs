//! Which server is asked, and which others the user can switch to: named ones, and each protocol's
//! own service.

use super::super::super::ModelChoice;
use super::*;
use crate::domain::ReasoningEffort;

#[test]
fn a_named_provider_is_endpoint_key_and_model_together() {
    let user = "endpoint = \"http://localhost:8080/v1\"\napi_key = \"top\"\nmodel = \"small\"\n\
                [providers.work]\nendpoint = \"https://work.example/v1\"\napi_key = \"w\"\n\
                model = \"big\"\n[providers.bare]\nendpoint = \"https://bare.example/v1\"\n";
    let choose = |name: &str| flags(|it| it.provider = Some(name.to_owned()));
    let environment: &[_] = &[("SLUG_MODEL", "env")];

    let work = config(&TestConfigLayers {
        user,
        environment,
        flags: choose("work"),
        ..TestConfigLayers::default()
    });
    assert_eq!(work.server.name.value.as_str(), "work");
    assert_eq!(work.server.endpoint.value.as_str(), "https://work.example/v1");
    assert_eq!((key(&work), work.server.model.value.name()), (Some("w"), "big"));

    let bare =
        config(&TestConfigLayers { user, flags: choose("bare"), ..TestConfigLayers::default() });
    assert_eq!((key(&bare), bare.server.model.value.name()), (None, "default"));

    let by_file = format!("provider = \"work\"\n{user}");
    let found =
        config(&TestConfigLayers { user: &by_file, environment, ..TestConfigLayers::default() });
    assert_eq!(found.server.endpoint.value.as_str(), "https://work.example/v1");
    assert_eq!((key(&found), found.server.model.value.name()), (Some("w"), "env"));

    let back = config(&TestConfigLayers {
        user: &by_file,
        flags: choose("openai"),
        ..TestConfigLayers::default()
    });
    assert_eq!(back.server.endpoint.value.as_str(), "http://localhost:8080/v1");
    assert_eq!(key(&back), Some("top"));
}

#[test]
fn a_protocol_brings_its_own_service_key_model_and_limit() {
    let environment: &[_] =
        &[("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "oa"), ("SLUG_ENDPOINT", "")];
    let by_flag = || flags(|it| it.provider = Some("anthropic".to_owned()));
    let here = "endpoint = \"http://localhost:8080/v1\"\napi_key = \"k\"\nmodel = \"small\"";
    let file = "provider = \"anthropic\"";
    let there = format!("{file}\n{here}");
    // Each row: the file, the flags, extra variables; then endpoint, key, model and limit.
    for (user, flags, extra, want) in [
        (
            file,
            ConfigFlags::default(),
            None,
            ("https://api.anthropic.com/v1", Some("a"), "claude-sonnet-5-5", None),
        ),
        (
            "",
            by_flag(),
            None,
            ("https://api.anthropic.com/v1", Some("a"), "claude-sonnet-5-5", None),
        ),
        // The flag names the service; what is configured is another server's.
        (
            here,
            by_flag(),
            None,
            ("https://api.anthropic.com/v1", Some("a"), "claude-sonnet-5-5", None),
        ),
        // The file says that this server speaks the protocol.
        (
            &there,
            ConfigFlags::default(),
            None,
            ("http://localhost:8080/v1", Some("k"), "small", None),
        ),
        (
            file,
            ConfigFlags::default(),
            Some(("ANTHROPIC_MODEL", "m")),
            ("https://api.anthropic.com/v1", Some("a"), "m", None),
        ),
        (
            "",
            by_flag(),
            Some(("ANTHROPIC_MAX_TOKENS", "9000")),
            ("https://api.anthropic.com/v1", Some("a"), "claude-sonnet-5-5", Some(9000)),
        ),
        (
            "",
            ConfigFlags::default(),
            Some(("ANTHROPIC_MODEL", "m")),
            ("http://localhost:8000/v1", None, "default", None),
        ),
    ] {
        let environment: Vec<_> = environment.iter().copied().chain(extra).collect();
        let case = format!("{user} {flags:?} {extra:?}");
        let found = config(&TestConfigLayers {
            user,
            environment: &environment,
            flags,
            ..TestConfigLayers::default()
        });
        let seen = (
            found.server.endpoint.value.as_str(),
            key(&found),
            found.server.model.value.name(),
            found.server.max_tokens.as_ref().map(|limit| limit.value),
        );
        assert_eq!(seen, want, "{case}");
        assert!(found.warnings.is_empty(), "{case}: {:?}", found.warnings);
    }
    let found = config(&TestConfigLayers {
        user: "provider = \"gemini\"",
        environment: &[("GEMINI_API_KEY", "g"), ("ANTHROPIC_API_KEY", "a")],
        ..TestConfigLayers::default()
    });
    assert_eq!(
        found.server.endpoint.value.as_str(),
        "https://generativelanguage.googleapis.com/v1beta"
    );
    assert_eq!((key(&found), found.server.model.value.name()), (Some("g"), "gemini-flash-latest"));
    // Two protocols of one service share its key.
    for provider in ["openai", "responses"] {
        let found = config(&TestConfigLayers {
            user: &format!("provider = \"{provider}\"\nendpoint = \"https://api.openai.com\""),
            environment: &[("OPENAI_API_KEY", "oa")],
            ..TestConfigLayers::default()
        });
        assert_eq!((key(&found), found.warnings.len()), (Some("oa"), 0), "{provider}");
    }
    let found = config(&TestConfigLayers {
        environment: &[("OPENAI_API_KEY", "oa")],
        flags: flags(|it| it.provider = Some("responses".to_owned())),
        ..TestConfigLayers::default()
    });
    assert_eq!(found.server.endpoint.value.as_str(), "https://api.openai.com/v1");
    assert_eq!((key(&found), found.server.protocol), (Some("oa"), ProviderProtocol::Responses));
    let wrong: &[_] = &[("ANTHROPIC_MAX_TOKENS", "many")];
    let message = problem(&TestConfigLayers {
        user: file,
        environment: wrong,
        ..TestConfigLayers::default()
    });
    assert!(message.contains("ANTHROPIC_MAX_TOKENS"), "{message}");
}

#[test]
fn a_named_provider_says_its_protocol() {
    let user = "[providers.work]\nendpoint = \"https://work.example\"\nprotocol = \"anthropic\"";
    let found = config(&TestConfigLayers {
        user,
        environment: &[("ANTHROPIC_API_KEY", "a")],
        flags: flags(|it| it.provider = Some("work".to_owned())),
        ..TestConfigLayers::default()
    });
    assert_eq!(found.server.protocol, ProviderProtocol::Anthropic);
    assert_eq!((key(&found), found.server.model.value.name()), (None, "default"));
    let message = problem(&TestConfigLayers {
        user: &user.replace("anthropic", "smtp"),
        ..TestConfigLayers::default()
    });
    assert!(message.contains("`openai`, `responses`, `anthropic`"), "{message}");
}

#[test]
fn openai_is_the_service_where_its_key_is_and_no_endpoint_is_given() {
    const SERVICE: (&str, Option<&str>, &str, Option<u32>) =
        ("https://api.openai.com/v1", Some("oa"), "gpt-5.6", None);
    const LOCAL: (&str, Option<&str>, &str, Option<u32>) =
        ("http://localhost:8000/v1", None, "default", None);
    let key: &[_] = &[("OPENAI_API_KEY", "oa")];
    let elsewhere: &[_] =
        &[("OPENAI_API_KEY", "oa"), ("SLUG_ENDPOINT", "http://localhost:8080/v1")];
    let flag = || flags(|it| it.provider = Some("openai".to_owned()));
    let file = "provider = \"openai\"";
    let small = "model = \"small\"";
    let file_small = format!("{file}\n{small}");
    let here = "endpoint = \"http://localhost:8080/v1\"";
    let (by_flag, none) = (flag(), ConfigFlags::default());
    // Each row: the file, the variables, the flags; then endpoint, key, model and limit.
    for (user, environment, flags, want) in [
        ("", key, &by_flag, SERVICE),
        (file, key, &none, SERVICE),
        (file, key, &by_flag, SERVICE),
        // The model is this server's only where the file names the same server.
        (&*file_small, key, &none, ("https://api.openai.com/v1", Some("oa"), "small", None)),
        (&*file_small, key, &by_flag, ("https://api.openai.com/v1", Some("oa"), "small", None)),
        (small, key, &by_flag, SERVICE),
        // Without a choice, without the key or with an endpoint it is any server.
        ("", key, &none, LOCAL),
        ("", &[], &by_flag, LOCAL),
        (file, &[], &none, LOCAL),
        (here, key, &by_flag, ("http://localhost:8080/v1", None, "default", None)),
        ("", elsewhere, &by_flag, ("http://localhost:8080/v1", None, "default", None)),
    ] {
        let case = format!("{user} {environment:?} {flags:?}");
        let layers =
            TestConfigLayers { user, environment, flags: flags.clone(), ..Default::default() };
        let found = config(&layers);
        let seen = (
            found.server.endpoint.value.as_str(),
            self::key(&found),
            found.server.model.value.name(),
            found.server.max_tokens.as_ref().map(|limit| limit.value),
        );
        assert_eq!(seen, want, "{case}");
        assert!(found.warnings.is_empty(), "{case}: {:?}", found.warnings);
    }
    let with_flag = config(&TestConfigLayers {
        environment: key,
        flags: flags(|it| {
            it.provider = Some("openai".to_owned());
            it.endpoint = Some("http://localhost:8080/v1".to_owned());
        }),
        ..TestConfigLayers::default()
    });
    assert_eq!(with_flag.server.endpoint.value.as_str(), "http://localhost:8080/v1");
    let responses = config(&TestConfigLayers {
        environment: key,
        flags: flags(|it| it.provider = Some("responses".to_owned())),
        ..TestConfigLayers::default()
    });
    assert_eq!(responses.server.model.value.name(), "gpt-5.6");
}

fn names(config: &ResolvedConfig) -> Vec<&str> {
    config.others.iter().map(|it| it.name.value.as_str()).collect()
}

fn limit(server: &ModelServerConfig) -> Option<u32> {
    server.max_tokens.as_ref().map(|limit| limit.value)
}

#[test]
fn all_servers_that_could_be_switched_to_are_known() {
    let user = "endpoint = \"http://localhost:8080/v1\"\nmodel = \"small\"\nmax_tokens = 100\n\
                [providers.work]\nendpoint = \"https://work.example/v1\"\nmax_tokens = 200\n\
                effort = \"low\"\ncontext_window = 5000\n\
                [providers.zed]\nendpoint = \"https://zed.example/v1\"";
    let environment: &[_] =
        &[("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "oa"), ("SLUG_MODEL", "env")];
    let found = config(&TestConfigLayers { user, environment, ..TestConfigLayers::default() });
    assert_eq!(names(&found), ["work", "zed", "responses", "anthropic"]);
    let (work, zed, anthropic) = (&found.others[0], &found.others[1], &found.others[3]);
    assert_eq!((limit(work), limit(zed)), (Some(200), Some(100)));
    assert_eq!((work.context_window.value, zed.context_window.value), (5000, 200_000));
    assert_eq!(work.effort.as_ref().map(|it| it.value), Some(ReasoningEffort::Low));
    assert_eq!(zed.effort, None);
    assert_eq!(anthropic.endpoint.value.as_str(), "https://api.anthropic.com/v1");
    assert_eq!(server_key(anthropic), Some("a"));
    // What is set for the chosen server alone does not apply to the others.
    assert_eq!(work.model.value, ModelChoice::Served);
    assert_eq!(anthropic.model.value.name(), "claude-sonnet-5-5");
    // A key that would be withheld from the others does not matter for this run.
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);

    let choose = |name: &str| flags(|it| it.provider = Some(name.to_owned()));
    let found = config(&TestConfigLayers {
        user,
        environment,
        flags: choose("work"),
        ..TestConfigLayers::default()
    });
    assert_eq!(names(&found), ["zed", "openai", "responses", "anthropic"]);
    assert_eq!(found.others[1].endpoint.value.as_str(), "http://localhost:8080/v1");
    assert_eq!(found.others[1].model.value.name(), "small");
    assert_eq!((limit(&found.server), found.server.context_window.value), (Some(200), 5000));
    assert_eq!(found.server.effort.as_ref().map(|it| it.value), Some(ReasoningEffort::Low));
    let found = config(&TestConfigLayers {
        environment,
        flags: choose("anthropic"),
        ..TestConfigLayers::default()
    });
    assert_eq!(names(&found), ["responses"]);
    assert_eq!(names(&config(&TestConfigLayers::default())), Vec::<&str>::new());
}
