//! Artifacts to measure, of every content that agents produce.

use reenact_formats::key::PublicKey;
use reenact_formats::rer::Version;
use reenact_formats::rer::seal::{Chain, NewEvent, RunHeader, Signer};
use reenact_json::{Digest, Kind, Limits, Value};

use reenact_testkit::fixture::TestKey;

/// What the payloads hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Objects, lists, numbers and short strings.
    Native,
    /// JSON inside a string: an escape every few bytes.
    Escaped,
    /// A stream of server-sent events inside a string.
    Sse,
    /// Text beyond ASCII.
    Cjk,
    /// [`Content::Native`] with white space and members out of order.
    NotCanonical,
    /// Numbers of up to 17 digits.
    Floats,
}

impl Content {
    /// All of them.
    pub(super) const ALL: [Content; 6] =
        [Self::Native, Self::Escaped, Self::Sse, Self::Cjk, Self::NotCanonical, Self::Floats];

    /// The name of its rows.
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

    /// DESIGN §11: one mandatory hash of the bytes, and 2 more for canonical input, 5 for other input.
    pub(super) fn budget(self) -> &'static str {
        match self {
            Self::Native | Self::Escaped | Self::Sse | Self::Cjk => "3",
            Self::NotCanonical => "6",
            Self::Floats => "-",
        }
    }

    /// A payload; `seed` makes it differ from others.
    pub(super) fn payload(self, seed: u64) -> String {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
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

fn native(random: &mut Random) -> String {
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

fn stream(random: &mut Random) -> String {
    (0..25)
        .map(|index| {
            format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\" word{} {index}\"}}}}\n\n",
                random.next() % 1000
            )
        })
        .collect()
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    reenact_json::print::string(text, &mut out);
    out
}

/// Xorshift: the same artifacts in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// An artifact, and the key that signed it.
pub(super) struct Corpus {
    /// Its text.
    pub(super) bytes: Vec<u8>,
    /// Whose signature it bears.
    pub(super) key: PublicKey,
}

impl Corpus {
    /// An artifact of about `size` bytes.
    pub(super) fn artifact(content: Content, size: usize) -> Result<Self, String> {
        let artifact = Self::sealed(&Self::chain(content, size)?, None)?;
        let bytes =
            if content == Content::NotCanonical { respelled(&artifact.bytes) } else { artifact.bytes };
        Ok(Self { bytes, ..artifact })
    }

    /// Events of about `size` bytes.
    pub(super) fn chain(content: Content, size: usize) -> Result<Chain, String> {
        let mut chain = Chain::new(Version::V02);
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

    /// Those events, sealed, as part of a bundle or alone.
    pub(super) fn sealed(chain: &Chain, manifest_hash: Option<Digest>) -> Result<Self, String> {
        let signer = TestKey::of(7);
        let run = RunHeader {
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

/// The same document as other programs write it: indented, members in another order.
pub(super) fn respelled(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 3 / 2);
    if let Ok(document) = Value::parse(bytes, &Limits::default()) {
        respell(document, 0, &mut out);
    }
    out
}

fn respell(value: Value<'_>, depth: usize, out: &mut Vec<u8>) {
    let line = |depth: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    match value.kind() {
        Kind::Object => {
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
                respell(value, depth + 1, out);
            }
            line(depth, out);
            out.push(b'}');
        }
        Kind::Array => {
            out.push(b'[');
            for (at, value) in value.elements().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                line(depth + 1, out);
                respell(value, depth + 1, out);
            }
            line(depth, out);
            out.push(b']');
        }
        _ => out.extend_from_slice(value.text()),
    }
}
