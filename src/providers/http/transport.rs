//! What a client is built with, beside its limits of time: certificates, a proxy, headers.
//!
//! Files are read when the client is built, at the first request. No message holds what stands in
//! them, nor a proxy's password.

use std::path::{Path, PathBuf};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, ClientBuilder, Identity, Url};
use secrecy::{ExposeSecret, SecretString};

use super::{TimeoutSettings, proxies};

/// How a server is reached.
#[derive(Debug, Clone, Default)]
pub struct TransportConfig {
    /// Sent with every request, but for those that slug fills in itself.
    pub headers: Vec<(String, SecretHeaderValue)>,
    /// A file with certificates that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// What slug shows when it is asked who it is.
    pub client: Option<ClientCertificate>,
    /// Which proxy is asked. None is, for a server on this machine.
    pub proxy: ProxySelection,
    /// The person's own limits of time.
    pub timeouts: TimeoutSettings,
}

/// A header's value; never shown.
#[derive(Debug, Clone)]
pub enum SecretHeaderValue {
    /// This.
    Value(SecretString),
    /// It was to come from the environment variable of this name, which is not set.
    Missing(String),
}

/// A certificate and its private key, as PEM files.
#[derive(Debug, Clone)]
pub struct ClientCertificate {
    /// The certificate, with those between it and its authority; its key, too, where `key` is none.
    pub certificate: PathBuf,
    /// Its key.
    pub key: Option<PathBuf>,
}

/// Which proxy is asked.
#[derive(Debug, Clone, Default)]
pub enum ProxySelection {
    /// The one that the system names, in `HTTPS_PROXY` and the like.
    #[default]
    System,
    /// None.
    Never,
    /// The one at this address, which may have a password in it.
    At(SecretString),
}

/// What was read of the files.
pub(super) struct HttpClientSettings {
    headers: HeaderMap,
    pub(super) authorities: Vec<Certificate>,
    identity: Option<Identity>,
    proxy_source: ClientProxySource,
    /// Where one is named.
    proxy: Option<reqwest::Proxy>,
}

/// What becomes of the proxies that the system names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientProxySource {
    System,
    Own,
}

impl TransportConfig {
    /// The headers alone: all that plain http to this machine needs.
    pub(super) fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        for (name, text) in &self.headers {
            let value = match text {
                SecretHeaderValue::Value(value) => value,
                SecretHeaderValue::Missing(variable) => {
                    return Err(format!(
                        "The header `{name}` takes its value from the environment variable \
                         {variable}, which is not set."
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

    /// Whether the environment has `url` asked directly, in words that the client does not know.
    pub(super) fn is_exempt(&self, url: &Url) -> bool {
        match self.proxy {
            ProxySelection::System => proxies::is_exempt(url, |name| std::env::var(name).ok()),
            ProxySelection::Never | ProxySelection::At(_) => false,
        }
    }

    /// The proxy through which `url` is asked, fit to be shown.
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
        let (way, proxy) = match &self.proxy {
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
            proxy_source: way,
            proxy,
        })
    }
}

impl HttpClientSettings {
    /// Puts all of it but the authorities into a client that is being built.
    pub(super) fn apply(&self, builder: ClientBuilder, reach: HttpDestination) -> ClientBuilder {
        let builder = builder.default_headers(self.headers.clone());
        let builder = match &self.identity {
            Some(identity) => builder.identity(identity.clone()),
            None => builder,
        };
        match (reach, self.proxy_source, &self.proxy) {
            (HttpDestination::Elsewhere, ClientProxySource::System, _) => builder,
            (HttpDestination::Elsewhere, ClientProxySource::Own, Some(proxy)) => {
                builder.proxy(proxy.clone())
            }
            (HttpDestination::Elsewhere, ClientProxySource::Own, None)
            | (HttpDestination::ThisMachine, _, _) => builder.no_proxy(),
        }
    }
}

/// Where the server is.
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
            Err(format!("{} holds no certificates in PEM form. Check `ca_file`.", file.display()))
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
            "{} is no certificate with its private key, unencrypted and in PEM form. Check \
             `client_certificate` and `client_key`.",
            client.certificate.display()
        )
    })
}

fn read(file: &Path, key: &str) -> Result<Vec<u8>, String> {
    std::fs::read(file)
        .map_err(|error| format!("{} cannot be read: {error}. Check `{key}`.", file.display()))
}
