//! Brings up the loopback interface `lo` by rtnetlink: the ioctl for it would need unsafe code.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;

// linux/netlink.h, linux/rtnetlink.h, linux/if.h
const NLMSG_ERROR: u16 = 2;
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const IFF_UP: u32 = 1;
/// Index of the loopback interface, which is the first of every network namespace.
const LOOPBACK_INDEX: i32 = 1;

/// Brings up the loopback interface of this network namespace.
pub(super) fn bring_up() -> io::Result<()> {
    // The default protocol is NETLINK_ROUTE, which is 0.
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    rustix::net::send(&socket, &bring_up_message(), SendFlags::empty())?;
    let mut answer = [0_u8; 512];
    let (length, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    check_acknowledgement(&answer[..length])
}

/// Returns the request: `struct nlmsghdr` and `struct ifinfomsg`, in the machine's byte order.
fn bring_up_message() -> [u8; 32] {
    let mut message = [0; 32];
    message[0..4].copy_from_slice(&32_u32.to_ne_bytes());
    message[4..6].copy_from_slice(&RTM_NEWLINK.to_ne_bytes());
    message[6..8].copy_from_slice(&(NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    message[20..24].copy_from_slice(&LOOPBACK_INDEX.to_ne_bytes());
    message[24..28].copy_from_slice(&IFF_UP.to_ne_bytes());
    message[28..32].copy_from_slice(&IFF_UP.to_ne_bytes());
    message
}

/// Checks the answer of the kernel. An acknowledgement is an error message with error 0.
fn check_acknowledgement(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let error = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, error) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(error)) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_the_kernel_means_them() {
        let mut answer = [0_u8; 36];
        answer[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        assert!(check_acknowledgement(&answer).is_ok());
        answer[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(check_acknowledgement(&answer).unwrap_err().raw_os_error(), Some(1));
        assert_eq!(check_acknowledgement(&answer[..10]).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(check_acknowledgement(&[]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
