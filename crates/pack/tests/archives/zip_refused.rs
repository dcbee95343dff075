//! Zips that are refused: halves that disagree, entries that overlap, features that are not accepted.

use crate::handmade::{ZipBuilder, ZipEntry, ZipHeaderFields, malformed, members_of_zip, noise};
use reenact_pack::{
    ArchiveRules, ArchiveSection, ChecksumKind, Malformation, NameFault, PackError, RepeatedField,
    UnsupportedMember, read_zip,
};
use std::io::Cursor;

fn refused(bytes: &[u8]) -> PackError {
    members_of_zip(bytes, &ArchiveRules::portable()).unwrap_err()
}

fn one(entry: ZipEntry) -> PackError {
    refused(&ZipBuilder::of(&[ZipEntry::stored("first", b"1"), entry]).bytes())
}

fn stored() -> ZipEntry {
    ZipEntry::stored("a", b"content")
}

fn deflated() -> ZipEntry {
    ZipEntry::deflated("a", b"content content content")
}

#[test]
fn halves_that_disagree() {
    type Change = fn(&mut ZipHeaderFields);
    let changes: [(Change, RepeatedField); 7] = [
        (|half| half.name = b"b".to_vec(), RepeatedField::Name),
        (|half| half.name = b"aa".to_vec(), RepeatedField::Name),
        (|half| half.flags |= 1 << 11, RepeatedField::Flags),
        (|half| half.method = 0, RepeatedField::Method),
        (|half| half.crc ^= 1, RepeatedField::Crc),
        (|half| half.size += 1, RepeatedField::Size),
        (|half| half.compressed_size += 1, RepeatedField::Size),
    ];
    for (change, field) in changes {
        let disagreement = PackError::Disagreement { member: "a".to_owned(), field };
        assert_eq!(one(deflated().change(|entry| change(&mut entry.local))), disagreement, "{field}");
    }
    let flag = one(deflated().change(|entry| entry.local.flags |= 8));
    assert_eq!(flag, PackError::Disagreement { member: "a".to_owned(), field: RepeatedField::Flags });
    let crc = one(deflated().with_descriptor(true).change(|entry| entry.descriptor[4] ^= 1));
    assert_eq!(crc, PackError::Disagreement { member: "a".to_owned(), field: RepeatedField::Crc });
    let size = one(deflated().with_descriptor(false).change(|entry| entry.descriptor[8] ^= 1));
    assert_eq!(size, PackError::Disagreement { member: "a".to_owned(), field: RepeatedField::Size });
    let half_zero = one(deflated().with_descriptor(true).change(|entry| entry.local.size = 1));
    assert_eq!(half_zero, PackError::Disagreement { member: "a".to_owned(), field: RepeatedField::Size });
}

#[test]
fn content_that_is_not_as_declared() {
    let size = PackError::Disagreement { member: "a".to_owned(), field: RepeatedField::Size };
    assert_eq!(one(deflated().change_both(|half| half.size += 1)), size);
    assert_eq!(one(deflated().change_both(|half| half.size -= 1)), size);
    assert_eq!(one(deflated().change_both(|half| half.size = 0)), size);
    assert_eq!(one(stored().change_both(|half| half.size += 1)), size);
    let longer = deflated()
        .change_both(|half| half.compressed_size += 3)
        .change(|entry| entry.data.extend_from_slice(b"xyz"));
    assert_eq!(one(longer), size);
    let shorter = deflated().change_both(|half| half.compressed_size -= 3).change(|entry| {
        entry.data.truncate(entry.data.len() - 3);
    });
    assert_eq!(
        one(shorter),
        PackError::Truncated { section: ArchiveSection::Content, member: Some("a".to_owned()) }
    );
    let checksum = PackError::Checksum { checksum: ChecksumKind::Zip, member: Some("a".to_owned()) };
    assert_eq!(one(deflated().change_both(|half| half.crc ^= 1)), checksum);
    assert_eq!(one(stored().change_both(|half| half.crc ^= 1)), checksum);
    assert_eq!(one(ZipEntry::stored("a", b"").change_both(|half| half.crc ^= 1)), checksum);
    assert_eq!(one(ZipEntry::deflated("a", b"").change_both(|half| half.crc ^= 1)), checksum);
    let noise = deflated().change(|entry| entry.data.fill(0xff));
    assert_eq!(one(noise), malformed(Malformation::Deflate, "a"));
}

#[test]
fn content_that_nobody_read_is_checked_too() {
    for entry in [stored(), deflated(), ZipEntry::stored("a", b"")] {
        let bytes = ZipBuilder::of(&[entry.change_both(|half| half.crc ^= 1)]).bytes();
        let result = read_zip(Cursor::new(bytes), &ArchiveRules::portable(), |_| Ok::<(), PackError>(()));
        let checksum = PackError::Checksum { checksum: ChecksumKind::Zip, member: Some("a".to_owned()) };
        assert_eq!(result, Err(checksum));
    }
}

