//! Recognition: which format content is of. Content decides, never a file's name.
//!
//! One look over the outermost members serves all rows of the table, and goes only as far as it takes.

use reenact_json::{Kind, Limits, Scanner, Shown, SyntaxError, Value};

use crate::format::{FORMATS, FormatId, Signs, Support};

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
    /// A format that this build, or any verifier, does not judge. Holds its name.
    #[error("it is of the format {0}, which is not judged here")]
    NotJudged(&'static str),
    /// An object whose members say nothing that we know. Holds its first names.
    #[error("it is a JSON object, but not of a known format{0}")]
    OtherObject(String),
}

/// The verified format of a text, which may be torn: the checks of its format say better what is wrong with it.
pub fn recognise(text: &[u8], limits: &Limits) -> Result<FormatId, Unrecognised> {
    let mut seen = Seen::default();
    match look(text, limits, Support::Full, &mut seen) {
        Ok(Some(id)) => Ok(id),
        looked => match (by_lines(text, Support::Full), looked) {
            (Some(id), _) => Ok(id),
            (None, Ok(_)) => Err(match seen.kind {
                Some(kind) => Unrecognised::OtherKind(kind),
                None if seen.names.is_empty() => Unrecognised::OtherObject(String::new()),
                None => Unrecognised::OtherObject(format!(" (its members: {})", seen.names.join(", "))),
            }),
            (None, Err(_)) if text.is_empty() => Err(Unrecognised::Empty),
            (None, Err(error)) => Err(Unrecognised::NotJson(error.describe(text))),
        },
    }
}

/// The format of a text that conversion alone reads; `None` of all others, and of what is torn.
pub fn recognise_import(text: &[u8], limits: &Limits) -> Option<FormatId> {
    by_lines(text, Support::ImportOnly)
        .or_else(|| look(text, limits, Support::ImportOnly, &mut Seen::default()).ok().flatten())
}

/// The format of a text by its first lines.
pub fn by_lines(text: &[u8], support: Support) -> Option<FormatId> {
    let is_it = |signs: &Signs| matches!(signs, Signs::Lines(is_it) if is_it(text));
    FORMATS.iter().find(|row| row.support == support && is_it(&row.signs)).map(|row| row.id)
}

/// The bundle that a manifest is of, by its first member that tells; it may be torn.
pub fn recognise_manifest(manifest: &[u8]) -> Option<FormatId> {
    fn look(manifest: &[u8]) -> Result<Option<FormatId>, SyntaxError> {
        let mut scanner = Scanner::new(manifest, &Limits::default())?;
        if scanner.kind()? != Kind::Object {
            return Ok(None);
        }
        let mut root = scanner.enter_object()?;
        while let Some(name) = scanner.next_name(&mut root)? {
            let is_own = |known: &&str| name.is_string(known);
            let row = FORMATS
                .iter()
                .find(|row| row.folder.is_some_and(|folder| folder.manifest_names.iter().any(is_own)));
            if let Some(row) = row {
                return Ok(Some(row.id));
            }
            scanner.value()?;
        }
        Ok(None)
    }
    look(manifest).ok().flatten()
}

/// How many names are kept for a message.
const SHOWN_NAMES: usize = 5;

/// What a look has seen so far.
#[derive(Default)]
struct Seen {
    /// For each row, the sum of the weights, or the number of members that are there and of their kind.
    sums: [usize; FORMATS.len()],
    /// Kind of the document, if it is no object.
    kind: Option<&'static str>,
    names: Vec<String>,
}

impl Seen {
    /// Counts a name; returns a format that needs no more.
    fn name(&mut self, name: Value<'_>, support: Support) -> Option<FormatId> {
        for (row, sum) in FORMATS.iter().zip(&mut self.sums).filter(|(row, _)| row.support == support) {
            if let Signs::Members { names, enough, .. } = row.signs {
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

    /// Counts a value; returns a format that needs no more.
    fn value(&mut self, name: Value<'_>, value: Value<'_>, support: Support) -> Option<FormatId> {
        for (row, sum) in FORMATS.iter().zip(&mut self.sums).filter(|(row, _)| row.support == support) {
            match row.signs {
                Signs::Members { prefixes, enough, .. } => {
                    let begins = |prefix: &str| value.string().is_some_and(|text| text.starts_with(prefix));
                    *sum += prefixes
                        .iter()
                        .filter(|(known, prefix)| name.is_string(known) && begins(prefix))
                        .count();
                    if *sum >= enough {
                        return Some(row.id);
                    }
                }
                Signs::Whole(members) => {
                    let is_it =
                        |(known, kind): &&(&str, Kind)| name.is_string(known) && value.kind() == *kind;
                    *sum += members.iter().filter(is_it).count();
                }
                Signs::Lines(_) | Signs::Files => {}
            }
        }
        None
    }

    /// The format of an object that was read to its end.
    fn whole(&self, support: Support) -> Option<FormatId> {
        let is_it =
            |signs: &Signs, sum: usize| matches!(signs, Signs::Whole(members) if members.len() == sum);
        let mut rows = FORMATS.iter().zip(self.sums);
        rows.find(|(row, sum)| row.support == support && is_it(&row.signs, *sum)).map(|(row, _)| row.id)
    }
}

fn look(
    text: &[u8],
    limits: &Limits,
    support: Support,
    seen: &mut Seen,
) -> Result<Option<FormatId>, SyntaxError> {
    let mut scanner = Scanner::new(text, limits)?;
    let kind = scanner.kind()?;
    if kind != Kind::Object {
        scanner.value()?;
        scanner.finish()?;
        seen.kind = Some(kind.name());
        return Ok(None);
    }
    let mut root = scanner.enter_object()?;
    while let Some(name) = scanner.next_name(&mut root)? {
        if let Some(id) = seen.name(name, support) {
            return Ok(Some(id));
        }
        if seen.names.len() < SHOWN_NAMES {
            seen.names.push(Shown::new(&name.string().unwrap_or_default()).to_string());
        }
        let value = scanner.value()?;
        if let Some(id) = seen.value(name, value, support) {
            return Ok(Some(id));
        }
    }
    scanner.finish()?;
    Ok(seen.whole(support))
}

#[cfg(test)]
mod tests;
