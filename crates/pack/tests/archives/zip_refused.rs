//! Zips whose halves disagree, whose entries overlap, and whose features are not ours.

use crate::forge::{Half, Zip, ZipEntry, malformed, members_of_zip, noise};
use reenact_pack::{Checked, Entry, Field, Malformation, NameFault, PackError, Rules, Stage, read_zip};
use std::io::Cursor;

fn refused(bytes: &[u8]) -> PackError {
    members_of_zip(bytes, &Rules::portable()).unwrap_err()
}

fn one(entry: ZipEntry) -> PackError {
    refused(&Zip::of(&[ZipEntry::stored("first", b"1"), entry]).bytes())
}

fn stored() -> ZipEntry {
    ZipEntry::stored("a", b"content")
}

fn deflated() -> ZipEntry {
    ZipEntry::deflated("a", b"content content content")
}

#[test]
fn halves_that_disagree() {
    type Change = fn(&mut Half);
    let changes: [(Change, Field); 7] = [
        (|half| half.name = b"b".to_vec(), Field::Name),
        (|half| half.name = b"aa".to_vec(), Field::Name),
        (|half| half.flags |= 1 << 11, Field::Flags),
        (|half| half.method = 0, Field::Method),
        (|half| half.crc ^= 1, Field::Crc),
        (|half| half.size += 1, Field::Size),
        (|half| half.packed += 1, Field::Size),
    ];
    for (change, field) in changes {
        let disagreement = PackError::Disagreement { member: "a".to_owned(), field };
        assert_eq!(one(deflated().with(|entry| change(&mut entry.local))), disagreement, "{field}");
    }
    let flag = one(deflated().with(|entry| entry.local.flags |= 8));
    assert_eq!(flag, PackError::Disagreement { member: "a".to_owned(), field: Field::Flags });
    let crc = one(deflated().described(true).with(|entry| entry.descriptor[4] ^= 1));
    assert_eq!(crc, PackError::Disagreement { member: "a".to_owned(), field: Field::Crc });
    let size = one(deflated().described(false).with(|entry| entry.descriptor[8] ^= 1));
    assert_eq!(size, PackError::Disagreement { member: "a".to_owned(), field: Field::Size });
    let half_zero = one(deflated().described(true).with(|entry| entry.local.size = 1));
    assert_eq!(half_zero, PackError::Disagreement { member: "a".to_owned(), field: Field::Size });
}

#[test]
fn content_that_is_not_as_declared() {
    let size = PackError::Disagreement { member: "a".to_owned(), field: Field::Size };
    assert_eq!(one(deflated().both(|half| half.size += 1)), size);
    assert_eq!(one(deflated().both(|half| half.size -= 1)), size);
    assert_eq!(one(deflated().both(|half| half.size = 0)), size);
    assert_eq!(one(stored().both(|half| half.size += 1)), size);
    let longer = deflated().both(|half| half.packed += 3).with(|entry| entry.data.extend_from_slice(b"xyz"));
    assert_eq!(one(longer), size);
    let shorter = deflated().both(|half| half.packed -= 3).with(|entry| {
        entry.data.truncate(entry.data.len() - 3);
    });
    assert_eq!(one(shorter), PackError::Truncated { stage: Stage::Content, member: Some("a".to_owned()) });
    let checksum = PackError::Checksum { checked: Checked::Zip, member: Some("a".to_owned()) };
    assert_eq!(one(deflated().both(|half| half.crc ^= 1)), checksum);
    assert_eq!(one(stored().both(|half| half.crc ^= 1)), checksum);
    assert_eq!(one(ZipEntry::stored("a", b"").both(|half| half.crc ^= 1)), checksum);
    assert_eq!(one(ZipEntry::deflated("a", b"").both(|half| half.crc ^= 1)), checksum);
    let noise = deflated().with(|entry| entry.data.fill(0xff));
    assert_eq!(one(noise), malformed(Malformation::Deflate, "a"));
}

