//! Checks the address of a server that the user types, before anything is sent to it.

use reqwest::Url;

/// Whether others could read what is sent to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressSecurity {
    /// Encrypted, or within this machine.
    Safe,
    /// Over a network, readable on the way.
    Unencrypted,
}

/// Classifies an address.
///
/// # Errors
///
/// A sentence about why the address cannot be used.
pub fn judge(text: &str) -> Result<AddressSecurity, String> {
    let hint = "Example: https://host/v1 or http://localhost:8000/v1.";
    let url = Url::parse(text.trim()).map_err(|_| format!("Not a valid address. {hint}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("Remove the user and password from the address; the key comes next.".into());
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_local = host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    match url.scheme() {
        "https" | "http" if host.is_empty() => Err(format!("The address has no host. {hint}")),
        "https" => Ok(AddressSecurity::Safe),
        "http" if is_local => Ok(AddressSecurity::Safe),
        "http" => Ok(AddressSecurity::Unencrypted),
        scheme => Err(format!("{scheme} addresses are not supported. {hint}")),
    }
}
