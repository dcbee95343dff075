//! Archives and folders made to hurt: each is refused with a reason that names the fault, in bounded memory.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test says what it skipped")]

mod archives_forge;
mod bundle_maker;

use std::fs;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::process::Command;

use archives_forge::{END, Stored, entry, gzip, header, pax};
use bundle_maker::{Files, Folder, Key, bundle, failed, judge_path, tar, tar_gz};
use reenact_json::shown::is_unsafe;
use reenact_pack::{Container, Limits, TarGzWriter, TarStyle, ZipMethod, ZipWriter};
use reenact_verify::disk::{self, Argument, Place};
use reenact_verify::rer::bundle::CHECKS;
use reenact_verify::{Keys, Members, Options, Outcome, Report, render, safe};

fn judge(archive: &[u8]) -> Report {
    safe(archive, &Keys::default(), &Options::default())
}

/// A report that is short and that no terminal obeys.
fn assert_bounded(report: &Report, what: &str) {
    let outcome = Outcome::Judged(report.clone());
    let text = outcome.to_json("x") + &render::outcome("x", &outcome, &render::plain);
    assert!(text.len() < 16 * 1024, "{what}: {} bytes", text.len());
    assert!(!text.lines().flat_map(str::chars).any(is_unsafe), "{what}: {text}");
    let lines = report.reasons.iter().chain(&report.notes);
    assert!(!lines.flat_map(|line| line.chars()).any(is_unsafe), "{what}: {report:?}");
}

/// That an archive is refused for this reason, as bytes and as a file: `meant` to be a bundle, or of no known format.
fn refused(what: &str, archive: &[u8], meant: bool, reason: &str) {
    let report = judge(archive);
    let folder = Folder::new();
    assert_eq!(judge_path(&folder.write("archive", archive), &Keys::default()), report, "{what}");
    assert_eq!(Outcome::Judged(report.clone()).exit_code(), 1, "{what}");
    assert_bounded(&report, what);
    let expected = if meant {
        assert_eq!(failed(&report), CHECKS.map(|(name, _)| name), "{what}: {:#?}", report.reasons);
        assert!(report.artifact_checks.iter().all(|check| check.holds == Some(false)), "{what}");
        format!("artifact: the archive cannot be read: {reason}")
    } else {
        assert_eq!(failed(&report), ["recognised"], "{what}: {:#?}", report.reasons);
        format!("recognised: it is an archive that cannot be read: {reason}")
    };
    assert_eq!(report.reasons[0], expected, "{what}");
}

/// A good bundle, and after it these entries.
fn tar_with(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut archive = tar(&bundle());
    archive.truncate(archive.len() - END.len());
    entries.iter().for_each(|entry| archive.extend_from_slice(entry));
    archive.extend_from_slice(&END);
    archive
}

/// A good bundle, and after it these entries.
fn zip_with(entries: &[Stored]) -> Vec<u8> {
    let mut all: Vec<Stored> =
        bundle().iter().map(|(name, bytes)| Stored::new(name.as_bytes(), bytes)).collect();
    all.extend_from_slice(entries);
    archives_forge::zip(&all)
}

#[test]
fn what_the_forge_makes_is_sound() {
    let report = judge(&tar(&bundle()));
    assert!(report.pass());
    assert_eq!(judge(&tar_with(&[])), report);
    assert_eq!(judge(&gzip(&tar_with(&[]))), report);
    assert_eq!(judge(&zip_with(&[])), report);
}

