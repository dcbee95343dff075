//! Values that only a check can make.

use core::ops::Deref;

use crate::Report;

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
