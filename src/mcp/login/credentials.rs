//! `~/.slug/mcp-logins/`: the tokens of logged-in servers, one file for each definition, mode 0600.
//!
//! A file is named by the hash of its definition, so tokens never go to a server that is defined
//! otherwise. A refresh holds a lock beside the file, and begins with what the file then has: of two
//! running slugs none shows a refresh token that the other has used up, for which a server may end the
//! login.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use serde_json::Value;

use crate::disk::read_user_owned;
use crate::domain::ContentHash;
use crate::platform::paths::replace_private;
use crate::platform::redact::Redactor;

use super::tokens;

/// Where the logins of all servers are kept.
#[derive(Debug, Clone)]
pub struct McpLoginStore {
    folder: PathBuf,
}

impl McpLoginStore {
    /// The store in slug's home; a missing one is empty.
    pub fn new(slug_home: &Path) -> Self {
        Self { folder: slug_home.join("mcp-logins") }
    }

    /// The login of `server`, as it is defined now; `redactor` learns its tokens.
    pub(in crate::mcp) fn of(
        &self,
        definition: &ContentHash,
        server: &str,
        redactor: &Redactor,
    ) -> McpCredentials {
        McpCredentials {
            file: self.folder.join(format!("{definition}.json")),
            server: server.to_owned(),
            redactor: redactor.clone(),
        }
    }
}

/// The login of one server, on disk.
#[derive(Debug, Clone)]
pub(in crate::mcp) struct McpCredentials {
    file: PathBuf,
    server: String,
    redactor: Redactor,
}

impl McpCredentials {
    /// Removes the login; `false` where there was none. Blocks.
    ///
    /// # Errors
    ///
    /// When the file cannot be removed.
    pub(in crate::mcp) fn remove(&self) -> io::Result<bool> {
        match std::fs::remove_file(&self.file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// These scopes with those that an earlier login to the same issuer has: a login that asks for what
    /// was missing must not lose the rest.
    pub(in crate::mcp) async fn scopes_beside(
        &self,
        issuer: Option<&str>,
        wanted: Vec<String>,
    ) -> Vec<String> {
        // What cannot be read is replaced by the new login.
        let Ok(Some(earlier)) = self.load().await else { return wanted };
        if earlier.issuer.as_deref() != issuer {
            return wanted;
        }
        let mut scopes = earlier.granted_scopes;
        let new = wanted.into_iter().filter(|it| !scopes.contains(it)).collect::<Vec<_>>();
        scopes.extend(new);
        scopes
    }

    fn read(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let unreadable =
            |why: String| AuthError::CredentialStoreError(format!("{} {why}", self.file.display()));
        let text =
            read_user_owned(&self.file, None).map_err(|error| unreadable(error.to_string()))?;
        text.map(|text| {
            let login: Value = serde_json::from_str(&text.text)?;
            tokens::learn_login(&self.redactor, &self.server, &login);
            serde_json::from_value(login)
        })
        .transpose()
        .map_err(|error: serde_json::Error| unreadable(format!("cannot be read: {error}")))
    }

    fn write(&self, credentials: &StoredCredentials) -> Result<(), AuthError> {
        let failed = |error: serde_json::Error| AuthError::CredentialStoreError(error.to_string());
        let login = serde_json::to_value(credentials).map_err(failed)?;
        tokens::learn_login(&self.redactor, &self.server, &login);
        let bytes = serde_json::to_vec_pretty(&login).map_err(failed)?;
        replace_private(&self.file, &bytes).map_err(|error| {
            AuthError::CredentialStoreError(format!("Cannot save {}: {error}", self.file.display()))
        })
    }

    fn lock(&self) -> io::Result<File> {
        let path = self.file.with_extension("lock");
        let lock =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        lock.lock()?;
        Ok(lock)
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(Self) -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let own = self.clone();
        let done = tokio::task::spawn_blocking(move || work(own)).await;
        done.unwrap_or_else(|error| Err(AuthError::CredentialStoreError(error.to_string())))
    }
}

#[async_trait]
impl CredentialStore for McpCredentials {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.blocking(|own| own.read()).await
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.blocking(move |own| own.write(&credentials)).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let failed = |error: io::Error| AuthError::CredentialStoreError(error.to_string());
        self.blocking(move |own| own.remove().map(drop).map_err(failed)).await
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let failed = |error: io::Error| AuthError::CredentialStoreError(error.to_string());
        let lock = self.blocking(move |own| own.lock().map_err(failed)).await?;
        Ok(Some(CredentialRefreshGuard::new(lock)))
    }
}