/// Entries that a good bundle is followed by, and the reason for which it is then refused.
fn tar_tricks() -> Vec<(&'static str, Vec<Vec<u8>>, String)> {
    let kind = |name: &str, is: &str| format!("member {name:?} is {is}, which is not accepted");
    let name = |name: &str, fault: &str| format!("unsafe member name {name:?}: {fault}");
    let in_pax = |fault: &str| format!("PAX header: {fault} (member \"PaxHeaders/x\")");
    let file = |name: &str| entry(b'0', name.as_bytes(), b"x");
    let twice = |name: &str| format!("two members are named {name:?}");
    let dot = "it has a segment that is `.` or `..`";
    vec![
        ("symbolic link", vec![entry(b'2', b"blobs/x", b"")], kind("blobs/x", "a symbolic link")),
        ("hard link", vec![entry(b'1', b"blobs/x", b"")], kind("blobs/x", "a hard link")),
        ("character device", vec![entry(b'3', b"null", b"")], kind("null", "a device")),
        ("block device", vec![entry(b'4', b"sda", b"")], kind("sda", "a device")),
        ("pipe", vec![entry(b'6', b"p", b"")], kind("p", "a pipe")),
        ("sparse", vec![entry(b'S', b"s", b"")], kind("s", "a sparse file")),
        (
            "long link",
            vec![entry(b'K', b"././@LongLink", b"a\0")],
            kind("././@LongLink", "a GNU long link target"),
        ),
        ("unknown type", vec![entry(b'Z', b"z", b"")], kind("z", "of tar type 0x5a")),
        ("above", vec![file("../evil")], name("../evil", dot)),
        ("above inside", vec![file("a/../../evil")], name("a/../../evil", dot)),
        ("dot inside", vec![file("blobs/./x")], name("blobs/./x", dot)),
        ("absolute", vec![file("/etc/passwd")], name("/etc/passwd", "it is absolute")),
        ("drive", vec![file("C:evil")], name("C:evil", "it has a colon in its first segment")),
        ("backslash", vec![file("..\\evil")], name("..\\evil", "it contains a backslash")),
        ("empty segment", vec![file("a//b")], name("a//b", "it has an empty segment")),
        (
            "escape",
            vec![file("\u{1b}[2J\u{202e}")],
            name("\u{1b}[2J\u{202e}", "it contains a control character"),
        ),
        ("not UTF-8", vec![entry(b'0', b"\xff\xfe", b"")], name("\u{fffd}\u{fffd}", "it is not UTF-8")),
        (
            "NUL",
            vec![file("a\0b")],
            "a tar header has content in fields that must be empty (member \"a\")".into(),
        ),
        ("NUL in PAX", vec![pax(&[b"path=a\0b"]), file("a")], in_pax("\"path\" has an unacceptable value")),
        ("two manifests", vec![file("manifest.json")], twice("manifest.json")),
        ("two artifacts", vec![file("artifact.json")], twice("artifact.json")),
        ("two artifacts, by a dot", vec![file("./artifact.json")], twice("artifact.json")),
        ("two artifacts, by PAX", vec![pax(&[b"path=artifact.json"]), file("x")], twice("artifact.json")),
        (
            "two artifacts, by long name",
            vec![entry(b'L', b"././@LongLink", b"artifact.json\0"), file("x")],
            twice("artifact.json"),
        ),
        (
            "case",
            vec![file("Artifact.JSON")],
            "the names \"Artifact.JSON\" and \"artifact.json\" differ only by case".into(),
        ),
        (
            "file and folder",
            vec![file("manifest.json/x")],
            "\"manifest.json\" is a file, so \"manifest.json/x\" cannot be inside it".into(),
        ),
        ("folder and file", vec![file("blobs")], {
            let inside = bundle().into_keys().find(|name| name.starts_with("blobs/")).unwrap();
            format!("\"blobs\" is a file, so \"{inside}\" cannot be inside it")
        }),
        ("PAX link", vec![pax(&[b"linkpath=/etc"]), file("x")], in_pax("\"linkpath\" is not accepted")),
        (
            "PAX sparse",
            vec![pax(&[b"GNU.sparse.name=y"]), file("x")],
            in_pax("\"GNU.sparse.name\" is not accepted"),
        ),
        (
            "PAX charset",
            vec![pax(&[b"hdrcharset=BINARY"]), file("x")],
            in_pax("\"hdrcharset\" is not accepted"),
        ),
        ("PAX twice", vec![pax(&[b"path=a", b"path=b"]), file("x")], in_pax("\"path\" is given twice")),
        (
            "PAX size",
            vec![pax(&[b"size=512"]), file("x")],
            "the archive disagrees with itself about the size of member \"x\"".into(),
        ),
        (
            "PAX for nothing",
            vec![pax(&[b"path=a"])],
            "an extension header is not followed by a member".into(),
        ),
        (
            "PAX and PAX",
            vec![pax(&[b"path=a"]), pax(&[b"path=b"]), file("x")],
            "one member has several extension headers that name it (member \"PaxHeaders/x\")".into(),
        ),
        ("PAX for all", vec![entry(b'g', b"g", b"12 path=a/b\n")], kind("g", "a global PAX header")),
        (
            "content after the end",
            vec![END.to_vec(), file("x")],
            "there is data after the end blocks of a tar".into(),
        ),
        (
            "folder with content",
            vec![entry(b'5', b"d/", b"x")],
            "a folder has content (member \"d/\")".into(),
        ),
    ]
}

