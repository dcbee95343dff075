//! An artifact of which every check holds.

use reenact_formats::rer::{ArtifactReader, Head, Item};
use reenact_json::Limits;

use super::Survey;
use crate::{Keys, Options, Report, Verified};

/// An artifact's members over its bytes.
#[derive(Debug)]
pub struct Artifact<'a> {
    bytes: &'a [u8],
    limits: Limits,
    head: Head<'a>,
}

impl<'a> Artifact<'a> {
    /// The members beside the events.
    pub fn head(&self) -> &Head<'a> {
        &self.head
    }

    /// The events, in order, read from the very bytes that were verified.
    pub fn events(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let mut reader = ArtifactReader::open(self.bytes, &self.limits).ok();
        core::iter::from_fn(move || reader.as_mut()?.next_event().ok().flatten())
    }
}

/// Judges an RER artifact; gives the artifact only if every check holds.
pub fn strict<'a>(
    bytes: &'a [u8],
    keys: &Keys,
    options: &Options,
) -> Result<Verified<Artifact<'a>>, Box<Report>> {
    let refused = |head: &Head<'_>, error| Box::new(super::unreadable(bytes, head, &error));
    let mut survey = Survey::open(bytes, options).map_err(|error| refused(&Head::default(), error))?;
    let findings = match super::in_order(&mut survey) {
        Ok(findings) => findings,
        Err(error) => return Err(refused(survey.head(), error.into())),
    };
    let inner = Artifact { bytes, limits: options.limits, head: survey.head().clone() };
    let report = survey.conclude(findings, keys);
    Verified::if_passed(inner, report)
}
