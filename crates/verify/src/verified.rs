//! Values that only a check can make.

use core::ops::Deref;

use reenact_formats::rer::{ArtifactReader, Head, Item};
use reenact_json::Limits;

use crate::rer::{self, Survey};
use crate::{Keys, Options, Report};

/// Proof that a check ran and held. There is no other way to make one.
#[derive(Debug)]
pub struct Verified<T> {
    inner: T,
    report: Report,
}

impl<T> Verified<T> {
    /// The value, if its report says that every check holds.
    pub(crate) fn if_passed(inner: T, report: Report) -> Result<Self, Box<Report>> {
        if report.pass() { Ok(Self { inner, report }) } else { Err(Box::new(report)) }
    }

    /// The report that says so.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The value, which from here on is as good as anything.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

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

pub(crate) fn artifact<'a>(
    bytes: &'a [u8],
    keys: &Keys,
    options: &Options,
) -> Result<Verified<Artifact<'a>>, Box<Report>> {
    let refused = |head: &Head<'_>, error| Box::new(rer::unreadable(bytes, head, &error));
    let mut survey = Survey::open(bytes, options).map_err(|error| refused(&Head::default(), error))?;
    let findings = match rer::in_order(&mut survey) {
        Ok(findings) => findings,
        Err(error) => return Err(refused(survey.head(), error.into())),
    };
    let inner = Artifact { bytes, limits: options.limits, head: survey.head().clone() };
    let report = survey.conclude(findings, keys);
    Verified::if_passed(inner, report)
}
