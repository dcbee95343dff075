//! Readers read all that the writers write, and writers refuse all that the readers would refuse.

use crate::handmade::{Members, members_of_tar, members_of_tar_gz, members_of_zip};
use proptest::prelude::*;
use reenact_pack::{
    ArchiveLimit, ArchiveLimits, ArchiveRules, Container, PackError, RepeatedField, TarGzWriter, TarStyle,
    TarWriter, ZipMethod, ZipWriter, name_fault,
};
use std::io::{Cursor, Read};

/// Reader that returns small chunks, on whose size the bytes of an archive must not depend.
struct ChunkedReader<'a>(&'a [u8], usize);

impl Read for ChunkedReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let step = out.len().min(self.1);
        self.0.read(&mut out[..step])
    }
}

fn tar(members: &Members, style: TarStyle, chunk_size: usize) -> Result<Vec<u8>, PackError> {
    let mut writer = TarWriter::new(Vec::new(), style, ArchiveLimits::default());
    for (name, content) in members {
        writer.add(name, content.len() as u64, ChunkedReader(content, chunk_size))?;
    }
    writer.finish()
}

fn tar_gz(members: &Members, style: TarStyle, chunk_size: usize) -> Result<Vec<u8>, PackError> {
    let mut writer = TarGzWriter::new(Vec::new(), style, ArchiveLimits::default())?;
    for (name, content) in members {
        writer.add(name, content.len() as u64, ChunkedReader(content, chunk_size))?;
    }
    writer.finish()
}

fn zip(members: &Members, method: ZipMethod, chunk_size: usize) -> Result<Vec<u8>, PackError> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()), ArchiveLimits::default());
    for (name, content) in members {
        writer.add(name, content.len() as u64, method, ChunkedReader(content, chunk_size))?;
    }
    Ok(writer.finish()?.into_inner())
}

