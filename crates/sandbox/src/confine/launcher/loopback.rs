//! Loopback device of a new network namespace, which is down at first.

use std::io;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// Constants from `linux/netlink.h`, `linux/rtnetlink.h` and `linux/if.h`.
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST_AND_ACK: u16 = 1 | 4;
const IFF_UP: u32 = 1;
/// Index of the loopback device, the first in every namespace.
const LOOPBACK: i32 = 1;
/// Length of the message: a header of 16 bytes and a device request of 16 bytes.
const LENGTH: u32 = 32;

/// Enables the device.
///
/// # Errors
/// The kernel's error, such as a missing permission.
pub(super) fn raise() -> io::Result<()> {
    // Protocol 0 of netlink, the default here, is the one for routes and devices.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&socket, &request(), SendFlags::empty())?;
    let mut answer = [0; 64];
    let (_, count) = recv(&socket, &mut answer, RecvFlags::empty())?;
    refused(answer.get(..count).unwrap_or_default()).map_or(Ok(()), Err)
}

fn request() -> Vec<u8> {
    let header =
        [&LENGTH.to_ne_bytes()[..], &RTM_NEWLINK.to_ne_bytes(), &NLM_F_REQUEST_AND_ACK.to_ne_bytes(), &1_u32.to_ne_bytes(), &[0; 4]];
    let device = [&[0; 4][..], &LOOPBACK.to_ne_bytes(), &IFF_UP.to_ne_bytes(), &IFF_UP.to_ne_bytes()];
    header.into_iter().chain(device).flatten().copied().collect()
}

/// Returns the error in an answer: a negative number after its header.
fn refused(answer: &[u8]) -> Option<io::Error> {
    match answer.get(16..20).and_then(|number| number.try_into().ok()).map(i32::from_ne_bytes) {
        Some(0) => None,
        Some(number) => Some(io::Error::from_raw_os_error(number.saturating_neg())),
        None => Some(io::Error::other("the kernel's answer was cut short")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read() {
        let answer = |number: i32| [&[0; 16][..], &number.to_ne_bytes()].concat();
        assert!(refused(&answer(0)).is_none());
        assert_eq!(refused(&answer(-1)).unwrap().kind(), io::ErrorKind::PermissionDenied);
        assert!(refused(&[0; 18]).is_some());
    }

    #[test]
    fn a_request_is_as_long_as_it_says() {
        assert_eq!(request().len(), LENGTH as usize);
    }
}
