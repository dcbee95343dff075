//! Writing a replay, line by line, and its receipt.
//!
//! What is written verifies: ids pair, totals are counted here, hashes are computed here, and what has no place in the
//! format (NaN, a result without a call) is refused before a byte of it is written. Each line is flushed; at the end of
//! the session the file is synced, and only then is there a receipt.
//!
//! No file is opened here. Whoever opens one must do so with `create_new`: a replay is never written over another.

use std::collections::BTreeMap;
use std::io::{self, Write};

use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Limits, SyntaxError, Value, canonical, print};

use super::canonical::ReplayJsonlForm;
use super::field::is_folder_name;
use super::lines::LONGEST_LINE;
use super::{Figures, VERSION, hash};
use crate::rer::time;

/// Where a replay goes.
pub trait Store: Write {
    /// Returns once all that was written would survive a loss of power.
    fn sync(&mut self) -> io::Result<()>;
}

impl Store for Vec<u8> {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Store for std::fs::File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// Why something was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The store failed. What it holds is unknown from then on, so nothing more is written.
    #[error("the replay could not be written: {message}")]
    Io {
        /// What kind of failure.
        kind: io::ErrorKind,
        /// In words.
        message: String,
    },
    /// An earlier failure.
    #[error("an earlier line could not be written")]
    Broken,
    /// Not a time of RFC 3339.
    #[error("{text} is not an RFC 3339 time")]
    Time {
        /// What was given.
        text: String,
    },
    /// NaN, an infinity, or beyond the range of the member.
    #[error("{member} must be a number from {least} to {most}")]
    Number {
        /// Which.
        member: &'static str,
        /// The least that it may be.
        least: i8,
        /// The most.
        most: i8,
    },
    /// A session id that cannot name a folder.
    #[error("the session id cannot be the name of a folder")]
    SessionId,
    /// The same id for two calls.
    #[error("the id of this call was used before")]
    CallRepeated,
    /// A result for no open call.
    #[error("no open call has the id of this result")]
    ResultWithoutCall,
    /// The session ends while calls are open.
    #[error("{count} calls have no result yet")]
    OpenCalls {
        /// How many.
        count: usize,
    },
    /// The sum of all latencies would not fit.
    #[error("the total latency does not fit into 64 bits")]
    TotalLatency,
    /// Two lists that belong together have two lengths.
    #[error("each command needs one exit code")]
    VerificationLengths,
    /// Params that are not JSON that we read.
    #[error("params: {0}")]
    Params(#[from] SyntaxError),
    /// Params with a number that has no canonical text.
    #[error("params: {0}")]
    Canonical(#[from] CanonicalFault),
    /// A line that no reader would take.
    #[error("the line has {bytes} bytes, more than {LONGEST_LINE}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// It worked.
    Success,
    /// It did not.
    Failed,
    /// It was not tried.
    Skipped,
    /// It was given up.
    MaxIterationsReached,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStatus {
    /// It worked.
    Success,
    /// It did not.
    Failed,
    /// Someone stopped it.
    Cancelled,
    /// It took too long.
    Timeout,
}

/// Which session this is.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// What writes, such as `reenact@0.1.0`.
    pub producer: &'a str,
    /// Becomes the name of a folder.
    pub session_id: &'a str,
    /// The issue that is worked on.
    pub issue_number: Option<i64>,
    /// The policy in force; `unknown` where none is known.
    pub policy: &'a str,
    /// When it started (RFC 3339).
    pub started_at: &'a str,
}

/// What happens in a session, between its start and its end.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A plan was made.
    PlanStart {
        /// The hash of the plan.
        plan_hash: Digest,
        /// How many steps it has.
        step_count: u64,
    },
    /// A tool is called.
    ToolCall {
        /// Unique in the session.
        id: &'a str,
        /// Which tool.
        tool: &'a str,
        /// Any JSON text. Written whole, in canonical form, with its hash.
        params: &'a [u8],
        /// The step of the plan.
        step_id: &'a str,
    },
    /// A tool answered.
    ToolResult {
        /// The id of its call.
        id: &'a str,
        /// The hash of the whole output; see [`hash::digest`].
        output_hash: Digest,
        /// Of a command: its exit code.
        exit_code: Option<i32>,
        /// From -1 to 1.
        step_utility: f32,
        /// How long it took.
        latency_ms: u64,
    },
    /// A step is done.
    StepComplete {
        /// The step of the plan.
        step_id: &'a str,
        /// How it ended.
        status: StepStatus,
        /// How often it was tried.
        iterations: u8,
    },
    /// Commands that check the work were run.
    Verification {
        /// Which.
        commands: &'a [&'a str],
        /// How each ended.
        exit_codes: &'a [i32],
        /// Positive is better than before.
        verification_delta: i32,
    },
}

