//! Any bytes as an archive: memory is bounded, both rule sets read the same content, and what was
//! read can be written and read again.
//!
//! An input that begins with a byte below 16 is a script: it edits a valid archive byte by byte,
//! and then fixes the checksums of tar headers, which would otherwise stop every edit. Anything
//! else is read as it is.
#![no_main]

use std::collections::BTreeSet;
use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use reenact_pack::{
    ArchiveLimits, ArchiveRules, Container, ExpansionLimit, PackError, TarGzWriter, TarStyle, TarWriter,
    ZipMethod, ZipWriter, name_fault, read_tar, read_tar_gz, read_zip,
};

type Members = Vec<(String, Vec<u8>)>;

/// Returns limits so small that inputs reach each of them.
fn limits() -> ArchiveLimits {
    ArchiveLimits {
        source_bytes: 48 << 10,
        members: 16,
        name_bytes: 200,
        all_name_bytes: 1 << 10,
        member_bytes: 8 << 10,
        total_bytes: 32 << 10,
        extension_bytes: 1 << 10,
        expansion: Some(ExpansionLimit { max_ratio: 50, free_bytes: 1 << 10 }),
    }
}

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        Some((&choice @ 0..=15, script)) => check_archive(&edited_archive(choice, script)),
        _ => check_archive(input),
    }
});

fn check_archive(bytes: &[u8]) {
    let Some(container) = Container::detect(bytes) else { return };
    // The default limits must hold too, although no input here reaches them.
    let _ = read(container, bytes, &ArchiveRules::plain());
    let plain = read(container, bytes, &ArchiveRules { limits: limits(), ..ArchiveRules::plain() });
    let portable = read(container, bytes, &ArchiveRules { limits: limits(), ..ArchiveRules::portable() });
    if let (Ok(plain), Ok(portable)) = (&plain, &portable) {
        assert_eq!(plain, portable, "two rule books, two contents");
    }
    for members in [plain, portable].into_iter().flatten() {
        check_round_trip(&members);
    }
}

fn read(container: Container, bytes: &[u8], rules: &ArchiveRules) -> Result<Members, PackError> {
    let mut members = Members::new();
    let visit = |member: &mut reenact_pack::ArchiveMember<'_>| {
        let (name, size) = (member.name().to_owned(), member.size());
        assert_eq!(name_fault(&name), None, "{name:?}");
        let content = member.read_whole(u64::MAX)?;
        assert_eq!(content.len() as u64, size, "{name:?}");
        members.push((name, content));
        Ok::<(), PackError>(())
    };
    let read = match container {
        Container::Tar => read_tar(bytes, rules, visit),
        Container::TarGz => read_tar_gz(bytes, rules, visit),
        Container::Zip => read_zip(Cursor::new(bytes), rules, visit),
    };
    // ArchiveLimits hold also when reading fails half way.
    let total: u64 = members.iter().map(|(_, content)| content.len() as u64).sum();
    assert!(total <= rules.limits.total_bytes);
    assert!(members.len() as u64 <= rules.limits.members);
    for (name, content) in &members {
        assert!(name.len() as u64 <= rules.limits.name_bytes);
        assert!(content.len() as u64 <= rules.limits.member_bytes);
    }
    match read {
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && text.len() < 8192, "{text}");
            assert!(!text.contains(char::is_control), "{text:?}");
            Err(error)
        }
        Ok(tally) => {
            assert_eq!((tally.files, tally.content_bytes), (members.len() as u64, total));
            assert_eq!(tally.source_bytes, bytes.len() as u64, "every byte was looked at");
            let names: BTreeSet<String> = members.iter().map(|(name, _)| name.to_lowercase()).collect();
            assert_eq!(names.len(), members.len(), "one name twice");
            Ok(members)
        }
    }
}

