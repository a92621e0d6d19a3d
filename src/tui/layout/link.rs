//! Addresses that a terminal may open when a link is clicked (OSC 8).
//!
//! Only http and https, in a form that no terminal can read as anything but an address: printable
//! ASCII, everything else percent-encoded. An address that hides where it leads (a user name before
//! the host, letters outside ASCII in the host) or that is longer than terminals take does not
//! become a link. It is still shown in full, as text; it just cannot be clicked.

use std::sync::Arc;

/// Longest address in bytes: VTE takes no more, and other terminals, too, take less than the
/// standards allow.
const MOST: usize = 2083;

/// A web address that is safe to put into an OSC 8 sequence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebLink(Arc<str>);

impl WebLink {
    /// The link to `address`; `None` if the address could do harm or mislead.
    pub fn to(address: &str) -> Option<Self> {
        let host = host(address)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
        if host.is_empty() || !host.chars().all(plain) || address.contains(char::is_control) {
            return None;
        }
        let mut encoded = String::with_capacity(address.len());
        for byte in address.bytes() {
            if byte.is_ascii_graphic() {
                encoded.push(char::from(byte));
            } else {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        }
        (encoded.len() <= MOST).then(|| Self(encoded.into()))
    }

    /// The address: printable ASCII.
    pub fn address(&self) -> &str {
        &self.0
    }
}

/// The part of an http or https address that names the server, with user name and port; `None` for
/// any other address.
pub(super) fn host(address: &str) -> Option<&str> {
    let rest = ["https://", "http://"].iter().find_map(|scheme| {
        let (start, rest) = address.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })?;
    rest.split(['/', '?', '#', '\\']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(address: &str) -> Option<String> {
        WebLink::to(address).map(|link| link.address().to_owned())
    }

    #[test]
    fn web_addresses_are_links() {
        for address in [
            "https://a.example",
            "http://localhost:8080/x?y=z#part",
            "HTTPS://A.example/",
            "http://[::1]:3000/",
        ] {
            assert_eq!(to(address).as_deref(), Some(address));
        }
    }

    #[test]
    fn harmful_or_misleading_addresses_are_no_links() {
        for address in [
            "",
            "https://",
            "ftp://a.example",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "/local",
            "https://bank.example@evil.example/",
            "https://b\u{430}nk.example/",
            "https://a.example/\u{1b}]8;;",
            "https://a.example/\n",
            "https://a.example/\u{9c}",
        ] {
            assert_eq!(to(address), None, "{address:?}");
        }
        assert_eq!(to(&format!("https://a.example/{}", "x".repeat(MOST))), None);
    }

    #[test]
    fn non_ascii_is_encoded() {
        assert_eq!(
            to("https://a.example/K\u{e4}se \u{202e}").as_deref(),
            Some("https://a.example/K%C3%A4se%20%E2%80%AE")
        );
    }
}
