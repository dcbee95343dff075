//! Replay Bundles: reports on archives and folders, and on hostile ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot read stops")]

mod replay_bundle_fixture;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use reenact_json::Digest;
use reenact_json::shown::is_unsafe;
use reenact_pack::{ArchiveLimits, TarGzWriter, TarStyle};
use reenact_testkit::fixture::TestDir;
use reenact_verify::disk::{self, PathArgument};
use reenact_verify::replay_bundle::{BundleSnapshot, FILES, PATHS, SECRETS};
use reenact_verify::{FormatId, Keys, Options, Report, TargetOutcome, render, verify};
use replay_bundle_fixture::archive_builder::{END, gzip, header};
use replay_bundle_fixture::{BundleDraft, SECRET, sha256};
use serde_json::json;

fn report_of(archive: &[u8]) -> Report {
    let report = verify(archive, &Keys::default(), &Options::default());
    assert_bounded(&report);
    report
}

fn assert_bounded(report: &Report) {
    let outcome = TargetOutcome::Report(report.clone());
    let text = outcome.to_json("x")
        + &render::outcome_text("x", &outcome, &reenact_verify::Demands::default(), &render::plain);
    assert!(text.len() < 64 * 1024, "{} bytes", text.len());
    assert!(!text.lines().flat_map(str::chars).any(is_unsafe), "{text}");
}

/// Writes a bundle into a folder.
fn lay_out(draft: &BundleDraft) -> TestDir {
    let folder = TestDir::new();
    for (name, content) in draft.members() {
        folder.write(name, content);
    }
    folder
}

fn report_of_path(path: &Path) -> Report {
    let PathArgument::Record(place) = disk::look_up(path.as_os_str()) else { unreachable!("one record") };
    disk::open(&place).unwrap().verify(&Keys::default(), &Options::default())
}

fn reasons(report: &Report) -> Vec<&str> {
    let told =
        report.reasons.iter().filter(|reason| !reason.ends_with("nothing to check: it could not be read"));
    told.map(String::as_str).collect()
}

#[test]
fn a_sound_bundle() {
    let draft = BundleDraft::sound();
    let report = report_of(&draft.pack());
    assert!(report.pass());
    assert_eq!(
        (report.format.as_str(), report.summary.as_str()),
        ("replay-bundle/1", "intact: 3 files as listed")
    );
    assert_eq!(report.reasons, Vec::<String>::new());
    assert_eq!(report.notes, Vec::<String>::new());
    assert_eq!(report.signer, None);
    let folder = lay_out(&draft);
    assert_eq!(report_of_path(folder.path()), report, "the same as a folder");
    let file = folder.path().join("packed");
    fs::write(&file, draft.pack()).unwrap();
    assert_eq!(report_of_path(&file), report, "the same as a file");
}

#[test]
fn every_reason_names_its_file_and_both_values() {
    let mut draft = BundleDraft::sound();
    draft.files[0].1 = b"suite: other\n".to_vec();
    let (was, is) = (Digest::of(b"suite: invoices\n"), Digest::of(b"suite: other\n"));
    let report = report_of(&draft.pack());
    let expected = [
        format!("files: files/eval.yaml: sha256 is {was}, recomputed {is}"),
        "files: files/eval.yaml: size is 16, there are 13 bytes".into(),
        format!("digests: config_digest is {was}, no file in files/ has it; files/eval.yaml has {is}"),
    ];
    assert_eq!(report.reasons, expected);
    assert_eq!(report.summary, "2 of 7 checks do not hold: files, digests");
    let expected = ["files: files/more.txt is in the bundle and not listed: nothing vouches for it"];
    assert_eq!(report_of(&BundleDraft::adding_unlisted("files/more.txt", b"x").pack()).reasons, expected);
}

