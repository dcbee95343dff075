//! Tars that are refused: unsafe names, members that are no files, wrong sizes and checksums, hidden bytes.

use crate::handmade::{entry, file, header, malformed, members_of_tar, patched, pax, tar, with_content};
use reenact_pack::{
    ArchiveRules, ArchiveSection, ChecksumKind, Malformation, NameFault, PackError, PaxFault, RepeatedField,
    UnsupportedMember,
};

fn portable(bytes: &[u8]) -> PackError {
    members_of_tar(bytes, &ArchiveRules::portable()).unwrap_err()
}

fn plain(bytes: &[u8]) -> PackError {
    members_of_tar(bytes, &ArchiveRules::plain()).unwrap_err()
}

fn forbidden(member: &str, member_type: UnsupportedMember) -> PackError {
    PackError::Forbidden { member: member.to_owned(), member_type }
}

fn unsafe_name(name: &str, fault: NameFault) -> PackError {
    PackError::UnsafeName { name: name.to_owned(), fault }
}

#[test]
fn unsafe_names() {
    for (name, fault) in [
        (&b"../x"[..], NameFault::DotSegment),
        (b"a/../../x", NameFault::DotSegment),
        (b"a/./x", NameFault::DotSegment),
        (b"././x", NameFault::DotSegment),
        (b"/etc/passwd", NameFault::Absolute),
        (b"a//b", NameFault::EmptySegment),
        (b"", NameFault::Empty),
        (b"a\\b", NameFault::Backslash),
        (b"C:/a", NameFault::Colon),
        (b"a\nb", NameFault::Control),
        (b"a\x1b[31mb", NameFault::Control),
        (b"a\xff", NameFault::NotUtf8),
        (b"a\xc0\xaf", NameFault::NotUtf8),
    ] {
        let bytes = tar(&[entry(b'0', name, b"x")]);
        let shown = String::from_utf8_lossy(name);
        assert_eq!(portable(&bytes), unsafe_name(&shown, fault), "{shown:?}");
        assert_eq!(plain(&bytes), unsafe_name(&shown, fault), "{shown:?}");
    }
    let bytes = tar(&[file("./x", b"x")]);
    assert_eq!(plain(&bytes), unsafe_name("./x", NameFault::DotSegment));
}

#[test]
fn a_name_behind_a_nul() {
    let bytes = tar(&[entry(b'0', b"good\0../evil", b"x")]);
    assert_eq!(portable(&bytes), malformed(Malformation::TarFields, "good"));
    let bytes = tar(&[patched(header(b'0', b"good", 0), 345, b"dir\0evil").to_vec()]);
    assert_eq!(portable(&bytes), malformed(Malformation::TarFields, "good"));
}

#[test]
fn names_that_meet() {
    let two = |a: &str, b: &str| portable(&tar(&[file(a, b"1"), file(b, b"2")]));
    assert_eq!(two("a", "a"), PackError::Duplicate { name: "a".to_owned() });
    assert_eq!(two("./a", "a"), PackError::Duplicate { name: "a".to_owned() });
    let other = "files/trace.jsonl".to_owned();
    let name = "files/TRACE.JSONL".to_owned();
    assert_eq!(two(&other, &name), PackError::CaseCollision { name, other });
    let (file, inside) = ("a".to_owned(), "a/b".to_owned());
    assert_eq!(two("a", "a/b"), PackError::FileAndFolder { file: file.clone(), inside: inside.clone() });
    assert_eq!(two("a/b", "a"), PackError::FileAndFolder { file, inside });
}

#[test]
fn members_that_are_no_files() {
    for (flag, kind) in [
        (b'1', UnsupportedMember::HardLink),
        (b'2', UnsupportedMember::SymbolicLink),
        (b'3', UnsupportedMember::Device),
        (b'4', UnsupportedMember::Device),
        (b'6', UnsupportedMember::Pipe),
        (b'7', UnsupportedMember::TarType(b'7')),
        (b'g', UnsupportedMember::PaxGlobal),
        (b'K', UnsupportedMember::LongLink),
        (b'M', UnsupportedMember::Volume),
        (b'V', UnsupportedMember::Volume),
        (b'S', UnsupportedMember::Sparse),
        (b'D', UnsupportedMember::TarType(b'D')),
        (b'N', UnsupportedMember::TarType(b'N')),
        (b'X', UnsupportedMember::TarType(b'X')),
        (0xff, UnsupportedMember::TarType(0xff)),
    ] {
        let bytes = tar(&[file("first", b"1"), entry(flag, b"x", b"")]);
        assert_eq!(portable(&bytes), forbidden("x", kind));
        assert_eq!(plain(&bytes), forbidden("x", kind));
    }
}

