//! Recognises hosts that are this machine: requests to them need no encryption and no proxy.

use std::net::IpAddr;

/// Whether the host part of an address is this machine. `0.0.0.0` counts: servers print it when
/// they listen on all interfaces, and connecting to it reaches this machine.
pub fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        for (host, expected) in [
            ("localhost", true),
            ("model.localhost", true),
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("0.0.0.0", true),
            ("[::1]", true),
            ("[::]", true),
            ("[::ffff:7f00:1]", true),
            ("localhost.example.com", false),
            ("notlocalhost", false),
            ("192.168.1.1", false),
            ("[::ffff:c0a8:101]", false),
            ("", false),
        ] {
            assert_eq!(is_this_machine(host), expected, "{host}");
        }
    }
}
