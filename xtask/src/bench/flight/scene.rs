//! What is said in the calls that are measured, and the runs in which it is written down.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use reenact_record::wal::{self, Wal};
use reenact_record::{End, Folder, Pen, Recorder, Recording, RunId, RunStart, Sealed, Status};
use reenact_testkit::reply::long_text;
use reenact_testkit::{Answer, Reply, Request, Script, Step};

use super::said;
use crate::signer::OpenSigner;

/// Where chat completions are asked for.
pub(super) const PATH: &str = "/v1/chat/completions";

/// A credential such as every request carries; it goes into no record.
pub(super) const CREDENTIAL: &str = "Bearer sk-bench-4f9d2c7a1e8b6350f9d2c7a1";

/// The header by which a request for a stream names the gate before the second event.
pub(super) const GATE: &str = "x-bench-gate";

/// The gate that is open from the beginning: who passes it has sent all before it.
pub(super) const OPEN: &str = "open";

/// How an answer comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// At once, about 2 KB.
    Answer,
    /// As 30 events.
    Stream,
}

impl Kind {
    /// Both.
    pub(super) const ALL: [Kind; 2] = [Self::Answer, Self::Stream];

    /// The name of its rows.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Stream => "stream",
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
        let said = said.map(|(role, text)| format!(r#"{{"role":"{role}","content":"{text}"}}"#));
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
        // 27 words, each an event; and three events around them.
        let length = if self == Self::Stream { 135 } else { 1400 };
        Reply::text(long_text(length)).answer(&request)
    }
}

/// The vendor's side of all calls. A stream sends its first event, waits until its client has it, and then
/// sends each of the others by itself: at a real vendor, too, nothing else happens while the first one is on its way.
pub(super) fn script() -> Script {
    let [answer, stream] = Kind::ALL.map(Kind::answer);
    Script::answering(move |request| match request.header(GATE) {
        None => answer.clone(),
        Some(gate) => {
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

/// A run that is being recorded, in a folder that is gone when this is.
pub(super) struct Book {
    place: Place,
    recorder: Recorder<Recording>,
    signer: OpenSigner,
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
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("run-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let place = Place(folder.join(name));
        let signer = OpenSigner::new(7)?;
        let start = RunStart::new(RunId::generate().map_err(said)?);
        let recorder = Recorder::begin(&Folder::new(&place.0), &start, &signer).map_err(said)?;
        Ok(Self { place, recorder, signer })
    }

    /// Something to write with.
    pub(super) fn pen(&self) -> Pen {
        self.recorder.pen()
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
        mut sealed: impl FnMut(&Sealed, std::time::Duration) -> Result<(), String>,
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

    #[test]
    fn the_calls_are_as_large_as_the_table_says() {
        for kind in Kind::ALL {
            let prompt = kind.prompt(7);
            Value::parse(&prompt, &Limits::default()).unwrap();
            assert!((3900..4300).contains(&prompt.len()), "{}", prompt.len());
        }
        let answer = Kind::Answer.answer().body();
        assert!((1900..2200).contains(&answer.len()), "{}", answer.len());
        let stream = Kind::Stream.answer();
        assert!(stream.is_stream());
        assert_eq!(stream.steps.len(), 30);
    }
}
