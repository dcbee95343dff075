#![cfg(target_os = "linux")]

use core::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::exchange::EndedBy;

/// A place in memory, gone when it is dropped; `None` on a machine without one.
struct Fresh(PathBuf, Place);

impl Fresh {
    fn new(name: &str) -> Option<Self> {
        let path = PathBuf::from(format!("/dev/shm/reenact-wal-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Place::at(&path).ok().map(|place| Self(path, place))
    }

    fn log(&self, run_id: RunId) -> Wal {
        Wal::create(&self.1, run_id, 100).unwrap()
    }

    fn ids(&self, run_id: RunId) -> Vec<(u64, String)> {
        let mut ids = Vec::new();
        assert!(read(&self.1, run_id, |id, entry| ids.push((id, name(&entry)))).unwrap());
        ids
    }

    fn files(&self, run_id: RunId) -> Vec<String> {
        let entries = fs::read_dir(self.1.run(run_id)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn name(entry: &Entry<'_>) -> String {
    match entry {
        Entry::Known { rule, .. } => format!("known {rule}"),
        Entry::Request { path, .. } => format!("request {path}"),
        Entry::Journaled { job, bytes, .. } => format!("journaled {job} {bytes}"),
        Entry::End(ending) => format!("end {}", ending.job),
        other => format!("{other:?}"),
    }
}

fn request(path: &str) -> Entry<'_> {
    Entry::Request {
        provider: "openai",
        method: "POST",
        path,
        headers: vec![("accept", b"*/*"), ("x", b"\xff")],
        has_trailers: true,
        decided: None,
        body: b"{}",
    }
}

fn end(job: u64) -> Entry<'static> {
    Entry::End(Ending {
        job,
        by: EndedBy::Timeout,
        is_settled: false,
        is_too_long: true,
        latency: Duration::from_micros(1_500),
        error: Some(("idle_timeout", "silent")),
    })
}

#[test]
fn what_is_over_is_dropped_and_the_rest_stays() {
    let Some(fresh) = Fresh::new("over") else { return };
    let run_id = RunId::generate().unwrap();
    let log = fresh.log(run_id);
    log.know("environment", b"correct-horse").unwrap();
    log.append(1, &request("/a")).unwrap();
    log.append(2, &request("/b")).unwrap();
    log.journaled(1, 200, &[(1, StepId(1))]).unwrap();
    log.append(1, &end(3)).unwrap();
    log.journaled(3, 300, &[]).unwrap();
    log.over(&[1]);
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
    log.over(&[2]);
    let empty = [(0, "known environment".to_owned()), (0, "journaled 3 300".to_owned())];
    assert_eq!(fresh.ids(run_id), empty);
    log.over(&[2]);
    assert_eq!(fresh.ids(run_id), empty);
    log.remove().unwrap();
    assert!(!read(&fresh.1, run_id, |_, _| {}).unwrap());
    assert_eq!(log.append(4, &request("/c")).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

/// What the journal masks must not lie around, and what was there must not be taken for what is.
#[test]
fn what_is_over_is_wiped_and_its_room_used_again() {
    let Some(fresh) = Fresh::new("wiped") else { return };
    let run_id = RunId::generate().unwrap();
    let log = fresh.log(run_id);
    let segment = fresh.1.run(run_id).join("00000000.wal");
    let (mut job, mut longest) = (0, 0);
    // Each shorter than the one before, each longer, and longer than what is kept.
    for length in [9_000, 700, 20, 0, 20, 700, 9_000, 3 * ROOM, 9_000, 20] {
        let path = format!("/secret-path-{length}");
        let body = "secret".repeat(length / 6);
        for id in [job + 1, job + 2] {
            let Entry::Request { provider, method, headers, .. } = request("") else { unreachable!() };
            let (has_trailers, decided) = (false, None);
            let (path, body) = (path.as_str(), body.as_bytes());
            let entry = Entry::Request { provider, method, path, headers, has_trailers, decided, body };
            log.append(id, &entry).unwrap();
        }
        job += 2;
        let written = [(job - 1, format!("request {path}")), (job, format!("request {path}"))];
        assert_eq!(fresh.ids(run_id)[1..], written, "{length}");
        log.journaled(job, 100 + job, &[]).unwrap();
        log.over(&[job - 1, job]);
        assert_eq!(fresh.ids(run_id), [(0, format!("journaled {job} {}", 100 + job))]);
        let bytes = fs::read(&segment).unwrap();
        assert!(bytes[EMPTY..].iter().all(|byte| *byte == 0), "{length}");
        longest = longest.max(bytes.len());
    }
    assert_eq!(longest, ROOM, "more than that is given back");
}

#[test]
fn segments_go_when_all_that_began_in_them_is_over() {
    let Some(fresh) = Fresh::new("segments") else { return };
    let run_id = RunId::generate().unwrap();
    let log = fresh.log(run_id);
    log.log().longest = 1;
    for id in 1..=4 {
        log.append(id, &request("/")).unwrap();
    }
    assert_eq!(fresh.files(run_id).len(), 4, "the first held nothing");
    log.over(&[3]);
    assert_eq!(fresh.files(run_id).len(), 4, "what began before it is open");
    log.over(&[1]);
    assert_eq!(fresh.files(run_id), ["00000002.wal", "00000003.wal", "00000004.wal"]);
    log.over(&[2]);
    assert_eq!(fresh.files(run_id), ["00000004.wal"]);
    log.over(&[4]);
    assert_eq!(fresh.ids(run_id), [(0, "journaled 0 100".to_owned())]);
}

fn device(path: &str) -> Box<dyn Stored> {
    Box::new(fs::OpenOptions::new().append(true).open(path).unwrap())
}

#[test]
fn a_log_that_failed_stays_closed() {
    let Some(fresh) = Fresh::new("failed") else { return };
    let run_id = RunId::generate().unwrap();
    let log = fresh.log(run_id);
    log.log().segments[0].file = device("/dev/full");
    assert_eq!(log.append(1, &request("/a")).unwrap_err().kind(), io::ErrorKind::StorageFull);
    log.log().segments[0].file = device("/dev/null");
    assert_eq!(log.append(2, &request("/b")).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    // What the journal has is known all the same, and nothing is dropped that a torn log might still be read for.
    assert_eq!(log.journaled(1, 200, &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(log.log().journaled, (1, 200));
    log.over(&[1]);
    assert_eq!(fresh.ids(run_id), [(0, "journaled 0 100".to_owned())]);
}

#[test]
fn nobody_else_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let Some(fresh) = Fresh::new("modes") else { return };
    let run_id = RunId::generate().unwrap();
    let log = fresh.log(run_id);
    log.know("known", b"correct-horse").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&fresh.0), mode(&fresh.1.run(run_id))), (0o700, 0o700));
    for name in fresh.files(run_id) {
        assert_eq!(mode(&fresh.1.run(run_id).join(name)), 0o600);
    }
}

proptest! {
    /// Whatever is written is read as it was; whatever else lies there is no entry and no panic.
    #[test]
    fn frames_are_read_as_they_were_written(
        id in any::<u64>(),
        texts in proptest::collection::vec(".{0,12}", 3),
        value in proptest::collection::vec(any::<u8>(), 0..40),
        numbers in any::<(u64, u64, u32, u16, bool, bool)>(),
        flip in any::<(prop::sample::Index, u8)>(),
    ) {
        let (job, bytes, micros, status, one, other) = numbers;
        let headers: Pairs<'_> = texts.iter().map(|text| (text.as_str(), value.as_slice())).collect();
        let at = Duration::from_micros(micros.into());
        let [a, b, c] = [&texts[0], &texts[1], &texts[2]].map(String::as_str);
        let entries = [
            Entry::Known { rule: a, value: &value },
            Entry::Request {
                provider: a, method: b, path: c, headers: headers.clone(), has_trailers: one, decided: None, body: &value,
            },
            Entry::Request {
                provider: a, method: b, path: c, headers: headers.clone(), has_trailers: one,
                decided: Some(Decided {
                    at, approval_id: one.then_some(a), rates: other.then_some([job, bytes, 0, 1]), estimate: bytes,
                }),
                body: &value,
            },
            Entry::Withheld { delivered: job, instead: &value },
            Entry::Decision(Decision {
                at, is_tool: one, name: a, denial: other.then_some((b, c)), approval_id: one.then_some(c),
                call: one.then_some((c, a)),
            }),
            Entry::Reported { text: &value },
            Entry::ToolResult { at, tool_call_id: a, output: b, is_error: one },
            Entry::Approval {
                at, approval_id: a,
                news: ApprovalNews::Requested { is_tool: one, name: b, input_hash: c, rule: a, signer_types: b },
            },
            Entry::Approval { at, approval_id: a, news: ApprovalNews::Granted(b) },
            Entry::Approval { at, approval_id: a, news: ApprovalNews::Denied(c) },
            Entry::Approval { at, approval_id: a, news: ApprovalNews::Refused(b, c) },
            Entry::Head { status, version: a, headers: headers.clone() },
            Entry::Piece { at, bytes: &value },
            Entry::Trailers { headers },
            Entry::End(Ending {
                job, by: EndedBy::Upstream, is_settled: one, is_too_long: other, latency: at,
                error: one.then_some((a, b)),
            }),
            Entry::Gap { what: a, why: b },
            Entry::Journaled { job, bytes, step: one.then_some(StepId(1 + job / 2)) },
        ];
        for entry in entries {
            let mut frame = Vec::new();
            let bulk = frame::write(&mut frame, id, &entry).unwrap();
            frame.extend_from_slice(bulk);
            let (head, body) = frame.split_at(HEAD);
            let (length, sum) = frame::read_head(head.try_into().unwrap());
            prop_assert_eq!(length as usize, body.len());
            prop_assert_eq!(frame::read(body, sum), Some((id, entry)));
            let mut flipped = body.to_vec();
            let (index, mask) = &flip;
            flipped[index.index(body.len())] ^= mask | 1;
            prop_assert_eq!(frame::read(&flipped, sum), None);
            // The checksum aside, no bytes may lead astray.
            let _ = frame::read(&flipped, crc32fast::hash(&flipped));
            for cut in 0..body.len() {
                let _ = frame::read(&body[..cut], crc32fast::hash(&body[..cut]));
            }
        }
    }
}