/// Checks that our writers write what our readers read, and the same bytes each time.
fn check_round_trip(members: &Members) {
    let everyday = ArchiveRules::portable();
    for style in [TarStyle::Gnu, TarStyle::Ustar] {
        // Not every name fits a header.
        let Ok(archive) = tar(members, style) else { continue };
        assert_eq!(read(Container::Tar, &archive, &everyday).as_ref(), Ok(members));
        if style == TarStyle::Ustar {
            let gz = tar_gz(members, style).expect("what fits a tar fits a tar.gz");
            assert_eq!(read(Container::TarGz, &gz, &everyday).as_ref(), Ok(members));
            assert_eq!(tar_gz(members, style).as_ref(), Ok(&gz));
        }
    }
    for method in [ZipMethod::Stored, ZipMethod::Deflated] {
        let archive = zip(members, method).expect("what was read can be written");
        assert_eq!(read(Container::Zip, &archive, &everyday).as_ref(), Ok(members));
        assert_eq!(zip(members, method).as_ref(), Ok(&archive));
    }
}

fn tar(members: &Members, style: TarStyle) -> Result<Vec<u8>, PackError> {
    let mut writer = TarWriter::new(Vec::new(), style, ArchiveLimits::default());
    for (name, content) in members {
        writer.add(name, content.len() as u64, content.as_slice())?;
    }
    writer.finish()
}

fn tar_gz(members: &Members, style: TarStyle) -> Result<Vec<u8>, PackError> {
    let mut writer = TarGzWriter::new(Vec::new(), style, ArchiveLimits::default())?;
    for (name, content) in members {
        writer.add(name, content.len() as u64, content.as_slice())?;
    }
    writer.finish()
}

fn zip(members: &Members, method: ZipMethod) -> Result<Vec<u8>, PackError> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()), ArchiveLimits::default());
    for (name, content) in members {
        writer.add(name, content.len() as u64, method, content.as_slice())?;
    }
    Ok(writer.finish()?.into_inner())
}

/// Returns a valid archive, edited by instructions of four bytes.
fn edited_archive(choice: u8, script: &[u8]) -> Vec<u8> {
    let names = ["artifact.json", "blobs/a", "blobs/b.bin", "ü/x"];
    let members: Members = (1..)
        .zip(names.iter().take(1 + usize::from(choice / 4)))
        .map(|(size, name)| ((*name).to_owned(), vec![b'a'; 13 * size]))
        .collect();
    let mut archive = match choice % 4 {
        0 | 1 => tar(&members, if choice % 4 == 0 { TarStyle::Gnu } else { TarStyle::Ustar }),
        2 => zip(&members, ZipMethod::Stored),
        _ => zip(&members, ZipMethod::Deflated),
    }
    .expect("a sound archive");
    let is_tar = choice % 4 < 2;
    for edit in script.chunks_exact(4).take(16) {
        if archive.is_empty() {
            break;
        }
        let at = usize::from(u16::from_le_bytes([edit[1], edit[2]])) % archive.len();
        match edit[0] % 8 {
            0..=3 => archive[at] = edit[3],
            4 => archive[at] ^= 1 << (edit[3] % 8),
            5 => archive.insert(at, edit[3]),
            // Repeats a whole block, as an extension or a second member.
            6 if is_tar => {
                let block = at / 512 * 512;
                let copy = archive[block..archive.len().min(block + 512)].to_vec();
                let to = usize::from(edit[3]) * 512 % (archive.len() + 1) / 512 * 512;
                archive.splice(to..to, copy);
            }
            6 => archive.truncate(at),
            _ => {
                let end = archive.len().min(at + usize::from(edit[3] % 64));
                let copy = archive[at..end].to_vec();
                archive.extend_from_slice(&copy);
            }
        }
    }
    if is_tar {
        fix_checksums(&mut archive);
    }
    archive
}

/// Writes the right checksum into every block that is read as a header.
fn fix_checksums(archive: &mut [u8]) {
    let mut at = 0;
    while let Some(block) = archive.get_mut(at..at + 512) {
        if block.iter().all(|byte| *byte == 0) {
            break;
        }
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let digits = block[124..135].iter().filter(|byte| (b'0'..=b'7').contains(*byte));
        let size = digits
            .fold(0_usize, |size, digit| size.saturating_mul(8).saturating_add(usize::from(digit - b'0')));
        at = at.saturating_add(512).saturating_add(size.min(1 << 20).next_multiple_of(512));
    }
}
