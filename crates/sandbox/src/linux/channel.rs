//! Channel between host and trampoline, and between trampoline and the first process inside: frames over a socket pair, which
//! the process that is started gets as its standard input.
//!
//! Descriptors travel with a frame (SCM_RIGHTS). No descriptor is ever inherited by number and no socket has a name, so nothing
//! leaks into another child that a thread of the host spawns meanwhile, and no other process can connect.

use crate::command::SetupStep;
use crate::report::{ClosedRoute, OpenRoute};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longest frame, in bytes; far more than any report.
const MAX_FRAME_BYTES: usize = 16 << 20;
/// Time that the host waits for a frame. The trampoline needs milliseconds; the timeout is for a program that is none.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(30);
/// First byte of every frame, so that a program that is no trampoline is recognised at once.
const FRAME_MAGIC: u8 = 0xA7;

/// One end of the channel.
#[derive(Debug)]
pub(crate) struct TrampolineChannel {
    stream: UnixStream,
}

/// Mechanism that the host asks for, and the port that the command may connect to. Passed on to the first process inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestedIsolation {
    /// Namespaces, with a listener inside on this port; 0 lets the kernel choose.
    Namespaces { listen_port: u16 },
    /// Landlock, with the host's listener on this port.
    Landlock { gateway_port: u16 },
}

impl RequestedIsolation {
    /// Encodes the request as three bytes.
    pub(crate) fn to_bytes(self) -> [u8; 3] {
        let (kind, port) = match self {
            Self::Namespaces { listen_port } => (0, listen_port),
            Self::Landlock { gateway_port } => (1, gateway_port),
        };
        let [low, high] = port.to_le_bytes();
        [kind, low, high]
    }

    /// Decodes a request; `None` if the bytes are none.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match *bytes {
            [0, low, high] => Some(Self::Namespaces { listen_port: u16::from_le_bytes([low, high]) }),
            [1, low, high] => Some(Self::Landlock { gateway_port: u16::from_le_bytes([low, high]) }),
            _ => None,
        }
    }
}

/// Request of the host.
#[derive(Debug)]
pub(crate) struct SetupRequest {
    /// Mechanism and port.
    pub(crate) isolation: RequestedIsolation,
    /// Listener of the host, with Landlock.
    pub(crate) listener: Option<TcpListener>,
    /// Standard input of the command; `None` for the host's own.
    pub(crate) stdin: Option<OwnedFd>,
    /// Program, for error messages only.
    pub(crate) program: OsString,
}

/// Message of the trampoline to the host, or of the first process inside to the trampoline.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TrampolineMessage {
    /// The sandbox is complete; with namespaces the listener travels with this message.
    Ready { closed: Vec<ClosedRoute>, open: Vec<OpenRoute> },
    /// A step failed, and the trampoline exits.
    Failed { step: SetupStep, errno: Option<i32>, detail: String },
    /// The command could not be executed.
    NotExecuted { exit_code: i32, reason: String },
    /// The command is running. From inside to the trampoline, which tells the host by closing the channel.
    Started,
    /// The command ended, with a code or by a signal. From inside to the trampoline, which ends in the same way.
    Ended { code: Option<i32>, signal: Option<i32> },
}

impl TrampolineChannel {
    /// Creates both ends: the host's, and the one that becomes the trampoline's standard input.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (here, there) = UnixStream::pair()?;
        Ok((Self { stream: here }, there.into()))
    }

    /// Wraps the trampoline's end. Fails for a descriptor that is no Unix socket, as when a person typed the private argument.
    pub(crate) fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        if rustix::net::sockopt::socket_domain(&fd)? != rustix::net::AddressFamily::UNIX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let stream = UnixStream::from(fd);
        Ok(Self { stream })
    }

    /// Sets the timeout of `receive`, on the host's side.
    pub(crate) fn set_receive_timeout(&self) -> io::Result<()> {
        self.stream.set_read_timeout(Some(RECEIVE_TIMEOUT))
    }

    /// Sends one frame, with a descriptor or without.
    pub(crate) fn send(&mut self, body: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let length = u32::try_from(body.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut frame = Vec::with_capacity(body.len() + 5);
        frame.push(FRAME_MAGIC);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(body);
        // The descriptor is attached to the magic byte, which is sent alone, so that a partial write cannot separate them.
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = fd.as_slice();
        if !fds.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(fds));
        }
        let flags = SendFlags::NOSIGNAL;
        rustix::io::retry_on_intr(|| {
            rustix::net::sendmsg(&self.stream, &[IoSlice::new(&frame[..1])], &mut control, flags)
        })?;
        self.stream.write_all(&frame[1..])
    }

    /// Receives one frame and its descriptor.
    ///
    /// # Errors
    /// `UnexpectedEof` if the other end is closed; `InvalidData` for bytes that are no frame; the timeout.
    pub(crate) fn receive(&mut self) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
        let mut magic = [0_u8];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got = rustix::io::retry_on_intr(|| {
            let mut parts = [IoSliceMut::new(&mut magic)];
            rustix::net::recvmsg(&self.stream, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)
        })?;
        let mut fd = None;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                fd = fds.last();
            }
        }
        if got.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if magic != [FRAME_MAGIC] {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a frame of ours"));
        }
        let mut length = [0_u8; 4];
        self.stream.read_exact(&mut length)?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > MAX_FRAME_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "frame too long"));
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((body, fd))
    }
}