#[test]
fn features_that_are_not_ours() {
    let extra = |id: u16| {
        let field = [&id.to_le_bytes()[..], &[2, 0], b"xx"].concat();
        move |half: &mut ZipHeaderFields| half.extra.clone_from(&field)
    };
    for (entry, fault) in [
        (stored().change_both(|half| half.flags |= 1), Malformation::ZipEncrypted),
        (stored().change_both(|half| half.flags |= 1 << 5), Malformation::ZipFlags(1 << 5)),
        (stored().change_both(|half| half.flags |= 1 << 13), Malformation::ZipFlags(1 << 13)),
        (stored().change_both(|half| half.method = 9), Malformation::ZipMethod(9)),
        (stored().change_both(|half| half.method = 12), Malformation::ZipMethod(12)),
        (stored().change_both(|half| half.method = 99), Malformation::ZipMethod(99)),
        (stored().change_both(extra(0x0001)), Malformation::Zip64),
        (stored().change_both(extra(0x7075)), Malformation::ZipExtra(0x7075)),
        (stored().change_both(extra(0x9901)), Malformation::ZipEncrypted),
        (stored().change_both(|half| half.extra = b"UT\xff\xff".to_vec()), Malformation::ZipRecord),
        (stored().change_both(|half| half.extra = b"U".to_vec()), Malformation::ZipRecord),
        (stored().change_both(|half| half.compressed_size = u32::MAX), Malformation::Zip64),
        (stored().change_both(|half| half.size = u32::MAX), Malformation::Zip64),
    ] {
        assert_eq!(one(entry), malformed(fault, "a"));
    }
    let local = stored().change(|entry| extra(0x7075)(&mut entry.local));
    assert_eq!(one(local), malformed(Malformation::ZipExtra(0x7075), "a"));
}

#[test]
fn entries_that_are_no_files() {
    let typed = |mode: u32| one(stored().change(|entry| entry.attributes = mode << 16));
    let forbidden = |member_type| PackError::Forbidden { member: "a".to_owned(), member_type };
    assert_eq!(typed(0o120_777), forbidden(UnsupportedMember::SymbolicLink));
    assert_eq!(typed(0o020_644), forbidden(UnsupportedMember::Device));
    assert_eq!(typed(0o060_644), forbidden(UnsupportedMember::Device));
    assert_eq!(typed(0o010_644), forbidden(UnsupportedMember::Pipe));
    assert_eq!(typed(0o140_644), forbidden(UnsupportedMember::Pipe));
    assert_eq!(typed(0o170_644), forbidden(UnsupportedMember::UnixType(0o170_000)));
    let disagreement = PackError::Disagreement { member: "a".to_owned(), field: RepeatedField::Type };
    assert_eq!(typed(0o040_755), disagreement);
    assert_eq!(one(stored().change(|entry| entry.attributes = 0x10)), disagreement);
    let folder = ZipEntry::stored("d/", b"x").change(|entry| entry.attributes = 0);
    assert_eq!(one(folder), malformed(Malformation::FolderContent, "d/"));
    let folder = ZipBuilder::of(&[ZipEntry::stored("d/", b"").change(|entry| entry.attributes = 0)]).bytes();
    let error = PackError::Forbidden { member: "d/".to_owned(), member_type: UnsupportedMember::Folder };
    assert_eq!(members_of_zip(&folder, &ArchiveRules::plain()), Err(error));
}

#[test]
fn names() {
    let named = |name: &[u8]| one(stored().change_both(|half| half.name = name.to_vec()));
    for (name, fault) in [
        (&b"../x"[..], NameFault::DotSegment),
        (b"./x", NameFault::DotSegment),
        (b"/x", NameFault::Absolute),
        (b"C:/x", NameFault::Colon),
        (b"a\\x", NameFault::Backslash),
        (b"a\0x", NameFault::Control),
        (b"", NameFault::Empty),
        (b"\xc3\xa9", NameFault::NotUtf8),
    ] {
        let name_text = String::from_utf8_lossy(name).into_owned();
        assert_eq!(named(name), PackError::UnsafeName { name: name_text, fault });
    }
    let declared = one(stored().change_both(|half| (half.name, half.flags) = (b"\xff".to_vec(), 1 << 11)));
    assert_eq!(declared, PackError::UnsafeName { name: "\u{fffd}".to_owned(), fault: NameFault::NotUtf8 });
    let name = "first".to_owned();
    assert_eq!(named(b"first"), PackError::Duplicate { name: name.clone() });
    assert_eq!(named(b"First"), PackError::CaseCollision { name: "First".to_owned(), other: name.clone() });
    assert_eq!(named(b"first/x"), PackError::FileAndFolder { file: name, inside: "first/x".to_owned() });
}

