//! Behaviour that must work inside: the gateway's port, the standard streams, exit codes, signals, the environment.

use reenact_sandbox::{
    ClosedRoute, Isolation, OpenRoute, SandboxCommand, SandboxError, SandboxedChild, SetupStep,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

const TESTS: &[(&str, fn())] = &[
    ("the gateway's port is served from outside, many connections", gateway),
    ("a chosen port is free inside though taken outside", chosen_port),
    ("standard streams pass through", streams),
    ("exit codes as they are", exit_codes),
    ("a missing command is 127, one that is not executable 126", not_executed),
    ("signals reach the command itself", signals),
    ("no signal is blocked or ignored", signal_state),
    ("it ends by the signal that ended the command", ended_by),
    ("nothing that the command left behind survives", left_behind),
    ("nothing survives the process that stands for the command", killed_outside),
    ("a signal to the process group stays inside", own_group),
    ("what the command abandons is reaped", reaped),
    ("/proc lists the processes inside and no other", process_list),
    ("where /proc is masked, all else holds", masked_proc),
    ("behind Landlock: the gateway's port is served", landlock_gateway),
    ("behind Landlock: nothing listens", landlock_listening),
    ("behind Landlock: it ends as the command ends", landlock_ends),
    ("behind Landlock: nothing that the command left behind survives", landlock_left_behind),
    ("behind Landlock: nothing survives a first process that was killed", landlock_killed_init),
    ("behind Landlock: the report says what stayed open", landlock_report),
    ("the environment has no ways out", environment),
    ("user, group and directory are kept", identity),
    ("the runtime directory is there and empty", runtime_directory),
    ("a directory under a mask is refused", masked_directory),
    ("works among many threads, many at once", threads),
    ("without the word to start, nothing runs", never_started),
    ("the inner command cannot be called by hand", by_hand),
    ("the report says what was closed and what stayed open", report),
    ("without namespaces it is Landlock, with what to do about it", refusal),
    ("a sandbox inside a sandbox", nested),
    ("a network socket as standard input is named", network_stream),
    ("ptrace of an own child still works", own_child),
    ("start-up time", start_up),
];

pub(crate) fn run_all() -> usize {
    let run = |(name, test): &(&str, fn())| {
        let failed = std::panic::catch_unwind(test).is_err();
        println!("  {name:65} {}", if failed { "FAILED" } else { "ok" });
        failed
    };
    TESTS.iter().filter(|test| run(test)).count()
}

/// Runs the named action of the command inside; returns its exit code.
pub(crate) fn run_action(name: &str, rest: &[&str]) -> i32 {
    match name {
        "echo" => {
            let said = std::io::read_to_string(std::io::stdin()).unwrap();
            print!("out {said}");
            eprint!("err {said}");
            0
        }
        "exit" => rest[0].parse().unwrap(),
        "env" => {
            std::env::vars().for_each(|(name, value)| println!("{name}={value}"));
            0
        }
        "where" => {
            let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
            println!("{uid} {gid} {} {}", std::process::id(), std::env::current_dir().unwrap().display());
            0
        }
        "status" => {
            print!("{}", std::fs::read_to_string("/proc/self/status").unwrap());
            0
        }
        "runtime" => {
            let folder = std::env::var("XDG_RUNTIME_DIR").unwrap();
            print!("{}", std::fs::read_dir(&folder).unwrap().count());
            std::fs::write(format!("{folder}/mine"), "").unwrap();
            0
        }
        "call" => {
            let port: u16 = rest[0].parse().unwrap();
            std::thread::scope(|scope| {
                for caller in 0..16 {
                    scope.spawn(move || {
                        for call in 0..25 {
                            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                            let sent = format!("{caller}/{call}\n");
                            stream.write_all(sent.as_bytes()).unwrap();
                            let mut got = String::new();
                            BufReader::new(stream).read_line(&mut got).unwrap();
                            assert_eq!(got, sent);
                        }
                    });
                }
            });
            0
        }
        "probe" => {
            let probe = reenact_sandbox::probe();
            print!("{}\n{}", probe.report, probe.advice.join("\n"));
            0
        }
        "processes" => {
            let is_process = |name: &std::ffi::OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
            let entries = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name());
            println!("{}", entries.filter(|name| is_process(name)).count());
            0
        }
        "listen" => TcpListener::bind("127.0.0.1:0").is_err().into(),
        "listen-unbound" => {
            let socket =
                rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None);
            rustix::net::listen(socket.unwrap(), 1).is_err().into()
        }
        "limit" => {
            let outside = rustix::process::Pid::from_raw(rest[0].parse().unwrap());
            let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
            rustix::process::prlimit(outside, rustix::process::Resource::Fsize, none).is_err().into()
        }
        "connect" => TcpStream::connect(rest[0]).is_err().into(),
        "abandon" => {
            // The shell prints the id of a process that it leaves to the first process inside.
            let orphan = Command::new("sh").args(["-c", "true & echo $!"]).output().unwrap().stdout;
            let orphan = format!("/proc/{}", String::from_utf8(orphan).unwrap().trim());
            while std::path::Path::new(&orphan).exists() {
                std::thread::yield_now();
            }
            0
        }
        "mount-proc" => {
            let flags = rustix::mount::MountFlags::empty();
            let mounted = rustix::mount::mount("proc", "/mnt", "proc", flags, None::<&std::ffi::CStr>);
            mounted.inspect_err(|error| eprint!("mount: {error}")).is_err().into()
        }
        "trace" => {
            let mut child = Command::new("sleep").arg("30").spawn().unwrap();
            let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
            nix::sys::ptrace::seize(pid, nix::sys::ptrace::Options::empty()).unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            0
        }
        _ => 99,
    }
}

