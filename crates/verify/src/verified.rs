//! [`Verified`]: a value that only a passed verification can create.
//!
//! Code that needs a checked artifact takes a `Verified<T>` parameter. The type system then proves that
//! no path leads around the verifier.

use core::fmt;
use core::ops::Deref;

use crate::Report;

/// Proof that every check of `T` ran and held.
///
/// Created only by the `verify_or_err` functions of the formats. It dereferences to the value, and
/// keeps the [`Report`] on which it is based.
#[derive(Debug)]
pub struct Verified<T> {
    /// The verified value.
    inner: T,
    /// Report that passes.
    report: Report,
}

impl<T> Verified<T> {
    /// Wraps `inner` if its report passes.
    ///
    /// # Errors
    /// Returns [`NotVerified`] if any check fails.
    pub(crate) fn if_pass(inner: T, report: Report) -> Result<Self, NotVerified> {
        if report.pass() { Ok(Self { inner, report }) } else { Err(NotVerified::from(report)) }
    }

    /// Returns the report, all checks of which hold or had nothing to check.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Unwraps the value. The proof is lost: nothing tells the result from an unchecked value.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

/// Error of the `verify_or_err` functions: at least one check fails. Its text names the format and the checks; the [`Report`] has
/// the reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotVerified {
    /// Report with the failed checks. Boxed, because errors travel by value.
    report: Box<Report>,
}

impl NotVerified {
    /// Returns the report.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Unwraps the report.
    pub fn into_report(self) -> Report {
        *self.report
    }
}

impl From<Report> for NotVerified {
    fn from(report: Report) -> Self {
        Self { report: Box::new(report) }
    }
}

impl fmt::Display for NotVerified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.report.format, self.report.summary)
    }
}

impl core::error::Error for NotVerified {}

impl<T> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}
