//! Standard input: passed on unchanged, and recorded.
//!
//! The agent gets as much as it reads, and no byte is taken from our input that it did not read: a script that feeds a loop from
//! one pipe finds the rest in place. On Linux bytes are therefore looked at where they lie (`tee`, `MSG_PEEK`), put into a pipe of
//! ours, and taken from our input only when the agent has taken them from that pipe. Elsewhere they are read ahead.
//! Start reading at [`InputCapture::prepare`] and [`Pump::run`].

use std::io::{self, IsTerminal, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use reenact_record::EventWriter;
use rustix::event::PollFlags;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::MAX_INPUT_BYTES;
use super::wait::{wait_for, write_all};

/// Bytes that are passed on at a time: one slot of a pipe, so that a pipe of one slot has room again just when it is empty.
const PIECE_BYTES: usize = 4096;

/// Standard input of an agent that is about to start.
pub(super) enum InputCapture {
    /// The agent has our own descriptor, and nothing is recorded.
    Inherited,
    /// The agent has our own descriptor of a regular file, and reads from this position on.
    File { start: u64 },
    /// The agent reads from a pipe of ours. The second pipe tells the thread that the agent has ended.
    Piped { ours: PipeWriter, source: Source, stopped: PipeReader, stop: PipeWriter },
}

/// Way in which bytes are taken from our input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A pipe, whose bytes are duplicated before they are taken.
    #[cfg(target_os = "linux")]
    Pipe,
    /// A socket, whose bytes are looked at before they are taken.
    #[cfg(target_os = "linux")]
    Socket,
    /// Anything that can only be read: bytes are read ahead, a piece at a time.
    Read,
}

/// Bytes that are read ahead at a time: as many as a pipe that has room takes without waiting (POSIX `PIPE_BUF`).
const READ_BYTES: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

impl InputCapture {
    /// Gives the command a pipe if our own input is one.
    pub(super) fn prepare(command: &mut Command) -> Self {
        Self::try_prepare(command).unwrap_or(Self::Inherited)
    }

    fn try_prepare(command: &mut Command) -> io::Result<Self> {
        let stdin = rustix::stdio::stdin();
        if io::stdin().is_terminal() {
            return Ok(Self::Inherited);
        }
        let source = match FileType::from_raw_mode(rustix::fs::fstat(stdin)?.st_mode) {
            FileType::RegularFile => {
                let start = rustix::fs::seek(stdin, rustix::fs::SeekFrom::Current(0))?;
                return Ok(Self::File { start });
            }
            #[cfg(target_os = "linux")]
            FileType::Fifo => Source::Pipe,
            #[cfg(target_os = "linux")]
            FileType::Socket => Source::Socket,
            #[cfg(not(target_os = "linux"))]
            FileType::Fifo | FileType::Socket => Source::Read,
            _ => return Ok(Self::Inherited),
        };
        let ((theirs, ours), (stopped, stop)) = (io::pipe()?, io::pipe()?);
        // One slot. Where the system gives more, the pump looks more often.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&ours, PIECE_BYTES);
        command.stdin(Stdio::from(theirs));
        Ok(Self::Piped { ours, source, stopped, stop })
    }

    /// Begins to pass bytes on to the agent.
    pub(super) fn start(self, writer: EventWriter) -> RunningInput {
        match self {
            Self::Inherited => RunningInput::Inherited,
            Self::File { start } => RunningInput::File { start, writer },
            Self::Piped { ours, source, stopped, stop } => {
                let pump = Pump { ours, source, stopped, input: RecordedInput::new(writer) };
                RunningInput::Piped { pump: std::thread::spawn(move || pump.run()), stop }
            }
        }
    }
}

/// Standard input of an agent that runs.
pub(super) enum RunningInput {
    Inherited,
    File { start: u64, writer: EventWriter },
    Piped { pump: JoinHandle<RecordedInput>, stop: PipeWriter },
}

impl RunningInput {
    /// Records the input, if that has not come to its end before. The agent must have ended.
    pub(super) fn finish(self, notes: &mut Vec<String>) {
        let input = match self {
            Self::Inherited => return,
            Self::File { start, writer } => {
                let mut input = RecordedInput::new(writer);
                if let Err(error) = input.read_file(start) {
                    notes.push(format!("standard input could not be recorded: {error}"));
                    return;
                }
                input
            }
            Self::Piped { pump, stop } => {
                drop(stop);
                match pump.join() {
                    Ok(input) => input,
                    Err(_) => return,
                }
            }
        };
        notes.extend(input.finish());
    }
}

