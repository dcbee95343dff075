//! Table of escape attempts, each with its expected result inside of the sandbox.

use crate::fixture::HostFixture;
use nix::sched::{CloneFlags, setns, unshare};
use reenact_sandbox::{Isolation, SandboxCommand};
use rustix::net::{AddressFamily, SocketType};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Socket family of the kernel's crypto interface, which rustix does not name.
const AF_ALG: u16 = 38;

type Outcome = Result<(), Box<dyn Error>>;

/// Expected result of an attempt.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    /// Works outside (or is skipped: the tool or the kernel feature is not here), refused inside.
    Fail,
    /// Refused inside; not tried outside, where it would change the machine.
    FailInside,
    /// Works on both sides. Documented as open: this test fails when that is no longer true.
    StayOpen,
}
use Expected::{Fail, FailInside, StayOpen};

type Row = (&'static str, Expected, fn() -> Outcome);
const TABLE: &[Row] = &[
    ("tcp to the host's loopback", Fail, || tcp("TCP4")),
    ("tcp to the host's ipv6 loopback", Fail, || tcp("TCP6")),
    ("tcp to the host's own address", Fail, || tcp("TCP_OWN")),
    ("udp to the host's loopback", Fail, || udp("UDP")),
    ("dns to a name server on the host", Fail, || udp("DNS")),
    ("abstract unix socket", Fail, abstract_socket),
    ("unix socket under /run", Fail, || unix("UNIX_RUN")),
    ("unix socket under /var/run", Fail, || unix("UNIX_VAR_RUN")),
    ("unix socket under $XDG_RUNTIME_DIR", Fail, || unix("UNIX_RUNTIME")),
    ("unix socket under /tmp, there at the start", Fail, || unix("UNIX_TMP")),
    ("unix datagram socket under /tmp", Fail, unix_datagram),
    ("unix socket under /tmp, bound after the start", StayOpen, || unix("UNIX_LATE")),
    ("unix datagram out of a pair", Fail, || python(DATAGRAM_PAIR)),
    ("data on an opening connection", Fail, || python(FAST_OPEN)),
    ("multipath tcp to the host's loopback", Fail, || python(MULTIPATH)),
    ("vsock", Fail, || family(AddressFamily::VSOCK, SocketType::STREAM)),
    ("packet socket", Fail, || family(AddressFamily::PACKET, SocketType::DGRAM)),
    ("kernel crypto socket", Fail, || family(AddressFamily::from_raw(AF_ALG), SocketType::SEQPACKET)),
    ("bluetooth socket", Fail, || family(AddressFamily::BLUETOOTH, SocketType::RAW)),
    ("raw ip socket", Fail, raw_ip),
    ("io_uring", Fail, io_uring),
    ("keyring", Fail, || python(KEYRING)),
    ("keyring through x32 numbers", FailInside, || python(KEYRING_X32)),
    ("a 32-bit call", Fail, || python(INT_80)),
    ("vsock through a family with high bits", Fail, || python(HIGH_BITS)),
    ("typing into the terminal", Fail, || python(TYPING)),
    ("inherited connection", Fail, inherited_connection),
    ("inherited directory /run", Fail, inherited_run),
    ("setns into a network namespace outside", Fail, || enter("net")),
    ("setns into a user namespace outside", FailInside, || enter("user")),
    ("nsenter --net", Fail, nsenter),
    ("/proc/PID/root of a process outside", Fail, || proc_path("root/run")),
    ("/proc/PID/cwd of a process outside", Fail, || proc_path("cwd/.")),
    ("/proc/PID/fd of a process outside", Fail, || proc_path("fd/0")),
    ("/proc/PID/environ of a process outside", Fail, || read("environ")),
    ("/proc/PID/mem of a process outside", Fail, || proc_path("mem")),
    ("ptrace a process outside", Fail, ptrace),
    ("process_vm_readv of a process outside", Fail, read_memory),
    ("pidfd_getfd of a process outside", Fail, pidfd_getfd),
    ("signal 0 to a process outside", Fail, signal),
    ("ptrace the first process inside", FailInside, ptrace_init),
    ("/proc/1/mem of the first process inside", FailInside, || write("/proc/1/mem")),
    ("unmount /run", FailInside, || unmount_run(CloneFlags::empty())),
    ("unmount /run in a nested mount namespace", FailInside, || unmount_run(CloneFlags::CLONE_NEWNS)),
    ("unmount /run in a nested user and mount namespace", FailInside, || {
        unmount_run(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)
    }),
    ("bind / without its mounts in nested namespaces", FailInside, bind_root),
    ("tcp after a nested user and network namespace", FailInside, || {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
        tcp("TCP4")
    }),
    ("set-user-id programs", FailInside, set_user_id),
    ("core_pattern for writing", Fail, || write("/proc/sys/kernel/core_pattern")),
    ("cgroup tree for writing", Fail, cgroup),
    ("a regular file where a socket was is not hidden", StayOpen, replaced_socket),
    ("a new /proc in nested namespaces, as root", Fail, new_proc),
];

/// Rows that end otherwise behind Landlock, which stands in the host's namespaces.
const BEHIND_LANDLOCK: &[(&str, Expected)] = &[
    ("unix socket under /tmp, bound after the start", Fail),
    ("core_pattern for writing", StayOpen),
    ("cgroup tree for writing", StayOpen),
    ("a new /proc in nested namespaces, as root", StayOpen),
];

/// Calls that Rust can only make in unsafe code. 77 is a skip.
const KEYRING: &str = r"
import ctypes, os, platform
number = {'x86_64': 250, 'aarch64': 219}.get(platform.machine()) or os._exit(77)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.syscall(number, 0, -3, 1) >= 0, os.strerror(ctypes.get_errno())
";
const KEYRING_X32: &str = r"
import ctypes, os, platform
platform.machine() == 'x86_64' or os._exit(77)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.syscall(0x40000000 | 250, 0, -3, 1) >= 0, os.strerror(ctypes.get_errno())
";
const INT_80: &str = r"
import ctypes, mmap, os, platform
platform.machine() == 'x86_64' or os._exit(77)
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b'\xb8\x14\0\0\0\xcd\x80\xc3')  # mov eax, 20; int 0x80; ret: getpid
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
assert ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid()
os._exit(0)
";
const HIGH_BITS: &str = r"
import ctypes, os, platform
number = {'x86_64': 41, 'aarch64': 198}.get(platform.machine()) or os._exit(77)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.syscall(number, ctypes.c_long(1 << 32 | 40), 1, 0) >= 0, os.strerror(ctypes.get_errno())
";
const DATAGRAM_PAIR: &str = r"
import os, socket
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one.sendto(b'hello', os.environ['ESCAPE_UNIX_DATAGRAM'])
";
const FAST_OPEN: &str = r"
import os, socket
host, port = os.environ['ESCAPE_TCP4'].rsplit(':', 1)
socket.socket().sendto(b'hello', socket.MSG_FASTOPEN, (host, int(port)))
";
const MULTIPATH: &str = r"
import os, socket
try: s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
except OSError as error: os._exit(77 if error.errno in (92, 93) and 'ESCAPE_INSIDE' not in os.environ else 1)
host, port = os.environ['ESCAPE_TCP4'].rsplit(':', 1)
s.connect((host, int(port)))
";
/// Script that types into its terminal. Any other error than a refusal counts as reached: a kernel may have switched the call
/// off for all.
const TYPING: &str = r"
import fcntl, os, pty
pid, fd = pty.fork()
if pid == 0:
    try: fcntl.ioctl(0, 0x5412, b'x')
    except PermissionError: os._exit(1)
    except OSError: pass
    os._exit(0)
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

