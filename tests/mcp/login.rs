//! Logins, against an authorization server and an MCP server that are scripted here, and a browser of a
//! few lines.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use slug_code::mcp::McpServerState;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};

use super::McpTestEnv;

/// A server that wants a login, and the authorization server that it names: both at one address.
#[derive(Default)]
struct LoginServer {
    facts: Mutex<LoginServerFacts>,
}

#[derive(Default)]
struct LoginServerFacts {
    base: String,
    /// What clients were registered with.
    registered: Vec<Value>,
    /// The challenge of PKCE and the scopes of each code.
    codes: BTreeMap<String, (String, String)>,
    /// The scopes of each token that is valid.
    tokens: BTreeMap<String, String>,
    renewals: BTreeSet<String>,
    issued: usize,
    /// How often a token was renewed, and how often a code or a renewal was not taken.
    renewed: usize,
    refused: usize,
    /// Requests to the MCP server without a valid token.
    unauthorised: usize,
    /// How long tokens hold, in seconds.
    lifetime: u64,
    /// What the server answers to a request to `/authorize` instead of a code.
    refusal: Option<&'static str>,
    knows_clients: bool,
    /// The clients that asked for tokens, and how they showed who they are.
    token_clients: Vec<(String, Option<String>)>,
}

impl LoginServer {
    async fn start() -> Arc<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let facts = LoginServerFacts {
            base,
            lifetime: 3600,
            knows_clients: true,
            ..LoginServerFacts::default()
        };
        let server = Arc::new(Self { facts: Mutex::new(facts) });
        let app = axum::Router::new()
            .route("/.well-known/oauth-protected-resource/mcp", get(resource))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/mcp", post(answer))
            .with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        server
    }

    fn facts(&self) -> std::sync::MutexGuard<'_, LoginServerFacts> {
        self.facts.lock().unwrap()
    }

    fn definition(&self) -> Value {
        json!({"web": {"url": format!("{}/mcp", self.facts().base)}})
    }
}

type Served = State<Arc<LoginServer>>;

async fn resource(State(server): Served) -> Json<Value> {
    let base = server.facts().base.clone();
    Json(
        json!({"resource": format!("{base}/mcp"), "authorization_servers": [base], "scopes_supported": ["read"]}),
    )
}

async fn metadata(State(server): Served) -> Json<Value> {
    let facts = server.facts();
    let base = &facts.base;
    let mut known = json!({
        "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"), "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
    });
    if facts.knows_clients {
        known["registration_endpoint"] = json!(format!("{base}/register"));
    }
    Json(known)
}

async fn register(State(server): Served, Json(client): Json<Value>) -> Response {
    server.facts().registered.push(client.clone());
    let mut answer = client;
    answer["client_id"] = json!("registered");
    (StatusCode::CREATED, Json(answer)).into_response()
}

