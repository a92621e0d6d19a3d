//! The address of a page as a model writes it: which addresses slug requests at all, and the host that
//! rules are about.
//!
//! One parser reads an address for the decision and for the request, so that both mean the same host.
//! What people do not write but attackers do is refused: a name and password, a host in an unusual
//! spelling, ports of other protocols. Where a name leads is the fetching side's question.

use std::fmt;

use url::{Host, Url};

use super::hosts::{AddressScope, NetworkHost, is_wrapped};
use super::is_this_machine;

/// The longest address that is read, in bytes. Browsers go up to 2 MB; this one is shown in a question.
const LONGEST: usize = 4096;

/// Ports of protocols in which a request could be read as a command (the "bad ports" of the Fetch
/// standard, without 0).
const OTHER_PROTOCOLS: [u16; 81] = [
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
    512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
    995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
    6669, 6679, 6697,
];

/// The address of a page: http or https, with a host that rules can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress {
    url: Url,
    host: NetworkHost,
    port: u16,
}

/// Why slug does not request an address. Each text is the end of a sentence about the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebAddressError {
    #[error("is not a web address: send one like https://example.org/page")]
    Malformed,
    #[error("is longer than {LONGEST} bytes")]
    TooLong,
    #[error("has the scheme {0}, and only http and https can be fetched")]
    Scheme(String),
    #[error("has a name or password in it: send it without")]
    Credentials,
    #[error("has a host in an unusual spelling: write {0}")]
    Spelling(String),
    #[error("has an IPv6 address that stands for an IPv4 one: write the IPv4 address")]
    Wrapped,
    #[error("has the port {0}, which browsers refuse, too")]
    Port(u16),
}

impl WebAddress {
    /// Reads an address. Without a scheme it is https. A fragment is dropped.
    ///
    /// # Errors
    ///
    /// When the text is no address that slug requests; the error says why.
    pub fn parse(text: &str) -> Result<Self, WebAddressError> {
        let text = text.trim();
        if text.len() > LONGEST {
            return Err(WebAddressError::TooLong);
        }
        if text.chars().any(|c| c.is_control() || c == '\\') {
            return Err(WebAddressError::Malformed);
        }
        match text.split_once("://") {
            Some(_) => Self::of(Url::parse(text).map_err(|_| WebAddressError::Malformed)?, text),
            None => Self::without_scheme(text),
        }
    }

    /// The address that a page or a redirect names, which may be relative to this one.
    ///
    /// # Errors
    ///
    /// As for [`Self::parse`].
    pub fn join(&self, reference: &str) -> Result<Self, WebAddressError> {
        let url = self.url.join(reference.trim()).map_err(|_| WebAddressError::Malformed)?;
        let text = url.to_string();
        if text.len() > LONGEST {
            return Err(WebAddressError::TooLong);
        }
        Self::of(url, &text)
    }

