//! Replay Bundle → RER: each member is an event, with its bytes as they are.

use reenact_json::Limits;
use reenact_json::Value;

use super::{origin, word, write_body, write_file};
use crate::convert::fault::ConvertError;
use crate::convert::sealing::{Sealing, Tape, Words};
use crate::convert::source::Source;

/// A member of a bundle.
pub(crate) const MEMBER: &str = "reenact.replay_bundle.member";

pub(in crate::convert) fn import(
    source: &Source<'_>,
    sealing: &mut Sealing<'_>,
) -> Result<Vec<u8>, ConvertError> {
    let mut document = Vec::new();
    write_body(source.main, &mut document);
    let manifest = Value::parse(source.main, &Limits::default()).ok();
    let created_at = manifest.and_then(|manifest| word(manifest, "created_at"));
    let mut tape = Tape::begin(sealing, created_at.as_deref(), &origin(source, &document))?;
    let mut item = Vec::new();
    for file in source.beside {
        item.clear();
        write_file(file, &mut item);
        tape.item(MEMBER, None, &item, Words::default())?;
    }
    tape.end(None)
}
