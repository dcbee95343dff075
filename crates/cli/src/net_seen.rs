//! Addresses that an agent's processes are connected to past the gateway, sampled from the tables of the kernel.
//!
//! A sample: a connection that begins and ends between two looks is not seen, nor is anything but TCP. Names are not looked up. On
//! systems other than Linux nothing is seen. Start reading at [`NetSampler::start`] and [`Sampler::look`].

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_millis(200);

/// Most addresses that are kept.
const MAX_ADDRESSES: usize = 1_000;

/// Most processes of an agent, and most descriptors of a process, that are looked at.
const MAX_PROCESSES: usize = 256;
const MAX_DESCRIPTORS: usize = 4_096;

/// Longest file of the kernel that is read, in bytes.
const MAX_TABLE_BYTES: u64 = 4 << 20;

/// Thread that looks at the connections of a process and its descendants until it is stopped.
pub(crate) struct NetSampler {
    running: Option<(JoinHandle<BTreeSet<SocketAddr>>, Sender<()>)>,
}

impl NetSampler {
    /// Begins to look at the connections of process `id`; those to `gateway` are left out.
    pub(crate) fn start(id: u32, gateway: SocketAddr) -> Self {
        if !cfg!(target_os = "linux") {
            return Self { running: None };
        }
        let (stop, stopped) = channel();
        let sampler = Sampler::new(id, gateway);
        Self { running: Some((std::thread::spawn(move || sampler.run(&stopped)), stop)) }
    }

    /// Stops, and returns the addresses that were seen.
    pub(crate) fn finish(self) -> BTreeSet<SocketAddr> {
        let Some((thread, stop)) = self.running else { return BTreeSet::new() };
        drop(stop);
        thread.join().unwrap_or_default()
    }
}

/// State of the looks so far.
struct Sampler {
    root: u32,
    gateway: SocketAddr,
    /// Processes that descend from the root, with their start times: a number may be given to another process later. One whose
    /// parent has ended stays known.
    processes: BTreeMap<u32, u64>,
    seen: BTreeSet<SocketAddr>,
}

impl Sampler {
    fn new(root: u32, gateway: SocketAddr) -> Self {
        Self { root, gateway, processes: BTreeMap::new(), seen: BTreeSet::new() }
    }

    fn run(mut self, stopped: &Receiver<()>) -> BTreeSet<SocketAddr> {
        self.processes.extend(start_time(self.root).map(|started| (self.root, started)));
        loop {
            self.look();
            match stopped.recv_timeout(INTERVAL) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return self.seen,
            }
        }
    }

    /// Looks once: the processes, their sockets, and where those are connected to.
    fn look(&mut self) {
        self.follow_processes();
        let sockets: BTreeSet<u64> = self.processes.keys().flat_map(|id| socket_inodes(*id)).collect();
        // Any process of the agent knows the tables of the network that it is in.
        let Some(process) = self.processes.keys().next().filter(|_| !sockets.is_empty()) else { return };
        for table in ["tcp", "tcp6"] {
            let text = read_bounded(Path::new(&format!("/proc/{process}/net/{table}")));
            let connected = connections(&text).filter(|(inode, _)| sockets.contains(inode));
            for (_, address) in connected.filter(|(_, address)| *address != self.gateway) {
                if self.seen.len() < MAX_ADDRESSES {
                    self.seen.insert(address);
                }
            }
        }
    }

    /// Forgets processes that have ended, and adds the children of the others.
    fn follow_processes(&mut self) {
        self.processes.retain(|id, started| start_time(*id) == Some(*started));
        let mut unvisited: Vec<u32> = self.processes.keys().copied().collect();
        while let Some(id) = unvisited.pop() {
            for child in children(id) {
                if self.processes.len() >= MAX_PROCESSES {
                    return;
                }
                if !self.processes.contains_key(&child)
                    && let Some(started) = start_time(child)
                {
                    self.processes.insert(child, started);
                    unvisited.push(child);
                }
            }
        }
    }
}

