//! Written bundles: the same bytes each time, the real tool's own bytes for its bundles, and nothing that could not
//! be read back.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot read stops, and says what it skips"
)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

use reenact_formats::replay_bundle::manifest::{
    OutputsView, RunnerView, ScrubView, SeedsView, ToolchainView,
};
use reenact_formats::replay_bundle::new_manifest::{
    BundleOutputs, BundleSeeds, BundleToolchain, ReplayCoverage, ScrubPolicy, ToolchainRunner,
};
use reenact_formats::replay_bundle::{
    CoverageView, DocumentInclusion, MANIFEST, ManifestView, NewBundleFile, NewManifest, ReopenableSource,
    ReplayBundleWriteError, archive_rules, manifest_limits, read_digest, write,
};
use reenact_json::{Digest, Value};
use reenact_pack::{NameFault, PackError, read_tar_gz};

type Members = Vec<(String, Vec<u8>)>;

fn members(archive: &[u8]) -> Members {
    let mut members = Vec::new();
    read_tar_gz(archive, &archive_rules(), |member| {
        let name = member.name().to_owned();
        members.push((name, member.read_whole(500 << 20)?));
        Ok::<(), PackError>(())
    })
    .unwrap();
    members
}

fn packed(manifest: &NewManifest, files: &[(&str, &[u8])]) -> Result<Vec<u8>, ReplayBundleWriteError> {
    let files: Vec<NewBundleFile<'_>> = files
        .iter()
        .map(|(name, content)| NewBundleFile { name, content: content as &dyn ReopenableSource })
        .collect();
    write(manifest, &files, Vec::new())
}

const FILES: [(&str, &[u8]); 3] = [
    ("outputs/summary.json", b"{\"exit_code\":0}"),
    ("files/trace.jsonl", b"{\"prompt\":\"p\",\"response\":\"r\"}\n"),
    ("files/eval.yaml", b"suite: x\n"),
];

fn manifest() -> NewManifest {
    NewManifest {
        assay_version: "reenact/0.1.0".into(),
        config: DocumentInclusion::File("files/eval.yaml".into()),
        trace: DocumentInclusion::File("files/trace.jsonl".into()),
        outputs: BundleOutputs { summary: Some("outputs/summary.json".into()), ..BundleOutputs::default() },
        coverage: Some(ReplayCoverage {
            complete: vec!["a".into()],
            incomplete: vec!["b".into()],
            reason: BTreeMap::from([("b".into(), "no \"trace\"\u{1b}é".into())]),
        }),
        env: BTreeMap::from([("n".into(), " [1, 2] ".into())]),
        ..NewManifest::default()
    }
}

/// Byte for byte the same in every version: another deflate would show here.
const GOLDEN: &str = "75b6d511278ea0af1a0a94140f7a37fae0bf9f97f86f5fb6b5ded5325289dd93";

#[test]
fn the_same_bytes_each_time() {
    let archive = packed(&manifest(), &FILES).unwrap();
    let mut turned = FILES;
    turned.reverse();
    assert!(packed(&manifest(), &turned).unwrap() == archive, "the order of the files is not the caller's");
    assert_eq!(Digest::of(&archive).to_string(), GOLDEN);
    let found = members(&archive);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["manifest.json", "files/eval.yaml", "files/trace.jsonl", "outputs/summary.json"]);
    let digest = |at: usize| Digest::of(FILES[at].1);
    let expected = format!(
        concat!(
            r#"{{"schema_version":1,"assay_version":"reenact/0.1.0","config_digest":"sha256:{config}","#,
            r#""trace_digest":"sha256:{trace}","trace_path":"files/trace.jsonl","#,
            r#""outputs":{{"summary":"outputs/summary.json"}},"#,
            r#""replay_coverage":{{"complete_tests":["a"],"incomplete_tests":["b"],"#,
            r#""reason":{{"b":"no \"trace\"\u001bé"}}}},"#,
            r#""files":{{"files/eval.yaml":{{"sha256":"sha256:{config}","size":9,"mode":420,"#,
            r#""content_type":"application/x-yaml"}},"#,
            r#""files/trace.jsonl":{{"sha256":"sha256:{trace}","size":30,"mode":420,"#,
            r#""content_type":"application/x-ndjson"}},"#,
            r#""outputs/summary.json":{{"sha256":"sha256:{summary}","size":15,"mode":420,"#,
            r#""content_type":"application/json"}}}},"env":{{"n":[1, 2]}}}}"#,
        ),
        config = digest(2),
        trace = digest(1),
        summary = digest(0),
    );
    assert_eq!(String::from_utf8_lossy(&found[0].1), expected);
}

