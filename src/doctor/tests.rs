//! Each check, with a good environment and with each problem that it finds.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::LazyLock;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::config::{ConfigEnvironment, ConfigFlags, ConfigText, ConfigTexts, resolve};
use crate::lsp::LspInstallState;
use crate::mcp::{McpDefinitionSource, McpServerState};
use crate::permissions::Workspace;
use crate::providers::{ErrorRecovery, ModelInfo, ProviderError, ProviderRequest, StreamEvent};

/// A server that only lists models.
struct ModelListingProvider(Result<Vec<&'static str>, Option<u16>>);

#[async_trait]
impl Provider for ModelListingProvider {
    fn stream(
        &self,
        _request: ProviderRequest,
        _cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        stream::empty().boxed()
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        let info = |id: &&str| ModelInfo {
            id: (*id).to_owned(),
            context_window: Some(4096),
            ..ModelInfo::default()
        };
        let error = |status| ProviderError {
            message: "It does not work.".to_owned(),
            status,
            recovery: ErrorRecovery::GiveUp,
        };
        self.0.as_ref().map(|ids| ids.iter().map(info).collect()).map_err(|status| error(*status))
    }

    fn is_local(&self) -> bool {
        true
    }
}

fn config(text: &str) -> ResolvedConfig {
    let user = ConfigText { path: PathBuf::from("c.toml"), text: text.to_owned() };
    let texts = ConfigTexts { user: Some(user), ..ConfigTexts::default() };
    resolve(&texts, &ConfigEnvironment::default(), &ConfigFlags::default()).unwrap()
}

/// An empty folder, without a provider or a terminal of note.
fn input_in<'a>(
    folder: &'a Path,
    catalogue: &'a CatalogueCache,
    terminal: &'a DoctorTerminal,
) -> DoctorInput<'a> {
    static NO_RULES: LazyLock<RuleSet> = LazyLock::new(RuleSet::new);
    DoctorInput {
        rules: &NO_RULES,
        config: Err(&[]),
        provider: None,
        local: None,
        key: Ok(()),
        catalogue,
        binary: None,
        home: folder,
        cwd: folder,
        user_home: None,
        git: None,
        terminal,
        sandboxes: &[],
        network: &SandboxNetwork::Off,
        mcp_servers: &[],
        mcp_problems: &[],
        language_servers: &[],
        is_trusted: true,
        extent: ScanExtent::Whole,
    }
}

async fn server(text: &str, listing: Result<Vec<&'static str>, Option<u16>>) -> Vec<DoctorFinding> {
    let config = config(text);
    let provider = ModelListingProvider(listing);
    let folder = tempfile::tempdir().unwrap();
    let terminal = DoctorTerminal::default();
    let catalogue = CatalogueCache::new(folder.path().join("models.json"));
    let input = DoctorInput {
        config: Ok(&config),
        provider: Some(&provider),
        home: &folder.path().join("home"),
        ..input_in(folder.path(), &catalogue, &terminal)
    };
    examine(&input).await
}

fn states(findings: &[DoctorFinding], subject: &str) -> Vec<DoctorStatus> {
    findings.iter().filter(|it| it.subject == subject).map(|it| it.state).collect()
}

#[tokio::test]
async fn endpoint_model_and_key_are_judged_together() {
    use DoctorStatus::{Fail, Ok as Good, Warn};
    let remote = "endpoint = \"https://h.example/v1\"\n";
    let plain = "endpoint = \"http://10.0.0.9:8000/v1\"\napi_key = \"k\"\n";
    let keyed = "endpoint = \"https://h.example/v1\"\napi_key = \"k\"\n";
    for (text, listing, endpoint, model, key) in [
        ("", Ok(vec!["a"]), Good, vec![Good], Good),
        ("", Ok(vec!["a", "b"]), Good, vec![Warn], Good),
        ("", Ok(vec![]), Good, vec![Fail], Good),
        ("model = \"b\"", Ok(vec!["a", "b"]), Good, vec![Good], Good),
        ("model = \"c\"", Ok(vec!["a", "b"]), Good, vec![Fail], Good),
        ("", Err(None), Fail, vec![], Good),
        ("", Err(Some(404)), Good, vec![Warn], Good),
        (remote, Err(Some(401)), Good, vec![], Fail),
        (keyed, Err(Some(403)), Good, vec![], Fail),
        (keyed, Ok(vec!["a"]), Good, vec![Good], Good),
        (plain, Ok(vec!["a"]), Warn, vec![Good], Warn),
    ] {
        let case = format!("{text} {listing:?}");
        let findings = server(text, listing).await;
        assert_eq!(states(&findings, "endpoint"), [endpoint], "{case}");
        assert_eq!(states(&findings, "model"), model, "{case}");
        assert_eq!(states(&findings, "key"), [key], "{case}");
    }
}