#[test]
fn tricks_of_tar_are_refused() {
    for (what, entries, reason) in tar_tricks() {
        // What acts on a terminal is escaped by `Debug` here and by the error there.
        refused(what, &tar_with(&entries), true, &reason);
        refused(what, &gzip(&tar_with(&entries)), true, &reason);
    }
    let mut padding = tar_with(&[entry(b'0', b"x", b"x")]);
    let at = padding.len() - END.len() - 1;
    padding[at] = 1;
    refused("padding", &padding, true, "the padding after a member is not zero (member \"x\")");
    let bare = tar(&bundle());
    refused(
        "no end",
        &bare[..bare.len() - END.len()],
        true,
        "the archive ends inside the end blocks of a tar",
    );
}

#[test]
fn tricks_of_zip_are_refused() {
    let with = |change: &dyn Fn(&mut Stored)| {
        let mut entry = Stored::new(b"x", b"x");
        change(&mut entry);
        zip_with(&[entry])
    };
    let of_type = |mode: u32| with(&|entry| entry.mode = mode);
    let named = |name: &[u8]| zip_with(&[Stored::new(name, b"x")]);
    let cases: &[(&str, Vec<u8>, bool, &str)] = &[
        ("link", of_type(0o120_777), false, "member \"x\" is a symbolic link, which is not accepted"),
        ("device", of_type(0o020_666), false, "member \"x\" is a device, which is not accepted"),
        ("pipe", of_type(0o010_666), false, "member \"x\" is a pipe, which is not accepted"),
        (
            "folder that is none",
            of_type(0o040_755),
            false,
            "the archive disagrees with itself about the file type of member \"x\"",
        ),
        ("above", named(b"../x"), false, "unsafe member name \"../x\": it has a segment that is `.` or `..`"),
        ("absolute", named(b"/x"), false, "unsafe member name \"/x\": it is absolute"),
        ("NUL", named(b"a\0b"), false, "unsafe member name \"a\\0b\": it contains a control character"),
        ("not UTF-8", named(b"\xff"), false, "unsafe member name \"\u{fffd}\": it is not UTF-8"),
        ("two manifests", named(b"manifest.json"), false, "two members are named \"manifest.json\""),
        ("two artifacts", named(b"artifact.json"), false, "two members are named \"artifact.json\""),
        (
            "case",
            named("MANIFEST.json".as_bytes()),
            false,
            "the names \"MANIFEST.json\" and \"manifest.json\" differ only by case",
        ),
        (
            "file and folder",
            named(b"key.bin/x"),
            false,
            "\"key.bin\" is a file, so \"key.bin/x\" cannot be inside it",
        ),
        (
            "two names",
            with(&|entry| entry.local_name = b"y".to_vec()),
            true,
            "the archive disagrees with itself about the name of member \"x\"",
        ),
        (
            "two sums",
            with(&|entry| entry.lies[0] = 1),
            true,
            "the archive disagrees with itself about the CRC of member \"x\"",
        ),
        (
            "two sizes",
            with(&|entry| entry.lies[1] = 1),
            true,
            "the archive disagrees with itself about the size of member \"x\"",
        ),
        (
            "gap",
            with(&|entry| entry.lies[2] = 1),
            true,
            "the zip contains bytes that belong to no entry (member \"manifest.json\")",
        ),
        ("encrypted", with(&|entry| entry.flags |= 1), false, "the content is encrypted (member \"x\")"),
    ];
    for (what, archive, meant, reason) in cases {
        refused(what, archive, *meant, reason);
    }
    let mut after = zip_with(&[]);
    after.push(b'x');
    refused("data after the end", &after, false, "there is data after a zip's end record");
    let before = [b"PK\x03\x04".to_vec(), zip_with(&[])].concat();
    refused("data before", &before, false, "the zip contains bytes that belong to no entry");
}

