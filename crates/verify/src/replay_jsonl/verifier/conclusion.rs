//! The end of a replay: the checks that need the whole file, the void checks, the notes and the
//! verdict.

use reenact_json::Digest;

use super::super::code::FaultCode;
use super::super::{CHECKS, HASHES, HEADER, LIFECYCLE, PAIRING, RECEIPT, TOTALS};
use super::ReplayVerifier;
use crate::Report;

impl ReplayVerifier<'_> {
    /// Finishes the verification. `digest` is that of the file, if it was asked for.
    pub(super) fn into_report(mut self, digest: Option<Digest>) -> Report {
        let format =
            self.version.map_or("replay-jsonl/?".into(), |version| format!("replay-jsonl/{version}"));
        let mut report = Report::new(format, &CHECKS);
        if self.events == 0 && self.nonblank_lines > 0 {
            self.findings.write_to(&mut report);
            for check in [HEADER, LIFECYCLE, PAIRING, HASHES, TOTALS] {
                report.fail(check, "not evaluated: no line is an event");
            }
            match self.replay_options.receipt {
                Some(_) => report.fail(RECEIPT, "not evaluated: no line is an event"),
                None => report.mark_void(RECEIPT),
            }
        } else {
            self.check_at_end();
            if let Some(against) = &mut self.receipt {
                against.check_at_end(&self.totals, digest, &mut self.findings);
            }
            self.findings.write_to(&mut report);
            self.mark_void_checks(&mut report);
        }
        self.add_notes(&mut report);
        if self.replay_options.digest {
            report.digests.extend(digest.map(|digest| ("file", format!("sha256:{digest}"))));
        }
        report.sort_reasons();
        report.summary = self.summary(&report);
        report.bounded()
    }

    /// Checks everything that is known only at the end of the file.
    fn check_at_end(&mut self) {
        if self.nonblank_lines == 0 {
            self.findings.push(FaultCode::HeaderNotFirst, "there is no line");
        }
        if self.session_starts == 0 {
            self.findings.push(FaultCode::NoSessionStart, "there is no SessionStart");
        }
        for line in self.pairs.unanswered() {
            self.findings.push_at_line(
                u64::from(line),
                FaultCode::CallWithoutResult,
                "this call has no result",
            );
        }
        let Some(end) = &self.session_end_totals else {
            return self.findings.push(
                FaultCode::NoSessionEnd,
                "there is no SessionEnd: the session was cut off, or its end was taken away",
            );
        };
        let (calls, latency) = (self.totals.tool_calls, self.totals.total_latency_ms());
        if end.tool_calls.is_some_and(|total| total != calls) {
            let total = end.tool_calls.unwrap_or_default();
            let text = format!("total_tool_calls is {total}, counted {calls}");
            self.findings.push(FaultCode::TotalToolCalls, text);
        }
        if end.latency_ms.is_some() && end.latency_ms != latency {
            let sum = latency.map_or("more than 64 bits hold".into(), |sum| sum.to_string());
            let total = end.latency_ms.unwrap_or_default();
            self.findings
                .push(FaultCode::TotalLatency, format!("total_latency_ms is {total}, the sum is {sum}"));
        }
    }

    /// Marks the checks that had nothing to check.
    fn mark_void_checks(&self, report: &mut Report) {
        if self.pairs.is_empty() {
            report.mark_void(PAIRING);
        }
        if self.hashes_checked == 0 {
            report.mark_void(HASHES);
        }
        if self.session_end_totals.is_none() {
            report.mark_void(TOTALS);
        }
        if self.replay_options.receipt.is_none() {
            report.mark_void(RECEIPT);
        }
    }

    /// Adds the notes: unknown events and members, calls without params, and those of the receipt.
    fn add_notes(&self, report: &mut Report) {
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
        if self.calls_without_params > 0 {
            let count = plural(self.calls_without_params, "call carries no params", "calls carry no params");
            report.notes.push(format!("{count}: what was hashed cannot be checked"));
        }
        if let Some(against) = &self.receipt {
            report.notes.extend(against.notes().iter().cloned());
        }
        report.withheld = usize::try_from(self.calls_without_params).unwrap_or(usize::MAX);
    }

    /// Returns the last line of the report, for people.
    fn summary(&self, report: &Report) -> String {
        if let Some(failure) = report.failure_summary() {
            return failure;
        }
        let calls = match self.totals.tool_calls {
            1 => "1 tool call".into(),
            count => format!("{count} tool calls"),
        };
        let latency = self.totals.latency_text(|total| format!("{total} ms"));
        let utility = self.totals.utility_text();
        let receipt = if self.replay_options.receipt.is_some() {
            "the replay and its receipt agree"
        } else {
            "the replay is consistent; no receipt was given"
        };
        format!("{receipt}; nothing here is signed ({calls}, {latency}, {utility})")
    }
}
