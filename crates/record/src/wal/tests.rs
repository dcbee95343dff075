#![cfg(target_os = "linux")]

use core::time::Duration;
use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use reenact_json::Digest;
use reenact_wire::price::Rates;

use crate::exchange::EndedBy;
use crate::observation::{
    ActionDecision, Admission, ApprovalUpdate, BodyBytes, EndCause, ExchangeEnd, HeaderList, InboundRequest,
};
use crate::policy_engine::{Action, SignerType};
use crate::run_store::RunStore;
use crate::storage::Disk;

/// Folder in memory that is removed on drop. `new` returns `None` on a machine without one.
struct TempWalDir(PathBuf, WalDir);

impl TempWalDir {
    fn new(name: &str) -> Option<Self> {
        let path = PathBuf::from(format!("/dev/shm/reenact-wal-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        WalDir::open(&path).ok().map(|place| Self(path, place))
    }

    fn log(&self, run_id: RunId) -> Wal {
        let run = LoggedRun::of_folder(&self.0.join(run_id.to_string()));
        Wal::create(Arc::new(Disk), &self.1, run_id, &run, position(100)).unwrap()
    }

    fn ids(&self, run_id: RunId) -> Vec<(u64, String)> {
        let mut ids = Vec::new();
        assert!(read(&self.1, run_id, |id, entry| ids.push((id, name(&entry)))).unwrap());
        ids
    }

    fn files(&self, run_id: RunId) -> Vec<String> {
        let entries = fs::read_dir(self.1.run_path(run_id)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != logged_run::FILE_NAME);
        names.sort();
        names
    }
}

impl Drop for TempWalDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn name(entry: &Observation<'_>) -> String {
    match entry {
        Observation::KnownSecret { rule, .. } => format!("known {rule}"),
        Observation::Request(request) => format!("request {}", request.path),
        Observation::Journaled { job, position, .. } => format!("journaled {job} {}", position.bytes),
        Observation::End(end) => format!("end {}", end.job),
        other => format!("{other:?}"),
    }
}

/// Returns a position behind an event of its own.
fn position(bytes: u64) -> JournalPosition {
    JournalPosition { bytes, head: Some((bytes / 100, Digest::of(&bytes.to_le_bytes()))) }
}

fn request(path: &str) -> Observation<'_> {
    request_with(path, b"{}")
}

fn request_with<'a>(path: &'a str, body: &'a [u8]) -> Observation<'a> {
    Observation::Request(Box::new(InboundRequest {
        provider: "openai".into(),
        method: "POST".into(),
        path: path.into(),
        headers: [("accept", &b"*/*"[..]), ("x", b"\xff")].into_iter().collect(),
        has_trailers: true,
        admission: None,
        body: body.into(),
    }))
}

fn end(job: u64) -> Observation<'static> {
    Observation::End(ExchangeEnd {
        job,
        cause: EndCause::Upstream {
            by: EndedBy::Timeout,
            error_type: "idle_timeout".into(),
            message: "silent".into(),
        },
        is_too_long: true,
        latency: Duration::from_micros(1_500),
    })
}

