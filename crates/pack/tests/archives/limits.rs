//! Archives that exceed a limit, and the memory that it takes to refuse them.

use crate::handmade::{
    ZipBuilder, ZipEntry, entry, file, gzip, header, members_of_tar, members_of_tar_gz, members_of_zip, pax,
    tar, with_content,
};
use reenact_pack::{
    ArchiveLimit, ArchiveLimits, ArchiveRules, ArchiveSection, ExpansionLimit, PackError, read_tar,
    read_tar_gz,
};
use std::io::{self, Read};

fn rules(change: impl FnOnce(&mut ArchiveLimits)) -> ArchiveRules {
    let mut rules = ArchiveRules::portable();
    change(&mut rules.limits);
    rules
}

fn over(limit: ArchiveLimit, max: u64, member: &str) -> PackError {
    PackError::Limit { limit, max, member: (!member.is_empty()).then(|| member.to_owned()) }
}

/// Reads all members and keeps none.
fn walk(bytes: &[u8], rules: &ArchiveRules) -> Result<u64, PackError> {
    read_tar_gz(bytes, rules, |_| Ok::<(), PackError>(())).map(|tally| tally.files)
}

#[test]
fn a_zip_bomb() {
    let zeros = vec![0; 20 << 20];
    let bytes = ZipBuilder::of(&[ZipEntry::deflated("bomb", &zeros)]).bytes();
    assert!(bytes.len() < 30_000);
    assert_eq!(
        members_of_zip(&bytes, &ArchiveRules::portable()),
        Err(over(ArchiveLimit::Ratio, 200, "bomb"))
    );
    let ratio = rules(|limits| limits.expansion = None);
    assert_eq!(members_of_zip(&bytes, &ratio).map(|members| members[0].1.len()), Ok(20 << 20));
}

#[test]
fn a_zip_bomb_in_pieces() {
    let zeros = vec![0; 3 << 20];
    let pieces: Vec<ZipEntry> = (0..5).map(|n| ZipEntry::deflated(&n.to_string(), &zeros)).collect();
    let bytes = ZipBuilder::of(&pieces).bytes();
    assert_eq!(members_of_zip(&bytes, &ArchiveRules::portable()), Err(over(ArchiveLimit::Ratio, 200, "3")));
}

#[test]
fn a_gzip_bomb() {
    let bytes = gzip(&tar(&[file("bomb", &vec![0; 20 << 20])]));
    assert!(bytes.len() < 30_000);
    assert_eq!(walk(&bytes, &ArchiveRules::portable()), Err(over(ArchiveLimit::Ratio, 200, "bomb")));
    assert_eq!(walk(&bytes, &rules(|limits| limits.expansion = None)), Ok(1));
    let roomy =
        rules(|limits| limits.expansion = Some(ExpansionLimit { max_ratio: 200, free_bytes: 21 << 20 }));
    assert_eq!(walk(&bytes, &roomy), Ok(1));
    // A bomb behind the end of the tar is decoded as well, under the same limits.
    let behind = gzip(&[tar(&[file("a", b"x")]), vec![0; 20 << 20]].concat());
    assert_eq!(walk(&behind, &ArchiveRules::portable()), Err(over(ArchiveLimit::Ratio, 200, "")));
}

#[test]
fn one_member_too_many() {
    let members = |count: usize| {
        let entries: Vec<Vec<u8>> = (0..count).map(|n| file(&format!("files/{n}"), b"")).collect();
        gzip(&tar(&entries))
    };
    assert_eq!(walk(&members(100_000), &ArchiveRules::plain()), Ok(100_000));
    assert_eq!(
        walk(&members(100_001), &ArchiveRules::plain()),
        Err(over(ArchiveLimit::Members, 100_000, ""))
    );
    let three = ZipBuilder::of(&["a", "b", "c"].map(|name| ZipEntry::stored(name, b""))).bytes();
    let two = rules(|limits| limits.members = 2);
    assert_eq!(members_of_zip(&three, &two), Err(over(ArchiveLimit::Members, 2, "")));
    let folders = tar(&[entry(b'5', b"a/", b""), entry(b'5', b"b/", b""), entry(b'5', b"c/", b"")]);
    assert_eq!(members_of_tar(&folders, &two), Err(over(ArchiveLimit::Members, 2, "")));
}

