//! Recognition of a format by content, never by a file's name.
//!
//! One scan over the outermost members serves all rows of [`FORMATS`], and stops at the first member that decides.
//! Start reading at [`recognise`].

use reenact_json::{Limits, Scanner, Shown, SyntaxError, Value, ValueKind};

use crate::format::{FORMATS, FormatId, RecognitionRule, Support};

/// Reason why content belongs to no format known here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unrecognised {
    /// No bytes at all.
    #[error("it is empty")]
    Empty,
    /// Neither JSON nor an archive. Holds the position and the fault, as text.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// JSON of a kind that no format begins with. Holds the kind's name.
    #[error("it is JSON, but {0} is no record of a run")]
    OtherKind(&'static str),
    /// An archive that cannot be read, and showed no member that decides. Holds the fault, as text.
    #[error("it is an archive that cannot be read: {0}")]
    Archive(String),
    /// An archive or a folder of other files.
    #[error("it holds no record of a run: a bundle has a manifest.json, a pack run.json and model_io.json")]
    OtherMembers,
    /// A format that this build, or any verifier, does not judge. Holds the format's name.
    #[error("it is of the format {0}, which is not judged here")]
    NotJudged(&'static str),
    /// A format that carries no proof, so that conversion alone reads it. Holds its name, and that of the closest format that has one.
    #[error(
        "it is of the format {name}, which carries no proof: nothing of it can be verified. Convert it: reenact convert FILE --to {target} --out PATH"
    )]
    NoProof {
        /// Name of the format.
        name: &'static str,
        /// Name of the format to convert it to.
        target: &'static str,
    },
    /// An object without members that decide. Holds its first names, ready for the message.
    #[error("it is a JSON object, but not of a known format{0}")]
    OtherObject(String),
}

/// Returns the verified format of a text.
///
/// The text may be truncated: the checks of its format say better what is wrong with it.
///
/// # Errors
///
/// [`Unrecognised`] says what the content seems to be instead.
pub fn recognise(text: &[u8], limits: &Limits) -> Result<FormatId, Unrecognised> {
    let mut seen = RecognitionState::default();
    match scan_members(text, limits, Support::Full, &mut seen) {
        Ok(Some(id)) => Ok(id),
        looked => match (recognise_lines(text, Support::Full), looked) {
            (Some(id), _) => Ok(id),
            (None, Ok(_)) => Err(match seen.kind {
                Some(kind) => Unrecognised::OtherKind(kind),
                None if seen.first_names.is_empty() => Unrecognised::OtherObject(String::new()),
                None => Unrecognised::OtherObject(format!(" (its members: {})", seen.first_names.join(", "))),
            }),
            (None, Err(_)) if text.is_empty() => Err(Unrecognised::Empty),
            (None, Err(error)) => Err(Unrecognised::NotJson(error.describe(text))),
        },
    }
}

/// Returns the format of a text that only conversion reads; `None` for all others and for truncated text.
pub fn recognise_import(text: &[u8], limits: &Limits) -> Option<FormatId> {
    recognise_lines(text, Support::ImportOnly).or_else(|| {
        scan_members(text, limits, Support::ImportOnly, &mut RecognitionState::default()).ok().flatten()
    })
}

/// Returns why a text cannot be verified that is of a format which only conversion reads, and which is told by its members; `None`
/// for all others.
pub fn recognise_without_proof(text: &[u8], limits: &Limits) -> Option<Unrecognised> {
    let id = recognise_import(text, limits)?;
    let row = id.row();
    matches!(row.recognition, RecognitionRule::AllMembers(_))
        .then(|| Unrecognised::NoProof { name: row.name, target: row.dialect.name() })
}

/// Returns the format of a text by its first lines, among the formats with that support.
pub fn recognise_lines(text: &[u8], support: Support) -> Option<FormatId> {
    let is_it = |signs: &RecognitionRule| matches!(signs, RecognitionRule::Lines(is_it) if is_it(text));
    FORMATS.iter().find(|row| row.support == support && is_it(&row.recognition)).map(|row| row.id)
}

