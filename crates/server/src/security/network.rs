//! Network: the addresses that one party owns, which limits of strangers count as one.

use std::net::{IpAddr, Ipv6Addr};

/// What one party owns: an address of IPv4, or a network of 64 bits.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_ipv6_that_share_64_bits_are_one_and_those_of_ipv4_are_not() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}
