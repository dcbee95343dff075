//! Import of Replay Bundles: each file is an event, with its bytes as they are.
//!
//! The payload of a file, without its salt; bytes that are no UTF-8 have `base64` in place of `text`:
//!
//! ```json
//! {"import":{"body":{"text":"…"},"name":"files/trace.jsonl"},"source":"imported"}
//! ```

use reenact_json::Limits;
use reenact_json::Value;

use super::{import_member, string_member, write_body, write_file};
use crate::convert::artifact_builder::{CommonMembers, ImportContext, ImportedArtifactBuilder};
use crate::convert::error::ConvertError;
use crate::convert::source::ImportSource;

/// Event type of a file of a bundle.
pub(crate) const BUNDLE_MEMBER: &str = "reenact.replay_bundle.member";

/// Imports the files of a bundle. The manifest lies in the first event.
pub(in crate::convert) fn import(
    source: &ImportSource<'_>,
    context: &mut ImportContext<'_>,
) -> Result<Vec<u8>, ConvertError> {
    let mut document = Vec::new();
    write_body(source.main_file, &mut document);
    let manifest = Value::parse(source.main_file, &Limits::default()).ok();
    let created_at = manifest.and_then(|manifest| string_member(manifest, "created_at"));
    let mut builder =
        ImportedArtifactBuilder::begin(context, created_at.as_deref(), &import_member(source, &document))?;
    let mut item = Vec::new();
    for file in source.other_files {
        item.clear();
        write_file(file, &mut item);
        builder.append_item(BUNDLE_MEMBER, None, &item, CommonMembers::default())?;
    }
    builder.seal(None)
}
