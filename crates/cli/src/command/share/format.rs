//! What a run can be shared as: the values of `--as`.

use std::ffi::OsStr;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, ValueEnum};
use reenact_formats::FormatId;

/// Names of all forms, for the usage: a complaint that none was given then says which there are.
pub(super) const NAMES: &str = "rer|replay|rpk|model-io|replay-jsonl";

/// Form of the file or the folder that is made of a run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ShareFormat {
    /// The proof: an RER bundle of the record, its key and its files. Signed, by the key of the run
    Rer,
    /// What a replay needs: a Replay Bundle. Not signed
    Replay,
    /// An .rpk artifact. Signed with --sign, by a key that you share with its readers
    Rpk,
    /// A Model IO session. Not signed
    ModelIo,
    /// REPLAY.jsonl with its receipt and summary, in a folder. Not signed
    ReplayJsonl,
}

impl ShareFormat {
    /// Returns the format that is written, and the suffix of its default name.
    pub(super) fn target(self) -> (FormatId, &'static str) {
        match self {
            Self::Rer => (FormatId::RerBundle, ".rer.tar.gz"),
            Self::Replay => (FormatId::ReplayBundle, ".tar.gz"),
            Self::Rpk => (FormatId::Rpk, ".rpk"),
            Self::ModelIo => (FormatId::ModelIo, ".model_io.json"),
            Self::ReplayJsonl => (FormatId::ReplayJsonl, ".replay"),
        }
    }
}

/// Parser of `--as`, which says of a page for people that it cannot be made yet.
#[derive(Clone)]
pub(super) struct ShareFormatParser;

impl TypedValueParser for ShareFormatParser {
    type Value = ShareFormat;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<ShareFormat, clap::Error> {
        let parser = EnumValueParser::<ShareFormat>::new();
        parser.parse_ref(command, arg, value).map_err(|mut error| {
            if value == "html" {
                error.remove(ContextKind::SuggestedValue);
                let tip = "a page for people cannot be made yet; `reenact show` prints one on the terminal";
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(ShareFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_names_every_form() {
        let names = ShareFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
        assert_eq!(names.join("|"), NAMES);
    }
}
