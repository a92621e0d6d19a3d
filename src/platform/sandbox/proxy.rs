//! Connects a sandbox to the hosts that the user listed: an HTTP proxy for CONNECT and for plain
//! requests with a whole address.
//!
//! It runs in the supervisor, outside the sandbox, one for each command, and ends with it. The
//! proxy itself confines nothing: the network namespace does, in which only the proxy can be
//! reached ([`super::proxy_socket`]). A host is checked by its name before it is looked up, and
//! then by each of its addresses; the connection goes to one of exactly these addresses. The bytes
//! in a tunnel are the client's own and are not inspected.

mod head;
mod request;
mod upstream;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::refused_hosts::RefusedHosts;
use crate::domain::{AddressScope, HostRule, NetworkHost, address_scope};
use crate::net::is_own_address;
use head::{ProxyRequest, ProxyRequestKind};

pub(super) use upstream::UpstreamProxies;

/// The most connections at one time; further ones wait.
const MAX_CONNECTIONS: usize = 256;

/// How long a client may take for its head, and a server for the connection.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a name is looked up here when another proxy looks it up anyway.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves the connections of `listener`, for ever.
pub(super) async fn serve(
    listener: TcpListener,
    hosts: Arc<[HostRule]>,
    upstreams: UpstreamProxies,
    refused: RefusedHosts,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((client, _)) = listener.accept().await else {
            // For example out of descriptors; some become free again.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (hosts, upstreams, refused) = (hosts.clone(), upstreams.clone(), refused.clone());
        tokio::spawn(async move {
            // A client or server that goes away is no failure of the proxy.
            let _ = serve_one(client, &hosts, &upstreams, &refused).await;
            drop(place);
        });
    }
}

async fn serve_one(
    mut client: TcpStream,
    hosts: &[HostRule],
    upstreams: &UpstreamProxies,
    refused: &RefusedHosts,
) -> io::Result<()> {
    let (head, rest) = timeout(STEP_TIMEOUT, read_head(&mut client)).await??;
    let wanted = match head::read(&head) {
        Ok(wanted) => wanted,
        Err(why) => return answer(&mut client, "400 Bad Request", why).await,
    };
    let connected = connect(hosts, upstreams, &wanted).await;
    let ProxyRequest { host, port, way } = wanted;
    let mut server = match connected {
        Ok(server) => server,
        Err(ProxyConnectError::Refused(why)) => {
            refused.note(format!("{host}:{port}{why}"));
            let why = format!("the sandbox refuses {host}:{port}{why}");
            return answer(&mut client, "403 Forbidden", &why).await;
        }
        Err(ProxyConnectError::Network(error)) => {
            let why = format!("cannot reach {host}:{port}: {error}");
            return answer(&mut client, "502 Bad Gateway", &why).await;
        }
    };
    match way {
        ProxyRequestKind::Tunnel => {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            server.write_all(&rest).await?;
            copy_bidirectional(&mut client, &mut server).await.map(|_| ())
        }
        ProxyRequestKind::Request { head, body } => {
            server.write_all(&head).await?;
            request::pass(&mut client, &mut server, body, &rest).await
        }
    }
}

/// Reads the head, and returns what has come after it, too.
async fn read_head(client: &mut TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(length) = head::length(&bytes) {
            let rest = bytes.split_off(length);
            return Ok((bytes, rest));
        }
        if bytes.len() > head::LONGEST || client.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// Why there is no connection.
enum ProxyConnectError {
    /// The host is not allowed; the text goes after the host's name.
    Refused(&'static str),
    Network(io::Error),
}

async fn connect(
    hosts: &[HostRule],
    upstreams: &UpstreamProxies,
    wanted: &ProxyRequest,
) -> Result<TcpStream, ProxyConnectError> {
    let ProxyRequest { host, port, way } = wanted;
    let scope = address_scope(hosts, host, *port);
    if scope == AddressScope::Nothing {
        return Err(ProxyConnectError::Refused(""));
    }
    let upstream = upstreams.proxy_for(host, *port, way).map_err(ProxyConnectError::Network)?;
    let found = match (host, &upstream) {
        (NetworkHost::Address(address), _) => vec![*address],
        (NetworkHost::Name(name), None) => {
            look_up(name, *port).await.map_err(ProxyConnectError::Network)?
        }
        // This machine may not know the name.
        (NetworkHost::Name(name), Some(_)) => {
            let found = timeout(LOOKUP_TIMEOUT, look_up(name, *port)).await;
            found.ok().and_then(Result::ok).unwrap_or_default()
        }
    };
    let is_known = !found.is_empty();
    let allowed: Vec<SocketAddr> = found
        .into_iter()
        .filter(|address| scope.allows(*address))
        .filter(|address| scope != AddressScope::Public || !is_own_address(*address))
        .map(|address| SocketAddr::new(address, *port))
        .collect();
    if allowed.is_empty() && (is_known || upstream.is_none()) {
        return Err(ProxyConnectError::Refused(", which leads to this machine or its own network"));
    }
    let connected = match &upstream {
        Some(upstream) => timeout(STEP_TIMEOUT, upstream.tunnel(host, *port)).await,
        None => timeout(STEP_TIMEOUT, TcpStream::connect(&allowed[..])).await,
    };
    connected.unwrap_or_else(|late| Err(late.into())).map_err(ProxyConnectError::Network)
}

async fn look_up(name: &str, port: u16) -> io::Result<Vec<IpAddr>> {
    Ok(lookup_host((name, port)).await?.map(|found| found.ip()).collect())
}

async fn answer(client: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let body = format!("{why}\n");
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\
         \r\nConnection: close\r\n\r\n"
    );
    client.write_all(format!("{head}{body}").as_bytes()).await?;
    client.shutdown().await
}

#[cfg(test)]
mod tests;