fn plan(args: &[&str]) -> SandboxCommand {
    SandboxCommand::new(std::env::current_exe().unwrap()).arg("act").args(args)
}

/// Runs a command to its end; returns exit code, standard output and standard error.
fn run(plan: SandboxCommand) -> (Option<i32>, String, String) {
    let (mut command, handshake) = plan.prepare().unwrap();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(command);
    let _running = handshake.wait().unwrap().start().unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn serve(listener: TcpListener) -> std::sync::Arc<AtomicUsize> {
    let served = std::sync::Arc::new(AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&served);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || {
                let mut line = String::new();
                BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
                stream.write_all(line.as_bytes()).unwrap();
            });
        }
    });
    served
}

/// Runs a command that calls `port`, which it gets through its arguments, as an agent would.
fn call_on(port: u16) -> (Option<i32>, usize, u16) {
    let SandboxedChild { mut child, listener, .. } =
        plan(&["call", &port.to_string()]).listen_port(port).spawn().unwrap();
    let bound = listener.local_addr().unwrap().port();
    let served = serve(listener);
    let code = child.wait().unwrap().code();
    (code, served.load(Ordering::SeqCst), bound)
}

fn gateway() {
    assert_eq!(call_on(48_999), (Some(0), 400, 48_999));
    let SandboxedChild { mut child, listener, .. } = plan(&["exit", "0"]).spawn().unwrap();
    assert_ne!(listener.local_addr().unwrap().port(), 0);
    assert!(child.wait().unwrap().success());
}

fn chosen_port() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    assert_eq!(call_on(port), (Some(0), 400, port));
}

fn streams() {
    let (read, mut write) = std::io::pipe().unwrap();
    let mut plan = plan(&["echo"]);
    plan.stdin = Some(read.into());
    write.write_all("grüße\n".as_bytes()).unwrap();
    drop(write);
    assert_eq!(run(plan), (Some(0), "out grüße\n".into(), "err grüße\n".into()));
}

fn exit_codes() {
    for code in [0, 1, 2, 77, 125, 255] {
        assert_eq!(run(plan(&["exit", &code.to_string()])).0, Some(code));
    }
}

fn not_executed() {
    let error = |program: &str| match SandboxCommand::new(program).spawn() {
        Err(SandboxError::Exec { exit_code, program, .. }) => (exit_code, program),
        other => panic!("{other:?}"),
    };
    assert_eq!(error("no-such-program"), (127, "no-such-program".into()));
    assert_eq!(error("/etc/passwd"), (126, "/etc/passwd".into()));
}

fn signals() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let SandboxedChild { mut child, .. } = SandboxCommand::new("sleep").arg("60").spawn().unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal.as_raw()));
    }
}

fn signal_state() {
    let (_, inside, _) = run(SandboxCommand::new("cat").arg("/proc/self/status"));
    let outside = Command::new("cat").arg("/proc/self/status").output().unwrap();
    let outside = String::from_utf8(outside.stdout).unwrap();
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|it| it.starts_with("SigBlk") || it.starts_with("SigIgn"))
            .map(String::from)
            .collect()
    };
    assert_eq!(lines(&inside), lines(&outside));
    assert_eq!(lines(&inside).len(), 2);
}

