use super::*;
use crate::rer::envelope::money::Money;
use reenact_json::{Digest, Limits, Value};

/// Leaf types that were never masked: for tests.
struct Plain;

impl Leaves for Plain {
    type Text = &'static str;
    type Json = &'static str;
    type Body = &'static str;
    type Headers = Vec<(&'static str, &'static str)>;
}

/// Writer of members as they come, without a salt.
#[derive(Default)]
struct Text(String);

impl Text {
    fn put(&mut self, name: &str, value: &str) {
        if !self.0.is_empty() && !self.0.ends_with('{') {
            self.0.push(',');
        }
        self.0.push_str(&format!("\"{name}\":{value}"));
    }

    fn list<T>(&mut self, name: &str, items: &[T], item: impl Fn(&T) -> String) {
        let items: Vec<String> = items.iter().map(item).collect();
        self.put(name, &format!("[{}]", items.join(",")));
    }
}

impl PayloadWriter<Plain> for Text {
    fn text(&mut self, name: &'static str, text: &&'static str) {
        self.put(name, &format!("\"{text}\""));
    }

    fn texts(&mut self, name: &'static str, texts: &[&'static str]) {
        self.list(name, texts, |text| format!("\"{text}\""));
    }

    fn json(&mut self, name: &'static str, value: &&'static str) {
        self.put(name, value);
    }

    fn body(&mut self, name: &'static str, body: &&'static str) {
        self.put(name, &format!("{{\"text\":\"{body}\"}}"));
    }

    fn headers(&mut self, name: &'static str, headers: &Vec<(&'static str, &'static str)>) {
        self.list(name, headers, |(name, value)| format!("[\"{name}\",\"{value}\"]"));
    }

    fn constant(&mut self, name: &'static str, word: &'static str) {
        self.put(name, &format!("\"{word}\""));
    }

    fn whole(&mut self, name: &'static str, number: &u64) {
        self.put(name, &number.to_string());
    }

    fn integer(&mut self, name: &'static str, number: &i64) {
        self.put(name, &number.to_string());
    }

    fn integers(&mut self, name: &'static str, numbers: &[i64]) {
        self.list(name, numbers, i64::to_string);
    }

    fn double(&mut self, name: &'static str, number: &f64) {
        self.put(name, &number.to_string());
    }

    fn money(&mut self, name: &'static str, amount: &Money) {
        self.put(name, &amount.decimal());
    }

    fn chunks(&mut self, name: &'static str, chunks: &[Chunk]) {
        self.list(name, chunks, |chunk| format!("[{},{}]", chunk.at.as_millis(), chunk.length));
    }

    fn flag(&mut self, name: &'static str, flag: &bool) {
        self.put(name, &flag.to_string());
    }

    fn null(&mut self, name: &'static str) {
        self.put(name, "null");
    }

    fn digest(&mut self, name: &'static str, digest: &Digest) {
        self.put(name, &format!("\"{digest}\""));
    }

    fn step(&mut self, name: &'static str, step: &StepId) {
        self.put(name, &format!("\"{step}\""));
    }

    fn object(&mut self, name: &'static str, members: impl FnOnce(&mut Self)) {
        self.put(name, "{");
        members(self);
        self.0.push('}');
    }

    fn objects<T>(&mut self, name: &'static str, items: &[T], members: impl Fn(&T, &mut Self)) {
        self.list(name, items, |item| written(|out| members(item, out)));
    }

    fn hashed_files(&mut self, name: &'static str, files: &[(&'static str, Digest)]) {
        self.list(name, files, |(path, digest)| format!("[\"{path}\",\"{digest}\"]"));
    }

    fn addresses(&mut self, name: &'static str, addresses: &[std::net::SocketAddr]) {
        self.list(name, addresses, |address| format!("[\"{}\",{}]", address.ip(), address.port()));
    }
}

fn written(write: impl FnOnce(&mut Text)) -> String {
    let mut text = Text::default();
    write(&mut text);
    format!("{{{}}}", text.0)
}

fn parsed(text: &str) -> Value<'_> {
    let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
    assert!(value.is_canonical(), "{text}");
    value
}

