//! What the gateway's tests share: a run that is recorded, sealed, judged and played; and a client that hides nothing.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, reason = "each test file uses a part of this one")]

// As the command has it: what is tested here is what it serves.
#[path = "../../../cli/src/command/replay/answers.rs"]
mod answers;
pub(crate) mod client;
pub(crate) mod enforced;
pub(crate) mod trace;
pub(crate) mod wreck;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use reenact_formats::rer::seal::Signer;
use reenact_gateway::{
    Environment, Gateway, Limits, Pace, Recording, Replaying, Route, Token, Unrecorded, UpstreamUrl, Work,
};
use reenact_keys::SecretKey;
use reenact_record::wal;
use reenact_record::{
    Durability, End, Folder, Recorder, Recording as Recordable, RunId, RunStart, RunStatus, Surroundings,
};
use reenact_replay::Player;
use reenact_run::{Run, open};
use reenact_testkit::Vendor;
use reenact_testkit::fixture::TestDir;
use reenact_verify::{Keys, Options, Report};
use reenact_wire::VENDORS;
use serde_json::Value;

/// Returns an environment that takes this vendor's certificate for good; its file lies in `dir`.
pub(crate) fn trusting(dir: &TestDir, vendor: &Vendor) -> Environment {
    let file = dir.write("ca.pem", vendor.authority_pem().unwrap());
    Environment { ssl_cert_file: Some(file), ..Environment::default() }
}

/// A fresh folder for logs, in memory.
pub(crate) struct Logs(pub(crate) TestDir);

impl Logs {
    /// `None` on a machine that has no such folder.
    pub(crate) fn new() -> Option<Self> {
        let dir = TestDir::in_memory();
        wal::Place::at(dir.path()).ok().map(|_| Self(dir))
    }

    pub(crate) fn place(&self) -> wal::Place {
        wal::Place::at(self.0.path()).unwrap()
    }
}

pub(crate) fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

pub(crate) fn url(text: &str) -> UpstreamUrl {
    text.parse().unwrap()
}

/// A route for each kind of vendor, all of them to one.
pub(crate) fn routes(root: &str) -> Vec<Route> {
    VENDORS.map(|kind| Route::to(kind, url(&format!("{root}{}", kind.base_path())))).to_vec()
}

/// A run that is being recorded.
pub(crate) struct Flight {
    pub(crate) place: TestDir,
    pub(crate) gateway: Gateway,
    key: SecretKey,
    recorder: Recorder<Recordable>,
    run_id: RunId,
    /// Where its log is, if it has one.
    pub(crate) logs: Option<Logs>,
}

impl Flight {
    /// To a vendor, with nothing in the environment.
    pub(crate) fn to(vendor: &Vendor) -> Self {
        Self::with(routes(&vendor.root_url()), Environment::default(), Limits::default())
    }

    pub(crate) fn with(routes: Vec<Route>, environment: Environment, limits: Limits) -> Self {
        Self::start(routes, environment, limits, Logs::new(), Durability::Process, |_| {})
    }

    /// On a machine that has no place for a log: everything waits for the journal.
    pub(crate) fn waiting(vendor: &Vendor) -> Self {
        let (environment, limits) = (Environment::default(), Limits::default());
        Self::start(routes(&vendor.root_url()), environment, limits, None, Durability::Process, |_| {})
    }

    /// Recorded so that it survives the machine.
    pub(crate) fn durable(vendor: &Vendor) -> Self {
        let (environment, limits) = (Environment::default(), Limits::default());
        Self::start(routes(&vendor.root_url()), environment, limits, Logs::new(), Durability::Machine, |_| {})
    }

    /// The status of an answer to one question.
    pub(crate) async fn ask(&self) -> u16 {
        self.openai().post("/chat/completions", &chat("hi", true)).await.status()
    }

    pub(crate) fn journal_path(&self) -> std::path::PathBuf {
        Folder::new(self.place.join(Folder::NAME)).journal(self.run_id)
    }

    /// With a log that takes nothing; `None` on a machine that has no place for one.
    pub(crate) fn with_failed_log(vendor: &Vendor) -> Option<Self> {
        let (routes, logs) = (routes(&vendor.root_url()), Logs::new()?);
        let fail = |log: &wal::Wal| log.remove().unwrap();
        let (environment, limits) = (Environment::default(), Limits::default());
        Some(Self::start(routes, environment, limits, Some(logs), Durability::Process, fail))
    }

    /// With everything written down that is done to its files; `None` on a machine that has no place for a log.
    pub(crate) fn traced(vendor: &Vendor, durability: Durability, trace: &trace::Trace) -> Option<Self> {
        let surroundings = Surroundings { storage: Arc::new(trace.clone()), ..Surroundings::default() };
        let (environment, limits, logs) = (Environment::default(), Limits::default(), Logs::new()?);
        let routes = routes(&vendor.root_url());
        Some(Self::start_in(&surroundings, routes, environment, limits, Some(logs), durability, |_| {}))
    }

    fn start(
        routes: Vec<Route>,
        environment: Environment,
        limits: Limits,
        logs: Option<Logs>,
        durability: Durability,
        prepare: impl Fn(&wal::Wal),
    ) -> Self {
        Self::start_in(&Surroundings::default(), routes, environment, limits, logs, durability, prepare)
    }

