//! Whether the variable `NO_PROXY` exempts a host: names with all their subdomains, addresses and
//! address ranges, each with or without a port, or `*` for everything.

use std::net::IpAddr;

/// Whether an entry of `list` matches `host` at `port`. An IPv6 address may have brackets.
pub fn is_exempt_from_proxy(list: &str, host: &str, port: Option<u16>) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        // The colons of an IPv6 address do not begin a port.
        let (name, wanted) = match entry.rsplit_once(':') {
            Some((name, number)) if !name.contains(':') || name.ends_with(']') => {
                (name, number.parse::<u16>().ok())
            }
            Some(_) | None => (entry, None),
        };
        let name = name.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        (wanted.is_none() || wanted == port) && covers(&name, &host)
    })
}

/// Whether an entry without its port matches this host: `*`, an address, an address range, or a
/// name with all its subdomains.
fn covers(entry: &str, host: &str) -> bool {
    if entry == "*" {
        return true;
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        let (start, bits) = entry.split_once('/').map_or((entry, None), |(a, b)| (a, Some(b)));
        let Ok(start) = start.parse::<IpAddr>() else { return false };
        let width = if start.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(width), |bits| bits.parse().ok().filter(|it| *it <= width));
        return start.is_ipv4() == address.is_ipv4()
            && bits.is_some_and(|bits| prefix(start, bits) == prefix(address, bits));
    }
    let name = entry.trim_start_matches('.');
    host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The first `bits` bits of an address.
fn prefix(address: IpAddr, bits: u32) -> u128 {
    let (number, width) = match address {
        IpAddr::V4(it) => (u128::from(it.to_bits()), 32),
        IpAddr::V6(it) => (it.to_bits(), 128),
    };
    number.checked_shr(width - bits).unwrap_or(0)
}
