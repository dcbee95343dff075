//! What was found, check by check, bounded whatever the file holds.

use std::collections::{BTreeMap, BTreeSet};

use super::CHECKS;
use super::code::{Code, Warning};
use crate::Report;
use crate::capped::Capped;

/// Faults and warnings so far.
#[derive(Default)]
pub(super) struct Findings {
    faults: BTreeMap<Code, Capped<String>>,
    /// The first line of each, and how many lines there are.
    warnings: BTreeMap<Warning, (u64, u64)>,
}

impl Findings {
    /// A fault of the file as a whole, or of its receipt.
    pub(super) fn fault(&mut self, code: Code, text: impl core::fmt::Display) {
        self.faults.entry(code).or_default().push(text.to_string());
    }

    /// A fault of a line.
    pub(super) fn at(&mut self, line: u64, code: Code, text: impl core::fmt::Display) {
        self.fault(code, format_args!("line {line}: {text}"));
    }

    pub(super) fn warn(&mut self, line: u64, warning: Warning) {
        self.warnings.entry(warning).or_insert((line, 0)).1 += 1;
    }

    pub(super) fn has(&self, code: Code) -> bool {
        self.faults.contains_key(&code)
    }

    pub(super) fn has_warned(&self, warning: Warning) -> bool {
        self.warnings.contains_key(&warning)
    }

    /// Puts everything into a report.
    pub(super) fn write(&self, report: &mut Report) {
        for (code, texts) in &self.faults {
            for line in texts.lines(String::clone) {
                report.fail(code.check(), format_args!("{}: {line}", code.name()));
            }
        }
        let codes: BTreeSet<&'static str> = self.faults.keys().map(|code| code.name()).collect();
        report.codes = Some(codes.into_iter().collect());
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
        report.warnings = Some(warnings);
        debug_assert!(self.faults.keys().all(|code| CHECKS.iter().any(|(name, _)| *name == code.check())));
    }
}
