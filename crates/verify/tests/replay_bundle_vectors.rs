//! The published vectors of Replay Bundles: each shows one property, is made here, and gets the report
//! that its row expects.
//!
//! `REENACT_BLESS=1` writes `vectors/replay_bundle` again.

#![allow(clippy::unwrap_used, reason = "a test that cannot read stops")]

mod replay_bundle_fixture;

use std::fs;
use std::path::{Path, PathBuf};

use reenact_verify::{CheckId, Keys, Options, verify};
use replay_bundle_fixture::archive_builder::{END, StoredZipEntry, entry, gzip, header, pax, zip};
use replay_bundle_fixture::{BundleDraft, SECRET, sha256};
use serde_json::{Value as Json, json};

/// A vector with the checks that fail.
struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    failed: &'static [&'static str],
    void: &'static [&'static str],
    /// Source of the expected result. `normative`: the published text says so. `derived`: it follows
    /// from the text, or the reference tool does so. `judgement`: this project's ruling.
    certainty: &'static str,
    note: &'static str,
}

const ALL: &[&str] = &["archive", "manifest", "paths", "files", "digests", "contents", "secrets"];
const BEHIND_MANIFEST: &[&str] = &["manifest", "paths", "files", "digests", "contents"];

fn case(name: &'static str, bytes: Vec<u8>, failed: &'static [&'static str], note: &'static str) -> Case {
    Case { name, bytes, failed, void: &[], certainty: "derived", note }
}

impl Case {
    fn normative(self) -> Self {
        Self { certainty: "normative", ..self }
    }

    fn ruled(self) -> Self {
        Self { certainty: "judgement", ..self }
    }

    fn void(self, void: &'static [&'static str]) -> Self {
        Self { void, ..self }
    }
}

fn valid() -> Vec<Case> {
    let mut last = BundleDraft::sound();
    last.files.push(("manifest.json".into(), last.manifest.to_string().into_bytes()));
    let last: Vec<u8> =
        last.files.iter().flat_map(|(name, content)| entry(b'0', name.as_bytes(), content)).collect();
    let unknown = BundleDraft::with(|manifest| {
        manifest["x"] = json!({"schema_version": 7});
        manifest["files"]["files/eval.yaml"]["x"] = json!([null]);
        manifest["outputs"]["html"] = json!(1);
    });
    let mut bare = BundleDraft::sound();
    let hex = bare.digest("files/eval.yaml").replace("sha256:", "");
    bare.manifest["files"]["files/eval.yaml"]["sha256"] = json!(hex);
    let mut by_digest = BundleDraft::sound();
    by_digest.files.retain(|(name, _)| !name.starts_with("files/"));
    by_digest.manifest["files"] =
        json!({"outputs/summary.json": by_digest.manifest["files"]["outputs/summary.json"]});
    by_digest.manifest.as_object_mut().unwrap().remove("trace_path");
    let mut unlisted = BundleDraft::sound();
    unlisted.manifest.as_object_mut().unwrap().remove("files");
    let mut summary = BundleDraft::sound();
    for name in ["config_digest", "trace_digest", "trace_path"] {
        summary.manifest.as_object_mut().unwrap().remove(name);
    }
    let coverage = BundleDraft::with(|manifest| {
        manifest["replay_coverage"] =
            json!({"complete_tests": ["a"], "incomplete_tests": ["b"], "reason": {"b": "no trace"}});
    });
    let padded = gzip(&[&BundleDraft::sound().tar()[..], &[0; 10_240]].concat());
    vec![
        case("sound", BundleDraft::sound().pack(), &[], "a config, a trace and a summary").normative(),
        case("manifest_last", gzip(&[&last[..], &END].concat()), &[], "the manifest may stand anywhere"),
        case("unknown_members", unknown.pack(), &[], "unknown members are ignored at every depth")
            .normative(),
        case("digest_without_prefix", bare.pack(), &[], "64 digits without `sha256:`"),
        case("by_digest_only", by_digest.pack(), &[], "config and trace are held by their digests only")
            .normative(),
        case("files_absent", unlisted.pack(), &[], "`files` is optional; then nothing vouches for the files")
            .normative()
            .void(&["files"]),
        case("summary_only", summary.pack(), &[], "a summary is enough, and no digest is there to check")
            .normative()
            .void(&["digests"]),
        case("coverage_incomplete", coverage.pack(), &[], "a test that cannot be replayed is no fault"),
        case(
            "outside_the_folders",
            BundleDraft::adding("traces/run.jsonl", b"{}\n").pack(),
            &[],
            "the text's own example has such names",
        )
        .ruled(),
        case(
            "secret_in_outputs",
            BundleDraft::adding("outputs/log.txt", SECRET.as_bytes()).pack(),
            &[],
            "a secret among the outputs is a note",
        )
        .normative(),
        case("padding_10240", padded, &[], "more zeros at the end of the tar"),
        case(
            "no_end_blocks",
            gzip(&BundleDraft::sound().tar()),
            &[],
            "no zeros at the end of the tar; gzip tells its length",
        ),
    ]
}

