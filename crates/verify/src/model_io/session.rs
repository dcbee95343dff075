//! A session that only a check can make.

use reenact_formats::model_io::{Head, InteractionView};
use reenact_json::Digest;

use super::{Survey, in_order, judge};
use crate::{Options, Report, Verified};

/// A session's members over its bytes.
#[derive(Debug)]
pub struct Session<'a> {
    head: Head<'a>,
    interactions: Vec<InteractionView<'a>>,
    model_io_hash: Digest,
}

impl<'a> Session<'a> {
    /// The members beside the interactions.
    pub fn head(&self) -> &Head<'a> {
        &self.head
    }

    /// The interactions, in order.
    pub fn interactions(&self) -> &[InteractionView<'a>] {
        &self.interactions
    }

    /// The hash of the session, by which a run names it.
    pub fn model_io_hash(&self) -> &Digest {
        &self.model_io_hash
    }
}

/// Judges bytes that should be a session; gives the session only if every check holds.
pub fn strict<'a>(bytes: &'a [u8], options: &Options) -> Result<Verified<Session<'a>>, Box<Report>> {
    let mut survey =
        Survey::read(bytes, options).map_err(|error| Box::new(judge::unreadable(bytes, &error)))?;
    let findings = in_order(&survey.jobs());
    let (head, interactions) = (survey.head, core::mem::take(&mut survey.interactions));
    let model_io_hash = findings.iter().find_map(|finding| finding.core.as_ref()?.as_ref().ok().copied());
    let report = survey.conclude(findings);
    match model_io_hash {
        Some(model_io_hash) => Verified::if_passed(Session { head, interactions, model_io_hash }, report),
        None => Err(Box::new(report)),
    }
}