    fn start_in(
        surroundings: &Surroundings,
        routes: Vec<Route>,
        environment: Environment,
        limits: Limits,
        logs: Option<Logs>,
        durability: Durability,
        prepare: impl Fn(&wal::Wal),
    ) -> Self {
        let (place, key, run_id) =
            (TestDir::new(), SecretKey::generate().unwrap(), RunId::generate().unwrap());
        let folder = Folder::new(place.join(Folder::NAME));
        let recorder = Recorder::begin_in(&folder, &RunStart::new(run_id), &key, surroundings).unwrap();
        let log = logs.as_ref().map(|logs| recorder.pen().log(&logs.place(), run_id).unwrap());
        log.iter().for_each(prepare);
        let work = Work::Record(Box::new(Recording {
            pen: recorder.pen(),
            log,
            durability,
            policy: None,
            routes,
            environment,
            limits,
        }));
        let gateway = Gateway::start(listener(), Token::generate().unwrap(), work).unwrap();
        Self { place, gateway, key, recorder, run_id, logs }
    }

    pub(crate) fn run_id(&self) -> RunId {
        self.run_id
    }

    pub(crate) fn key(&self) -> &SecretKey {
        &self.key
    }

    pub(crate) fn openai(&self) -> client::Client {
        client::Client::of(&self.gateway.base_url("openai").unwrap())
    }

    pub(crate) fn anthropic(&self) -> client::Client {
        client::Client::of(&self.gateway.base_url("anthropic").unwrap())
    }

    pub(crate) fn gemini(&self) -> client::Client {
        client::Client::of(&self.gateway.base_url("gemini").unwrap())
    }

    pub(crate) fn pen(&self) -> reenact_record::Pen {
        self.recorder.pen()
    }

    /// The journal as it is now: each event's type and payload.
    pub(crate) fn journal(&self) -> Vec<(String, Value)> {
        let folder = Folder::new(self.place.join(Folder::NAME));
        let text = fs::read_to_string(folder.journal(self.run_id)).unwrap();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter_map(|line| event(&line))
            .collect()
    }

    /// The types of the events so far.
    pub(crate) fn types(&self) -> Vec<String> {
        self.journal().into_iter().map(|(name, _)| name).collect()
    }

    /// Ends the run while its gateway goes on.
    pub(crate) fn end_recorder(self) -> Gateway {
        let end = End { status: RunStatus::Crashed, reason: "gone", exit_code: None };
        self.recorder.end(&end).unwrap();
        self.gateway
    }

    /// Ends, seals, judges and opens the run.
    pub(crate) async fn land(self) -> Landed {
        let stopped = self.gateway.stop().await;
        let ended =
            self.recorder.end(&End { status: RunStatus::Completed, reason: "exit", exit_code: Some(0) });
        let sealed = ended.unwrap().seal(&self.key).unwrap();
        Landed { stopped, ..Landed::of(self.place, &sealed.path, &self.key) }
    }
}

fn event(line: &Value) -> Option<(String, Value)> {
    Some((line["event_type"].as_str()?.to_owned(), line["payload"].clone()))
}

/// A run that was recorded and sealed, and holds.
pub(crate) struct Landed {
    pub(crate) place: TestDir,
    pub(crate) run: Run,
    pub(crate) events: Vec<(String, Value)>,
    pub(crate) stopped: Result<(), Unrecorded>,
    pub(crate) report: Report,
}

impl Landed {
    /// Judges and opens a sealed run.
    pub(crate) fn of(place: TestDir, path: &Path, key: &SecretKey) -> Self {
        let bytes = fs::read(path).unwrap();
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        let mut keys = Keys::default();
        keys.supply(key.public_key());
        let opened = open(bytes, &keys, &Options::default());
        assert!(opened.report.pass(), "{:?}", opened.report);
        let events = document["events"].as_array().unwrap().iter().filter_map(event).collect();
        Landed { place, run: opened.run.unwrap(), events, stopped: Ok(()), report: opened.report }
    }

    pub(crate) fn types(&self) -> Vec<&str> {
        self.events.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The payloads of one type, in order.
    pub(crate) fn all(&self, event_type: &str) -> Vec<&Value> {
        self.events.iter().filter(|(name, _)| name == event_type).map(|(_, payload)| payload).collect()
    }

    /// The only one of its type.
    pub(crate) fn the(&self, event_type: &str) -> &Value {
        match self.all(event_type)[..] {
            [payload] => payload,
            ref several => panic!("{} of {event_type} in {:?}", several.len(), self.types()),
        }
    }

    /// A gateway that plays it, without any vendor.
    pub(crate) fn replay(&self, pace: Pace) -> Replay {
        let player = Arc::new(Player::load(&self.run).unwrap());
        let answers = Arc::new(answers::RecordedRun(Arc::clone(&player)));
        let routes = routes("http://vendor.invalid");
        let work = Work::Replay(Replaying { answers, pace, routes, limits: Limits::default() });
        let gateway = Gateway::start(listener(), Token::generate().unwrap(), work).unwrap();
        Replay { gateway, player }
    }
}

/// A run that is being played.
pub(crate) struct Replay {
    pub(crate) gateway: Gateway,
    pub(crate) player: Arc<Player>,
}

impl Replay {
    pub(crate) fn openai(&self) -> client::Client {
        client::Client::of(&self.gateway.base_url("openai").unwrap())
    }

    pub(crate) fn anthropic(&self) -> client::Client {
        client::Client::of(&self.gateway.base_url("anthropic").unwrap())
    }

    pub(crate) fn gemini(&self) -> client::Client {
        client::Client::of(&self.gateway.base_url("gemini").unwrap())
    }
}

/// A request for an answer of a model.
pub(crate) fn chat(text: &str, is_stream: bool) -> String {
    format!(r#"{{"model":"gpt-5","stream":{is_stream},"messages":[{{"role":"user","content":"{text}"}}]}}"#)
}
