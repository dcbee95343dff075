//! Writer of sessions: interactions as they come, in canonical form, within the limits, hashed on the way.
//!
//! Memory does not grow with the session. An interaction that would not verify is refused before any byte of it is
//! written. Start reading at [`ModelIoWriter::begin`].

use reenact_json::canonical::{self, ByteSink};
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Shown};

use super::{MAX_INTERACTIONS, MAX_RESPONSE_BYTES, MAX_TOTAL_RESPONSE_BYTES, VERSION, content_hash};
use crate::rer::time;

/// Origin of the responses (§3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelIoMode {
    /// The responses came from live models.
    Record,
    /// The responses came from a recording.
    Replay,
}

impl ModelIoMode {
    /// Returns the mode's name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Replay => "replay",
        }
    }
}

/// Members of a session beside its interactions.
#[derive(Debug, Clone, Copy)]
pub struct ModelIoSession<'a> {
    /// Name of the program between the agent and the model. Not empty.
    pub adapter_id: &'a str,
    /// Name of the model. Not empty.
    pub model_id: &'a str,
    /// Origin of the responses.
    pub mode: ModelIoMode,
    /// Beginning of the session: RFC 3339 in UTC. No hash covers the time.
    pub created_at_utc: Option<&'a str>,
    /// End of the session: RFC 3339 in UTC. No hash covers the time.
    pub ended_at_utc: Option<&'a str>,
    /// True if sums of the metrics are written at the end. No hash covers them.
    pub stats: bool,
}

/// Prompt of an interaction. Only its hash is written.
#[derive(Debug, Clone, Copy)]
pub enum ModelIoPrompt<'a> {
    /// Text of the prompt, as UTF-8.
    Text(&'a str),
    /// SHA-256 of the prompt, where the text is not at hand.
    Digest(Digest),
}

/// One interaction to write.
#[derive(Debug, Clone, Copy)]
pub struct NewInteraction<'a> {
    /// Prompt that was sent.
    pub prompt: ModelIoPrompt<'a>,
    /// Text of the response.
    pub response: &'a str,
    /// Number of tokens in the request. No hash covers it.
    pub tokens_input: Option<u64>,
    /// Number of tokens in the response. No hash covers it.
    pub tokens_output: Option<u64>,
    /// Duration of the call, in milliseconds. No hash covers it.
    pub latency_ms: Option<u64>,
}

/// Reason why a session or an interaction is not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelIoWriteFault {
    /// A member that must not be empty is empty (MI2).
    #[error("{member} is empty")]
    Empty {
        /// Name of the member.
        member: &'static str,
    },
    /// A time that is not RFC 3339 in UTC (§3.2).
    #[error("{member} is not an RFC 3339 time in UTC: {}", Shown::new(.text))]
    Time {
        /// Name of the member.
        member: &'static str,
        /// Text that was given.
        text: String,
    },
    /// The session is full (MI4).
    #[error("a session holds at most {MAX_INTERACTIONS} interactions")]
    TooMany,
    /// A response over [`MAX_RESPONSE_BYTES`] (MI11).
    #[error("the response has {bytes} bytes; at most {MAX_RESPONSE_BYTES} are allowed")]
    ResponseTooLarge {
        /// Length of the response, in bytes.
        bytes: u64,
    },
    /// The sum of all responses over [`MAX_TOTAL_RESPONSE_BYTES`] (MI11).
    #[error("the responses have {bytes} bytes together; at most {MAX_TOTAL_RESPONSE_BYTES} are allowed")]
    TotalTooLarge {
        /// Sum of all lengths, in bytes.
        bytes: u64,
    },
    /// A metric, or the sum of one, that a double cannot hold exactly.
    #[error("{member} is beyond 2^53-1")]
    Metric {
        /// Name of the metric.
        member: &'static str,
    },
}

/// Result of a session that was written to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenSession {
    /// Hash that names the session (§4.4).
    pub model_io_hash: Digest,
    /// Number of interactions.
    pub interactions: usize,
}

/// Doubles hold every whole number below this limit.
const EXACT_INTEGER_LIMIT: u64 = 1 << 53;

/// Sums of the metrics so far.
#[derive(Debug, Clone, Copy, Default)]
struct MetricSums {
    tokens_input: u64,
    tokens_output: u64,
    latency_ms: u64,
}

/// Streaming writer of a session to a sink.
pub struct ModelIoWriter<'a, S> {
    session: ModelIoSession<'a>,
    out: FileAndCoreSink<'a, S>,
    hasher: Hasher,
    count: usize,
    response_bytes: u64,
    sums: MetricSums,
}

/// Sink that copies every byte to the file and to the hash of the core. Bytes that no hash covers go to `file` alone.
struct FileAndCoreSink<'a, S> {
    file: &'a mut S,
    core: Hasher,
}

