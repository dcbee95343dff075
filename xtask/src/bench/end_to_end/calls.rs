//! Requests and answers of the measured calls, and the runs that record them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reenact_gateway::EnforcedPolicy;
use reenact_record::approval::ApprovalQueue;
use reenact_record::wal::{self, Wal};
use reenact_record::{
    EventWriter, Recorder, Recording, RunEnd, RunId, RunStart, RunStatus, RunStore, SealedArtifact,
};
use reenact_testkit::reply::long_text;
use reenact_testkit::{Script, ScriptStep, ScriptedAnswer, ScriptedReply, VendorRequest};
use reenact_wire::price::PriceTable;

use super::error_text;
use reenact_testkit::fixture::TestKey;

/// Path of chat completions.
pub(super) const PATH: &str = "/v1/chat/completions";

/// Credential like that of every real request; no record may hold it.
pub(super) const CREDENTIAL: &str = "Bearer sk-bench-4f9d2c7a1e8b6350f9d2c7a1";

/// Header by which a request for a stream names the gate before the second event.
pub(super) const GATE_HEADER: &str = "x-bench-gate";

/// Header by which a request for a tool call states the id of that call.
pub(super) const CALL_HEADER: &str = "x-bench-call";

/// Returns the id of the tool call in the answer to a turn.
pub(super) fn call_id(turn: u64) -> String {
    format!("{CALL_ID_PREFIX}{turn:020x}")
}

/// Beginning of the ids of tool calls.
const CALL_ID_PREFIX: &str = "call_";

/// Bits of a turn's number that count the turns of its connection.
pub(super) const TURN_MASK: u64 = 0xffff_ffff;

/// Tool that the answers call.
const TOOL: &str = "lookup";

/// Envelope that a gateway enforces in its rows: everything has a limit, and no limit is reached.
const ENVELOPE: &str = r#"{"envelope_version":"rer-envelope/0.2","expiry":"2100-01-01T00:00:00Z","limits":{"max_spend_usd":1000000,"max_steps":1000000000,"rate_limit_rpm":1000000000},"permissions":{"allowed_models":["gpt-5","gpt-5-mini"],"allowed_tools":["lookup","search_*"]},"required_approvals":[{"action":"tool.call","signer_types":["human"],"tool_pattern":"pay_*"}]}"#;

/// Gate that is open from the beginning: waiting there only flushes what was sent before.
pub(super) const OPEN_GATE: &str = "open";

/// Kind of a call, by its answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BenchCallKind {
    /// Document of about 2 KB.
    Answer,
    /// Stream of 30 events.
    Stream,
    /// Document with a tool call; the request brings the result of the call before.
    Tool,
}

impl BenchCallKind {
    /// Kinds without tools.
    pub(super) const ALL: [BenchCallKind; 2] = [Self::Answer, Self::Stream];

