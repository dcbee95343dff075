//! Folders with entries that do not belong into a bundle.

use std::fs;
use std::path::Path;
use std::process::Command;

use reenact_verify::disk::{self, PathArgument, RecordPath};
use reenact_verify::rer::bundle::CHECKS;
use reenact_verify::{Keys, TargetOutcome};

use crate::assert_bounded;
use crate::bundle_fixture::{TestDir, bundle, failed, lay_out, report_of_path};

/// Asserts that a bundle's folder is refused for this reason.
#[cfg(unix)]
fn refused_folder(path: &Path, reason: &str) {
    let report = report_of_path(path, &Keys::default());
    assert_eq!(failed(&report), CHECKS, "{:#?}", report.reasons);
    assert_eq!(report.reasons[0], format!("artifact: the folder cannot be read: {reason}"));
    assert_bounded(&report, reason);
    assert_eq!(TargetOutcome::Report(report).exit_code(), 1);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_in_a_folder_are_refused() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    let folder = TestDir::new();
    let outside = folder.write("outside/secret", b"secret");
    let at = lay_out(&folder, "file", &bundle());
    symlink(&outside, at.join("blobs/link\u{1b}")).unwrap();
    refused_folder(&at, "blobs/link\\u{1b} is neither a file nor a folder");

    let at = lay_out(&folder, "folder", &bundle());
    symlink(outside.parent().unwrap(), at.join("more")).unwrap();
    refused_folder(&at, "more is neither a file nor a folder");

    let at = lay_out(&folder, "loop", &bundle());
    symlink(&at, at.join("self")).unwrap();
    refused_folder(&at, "self is neither a file nor a folder");

    let at = lay_out(&folder, "artifact", &bundle());
    fs::rename(at.join("artifact.json"), folder.path().join("outside/artifact.json")).unwrap();
    symlink(folder.path().join("outside/artifact.json"), at.join("artifact.json")).unwrap();
    refused_folder(&at, "artifact.json is neither a file nor a folder");

    let at = lay_out(&folder, "s", &bundle());
    let _listening = UnixListener::bind(at.join("socket")).unwrap();
    refused_folder(&at, "socket is neither a file nor a folder");

    let at = lay_out(&folder, "pipe", &bundle());
    match Command::new("mkfifo").arg(at.join("blobs/pipe")).status() {
        Ok(status) if status.success() => refused_folder(&at, "blobs/pipe is neither a file nor a folder"),
        other => eprintln!("skipped: mkfifo cannot be run here: {other:?}"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf_8_are_refused_in_a_folder() {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = TestDir::new();
    let at = lay_out(&folder, "b", &bundle());
    fs::write(at.join(std::ffi::OsStr::from_bytes(b"blobs/\xff")), b"").unwrap();
    refused_folder(&at, "the name blobs/\u{fffd} is not UTF-8");
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_told() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = TestDir::new();
    let at = lay_out(&folder, "b", &bundle());
    let closed = at.join("closed");
    fs::write(&closed, b"x").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o0)).unwrap();
    if fs::read(&closed).is_ok() {
        eprintln!("skipped: whoever runs this test may read everything");
        return;
    }
    let error = disk::open(&RecordPath::Bundle(at)).unwrap_err();
    assert_eq!(error.code, "E_NOT_READABLE");
    assert!(error.message.ends_with("closed: you may not read this"), "{}", error.message);
}

#[test]
fn folders_may_be_deep_but_not_without_end() {
    let folder = TestDir::new();
    let mut files = bundle();
    files.insert(format!("{}x", "d/".repeat(64)), Vec::new());
    let at = lay_out(&folder, "deep", &files);
    assert!(report_of_path(&at, &Keys::default()).pass());
    files.insert(format!("{}x", "d/".repeat(65)), Vec::new());
    let at = lay_out(&folder, "deeper", &files);
    let PathArgument::Record(place) = disk::look_up(at.as_os_str()) else { unreachable!("it is a bundle") };
    let error = disk::open(&place).unwrap_err();
    assert!(error.message.ends_with("folders are nested too deep"), "{}", error.message);
}
