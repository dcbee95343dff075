//! Zips that ordinary tools write.

use crate::handmade::{ZipBuilder, ZipEntry, members_of_zip};
use reenact_pack::ArchiveRules;

fn check(entries: &[ZipEntry], names: &[(&str, &[u8])]) {
    let members = names.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect();
    assert_eq!(members_of_zip(&ZipBuilder::of(entries).bytes(), &ArchiveRules::portable()), Ok(members));
}

#[test]
fn stored_and_deflated() {
    let long = vec![b'z'; 300_000];
    let entries = [
        ZipEntry::stored("a", b"x"),
        ZipEntry::deflated("d/b", b"yy"),
        ZipEntry::deflated("empty", b""),
        ZipEntry::stored("empty2", b""),
        ZipEntry::deflated("long", &long),
        ZipEntry::stored("long2", &long),
    ];
    let members: [(&str, &[u8]); 6] =
        [("a", b"x"), ("d/b", b"yy"), ("empty", b""), ("empty2", b""), ("long", &long), ("long2", &long)];
    check(&entries, &members);
}

#[test]
fn sizes_after_the_content() {
    let entries = [
        ZipEntry::deflated("a", b"xxxx").with_descriptor(true),
        ZipEntry::deflated("b", b"yyyy").with_descriptor(false),
        ZipEntry::stored("c", b"zzzz").with_descriptor(true),
        ZipEntry::deflated("d", b"").with_descriptor(true),
    ];
    check(&entries, &[("a", b"xxxx"), ("b", b"yyyy"), ("c", b"zzzz"), ("d", b"")]);
    let known = ZipEntry::deflated("a", b"xxxx").with_descriptor(true).change(|entry| {
        (entry.local.crc, entry.local.compressed_size, entry.local.size) =
            (entry.central.crc, entry.central.compressed_size, entry.central.size);
    });
    check(std::slice::from_ref(&known), &[("a", b"xxxx")]);
    check(&[known.change(|entry| entry.local.crc = 0)], &[("a", b"xxxx")]);
}

#[test]
fn folders_names_remarks() {
    let folder = ZipEntry::stored("d/", b"").change(|entry| entry.attributes = 0o040_755 << 16 | 0x10);
    let dos = ZipEntry::stored("d/dos", b"x").change(|entry| entry.attributes = 0x20);
    let utf8 = ZipEntry::stored("d/é", b"y").change_both(|half| half.flags |= 1 << 11);
    let remarks = ZipEntry::stored("r", b"z")
        .change_both(|half| half.extra = b"UT\x05\0\x01\0\0\0\0ux\x0b\0\x01\x04\0\0\0\0\x04\0\0\0\0".to_vec())
        .change(|entry| entry.comment = b"a remark".to_vec());
    check(&[folder, dos, utf8, remarks], &[("d/dos", b"x"), ("d/é", b"y"), ("r", b"z")]);
}

#[test]
fn comments_and_nothing_at_all() {
    let mut zip = ZipBuilder::of(&[ZipEntry::stored("a", b"x")]);
    zip.comment = vec![b'c'; 65_535];
    assert_eq!(
        members_of_zip(&zip.bytes(), &ArchiveRules::plain()),
        Ok(vec![("a".to_owned(), b"x".to_vec())])
    );
    assert_eq!(members_of_zip(&ZipBuilder::of(&[]).bytes(), &ArchiveRules::plain()), Ok(vec![]));
}

#[test]
fn content_that_looks_like_records() {
    let mut inner = ZipBuilder::of(&[ZipEntry::stored("inner", b"x")]);
    inner.comment = b"PK\x01\x02".to_vec();
    let inner = inner.bytes();
    check(&[ZipEntry::stored("a.zip", &inner)], &[("a.zip", &inner)]);
}

#[test]
fn a_directory_in_another_order_than_the_content() {
    let bytes = ZipBuilder::of(&[ZipEntry::stored("a", b"x"), ZipEntry::stored("b", b"y")]).bytes();
    let (first, second) = (bytes.len() - 22 - 2 * 47, bytes.len() - 22 - 47);
    let swapped =
        [&bytes[..first], &bytes[second..second + 47], &bytes[first..second], &bytes[second + 47..]].concat();
    let members = vec![("a".to_owned(), b"x".to_vec()), ("b".to_owned(), b"y".to_vec())];
    assert_eq!(members_of_zip(&swapped, &ArchiveRules::portable()), Ok(members));
}
