//! Writer of a replay, line by line, and of its receipt.
//!
//! The result verifies: ids pair, totals and hashes are computed here, and values without a place in the format (NaN,
//! a result without a call) are refused before a byte of them is written. Each line is flushed; at the end of the
//! session the file is synced, and only then is there a receipt.
//!
//! No file is opened here. Open it with `create_new`, so that no replay is overwritten. Start reading at
//! [`ReplayJsonlWriter::start`].

use std::collections::BTreeMap;
use std::io::{self, Write};

use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Limits, SyntaxError, Value, canonical, print};

use super::canonical::ReplayJsonlForm;
use super::field::{PLACEHOLDER_MEMBERS, is_folder_name};
use super::lines::MAX_LINE_BYTES;
use super::{ReplayJsonlField, ReplayTotals, VERSION, hash};
use crate::rer::time;

/// Destination of a replay.
pub trait ReplayStore: Write {
    /// Returns once all written bytes would survive a loss of power.
    ///
    /// # Errors
    ///
    /// Any I/O error; the durability of earlier writes is then unknown.
    fn sync(&mut self) -> io::Result<()>;
}

impl ReplayStore for Vec<u8> {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReplayStore for std::fs::File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// Reason why a line was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayJsonlWriteError {
    /// The store failed. Its content is unknown from then on, so nothing more is written.
    #[error("the replay could not be written: {message}")]
    Io {
        /// Kind of the I/O error.
        kind: io::ErrorKind,
        /// Message of the I/O error.
        message: String,
    },
    /// An earlier line failed with [`ReplayJsonlWriteError::Io`].
    #[error("an earlier line could not be written")]
    Broken,
    /// A time that is not RFC 3339.
    #[error("{text} is not an RFC 3339 time")]
    Time {
        /// Text that was given, safe to print.
        text: String,
    },
    /// NaN, an infinity, or a number beyond the range of the member.
    #[error("{member} must be a number from {min} to {max}")]
    Number {
        /// Name of the member.
        member: &'static str,
        /// Least allowed number.
        min: i8,
        /// Greatest allowed number.
        max: i8,
    },
    /// A session id that cannot name a folder.
    #[error("the session id cannot be the name of a folder")]
    SessionId,
    /// Two calls with the same id.
    #[error("the id of this call was used before")]
    CallRepeated,
    /// A result without an open call of its id.
    #[error("no open call has the id of this result")]
    ResultWithoutCall,
    /// The session ends while calls have no result.
    #[error("{count} {} no result yet", if *count == 1 { "call has" } else { "calls have" })]
    OpenCalls {
        /// Number of open calls.
        count: usize,
    },
    /// The sum of all latencies would not fit into 64 bits.
    #[error("the total latency does not fit into 64 bits")]
    TotalLatency,
    /// Two lists that belong together differ in length.
    #[error("each command needs one exit code")]
    VerificationLengths,
    /// Params that are not JSON within the limits.
    #[error("params: {0}")]
    Params(#[from] SyntaxError),
    /// Params with a number that has no canonical text.
    #[error("params: {0}")]
    Canonical(#[from] CanonicalFault),
    /// A line that is longer than any reader accepts.
    #[error("the line has {bytes} bytes, more than {MAX_LINE_BYTES}")]
    TooLong {
        /// Length of the line, in bytes.
        bytes: usize,
    },
}

/// Outcome of a step. The variants' names are the words in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// The step succeeded.
    Success,
    /// The step failed.
    Failed,
    /// The step was not tried.
    Skipped,
    /// The step was given up after too many tries.
    MaxIterationsReached,
}

/// Outcome of a session. The variants' names are the words in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStatus {
    /// The session succeeded.
    Success,
    /// The session failed.
    Failed,
    /// Someone stopped the session.
    Cancelled,
    /// The session took too long.
    Timeout,
}

/// Members of the header and of the session's start.
#[derive(Debug, Clone, Copy)]
pub struct ReplayJsonlSession<'a> {
    /// Name and version of the program that writes, such as `reenact@0.1.0`.
    pub producer: &'a str,
    /// Id of the session; must be a valid folder name.
    pub session_id: &'a str,
    /// Number of the issue that the session works on.
    pub issue_number: Option<i64>,
    /// Policy in force; `unknown` where none is known.
    pub policy: &'a str,
    /// Start of the session (RFC 3339).
    pub started_at: &'a str,
}

