//! Reading of imported artifacts: a record of another format, and the RER artifact that was imported from it,
//! say the same.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;

use reenact_formats::FormatId;
use reenact_formats::Profile;
use reenact_json::{Value, canonical};
use reenact_run::convert::source::unpack_replay_bundle;
use reenact_run::convert::{ImportSource, import};
use reenact_run::redact::{RedactionChoice, redact};
use reenact_run::{Event, ExchangeRequestBody, OpenedRecord, Run, open};
use reenact_testkit::fixture::TestKey;
use reenact_verify::{Keys, Options};
use support::{KeyRing as _, with_import_context};

fn file_bytes(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

fn import_source(source: &ImportSource<'_>) -> Run {
    import_withholding(source, &[])
}

/// Imports a record, withholds some events, and opens the artifact.
fn import_withholding(source: &ImportSource<'_>, events: &[usize]) -> Run {
    let key = TestKey::of(7);
    let mut artifact = with_import_context(&key, |context| import(source, context)).unwrap();
    if !events.is_empty() {
        let choice = RedactionChoice { events: events.to_vec(), ..RedactionChoice::default() };
        artifact = redact(&artifact, &choice, &reenact_json::Limits::default(), |_| None).unwrap().artifact;
    }
    let OpenedRecord { run, report } = open(artifact, &key.keys(), &Options::default());
    assert!(report.pass(), "{:?}", report.reasons);
    run.unwrap()
}

fn open_native(bytes: &[u8]) -> Run {
    open(bytes.to_vec(), &Keys::default(), &Options::default()).run.unwrap()
}

/// Returns the canonical text of JSON; other bytes are returned as they are.
fn canonical_text(bytes: &[u8], profile: Profile) -> String {
    let limits = reenact_json::Limits::default();
    let text = Value::parse(bytes, &limits).ok().and_then(|value| canonical::to_vec(value, profile).ok());
    String::from_utf8_lossy(&text.unwrap_or(bytes.to_vec())).into_owned()
}

/// Describes all exchanges and tool calls of a run as text, one line for each part.
fn described(run: &Run) -> Vec<String> {
    let profile = run.payload_format().row().profile;
    let body = |body: &ExchangeRequestBody<'_>| match body {
        ExchangeRequestBody::Hash(digest) => digest.to_string(),
        body => canonical_text(body.bytes(), profile),
    };
    let mut lines = Vec::new();
    for exchange in run.exchanges() {
        let request = exchange.request();
        lines.push(match request {
            Ok(request) => format!(
                "{:?} {} {} {:?} {:?} {} {} {}",
                exchange.kind,
                exchange.step_id(),
                request.provider,
                request.model,
                request.endpoint,
                request.method,
                request.path,
                body(&request.body)
            ),
            Err(why) => why.to_string(),
        });
        lines.push(match exchange.answer() {
            Ok(answer) => format!(
                "{:?} {:?} {:?} {} {:?}",
                answer.status,
                answer.detail,
                answer.latency,
                canonical_text(&answer.body, profile),
                exchange.message()
            ),
            Err(why) => why.to_string(),
        });
    }
    for tool in run.tool_calls() {
        let call = tool.call().map(|call| {
            (call.tool.into_owned(), call.input.map(|input| canonical_text(input.text(), profile)))
        });
        let result = tool.result().map(|result| {
            (
                result.output.map(|output| canonical_text(output.text(), profile)),
                result.output_hash.map(|hash| hash.into_owned()),
                result.is_error,
                result.latency,
            )
        });
        lines.push(format!("{} {call:?} {result:?}", tool.called.step_id()));
    }
    lines
}

#[test]
fn what_was_imported_says_the_same() {
    let cases = [
        (FormatId::Rpk, "examples/runs/invoice.rpk", 1),
        (FormatId::Rpk, "examples/runs/minimal.rpk", 0),
        (FormatId::ModelIo, "examples/runs/invoice.model_io.json", 2),
        (FormatId::ReplayJsonl, "examples/runs/invoice.replay/REPLAY.jsonl", 0),
    ];
    for (origin, path, exchanges) in cases {
        let bytes = file_bytes(path);
        let (native, imported) = (open_native(&bytes), import_source(&ImportSource::of(origin, &bytes)));
        assert_eq!(imported.payload_format(), native.payload_format(), "{path}");
        assert!(imported.is_imported() && !native.is_imported());
        assert_eq!(imported.format(), "rer-artifact/0.2");
        assert_eq!(described(&imported), described(&native), "{path}");
        assert_eq!(imported.exchanges().count(), exchanges, "{path}");
        assert_eq!(imported.summary().figures, native.summary().figures, "{path}");
        // The artifact has one event more at its beginning, and one at its end.
        assert_eq!(imported.len(), native.len() + 2, "{path}");
    }
}