#[test]
fn a_window_is_reported_with_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let catalogue = &CatalogueCache::new(folder.path().join("models.json"));
    let config = config("context_window = 9000");
    for (host, id, served, expected) in [
        (None, "claude-haiku-4-5", Some(4096), "a context window of 4096 tokens."),
        (None, "claude-haiku-4-5", None, "9000 tokens are assumed (c.toml:1)"),
        (Some("api.anthropic.com"), "claude-haiku-4-5", None, "according to slug's catalogue"),
        (Some("h.example"), "claude-haiku-4-5", None, "according to slug's catalogue"),
        (Some("api.anthropic.com"), "my-own-model", None, "9000 tokens are assumed"),
    ] {
        let model = ModelInfo { id: id.to_owned(), context_window: served, ..ModelInfo::default() };
        let answer = endpoint::EndpointProbe::Models(vec![model]);
        let found =
            model::check(&config.server, &answer, CatalogueLookup { catalogue, host }).unwrap();
        assert!(found.text.contains(expected), "{host:?} {id}: {}", found.text);
    }
}

#[tokio::test]
async fn every_problem_has_a_remedy() {
    let findings = server("model = \"x\"\n[ui]\nnonsense = 1", Ok(vec!["a"])).await;
    assert_eq!(states(&findings, "config"), [DoctorStatus::Warn]);
    assert_eq!(states(&findings, "git"), [DoctorStatus::Warn]);
    assert_eq!(states(&findings, "terminal")[0], DoctorStatus::Fail);
    for finding in &findings {
        assert_eq!(finding.remedy.is_some(), finding.state != DoctorStatus::Ok, "{finding:?}");
    }
    assert_eq!(worst(&findings), DoctorStatus::Fail);
    assert_eq!(worst(&[]), DoctorStatus::Ok);
}

#[tokio::test]
async fn the_files_of_the_connection_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("ca.pem"), "").unwrap();
    fs::write(path("me.pem"), "").unwrap();
    fs::set_permissions(path("me.pem"), fs::Permissions::from_mode(0o644)).unwrap();
    let text = format!(
        "proxy = \"http://me:CANARY@p.example\"\nca_file = \"{}\"\nclient_certificate = \"{}\"\n\
         client_key = \"{}\"\nheaders = {{ X-Team = \"CANARY\" }}\n\
         [providers.work]\nendpoint = \"https://work.example/v1\"\n",
        path("ca.pem").display(),
        path("me.pem").display(),
        path("gone.key").display()
    );
    let findings = server(&text, Ok(vec!["a"])).await;
    // The proxy, which a server on this machine does without; three files; the headers.
    use DoctorStatus::{Fail as Bad, Ok as Good};
    assert_eq!(states(&findings, "connection"), [Good, Good, Good, Bad, Good]);
    let mentions = |word: &str| findings.iter().any(|it| it.text.contains(word));
    assert!(
        mentions("gone.key") && mentions("x-team") && mentions("work at https://work.example/v1")
    );
    assert!(!mentions("CANARY"), "{findings:?}");

    let both = text.replace(&format!("client_key = \"{}\"\n", path("gone.key").display()), "");
    let findings = server(&both, Ok(vec!["a"])).await;
    let open = findings.iter().find(|it| it.text.contains("other users can read it")).unwrap();
    assert_eq!((open.subject, open.state), ("connection", DoctorStatus::Warn));
}

#[tokio::test]
async fn a_key_that_is_not_stored_is_reported_with_its_source() {
    let ways = [
        ("api_key = { keyring = \"work\" }", "in the keyring as `work`"),
        ("api_key_command = [\"op\"]", "printed by `op`"),
    ];
    for (text, expected) in ways {
        let findings = server(text, Ok(vec!["a"])).await;
        let key = findings.iter().find(|it| it.subject == "key").unwrap();
        assert!(key.state == DoctorStatus::Ok && key.text.contains(expected), "{key:?}");
    }
}