fn fields(text: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

async fn authorize(State(server): Served, uri: Uri) -> Response {
    let asked = fields(uri.query().unwrap_or_default());
    let mut facts = server.facts();
    assert_eq!(asked["code_challenge_method"], "S256");
    let back = match facts.refusal {
        Some(error) => format!("error={error}&error_description=You+said+no"),
        None => {
            let code = format!("code-{}", facts.codes.len());
            let scope = asked.get("scope").cloned().unwrap_or_default();
            facts.codes.insert(code.clone(), (asked["code_challenge"].clone(), scope));
            format!("code={code}")
        }
    };
    let location = format!("{}?{back}&state={}", asked["redirect_uri"], asked["state"]);
    (StatusCode::FOUND, [("location", location)]).into_response()
}

async fn token(State(server): Served, headers: HeaderMap, body: String) -> Response {
    let asked = fields(&body);
    let mut facts = server.facts();
    let basic = headers.get("authorization").map(|it| it.to_str().unwrap().to_owned());
    facts.token_clients.push((asked.get("client_id").cloned().unwrap_or_default(), basic));
    let scope = match asked["grant_type"].as_str() {
        "authorization_code" => {
            let Some((challenge, scope)) = facts.codes.remove(&asked["code"]) else {
                return refused(&mut facts);
            };
            let hash = Sha256::digest(asked["code_verifier"].as_bytes());
            if URL_SAFE_NO_PAD.encode(hash) != challenge {
                return refused(&mut facts);
            }
            scope
        }
        "refresh_token" => {
            // Each is good for one use.
            if !facts.renewals.remove(&asked["refresh_token"]) {
                return refused(&mut facts);
            }
            facts.renewed += 1;
            "read".to_owned()
        }
        other => panic!("{other}"),
    };
    facts.issued += 1;
    let (token, renewal) = (format!("token-{}", facts.issued), format!("renewal-{}", facts.issued));
    facts.tokens.insert(token.clone(), scope.clone());
    facts.renewals.insert(renewal.clone());
    Json(json!({
        "access_token": token, "refresh_token": renewal, "token_type": "Bearer",
        "expires_in": facts.lifetime, "scope": scope,
    }))
    .into_response()
}

fn refused(facts: &mut LoginServerFacts) -> Response {
    facts.refused += 1;
    (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_grant"}))).into_response()
}

async fn answer(State(server): Served, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    let mut facts = server.facts();
    let base = facts.base.clone();
    let refused = |status: StatusCode, what: &str| {
        let challenge = format!(
            "Bearer {what}resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"",
            base
        );
        (status, [("www-authenticate", challenge)], "no").into_response()
    };
    let given = headers.get("authorization").and_then(|it| it.to_str().ok());
    let given = given.and_then(|it| it.strip_prefix("Bearer "));
    let Some(scope) = given.and_then(|it| facts.tokens.get(it).cloned()) else {
        facts.unauthorised += 1;
        return refused(StatusCode::UNAUTHORIZED, "");
    };
    let tool = request["params"]["name"].as_str().unwrap_or_default();
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "2"},
        }),
        "tools/list" => json!({"tools": [
            {"name": "look", "inputSchema": {"type": "object"}},
            {"name": "write", "inputSchema": {"type": "object"}},
        ]}),
        "tools/call" if tool == "write" && !scope.contains("write") => {
            let what = "error=\"insufficient_scope\", scope=\"write\", ";
            return refused(StatusCode::FORBIDDEN, what);
        }
        "tools/call" => {
            json!({"content": [{"type": "text", "text": format!("{tool} as {scope}")}]})
        }
        _ if request.get("id").is_none() => return StatusCode::ACCEPTED.into_response(),
        _ => {
            let error = json!({"code": -32601, "message": "method not found"});
            return Json(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
                .into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).into_response()
}

/// What a browser gets: the status line, the place it is sent to, the text.
async fn browse(address: &str) -> (String, Option<String>, String) {
    let url = url::Url::parse(address).unwrap();
    let host = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let mut stream = tokio::net::TcpStream::connect(&host).await.unwrap();
    let query = url.query().map(|it| format!("?{it}")).unwrap_or_default();
    let request =
        format!("GET {}{query} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n", url.path());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let location = head.lines().find_map(|line| line.strip_prefix("location: "));
    (head.lines().next().unwrap().to_owned(), location.map(str::to_owned), body.to_owned())
}

/// The user in their browser: goes to the address, and back to slug.
async fn log_in(env: &McpTestEnv) {
    let login = env.servers.begin_login("web").await.unwrap();
    let (_, back, _) = browse(login.address()).await;
    let back = back.unwrap();
    let (answer, (status, _, text)) = tokio::join!(login.browser(), browse(&back));
    assert_eq!(
        (status.as_str(), text.as_str()),
        ("HTTP/1.1 200 OK", "slug has the answer. You can close this page.")
    );
    login.finish(&answer.unwrap()).await.unwrap();
    env.servers.restart("web").await.unwrap();
    env.until("it is ready", || env.state() == McpServerState::Ready).await;
}

async fn waiting_for_login(definition: Value) -> McpTestEnv {
    let env = McpTestEnv::new(definition);
    env.allow_all().await;
    env.until("it wants a login", || env.state() == McpServerState::NeedsLogin).await;
    env
}

fn again(env: McpTestEnv, definition: Value) -> McpTestEnv {
    let McpTestEnv { folder, home, .. } = env;
    McpTestEnv::in_folders(folder, home, definition)
}