#[test]
fn content_that_nobody_read_is_checked_too() {
    for entry in [stored(), deflated(), ZipEntry::stored("a", b"")] {
        let bytes = Zip::of(&[entry.both(|half| half.crc ^= 1)]).bytes();
        let result = read_zip(Cursor::new(bytes), &Rules::portable(), |_| Ok::<(), PackError>(()));
        let checksum = PackError::Checksum { checked: Checked::Zip, member: Some("a".to_owned()) };
        assert_eq!(result, Err(checksum));
    }
}

#[test]
fn features_that_are_not_ours() {
    let extra = |id: u16| {
        let field = [&id.to_le_bytes()[..], &[2, 0], b"xx"].concat();
        move |half: &mut Half| half.extra.clone_from(&field)
    };
    for (entry, fault) in [
        (stored().both(|half| half.flags |= 1), Malformation::ZipEncrypted),
        (stored().both(|half| half.flags |= 1 << 5), Malformation::ZipFlags(1 << 5)),
        (stored().both(|half| half.flags |= 1 << 13), Malformation::ZipFlags(1 << 13)),
        (stored().both(|half| half.method = 9), Malformation::ZipMethod(9)),
        (stored().both(|half| half.method = 12), Malformation::ZipMethod(12)),
        (stored().both(|half| half.method = 99), Malformation::ZipMethod(99)),
        (stored().both(extra(0x0001)), Malformation::Zip64),
        (stored().both(extra(0x7075)), Malformation::ZipExtra(0x7075)),
        (stored().both(extra(0x9901)), Malformation::ZipEncrypted),
        (stored().both(|half| half.extra = b"UT\xff\xff".to_vec()), Malformation::ZipRecord),
        (stored().both(|half| half.extra = b"U".to_vec()), Malformation::ZipRecord),
        (stored().both(|half| half.packed = u32::MAX), Malformation::Zip64),
        (stored().both(|half| half.size = u32::MAX), Malformation::Zip64),
    ] {
        assert_eq!(one(entry), malformed(fault, "a"));
    }
    let local = stored().with(|entry| extra(0x7075)(&mut entry.local));
    assert_eq!(one(local), malformed(Malformation::ZipExtra(0x7075), "a"));
}

#[test]
fn entries_that_are_no_files() {
    let typed = |mode: u32| one(stored().with(|entry| entry.attributes = mode << 16));
    let forbidden = |entry| PackError::Forbidden { member: "a".to_owned(), entry };
    assert_eq!(typed(0o120_777), forbidden(Entry::SymbolicLink));
    assert_eq!(typed(0o020_644), forbidden(Entry::Device));
    assert_eq!(typed(0o060_644), forbidden(Entry::Device));
    assert_eq!(typed(0o010_644), forbidden(Entry::Pipe));
    assert_eq!(typed(0o140_644), forbidden(Entry::Pipe));
    assert_eq!(typed(0o170_644), forbidden(Entry::UnixType(0o170_000)));
    let disagreement = PackError::Disagreement { member: "a".to_owned(), field: Field::Type };
    assert_eq!(typed(0o040_755), disagreement);
    assert_eq!(one(stored().with(|entry| entry.attributes = 0x10)), disagreement);
    let folder = ZipEntry::stored("d/", b"x").with(|entry| entry.attributes = 0);
    assert_eq!(one(folder), malformed(Malformation::FolderContent, "d/"));
    let folder = Zip::of(&[ZipEntry::stored("d/", b"").with(|entry| entry.attributes = 0)]).bytes();
    let error = PackError::Forbidden { member: "d/".to_owned(), entry: Entry::Folder };
    assert_eq!(members_of_zip(&folder, &Rules::plain()), Err(error));
}

#[test]
fn names() {
    let named = |name: &[u8]| one(stored().both(|half| half.name = name.to_vec()));
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
    let declared = one(stored().both(|half| (half.name, half.flags) = (b"\xff".to_vec(), 1 << 11)));
    assert_eq!(declared, PackError::UnsafeName { name: "\u{fffd}".to_owned(), fault: NameFault::NotUtf8 });
    let name = "first".to_owned();
    assert_eq!(named(b"first"), PackError::Duplicate { name: name.clone() });
    assert_eq!(named(b"First"), PackError::CaseCollision { name: "First".to_owned(), other: name.clone() });
    assert_eq!(named(b"first/x"), PackError::FileAndFolder { file: name, inside: "first/x".to_owned() });
}

