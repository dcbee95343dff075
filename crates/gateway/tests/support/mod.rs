//! Support for the gateway's tests: runs that are recorded, sealed, verified and replayed, and a client that
//! shows raw HTTP.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, reason = "each test file uses a part of this one")]

// The command's own implementation, so that the tests cover what it serves.
#[path = "../../../cli/src/command/replay/answers.rs"]
mod answers;
pub(crate) mod client;
pub(crate) mod enforced;
pub(crate) mod killed_run;
pub(crate) mod trace;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use reenact_formats::rer::approval::Approver;
use reenact_formats::rer::seal::Signer;
use reenact_formats::trust::KeyRole;
use reenact_gateway::{
    ForkSource, Gateway, GatewayLimits, GatewayMode, GatewayToken, NetworkEnvironment, RecordingConfig,
    ReplayConfig, ReplayPace, Unrecorded, UpstreamUrl, VendorRoute,
};
use reenact_keys::SecretKey;
use reenact_record::wal;
use reenact_record::{
    Durability, RecordEnv, Recorder, Recording as Recordable, RunEnd, RunId, RunStart, RunStatus, RunStore,
};
use reenact_replay::Player;
use reenact_run::{Run, open};
use reenact_testkit::ScriptedVendor;
use reenact_testkit::fixture::TestDir;
use reenact_verify::{Keys, Options, Report, Trust};
use reenact_wire::VENDORS;
use serde_json::Value;

/// Returns an environment that trusts this vendor's certificate, whose file is written into `dir`.
pub(crate) fn environment_trusting(dir: &TestDir, vendor: &ScriptedVendor) -> NetworkEnvironment {
    let file = dir.write("ca.pem", vendor.authority_pem().unwrap());
    NetworkEnvironment { ssl_cert_file: Some(file), ..NetworkEnvironment::default() }
}

/// Fresh folder for logs, in memory.
pub(crate) struct Logs(pub(crate) TestDir);

impl Logs {
    /// Returns `None` on a machine without a file system in memory.
    pub(crate) fn new() -> Option<Self> {
        let dir = TestDir::in_memory();
        // A log is kept only where others cannot enter, whatever the umask of the tests is.
        std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        wal::WalDir::open(dir.path()).ok().map(|_| Self(dir))
    }

    pub(crate) fn place(&self) -> wal::WalDir {
        wal::WalDir::open(self.0.path()).unwrap()
    }
}

pub(crate) fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

pub(crate) fn url(text: &str) -> UpstreamUrl {
    text.parse().unwrap()
}

/// Returns a route for each vendor, all to one server.
pub(crate) fn routes(root: &str) -> Vec<VendorRoute> {
    VENDORS.map(|kind| VendorRoute::to(kind, url(&format!("{root}{}", kind.base_path())))).to_vec()
}

/// Run that is being recorded.
pub(crate) struct LiveRun {
    pub(crate) dir: TestDir,
    pub(crate) gateway: Gateway,
    key: SecretKey,
    recorder: Recorder<Recordable>,
    run_id: RunId,
    /// Folder of the log; `None` without one.
    pub(crate) logs: Option<Logs>,
    /// Approvers by whose keys the sealed run is judged.
    pub(crate) approvers: Vec<Approver>,
}

impl LiveRun {
    /// Starts a run with one vendor and an empty environment.
    pub(crate) fn start(vendor: &ScriptedVendor) -> Self {
        Self::start_with(routes(&vendor.root_url()), NetworkEnvironment::default(), GatewayLimits::default())
    }

    pub(crate) fn start_with(
        routes: Vec<VendorRoute>,
        environment: NetworkEnvironment,
        limits: GatewayLimits,
    ) -> Self {
        Self::start_recording(routes, environment, limits, Logs::new(), Durability::Process, |_| {})
    }

    /// Starts a run without a log, so that everything waits for the journal.
    pub(crate) fn start_without_log(vendor: &ScriptedVendor) -> Self {
        let (environment, limits) = (NetworkEnvironment::default(), GatewayLimits::default());
        Self::start_recording(
            routes(&vendor.root_url()),
            environment,
            limits,
            None,
            Durability::Process,
            |_| {},
        )
    }

    /// Starts a run whose record survives the machine.
    pub(crate) fn start_durable(vendor: &ScriptedVendor) -> Self {
        let (environment, limits) = (NetworkEnvironment::default(), GatewayLimits::default());
        Self::start_recording(
            routes(&vendor.root_url()),
            environment,
            limits,
            Logs::new(),
            Durability::Machine,
            |_| {},
        )
    }

    /// Asks one question, and returns the status of the answer.
    pub(crate) async fn ask_model(&self) -> u16 {
        self.openai().post("/chat/completions", &chat("hi", true)).await.status()
    }

