//! Makes sealed artifacts for the tests of this crate and of those that use it: payloads in, bytes out.
#![allow(clippy::unwrap_used, dead_code, reason = "each test file uses a part of this one")]

use ed25519_dalek::{Signer as _, SigningKey};
use reenact_formats::key::PublicKey;
use reenact_formats::rer::Version;
use reenact_formats::rer::seal::{Chain, NewEvent, RunHeader, Signer};
use reenact_json::print;
use reenact_run::convert::Sealing;
use reenact_run::{Opened, Run, open};
use reenact_verify::{Keys, Options};

/// A private key, for tests only.
pub(crate) struct Key(SigningKey);

impl Key {
    pub(crate) fn of(seed: u8) -> Self {
        Self(SigningKey::from_bytes(&[seed; 32]))
    }

    pub(crate) fn keys(&self) -> Keys {
        Keys::from_raw(self.public_key().as_bytes())
    }
}

impl Signer for Key {
    fn public_key(&self) -> PublicKey {
        PublicKey::from_raw(self.0.verifying_key().as_bytes()).unwrap()
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

/// Lets something be sealed with a key of tests, at a time that does not pass, with salts that are told apart.
pub(crate) fn sealing<T>(key: &Key, seal: impl FnOnce(&mut Sealing<'_>) -> T) -> T {
    let mut count = 0_u128;
    let mut salts = || {
        count += 1;
        Some(count.to_le_bytes())
    };
    seal(&mut Sealing {
        run_id: "0197f22e-79b0-7cc3-98c4-dc0c0c07398f",
        version: "0.1.0",
        now: "2026-11-16T05:00:00.5Z",
        salts: &mut salts,
        signer: key,
    })
}

pub(crate) const ENVELOPE: &str = r#"{"envelope_version":"rer-envelope/0.2","permissions":{"allowed_models":["*"],
    "allowed_tools":["*"]},"limits":{},"metadata":{"reenact":{"enforcement":"observe"}}}"#;

/// Events as they come, to be sealed.
pub(crate) struct Tape {
    chain: Chain,
    next: u64,
}

impl Tape {
    /// Nothing yet.
    pub(crate) fn empty() -> Self {
        Self { chain: Chain::new(Version::V02), next: 0 }
    }

    /// A run that has begun.
    pub(crate) fn started() -> Self {
        Self::empty().event(
            "rer.run.started",
            r#"{"command":["python","agent.py"],"environment":{"os":"linux"},"enforcement":"observe"}"#,
        )
    }

    fn push(&mut self, event_type: &str, payload: Option<&str>, redacted: bool) {
        let second = self.next % 60;
        let timestamp = format!("2026-05-13T12:34:{second:02}.5Z");
        let event = NewEvent {
            step_index: self.next,
            event_type,
            timestamp: &timestamp,
            payload: payload.map(str::as_bytes),
            redacted,
        };
        self.chain.append(&event).unwrap();
        self.next += 1;
    }

    /// An event with a payload.
    pub(crate) fn event(mut self, event_type: &str, payload: &str) -> Self {
        self.push(event_type, Some(payload), false);
        self
    }

    /// An event without one.
    pub(crate) fn bare(mut self, event_type: &str) -> Self {
        self.push(event_type, None, false);
        self
    }

    /// An event whose payload is withheld.
    pub(crate) fn withheld(mut self, event_type: &str, payload: &str) -> Self {
        self.push(event_type, Some(payload), true);
        self
    }

    /// A model is asked.
    pub(crate) fn called(self, step: &str, request: &Asked<'_>) -> Self {
        self.event("rer.model.called", &request.payload(step))
    }

    /// It answers with this body, all at once.
    pub(crate) fn returned(self, step: &str, body: &str) -> Self {
        let http = format!(
            r#"{{"version":"1.1","headers":[["content-type","application/json"]],"body":{},"wire_sha256":"{}"}}"#,
            text(body),
            "0".repeat(64)
        );
        self.event(
            "rer.model.returned",
            &answer(step, &http, r#""status":200,"complete":true,"ended_by":"eof""#),
        )
    }

    /// The command ends.
    pub(crate) fn ended(self, exit_code: i32) -> Self {
        let payload = format!(r#"{{"status":"completed","reason":"exit","exit_code":{exit_code}}}"#);
        self.event("rer.run.ended", &payload)
    }

    /// The artifact.
    pub(crate) fn seal(self, key: &Key) -> Vec<u8> {
        let run = RunHeader {
            run_id: "0196c9a2-0000-7000-8000-000000000001",
            implementation: "reenact",
            version: "0.1.0",
            envelope: ENVELOPE.as_bytes(),
            manifest_hash: None,
        };
        self.chain.seal(&run, key).unwrap()
    }

    /// The artifact, opened; every check must hold, whatever its payloads say.
    pub(crate) fn run(self) -> Run {
        let key = Key::of(1);
        let Opened { run, report } = open(self.seal(&key), &key.keys(), &Options::default());
        assert!(report.pass(), "{:?}", report.reasons);
        run.unwrap()
    }
}

/// A request to a model.
pub(crate) struct Asked<'a> {
    pub(crate) provider: &'a str,
    pub(crate) path: &'a str,
    pub(crate) endpoint: Option<&'a str>,
    pub(crate) headers: &'a str,
    pub(crate) body: &'a str,
    pub(crate) match_key: &'a str,
}

/// A chat completion, its body still to be given.
pub(crate) const CHAT: Asked<'static> = Asked {
    provider: "openai",
    path: "/v1/chat/completions",
    endpoint: Some("chat.completions"),
    headers: r#"[["content-type","application/json"]]"#,
    body: "",
    match_key: "",
};

impl Asked<'_> {
    pub(crate) fn payload(&self, step: &str) -> String {
        let mut path = String::new();
        print::string(self.path, &mut path);
        format!(
            r#"{{"step_id":"{step}","provider":"{}","model":"gpt-5","endpoint":{},"http":{{"method":"POST","path":{path},"headers":{},"body":{}}},"match_key":{},"source":"observed"}}"#,
            self.provider,
            self.endpoint.map_or("null".into(), |endpoint| format!("\"{endpoint}\"")),
            self.headers,
            text(self.body),
            if self.match_key.is_empty() { "null".into() } else { format!("\"{}\"", self.match_key) },
        )
    }
}

/// A body of text.
pub(crate) fn text(body: &str) -> String {
    let mut out = String::from(r#"{"text":"#);
    print::string(body, &mut out);
    out + "}"
}

/// The payload of an answer: its step, its `http`, and other members.
pub(crate) fn answer(step: &str, http: &str, members: &str) -> String {
    format!(
        r#"{{"step_id":"{step}","http":{http},{members},"ttft_ms":3,"latency_ms":12.5,"source":"observed"}}"#
    )
}
