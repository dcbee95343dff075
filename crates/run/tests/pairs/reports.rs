//! Exact texts of the lists of losses.

use super::sources::{Record, all, converted, rich_rer};
use reenact_formats::FormatId;

fn reported_losses(record: &Record, target: FormatId) -> Vec<String> {
    let converted = converted(record, target).unwrap();
    converted
        .losses
        .iter()
        .map(|loss| format!("{} ({}): {}", loss.pattern(), loss.count(), loss.reason))
        .collect()
}

#[test]
fn rer_to_rpk() {
    assert_eq!(
        reported_losses(&Record::File(rich_rer()), FormatId::Rpk),
        [
            "$.envelope (1): the format has no place for it",
            "$.runtime (1): the format has no place for it",
            "$.runtime_signature (1): it signs the source, not what is made of it",
            "$.events[0].payload.command (1): the format has no place for it",
            "$.events[0].payload.enforcement (1): the format has no place for it",
            "$.events[*] (2): the format has no place for plans and their steps",
            "$.events[3] (1): the format has no place for what was permitted",
            "$.events[6].payload.input.n (1): the format writes it in another way",
            "$.events[6].payload.input.path (1): the format writes it in another way",
            "$.events[9] (1): the format has no place for verifications",
            "$.events[10].payload.message (1): the format writes it in another way",
            "$.events[11] (1): the format has no place for files that were written",
            "$.events[12] (1): the format has no place for gaps in the capture",
            "$.events[16].payload.exit_code (1): the format has no place for it",
            "$.events[16].payload.reason (1): the format has no place for it",
            "$.events[16].payload.status (1): the format has no place for it",
        ]
    );
}

#[test]
fn rer_to_model_io() {
    assert_eq!(
        reported_losses(&Record::File(rich_rer()), FormatId::ModelIo),
        [
            "$.envelope (1): the format has no place for it",
            "$.runtime (1): the format has no place for it",
            "$.runtime_signature (1): it signs the source, not what is made of it",
            "$.events[0] (1): the format has no place for how a run began",
            "$.events[1] (1): the format has no place for prompts that were put together",
            "$.events[*] (2): the format has no place for plans and their steps",
            "$.events[3] (1): the format has no place for what was permitted",
            "$.events[*] (2): the format has no place for tools",
            "$.events[9] (1): the format has no place for verifications",
            "$.events[10] (1): the format has no place for errors",
            "$.events[11] (1): the format has no place for files that were written",
            "$.events[12] (1): the format has no place for gaps in the capture",
            "$.events[13] (1): the format has no place for the final output",
            "$.events[*] (2): the format has no place for other requests over HTTP",
            "$.events[16] (1): the format has no place for how a run ended",
            "$.events[4] (1): only the hash of the prompt is kept",
            "$.events[5] (1): only the text of the answer is kept, with its tokens and its time",
        ]
    );
}

#[test]
fn rer_to_replay() {
    assert_eq!(
        reported_losses(&Record::File(rich_rer()), FormatId::ReplayJsonl),
        [
            "$.envelope (1): the format has no place for it",
            "$.runtime (1): the format has no place for it",
            "$.runtime_signature (1): it signs the source, not what is made of it",
            "policy_version (1): the source names no policy of this format; \"unknown\" is written",
            "confidence (1): the source tells no confidence; 0 is written",
            "$.events[0].payload.command (1): the format has no place for it",
            "$.events[0].payload.enforcement (1): the format has no place for it",
            "$.events[0].payload.environment (1): the format has no place for it",
            "$.events[1] (1): the format has no place for prompts that were put together",
            "$.events[2].payload.steps (1): only the hash and the number of steps are kept",
            "$.events[3] (1): the format has no place for what was permitted",
            "$.events[*] (2): the format has no place for what models are asked and answer",
            "$.events[6].payload.via (1): the format has no place for it",
            "$.events[7].payload.output (1): only the hash of the output is kept",
            "$.events[10] (1): the format has no place for errors",
            "$.events[11] (1): the format has no place for files that were written",
            "$.events[12] (1): the format has no place for gaps in the capture",
            "$.events[13] (1): the format has no place for the final output",
            "$.events[*] (2): the format has no place for other requests over HTTP",
            "$.events[16].payload.exit_code (1): the format has no place for it",
            "$.events[16].payload.reason (1): the format has no place for it",
        ]
    );
}

