//! Reads the address of a server as the user types it: what is left out is completed, and the result
//! judged, before anything is sent to it.

use crate::config::{ConfigEndpoint, ConfigEndpointError};

/// Reads an address. `https://` is added where no scheme is typed, `http://` for this machine and
/// for a bare IP address, which no certificate is for; `/v1` where there is no path.
///
/// # Errors
///
/// A sentence about why the address cannot be used.
pub fn complete(text: &str) -> Result<ConfigEndpoint, String> {
    let text = text.trim();
    let hint = "Write it like host.example, localhost:8000 or https://host/v1.";
    if text.is_empty() {
        return Err(format!("Type an address. {hint}"));
    }
    let completed = match text.split_once("://") {
        Some(("http" | "https", _)) => text.to_owned(),
        Some((scheme, _))
            if !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric()) =>
        {
            return Err(format!("{scheme} addresses are not supported. {hint}"));
        }
        Some(_) => return Err(format!("This is not an address. {hint}")),
        None => format!("{}://{text}", scheme_for(text)),
    };
    ConfigEndpoint::parse(&completed).map_err(|error| match error {
        ConfigEndpointError::NotAnAddress(_) => format!("This is not an address. {hint}"),
        ConfigEndpointError::UserInformation => {
            "Leave user and password out of the address; slug asks for a key if one is needed."
                .to_owned()
        }
        ConfigEndpointError::QueryOrFragment => {
            format!("An address with `?` or `#` cannot be used. {hint}")
        }
    })
}

/// The scheme of an address that is typed without one.
fn scheme_for(text: &str) -> &'static str {
    let authority = text.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_local = host == "localhost" || host.ends_with(".localhost");
    if is_local || host.parse::<std::net::IpAddr>().is_ok() { "http" } else { "https" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EndpointSecurity;

    #[test]
    fn what_is_left_out_is_completed() {
        use EndpointSecurity::{Encrypted, Loopback, PlainRemote};
        for (typed, meant, security) in [
            ("127.0.0.1:8089", "http://127.0.0.1:8089/v1", Loopback),
            ("localhost:8089", "http://localhost:8089/v1", Loopback),
            (" localhost ", "http://localhost/v1", Loopback),
            ("[::1]:8000/api", "http://[::1]:8000/api", Loopback),
            ("a.localhost", "http://a.localhost/v1", Loopback),
            ("api.openai.com", "https://api.openai.com/v1", Encrypted),
            ("llm.example/api/v1/", "https://llm.example/api/v1", Encrypted),
            ("llm.example:8443", "https://llm.example:8443/v1", Encrypted),
            ("https://host/v1", "https://host/v1", Encrypted),
            ("192.168.1.5:8000", "http://192.168.1.5:8000/v1", PlainRemote),
            ("http://gpu.lan:8000", "http://gpu.lan:8000/v1", PlainRemote),
            ("http://localhost.example/v1", "http://localhost.example/v1", PlainRemote),
            ("localhost.example", "https://localhost.example/v1", Encrypted),
            ("http://127.0.0.1.example/v1", "http://127.0.0.1.example/v1", PlainRemote),
        ] {
            let endpoint = complete(typed).unwrap();
            assert_eq!((endpoint.as_str(), endpoint.security()), (meant, security), "{typed}");
        }
    }

    #[test]
    fn what_is_no_address_is_told_with_an_example() {
        for (typed, told) in [
            ("", "Type an address."),
            ("ftp://host", "ftp addresses are not supported."),
            ("two words", "This is not an address."),
            ("://", "This is not an address."),
            ("https://me:pw@host/v1", "Leave user and password out"),
            ("host/v1?key=1", "cannot be used"),
        ] {
            let error = complete(typed).unwrap_err();
            assert!(error.contains(told) && !error.contains("pw@"), "{typed}: {error}");
        }
    }
}
