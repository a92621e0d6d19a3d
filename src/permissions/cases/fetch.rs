//! Requests for web addresses, and the rules on their hosts.

use super::*;

fn fetch(env: &PermissionTestEnv, url: &str) -> PermissionDecision {
    env.decide("WebFetch", &[ToolAccess::Fetch { url: url.to_owned() }])
}

#[test]
fn a_rule_covers_the_host_that_it_names_and_no_other() {
    for (rule, url, outcome) in [
        ("WebFetch(domain:example.org)", "https://example.org/a", Allow),
        ("WebFetch(domain:Example.ORG)", "https://EXAMPLE.org:8443/a", Allow),
        ("WebFetch(domain:example.org)", "http://example.org/a", Allow),
        ("WebFetch(domain:example.org)", "https://www.example.org/", Ask),
        ("WebFetch(domain:example.org)", "https://badexample.org/", Ask),
        ("WebFetch(domain:example.org)", "https://example.org.evil.example/", Ask),
        ("WebFetch(domain:example.org)", "https://evil.example/?u=https://example.org/", Ask),
        ("WebFetch(domain:example.org)", "https://evil.example/#@example.org", Ask),
        ("WebFetch(domain:*.example.org)", "https://a.b.example.org/", Allow),
        ("WebFetch(domain:*.example.org)", "https://example.org/", Ask),
        ("WebFetch(domain:example.org:8443)", "https://example.org:8443/", Allow),
        ("WebFetch(domain:example.org:8443)", "https://example.org/", Ask),
        ("WebFetch(domain:1.1.1.1)", "https://1.1.1.1/", Allow),
        ("WebFetch", "https://example.org/", Allow),
        ("Read", "https://example.org/", Ask),
        ("Bash", "https://example.org/", Ask),
    ] {
        assert_eq!(fetch(&allow([rule]), url).outcome(), outcome, "{rule} {url}");
    }
}

#[test]
fn deny_comes_before_ask_before_allow_for_hosts_too() {
    let env = allow(["WebFetch", "WebFetch(domain:b.example)"])
        .rule(RuleKind::Ask, "WebFetch(domain:b.example)")
        .deny("WebFetch(domain:*.evil.example)");
    let env = env.mode(PermissionMode::Yolo);
    for (url, outcome) in [
        ("https://a.example/", Allow),
        ("https://b.example/", Ask),
        ("https://www.evil.example/", Deny),
    ] {
        assert_eq!(fetch(&env, url).outcome(), outcome, "{url}");
    }
    let all = deny(["WebFetch"]).rule(RuleKind::Allow, "WebFetch(domain:a.example)");
    assert_eq!(fetch(&all, "https://a.example/").outcome(), Deny);
}

#[test]
fn a_question_offers_the_rule_on_the_host() {
    let asked = fetch(&test_env(), "https://docs.example.org/a?b=c");
    assert_eq!(asked.outcome(), Ask);
    assert_eq!(asked.allow_rules(), ["WebFetch(domain:docs.example.org)"]);
    assert_eq!(asked.deny_rule(), Some("WebFetch(domain:docs.example.org)"));
    assert_eq!(asked.reason(), "Asks the server docs.example.org.");
    assert_eq!(texts(&asked), ["https://docs.example.org/a?b=c"]);
    let env = allow(["WebFetch(domain:docs.example.org)"]);
    assert_eq!(fetch(&env, "https://docs.example.org/other").outcome(), Allow);
}

#[test]
fn s85_private_places_are_opened_only_by_a_rule_that_names_the_address_alone() {
    let places = [
        "http://127.0.0.1:8000/",
        "http://localhost:8000/",
        "http://0.0.0.0/",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://metadata.google.internal/",
        "http://printer.local/",
        "http://[::1]/",
        "http://[fd00::1]/",
    ];
    for mode in [PermissionMode::Ask, PermissionMode::Plan, PermissionMode::Yolo] {
        for rule in ["WebFetch", "WebFetch(domain:*.internal)", "WebFetch(domain:127.0.0.2)"] {
            let env = allow([rule]).mode(mode);
            for url in places {
                assert_eq!(fetch(&env, url).outcome(), Deny, "{mode} {rule} {url}");
            }
        }
    }
    let refused = fetch(&test_env(), "http://127.0.0.1:8000/");
    assert!(refused.reason().contains("`WebFetch(domain:127.0.0.1)`"), "{}", refused.reason());
    for (rule, url) in [
        ("WebFetch(domain:127.0.0.1)", "http://127.0.0.1:8000/a"),
        ("WebFetch(domain:localhost)", "http://localhost:3000/"),
        ("WebFetch(domain:[::1])", "http://[::1]:8000/"),
        ("WebFetch(domain:10.0.0.1:80)", "http://10.0.0.1/"),
    ] {
        assert_eq!(fetch(&allow([rule]), url).outcome(), Allow, "{rule}");
    }
    // A name server must not say where a private network is.
    let named = allow(["WebFetch(domain:printer.local)"]);
    assert_eq!(fetch(&named, "http://printer.local/").outcome(), Deny);
    let both = allow(["WebFetch(domain:127.0.0.1)"]).deny("WebFetch(domain:127.0.0.1)");
    assert_eq!(fetch(&both, "http://127.0.0.1/").outcome(), Deny);
}

#[test]
fn s85_s87_an_address_in_disguise_is_no_address() {
    let env = allow(["WebFetch", "WebFetch(domain:127.0.0.1)"]).mode(PermissionMode::Yolo);
    for url in [
        "http://2130706433/",
        "http://0x7f.1/",
        "http://[::ffff:127.0.0.1]/",
        "https://example.org@127.0.0.1/",
        "https://example.org./",
        "http://127.0.0.1:22/",
        "file:///etc/passwd",
    ] {
        assert_eq!(fetch(&env, url).outcome(), Deny, "{url}");
    }
}

#[test]
fn a_pattern_that_is_no_host_is_no_rule() {
    let env = test_env();
    for rule in [
        "WebFetch()",
        "WebFetch(example.org)",
        "WebFetch(domain:)",
        "WebFetch(domain:*)",
        "WebFetch(domain:https://example.org)",
        "WebFetch(domain:example.org/a)",
        "WebFetch(domain:me@example.org)",
        "WebFetch(domain:0x7f.1)",
        "WebSearch(domain:example.org)",
    ] {
        for kind in RuleKind::ALL {
            assert!(RuleSet::check(rule, kind, &env.workspace).is_err(), "{rule}");
        }
    }
}
