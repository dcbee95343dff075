//! Files that `reenact convert` leaves on the disk: all of them under the given name, or nothing at all.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::folder::Folder;

/// Runs `reenact`; returns exit code, standard output and standard error.
fn run(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = support::command(Path::new(env!("CARGO_BIN_EXE_reenact")), folder);
    let output = command.args(arguments).output().unwrap();
    let utf8 = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), utf8(output.stdout), utf8(output.stderr))
}

fn expect_success(folder: &Folder, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(folder, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {stdout}{stderr}");
    stdout
}

/// Returns the names in a folder, sorted, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn example(name: &str) -> PathBuf {
    support::root().join("examples/runs").join(name)
}

/// A file that is its own canonical form is the same after the way through RER and back.
#[test]
fn there_and_back() {
    for (name, format) in
        [("invoice.rpk", "rpk"), ("invoice.model_io.json", "model-io"), ("invoice.tar.gz", "replay-bundle")]
    {
        let folder = Folder::with_repository();
        let source = format!("examples/runs/{name}");
        let said = expect_success(&folder, &["convert", &source, "--to", "rer", "--out", "a.rer.json"]);
        assert!(said.ends_with("nothing is lost\n"), "{said}");
        expect_success(&folder, &["verify", "a.rer.json"]);
        let said = expect_success(&folder, &["convert", "a.rer.json", "--to", format, "--out", "b"]);
        assert!(said.ends_with("nothing is lost: this is what the record was imported from\n"), "{said}");
        assert_eq!(fs::read(folder.path().join("b")).unwrap(), fs::read(example(name)).unwrap(), "{name}");
        assert_eq!(names(&folder.path()), ["a.rer.json", "b", "examples", "vectors"]);
    }
}

/// The files of a folder come back as a folder.
#[test]
fn folders() {
    let folder = Folder::with_repository();
    expect_success(
        &folder,
        &["convert", "examples/runs/invoice.replay", "--to", "rer", "--out", "a.rer.json"],
    );
    expect_success(&folder, &["convert", "a.rer.json", "--to", "replay-jsonl", "--out", "session"]);
    let session = folder.path().join("session");
    assert_eq!(names(&session), ["RECEIPT.json", "REPLAY.jsonl"]);
    for name in ["RECEIPT.json", "REPLAY.jsonl"] {
        let original = fs::read(example("invoice.replay").join(name)).unwrap();
        assert_eq!(fs::read(session.join(name)).unwrap(), original, "{name}");
    }
    expect_success(&folder, &["convert", "examples/runs/invoice.pack", "--to", "rer", "--out", "p.rer.json"]);
    expect_success(&folder, &["convert", "p.rer.json", "--to", "model-io", "--out", "pack"]);
    expect_success(&folder, &["verify", "pack"]);
    let run = fs::read(folder.path().join("pack/run.json")).unwrap();
    assert_eq!(run, fs::read(example("invoice.pack/run.json")).unwrap());
}

/// White space is no part of a canonical form; `--keep-source` keeps it.
#[test]
fn the_source_is_kept() {
    let folder = Folder::with_repository();
    let text = fs::read_to_string(example("invoice.rpk")).unwrap().replace("  ", "\t");
    folder.write("run.rpk", &text);
    expect_success(&folder, &["convert", "run.rpk", "--to", "rer", "--out", "a.rer.json"]);
    expect_success(&folder, &["convert", "run.rpk", "--to", "rer", "--keep-source", "--out", "b.rer.json"]);
    expect_success(&folder, &["convert", "a.rer.json", "--to", "rpk", "--out", "a.rpk"]);
    expect_success(&folder, &["convert", "b.rer.json", "--to", "rpk", "--out", "b.rpk"]);
    assert_eq!(fs::read(folder.path().join("a.rpk")).unwrap(), fs::read(example("invoice.rpk")).unwrap());
    assert_eq!(fs::read_to_string(folder.path().join("b.rpk")).unwrap(), text);
}