/// Ends by each kind: one that the standard library ignores, one that it handles, one without a name, one that nobody can catch.
fn ended_by() {
    let real_time = 40;
    for signal in [nix::libc::SIGPIPE, nix::libc::SIGSEGV, real_time, nix::libc::SIGKILL] {
        let plan = SandboxCommand::new("sh").args(["-c", &format!("kill -{signal} $$")]);
        assert_eq!(plan.spawn().unwrap().child.wait().unwrap().signal(), Some(signal));
    }
}

/// Runs a script with piped output, and returns the child and the pipe, which ends with the last process that holds it.
fn start_script(script: &str) -> (std::process::Child, std::process::ChildStdout) {
    start_piped(SandboxCommand::new("sh").args(["-c", script]))
}

/// Starts a command with piped output.
fn start_piped(plan: SandboxCommand) -> (std::process::Child, std::process::ChildStdout) {
    let (mut command, handshake) = plan.prepare().unwrap();
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(command);
    drop(handshake.wait().unwrap().start().unwrap());
    let output = child.stdout.take().unwrap();
    (child, output)
}

fn left_behind() {
    let (mut child, mut output) = start_script("setsid sleep 1000 & echo left; exit 3");
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let mut said = String::new();
    output.read_to_string(&mut said).unwrap();
    assert_eq!(said, "left\n");
}

fn killed_outside() {
    let (mut child, mut output) = start_script("echo here; setsid sleep 1000 & sleep 1000");
    output.read_exact(&mut [0; 5]).unwrap();
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(nix::libc::SIGKILL));
    assert_eq!(output.read(&mut [0]).unwrap(), 0);
}

/// A process group reaches over the border of a process namespace; Landlock (its sixth version) does not let signals pass.
fn own_group() {
    let plan = SandboxCommand::new("sh").args(["-c", "trap '' TERM; kill -TERM 0; exit 7"]);
    let (mut command, handshake) = plan.prepare().unwrap();
    let mut child = std::os::unix::process::CommandExt::process_group(&mut command, 0).spawn().unwrap();
    drop(command);
    let mut bystander = Command::new("sleep");
    bystander.arg("1000");
    std::os::unix::process::CommandExt::process_group(&mut bystander, child.id().cast_signed());
    let mut bystander = bystander.spawn().unwrap();
    let report = handshake.wait().unwrap().start().unwrap().report;
    assert_eq!(child.wait().unwrap().code(), Some(7));
    let is_alive = bystander.try_wait().unwrap().is_none();
    let _ = bystander.kill();
    bystander.wait().unwrap();
    assert_eq!(is_alive, report.closed.contains(&ClosedRoute::Signals));
}

fn reaped() {
    assert_eq!(run(plan(&["abandon"])).0, Some(0));
}

fn process_list() {
    assert_eq!(run(plan(&["processes"])), (Some(0), "2\n".into(), String::new()));
}

/// Masks a part of `/proc` in namespaces of its own, as container runtimes do.
fn masked_proc() {
    let script = "mount -t tmpfs none /proc/bus && exec \"$0\" act probe";
    let exe = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(exe);
    let Ok(output) = command.output() else { return };
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("hermetic: enforced by the kernel (netns)"), "{said}");
    assert!(said.contains("\n  open    the list of processes outside"), "{said}");
    assert!(said.contains("\n  closed  processes left behind"), "{said}");
}

/// Returns a plan behind Landlock, and the port of its gateway, a listener of this process.
fn landlock_plan(args: &[&str]) -> (SandboxCommand, u16) {
    let gateway = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = gateway.local_addr().unwrap().port();
    (plan(args).behind_landlock(gateway), port)
}

/// Runs a plan that may not use its gateway; returns the child's exit code.
fn landlock_code(plan: SandboxCommand) -> Option<i32> {
    plan.spawn().unwrap().child.wait().unwrap().code()
}

fn landlock_gateway() {
    let gateway = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = gateway.local_addr().unwrap().port();
    // On another address of the machine the same port is open, as the report says.
    let same_port = TcpListener::bind(("127.0.0.2", port)).unwrap();
    let plan = |args: &[&str]| plan(args).behind_landlock(gateway.try_clone().unwrap());
    let address = same_port.local_addr().unwrap().to_string();
    assert_eq!(landlock_code(plan(&["connect", &address])), Some(0));
    let other = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    assert_eq!(landlock_code(plan(&["connect", &other])), Some(1));

    let SandboxedChild { mut child, listener, .. } = plan(&["call", &port.to_string()]).spawn().unwrap();
    assert_eq!(listener.local_addr().unwrap().port(), port);
    let served = serve(listener);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(served.load(Ordering::SeqCst), 400);
}