fn invalid_content() -> Vec<Case> {
    let mut missing = BundleDraft::sound();
    missing.files.retain(|(name, _)| name != "outputs/summary.json");
    let mut nothing = BundleDraft::sound();
    for name in ["config_digest", "trace_digest", "trace_path", "outputs"] {
        nothing.manifest.as_object_mut().unwrap().remove(name);
    }
    let other = sha256(b"another");
    let entry = |change: fn(&mut Json)| {
        BundleDraft::with(|manifest| change(&mut manifest["files"]["files/eval.yaml"])).pack()
    };
    let deep = format!(
        "{{\"schema_version\":1,\"assay_version\":\"x\",\"env\":{{\"x\":{}1{}}}}}",
        "[".repeat(63),
        "]".repeat(63)
    );
    let manifest_text = |text: &[u8]| {
        let entries = replay_bundle_fixture::archive_builder::entry(b'0', b"manifest.json", text);
        gzip(&[&entries[..], &END].concat())
    };
    vec![
        case(
            "schema_version_2",
            BundleDraft::with(|m| m["schema_version"] = json!(2)).pack(),
            &["manifest"],
            "the version is 1",
        )
        .normative(),
        case(
            "schema_version_float",
            BundleDraft::with(|m| m["schema_version"] = json!(1.0)).pack(),
            &["manifest"],
            "1.0 is no integer",
        ),
        case(
            "assay_version_missing",
            BundleDraft::with(|m| drop(m.as_object_mut().unwrap().remove("assay_version"))).pack(),
            &["manifest"],
            "it is required",
        )
        .normative(),
        case(
            "assay_version_empty",
            BundleDraft::with(|m| m["assay_version"] = json!("")).pack(),
            &["manifest"],
            "it must say something",
        )
        .ruled(),
        case(
            "seeds_of_another_type",
            BundleDraft::with(|m| m["seeds"] = json!({"order_seed": 7})).pack(),
            &["manifest"],
            "seeds are strings",
        ),
        case("manifest_not_json", manifest_text(b"{"), BEHIND_MANIFEST, "it ends too early"),
        case("manifest_an_array", manifest_text(b"[]"), BEHIND_MANIFEST, "it is no object"),
        case(
            "manifest_duplicate_name",
            manifest_text(b"{\"schema_version\":1,\"schema_version\":1,\"assay_version\":\"x\"}"),
            BEHIND_MANIFEST,
            "one name twice",
        ),
        case(
            "manifest_65_deep",
            manifest_text(deep.as_bytes()),
            BEHIND_MANIFEST,
            "nested deeper than 64: E_REPLAY_LIMIT_EXCEEDED",
        ),
        case(
            "manifest_bom",
            manifest_text(b"\xEF\xBB\xBF{\"schema_version\":1,\"assay_version\":\"x\"}"),
            BEHIND_MANIFEST,
            "a byte order mark",
        ),
        case(
            "hash_of_another",
            entry(|file| file["sha256"] = json!(sha256(b"x"))),
            &["files"],
            "the listed hash is another",
        )
        .normative(),
        case(
            "hash_upper_case",
            entry(|file| {
                file["sha256"] =
                    json!(file["sha256"].as_str().unwrap().to_uppercase().replace("SHA256", "sha256"))
            }),
            &["files"],
            "digits are lower case",
        ),
        case(
            "hash_prefix_twice",
            entry(|file| file["sha256"] = json!(format!("sha256:{}", file["sha256"].as_str().unwrap()))),
            &["files"],
            "one prefix is enough",
        )
        .ruled(),
        case(
            "size_of_another",
            entry(|file| file["size"] = json!(17)),
            &["files"],
            "the listed size is another",
        )
        .normative(),
        case(
            "size_missing",
            entry(|file| drop(file.as_object_mut().unwrap().remove("size"))),
            &["files"],
            "every listed file has a size",
        ),
        case("file_missing", missing.pack(), &["paths", "files"], "a listed file is not there").normative(),
        case(
            "file_unlisted",
            BundleDraft::adding_unlisted("files/more.txt", b"x").pack(),
            &["files"],
            "a file that is not listed",
        )
        .ruled(),
        case(
            "listed_name_leaves",
            BundleDraft::with(|m| m["files"]["files/../x"] = json!({"sha256": sha256(b""), "size": 0}))
                .pack(),
            &["paths", "files"],
            "a listed name with ..",
        )
        .ruled(),
        case(
            "trace_path_leaves",
            BundleDraft::with(|m| m["trace_path"] = json!("../trace.jsonl")).pack(),
            &["paths", "digests"],
            "the trace is looked for inside only",
        )
        .normative(),
        case(
            "trace_path_absolute",
            BundleDraft::with(|m| m["trace_path"] = json!("/etc/hostname")).pack(),
            &["paths", "digests"],
            "the trace is looked for inside only",
        )
        .normative(),
        case(
            "trace_path_of_nothing",
            BundleDraft::with(|m| m["trace_path"] = json!("files/none.jsonl")).pack(),
            &["paths", "digests"],
            "the trace is not there",
        )
        .ruled(),
        case(
            "output_of_nothing",
            BundleDraft::with(|m| m["outputs"]["junit"] = json!("outputs/junit.xml")).pack(),
            &["paths"],
            "an output is not there",
        )
        .ruled(),
        case(
            "config_digest_of_another",
            BundleDraft::with(|m| m["config_digest"] = json!(other)).pack(),
            &["digests"],
            "the config there is another",
        )
        .ruled(),
        case(
            "trace_digest_of_another",
            BundleDraft::with(|m| m["trace_digest"] = json!(other)).pack(),
            &["digests"],
            "the trace there is another",
        )
        .ruled(),
        case(
            "digest_of_no_form",
            BundleDraft::with(|m| m["policy_digest"] = json!("sha256:abc123...")).pack(),
            &["digests"],
            "no digest",
        )
        .ruled(),
        case("contents_nothing", nothing.pack(), &["contents"], "neither config, nor trace, nor summary")
            .void(&["digests"])
            .normative(),
        case(
            "secret_in_files",
            BundleDraft::adding("files/notes.txt", SECRET.as_bytes()).pack(),
            &["secrets"],
            "a key in files/",
        )
        .normative(),
        case(
            "secret_in_cassettes",
            BundleDraft::adding("cassettes/x.txt", b"Authorization: Basic abc\n").pack(),
            &["secrets"],
            "a header line in cassettes/",
        )
        .normative(),
    ]
}

