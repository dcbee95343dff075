//! Standard input and output as pipes, and verification on several threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, PipeWriter, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use reenact_formats::rer::RerVersion;
use reenact_formats::rer::seal::{ArtifactBuilder, NewEvent, RerRunHeader, Signer};
use reenact_testkit::fixture::TestKey;
use reenact_verify::demand::note_duplicate_runs;
use reenact_verify::{Keys, Options, TargetOutcome, verify};
use support::folder::Folder;
use support::root;

const KEY: &str = "vectors/rer/keys/alpha.jwk";
const RECORD: &str = "vectors/rer/valid/v39_canonical_file.json";

fn reenact(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = support::command(Path::new(env!("CARGO_BIN_EXE_reenact")), folder);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Returns exit code, standard output and standard error.
fn output_parts(output: Output) -> (Option<i32>, String, String) {
    let utf8 = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), utf8(output.stdout), utf8(output.stderr))
}

fn run(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    output_parts(reenact(folder, arguments).output().unwrap())
}

/// Returns the line of JSON that the library gives for these bytes on one thread.
fn expected_json(target: &str, bytes: &[u8], keys: &Keys) -> String {
    TargetOutcome::Report(verify(bytes, keys, &Options::default())).to_json(target) + "\n"
}

/// Loads the keys of a file in `vectors`, as the command does.
fn keys(path: &str) -> Keys {
    let mut keys = Keys::default();
    keys.extend(reenact_formats::key::read(&fs::read(root().join(path)).unwrap()).unwrap().keys);
    keys
}

// Output without a reader.

/// Returns a pipe whose reader is closed before anything is written.
fn closed_pipe() -> PipeWriter {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer
}

#[test]
fn a_reader_that_left_before_is_no_crash() {
    let folder = Folder::with_repository();
    let hash = ["hash", "--profile", "jcs", RECORD];
    let canon = ["canon", "--profile", "jcs", RECORD];
    for arguments in [&["verify", "vectors", "--json"][..], &["verify", "vectors"], &hash, &canon] {
        let output = reenact(&folder, arguments).stdout(closed_pipe()).output().unwrap();
        let (code, text, said) = output_parts(output);
        assert_eq!((code, text.as_str()), (Some(2), ""), "{arguments:?}");
        // The number changes with the vectors.
        let passed_over = said.strip_prefix("reenact: vectors: ");
        let passed_over = passed_over.and_then(|rest| rest.strip_suffix(" other files passed over\n"));
        assert!(said.is_empty() || passed_over.is_some_and(|n| n.parse::<u32>().is_ok()), "{said}");
    }
    // Unread help is no failure.
    for arguments in [["--help"], ["--version"]] {
        let output = reenact(&folder, &arguments).stdout(closed_pipe()).output().unwrap();
        assert_eq!(output_parts(output), (Some(0), String::new(), String::new()), "{arguments:?}");
    }
}

#[test]
fn a_reader_that_leaves_after_one_line_is_no_crash() {
    let folder = Folder::with_repository();
    // More than any pipe holds, so that the command is still writing when its reader leaves.
    let bytes = fs::read(root().join(RECORD)).unwrap();
    for at in 0..400 {
        folder.write(&format!("runs/{at:03}.rer.json"), &bytes);
    }
    let mut child = reenact(&folder, &["verify", "--json", "--key", KEY, "runs"]).spawn().unwrap();
    let mut first = String::new();
    BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("{\"target\":\"runs/000.rer.json\""), "{first}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output_parts(output), (Some(2), String::new(), String::new()));
}