#[test]
fn overlaps_and_gaps() {
    let two = |shift: i64| {
        let second = ZipEntry::stored("b", b"yyyy").change(|entry| entry.offset_error = shift);
        refused(&ZipBuilder::of(&[ZipEntry::stored("a", b"xxxx"), second]).bytes())
    };
    assert_eq!(two(-1), malformed(Malformation::ZipOverlap, "a"));
    assert_eq!(two(-35), malformed(Malformation::ZipOverlap, "a"));
    assert_eq!(two(1), malformed(Malformation::ZipGap, "a"));
    // One content that two entries quote.
    let kernel = ZipEntry::stored("b", b"yyyy").change(|entry| entry.offset_error = -34);
    let bytes = ZipBuilder::of(&[ZipEntry::stored("a", b"xxx"), kernel]).bytes();
    assert_eq!(refused(&bytes), malformed(Malformation::ZipOverlap, "a"));
    for gap in 0..2 {
        let mut zip = ZipBuilder::of(&[stored()]);
        zip.gaps[gap] = b"hidden".to_vec();
        assert_eq!(refused(&zip.bytes()), malformed(Malformation::ZipGap, "a"));
    }
    let mut zip = ZipBuilder::of(&[stored()]);
    zip.gaps[2] = b"hidden".to_vec();
    assert_eq!(refused(&zip.bytes()), malformed(Malformation::ZipGap, ""));
    let mut zip = ZipBuilder::of(&[]);
    zip.gaps[0] = b"hidden".to_vec();
    assert_eq!(refused(&zip.bytes()), malformed(Malformation::ZipGap, ""));
    let padded = one(deflated().with_descriptor(true).change(|entry| entry.descriptor.push(0)));
    assert_eq!(padded, malformed(Malformation::ZipGap, "a"));
}

#[test]
fn end_records() {
    let zip = ZipBuilder::of(&[stored(), ZipEntry::stored("b", b"")]);
    let bytes = zip.bytes();
    let end = bytes.len() - 22;
    let patched = |at: usize, value: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[end + at..end + at + value.len()].copy_from_slice(value);
        refused(&bytes)
    };
    assert_eq!(patched(4, &[1, 0]), malformed(Malformation::ZipVolumes, ""));
    assert_eq!(patched(6, &[1, 0]), malformed(Malformation::ZipVolumes, ""));
    assert_eq!(patched(8, &[1, 0]), malformed(Malformation::ZipVolumes, ""));
    assert_eq!(patched(8, &[0xff; 4]), malformed(Malformation::Zip64, ""));
    assert_eq!(patched(12, &[0xff; 4]), malformed(Malformation::Zip64, ""));
    assert_eq!(patched(16, &[0xff; 4]), malformed(Malformation::Zip64, ""));
    assert_eq!(patched(12, &[0, 0, 0, 0]), malformed(Malformation::ZipGap, ""));
    for (count, fault) in
        [(0, Malformation::ZipCount), (1, Malformation::ZipCount), (3, Malformation::ZipCount)]
    {
        let wrong = ZipBuilder { count: Some(count), ..ZipBuilder::of(&zip.entries) };
        assert_eq!(refused(&wrong.bytes()), malformed(fault, ""), "{count}");
    }
    let located = ZipBuilder {
        gaps: [vec![], vec![], [b"PK\x06\x07".as_slice(), &[0; 16]].concat()],
        ..ZipBuilder::of(&zip.entries)
    };
    assert_eq!(refused(&located.bytes()), malformed(Malformation::Zip64, ""));
    assert_eq!(refused(b""), malformed(Malformation::NoZipEnd, ""));
    assert_eq!(refused(&[b'x'; 100_000]), malformed(Malformation::NoZipEnd, ""));
}

#[test]
fn comment_tricks() {
    let other = ZipBuilder::of(&[ZipEntry::stored("evil", b"other archive")]).bytes();
    let mut zip = ZipBuilder::of(&[stored()]);
    zip.comment = [&other[..], b"."].concat();
    assert_eq!(refused(&zip.bytes()), malformed(Malformation::ZipComment, ""));
    zip.comment = other;
    assert_eq!(refused(&zip.bytes()), malformed(Malformation::ZipGap, ""));
    zip.comment = b"remark".to_vec();
    let bytes = zip.bytes();
    let trailing = PackError::TrailingData { section: ArchiveSection::ZipEnd };
    assert_eq!(refused(&[&bytes[..], b"x"].concat()), trailing);
    let cut = PackError::Truncated { section: ArchiveSection::ZipEnd, member: None };
    assert_eq!(refused(&bytes[..bytes.len() - 1]), cut);
    assert_eq!(refused(&bytes[..bytes.len() - 10]), cut);
}

#[test]
fn cut_anywhere() {
    let noise = noise(9000);
    let bytes = ZipBuilder::of(&[ZipEntry::deflated("a", &noise), stored_as("b")]).bytes();
    for length in (0..bytes.len()).step_by(64) {
        assert_eq!(refused(&bytes[..length]), malformed(Malformation::NoZipEnd, ""), "{length}");
        // The front cut away instead.
        if length > 0 {
            refused(&bytes[length..]);
        }
    }
}

fn stored_as(name: &str) -> ZipEntry {
    ZipEntry::stored(name, b"content")
}
