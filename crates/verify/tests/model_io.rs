//! Model IO sessions at and over their limits, hostile ones, packs, and sessions that this project
//! writes.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use reenact_formats::Profile;
use reenact_formats::model_io::writer::{ModelIoMode, ModelIoPrompt, ModelIoSession, NewInteraction};
use reenact_formats::model_io::{ModelIoWriteFault, ModelIoWriter, content_hash, pack};
use reenact_json::shown::is_unsafe;
use reenact_json::{Digest, Limits, Value, canonical};
use reenact_verify::model_io::pack::MODEL_IO_BINDING;
use reenact_verify::model_io::{MI4, MI5, MI6, MI7, MI8};
use reenact_verify::report::MAX_LIST_ITEMS;
use reenact_verify::{
    BundleMembers, CheckId, FormatId, Keys, Options, Report, TargetOutcome, model_io, render, verify,
    verify_members,
};

fn options() -> Options {
    Options { format: Some(FormatId::ModelIo), ..Options::default() }
}

fn report_of(text: impl AsRef<[u8]>) -> Report {
    let bytes = text.as_ref();
    let report = verify(bytes, &Keys::default(), &options());
    let backwards = model_io::verify_with(bytes, &options(), |jobs| {
        let mut findings: Vec<_> = jobs.iter().rev().map(model_io::ModelIoJob::run).collect();
        findings.reverse();
        findings
    });
    assert_eq!(report, backwards, "jobs that ran in another order");
    let outcome = TargetOutcome::Report(report.clone());
    let printed = outcome.to_json("x")
        + &render::outcome_text("x", &outcome, &reenact_verify::Demands::default(), &render::plain);
    assert!(!printed.lines().flat_map(str::chars).any(is_unsafe));
    assert_eq!(report.pass(), report.violations().is_some_and(<[_]>::is_empty));
    report
}

fn session(interactions: &str) -> String {
    let rest = r#""model_io_schema_version":"1.0.0","adapter_id":"a","model_id":"m","mode":"record""#;
    format!("{{{rest},\"interactions\":[{interactions}]}}")
}

/// Returns an interaction whose response is written as `escaped` and means `text`.
fn interaction(i: usize, escaped: &str, text: &str) -> String {
    let hash = Digest::of(text.as_bytes());
    let prompt = Digest::of(b"");
    format!(
        r#"{{"i":{i},"prompt_hash":"sha256:{prompt}","response_hash":"sha256:{hash}","response_content":"{escaped}"}}"#
    )
}

fn many(count: usize, text: &str) -> String {
    let all: Vec<String> = (0..count).map(|i| interaction(i, text, text)).collect();
    session(&all.join(","))
}

fn violations(report: &Report) -> Vec<String> {
    let list = report.violations().into_iter().flatten();
    list.map(|one| format!("{} {} {}", one.rule_id, one.path, one.message)).collect()
}

