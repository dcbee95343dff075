//! Versions that can be read: every minor version of major 1.

use reenact_json::{Shown, Value};

/// Reason why a version cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RpkVersionFault {
    /// There is no version.
    #[error("version is missing")]
    Missing,
    /// The version is not a string.
    #[error("version must be a string, not {found}")]
    NotAString {
        /// Kind of the value, in words.
        found: &'static str,
    },
    /// The version is not two numbers with a point between them.
    #[error("\"{}\" is no version: it must be two numbers, such as 1.0", Shown::new(.text))]
    Spelling {
        /// Text of the version.
        text: String,
    },
    /// Another major version, whose members may mean anything.
    #[error("version {} cannot be read here: only 1.x can", Shown::new(.text))]
    Major {
        /// Text of the version.
        text: String,
    },
}

/// Checks that a document of that version can be read.
///
/// # Errors
///
/// [`RpkVersionFault`] says why not.
pub fn check(version: Option<Value<'_>>) -> Result<(), RpkVersionFault> {
    let Some(version) = version else { return Err(RpkVersionFault::Missing) };
    let Some(text) = version.string() else {
        return Err(RpkVersionFault::NotAString { found: version.kind().name() });
    };
    match major(&text) {
        Some("1") => Ok(()),
        Some(_) => Err(RpkVersionFault::Major { text: text.into_owned() }),
        None => Err(RpkVersionFault::Spelling { text: text.into_owned() }),
    }
}

/// Returns the major number without leading zeros; `None` if the text is not a version.
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

    fn of(text: &str) -> Result<(), RpkVersionFault> {
        check(Some(Value::parse(text.as_bytes(), &Limits::default()).unwrap()))
    }

    #[test]
    fn every_minor_of_major_1() {
        for text in ["1.0", "1.99", "001.00", "1.123456789012345678901234567890"] {
            assert_eq!(of(&format!("\"{text}\"")), Ok(()), "{text}");
        }
        for text in ["2.0", "0.9", "3.0", "10.0", "18446744073709551617.0"] {
            assert_eq!(
                of(&format!("\"{text}\"")),
                Err(RpkVersionFault::Major { text: text.into() }),
                "{text}"
            );
        }
        for text in ["", "1", "1.", ".0", "1.0.0", " 1.0", "1.0 ", "1.x", "v1.0", "+1.0", "١.٠"] {
            assert_eq!(
                of(&format!("\"{text}\"")),
                Err(RpkVersionFault::Spelling { text: text.into() }),
                "{text}"
            );
        }
        assert_eq!(of("\"1.0\\n\""), Err(RpkVersionFault::Spelling { text: "1.0\n".into() }));
        assert_eq!(of("1.0"), Err(RpkVersionFault::NotAString { found: "a number" }));
        assert_eq!(check(None), Err(RpkVersionFault::Missing));
    }
}