/// Many entries over the same bytes, as in the densest bombs.
#[test]
fn entries_that_share_their_bytes_are_refused() {
    let first = zip_with(&[]).len();
    let entries = [Stored::new(b"x", b"x"), Stored::new(b"y", b"x")].map(|mut entry| {
        entry.local_name = b"x".to_vec();
        entry
    });
    let mut shared = entries;
    // Back over one local header of 30 bytes, one name and one byte.
    shared[1].lies[2] = 0_u32.wrapping_sub(32);
    assert!(first > 0);
    let report = judge(&zip_with(&shared));
    assert!(!report.pass());
    assert!(report.reasons[0].contains("entries of the zip overlap (member \""), "{}", report.reasons[0]);
}

/// Every character that a report must not show, in names that are refused: none gets through.
#[test]
fn no_name_acts_on_a_terminal() {
    let unsafe_ones: Vec<char> =
        (0..=0x0010_ffff).filter_map(char::from_u32).filter(|c| is_unsafe(*c)).collect();
    for some in unsafe_ones.chunks(64) {
        let name: String = some.iter().flat_map(|c| ['a', *c]).collect();
        let archive = archives_forge::zip(&[Stored::new(format!("../{name}").as_bytes(), b"")]);
        let report = judge(&archive);
        assert!(report.reasons[0].contains("unsafe member name"), "{}", report.reasons[0]);
        assert!(!report.reasons[0].contains(is_unsafe), "{:?}", report.reasons[0]);
    }
    // Ordinary names are shown as they are.
    let report = judge(&zip_with(&[Stored::new("../Zürich 東京".as_bytes(), b"")]));
    assert!(report.reasons[0].contains("\"../Zürich 東京\""), "{}", report.reasons[0]);
}

