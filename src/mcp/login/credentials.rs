//! `~/.slug/mcp-logins/`: the tokens of logged-in servers, one file for each definition, mode 0600.
//!
//! A file is named by the hash of its definition, so tokens never go to a server that is defined
//! otherwise. A refresh holds a lock beside the file, and begins with what the file then has: of two
//! running slugs none shows a refresh token that the other has used up, for which a server may end the
//! login. The secret of a client that the server has registered stands beside the tokens, as long as they
//! are that client's: the library keeps the id alone.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use secrecy::{ExposeSecret, SecretString};
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
            registered: Arc::default(),
        }
    }
}

/// The field of the file that has the secret of a registered client.
const SECRET: &str = "client_secret";

/// A client as a server has registered it.
#[derive(Clone)]
struct RegisteredClient {
    id: String,
    secret: SecretString,
}

impl RegisteredClient {
    /// The client of an answer or of a file, if that has a secret. Some servers send an empty one for none.
    fn of(answer: &Value) -> Option<Self> {
        let field = |name| answer.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
        let (id, secret) = (field("client_id")?, field(SECRET)?);
        Some(Self { id: id.to_owned(), secret: SecretString::from(secret) })
    }
}

/// The login of one server, on disk.
#[derive(Clone)]
pub(in crate::mcp) struct McpCredentials {
    file: PathBuf,
    server: String,
    redactor: Redactor,
    /// The client of the registration that was made last, until its login is kept.
    registered: Arc<Mutex<Option<RegisteredClient>>>,
}

impl McpCredentials {
    /// Notes the client that this answer of the server registers, if it does.
    pub(super) fn note_registration(&self, answer: &[u8]) {
        let Ok(answer) = serde_json::from_slice::<Value>(answer) else { return };
        if let Some(client) = RegisteredClient::of(&answer) {
            tokens::learn_login(&self.redactor, &self.server, &answer);
            *self.registered.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
        }
    }

    /// The id and the secret of the registered client whose login is kept.
    ///
    /// # Errors
    ///
    /// When the login cannot be read.
    pub(super) async fn registered_client(
        &self,
    ) -> Result<Option<(String, SecretString)>, AuthError> {
        let login = self.blocking(|own| own.read_fields()).await?;
        let client = login.as_ref().and_then(RegisteredClient::of);
        Ok(client.map(|client| (client.id, client.secret)))
    }

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
        let login = self.read_fields()?.map(serde_json::from_value).transpose();
        login.map_err(|error| self.unreadable(&format!("cannot be read: {error}")))
    }

    fn read_fields(&self) -> Result<Option<Value>, AuthError> {
        let text = read_user_owned(&self.file, None);
        let text = text.map_err(|error| self.unreadable(&error.to_string()))?;
        let login = text.map(|text| serde_json::from_str::<Value>(&text.text)).transpose();
        let login = login.map_err(|error| self.unreadable(&format!("cannot be read: {error}")))?;
        login.iter().for_each(|it| tokens::learn_login(&self.redactor, &self.server, it));
        Ok(login)
    }

    fn unreadable(&self, why: &str) -> AuthError {
        AuthError::CredentialStoreError(format!("{} {why}", self.file.display()))
    }

    /// The secret of the client that these tokens are for: of the registration just made, or as it was kept.
    fn secret_for(&self, credentials: &StoredCredentials) -> Option<SecretString> {
        let is_it = |client: &RegisteredClient| client.id == credentials.client_id;
        let new = self.registered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let kept = || {
            let login = self.read_fields().ok().flatten()?;
            let issuer = login.get("issuer").and_then(Value::as_str);
            RegisteredClient::of(&login).filter(|_| issuer == credentials.issuer.as_deref())
        };
        new.filter(is_it).or_else(|| kept().filter(is_it)).map(|client| client.secret)
    }

    fn write(&self, credentials: &StoredCredentials) -> Result<(), AuthError> {
        let failed = |error: serde_json::Error| AuthError::CredentialStoreError(error.to_string());
        let mut login = serde_json::to_value(credentials).map_err(failed)?;
        if let (Some(fields), Some(secret)) = (login.as_object_mut(), self.secret_for(credentials))
        {
            fields.insert(SECRET.to_owned(), secret.expose_secret().into());
        }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn credentials(home: &Path, redactor: &Redactor) -> McpCredentials {
        McpLoginStore::new(home).of(&ContentHash::of(b"x"), "one", redactor)
    }

    fn login(client: &str, issuer: &str) -> StoredCredentials {
        let token = json!({"access_token": "acce55-token", "token_type": "bearer"});
        serde_json::from_value(
            json!({"client_id": client, "issuer": issuer, "token_response": token}),
        )
        .unwrap()
    }

    #[tokio::test]
    async fn the_secret_of_a_registered_client_stays_with_its_login() {
        let (home, redactor) = (tempfile::tempdir().unwrap(), Redactor::default());
        std::fs::create_dir(home.path().join("mcp-logins")).unwrap();
        let first = credentials(home.path(), &redactor);
        for other in
            ["", "[]", "{\"client_id\":\"a\"}", "{\"client_id\":\"a\",\"client_secret\":\"\"}"]
        {
            first.note_registration(other.as_bytes());
        }
        first.save(login("a", "https://i")).await.unwrap();
        assert!(first.registered_client().await.unwrap().is_none());
        first.note_registration(br#"{"client_id":"a","client_secret":"s3cret-of-a"}"#);
        first.save(login("a", "https://i")).await.unwrap();
        assert_eq!(redactor.redact_own("s3cret-of-a").find("s3cret"), None);

        // A renewal, of another slug.
        let second = credentials(home.path(), &Redactor::default());
        second.save(login("a", "https://i")).await.unwrap();
        let (id, secret) = second.registered_client().await.unwrap().unwrap();
        assert_eq!((id.as_str(), secret.expose_secret()), ("a", "s3cret-of-a"));
        assert!(second.load().await.unwrap().is_some());

        // Another client, or another issuer, is not sent it.
        for other in [login("b", "https://i"), login("a", "https://other")] {
            second.save(login("a", "https://i")).await.unwrap();
            second.save(other).await.unwrap();
            assert!(second.registered_client().await.unwrap().is_none());
            first.save(login("a", "https://i")).await.unwrap();
        }
    }
}