    pub(crate) fn journal_path(&self) -> std::path::PathBuf {
        RunStore::new(self.dir.join(RunStore::NAME)).journal_path(self.run_id)
    }

    /// Starts a run with a log that cannot be written; `None` on a machine without a place for one.
    pub(crate) fn start_with_failed_log(vendor: &ScriptedVendor) -> Option<Self> {
        let (routes, logs) = (routes(&vendor.root_url()), Logs::new()?);
        let fail = |log: &wal::Wal| log.remove().unwrap();
        let (environment, limits) = (NetworkEnvironment::default(), GatewayLimits::default());
        Some(Self::start_recording(routes, environment, limits, Some(logs), Durability::Process, fail))
    }

    /// Starts a run whose file operations are recorded in `trace`; `None` on a machine without a place for a
    /// log.
    pub(crate) fn start_traced(
        vendor: &ScriptedVendor,
        durability: Durability,
        trace: &trace::StorageTrace,
    ) -> Option<Self> {
        let surroundings = RecordEnv { storage: Arc::new(trace.clone()), ..RecordEnv::default() };
        let (environment, limits, logs) =
            (NetworkEnvironment::default(), GatewayLimits::default(), Logs::new()?);
        let routes = routes(&vendor.root_url());
        Some(Self::start_recording_in(
            &surroundings,
            (routes, None),
            environment,
            limits,
            Some(logs),
            durability,
            |_| {},
        ))
    }

    /// Starts a run some of whose requests `fork` answers.
    pub(crate) fn start_fork(vendor: &ScriptedVendor, fork: Arc<dyn ForkSource>) -> Self {
        let (environment, limits) = (NetworkEnvironment::default(), GatewayLimits::default());
        Self::start_recording_in(
            &RecordEnv::default(),
            (routes(&vendor.root_url()), Some(fork)),
            environment,
            limits,
            Logs::new(),
            Durability::Process,
            |_| {},
        )
    }

    fn start_recording(
        routes: Vec<VendorRoute>,
        environment: NetworkEnvironment,
        limits: GatewayLimits,
        logs: Option<Logs>,
        durability: Durability,
        prepare: impl Fn(&wal::Wal),
    ) -> Self {
        Self::start_recording_in(
            &RecordEnv::default(),
            (routes, None),
            environment,
            limits,
            logs,
            durability,
            prepare,
        )
    }

    fn start_recording_in(
        surroundings: &RecordEnv,
        (routes, fork): (Vec<VendorRoute>, Option<Arc<dyn ForkSource>>),
        environment: NetworkEnvironment,
        limits: GatewayLimits,
        logs: Option<Logs>,
        durability: Durability,
        prepare: impl Fn(&wal::Wal),
    ) -> Self {
        let (dir, key, run_id) = (TestDir::new(), SecretKey::generate().unwrap(), RunId::generate().unwrap());
        let folder = RunStore::new(dir.join(RunStore::NAME));
        let recorder =
            Recorder::builder(&folder, &key).env(surroundings.clone()).begin(&RunStart::new(run_id)).unwrap();
        let log =
            logs.as_ref().map(|logs| recorder.event_writer().create_wal(&logs.place(), run_id).unwrap());
        log.iter().for_each(prepare);
        let work = GatewayMode::Record(Box::new(RecordingConfig {
            fork,
            writer: recorder.event_writer(),
            log,
            durability,
            policy: None,
            routes,
            environment,
            limits,
        }));
        let gateway = Gateway::start(listener(), GatewayToken::generate().unwrap(), work).unwrap();
        Self { dir, gateway, key, recorder, run_id, logs, approvers: Vec::new() }
    }

    pub(crate) fn run_id(&self) -> RunId {
        self.run_id
    }

    pub(crate) fn key(&self) -> &SecretKey {
        &self.key
    }

    pub(crate) fn openai(&self) -> client::TestClient {
        client::TestClient::of(&self.gateway.base_url("openai").unwrap())
    }

    pub(crate) fn anthropic(&self) -> client::TestClient {
        client::TestClient::of(&self.gateway.base_url("anthropic").unwrap())
    }

    pub(crate) fn gemini(&self) -> client::TestClient {
        client::TestClient::of(&self.gateway.base_url("gemini").unwrap())
    }

    pub(crate) fn event_writer(&self) -> reenact_record::EventWriter {
        self.recorder.event_writer()
    }

    /// Returns type and payload of each event in the journal.
    pub(crate) fn journal(&self) -> Vec<(String, Value)> {
        let folder = RunStore::new(self.dir.join(RunStore::NAME));
        let text = fs::read_to_string(folder.journal_path(self.run_id)).unwrap();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter_map(|line| event(&line))
            .collect()
    }

