//! The settings of an HTTP client besides its time limits: certificates, proxy, headers.
//!
//! Files are read when the client is built, at the first request. No message repeats their content,
//! nor a proxy's password.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, ClientBuilder, Identity, Url};
use secrecy::{ExposeSecret, SecretString};

use super::{TimeoutSettings, WireLog, proxies};

/// The HTTP settings of one server.
#[derive(Debug, Clone, Default)]
pub struct TransportConfig {
    /// Sent with every request, except for headers that slug sets itself.
    pub headers: Vec<(String, SecretHeaderValue)>,
    /// A PEM file with certificates that are trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// The certificate with which slug identifies itself, if the server asks for one.
    pub client: Option<ClientCertificate>,
    /// Which proxy to use. A server on this machine is always reached directly.
    pub proxy: ProxySelection,
    /// The user's own time limits.
    pub timeouts: TimeoutSettings,
    /// The socket that all requests go to, whatever their address says; no proxy is used then.
    pub unix_socket: Option<PathBuf>,
    /// Records the bodies of requests and responses; `None` while nobody wants them.
    pub wire_log: Option<Arc<dyn WireLog>>,
}

/// A header's value, which is never shown.
#[derive(Debug, Clone)]
pub enum SecretHeaderValue {
    /// The value itself, from the configuration or an environment variable.
    Value(SecretString),
    /// The environment variable with this name should hold the value, but is not set.
    Missing(String),
}

/// A certificate and its private key, as PEM files.
#[derive(Debug, Clone)]
pub struct ClientCertificate {
    /// The certificate with its intermediates. It also holds the key if `key` is `None`.
    pub certificate: PathBuf,
    /// The private key; `None` if `certificate` holds it.
    pub key: Option<PathBuf>,
}

/// Which proxy requests go through.
#[derive(Debug, Clone, Default)]
pub enum ProxySelection {
    /// The proxy that the environment names, in `HTTPS_PROXY` and the like.
    #[default]
    System,
    /// No proxy.
    Never,
    /// The proxy at this address, which may contain a password.
    At(SecretString),
}

/// The settings after the files have been read.
pub(super) struct HttpClientSettings {
    headers: HeaderMap,
    pub(super) authorities: Vec<Certificate>,
    identity: Option<Identity>,
    proxy_source: ClientProxySource,
    /// The configured proxy; `None` unless one is configured.
    proxy: Option<reqwest::Proxy>,
}

/// Which proxies of the environment the client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientProxySource {
    System,
    Own,
}

impl TransportConfig {
    /// Only the headers: plain http to this machine needs nothing else.
    pub(super) fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        for (name, text) in &self.headers {
            let value = match text {
                SecretHeaderValue::Value(value) => value,
                SecretHeaderValue::Missing(variable) => {
                    return Err(format!(
                        "The header `{name}` comes from the environment variable {variable}, \
                         which is not set."
                    ));
                }
            };
            let wrong = || format!("The header `{name}` cannot be sent. Check it in `headers`.");
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// Whether a `NO_PROXY` entry that the client does not understand exempts `url`.
    pub(super) fn is_exempt(&self, url: &Url) -> bool {
        match self.proxy {
            ProxySelection::System => proxies::is_exempt(url, |name| std::env::var(name).ok()),
            ProxySelection::Never | ProxySelection::At(_) => false,
        }
    }

    /// The proxy for `url`, without credentials; `None` for a direct connection.
    pub(super) fn proxy_towards(&self, url: &Url) -> Option<String> {
        match &self.proxy {
            ProxySelection::System => proxies::proxy_for(url, |name| std::env::var(name).ok()),
            ProxySelection::Never => None,
            ProxySelection::At(address) => {
                Some(proxies::without_credentials(address.expose_secret()))
            }
        }
    }

    /// Reads the files.
    pub(super) fn read(&self) -> Result<HttpClientSettings, String> {
        let authorities = match &self.ca_file {
            Some(file) => authorities(file)?,
            None => Vec::new(),
        };
        let identity = self.client.as_ref().map(identity).transpose()?;
        let (proxy_source, proxy) = match &self.proxy {
            ProxySelection::System => (ClientProxySource::System, None),
            ProxySelection::Never => (ClientProxySource::Own, None),
            ProxySelection::At(address) => {
                let proxy = reqwest::Proxy::all(address.expose_secret());
                let proxy = proxy.map_err(|_| {
                    "The address of the proxy cannot be used. Check `proxy`.".to_owned()
                })?;
                (ClientProxySource::Own, Some(proxy))
            }
        };
        Ok(HttpClientSettings {
            headers: self.headers()?,
            authorities,
            identity,
            proxy_source,
            proxy,
        })
    }
}

impl HttpClientSettings {
    /// Applies all settings except the authorities to a client that is being built.
    pub(super) fn apply(
        &self,
        builder: ClientBuilder,
        destination: HttpDestination,
    ) -> ClientBuilder {
        let builder = builder.default_headers(self.headers.clone());
        let builder = match &self.identity {
            Some(identity) => builder.identity(identity.clone()),
            None => builder,
        };
        match (destination, self.proxy_source, &self.proxy) {
            (HttpDestination::Elsewhere, ClientProxySource::System, _) => builder,
            (HttpDestination::Elsewhere, ClientProxySource::Own, Some(proxy)) => {
                builder.proxy(proxy.clone())
            }
            (HttpDestination::Elsewhere, ClientProxySource::Own, None)
            | (HttpDestination::ThisMachine, _, _) => builder.no_proxy(),
        }
    }
}

/// The kind of server that a client is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpDestination {
    ThisMachine,
    Elsewhere,
}

fn authorities(file: &Path) -> Result<Vec<Certificate>, String> {
    let pem = read(file, "ca_file")?;
    match Certificate::from_pem_bundle(&pem) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) | Err(_) => {
            Err(format!("{} contains no PEM certificates. Check `ca_file`.", file.display()))
        }
    }
}

fn identity(client: &ClientCertificate) -> Result<Identity, String> {
    let mut pem = read(&client.certificate, "client_certificate")?;
    if let Some(key) = &client.key {
        pem.push(b'\n');
        pem.extend(read(key, "client_key")?);
    }
    Identity::from_pem(&pem).map_err(|_| {
        format!(
            "{} is not an unencrypted PEM certificate with its private key. Check \
             `client_certificate` and `client_key`.",
            client.certificate.display()
        )
    })
}

fn read(file: &Path, key: &str) -> Result<Vec<u8>, String> {
    std::fs::read(file)
        .map_err(|error| format!("Cannot read {}: {error}. Check `{key}`.", file.display()))
}
