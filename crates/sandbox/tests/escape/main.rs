//! Table of escape attempts: each is made outside, where it works, and inside of the sandbox, where it must fail.
//!
//! This program is the host, the trampoline, and the command inside; `main` decides by its arguments. As root, the whole table
//! is run a second time as an unprivileged user.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
#![allow(missing_docs)]

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod behaviour;
#[cfg(target_os = "linux")]
mod fixture;

#[cfg(target_os = "linux")]
fn main() {
    reenact_sandbox::trampoline::run_if_trampoline();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["attempt", name] => std::process::exit(attempts::run_attempt(name)),
        ["act", name, rest @ ..] => std::process::exit(behaviour::run_action(name, rest)),
        ["victim"] => drop(std::io::read_to_string(std::io::stdin())),
        // Queries of a test runner before it runs any test: the list of tests, and the list of ignored tests.
        words if words.contains(&"--list") && words.contains(&"--ignored") => {}
        words if words.contains(&"--list") => println!("escape: test"),
        _ => std::process::exit(run_all()),
    }
}

#[cfg(target_os = "linux")]
fn run_all() -> i32 {
    let who = rustix::process::getuid().as_raw();
    println!("\nas user {who}");
    let probe = reenact_sandbox::probe();
    if probe.report.isolation != reenact_sandbox::Isolation::Netns {
        println!("skipped: {}\n{}", probe.report, probe.advice.join("\n"));
        // Where the sandbox is known to work, a test run that skips it all must not pass.
        return i32::from(std::env::var_os("REENACT_REQUIRE_SANDBOX").is_some());
    }
    let failures = attempts::run_table() + behaviour::run_all();
    println!("{failures} failures as user {who}");
    let mut code = i32::from(failures > 0);
    if who == 0 {
        code |= again_unprivileged();
    }
    code
}

/// Runs the same tests as `nobody`, from a copy that such a user can execute.
#[cfg(target_os = "linux")]
fn again_unprivileged() -> i32 {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = std::env::temp_dir().join(format!("reenact-escape-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let copy = folder.join("escape");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    // Only root can bind a name server's port and sockets under /run, so they are bound here.
    let fixture = fixture::HostFixture::new();
    let offered = ["ESCAPE_DNS", "ESCAPE_UNIX_RUN", "ESCAPE_UNIX_VAR_RUN"]
        .into_iter()
        .filter_map(|name| Some((name, fixture.variable(name)?)));
    for path in offered.clone().map(|(_, value)| value).filter(|value| value.starts_with('/')) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let status = std::process::Command::new(&copy)
        .envs(offered)
        .uid(65534)
        .gid(65534)
        .current_dir("/")
        .env("HOME", "/nonexistent")
        // A folder on the path that cannot be searched would make 126 of every 127, as with env(1).
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .status()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    i32::from(!status.success())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    let probe = reenact_sandbox::probe();
    assert_eq!(probe.report.isolation, reenact_sandbox::Isolation::None);
    assert!(probe.report.reason.is_some());
}
