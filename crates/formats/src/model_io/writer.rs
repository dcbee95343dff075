//! Writing sessions: interactions as they come, in canonical form, within the limits, the hash computed on the way.
//!
//! Memory does not grow with the session. What would not verify is refused, and nothing of it is written.

use reenact_json::canonical::{self, Sink};
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Shown};

use super::{LARGEST_RESPONSE, LARGEST_TOTAL, MOST_INTERACTIONS, VERSION, content_hash};
use crate::rer::time;

/// How the responses came about (§3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// From live models.
    Record,
    /// From a recording.
    Replay,
}

impl Mode {
    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Replay => "replay",
        }
    }
}

/// What is said of a session beside its interactions.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// What stood between the agent and the model. Not empty.
    pub adapter_id: &'a str,
    /// Which model. Not empty.
    pub model_id: &'a str,
    /// Recorded or replayed.
    pub mode: Mode,
    /// RFC 3339 in UTC. No hash covers it.
    pub created_at_utc: Option<&'a str>,
    /// RFC 3339 in UTC. No hash covers it.
    pub ended_at_utc: Option<&'a str>,
    /// Whether sums of the metrics are written at the end. No hash covers them.
    pub stats: bool,
}

/// A prompt, of which only the hash is written.
#[derive(Debug, Clone, Copy)]
pub enum Prompt<'a> {
    /// What was asked.
    Text(&'a str),
    /// Its digest, where the text is not at hand.
    Digest(Digest),
}

/// One interaction to write.
#[derive(Debug, Clone, Copy)]
pub struct Interaction<'a> {
    /// What was asked.
    pub prompt: Prompt<'a>,
    /// What came back.
    pub response: &'a str,
    /// Tokens of the request. No hash covers them.
    pub tokens_input: Option<u64>,
    /// Tokens of the response. No hash covers them.
    pub tokens_output: Option<u64>,
    /// How long it took. No hash covers it.
    pub latency_ms: Option<u64>,
}

/// Why something cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteFault {
    /// MI2.
    #[error("{member} is empty")]
    Empty {
        /// Which one.
        member: &'static str,
    },
    /// A time that is not one (§3.2).
    #[error("{member} is not an RFC 3339 time in UTC: {}", Shown::new(.text))]
    Time {
        /// Which one.
        member: &'static str,
        /// What was given.
        text: String,
    },
    /// MI4.
    #[error("a session holds at most {MOST_INTERACTIONS} interactions")]
    TooMany,
    /// MI11.
    #[error("the response has {bytes} bytes; at most {LARGEST_RESPONSE} are allowed")]
    ResponseTooLarge {
        /// How many.
        bytes: u64,
    },
    /// MI11.
    #[error("the responses have {bytes} bytes together; at most {LARGEST_TOTAL} are allowed")]
    TotalTooLarge {
        /// How many.
        bytes: u64,
    },
    /// A metric, or the sum of one, that doubles cannot hold exactly.
    #[error("{member} is beyond 2^53-1")]
    Metric {
        /// Which one.
        member: &'static str,
    },
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// The hash that names the session (§4.4).
    pub model_io_hash: Digest,
    /// How many interactions it holds.
    pub interactions: usize,
}

/// Doubles hold every whole number below this.
const EXACT: u64 = 1 << 53;

/// The sums of one session so far.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    tokens_input: u64,
    tokens_output: u64,
    latency_ms: u64,
}

/// Writes a session to a sink.
pub struct SessionWriter<'a, S> {
    session: Session<'a>,
    out: Tee<'a, S>,
    hasher: Hasher,
    count: usize,
    bytes: u64,
    sums: Sums,
}

/// The file, and the core that is hashed.
struct Tee<'a, S> {
    file: &'a mut S,
    core: Hasher,
}

impl<S: Sink> Sink for Tee<'_, S> {
    fn put(&mut self, bytes: &[u8]) {
        self.file.put(bytes);
        self.core.put(bytes);
    }
}