impl AsFd for TrampolineChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl TrampolineMessage {
    /// Encodes the message as texts, each terminated by NUL, which no path and no message contains.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut text = |text: &OsStr| {
            out.extend(text.as_bytes().iter().filter(|byte| **byte != 0));
            out.push(0);
        };
        match self {
            Self::Ready { closed, open } => {
                text("standing".as_ref());
                for fact in closed {
                    text("closed".as_ref());
                    text(fact.code().as_ref());
                    text(fact.name().map_or("".as_ref(), |name| name.as_os_str()));
                }
                for fact in open {
                    text("open".as_ref());
                    text(fact.code().as_ref());
                    text(fact.name().map_or("".as_ref(), |name| name.as_os_str()));
                }
            }
            Self::Failed { step, errno, detail } => {
                text("failed".as_ref());
                text(step.code().as_ref());
                text(errno.map_or_else(String::new, |errno| errno.to_string()).as_ref());
                text(detail.as_ref());
            }
            Self::NotExecuted { exit_code, reason } => {
                text("not executed".as_ref());
                text(exit_code.to_string().as_ref());
                text(reason.as_ref());
            }
            Self::Started => text("started".as_ref()),
            Self::Ended { code, signal } => {
                text("ended".as_ref());
                for number in [code, signal] {
                    text(number.map_or_else(String::new, |number| number.to_string()).as_ref());
                }
            }
        }
        out
    }

    /// Decodes a message; `None` if the bytes are none.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut texts = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
        match texts.next()? {
            b"standing" => {
                let (mut closed, mut open) = (Vec::new(), Vec::new());
                while let Some(list) = texts.next() {
                    let (code, name) = (texts.next()?, OsString::from_vec(texts.next()?.to_vec()));
                    match list {
                        b"closed" => closed.push(ClosedRoute::from_code(code, name)?),
                        b"open" => open.push(OpenRoute::from_code(code, name)?),
                        _ => return None,
                    }
                }
                Some(Self::Ready { closed, open })
            }
            b"failed" => {
                let code = texts.next()?;
                let step = SetupStep::ALL.into_iter().find(|step| step.code().as_bytes() == code)?;
                let errno = std::str::from_utf8(texts.next()?).ok()?.parse().ok();
                let detail = String::from_utf8_lossy(texts.next()?).into_owned();
                Some(Self::Failed { step, errno, detail })
            }
            b"not executed" => {
                let exit_code = std::str::from_utf8(texts.next()?).ok()?.parse().ok()?;
                let reason = String::from_utf8_lossy(texts.next()?).into_owned();
                Some(Self::NotExecuted { exit_code, reason })
            }
            b"started" => Some(Self::Started),
            b"ended" => {
                let mut number = || std::str::from_utf8(texts.next()?).ok().map(|text| text.parse().ok());
                Some(Self::Ended { code: number()?, signal: number()? })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_went() {
        let words = [
            TrampolineMessage::Ready { closed: vec![], open: vec![] },
            TrampolineMessage::Ready {
                closed: vec![ClosedRoute::Network, ClosedRoute::Masked("/run".into())],
                open: vec![OpenRoute::Files, OpenRoute::Socket(OsString::from_vec(vec![b'/', 0xff]))],
            },
            TrampolineMessage::Failed {
                step: SetupStep::Masks,
                errno: Some(1),
                detail: "mount /run: no".into(),
            },
            TrampolineMessage::Failed { step: SetupStep::Request, errno: None, detail: String::new() },
            TrampolineMessage::NotExecuted { exit_code: 127, reason: "No such file".into() },
            TrampolineMessage::Started,
            TrampolineMessage::Ended { code: Some(3), signal: None },
            TrampolineMessage::Ended { code: None, signal: Some(9) },
        ];
        for word in words {
            assert_eq!(TrampolineMessage::from_bytes(&word.to_bytes()), Some(word));
        }
        for bytes in [&b""[..], b"\0", b"standing", b"standing\0closed\0", b"failed\0nowhere\0\0\0"] {
            assert_eq!(TrampolineMessage::from_bytes(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn requests_come_back_as_they_went() {
        let requests = [
            RequestedIsolation::Namespaces { listen_port: 0 },
            RequestedIsolation::Landlock { gateway_port: 0xABCD },
        ];
        for request in requests {
            assert_eq!(RequestedIsolation::from_bytes(&request.to_bytes()), Some(request));
        }
        assert_eq!(RequestedIsolation::from_bytes(&[2, 0, 0]), None);
        assert_eq!(RequestedIsolation::from_bytes(&[0, 0]), None);
    }

    #[test]
    fn a_descriptor_travels_with_its_frame() {
        let (mut here, there) = TrampolineChannel::pair().unwrap();
        let mut there = TrampolineChannel::from_fd(there).unwrap();
        let (read, write) = std::io::pipe().unwrap();
        here.send(b"first", Some(write.as_fd())).unwrap();
        here.send(b"", None).unwrap();
        drop(write);
        let (body, fd) = there.receive().unwrap();
        assert_eq!(body, b"first");
        std::fs::File::from(fd.unwrap()).write_all(b"through").unwrap();
        assert_eq!(io::read_to_string(read).unwrap(), "through");
        assert!(matches!(there.receive(), Ok((body, None)) if body.is_empty()));
        drop(here);
        assert_eq!(there.receive().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let (mut here, there) = TrampolineChannel::pair().unwrap();
        let mut there = UnixStream::from(there);
        there.write_all(b"usage: something").unwrap();
        assert_eq!(here.receive().unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(TrampolineChannel::from_fd(std::fs::File::open("/dev/null").unwrap().into()).is_err());
    }
}
