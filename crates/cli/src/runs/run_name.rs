//! Names of runs as people type them: an id, the beginning of one, its last six digits, `last`, `last~1`.

use reenact_json::Shown;
use reenact_record::RunId;

/// Name of a run that is no path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunName<'a> {
    /// `last`, or `last~N`: the run that was recorded so many runs before the last one.
    Last {
        /// Number of runs between this one and the last one.
        back: usize,
    },
    /// An id, the beginning of one, or its last six digits.
    IdPart(&'a str),
}

/// Reason why a name means no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RunNameError {
    /// No run's id begins or ends so.
    #[error("no run's id begins with \"{}\", or has it as its last six digits", Shown::new(.given))]
    NotFound {
        /// Text that was given.
        given: String,
    },
    /// Several runs' ids begin or end so.
    #[error("\"{}\" means {} runs: {}; give more of the id", Shown::new(.given), .found.len(), joined_ids(.found))]
    Ambiguous {
        /// Text that was given.
        given: String,
        /// Ids that begin or end so, oldest first.
        found: Vec<RunId>,
    },
}

/// Returns the ids as a list for a message, which is cut after a few.
fn joined_ids(ids: &[RunId]) -> String {
    const MAX_LISTED: usize = 8;
    let mut texts: Vec<String> = ids.iter().take(MAX_LISTED).map(RunId::to_string).collect();
    if ids.len() > MAX_LISTED {
        texts.push("…".into());
    }
    texts.join(", ")
}

/// Number of digits at the end of an id by which a run may be named.
const SHORT_DIGITS: usize = 6;

/// Length of an id.
const ID_BYTES: usize = 36;

impl<'a> RunName<'a> {
    /// Parses a name; `None` for text that can only be a path.
    pub(crate) fn parse(given: &'a str) -> Option<Self> {
        if given == "last" {
            return Some(Self::Last { back: 0 });
        }
        if let Some(back) = given.strip_prefix("last~") {
            let is_number = (1..=6).contains(&back.len()) && back.bytes().all(|byte| byte.is_ascii_digit());
            return is_number.then(|| back.parse().ok()).flatten().map(|back| Self::Last { back });
        }
        let is_part = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
        let is_id_part = (1..=ID_BYTES).contains(&given.len()) && given.bytes().all(is_part);
        is_id_part.then_some(Self::IdPart(given))
    }
}

/// Returns the last six digits of an id, by which people may name a run.
pub(crate) fn short_id(id: RunId) -> String {
    let text = id.to_string();
    text.get(ID_BYTES - SHORT_DIGITS..).unwrap_or_default().to_owned()
}

/// Returns the one id that begins with `part`, or has it as its last six digits. `ids` are sorted, oldest first, and unique.
///
/// # Errors
///
/// If there is none, or several.
pub(crate) fn find_id(part: &str, ids: impl IntoIterator<Item = RunId>) -> Result<RunId, RunNameError> {
    let is_meant = |id: &RunId| {
        let text = id.to_string();
        text.starts_with(part) || (part.len() == SHORT_DIGITS && text.ends_with(part))
    };
    let found: Vec<RunId> = ids.into_iter().filter(is_meant).collect();
    match found.as_slice() {
        [] => Err(RunNameError::NotFound { given: part.to_owned() }),
        [one] => Ok(*one),
        _ => Err(RunNameError::Ambiguous { given: part.to_owned(), found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    const MIDDLE: &str = "017f22e2-79b0-7fff-98c4-dc0c0c07398e";
    const NEW: &str = "019a8172-3a80-7d21-9f3e-2b6c5d017f22";

    fn id(text: &str) -> RunId {
        text.parse().unwrap()
    }

    #[test]
    fn the_run_that_is_meant() {
        let ids = [id(OLD), id(MIDDLE), id(NEW)];
        for (part, meant) in [
            (OLD, OLD),
            ("017f22e2-79b0-7c", OLD),
            ("017f22e2-79b0-7f", MIDDLE),
            ("07398f", OLD),
            ("07398e", MIDDLE),
            ("019", NEW),
            (NEW, NEW),
        ] {
            assert_eq!(RunName::parse(part), Some(RunName::IdPart(part)));
            assert_eq!(find_id(part, ids), Ok(id(meant)), "{part}");
        }
        // Neither five nor seven digits of the end.
        for part in ["7398f", "c07398f", "02", "ff"] {
            assert_eq!(find_id(part, ids), Err(RunNameError::NotFound { given: part.into() }));
        }
    }

    #[test]
    fn a_beginning_and_an_end_may_be_the_same() {
        let short = "19a817";
        assert_eq!(find_id("017f22", [id(NEW)]), Ok(id(NEW)));
        assert_eq!(find_id(short, [id(NEW)]), Err(RunNameError::NotFound { given: short.into() }));
        let several = RunNameError::Ambiguous { given: "017f".into(), found: vec![id(OLD), id(MIDDLE)] };
        assert_eq!(
            several.to_string(),
            format!("\"017f\" means 2 runs: {OLD}, {MIDDLE}; give more of the id")
        );
        assert_eq!(find_id("017f", [id(OLD), id(MIDDLE), id(NEW)]), Err(several));
        let found = vec![id(OLD), id(MIDDLE), id(NEW)];
        assert_eq!(
            find_id("017f22", found.clone()),
            Err(RunNameError::Ambiguous { given: "017f22".into(), found })
        );
    }

    #[test]
    fn the_last_ones() {
        for (given, back) in
            [("last", 0), ("last~0", 0), ("last~1", 1), ("last~012", 12), ("last~999999", 999_999)]
        {
            assert_eq!(RunName::parse(given), Some(RunName::Last { back }), "{given}");
        }
    }

    #[test]
    fn what_names_no_run() {
        let long = format!("{OLD}0");
        for given in [
            "",
            ".",
            "..",
            "../x",
            "/etc/passwd",
            "\u{1b}[2J",
            "LAST",
            "017F",
            "017f\0",
            "é",
            " last",
            "last~",
            "last~x",
            "last~-1",
            "last~+1",
            "last~1000000",
            "last ~1",
            "last~1~1",
            &long,
        ] {
            assert_eq!(RunName::parse(given), None, "{given:?}");
        }
    }

    #[test]
    fn many_that_begin_alike_are_not_all_listed() {
        let found: Vec<RunId> = (0..9).map(|at| id(&OLD.replace("017f", &format!("01{at}f")))).collect();
        let said = RunNameError::Ambiguous { given: "01".into(), found }.to_string();
        assert!(said.starts_with("\"01\" means 9 runs: 010f22e2-"), "{said}");
        assert!(said.ends_with("017f22e2-79b0-7cc3-98c4-dc0c0c07398f, …; give more of the id"), "{said}");
    }

    #[test]
    fn an_id_has_a_short_name() {
        assert_eq!(short_id(id(OLD)), "07398f");
    }
}
