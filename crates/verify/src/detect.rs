//! Which format is this? Content decides, never a file's name.

use reenact_formats::rpk;
use reenact_json::{Kind, Limits, Scanner, Shown, SyntaxError};

use crate::replay_jsonl;
use crate::report::Report;

/// A format whose checks can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// An RER artifact.
    Rer,
    /// An RER bundle: a folder or an archive.
    RerBundle,
    /// An `.rpk` artifact.
    Rpk,
    /// A Model IO session: a file, or a pack as a folder or an archive.
    ModelIo,
    /// A REPLAY.jsonl.
    ReplayJsonl,
    /// A Replay Bundle: a folder or an archive.
    ReplayBundle,
}

impl Format {
    /// Every format, in the order in which help lists them.
    pub const ALL: &[Format] = &[
        Format::Rer,
        Format::RerBundle,
        Format::Rpk,
        Format::ModelIo,
        Format::ReplayJsonl,
        Format::ReplayBundle,
    ];

    /// The name that commands take.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rer => "rer",
            Self::RerBundle => "rer-bundle",
            Self::Rpk => "rpk",
            Self::ModelIo => "model-io",
            Self::ReplayJsonl => "replay-jsonl",
            Self::ReplayBundle => "replay-bundle",
        }
    }

    /// The format of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|format| format.name() == name).copied()
    }
}

/// Why content belongs to no format known here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unrecognised {
    /// No byte at all.
    #[error("it is empty")]
    Empty,
    /// Not JSON, and no archive either. Holds the place and the fault.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// JSON of another kind than any format begins with.
    #[error("it is JSON, but {0} is no record of a run")]
    OtherKind(&'static str),
    /// An archive that cannot be read, and showed nothing of what it holds. Holds the fault.
    #[error("it is an archive that cannot be read: {0}")]
    Archive(String),
    /// An archive or a folder of something else.
    #[error("it holds no record of a run: a bundle has a manifest.json, a pack run.json and model_io.json")]
    OtherMembers,
    /// An object whose members say nothing that we know. Holds its first names.
    #[error("it is a JSON object, but not of a known format{0}")]
    OtherObject(String),
}

impl Unrecognised {
    /// The report on such content.
    pub fn report(&self) -> Report {
        let mut report =
            Report::new("unknown".into(), &[("recognised", "the content is of a format known here")]);
        report.fail("recognised", self);
        report.verdict = "this is not a record that can be verified here".into();
        report
    }
}

/// The members by which an artifact is known even when it is torn or its version is not there.
const RER_NAMES: [&str; 4] = ["artifact_version", "envelope_hash", "log_head_hash", "runtime_signature"];

/// The members of an `.rpk` artifact: any three, or a checksum that begins as they do and one more.
const RPK_NAMES: [&str; 4] = ["checksum", "metadata", "payload", "version"];

/// The member by which a session is known at once.
const MODEL_IO_NAME: &str = "model_io_schema_version";

/// The members, any two, by which a session is known without its version.
const MODEL_IO_NAMES: [&str; 3] = ["adapter_id", "model_id", "interactions"];

/// Looks at the outermost members only as far as it takes.
pub fn detect(bytes: &[u8], limits: &Limits) -> Result<Format, Unrecognised> {
    let mut seen = Seen::default();
    match look(bytes, limits, &mut seen) {
        Ok(Some(format)) => Ok(format),
        // A torn artifact is still an artifact: its own checks say better what is wrong with it.
        _ if seen.rer >= 2 => Ok(Format::Rer),
        _ if seen.rpk >= 3 => Ok(Format::Rpk),
        _ if seen.model_io >= 2 => Ok(Format::ModelIo),
        _ if replay_jsonl::is_replay(bytes) => Ok(Format::ReplayJsonl),
        Ok(None) => Err(match seen.kind {
            Some(kind) => Unrecognised::OtherKind(kind),
            None if seen.names.is_empty() => Unrecognised::OtherObject(String::new()),
            None => Unrecognised::OtherObject(format!(" (its members: {})", seen.names.join(", "))),
        }),
        Err(_) if bytes.is_empty() => Err(Unrecognised::Empty),
        Err(error) => Err(Unrecognised::NotJson(error.describe(bytes))),
    }
}

#[derive(Default)]
struct Seen {
    /// How many of [`RER_NAMES`].
    rer: usize,
    /// How many of [`RPK_NAMES`]; a checksum that begins as it should counts for two.
    rpk: usize,
    /// How many of [`MODEL_IO_NAMES`]; the one name that is enough counts for two.
    model_io: usize,
    /// What the document is, if not an object.
    kind: Option<&'static str>,
    names: Vec<String>,
}