/// Input of an agent, as far as it is recorded.
pub(super) struct RecordedInput {
    writer: EventWriter,
    bytes: Vec<u8>,
    /// True if more was read than is kept.
    is_cut: bool,
    /// True once the event is written.
    is_written: bool,
    /// Reason for which less was recorded, or passed on, than there was.
    fault: Option<String>,
}

impl RecordedInput {
    fn new(writer: EventWriter) -> Self {
        Self { writer, bytes: Vec::new(), is_cut: false, is_written: false, fault: None }
    }

    fn push(&mut self, piece: &[u8]) {
        let room = MAX_INPUT_BYTES - self.bytes.len();
        self.is_cut |= piece.len() > room;
        self.bytes.extend_from_slice(piece.get(..room).unwrap_or(piece));
    }

    /// Reads what the agent read of a regular file: from `start` to where the agent stopped reading. A program that opens the file
    /// anew, by the name /dev/stdin, leaves our position in place, as one that reads nothing does: then nothing is recorded.
    fn read_file(&mut self, start: u64) -> io::Result<()> {
        let stdin = rustix::stdio::stdin();
        let end = rustix::fs::seek(stdin, rustix::fs::SeekFrom::Current(0))?;
        let (mut at, mut buffer) = (start, vec![0; 64 << 10]);
        while at < end && !self.is_cut {
            let wanted = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
            let piece = buffer.get_mut(..wanted).unwrap_or_default();
            match rustix::io::pread(stdin, &mut *piece, at) {
                Ok(0) => break,
                Ok(length) => {
                    self.push(piece.get(..length).unwrap_or_default());
                    at += length as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Writes the event, once; none for an empty input.
    fn write(&mut self) {
        if self.is_written || self.bytes.is_empty() {
            return;
        }
        self.is_written = true;
        let complete = !self.is_cut && self.fault.is_none();
        if let Err(error) = self.writer.record_stdin(&std::mem::take(&mut self.bytes), complete) {
            self.fault = Some(error.to_string());
        }
    }

    /// Writes the event, if it is not written yet, and returns a note if something is missing.
    fn finish(mut self) -> Option<String> {
        self.write();
        self.fault.map(|why| format!("standard input was not wholly recorded: {why}"))
    }
}

/// Passes bytes on from our input to the agent.
struct Pump {
    /// The pipe that the agent reads from.
    ours: PipeWriter,
    source: Source,
    /// At its end once the agent has ended.
    stopped: PipeReader,
    input: RecordedInput,
}

/// Whether there is more to pass on.
enum Progress {
    More,
    Done,
}

impl Pump {
    /// Passes on until the end of the input, of the agent, or of the agent's interest. An input that came to its end is recorded
    /// at once, so that it comes before the calls that it led to where that is possible.
    fn run(mut self) -> RecordedInput {
        loop {
            match self.pass_piece() {
                Ok(Progress::More) => {}
                Ok(Progress::Done) => break,
                Err(error) => {
                    self.input.fault = Some(error.to_string());
                    break;
                }
            }
        }
        self.input.write();
        self.input
    }

    /// Waits for input, and passes one piece of it on.
    fn pass_piece(&mut self) -> io::Result<Progress> {
        const GONE: PollFlags = PollFlags::ERR.union(PollFlags::NVAL);
        let stdin = rustix::stdio::stdin();
        let [found, agent, stopped] = wait_for(
            [
                (stdin, PollFlags::IN),
                (self.ours.as_fd(), PollFlags::empty()),
                (self.stopped.as_fd(), PollFlags::empty()),
            ],
            None,
        )?;
        if agent.intersects(GONE) || stopped.intersects(PollFlags::HUP) {
            return Ok(Progress::Done);
        }
        if !found.intersects(PollFlags::IN | PollFlags::HUP | GONE) {
            return Ok(Progress::More);
        }
        let passed = match self.source {
            Source::Read => self.read_piece(stdin),
            #[cfg(target_os = "linux")]
            Source::Pipe | Source::Socket => self.show_piece(stdin),
        };
        match passed {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Progress::More),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Progress::More),
            // The agent reads no more.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Progress::Done),
            other => other,
        }
    }

    /// Reads one piece, and writes it to the agent.
    fn read_piece(&mut self, stdin: BorrowedFd<'_>) -> io::Result<Progress> {
        let mut buffer = [0; READ_BYTES];
        let length = rustix::io::read(stdin, &mut buffer)?;
        let piece = buffer.get(..length).unwrap_or_default();
        if piece.is_empty() {
            return Ok(Progress::Done);
        }
        self.input.push(piece);
        let [_, stopped] = wait_for(
            [(self.ours.as_fd(), PollFlags::OUT), (self.stopped.as_fd(), PollFlags::empty())],
            None,
        )?;
        if stopped.intersects(PollFlags::HUP) {
            return Ok(Progress::Done);
        }
        write_all(&self.ours, piece)?;
        Ok(Progress::More)
    }

    /// Shows the agent one piece, waits until the agent has taken it, and takes from our input just what the agent took.
    #[cfg(target_os = "linux")]
    fn show_piece(&mut self, stdin: BorrowedFd<'_>) -> io::Result<Progress> {
        let shown = match self.show(stdin) {
            Err(error)
                if !matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock | io::ErrorKind::BrokenPipe
                ) =>
            {
                // A sandbox may know neither call.
                self.source = Source::Read;
                return Ok(Progress::More);
            }
            shown => shown?,
        };
        if shown == 0 {
            return Ok(Progress::Done);
        }
        let (left, progress) = self.wait_until_taken()?;
        self.take(stdin, shown.saturating_sub(left))?;
        Ok(progress)
    }

    /// Puts the next piece of our input into the agent's pipe, and leaves it in our input. Returns its length.
    #[cfg(target_os = "linux")]
    fn show(&self, stdin: BorrowedFd<'_>) -> io::Result<usize> {
        if self.source == Source::Pipe {
            let flags = rustix::pipe::SpliceFlags::NONBLOCK;
            return Ok(rustix::pipe::tee(stdin, &self.ours, PIECE_BYTES, flags)?);
        }
        let mut buffer = [0; PIECE_BYTES];
        let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
        let (length, _) = rustix::net::recv(stdin, &mut buffer[..], flags)?;
        write_all(&self.ours, buffer.get(..length).unwrap_or_default())?;
        Ok(length)
    }

    /// Waits until the agent has taken all that is in its pipe, or has ended, or will read no more. Returns how many bytes are left.
    #[cfg(target_os = "linux")]
    fn wait_until_taken(&self) -> io::Result<(usize, Progress)> {
        let mut pause = None;
        loop {
            // Without a pause: room in a pipe of one slot means that it is empty.
            let wanted = if pause.is_some() { PollFlags::empty() } else { PollFlags::OUT };
            let [agent, stopped] =
                wait_for([(self.ours.as_fd(), wanted), (self.stopped.as_fd(), PollFlags::empty())], pause)?;
            let left = usize::try_from(rustix::io::ioctl_fionread(&self.ours)?).unwrap_or(usize::MAX);
            let is_over = agent.intersects(PollFlags::ERR) || stopped.intersects(PollFlags::HUP);
            match left {
                0 if !is_over => return Ok((0, Progress::More)),
                left if is_over => return Ok((left, Progress::Done)),
                _ => pause = Some(Duration::from_millis(1)),
            }
        }
    }

    /// Takes bytes from our input that the agent has had, and keeps them for the record.
    #[cfg(target_os = "linux")]
    fn take(&mut self, stdin: BorrowedFd<'_>, mut length: usize) -> io::Result<()> {
        let mut buffer = [0; PIECE_BYTES];
        while length > 0 {
            let [found] = wait_for([(stdin, PollFlags::IN)], Some(Duration::ZERO))?;
            if !found.intersects(PollFlags::IN) {
                return Err(io::Error::other("another process reads from the same input"));
            }
            let wanted = length.min(buffer.len());
            let taken = match rustix::io::read(stdin, buffer.get_mut(..wanted).unwrap_or_default()) {
                Err(Errno::INTR) => continue,
                taken => taken?,
            };
            self.input.push(buffer.get(..taken).unwrap_or_default());
            length -= taken.min(length);
            if taken == 0 {
                break;
            }
        }
        Ok(())
    }
}
