//! The terminal, where a person answers. What comes from a pipe is nobody's answer.

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

    /// The terminal that the command was started from.
    pub(crate) struct Terminal {
        file: File,
    }

    /// More is no passphrase.
    const LONGEST: usize = 1024;

    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const BACKSPACE: u8 = 8;
    const CTRL_U: u8 = 21;
    const DELETE: u8 = 127;

    impl Terminal {
        /// Opens it, if standard input is a terminal: whoever connected a pipe has said that nobody is there.
        pub(crate) fn open() -> Option<Self> {
            if !io::stdin().is_terminal() {
                return None;
            }
            let file = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
            Some(Self { file })
        }

        /// Asks a question; whether the answer is yes. What was typed before the question is no answer to it.
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

        /// Asks for something that is not shown; `None` if nobody wants to say it.
        pub(crate) fn secret(&mut self, prompt: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
            let hidden = Hidden::new(&self.file)?;
            (&self.file).write_all(prompt.as_bytes())?;
            let typed = read_secret(&self.file);
            drop(hidden);
            (&self.file).write_all(b"\n")?;
            typed
        }
    }

    /// Reads up to the end of the line. Signals are off, so that nobody is left with a terminal that shows nothing.
    fn read_secret(mut file: &File) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        // All of it at once: a text that grows would leave its shorter selves behind.
        let mut typed = Zeroizing::new(Vec::with_capacity(LONGEST + 1));
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
                    // A character may have several bytes.
                    while typed.pop().is_some_and(|last| last & 0xC0 == 0x80) {}
                }
                other if typed.len() <= LONGEST => typed.push(other),
                _ => {}
            }
        }
    }

    /// A terminal that does not show what is typed, until this is dropped.
    struct Hidden<'a> {
        file: &'a File,
        before: Termios,
    }

    impl<'a> Hidden<'a> {
        fn new(file: &'a File) -> io::Result<Self> {
            let before = tcgetattr(file)?;
            let mut hidden = before.clone();
            hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
            hidden.special_codes[SpecialCodeIndex::VMIN] = 1;
            hidden.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(file, OptionalActions::Flush, &hidden)?;
            Ok(Self { file, before })
        }
    }

    impl Drop for Hidden<'_> {
        fn drop(&mut self) {
            let _ = tcsetattr(self.file, OptionalActions::Flush, &self.before);
        }
    }
}

#[cfg(not(unix))]
mod other {
    use std::io;

    use zeroize::Zeroizing;

    /// There is none that we know how to ask.
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