/// Each of the three formats that cannot be verified, to each format.
#[test]
fn what_only_conversion_knows() {
    for name in ["recording-session.json", "session-timeline.json", "typed.jsonl"] {
        let folder = Folder::with_repository();
        let file = support::root().join("crates/run/tests/restore/files").join(name);
        folder.write(name, fs::read(file).unwrap());
        for format in ["rer", "rpk", "model-io", "replay-jsonl", "replay-bundle"] {
            expect_success(&folder, &["convert", name, "--to", format, "--out", format]);
            expect_success(&folder, &["verify", format]);
        }
        let json = expect_success(&folder, &["convert", name, "--to", "rer", "--out", "again", "--json"]);
        assert!(
            json.contains("\"verifies\":null") && json.contains("\"lossless\":true,\"losses\":[]"),
            "{json}"
        );
    }
}

/// No failure leaves a file behind.
#[test]
fn nothing_by_halves() {
    let folder = Folder::with_repository();
    let bytes = fs::read(example("invoice.rpk")).unwrap();
    folder.write("torn.rpk", &bytes[..bytes.len() / 2]);
    folder.write("far.rpk", r#"{"version":"1.0","metadata":{"created_at":"0001-01-01T00:00:00+14:00"},"payload":{"run":{"id":"r","steps":[]}},"checksum":"sha256:0"}"#);
    let before = names(&folder.path());
    for (arguments, code, reason) in [
        (&["torn.rpk", "--to", "rer"][..], 2, "torn.rpk: the record cannot be read: line "),
        (&["torn.rpk", "--to", "replay-jsonl", "--force"], 2, "torn.rpk: the record cannot be read: line "),
        (&["far.rpk", "--to", "rer", "--force"], 2, "lies outside the years 1 to 9999 in UTC"),
        (&["far.rpk", "--to", "rer"], 2, "E_NOT_VERIFIED"),
        (
            &["examples/runs/invoice.rpk", "--to", "replay-jsonl", "--deny-loss"],
            1,
            "nothing was written: --deny-loss",
        ),
        (&["examples/runs/invoice.rer.json", "--to", "rpk"], 2, "no key for key_id"),
    ] {
        let arguments = [&["convert"][..], arguments, &["--out", "out"]].concat();
        let (found, _, stderr) = run(&folder, &arguments);
        assert_eq!(found, Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
        assert_eq!(names(&folder.path()), before, "{arguments:?}");
    }
}

/// A record of somebody else may name its files as it likes; no such name becomes a path.
#[test]
fn names_from_outside_are_no_paths() {
    for name in ["../escaped", "a/b", ".hidden", "/tmp/x", ""] {
        let folder = Folder::with_repository();
        fs::create_dir(folder.path().join("pack")).unwrap();
        for file in ["run.json", "model_io.json"] {
            folder.write(&format!("pack/{file}"), fs::read(example("invoice.pack").join(file)).unwrap());
        }
        folder.write("pack/notes.txt", "x");
        expect_success(&folder, &["convert", "pack", "--to", "rer", "--out", "a.rer.json"]);
        let artifact = fs::read_to_string(folder.path().join("a.rer.json")).unwrap();
        let forged = artifact.replace("\"notes.txt\"", &format!("\"{name}\""));
        assert_ne!(forged, artifact);
        folder.write("b.rer.json", forged);
        let before = names(&folder.path());
        let (code, _, stderr) =
            run(&folder, &["convert", "b.rer.json", "--to", "model-io", "--force", "--out", "out"]);
        assert_eq!(code, Some(2), "{name}: {stderr}");
        assert!(stderr.contains("cannot be the name of a file; nothing was written"), "{stderr}");
        assert_eq!(names(&folder.path()), before);
    }
}

/// A record that did not verify does not become a good one by way of RER.
#[test]
fn doubts_are_not_laundered() {
    let folder = Folder::with_repository();
    let text = fs::read_to_string(example("invoice.rpk")).unwrap();
    folder.write("bad.rpk", text.replacen("\"checksum\": \"sha256:", "\"checksum\": \"sha256:0", 1));
    expect_success(&folder, &["convert", "bad.rpk", "--to", "rer", "--force", "--out", "a.rer.json"]);
    expect_success(&folder, &["verify", "a.rer.json"]);
    let artifact = fs::read_to_string(folder.path().join("a.rer.json")).unwrap();
    assert!(artifact.contains("\"verified\":false"));
    let before = names(&folder.path());
    for format in ["rpk", "model-io", "replay-jsonl", "replay-bundle"] {
        let arguments = ["convert", "a.rer.json", "--to", format, "--out", "out"];
        let (code, _, stderr) = run(&folder, &arguments);
        assert_eq!(code, Some(2), "{format}: {stderr}");
        assert!(
            stderr.contains("the record that this was imported from does not verify")
                && stderr.contains("E_NOT_VERIFIED")
                && stderr.contains("it did not verify when it was imported"),
            "{format}: {stderr}"
        );
        assert_eq!(names(&folder.path()), before);
    }
    expect_success(&folder, &["convert", "a.rer.json", "--to", "model-io", "--force", "--out", "out"]);
    expect_success(&folder, &["convert", "examples/runs/invoice.rpk", "--to", "rer", "--out", "b.rer.json"]);
    assert!(fs::read_to_string(folder.path().join("b.rer.json")).unwrap().contains("\"verified\":true"));
}

/// A link could lead out of the folder.
#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    for (name, others) in [
        ("REPLAY.jsonl", &[][..]),
        ("RECEIPT.json", &["REPLAY.jsonl"]),
        ("PR_SUMMARY.md", &["REPLAY.jsonl"]),
        ("artifact.rer.json", &[]),
        ("artifact.json", &[]),
        ("model_io.json", &[]),
        ("manifest.json", &[]),
    ] {
        let folder = Folder::with_repository();
        fs::create_dir(folder.path().join("record")).unwrap();
        for other in others {
            let bytes = fs::read(example("invoice.replay").join(other)).unwrap();
            folder.write(&format!("record/{other}"), bytes);
        }
        folder.write("outside", "secret");
        std::os::unix::fs::symlink("../outside", folder.path().join("record").join(name)).unwrap();
        let refused = format!("record/{name}: this is a link, and links are not followed; nothing was read");
        let mut commands = vec![vec!["convert", "record", "--to", "rpk", "--out", "out"]];
        // Only conversion reads the summary of a replay.
        if name != "PR_SUMMARY.md" {
            commands.push(vec!["show", "record"]);
        }
        for arguments in commands {
            let (code, stdout, stderr) = run(&folder, &arguments);
            assert_eq!(code, Some(2), "{name} {arguments:?}: {stdout}{stderr}");
            assert!(stderr.contains(&refused), "{name} {arguments:?}: {stderr}");
        }
    }
}

