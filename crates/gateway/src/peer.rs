//! Clients that sent EOF: disconnected, or waiting for their answer.
//!
//! A client that closes its connection and one that closes only its sending half look the same on the socket:
//! both send EOF. The first has disconnected, which must be noticed even while the vendor is silent; the second
//! waits for its answer. Linux tells them apart in its table of sockets: no process holds the socket of a
//! client that has disconnected.

use std::net::SocketAddr;

/// Returns true if the client at `peer`, which sent EOF to `local`, has disconnected. Also true on machines
/// that do not tell, as vendors' own servers assume.
pub(crate) fn client_disconnected(peer: SocketAddr, local: SocketAddr) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    !tables.iter().any(|table| {
        std::fs::read_to_string(table).is_ok_and(|text| is_own_connection(&text, peer.port(), local.port()))
    })
}

/// Returns true if a process holds the socket between two ports. Both ends are on this machine, so the pair of
/// ports identifies the socket.
fn is_own_connection(table: &str, from: u16, to: u16) -> bool {
    let (from, to) = (format!(":{from:04X}"), format!(":{to:04X}"));
    table.lines().skip(1).any(|line| {
        let mut columns = line.split_ascii_whitespace();
        // Columns: number, local address, remote address, …, inode. The inode is 0 if no process holds the
        // socket.
        let (_, local, remote) = (columns.next(), columns.next(), columns.next());
        let matches = |address: Option<&str>, port: &str| address.is_some_and(|text| text.ends_with(port));
        matches(local, &from) && matches(remote, &to) && columns.nth(6).is_some_and(|inode| inode != "0")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 100 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:1F90 05 00000000:00000000 00:00000000 00000000     0        0 200 1 0 20 4 0 10 -1
   2: 0100007F:C351 0100007F:1F90 06 00000000:00000000 03:00000100 00000000     0        0 0 3 0
";

    #[test]
    fn read_from_the_table() {
        assert!(is_own_connection(TABLE, 50000, 8080));
        assert!(!is_own_connection(TABLE, 50001, 8080));
        assert!(!is_own_connection(TABLE, 50002, 8080));
        assert!(!is_own_connection(TABLE, 8080, 50000));
        assert!(!is_own_connection("", 50000, 8080));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn half_closed_and_closed() {
        use std::io::Read;
        use std::net::{Shutdown, TcpListener, TcpStream};

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, peer) = listener.accept().unwrap();
        let local = server.local_addr().unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(server.read(&mut [0; 1]).unwrap(), 0);
        assert!(!client_disconnected(peer, local));
        drop(client);
        assert!(client_disconnected(peer, local));
    }
}
