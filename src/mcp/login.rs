//! A login to a server, by OAuth 2.1 with PKCE as the specification of MCP has it (2026-07-28,
//! basic/authorization): the server's metadata, a registration of slug where the definition names no
//! client, the user in their browser, and the tokens.
//!
//! The library speaks the protocol. Here is what is slug's: its HTTP client (`requests`), the address
//! that the browser comes back to (`callback`), what a definition says (`settings`), where tokens are
//! kept (`credentials`), and that nobody is shown them (`tokens`). slug opens no browser: the user is
//! shown the address.

mod callback;
mod credentials;
mod requests;
mod settings;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, OAuthClientConfig,
};

use secrecy::ExposeSecret;

use crate::domain::sanitize::sanitize_line;
use crate::net::{HttpClient, HttpEndpoint, PlainHttp};

use callback::{LoginCallback, is_answer, state};
pub(super) use credentials::McpCredentials;
pub use credentials::McpLoginStore;
use requests::LoginRequests;
pub use settings::McpLoginSettings;
pub(super) use tokens::{is_word, learn_secrets};

/// The name under which slug registers itself, which the server shows to the user.
const CLIENT_NAME: &str = "slug";

/// How long the user may take in their browser.
pub const LOGIN_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Why a login failed. Sentences.
#[derive(Debug, thiserror::Error)]
pub enum McpLoginError {
    #[error("Only a server with an address has a login; this one is a program.")]
    Program,
    #[error("Its definition gives a token of its own in `headers`. Remove that to log in.")]
    OwnToken,
    #[error("{0}")]
    NotAllowed(String),
    #[error("Its address cannot be used: {0}.")]
    Address(String),
    #[error(
        "Port {port} of this machine is taken: {source}. Free it, or set another `oauth.callback_port`."
    )]
    Port { port: u16, source: std::io::Error },
    #[error("Cannot open a local port for the login callback: {0}.")]
    NoPort(std::io::Error),
    #[error(
        "The server does not support client registration ({0}). Register slug there, and set \
         `oauth.client_id`."
    )]
    NotRegistered(String),
    #[error("The server refused the login: {0}.")]
    Refused(String),
    #[error(
        "This address has no `code` and `state`. Copy the whole address from the browser after the \
         login."
    )]
    NotAnAnswer,
    #[error("The login was not finished in the browser within {} minutes. Try again.", .0.as_secs() / 60)]
    NobodyCame(Duration),
    #[error("The login failed: {0}.")]
    Failed(String),
}

/// Where a server is, and how slug logs in to it.
#[derive(Clone)]
pub(super) struct McpLoginTarget {
    pub(super) url: String,
    pub(super) settings: McpLoginSettings,
    pub(super) credentials: McpCredentials,
    pub(super) http: Arc<HttpClient>,
}

impl McpLoginTarget {
    /// What asks for tokens and renews them; nothing is sent yet.
    async fn manager(&self) -> Result<AuthorizationManager, McpLoginError> {
        let endpoint = HttpEndpoint::parse(&self.url, PlainHttp::LoopbackOnly)
            .map_err(|error| McpLoginError::Address(error.to_string()))?;
        let credentials = self.credentials.clone();
        let requests = LoginRequests::new(self.http.clone(), endpoint.is_local(), credentials);
        let url = self.url.trim();
        let manager =
            AuthorizationManager::new_with_oauth_http_client(url, Arc::new(requests)).await;
        let mut manager = manager.map_err(|error| failed(&error))?;
        manager.set_credential_store(self.credentials.clone());
        Ok(manager)
    }

    /// What gives requests their token, from the login that there is; without one they go out as they are.
    ///
    /// # Errors
    ///
    /// When the login cannot be read, or the server's metadata cannot be fetched to use it.
    pub(super) async fn authorised(&self) -> Result<AuthorizationManager, McpLoginError> {
        let mut manager = self.manager().await?;
        let has_login = manager.initialize_from_store().await.map_err(|error| failed(&error))?;
        if !has_login {
            return Ok(manager);
        }
        let client = match &self.settings.client_id {
            Some(id) => self.settings.client_secret.clone().map(|secret| (id.clone(), secret)),
            None => {
                let client = self.credentials.registered_client().await;
                let client = client.map_err(|error| failed(&error))?;
                client.map(|(id, secret)| (id, secret.expose_secret().to_owned()))
            }
        };
        if let Some((id, secret)) = client {
            // The library keeps no secret: a renewal needs it again.
            let config = OAuthClientConfig::new(id, "http://127.0.0.1/callback");
            let config = config.with_client_secret(secret);
            manager.configure_client(config).map_err(|error| failed(&error))?;
        }
        Ok(manager)
    }
}

