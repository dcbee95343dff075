//! The table of conversion: how each format becomes RER, comes back from there, and is written.

use reenact_formats::FormatId;

use super::artifact_builder::ImportContext;
use super::error::ConvertError;
use super::export::{self, ExportContext};
use super::foreign;
use super::import;
use super::loss::Losses;
use super::source::{ImportSource, RecordFile};
use crate::run::Run;

/// Writes a run as files, the main one first; what has no place there is noted.
type ExportFn = fn(&Run, &ExportContext<'_>, &mut Losses) -> Result<Vec<RecordFile>, ConvertError>;

/// A document, and its format.
pub(super) type FormatDocument = (FormatId, Vec<u8>);

/// How one format is converted.
pub(super) struct ConversionRoute {
    id: FormatId,
    /// Seals a record as an RER artifact.
    pub(super) import: fn(&ImportSource<'_>, &mut ImportContext<'_>) -> Result<Vec<u8>, ConvertError>,
    /// How its items lie, to put them back.
    pub(super) items: ItemLayout,
    /// Writes a run; `None` of formats that are never written.
    pub(super) export: Option<ExportFn>,
    /// Shows a record as a run of another format; `None` of formats that are read everywhere.
    pub(super) view: Option<ForeignView>,
}

/// How the items of a format lie in its main file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemLayout {
    /// Files beside the manifest, each as it was.
    Files,
    /// Lines.
    Lines,
    /// Interactions, each in two halves, in a list.
    InteractionHalves,
    /// A list of JSON values at a path.
    List(&'static [&'static str]),
}

/// How a record that only conversion knows is shown as a run.
#[derive(Clone, Copy)]
pub(super) struct ForeignView {
    /// Writes it as a document of another format, as far as a target can hold it.
    pub(super) write: fn(&[u8], FormatId, &mut Losses) -> Result<FormatDocument, ConvertError>,
    /// Where its items lie, and how many events of the view each is; `None` if its places are those of the view.
    pub(super) items: Option<(&'static str, usize)>,
}

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

/// The route of a format. RER has none: it is what others become.
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
