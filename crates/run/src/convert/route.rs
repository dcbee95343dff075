//! Table of conversions: how each format is imported into RER, restored from there, and exported.
//!
//! A new format is one row in [`ROUTES`]; no other part of conversion lists all formats.

use reenact_formats::FormatId;

use super::artifact_builder::ImportContext;
use super::error::ConvertError;
use super::export::{self, ExportContext};
use super::foreign;
use super::import;
use super::loss::Losses;
use super::source::{ImportSource, RecordFile};
use crate::run::Run;

/// Function that writes a run as files, the main file first, and adds what has no place there to the losses.
type ExportFn = fn(&Run, &ExportContext<'_>, &mut Losses) -> Result<Vec<RecordFile>, ConvertError>;

/// Document and its format.
pub(super) type FormatDocument = (FormatId, Vec<u8>);

/// Conversions of one format.
pub(super) struct ConversionRoute {
    id: FormatId,
    /// Imports a record: seals it as an RER artifact.
    pub(super) import: fn(&ImportSource<'_>, &mut ImportContext<'_>) -> Result<Vec<u8>, ConvertError>,
    /// Layout of the items in the format's main file, by which they are restored.
    pub(super) items: ItemLayout,
    /// Exports a run; `None` for formats that are never written.
    pub(super) export: Option<ExportFn>,
    /// View of a record as a run of another format; `None` for formats that have a reader.
    pub(super) view: Option<ForeignView>,
}

/// Layout of a format's items in its main file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemLayout {
    /// Files beside the manifest, each byte for byte.
    Files,
    /// Lines of JSON.
    Lines,
    /// List of interactions, each of which is split into a call and a return.
    InteractionHalves,
    /// List of JSON values at a path of member names.
    List(&'static [&'static str]),
}

/// View of a record of an import-only format as a run.
#[derive(Clone, Copy)]
pub(super) struct ForeignView {
    /// Writes the record as a document of another format, as far as a target format can hold it; the rest is
    /// added to the losses.
    pub(super) write: fn(&[u8], FormatId, &mut Losses) -> Result<FormatDocument, ConvertError>,
    /// Path of the record's items up to the index, and the number of events that each is in the view; `None` if
    /// paths in the view are those of the record.
    pub(super) items: Option<(&'static str, usize)>,
}

/// All formats but RER.
static ROUTES: [ConversionRoute; 7] = [
    ConversionRoute {
        id: FormatId::Rpk,
        import: import::rpk::import,
        items: ItemLayout::List(&["payload", "run", "steps"]),
        export: Some(export::rpk::write),
        view: None,
    },
    ConversionRoute {
        id: FormatId::ModelIo,
        import: import::model_io::import,
        items: ItemLayout::InteractionHalves,
        export: Some(export::model_io::write),
        view: None,
    },
    ConversionRoute {
        id: FormatId::ReplayJsonl,
        import: import::lines::import,
        items: ItemLayout::Lines,
        export: Some(export::replay_jsonl::write),
        view: None,
    },
    ConversionRoute {
        id: FormatId::ReplayBundle,
        import: import::replay_bundle::import,
        items: ItemLayout::Files,
        export: Some(export::replay_bundle::write),
        view: None,
    },
    ConversionRoute {
        id: FormatId::RecordingSession,
        import: import::model_io::import,
        items: ItemLayout::InteractionHalves,
        export: None,
        view: Some(ForeignView { write: foreign::recording_session, items: Some(("$.interactions[", 2)) }),
    },
    ConversionRoute {
        id: FormatId::SessionTimeline,
        import: import::timeline::import,
        items: ItemLayout::List(&["timeline"]),
        export: None,
        view: Some(ForeignView { write: foreign::session_timeline, items: Some(("$.timeline[", 1)) }),
    },
    ConversionRoute {
        id: FormatId::TypedReplay,
        import: import::lines::import,
        items: ItemLayout::Lines,
        export: None,
        view: Some(ForeignView { write: foreign::typed_replay, items: None }),
    },
];

/// Returns the route of a format.
///
/// # Errors
/// [`ConvertError::NotATarget`] for RER, which is what other formats are imported into.
pub(super) fn route(id: FormatId) -> Result<&'static ConversionRoute, ConvertError> {
    ROUTES.iter().find(|route| route.id == id).ok_or(ConvertError::NotATarget)
}

#[cfg(test)]
mod tests {
    use reenact_formats::FORMATS;
    use reenact_formats::format::Support;

    use super::*;

    #[test]
    fn every_format_but_rer_has_a_route() {
        let others = FORMATS.iter().filter(|row| row.dialect != FormatId::Rer);
        assert_eq!(others.clone().count(), ROUTES.len());
        for row in others {
            let route = route(row.id).unwrap_or_else(|_| panic!("{}", row.name));
            assert_eq!(route.export.is_some(), row.support == Support::Full, "{}", row.name);
            assert_eq!(route.view.is_some(), row.support == Support::ImportOnly, "{}", row.name);
        }
        assert!(route(FormatId::Rer).is_err() && route(FormatId::RerBundle).is_err());
    }
}
