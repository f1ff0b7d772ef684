//! Classification of IP addresses as public or private.
//!
//! The module does no IO. An address counts as private unless it is known to be public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns true if an address belongs to the public network. An address that embeds another one (mapped, translated,
/// tunnelled) is judged by the embedded address.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// RFC 6890 and its registry.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = match (a, b, c) {
        // "This" network, private, shared by carriers, loopback, link-local.
        (0 | 10 | 127, ..) | (169, 254, _) | (192, 168, _) => true,
        (172, 16..=31, _) | (100, 64..=127, _) => true,
        // Protocol assignments, examples, the old 6to4 relay, benchmarks.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true,
        // Multicast, reserved, broadcast.
        (224.., ..) => true,
        _ => false,
    };
    !special
}

/// RFC 6890 and its registry; only 2000::/3 is given out.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b) {
        // Mapped and compatible addresses, and IPv4 addresses that a translator has embedded.
        (0, 0) if [c, d, e] == [0, 0, 0] && (f == 0xffff || f == 0) => f == 0xffff && v4(g, h),
        (0x64, 0xff9b) if [c, d, e, f] == [0, 0, 0, 0] => v4(g, h),
        // 6to4 carries the address of its router.
        (0x2002, _) => v4(b, c),
        // Teredo, benchmarks, identifiers, examples.
        (0x2001, 0..=0x01ff | 0xdb8) | (0x3fff, 0..=0x0fff) => false,
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_given_out_is_public() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ];
        let not = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "192.0.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "3fff::1",
        ];
        for text in public {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in not {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }
}