#[test]
fn overlaps_and_gaps() {
    let two = |shift: i64| {
        let second = ZipEntry::stored("b", b"yyyy").with(|entry| entry.shift = shift);
        refused(&Zip::of(&[ZipEntry::stored("a", b"xxxx"), second]).bytes())
    };
    assert_eq!(two(-1), malformed(Malformation::ZipOverlap, "a"));
    assert_eq!(two(-35), malformed(Malformation::ZipOverlap, "a"));
    assert_eq!(two(1), malformed(Malformation::ZipGap, "a"));
    // One content that two entries quote.
    let kernel = ZipEntry::stored("b", b"yyyy").with(|entry| entry.shift = -34);
    let bytes = Zip::of(&[ZipEntry::stored("a", b"xxx"), kernel]).bytes();
    assert_eq!(refused(&bytes), malformed(Malformation::ZipOverlap, "a"));
    for gap in 0..2 {
        let mut zip = Zip::of(&[stored()]);
        zip.gaps[gap] = b"hidden".to_vec();
        assert_eq!(refused(&zip.bytes()), malformed(Malformation::ZipGap, "a"));
    }
    let mut zip = Zip::of(&[stored()]);
    zip.gaps[2] = b"hidden".to_vec();
    assert_eq!(refused(&zip.bytes()), malformed(Malformation::ZipGap, ""));
    let mut zip = Zip::of(&[]);
    zip.gaps[0] = b"hidden".to_vec();
    assert_eq!(refused(&zip.bytes()), malformed(Malformation::ZipGap, ""));
    let padded = one(deflated().described(true).with(|entry| entry.descriptor.push(0)));
    assert_eq!(padded, malformed(Malformation::ZipGap, "a"));
}

#[test]
fn end_records() {
    let zip = Zip::of(&[stored(), ZipEntry::stored("b", b"")]);
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
        let wrong = Zip { count: Some(count), ..Zip::of(&zip.entries) };
        assert_eq!(refused(&wrong.bytes()), malformed(fault, ""), "{count}");
    }
    let located = Zip {
        gaps: [vec![], vec![], [b"PK\x06\x07".as_slice(), &[0; 16]].concat()],
        ..Zip::of(&zip.entries)
    };
    assert_eq!(refused(&located.bytes()), malformed(Malformation::Zip64, ""));
    assert_eq!(refused(b""), malformed(Malformation::NoZipEnd, ""));
    assert_eq!(refused(&[b'x'; 100_000]), malformed(Malformation::NoZipEnd, ""));
}

#[test]
fn comment_tricks() {
    let other = Zip::of(&[ZipEntry::stored("evil", b"other archive")]).bytes();
    let mut zip = Zip::of(&[stored()]);
    zip.comment = [&other[..], b"."].concat();
    assert_eq!(refused(&zip.bytes()), malformed(Malformation::ZipComment, ""));
    zip.comment = other;
    assert_eq!(refused(&zip.bytes()), malformed(Malformation::ZipGap, ""));
    zip.comment = b"remark".to_vec();
    let bytes = zip.bytes();
    let trailing = PackError::TrailingData { stage: Stage::ZipEnd };
    assert_eq!(refused(&[&bytes[..], b"x"].concat()), trailing);
    let cut = PackError::Truncated { stage: Stage::ZipEnd, member: None };
    assert_eq!(refused(&bytes[..bytes.len() - 1]), cut);
    assert_eq!(refused(&bytes[..bytes.len() - 10]), cut);
}

#[test]
fn cut_anywhere() {
    let noise = noise(9000);
    let bytes = Zip::of(&[ZipEntry::deflated("a", &noise), stored_as("b")]).bytes();
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