#[test]
fn what_is_written_is_read() {
    let answer = ExchangeReturned::<Plain> {
        complete: true,
        delivered: None,
        ended_by: EndedBy::Client,
        http: HttpAnswer {
            body: "hello",
            chunks: Some(vec![Chunk { at: std::time::Duration::from_millis(7), length: 5 }]),
            content_encoding: None,
            headers: vec![("a", "b")],
            trailers: None,
            version: Some("1.1"),
            wire_sha256: Digest::of(b""),
        },
        latency_ms: 9,
        source: EventSource::Observed,
        status: None,
        step_id: StepId(3),
        ttft_ms: Some(8),
    };
    let text = written(|out| answer.write(out));
    let view = ExchangeReturnedView::read(parsed(&text));
    assert_eq!(view.complete.flag(), Ok(Some(true)));
    assert!(view.delivered.raw().is_none(), "left out");
    assert!(view.status.raw().is_some_and(|status| status.is_null()), "said to be nothing");
    assert!(view.status.value().is_none());
    assert_eq!(view.ended_by.word(), Some(EndedBy::Client));
    assert_eq!(view.source.word(), Some(EventSource::Observed));
    assert_eq!(StepId::of(view.step_id.required().unwrap()), Some(StepId(3)));
    let http = HttpAnswerView::read(view.http.required().unwrap());
    assert_eq!(http.version.required_text().as_deref(), Ok("1.1"));
    let chunks = http.chunks.list("chunks", Chunk::of).unwrap().unwrap();
    assert_eq!(chunks, answer.http.chunks.unwrap());
}

#[test]
fn a_fault_names_its_member() {
    let text = r#"{"http":{"method":1},"provider":null}"#;
    let view = ExchangeCalledView::read(parsed(text));
    assert_eq!(view.provider.required_text(), Err(MemberFault::Missing { member: "provider" }));
    let http = HttpRequestView::read(view.http.required().unwrap());
    let fault = http.method.text().unwrap_err();
    assert_eq!(fault.to_string(), "http.method is a number, not a string");
    assert_eq!(http.path.required().unwrap_err().to_string(), "http.path is missing");
}

#[test]
fn what_is_no_object_has_no_members() {
    for text in ["null", "1", "[]", "\"tool\""] {
        assert!(ToolCalledView::read(parsed(text)).tool.raw().is_none(), "{text}");
    }
}

#[test]
fn canonical_order_is_by_bytes() {
    assert!(is_sorted(&["a", "ab", "b"]));
    assert!(is_sorted(&[]));
    for wrong in [["b", "a"], ["ab", "a"], ["a", "a"]] {
        assert!(!is_sorted(&wrong), "{wrong:?}");
    }
}