#[test]
fn secrets_fail_in_files_and_cassettes_and_are_noted_in_outputs() {
    let told = |name: &str| format!("{name} seems to hold a secret at byte 5 (rule openai-key)");
    for name in ["files/notes.txt", "cassettes/a/b.txt", "traces/x"] {
        let report = report_of(&BundleDraft::adding(name, SECRET.as_bytes()).pack());
        assert_eq!(report.reasons, [format!("secrets: {}", told(name))]);
        assert_eq!(report.summary, "intact, but it seems to hold a secret: do not share it");
    }
    let report = report_of(&BundleDraft::adding("outputs/log.txt", SECRET.as_bytes()).pack());
    assert!(report.pass());
    assert_eq!(report.notes, [format!("before you share it: {}", told("outputs/log.txt"))]);
    let report =
        report_of(&BundleDraft::with(|manifest| manifest["env"] = json!({"KEY": SECRET.trim()})).pack());
    assert!(report.pass());
    assert!(
        report.notes[0].starts_with("before you share it: manifest.json seems to hold a secret at byte ")
    );
    // The secret itself never appears, not even where a message quotes it.
    assert!(!TargetOutcome::Report(report).to_json("x").contains("4fGhT7yUq2WzX8cVbN3mKj6L"));
    let why = format!("401: no such key: {}", SECRET.trim());
    let report = report_of(
        &BundleDraft::with(|manifest| {
            manifest["replay_coverage"] =
                json!({"complete_tests": [], "incomplete_tests": ["a"], "reason": {"a": why}});
        })
        .pack(),
    );
    assert!(!TargetOutcome::Report(report.clone()).to_json("x").contains("4fGhT7yUq2WzX8cVbN3mKj6L"));
    assert!(report.notes[0].ends_with("[masked:openai-key:1])"), "{:?}", report.notes);
}

#[test]
fn a_secret_behind_a_megabyte_is_found() {
    let filler = "an ordinary line of an ordinary log\n";
    for lines in [29_126, 29_127, 60_000] {
        let text = format!("{}{SECRET}{}", filler.repeat(lines), filler.repeat(5_000));
        let report = report_of(&BundleDraft::adding("files/log.txt", text.as_bytes()).pack());
        let at = filler.len() * lines + 5;
        let expected =
            format!("secrets: files/log.txt seems to hold a secret at byte {at} (rule openai-key)");
        assert_eq!(report.reasons, [expected]);
    }
}

#[test]
fn what_is_worth_knowing_is_noted() {
    let absent =
        |draft: &mut BundleDraft, name: &str| drop(draft.manifest.as_object_mut().unwrap().remove(name));
    let mut draft = BundleDraft::sound();
    absent(&mut draft, "files");
    absent(&mut draft, "outputs");
    draft.manifest["baseline_digest"] = json!(sha256(b"baseline"));
    draft.manifest["policy_digest"] = draft.manifest["config_digest"].clone();
    draft.manifest["replay_coverage"] = json!({
        "complete_tests": ["a"], "incomplete_tests": ["b\u{1b}", "c"], "reason": {"b\u{1b}": "no trace"}
    });
    let report = report_of(&draft.pack());
    assert!(report.pass());
    let expected = [
        "the manifest lists no files: nothing shows that they are the ones that were packed".into(),
        format!(
            "the baseline is held by its digest only, {}: it is not here to be checked",
            Digest::of(b"baseline")
        ),
        "the manifest names no summary: how the run ended cannot be shown".into(),
        "2 of 3 tests cannot be replayed from it: b\\u{1b} (no trace), and 1 more".into(),
    ];
    assert_eq!(report.notes, expected);
    assert_eq!(report.summary, "nothing is wrong with it, but its files are not vouched for");
    assert_eq!(report.check(FILES), None);
}

