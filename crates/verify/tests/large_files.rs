//! Large files, which a thread of their own reads: their reports equal those of the same bytes in
//! memory.

#![allow(clippy::unwrap_used, reason = "a test that cannot read stops")]

mod replay_bundle_fixture;

use std::path::PathBuf;

use reenact_json::Digest;
use reenact_testkit::fixture::TestDir;
use reenact_verify::disk::{self, RecordPath};
use reenact_verify::{Keys, Options, Report, verify};
use replay_bundle_fixture::{BundleDraft, SECRET};

/// File that is large enough to be read ahead.
struct LargeFile {
    path: PathBuf,
    _folder: TestDir,
}

impl LargeFile {
    fn new(name: &str, bytes: &[u8]) -> Self {
        assert!(bytes.len() > 4 << 20, "{name}: a small file is not read ahead");
        let folder = TestDir::new();
        Self { path: folder.write(name, bytes), _folder: folder }
    }

    fn report(&self) -> Report {
        disk::open(&RecordPath::File(self.path.clone()))
            .unwrap()
            .verify(&Keys::default(), &Options::default())
    }
}

/// Returns bytes that do not get smaller when they are compressed.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // The bytes are printable, so that they are searched as text.
        b' ' + state.to_le_bytes()[3] % 95
    };
    (0..length).map(|_| next()).collect()
}

fn in_memory(bytes: &[u8]) -> Report {
    verify(bytes, &Keys::default(), &Options::default())
}

#[test]
fn a_large_bundle() {
    let mut draft = BundleDraft::sound();
    draft.add("outputs/large", &noise(7 << 20));
    let sound = draft.pack();
    assert!(in_memory(&sound).pass());
    draft.add("files/leak", SECRET.as_bytes());
    let leaking = draft.pack();
    assert!(!in_memory(&leaking).pass());
    let middle = sound.len() / 2;
    let mut flipped = sound.clone();
    flipped[middle] ^= 4;
    let cut = &sound[..sound.len() - 5];
    let followed = [sound.as_slice(), b"x"].concat();
    let all = [
        ("sound", sound.as_slice()),
        ("leaking", &leaking),
        ("flipped", &flipped),
        ("cut", cut),
        ("followed", &followed),
    ];
    for (name, bytes) in all {
        assert_eq!(LargeFile::new(name, bytes).report(), in_memory(bytes), "{name}");
    }
}

#[test]
fn a_large_archive_of_another_record() {
    let mut draft = BundleDraft::sound();
    draft.add("artifact.json", b"{}");
    draft.add("outputs/large", &noise(7 << 20));
    let bytes = draft.pack();
    let report = LargeFile::new("other", &bytes).report();
    assert_eq!(report.format, "rer-bundle");
    assert_eq!(report, in_memory(&bytes));
}

#[test]
fn a_large_replay() {
    let mut text = String::from(
        r#"{"created_at":"2026-01-13T10:00:00Z","event":"ReplayHeader","producer":"test@1","replay_version":1}
{"event":"SessionStart","issue_number":42,"policy_version":"v1","session_id":"sess_1","t":"2026-01-13T10:00:00Z"}
"#,
    );
    let calls = 20_000;
    for call in 0..calls {
        let params = format!(r#"{{"line":{call},"path":"src/{call}.rs"}}"#);
        let (hash, none) = (Digest::of(params.as_bytes()), Digest::of(b""));
        text += &format!(
            r#"{{"event":"ToolCall","id":"tc_{call}","params":{params},"params_hash":"sha256:{hash}","step_id":"step-1","t":"2026-01-13T10:00:00Z","tool":"write"}}
{{"event":"ToolResult","exit_code":null,"id":"tc_{call}","latency_ms":1,"output_hash":"sha256:{none}","step_utility":0.5,"t":"2026-01-13T10:00:00Z"}}
"#
        );
    }
    text += &format!(
        r#"{{"confidence":0.875,"event":"SessionEnd","status":"Success","t":"2026-01-13T23:59:59Z","total_latency_ms":{calls},"total_tool_calls":{calls}}}
"#
    );
    assert!(in_memory(text.as_bytes()).pass());
    let wrong = text.replacen(r#""line":19000,"#, r#""line":19001,"#, 1);
    assert!(!in_memory(wrong.as_bytes()).pass());
    for (name, bytes) in [
        ("replay", text.as_bytes()),
        ("wrong", wrong.as_bytes()),
        ("torn", &text.as_bytes()[..text.len() - 30]),
    ] {
        assert_eq!(LargeFile::new(name, bytes).report(), in_memory(bytes), "{name}");
    }
}
