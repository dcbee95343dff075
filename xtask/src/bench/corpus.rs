//! Artifacts to measure, with every content that agents produce.

use reenact_formats::key::PublicKey;
use reenact_formats::rer::RerVersion;
use reenact_formats::rer::seal::{ArtifactBuilder, NewEvent, RerRunHeader, Signer};
use reenact_json::{Digest, Limits, Value, ValueKind};

use reenact_testkit::fixture::TestKey;

/// Content of the payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BenchContent {
    /// Objects, lists, numbers and short strings.
    Native,
    /// JSON inside of a string: an escape every few bytes.
    Escaped,
    /// Stream of server-sent events inside of a string.
    Sse,
    /// Text outside of ASCII.
    Cjk,
    /// [`BenchContent::Native`] with white space, and with members out of order.
    NotCanonical,
    /// Numbers of up to 17 digits.
    Floats,
}

impl BenchContent {
    /// All contents.
    pub(super) const ALL: [BenchContent; 6] =
        [Self::Native, Self::Escaped, Self::Sse, Self::Cjk, Self::NotCanonical, Self::Floats];

    /// Returns the name of the content's rows.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Escaped => "escaped",
            Self::Sse => "sse",
            Self::Cjk => "cjk",
            Self::NotCanonical => "not-canonical",
            Self::Floats => "floats",
        }
    }

    /// Returns the budget, as a multiple of hashing: one mandatory hash of the bytes, and 2 more
    /// for canonical input, 5 for other input.
    pub(super) fn budget(self) -> &'static str {
        match self {
            Self::Native | Self::Escaped | Self::Sse | Self::Cjk => "3",
            Self::NotCanonical => "6",
            Self::Floats => "-",
        }
    }

    /// Returns a payload; `seed` makes it differ from others.
    pub(super) fn payload(self, seed: u64) -> String {
        let mut random = Xorshift::new(seed);
        match self {
            Self::Native | Self::NotCanonical => native(&mut random),
            Self::Escaped => {
                let inner = format!("[{},{}]", native(&mut random), native(&mut random));
                format!("{{\"http\":{{\"body\":{{\"text\":{}}}}}}}", quoted(&inner))
            }
            Self::Sse => format!("{{\"body\":{{\"text\":{}}}}}", quoted(&stream(&mut random))),
            Self::Cjk => {
                let text: String = (0..600)
                    .map(|_| {
                        char::from_u32(0x4E00 + u32::try_from(random.next() % 0x5000).unwrap_or(0))
                            .unwrap_or('中')
                    })
                    .collect();
                format!("{{\"body\":{{\"text\":\"{text}\"}},\"model\":\"模型\"}}")
            }
            Self::Floats => {
                let numbers: Vec<String> = (0..120)
                    .map(|_| format!("{}", (random.next() >> 11) as f64 / (1_u64 << 53) as f64 * 10.0))
                    .filter(|text| !text.starts_with("0.000"))
                    .collect();
                format!("{{\"embedding\":[{}]}}", numbers.join(","))
            }
        }
    }
}

/// Returns a payload like that of a model call, about 700 bytes.
fn native(random: &mut Xorshift) -> String {
    let call = random.next();
    format!(
        concat!(
            "{{\"http\":{{\"headers\":[[\"content-type\",\"application/json\"],[\"x-request-id\",\"req_{0:016x}\"]],",
            "\"method\":\"POST\",\"path\":\"/v1/messages\"}},\"input\":{{\"city\":\"Zürich\",\"days\":{1},\"units\":\"metric\"}},",
            "\"messages\":[{{\"content\":\"What will the weather be like, and should I take an umbrella?\",\"role\":\"user\"}},",
            "{{\"content\":null,\"role\":\"assistant\",\"tool_calls\":[{{\"id\":\"call_{0:016x}\",\"type\":\"function\"}}]}}],",
            "\"model\":\"claude-sonnet-4-5\",\"source\":\"observed\",\"step_id\":\"{0:032x}\",\"stream\":true,",
            "\"usage\":{{\"input_tokens\":{2},\"output_tokens\":{3}}}}}"
        ),
        call,
        call % 7 + 1,
        call % 9000,
        call % 700
    )
}