#[test]
fn cassettes_of_the_real_tool_are_held_against_their_fingerprints() {
    let fingerprint = Digest::of(br#"POST|https://api.example.test/v1|{"m":"x"}"#);
    let cassette = |model: &str| {
        let body = json!({"m": model});
        json!({"schema_version": 2, "fingerprint": fingerprint.to_string(), "method": "POST",
            "url": "https://api.example.test/v1", "request_body": body, "status": 200, "response_body": {}})
        .to_string()
    };
    assert_eq!(
        report_of(&BundleDraft::adding("cassettes/a.json", cassette("x").as_bytes()).pack()).notes,
        Vec::<String>::new()
    );
    let report = report_of(&BundleDraft::adding("cassettes/a.json", cassette("y").as_bytes()).pack());
    assert!(report.pass());
    let expected =
        ["cassettes/a.json: its fingerprint is not that of its request; it may have been masked since"];
    assert_eq!(report.notes, expected);
}

#[test]
fn limits_have_a_code() {
    let over = |more: &[u8]| report_of(&BundleDraft::sound().pack_with(more));
    let report = over(&header(b'0', b"files/big", (500 << 20) + 1));
    assert_eq!(
        reasons(&report),
        [
            "archive: E_REPLAY_LIMIT_EXCEEDED: the size of a member in bytes is over the limit of 524288000 (member \"files/big\")"
        ]
    );
    assert_eq!(report.failed().count(), 7);
    let archive = gzip(&[&header(b'0', b"manifest.json", (10 << 20) + 1)[..], &END].concat());
    assert_eq!(
        reasons(&report_of(&archive)),
        [
            "archive: E_REPLAY_LIMIT_EXCEEDED: the size of a member in bytes is over the limit of 10485760 (member \"manifest.json\")"
        ]
    );
    let deep = |depth: usize| {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let text = format!(
            "{{\"schema_version\":1,\"assay_version\":\"x\",\"trace_digest\":\"{}\",\"x\":{nested}}}",
            sha256(b"")
        );
        let entry = replay_bundle_fixture::archive_builder::entry(b'0', b"manifest.json", text.as_bytes());
        report_of(&gzip(&[&entry[..], &END].concat()))
    };
    assert!(deep(63).pass());
    for depth in [64, 100_000] {
        assert_eq!(
            reasons(&deep(depth)),
            ["manifest: E_REPLAY_LIMIT_EXCEEDED: manifest.json: nested deeper than the limit of 64 levels"]
        );
    }
}

#[test]
fn a_hundred_thousand_members_and_not_one_more() {
    let archive = |count: usize| {
        let limits = ArchiveLimits { members: 200_000, ..ArchiveLimits::default() };
        let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, limits).unwrap();
        let text =
            json!({"schema_version": 1, "assay_version": "x", "trace_digest": sha256(b"")}).to_string();
        writer.add("manifest.json", text.len() as u64, text.as_bytes()).unwrap();
        (1..count).for_each(|at| writer.add(&format!("files/{at}"), 0, &b""[..]).unwrap());
        writer.finish().unwrap()
    };
    assert!(report_of(&archive(100_000)).pass());
    let report = report_of(&archive(100_001));
    let expected = ["archive: E_REPLAY_LIMIT_EXCEEDED: the number of members is over the limit of 100000"];
    assert_eq!(reasons(&report), expected);
}

#[test]
fn a_report_stays_small_whatever_is_wrong() {
    let mut draft = BundleDraft::sound();
    for at in 0..5_000 {
        draft.files.push((format!("x{at}/{}", "\u{202e}".repeat(30)), SECRET.as_bytes().to_vec()));
        draft.manifest["files"][format!("../{at}\u{1b}{}", "y".repeat(300))] = json!(at);
    }
    // Right-to-left marks are no control characters: they are read, and shown escaped.
    let report = report_of(&draft.pack());
    assert_eq!(report.failed().collect::<Vec<_>>(), [PATHS, FILES, SECRETS]);
    assert!(report.reasons.len() < 70 && report.notes.len() < 30);
}