#[test]
fn sizes_by_limit() {
    let bytes = tar(&[file("a", &[1; 1000]), file("b", &[2; 1001])]);
    let member = rules(|limits| limits.member_bytes = 1000);
    assert_eq!(members_of_tar(&bytes, &member), Err(over(ArchiveLimit::MemberBytes, 1000, "b")));
    // Two headers, 1000 bytes with padding, 1001 bytes.
    let total = 512 + 1024 + 512 + 1001;
    assert!(members_of_tar(&bytes, &rules(|limits| limits.total_bytes = total)).is_ok());
    let less = rules(|limits| limits.total_bytes = total - 1);
    assert_eq!(members_of_tar(&bytes, &less), Err(over(ArchiveLimit::TotalBytes, total - 1, "b")));
    let length = bytes.len() as u64;
    assert!(members_of_tar(&bytes, &rules(|limits| limits.source_bytes = length)).is_ok());
    let source = rules(|limits| limits.source_bytes = length - 1);
    assert!(matches!(
        members_of_tar(&bytes, &source),
        Err(PackError::Limit { limit: ArchiveLimit::SourceBytes, .. })
    ));
    let packed = gzip(&bytes);
    let whole = rules(|limits| limits.total_bytes = length);
    assert!(members_of_tar_gz(&packed, &whole).is_ok());
    let part = rules(|limits| limits.total_bytes = length - 1);
    assert_eq!(members_of_tar_gz(&packed, &part), Err(over(ArchiveLimit::TotalBytes, length - 1, "")));
    let zip =
        ZipBuilder::of(&[ZipEntry::stored("a", &[1; 1000]), ZipEntry::deflated("b", &[2; 1001])]).bytes();
    assert_eq!(members_of_zip(&zip, &member), Err(over(ArchiveLimit::MemberBytes, 1000, "b")));
    let total = rules(|limits| limits.total_bytes = 2000);
    assert_eq!(members_of_zip(&zip, &total), Err(over(ArchiveLimit::TotalBytes, 2000, "b")));
    let source = rules(|limits| limits.source_bytes = 100);
    assert_eq!(members_of_zip(&zip, &source), Err(over(ArchiveLimit::SourceBytes, 100, "")));
}

#[test]
fn names_by_limit() {
    let bytes = tar(&[file("abcdef", b"")]);
    assert!(members_of_tar(&bytes, &rules(|limits| limits.name_bytes = 6)).is_ok());
    let five = rules(|limits| limits.name_bytes = 5);
    assert_eq!(members_of_tar(&bytes, &five), Err(over(ArchiveLimit::NameBytes, 5, "abcdef")));
    let all = rules(|limits| limits.all_name_bytes = 8);
    let two = tar(&[file("abcde", b""), file("efgh", b"")]);
    assert_eq!(members_of_tar(&two, &all), Err(over(ArchiveLimit::AllNameBytes, 8, "")));
    let long = format!("path={}", "x".repeat(4097));
    let bytes = tar(&[pax(&[long.as_bytes()]), file("a", b"")]);
    let shown = "x".repeat(200) + "…";
    assert_eq!(
        members_of_tar(&bytes, &ArchiveRules::portable()),
        Err(over(ArchiveLimit::NameBytes, 4096, &shown))
    );
}

#[test]
fn extensions_by_limit() {
    for kind in [b'x', b'L'] {
        let bytes = header(kind, b"x", (64 << 10) + 1);
        let error = over(ArchiveLimit::ExtensionBytes, 64 << 10, "x");
        assert_eq!(members_of_tar(&bytes, &ArchiveRules::portable()), Err(error));
    }
}

#[test]
fn a_declared_size_is_not_allocated_for() {
    let unlimited = rules(|limits| {
        (limits.member_bytes, limits.total_bytes) = (u64::MAX, u64::MAX);
        limits.extension_bytes = u64::MAX;
    });
    let content = PackError::Truncated { section: ArchiveSection::Content, member: Some("a".to_owned()) };
    let extension =
        PackError::Truncated { section: ArchiveSection::TarExtension, member: Some("x".to_owned()) };
    let bytes = with_content(header(b'0', b"a", (1 << 33) - 1), b"little");
    assert_eq!(members_of_tar(&bytes, &unlimited), Err(content.clone()));
    let bytes = with_content(header(b'x', b"x", (1 << 33) - 1), b"little");
    assert_eq!(members_of_tar(&bytes, &unlimited), Err(extension));
    let huge = tar(&[pax(&[b"size=18446744073709551615"]), file("a", b"little")]);
    assert_eq!(members_of_tar(&huge, &unlimited), Err(content));
}

#[test]
fn a_visitor_has_its_own_bound() {
    let bytes = tar(&[file("a", b"12345")]);
    let read = |max: u64| {
        read_tar(&bytes[..], &ArchiveRules::plain(), |member| member.read_whole(max).map(|_| ()))
            .map(|t| t.files)
    };
    assert_eq!(read(5), Ok(1));
    assert_eq!(read(4), Err(over(ArchiveLimit::MemberBytes, 4, "a")));
}

#[test]
fn an_endless_reader_ends() {
    let bounded = rules(|limits| limits.source_bytes = 1 << 20);
    let result = read_tar(io::repeat(0), &bounded, |_| Ok::<(), PackError>(()));
    assert_eq!(result, Err(over(ArchiveLimit::SourceBytes, 1 << 20, "")));
    let name = [0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 255];
    let result = read_tar_gz((&name[..]).chain(io::repeat(b'n')), &bounded, |_| Ok::<(), PackError>(()));
    assert_eq!(result, Err(over(ArchiveLimit::SourceBytes, 1 << 20, "")));
}