fn landlock_listening() {
    assert_eq!(landlock_code(landlock_plan(&["listen"]).0), Some(1));
    assert_eq!(landlock_code(landlock_plan(&["listen-unbound"]).0), Some(1));
    let mut outside = Command::new("sleep").arg("1000").spawn().unwrap();
    assert_eq!(landlock_code(landlock_plan(&["limit", &outside.id().to_string()]).0), Some(1));
    outside.kill().unwrap();
    outside.wait().unwrap();
}

fn landlock_ends() {
    assert_eq!(landlock_code(landlock_plan(&["exit", "77"]).0), Some(77));
    let gateway = TcpListener::bind("127.0.0.1:0").unwrap();
    let plan = SandboxCommand::new("sleep").arg("60").behind_landlock(gateway);
    let mut child = plan.spawn().unwrap().child;
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)
        .unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(nix::libc::SIGINT));
}

fn landlock_left_behind() {
    let gateway = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = "setsid sh -c 'sleep 1000 & sleep 1000' & echo left; exit 3";
    let plan = SandboxCommand::new("sh").args(["-c", script]).behind_landlock(gateway);
    let (mut child, mut output) = start_piped(plan);
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let mut said = String::new();
    output.read_to_string(&mut said).unwrap();
    assert_eq!(said, "left\n");
}

fn landlock_killed_init() {
    let gateway = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = "setsid sleep 1000 & echo here; read line; kill -KILL $PPID; sleep 1000";
    let mut plan = SandboxCommand::new("sh").args(["-c", script]).behind_landlock(gateway);
    let (read, mut write) = std::io::pipe().unwrap();
    plan.stdin = Some(read.into());
    let (mut child, mut output) = start_piped(plan);
    // Only now does everybody know that it runs.
    write.write_all(b"go\n").unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(nix::libc::SIGKILL));
    let mut said = String::new();
    output.read_to_string(&mut said).unwrap();
    assert_eq!(said, "here\n");
}

fn landlock_report() {
    let (plan, port) = landlock_plan(&["exit", "0"]);
    let mut inside = plan.spawn().unwrap();
    println!("{}", inside.report);
    assert_eq!(inside.report.isolation, Isolation::Landlock);
    for fact in
        [ClosedRoute::TcpPorts, ClosedRoute::Datagrams, ClosedRoute::UnixSockets, ClosedRoute::LeftProcesses]
    {
        assert!(inside.report.closed.contains(&fact), "{fact:?}");
    }
    assert!(!inside.report.closed.contains(&ClosedRoute::Network));
    let port = OpenRoute::Port(port.to_string().into());
    assert!(inside.report.open.contains(&OpenRoute::Files) && inside.report.open.contains(&port));
    assert!(inside.child.wait().unwrap().success());
}

fn environment() {
    let mut plan = plan(&["env"]);
    let set = [
        ("SSH_AUTH_SOCK", "/tmp/x"),
        ("DOCKER_HOST", "unix:///x"),
        ("DISPLAY", ":0"),
        ("TMUX", "1"),
        ("KEPT", "ä=b"),
    ];
    plan.env = Some(set.map(|(name, value)| (name.into(), value.into())).to_vec());
    assert_eq!(run(plan).1, "KEPT=ä=b\n");
}

fn identity() {
    let mut plan = plan(&["where"]);
    plan.directory = Some("/usr".into());
    let (mut command, handshake) = plan.prepare().unwrap();
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(command);
    let _running = handshake.wait().unwrap().start().unwrap();
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    assert_eq!(output, format!("{uid} {gid} 2 /usr\n"));
}

fn runtime_directory() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("secret"), "").unwrap();
    let mut plan = plan(&["runtime"]);
    plan.env = Some(vec![("XDG_RUNTIME_DIR".into(), folder.into())]);
    assert_eq!(run(plan), (Some(0), "0".into(), String::new()));
    assert!(!folder.join("mine").exists());
}

fn masked_directory() {
    let mut plan = plan(&["exit", "0"]);
    plan.directory = Some("/run/lock".into());
    if std::fs::metadata("/run/lock").is_err() {
        return;
    }
    match plan.spawn() {
        Err(error @ SandboxError::Refused { step: SetupStep::Directory, .. }) => {
            assert_eq!(reenact_sandbox::SandboxProbe::from_error(&error).advice.len(), 1);
        }
        other => panic!("{other:?}"),
    }
}