fn login_files(home: &TempDir) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(home.path().join("mcp-logins")).into_iter().flatten();
    entries
        .flatten()
        .map(|it| it.path())
        .filter(|it| it.extension().is_some_and(|it| it == "json"))
        .collect()
}

#[tokio::test]
async fn a_login_is_asked_for_made_in_the_browser_and_kept() {
    let server = LoginServer::start().await;
    let env = waiting_for_login(server.definition()).await;
    assert_eq!(env.state().failure().unwrap(), "It needs a login. Run `slug mcp login NAME`.");
    log_in(&env).await;
    let output = env.call("mcp__web__look", json!({})).await.unwrap();
    assert_eq!(output.observation, "look as read");
    {
        let facts = server.facts();
        let [client] = &facts.registered[..] else { panic!("{:?}", facts.registered) };
        assert_eq!(client["client_name"], "slug");
        assert_eq!(client["token_endpoint_auth_method"], "none");
    }
    // Only the user can read it, and the next slug uses it without a question.
    let [file] = &login_files(&env.home)[..] else { panic!() };
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let folder = file.parent().unwrap().metadata().unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    let env = again(env, server.definition());
    env.servers.start();
    env.until("it is ready", || env.state() == McpServerState::Ready).await;
    assert_eq!(server.facts().registered.len(), 1);
    assert!(env.servers.log_out("web").await.unwrap());
    assert!(!env.servers.log_out("web").await.unwrap());
    env.servers.restart("web").await.unwrap();
    env.until("it wants a login", || env.state() == McpServerState::NeedsLogin).await;
    assert_eq!(login_files(&env.home), Vec::<std::path::PathBuf>::new());
}

/// As the page of `/mcp` has it: the status says where, and the server starts once the user has come back.
#[tokio::test]
async fn a_login_waits_for_the_user_in_the_background() {
    let server = LoginServer::start().await;
    let env = waiting_for_login(server.definition()).await;
    let address = || env.servers.status()[0].login_address.clone();
    assert_eq!(address(), None);
    env.servers.log_in("web").await.unwrap();
    let first = address().unwrap();
    let (_, back_to_first, _) = browse(&first).await;
    // Once more: the first no longer waits for anybody.
    env.servers.log_in("web").await.unwrap();
    let second = address().unwrap();
    assert_ne!(first, second);
    let gone = url::Url::parse(&back_to_first.unwrap()).unwrap();
    let gone = format!("127.0.0.1:{}", gone.port().unwrap());
    env.until("the first is closed", || std::net::TcpStream::connect(&gone).is_err()).await;
    let (_, back, _) = browse(&second).await;
    browse(&back.unwrap()).await;
    env.until("it is ready", || env.state() == McpServerState::Ready).await;
    assert_eq!(address(), None);
    assert_eq!(env.call("mcp__web__look", json!({})).await.unwrap().observation, "look as read");
    // A refusal is said, and leaves no login.
    assert!(env.servers.log_out("web").await.unwrap());
    env.servers.restart("web").await.unwrap();
    env.until("it wants a login", || env.state() == McpServerState::NeedsLogin).await;
    server.facts().refusal = Some("access_denied");
    env.servers.log_in("web").await.unwrap();
    let (_, back, _) = browse(&address().unwrap()).await;
    browse(&back.unwrap()).await;
    let refused = McpServerState::Failed("The server refused the login: You said no.".into());
    env.until("it has failed", || env.state() == refused).await;
}

