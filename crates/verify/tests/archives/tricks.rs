//! Misuses of tar and zip, and names that would act on a terminal.

use reenact_json::shown::is_unsafe;

use crate::archive_builder::{END, StoredZipEntry, entry, gzip, pax, zip};
use crate::bundle_fixture::{bundle, tar};
use crate::{refused, report_of};

/// Returns a valid bundle followed by these entries.
fn tar_with(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut archive = tar(&bundle());
    archive.truncate(archive.len() - END.len());
    entries.iter().for_each(|entry| archive.extend_from_slice(entry));
    archive.extend_from_slice(&END);
    archive
}

/// Returns a valid bundle followed by these entries.
fn zip_with(entries: &[StoredZipEntry]) -> Vec<u8> {
    let mut all: Vec<StoredZipEntry> =
        bundle().iter().map(|(name, bytes)| StoredZipEntry::new(name.as_bytes(), bytes)).collect();
    all.extend_from_slice(entries);
    zip(&all)
}

#[test]
fn what_the_forge_makes_is_sound() {
    let report = report_of(&tar(&bundle()));
    assert!(report.pass());
    assert_eq!(report_of(&tar_with(&[])), report);
    assert_eq!(report_of(&gzip(&tar_with(&[]))), report);
    assert_eq!(report_of(&zip_with(&[])), report);
}

/// Returns entries to follow a valid bundle, each with the reason for which the archive is then
/// refused.
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
        // Control characters are escaped by `Debug` here and by the error there.
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
    let with = |change: &dyn Fn(&mut StoredZipEntry)| {
        let mut entry = StoredZipEntry::new(b"x", b"x");
        change(&mut entry);
        zip_with(&[entry])
    };
    let of_type = |mode: u32| with(&|entry| entry.mode = mode);
    let named = |name: &[u8]| zip_with(&[StoredZipEntry::new(name, b"x")]);
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

/// Entries that share their bytes, as in the densest zip bombs, are refused.
#[test]
fn entries_that_share_their_bytes_are_refused() {
    let first = zip_with(&[]).len();
    let entries = [StoredZipEntry::new(b"x", b"x"), StoredZipEntry::new(b"y", b"x")].map(|mut entry| {
        entry.local_name = b"x".to_vec();
        entry
    });
    let mut shared = entries;
    // Steps back over one local header of 30 bytes, one name and one byte.
    shared[1].lies[2] = 0_u32.wrapping_sub(32);
    assert!(first > 0);
    let report = report_of(&zip_with(&shared));
    assert!(!report.pass());
    assert!(report.reasons[0].contains("entries of the zip overlap (member \""), "{}", report.reasons[0]);
}

/// No unsafe character in a refused name gets into the report.
#[test]
fn no_name_acts_on_a_terminal() {
    let unsafe_ones: Vec<char> =
        (0..=0x0010_ffff).filter_map(char::from_u32).filter(|c| is_unsafe(*c)).collect();
    for some in unsafe_ones.chunks(64) {
        let name: String = some.iter().flat_map(|c| ['a', *c]).collect();
        let archive = zip(&[StoredZipEntry::new(format!("../{name}").as_bytes(), b"")]);
        let report = report_of(&archive);
        assert!(report.reasons[0].contains("unsafe member name"), "{}", report.reasons[0]);
        assert!(!report.reasons[0].contains(is_unsafe), "{:?}", report.reasons[0]);
    }
    // Ordinary names are shown as they are.
    let report = report_of(&zip_with(&[StoredZipEntry::new("../Zürich 東京".as_bytes(), b"")]));
    assert!(report.reasons[0].contains("\"../Zürich 東京\""), "{}", report.reasons[0]);
}
