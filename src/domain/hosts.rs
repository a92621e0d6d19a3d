//! Hosts as a request names them, and the lists that allow them.
//!
//! A host is compared by its name, before any lookup: in lower case, without a trailing dot, and an
//! address only in its usual spelling (`0x7f.1` and `2130706433` are not hosts here). Which
//! addresses a name resolves to is a second question, and the list answers both: most listed names
//! may lead to the public network only, so that no name server can open the way to this machine or
//! its local network.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::this_machine::is_this_machine;

/// The ports at which a host that is listed without a port may be reached: http and https.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// A host, by name or by address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkHost {
    /// A name in lower case, without a trailing dot.
    Name(String),
    /// An address. An IPv4 address that is wrapped in an IPv6 one is unwrapped.
    Address(IpAddr),
}

impl NetworkHost {
    /// Reads a host; an IPv6 address has brackets. `None` if the text is not a host.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(address.to_canonical()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_')
        };
        // Resolvers read a name whose last label is a number as an address, in one spelling or
        // another.
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_number = last.bytes().all(|c| c.is_ascii_digit()) || last.starts_with("0x");
        let is_name = name.len() <= 253 && name.split('.').all(is_label) && !is_number;
        is_name.then_some(Self::Name(name))
    }
}

/// Reads `host` or `host:port`. `None` if there is anything more, such as a user name before an
/// `@`.
pub fn authority(text: &str) -> Option<(NetworkHost, Option<u16>)> {
    let colon = text.rfind(':').filter(|at| !text[*at..].contains(']'));
    let Some(colon) = colon else { return Some((NetworkHost::parse(text)?, None)) };
    let (host, digits) = (&text[..colon], &text[colon + 1..]);
    let is_port = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    let port: u16 = digits.parse().ok().filter(|port| is_port && *port > 0)?;
    Some((NetworkHost::parse(host)?, Some(port)))
}

impl NetworkHost {
    /// Whether a request for this host, which is in no list, may connect to `address`, to which the
    /// host resolves. An address that is written as one, and `localhost`, say by themselves where they
    /// lead; every other name leads to the public network only.
    pub fn may_reach(&self, address: IpAddr) -> bool {
        match self {
            Self::Address(own) => *own == address,
            Self::Name(name) if is_this_machine(name) => address.is_loopback(),
            Self::Name(_) => AddressScope::Public.allows(address),
        }
    }
}

impl fmt::Display for NetworkHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// One entry of a list: `example.org`, `*.example.org`, either with or without a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostRule {
    host: NetworkHost,
    /// Whether the entry means the subdomains of the name and not the name itself.
    subdomains_only: SubdomainsOnly,
    port: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SubdomainsOnly {
    Yes,
    No,
}

/// Why an entry is not a host. The message follows the entry in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "is not a host: write \"example.org\", \"*.example.org\" for its subdomains, or \
     \"example.org:8080\""
)]
pub struct ParseHostError;

impl FromStr for HostRule {
    type Err = ParseHostError;

    fn from_str(text: &str) -> Result<Self, ParseHostError> {
        let (below, named) = match text.strip_prefix("*.") {
            Some(rest) => (SubdomainsOnly::Yes, rest),
            None => (SubdomainsOnly::No, text),
        };
        match (authority(named).ok_or(ParseHostError)?, below) {
            ((NetworkHost::Address(_), _), SubdomainsOnly::Yes) => Err(ParseHostError),
            ((host, port), below) => Ok(Self { host, subdomains_only: below, port }),
        }
    }
}

impl TryFrom<String> for HostRule {
    type Error = ParseHostError;

    fn try_from(text: String) -> Result<Self, ParseHostError> {
        text.parse()
    }
}