/// A tar.gz of a bundle with members of zeros before the rest.
fn tar_gz_of_zeros(sizes: &[(&str, u64)]) -> Vec<u8> {
    let limits = Limits { member_bytes: 1 << 40, ..Limits::default() };
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, limits).unwrap();
    let files = bundle();
    for name in ["artifact.json", "manifest.json"] {
        writer.add(name, files[name].len() as u64, files[name].as_slice()).unwrap();
    }
    for (name, size) in sizes {
        writer.add(name, *size, io::repeat(0).take(*size)).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn bombs_are_refused() {
    let zeros = tar_gz_of_zeros(&[("blobs/zeros", 32 << 20)]);
    assert!(zeros.len() < 200_000);
    refused("tar.gz", &zeros, true, "the expansion ratio is over the limit of 200 (member \"blobs/zeros\")");

    let mut writer = ZipWriter::new(Cursor::new(Vec::new()), Limits::default());
    for number in 0..3 {
        let (size, method) = (40 << 20, ZipMethod::Deflated);
        writer.add(&format!("{number}.bin"), size, method, io::repeat(0).take(size)).unwrap();
    }
    let bomb = writer.finish().unwrap().into_inner();
    refused("zip", &bomb, false, "the expansion ratio is over the limit of 200 (member \"0.bin\")");

    // A zip in a zip is a blob: nobody opens it.
    let mut files = bundle();
    files.insert("blobs/42.zip".into(), bomb);
    let report = judge(&tar(&files));
    assert!(report.pass());
    assert!(report.notes[1].starts_with("blobs/42.zip is not listed"), "{:?}", report.notes);
}

#[test]
fn gzip_in_gzip_is_no_tar() {
    let once = tar_gz(&bundle());
    let twice = gzip(&once);
    let report = judge(&twice);
    assert_eq!(failed(&report), ["recognised"]);
    assert!(
        report.reasons[0].contains("the checksum of a tar header does not match"),
        "{}",
        report.reasons[0]
    );
    assert_bounded(&report, "gzip in gzip");
    // So short that nothing of it was shown before its end.
    refused("two gzip members", &[&once[..], &once[..]].concat(), false, "there is data after a gzip stream");
    refused("data after gzip", &[&once[..], b"\0"].concat(), false, "there is data after a gzip stream");
}

#[test]
fn members_beyond_a_hundred_thousand_are_refused() {
    let mut archive = tar(&bundle());
    archive.truncate(archive.len() - END.len());
    let own = bundle().len();
    for number in own..100_000 {
        archive.extend_from_slice(&header(b'0', format!("f{number}").as_bytes(), 0));
    }
    let full = [archive.as_slice(), &END].concat();
    assert!(judge(&full).pass());
    drop(full);
    archive.extend_from_slice(&header(b'0', b"one more", 0));
    let report = judge(&archive);
    assert_eq!(failed(&report), CHECKS.map(|(name, _)| name));
    let reason = "artifact: the archive cannot be read: the number of members is over the limit of 100000";
    assert_eq!(report.reasons[0], reason);
}

#[test]
fn an_artifact_larger_than_its_limit_is_refused_before_it_is_read() {
    let size = (1_u64 << 30) + 1;
    let archive = header(b'0', b"artifact.json", size);
    let reason = "the size of a member in bytes is over the limit of 1073741824 (member \"artifact.json\")";
    refused("artifact.json", &archive, true, reason);
    let archive = [&entry(b'0', b"d/x", b"")[..], &header(b'0', b"d/manifest.json", size)].concat();
    let reason = "the size of a member in bytes is over the limit of 268435456 (member \"d/manifest.json\")";
    refused("manifest.json in a folder", &archive, true, reason);
}

/// What an archive says, if it can be read.
fn members(archive: &[u8]) -> Option<(Files, Vec<(String, reenact_verify::members::FileFacts)>)> {
    let container = Container::detect(archive)?;
    let members = Members::unpack(container, Cursor::new(archive)).ok()?;
    let documents = ["artifact.json", "manifest.json", "key.bin", "key.jwk"].into_iter();
    let documents = documents.filter_map(|name| Some((name.to_owned(), members.document(name)?.to_vec())));
    Some((documents.collect(), members.files().map(|(name, facts)| (name.to_owned(), facts)).collect()))
}

/// A bundle of few bytes, so that every one of them can be tried.
fn small() -> Files {
    bundle_maker::Run { blobs: vec![b"b".to_vec()], ..Default::default() }.bundle(&Key::of(1), |_| {})
}

fn small_archives() -> [(&'static str, Vec<u8>, usize); 4] {
    let files = small();
    // Every byte of the packed ones; a tar is mostly zeros and text that other tests flip.
    [
        ("tar.gz", tar_gz(&files), 1),
        ("zip", bundle_maker::zip(&files, ZipMethod::Deflated), 1),
        ("stored zip", bundle_maker::zip(&files, ZipMethod::Stored), 3),
        ("tar", tar(&files), 7),
    ]
}

#[test]
fn whatever_bit_flips_the_members_are_the_same_or_it_does_not_pass() {
    for (form, archive, step) in small_archives() {
        let original = members(&archive).unwrap();
        let mut same = 0;
        for at in (0..archive.len()).step_by(step) {
            let mut flipped = archive.clone();
            flipped[at] ^= 1 << (at % 8);
            let report = judge(&flipped);
            assert_bounded(&report, form);
            if report.pass() {
                assert_eq!(members(&flipped), Some(original.clone()), "{form}: byte {at}");
                same += 1;
            }
        }
        // Times, systems and the like; in a tar the padding is held to be zero, and the checksum covers the rest.
        assert!(same < 200, "{form}: {same} of {} flips went unnoticed", archive.len());
    }
}

#[test]
fn whatever_is_cut_off_it_does_not_pass() {
    for (form, archive, step) in small_archives() {
        for length in (0..archive.len()).step_by(step) {
            let report = judge(&archive[..length]);
            assert_eq!(Outcome::Judged(report.clone()).exit_code(), 1, "{form}: {length} bytes");
            assert_bounded(&report, form);
            if form == "tar.gz" && length > 2 {
                assert!(
                    report.reasons[0].contains("the archive ends inside a gzip"),
                    "{}",
                    report.reasons[0]
                );
            }
        }
    }
}

/// A fault in a folder that is a bundle.
#[cfg(unix)]
fn refused_folder(path: &Path, reason: &str) {
    let report = judge_path(path, &Keys::default());
    assert_eq!(failed(&report), CHECKS.map(|(name, _)| name), "{:#?}", report.reasons);
    assert_eq!(report.reasons[0], format!("artifact: the folder cannot be read: {reason}"));
    assert_bounded(&report, reason);
    assert_eq!(Outcome::Judged(report).exit_code(), 1);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_in_a_folder_are_refused() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    let folder = Folder::new();
    let outside = folder.write("outside/secret", b"secret");
    let at = folder.lay_out("file", &bundle());
    symlink(&outside, at.join("blobs/link\u{1b}")).unwrap();
    refused_folder(&at, "blobs/link\\u{1b} is neither a file nor a folder");

    let at = folder.lay_out("folder", &bundle());
    symlink(outside.parent().unwrap(), at.join("more")).unwrap();
    refused_folder(&at, "more is neither a file nor a folder");

    let at = folder.lay_out("loop", &bundle());
    symlink(&at, at.join("self")).unwrap();
    refused_folder(&at, "self is neither a file nor a folder");

    let at = folder.lay_out("artifact", &bundle());
    fs::rename(at.join("artifact.json"), folder.path().join("outside/artifact.json")).unwrap();
    symlink(folder.path().join("outside/artifact.json"), at.join("artifact.json")).unwrap();
    refused_folder(&at, "artifact.json is neither a file nor a folder");

    let at = folder.lay_out("s", &bundle());
    let _listening = UnixListener::bind(at.join("socket")).unwrap();
    refused_folder(&at, "socket is neither a file nor a folder");

    let at = folder.lay_out("pipe", &bundle());
    match Command::new("mkfifo").arg(at.join("blobs/pipe")).status() {
        Ok(status) if status.success() => refused_folder(&at, "blobs/pipe is neither a file nor a folder"),
        other => eprintln!("skipped: mkfifo cannot be run here: {other:?}"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf_8_are_refused_in_a_folder() {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = Folder::new();
    let at = folder.lay_out("b", &bundle());
    fs::write(at.join(std::ffi::OsStr::from_bytes(b"blobs/\xff")), b"").unwrap();
    refused_folder(&at, "the name blobs/\u{fffd} is not UTF-8");
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_told() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new();
    let at = folder.lay_out("b", &bundle());
    let closed = at.join("closed");
    fs::write(&closed, b"x").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o0)).unwrap();
    if fs::read(&closed).is_ok() {
        eprintln!("skipped: whoever runs this test may read everything");
        return;
    }
    let error = disk::open(&Place::Bundle(at)).unwrap_err();
    assert_eq!(error.code, "E_NOT_READABLE");
    assert!(error.message.ends_with("closed: you may not read this"), "{}", error.message);
}

#[test]
fn folders_may_be_deep_but_not_without_end() {
    let folder = Folder::new();
    let mut files = bundle();
    files.insert(format!("{}x", "d/".repeat(64)), Vec::new());
    let at = folder.lay_out("deep", &files);
    assert!(judge_path(&at, &Keys::default()).pass());
    files.insert(format!("{}x", "d/".repeat(65)), Vec::new());
    let at = folder.lay_out("deeper", &files);
    let Argument::Place(place) = disk::look_up(at.as_os_str()) else { unreachable!("it is a bundle") };
    let error = disk::open(&place).unwrap_err();
    assert!(error.message.ends_with("folders are nested too deep"), "{}", error.message);
}

/// The exit code of `reenact-verify`, in so many kilobytes of address space: memory that is not there cannot be used.
/// `None` if it ended without one.
#[cfg(target_os = "linux")]
fn in_memory(kilobytes: u32, path: &Path) -> Option<i32> {
    let script = format!("ulimit -v {kilobytes} && exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_reenact-verify")])
        .arg(path)
        .output()
        .unwrap();
    output.status.code()
}

#[cfg(not(target_os = "linux"))]
fn in_memory(_: u32, _: &Path) -> Option<i32> {
    eprintln!("skipped: address space is limited on Linux only");
    None
}

/// Bytes that deflate packs by about 70: zeros with a little noise.
struct Dense {
    left: u64,
    state: u64,
}

impl Read for Dense {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = usize::try_from(self.left.min(out.len() as u64)).unwrap();
        out[..count].fill(0);
        for byte in out[..count].iter_mut().step_by(180) {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            *byte = self.state.to_le_bytes()[0];
        }
        self.left -= count as u64;
        Ok(count)
    }
}