impl<'a, S: Sink> SessionWriter<'a, S> {
    /// Begins a session.
    pub fn begin(session: Session<'a>, file: &'a mut S) -> Result<Self, WriteFault> {
        for (member, text) in [("adapter_id", session.adapter_id), ("model_id", session.model_id)] {
            if text.is_empty() {
                return Err(WriteFault::Empty { member });
            }
        }
        let times = [("created_at_utc", session.created_at_utc), ("ended_at_utc", session.ended_at_utc)];
        for (member, text) in times {
            if let Some(text) = text.filter(|text| !text.ends_with('Z') || time::instant(text).is_none()) {
                return Err(WriteFault::Time { member, text: text.to_owned() });
            }
        }
        let mut out = Tee { file, core: Hasher::new() };
        out.put(b"{\"adapter_id\":");
        canonical::write_string(session.adapter_id, &mut out);
        for (member, text) in times {
            if let Some(text) = text {
                out.file.put(format!(",\"{member}\":").as_bytes());
                canonical::write_string(text, out.file);
            }
        }
        out.put(b",\"interactions\":[");
        Ok(Self { session, out, hasher: Hasher::new(), count: 0, bytes: 0, sums: Sums::default() })
    }

    /// Appends an interaction; says which hash its response has. After a fault the session is as it was before.
    pub fn add(&mut self, interaction: &Interaction<'_>) -> Result<Digest, WriteFault> {
        if self.count == MOST_INTERACTIONS {
            return Err(WriteFault::TooMany);
        }
        let bytes = interaction.response.len() as u64;
        if bytes > LARGEST_RESPONSE {
            return Err(WriteFault::ResponseTooLarge { bytes });
        }
        let total = self.bytes + bytes;
        if total > LARGEST_TOTAL {
            return Err(WriteFault::TotalTooLarge { bytes: total });
        }
        self.sums = self.sums.with(interaction)?;
        self.bytes = total;
        let response = Digest::of(interaction.response.as_bytes());
        self.write(interaction, &response);
        self.count += 1;
        Ok(response)
    }

    fn write(&mut self, interaction: &Interaction<'_>, response: &Digest) {
        let prompt = match interaction.prompt {
            Prompt::Digest(digest) => digest,
            Prompt::Text(text) => {
                self.hasher.put(text.as_bytes());
                self.hasher.finish()
            }
        };
        let out = &mut self.out;
        let before = if self.count > 0 { "," } else { "" };
        out.put(format!("{before}{{\"i\":{}", self.count).as_bytes());
        let metric = |name: &str, value: Option<u64>, file: &mut S| {
            if let Some(value) = value {
                file.put(format!(",\"{name}\":{value}").as_bytes());
            }
        };
        metric("latency_ms", interaction.latency_ms, out.file);
        out.put(format!(",\"prompt_hash\":\"{}\",\"response_content\":", content_hash(&prompt)).as_bytes());
        canonical::write_string(interaction.response, out);
        out.put(format!(",\"response_hash\":\"{}\"", content_hash(response)).as_bytes());
        metric("tokens_input", interaction.tokens_input, out.file);
        metric("tokens_output", interaction.tokens_output, out.file);
        out.put(b"}");
    }

    /// Ends the session.
    pub fn finish(mut self) -> Written {
        let Self { session, out, count, sums, .. } = &mut self;
        out.put(format!("],\"mode\":\"{}\",\"model_id\":", session.mode.name()).as_bytes());
        canonical::write_string(session.model_id, out);
        out.put(format!(",\"model_io_schema_version\":\"{VERSION}\"").as_bytes());
        if session.stats {
            let Sums { tokens_input, tokens_output, latency_ms } = sums;
            let stats = format!(
                ",\"stats\":{{\"total_interactions\":{count},\"total_latency_ms\":{latency_ms},\
                 \"total_tokens_input\":{tokens_input},\"total_tokens_output\":{tokens_output}}}"
            );
            out.file.put(stats.as_bytes());
        }
        out.put(b"}");
        Written { model_io_hash: out.core.finish(), interactions: *count }
    }
}

impl Sums {
    /// The sums with one interaction more.
    fn with(&self, more: &Interaction<'_>) -> Result<Self, WriteFault> {
        let add = |sum: u64, value: Option<u64>, member| {
            let sum = sum.checked_add(value.unwrap_or(0)).filter(|sum| *sum < EXACT);
            sum.ok_or(WriteFault::Metric { member })
        };
        Ok(Self {
            tokens_input: add(self.tokens_input, more.tokens_input, "tokens_input")?,
            tokens_output: add(self.tokens_output, more.tokens_output, "tokens_output")?,
            latency_ms: add(self.latency_ms, more.latency_ms, "latency_ms")?,
        })
    }
}