#[tokio::test]
async fn a_broken_configuration_is_reported_and_the_rest_still_checked() {
    let user = ConfigText { path: PathBuf::from("c.toml"), text: "model = 1".to_owned() };
    let texts = ConfigTexts { user: Some(user), ..ConfigTexts::default() };
    let errors =
        resolve(&texts, &ConfigEnvironment::default(), &ConfigFlags::default()).unwrap_err();
    let folder = tempfile::tempdir().unwrap();
    let catalogue = CatalogueCache::new(folder.path().join("models.json"));
    let terminal = DoctorTerminal::default();
    let input =
        DoctorInput { config: Err(&errors), ..input_in(folder.path(), &catalogue, &terminal) };
    let findings = examine(&input).await;
    assert_eq!(findings[0].state, DoctorStatus::Fail);
    assert!(findings[0].text.starts_with("c.toml:1: "), "{:?}", findings[0]);
    assert!(states(&findings, "endpoint").is_empty());
    assert_eq!(states(&findings, "space").len(), 1);
}

#[test]
fn a_good_terminal_is_described() {
    let good = DoctorTerminal {
        is_terminal: true,
        size: Some((120, 40)),
        term: Some("xterm-256color".into()),
        colorterm: Some("truecolor".into()),
        locale: Some("en_GB.UTF-8".into()),
        in_tmux: false,
        no_color: false,
    };
    let findings = terminal::check(&good);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].text, "xterm-256color, 120x40, 24-bit colours.");
    for (ill, state) in [
        (DoctorTerminal { term: None, ..good.clone() }, DoctorStatus::Fail),
        (DoctorTerminal { size: Some((30, 40)), ..good.clone() }, DoctorStatus::Warn),
        (DoctorTerminal { locale: Some("C".into()), ..good.clone() }, DoctorStatus::Warn),
        (DoctorTerminal { in_tmux: true, ..good }, DoctorStatus::Ok),
    ] {
        assert_eq!(worst(&terminal::check(&ill)), state, "{ill:?}");
    }
}

#[test]
fn files_that_others_can_read_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let (home, cwd) = (folder.path().join("home"), folder.path().join("work"));
    let mode = |path: &PathBuf, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    assert_eq!(file_modes::check(&home, &cwd, None)[0].state, DoctorStatus::Ok);
    fs::create_dir_all(home.join("sessions")).unwrap();
    let log = home.join("sessions/a.jsonl");
    fs::write(&log, "").unwrap();
    mode(&home, 0o700);
    mode(&home.join("sessions"), 0o700);
    mode(&log, 0o600);
    assert_eq!(file_modes::check(&home, &cwd, None)[0].state, DoctorStatus::Ok);
    mode(&log, 0o640);
    let found = file_modes::check(&home, &cwd, None);
    assert_eq!(found[0].state, DoctorStatus::Warn);
    assert!(found[0].text.contains("sessions/a.jsonl"), "{found:?}");
    mode(&home, 0o755);
    assert!(file_modes::check(&home, &cwd, None)[0].text.contains("and 1 more"));
    let at_home = Some(folder.path());
    assert_eq!(file_modes::check(&home, folder.path(), at_home)[0].state, DoctorStatus::Warn);
    assert_eq!(file_modes::check(&home, folder.path(), None)[0].state, DoctorStatus::Fail);
}

#[test]
fn space_is_judged_by_what_is_free() {
    for (free, state) in
        [(0, DoctorStatus::Fail), (50 << 20, DoctorStatus::Warn), (1 << 40, DoctorStatus::Ok)]
    {
        assert_eq!(space::judge(Path::new("/h"), free).state, state, "{free}");
    }
}

#[test]
fn findings_are_printed_aligned_and_as_json() {
    let findings = [
        DoctorFinding::ok("git", "Fine."),
        DoctorFinding::fail("endpoint", "Gone\u{1b}[2J.", "Start it."),
    ];
    let mut out = Vec::new();
    write_text(&findings, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "ok    git       Fine.\nfail  endpoint  Gone[2J.\n                → Start it.\n"
    );
    let mut out = Vec::new();
    write_json(&findings, &mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json[1]["state"], "fail");
    assert_eq!(json[0]["remedy"], serde_json::Value::Null);
}

