//! The controlling terminal, at which a person answers questions.
//!
//! Answers come from `/dev/tty` and never from a pipe: an approval that arrives through a pipe is not a
//! person's. On other systems than Unix there is no terminal, and the commands ask for an option instead.
//! Start reading at [`Terminal`].

#[cfg(unix)]
pub(crate) use unix::Terminal;

#[cfg(not(unix))]
pub(crate) use other::Terminal;

#[cfg(unix)]
mod unix {
    use std::fs::{File, OpenOptions};
    use std::io::{self, IsTerminal, Read, Write};

    use rustix::termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcsetattr,
    };
    use zeroize::Zeroizing;

    /// The terminal from which the command was started, opened for reading and writing.
    pub(crate) struct Terminal {
        file: File,
    }

    /// Longest secret that is read, in bytes. Further bytes are dropped, except that one more is kept, so
    /// that the secret is refused as too long instead of being truncated.
    const MAX_SECRET_BYTES: usize = 1024;

    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const BACKSPACE: u8 = 8;
    const CTRL_U: u8 = 21;
    const DELETE: u8 = 127;

    impl Terminal {
        /// Opens the terminal. Returns `None` if standard input is not a terminal: a pipe there means that no
        /// person is answering.
        pub(crate) fn open() -> Option<Self> {
            if !io::stdin().is_terminal() {
                return None;
            }
            let file = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
            Some(Self { file })
        }

        /// Asks a question and returns true if the answer is `y` or `yes`, in any case.
        ///
        /// Discards the input that was typed before the question: it cannot be an answer to it.
        pub(crate) fn confirm(&mut self, question: &str) -> io::Result<bool> {
            tcflush(&self.file, QueueSelector::IFlush)?;
            self.file.write_all(question.as_bytes())?;
            let mut answer = Vec::new();
            let mut byte = [0];
            while self.file.read(&mut byte)? == 1 && byte != *b"\n" {
                if answer.len() < 8 {
                    answer.push(byte[0].to_ascii_lowercase());
                }
            }
            Ok(matches!(answer.trim_ascii(), b"y" | b"yes"))
        }

        /// Prompts for a secret without echo. Returns `None` on Ctrl-C, Ctrl-D or EOF.
        pub(crate) fn secret(&mut self, prompt: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
            let hidden = EchoOff::new(&self.file)?;
            (&self.file).write_all(prompt.as_bytes())?;
            let typed = read_secret(&self.file);
            drop(hidden);
            (&self.file).write_all(b"\n")?;
            typed
        }
    }

    /// Reads a line without its end. Backspace, Ctrl-U, Ctrl-C and Ctrl-D are handled here, because the
    /// terminal is in raw mode.
    ///
    /// Signals are off meanwhile: a process that dies here would leave a terminal without echo behind.
    fn read_secret(mut file: &File) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        // Allocated at full size: a buffer that grows would leave copies of the secret behind.
        let mut typed = Zeroizing::new(Vec::with_capacity(MAX_SECRET_BYTES + 1));
        let mut byte = Zeroizing::new([0]);
        loop {
            if file.read(&mut *byte)? == 0 {
                return Ok(None);
            }
            match byte[0] {
                b'\n' | b'\r' => return Ok(Some(typed)),
                CTRL_C | CTRL_D => return Ok(None),
                CTRL_U => typed.clear(),
                BACKSPACE | DELETE => {
                    // Removes a whole character: its UTF-8 continuation bytes, then its first byte.
                    while typed.pop().is_some_and(|last| last & 0xC0 == 0x80) {}
                }
                other if typed.len() <= MAX_SECRET_BYTES => typed.push(other),
                _ => {}
            }
        }
    }

    /// Guard that switches echo, line editing and signals of a terminal off until it is dropped.
    struct EchoOff<'a> {
        file: &'a File,
        /// Attributes to restore.
        saved: Termios,
    }

    impl<'a> EchoOff<'a> {
        /// Saves the attributes of the terminal and switches to raw input. Pending input is discarded, so
        /// that nothing typed before the prompt becomes part of the secret.
        fn new(file: &'a File) -> io::Result<Self> {
            let before = tcgetattr(file)?;
            let mut hidden = before.clone();
            hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
            hidden.special_codes[SpecialCodeIndex::VMIN] = 1;
            hidden.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(file, OptionalActions::Flush, &hidden)?;
            Ok(Self { file, saved: before })
        }
    }

    impl Drop for EchoOff<'_> {
        fn drop(&mut self) {
            let _ = tcsetattr(self.file, OptionalActions::Flush, &self.saved);
        }
    }
}

#[cfg(not(unix))]
mod other {
    use std::io;

    use zeroize::Zeroizing;

    /// Never constructed: there is no terminal that can be asked on this system.
    pub(crate) enum Terminal {}

    impl Terminal {
        pub(crate) fn open() -> Option<Self> {
            None
        }

        pub(crate) fn confirm(&mut self, _: &str) -> io::Result<bool> {
            match *self {}
        }

        pub(crate) fn secret(&mut self, _: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
            match *self {}
        }
    }
}
