//! Checks: the statements about a record that its verifier tests, and whether each holds.
//!
//! Each format's module defines its checks as [`CheckId`] constants and lists them in `CHECKS`, in the order of its specification.
//! A report then has one [`Check`] for each. Names are fixed: programs branch on them.

use core::fmt;

/// Identity of one check: its name in reports, and the statement that it makes.
///
/// The constants are in the modules of the formats, such as [`rer::EVENT_CHAIN`](crate::rer::EVENT_CHAIN). Ids are ordered by
/// name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CheckId {
    name: &'static str,
    statement: &'static str,
}

impl CheckId {
    /// Creates an id. Names are lower case with underscores, except where a format's document names its rules otherwise.
    pub(crate) const fn new(name: &'static str, statement: &'static str) -> Self {
        Self { name, statement }
    }

    /// Returns the name, as reports and exit messages spell it.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns the statement that holds if the check does, such as "the log ends with the event that the header names".
    pub const fn statement(self) -> &'static str {
        self.statement
    }
}

/// Compares the name, for names that come from outside, such as from a report in JSON.
impl PartialEq<&str> for CheckId {
    fn eq(&self, name: &&str) -> bool {
        self.name == *name
    }
}

impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// Answer to one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// Check that was asked.
    pub id: CheckId,
    /// True if the check holds, false if it fails, `None` if there was nothing to check.
    pub holds: Option<bool>,
}

impl Check {
    /// Returns the answer before anything was found: the check holds.
    pub(crate) const fn holding(id: CheckId) -> Self {
        Self { id, holds: Some(true) }
    }

    /// Returns true if the check fails. A check that had nothing to check does not.
    pub fn has_failed(&self) -> bool {
        self.holds == Some(false)
    }
}
