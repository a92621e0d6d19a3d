//! One request to a server that nobody has configured: a page of the web.
//!
//! Where such a request may connect to is checked before and after the name is resolved. The client
//! connects only to addresses that its own resolver has checked, so that a name cannot lead elsewhere a
//! moment later. A host that is an address never reaches a resolver and is checked by itself. Behind a
//! proxy it is the proxy that resolves, so there only the host as it is written is checked.
//!
//! No cookie, key or referrer is sent, no redirect is followed, and the response is bounded in time and,
//! after decompression, in size.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use reqwest::{Client, ClientBuilder, RequestBuilder, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use super::transport::HttpDestination;
use super::{TransportConfig, build, client_builder, failure, is_own_address};
use crate::domain::{NetworkHost, WebAddress};

/// The time limit for a whole exchange.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The time limit for a lookup; the connection has a limit of its own.
const LOOKUP_LIMIT: Duration = Duration::from_secs(10);

/// What the addresses of a name are asked for.
#[async_trait]
pub trait HostLookup: Send + Sync {
    /// The addresses of a host.
    ///
    /// # Errors
    ///
    /// When the name has none, or no name server answers.
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// Whether an address is this machine's, though it may be public.
    fn is_own(&self, address: IpAddr) -> bool {
        is_own_address(address)
    }
}

/// The resolver of the system.
#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

#[async_trait]
impl HostLookup for SystemLookup {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((name, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// Where a request may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageReach {
    /// The public network.
    Public,
    /// The address that is the host, or this machine where the host is its name, even if that is not
    /// public, because a rule of the user's names it. Any other name leads to the public network only.
    Named,
    /// Anywhere: the server is one of the user's configuration.
    Configured,
}

/// A GET or POST request to one address; a redirect is not part of it.
#[derive(Debug, Clone)]
pub struct PageRequest {
    pub address: WebAddress,
    pub reach: PageReach,
    pub user_agent: String,
    pub accept: &'static str,
    /// Other headers; values may be keys.
    pub headers: Vec<(&'static str, SecretString)>,
    /// `None` for a GET request.
    pub body: Option<PageBody>,
    /// The most bytes of the response's body, after decompression.
    pub limit: usize,
}

/// The body of a POST request, with its media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageBody {
    pub content_type: &'static str,
    pub text: String,
}

/// A response, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageResponse {
    pub status: u16,
    pub content_type: Option<String>,
    /// The target of a redirect as the server wrote it.
    pub location: Option<String>,
    pub body: Vec<u8>,
    /// Whether the body went on beyond the limit.
    pub is_cut: bool,
}

/// Why a request has no response. Each text is a sentence about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The host is, or leads to, an address that the request may not connect to.
    #[error("{host} leads to {address}, which is not in the public network. Nothing was sent.")]
    Private { host: String, address: IpAddr },
    #[error("The host {0} was not found. Check the address.")]
    NoHost(String),
    #[error("{0} has not sent the whole answer within {n} s.", n = TIME_LIMIT.as_secs())]
    TooSlow(String),
    /// Anything else on the way; the text is a sentence.
    #[error("{0}")]
    Transport(String),
}

/// Requests pages. The connections are shared by all requests with the same reach.
pub struct PageClient {
    transport: TransportConfig,
    lookup: Arc<dyn HostLookup>,
    time_limit: Duration,
    guarded: OnceLock<Result<Client, String>>,
    direct: OnceLock<Result<Client, String>>,
    by_proxy: OnceLock<Result<Client, String>>,
}

impl PageClient {
    /// A client with these certificates and this proxy. Nothing is read or built yet.
    pub fn new(lookup: Arc<dyn HostLookup>, transport: TransportConfig) -> Self {
        Self {
            transport,
            lookup,
            time_limit: TIME_LIMIT,
            guarded: OnceLock::new(),
            direct: OnceLock::new(),
            by_proxy: OnceLock::new(),
        }
    }

    /// Sends a request and reads the response. A drop ends it.
    ///
    /// # Errors
    ///
    /// When the host may not be connected to, cannot be reached, or does not answer in time. A response
    /// with an error status is none.
    pub async fn request(&self, request: &PageRequest) -> Result<PageResponse, PageError> {
        let host = request.address.host().to_string();
        let exchange = self.exchange(request);
        timeout(self.time_limit, exchange).await.map_err(|_| PageError::TooSlow(host))?
    }

    async fn exchange(&self, request: &PageRequest) -> Result<PageResponse, PageError> {
        let address = &request.address;
        if request.reach == PageReach::Public
            && let Some(private) = self.closed_address(address)
        {
            return Err(PageError::Private { host: address.host().to_string(), address: private });
        }
        let url = Url::parse(address.as_str())
            .map_err(|error| PageError::Transport(format!("{address} {error}.")))?;
        let sent = self.built(request, url)?.send().await;
        let response = sent.map_err(|error| meaning(address, &error))?;
        read(response, request).await
    }