/// Event between the start and the end of a session.
#[derive(Debug, Clone, Copy)]
pub enum ReplayJsonlEvent<'a> {
    /// A plan was made.
    PlanStart {
        /// Hash of the plan.
        plan_hash: Digest,
        /// Number of its steps.
        step_count: u64,
    },
    /// A tool is called.
    ToolCall {
        /// Id of the call, unique in the session.
        id: &'a str,
        /// Name of the tool.
        tool: &'a str,
        /// Parameters: any JSON text. Written whole, in canonical form, with their hash.
        params: &'a [u8],
        /// Step of the plan.
        step_id: &'a str,
    },
    /// A tool answered. The format requires a hash, a utility and a latency: of what is unknown (`None`) a placeholder is
    /// written, the hash of null or 0, and listed in an additional member `unknown`.
    ToolResult {
        /// Id of the call.
        id: &'a str,
        /// Hash of the whole output; see [`hash::digest`].
        output_hash: Option<Digest>,
        /// Exit code, if the tool is a command.
        exit_code: Option<i32>,
        /// Utility of the step, from -1 to 1.
        step_utility: Option<f32>,
        /// Duration of the call, in milliseconds.
        latency_ms: Option<u64>,
    },
    /// A step is done.
    StepComplete {
        /// Step of the plan.
        step_id: &'a str,
        /// Outcome of the step.
        status: StepStatus,
        /// Number of tries.
        iterations: u8,
    },
    /// Commands that check the work were run.
    Verification {
        /// Commands.
        commands: &'a [&'a str],
        /// Exit code of each command.
        exit_codes: &'a [i32],
        /// Change of the result; positive is better than before.
        verification_delta: i32,
    },
}

/// Tool call without its result.
struct PendingToolCall {
    tool: String,
    params_hash: Digest,
}

/// Writer of a replay.
pub struct ReplayJsonlWriter<W> {
    out: W,
    has_failed: bool,
    hasher: Hasher,
    file_hasher: Hasher,
    totals: ReplayTotals,
    /// Every id of a call; the value is `None` once the call is answered.
    calls: BTreeMap<String, Option<PendingToolCall>>,
    receipt: ReceiptParts,
}

/// Parts of the receipt, collected while events are written.
#[derive(Default)]
struct ReceiptParts {
    session: String,
    plan_hash: Option<Digest>,
    calls: Vec<String>,
    commands: Vec<String>,
    exit_codes: Vec<i32>,
    delta: i64,
}

impl<W: ReplayStore> ReplayJsonlWriter<W> {
    /// Begins a replay: writes its header and the start of the session.
    ///
    /// # Errors
    ///
    /// [`ReplayJsonlWriteError::Time`], [`ReplayJsonlWriteError::SessionId`], or an error of the store.
    pub fn start(out: W, session: &ReplayJsonlSession<'_>) -> Result<Self, ReplayJsonlWriteError> {
        let time = timestamp(session.started_at)?;
        if !is_folder_name(session.session_id) {
            return Err(ReplayJsonlWriteError::SessionId);
        }
        let (id, policy) = (quoted(session.session_id), quoted(session.policy));
        let issue = session.issue_number.map_or("null".into(), |number| number.to_string());
        let header = format!(
            "{{\"event\":\"ReplayHeader\",\"created_at\":{time},\"producer\":{},\"replay_version\":{VERSION}}}",
            quoted(session.producer)
        );
        let start = format!(
            "{{\"event\":\"SessionStart\",\"issue_number\":{issue},\"policy_version\":{policy},\"session_id\":{id},\"t\":{time}}}"
        );
        let receipt = ReceiptParts {
            session: format!(
                "  \"session_id\": {id},\n  \"issue_number\": {issue},\n  \"policy_version\": {policy},\n  \"started_at\": {time},\n"
            ),
            ..ReceiptParts::default()
        };
        let mut writer = Self {
            out,
            has_failed: false,
            hasher: Hasher::new(),
            file_hasher: Hasher::new(),
            totals: ReplayTotals::default(),
            calls: BTreeMap::new(),
            receipt,
        };
        writer.write_line(&header)?;
        writer.write_line(&start)?;
        Ok(writer)
    }

    /// Returns the totals of the session so far.
    pub fn totals(&self) -> ReplayTotals {
        self.totals
    }