#[test]
fn each_mcp_server_has_a_finding_with_what_to_do() {
    let server = |name: &str, state: McpServerState, changed: &[&str]| McpServerStatus {
        name: name.into(),
        source: McpDefinitionSource::User,
        summary: "uvx server".into(),
        sent_names: Vec::new(),
        state,
        implementation: None,
        start_question: None,
        tools: Vec::new().into(),
        changed_tools: changed.iter().map(|name| (*name).to_owned()).collect(),
        offers: Default::default(),
        warnings: Vec::new(),
        error_output: String::new(),
        is_always_loaded: false,
        login_address: None,
    };
    let servers = [
        server("ready", McpServerState::Ready, &[]),
        server("changed", McpServerState::Ready, &["send", "ask"]),
        server("new", McpServerState::NotAllowed, &[]),
        server("broken", McpServerState::Failed("It has ended.".into()), &[]),
        server("slow", McpServerState::Starting, &[]),
        server("closed", McpServerState::NeedsLogin, &[]),
        server("off", McpServerState::Disabled, &[]),
        McpServerStatus {
            warnings: vec!["a tool is left out".into()],
            ..server("odd", McpServerState::Ready, &[])
        },
    ];
    let findings = mcp::check(&servers, &["no `command`".to_owned()]);
    let told: Vec<String> = findings
        .iter()
        .map(|it| format!("{:?} {} {}", it.state, it.text, it.remedy.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(
        told,
        [
            "Warn no `command` Correct the definition.",
            "Ok ready starts and has 0 tools. -",
            "Warn changed has 2 tools whose definition has changed: send, ask. They are not called until you \
             accept them: slug mcp accept changed",
            "Warn new of .mcp.json has not been allowed to start here as it is now. See it, then let it: slug \
             mcp get new; slug mcp allow new",
            "Warn broken cannot be used: It has ended. To see what it prints: slug mcp test broken",
            "Warn slow did not start in time. Give it more with `start_timeout`, or disable it: slug mcp \
             disable slow",
            "Warn closed needs a login. Log in with: slug mcp login closed",
            "Ok off is disabled. -",
            "Ok odd starts and has 0 tools. -",
            "Warn odd: a tool is left out See what it tells of itself: slug mcp test odd",
        ]
    );
}

#[test]
fn each_language_server_has_a_line_and_a_missing_one_a_command() {
    let row = |server: &str, state, install: &str| LspSurveyRow {
        languages: vec![format!("{server}-language"), "other".into()],
        server: server.into(),
        state,
        install: install.into(),
    };
    let rows = [
        row("told", LspInstallState::Installed(Some("told 1.2".into())), "get told"),
        row("quiet", LspInstallState::Installed(None), ""),
        row("broken", LspInstallState::Broken("error: no component".into()), "get broken"),
        row("gone", LspInstallState::Missing("It is not installed.".into()), ""),
    ];
    let findings = language_servers::check(&rows, false);
    let texts: Vec<_> = findings.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "told-language, other: told is installed: told 1.2.",
            "quiet-language, other: quiet is installed. It does not tell its version.",
            "broken-language, other: broken is installed but does not run: error: no component.",
            "gone-language, other: the language server gone is not installed.",
            "Language servers start only in a folder that you trust.",
        ]
    );
    assert_eq!(findings[2].remedy.as_deref(), Some("Install it: get broken"));
    assert!(findings[3].remedy.as_deref().unwrap().contains("[lsp.gone]"));
    assert_eq!(language_servers::check(&rows, true).len(), 4);
    assert_eq!(language_servers::check(&[], false), []);
}

#[test]
fn each_rule_that_is_wrong_has_a_line() {
    let texts = |rules: &RuleSet| -> Vec<(DoctorStatus, String)> {
        rules::check(rules).into_iter().map(|it| (it.state, it.text)).collect()
    };
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::new(folder.path(), Vec::new(), None, folder.path().join("home"));
    let add = |rules: &mut RuleSet, text: &str| {
        rules.add_settings(text, Path::new("settings.json"), &workspace);
    };
    let mut rules = RuleSet::new();
    let none = [(DoctorStatus::Ok, "No permission rule applies here.".to_owned())];
    assert_eq!(texts(&rules), none);
    add(&mut rules, r#"{"permissions":{"deny":["Bash(git push *)"]}}"#);
    let one = [(DoctorStatus::Ok, "1 permission rule applies here.".to_owned())];
    assert_eq!(texts(&rules), one);
    add(&mut rules, r#"{"permissions":{"deny":["Tsk"]}}"#);
    add(&mut rules, r#"{"permissions":{"deny":["#);
    let found = texts(&rules);
    let states: Vec<_> = found.iter().map(|(state, _)| *state).collect();
    assert_eq!(states, [DoctorStatus::Warn, DoctorStatus::Fail], "{found:?}");
    assert!(found[0].1.starts_with("settings.json:1: `Tsk` has no effect"), "{found:?}");
}
