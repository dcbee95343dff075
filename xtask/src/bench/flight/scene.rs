//! What is said in the calls that are measured, and the runs in which it is written down.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reenact_gateway::Policy;
use reenact_record::approval::Desk;
use reenact_record::wal::{self, Wal};
use reenact_record::{End, Folder, Pen, Recorder, Recording, RunId, RunStart, Sealed, Status};
use reenact_testkit::reply::long_text;
use reenact_testkit::{Answer, Reply, Request, Script, Step};
use reenact_wire::price::Table;

use super::said;
use reenact_testkit::fixture::TestKey;

/// Where chat completions are asked for.
pub(super) const PATH: &str = "/v1/chat/completions";

/// A credential such as every request carries; it goes into no record.
pub(super) const CREDENTIAL: &str = "Bearer sk-bench-4f9d2c7a1e8b6350f9d2c7a1";

/// The header by which a request for a stream names the gate before the second event.
pub(super) const GATE: &str = "x-bench-gate";

/// The header by which a request for a tool's call says how it is to be named.
pub(super) const CALL: &str = "x-bench-call";

/// The id of the tool's call in the answer to a turn.
pub(super) fn call_id(turn: u64) -> String {
    format!("{PREFIX}{turn:020x}")
}

/// With what ids of calls begin.
const PREFIX: &str = "call_";

/// Where a turn's number among those of its connection stands in it.
pub(super) const TURN: u64 = 0xffff_ffff;

/// The tool that is asked for.
const TOOL: &str = "lookup";

/// What a gateway enforces in its rows: everything has a limit, and nothing reaches it.
const ENVELOPE: &str = r#"{"envelope_version":"rer-envelope/0.2","expiry":"2100-01-01T00:00:00Z","limits":{"max_spend_usd":1000000,"max_steps":1000000000,"rate_limit_rpm":1000000000},"permissions":{"allowed_models":["gpt-5","gpt-5-mini"],"allowed_tools":["lookup","search_*"]},"required_approvals":[{"action":"tool.call","signer_types":["human"],"tool_pattern":"pay_*"}]}"#;

/// The gate that is open from the beginning: who passes it has sent all before it.
pub(super) const OPEN: &str = "open";

/// How an answer comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// At once, about 2 KB.
    Answer,
    /// As 30 events.
    Stream,
    /// At once: the call of a tool, for a request that brings the result of the one before.
    Tool,
}

impl Kind {
    /// Those that only talk.
    pub(super) const ALL: [Kind; 2] = [Self::Answer, Self::Stream];

    /// The name of its rows.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Stream => "stream",
            Self::Tool => "tool",
        }
    }

    /// A conversation of about 4 KB; `turn` makes it differ from others.
    pub(super) fn prompt(self, turn: u64) -> Bytes {
        let file = "fn total(items: &[Item]) -> u64 {\\n    items.iter().map(|item| item.price).sum()\\n}\\n";
        let said = [
            ("system", format!("You are a careful engineer.\\n\\n{}", long_text(900))),
            ("user", format!("Turn {turn}: what does \\\"total\\\" do?\\n```rust\\n{}```", file.repeat(9))),
            ("assistant", long_text(1100)),
            ("user", format!("And then? {}", long_text(1000))),
        ];
        let mut said = said.map(|(role, text)| format!(r#"{{"role":"{role}","content":"{text}"}}"#));
        // The first turn of a connection has nothing to bring.
        if self == Self::Tool && turn & TURN > 1 {
            let id = call_id(turn - 1);
            let function = format!(r#"{{"name":"{TOOL}","arguments":"{{\"item\":{turn}}}"}}"#);
            let call = format!(r#"{{"id":"{id}","type":"function","function":{function}}}"#);
            let result = long_text(750);
            said[3] = format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{call}]}},{{"role":"tool","tool_call_id":"{id}","content":"{result}"}}"#
            );
        }
        let is_stream = self == Self::Stream;
        let body = format!(
            r#"{{"model":"gpt-5","temperature":0.2,"stream":{is_stream},"messages":[{}]}}"#,
            said.join(",")
        );
        body.into()
    }

    /// What the vendor says to it.
    pub(super) fn answer(self) -> Answer {
        let request = Request {
            index: 0,
            method: "POST".into(),
            path: PATH.into(),
            version: "HTTP/1.1".into(),
            headers: Vec::new(),
            body: self.prompt(0),
        };
        let reply = match self {
            Self::Answer => Reply::text(long_text(1400)),
            // 27 words, each an event; and three events around them.
            Self::Stream => Reply::text(long_text(135)),
            Self::Tool => {
                Reply::text(long_text(1200)).and_call(TOOL, r#"{"item":7,"fields":["price","stock"]}"#)
            }
        };
        reply.answer(&request)
    }
}