impl<S: ByteSink> ByteSink for FileAndCoreSink<'_, S> {
    fn put(&mut self, bytes: &[u8]) {
        self.file.put(bytes);
        self.core.put(bytes);
    }
}

impl<'a, S: ByteSink> ModelIoWriter<'a, S> {
    /// Begins a session: writes the members before the interactions.
    ///
    /// # Errors
    ///
    /// [`ModelIoWriteFault::Empty`] or [`ModelIoWriteFault::Time`]; nothing is written then.
    pub fn begin(session: ModelIoSession<'a>, file: &'a mut S) -> Result<Self, ModelIoWriteFault> {
        for (member, text) in [("adapter_id", session.adapter_id), ("model_id", session.model_id)] {
            if text.is_empty() {
                return Err(ModelIoWriteFault::Empty { member });
            }
        }
        let times = [("created_at_utc", session.created_at_utc), ("ended_at_utc", session.ended_at_utc)];
        for (member, text) in times {
            if let Some(text) = text.filter(|text| !text.ends_with('Z') || time::instant(text).is_none()) {
                return Err(ModelIoWriteFault::Time { member, text: text.to_owned() });
            }
        }
        let mut out = FileAndCoreSink { file, core: Hasher::new() };
        out.put(b"{\"adapter_id\":");
        canonical::write_string(session.adapter_id, &mut out);
        for (member, text) in times {
            if let Some(text) = text {
                out.file.put(format!(",\"{member}\":").as_bytes());
                canonical::write_string(text, out.file);
            }
        }
        out.put(b",\"interactions\":[");
        Ok(Self {
            session,
            out,
            hasher: Hasher::new(),
            count: 0,
            response_bytes: 0,
            sums: MetricSums::default(),
        })
    }

    /// Appends an interaction; returns the hash of its response.
    ///
    /// # Errors
    ///
    /// [`ModelIoWriteFault`] if a limit would be passed. The session is then as it was before.
    pub fn add(&mut self, interaction: &NewInteraction<'_>) -> Result<Digest, ModelIoWriteFault> {
        if self.count == MAX_INTERACTIONS {
            return Err(ModelIoWriteFault::TooMany);
        }
        let bytes = interaction.response.len() as u64;
        if bytes > MAX_RESPONSE_BYTES {
            return Err(ModelIoWriteFault::ResponseTooLarge { bytes });
        }
        let total = self.response_bytes + bytes;
        if total > MAX_TOTAL_RESPONSE_BYTES {
            return Err(ModelIoWriteFault::TotalTooLarge { bytes: total });
        }
        self.sums = self.sums.plus(interaction)?;
        self.response_bytes = total;
        let response = Digest::of(interaction.response.as_bytes());
        self.write_interaction(interaction, &response);
        self.count += 1;
        Ok(response)
    }

    fn write_interaction(&mut self, interaction: &NewInteraction<'_>, response: &Digest) {
        let prompt = match interaction.prompt {
            ModelIoPrompt::Digest(digest) => digest,
            ModelIoPrompt::Text(text) => {
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

    /// Ends the session; returns its hash.
    pub fn finish(mut self) -> WrittenSession {
        let Self { session, out, count, sums, .. } = &mut self;
        out.put(format!("],\"mode\":\"{}\",\"model_id\":", session.mode.name()).as_bytes());
        canonical::write_string(session.model_id, out);
        out.put(format!(",\"model_io_schema_version\":\"{VERSION}\"").as_bytes());
        if session.stats {
            let MetricSums { tokens_input, tokens_output, latency_ms } = sums;
            let stats = format!(
                ",\"stats\":{{\"total_interactions\":{count},\"total_latency_ms\":{latency_ms},\
                 \"total_tokens_input\":{tokens_input},\"total_tokens_output\":{tokens_output}}}"
            );
            out.file.put(stats.as_bytes());
        }
        out.put(b"}");
        WrittenSession { model_io_hash: out.core.finish(), interactions: *count }
    }
}

impl MetricSums {
    /// Returns the sums with one interaction more, or the metric that grows beyond 2^53-1.
    fn plus(&self, more: &NewInteraction<'_>) -> Result<Self, ModelIoWriteFault> {
        let add = |sum: u64, value: Option<u64>, member| {
            let sum = sum.checked_add(value.unwrap_or(0)).filter(|sum| *sum < EXACT_INTEGER_LIMIT);
            sum.ok_or(ModelIoWriteFault::Metric { member })
        };
        Ok(Self {
            tokens_input: add(self.tokens_input, more.tokens_input, "tokens_input")?,
            tokens_output: add(self.tokens_output, more.tokens_output, "tokens_output")?,
            latency_ms: add(self.latency_ms, more.latency_ms, "latency_ms")?,
        })
    }
}
