//! Exit of a command: a code or a signal.

use std::fmt;

/// Exit of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// The command ended by itself, with this code. Codes may be negative on some systems.
    Code(i32),
    /// The command was ended by this signal.
    Signal(i32),
}

impl Exit {
    /// Returns the exit code, if the command ended by itself.
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal(_) => None,
        }
    }

    /// Returns the signal, if one ended the command.
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Code(_) => None,
            Self::Signal(signal) => Some(signal),
        }
    }

    /// Parses a signal such as `signal 9`, as [`Display`](fmt::Display) writes it. Records keep it as the
    /// reason of a run's end.
    pub fn read_signal(word: &str) -> Option<Self> {
        let signal = word.strip_prefix("signal ")?;
        let is_plain = signal.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| signal.parse().ok().map(Self::Signal))?
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_read_as_they_are_written() {
        for signal in [1, 9, 64] {
            assert_eq!(Exit::read_signal(&Exit::Signal(signal).to_string()), Some(Exit::Signal(signal)));
        }
        for other in
            ["", "signal", "signal ", "signal -9", "signal +9", "signal 9 ", "exit 9", "signal 99999999999"]
        {
            assert_eq!(Exit::read_signal(other), None, "{other}");
        }
    }
}