    fn without_scheme(text: &str) -> Result<Self, WebAddressError> {
        let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
        // `data:…` and `mailto:…` have a scheme; in `example.org:8080` a port follows the colon.
        if let Some((scheme, rest)) = authority.split_once(':')
            && !authority.starts_with('[')
            && (rest.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_digit()))
            && !authority.contains('@')
        {
            return Err(WebAddressError::Scheme(scheme.to_owned()));
        }
        let is_host = authority.contains(['.', '[']) || is_this_machine(host_part(authority));
        if !is_host || text.contains(char::is_whitespace) {
            return Err(WebAddressError::Malformed);
        }
        let text = format!("https://{text}");
        Self::of(Url::parse(&text).map_err(|_| WebAddressError::Malformed)?, &text)
    }

    /// `text` is what `url` was read from.
    fn of(mut url: Url, text: &str) -> Result<Self, WebAddressError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WebAddressError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WebAddressError::Credentials);
        }
        let host = match url.host().ok_or(WebAddressError::Malformed)? {
            Host::Domain(name) => NetworkHost::parse(name)
                .filter(|_| !name.ends_with('.'))
                .ok_or_else(|| WebAddressError::Spelling(name.trim_end_matches('.').to_owned()))?,
            Host::Ipv4(address) => {
                let written = authority(text).split(':').next().and_then(|it| it.parse().ok());
                if written != Some(address) {
                    return Err(WebAddressError::Spelling(address.to_string()));
                }
                NetworkHost::Address(address.into())
            }
            Host::Ipv6(address) if is_wrapped(address) && !address.is_loopback() => {
                return Err(WebAddressError::Wrapped);
            }
            Host::Ipv6(address) => NetworkHost::Address(address.into()),
        };
        let port = url.port_or_known_default().filter(|port| *port > 0);
        let port = port.ok_or(WebAddressError::Malformed)?;
        if OTHER_PROTOCOLS.contains(&port) {
            return Err(WebAddressError::Port(port));
        }
        url.set_fragment(None);
        Ok(Self { url, host, port })
    }

    /// The host that rules are about.
    pub fn host(&self) -> &NetworkHost {
        &self.host
    }

    /// The port of the request; without one in the address that of its scheme.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address as it is requested.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Whether the request goes over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether the address itself says that it leads to this machine, a private network, or another
    /// place that is not the public network. A name that resolves to such an address is not known here.
    pub fn is_private(&self) -> bool {
        match &self.host {
            NetworkHost::Address(address) => !AddressScope::Public.allows(*address),
            NetworkHost::Name(name) => is_this_machine(name) || is_local_name(name),
        }
    }

    /// Whether the host is an address, or a name of this machine, so that it says by itself where a
    /// request goes.
    pub fn is_definite(&self) -> bool {
        match &self.host {
            NetworkHost::Address(_) => true,
            NetworkHost::Name(name) => is_this_machine(name),
        }
    }
}

