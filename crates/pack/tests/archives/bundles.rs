//! Replay Bundles that the real tool wrote, and some that a script broke: the readers here refuse and accept the same archives
//! as the real tool, but for two rules that are stricter here.

use crate::handmade::Members;
use reenact_pack::{
    ArchiveLimit, ArchiveLimits, ArchiveRules, ArchiveSection, ChecksumKind, NameFault, PackError,
    TarGzWriter, TarStyle, UnsupportedMember, read_tar_gz,
};
use std::fs;
use std::path::PathBuf;

/// Returns a folder of bundles: in `REENACT_PEERS`, or beside the project.
fn folder(kind: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/peers"));
    let folder = std::env::var_os("REENACT_PEERS").map_or_else(beside, PathBuf::from);
    let folder = folder.join("replay_bundles").join(kind);
    if !folder.is_dir() {
        println!("skipped: no {}", folder.display());
        return None;
    }
    Some(folder)
}

/// Returns the limits of the real tool.
fn rules() -> ArchiveRules {
    let limits = ArchiveLimits {
        source_bytes: 100 << 20,
        total_bytes: 1 << 30,
        name_bytes: 256,
        expansion: None,
        ..ArchiveLimits::default()
    };
    ArchiveRules { limits, ..ArchiveRules::plain() }
}

fn read(bytes: &[u8]) -> Result<Members, PackError> {
    let mut members = Members::new();
    read_tar_gz(bytes, &rules(), |member| {
        let max = if member.name() == "manifest.json" { 10 << 20 } else { 500 << 20 };
        let name = member.name().to_owned();
        members.push((name, member.read_whole(max)?));
        Ok::<(), PackError>(())
    })?;
    Ok(members)
}

fn refusal(id: &str) -> Option<PackError> {
    let unsafe_name = |name: &str, fault| PackError::UnsafeName { name: name.to_owned(), fault };
    let forbidden =
        |member: &str, member_type| PackError::Forbidden { member: member.to_owned(), member_type };
    let limit =
        |limit, max, member: Option<&str>| PackError::Limit { limit, max, member: member.map(str::to_owned) };
    Some(match id.split('_').next().unwrap_or_default() {
        "t16" => forbidden("files/sub/", UnsupportedMember::Folder),
        "t33" => PackError::Duplicate { name: "manifest.json".to_owned() },
        "t39" => forbidden("pfx.txt", UnsupportedMember::Prefix),
        "t40" => forbidden("PaxHeaders/x", UnsupportedMember::Pax),
        "t41" => forbidden("././@LongLink", UnsupportedMember::LongName),
        "t43" => unsafe_name("./manifest.json", NameFault::DotSegment),
        "t45" => unsafe_name("files/./x.txt", NameFault::DotSegment),
        "t48" => unsafe_name("files\\x.txt", NameFault::Backslash),
        "t50" => unsafe_name("C:/files/x.txt", NameFault::Colon),
        // The real tool accepts a collision, and refuses this control character only for the secret in its content.
        "t51" => PackError::CaseCollision {
            name: "files/TRACE.JSONL".to_owned(),
            other: "files/trace.jsonl".to_owned(),
        },
        "t52" => unsafe_name("files/a\n\u{1b}[31mb.txt", NameFault::Control),
        "t54" => PackError::TrailingData { section: ArchiveSection::Gzip },
        "t55" => PackError::TrailingData { section: ArchiveSection::TarEnd },
        "t58" => PackError::Truncated { section: ArchiveSection::Gzip, member: None },
        "t59" => PackError::Checksum { checksum: ChecksumKind::GzipCrc, member: None },
        "t61" => PackError::Truncated { section: ArchiveSection::GzipHeader, member: None },
        "t69" => limit(ArchiveLimit::MemberBytes, 10 << 20, Some("manifest.json")),
        "t70" => limit(ArchiveLimit::MemberBytes, 500 << 20, Some("files/big.bin")),
        "t71" => limit(ArchiveLimit::Members, 100_000, None),
        _ => return None,
    })
}

#[test]
fn tampered_bundles_are_refused_for_what_was_done() {
    let Some(folder) = folder("tampered") else { return };
    let mut refused = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let id = path.file_name().unwrap().to_string_lossy().into_owned();
        let found = read(&fs::read(&path).unwrap()).err();
        refused += usize::from(found.is_some());
        assert_eq!(found, refusal(&id), "{id}");
    }
    assert_eq!(refused, 19);
}

#[test]
fn real_bundles_are_read_and_written_again_byte_for_byte() {
    let Some(folder) = folder("real") else { return };
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let members = read(&bytes).unwrap();
        assert_eq!(members[0].0, "manifest.json");
        let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, rules().limits).unwrap();
        for (name, content) in &members {
            writer.add(name, content.len() as u64, &content[..]).unwrap();
        }
        assert!(writer.finish().unwrap() == bytes, "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 22);
}