#[test]
fn a_bundle_that_was_imported_is_one_still() {
    let archive = file_bytes("examples/runs/invoice.tar.gz");
    let (manifest, files) = unpack_replay_bundle(&archive).unwrap();
    let source = ImportSource { other_files: &files, ..ImportSource::of(FormatId::ReplayBundle, &manifest) };
    let (native, imported) = (open_native(&archive), import_source(&source));
    assert_eq!(imported.payload_format(), FormatId::ReplayBundle);
    assert_eq!(described(&imported), described(&native));
    let files =
        |run: &Run| run.files().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect::<Vec<_>>();
    assert_eq!(files(&imported), files(&native));
}

#[test]
fn texts_are_decoded_before_they_are_read() {
    // RFC 8785 cannot carry `1.0` and the integer as they are.
    let text = "{\"event\":\"ReplayHeader\",\"replay_version\":1}\n{\"event\":\"ToolCall\",\"id\":\"c\",\"params\":{\"a\":1.0,\"b\":18446744073709551615,\"$text\":1},\"tool\":\"t\"}\n{\"event\":\"ToolResult\",\"id\":\"c\",\"latency_ms\":7.0,\"step_utility\":1.0}\n";
    let imported = import_source(&ImportSource::of(FormatId::ReplayJsonl, text.as_bytes()));
    let item =
        imported.events().find_map(|event: Event<'_>| event.payload().value()?.member("params")).unwrap();
    assert!(core::str::from_utf8(item.text()).unwrap().contains("{\"$text\":\"1.0\"}"));
    let tool = imported.tool_calls().next().unwrap();
    assert_eq!(
        tool.call().unwrap().input.unwrap().text(),
        br#"{"$text":1,"a":1.0,"b":18446744073709551615}"#
    );
    let result = tool.result().unwrap();
    assert_eq!((result.latency.unwrap().as_millis(), result.utility), (7, Some(1.0)));
}

#[test]
fn formats_that_are_only_imported() {
    let run = import_source(&ImportSource::of(
        FormatId::RecordingSession,
        &file_bytes("crates/run/tests/restore/files/recording-session.json"),
    ));
    let exchange = run.exchanges().next().unwrap();
    assert_eq!(exchange.request().unwrap().body, ExchangeRequestBody::Prompt("hello".into()));
    assert_eq!(exchange.message().unwrap().text, "Good morning. Grüße, 世界.");
    let run = import_source(&ImportSource::of(
        FormatId::TypedReplay,
        &file_bytes("crates/run/tests/restore/files/typed.jsonl"),
    ));
    let tool = run.tool_calls().next().unwrap();
    assert_eq!((&*tool.call().unwrap().tool, tool.result().unwrap().utility), ("read_file", Some(0.5)));
    let run = import_source(&ImportSource::of(
        FormatId::SessionTimeline,
        &file_bytes("crates/run/tests/restore/files/session-timeline.json"),
    ));
    let results: Vec<_> =
        run.tool_calls().map(|tool| tool.result().unwrap().output.unwrap().text().to_vec()).collect();
    assert_eq!(results, [b"\"first\"".to_vec(), b"{\"lines\":18446744073709551615}".to_vec()]);
}

#[test]
fn what_is_withheld_leaves_no_answer_to_another_question() {
    let session = open_native(&file_bytes("examples/runs/invoice.model_io.json"));
    let all: Vec<_> = session.exchanges().map(|exchange| exchange.message().unwrap().text).collect();
    let bytes = file_bytes("examples/runs/invoice.model_io.json");
    let source = ImportSource::of(FormatId::ModelIo, &bytes);
    let said = |run: &Run| -> Vec<Option<String>> {
        run.exchanges().map(|exchange| exchange.message().map(|said| said.text)).collect()
    };
    let [one, two] = [Some(all[0].clone()), Some(all[1].clone())];
    assert_eq!(said(&import_withholding(&source, &[])), [one.clone(), two.clone()]);
    assert_eq!(said(&import_withholding(&source, &[2])), [None, two.clone()], "the first answer");
    let run = import_withholding(&source, &[1]);
    assert_eq!(said(&run), [one, two], "the first question");
    let asked: Vec<bool> = run.exchanges().map(|exchange| exchange.request().is_ok()).collect();
    assert_eq!(asked, [false, true]);

    let step = |at: usize, kind: &str, input: &str, output: &str| {
        format!(r#"{{"id":"{at}","type":"model.{kind}","input":{input},"output":{output},"metadata":{{}}}}"#)
    };
    let steps = [
        step(0, "request", r#"{"prompt":"one"}"#, "{}"),
        step(1, "response", "{}", r#"{"output":"1"}"#),
        step(2, "request", r#"{"prompt":"two"}"#, "{}"),
        step(3, "response", "{}", r#"{"output":"2"}"#),
    ];
    let rpk = format!(
        r#"{{"version":"1.0","metadata":{{}},"payload":{{"run":{{"id":"r","steps":[{}]}}}},"checksum":""}}"#,
        steps.join(",")
    );
    let source = ImportSource::of(FormatId::Rpk, rpk.as_bytes());
    assert_eq!(said(&import_withholding(&source, &[2])), [None, Some("2".into())]);
    assert_eq!(said(&import_withholding(&source, &[1])), [Some("1".into()), Some("2".into())]);
}
