//! The talk between host and trampoline: frames over a socket pair that is the trampoline's standard input at birth.
//!
//! Descriptors travel with a frame (SCM_RIGHTS). No descriptor is ever inherited by number and no socket has a name, so
//! nothing leaks into another child that a thread of the host spawns meanwhile, and nobody else can join in.

use crate::enforcement::{Closed, Open};
use crate::plan::Step;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Far more than any report: a frame above this is not ours.
const MAX_FRAME: usize = 16 << 20;
/// The trampoline needs milliseconds; this only ends a talk with a program that is not one.
const PATIENCE: Duration = Duration::from_secs(30);
/// Opens every frame, so that a program that is no trampoline is recognised at once.
const MAGIC: u8 = 0xA7;

/// One end.
#[derive(Debug)]
pub(crate) struct Channel {
    stream: UnixStream,
}

/// What the host asks for.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) port: u16,
    /// The command's standard input; nothing means the host's own.
    pub(crate) stdin: Option<OwnedFd>,
    /// For messages only.
    pub(crate) program: OsString,
}

/// What the trampoline says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// The sandbox stands; the listener travels with it.
    Standing { closed: Vec<Closed>, open: Vec<Open> },
    /// A step failed.
    Failed { step: Step, errno: Option<i32>, detail: String },
    /// The command could not be executed.
    NotExecuted { exit_code: i32, reason: String },
}

impl Channel {
    /// Both ends: the host's, and the one to become the trampoline's standard input.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (here, there) = UnixStream::pair()?;
        Ok((Self { stream: here }, there.into()))
    }

    /// The trampoline's end. Fails on a descriptor that is no Unix socket: somebody typed the private argument.
    pub(crate) fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        if rustix::net::sockopt::socket_domain(&fd)? != rustix::net::AddressFamily::UNIX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let stream = UnixStream::from(fd);
        Ok(Self { stream })
    }

    /// Give up after a while, on the host's side.
    pub(crate) fn be_impatient(&self) -> io::Result<()> {
        self.stream.set_read_timeout(Some(PATIENCE))
    }

    /// One frame, with a descriptor or without.
    pub(crate) fn send(&mut self, body: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let length = u32::try_from(body.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut frame = Vec::with_capacity(body.len() + 5);
        frame.push(MAGIC);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(body);
        // The descriptor rides on the magic byte, which is sent alone: the rest cannot be split from it.
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

    /// One frame and its descriptor. `UnexpectedEof` when the other end is gone.
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
        if magic != [MAGIC] {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a frame of ours"));
        }
        let mut length = [0_u8; 4];
        self.stream.read_exact(&mut length)?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > MAX_FRAME {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "frame too long"));
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((body, fd))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Word {
    /// Texts, each ended by NUL: no path and no message has one inside.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut text = |text: &OsStr| {
            out.extend(text.as_bytes().iter().filter(|byte| **byte != 0));
            out.push(0);
        };
        match self {
            Self::Standing { closed, open } => {
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
        }
        out
    }

    /// Back again; nothing if it is no word of ours.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut texts = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
        match texts.next()? {
            b"standing" => {
                let (mut closed, mut open) = (Vec::new(), Vec::new());
                while let Some(list) = texts.next() {
                    let (code, name) = (texts.next()?, OsString::from_vec(texts.next()?.to_vec()));
                    match list {
                        b"closed" => closed.push(Closed::from_code(code, name)?),
                        b"open" => open.push(Open::from_code(code, name)?),
                        _ => return None,
                    }
                }
                Some(Self::Standing { closed, open })
            }
            b"failed" => {
                let code = texts.next()?;
                let step = Step::ALL.into_iter().find(|step| step.code().as_bytes() == code)?;
                let errno = std::str::from_utf8(texts.next()?).ok()?.parse().ok();
                let detail = String::from_utf8_lossy(texts.next()?).into_owned();
                Some(Self::Failed { step, errno, detail })
            }
            b"not executed" => {
                let exit_code = std::str::from_utf8(texts.next()?).ok()?.parse().ok()?;
                let reason = String::from_utf8_lossy(texts.next()?).into_owned();
                Some(Self::NotExecuted { exit_code, reason })
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
            Word::Standing { closed: vec![], open: vec![] },
            Word::Standing {
                closed: vec![Closed::Network, Closed::Masked("/run".into())],
                open: vec![Open::Files, Open::Socket(OsString::from_vec(vec![b'/', 0xff]))],
            },
            Word::Failed { step: Step::Masks, errno: Some(1), detail: "mount /run: no".into() },
            Word::Failed { step: Step::Request, errno: None, detail: String::new() },
            Word::NotExecuted { exit_code: 127, reason: "No such file".into() },
        ];
        for word in words {
            assert_eq!(Word::from_bytes(&word.to_bytes()), Some(word));
        }
        for bytes in [&b""[..], b"\0", b"standing", b"standing\0closed\0", b"failed\0nowhere\0\0\0"] {
            assert_eq!(Word::from_bytes(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_descriptor_travels_with_its_frame() {
        let (mut here, there) = Channel::pair().unwrap();
        let mut there = Channel::from_fd(there).unwrap();
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
        let (mut here, there) = Channel::pair().unwrap();
        let mut there = UnixStream::from(there);
        there.write_all(b"usage: something").unwrap();
        assert_eq!(here.receive().unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(Channel::from_fd(std::fs::File::open("/dev/null").unwrap().into()).is_err());
    }
}