fn read_bounded(path: &Path) -> String {
    use std::io::Read as _;
    let mut text = Vec::new();
    // A process may end at any moment: its files are empty then.
    if let Ok(file) = std::fs::File::open(path) {
        let _ = file.take(MAX_TABLE_BYTES).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns the time at which a process started, in ticks since the machine started.
fn start_time(id: u32) -> Option<u64> {
    start_time_of(&read_bounded(Path::new(&format!("/proc/{id}/stat"))))
}

/// Reads field 22 of a `stat`. The name of the program, which may hold anything, ends with the last parenthesis.
fn start_time_of(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Returns the children of all threads of a process.
fn children(id: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{id}/task")) else { return Vec::new() };
    let threads = threads.take(MAX_DESCRIPTORS).filter_map(Result::ok);
    let texts = threads.map(|thread| read_bounded(&thread.path().join("children")));
    texts
        .flat_map(|text| text.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

/// Returns the inodes of the sockets that a process has open.
fn socket_inodes(id: u32) -> Vec<u64> {
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{id}/fd")) else { return Vec::new() };
    let descriptors = descriptors.take(MAX_DESCRIPTORS).filter_map(Result::ok);
    let targets = descriptors.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
    targets.filter_map(|target| inode_of(target.to_str()?)).collect()
}

fn inode_of(target: &str) -> Option<u64> {
    target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Returns the connected sockets of a table, each by its inode, with the address at the other end.
fn connections(table: &str) -> impl Iterator<Item = (u64, SocketAddr)> + '_ {
    table.lines().skip(1).filter_map(connection)
}

/// Reads a line of `/proc/net/tcp`: number, local address, remote address, state, five more, inode.
fn connection(line: &str) -> Option<(u64, SocketAddr)> {
    // ESTABLISHED, and CLOSE_WAIT: the other end was the first to close.
    const CONNECTED: [&str; 2] = ["01", "08"];
    let mut fields = line.split_ascii_whitespace();
    let address = fields.nth(2)?;
    fields.next().filter(|state| CONNECTED.contains(state))?;
    let inode = fields.nth(5)?.parse().ok().filter(|inode| *inode != 0)?;
    Some((inode, socket_address(address)?))
}

/// Reads an address as the kernel prints it: words of 32 bits in the order of the machine, in hexadecimal, and the port.
fn socket_address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':') {
        return None;
    }
    let word = |at: usize| Some(u32::from_str_radix(host.get(8 * at..8 * at + 8)?, 16).ok()?.to_ne_bytes());
    let host = match host.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let mut bytes = [0; 16];
            bytes.iter_mut().zip(words.iter().flatten()).for_each(|(to, from)| *to = *from);
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(host, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn lines_of_the_kernel_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:0277 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1211 1 0 100 0\n   \
            1: 0100007F:A3C2 070200C0:01BB 01 00000000:00000000 02:000003E8 00000000  1000        0 4242 2 0 20 4\n   \
            2: 0100007F:A3C3 070200C0:01BB 06 00000000:00000000 02:000003E8 00000000  1000        0 0 2 0 20 4\n";
        let found: Vec<_> = connections(table).collect();
        assert_eq!(found, [(4242, "192.0.2.7:443".parse().unwrap())]);
        let mapped = "0000000000000000FFFF0000070200C0:0050";
        assert_eq!(socket_address(mapped), Some("192.0.2.7:80".parse().unwrap()));
        let v6 = "B80D0120000000000000000001000000:01BB";
        assert_eq!(socket_address(v6), Some("[2001:db8::1]:443".parse().unwrap()));
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "",
            "a b c",
            "0: x 070200C0:01BB 01 a b c d e 1",
            "0: x +70200C0:01BB 01 a b c d e 1",
            "0: x é:é 01 a b c d e 1",
        ] {
            let _ = connection(line);
        }
        for address in
            ["", ":", "070200C0", "070200C0:", "070200C:01BB", "070200C0:1FFFF", "+70200C0:01BB", "éééé:1"]
        {
            assert_eq!(socket_address(address), None, "{address}");
        }
        assert_eq!(start_time_of("1 (a) b) S 1"), None);
        assert_eq!(inode_of("socket:[x]"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_connection_of_a_grandchild_is_seen_and_the_gateways_is_not() {
        let (one, two) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (gateway, other) = (one.local_addr().unwrap(), two.local_addr().unwrap());
        let sockets = [gateway, other].map(|address| TcpStream::connect(address).unwrap());
        // The shell's child has both connections as its descriptors 0 and 1; this test's own copies do not count.
        let [first, second] = sockets.map(std::os::fd::OwnedFd::from);
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & echo >&2; wait"])
            .stdin(Stdio::from(first))
            .stdout(Stdio::from(second))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The line says that the grandchild is there.
        std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut [0]).unwrap();
        let mut sampler = Sampler::new(child.id(), gateway);
        sampler.processes.extend(start_time(child.id()).map(|started| (child.id(), started)));
        sampler.look();
        let processes: Vec<u32> = sampler.processes.keys().copied().collect();
        for id in &processes {
            let id = rustix::process::Pid::from_raw(i32::try_from(*id).unwrap()).unwrap();
            let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        }
        child.wait().unwrap();
        assert_eq!(sampler.seen, BTreeSet::from([other]));
        assert_eq!(processes.len(), 2);
    }
}