    /// Writes an event at the time `t` (RFC 3339), and flushes.
    ///
    /// # Errors
    ///
    /// [`ReplayJsonlWriteError`] if the event has no place in the format; nothing of it is written then. After
    /// [`ReplayJsonlWriteError::Io`] the writer refuses all further events.
    pub fn emit(&mut self, t: &str, event: &ReplayJsonlEvent<'_>) -> Result<(), ReplayJsonlWriteError> {
        let t = timestamp(t)?;
        match *event {
            ReplayJsonlEvent::PlanStart { plan_hash, step_count } => {
                self.write_line(&format!(
                    "{{\"event\":\"PlanStart\",\"plan_hash\":\"sha256:{plan_hash}\",\"step_count\":{step_count},\"t\":{t}}}"
                ))?;
                self.receipt.plan_hash = Some(plan_hash);
            }
            ReplayJsonlEvent::ToolCall { id, tool, params, step_id } => self.write_tool_call(&t, id, tool, params, step_id)?,
            ReplayJsonlEvent::ToolResult { .. } => self.write_tool_result(&t, event)?,
            ReplayJsonlEvent::StepComplete { step_id, status, iterations } => self.write_line(&format!(
                "{{\"event\":\"StepComplete\",\"iterations\":{iterations},\"status\":\"{status:?}\",\"step_id\":{},\"t\":{t}}}",
                quoted(step_id)
            ))?,
            ReplayJsonlEvent::Verification { commands, exit_codes, verification_delta } => {
                if commands.len() != exit_codes.len() {
                    return Err(ReplayJsonlWriteError::VerificationLengths);
                }
                let commands: Vec<String> = commands.iter().map(|command| quoted(command)).collect();
                self.write_line(&format!(
                    "{{\"event\":\"Verification\",\"commands\":[{}],\"exit_codes\":{exit_codes:?},\"t\":{t},\"verification_delta\":{verification_delta}}}",
                    commands.join(",")
                ))?;
                self.receipt.commands.extend(commands);
                self.receipt.exit_codes.extend(exit_codes);
                self.receipt.delta += i64::from(verification_delta);
            }
        }
        Ok(())
    }

    fn write_tool_call(
        &mut self,
        t: &str,
        id: &str,
        tool: &str,
        params: &[u8],
        step_id: &str,
    ) -> Result<(), ReplayJsonlWriteError> {
        if self.calls.contains_key(id) {
            return Err(ReplayJsonlWriteError::CallRepeated);
        }
        // The params lie one level deep in their line, which must itself be within the limits.
        let limits = Limits::default();
        let params = Value::parse(params, &Limits { max_depth: limits.max_depth - 1, ..limits })?;
        let params_hash = hash::digest(params, &mut self.hasher)?;
        self.write_line(&format!(
            "{{\"event\":\"ToolCall\",\"id\":{},\"params\":{},\"params_hash\":\"sha256:{params_hash}\",\"step_id\":{},\"t\":{t},\"tool\":{}}}",
            quoted(id),
            String::from_utf8_lossy(params.text()),
            quoted(step_id),
            quoted(tool)
        ))?;
        self.calls.insert(id.to_owned(), Some(PendingToolCall { tool: tool.to_owned(), params_hash }));
        self.totals.tool_calls += 1;
        Ok(())
    }

    fn write_tool_result(
        &mut self,
        t: &str,
        event: &ReplayJsonlEvent<'_>,
    ) -> Result<(), ReplayJsonlWriteError> {
        let &ReplayJsonlEvent::ToolResult { id, output_hash, exit_code, step_utility, latency_ms } = event
        else {
            return Ok(());
        };
        let utility = number_text("step_utility", step_utility.unwrap_or(0.0), -1, 1)?;
        let mut figures = self.totals;
        figures.add_result(latency_ms, step_utility);
        if figures.total_latency_ms().is_none() {
            return Err(ReplayJsonlWriteError::TotalLatency);
        }
        let Some(Some(call)) = self.calls.get(id) else {
            return Err(ReplayJsonlWriteError::ResultWithoutCall);
        };
        let is_unknown = |member| match member {
            ReplayJsonlField::LatencyMs => latency_ms.is_none(),
            ReplayJsonlField::OutputHash => output_hash.is_none(),
            _ => step_utility.is_none(),
        };
        let unknown: Vec<String> = PLACEHOLDER_MEMBERS
            .into_iter()
            .filter(|member| is_unknown(*member))
            .map(|member| quoted(member.name()))
            .collect();
        let exit_code = exit_code.map_or("null".into(), |code| code.to_string());
        let output_hash = output_hash.unwrap_or_else(|| Digest::of(b"null"));
        let (latency_ms, id) = (latency_ms.unwrap_or(0), id.to_owned());
        let mut receipt = format!(
            "    {{\n      \"id\": {},\n      \"tool\": {},\n      \"params_hash\": \"sha256:{}\",\n      \"output_hash\": \"sha256:{output_hash}\",\n      \"step_utility\": {utility},\n      \"latency_ms\": {latency_ms},\n      \"side_effects\": []",
            quoted(&id),
            quoted(&call.tool),
            call.params_hash
        );
        let mut line = format!(
            "{{\"event\":\"ToolResult\",\"exit_code\":{exit_code},\"id\":{},\"latency_ms\":{latency_ms},\"output_hash\":\"sha256:{output_hash}\",\"step_utility\":{utility},\"t\":{t}",
            quoted(&id)
        );
        if !unknown.is_empty() {
            receipt.push_str(&format!(",\n      \"unknown\": [{}]", unknown.join(", ")));
            line.push_str(&format!(",\"unknown\":[{}]", unknown.join(",")));
        }
        receipt.push_str("\n    }");
        line.push('}');
        self.write_line(&line)?;
        self.calls.insert(id, None);
        self.receipt.calls.push(receipt);
        self.totals = figures;
        Ok(())
    }