#[test]
fn a_recovery_is_words_and_numbers() {
    let recovered = RunRecovered { from: RecoverySource::Log, lost: Some(3), source: EventSource::Observed };
    let text = written(|out| recovered.write(out));
    assert_eq!(text, r#"{"from":"log","lost":3,"source":"observed"}"#);
    let view = RunRecoveredView::read(parsed(&text));
    assert_eq!(view.from.word(), Some(RecoverySource::Log));
    let whole = RunRecovered { from: RecoverySource::Journal, lost: None, ..recovered };
    assert_eq!(written(|out| whole.write(out)), r#"{"from":"journal","source":"observed"}"#);
    let changed = JournalChanged { at: 5, kept: 5, source: EventSource::Observed };
    assert_eq!(written(|out| changed.write(out)), r#"{"at":5,"kept":5,"source":"observed"}"#);
}

/// Beginning of a run without anything that may be left out.
fn run_started() -> RunStarted<Plain> {
    RunStarted {
        agent: None,
        capture: None,
        command: None,
        enforcement: "observe",
        envelope_hash: Digest::of(b""),
        environment: Environment {
            arch: "x86_64",
            folder: None,
            home: None,
            os: "linux",
            reenact: "0.1.0",
            runtimes: Vec::new(),
            temp: None,
        },
        files: None,
        import: None,
        observer: None,
        parent: None,
        payloads: None,
        redaction: RedactionPack { digest: Digest::of(b""), pack: "standard" },
        runtime_version: "0.1.0",
        source: EventSource::Observed,
    }
}

#[test]
fn the_beginning_of_a_run_names_agent_places_and_files() {
    let mut started = run_started();
    started.agent = Some(Agent { login: AgentLogin::OAuth, name: "codex", version: Some("0.166.0") });
    started.capture = Some(CaptureMode::Cooperative);
    started.environment.folder = Some("/work");
    started.environment.home = Some("/home/me");
    started.environment.temp = Some("/tmp");
    started.files = Some(WorkTree { clean: Some(false), commit: Some("c0ffee") });
    started.observer =
        Some(vec![ObserverEffect { set: "A=1", why: "so" }, ObserverEffect { set: "B", why: "" }]);
    started.parent = Some(ParentRun { digest: None, mode: ForkMode::From, run_id: "0198", step_id: "3" });
    started.payloads = Some(PAYLOADS_VERSION);
    let text = written(|out| started.write(out));
    let view = RunStartedView::read(parsed(&text));
    let agent = AgentView::read(view.agent.required().unwrap());
    assert_eq!(agent.login.word(), Some(AgentLogin::OAuth));
    assert_eq!(agent.name.required_text().as_deref(), Ok("codex"));
    assert_eq!(agent.version.required_text().as_deref(), Ok("0.166.0"));
    assert_eq!(view.capture.word(), Some(CaptureMode::Cooperative));
    let places = EnvironmentView::read(view.environment.required().unwrap());
    assert_eq!(places.folder.required_text().as_deref(), Ok("/work"));
    assert_eq!(places.home.required_text().as_deref(), Ok("/home/me"));
    assert_eq!(places.temp.required_text().as_deref(), Ok("/tmp"));
    let files = WorkTreeView::read(view.files.required().unwrap());
    assert_eq!(
        (files.clean.flag(), files.commit.required_text().as_deref()),
        (Ok(Some(false)), Ok("c0ffee"))
    );
    let parent = ParentRunView::read(view.parent.required().unwrap());
    assert_eq!(parent.mode.word(), Some(ForkMode::From));
    let observer = r#""observer":[{"set":"A=1","why":"so"},{"set":"B","why":""}],"parent":{"mode":"from","run_id":"0198","step_id":"3"},"payloads":2,"#;
    assert!(text.contains(observer), "{text}");
}

#[test]
fn the_beginning_of_a_run_of_0_1_0_is_read() {
    let text = written(|out| run_started().write(out));
    assert_eq!(
        text,
        format!(
            r#"{{"enforcement":"observe","envelope_hash":"{0}","environment":{{"arch":"x86_64","os":"linux","reenact":"0.1.0","runtimes":{{}}}},"redaction":{{"digest":"{0}","pack":"standard"}},"runtime_version":"0.1.0","source":"observed"}}"#,
            Digest::of(b"")
        )
    );
    let view = RunStartedView::read(parsed(&text));
    for member in [view.agent, view.capture, view.files, view.observer, view.parent, view.payloads] {
        assert!(member.raw().is_none());
    }
}

#[test]
fn the_end_of_a_run_names_files_and_output() {
    let files = FileChanges::<Plain> {
        added: vec![("a/b", Digest::of(b"1")), ("c", Digest::of(b"2"))],
        changed: Vec::new(),
        more: Some(3),
        removed: vec!["d"],
    };
    let (one, two) = (Digest::of(b"1"), Digest::of(b"2"));
    assert_eq!(
        written(|out| files.write(out)),
        format!(r#"{{"added":[["a/b","{one}"],["c","{two}"]],"changed":[],"more":3,"removed":["d"]}}"#)
    );
}

#[test]
fn input_and_addresses() {
    let read = StdinRead::<Plain> { body: "diff", complete: true, source: EventSource::Observed };
    assert_eq!(
        written(|out| read.write(out)),
        r#"{"body":{"text":"diff"},"complete":true,"source":"observed"}"#
    );
    let addresses = ["192.0.2.7:443", "[2001:db8::1]:8443"].map(|text| text.parse().unwrap()).to_vec();
    let seen = NetSeen { addresses, sampled: true, source: EventSource::Observed };
    assert_eq!(
        written(|out| seen.write(out)),
        r#"{"addresses":[["192.0.2.7",443],["2001:db8::1",8443]],"sampled":true,"source":"observed"}"#
    );
}