#[test]
fn nobody_who_hears_complaints_is_no_crash() {
    let folder = Folder::with_repository();
    let missing = ["canon", "--profile", "jcs", "nowhere.json"];
    let private = ["verify", "--key", "vectors/rer/keys/alpha.private.jwk", RECORD];
    for (arguments, code) in [(&missing[..], 2), (&private, 0), (&["nonsense"], 2), (&[], 0)] {
        let output = reenact(&folder, arguments).stderr(closed_pipe()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_said() {
    let folder = Folder::with_repository();
    for arguments in [&["verify", "--key", KEY, RECORD][..], &["canon", "--profile", "jcs", RECORD]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = reenact(&folder, arguments).stdout(full).output().unwrap();
        let said = "reenact: the output could not be written: No space left on device (os error 28)\n";
        assert_eq!(output_parts(output), (Some(2), String::new(), said.to_owned()), "{arguments:?}");
    }
}

// Input that comes in pieces.

#[test]
fn standard_input_may_come_slowly() {
    let folder = Folder::with_repository();
    let bytes = fs::read(root().join(RECORD)).unwrap();
    let mut child =
        reenact(&folder, &["verify", "--json", "--key", KEY, "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for piece in bytes.chunks(61) {
        stdin.write_all(piece).unwrap();
        stdin.flush().unwrap();
        thread::yield_now();
    }
    drop(stdin);
    let expected = expected_json("-", &bytes, &keys(KEY));
    assert_eq!(output_parts(child.wait_with_output().unwrap()), (Some(0), expected, String::new()));
}

#[test]
fn standard_input_may_be_larger_than_a_pipe() {
    let (record, keys) = large_record();
    let folder = with_signer();
    let mut child = reenact(&folder, &["verify", "--json", "--key", "signer.bin", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let expected = expected_json("-", &record, &keys);
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(&record));
    assert_eq!(output_parts(child.wait_with_output().unwrap()), (Some(0), expected, String::new()));
    writer.join().unwrap().unwrap();
}

#[cfg(unix)]
fn fifo(folder: &Folder, name: &str) -> std::path::PathBuf {
    let path = folder.path().join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[test]
#[cfg(unix)]
fn a_fifo_is_read_like_a_file() {
    let folder = Folder::with_repository();
    let bytes = fs::read(root().join(RECORD)).unwrap();
    let key = fs::read(root().join(KEY)).unwrap();
    let expected = expected_json("run.fifo", &bytes, &keys(KEY));
    let (run_fifo, key_fifo) = (fifo(&folder, "run.fifo"), fifo(&folder, "key.fifo"));
    let writer = thread::spawn(move || {
        // Opening blocks until the command opens the other end.
        fs::write(key_fifo, key).unwrap();
        fs::write(run_fifo, bytes).unwrap();
    });
    let result = run(&folder, &["verify", "--json", "--key", "key.fifo", "run.fifo"]);
    assert_eq!(result, (Some(0), expected, String::new()));
    writer.join().unwrap();
}

#[test]
#[cfg(unix)]
fn a_fifo_in_a_folder_is_not_waited_for() {
    let folder = Folder::with_repository();
    fs::create_dir(folder.path().join("runs")).unwrap();
    fifo(&folder, "runs/a.rer.json");
    let bytes = fs::read(root().join(RECORD)).unwrap();
    folder.write("runs/b.rer.json", &bytes);
    let expected = expected_json("runs/b.rer.json", &bytes, &keys(KEY));
    let (code, stdout, _) = run(&folder, &["verify", "--json", "--key", KEY, "runs"]);
    assert_eq!((code, stdout), (Some(0), expected));
}

#[test]
#[cfg(unix)]
fn names_that_act_on_a_terminal_are_shown_not_obeyed() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::with_repository();
    fs::create_dir(folder.path().join("runs")).unwrap();
    let names: [&[u8]; 4] =
        [b"\x1b[2J.rer.json", "\u{202e}gpj.rer.json".as_bytes(), b"a\nb.rer.json", b"\xff.rer.json"];
    for name in names {
        fs::copy(root().join(RECORD), folder.path().join("runs").join(OsStr::from_bytes(name))).unwrap();
    }
    fs::write(folder.path().join("runs/\u{202e}\r\x07.txt"), "notes").unwrap();
    let (code, text, said) = run(&folder, &["verify", "--key", KEY, "runs"]);
    assert_eq!((code, support::text::first_unsafe(&text)), (Some(0), None), "{text:?}");
    assert_eq!(said, "reenact: runs: 1 other file passed over\n");
    let titles: Vec<&str> =
        text.lines().filter(|line| line.starts_with("runs/")).map(|line| line.trim_end()).collect();
    let expected = [
        "runs/\\u{1b}[2J.rer.json  rer-artifact/0.2",
        "runs/a\\u{a}b.rer.json  rer-artifact/0.2",
        "runs/\\u{202e}gpj.rer.json  rer-artifact/0.2",
        "runs/\u{fffd}.rer.json  rer-artifact/0.2",
    ];
    assert_eq!(titles, expected);
    let (code, json, _) = run(&folder, &["verify", "--json", "--key", KEY, "runs"]);
    assert_eq!((code, support::text::first_unsafe(&json)), (Some(0), None), "{json:?}");
    assert_eq!(json.lines().count(), 4);
}

// Many targets, and large ones.

#[test]
fn many_records_are_reported_in_the_order_of_their_names() {
    let folder = Folder::with_repository();
    let sources =
        [RECORD, "vectors/rer/invalid/t17_middle_timestamp.json", "vectors/rer/invalid/t132_truncated.json"];
    let sources = sources.map(|path| fs::read(root().join(path)).unwrap());
    // Some take longer, so that threads overtake each other.
    let slow = fs::read(root().join("vectors/rer/valid/v15_501_events.json")).unwrap();
    let (keys, mut outcomes) = (keys(KEY), Vec::new());
    for at in 0..200 {
        let name = format!("runs/{:02}/{at:03}.rer.json", at / 10);
        let bytes = if at % 40 == 7 { &slow } else { &sources[at % sources.len()] };
        folder.write(&name, bytes);
        let outcome = TargetOutcome::Report(verify(bytes, &keys, &Options::default()));
        outcomes.push((name, outcome));
    }
    // The records claim the same run, and each report has a note about that.
    note_duplicate_runs(&mut outcomes);
    let lines: String = outcomes.iter().map(|(name, outcome)| outcome.to_json(name) + "\n").collect();
    let expected = (Some(1), lines, String::new());
    for _ in 0..5 {
        assert!(run(&folder, &["verify", "--json", "--key", KEY, "runs"]) == expected);
    }
}

fn signer() -> TestKey {
    TestKey::of(7)
}

/// Returns a folder with the public key of [`signer`] in `signer.bin`.
fn with_signer() -> Folder {
    let folder = Folder::empty();
    folder.write("signer.bin", signer().public_key().as_bytes());
    folder
}

/// Number of events in a large record.
const EVENTS: usize = 3000;

/// Returns a record of about 3 MB, large enough that the command spreads its events over threads, and the keys for it.
fn large_record() -> (Vec<u8>, Keys) {
    let mut chain = ArtifactBuilder::new(RerVersion::V02);
    for at in 0..EVENTS {
        let event_type = match at {
            0 => "rer.run.started",
            at if at == EVENTS - 1 => "rer.run.ended",
            _ => "rer.tool.called",
        };
        let payload = format!(r#"{{"n":{at},"text":"{}","marker":"event-{at:04}"}}"#, "words ".repeat(100));
        let event = NewEvent {
            step_index: u64::try_from(at).unwrap(),
            event_type,
            timestamp: "2026-01-02T03:04:05.678Z",
            payload: Some(payload.as_bytes()),
            redacted: at % 1000 == 499,
        };
        chain.append(&event).unwrap();
    }
    let envelope = r#"{"envelope_version":"rer-envelope/0.2","limits":{},"permissions":{"allowed_models":[],"allowed_tools":[]}}"#;
    let run = RerRunHeader {
        run_id: "large",
        implementation: "reenact-tests",
        version: "0.1.0",
        envelope: envelope.as_bytes(),
        manifest_hash: None,
    };
    let bytes = chain.seal(&run, &signer()).unwrap();
    assert!(bytes.len() > 3_000_000, "{} bytes", bytes.len());
    let mut keys = Keys::default();
    keys.add_supplied(signer().public_key());
    (bytes, keys)
}

/// Replaces the only occurrence of `from`.
fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.replace(from, to).into_bytes()
}

/// Panics unless the command, on several threads, reports on these bytes what the library reports on one.
fn assert_same_report(what: &str, bytes: &[u8], keys: &Keys, pass: bool) {
    let folder = with_signer();
    folder.write("large.rer.json", bytes);
    let report = verify(bytes, keys, &Options::default());
    assert_eq!(report.pass(), pass, "{what}: {:?}", report.reasons);
    let (code, stdout, stderr) = run(&folder, &["verify", "--json", "--key", "signer.bin", "large.rer.json"]);
    let expected = expected_json("large.rer.json", bytes, keys);
    assert_eq!((code, stdout, stderr), (Some(i32::from(!pass)), expected, String::new()), "{what}");
}

#[test]
fn a_large_record_on_threads_is_judged_as_on_one() {
    let (bytes, keys) = large_record();
    assert_same_report("intact", &bytes, &keys, true);
    for at in [0, EVENTS / 2, EVENTS - 1] {
        let tampered = replaced(&bytes, &format!("\"event-{at:04}\""), "\"event-xxxx\"");
        assert_same_report(&format!("event {at} changed"), &tampered, &keys, false);
    }
    let text = std::str::from_utf8(&bytes).unwrap();
    // Every event is wrong: lists that are capped must be capped alike.
    let all = text.replace("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.679Z");
    assert_same_report("all events changed", all.as_bytes(), &keys, false);
    let all = text.replace("\"payload_redacted\":", "\"payload_redacted \":");
    assert_same_report("all events misshapen", all.as_bytes(), &keys, false);
}

#[test]
fn a_large_record_that_breaks_is_judged_as_on_one() {
    let (bytes, keys) = large_record();
    let torn = &bytes[..bytes.len() - 1];
    assert_same_report("the last brace is missing", torn, &keys, false);
    assert_same_report("torn in the middle", &bytes[..bytes.len() / 2], &keys, false);
    assert_same_report("something follows", &[&bytes[..], b"{}"].concat(), &keys, false);
    let twice = [torn, br#","run_id":"large"}"#].concat();
    assert_same_report("a name twice, at the end", &twice, &keys, false);
    for at in [EVENTS / 2, EVENTS - 1] {
        let broken = replaced(&bytes, &format!("\"event-{at:04}\""), "NaN");
        assert_same_report(&format!("event {at} is not JSON"), &broken, &keys, false);
        let surrogate = replaced(&bytes, &format!("\"event-{at:04}\""), "\"\\ud800\"");
        assert_same_report(&format!("event {at} has no canonical form"), &surrogate, &keys, false);
    }
}
