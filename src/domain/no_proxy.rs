//! Whether the variable `NO_PROXY` leaves a host out: names with all below them, addresses and ranges
//! of them, each with a port or without, or `*` for everything.

use std::net::IpAddr;

/// Whether an entry of `list` means `host` at `port`. An IPv6 address may stand in brackets.
pub fn is_exempt_from_proxy(list: &str, host: &str, port: Option<u16>) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        // An address of six parts has colons of its own.
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

/// Whether an entry without its port means this host: `*`, an address, a range of them, or a name
/// with all below it.
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

/// The first bits of an address.
fn prefix(address: IpAddr, bits: u32) -> u128 {
    let (number, width) = match address {
        IpAddr::V4(it) => (u128::from(it.to_bits()), 32),
        IpAddr::V6(it) => (it.to_bits(), 128),
    };
    number.checked_shr(width - bits).unwrap_or(0)
}