fn look(bytes: &[u8], limits: &Limits, seen: &mut Seen) -> Result<Option<Format>, SyntaxError> {
    let mut scanner = Scanner::new(bytes, limits)?;
    let kind = scanner.kind()?;
    if kind != Kind::Object {
        scanner.value()?;
        scanner.finish()?;
        seen.kind = Some(kind.name());
        return Ok(None);
    }
    let mut root = scanner.enter_object()?;
    while let Some(name) = scanner.next_name(&mut root)? {
        seen.rer += usize::from(RER_NAMES.iter().any(|known| name.is_string(known)));
        if seen.rer >= 2 {
            return Ok(Some(Format::Rer));
        }
        seen.rpk += usize::from(RPK_NAMES.iter().any(|known| name.is_string(known)));
        if seen.rpk >= 3 {
            return Ok(Some(Format::Rpk));
        }
        seen.model_io += usize::from(MODEL_IO_NAMES.iter().any(|known| name.is_string(known)));
        seen.model_io += 2 * usize::from(name.is_string(MODEL_IO_NAME));
        if seen.model_io >= 2 {
            return Ok(Some(Format::ModelIo));
        }
        if seen.names.len() < 5 {
            seen.names.push(Shown::new(&name.string().unwrap_or_default()).to_string());
        }
        let value = scanner.value()?;
        let is_version = value.string().is_some_and(|text| text.starts_with("rer-artifact/"));
        if name.is_string("artifact_version") && is_version {
            return Ok(Some(Format::Rer));
        }
        let is_sum = value.string().is_some_and(|text| text.starts_with(rpk::HASH_PREFIX));
        seen.rpk += usize::from(name.is_string("checksum") && is_sum);
        if seen.rpk >= 3 {
            return Ok(Some(Format::Rpk));
        }
    }
    scanner.finish()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(text: &str) -> Result<Format, Unrecognised> {
        detect(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn artifacts_by_their_version() {
        assert_eq!(detected(r#"{"artifact_version":"rer-artifact/0.2""#), Ok(Format::Rer));
        assert_eq!(detected(r#"{"x":1,"artifact_version":"rer-artifact/9"}"#), Ok(Format::Rer));
    }

    #[test]
    fn torn_artifacts_by_their_members() {
        assert_eq!(detected(r#"{"envelope_hash":"","log_head_hash":"#), Ok(Format::Rer));
        assert_eq!(detected(r#"{"artifact_version":7,"runtime_signature":""}"#), Ok(Format::Rer));
    }

    #[test]
    fn rpk_by_its_members() {
        assert_eq!(detected(r#"{"checksum":"sha256:00","metadata":"#), Ok(Format::Rpk));
        assert_eq!(detected(r#"{"version":"1.0","metadata":{},"payload":"#), Ok(Format::Rpk));
        assert_eq!(detected(r#"{"version":"9.9","x":1,"checksum":"sha256:"}"#), Ok(Format::Rpk));
        assert!(detected(r#"{"version":"1.0","metadata":{}}"#).is_err());
        assert!(detected(r#"{"checksum":"crc32:00","payload":{}}"#).is_err());
    }

    #[test]
    fn sessions_by_their_members() {
        assert_eq!(detected(r#"{"model_io_schema_version":7,"#), Ok(Format::ModelIo));
        assert_eq!(detected(r#"{"adapter_id":"a","interactions":["#), Ok(Format::ModelIo));
        assert_eq!(detected(r#"{"x":1,"model_id":"","y":2,"interactions":0}"#), Ok(Format::ModelIo));
        assert!(detected(r#"{"model_id":"m","mode":"record"}"#).is_err());
    }

    #[test]
    fn everything_else_says_what_it_is() {
        assert_eq!(detected(""), Err(Unrecognised::Empty));
        assert_eq!(detected("[]"), Err(Unrecognised::OtherKind("an array")));
        assert_eq!(detected("{}"), Err(Unrecognised::OtherObject(String::new())));
        assert_eq!(
            detected("{\"a\\u001b\":1,\"b\":2}"),
            Err(Unrecognised::OtherObject(" (its members: a\\u{1b}, b)".into()))
        );
        assert_eq!(
            detected("# Title"),
            Err(Unrecognised::NotJson("line 1, column 1 ($): found `#`, a value was due".into()))
        );
    }
}
