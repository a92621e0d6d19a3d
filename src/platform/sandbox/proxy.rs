//! The way from a sandbox to the hosts that the person listed: an HTTP proxy for CONNECT and for
//! plain requests with a whole address.
//!
//! It runs in the supervisor, outside, one for each command, and ends with it. It is no boundary:
//! that is the network's namespace, in which nothing but this can be reached ([`super::door`]). A
//! host is decided on by its name, before it is looked up; then by each address that it leads to,
//! and the connection goes to one of just these. What is spoken in a tunnel is the client's own and
//! is not looked into.

mod head;
mod request;
mod upstream;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::refused_hosts::RefusedHosts;
use crate::domain::{AddressScope, HostRule, NetworkHost, address_scope};
use head::{ProxyRequest, ProxyRequestKind};

pub(super) use upstream::UpstreamProxies;

/// Connections at one time; more wait.
const MAX_CONNECTIONS: usize = 256;

/// How long a head may take, and a connection to a server.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a name may be looked up that another proxy is to look up.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves what comes to `listener`, for ever.
pub(super) async fn serve(
    listener: TcpListener,
    hosts: Arc<[HostRule]>,
    ways: UpstreamProxies,
    refused: RefusedHosts,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((client, _)) = listener.accept().await else {
            // Out of descriptors, for one: they come back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (hosts, ways, refused) = (hosts.clone(), ways.clone(), refused.clone());
        tokio::spawn(async move {
            // A client or server that goes away is their own affair.
            let _ = serve_one(client, &hosts, &ways, &refused).await;
            drop(place);
        });
    }
}

async fn serve_one(
    mut client: TcpStream,
    hosts: &[HostRule],
    ways: &UpstreamProxies,
    refused: &RefusedHosts,
) -> io::Result<()> {
    let (head, rest) = timeout(STEP_TIMEOUT, read_head(&mut client)).await??;
    let wanted = match head::read(&head) {
        Ok(wanted) => wanted,
        Err(why) => return answer(&mut client, "400 Bad Request", why).await,
    };
    let connected = connect(hosts, ways, &wanted).await;
    let ProxyRequest { host, port, way } = wanted;
    let mut server = match connected {
        Ok(server) => server,
        Err(ProxyConnectError::Refused(why)) => {
            refused.note(format!("{host}:{port}{why}"));
            let why = format!("the sandbox refuses {host}:{port}{why}");
            return answer(&mut client, "403 Forbidden", &why).await;
        }
        Err(ProxyConnectError::Network(error)) => {
            let why = format!("{host}:{port} cannot be reached: {error}");
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

/// The head, and what has come behind it.
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
    /// It is not allowed; what there is to say behind the host.
    Refused(&'static str),
    Network(io::Error),
}

async fn connect(
    hosts: &[HostRule],
    ways: &UpstreamProxies,
    wanted: &ProxyRequest,
) -> Result<TcpStream, ProxyConnectError> {
    let ProxyRequest { host, port, way } = wanted;
    let scope = address_scope(hosts, host, *port);
    if scope == AddressScope::Nothing {
        return Err(ProxyConnectError::Refused(""));
    }
    let upstream = ways.proxy_for(host, *port, way).map_err(ProxyConnectError::Network)?;
    let found = match (host, &upstream) {
        (NetworkHost::Address(address), _) => vec![*address],
        (NetworkHost::Name(name), None) => {
            look_up(name, *port).await.map_err(ProxyConnectError::Network)?
        }
        // It may not be known here.
        (NetworkHost::Name(name), Some(_)) => {
            let found = timeout(LOOKUP_TIMEOUT, look_up(name, *port)).await;
            found.ok().and_then(Result::ok).unwrap_or_default()
        }
    };
    let is_known = !found.is_empty();
    let allowed: Vec<SocketAddr> = found
        .into_iter()
        .filter(|address| scope.allows(*address))
        .filter(|address| scope != AddressScope::Public || !is_own(*address))
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

/// Whether an address is this machine's: only such a one can be bound to, where the kernel does not
/// let everything be.
fn is_own(address: IpAddr) -> bool {
    let binds = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
    // Given to documents, and so to no machine.
    let nobodys: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    binds(address) && !binds(nobodys)
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