    /// Returns the name of the kind's rows.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Stream => "stream",
            Self::Tool => "tool",
        }
    }

    /// Returns a request body of about 4 KB; `turn` makes it differ from others.
    pub(super) fn prompt(self, turn: u64) -> Bytes {
        let file = "fn total(items: &[Item]) -> u64 {\\n    items.iter().map(|item| item.price).sum()\\n}\\n";
        let messages = [
            ("system", format!("You are a careful engineer.\\n\\n{}", long_text(900))),
            ("user", format!("Turn {turn}: what does \\\"total\\\" do?\\n```rust\\n{}```", file.repeat(9))),
            ("assistant", long_text(1100)),
            ("user", format!("And then? {}", long_text(1000))),
        ];
        let mut messages = messages.map(|(role, text)| format!(r#"{{"role":"{role}","content":"{text}"}}"#));
        // The first turn of a connection has no result to bring.
        if self == Self::Tool && turn & TURN_MASK > 1 {
            let id = call_id(turn - 1);
            let function = format!(r#"{{"name":"{TOOL}","arguments":"{{\"item\":{turn}}}"}}"#);
            let call = format!(r#"{{"id":"{id}","type":"function","function":{function}}}"#);
            let result = long_text(750);
            messages[3] = format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{call}]}},{{"role":"tool","tool_call_id":"{id}","content":"{result}"}}"#
            );
        }
        let is_stream = self == Self::Stream;
        let body = format!(
            r#"{{"model":"gpt-5","temperature":0.2,"stream":{is_stream},"messages":[{}]}}"#,
            messages.join(",")
        );
        body.into()
    }

    /// Returns the vendor's answer.
    pub(super) fn answer(self) -> ScriptedAnswer {
        let request = VendorRequest {
            index: 0,
            method: "POST".into(),
            path: PATH.into(),
            version: "HTTP/1.1".into(),
            headers: Vec::new(),
            body: self.prompt(0),
        };
        let reply = match self {
            Self::Answer => ScriptedReply::text(long_text(1400)),
            // 27 words, each an event; and three events around them.
            Self::Stream => ScriptedReply::text(long_text(135)),
            Self::Tool => ScriptedReply::text(long_text(1200))
                .and_call(TOOL, r#"{"item":7,"fields":["price","stock"]}"#),
        };
        reply.answer(&request)
    }
}

/// Returns the vendor's script for all calls.
///
/// A stream sends its first event, waits until the client has received it, and then sends each of
/// the other events by itself: at a real vendor, too, nothing else happens while the first one is
/// on its way.
pub(super) fn script() -> Script {
    let [answer, stream, tool] =
        [BenchCallKind::Answer, BenchCallKind::Stream, BenchCallKind::Tool].map(BenchCallKind::answer);
    Script::answering(move |request| match (request.header(GATE_HEADER), request.header(CALL_HEADER)) {
        (None, None) => answer.clone(),
        (None, Some(id)) => with_call_id(id, &tool),
        (Some(gate), _) => {
            let mut paced = stream.clone();
            let gates = std::iter::once(gate).chain(std::iter::repeat(OPEN_GATE));
            let steps = std::mem::take(&mut paced.steps).into_iter().zip(gates);
            paced.steps = steps.flat_map(|(step, gate)| [step, ScriptStep::wait(gate)]).collect();
            // No gate behind the last event.
            paced.steps.pop();
            paced
        }
    })
}

/// Returns an answer whose tool call has this id.
fn with_call_id(id: &str, answer: &ScriptedAnswer) -> ScriptedAnswer {
    let mut body = answer.body();
    let slot = body.windows(CALL_ID_PREFIX.len()).position(|bytes| bytes == CALL_ID_PREFIX.as_bytes());
    if let Some(slot) = slot.and_then(|from| body.get_mut(from..from + id.len())) {
        slot.copy_from_slice(id.as_bytes());
    }
    ScriptedAnswer { steps: vec![ScriptStep::send(body)], ..answer.clone() }
}

/// Run that is being recorded, in a folder that is removed on drop.
pub(super) struct BenchRun {
    folder: RemovedOnDrop,
    recorder: Recorder<Recording>,
    /// Key that seals the run.
    signer: TestKey,
}

/// Folder that is removed on drop.
pub(super) struct RemovedOnDrop(PathBuf);

impl Drop for RemovedOnDrop {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl BenchRun {
    /// Begins a run in a new folder.
    pub(super) fn start(folder: &Path) -> Result<Self, String> {
        Self::start_with(None, folder)
    }

    /// Begins a run under an enforced envelope.
    pub(super) fn start_enforced(folder: &Path) -> Result<Self, String> {
        Self::start_with(Some(ENVELOPE), folder)
    }