#[test]
fn what_only_plain_rules_refuse() {
    let folder = tar(&[entry(b'5', b"files/sub/", b"")]);
    assert_eq!(plain(&folder), forbidden("files/sub/", UnsupportedMember::Folder));
    let old_folder = tar(&[entry(0, b"files/sub/", b"")]);
    assert_eq!(plain(&old_folder), forbidden("files/sub/", UnsupportedMember::Folder));
    let with_pax = tar(&[pax(&[b"mtime=1.5"]), file("a", b"x")]);
    assert_eq!(plain(&with_pax), forbidden("PaxHeaders/x", UnsupportedMember::Pax));
    let long = tar(&[entry(b'L', b"././@LongLink", b"abc\0"), file("a", b"x")]);
    assert_eq!(plain(&long), forbidden("././@LongLink", UnsupportedMember::LongName));
    let prefix = tar(&[patched(header(b'0', b"a", 0), 345, b"files").to_vec()]);
    assert_eq!(plain(&prefix), forbidden("a", UnsupportedMember::Prefix));
    for size in [&b"         17 "[..], b"17\0\0\0\0\0\0\0\0\0\0", b"\x80\0\0\0\0\0\0\0\0\0\0\x0f"] {
        let bytes = tar(&[patched(header(b'0', b"a", 0), 124, size).to_vec()]);
        assert_eq!(plain(&bytes), malformed(Malformation::TarSize, "a"));
    }
}