/// The whole way on the command line, with the browser and with a pasted address.
#[tokio::test(flavor = "multi_thread")]
async fn slug_mcp_login_waits_for_the_browser_or_a_pasted_address() {
    let server = LoginServer::start().await;
    let url = format!("{}/mcp", server.facts().base);
    let env = Arc::new(crate::support::test_env::TestEnv::new());
    let run = |arguments: &[&str]| {
        let env = env.clone();
        let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
        tokio::task::spawn_blocking(move || {
            env.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
        })
    };
    run(&["mcp", "add", "web", &url]).await.unwrap().assert_exit_code(0);
    let tested = run(&["mcp", "test", "web"]).await.unwrap();
    let tested = tested.assert_exit_code(1);
    assert!(tested.err.contains("web needs a login: slug mcp login web"), "{}", tested.err);
    for is_pasted in [false, true] {
        let mut command = tokio::process::Command::from(env.command(&["mcp", "login", "web"]));
        let mut slug = command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = tokio::io::BufReader::new(slug.stdout.take().unwrap()).lines();
        let address = loop {
            let line = lines.next_line().await.unwrap().unwrap();
            if line.starts_with("http") {
                break line;
            }
        };
        let back = browse(&address).await.1.unwrap();
        if is_pasted {
            let pasted = format!("nonsense\n\n  {back}\n");
            slug.stdin.as_mut().unwrap().write_all(pasted.as_bytes()).await.unwrap();
        } else {
            browse(&back).await;
        }
        let mut last = String::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            last = line;
        }
        assert_eq!(last, "Logged in to web.");
        assert!(slug.wait().await.unwrap().success());
        run(&["mcp", "test", "web"]).await.unwrap().assert_exit_code(0);
        let out = run(&["mcp", "logout", "web"]).await.unwrap();
        assert!(out.out.starts_with("Removed the login to web."), "{}", out.out);
        let out = run(&["mcp", "logout", "web"]).await.unwrap();
        assert_eq!(out.out, "There is no login to web.\n");
    }
}

/// Two running slugs never show the same renewal: a server takes each only once, and may end the login where
/// one comes again.
#[tokio::test]
async fn tokens_are_renewed_by_several_slugs_at_once() {
    let server = LoginServer::start().await;
    let env = waiting_for_login(server.definition()).await;
    log_in(&env).await;
    let home = TempDir::new().unwrap();
    let logins = |home: &TempDir| home.path().join("mcp-logins");
    std::os::unix::fs::symlink(logins(&env.home), logins(&home)).unwrap();
    let other = McpTestEnv::in_folders(TempDir::new().unwrap(), home, server.definition());
    other.allow_all().await;
    other.until("it is ready", || other.state() == McpServerState::Ready).await;
    for _ in 0..5 {
        // The server no longer takes the tokens, whatever their time is.
        server.facts().tokens.clear();
        let calls = [&env, &other, &env, &other].map(|env| env.call("mcp__web__look", json!({})));
        for output in futures_util::future::join_all(calls).await {
            assert_eq!(output.unwrap().observation, "look as read");
        }
    }
    assert!(server.facts().renewed >= 5);
    assert_eq!(server.facts().refused, 0);
    // A renewal that the server no longer knows means a new login, not a failure.
    server.facts().tokens.clear();
    server.facts().renewals.clear();
    assert!(env.call("mcp__web__look", json!({})).await.is_err());
    assert_eq!(env.state(), McpServerState::NeedsLogin);
}

/// A token whose time is over is renewed before it is sent.
#[tokio::test]
async fn a_token_that_runs_out_is_renewed_before_the_call() {
    let server = LoginServer::start().await;
    server.facts().lifetime = 0;
    let env = waiting_for_login(server.definition()).await;
    log_in(&env).await;
    server.facts().lifetime = 3600;
    let before = server.facts().renewed;
    env.call("mcp__web__look", json!({})).await.unwrap();
    assert_eq!(server.facts().renewed, before + 1);
    env.call("mcp__web__look", json!({})).await.unwrap();
    assert_eq!(server.facts().renewed, before + 1);
    assert_eq!(server.facts().unauthorised, 1, "the first request of all");
}

#[tokio::test]
async fn a_call_that_needs_more_scopes_asks_for_them_in_the_next_login() {
    let server = LoginServer::start().await;
    let env = waiting_for_login(server.definition()).await;
    log_in(&env).await;
    assert!(env.call("mcp__web__write", json!({})).await.is_err());
    assert_eq!(env.state(), McpServerState::NeedsLogin);
    let login = env.servers.begin_login("web").await.unwrap();
    let address = url::Url::parse(login.address()).unwrap();
    let scope = address.query_pairs().find(|(name, _)| name == "scope").unwrap().1;
    assert_eq!(scope, "read write", "what it had and what it lacks");
    drop(login);
    log_in(&env).await;
    let output = env.call("mcp__web__write", json!({})).await.unwrap();
    assert_eq!(output.observation, "write as read write");
}

