//! Connects a command in a network of its own with slug's proxy, and with nothing else.
//!
//! slug starts itself inside the sandbox, before the command. That process ([`main`]) does one
//! thing: it listens on a port of the network inside and sends the listening socket out, over a
//! socket that it got as its standard input. A socket belongs to the network in which it was made,
//! so the supervisor outside can now accept the connections that are made inside. Nothing of slug's
//! stays with the command, not even a descriptor.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener as StdTcpListener};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::ExitCode;
use std::sync::Arc;

use rustix::io::FdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::{TcpListener, UnixStream};

use super::proxy;
use super::refused_hosts::RefusedHosts;
use crate::domain::{HostRule, NetworkHost};
use crate::platform::supervisor;

/// The argument after [`supervisor::COMMAND`] that makes slug run as this process.
pub(in crate::platform) const COMMAND: &str = "door";

/// The port of the proxy inside. The network there is new, so every port is free.
pub(super) const PORT: u16 = 3128;

/// What the process inside needs to send the listening socket out.
pub(super) struct InnerProxySocket {
    slug: File,
    socket: OwnedFd,
}

/// Receives the listening socket outside the sandbox.
#[derive(Debug)]
pub(super) struct OuterProxySocket {
    socket: StdUnixStream,
    hosts: Arc<[HostRule]>,
}

/// Makes both halves of a proxy socket for these hosts.
pub(super) fn make(hosts: &[HostRule]) -> io::Result<(InnerProxySocket, OuterProxySocket)> {
    let (ours, theirs) = StdUnixStream::pair()?;
    let inner =
        InnerProxySocket { slug: File::open("/proc/self/exe")?, socket: OwnedFd::from(theirs) };
    for passed_on in [inner.slug.as_fd(), inner.socket.as_fd()] {
        rustix::io::fcntl_setfd(passed_on, FdFlags::empty())?;
    }
    Ok((inner, OuterProxySocket { socket: ours, hosts: hosts.into() }))
}

impl InnerProxySocket {
    /// The script for a bash inside: sends the socket out, then becomes `$0` with its arguments.
    pub(super) fn script(&self) -> String {
        let (slug, socket) = (self.slug.as_raw_fd(), self.socket.as_raw_fd());
        format!(
            "/proc/self/fd/{slug} {} {COMMAND} <&{socket} || \
             echo 'slug: the way to the network could not be opened' >&2; \
             exec {slug}<&- {socket}<&-; exec \"$0\" \"$@\"",
            supervisor::COMMAND
        )
    }
}

/// The variables that tell programs inside about the proxy. This machine's loopback is exempt
/// unless it is listed: without that it means the command's own network.
pub(super) fn variables(hosts: &[HostRule]) -> Vec<(&'static str, String)> {
    let address = format!("http://{}:{PORT}", Ipv4Addr::LOCALHOST);
    let is_listed = |host: NetworkHost| hosts.iter().any(|rule| rule.matches_host(&host));
    let own = ["localhost", "127.0.0.1", "[::1]"].into_iter();
    let own = own.filter(|own| !NetworkHost::parse(own).is_some_and(is_listed));
    let own: Vec<&str> = own.map(|own| own.trim_matches(['[', ']'])).collect();
    let through =
        ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let through = through.map(|name| (name, address.clone()));
    let around = ["NO_PROXY", "no_proxy"].map(|name| (name, own.join(",")));
    let node = [("NODE_USE_ENV_PROXY", "1".to_owned())];
    through.into_iter().chain(around).chain(node).collect()
}

impl OuterProxySocket {
    /// Serves the connections once the socket has arrived; returns where it never will.
    pub(super) async fn serve(self, refused: RefusedHosts) {
        if let Ok(listener) = opened(self.socket).await {
            let upstreams = proxy::UpstreamProxies::from_variables(|name| std::env::var(name).ok());
            proxy::serve(listener, self.hosts, upstreams, refused).await;
        }
    }
}

async fn opened(socket: StdUnixStream) -> io::Result<TcpListener> {
    socket.set_nonblocking(true)?;
    let socket = UnixStream::from_std(socket)?;
    let listener = loop {
        socket.readable().await?;
        match socket.try_io(Interest::READABLE, || receive(&socket)) {
            Ok(listener) => break listener,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    };
    let listener = StdTcpListener::from(listener);
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

fn receive(socket: &impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC;
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags)?;
    let handed = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut handed) => handed.next(),
        _ => None,
    });
    handed.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Listens inside the sandbox and sends the socket out. Standard input is the socket to send it by.
pub(in crate::platform) fn main() -> ExitCode {
    let opened = StdTcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).and_then(|listener| {
        let handed = [listener.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&handed));
        let byte = [IoSlice::new(b"d")];
        Ok(sendmsg(io::stdin(), &byte, &mut ancillary, SendFlags::NOSIGNAL)?)
    });
    match opened {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_loopback_goes_through_the_proxy() {
        let around = |listed: &[&str]| {
            let hosts: Vec<HostRule> = listed.iter().map(|text| text.parse().unwrap()).collect();
            let variables = variables(&hosts);
            variables.iter().find(|(name, _)| *name == "no_proxy").unwrap().1.clone()
        };
        assert_eq!(around(&["example.org"]), "localhost,127.0.0.1,::1");
        assert_eq!(around(&["127.0.0.1:8000"]), "localhost,::1");
        assert_eq!(around(&["localhost:8000", "[::1]:80"]), "127.0.0.1");
    }
}
