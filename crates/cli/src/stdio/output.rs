//! Standard output: passed on unchanged, and hashed.
//!
//! Where standard output and standard error go to the same place, nothing is put between, and nothing is hashed: their order
//! would not be kept. Start reading at [`OutputCapture::prepare`].

use std::fs::File;
use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use reenact_json::Digest;
use reenact_json::canonical::ByteSink as _;
use reenact_json::digest::Hasher;
use rustix::event::PollFlags;
use rustix::fs::{FileType, OFlags, Stat};

use super::wait::{wait_for, write_all};

/// Longest time for which output is passed on that comes from processes which the agent left behind.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// Bytes that are passed on at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Standard output of an agent that is about to start.
pub(super) enum OutputCapture {
    /// The agent has our own descriptor, and nothing is hashed.
    Inherited,
    /// The agent has our own descriptor of a regular file, and writes from this position on.
    File { start: u64 },
    /// The agent writes into a pipe of ours. The second pipe tells the thread that the agent has ended.
    Piped { ours: PipeReader, stopped: PipeReader, stop: PipeWriter, place: OutputPlace },
}

/// Stream of ours to which an agent's standard output is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputPlace {
    /// Our standard output.
    Stdout,
    /// Our standard error, where standard output has our own result.
    Stderr,
}

impl OutputPlace {
    fn descriptor(self) -> BorrowedFd<'static> {
        match self {
            Self::Stdout => rustix::stdio::stdout(),
            Self::Stderr => rustix::stdio::stderr(),
        }
    }
}

impl OutputCapture {
    /// Gives the command a pipe if our own output is a pipe of its own.
    pub(super) fn prepare(command: &mut Command) -> Self {
        Self::try_prepare(command).unwrap_or(Self::Inherited)
    }

    fn try_prepare(command: &mut Command) -> io::Result<Self> {
        let stdout = rustix::stdio::stdout();
        if io::stdout().is_terminal() {
            return Ok(Self::Inherited);
        }
        let stat = rustix::fs::fstat(stdout)?;
        if rustix::fs::fstat(rustix::stdio::stderr()).is_ok_and(|other| is_same(&stat, &other)) {
            return Ok(Self::Inherited);
        }
        match FileType::from_raw_mode(stat.st_mode) {
            // Others may append to the same file, and their bytes could not be told from the agent's.
            FileType::RegularFile if rustix::fs::fcntl_getfl(stdout)?.contains(OFlags::APPEND) => {
                Ok(Self::Inherited)
            }
            FileType::RegularFile => {
                Ok(Self::File { start: rustix::fs::seek(stdout, rustix::fs::SeekFrom::Current(0))? })
            }
            FileType::Fifo | FileType::Socket => Self::pipe(command, OutputPlace::Stdout),
            _ => Ok(Self::Inherited),
        }
    }

    /// Gives the command a pipe, whatever our own streams are.
    ///
    /// # Errors
    ///
    /// If the system has no more pipes.
    pub(super) fn pipe(command: &mut Command, place: OutputPlace) -> io::Result<Self> {
        let ((ours, theirs), (stopped, stop)) = (io::pipe()?, io::pipe()?);
        command.stdout(Stdio::from(theirs));
        Ok(Self::Piped { ours, stopped, stop, place })
    }