    /// Ends the session: writes its last line and syncs the store. Returns the store, and the receipt to write beside
    /// it, best under a temporary name first.
    ///
    /// # Errors
    ///
    /// [`ReplayJsonlWriteError::OpenCalls`] if calls have no result, or an error of the store.
    pub fn end(
        mut self,
        t: &str,
        status: SessionStatus,
        confidence: f32,
    ) -> Result<(W, Vec<u8>), ReplayJsonlWriteError> {
        let t = timestamp(t)?;
        let confidence = number_text("confidence", confidence, 0, 1)?;
        let open = self.calls.values().filter(|call| call.is_some()).count();
        if open > 0 {
            return Err(ReplayJsonlWriteError::OpenCalls { count: open });
        }
        let (calls, latency) = (self.totals.tool_calls, self.totals.total_latency_ms().unwrap_or(u64::MAX));
        self.write_line(&format!(
            "{{\"event\":\"SessionEnd\",\"confidence\":{confidence},\"status\":\"{status:?}\",\"t\":{t},\"total_latency_ms\":{latency},\"total_tool_calls\":{calls}}}"
        ))?;
        self.out.sync().map_err(|error| io_error(&error))?;
        let ReceiptParts { session, plan_hash, calls, commands, exit_codes, delta } = self.receipt;
        let plan_hash = plan_hash.map_or("null".into(), |hash| format!("\"sha256:{hash}\""));
        let calls = if calls.is_empty() { "[]".into() } else { format!("[\n{}\n  ]", calls.join(",\n")) };
        let receipt = format!(
            "{{\n{session}  \"completed_at\": {t},\n  \"plan_hash\": {plan_hash},\n  \"tool_calls\": {calls},\n  \"verification\": {{\n    \"commands_run\": [{}],\n    \"exit_codes\": {exit_codes:?},\n    \"verification_delta\": {delta}\n  }},\n  \"final_confidence\": {confidence},\n  \"replay_hash\": \"sha256:{}\",\n  \"signature\": null\n}}\n",
            commands.join(", "),
            self.file_hasher.finish()
        );
        Ok((self.out, receipt.into_bytes()))
    }

    /// Writes one line in canonical form, and flushes.
    fn write_line(&mut self, text: &str) -> Result<(), ReplayJsonlWriteError> {
        if self.has_failed {
            return Err(ReplayJsonlWriteError::Broken);
        }
        let value = Value::parse(text.as_bytes(), &Limits::default())?;
        let mut line = canonical::to_vec(value, ReplayJsonlForm)?;
        if line.len() > MAX_LINE_BYTES {
            return Err(ReplayJsonlWriteError::TooLong { bytes: line.len() });
        }
        line.push(b'\n');
        let written = self.out.write_all(&line).and_then(|()| self.out.flush());
        self.file_hasher.put(&line);
        written.map_err(|error| {
            self.has_failed = true;
            io_error(&error)
        })
    }
}

fn io_error(error: &io::Error) -> ReplayJsonlWriteError {
    ReplayJsonlWriteError::Io { kind: error.kind(), message: error.to_string() }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    print::write_string(text, &mut out);
    out
}

fn timestamp(text: &str) -> Result<String, ReplayJsonlWriteError> {
    match time::instant(text) {
        Some(_) => Ok(quoted(text)),
        None => Err(ReplayJsonlWriteError::Time { text: reenact_json::Shown::new(text).to_string() }),
    }
}

/// Returns the shortest text that is the same number in single precision, if the number is in range.
fn number_text(member: &'static str, value: f32, min: i8, max: i8) -> Result<String, ReplayJsonlWriteError> {
    if (f32::from(min)..=f32::from(max)).contains(&value) {
        Ok(format!("{value:?}"))
    } else {
        Err(ReplayJsonlWriteError::Number { member, min, max })
    }
}