#[test]
fn what_is_over_is_dropped_and_the_rest_stays() {
    let Some(fresh) = TempWalDir::new("over") else { return };
    let run_id = RunId::generate().unwrap();
    let log = fresh.log(run_id);
    log.append_secret("environment", b"correct-horse").unwrap();
    log.append(1, &request("/a")).unwrap();
    log.append(2, &request("/b")).unwrap();
    log.mark_journaled(1, position(200), &[(1, StepId(1))]).unwrap();
    log.append(1, &end(3)).unwrap();
    log.mark_journaled(3, position(300), &[]).unwrap();
    log.release(&[1]);
    let both: Vec<(u64, String)> = [
        (0, "known environment"),
        (0, "journaled 0 100"),
        (1, "request /a"),
        (2, "request /b"),
        (1, "journaled 0 100"),
        (0, "journaled 1 200"),
        (1, "end 3"),
        (0, "journaled 3 300"),
    ]
    .map(|(id, text)| (id, text.to_owned()))
    .into();
    assert_eq!(fresh.ids(run_id), both, "the second is not over");
    log.release(&[2]);
    let empty = [(0, "known environment".to_owned()), (0, "journaled 3 300".to_owned())];
    assert_eq!(fresh.ids(run_id), empty);
    log.release(&[2]);
    assert_eq!(fresh.ids(run_id), empty);
    log.remove().unwrap();
    assert!(!read(&fresh.1, run_id, |_, _| {}).unwrap());
    assert_eq!(log.append(4, &request("/c")).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

/// Journaled observations hold secrets, so they are wiped; and old frames must not be read behind new ones.
#[test]
fn what_is_over_is_wiped_and_its_room_used_again() {
    let Some(fresh) = TempWalDir::new("wiped") else { return };
    let run_id = RunId::generate().unwrap();
    let log = fresh.log(run_id);
    let segment = fresh.1.run_path(run_id).join("00000000.wal");
    let (mut job, mut longest) = (0, 0);
    // First shrinking, then growing, and one beyond the bytes that stay allocated.
    for length in [9_000, 700, 20, 0, 20, 700, 9_000, 3 * RETAINED_BYTES, 9_000, 20] {
        let path = format!("/secret-path-{length}");
        let body = "secret".repeat(length / 6);
        for id in [job + 1, job + 2] {
            log.append(id, &request_with(&path, body.as_bytes())).unwrap();
        }
        job += 2;
        let written = [(job - 1, format!("request {path}")), (job, format!("request {path}"))];
        assert_eq!(fresh.ids(run_id)[1..], written, "{length}");
        log.mark_journaled(job, position(100 + job), &[]).unwrap();
        log.release(&[job - 1, job]);
        assert_eq!(fresh.ids(run_id), [(0, format!("journaled {job} {}", 100 + job))]);
        let bytes = fs::read(&segment).unwrap();
        assert!(bytes[EMPTY_SEGMENT_BYTES..].iter().all(|byte| *byte == 0), "{length}");
        longest = longest.max(bytes.len());
    }
    assert_eq!(longest, RETAINED_BYTES, "more than that is given back");
}

#[test]
fn segments_go_when_all_that_began_in_them_is_over() {
    let Some(fresh) = TempWalDir::new("segments") else { return };
    let run_id = RunId::generate().unwrap();
    let log = fresh.log(run_id);
    log.lock().max_segment_bytes = 1;
    for id in 1..=4 {
        log.append(id, &request("/")).unwrap();
    }
    assert_eq!(fresh.files(run_id).len(), 4, "the first held nothing");
    log.release(&[3]);
    assert_eq!(fresh.files(run_id).len(), 4, "what began before it is open");
    log.release(&[1]);
    assert_eq!(fresh.files(run_id), ["00000002.wal", "00000003.wal", "00000004.wal"]);
    log.release(&[2]);
    assert_eq!(fresh.files(run_id), ["00000004.wal"]);
    log.release(&[4]);
    assert_eq!(fresh.ids(run_id), [(0, "journaled 0 100".to_owned())]);
}

/// A folder of logs as kills, other programs and other users may leave it. Only logs that nobody needs go.
#[test]
fn only_logs_that_nobody_needs_are_removed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (Some(logs), Some(project)) = (TempWalDir::new("orphans"), TempWalDir::new("orphans-project")) else {
        return;
    };
    let store = RunStore::new(project.0.join(RunStore::NAME));
    let mkdir = |path: &Path| {
        fs::create_dir_all(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    };
    // A run with these files in its folder; without any, the folder is not there.
    let run = |files: &[&str]| {
        let id = RunId::generate().unwrap();
        for file in files {
            mkdir(&store.run_path(id));
            fs::write(store.run_path(id).join(file), "").unwrap();
        }
        id
    };
    let log = |id: RunId| {
        let run = LoggedRun::of_folder(&store.run_path(id));
        // The folder of a run that is gone was on the same file system.
        let run = LoggedRun { device: LoggedRun::of_folder(&project.0).device, ..run };
        Wal::create(Arc::new(Disk), &logs.1, id, &run, position(100)).unwrap()
    };
    let old_log = |id: RunId| mkdir(&logs.1.run_path(id));
    let journal = "journal.jsonl";
    let sealed = run(&[journal, "artifact.rer.json"]);
    let refused = run(&[journal, "refused.json"]);
    let (unsealed, gone, live) = (run(&[journal]), run(&[]), run(&[]));
    let (old_sealed, old_unsealed) = (run(&[journal, "artifact.rer.json"]), run(&[journal]));
    let (old_elsewhere, removing) = (run(&[]), run(&[journal]));
    for id in [sealed, refused, unsealed, gone] {
        drop(log(id));
    }
    let live_log = log(live);
    [old_sealed, old_unsealed, old_elsewhere].into_iter().for_each(old_log);
    mkdir(&wal_dir::removal_path(&logs.1.run_path(removing)));
    // Odd things with the names of runs that are over.
    let odd = |id: RunId| logs.1.run_path(id);
    let [link, open, file, suffix, gone_link] = [0; 5].map(|_| run(&[journal, "artifact.rer.json"]));
    let target = project.0.join("target");
    mkdir(&target);
    fs::write(target.join("00000000.wal"), "theirs").unwrap();
    symlink(&target, odd(link)).unwrap();
    symlink(&target, wal_dir::removal_path(&odd(gone_link))).unwrap();
    mkdir(&odd(open));
    fs::set_permissions(odd(open), fs::Permissions::from_mode(0o750)).unwrap();
    fs::write(odd(file), "theirs").unwrap();
    mkdir(&odd(suffix).with_extension("bak"));
    mkdir(&logs.1.path().join("notes"));
    let entries = || {
        let names =
            fs::read_dir(logs.1.path()).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let mut kept: Vec<String> =
        [unsealed, live, old_unsealed, old_elsewhere, link, open, file].map(|id| id.to_string()).into();
    kept.extend([format!("{suffix}.bak"), format!("{gone_link}.gone"), "notes".to_owned()]);
    kept.sort();

    let mut removed = orphans::remove_orphans_in(&logs.1, &store);
    removed.sort();
    let mut expected = vec![sealed, refused, gone, old_sealed, removing];
    expected.sort();
    assert_eq!(removed, expected);
    assert_eq!(entries(), kept);
    assert_eq!(fs::read(target.join("00000000.wal")).unwrap(), b"theirs");

    // Once its recorder is dead, the log of a run that is gone goes, too; that of another project is not counted.
    drop(live_log);
    let other = RunStore::new(project.0.join("elsewhere/.reenact"));
    assert_eq!(orphans::remove_orphans_in(&logs.1, &other), []);
    kept.retain(|name| *name != live.to_string());
    assert_eq!(entries(), kept);
}

fn device(path: &str) -> Box<dyn StoredFile> {
    Box::new(fs::OpenOptions::new().append(true).open(path).unwrap())
}

#[test]
fn a_log_that_failed_stays_closed() {
    let Some(fresh) = TempWalDir::new("failed") else { return };
    let run_id = RunId::generate().unwrap();
    let log = fresh.log(run_id);
    log.lock().segments[0].file = device("/dev/full");
    assert_eq!(log.append(1, &request("/a")).unwrap_err().kind(), io::ErrorKind::StorageFull);
    log.lock().segments[0].file = device("/dev/null");
    assert_eq!(log.append(2, &request("/b")).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    // The position is updated all the same, and nothing is dropped that a reader of the torn log might need.
    assert_eq!(log.mark_journaled(1, position(200), &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(log.lock().journaled, (1, position(200)));
    log.release(&[1]);
    assert_eq!(fresh.ids(run_id), [(0, "journaled 0 100".to_owned())]);
}

#[test]
fn nobody_else_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let Some(fresh) = TempWalDir::new("modes") else { return };
    let run_id = RunId::generate().unwrap();
    let log = fresh.log(run_id);
    log.append_secret("known", b"correct-horse").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&fresh.0), mode(&fresh.1.run_path(run_id))), (0o700, 0o700));
    for name in fresh.files(run_id) {
        assert_eq!(mode(&fresh.1.run_path(run_id).join(name)), 0o600);
    }
}

/// Frames as version 0.1 wrote them. Logs of that version must stay recoverable.
const OLD_FRAMES: [&str; 21] = [
    "1e000000d9d78c5d0201000000000000000b000000656e7669726f6e6d656e74736563726574",
    "490000006bf3f7b00201000000000000010100060000006f70656e616904000000504f5354070000002f76312f783f790200000006000000616363657074030000002a2f2a010000007801000000ff7b7d",
    "5e000000b12b5256020100000000000001000187d6120000000000010200000061310500000000000000010100000000000000020000000000000003000000000000000400000000000000060000006f70656e616904000000504f5354010000002f00000000",
    "310000000d712c4e020100000000000002940103000000312e310200000006000000616363657074030000002a2f2a010000007801000000ff",
    "1600000052ec287f02010000000000000387d61200000000007069656365",
    "28000000328e3f7f0201000000000000040200000006000000616363657074030000002a2f2a010000007801000000ff",
    "13000000a3b9823f02010000000000000807000000000000006e6f",
    "37000000672619c9020100000000000005090000000000000003000187d6120000000000010c00000069646c655f74696d656f75740600000073696c656e74",
    "1d00000098a0f84a020100000000000005090000000000000000010087d612000000000000",
    "1d0000003733d310020100000000000005090000000000000001000087d612000000000000",
    "1d000000587f768b020100000000000005090000000000000000000087d612000000000000",
    "180000007aa5e4aa020100000000000006040000007768617403000000776879",
    "330000008e839d8f02010000000000000987d612000000000001060000006c6f6f6b75700102000000613100000102000000633101020000007b7d",
    "370000007e2a985302010000000000000987d612000000000000050000006770742d350001090000006d61785f73746570730106000000656e6f7567680000",
    "1b000000c9cb9d3502010000000000000a87d6120000000000010200000063316f7574",
    "0b000000cb374c3702010000000000000c7b7d",
    "43000000a8d5171002010000000000000b87d612000000000002000000613101060000006c6f6f6b757002000000303004000000725b305d0f00000068756d616e206175746f6d61746564",
    "2100000013f781ec02010000000000000b87d61200000000000200000061310205000000746f6b656e",
    "1e00000032a8c7a502010000000000000b87d612000000000002000000613103020000006e6f",
    "270000001372b5b602010000000000000b87d61200000000000200000061310404000000636f646503000000776879",
    "21000000613fce3b02010000000000000703000000000000002c010000000000000200000000000000",
];

#[test]
fn logs_of_older_versions_are_read() {
    let at = Duration::from_micros(1_234_567);
    let headers: HeaderList<'_> = [("accept", &b"*/*"[..]), ("x", b"\xff")].into_iter().collect();
    let plain = InboundRequest {
        provider: "openai".into(),
        method: "POST".into(),
        path: "/v1/x?y".into(),
        headers: headers.clone(),
        has_trailers: true,
        admission: None,
        body: BodyBytes::Borrowed(b"{}"),
    };
    let rates = Rates { input: 1, cached_input: 2, cache_write: 3, output: 4 };
    let admitted = InboundRequest {
        path: "/".into(),
        headers: HeaderList::default(),
        has_trailers: false,
        admission: Some(Admission {
            at,
            approval_id: Some("a1".into()),
            warning: None,
            rates: Some(rates),
            estimate: 5,
        }),
        body: BodyBytes::Borrowed(b""),
        ..plain.clone()
    };
    let timeout = EndCause::Upstream {
        by: EndedBy::Timeout,
        error_type: "idle_timeout".into(),
        message: "silent".into(),
    };
    let end = |cause, is_too_long| Observation::End(ExchangeEnd { job: 9, cause, is_too_long, latency: at });
    let approval = |news| Observation::Approval { at, approval_id: "a1".into(), update: news };
    let allowed = ActionDecision {
        at,
        action: Action::Tool,
        name: "lookup".into(),
        denial: None,
        is_enforced: true,
        approval_id: Some("a1".into()),
        call: Some(("c1".into(), "{}".into())),
    };
    let denied = ActionDecision {
        at,
        action: Action::Model,
        name: "gpt-5".into(),
        denial: Some(("max_steps".into(), "enough".into())),
        is_enforced: true,
        approval_id: None,
        call: None,
    };
    let requested = ApprovalUpdate::Requested {
        action: Action::Tool,
        name: "lookup".into(),
        input_hash: "00".into(),
        rule: "r[0]".into(),
        signer_types: vec![SignerType::Human, SignerType::Automated],
    };
    let observations = [
        Observation::KnownSecret { rule: "environment".into(), value: (&b"secret"[..]).into() },
        Observation::Request(Box::new(plain)),
        Observation::Request(Box::new(admitted)),
        Observation::AnswerHead {
            status: 404,
            version: "1.1".into(),
            headers: headers.clone(),
            is_from_record: false,
        },
        Observation::Piece { at, bytes: BodyBytes::Borrowed(b"piece") },
        Observation::Trailers { headers },
        Observation::Withheld { delivered: 7, instead: (&b"no"[..]).into() },
        end(timeout, true),
        end(EndCause::StreamDone, false),
        end(EndCause::ClientDisconnected, false),
        end(EndCause::Eof, false),
        Observation::Gap { what: "what".into(), why: "why".into() },
        Observation::Decision(Box::new(allowed)),
        Observation::Decision(Box::new(denied)),
        Observation::ToolResult { at, tool_call_id: "c1".into(), output: "out".into(), is_error: true },
        Observation::Reported { text: BodyBytes::Borrowed(b"{}") },
        approval(requested),
        approval(ApprovalUpdate::Granted { token: "token".into() }),
        approval(ApprovalUpdate::Denied { reason: "no".into() }),
        approval(ApprovalUpdate::Refused { code: "code".into(), why: "why".into() }),
        Observation::Journaled {
            job: 3,
            position: JournalPosition { bytes: 300, head: None },
            step: Some(StepId(2)),
        },
    ];
    for (hex, observation) in OLD_FRAMES.into_iter().zip(observations) {
        let mut frame = Vec::new();
        let bulk = frame::write(&mut frame, 258, &observation).unwrap();
        frame.extend_from_slice(bulk);
        assert_eq!(
            frame.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            hex,
            "{observation:?}"
        );
        let (head, body) = frame.split_at(HEAD_BYTES);
        let (_, sum) = frame::read_head(head.try_into().unwrap());
        assert_eq!(frame::read(body, sum), Some((258, observation)));
    }
}

proptest! {
    /// Frames round-trip; any other bytes are no observation, and cause no panic.
    #[test]
    fn frames_are_read_as_they_were_written(
        id in any::<u64>(),
        texts in proptest::collection::vec(".{0,12}", 3),
        value in proptest::collection::vec(any::<u8>(), 0..40),
        numbers in any::<(u64, u64, u32, u16, bool, bool)>(),
        flip in any::<(prop::sample::Index, u8)>(),
    ) {
        let (job, bytes, micros, status, one, other) = numbers;
        let headers: HeaderList<'_> = texts.iter().map(|text| (text.as_str(), value.as_slice())).collect();
        let at = Duration::from_micros(micros.into());
        let [a, b, c] = [&texts[0], &texts[1], &texts[2]].map(|text| Cow::Borrowed(text.as_str()));
        let body = BodyBytes::Borrowed(&value);
        let action = if one { Action::Tool } else { Action::Model };
        let request = InboundRequest {
            provider: a.clone(), method: b.clone(), path: c.clone(), headers: headers.clone(), has_trailers: one,
            admission: None, body: body.clone(),
        };
        let rates = Rates { input: job, cached_input: bytes, cache_write: 0, output: 1 };
        let admission = Admission {
            at, approval_id: one.then(|| a.clone()), warning: other.then(|| b.clone()), rates: other.then_some(rates), estimate: bytes,
        };
        let end = |cause| Observation::End(ExchangeEnd { job, cause, is_too_long: other, latency: at });
        let approval = |update| Observation::Approval { at, approval_id: a.clone(), update };
        let signer_types = if one { vec![SignerType::Delegate, SignerType::Human] } else { Vec::new() };
        let observations = [
            Observation::KnownSecret { rule: a.clone(), value: (&value[..]).into() },
            Observation::Request(Box::new(request.clone())),
            Observation::Request(Box::new(InboundRequest { admission: Some(admission), ..request })),
            Observation::Withheld { delivered: job, instead: (&value[..]).into() },
            Observation::Decision(Box::new(ActionDecision {
                at, action, name: a.clone(), denial: other.then(|| (b.clone(), c.clone())), is_enforced: one,
                approval_id: one.then(|| c.clone()), call: one.then(|| (c.clone(), a.clone())),
            })),
            Observation::Reported { text: body.clone() },
            Observation::ToolResult { at, tool_call_id: a.clone(), output: b.clone(), is_error: one },
            approval(ApprovalUpdate::Requested {
                action, name: b.clone(), input_hash: c.clone(), rule: a.clone(), signer_types,
            }),
            approval(ApprovalUpdate::Granted { token: b.clone() }),
            approval(ApprovalUpdate::Denied { reason: c.clone() }),
            approval(ApprovalUpdate::Refused { code: b.clone(), why: c.clone() }),
            Observation::AnswerHead {
                status, version: a.clone(), headers: headers.clone(), is_from_record: one,
            },
            Observation::Piece { at, bytes: body },
            Observation::Trailers { headers },
            end(EndCause::Eof),
            end(EndCause::StreamDone),
            end(EndCause::ClientDisconnected),
            end(EndCause::Upstream { by: EndedBy::Upstream, error_type: a.clone(), message: b.clone() }),
            Observation::Gap { what: a.clone(), why: b.clone() },
            Observation::Journaled {
                job, position: JournalPosition { bytes, head: None }, step: one.then_some(StepId(1 + job / 2)),
            },
            Observation::Journaled { job, position: position(bytes), step: other.then_some(StepId(1 + job / 2)) },
            Observation::JournalCut { job, position: position(bytes), lost: one.then_some(job / 2) },
            Observation::JournalCut { job, position: JournalPosition { bytes, head: None }, lost: None },
        ];
        for observation in observations {
            let mut frame = Vec::new();
            let bulk = frame::write(&mut frame, id, &observation).unwrap();
            frame.extend_from_slice(bulk);
            let (head, body) = frame.split_at(HEAD_BYTES);
            let (length, sum) = frame::read_head(head.try_into().unwrap());
            prop_assert_eq!(length as usize, body.len());
            let mut flipped = body.to_vec();
            let (index, mask) = &flip;
            flipped[index.index(body.len())] ^= mask | 1;
            prop_assert_eq!(frame::read(&flipped, sum), None);
            // Even with a correct checksum, wrong bytes must not cause a panic.
            let _ = frame::read(&flipped, crc32fast::hash(&flipped));
            for cut in 0..body.len() {
                let _ = frame::read(&body[..cut], crc32fast::hash(&body[..cut]));
            }
            prop_assert_eq!(frame::read(body, sum), Some((id, observation.clone())));
            prop_assert_eq!(observation.clone().into_owned(), observation);
        }
    }
}
