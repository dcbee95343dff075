//! Files that `reenact bundle` leaves on the disk: everything or nothing, and nothing outside the named folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use reenact_pack::{ArchiveLimits, PackError, TarGzWriter, TarStyle, read_tar_gz};
use support::folder::Folder;
use support::root;

const BUNDLE: &str = "examples/runs/invoice.tar.gz";

/// Runs `reenact`; returns exit code, standard output and standard error.
fn run(folder: &Folder, arguments: &[&str], input: Option<Vec<u8>>) -> (Option<i32>, String, String) {
    let mut command = support::command(Path::new(env!("CARGO_BIN_EXE_reenact")), folder);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The command may close its input early, so a broken pipe is no failure.
    let writer = thread::spawn(move || drop(stdin.write_all(&input.unwrap_or_default())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let utf8 = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), utf8(output.stdout), utf8(output.stderr))
}

/// Returns every file below a folder, by its path there. Links are not expected.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            let kind = entry.file_type().unwrap();
            assert!(!kind.is_symlink(), "{name}");
            if kind.is_dir() {
                pending.push((entry.path(), format!("{name}/")));
            } else {
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

/// Returns the members of an archive, by name.
fn members(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    read_tar_gz(archive, &reenact_formats::replay_bundle::archive_rules(), |member| {
        let name = member.name().to_owned();
        found.insert(name, member.read_whole(1 << 20)?);
        Ok::<_, PackError>(())
    })
    .unwrap();
    found
}

/// Returns a folder with nothing but the archives of `vectors/replay_bundle` in it.
fn with_vectors() -> Folder {
    let folder = Folder::empty();
    for kind in ["valid", "invalid"] {
        for entry in fs::read_dir(root().join("vectors/replay_bundle").join(kind)).unwrap() {
            let entry = entry.unwrap();
            folder.write(
                &format!("{kind}/{}", entry.file_name().to_str().unwrap()),
                fs::read(entry.path()).unwrap(),
            );
        }
    }
    folder
}

#[test]
fn what_is_unpacked_is_what_was_packed() {
    let folder = Folder::empty();
    let archive = fs::read(root().join(BUNDLE)).unwrap();
    folder.write("run.tar.gz", &archive);
    let expected = members(&archive);
    let (code, said, complaints) = run(&folder, &["bundle", "extract", "run.tar.gz", "--out", "a"], None);
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    assert_eq!(expected.values().map(Vec::len).sum::<usize>(), 2982);
    assert_eq!(said, "6 files, 2,982 bytes, in a\n");
    assert_eq!(files(&folder.path().join("a")), expected);
    // The same through a pipe, and the folder is a bundle again.
    let (code, ..) = run(&folder, &["bundle", "extract", "-", "--out", "b/"], Some(archive));
    assert_eq!(code, Some(0));
    assert_eq!(files(&folder.path().join("b")), expected);
    assert_eq!(run(&folder, &["bundle", "verify", "b"], None).0, Some(0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// Every vector, with and without force: the folder is there with all that the archive holds, or nothing new is.
#[test]
fn everything_or_nothing() {
    let folder = with_vectors();
    let before = files(&folder.path());
    for (name, archive) in &before {
        for force in [false, true] {
            let mut arguments = vec!["bundle", "extract", name, "--out", "new"];
            arguments.extend(force.then_some("--force"));
            let (code, said, complaints) = run(&folder, &arguments, None);
            let out = folder.path().join("new");
            if out.exists() {
                assert_eq!(code, Some(0), "{name}");
                assert!(force || name.starts_with("valid/"), "{name}");
                assert_eq!(files(&out), members(archive), "{name}");
                fs::remove_dir_all(&out).unwrap();
            } else {
                assert!(name.starts_with("invalid/"), "{name}: {complaints}");
                assert!(matches!(code, Some(1 | 2)) && said.is_empty() && !complaints.is_empty(), "{name}");
            }
            assert!(files(&folder.path()) == before, "{name}: something was left");
        }
    }
}

#[test]
fn what_is_there_stays() {
    let folder = Folder::empty();
    folder.write("run.tar.gz", fs::read(root().join(BUNDLE)).unwrap());
    folder.write("file", "mine");
    folder.write("full/file", "mine");
    fs::create_dir(folder.path().join("empty")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
    let names: &[&str] = if cfg!(unix) { &["file", "full", "empty", "link", "."] } else { &["file", "full"] };
    for name in names {
        let (code, said, complaint) =
            run(&folder, &["bundle", "extract", "run.tar.gz", "--out", name, "--force"], None);
        assert_eq!((code, said.as_str()), (Some(2), ""));
        assert_eq!(complaint, format!("reenact: {name}: it is there already; name a folder that is not\n"));
    }
    assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(folder.path().join("empty")).unwrap().count(), 0);
    let (code, _, complaint) =
        run(&folder, &["bundle", "extract", "run.tar.gz", "--out", "no/such/place"], None);
    assert_eq!(code, Some(2));
    assert!(complaint.starts_with("reenact: no/such/place: "), "{complaint}");
}

/// An RER bundle is verified as what it is, and not taken for a broken Replay Bundle.
#[test]
fn the_other_kind_of_bundle() {
    let folder = Folder::with_repository();
    let original = root().join("vectors/rer/bundles_valid/b02_two_blobs");
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, ArchiveLimits::default()).unwrap();
    for (name, bytes) in files(&original) {
        writer.add(&name, bytes.len() as u64, bytes.as_slice()).unwrap();
    }
    let archive = writer.finish().unwrap();
    folder.write("run.rer.tar.gz", &archive);
    let key = "vectors/rer/bundles_valid/b02_two_blobs/key.bin";
    for (target, input) in
        [("run.rer.tar.gz", None), ("vectors/rer/bundles_valid/b02_two_blobs", None), ("-", Some(archive))]
    {
        let came = run(&folder, &["bundle", "verify", "--key", key, target], input.clone());
        assert_eq!(came, run(&folder, &["verify", "--key", key, target], input));
        assert_eq!(came.0, Some(0));
        assert!(came.1.contains("  rer-bundle\n"), "{}", came.1);
    }
    let target = "examples/runs/invoice.rer.json";
    let expected = format!("reenact: {target}: this is rer-artifact/0.2, not a bundle; try `reenact show`\n");
    let came = run(&folder, &["bundle", "inspect", target], None);
    assert_eq!(came, (Some(1), String::new(), expected));
    let (code, _, complaint) = run(&folder, &["bundle", "extract", target, "--out", "new"], None);
    assert_eq!(code, Some(1));
    assert!(complaint.contains("this is rer-artifact/0.2"), "{complaint}");
    assert!(!folder.path().join("new").exists());
}

/// Returns the archive of a vector's RER bundle, in which each name begins with `prefix`.
fn rer_archive(vector: &str, prefix: &str) -> Vec<u8> {
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, ArchiveLimits::default()).unwrap();
    for (name, bytes) in files(&root().join("vectors/rer").join(vector)) {
        writer.add(&format!("{prefix}{name}"), bytes.len() as u64, bytes.as_slice()).unwrap();
    }
    writer.finish().unwrap()
}

/// Returns the files of a vector's RER bundle.
fn rer_files(vector: &str) -> BTreeMap<String, Vec<u8>> {
    files(&root().join("vectors/rer").join(vector))
}

#[test]
fn an_rer_bundle_is_unpacked_under_its_own_names() {
    let folder = Folder::with_repository();
    for (vector, prefix) in [
        ("bundles_valid/b02_two_blobs", ""),
        ("bundles_valid/b04_key_bin_and_jwk", "run/"),
        ("bundles_valid/b06_empty_blob", ""),
        ("bundles_valid/b07_same_blob_two_names", "a/"),
        ("bundles_valid/b09_blob_name_traversal", "blobs/"),
    ] {
        let archive = rer_archive(vector, prefix);
        folder.write("run.rer.tar.gz", &archive);
        let expected = rer_files(vector);
        for (target, input) in [("run.rer.tar.gz", None), ("-", Some(archive))] {
            let (code, said, complaints) =
                run(&folder, &["bundle", "extract", target, "--out", "new"], input);
            assert_eq!((code, complaints.as_str()), (Some(0), ""), "{vector}");
            assert!(said.starts_with(&format!("{} files, ", expected.len())), "{said}");
            assert_eq!(files(&folder.path().join("new")), expected, "{vector}");
            let came = run(&folder, &["verify", "new"], None);
            assert_eq!(came.0, Some(0), "{}", came.1);
            fs::remove_dir_all(folder.path().join("new")).unwrap();
        }
    }
}

#[test]
fn what_the_manifest_does_not_list_is_left_out() {
    let folder = Folder::with_repository();
    let vector = "bundles_valid/b08_unlisted_blob_file";
    folder.write("run.rer.tar.gz", rer_archive(vector, ""));
    let (code, said, complaints) =
        run(&folder, &["bundle", "extract", "run.rer.tar.gz", "--out", "new", "--json"], None);
    assert_eq!(code, Some(0), "{complaints}");
    assert_eq!(
        complaints,
        "reenact: run.rer.tar.gz: 1 file is not unpacked: the manifest does not list it\n"
    );
    assert!(said.contains("\"verdict\":\"intact\",\"files\":5,"), "{said}");
    assert!(said.ends_with("\"passed_over\":1}\n"), "{said}");
    let unpacked = files(&folder.path().join("new"));
    let vector = rer_files(vector);
    assert_eq!(vector.len(), unpacked.len() + 1);
    assert!(unpacked.iter().all(|(name, bytes)| vector.get(name) == Some(bytes)));
}

/// Without `--force` nothing is there; with it all files are, each under the digest that it really has.
#[test]
fn an_rer_bundle_that_fails_is_not_unpacked() {
    let folder = Folder::with_repository();
    for entry in fs::read_dir(root().join("vectors/rer/bundles_invalid")).unwrap() {
        let vector = format!("bundles_invalid/{}", entry.unwrap().file_name().to_str().unwrap());
        folder.write("run.rer.tar.gz", rer_archive(&vector, ""));
        let arguments = ["bundle", "extract", "run.rer.tar.gz", "--out", "new"];
        let (code, said, complaints) = run(&folder, &arguments, None);
        assert_eq!((code, said.as_str()), (Some(1), ""), "{vector}: {complaints}");
        assert!(complaints.starts_with("reenact: run.rer.tar.gz: not unpacked: "), "{vector}: {complaints}");
        assert!(!folder.path().join("new").exists(), "{vector}");
        let (code, said, complaints) = run(&folder, &[&arguments[..], &["--force"]].concat(), None);
        assert_eq!(code, Some(0), "{vector}: {complaints}");
        assert!(said.contains(" files, "), "{vector}: {said}");
        let unpacked = files(&folder.path().join("new"));
        let contents =
            |files: BTreeMap<String, Vec<u8>>| files.into_values().collect::<std::collections::BTreeSet<_>>();
        for (name, bytes) in unpacked.iter().filter(|(name, _)| name.starts_with("blobs/")) {
            assert_eq!(*name, format!("blobs/{}.bin", reenact_json::Digest::of(bytes)), "{vector}");
        }
        assert_eq!(contents(unpacked), contents(rer_files(&vector)), "{vector}");
        fs::remove_dir_all(folder.path().join("new")).unwrap();
    }
}

#[test]
fn an_rer_bundle_is_looked_into() {
    let folder = Folder::with_repository();
    let vector = "vectors/rer/bundles_valid/b02_two_blobs";
    let (code, said, complaints) = run(&folder, &["bundle", "inspect", vector], None);
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    for line in [
        "  run            01HX9C3MPN5K8VYE0G2DZ1Q7HA\n",
        "  artifact       rer-artifact/0.2, 5 events\n",
        "  written by     rer-ref 0.2.0\n",
        "  signed by      C7uY5NV79fGLU_9IBnMaIAzPpv1TGl467ZoBcALkWZc: self-asserted\n",
        "     11  a0639d03e7e77d7630dffce7bfe26d51813d4c799f13821e5b6786e2736baaed  report.txt\n         event 2 (rer.artifact.written, step s9)\n",
        "  INTACT  intact, signer unknown",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    // The key that signed makes the verdict another; a key that did not makes the answer no.
    let key = format!("{vector}/key.bin");
    let (code, said, _) = run(&folder, &["bundle", "inspect", vector, "--key", &key], None);
    assert!(
        code == Some(0) && said.contains("  PASS  intact, and signed by the key that you supplied"),
        "{said}"
    );
    let other = ["bundle", "inspect", vector, "--key", "examples/runs/signer.jwk"];
    let (code, _, complaints) = run(&folder, &other, None);
    assert_eq!(code, Some(1));
    assert!(complaints.contains("it is not signed by a key that was given"), "{complaints}");
    assert_eq!(run(&folder, &[&other[..], &["--any-signer"]].concat(), None).0, Some(0));
    // For programs, from a pipe.
    let (code, said, _) = run(
        &folder,
        &["bundle", "inspect", "--json", "-"],
        Some(rer_archive("bundles_valid/b02_two_blobs", "x/")),
    );
    assert_eq!(code, Some(0));
    let report: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["artifact"]["events"], 5);
    assert_eq!(report["manifest"]["total_event_count"], 5);
    assert_eq!(report["blobs"][1]["name"], "image.png");
    assert_eq!(report["blobs"][1]["size"], 1024);
    assert_eq!(report["blobs"][1]["events"][0]["index"], 3);
    assert_eq!(report["blobs"][1]["events"][0]["step_id"], "s9");
    assert_eq!(report["unlisted"], serde_json::json!([]));
}

#[test]
fn a_changed_file_is_shown_as_missing_and_as_a_stranger() {
    let folder = Folder::with_repository();
    let vector = "vectors/rer/bundles_invalid/bt01_blob_changed_same_size";
    let (code, said, _) = run(&folder, &["bundle", "inspect", vector], None);
    assert_eq!(code, Some(1));
    assert!(said.contains("  report.txt  (not in the bundle)\n"), "{said}");
    assert!(said.contains("baaed.bin  (not listed)\n"), "{said}");
    assert!(said.contains("  FAIL  1 of 10 checks does not hold: blob_integrity\n"), "{said}");
}

/// Files that were written before the limit was met are removed.
#[test]
fn over_a_limit_there_is_no_answer_and_no_file() {
    let folder = Folder::empty();
    let limits = ArchiveLimits { member_bytes: 1 << 30, ..ArchiveLimits::default() };
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, limits).unwrap();
    writer.add("files/trace.jsonl", 3, &b"{}\n"[..]).unwrap();
    let size = (10 << 20) + 1;
    writer.add("manifest.json", size, std::io::Read::take(std::io::repeat(b' '), size)).unwrap();
    folder.write("large.tar.gz", writer.finish().unwrap());
    let reason = "archive: E_REPLAY_LIMIT_EXCEEDED: the size of a member in bytes is over the limit of 10485760 (member \"manifest.json\")";
    let expected = (Some(2), String::new(), format!("reenact: large.tar.gz: {reason}\n"));
    for arguments in [
        &["bundle", "extract", "large.tar.gz", "--out", "new", "--force"][..],
        &["bundle", "inspect", "large.tar.gz"],
    ] {
        assert_eq!(run(&folder, arguments, None), expected);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn every_check_that_fails_is_given_a_reason() {
    let vectors = with_vectors();
    let mut failing = 0;
    for entry in fs::read_dir(root().join("vectors/replay_bundle/invalid")).unwrap() {
        let path = entry.unwrap().path();
        let (code, text, error) = run(&vectors, &["bundle", "verify", path.to_str().unwrap()], None);
        assert_eq!((code, error.as_str()), (Some(1), ""), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        // The last line is the verdict, whose reasons are those of the checks.
        let checks = &lines[..lines.len() - 1];
        for (at, line) in checks.iter().enumerate().filter(|(_, line)| line.starts_with("  FAIL  ")) {
            failing += 1;
            let next = lines[at + 1];
            assert!(
                next.starts_with("        ") && next.trim().len() > 10,
                "{}: {line}\n{next}",
                path.display()
            );
        }
    }
    assert!(failing > 50, "{failing}");
}