const REACHED: i32 = 0;
const REFUSED: i32 = 3;
const SKIPPED: i32 = 4;

/// Makes one attempt, inside or outside, and returns its outcome as an exit code.
pub(crate) fn run_attempt(name: &str) -> i32 {
    let (_, _, attempt) = TABLE.iter().find(|(known, _, _)| *known == name).unwrap();
    match attempt() {
        Ok(()) => REACHED,
        Err(error) if error.is::<Skip>() => {
            print!("{error}");
            SKIPPED
        }
        Err(error) => {
            print!("{error}");
            REFUSED
        }
    }
}

/// Runs each row outside and inside of both sandboxes; returns the number of failures.
pub(crate) fn run_table() -> usize {
    let mut fixture = HostFixture::new();
    let mut failures = 0;
    println!("  {:55} {:45} behind landlock", "", "in namespaces");
    for (name, must, _) in TABLE {
        let outside = (*must != FailInside).then(|| outside(&fixture, name));
        let in_namespaces = inside(&mut fixture, name, Isolation::Netns);
        let behind_landlock = inside(&mut fixture, name, Isolation::Landlock);
        let other = BEHIND_LANDLOCK.iter().find(|(row, _)| row == name).map_or(*must, |(_, must)| *must);
        let verdicts = [(*must, in_namespaces), (other, behind_landlock)].map(|(must, inside)| {
            verdict(must, outside.as_ref(), &inside).unwrap_or_else(|| {
                failures += 1;
                format!("FAILED: outside {outside:?}, inside {inside:?}")
            })
        });
        println!("  {name:55} {:45} {}", verdicts[0], verdicts[1]);
    }
    failures
}

