//! Recognises the addresses of this machine, public ones included.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Whether an address is this machine's: only those can be bound to, unless the kernel allows every
/// address.
pub fn is_own_address(address: IpAddr) -> bool {
    let binds = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
    // Addresses for documentation, which no machine has.
    let nobodys: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    binds(address) && !binds(nobodys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s85_the_addresses_of_this_machine_are_known() {
        assert!(is_own_address("127.0.0.1".parse().unwrap()));
        assert!(!is_own_address("192.0.2.55".parse().unwrap()));
        assert!(!is_own_address("2001:db8::55".parse().unwrap()));
    }
}