    /// Begins to pass on what the agent writes.
    pub(super) fn start(self) -> RunningOutput {
        match self {
            Self::Inherited => RunningOutput::Inherited,
            Self::File { start } => RunningOutput::File { start },
            Self::Piped { ours, stopped, stop, place } => {
                let out = place.descriptor();
                RunningOutput::Piped { pump: std::thread::spawn(move || pass_on(&ours, &stopped, out)), stop }
            }
        }
    }
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Standard output of an agent that runs.
pub(super) enum RunningOutput {
    Inherited,
    File { start: u64 },
    Piped { pump: JoinHandle<PassedOutput>, stop: PipeWriter },
}

/// Output that was passed on.
pub(super) struct PassedOutput {
    digest: Digest,
    /// True if a process still held the pipe when the time was over.
    was_left: bool,
}

impl RunningOutput {
    /// Returns the SHA-256 of the output. The agent must have ended.
    pub(super) fn finish(self, notes: &mut Vec<String>) -> Option<Digest> {
        match self {
            Self::Inherited => None,
            Self::File { start } => file_digest(start).ok(),
            Self::Piped { pump, stop } => {
                drop(stop);
                let passed = pump.join().ok()?;
                if passed.was_left {
                    notes.push(
                        "a process that the command left behind still held its output: what that process writes is not passed on"
                            .to_owned(),
                    );
                }
                Some(passed.digest)
            }
        }
    }
}

/// Passes everything on from a pipe to a stream of ours. `stopped` is at its end once the agent has ended.
///
/// The pipe is closed when the reader of our output is gone, so that the agent gets `SIGPIPE` as it would without us.
fn pass_on(ours: &PipeReader, stopped: &PipeReader, out: BorrowedFd<'_>) -> PassedOutput {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; PIECE_BYTES];
    let mut deadline = None;
    let was_left = loop {
        let Ok(found) = next(ours.as_fd(), out, stopped.as_fd(), &mut deadline) else { break false };
        match found {
            Found::Closed => break false,
            Found::Late => break true,
            Found::Bytes => {}
        }
        let length = match rustix::io::read(ours, &mut buffer) {
            Ok(0) => break false,
            Ok(length) => length,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => break false,
        };
        let piece = buffer.get(..length).unwrap_or_default();
        hasher.put(piece);
        if write_all(out, piece).is_err() {
            break false;
        }
    };
    PassedOutput { digest: hasher.finish(), was_left }
}

/// What there is to do next.
enum Found {
    /// Bytes of the agent, or their end.
    Bytes,
    /// The reader of our output is gone.
    Closed,
    /// Nothing came until the deadline.
    Late,
}

/// Waits for bytes of the agent. Once the agent has ended, only until a deadline, which is set then.
fn next(
    ours: BorrowedFd<'_>,
    out: BorrowedFd<'_>,
    stopped: BorrowedFd<'_>,
    deadline: &mut Option<Instant>,
) -> io::Result<Found> {
    const BROKEN: PollFlags = PollFlags::ERR.union(PollFlags::NVAL);
    loop {
        // A pipe at its end stays so: it is not waited for again.
        let (stop, left) = match *deadline {
            None => (stopped, None),
            Some(at) => (ours, Some(at.saturating_duration_since(Instant::now()))),
        };
        let [bytes, reader, stop] =
            wait_for([(ours, PollFlags::IN), (out, PollFlags::empty()), (stop, PollFlags::empty())], left)?;
        if bytes.intersects(PollFlags::IN | PollFlags::HUP | BROKEN) {
            return Ok(if reader.intersects(BROKEN) { Found::Closed } else { Found::Bytes });
        }
        if reader.intersects(BROKEN) {
            return Ok(Found::Closed);
        }
        match *deadline {
            None if stop.intersects(PollFlags::HUP) => *deadline = Some(Instant::now() + GRACE),
            Some(at) if Instant::now() >= at => return Ok(Found::Late),
            _ => {}
        }
    }
}

/// Hashes what was written to our standard output, a regular file, from `start` on.
fn file_digest(start: u64) -> io::Result<Digest> {
    let end = rustix::fs::seek(rustix::stdio::stdout(), rustix::fs::SeekFrom::Current(0))?;
    let length = end.checked_sub(start).ok_or(io::ErrorKind::InvalidData)?;
    // The descriptor itself is most often open for writing only.
    let mut file = File::open("/dev/stdout")?;
    let (ours, opened) = (rustix::fs::fstat(rustix::stdio::stdout())?, rustix::fs::fstat(&file)?);
    if !is_same(&ours, &opened) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    file.seek(SeekFrom::Start(start))?;
    let (mut hasher, mut left) = (Hasher::new(), length);
    let mut buffer = vec![0; PIECE_BYTES];
    while left > 0 {
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let piece = buffer.get_mut(..wanted).unwrap_or_default();
        match file.read(piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => {
                hasher.put(piece.get(..length).unwrap_or_default());
                left -= length as u64;
            }
        }
    }
    Ok(hasher.finish())
}
