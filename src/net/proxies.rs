//! Finds the proxy that the environment names for an address, so that an error message can name it.
//!
//! The HTTP client reads the same variables in the same way, except for `NO_PROXY` entries with a
//! port, which only this file understands. Credentials in a proxy's address are left out of
//! everything that is shown.

use reqwest::Url;

use crate::domain::is_exempt_from_proxy;

/// The proxy for `url`, without credentials; `None` for a direct connection.
pub(super) fn proxy_for(url: &Url, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let first = |names: &[&str]| {
        let mut texts = names.iter().filter_map(|name| variable(name));
        texts.find(|text| !text.trim().is_empty())
    };
    if is_exempt(url, &variable) {
        return None;
    }
    let own = match url.scheme() {
        // A CGI program finds the client's `Proxy` header in `HTTP_PROXY` ("httpoxy"), so the
        // client ignores it.
        "http" if variable("REQUEST_METHOD").is_some() => None,
        "http" => first(&["HTTP_PROXY", "http_proxy"]),
        _ => first(&["HTTPS_PROXY", "https_proxy"]),
    };
    own.or_else(|| first(&["ALL_PROXY", "all_proxy"])).map(|address| without_credentials(&address))
}

/// Whether `NO_PROXY` exempts `url`.
pub(super) fn is_exempt(url: &Url, variable: impl Fn(&str) -> Option<String>) -> bool {
    let list = variable("NO_PROXY").or_else(|| variable("no_proxy")).unwrap_or_default();
    is_exempt_from_proxy(&list, url.host_str().unwrap_or_default(), url.port_or_known_default())
}

/// A proxy's address without name and password.
pub(super) fn without_credentials(address: &str) -> String {
    let (scheme, rest) = address.trim().split_once("://").unwrap_or(("http", address.trim()));
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    format!("{scheme}://{}", place.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables, an address, and the expected proxy.
    type ProxyVariableCase =
        (&'static [(&'static str, &'static str)], &'static str, Option<&'static str>);

    fn with<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| set.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn r36_the_proxy_for_an_address_is_named_without_its_password() {
        const DEAD: &str = "http://me:secret@proxy.lan:3128/";
        let table: [ProxyVariableCase; 8] = [
            (&[("HTTPS_PROXY", DEAD)], "https://a.example/v1", Some("http://proxy.lan:3128")),
            (&[("https_proxy", "proxy.lan:1")], "https://a.example", Some("http://proxy.lan:1")),
            (&[("HTTPS_PROXY", DEAD)], "http://a.example", None),
            (&[("http_proxy", DEAD)], "http://a.example", Some("http://proxy.lan:3128")),
            (&[("http_proxy", DEAD), ("REQUEST_METHOD", "GET")], "http://a.example", None),
            (&[("ALL_PROXY", "socks5h://u:p@s:9")], "https://a.example", Some("socks5h://s:9")),
            (&[("HTTPS_PROXY", " ")], "https://a.example", None),
            (&[("HTTPS_PROXY", DEAD), ("NO_PROXY", "a.example")], "https://a.example", None),
        ];
        for (set, url, expected) in table {
            let proxy = proxy_for(&Url::parse(url).unwrap(), with(set));
            assert_eq!(proxy.as_deref(), expected, "{set:?} {url}");
        }
    }

    #[test]
    fn r36_exemptions_match_by_name_range_and_port() {
        let table = [
            ("*", "https://a.example", true),
            ("a.example", "https://a.example", true),
            (".example", "https://a.example", true),
            ("example", "https://a.example", true),
            ("ample", "https://a.example", false),
            ("b.example, A.EXAMPLE", "https://a.example", true),
            ("a.example:443", "https://a.example", true),
            ("a.example:8443", "https://a.example", false),
            ("a.example:8443", "https://a.example:8443", true),
            ("10.0.0.0/8", "https://10.1.2.3", true),
            ("10.0.0.0/8", "https://11.1.2.3", false),
            ("10.0.0.0/8:8000", "http://10.1.2.3:8000", true),
            ("10.0.0.0/8:8000", "http://10.1.2.3:8001", false),
            ("10.1.2.3", "https://10.1.2.3", true),
            ("0.0.0.0/0", "https://10.1.2.3", true),
            ("10.0.0.0/40", "https://10.1.2.3", false),
            ("fd00::/8", "https://[fd00::7]", true),
            ("fd00::7", "https://[fd00::7]", true),
            ("[fd00::7]:8000", "http://[fd00::7]:8000", true),
            ("fe80::/10", "https://[fd00::7]", false),
            ("", "https://a.example", false),
        ];
        for (list, url, expected) in table {
            let set = [("no_proxy", list)];
            let exempt = is_exempt(&Url::parse(url).unwrap(), with(&set));
            assert_eq!(exempt, expected, "{list} {url}");
        }
    }
}