#[test]
fn rer_to_bundle() {
    assert_eq!(
        reported_losses(&Record::File(rich_rer()), FormatId::ReplayBundle),
        [
            "$.envelope (1): only the hash that the run's first event names is kept",
            "$.runtime (1): the format has no place for it",
            "$.runtime_signature (1): it signs the source, not what is made of it",
            "$.events[0].payload.command (1): the format has no place for it",
            "$.events[0].payload.enforcement (1): the format has no place for it",
            "$.events[0].payload.environment (1): the format has no place for it",
            "$.events[1] (1): the format has no place for prompts that were put together",
            "$.events[*] (2): the format has no place for plans and their steps",
            "$.events[3] (1): the format has no place for what was permitted",
            "$.events[*] (2): the format has no place for tools",
            "$.events[9] (1): the format has no place for verifications",
            "$.events[10] (1): the format has no place for errors",
            "$.events[11] (1): the format has no place for files that were written",
            "$.events[12] (1): the format has no place for gaps in the capture",
            "$.events[13] (1): the format has no place for the final output",
            "$.events[16] (1): the format has no place for how a run ended",
            "$.events[4] (1): its words are kept, and where both sides are JSON its bodies; headers, times and the pieces of a stream are not",
            "$.events[14] (1): the format keeps only JSON of what is not a model's",
        ]
    );
}

/// Returns the test record of a format and name.
fn record(dialect: FormatId, name: &str) -> Record {
    all().into_iter().find(|(of, called, _)| (*of, *called) == (dialect, name)).unwrap().2
}

#[test]
fn others_to_others() {
    assert_eq!(
        reported_losses(&record(FormatId::ModelIo, "odd"), FormatId::Rpk),
        [
            "$.zz (1): the format has no place for it",
            "$.n (1): the format has no place for it",
            "$.mode (1): the format has no place for it",
            "$.stats (1): the format has no place for it",
            "$.interactions[0].extra (1): the format has no place for it",
            "$.interactions[1] (1): the format writes it in another way",
        ]
    );
    assert_eq!(
        reported_losses(&record(FormatId::ReplayJsonl, "example"), FormatId::ModelIo),
        [
            "RECEIPT.json (1): the format holds no other files",
            "$[0] (1): the format has no place for it",
            "$[1] (1): the format has no place for how a run began",
            "$[*] (2): the format has no place for tools",
            "$[4] (1): the format has no place for plans and their steps",
            "$[5] (1): the format has no place for verifications",
            "$[6] (1): the format has no place for how a run ended",
            "model_id (1): the source names no model; \"unknown\" is written",
        ]
    );
    assert_eq!(
        reported_losses(&record(FormatId::ReplayBundle, "odd"), FormatId::ReplayJsonl),
        [
            "cassettes/other.bin (1): the format holds no other files",
            "outputs/empty (1): the format holds no other files",
            "session_id (1): the source names no session; one is made up",
            "policy_version (1): the source names no policy of this format; \"unknown\" is written",
            "confidence (1): the source tells no confidence; 0 is written",
            "manifest.json (1): the format has no place for it",
            "trace[*] (2): the format has no place for what models are asked and answer",
            "trace[2] (1): the format has no place for it",
            "trace[3].t (1): the source tells no time; that of the event before is written",
            "trace[3].output (1): only the hash of the output is kept",
            "trace[3].step_utility (1): the source tells no utility; 0 is written",
            "trace[3].latency_ms (1): the source tells no latency; 0 is written",
            "cassettes/openai/judge/00.json (1): the format has no place for what models are asked and answer",
            "status (1): the source does not tell how it ended; Failed is written",
            "PlanStart (1): the source has no plan, so that there is no PlanStart",
        ]
    );
}