/// A call without its result.
struct OpenCall {
    tool: String,
    params_hash: Digest,
}

/// Writes a replay.
pub struct ReplayWriter<W> {
    out: W,
    is_broken: bool,
    hasher: Hasher,
    file: Hasher,
    figures: Figures,
    /// Every id of a call; those that are answered hold nothing.
    calls: BTreeMap<String, Option<OpenCall>>,
    receipt: ReceiptText,
}

/// The parts of the receipt, gathered on the way.
#[derive(Default)]
struct ReceiptText {
    session: String,
    plan_hash: Option<Digest>,
    calls: Vec<String>,
    commands: Vec<String>,
    exit_codes: Vec<i32>,
    delta: i64,
}

impl<W: Store> ReplayWriter<W> {
    /// Begins a replay: its header, and the start of the session.
    pub fn start(out: W, session: &Session<'_>) -> Result<Self, WriteError> {
        let time = timestamp(session.started_at)?;
        if !is_folder_name(session.session_id) {
            return Err(WriteError::SessionId);
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
        let receipt = ReceiptText {
            session: format!(
                "  \"session_id\": {id},\n  \"issue_number\": {issue},\n  \"policy_version\": {policy},\n  \"started_at\": {time},\n"
            ),
            ..ReceiptText::default()
        };
        let mut writer = Self {
            out,
            is_broken: false,
            hasher: Hasher::new(),
            file: Hasher::new(),
            figures: Figures::default(),
            calls: BTreeMap::new(),
            receipt,
        };
        writer.line(&header)?;
        writer.line(&start)?;
        Ok(writer)
    }

    /// What the session amounts to so far.
    pub fn figures(&self) -> Figures {
        self.figures
    }

    /// Writes an event.
    pub fn emit(&mut self, t: &str, event: &Event<'_>) -> Result<(), WriteError> {
        let t = timestamp(t)?;
        match *event {
            Event::PlanStart { plan_hash, step_count } => {
                self.line(&format!(
                    "{{\"event\":\"PlanStart\",\"plan_hash\":\"sha256:{plan_hash}\",\"step_count\":{step_count},\"t\":{t}}}"
                ))?;
                self.receipt.plan_hash = Some(plan_hash);
            }
            Event::ToolCall { id, tool, params, step_id } => self.call(&t, id, tool, params, step_id)?,
            Event::ToolResult { id, output_hash, exit_code, step_utility, latency_ms } => {
                let utility = number("step_utility", step_utility, -1, 1)?;
                let mut figures = self.figures;
                figures.add_result(Some(latency_ms), Some(step_utility));
                if figures.total_latency_ms().is_none() {
                    return Err(WriteError::TotalLatency);
                }
                let Some(Some(call)) = self.calls.get(id) else { return Err(WriteError::ResultWithoutCall) };
                let exit_code = exit_code.map_or("null".into(), |code| code.to_string());
                let receipt = format!(
                    "    {{\n      \"id\": {},\n      \"tool\": {},\n      \"params_hash\": \"sha256:{}\",\n      \"output_hash\": \"sha256:{output_hash}\",\n      \"step_utility\": {utility},\n      \"latency_ms\": {latency_ms},\n      \"side_effects\": []\n    }}",
                    quoted(id), quoted(&call.tool), call.params_hash
                );
                self.line(&format!(
                    "{{\"event\":\"ToolResult\",\"exit_code\":{exit_code},\"id\":{},\"latency_ms\":{latency_ms},\"output_hash\":\"sha256:{output_hash}\",\"step_utility\":{utility},\"t\":{t}}}",
                    quoted(id)
                ))?;
                self.calls.insert(id.to_owned(), None);
                self.receipt.calls.push(receipt);
                self.figures = figures;
            }
            Event::StepComplete { step_id, status, iterations } => self.line(&format!(
                "{{\"event\":\"StepComplete\",\"iterations\":{iterations},\"status\":\"{status:?}\",\"step_id\":{},\"t\":{t}}}",
                quoted(step_id)
            ))?,
            Event::Verification { commands, exit_codes, verification_delta } => {
                if commands.len() != exit_codes.len() {
                    return Err(WriteError::VerificationLengths);
                }
                let commands: Vec<String> = commands.iter().map(|command| quoted(command)).collect();
                self.line(&format!(
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

    fn call(
        &mut self,
        t: &str,
        id: &str,
        tool: &str,
        params: &[u8],
        step_id: &str,
    ) -> Result<(), WriteError> {
        if self.calls.contains_key(id) {
            return Err(WriteError::CallRepeated);
        }
        // The params lie one level deep in their line, which must itself be read.
        let limits = Limits::default();
        let params = Value::parse(params, &Limits { depth: limits.depth - 1, ..limits })?;
        let params_hash = hash::digest(params, &mut self.hasher)?;
        self.line(&format!(
            "{{\"event\":\"ToolCall\",\"id\":{},\"params\":{},\"params_hash\":\"sha256:{params_hash}\",\"step_id\":{},\"t\":{t},\"tool\":{}}}",
            quoted(id),
            String::from_utf8_lossy(params.text()),
            quoted(step_id),
            quoted(tool)
        ))?;
        self.calls.insert(id.to_owned(), Some(OpenCall { tool: tool.to_owned(), params_hash }));
        self.figures.tool_calls += 1;
        Ok(())
    }

    /// Ends the session: its last line, synced. Gives back the store, and the receipt to write beside it, under a
    /// temporary name first.
    pub fn end(
        mut self,
        t: &str,
        status: SessionStatus,
        confidence: f32,
    ) -> Result<(W, Vec<u8>), WriteError> {
        let t = timestamp(t)?;
        let confidence = number("confidence", confidence, 0, 1)?;
        let open = self.calls.values().filter(|call| call.is_some()).count();
        if open > 0 {
            return Err(WriteError::OpenCalls { count: open });
        }
        let (calls, latency) = (self.figures.tool_calls, self.figures.total_latency_ms().unwrap_or(u64::MAX));
        self.line(&format!(
            "{{\"event\":\"SessionEnd\",\"confidence\":{confidence},\"status\":\"{status:?}\",\"t\":{t},\"total_latency_ms\":{latency},\"total_tool_calls\":{calls}}}"
        ))?;
        self.out.sync().map_err(|error| io_error(&error))?;
        let ReceiptText { session, plan_hash, calls, commands, exit_codes, delta } = self.receipt;
        let plan_hash = plan_hash.map_or("null".into(), |hash| format!("\"sha256:{hash}\""));
        let calls = if calls.is_empty() { "[]".into() } else { format!("[\n{}\n  ]", calls.join(",\n")) };
        let receipt = format!(
            "{{\n{session}  \"completed_at\": {t},\n  \"plan_hash\": {plan_hash},\n  \"tool_calls\": {calls},\n  \"verification\": {{\n    \"commands_run\": [{}],\n    \"exit_codes\": {exit_codes:?},\n    \"verification_delta\": {delta}\n  }},\n  \"final_confidence\": {confidence},\n  \"replay_hash\": \"sha256:{}\",\n  \"signature\": null\n}}\n",
            commands.join(", "),
            self.file.finish()
        );
        Ok((self.out, receipt.into_bytes()))
    }

    /// Writes one line in canonical form.
    fn line(&mut self, text: &str) -> Result<(), WriteError> {
        if self.is_broken {
            return Err(WriteError::Broken);
        }
        let value = Value::parse(text.as_bytes(), &Limits::default())?;
        let mut line = canonical::to_vec(value, ReplayJsonlForm)?;
        if line.len() > LONGEST_LINE {
            return Err(WriteError::TooLong { bytes: line.len() });
        }
        line.push(b'\n');
        let written = self.out.write_all(&line).and_then(|()| self.out.flush());
        self.file.put(&line);
        written.map_err(|error| {
            self.is_broken = true;
            io_error(&error)
        })
    }
}

fn io_error(error: &io::Error) -> WriteError {
    WriteError::Io { kind: error.kind(), message: error.to_string() }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    print::string(text, &mut out);
    out
}

fn timestamp(text: &str) -> Result<String, WriteError> {
    match time::instant(text) {
        Some(_) => Ok(quoted(text)),
        None => Err(WriteError::Time { text: reenact_json::Shown::new(text).to_string() }),
    }
}

/// The shortest text that is the same number in single precision.
fn number(member: &'static str, value: f32, least: i8, most: i8) -> Result<String, WriteError> {
    if (f32::from(least)..=f32::from(most)).contains(&value) {
        Ok(format!("{value:?}"))
    } else {
        Err(WriteError::Number { member, least, most })
    }
}
