//! How a command ended.

use std::fmt;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// By itself, with this code. Codes may be negative on some systems.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl Exit {
    /// The code, if it ended by itself.
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal(_) => None,
        }
    }

    /// The signal, if one ended it.
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Code(_) => None,
            Self::Signal(signal) => Some(signal),
        }
    }

    /// Reads the word for a signal, as [`Display`](fmt::Display) writes it. Records say it as the reason of a run's end.
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
