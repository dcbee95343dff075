//! Faults and warnings of a replay, bounded whatever the file holds.

use std::collections::{BTreeMap, BTreeSet};

use super::CHECKS;
use super::code::{FaultCode, Warning};
use crate::capped::Capped;
use crate::{Report, ReportDetails};

/// Faults and warnings so far.
#[derive(Default)]
pub(super) struct ReplayFindings {
    /// Texts of the faults by code.
    faults: BTreeMap<FaultCode, Capped<String>>,
    /// First line and number of lines of each warning.
    warnings: BTreeMap<Warning, (u64, u64)>,
}

impl ReplayFindings {
    /// Adds a fault of the file as a whole, or of its receipt.
    pub(super) fn push(&mut self, code: FaultCode, text: impl core::fmt::Display) {
        self.faults.entry(code).or_default().push(text.to_string());
    }

    /// Adds a fault of a line. Lines are counted from 1.
    pub(super) fn push_at_line(&mut self, line: u64, code: FaultCode, text: impl core::fmt::Display) {
        self.push(code, format_args!("line {line}: {text}"));
    }

    /// Adds a warning for a line.
    pub(super) fn warn(&mut self, line: u64, warning: Warning) {
        self.warnings.entry(warning).or_insert((line, 0)).1 += 1;
    }

    /// Returns true if there is a fault with this code.
    pub(super) fn has_fault(&self, code: FaultCode) -> bool {
        self.faults.contains_key(&code)
    }

    /// Returns true if there is such a warning.
    pub(super) fn has_warned(&self, warning: Warning) -> bool {
        self.warnings.contains_key(&warning)
    }

    /// Writes everything into a report: reasons, codes, warnings and notes.
    pub(super) fn write_to(&self, report: &mut Report) {
        for (code, texts) in &self.faults {
            for line in texts.lines(String::clone) {
                report.fail(code.check(), format_args!("{}: {line}", code.name()));
            }
        }
        let codes: BTreeSet<&'static str> = self.faults.keys().map(|code| code.name()).collect();
        let mut warnings: Vec<&'static str> = Vec::new();
        for (warning, (line, count)) in &self.warnings {
            let more = match count - 1 {
                0 => String::new(),
                1 => " (and 1 more line)".into(),
                more => format!(" (and {more} more lines)"),
            };
            report.notes.push(format!("{}: line {line} {}{more}", warning.name(), warning.text()));
            warnings.push(warning.name());
        }
        warnings.sort_unstable();
        report.details = ReportDetails::ReplayJsonl { codes: codes.into_iter().collect(), warnings };
        debug_assert!(self.faults.keys().all(|code| CHECKS.contains(&code.check())));
    }
}
