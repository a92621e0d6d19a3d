//! The proxy that this machine needs to reach other networks, if slug's environment names one. All
//! connections use a tunnel in it, so that it learns a host and a port and no more.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::head::{self, ProxyRequestKind};
use crate::domain::{NetworkHost, authority, is_exempt_from_proxy};

/// The proxies that the environment names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::platform::sandbox) struct UpstreamProxies {
    tunnel: Option<String>,
    plain: Option<String>,
    exempt: String,
}

impl UpstreamProxies {
    /// Reads `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in upper or lower case.
    pub(in crate::platform::sandbox) fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let first = |names: [&str; 4]| {
            let mut texts = names.into_iter().filter_map(&variable);
            texts.find(|text| !text.trim().is_empty())
        };
        Self {
            tunnel: first(["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            plain: first(["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]),
            exempt: variable("NO_PROXY").or_else(|| variable("no_proxy")).unwrap_or_default(),
        }
    }

    /// The proxy for a host; `None` where it is reached directly, as this machine always is.
    pub(super) fn proxy_for(
        &self,
        host: &NetworkHost,
        port: u16,
        way: &ProxyRequestKind,
    ) -> io::Result<Option<UpstreamProxy>> {
        let named = match way {
            ProxyRequestKind::Tunnel => &self.tunnel,
            ProxyRequestKind::Request { .. } => &self.plain,
        };
        let is_here = match host {
            NetworkHost::Name(name) => name == "localhost",
            NetworkHost::Address(address) => address.is_loopback(),
        };
        match named {
            Some(named) if !is_here => {
                let is_exempt = is_exempt_from_proxy(&self.exempt, &host.to_string(), Some(port));
                (!is_exempt).then(|| UpstreamProxy::read(named)).transpose()
            }
            Some(_) | None => Ok(None),
        }
    }
}

/// A proxy that takes CONNECT.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UpstreamProxy {
    at: String,
    /// Name and password in base64, as they are sent.
    login: Option<String>,
}

impl UpstreamProxy {
    fn read(named: &str) -> io::Result<Self> {
        let named = named.trim();
        let (scheme, rest) = named.split_once("://").unwrap_or(("http", named));
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(STANDARD.encode(decoded(login))), place),
            None => (None, rest),
        };
        match authority(place.trim_end_matches('/')) {
            Some((host, port)) if scheme.eq_ignore_ascii_case("http") => {
                Ok(Self { at: format!("{host}:{}", port.unwrap_or(80)), login })
            }
            Some(_) | None => Err(io::Error::other(format!(
                "slug cannot go through the proxy {scheme}://{place}: it takes http://host:port"
            ))),
        }
    }

    /// Opens a connection to a host through the proxy.
    pub(super) async fn tunnel(&self, host: &NetworkHost, port: u16) -> io::Result<TcpStream> {
        let mut server = TcpStream::connect(&self.at).await?;
        let login = self.login.as_ref().map(|it| format!("Proxy-Authorization: Basic {it}\r\n"));
        let login = login.unwrap_or_default();
        let head = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{login}\r\n");
        server.write_all(head.as_bytes()).await?;
        let answer = answer(&mut server).await?;
        let status = answer.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(1..3));
        if status == Some(b" 2") {
            return Ok(server);
        }
        let line = answer.split(|c| *c == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        Err(io::Error::other(format!("the proxy {} answers `{line}`", self.at)))
    }
}

/// Reads the head of an answer and nothing after it, which belongs to the tunnel.
async fn answer(server: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while head::length(&bytes).is_none() {
        if bytes.len() > head::LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.push(server.read_u8().await?);
    }
    Ok(bytes)
}

/// Decodes `%40` and the like to bytes.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let number =
            digits.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 16).ok());
        bytes.push(number.unwrap_or(*first));
        rest = if number.is_some() { &behind[2..] } else { behind };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(variables: &[(&str, &str)], host: &str, way: &ProxyRequestKind) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(it, _)| *it == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let (host, port) = authority(host).unwrap();
        let upstream =
            UpstreamProxies::from_variables(variable).proxy_for(&host, port.unwrap(), way);
        upstream.map_or_else(|error| Some(error.to_string()), |it| it.map(|it| it.at))
    }

    #[test]
    fn the_environment_names_the_proxy_for_a_host() {
        const P: &str = "http://proxy.lan:3128/";
        let plain =
            ProxyRequestKind::Request { head: Vec::new(), body: head::ProxyBodyFraming::Length(0) };
        for (variables, host, tunnel, request) in [
            (&[][..], "a.org:443", None, None),
            (&[("HTTPS_PROXY", P)], "a.org:443", Some("proxy.lan:3128"), None),
            (&[("http_proxy", "proxy.lan")], "a.org:80", None, Some("proxy.lan:80")),
            (&[("ALL_PROXY", P)], "a.org:80", Some("proxy.lan:3128"), Some("proxy.lan:3128")),
            (&[("ALL_PROXY", P), ("NO_PROXY", "x,.a.org")], "b.a.org:80", None, None),
            (&[("ALL_PROXY", P)], "localhost:80", None, None),
            (&[("ALL_PROXY", P)], "[::1]:80", None, None),
            (&[("HTTPS_PROXY", " ")], "a.org:443", None, None),
        ] {
            assert_eq!(
                way(variables, host, &ProxyRequestKind::Tunnel).as_deref(),
                tunnel,
                "{variables:?}"
            );
            assert_eq!(way(variables, host, &plain).as_deref(), request, "{variables:?}");
        }
        let odd = way(
            &[("HTTPS_PROXY", "socks5://u:secret@p:1")],
            "a.org:443",
            &ProxyRequestKind::Tunnel,
        );
        let odd = odd.unwrap();
        assert!(odd.contains("socks5://p:1") && !odd.contains("secret"), "{odd}");
    }

    #[test]
    fn name_and_password_are_decoded_before_they_are_sent() {
        let login = |named: &str| UpstreamProxy::read(named).unwrap().login;
        assert_eq!(login("http://u:p%40%3a%@h:1").unwrap(), STANDARD.encode("u:p@:%"));
        assert_eq!(login("http://h:1"), None);
    }
}