/// Strategy for members in numbered folders, so that no two names collide.
fn members() -> impl Strategy<Value = Members> {
    let name = "[a-zA-Z0-9é._ -]{1,20}(/[a-z]{1,8}){0,3}/[a-z]{1,4}";
    let content = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..2000),
        (0usize..200_000, any::<u8>()).prop_map(|(length, byte)| vec![byte; length]),
    ];
    proptest::collection::vec((name, content), 0..8).prop_map(|members| {
        let numbered = |(at, (name, content)): (usize, (String, Vec<u8>))| (format!("{at}x{name}"), content);
        members.into_iter().enumerate().map(numbered).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_comes_back(members in members(), drip in 1usize..5000) {
        for style in [TarStyle::Gnu, TarStyle::Ustar] {
            let bytes = tar(&members, style, drip).unwrap();
            if !members.is_empty() {
                prop_assert_eq!(Container::detect(&bytes), Some(Container::Tar));
            }
            prop_assert_eq!(members_of_tar(&bytes, &ArchiveRules::plain()), Ok(members.clone()));
            prop_assert_eq!(&bytes, &tar(&members, style, usize::MAX).unwrap());
        }
        let rules = ArchiveRules { limits: ArchiveLimits { expansion: None, ..ArchiveLimits::default() }, ..ArchiveRules::plain() };
        let bytes = tar_gz(&members, TarStyle::Gnu, drip).unwrap();
        prop_assert_eq!(Container::detect(&bytes), Some(Container::TarGz));
        prop_assert_eq!(members_of_tar_gz(&bytes, &rules), Ok(members.clone()));
        prop_assert_eq!(&bytes, &tar_gz(&members, TarStyle::Gnu, usize::MAX).unwrap());
        for method in [ZipMethod::Stored, ZipMethod::Deflated] {
            let bytes = zip(&members, method, drip).unwrap();
            prop_assert_eq!(Container::detect(&bytes), Some(Container::Zip));
            prop_assert_eq!(members_of_zip(&bytes, &rules), Ok(members.clone()));
            prop_assert_eq!(&bytes, &zip(&members, method, usize::MAX).unwrap());
        }
    }

    #[test]
    fn any_name_is_written_and_read_or_refused(name in "\\PC{0,30}|[./\\\\:a\u{0}\n]{0,6}") {
        let members = vec![(name.clone(), b"x".to_vec())];
        let fault = name_fault(&name);
        let too_long = name.len() > 100;
        match tar(&members, TarStyle::Gnu, 1) {
            Ok(bytes) => {
                prop_assert_eq!(members_of_tar(&bytes, &ArchiveRules::plain()), Ok(members.clone()));
                prop_assert_eq!(fault, None);
            }
            Err(PackError::UnsafeName { fault: found, .. }) => prop_assert_eq!(Some(found), fault),
            Err(error) => prop_assert!(too_long, "{:?}", error),
        }
        let zip = zip(&members, ZipMethod::Stored, 1);
        prop_assert_eq!(zip.is_ok(), fault.is_none());
        if let Ok(bytes) = zip {
            prop_assert_eq!(members_of_zip(&bytes, &ArchiveRules::plain()), Ok(members));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(members_of_tar(&bytes, &ArchiveRules::portable()).is_err());
        prop_assert!(members_of_tar_gz(&bytes, &ArchiveRules::portable()).is_err());
        prop_assert!(members_of_zip(&bytes, &ArchiveRules::portable()).is_err());
    }
}

#[test]
fn long_names_by_prefix() {
    let members = vec![("d".repeat(150) + "/" + &"f".repeat(100), b"x".to_vec())];
    let bytes = tar(&members, TarStyle::Ustar, 1).unwrap();
    assert_eq!(members_of_tar(&bytes, &ArchiveRules::portable()), Ok(members.clone()));
    assert!(members_of_tar(&bytes, &ArchiveRules::plain()).is_err());
    assert!(matches!(
        tar(&members, TarStyle::Gnu, 1),
        Err(PackError::Limit { limit: ArchiveLimit::NameBytes, max: 100, .. })
    ));
}

#[test]
fn writers_refuse_what_readers_would() {
    let pair = |a: &str, b: &str| vec![(a.to_owned(), b"1".to_vec()), (b.to_owned(), b"2".to_vec())];
    let all = |members: &Members| {
        let error = tar(members, TarStyle::Ustar, 1).unwrap_err();
        assert_eq!(tar_gz(members, TarStyle::Gnu, 1).unwrap_err(), error);
        assert_eq!(zip(members, ZipMethod::Deflated, 1).unwrap_err(), error);
        error
    };
    assert_eq!(all(&pair("a", "a")), PackError::Duplicate { name: "a".to_owned() });
    let (name, other) = ("A".to_owned(), "a".to_owned());
    assert_eq!(all(&pair("a", "A")), PackError::CaseCollision { name, other });
    let (file, inside) = ("a".to_owned(), "a/b".to_owned());
    assert_eq!(all(&pair("a", "a/b")), PackError::FileAndFolder { file, inside });
}

#[test]
fn content_must_have_its_size() {
    let error = Err(PackError::Disagreement { member: "a".to_owned(), field: RepeatedField::Size });
    for size in [0, 4, 6, 100_000] {
        let mut writer = TarWriter::new(Vec::new(), TarStyle::Gnu, ArchiveLimits::default());
        assert_eq!(writer.add("a", size, &b"12345"[..]), error);
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()), ArchiveLimits::default());
        assert_eq!(writer.add("a", size, ZipMethod::Deflated, &b"12345"[..]), error);
    }
}

#[test]
fn writers_keep_to_limits() {
    let limits =
        ArchiveLimits { members: 1, member_bytes: 10, total_bytes: 2000, ..ArchiveLimits::default() };
    let over = |limit, max, member: Option<&str>| {
        Err(PackError::Limit { limit, max, member: member.map(str::to_owned) })
    };
    let mut writer = TarWriter::new(Vec::new(), TarStyle::Gnu, limits.clone());
    assert_eq!(writer.add("a", 11, &[0; 11][..]), over(ArchiveLimit::MemberBytes, 10, Some("a")));
    assert_eq!(writer.add("a", 1, &[0; 1][..]), Ok(()));
    assert_eq!(writer.add("b", 1, &[0; 1][..]), over(ArchiveLimit::Members, 1, None));
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()), limits);
    assert_eq!(
        writer.add("a", 11, ZipMethod::Stored, &[0; 11][..]),
        over(ArchiveLimit::MemberBytes, 10, Some("a"))
    );
    assert_eq!(writer.add("a", 1, ZipMethod::Stored, &[0; 1][..]), Ok(()));
    assert_eq!(writer.add("b", 1, ZipMethod::Stored, &[0; 1][..]), over(ArchiveLimit::Members, 1, None));
}
