//! Which format is this? Content decides, never a file's name.

use reenact_json::{Kind, Limits, Scanner, Shown, SyntaxError};

use crate::report::Report;

/// A format whose checks can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// An RER artifact.
    Rer,
    /// An RER bundle: a folder or an archive.
    RerBundle,
}

impl Format {
    /// Every format, in the order in which help lists them.
    pub const ALL: &[Format] = &[Format::Rer, Format::RerBundle];

    /// The name that commands take.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rer => "rer",
            Self::RerBundle => "rer-bundle",
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
    #[error("it holds no record of a run: a bundle has artifact.json and manifest.json")]
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

/// Looks at the outermost members only as far as it takes.
pub fn detect(bytes: &[u8], limits: &Limits) -> Result<Format, Unrecognised> {
    let mut seen = Seen::default();
    match look(bytes, limits, &mut seen) {
        Ok(Some(format)) => Ok(format),
        // A torn artifact is still an artifact: its own checks say better what is wrong with it.
        _ if seen.rer >= 2 => Ok(Format::Rer),
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
        if seen.names.len() < 5 {
            seen.names.push(Shown::new(&name.string().unwrap_or_default()).to_string());
        }
        let value = scanner.value()?;
        let is_version = value.string().is_some_and(|text| text.starts_with("rer-artifact/"));
        if name.is_string("artifact_version") && is_version {
            return Ok(Some(Format::Rer));
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