#[cfg(unix)]
#[test]
fn links_in_a_folder_are_not_followed() {
    let folder = lay_out(&BundleDraft::sound());
    std::os::unix::fs::symlink("/etc/hostname", folder.path().join("files/link")).unwrap();
    assert_eq!(
        reasons(&report_of_path(folder.path())),
        ["archive: member \"files/link\" is a symbolic link, which is not accepted"]
    );
    let folder = lay_out(&BundleDraft::sound());
    fs::write(folder.path().join("files/EVAL.yaml"), b"").unwrap();
    if fs::read_dir(folder.path().join("files")).unwrap().count() == 3 {
        let expected = ["paths: the names \"files/eval.yaml\" and \"files/EVAL.yaml\" differ only by case"];
        assert_eq!(reasons(&report_of_path(folder.path())), expected);
    }
    let folder = lay_out(&BundleDraft::sound());
    fs::write(folder.path().join("files/a\nb"), b"").unwrap();
    assert_eq!(
        reasons(&report_of_path(folder.path())),
        ["paths: unsafe member name \"files/a\\nb\": it contains a control character"]
    );
}

#[test]
fn a_folder_with_other_records_is_not_one() {
    let folder = lay_out(&BundleDraft::sound());
    fs::write(folder.path().join("artifact.json"), b"{}").unwrap();
    assert_eq!(report_of_path(folder.path()).format, "rer-bundle");
    let options = Options { format: Some(FormatId::ReplayBundle), ..Options::default() };
    let PathArgument::Record(place) = disk::look_up(folder.path().as_os_str()) else {
        unreachable!("one record")
    };
    let content = disk::open_with(&place, &options, &Default::default()).unwrap();
    let report = content.verify(&Keys::default(), &options);
    assert_eq!(
        report.reasons,
        ["files: artifact.json is in the bundle and not listed: nothing vouches for it"]
    );
}

#[test]
fn copies_are_what_was_judged() {
    let draft = BundleDraft::sound();
    let folder = TestDir::new();
    let path = folder.path().join("bundle");
    fs::write(&path, draft.pack()).unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let mut names = Vec::new();
    let snapshot = disk::snapshot(&path, &mut |name| {
        names.push(name.to_owned());
        Ok(Some(Box::new(fs::File::create(out.join((names.len() - 1).to_string()))?)))
    })
    .unwrap();
    assert!(snapshot.fault().is_none());
    for (at, (name, content)) in draft.members().into_iter().enumerate() {
        assert_eq!(names[at], name);
        assert!(fs::read(out.join(at.to_string())).unwrap() == content);
    }
}

/// Tries every byte of a small bundle.
#[test]
fn whatever_bit_flips_the_members_are_the_same_or_it_does_not_pass() {
    let archive = BundleDraft::sound().pack();
    let original = BundleSnapshot::read(&archive[..]).unwrap();
    let all = |snapshot: &BundleSnapshot| -> Vec<(String, Digest)> {
        let members = snapshot.members().map(|(name, facts)| (name.to_owned(), facts.digest));
        members.chain([("".into(), Digest::of(snapshot.manifest().unwrap_or_default()))]).collect()
    };
    for at in 0..archive.len() {
        let mut flipped = archive.clone();
        flipped[at] ^= 1 << (at % 8);
        if report_of(&flipped).pass() {
            assert_eq!(all(&BundleSnapshot::read(&flipped[..]).unwrap()), all(&original), "byte {at}");
        }
    }
    for end in 0..archive.len() {
        assert!(!report_of(&archive[..end]).pass(), "cut at {end}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Verifies a bundle with any bytes as its manifest.
    #[test]
    fn any_manifest(bytes in prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        "[\\[\\]{}:,\"a-z0-9_ ]{0,200}".prop_map(String::into_bytes),
    ]) {
        let entry = replay_bundle_fixture::archive_builder::entry(b'0', b"manifest.json", &bytes);
        let report = report_of(&gzip(&[&entry[..], &END].concat()));
        prop_assert!(!report.pass());
    }
}