fn invalid_archives() -> Vec<Case> {
    let sound = BundleDraft::sound();
    let more = |name: &[u8]| sound.pack_with(&entry(b'0', name, b"x"));
    let link = |kind: u8| {
        let mut block = header(kind, b"files/link", 0);
        block[157..168].copy_from_slice(b"/etc/passwd");
        update_tar_checksum(&mut block);
        sound.pack_with(&block)
    };
    let mut prefixed = header(b'0', b"x.txt", 0);
    prefixed[345..350].copy_from_slice(b"files");
    update_tar_checksum(&mut prefixed);
    let mut base256 = header(b'0', b"files/x", 0);
    base256[124..136].fill(0);
    base256[124] = 0x80;
    update_tar_checksum(&mut base256);
    // The archive is so large that members are read before its missing end is noticed.
    let large = BundleDraft::adding("files/long.txt", &b"a line of a long log\n".repeat(3_500)).pack();
    let cut = large[..large.len() - 20].to_vec();
    let mut crc = large.clone();
    let at = crc.len() - 8;
    crc[at] ^= 1;
    let stored: Vec<StoredZipEntry> =
        sound.members().iter().map(|(name, content)| StoredZipEntry::new(name.as_bytes(), content)).collect();
    let around: Vec<u8> = sound
        .members()
        .iter()
        .flat_map(|(name, content)| entry(b'0', format!("run/{name}").as_bytes(), content))
        .collect();
    let pax = [pax(&[b"path=files/x.txt"]), entry(b'0', b"files/y.txt", b"x")].concat();
    let long = [entry(b'L', b"././@LongLink", b"files/x.txt\0"), entry(b'0', b"files/y.txt", b"x")].concat();
    vec![
        case("name_leaves", more(b"files/../../x"), ALL, "a name with .."),
        case("name_absolute", more(b"/files/x"), ALL, "an absolute name").ruled(),
        case("name_dot", more(b"files/./x"), ALL, "a name with ."),
        case("name_backslash", more(b"files\\x"), ALL, "a backslash"),
        case("name_drive", more(b"C:/x"), ALL, "a drive"),
        case("name_control", more(b"files/a\n\x1b[31mb"), ALL, "a line feed and an escape").ruled(),
        case("name_not_utf8", more(b"files/\xff"), ALL, "a name that is no text"),
        case("name_twice", more(b"files/eval.yaml"), ALL, "one name twice"),
        case("name_by_case", more(b"files/EVAL.yaml"), ALL, "one name but for case").ruled(),
        case("name_is_a_folder", more(b"files/eval.yaml/x"), ALL, "a file as a folder").ruled(),
        case("manifest_twice", more(b"manifest.json"), ALL, "two manifests"),
        case("symbolic_link", link(b'2'), ALL, "a symbolic link"),
        case("hard_link", link(b'1'), ALL, "a hard link"),
        case("folder", sound.pack_with(&header(b'5', b"files/sub/", 0)), ALL, "a folder"),
        case("pax", sound.pack_with(&pax), ALL, "a PAX header"),
        case("long_name", sound.pack_with(&long), ALL, "a GNU long name"),
        case("prefix", sound.pack_with(&prefixed), ALL, "a name prefix"),
        case("size_base_256", sound.pack_with(&base256), ALL, "a size that is not octal"),
        case("cut_off", cut, ALL, "the last 20 bytes are missing"),
        case("crc", crc, ALL, "the CRC is another"),
        case("second_gzip", [large.clone(), gzip(b"")].concat(), ALL, "a second gzip member"),
        case("data_after_gzip", [large, b"x".to_vec()].concat(), ALL, "a byte after the gzip member"),
        case(
            "data_after_tar",
            sound.pack_with(&[&END[..], &[1; 512]].concat()),
            ALL,
            "bytes after the end of the tar",
        ),
        case("zip", zip(&stored), ALL, "another container"),
        case("folder_around", gzip(&[&around[..], &END].concat()), ALL, "everything inside one folder"),
    ]
}