/// Returns the bundle format of a manifest, by the first member that decides. The manifest may be truncated.
pub fn recognise_manifest(manifest: &[u8]) -> Option<FormatId> {
    fn first_telling_member(manifest: &[u8]) -> Result<Option<FormatId>, SyntaxError> {
        let mut scanner = Scanner::new(manifest, &Limits::default())?;
        if scanner.kind()? != ValueKind::Object {
            return Ok(None);
        }
        let mut root = scanner.enter_object()?;
        while let Some(name) = scanner.next_name(&mut root)? {
            let is_own = |known: &&str| name.is_string(known);
            let row = FORMATS
                .iter()
                .find(|row| row.folder.is_some_and(|folder| folder.manifest_member_names.iter().any(is_own)));
            if let Some(row) = row {
                return Ok(Some(row.id));
            }
            scanner.value()?;
        }
        Ok(None)
    }
    first_telling_member(manifest).ok().flatten()
}

/// Number of member names kept for the message of [`Unrecognised::OtherObject`].
const MAX_SHOWN_NAMES: usize = 5;

/// State of a scan over the outermost members.
#[derive(Default)]
struct RecognitionState {
    /// Score of each row: the sum of the weights, or the number of members that are present and of their kind.
    scores: [usize; FORMATS.len()],
    /// Kind of the document, if it is not an object.
    kind: Option<&'static str>,
    first_names: Vec<String>,
}

impl RecognitionState {
    /// Adds a member name to the scores; returns the first format that has enough.
    fn add_name(&mut self, name: Value<'_>, support: Support) -> Option<FormatId> {
        for (row, sum) in FORMATS.iter().zip(&mut self.scores).filter(|(row, _)| row.support == support) {
            if let RecognitionRule::WeightedMembers { names, threshold: enough, .. } = row.recognition {
                let weight =
                    |(known, weight): &(&str, usize)| if name.is_string(known) { *weight } else { 0 };
                *sum += names.iter().map(weight).sum::<usize>();
                if *sum >= enough {
                    return Some(row.id);
                }
            }
        }
        None
    }

    /// Adds a member's value to the scores; returns the first format that has enough.
    fn add_value(&mut self, name: Value<'_>, value: Value<'_>, support: Support) -> Option<FormatId> {
        for (row, sum) in FORMATS.iter().zip(&mut self.scores).filter(|(row, _)| row.support == support) {
            match row.recognition {
                RecognitionRule::WeightedMembers { prefixes, threshold: enough, .. } => {
                    let begins = |prefix: &str| value.string().is_some_and(|text| text.starts_with(prefix));
                    *sum += prefixes
                        .iter()
                        .filter(|(known, prefix)| name.is_string(known) && begins(prefix))
                        .count();
                    if *sum >= enough {
                        return Some(row.id);
                    }
                }
                RecognitionRule::AllMembers(members) => {
                    let is_it =
                        |(known, kind): &&(&str, ValueKind)| name.is_string(known) && value.kind() == *kind;
                    *sum += members.iter().filter(is_it).count();
                }
                RecognitionRule::Lines(_) | RecognitionRule::Files => {}
            }
        }
        None
    }

    /// Returns the format all of whose members were present, once the object was read to its end.
    fn complete_match(&self, support: Support) -> Option<FormatId> {
        let is_it = |signs: &RecognitionRule, sum: usize| matches!(signs, RecognitionRule::AllMembers(members) if members.len() == sum);
        let mut rows = FORMATS.iter().zip(self.scores);
        rows.find(|(row, sum)| row.support == support && is_it(&row.recognition, *sum)).map(|(row, _)| row.id)
    }
}

/// Scans the outermost members until one decides; records the rest in `seen`.
fn scan_members(
    text: &[u8],
    limits: &Limits,
    support: Support,
    seen: &mut RecognitionState,
) -> Result<Option<FormatId>, SyntaxError> {
    let mut scanner = Scanner::new(text, limits)?;
    let kind = scanner.kind()?;
    if kind != ValueKind::Object {
        scanner.value()?;
        scanner.finish()?;
        seen.kind = Some(kind.name());
        return Ok(None);
    }
    let mut root = scanner.enter_object()?;
    while let Some(name) = scanner.next_name(&mut root)? {
        if let Some(id) = seen.add_name(name, support) {
            return Ok(Some(id));
        }
        if seen.first_names.len() < MAX_SHOWN_NAMES {
            seen.first_names.push(Shown::new(&name.string().unwrap_or_default()).to_string());
        }
        let value = scanner.value()?;
        if let Some(id) = seen.add_value(name, value, support) {
            return Ok(Some(id));
        }
    }
    scanner.finish()?;
    Ok(seen.complete_match(support))
}

#[cfg(test)]
mod tests;