    /// Returns the types of the events in the journal.
    pub(crate) fn types(&self) -> Vec<String> {
        self.journal().into_iter().map(|(name, _)| name).collect()
    }

    /// Ends the run while its gateway goes on.
    pub(crate) fn end_recorder(self) -> Gateway {
        let end = RunEnd::new(RunStatus::Crashed, "gone");
        self.recorder.end(&end).unwrap();
        self.gateway
    }

    /// Ends, seals, verifies and opens the run.
    pub(crate) async fn seal(self) -> SealedRun {
        let stopped = self.gateway.stop().await;
        let ended =
            self.recorder.end(&RunEnd { exit_code: Some(0), ..RunEnd::new(RunStatus::Completed, "exit") });
        let sealed = ended.unwrap().seal(&self.key).unwrap();
        SealedRun { stopped, ..SealedRun::open_with(self.dir, &sealed.path, &self.key, &self.approvers) }
    }
}

fn event(line: &Value) -> Option<(String, Value)> {
    Some((line["event_type"].as_str()?.to_owned(), line["payload"].clone()))
}

/// Run that was recorded and sealed, and whose verification passed.
pub(crate) struct SealedRun {
    pub(crate) dir: TestDir,
    pub(crate) run: Run,
    pub(crate) events: Vec<(String, Value)>,
    pub(crate) stopped: Result<(), Unrecorded>,
    pub(crate) report: Report,
}

impl SealedRun {
    /// Verifies and opens a sealed run.
    pub(crate) fn open(dir: TestDir, path: &Path, key: &SecretKey) -> Self {
        Self::open_with(dir, path, key, &[])
    }

    /// Verifies and opens a sealed run, with the keys of its approvers at hand.
    pub(crate) fn open_with(dir: TestDir, path: &Path, key: &SecretKey, approvers: &[Approver]) -> Self {
        let bytes = fs::read(path).unwrap();
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        let mut keys = Keys::default();
        keys.add_supplied(key.public_key());
        for approver in approvers {
            keys.add(approver.key, Trust::Trusted, KeyRole::Approver.into(), None);
        }
        let opened = open(bytes, &keys, &Options::default());
        assert!(opened.report.pass(), "{:?}", opened.report);
        let events = document["events"].as_array().unwrap().iter().filter_map(event).collect();
        SealedRun { dir, run: opened.run.unwrap(), events, stopped: Ok(()), report: opened.report }
    }

    pub(crate) fn types(&self) -> Vec<&str> {
        self.events.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the payloads of one type, in order.
    pub(crate) fn payloads(&self, event_type: &str) -> Vec<&Value> {
        self.events.iter().filter(|(name, _)| name == event_type).map(|(_, payload)| payload).collect()
    }

    /// Returns the payload of the only event of this type.
    pub(crate) fn only_payload(&self, event_type: &str) -> &Value {
        match self.payloads(event_type)[..] {
            [payload] => payload,
            ref several => panic!("{} of {event_type} in {:?}", several.len(), self.types()),
        }
    }

    /// Starts a gateway that replays the run, without any vendor.
    pub(crate) fn replay(&self, pace: ReplayPace) -> ReplayedRun {
        let player = Arc::new(Player::load(&self.run).unwrap());
        let answers = Arc::new(answers::PlayerAnswers(Arc::clone(&player)));
        let routes = routes("http://vendor.invalid");
        let work =
            GatewayMode::Replay(ReplayConfig { answers, pace, routes, limits: GatewayLimits::default() });
        let gateway = Gateway::start(listener(), GatewayToken::generate().unwrap(), work).unwrap();
        ReplayedRun { gateway, player }
    }
}

/// Run that is being replayed.
pub(crate) struct ReplayedRun {
    pub(crate) gateway: Gateway,
    pub(crate) player: Arc<Player>,
}

impl ReplayedRun {
    pub(crate) fn openai(&self) -> client::TestClient {
        client::TestClient::of(&self.gateway.base_url("openai").unwrap())
    }

    pub(crate) fn anthropic(&self) -> client::TestClient {
        client::TestClient::of(&self.gateway.base_url("anthropic").unwrap())
    }

    pub(crate) fn gemini(&self) -> client::TestClient {
        client::TestClient::of(&self.gateway.base_url("gemini").unwrap())
    }
}

/// Returns the body of a request to a model.
pub(crate) fn chat(text: &str, is_stream: bool) -> String {
    format!(r#"{{"model":"gpt-5","stream":{is_stream},"messages":[{{"role":"user","content":"{text}"}}]}}"#)
}
