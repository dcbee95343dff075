//! The verdict on a replay: what only its end tells, what had nothing to check, and all of it in words.

use reenact_json::Digest;

use super::super::code::Code;
use super::super::{CHECKS, HASHES, HEADER, LIFECYCLE, PAIRING, RECEIPT, TOTALS};
use super::Judge;
use crate::Report;

impl Judge<'_> {
    /// Closes the books. `digest` is that of the file, if it was asked for.
    pub(super) fn conclude(mut self, digest: Option<Digest>) -> Report {
        let format =
            self.version.map_or("replay-jsonl/?".into(), |version| format!("replay-jsonl/{version}"));
        let mut report = Report::new(format, &CHECKS);
        if self.events == 0 && self.written > 0 {
            self.findings.write(&mut report);
            for check in [HEADER, LIFECYCLE, PAIRING, HASHES, TOTALS] {
                report.fail(check, "not evaluated: no line is an event");
            }
            match self.beside.receipt {
                Some(_) => report.fail(RECEIPT, "not evaluated: no line is an event"),
                None => report.void(RECEIPT),
            }
        } else {
            self.close();
            if let Some(against) = &mut self.against {
                against.close(&self.figures, digest, &mut self.findings);
            }
            self.findings.write(&mut report);
            self.void(&mut report);
        }
        self.notes(&mut report);
        if self.beside.digest {
            report.digests.extend(digest.map(|digest| ("file", format!("sha256:{digest}"))));
        }
        report.sort_reasons();
        report.verdict = self.verdict(&report);
        report
    }

    /// What only the end of the file tells.
    fn close(&mut self) {
        if self.written == 0 {
            self.findings.fault(Code::HeaderNotFirst, "there is no line");
        }
        if self.starts == 0 {
            self.findings.fault(Code::NoSessionStart, "there is no SessionStart");
        }
        for line in self.pairs.unanswered() {
            self.findings.at(u64::from(line), Code::CallWithoutResult, "this call has no result");
        }
        let Some(end) = &self.end else {
            return self.findings.fault(
                Code::NoSessionEnd,
                "there is no SessionEnd: the session was cut off, or its end was taken away",
            );
        };
        let (calls, latency) = (self.figures.tool_calls, self.figures.total_latency_ms());
        if end.tool_calls.is_some_and(|total| total != calls) {
            let total = end.tool_calls.unwrap_or_default();
            let text = format!("total_tool_calls is {total}, counted {calls}");
            self.findings.fault(Code::TotalToolCalls, text);
        }
        if end.latency_ms.is_some() && end.latency_ms != latency {
            let sum = latency.map_or("more than 64 bits hold".into(), |sum| sum.to_string());
            let total = end.latency_ms.unwrap_or_default();
            self.findings.fault(Code::TotalLatency, format!("total_latency_ms is {total}, the sum is {sum}"));
        }
    }

    /// Checks that had nothing to check.
    fn void(&self, report: &mut Report) {
        if self.pairs.is_empty() {
            report.void(PAIRING);
        }
        if self.hashed == 0 {
            report.void(HASHES);
        }
        if self.end.is_none() {
            report.void(TOTALS);
        }
        if self.beside.receipt.is_none() {
            report.void(RECEIPT);
        }
    }

    fn notes(&self, report: &mut Report) {
        let plural = |count: u64, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            _ => format!("{count} {many}"),
        };
        if let Some(first) = &self.first_unknown {
            let count = plural(self.unknown_events, "event", "events");
            report.notes.push(format!("{count} of a kind that is not known here (first: {first})"));
        }
        if self.unknown_fields > 0 {
            let count = plural(self.unknown_fields, "member", "members");
            report.notes.push(format!("{count} of known events that the format does not define"));
        }
        if self.withheld > 0 {
            let count = plural(self.withheld, "call carries no params", "calls carry no params");
            report.notes.push(format!("{count}: what was hashed cannot be checked"));
        }
        if let Some(against) = &self.against {
            report.notes.extend(against.notes().iter().cloned());
        }
        report.withheld = usize::try_from(self.withheld).unwrap_or(usize::MAX);
    }

    fn verdict(&self, report: &Report) -> String {
        let failed: Vec<&str> = report.failed().collect();
        if !failed.is_empty() {
            let verb = if failed.len() == 1 { "does" } else { "do" };
            return format!(
                "{} of {} checks {verb} not hold: {}",
                failed.len(),
                CHECKS.len(),
                failed.join(", ")
            );
        }
        let calls = match self.figures.tool_calls {
            1 => "1 tool call".into(),
            count => format!("{count} tool calls"),
        };
        let latency = self.figures.total_latency_ms().unwrap_or(u64::MAX);
        let utility = match self.figures.average_step_utility() {
            Some(average) => format!("average utility {average:.3}"),
            None => "no utility".into(),
        };
        let receipt = if self.beside.receipt.is_some() {
            "the replay and its receipt agree"
        } else {
            "the replay is consistent; no receipt was given"
        };
        format!("{receipt}; nothing here is signed ({calls}, {latency} ms, {utility})")
    }
}
