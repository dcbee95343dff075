//! Payloads of the beginning and the end of a run.

use super::payload;
use super::vocabulary::{AgentLogin, CaptureMode, EventSource, ForkMode, RunStatus};

/// Version of the payloads that this program writes, as `rer.run.started` states it. Payloads of a run that states none
/// are those of 0.1.0, and are read all the same.
pub const PAYLOADS_VERSION: u64 = 2;

payload! {
    /// Payload of `rer.run.started`.
    RunStarted, RunStartedView;
    /// Agent that was recognised by its command.
    agent: optional object(Agent),
    /// Way in which the agent's calls were captured; left out in an imported run.
    capture: optional word(CaptureMode),
    /// Command with its arguments, if a command was run.
    command: optional texts,
    /// Way in which the envelope is applied: `enforce`, `warn`, `observe` or `imported`.
    enforcement: required constant,
    /// SHA-256 of the envelope.
    envelope_hash: required digest,
    /// Machine on which the run began.
    environment: required object(Environment),
    /// Working folder at the start, if it is in a repository.
    files: optional object(WorkTree),
    /// Document that an imported run was made from.
    import: optional json,
    /// Settings that the recorder gave to the agent, and what each is for: a recorded agent may differ by them.
    observer: optional objects(ObserverEffect),
    /// Run that this one goes on from, if it does.
    parent: optional object(ParentRun),
    /// Version of the payloads of the run, see [`PAYLOADS_VERSION`]; left out by 0.1.0.
    payloads: optional whole,
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
    /// Working folder of the command.
    folder: optional text,
    /// Home folder of the user.
    home: optional text,
    /// Operating system.
    os: required constant,
    /// Version of reenact.
    reenact: required constant,
    /// Versions of language runtimes, by their names.
    runtimes: required text_map,
    /// Folder for temporary files.
    temp: optional text,
}

payload! {
    /// Member `agent` of the first event.
    Agent, AgentView in "agent.";
    /// Way in which the agent proves who its user is to the vendor.
    login: required word(AgentLogin),
    /// Name of the agent, such as `claude`.
    name: required text,
    /// Version of the agent, if it is known.
    version: optional text,
}

payload! {
    /// Element of the member `observer` of the first event.
    ObserverEffect, ObserverEffectView in "observer.";
    /// Variable, argument or setting that was given to the agent.
    set: required text,
    /// Reason for it, and what it changes.
    why: required text,
}

payload! {
    /// Member `parent` of the first event: the run whose recorded answers this one was given, and how far.
    ParentRun, ParentRunView in "parent.";
    /// Digest of the signed content of the parent's record, which is the same for every copy of it; left out if its format has none.
    digest: optional digest,
    /// Way in which the run goes on.
    mode: required word(ForkMode),
    /// Id of the parent.
    run_id: required text,
    /// Step of the parent behind which it need not be followed: with `from` the last one that may be answered from its record, with
    /// `edit` the first one whose answer was replaced, with `live` its last one.
    step_id: required text,
}

payload! {
    /// Member `files` of the first event: the repository that the working folder is in.
    WorkTree, WorkTreeView in "files.";
    /// True if no tracked file differs from the commit, and no file is there that is neither tracked nor ignored; left
    /// out if that could not be seen.
    clean: optional flag,
    /// Commit that is checked out, in hexadecimal; left out before the first commit.
    commit: optional text,
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
    /// Files of the working folder that changed during the run; left out if the folder was not looked through.
    files: optional object(FileChanges),
    /// Cause of the end, such as `exit` or `signal 9`.
    reason: required text,
    /// Origin of the event.
    source: required word(EventSource),
    /// True if more may have been spent: some model call has no price, or only an estimate. Left out otherwise.
    spend_partial: optional flag,
    /// Outcome of the run.
    status: required word(RunStatus),
    /// SHA-256 of the command's standard output, if that was no terminal.
    stdout_sha256: optional digest,
    /// Number of requests to models.
    total_model_calls: required whole,
    /// Sum of what was spent; `null` if it was not counted, which is not the same as zero.
    total_spend_usd: nullable money,
    /// Number of calls of tools.
    total_tool_calls: required whole,
}

payload! {
    /// Member `files` of the last event. Paths are relative to the working folder, with `/` between names, and sorted.
    FileChanges, FileChangesView in "files.";
    /// Files that are new, each with its SHA-256.
    added: required hashed_files,
    /// Files with other content, each with the SHA-256 of what is in it now.
    changed: required hashed_files,
    /// Number of changes that are not listed, if there are any.
    more: optional whole,
    /// Files that are gone.
    removed: required texts,
}
