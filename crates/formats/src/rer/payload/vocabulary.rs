//! Vocabularies and small values that payloads use.

use core::fmt;
use std::borrow::Cow;
use std::time::Duration;

use reenact_json::Value;

/// Word of a closed vocabulary.
pub trait PayloadWord: Copy + 'static {
    /// Every word of the vocabulary.
    const ALL: &'static [Self];

    /// Returns the word as payloads spell it.
    fn name(self) -> &'static str;

    /// Returns the word that a string value names.
    fn of(value: Value<'_>) -> Option<Self> {
        Self::ALL.iter().copied().find(|word| value.is_string(word.name()))
    }
}

/// Declares a closed vocabulary.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident; $( $(#[$word_doc:meta])* $word:ident = $text:literal, )+) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $( $(#[$word_doc])* $word, )+
        }

        impl $name {
            /// Returns the word as payloads spell it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)+
                }
            }
        }

        impl PayloadWord for $name {
            const ALL: &'static [Self] = &[$(Self::$word),+];

            fn name(self) -> &'static str {
                $name::name(self)
            }
        }
    };
}

words! {
    /// Origin of an event: the way in which it came to be known.
    EventSource;
    /// The event passed through the recorder.
    Observed = "observed",
    /// The agent reported the event.
    Reported = "reported",
    /// The event was derived from others that passed through the recorder.
    Inferred = "inferred",
    /// The event came from another file.
    Imported = "imported",
}

words! {
    /// Cause of the end of a response.
    EndedBy;
    /// The response's own end (EOF).
    Eof = "eof",
    /// The agent closed the connection.
    Client = "client",
    /// The vendor could not be reached, or closed the connection.
    Upstream = "upstream",
    /// The vendor took too long.
    Timeout = "timeout",
}

words! {
    /// Outcome of a run.
    RunStatus;
    /// The run came to its end.
    Completed = "completed",
    /// The run came to its end and reports a failure.
    Failed = "failed",
    /// Someone stopped the run.
    Aborted = "aborted",
    /// The run broke off.
    Crashed = "crashed",
}

words! {
    /// Origin of what a recovery knew of a run.
    RecoverySource;
    /// The journal, compared with the write-ahead log, and what only the log had.
    Log = "log",
    /// The journal alone: no log was left to compare it with.
    Journal = "journal",
}

words! {
    /// Decision on an action.
    PolicyDecision;
    /// The action may happen.
    Allow = "allow",
    /// The action may not happen.
    Deny = "deny",
}

words! {
    /// Way in which the calls of an agent were captured.
    CaptureMode;
    /// The agent was asked to send its calls through the recorder; it may have made others.
    Cooperative = "cooperative",
    /// The agent had no other way out than the recorder.
    Sealed = "sealed",
}

words! {
    /// Way in which a run goes on from another one.
    ForkMode;
    /// Requests that the parent's record does not answer went to the vendor.
    Live = "live",
    /// Requests behind a step of the parent went to the vendor.
    From = "from",
    /// The recorded answer of a step of the parent was replaced.
    Edit = "edit",
}

words! {
    /// Way in which an agent proves to its vendor who its user is.
    AgentLogin;
    /// By a key, from a variable or a file.
    ApiKey = "api_key",
    /// By tokens of a login at the vendor.
    OAuth = "oauth",
    /// Not at all, or not in a way that is known.
    None = "none",
}

/// Channel through which a tool was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChannel<'a> {
    /// MCP server of that name.
    Mcp(&'a str),
    /// The agent itself, as its conversation with the model shows.
    Conversation,
    /// The agent itself, as it reported.
    Sdk,
}

impl<'a> ToolChannel<'a> {
    /// Returns the text of the member `via`.
    pub fn text(self) -> Cow<'static, str> {
        match self {
            Self::Mcp(server) => format!("mcp:{server}").into(),
            Self::Conversation => "conversation".into(),
            Self::Sdk => "sdk".into(),
        }
    }
}

/// One read of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Time from the request to the read.
    pub at: Duration,
    /// Number of bytes of the decoded body in this read.
    pub length: usize,
}

impl Chunk {
    /// Reads `[milliseconds, bytes]`.
    pub fn of(pair: Value<'_>) -> Option<Self> {
        let mut numbers = pair.elements();
        let at = super::PayloadMember::new("at", numbers.next()).milliseconds().ok()??;
        let length = usize::try_from(numbers.next()?.unsigned_integer()?).ok()?;
        numbers.next().is_none().then_some(Self { at, length })
    }
}

/// Id of a step, an action of a run: `s1`, `s2`, … in the order in which they began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub u64);

impl StepId {
    /// Parses an id as the recorder spells it. Other recorders have ids of their own, for which this returns `None`.
    pub fn of(value: Value<'_>) -> Option<Self> {
        let text = value.string()?;
        let step = Self(text.strip_prefix('s')?.parse().ok()?);
        // One spelling only: no sign, no leading zeros.
        Some(step).filter(|step| *step.to_string() == text)
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    fn value(text: &str) -> Value<'_> {
        Value::parse(text.as_bytes(), &Limits::default()).unwrap()
    }

    #[test]
    fn each_word_names_itself() {
        for source in EventSource::ALL {
            assert_eq!(EventSource::of(value(&format!("\"{}\"", source.name()))), Some(*source));
        }
        for other in ["\"Observed\"", "\"\"", "null", "1", "[\"observed\"]"] {
            assert_eq!(EventSource::of(value(other)), None, "{other}");
        }
    }

    #[test]
    fn a_step_has_one_spelling() {
        assert_eq!(StepId::of(value("\"s12\"")), Some(StepId(12)));
        for other in ["\"s012\"", "\"s+1\"", "\"s\"", "\"12\"", "12", "\"s99999999999999999999\""] {
            assert_eq!(StepId::of(value(other)), None, "{other}");
        }
    }

    #[test]
    fn a_chunk_is_two_numbers() {
        let at = Duration::from_millis(3);
        assert_eq!(Chunk::of(value("[3,5]")), Some(Chunk { at, length: 5 }));
        for other in ["[3]", "[3,5,1]", "[-3,5]", "[3,-5]", "[3,\"5\"]", "3", "null"] {
            assert_eq!(Chunk::of(value(other)), None, "{other}");
        }
    }
}