impl fmt::Display for WebAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The part between the scheme and the path.
fn authority(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

fn host_part(authority: &str) -> &str {
    authority.split(':').next().unwrap_or_default()
}

/// Whether only a local network gives this name a meaning (RFC 6762 for `.local`, ICANN's resolution
/// 2024.07.29.06 for `.internal`, RFC 8375 for `home.arpa`), or a cloud's metadata service does.
fn is_local_name(name: &str) -> bool {
    const LOCAL: [&str; 5] = ["local", "internal", "lan", "home.arpa", "localdomain"];
    let is_below = |top: &&str| {
        name.strip_suffix(*top).is_some_and(|start| start.is_empty() || start.ends_with('.'))
    };
    !name.contains('.') || LOCAL.iter().any(is_below)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn an_address_is_read_as_a_browser_would_and_https_comes_first() {
        for (text, read, host, port) in [
            ("https://Example.org", "https://example.org/", "example.org", 443),
            (" https://example.org/a b#x ", "https://example.org/a%20b", "example.org", 443),
            ("http://example.org/?q=1", "http://example.org/?q=1", "example.org", 80),
            ("example.org/a", "https://example.org/a", "example.org", 443),
            ("example.org:8080", "https://example.org:8080/", "example.org", 8080),
            ("localhost:3000/x", "https://localhost:3000/x", "localhost", 3000),
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000/", "127.0.0.1", 8000),
            ("http://[::1]:8000/", "http://[::1]:8000/", "[::1]", 8000),
            (
                "https://bücher.example/",
                "https://xn--bcher-kva.example/",
                "xn--bcher-kva.example",
                443,
            ),
        ] {
            let address = WebAddress::parse(text).unwrap();
            assert_eq!(address.as_str(), read, "{text}");
            assert_eq!((address.host().to_string().as_str(), address.port()), (host, port));
        }
    }

    #[test]
    fn s85_s87_what_only_an_attacker_would_write_is_refused() {
        use WebAddressError::{Credentials, Malformed, Port, Scheme, Spelling, TooLong, Wrapped};
        let spelled = |text: &str| Spelling(text.to_owned());
        for (text, error) in [
            ("", Malformed),
            ("what is this", Malformed),
            ("localpage", Malformed),
            ("https://", Malformed),
            ("https:\\\\example.org", Malformed),
            ("https://exa\tmple.org", Malformed),
            ("https://[fe80::1%25eth0]/", Malformed),
            ("file:///etc/passwd", Scheme("file".into())),
            ("ftp://example.org/", Scheme("ftp".into())),
            ("data:text/html,x", Scheme("data".into())),
            ("unix:/run/x", Scheme("unix".into())),
            ("javascript:alert(1)", Scheme("javascript".into())),
            ("https://me@example.org/", Credentials),
            ("https://me:secret@example.org/", Credentials),
            ("https://example.org@127.0.0.1/", Credentials),
            ("https://example.org./", spelled("example.org")),
            ("http://2130706433/", spelled("127.0.0.1")),
            ("http://0x7f.1/", spelled("127.0.0.1")),
            ("http://0177.0.0.1/", spelled("127.0.0.1")),
            ("http://127.1/", spelled("127.0.0.1")),
            ("http://１２７.0.0.1/", spelled("127.0.0.1")),
            ("http://[::ffff:127.0.0.1]/", Wrapped),
            ("http://[::127.0.0.1]/", Wrapped),
            ("http://[64:ff9b::7f00:1]/", Wrapped),
            ("http://[2002:7f00:1::]/", Wrapped),
            ("http://example.org:22/", Port(22)),
            ("http://example.org:25/", Port(25)),
            ("http://example.org:110/", Port(110)),
            ("http://example.org:143/", Port(143)),
            ("http://example.org:6000/", Port(6000)),
            (&format!("https://example.org/{}", "a".repeat(LONGEST)), TooLong),
        ] {
            assert_eq!(WebAddress::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn s85_private_places_are_known_by_their_names() {
        for (text, is_private) in [
            ("http://127.0.0.1/", true),
            ("http://10.0.0.1/", true),
            ("http://169.254.169.254/", true),
            ("http://0.0.0.0/", true),
            ("http://[::1]/", true),
            ("http://[fd00::1]/", true),
            ("http://localhost/", true),
            ("http://app.localhost/", true),
            ("http://metadata.google.internal/", true),
            ("http://printer.local/", true),
            ("http://router/", true),
            ("http://1.1.1.1/", false),
            ("http://example.org/", false),
            ("http://mylocal/", true),
            ("http://example.notlocal/", false),
        ] {
            assert_eq!(WebAddress::parse(text).unwrap().is_private(), is_private, "{text}");
        }
    }

    #[test]
    fn s85_a_name_reaches_only_the_addresses_that_it_may_have() {
        for (text, address, may) in [
            ("https://example.org", "1.1.1.1", true),
            ("https://example.org", "127.0.0.1", false),
            ("https://example.org", "10.0.0.1", false),
            ("https://example.org", "169.254.169.254", false),
            ("https://example.org", "::ffff:127.0.0.1", false),
            ("https://example.org", "::1", false),
            ("http://localhost", "127.0.0.1", true),
            ("http://localhost", "::1", true),
            ("http://localhost", "10.0.0.1", false),
            ("http://127.0.0.1", "127.0.0.1", true),
            ("http://127.0.0.1", "127.0.0.2", false),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(
                WebAddress::parse(text).unwrap().host().may_reach(address),
                may,
                "{text} {address}"
            );
        }
    }

    #[test]
    fn a_reference_is_read_from_its_page() {
        let page = WebAddress::parse("https://example.org/a/b").unwrap();
        for (reference, read) in [
            ("c", "https://example.org/a/c"),
            ("/c", "https://example.org/c"),
            ("//other.example/c", "https://other.example/c"),
            ("http://example.org/", "http://example.org/"),
        ] {
            assert_eq!(page.join(reference).unwrap().as_str(), read);
        }
        assert!(page.join("javascript:x").is_err());
        assert!(page.join("http://[::ffff:127.0.0.1]/").is_err());
    }
}