#[test]
fn at_the_limits() {
    assert!(report_of(many(10_000, "x")).pass());
    let over = report_of(many(10_001, "x"));
    assert_eq!(violations(&over), ["MI4 $.interactions interactions length (10001) exceeds limit (10000)"]);
    for (escaped, text, bytes) in [
        ("a".repeat(1_000_000), "a".repeat(1_000_000), None),
        ("a".repeat(1_000_001), "a".repeat(1_000_001), Some(1_000_001)),
        ("é".repeat(500_000), "é".repeat(500_000), None),
        (format!("{}a", "é".repeat(500_000)), format!("{}a", "é".repeat(500_000)), Some(1_000_001)),
        ("\\ud83d\\ude00".repeat(250_000), "😀".repeat(250_000), None),
        ("\\u0000".repeat(1_000_000), "\0".repeat(1_000_000), None),
        ("\\n".repeat(1_000_001), "\n".repeat(1_000_001), Some(1_000_001)),
    ] {
        let report = report_of(session(&interaction(0, &escaped, &text)));
        let expected = bytes.map(|bytes: u64| {
            let path = "MI11 $.interactions[0].response_content";
            format!("{path} response_content size ({bytes} bytes) exceeds limit (1000000)")
        });
        assert_eq!(violations(&report), expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn all_responses_together() {
    let text = "a".repeat(1_000_000);
    let all: Vec<String> = (0..100).map(|i| interaction(i, &text, &text)).collect();
    let all = all.join(",");
    let report = verify(session(&all).as_bytes(), &Keys::default(), &options());
    assert!(report.pass(), "{:?}", report.reasons);
    let one_more = session(&format!("{all},{}", interaction(100, "b", "b")));
    let report = verify(one_more.as_bytes(), &Keys::default(), &options());
    let expected = "MI11 $.interactions total response bytes (100000001) exceeds limit (100000000)";
    assert_eq!(violations(&report), [expected]);
}

#[test]
fn what_is_no_object_is_judged_like_an_empty_one() {
    let empty = violations(&report_of(session("{},{}")));
    assert_eq!(empty.len(), 7);
    assert_eq!(empty[0], "MI5 $.interactions[0].i index must be a number, got undefined");
    assert_eq!(empty[6], "MI8 $.interactions[1] duplicate (prompt_hash, i) pair at index 1");
    for other in ["null,null", "0,true", "\"x\",[]"] {
        assert_eq!(violations(&report_of(session(other))), empty, "{other}");
    }
}

#[test]
fn doubles_are_found_however_far_apart() {
    // 9,999 interactions with their proper index, then one that repeats the pair of the fifth.
    let mut all: Vec<String> = (0..9_999).map(|i| interaction(i, "", "")).collect();
    all.push(interaction(5, "", ""));
    assert_eq!(
        violations(&report_of(session(&all.join(",")))),
        [
            "MI5 $.interactions[9999].i index must be 9999, got 5",
            "MI8 $.interactions[9999] duplicate (prompt_hash, i) pair at index 9999",
            "MI9 $.interactions[9999] interactions not sorted by i: 9998 >= 5",
        ]
    );
    // The same beyond the interactions that are kept.
    all[9_999] = interaction(9_999, "", "");
    all.extend((10_000..10_050).map(|i| interaction(i, "", "")));
    all.push(interaction(10_007, "", ""));
    let found = violations(&report_of(session(&all.join(","))));
    assert_eq!(found[2], "MI8 $.interactions[10050] duplicate (prompt_hash, i) pair at index 10050");
    // Pairs are compared as joined strings, so a bar in a value can act as the separator.
    let pairs = r#"{"prompt_hash":"x","i":"1|2"},{"prompt_hash":"x|1","i":2}"#;
    assert!(
        violations(&report_of(session(pairs))).iter().any(|one| one.starts_with("MI8 $.interactions[1] "))
    );
}

#[test]
fn the_list_is_bounded_and_the_count_is_not() {
    let report = report_of(session(&vec!["0"; 60_000].join(",")));
    let violations = report.violations().unwrap();
    let listed = violations.len();
    let of_rule = |rule: CheckId| violations.iter().filter(|found| found.rule_id == rule.name()).count();
    assert_eq!(of_rule(MI4), 1);
    for rule in [MI5, MI6, MI7, MI8] {
        assert!(of_rule(rule) >= 20, "{rule}: of each rule some are listed");
    }
    assert!((700..=MAX_LIST_ITEMS).contains(&listed), "{listed}");
    let all = 60_000 * 3 + 59_999 + 1;
    assert_eq!(report.notes, [format!("{} more violations were counted, but are not listed", all - listed)]);
    assert!(report.reasons.len() < 150, "{}", report.reasons.len());
    assert_eq!(report.failed().collect::<Vec<_>>(), [MI4, MI5, MI6, MI7, MI8]);
    // A list that fits is complete.
    let report = report_of(session(&vec!["{\"i\":9e9}"; 144].join(",")));
    assert_eq!(report.violations().unwrap().len(), 3 * 144 + 2 * 143);
    assert_eq!(report.notes, [""; 0]);
}

#[test]
fn long_values_are_cut_in_messages() {
    let mode = format!(r#""mode":"{}""#, "x".repeat(5_000_000));
    let report = report_of(session("").replace(r#""mode":"record""#, &mode));
    let [only] = report.violations().unwrap() else { panic!("one violation") };
    assert!(only.message.ends_with("xxx… (5000000 bytes)") && only.message.len() < 1_100);
}

#[test]
fn what_is_not_json_says_so() {
    let refused = |bytes: &[u8], why: &str| {
        let report = report_of(bytes);
        let found = violations(&report);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("PARSE $ Invalid JSON: ") && found[0].contains(why), "{found:?}");
        assert_eq!((report.format.as_str(), report.failed().count()), ("model-io/?", 13));
    };
    let good = session(&interaction(0, "x", "x"));
    for end in 0..good.len() {
        refused(&good.as_bytes()[..end], "");
    }
    refused(&[b"\xEF\xBB\xBF", good.as_bytes()].concat(), "byte order mark");
    refused(good.replace("\"x\"", "\"\u{1}\"").as_bytes(), "control character");
    let mut bytes = good.clone().into_bytes();
    let at = bytes.len() - 6;
    bytes[at] = 0xFF;
    assert_eq!(violations(&report_of(&bytes)).len(), 1);
    refused(good.replace("\"a\"", "NaN").as_bytes(), "a value was due");
    refused(session(&"[".repeat(100_000)).as_bytes(), "nested deeper than the limit of 512 levels");
    refused(session(r#"{"i":0,"\u0069":0}"#).as_bytes(), "the member name \"i\" stands twice");
    refused(session(r#"{"response_content":"\ud800"}"#).as_bytes(), "lone surrogate");
}

#[test]
fn numbers_beyond_everything() {
    let digits = "9".repeat(5_000);
    for (index, shown) in [("1e400", "Infinity"), ("-1e400", "-Infinity"), (digits.as_str(), "Infinity")] {
        let text = session(&interaction(0, "", "").replace("\"i\":0", &format!("\"i\":{index}")));
        let expected = format!("MI5 $.interactions[0].i index must be 0, got {shown}");
        assert_eq!(violations(&report_of(text)), [expected]);
    }
    // Members without a rule may hold any number.
    let text =
        session(&interaction(0, "", "").replace("\"i\":0", &format!("\"i\":-0.0,\"latency_ms\":{digits}")));
    assert!(report_of(text).pass());
}

#[test]
fn notes() {
    let text = session(&interaction(0, "", "").replace("\"i\":0", "\"i\":0,\"tokens_input\":5"));
    let with =
        |stats: &str| report_of(text.replace("\"mode\"", &format!("\"stats\":{stats},\"mode\""))).notes;
    assert_eq!(with(r#"{"total_interactions":1,"total_tokens_input":5,"total_latency_ms":9}"#), [""; 0]);
    assert_eq!(with(r#"{"total_interactions":"2","total_tokens_input":null}"#), [""; 0]);
    assert_eq!(with("7"), [""; 0]);
    assert_eq!(
        with(r#"{"total_interactions":2,"total_tokens_input":4}"#),
        [
            "stats.total_interactions is 2, but the interactions sum up to 1",
            "stats.total_tokens_input is 4, but the interactions sum up to 5",
        ]
    );
    let other = report_of(text.replace("1.0.0", "2.1.0"));
    assert!(other.pass());
    assert_eq!(other.notes, ["schema version 2.1.0 is of another major: judged by the rules of 1.0.0"]);
    assert_eq!(other.format, "model-io/2.1.0");
    assert_eq!(report_of(text.replace("1.0.0", "01.7.0")).notes, [""; 0]);
}

#[test]
fn only_what_holds_becomes_a_verified_session() {
    let all = [interaction(0, "x\\n", "x\n"), interaction(1, "y", "y")].join(",");
    let text = session(&all);
    let verified = model_io::verify_or_err(text.as_bytes(), &options()).unwrap();
    assert_eq!(verified.report(), &report_of(&text));
    let responses: Vec<_> =
        verified.interactions().iter().map(|one| one.response().unwrap().string().unwrap()).collect();
    assert_eq!(responses, ["x\n", "y"]);
    assert!(verified.head().mode.unwrap().is_string("record"));
    let named = content_hash(verified.model_io_hash());
    assert_eq!(verified.report().digests, [("model_io_hash", named)]);
    for other in [text.replace("\"y\"", "\"z\""), text.replace("model_id", "model"), "[]".into(), "{".into()]
    {
        let refused = model_io::verify_or_err(other.as_bytes(), &options()).unwrap_err();
        assert_eq!(refused.into_report(), report_of(&other));
    }
}

fn members(run: &str, session: &str) -> BundleMembers {
    let mut members = BundleMembers::default();
    members.add("run.json", &mut run.as_bytes()).unwrap();
    members.add("model_io.json", &mut session.as_bytes()).unwrap();
    members
}

#[test]
fn packs() {
    let good = session(&interaction(0, "x", "x"));
    let report_of = |run: &str, session: &str| {
        let report = verify_members(&members(run, session), &Keys::default(), &Options::default());
        let reason = report.reasons.iter().find_map(|reason| reason.strip_prefix("model_io_binding: "));
        (report.check(MODEL_IO_BINDING), reason.map(str::to_owned), report.pass())
    };
    let report = verify(good.as_bytes(), &Keys::default(), &Options::default());
    let hash = report.digests[0].1.clone();
    let digest = Digest::from_hex(&hash[7..]).unwrap();
    let run = pack::bind(br#"{"run_id":"r"}"#, &digest, &Limits::default()).unwrap();
    let run = String::from_utf8(run).unwrap();
    assert_eq!(report_of(&run, &good), (Some(true), None, true));
    assert_eq!(report_of("{}", &good), (None, None, true));
    assert_eq!(report_of(r#"{"model_io_hash":null}"#, &good), (None, None, true));
    let failed = |run: &str, session: &str, expected: String| {
        assert_eq!(report_of(run, session), (Some(false), Some(expected), false));
    };
    let other = session("");
    let other_hash = verify(other.as_bytes(), &Keys::default(), &Options::default()).digests[0].1.clone();
    failed(&run, &other, format!("run.json names {hash}, recomputed {other_hash}"));
    let broken = good.replace("\"i\":0", "\"i\":1");
    let why = format!("run.json names {hash}, but the session does not hold, so that it has no hash");
    failed(&run, &broken, why);
    let why = "model_io_hash in run.json is not sha256:<64 hex chars>, but x\\u{1b}";
    failed("{\"model_io_hash\":\"x\\u001b\"}", &good, why.into());
    failed("[]", &good, "run.json is an array, not an object".into());
    let (holds, reason, pass) = report_of("{", &good);
    assert_eq!((holds, pass), (Some(false), false));
    let begin = "run.json is not JSON that can be trusted: line 1, column 2 ($): ";
    assert!(reason.as_deref().is_some_and(|reason| reason.starts_with(begin)), "{reason:?}");
}

fn written(responses: &[String]) -> (Vec<u8>, Digest) {
    let about = ModelIoSession {
        adapter_id: "reenact/test",
        model_id: "m\"\u{1}",
        mode: ModelIoMode::Replay,
        created_at_utc: Some("2026-01-05T00:00:00Z"),
        ended_at_utc: None,
        stats: true,
    };
    let mut file = Vec::new();
    let mut writer = ModelIoWriter::begin(about, &mut file).unwrap();
    for response in responses {
        let metrics = Some(response.len() as u64);
        let interaction = NewInteraction {
            prompt: ModelIoPrompt::Text(response),
            response,
            tokens_input: metrics,
            tokens_output: None,
            latency_ms: metrics,
        };
        assert_eq!(writer.add(&interaction), Ok(Digest::of(response.as_bytes())));
    }
    let done = writer.finish();
    assert_eq!(done.interactions, responses.len());
    (file, done.model_io_hash)
}

proptest! {
    #[test]
    fn what_we_write_verifies(responses in prop::collection::vec(any::<String>(), 0..6)) {
        let (file, hash) = written(&responses);
        let report = report_of(&file);
        prop_assert!(report.pass(), "{:?}", report.reasons);
        prop_assert_eq!(&report.notes, &Vec::<String>::new());
        prop_assert_eq!(&report.digests, &vec![("model_io_hash", content_hash(&hash))]);
        let value = Value::parse(&file, &Limits::default()).unwrap();
        prop_assert_eq!(canonical::to_vec(value, Profile::ModelIo).unwrap(), file);
    }
}

#[test]
fn what_would_not_verify_is_not_written() {
    let about = |adapter_id, created_at_utc| ModelIoSession {
        adapter_id,
        model_id: "m",
        mode: ModelIoMode::Record,
        created_at_utc,
        ended_at_utc: None,
        stats: false,
    };
    let fault = |session| {
        let mut file = Vec::new();
        let fault = ModelIoWriter::begin(session, &mut file).err();
        assert!(file.is_empty());
        fault
    };
    assert_eq!(fault(about("", None)), Some(ModelIoWriteFault::Empty { member: "adapter_id" }));
    for text in ["2026-01-05", "2026-01-05T00:00:00+00:00"] {
        let expected = ModelIoWriteFault::Time { member: "created_at_utc", text: text.into() };
        assert_eq!(fault(about("a", Some(text))), Some(expected));
    }
    let mut file = Vec::new();
    let mut writer = ModelIoWriter::begin(about("a", None), &mut file).unwrap();
    let one = |response, latency_ms| NewInteraction {
        prompt: ModelIoPrompt::Digest(Digest::of(b"")),
        response,
        tokens_input: None,
        tokens_output: None,
        latency_ms,
    };
    let large = "a".repeat(1_000_001);
    let too_large = ModelIoWriteFault::ResponseTooLarge { bytes: 1_000_001 };
    assert_eq!(writer.add(&one(&large, None)), Err(too_large));
    assert_eq!(writer.add(&one("", Some(1 << 53))), Err(ModelIoWriteFault::Metric { member: "latency_ms" }));
    for _ in 0..100 {
        writer.add(&one(&large[1..], None)).unwrap();
    }
    assert_eq!(writer.add(&one("b", None)), Err(ModelIoWriteFault::TotalTooLarge { bytes: 100_000_001 }));
    for _ in 100..10_000 {
        writer.add(&one("", None)).unwrap();
    }
    assert_eq!(writer.add(&one("", None)), Err(ModelIoWriteFault::TooMany));
    let hash = writer.finish().model_io_hash;
    let report = verify(&file, &Keys::default(), &options());
    assert_eq!(report.digests, [("model_io_hash", content_hash(&hash))], "{:?}", report.reasons);
}