/// Returns the words for an attempt that ended as it must; `None` if it did not.
fn verdict(must: Expected, outside: Option<&(i32, String)>, inside: &(i32, String)) -> Option<String> {
    Some(match (must, outside, inside) {
        (_, _, (SKIPPED, why)) => format!("skipped: {why}"),
        (Fail | StayOpen, Some((REFUSED | SKIPPED, why)), (REFUSED, _)) => {
            format!("skipped: refused outside too: {why}")
        }
        (Fail, Some((REACHED, _)), (REFUSED, why)) | (FailInside, None, (REFUSED, why)) => {
            format!("closed: {why}")
        }
        (StayOpen, Some((REACHED, _)) | None, (REACHED, _)) => "open, as documented".into(),
        _ => return None,
    })
}

fn outside(fixture: &HostFixture, name: &str) -> (i32, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["attempt", name]).envs(fixture.variables.iter().cloned()).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn inside(fixture: &mut HostFixture, name: &str, isolation: Isolation) -> (i32, String) {
    let mut plan = SandboxCommand::new(std::env::current_exe().unwrap()).args(["attempt", name]);
    if isolation == Isolation::Landlock {
        plan = plan.behind_landlock(TcpListener::bind("127.0.0.1:0").unwrap());
    }
    let own = std::env::vars_os().chain(fixture.variables.iter().map(|(k, v)| (k.into(), v.into())));
    plan.env = Some(own.chain([("ESCAPE_INSIDE".into(), "".into())]).collect());
    let (mut command, handshake) = plan.prepare().unwrap();
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(command);
    let ready = handshake.wait().unwrap();
    fixture.bind_late();
    let _running = ready.start().unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    (child.wait().unwrap().code().unwrap_or(-1), output)
}

/// Error of an attempt whose requirements this machine lacks; not a failure.
#[derive(Debug)]
struct Skip(String);
impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
impl Error for Skip {}

fn fixture_variable(name: &str) -> Result<String, Box<dyn Error>> {
    std::env::var(format!("ESCAPE_{name}"))
        .map_err(|_| Skip(format!("the host could not offer {name}")).into())
}

fn victim() -> Result<i32, Box<dyn Error>> {
    Ok(fixture_variable("VICTIM")?.parse()?)
}

fn tcp(name: &str) -> Outcome {
    TcpStream::connect_timeout(&fixture_variable(name)?.parse()?, Duration::from_secs(3))?;
    Ok(())
}

fn udp(name: &str) -> Outcome {
    let to: std::net::SocketAddr = fixture_variable(name)?.parse()?;
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    socket.connect(to)?;
    socket.send(b"query")?;
    socket.recv(&mut [0; 16])?;
    Ok(())
}

fn abstract_socket() -> Outcome {
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(fixture_variable("ABSTRACT")?)?)?;
    Ok(())
}

fn unix(name: &str) -> Outcome {
    UnixStream::connect(fixture_variable(name)?)?;
    Ok(())
}

fn replaced_socket() -> Outcome {
    if std::fs::read_to_string(fixture_variable("REPLACED")?)? == "a file" {
        Ok(())
    } else {
        Err("hidden".into())
    }
}

fn unix_datagram() -> Outcome {
    UnixDatagram::unbound()?.send_to(b"hello", fixture_variable("UNIX_DATAGRAM")?)?;
    Ok(())
}

fn family(family: AddressFamily, kind: SocketType) -> Outcome {
    rustix::net::socket(family, kind, None)?;
    Ok(())
}

fn raw_ip() -> Outcome {
    rustix::net::socket(AddressFamily::INET, SocketType::RAW, Some(rustix::net::ipproto::ICMP))?;
    Ok(())
}

fn io_uring() -> Outcome {
    io_uring::IoUring::new(1)?;
    Ok(())
}

fn python(script: &str) -> Outcome {
    let output = Command::new("python3").args(["-c", script]).output();
    let output = output.map_err(|_| Skip("no python3".into()))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Ok(()),
        Some(77) => Err(Skip("not on this architecture".into()).into()),
        _ => Err(format!("{} ({})", stderr.trim().lines().last().unwrap_or_default(), output.status).into()),
    }
}

fn inherited_connection() -> Outcome {
    let variable = fixture_variable("INHERITED")?;
    let (fd, link) = variable.split_once('=').unwrap();
    let found = std::fs::read_link(fd)?;
    if found.to_str() == Some(link) { Ok(()) } else { Err(format!("it is {found:?}").into()) }
}