#[tokio::test]
async fn a_client_of_the_users_own_is_used_with_its_secret_port_and_scopes() {
    let server = LoginServer::start().await;
    server.facts().knows_clients = false;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut definition = server.definition();
    definition["web"]["oauth"] = json!({"clientId": "mine", "clientSecret": "${TOKEN}", "callbackPort": free, "scopes": ["read", "x"]});
    let env = waiting_for_login(definition.clone()).await;
    let login = env.servers.begin_login("web").await.unwrap();
    assert_eq!(login.way_back(), format!("http://127.0.0.1:{free}/callback"));
    assert_eq!(login.host(), "127.0.0.1");
    let address = login.address().to_owned();
    assert!(address.contains("client_id=mine") && !address.contains("token"), "{address}");
    let taken = env.servers.begin_login("web").await.map(drop).unwrap_err();
    assert!(taken.contains(&format!("Port {free} of this machine is taken")), "{taken}");
    drop(login);
    log_in(&env).await;
    // A renewal shows the secret, too.
    server.facts().tokens.clear();
    let env = again(env, definition);
    env.servers.start();
    env.until("it is ready", || env.state() == McpServerState::Ready).await;
    let facts = server.facts();
    let secret = base64::engine::general_purpose::STANDARD.encode("mine:it%27s+a+%24token");
    assert_eq!(facts.token_clients.len(), 2);
    for (_, basic) in &facts.token_clients {
        assert_eq!(basic.as_deref(), Some(&*format!("Basic {secret}")));
    }
    assert_eq!((facts.registered.len(), facts.renewed), (0, 1));
}

/// What comes back is not what the user was sent for: nothing is kept.
#[tokio::test]
async fn a_login_that_is_refused_forged_or_of_another_leaves_nothing() {
    let server = LoginServer::start().await;
    let env = waiting_for_login(server.definition()).await;
    let login = env.servers.begin_login("web").await.unwrap();
    let way_back = login.way_back().to_owned();
    for wrong in ["", "hello", "https://example.com/?code=1&state=2", &way_back] {
        let error = login.finish(wrong).await.unwrap_err().to_string();
        assert!(error.starts_with("This address has no"), "{wrong}: {error}");
    }
    let forged = format!("{way_back}?code=code-0&state=forged");
    assert!(login.finish(&forged).await.is_err());
    // The code of a login is of no use to another one.
    let other = env.servers.begin_login("web").await.unwrap();
    let (_, back, _) = browse(other.address()).await;
    assert!(login.finish(&back.unwrap()).await.is_err());
    server.facts().refusal = Some("access_denied");
    let refused = env.servers.begin_login("web").await.unwrap();
    let (_, back, _) = browse(refused.address()).await;
    let error = refused.finish(&back.unwrap()).await.unwrap_err().to_string();
    assert_eq!(error, "The server refused the login: You said no.");
    // Whatever else asks at the way back is told nothing.
    let port = way_back.clone();
    let (_, back, _) = browse(login.address()).await;
    let (answer, ()) = tokio::join!(login.browser(), async {
        for wrong in [
            "/favicon.ico",
            "/",
            "/callback?code=1",
            "/callback",
            "/other?code=1&state=2",
            "/callback?error=x&state=1",
        ] {
            let address = port.replace("/callback", wrong);
            assert_eq!(browse(&address).await.0, "HTTP/1.1 404 Not Found", "{wrong}");
        }
        browse(&back.unwrap()).await;
    });
    assert!(login.finish(&answer.unwrap()).await.is_err());
    assert_eq!(login_files(&env.home), Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn what_has_no_login_says_so() {
    let server = LoginServer::start().await;
    server.facts().knows_clients = false;
    let env = waiting_for_login(server.definition()).await;
    let error = env.servers.begin_login("web").await.map(drop).unwrap_err();
    assert!(error.contains("set `oauth.client_id`"), "{error}");
    let mut own = server.definition();
    own["web"]["headers"] = json!({"authorization": "Bearer x"});
    let env = waiting_for_login(own).await;
    let error = env.servers.begin_login("web").await.map(drop).unwrap_err();
    assert!(error.contains("gives a token of its own"), "{error}");
    let env = McpTestEnv::started(Value::Null).await;
    let error = env.servers.begin_login("s").await.map(drop).unwrap_err();
    assert!(error.contains("this one is a program"), "{error}");
}