    /// Begins a run with an optional envelope.
    fn start_with(envelope: Option<&str>, folder: &Path) -> Result<Self, String> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("run-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = RemovedOnDrop(folder.join(name));
        let signer = TestKey::of(7);
        let envelope = envelope.map(str::as_bytes);
        let start = RunStart { envelope, ..RunStart::new(RunId::generate().map_err(error_text)?) };
        let recorder =
            Recorder::builder(&RunStore::new(&folder.0), &signer).begin(&start).map_err(error_text)?;
        Ok(Self { folder, recorder, signer })
    }

    /// Returns a writer of the run's events.
    pub(super) fn event_writer(&self) -> EventWriter {
        self.recorder.event_writer()
    }

    /// Returns the policy to enforce, set up as the command does it; `None` without an envelope.
    pub(super) fn policy(&self) -> Option<EnforcedPolicy> {
        let engine = self.recorder.policy_engine()?;
        let approvals = ApprovalQueue::new(
            self.recorder.folder(),
            self.recorder.run_id(),
            Vec::new(),
            Duration::from_secs(600),
        );
        Some(EnforcedPolicy { engine, prices: PriceTable::list_prices(), approvals })
    }

    /// Opens the run's write-ahead log, as the command does; `None` if the machine has no place for
    /// one.
    pub(super) fn open_wal(&self) -> Result<Option<Wal>, String> {
        let Some(dir) = wal::WalDir::find() else { return Ok(None) };
        self.event_writer().create_wal(&dir, self.recorder.run_id()).map(Some).map_err(error_text)
    }

    /// Ends the run and seals it `times` times; `sealed` is called with each artifact and the time
    /// that it took.
    ///
    /// # Errors
    /// If the run cannot be ended or sealed, or if `sealed` fails.
    pub(super) fn seal(
        self,
        times: usize,
        mut sealed: impl FnMut(&SealedArtifact, Duration) -> Result<(), String>,
    ) -> Result<(), String> {
        let end = RunEnd { exit_code: Some(0), ..RunEnd::new(RunStatus::Completed, "exit") };
        let ended = self.recorder.end(&end).map_err(error_text)?;
        let out =
            reenact_record::ArtifactTarget { path: self.folder.0.join("sealed.rer.json"), replace: true };
        for _ in 0..times {
            let begun = std::time::Instant::now();
            let artifact = ended.seal_to(&self.signer, &out).map_err(error_text)?;
            sealed(&artifact, begun.elapsed())?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot read stops")]
mod tests {
    use super::*;
    use reenact_json::{Limits, Value};
    use reenact_wire::{Endpoint, exchange};

    #[test]
    fn the_calls_are_as_large_as_the_table_says() {
        for kind in [BenchCallKind::Answer, BenchCallKind::Stream, BenchCallKind::Tool] {
            let prompt = kind.prompt(7);
            Value::parse(&prompt, &Limits::default()).unwrap();
            assert!((3900..4300).contains(&prompt.len()), "{}", prompt.len());
        }
        for kind in [BenchCallKind::Answer, BenchCallKind::Tool] {
            let answer = kind.answer().body();
            assert!((1900..2200).contains(&answer.len()), "{}", answer.len());
        }
        let stream = BenchCallKind::Stream.answer();
        assert!(stream.is_stream());
        assert_eq!(stream.steps.len(), 30);
    }

    #[test]
    fn a_turn_brings_the_result_of_the_call_that_the_turn_before_was_answered_with() {
        let answer = with_call_id(&call_id(6), &BenchCallKind::Tool.answer());
        let call =
            reenact_wire::tool_calls::scan_answer(Endpoint::CHAT_COMPLETIONS, &answer.body()).unwrap().calls;
        assert_eq!((call[0].id.as_str(), call[0].name.as_str()), ("call_00000000000000000006", TOOL));
        let request =
            exchange::parse_request(Endpoint::CHAT_COMPLETIONS, "", &BenchCallKind::Tool.prompt(7)).unwrap();
        let brought: Vec<&str> = request.tool_results.iter().map(|result| result.id.as_str()).collect();
        assert_eq!(brought, ["call_00000000000000000006"]);
    }
}