fn inherited_run() -> Outcome {
    std::fs::read_dir(format!("/proc/self/fd/{}/", fixture_variable("INHERITED_RUN")?))?;
    Ok(())
}

fn enter(kind: &str) -> Outcome {
    let namespace = std::fs::File::open(format!("/proc/{}/ns/{kind}", victim()?))?;
    setns(namespace, CloneFlags::empty())?;
    Ok(())
}

fn nsenter() -> Outcome {
    let pid = victim()?.to_string();
    let output = Command::new("nsenter").args(["--net", "--target", &pid, "true"]).output();
    let output = output.map_err(|_| Skip("no nsenter".into()))?;
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(stderr.into()) }
}

fn proc_path(path: &str) -> Outcome {
    std::fs::File::open(format!("/proc/{}/{path}", victim()?))?;
    Ok(())
}

fn read(path: &str) -> Outcome {
    std::fs::read(format!("/proc/{}/{path}", victim()?))?;
    Ok(())
}

fn write(path: &str) -> Outcome {
    std::fs::OpenOptions::new().write(true).open(path)?;
    Ok(())
}

/// Tries a cgroup of version 2, or one of version 1, whose `release_agent` the kernel starts outside.
fn cgroup() -> Outcome {
    let places = ["", "memory/", "unified/"].map(|place| format!("/sys/fs/cgroup/{place}cgroup.procs"));
    let place = places.iter().find(|place| std::path::Path::new(place).exists());
    write(place.ok_or_else(|| Skip("no cgroup tree".into()))?)
}

fn ptrace() -> Outcome {
    let pid = nix::unistd::Pid::from_raw(victim()?);
    nix::sys::ptrace::seize(pid, nix::sys::ptrace::Options::empty())?;
    Ok(())
}

fn ptrace_init() -> Outcome {
    nix::sys::ptrace::seize(nix::unistd::Pid::from_raw(1), nix::sys::ptrace::Options::empty())?;
    Ok(())
}

fn read_memory() -> Outcome {
    use nix::sys::uio::{RemoteIoVec, process_vm_readv};
    let pid = nix::unistd::Pid::from_raw(victim()?);
    let mut byte = [0_u8];
    // No valid address is needed: EFAULT means that reading is allowed, EPERM that it is not.
    let remote = [RemoteIoVec { base: 0x1000, len: 1 }];
    match process_vm_readv(pid, &mut [std::io::IoSliceMut::new(&mut byte)], &remote) {
        Ok(_) | Err(nix::Error::EFAULT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn pidfd_getfd() -> Outcome {
    use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
    let pidfd = pidfd_open(Pid::from_raw(victim()?).unwrap(), PidfdFlags::empty())?;
    pidfd_getfd(&pidfd, 0, PidfdGetfdFlags::empty())?;
    Ok(())
}

fn signal() -> Outcome {
    rustix::process::test_kill_process(rustix::process::Pid::from_raw(victim()?).unwrap())?;
    Ok(())
}

fn unmount_run(first: CloneFlags) -> Outcome {
    unshare(first)?;
    rustix::mount::unmount("/run", rustix::mount::UnmountFlags::DETACH)?;
    Ok(())
}

fn bind_root() -> Outcome {
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    rustix::mount::mount_bind("/", "/mnt")?;
    Ok(())
}

fn new_proc() -> Outcome {
    if !rustix::process::getuid().is_root() {
        return Err(Skip("not root".into()).into());
    }
    // Without a map: root of the sandbox may not be mapped again, since it has no CAP_SETFCAP.
    let exe = std::env::current_exe()?;
    let unshare =
        ["--user", "--keep-caps", "--mount", "--pid", "--fork", exe.to_str().unwrap(), "act", "mount-proc"];
    let output = Command::new("unshare").args(unshare).output().map_err(|_| Skip("no unshare".into()))?;
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(stderr.into()) }
}

fn set_user_id() -> Outcome {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    let is_empty = |name: &&str| line(name).ends_with("\t0000000000000000");
    let held = ["CapInh", "CapPrm", "CapEff", "CapAmb"].iter().all(is_empty);
    // Without a user namespace an ordinary user cannot empty the bounding set, from which nothing can be gained.
    let is_bounded = is_empty(&"CapBnd") || !rustix::process::getuid().is_root();
    if held && is_bounded && line("NoNewPrivs").ends_with('1') && line("Seccomp:").ends_with('2') {
        std::io::stdout().flush()?;
        return Err("no capabilities, no_new_privs, seccomp 2".into());
    }
    Ok(())
}
