//! Host that the attempts try to reach: listeners of every kind, and a process to interfere with.

use std::io::Write;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Listeners, files and a process of the host, alive while the table runs. Attempts learn about them from variables
/// `ESCAPE_…`.
pub(crate) struct HostFixture {
    pub(crate) variables: Vec<(String, String)>,
    kept_alive: Vec<Box<dyn std::any::Any>>,
    files: Vec<PathBuf>,
    victim: Child,
}

impl HostFixture {
    pub(crate) fn new() -> Self {
        let mut victim = Command::new(std::env::current_exe().unwrap());
        let victim = victim.arg("victim").stdin(Stdio::piped()).spawn().unwrap();
        let mut it = Self { variables: vec![], kept_alive: vec![], files: vec![], victim };
        it.set_variable("VICTIM", it.victim.id());
        it.network();
        it.unix_sockets();
        it.inherited();
        it
    }

    fn set_variable(&mut self, name: &str, value: impl ToString) {
        self.variables.push((format!("ESCAPE_{name}"), value.to_string()));
    }

    fn keep_alive(&mut self, thing: impl std::any::Any) {
        self.kept_alive.push(Box::new(thing));
    }

    fn network(&mut self) {
        for (name, address) in [("TCP4", "127.0.0.1:0"), ("TCP6", "[::1]:0")] {
            if let Ok(listener) = TcpListener::bind(address) {
                self.set_variable(name, listener.local_addr().unwrap());
                self.keep_alive(listener);
            }
        }
        // The address by which other machines know this one; no packet is sent to find it.
        let outward = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            socket.connect("192.0.2.1:9")?;
            socket.local_addr()
        });
        if let Ok(own) = outward
            && let Ok(listener) = TcpListener::bind((own.ip(), 0))
        {
            self.set_variable("TCP_OWN", listener.local_addr().unwrap());
            self.keep_alive(listener);
        }
        // One of two addresses, since the thread that answers keeps its port for as long as the program runs.
        for (name, addresses) in [("UDP", ["127.0.0.1:0"; 2]), ("DNS", ["127.0.0.77:53", "127.0.0.78:53"])] {
            let Some(socket) = addresses.iter().find_map(|it| UdpSocket::bind(it).ok()) else { continue };
            self.set_variable(name, socket.local_addr().unwrap());
            std::thread::spawn(move || {
                let mut buffer = [0; 512];
                while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                    let _ = socket.send_to(&buffer[..length], from);
                }
            });
        }
    }

    fn unix_sockets(&mut self) {
        let unique = format!("reenact-escape-{}", std::process::id());
        let name = SocketAddr::from_abstract_name(unique.as_bytes()).unwrap();
        self.keep_alive(UnixListener::bind_addr(&name).unwrap());
        self.set_variable("ABSTRACT", &unique);

        let runtime = std::env::temp_dir().join(format!("{unique}-xdg"));
        std::fs::create_dir_all(&runtime).unwrap();
        self.variables.push(("XDG_RUNTIME_DIR".into(), runtime.to_str().unwrap().into()));
        let places = [
            ("UNIX_RUN", PathBuf::from("/run").join(&unique)),
            ("UNIX_VAR_RUN", PathBuf::from("/var/run").join(format!("{unique}-v"))),
            ("UNIX_RUNTIME", runtime.join("bus")),
            ("UNIX_TMP", std::env::temp_dir().join(format!("{unique}.sock"))),
        ];
        for (name, path) in places {
            if let Ok(listener) = UnixListener::bind(&path) {
                self.set_variable(name, path.display());
                self.keep_alive(listener);
                self.files.push(path);
            }
        }
        let path = std::env::temp_dir().join(format!("{unique}.dgram"));
        self.keep_alive(UnixDatagram::bind(&path).unwrap());
        self.set_variable("UNIX_DATAGRAM", path.display());
        self.files.push(path);
        self.files.push(runtime);
        // The kernel still lists this path, but a file has replaced the socket.
        let path = std::env::temp_dir().join(format!("{unique}.replaced"));
        self.keep_alive(UnixListener::bind(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "a file").unwrap();
        self.set_variable("REPLACED", path.display());
        self.files.push(path);
        // Bound by `bind_late`, when the sandbox is complete already.
        self.set_variable("UNIX_LATE", std::env::temp_dir().join(format!("{unique}.late")).display());
    }

    /// Binds a socket that did not exist when the sandbox was built.
    pub(crate) fn bind_late(&mut self) {
        let path = PathBuf::from(self.variable("ESCAPE_UNIX_LATE").unwrap());
        let _ = std::fs::remove_file(&path);
        self.keep_alive(UnixListener::bind(&path).unwrap());
        self.files.push(path);
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Opens a connection and the directory /run, both without close-on-exec.
    fn inherited(&mut self) {
        let address = self.variable("ESCAPE_TCP4").unwrap().to_owned();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"open").unwrap();
        let run = std::fs::File::open("/run").unwrap();
        rustix::io::fcntl_setfd(&stream, rustix::io::FdFlags::empty()).unwrap();
        rustix::io::fcntl_setfd(&run, rustix::io::FdFlags::empty()).unwrap();
        let fd = stream.as_raw_fd();
        let link = std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
        self.set_variable("INHERITED", format!("/proc/self/fd/{fd}={}", link.display()));
        self.set_variable("INHERITED_RUN", run.as_raw_fd());
        self.keep_alive(stream);
        self.keep_alive(run);
    }
}

impl Drop for HostFixture {
    fn drop(&mut self) {
        drop(self.victim.stdin.take());
        let _ = self.victim.wait();
        for path in &self.files {
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
        }
    }
}