#[test]
fn three_hundred_megabytes_need_no_memory() {
    const KILOBYTES: u32 = 64 << 10;
    const SIZE: u64 = 300 << 20;
    let folder = Folder::new();
    let dense = |writer: &mut TarGzWriter<Vec<u8>>, name: &str, size: u64| {
        writer.add(name, size, Dense { left: size, state: 0x2545_f491_4f6c_dd1d }).unwrap();
    };
    let begin = || {
        let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, Limits::default()).unwrap();
        let files = bundle();
        files
            .iter()
            .for_each(|(name, bytes)| writer.add(name, bytes.len() as u64, bytes.as_slice()).unwrap());
        writer
    };
    // One blob that stays below the ratio: read to its end, and the bundle holds.
    let mut writer = begin();
    dense(&mut writer, "blobs/dense", SIZE);
    let archive = writer.finish().unwrap();
    assert!(archive.len() < 8 << 20, "{} bytes are no bomb", archive.len());
    let blob = folder.write("blob.tar.gz", &archive);
    // Documents are kept; those of six folders are not.
    let mut writer = begin();
    (0..6).for_each(|number| dense(&mut writer, &format!("{number}/artifact.json"), 16 << 20));
    let documents = folder.write("documents.tar.gz", &writer.finish().unwrap());
    // The same, with nothing around that tells the first folder from one around everything.
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, Limits::default()).unwrap();
    (0..6).for_each(|number| dense(&mut writer, &format!("{number}/artifact.json"), 16 << 20));
    let folders = folder.write("folders.tar.gz", &writer.finish().unwrap());
    let zeros = folder.write("zeros.tar.gz", &tar_gz_of_zeros(&[("blobs/zeros", 64 << 20)]));

    if cfg!(not(target_os = "linux")) {
        in_memory(KILOBYTES, &zeros);
        return;
    }
    for (path, code) in [(&zeros, 1), (&blob, 0), (&documents, 0), (&folders, 1)] {
        assert_eq!(in_memory(KILOBYTES, path), Some(code), "{}", path.display());
    }
    // That the limit bites: an artifact is kept whole.
    let large = folder.write("large.json", &vec![b' '; 100 << 20]);
    assert_ne!(in_memory(KILOBYTES, &large), Some(1));
}
