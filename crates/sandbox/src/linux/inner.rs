//! The trampoline itself: each step in order, then the command.

use super::channel::{Channel, Word};
use super::{descriptors, environment, filter, loopback, masks, namespaces, privileges, tables};
use crate::enforcement::{Closed, Open};
use crate::plan::Step;
use crate::trampoline::MARK;
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The sandbox could not be built, as env(1) has it for itself.
const COULD_NOT: i32 = 125;

/// What went wrong at which step.
pub(super) struct Failure {
    step: Step,
    errno: Option<i32>,
    detail: String,
}

/// Names the step in which an error came up, and what was being done.
pub(super) trait During<T> {
    fn during(self, step: Step, doing: &str) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, step: Step, doing: &str) -> Result<T, Failure> {
        self.map_err(|error| {
            let error = error.into();
            Failure { step, errno: error.raw_os_error(), detail: format!("{doing}: {error}") }
        })
    }
}

pub(crate) fn main_if_asked() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == MARK) {
        std::process::exit(run(args.next(), args.collect()));
    }
}

/// Comes back only with the exit code of a failure.
fn run(program: Option<OsString>, args: Vec<OsString>) -> i32 {
    let borrowed = rustix::process::getuid() != rustix::process::geteuid()
        || rustix::process::getgid() != rustix::process::getegid();
    let channel = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(io::Error::from);
    let (Some(program), Ok(mut channel), false) = (program, channel.and_then(Channel::from_fd), borrowed)
    else {
        complain(&format!("{MARK} is the sandbox's own inner command; it cannot be called by hand"));
        return COULD_NOT;
    };
    match build(&mut channel) {
        Ok((listener, report)) => {
            if channel.send(&report.to_bytes(), Some(listener.as_fd())).is_err() {
                return COULD_NOT;
            }
        }
        Err(Failure { step, errno, detail }) => {
            let _ = channel.send(&Word::Failed { step, errno, detail }.to_bytes(), None);
            return COULD_NOT;
        }
    }
    // The listener is the host's alone now. Without a word from the host, the command never runs.
    if !matches!(channel.receive(), Ok((body, None)) if body == b"go") {
        return COULD_NOT;
    }
    let mut command = Command::new(&program);
    command.args(args);
    for name in environment::ways_out() {
        command.env_remove(name);
    }
    let error = command.exec();
    let exit_code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
    let _ = channel.send(&Word::NotExecuted { exit_code, reason: error.to_string() }.to_bytes(), None);
    exit_code
}

/// Every step before the command. What it reports has been done.
fn build(channel: &mut Channel) -> Result<(TcpListener, Word), Failure> {
    let (port, stdin) = channel.receive().during(Step::Request, "read the request")?;
    let port = <[u8; 2]>::try_from(port).map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
    let port = u16::from_le_bytes(port.during(Step::Request, "read the port")?);
    let stdin =
        stdin.ok_or(io::Error::from(io::ErrorKind::InvalidData)).during(Step::Request, "take over stdin")?;
    rustix::stdio::dup2_stdin(&stdin).during(Step::Request, "take over stdin")?;
    drop(stdin);

    let directory = std::env::current_dir().during(Step::Directory, "find the working directory")?;
    // Read before the new namespace hides them.
    let outside = tables::Outside::read();
    let (mut closed, mut open) = (Vec::new(), vec![Open::Files, Open::Signals, Open::LaterSockets]);

    namespaces::enter(&mut closed, &mut open)?;
    loopback::raise().during(Step::Loopback, "raise the loopback interface")?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).during(Step::Listen, "listen inside")?;
    masks::put_on(&outside, &directory, &mut closed, &mut open)?;
    std::env::set_current_dir(&directory).during(
        Step::Directory,
        &format!("go back to {directory:?}, which lies under a directory that the sandbox masks"),
    )?;

    descriptors::close_others(&[&channel.as_fd(), &listener.as_fd()])
        .during(Step::Descriptors, "close inherited descriptors")?;
    closed.push(Closed::Descriptors);
    open.extend(descriptors::network_streams());
    closed.extend(environment::ways_out().map(Closed::Variable));
    privileges::give_up().during(Step::Privileges, "give up capabilities")?;
    closed.extend([Closed::Privileges, Closed::Processes]);
    filter::install(&mut closed)?;
    Ok((listener, Word::Standing { closed, open }))
}

/// For a person who typed the private argument; the host gets its words through the channel.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "reenact: {text}");
}