/// A login that has begun: the user is at its address.
pub struct McpLogin {
    session: AuthorizationSession,
    callback: LoginCallback,
}

impl McpLogin {
    /// Asks the server how to log in, and registers slug where that is needed. `challenge` is what it
    /// answered to a request that lacked a login or a scope.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or has no login that slug can use.
    pub(super) async fn begin(
        target: &McpLoginTarget,
        challenge: Option<&str>,
    ) -> Result<Self, McpLoginError> {
        let McpLoginSettings { client_id, client_secret, callback_port, scopes } = &target.settings;
        let callback =
            LoginCallback::listen(*callback_port).await.map_err(|source| match *callback_port {
                Some(port) => McpLoginError::Port { port, source },
                None => McpLoginError::NoPort(source),
            })?;
        let mut manager = target.manager().await?;
        let found = manager.resolve_metadata_from_challenge(challenge).await;
        let metadata = found.map_err(|error| failed(&error))?.metadata;
        let issuer = metadata.issuer.clone();
        manager.set_metadata(metadata);
        let scopes = match scopes.is_empty() {
            true => {
                let wanted = manager.select_initial_scopes(&[]).await;
                target.credentials.scopes_beside(issuer.as_deref(), wanted).await
            }
            false => scopes.clone(),
        };
        let mut request = AuthorizationRequest::new(callback.address())
            .with_client_name(CLIENT_NAME)
            .with_initial_scope_selection()
            .with_scopes(scopes);
        if let Some(id) = client_id {
            request = request.with_preregistered_client(id.clone());
        }
        if let Some(secret) = client_secret {
            request = request.with_client_secret(secret.clone());
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| failed(&error))?;
        // The user is about to open what the server names.
        HttpEndpoint::parse(session.get_authorization_url(), PlainHttp::LoopbackOnly)
            .map_err(|error| McpLoginError::Failed(error.to_string()))?;
        Ok(Self { session, callback })
    }

    /// The address that the user opens in their browser.
    pub fn address(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// The machine that asks the user for their login.
    pub fn host(&self) -> String {
        let url = Url::parse(self.address()).ok();
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }

    /// The address that the browser comes back to.
    pub fn way_back(&self) -> &str {
        &self.session.redirect_uri
    }

    /// Waits until the browser has come back; the address that it came with.
    ///
    /// # Errors
    ///
    /// When the way back is closed.
    pub async fn browser(&self) -> Result<String, McpLoginError> {
        let state = Url::parse(self.address()).ok().and_then(|url| state(&url));
        let came = self.callback.wait(&state.unwrap_or_default()).await;
        came.map_err(|error| McpLoginError::Failed(error.to_string()))
    }

    /// Takes the address that the browser came back to, or that the user has pasted, and keeps the tokens.
    ///
    /// # Errors
    ///
    /// When it is not such an address, is not of this login, or the server gives no tokens.
    pub async fn finish(&self, answer: &str) -> Result<(), McpLoginError> {
        let url = Url::parse(answer.trim()).map_err(|_| McpLoginError::NotAnAnswer)?;
        if !is_answer(&url) {
            return Err(McpLoginError::NotAnAnswer);
        }
        let said = |wanted: &str| {
            let mut pairs = url.query_pairs();
            pairs.find(|(name, _)| name == wanted).map(|(_, text)| sanitize_line(&text))
        };
        if let Some(error) = said("error") {
            return Err(McpLoginError::Refused(said("error_description").unwrap_or(error)));
        }
        let taken = self.session.handle_callback_url(url.as_str()).await;
        taken.map(drop).map_err(|error| failed(&error))
    }
}

/// What went wrong, without the library's words around it.
fn failed(error: &AuthError) -> McpLoginError {
    let mut first: &dyn std::error::Error = error;
    while let Some(source) = first.source() {
        first = source;
    }
    let text = sanitize_line(first.to_string().trim_end_matches('.'));
    match error {
        AuthError::RegistrationFailed(_) => McpLoginError::NotRegistered(text),
        _ => McpLoginError::Failed(text),
    }
}
