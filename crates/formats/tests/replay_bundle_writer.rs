//! Bundles that are written: the same bytes each time, the real tool's own bytes for what it wrote, and nothing that could not be
//! read back.

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

use reenact_formats::replay_bundle::draft::{Coverage, Outputs, Runner, ScrubPolicy, Seeds, Toolchain};
use reenact_formats::replay_bundle::manifest::{
    OutputsView, RunnerView, ScrubView, SeedsView, ToolchainView,
};
use reenact_formats::replay_bundle::{
    CoverageView, Held, MANIFEST, ManifestView, NewFile, NewManifest, Source, WriteError, manifest_limits,
    read_digest, rules, write,
};
use reenact_json::{Digest, Value};
use reenact_pack::{NameFault, PackError, read_tar_gz};

type Members = Vec<(String, Vec<u8>)>;

fn members(archive: &[u8]) -> Members {
    let mut members = Vec::new();
    read_tar_gz(archive, &rules(), |member| {
        let name = member.name().to_owned();
        members.push((name, member.read_whole(500 << 20)?));
        Ok::<(), PackError>(())
    })
    .unwrap();
    members
}

fn packed(manifest: &NewManifest, files: &[(&str, &[u8])]) -> Result<Vec<u8>, WriteError> {
    let files: Vec<NewFile<'_>> =
        files.iter().map(|(name, content)| NewFile { name, content: content as &dyn Source }).collect();
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
        config: Held::File("files/eval.yaml".into()),
        trace: Held::File("files/trace.jsonl".into()),
        outputs: Outputs { summary: Some("outputs/summary.json".into()), ..Outputs::default() },
        coverage: Some(Coverage {
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
    let cases: [(Files<'_>, WriteError); 8] = [
        (&[("files/../x", b"")], WriteError::Name { name: name("files/../x"), fault: NameFault::DotSegment }),
        (&[("/files/x", b"")], WriteError::Name { name: name("/files/x"), fault: NameFault::Absolute }),
        (&[("files/a\nb", b"")], WriteError::Name { name: name("files/a\nb"), fault: NameFault::Control }),
        (&[("traces/x", b"")], WriteError::Folder { name: name("traces/x") }),
        (&[("manifest.json", b"")], WriteError::Folder { name: name("manifest.json") }),
        (&[(&long, b"")], WriteError::LongName { name: long.clone() }),
        (&[("files/a", b""), ("files/a", b"")], WriteError::Repeated { name: name("files/a") }),
        (
            &[("files/a", b""), ("files/A", b"")],
            WriteError::Pack(PackError::CaseCollision { name: name("files/a"), other: name("files/A") }),
        ),
    ];
    let about = NewManifest {
        assay_version: "x".into(),
        config: Held::Digest(Digest::of(b"")),
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
    assert_eq!(packed(&version, &FILES).unwrap_err(), WriteError::NoVersion);
    let nothing =
        NewManifest { config: Held::Not, trace: Held::Not, outputs: Outputs::default(), ..manifest() };
    assert_eq!(packed(&nothing, &FILES).unwrap_err(), WriteError::Nothing);
    for (change, member) in [
        (NewManifest { config: Held::File("files/no".into()), ..manifest() }, "config_digest"),
        (NewManifest { trace: Held::File("files/no".into()), ..manifest() }, "trace_path"),
        (
            NewManifest {
                outputs: Outputs { junit: Some("files/no".into()), ..Outputs::default() },
                ..manifest()
            },
            "outputs",
        ),
    ] {
        let expected = WriteError::NotThere { member, name: "files/no".into() };
        assert_eq!(packed(&change, &FILES).unwrap_err(), expected);
    }
    let env = |text: &str| NewManifest { env: BTreeMap::from([("x".into(), text.into())]), ..manifest() };
    assert!(matches!(packed(&env("{"), &FILES), Err(WriteError::Env(_))));
    let deep = |depth: usize| env(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    assert!(packed(&deep(62), &FILES).is_ok());
    assert!(matches!(packed(&deep(63), &FILES), Err(WriteError::Env(_))));
    let large = env(&format!("\"{}\"", "x".repeat(10 << 20)));
    assert!(matches!(packed(&large, &FILES), Err(WriteError::Env(_) | WriteError::LargeManifest { .. })));
}

/// Gives other bytes each time.
struct Restless(Cell<u8>, usize);

impl Source for Restless {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        self.0.set(self.0.get() + 1);
        let length = if self.0.get() == 1 { 4 } else { self.1 };
        Ok(Box::new(io::Cursor::new(vec![self.0.get(); length])))
    }
}

/// Cannot be read.
struct Gone;

impl Source for Gone {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[test]
fn a_file_that_changes_is_refused() {
    for length in [3, 4, 5] {
        let content = Restless(Cell::new(0), length);
        let files = [NewFile { name: "files/x", content: &content }];
        let about = NewManifest {
            assay_version: "x".into(),
            trace: Held::File("files/x".into()),
            ..NewManifest::default()
        };
        let error = write(&about, &files, Vec::new()).unwrap_err();
        assert_eq!(error, WriteError::Changed { name: "files/x".into() }, "{length}");
    }
    let files = [NewFile { name: "files/x", content: &Gone }];
    let error = write(&manifest(), &files, Vec::new()).unwrap_err();
    assert!(matches!(error, WriteError::Unreadable { kind: io::ErrorKind::NotFound, .. }), "{error}");
}

/// A real manifest as one to be written again.
fn again(manifest: &ManifestView<'_>) -> NewManifest {
    let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
    let digest = |value: Option<Value<'_>>| read_digest(&value?.string()?);
    let held = |value, path| match (digest(value), text(path)) {
        (_, Some(path)) => Held::File(path),
        (Some(digest), None) => Held::Digest(digest),
        (None, None) => Held::Not,
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
        outputs: Outputs {
            run: text(outputs.run),
            summary: text(outputs.summary),
            junit: text(outputs.junit),
            sarif: text(outputs.sarif),
        },
        toolchain: manifest.toolchain.map(ToolchainView::of).map(|toolchain| Toolchain {
            rustc: text(toolchain.rustc),
            cargo: text(toolchain.cargo),
            cargo_lock_hash: text(toolchain.cargo_lock_hash),
            runner: toolchain.runner.map(RunnerView::of).map(|runner| Runner {
                os: text(runner.os),
                arch: text(runner.arch),
                container_image_digest: text(runner.container_image_digest),
                ci: runner.ci.and_then(|value| value.boolean()),
            }),
        }),
        seeds: manifest.seeds.map(SeedsView::of).map(|seeds| Seeds {
            seed_version: seeds.seed_version.and_then(|value| u32::try_from(value.whole()?).ok()),
            order_seed: text(seeds.order_seed),
            judge_seed: text(seeds.judge_seed),
        }),
        coverage: manifest.replay_coverage.map(CoverageView::of).map(|coverage| Coverage {
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

/// `REENACT_PEERS`, or the folder beside the project.
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
        assert!(packed(&again(&view), &files).unwrap() == archive, "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 22);
}
