//! Payloads of the beginning and the end of a run.

use super::payload;
use super::vocabulary::{EventSource, RunStatus};

payload! {
    /// Payload of `rer.run.started`.
    RunStarted, RunStartedView;
    /// Command with its arguments, if a command was run.
    command: optional texts,
    /// Way in which the envelope is applied: `enforce`, `warn`, `observe` or `imported`.
    enforcement: required constant,
    /// SHA-256 of the envelope.
    envelope_hash: required digest,
    /// Machine on which the run began.
    environment: required object(Environment),
    /// Document that an imported run was made from.
    import: optional json,
    /// Rules by which secrets were masked.
    redaction: required object(RedactionPack),
    /// Version of the recorder.
    runtime_version: required constant,
    /// Origin of the event.
    source: required word(EventSource),
}

payload! {
    /// Member `environment` of the first event.
    Environment, EnvironmentView in "environment.";
    /// Architecture of the machine.
    arch: required constant,
    /// Operating system.
    os: required constant,
    /// Version of reenact.
    reenact: required constant,
    /// Versions of language runtimes, by their names.
    runtimes: required text_map,
}

payload! {
    /// Member `redaction` of the first event.
    RedactionPack, RedactionPackView in "redaction.";
    /// SHA-256 of the rules.
    digest: required digest,
    /// Name of the rules.
    pack: required text,
}

payload! {
    /// Payload of `rer.run.ended`.
    RunEnded, RunEndedView;
    /// Exit code of the command, if it had one.
    exit_code: optional integer,
    /// Cause of the end, such as `exit` or `signal 9`.
    reason: required text,
    /// Origin of the event.
    source: required word(EventSource),
    /// True if more may have been spent: some model call has no price, or only an estimate. Left out otherwise.
    spend_partial: optional flag,
    /// Outcome of the run.
    status: required word(RunStatus),
    /// Number of requests to models.
    total_model_calls: required whole,
    /// Sum of what was spent; `null` if it was not counted, which is not the same as zero.
    total_spend_usd: nullable money,
    /// Number of calls of tools.
    total_tool_calls: required whole,
}