fn threads() {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    drop(std::hint::black_box(vec![0_u8; 4096]));
                    std::thread::yield_now();
                }
            });
        }
        let spawners: Vec<_> = (0..8)
            .map(|code: i32| {
                scope.spawn(move || {
                    for _ in 0..3 {
                        assert_eq!(run(plan(&["exit", &code.to_string()])).0, Some(code));
                    }
                })
            })
            .collect();
        let failed = spawners.into_iter().filter_map(|it| it.join().err()).count();
        stop.store(true, Ordering::Relaxed);
        assert_eq!(failed, 0);
    });
}

fn never_started() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("never");
    let (mut command, handshake) = SandboxCommand::new("touch").arg(&mark).prepare().unwrap();
    let mut child = command.spawn().unwrap();
    drop(command);
    drop(handshake.wait().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(125));
    assert!(!mark.exists());
}

fn by_hand() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command
        .args([reenact_sandbox::trampoline::TRAMPOLINE_ARGUMENT, "true"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot be called by hand"));
}

fn report() {
    let enforcement = reenact_sandbox::probe().report;
    println!("{enforcement}");
    assert_eq!((enforcement.isolation, &enforcement.reason), (Isolation::Netns, &None));
    for fact in [
        ClosedRoute::Network,
        ClosedRoute::AbstractSockets,
        ClosedRoute::SocketFamilies,
        ClosedRoute::IoUring,
        ClosedRoute::Privileges,
    ] {
        assert!(enforcement.closed.contains(&fact), "{fact:?}");
    }
    for fact in [ClosedRoute::Signals, ClosedRoute::LeftProcesses] {
        assert!(enforcement.closed.contains(&fact), "{fact:?}");
    }
    for fact in [OpenRoute::Files, OpenRoute::LaterSockets] {
        assert!(enforcement.open.contains(&fact), "{fact:?}");
    }
    assert!(enforcement.masked_paths().any(|path| path == std::path::Path::new("/run")));
    assert_eq!(enforcement.open.contains(&OpenRoute::Root), rustix::process::getuid().is_root());
}

/// Sets `user.max_user_namespaces` to 0 in a user namespace of its own, which does no harm to the machine.
fn refusal() {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" act probe";
    let exe = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    let Ok(output) = command.args(["--user", "--map-root-user", "sh", "-c", script]).arg(exe).output() else {
        return;
    };
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("hermetic: enforced by the kernel (landlock)"), "{said}");
    let advice =
        "\nthe number of user namespaces is limited to 0: sudo sysctl -w user.max_user_namespaces=15000";
    assert!(said.ends_with(advice), "{said}");
}

/// Runs a sandbox inside of a sandbox: the agent may be one that replays. Root cannot: it would need CAP_SETFCAP to map itself
/// again.
fn nested() {
    let (code, said, _) = run(plan(&["probe"]));
    assert_eq!(code, Some(0));
    if rustix::process::getuid().is_root() {
        assert!(said.starts_with("hermetic: enforced by the kernel (landlock)"), "{said}");
    } else {
        assert!(said.starts_with("hermetic: enforced by the kernel (netns)"), "{said}");
    }
}

fn network_stream() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut plan = plan(&["exit", "0"]);
    plan.stdin = Some(stream.into());
    let mut inside = plan.spawn().unwrap();
    assert!(inside.report.open.contains(&OpenRoute::Stream("stdin".into())));
    assert!(inside.child.wait().unwrap().success());
}

fn own_child() {
    assert_eq!(run(plan(&["trace"])).0, Some(0));
}

/// Prints the start-up times. No clock fails a test.
fn start_up() {
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let time = |run: &dyn Fn()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1e3
    };
    let direct = || assert!(Command::new("/bin/true").stdin(Stdio::null()).status().unwrap().success());
    let inside = || {
        let mut inside = SandboxCommand::new("/bin/true").spawn().unwrap();
        let mut byte = [0];
        assert!(inside.child.wait().unwrap().success());
        let _ = inside.child.stdout.take().map(|mut it| it.read(&mut byte));
    };
    let (direct, inside): (Vec<_>, Vec<_>) = (0..50).map(|_| (time(&direct), time(&inside))).unzip();
    println!(
        "    /bin/true: direct {:.2} ms, inside {:.2} ms (medians of 50)",
        median(direct),
        median(inside)
    );
}