    fn built(&self, request: &PageRequest, url: Url) -> Result<RequestBuilder, PageError> {
        let client = self.client(request, &url)?;
        let mut builder = match &request.body {
            None => client.get(url),
            Some(body) => {
                client.post(url).header(CONTENT_TYPE, body.content_type).body(body.text.clone())
            }
        };
        let agent = HeaderValue::from_str(&request.user_agent)
            .map_err(|_| PageError::Transport("The user agent cannot be sent.".into()))?;
        builder = builder
            .header(USER_AGENT, agent)
            .header(ACCEPT, request.accept)
            .header(ACCEPT_LANGUAGE, "en,*;q=0.5");
        for (name, value) in &request.headers {
            let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| {
                PageError::Transport(format!("The header {name} cannot be sent: check the key."))
            })?;
            value.set_sensitive(true);
            builder = builder.header(HeaderName::from_static(name), value);
        }
        Ok(builder)
    }

    /// The address that the host is, or stands for, where that is not public or this machine's.
    fn closed_address(&self, address: &WebAddress) -> Option<IpAddr> {
        let (own, is_here) = match address.host() {
            NetworkHost::Address(own) => (*own, self.lookup.is_own(own.to_canonical())),
            NetworkHost::Name(_) => (IpAddr::from([127, 0, 0, 1]), false),
        };
        (is_here || address.is_definite() && address.is_private()).then_some(own)
    }

    /// The client for a request, built now if it is not yet.
    fn client(&self, request: &PageRequest, url: &Url) -> Result<&Client, PageError> {
        let is_direct = (request.address.is_definite() && request.address.is_private())
            || self.transport.is_exempt(url)
            || self.transport.proxy_towards(url).is_none();
        let built = |finish: &dyn Fn(ClientBuilder) -> ClientBuilder, to: HttpDestination| {
            let settings = self.transport.read()?;
            build(
                || finish(settings.apply(client_builder().referer(false), to)),
                &settings.authorities,
            )
        };
        let client = match (request.reach, is_direct) {
            (_, false) => self.by_proxy.get_or_init(|| built(&|it| it, HttpDestination::Elsewhere)),
            (PageReach::Configured, true) => {
                self.direct.get_or_init(|| built(&|it| it, HttpDestination::ThisMachine))
            }
            (PageReach::Public | PageReach::Named, true) => self.guarded.get_or_init(|| {
                let resolver = || Arc::new(GuardedResolver { lookup: self.lookup.clone() });
                built(&|it| it.dns_resolver(resolver()), HttpDestination::ThisMachine)
            }),
        };
        client.as_ref().map_err(|reason| PageError::Transport(reason.clone()))
    }
}

/// Resolves names, and lets no address through that a request for the name may not connect to.
struct GuardedResolver {
    lookup: Arc<dyn HostLookup>,
}

/// A name that leads out of the public network.
#[derive(Debug, thiserror::Error)]
#[error("{name} leads to {address}")]
struct PrivateAddressError {
    name: String,
    address: IpAddr,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, name) = (self.lookup.clone(), name.as_str().to_owned());
        Box::pin(async move {
            let found = timeout(LOOKUP_LIMIT, lookup.addresses(&name)).await;
            let found = found.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            let host = NetworkHost::parse(&name);
            let is_own = |it: &IpAddr| !it.is_loopback() && lookup.is_own(it.to_canonical());
            let may_reach =
                |it: &IpAddr| host.as_ref().is_some_and(|host| host.may_reach(*it)) && !is_own(it);
            // One address that is not public spoils all: which one is taken would be chance.
            if let Some(address) = found.iter().copied().find(|it| !may_reach(it)) {
                return Err(PrivateAddressError { name, address }.into());
            }
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// What a request that did not get through means.
fn meaning(address: &WebAddress, error: &reqwest::Error) -> PageError {
    let host = address.host().to_string();
    if let Some(private) =
        failure::causes(error).find_map(|it| it.downcast_ref::<PrivateAddressError>())
    {
        return PageError::Private { host, address: private.address };
    }
    if error.is_connect() && error.is_timeout() {
        return PageError::Transport(format!("Cannot reach {host}: no answer within 10 s."));
    }
    if failure::was_refused(error) {
        let port = address.port();
        return PageError::Transport(format!("Nothing answers at {host} on port {port}."));
    }
    if error.is_dns() {
        return PageError::NoHost(host);
    }
    let why = super::HttpTarget::default().plain_line(&failure::chain(error));
    match error.is_connect() {
        true => PageError::Transport(format!("Cannot reach {host}: {why}.")),
        false => PageError::Transport(format!("The connection to {host} broke: {why}.")),
    }
}

async fn read(mut response: Response, request: &PageRequest) -> Result<PageResponse, PageError> {
    let text = |name| {
        let value = response.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let (content_type, location) = (text(CONTENT_TYPE), text(LOCATION));
    let status = response.status().as_u16();
    let (mut body, mut is_cut) = (Vec::new(), false);
    while let Some(chunk) =
        response.chunk().await.map_err(|error| meaning(&request.address, &error))?
    {
        let room = request.limit - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            is_cut = true;
            break;
        }
    }
    Ok(PageResponse { status, content_type, location, body, is_cut })
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