/// Only a folder around everything is no part of the names in a pack.
#[test]
fn folders_in_packs() {
    let tar = |files: &[(&str, &str)]| {
        let mut out = Vec::new();
        for (name, source) in files {
            let bytes = match *source {
                "" => b"x".to_vec(),
                source => fs::read(example("invoice.pack").join(source)).unwrap(),
            };
            let mut header = [0_u8; 512];
            header[..name.len()].copy_from_slice(name.as_bytes());
            header[100..108].copy_from_slice(b"0000644\0");
            header[124..136].copy_from_slice(format!("{:011o}\0", bytes.len()).as_bytes());
            header[136..148].copy_from_slice(b"00000000000\0");
            header[148..156].copy_from_slice(b"        ");
            header[156] = b'0';
            header[257..265].copy_from_slice(b"ustar\x0000");
            let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
            header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            out.extend_from_slice(&header);
            out.extend_from_slice(&bytes);
            out.resize(out.len().next_multiple_of(512), 0);
        }
        out.resize(out.len() + 1024, 0);
        out
    };
    let folder = Folder::with_repository();
    let wrapped =
        tar(&[("p/model_io.json", "model_io.json"), ("p/notes.txt", ""), ("p/run.json", "run.json")]);
    folder.write("wrapped.tar", wrapped);
    expect_success(&folder, &["convert", "wrapped.tar", "--to", "rer", "--out", "w.rer.json"]);
    expect_success(&folder, &["convert", "w.rer.json", "--to", "model-io", "--out", "pack"]);
    assert_eq!(names(&folder.path().join("pack")), ["model_io.json", "notes.txt", "run.json"]);
    let nested = tar(&[("model_io.json", "model_io.json"), ("notes/a.txt", ""), ("run.json", "run.json")]);
    folder.write("nested.tar", nested);
    let (code, _, stderr) = run(&folder, &["convert", "nested.tar", "--to", "rer", "--out", "n.rer.json"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("\"notes/a.txt\" could not be written on the way back"), "{stderr}");
}
