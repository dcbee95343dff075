//! Which versions can be read: every minor of major 1.

use reenact_json::{Shown, Value};

/// Why a version cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionFault {
    /// There is none.
    #[error("version is missing")]
    Missing,
    /// It is no string.
    #[error("version must be a string, not {found}")]
    NotAString {
        /// What stands there.
        found: &'static str,
    },
    /// It is not two numbers with a point between them.
    #[error("\"{}\" is no version: it must be two numbers, such as 1.0", Shown::new(.text))]
    Spelling {
        /// What stands there.
        text: String,
    },
    /// Another major: whatever its members mean, it is not known here.
    #[error("version {} cannot be read here: only 1.x can", Shown::new(.text))]
    Major {
        /// What stands there.
        text: String,
    },
}

/// Whether a document of that version can be read.
pub fn check(version: Option<Value<'_>>) -> Result<(), VersionFault> {
    let Some(version) = version else { return Err(VersionFault::Missing) };
    let Some(text) = version.string() else {
        return Err(VersionFault::NotAString { found: version.kind().name() });
    };
    match major(&text) {
        Some("1") => Ok(()),
        Some(_) => Err(VersionFault::Major { text: text.into_owned() }),
        None => Err(VersionFault::Spelling { text: text.into_owned() }),
    }
}

/// The major of a version without its leading zeros; `None` if the text is no version.
pub fn major(text: &str) -> Option<&str> {
    let (major, minor) = text.split_once('.')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(major) && is_number(minor)).then(|| match major.trim_start_matches('0') {
        "" => "0",
        number => number,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    fn of(text: &str) -> Result<(), VersionFault> {
        check(Some(Value::parse(text.as_bytes(), &Limits::default()).unwrap()))
    }

    #[test]
    fn every_minor_of_major_1() {
        for text in ["1.0", "1.99", "001.00", "1.123456789012345678901234567890"] {
            assert_eq!(of(&format!("\"{text}\"")), Ok(()), "{text}");
        }
        for text in ["2.0", "0.9", "3.0", "10.0", "18446744073709551617.0"] {
            assert_eq!(of(&format!("\"{text}\"")), Err(VersionFault::Major { text: text.into() }), "{text}");
        }
        for text in ["", "1", "1.", ".0", "1.0.0", " 1.0", "1.0 ", "1.x", "v1.0", "+1.0", "١.٠"] {
            assert_eq!(
                of(&format!("\"{text}\"")),
                Err(VersionFault::Spelling { text: text.into() }),
                "{text}"
            );
        }
        assert_eq!(of("\"1.0\\n\""), Err(VersionFault::Spelling { text: "1.0\n".into() }));
        assert_eq!(of("1.0"), Err(VersionFault::NotAString { found: "a number" }));
        assert_eq!(check(None), Err(VersionFault::Missing));
    }
}