impl From<HostRule> for String {
    fn from(rule: HostRule) -> Self {
        rule.to_string()
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.subdomains_only == SubdomainsOnly::Yes { "*." } else { "" };
        write!(f, "{star}{}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl HostRule {
    /// Whether the entry matches `host`, at any port.
    pub fn matches_host(&self, host: &NetworkHost) -> bool {
        match (&self.host, host, self.subdomains_only) {
            (NetworkHost::Name(rule), NetworkHost::Name(host), SubdomainsOnly::Yes) => {
                host.strip_suffix(rule.as_str()).is_some_and(|start| start.ends_with('.'))
            }
            (rule, host, _) => rule == host,
        }
    }

    /// Whether the entry matches `host` and does not name another port.
    pub fn covers(&self, host: &NetworkHost, port: u16) -> bool {
        self.matches_host(host) && self.port.is_none_or(|listed| listed == port)
    }

    /// Whether the entry names this one host, and not the subdomains of a name.
    pub fn names(&self, host: &NetworkHost, port: u16) -> bool {
        self.subdomains_only == SubdomainsOnly::No && self.covers(host, port)
    }

    fn address_scope(&self, host: &NetworkHost, port: u16) -> AddressScope {
        let fits = self.port.map_or(USUAL_PORTS.contains(&port), |listed| listed == port);
        match (&self.host, self.port, self.subdomains_only) {
            _ if !self.matches_host(host) || !fits => AddressScope::Nothing,
            (NetworkHost::Address(_), _, _) => AddressScope::Anything,
            (NetworkHost::Name(_), Some(_), SubdomainsOnly::No) => AddressScope::Private,
            (NetworkHost::Name(_), None, _)
            | (NetworkHost::Name(_), Some(_), SubdomainsOnly::Yes) => AddressScope::Public,
        }
    }
}

/// Which addresses a request for a host may reach; a later variant allows more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressScope {
    /// None: the host is not listed.
    Nothing,
    /// Addresses of the public network.
    Public,
    /// Also addresses of this machine and its local network, because the host is listed with this
    /// port. Not the metadata addresses at which a cloud hands out credentials.
    Private,
    /// Exactly this address, because the address itself is listed.
    Anything,
}

impl AddressScope {
    /// Whether a request may connect to `address`, to which the host resolves.
    pub fn allows(self, address: IpAddr) -> bool {
        match self {
            Self::Nothing => false,
            Self::Public => is_public(address) && !is_metadata_address(address),
            Self::Private => !is_metadata_address(address),
            Self::Anything => true,
        }
    }
}

/// Metadata addresses besides the link-local ones, at which clouds hand out credentials. IPv4:
/// Azure, Alibaba and Oracle; IPv6: Amazon, Google, Oracle and Scaleway.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_V6: [Ipv6Addr; 4] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

fn is_metadata_address(address: IpAddr) -> bool {
    match unwrapped(address) {
        IpAddr::V4(address) => address.is_link_local() || METADATA_V4.contains(&address),
        IpAddr::V6(address) => address.is_unicast_link_local() || METADATA_V6.contains(&address),
    }
}

/// Which addresses `rules` allow for a request to `host` at `port`.
pub fn address_scope(rules: &[HostRule], host: &NetworkHost, port: u16) -> AddressScope {
    rules.iter().map(|rule| rule.address_scope(host, port)).max().unwrap_or(AddressScope::Nothing)
}

/// Whether an address belongs to the public network: not to this machine, its local network, or a
/// reserved range.
fn is_public(address: IpAddr) -> bool {
    match unwrapped(address) {
        IpAddr::V4(address) => is_public_v4(address),
        // IANA assigns global unicast addresses from 2000::/3 only.
        IpAddr::V6(address) => address.segments()[0] & 0xe000 == 0x2000,
    }
}

/// Whether an IPv6 address stands for an IPv4 one, in whatever way.
pub(super) fn is_wrapped(address: Ipv6Addr) -> bool {
    unwrapped(address.into()).is_ipv4()
}

/// The IPv4 address inside an IPv6 address, if there is one; otherwise the address itself.
fn unwrapped(address: IpAddr) -> IpAddr {
    let IpAddr::V6(whole) = address else { return address };
    match whole.segments() {
        // Mapped, compatible and translated addresses, including :: and ::1; then 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            Ipv4Addr::new(a, b, c, d).into()
        }
        _ => address,
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let closed = match address.octets() {
        [0 | 10 | 127, ..] | [169, 254, ..] | [192, 168, ..] | [192, 0, 0, _] => true,
        [172, second, ..] => (16..32).contains(&second),
        [100, second, ..] => (64..128).contains(&second),
        [198, second, ..] => (18..20).contains(&second),
        [first, ..] => first >= 224,
    };
    !closed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(listed: &[&str]) -> Vec<HostRule> {
        listed.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn scope_of(listed: &[&str], asked: &str) -> AddressScope {
        let (host, port) = authority(asked).unwrap();
        address_scope(&rules(listed), &host, port.unwrap())
    }

    #[test]
    fn a_host_is_read_in_its_usual_spelling_only() {
        for (text, told) in [
            ("example.org", Some("example.org")),
            ("EXAMPLE.Org.", Some("example.org")),
            ("a_b.example", Some("a_b.example")),
            ("localhost", Some("localhost")),
            ("127.0.0.1", Some("127.0.0.1")),
            ("[::1]", Some("[::1]")),
            ("[::ffff:127.0.0.1]", Some("127.0.0.1")),
            ("", None),
            (".", None),
            ("a..b", None),
            ("example.org..", None),
            ("127.1", None),
            ("2130706433", None),
            ("0x7f.1", None),
            ("0177.0.0.1", None),
            ("127.0.0.0x1", None),
            ("127.0.0.1.", None),
            ("::1", None),
            ("[fe80::1%eth0]", None),
            ("user@example.org", None),
            ("exämple.org", None),
            ("example.org/x", None),
            ("example.org\\x", None),
            ("example org", None),
        ] {
            assert_eq!(
                NetworkHost::parse(text).map(|it| it.to_string()).as_deref(),
                told,
                "{text:?}"
            );
        }
    }

    #[test]
    fn an_authority_is_a_host_and_a_port_and_no_more() {
        for (text, port) in [
            ("example.org", Some(None)),
            ("example.org:443", Some(Some(443))),
            ("[::1]", Some(None)),
            ("[::1]:80", Some(Some(80))),
            ("example.org:", None),
            ("example.org:0", None),
            ("example.org:+80", None),
            ("example.org:65536", None),
            ("example.org:80:80", None),
            ("a:b@example.org:80", None),
            ("[::1", None),
        ] {
            assert_eq!(authority(text).map(|it| it.1), port, "{text:?}");
        }
    }

    #[test]
    fn a_list_names_hosts_by_their_whole_name() {
        use AddressScope::{Anything, Nothing, Private, Public};
        for (listed, asked, scope) in [
            ("example.org", "example.org:443", Public),
            ("Example.ORG.", "eXample.org.:80", Public),
            ("example.org", "example.org:22", Nothing),
            ("example.org", "www.example.org:443", Nothing),
            ("example.org", "badexample.org:443", Nothing),
            ("example.org", "example.org.evil.net:443", Nothing),
            ("*.example.org", "www.example.org:443", Public),
            ("*.example.org", "a.b.example.org:443", Public),
            ("*.example.org", "example.org:443", Nothing),
            ("*.example.org", "badexample.org:443", Nothing),
            ("*.example.org:8443", "www.example.org:8443", Public),
            ("example.org:8443", "example.org:8443", Private),
            ("example.org:8443", "example.org:443", Nothing),
            ("127.0.0.1:8000", "127.0.0.1:8000", Anything),
            ("127.0.0.1:8000", "127.0.0.1:8001", Nothing),
            ("127.0.0.1", "127.0.0.1:80", Anything),
            ("127.0.0.1:80", "localhost:80", Nothing),
            ("[::1]:80", "[0:0::1]:80", Anything),
        ] {
            assert_eq!(scope_of(&[listed], asked), scope, "{listed} {asked}");
        }
        assert_eq!(scope_of(&[], "example.org:443"), Nothing);
        assert_eq!(scope_of(&["a.org", "b.org:443", "b.org"], "b.org:443"), Private);
    }

    #[test]
    fn a_rule_is_read_as_it_is_shown_and_nonsense_is_refused() {
        for text in ["example.org", "*.example.org:8080", "127.0.0.1", "[::1]:80"] {
            assert_eq!(text.parse::<HostRule>().unwrap().to_string(), text);
        }
        for text in ["", "*", "*.", "**.org", "a.*.org", "*.127.0.0.1", "https://a.org", "a.org/"] {
            assert_eq!(text.parse::<HostRule>(), Err(ParseHostError), "{text}");
        }
    }

    #[test]
    fn s85_the_kind_of_rule_limits_the_addresses() {
        use AddressScope::{Anything, Nothing, Private, Public};
        for (address, reaches) in [
            ("1.1.1.1", [false, true, true, true]),
            ("127.0.0.1", [false, false, true, true]),
            ("10.0.0.1", [false, false, true, true]),
            ("fd12::1", [false, false, true, true]),
            ("169.254.169.254", [false, false, false, true]),
            ("::ffff:169.254.169.254", [false, false, false, true]),
            ("64:ff9b::169.254.169.254", [false, false, false, true]),
            ("2002:a9fe:a9fe::", [false, false, false, true]),
            ("fe80::1", [false, false, false, true]),
            ("168.63.129.16", [false, false, false, true]),
            ("64:ff9b::168.63.129.16", [false, false, false, true]),
            ("100.100.100.200", [false, false, false, true]),
            ("192.0.0.192", [false, false, false, true]),
            ("fd00:ec2::254", [false, false, false, true]),
            ("fd20:ce::254", [false, false, false, true]),
        ] {
            let allows = [Nothing, Public, Private, Anything]
                .map(|scope: AddressScope| scope.allows(address.parse().unwrap()));
            assert_eq!(allows, reaches, "{address}");
        }
    }

    #[test]
    fn s85_only_the_public_network_is_public() {
        for address in [
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
            "198.18.0.1",
            "192.0.0.8",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1"]
        {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