#[test]
fn sizes_that_are_none() {
    for size in [
        &b"0000000001x\0"[..],
        b"99999999999\0",
        b"-0000000001\0",
        b"            ",
        &[0xff; 12],
        b"\x80\0\0\x01\0\0\0\0\0\0\0\0",
        b"\x80\0\0\0\0\0\0\0\0\0\0\x01",
    ] {
        let bytes = tar(&[patched(header(b'0', b"a", 0), 124, size).to_vec()]);
        assert_eq!(portable(&bytes), malformed(Malformation::TarSize, "a"), "{}", size.escape_ascii());
        assert_eq!(plain(&bytes), malformed(Malformation::TarSize, "a"), "{}", size.escape_ascii());
    }
    let huge =
        tar(&[patched(header(b'0', b"a", 0), 124, b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff").to_vec()]);
    let limit = reenact_pack::ArchiveLimit::MemberBytes;
    let max = ArchiveRules::portable().limits.member_bytes;
    assert_eq!(portable(&huge), PackError::Limit { limit, max, member: Some("a".to_owned()) });
}

#[test]
fn fields_that_must_be_empty() {
    let link = tar(&[patched(header(b'0', b"a", 0), 157, b"/etc/passwd").to_vec()]);
    assert_eq!(portable(&link), malformed(Malformation::TarFields, "a"));
    let unused = tar(&[patched(header(b'0', b"a", 0), 508, b"tar").to_vec()]);
    assert_eq!(portable(&unused), malformed(Malformation::TarFields, "a"));
    let sparse = patched(header(b'0', b"a", 0), 257, b"ustar  \0");
    let sparse = tar(&[patched(sparse, 386, b"00000000000").to_vec()]);
    assert_eq!(portable(&sparse), forbidden("a", UnsupportedMember::Sparse));
    let no_magic = patched(header(b'0', b"a", 0), 257, &[0; 8]);
    let no_magic = tar(&[patched(no_magic, 345, b"files").to_vec()]);
    assert_eq!(portable(&no_magic), forbidden("a", UnsupportedMember::Prefix));
    let folder = tar(&[entry(b'5', b"d/", b"content")]);
    assert_eq!(portable(&folder), malformed(Malformation::FolderContent, "d/"));
}

#[test]
fn pax_tricks() {
    let after = |pairs: &[&[u8]]| portable(&tar(&[pax(pairs), file("a", b"x")]));
    let fault = |fault| malformed(Malformation::Pax(fault), "PaxHeaders/x");
    assert_eq!(after(&[b"path=../x"]), unsafe_name("../x", NameFault::DotSegment));
    assert_eq!(after(&[b"path=/x"]), unsafe_name("/x", NameFault::Absolute));
    assert_eq!(after(&[b"path=a\0b"]), fault(PaxFault::Value("path".to_owned())));
    assert_eq!(after(&[b"path=a", b"path=b"]), fault(PaxFault::Repeated("path".to_owned())));
    assert_eq!(after(&[b"linkpath=/etc/passwd"]), fault(PaxFault::Key("linkpath".to_owned())));
    assert_eq!(after(&[b"GNU.sparse.name=b"]), fault(PaxFault::Key("GNU.sparse.name".to_owned())));
    assert_eq!(after(&[b"whatever=1"]), fault(PaxFault::Key("whatever".to_owned())));
    let size = PackError::Disagreement { member: "a".to_owned(), field: RepeatedField::Size };
    assert_eq!(after(&[b"size=0"]), size);
    assert_eq!(after(&[b"size=1024"]), size);
    assert_eq!(after(&[b"size=-1"]), fault(PaxFault::Value("size".to_owned())));
    let raw = |body: &[u8]| portable(&tar(&[entry(b'x', b"PaxHeaders/x", body), file("a", b"x")]));
    assert_eq!(raw(b"99 path=a\n"), fault(PaxFault::Record));
    assert_eq!(raw(b"\0\0\0"), fault(PaxFault::Record));
    let folder = tar(&[pax(&[b"size=9000000000"]), entry(b'5', b"d/", b"")]);
    assert_eq!(portable(&folder), malformed(Malformation::FolderContent, "d/"));
}

#[test]
fn extensions_out_of_place() {
    let x = || pax(&[b"path=b"]);
    let long = || entry(b'L', b"././@LongLink", b"b\0");
    let repeated = |member| malformed(Malformation::RepeatedExtension, member);
    assert_eq!(portable(&tar(&[x(), x(), file("a", b"x")])), repeated("PaxHeaders/x"));
    assert_eq!(portable(&tar(&[long(), long(), file("a", b"x")])), repeated("././@LongLink"));
    assert_eq!(portable(&tar(&[long(), x(), file("a", b"x")])), repeated("PaxHeaders/x"));
    assert_eq!(portable(&tar(&[x(), long(), file("a", b"x")])), repeated("././@LongLink"));
    assert_eq!(portable(&tar(&[file("a", b"x"), x()])), malformed(Malformation::DanglingExtension, ""));
    assert_eq!(portable(&tar(&[file("a", b"x"), long()])), malformed(Malformation::DanglingExtension, ""));
    assert_eq!(portable(&x()), malformed(Malformation::DanglingExtension, ""));
    for name in [&b""[..], b"no nul", b"a\0b\0", b"a\0\0"] {
        let bytes = tar(&[entry(b'L', b"L", name), file("a", b"x")]);
        assert_eq!(portable(&bytes), malformed(Malformation::LongName, "L"), "{}", name.escape_ascii());
    }
    let bytes = tar(&[entry(b'L', b"L", b"../x\0"), file("a", b"x")]);
    assert_eq!(portable(&bytes), unsafe_name("../x", NameFault::DotSegment));
}

#[test]
fn wrong_checksums() {
    let bytes = tar(&[file("a", b"x")]);
    for at in (0..148).chain(156..512) {
        let mut broken = bytes.clone();
        broken[at] ^= 1;
        assert!(
            matches!(portable(&broken), PackError::Checksum { checksum: ChecksumKind::TarHeader, .. }),
            "byte {at}"
        );
    }
    let mut broken = bytes;
    broken[148..156].copy_from_slice(b"garbage!");
    let checksum = PackError::Checksum { checksum: ChecksumKind::TarHeader, member: Some("a".to_owned()) };
    assert_eq!(portable(&broken), checksum);
}

#[test]
fn bytes_that_no_member_owns() {
    let mut padding = tar(&[file("a", b"x")]);
    padding[1023] = 1;
    assert_eq!(portable(&padding), malformed(Malformation::Padding, "a"));
    let trailing = PackError::TrailingData { section: ArchiveSection::TarEnd };
    for at in [0, 511, 512, 5000] {
        let mut bytes = tar(&[file("a", b"x")]);
        let length = bytes.len();
        bytes.resize(length + 5001, 0);
        bytes[length + at] = 1;
        assert_eq!(portable(&bytes), trailing);
        assert_eq!(plain(&bytes), trailing);
    }
    let second = [tar(&[file("a", b"x")]), tar(&[file("b", b"x")])].concat();
    assert_eq!(portable(&second), trailing);
}

#[test]
fn cut_anywhere() {
    let long = format!("path={}", "p/".repeat(100) + "q");
    let bytes = tar(&[file("a", &[b'x'; 700]), pax(&[long.as_bytes()]), file("b", &[b'y'; 513])]);
    for length in (0..bytes.len() - 1).step_by(64) {
        let error = portable(&bytes[..length]);
        let cut = matches!(error, PackError::Truncated { .. })
            || error == malformed(Malformation::DanglingExtension, "");
        assert!(cut, "{length}: {error:?}");
    }
    let content = PackError::Truncated { section: ArchiveSection::Content, member: Some("a".to_owned()) };
    assert_eq!(portable(&bytes[..600]), content);
    assert_eq!(portable(&bytes[..1216]), content);
    assert_eq!(portable(&[]), PackError::Truncated { section: ArchiveSection::TarHeader, member: None });
    let end = PackError::Truncated { section: ArchiveSection::TarEnd, member: None };
    let whole = tar(&[file("a", b"x")]);
    for length in [1024, 1025, 1536, 2047] {
        assert_eq!(portable(&whole[..length]), end);
        assert!(members_of_tar(&whole[..length], &ArchiveRules::plain()).is_ok());
    }
}

#[test]
fn a_member_longer_than_the_archive() {
    let bytes = with_content(header(b'0', b"a", 1 << 20), b"short");
    let content = PackError::Truncated { section: ArchiveSection::Content, member: Some("a".to_owned()) };
    assert_eq!(portable(&bytes), content);
    assert_eq!(plain(&bytes), content);
}
