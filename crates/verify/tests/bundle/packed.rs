//! The same report however a bundle is packed, by this project and by ordinary tools.

use std::path::Path;
use std::process::Command;

use reenact_verify::demand::note_duplicate_runs;
use reenact_verify::{FormatId, Keys, Options, TargetOutcome, verify};

use crate::bundle_fixture::{
    KeyRing as _, Run, TestDir, TestKey, archives, bundle, failed, lay_out, report_of_path, tar,
};
use crate::{notes, other_run, report_in_every_form, report_of, wrapped};

#[test]
fn however_it_is_packed_the_report_is_the_same() {
    let files = bundle();
    let keys = TestKey::of(1).keys();
    let report = report_in_every_form(&files, &keys, "bare");
    assert_eq!(failed(&report), [""; 0], "{:#?}", report.reasons);
    assert_eq!(report.format, "rer-bundle");
    assert_eq!(report.notes, ["event 1: payload withheld; its content cannot be checked"]);
    for (form, archive) in archives(&wrapped(&files)) {
        assert_eq!(report_of(&archive, &keys), report, "{form} with a folder around everything");
    }
}

/// Runs a tool in a folder; prints a line and returns false if there is no such tool.
fn ran(folder: &Path, words: &[&str]) -> bool {
    match Command::new(words[0]).args(&words[1..]).current_dir(folder).output() {
        Ok(output) => {
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(error) => {
            eprintln!("skipped: {} cannot be run here: {error}", words[0]);
            false
        }
    }
}

#[test]
fn ordinary_tools_pack_it_the_same() {
    const PYTHON: &str = "import sys, tarfile, zipfile, os
mode, out, source = sys.argv[1:]
if mode == 'zip':
    with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED) as archive:
        for folder, _, names in os.walk(source):
            for name in names:
                path = os.path.join(folder, name)
                archive.write(path, os.path.relpath(path, source))
else:
    form = {'pax': tarfile.PAX_FORMAT, 'gnu': tarfile.GNU_FORMAT, 'ustar': tarfile.USTAR_FORMAT}[mode]
    with tarfile.open(out, 'w:gz', format=form) as archive:
        archive.add(source, arcname='around')
";
    let keys = TestKey::of(1).keys();
    let folder = TestDir::new();
    let expected = report_of_path(&lay_out(&folder, "b", &bundle()), &keys);
    assert!(expected.pass());
    let commands: &[&[&str]] = &[
        &["tar", "-cf", "a.tar", "b"],
        &["tar", "-C", "b", "-cf", "dot.tar", "."],
        &["tar", "-C", "b", "-czf", "dot.tar.gz", "."],
        &["tar", "--format=pax", "-czf", "pax.tar.gz", "b"],
        &["tar", "--format=v7", "-czf", "v7.tar.gz", "b"],
        &["zip", "-qr", "info.zip", "b"],
        &["zip", "-qrD", "plain.zip", "b"],
        &["python3", "-c", PYTHON, "zip", "python.zip", "b"],
        &["python3", "-c", PYTHON, "pax", "python-pax.tar.gz", "b"],
        &["python3", "-c", PYTHON, "gnu", "python-gnu.tar.gz", "b"],
        &["python3", "-c", PYTHON, "ustar", "python-ustar.tar.gz", "b"],
    ];
    for words in commands {
        if ran(folder.path(), words) {
            let made = words.iter().find(|word| word.contains(".tar") || word.contains(".zip")).unwrap();
            assert_eq!(report_of_path(&folder.path().join(made), &keys), expected, "{words:?}");
        }
    }
}

#[test]
fn what_is_no_bundle_is_unknown_unless_it_is_asked_for() {
    // A manifest alone looks like a Replay Bundle; a note says that this one is of an RER bundle.
    for (missing, format) in [("artifact.json", "replay-bundle/?"), ("manifest.json", "unknown")] {
        let mut files = bundle();
        files.remove(missing);
        for (form, archive) in archives(&files) {
            let report = report_of(&archive, &Keys::default());
            assert_eq!((report.format.as_str(), report.pass()), (format, false), "{missing}: {form}");
            let is_told = report.notes.iter().any(|note| note.contains("whose artifact.json is missing"));
            assert_eq!(is_told, missing == "artifact.json", "{form}");
            let options = Options { format: Some(FormatId::RerBundle), ..Options::default() };
            let report = verify(&archive, &Keys::default(), &options);
            assert_eq!((report.format.as_str(), report.pass()), ("rer-bundle", false), "{missing}: {form}");
        }
    }
}

#[test]
fn a_folder_around_some_of_it_is_part_of_the_names() {
    let mut files = wrapped(&bundle());
    files.insert("other/x".into(), Vec::new());
    for (form, archive) in archives(&files) {
        let report = report_of(&archive, &Keys::default());
        assert_eq!((report.format.as_str(), report.pass()), ("unknown", false), "{form}");
    }
    // A second bundle inside the first is a folder of files that nothing vouches for.
    let mut files = bundle();
    files.extend(wrapped(&other_run()));
    let report = report_in_every_form(&files, &Keys::default(), "one in the other");
    assert!(report.pass());
    assert_eq!(notes(&report).len(), 3, "{:#?}", report.notes);
}

/// A run and its own bundle are one record; another record of the same run is another, packed or not.
#[test]
fn a_run_beside_its_own_bundle_is_no_duplicate() {
    let run = Run::default();
    let key = TestKey::of(1);
    let outcome =
        |name: &str, bytes: &[u8]| (name.to_owned(), TargetOutcome::Report(report_of(bytes, &key.keys())));
    let alone = run.artifact(&key, None);
    let bundle = tar(&run.bundle(&key, |_| {}));
    let mut outcomes = vec![outcome("run.rer.json", &alone), outcome("run.tar", &bundle)];
    let before = outcomes.clone();
    note_duplicate_runs(&mut outcomes);
    assert_eq!(outcomes, before);

    let other = Run { blobs: vec![b"other".to_vec()], ..Run::default() };
    let other = tar(&other.bundle(&key, |_| {}));
    outcomes.push(outcome("other.tar", &other));
    note_duplicate_runs(&mut outcomes);
    let duplicates = outcomes.iter().map(|(_, outcome)| match outcome {
        TargetOutcome::Report(report) => report.has_duplicate,
        TargetOutcome::Unreadable(_) => false,
    });
    assert_eq!(duplicates.collect::<Vec<_>>(), [true; 3]);
}