/// Returns a stream of 25 text deltas.
fn stream(random: &mut Xorshift) -> String {
    (0..25)
        .map(|index| {
            format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\" word{} {index}\"}}}}\n\n",
                random.next() % 1000
            )
        })
        .collect()
}

/// Returns a text as a JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    reenact_json::print::write_string(text, &mut out);
    out
}

/// Xorshift generator: the artifacts are the same in every run.
pub(super) struct Xorshift(u64);

impl Xorshift {
    /// Creates a generator; different seeds give different numbers.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns the next 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Sealed artifact, with the key that signed it.
pub(super) struct BenchArtifact {
    /// Text of the artifact.
    pub(super) bytes: Vec<u8>,
    /// Key that verifies the signature.
    pub(super) key: PublicKey,
}

impl BenchArtifact {
    /// Generates an artifact of about `size` bytes.
    ///
    /// # Errors
    /// If an event cannot be appended or the run cannot be sealed: a bug of this program.
    pub(super) fn artifact(content: BenchContent, size: usize) -> Result<Self, String> {
        let artifact = Self::sealed(&Self::chain(content, size)?, None)?;
        let bytes =
            if content == BenchContent::NotCanonical { reformatted(&artifact.bytes) } else { artifact.bytes };
        Ok(Self { bytes, ..artifact })
    }

    /// Generates events of about `size` bytes.
    pub(super) fn chain(content: BenchContent, size: usize) -> Result<ArtifactBuilder, String> {
        let mut chain = ArtifactBuilder::new(RerVersion::V02);
        let mut written = 0;
        let mut step_index = 0;
        while written < size {
            let payload = content.payload(step_index);
            written += payload.len() + 440;
            let event = NewEvent {
                step_index,
                event_type: "rer.model.returned",
                timestamp: "2026-05-13T12:34:56.789Z",
                payload: Some(payload.as_bytes()),
                redacted: false,
            };
            chain.append(&event).map_err(|error| error.to_string())?;
            step_index += 1;
        }
        Ok(chain)
    }

    /// Seals events, for a bundle with this manifest or alone.
    pub(super) fn sealed(chain: &ArtifactBuilder, manifest_hash: Option<Digest>) -> Result<Self, String> {
        let signer = TestKey::of(7);
        let run = RerRunHeader {
            run_id: "bench",
            implementation: "reenact",
            version: "0",
            envelope: br#"{"envelope_version":"rer-envelope/0.2","limits":{},"permissions":{"allowed_models":["*"],"allowed_tools":["*"]}}"#,
            manifest_hash,
        };
        let bytes = chain.clone().seal(&run, &signer).map_err(|error| error.to_string())?;
        Ok(Self { bytes, key: signer.public_key() })
    }
}

/// Rewrites a document as other programs write it: indented, with members in another order.
pub(super) fn reformatted(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 3 / 2);
    if let Ok(document) = Value::parse(bytes, &Limits::default()) {
        reformat(document, 0, &mut out);
    }
    out
}

/// Appends a value, indented and with reversed members.
fn reformat(value: Value<'_>, depth: usize, out: &mut Vec<u8>) {
    let line = |depth: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    match value.kind() {
        ValueKind::Object => {
            let mut members: Vec<_> = value.members().collect();
            members.reverse();
            out.push(b'{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                line(depth + 1, out);
                out.extend_from_slice(name.text());
                out.extend_from_slice(b": ");
                reformat(value, depth + 1, out);
            }
            line(depth, out);
            out.push(b'}');
        }
        ValueKind::Array => {
            out.push(b'[');
            for (at, value) in value.elements().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                line(depth + 1, out);
                reformat(value, depth + 1, out);
            }
            line(depth, out);
            out.push(b']');
        }
        _ => out.extend_from_slice(value.text()),
    }
}