/// The vendor's side of all calls. A stream sends its first event, waits until its client has it, and then
/// sends each of the others by itself: at a real vendor, too, nothing else happens while the first one is on its way.
pub(super) fn script() -> Script {
    let [answer, stream, tool] = [Kind::Answer, Kind::Stream, Kind::Tool].map(Kind::answer);
    Script::answering(move |request| match (request.header(GATE), request.header(CALL)) {
        (None, None) => answer.clone(),
        (None, Some(id)) => asking_as(id, &tool),
        (Some(gate), _) => {
            let mut paced = stream.clone();
            let gates = std::iter::once(gate).chain(std::iter::repeat(OPEN));
            let steps = std::mem::take(&mut paced.steps).into_iter().zip(gates);
            paced.steps = steps.flat_map(|(step, gate)| [step, Step::wait(gate)]).collect();
            // No gate behind the last event.
            paced.steps.pop();
            paced
        }
    })
}

/// An answer that calls a tool, with another id for the call.
fn asking_as(id: &str, answer: &Answer) -> Answer {
    let mut body = answer.body();
    let place = body.windows(PREFIX.len()).position(|bytes| bytes == PREFIX.as_bytes());
    if let Some(place) = place.and_then(|from| body.get_mut(from..from + id.len())) {
        place.copy_from_slice(id.as_bytes());
    }
    Answer { steps: vec![Step::send(body)], ..answer.clone() }
}

/// A run that is being recorded, in a folder that is gone when this is.
pub(super) struct Book {
    place: Place,
    recorder: Recorder<Recording>,
    signer: TestKey,
}

/// A folder that is gone when this is.
pub(super) struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Book {
    /// Begins a run in a new folder.
    pub(super) fn open(folder: &Path) -> Result<Self, String> {
        Self::under(None, folder)
    }

    /// Begins a run under an envelope.
    pub(super) fn open_enforced(folder: &Path) -> Result<Self, String> {
        Self::under(Some(ENVELOPE), folder)
    }

    fn under(envelope: Option<&str>, folder: &Path) -> Result<Self, String> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("run-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let place = Place(folder.join(name));
        let signer = TestKey::of(7);
        let envelope = envelope.map(str::as_bytes);
        let start = RunStart { envelope, ..RunStart::new(RunId::generate().map_err(said)?) };
        let recorder = Recorder::begin(&Folder::new(&place.0), &start, &signer).map_err(said)?;
        Ok(Self { place, recorder, signer })
    }

    /// Something to write with.
    pub(super) fn pen(&self) -> Pen {
        self.recorder.pen()
    }

    /// What is enforced, as the command has it.
    pub(super) fn policy(&self) -> Option<Policy> {
        let warden = self.recorder.warden()?;
        let desk =
            Desk::new(self.recorder.folder(), self.recorder.run_id(), Vec::new(), Duration::from_secs(600));
        Some(Policy { warden, prices: Table::standard(), desk })
    }

    /// The run's write-ahead log, as the command has it.
    pub(super) fn log(&self) -> Result<Option<Wal>, String> {
        let Some(place) = wal::Place::find() else { return Ok(None) };
        self.pen().log(&place, self.recorder.run_id()).map(Some).map_err(said)
    }

    /// Ends the run and seals it as often as `times` says; each time `sealed` is told how long it took.
    pub(super) fn seal(
        self,
        times: usize,
        mut sealed: impl FnMut(&Sealed, Duration) -> Result<(), String>,
    ) -> Result<(), String> {
        let end = End { status: Status::Completed, reason: "exit", exit_code: Some(0) };
        let ended = self.recorder.end(&end).map_err(said)?;
        let out = reenact_record::Out { path: self.place.0.join("sealed.rer.json"), replace: true };
        for _ in 0..times {
            let begun = std::time::Instant::now();
            let artifact = ended.seal_to(&self.signer, &out).map_err(said)?;
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
        for kind in [Kind::Answer, Kind::Stream, Kind::Tool] {
            let prompt = kind.prompt(7);
            Value::parse(&prompt, &Limits::default()).unwrap();
            assert!((3900..4300).contains(&prompt.len()), "{}", prompt.len());
        }
        for kind in [Kind::Answer, Kind::Tool] {
            let answer = kind.answer().body();
            assert!((1900..2200).contains(&answer.len()), "{}", answer.len());
        }
        let stream = Kind::Stream.answer();
        assert!(stream.is_stream());
        assert_eq!(stream.steps.len(), 30);
    }

    #[test]
    fn a_turn_brings_the_result_of_the_call_that_the_turn_before_was_answered_with() {
        let answer = asking_as(&call_id(6), &Kind::Tool.answer());
        let call = reenact_wire::gate::told(Endpoint::ChatCompletions, &answer.body()).unwrap().calls;
        assert_eq!((call[0].id.as_str(), call[0].name.as_str()), ("call_00000000000000000006", TOOL));
        let request = exchange::request(Endpoint::ChatCompletions, &Kind::Tool.prompt(7)).unwrap();
        let brought: Vec<&str> = request.tool_results.iter().map(|result| result.id.as_str()).collect();
        assert_eq!(brought, ["call_00000000000000000006"]);
    }
}
