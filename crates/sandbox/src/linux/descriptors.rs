//! File descriptors: the command gets 0, 1 and 2, and no other.

use crate::report::OpenRoute;
use rustix::net::AddressFamily;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Closes all descriptors beyond 2 except those in `keep`, which are closed on execution.
pub(super) fn close_inherited(keep: &[&dyn AsRawFd]) -> io::Result<()> {
    let ours: Vec<RawFd> = keep.iter().map(|fd| fd.as_raw_fd()).collect();
    let listed: Vec<RawFd> = std::fs::read_dir("/proc/self/fd")?
        .map(|entry| Ok(entry?.file_name().to_str().and_then(|name| name.parse().ok())))
        .collect::<io::Result<Option<_>>>()?
        .ok_or(io::ErrorKind::InvalidData)?;
    for fd in listed.into_iter().filter(|fd| *fd > 2 && !ours.contains(fd)) {
        match nix::unistd::close(fd) {
            // The descriptor over which the list was read is closed by now.
            Ok(()) | Err(nix::Error::EBADF) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns the standard streams that are network sockets. Streams are passed on as they are, so that such a stream is a way
/// out, and is reported.
pub(super) fn network_streams() -> Vec<OpenRoute> {
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
        .map(|(name, _)| OpenRoute::Stream(name.into()))
        .collect()
}
