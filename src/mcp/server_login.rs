//! The login of a session's server: where it is, how it begins, and what it changes.

use std::sync::Arc;

use super::definition::McpTransport;
use super::login::{LOGIN_LIMIT, McpCredentials, McpLogin, McpLoginError, McpLoginTarget};
use super::secrets;
use super::server::{McpServer, McpServerState};

impl McpServer {
    /// Where a login to the server is kept and used; `None` for a program, and where the definition itself
    /// gives a token. `transport` is the definition's, with its variables replaced.
    pub(super) fn login_target(&self, transport: &McpTransport) -> Option<McpLoginTarget> {
        let (url, headers) = match transport {
            McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => {
                (url, headers)
            }
            McpTransport::Stdio { .. } => return None,
        };
        if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
            return None;
        }
        let surroundings = &self.surroundings;
        Some(McpLoginTarget {
            url: url.clone(),
            settings: self.definition.expanded_login(&*surroundings.lookup),
            credentials: self.credentials(),
            http: surroundings.ports.http.clone(),
        })
    }

    /// Where the login to the server is kept.
    fn credentials(&self) -> McpCredentials {
        let Self { surroundings, definition, .. } = self;
        surroundings.logins.of(&definition.hash(), &definition.name, &surroundings.redactor)
    }

    /// Begins a login, for what the server last said that it lacks.
    ///
    /// # Errors
    ///
    /// When the server may not be reached here, cannot be, or has no login that slug can use.
    pub(super) async fn begin_login(&self) -> Result<McpLogin, McpLoginError> {
        if let Some(refusal) = self.refusal() {
            return Err(McpLoginError::NotAllowed(refusal.to_string()));
        }
        let Self { surroundings, definition, .. } = self;
        secrets::learn(&surroundings.redactor, definition, &*surroundings.lookup);
        let (transport, _) = definition.expanded(&*surroundings.lookup);
        let target = self.login_target(&transport).ok_or(match transport {
            McpTransport::Stdio { .. } => McpLoginError::Program,
            McpTransport::Http { .. } | McpTransport::Sse { .. } => McpLoginError::OwnToken,
        })?;
        McpLogin::begin(&target, self.challenge().as_deref()).await
    }

    /// Begins a login in place of one that is under way, and waits for the user in the background: the status
    /// has the address. Then the server starts with it, or its state says why not.
    ///
    /// # Errors
    ///
    /// As [`Self::begin_login`].
    pub(super) async fn log_in(self: &Arc<Self>) -> Result<(), McpLoginError> {
        let login = self.begin_login().await?;
        let end = self.ending();
        self.set_login(Some((login.address().to_owned(), end.clone())));
        let server = Arc::downgrade(self);
        tokio::spawn(async move {
            let came = tokio::select! {
                () = end.cancelled() => return,
                came = tokio::time::timeout(LOGIN_LIMIT, login.browser()) => came,
            };
            let done = match came {
                Ok(Ok(answer)) => login.finish(&answer).await,
                Ok(Err(error)) => Err(error),
                Err(_) => Err(McpLoginError::NobodyCame(LOGIN_LIMIT)),
            };
            let Some(server) = server.upgrade().filter(|_| !end.is_cancelled()) else { return };
            server.set_login(None);
            match done {
                Ok(()) => server.restart().await,
                Err(error) => server.set_state(McpServerState::Failed(error.to_string())),
            }
        });
        Ok(())
    }

    /// Removes the login; `false` where there was none.
    ///
    /// # Errors
    ///
    /// When its file cannot be removed; a sentence.
    pub(super) async fn log_out(&self) -> Result<bool, String> {
        let credentials = self.credentials();
        let removed = tokio::task::spawn_blocking(move || credentials.remove()).await;
        let removed = removed.map_err(|it| it.to_string())?;
        removed.map_err(|error| format!("The login cannot be removed: {error}."))
    }
}