#[test]
fn what_could_not_be_read_is_not_written() {
    let name = |name: &str| name.to_owned();
    let long = format!("files/{}", "x".repeat(95));
    type Files<'a> = &'a [(&'a str, &'a [u8])];
    let cases: [(Files<'_>, ReplayBundleWriteError); 8] = [
        (
            &[("files/../x", b"")],
            ReplayBundleWriteError::Name { name: name("files/../x"), fault: NameFault::DotSegment },
        ),
        (
            &[("/files/x", b"")],
            ReplayBundleWriteError::Name { name: name("/files/x"), fault: NameFault::Absolute },
        ),
        (
            &[("files/a\nb", b"")],
            ReplayBundleWriteError::Name { name: name("files/a\nb"), fault: NameFault::Control },
        ),
        (&[("traces/x", b"")], ReplayBundleWriteError::OutsideLayout { name: name("traces/x") }),
        (&[("manifest.json", b"")], ReplayBundleWriteError::OutsideLayout { name: name("manifest.json") }),
        (&[(&long, b"")], ReplayBundleWriteError::LongName { name: long.clone() }),
        (
            &[("files/a", b""), ("files/a", b"")],
            ReplayBundleWriteError::DuplicateName { name: name("files/a") },
        ),
        (
            &[("files/a", b""), ("files/A", b"")],
            ReplayBundleWriteError::Pack(PackError::CaseCollision {
                name: name("files/a"),
                other: name("files/A"),
            }),
        ),
    ];
    let about = NewManifest {
        assay_version: "x".into(),
        config: DocumentInclusion::Digest(Digest::of(b"")),
        ..NewManifest::default()
    };
    for (files, expected) in cases {
        assert_eq!(packed(&about, files).unwrap_err(), expected);
    }
    assert!(packed(&about, &[(&long[..100], b"")]).is_ok(), "100 bytes fit");
}

#[test]
fn a_manifest_that_would_not_verify_is_not_written() {
    let version = NewManifest { assay_version: String::new(), ..manifest() };
    assert_eq!(packed(&version, &FILES).unwrap_err(), ReplayBundleWriteError::NoVersion);
    let nothing = NewManifest {
        config: DocumentInclusion::Absent,
        trace: DocumentInclusion::Absent,
        outputs: BundleOutputs::default(),
        ..manifest()
    };
    assert_eq!(packed(&nothing, &FILES).unwrap_err(), ReplayBundleWriteError::NothingToReplay);
    for (change, member) in [
        (NewManifest { config: DocumentInclusion::File("files/no".into()), ..manifest() }, "config_digest"),
        (NewManifest { trace: DocumentInclusion::File("files/no".into()), ..manifest() }, "trace_path"),
        (
            NewManifest {
                outputs: BundleOutputs { junit: Some("files/no".into()), ..BundleOutputs::default() },
                ..manifest()
            },
            "outputs",
        ),
    ] {
        let expected = ReplayBundleWriteError::MissingFile { member, name: "files/no".into() };
        assert_eq!(packed(&change, &FILES).unwrap_err(), expected);
    }
    let env = |text: &str| NewManifest { env: BTreeMap::from([("x".into(), text.into())]), ..manifest() };
    assert!(matches!(packed(&env("{"), &FILES), Err(ReplayBundleWriteError::Env(_))));
    let deep = |depth: usize| env(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    assert!(packed(&deep(62), &FILES).is_ok());
    assert!(matches!(packed(&deep(63), &FILES), Err(ReplayBundleWriteError::Env(_))));
    let large = env(&format!("\"{}\"", "x".repeat(10 << 20)));
    assert!(matches!(
        packed(&large, &FILES),
        Err(ReplayBundleWriteError::Env(_) | ReplayBundleWriteError::LargeManifest { .. })
    ));
}

/// Source with other bytes each time.
struct ChangingSource(Cell<u8>, usize);

impl ReopenableSource for ChangingSource {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        self.0.set(self.0.get() + 1);
        let length = if self.0.get() == 1 { 4 } else { self.1 };
        Ok(Box::new(io::Cursor::new(vec![self.0.get(); length])))
    }
}

/// Source that cannot be read.
struct UnreadableSource;

impl ReopenableSource for UnreadableSource {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[test]
fn a_file_that_changes_is_refused() {
    for length in [3, 4, 5] {
        let content = ChangingSource(Cell::new(0), length);
        let files = [NewBundleFile { name: "files/x", content: &content }];
        let about = NewManifest {
            assay_version: "x".into(),
            trace: DocumentInclusion::File("files/x".into()),
            ..NewManifest::default()
        };
        let error = write(&about, &files, Vec::new()).unwrap_err();
        assert_eq!(error, ReplayBundleWriteError::Changed { name: "files/x".into() }, "{length}");
    }
    let files = [NewBundleFile { name: "files/x", content: &UnreadableSource }];
    let error = write(&manifest(), &files, Vec::new()).unwrap_err();
    assert!(
        matches!(error, ReplayBundleWriteError::Unreadable { kind: io::ErrorKind::NotFound, .. }),
        "{error}"
    );
}

/// Converts a real manifest into one to be written again.
fn to_new_manifest(manifest: &ManifestView<'_>) -> NewManifest {
    let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
    let digest = |value: Option<Value<'_>>| read_digest(&value?.string()?);
    let held = |value, path| match (digest(value), text(path)) {
        (_, Some(path)) => DocumentInclusion::File(path),
        (Some(digest), None) => DocumentInclusion::Digest(digest),
        (None, None) => DocumentInclusion::Absent,
    };
    let list = |value: Option<Value<'_>>| {
        value.into_iter().flat_map(|list| list.elements()).map(|test| text(Some(test)).unwrap()).collect()
    };
    let outputs = manifest.outputs.map_or_else(OutputsView::default, OutputsView::of);
    NewManifest {
        assay_version: text(manifest.assay_version).unwrap(),
        created_at: text(manifest.created_at),
        source_run_path: text(manifest.source_run_path),
        selection_method: text(manifest.selection_method),
        git_sha: text(manifest.git_sha),
        git_dirty: manifest.git_dirty.and_then(|value| value.boolean()),
        workflow_run_id: text(manifest.workflow_run_id),
        config: held(manifest.config_digest, None),
        policy_digest: digest(manifest.policy_digest),
        baseline_digest: digest(manifest.baseline_digest),
        trace: held(manifest.trace_digest, manifest.trace_path),
        outputs: BundleOutputs {
            run: text(outputs.run),
            summary: text(outputs.summary),
            junit: text(outputs.junit),
            sarif: text(outputs.sarif),
        },
        toolchain: manifest.toolchain.map(ToolchainView::of).map(|toolchain| BundleToolchain {
            rustc: text(toolchain.rustc),
            cargo: text(toolchain.cargo),
            cargo_lock_hash: text(toolchain.cargo_lock_hash),
            runner: toolchain.runner.map(RunnerView::of).map(|runner| ToolchainRunner {
                os: text(runner.os),
                arch: text(runner.arch),
                container_image_digest: text(runner.container_image_digest),
                ci: runner.ci.and_then(|value| value.boolean()),
            }),
            ..BundleToolchain::default()
        }),
        seeds: manifest.seeds.map(SeedsView::of).map(|seeds| BundleSeeds {
            seed_version: seeds.seed_version.and_then(|value| u32::try_from(value.unsigned_integer()?).ok()),
            order_seed: text(seeds.order_seed),
            judge_seed: text(seeds.judge_seed),
        }),
        coverage: manifest.replay_coverage.map(CoverageView::of).map(|coverage| ReplayCoverage {
            complete: list(coverage.complete_tests),
            incomplete: list(coverage.incomplete_tests),
            reason: coverage
                .reason
                .into_iter()
                .flat_map(|reason| reason.members())
                .map(|(test, why)| (text(Some(test)).unwrap(), text(Some(why)).unwrap()))
                .collect(),
        }),
        scrub_policy: manifest.scrub_policy.map(ScrubView::of).map(|policy| ScrubPolicy {
            include_prompts: policy.include_prompts.and_then(|value| value.boolean()),
            scrub_cassettes: policy.scrub_cassettes.and_then(|value| value.boolean()),
            name: text(policy.name),
        }),
        env: BTreeMap::new(),
    }
}

/// Returns `REENACT_PEERS`, or the folder beside the project.
fn peers() -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/peers"));
    let folder = std::env::var_os("REENACT_PEERS").map_or_else(beside, PathBuf::from);
    let folder = folder.join("replay_bundles/real");
    if !folder.is_dir() {
        println!("skipped: no {}", folder.display());
        return None;
    }
    Some(folder)
}

#[test]
fn what_the_real_tool_wrote_is_written_again_byte_for_byte() {
    let Some(folder) = peers() else { return };
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let archive = fs::read(&path).unwrap();
        let found = members(&archive);
        let (name, text) = &found[0];
        assert_eq!(name, MANIFEST);
        let view = ManifestView::of(Value::parse(text, &manifest_limits()).unwrap());
        let files: Vec<(&str, &[u8])> =
            found[1..].iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
        assert!(packed(&to_new_manifest(&view), &files).unwrap() == archive, "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 22);
}