/// Updates the checksum of a tar header.
fn update_tar_checksum(block: &mut [u8; 512]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn file(case: &Case) -> String {
    let folder = if case.failed.is_empty() { "valid" } else { "invalid" };
    let ending = if case.name == "zip" { "zip" } else { "tar.gz" };
    format!("{folder}/{}.{ending}", case.name)
}

fn row(case: &Case) -> Json {
    json!({
        "file": file(case),
        "expected_failed": case.failed,
        "expected_null": case.void,
        "certainty": case.certainty,
        "note": case.note,
    })
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/replay_bundle")
}

fn cases() -> Vec<Case> {
    [valid(), invalid_content(), invalid_archives()].into_iter().flatten().collect()
}

fn index(cases: &[Case]) -> Vec<u8> {
    let index = json!({"checks": ALL, "bundles": cases.iter().map(row).collect::<Vec<_>>()});
    serde_json::to_string_pretty(&index).unwrap().into_bytes()
}

#[test]
fn what_is_published_is_what_is_made_here() {
    let cases = cases();
    if std::env::var_os("REENACT_BLESS").is_some() {
        let _ = fs::remove_dir_all(folder());
        for name in ["valid", "invalid"] {
            fs::create_dir_all(folder().join(name)).unwrap();
        }
        cases.iter().for_each(|case| fs::write(folder().join(file(case)), &case.bytes).unwrap());
        fs::write(folder().join("index.json"), index(&cases)).unwrap();
    }
    for case in &cases {
        assert!(fs::read(folder().join(file(case))).unwrap() == case.bytes, "{}", case.name);
    }
    assert!(fs::read(folder().join("index.json")).unwrap() == index(&cases));
    let count = |name: &str| fs::read_dir(folder().join(name)).unwrap().count();
    assert_eq!(count("valid") + count("invalid"), cases.len(), "a file without a row");
}

#[test]
fn each_is_judged_as_its_row_says() {
    for case in cases() {
        let report = verify(&case.bytes, &Keys::default(), &Options::default());
        let failed: Vec<CheckId> = report.failed().collect();
        assert_eq!(failed, case.failed, "{}: {:#?}", case.name, report.reasons);
        let void: Vec<CheckId> =
            report.checks.iter().filter(|check| check.holds.is_none()).map(|check| check.id).collect();
        assert_eq!(void, case.void, "{}", case.name);
        assert!(report.format.starts_with("replay-bundle/"), "{}: {}", case.name, report.format);
        for name in case.failed {
            let prefix = format!("{name}: ");
            assert!(report.reasons.iter().any(|reason| reason.starts_with(&prefix)), "{}: {name}", case.name);
        }
    }
}
