//! Descriptors: 0, 1 and 2 go to the command, no other does.

use crate::enforcement::Open;
use rustix::net::AddressFamily;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Close all that were inherited. Ours stay for now and are closed on execution.
pub(super) fn close_others(ours: &[&dyn AsRawFd]) -> io::Result<()> {
    let ours: Vec<RawFd> = ours.iter().map(|fd| fd.as_raw_fd()).collect();
    let listed: Vec<RawFd> = std::fs::read_dir("/proc/self/fd")?
        .map(|entry| Ok(entry?.file_name().to_str().and_then(|name| name.parse().ok())))
        .collect::<io::Result<Option<_>>>()?
        .ok_or(io::ErrorKind::InvalidData)?;
    for fd in listed.into_iter().filter(|fd| *fd > 2 && !ours.contains(fd)) {
        match nix::unistd::close(fd) {
            // The one over which the list was read is closed by now.
            Ok(()) | Err(nix::Error::EBADF) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The caller's own streams are passed on as they are. One that is a network socket is a way out, and is named.
pub(super) fn network_streams() -> Vec<Open> {
    let is_network =
        |domain: rustix::io::Result<AddressFamily>| domain.is_ok_and(|family| family != AddressFamily::UNIX);
    let streams = [
        ("stdin", rustix::net::sockopt::socket_domain(rustix::stdio::stdin())),
        ("stdout", rustix::net::sockopt::socket_domain(rustix::stdio::stdout())),
        ("stderr", rustix::net::sockopt::socket_domain(rustix::stdio::stderr())),
    ];
    streams
        .into_iter()
        .filter(|(_, domain)| is_network(*domain))
        .map(|(name, _)| Open::Stream(name.into()))
        .collect()
}
