//! Tars that ordinary tools write.

use crate::handmade::{
    Members, entry, file, gzip, header, members_of_tar, members_of_tar_gz, patched, pax, tar, with_content,
};
use reenact_pack::{ArchiveRules, ArchiveTotals, PackError, read_tar};
use std::io::Read;

fn portable(entries: &[Vec<u8>]) -> Result<Members, PackError> {
    members_of_tar(&tar(entries), &ArchiveRules::portable())
}

fn one(name: &str, content: &[u8]) -> Result<Members, PackError> {
    Ok(vec![(name.to_owned(), content.to_vec())])
}

#[test]
fn plain_files_of_both_styles() {
    let gnu = |name: &[u8]| patched(header(0, name, 1), 257, b"ustar  \0");
    let old = |name: &[u8]| patched(header(0, name, 1), 257, &[0; 8]);
    let entries = [file("a", b"x"), with_content(gnu(b"b"), b"y"), with_content(old(b"c"), b"z")];
    let all = ["a", "b", "c"].map(str::to_owned).into_iter().zip([b"x", b"y", b"z"].map(|c| c.to_vec()));
    let all: Members = all.collect();
    assert_eq!(portable(&entries), Ok(all.clone()));
    assert_eq!(members_of_tar(&tar(&entries), &ArchiveRules::plain()), Ok(all.clone()));
    assert_eq!(members_of_tar_gz(&gzip(&tar(&entries)), &ArchiveRules::plain()), Ok(all));
}

#[test]
fn a_folder_packed_with_a_dot() {
    let entries = [entry(b'5', b"./", b""), entry(b'5', b"./files/", b""), file("./files/a", b"x")];
    assert_eq!(portable(&entries), one("files/a", b"x"));
}

#[test]
fn long_names() {
    let path = "deep/".repeat(60) + "name";
    let by_pax = pax(&[b"mtime=1700000000.25", format!("path={path}").as_bytes(), b"size=1", b"uname=me"]);
    assert_eq!(portable(&[by_pax, file("deep/deep", b"x")]), one(&path, b"x"));
    let by_gnu = entry(b'L', b"././@LongLink", &[path.as_bytes(), b"\0"].concat());
    assert_eq!(portable(&[by_gnu.clone(), file("deep/deep", b"x")]), one(&path, b"x"));
    assert_eq!(portable(&[pax(&[b"mtime=1"]), by_gnu, file("deep/deep", b"x")]), one(&path, b"x"));
    let by_prefix = patched(header(b'0', b"name", 1), 345, b"a/prefix");
    assert_eq!(portable(&[with_content(by_prefix, b"x")]), one("a/prefix/name", b"x"));
    let full = [b'n'; 100];
    assert_eq!(portable(&[entry(b'0', &full, b"x")]), one(&"n".repeat(100), b"x"));
}

#[test]
fn an_extension_counts_for_one_member_only() {
    let entries = [pax(&[b"path=renamed"]), file("a", b"x"), file("b", b"y")];
    let members = vec![("renamed".to_owned(), b"x".to_vec()), ("b".to_owned(), b"y".to_vec())];
    assert_eq!(portable(&entries), Ok(members));
}

#[test]
fn sizes_in_other_clothes() {
    for size in [&b"          1 "[..], b"1\0\0\0\0\0\0\0\0\0\0\0", b"1 \0\0\0\0\0\0\0\0\0\0"] {
        let block = patched(header(b'0', b"a", 1), 124, size);
        assert_eq!(portable(&[with_content(block, b"x")]), one("a", b"x"));
    }
}

#[test]
fn padding_to_a_tape_block() {
    let mut bytes = tar(&[file("a", b"x")]);
    for length in [2048, 2049, 10240, 20480, 200_000] {
        bytes.resize(length, 0);
        assert_eq!(members_of_tar(&bytes, &ArchiveRules::portable()), one("a", b"x"));
        assert_eq!(members_of_tar(&bytes, &ArchiveRules::plain()), one("a", b"x"));
    }
}

#[test]
fn an_archive_of_nothing() {
    assert_eq!(members_of_tar(&[0; 1024], &ArchiveRules::portable()), Ok(vec![]));
    assert_eq!(members_of_tar(&[0; 1024], &ArchiveRules::plain()), Ok(vec![]));
}

#[test]
fn gzip_headers_with_everything() {
    let plain = gzip(&tar(&[file("a", b"x")]));
    let mut head = vec![0x1f, 0x8b, 8, 0b11111, 1, 2, 3, 4, 2, 3, 3, 0, b'e', b'x', b't'];
    head.extend_from_slice(b"name.tar\0comment\0");
    let sum = crate::handmade::crc(&head).to_le_bytes();
    head.extend_from_slice(&sum[..2]);
    head.extend_from_slice(&plain[10..]);
    assert_eq!(members_of_tar_gz(&head, &ArchiveRules::plain()), one("a", b"x"));
}

#[test]
fn several_gzip_members_where_asked() {
    let bytes = tar(&[file("a", b"x"), file("b", b"y")]);
    let joined = [gzip(&bytes[..700]), gzip(&[]), gzip(&bytes[700..])].concat();
    let rules = ArchiveRules { many_gzip_members: true, ..ArchiveRules::portable() };
    assert_eq!(members_of_tar_gz(&joined, &rules), members_of_tar(&bytes, &rules));
    assert!(members_of_tar_gz(&joined, &ArchiveRules::portable()).is_err());
}

#[test]
fn a_gzip_inside_is_just_content() {
    let inner = gzip(&gzip(b"inner"));
    let bytes = gzip(&tar(&[file("a.gz", &inner)]));
    assert_eq!(members_of_tar_gz(&bytes, &ArchiveRules::plain()), one("a.gz", &inner));
}

#[test]
fn what_is_left_unread_is_skipped() {
    let bytes = tar(&[file("a", &[1; 5000]), file("b", &[2; 5000]), file("c", b"")]);
    let mut seen = Vec::new();
    let tally = read_tar(&bytes[..], &ArchiveRules::plain(), |member| {
        let mut first = [0; 10];
        if member.name() != "a" && member.size() > 0 {
            member.read_exact(&mut first)?;
        }
        seen.push((member.name().to_owned(), member.size(), first[9]));
        Ok::<(), std::io::Error>(())
    });
    let tally = tally.unwrap();
    let expected = [("a".to_owned(), 5000, 0), ("b".to_owned(), 5000, 2), ("c".to_owned(), 0, 0)];
    assert_eq!(seen, expected);
    let source_bytes = bytes.len() as u64;
    assert_eq!(tally, ArchiveTotals { files: 3, content_bytes: 10_000, source_bytes });
}

#[test]
fn a_visitor_may_stop_with_its_own_error() {
    #[derive(Debug, PartialEq)]
    enum VisitorError {
        Stop,
        Pack(PackError),
    }
    impl From<PackError> for VisitorError {
        fn from(error: PackError) -> VisitorError {
            VisitorError::Pack(error)
        }
    }
    let bytes = tar(&[file("a", b"x"), file("a", b"x")]);
    assert_eq!(
        read_tar(&bytes[..], &ArchiveRules::plain(), |_| Err(VisitorError::Stop)),
        Err(VisitorError::Stop)
    );
    let duplicate = VisitorError::Pack(PackError::Duplicate { name: "a".to_owned() });
    assert_eq!(read_tar(&bytes[..], &ArchiveRules::plain(), |_| Ok(())), Err(duplicate));
}
