//! Exact bytes of written archives. If one of these changes, archives written before and after differ, which needs a release
//! note.

use crate::handmade::noise;
use reenact_pack::{ArchiveLimits, PackError, TarGzWriter, TarStyle, TarWriter, ZipMethod, ZipWriter};
use sha2::{Digest, Sha256};
use std::io::Cursor;

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns members of text that compresses, noise that does not, no bytes, and more than one window.
fn members() -> Vec<(&'static str, Vec<u8>)> {
    let text: String = (0..20_000).map(|n| format!("{{\"step\":{n},\"tool\":\"search\"}}\n")).collect();
    vec![
        ("manifest.json", b"{\"schema_version\":1}".to_vec()),
        ("files/empty", Vec::new()),
        ("files/noise.bin", noise(70_000)),
        ("files/trace.jsonl", text.into_bytes()),
    ]
}

fn tar(style: TarStyle) -> Result<Vec<u8>, PackError> {
    let mut writer = TarWriter::new(Vec::new(), style, ArchiveLimits::default());
    for (name, content) in members() {
        writer.add(name, content.len() as u64, &content[..])?;
    }
    writer.finish()
}

#[test]
fn tar_bytes() {
    let gnu = tar(TarStyle::Gnu).unwrap();
    assert_eq!(digest(&gnu), "f7826b66b616562b74fb800742ad558bc12f6f35a54bb4da2262a1f472ba20cc");
    assert_eq!(
        digest(&tar(TarStyle::Ustar).unwrap()),
        "7fefb7a49cb9f433ec370fee01f09b701a73f79297b43de651a0e68a714f2fc3"
    );
    // The header field by field.
    let mut block = [0; 512];
    block[..13].copy_from_slice(b"manifest.json");
    block[100..124].copy_from_slice(b"0000644\x000000000\x000000000\0");
    block[124..148].copy_from_slice(b"00000000024\x0000000000000\0");
    block[148..156].copy_from_slice(b"0010322\0");
    block[257..265].copy_from_slice(b"ustar  \0");
    assert_eq!(gnu[..512].escape_ascii().to_string(), block.escape_ascii().to_string());
}

#[test]
fn tar_gz_bytes() {
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, ArchiveLimits::default()).unwrap();
    for (name, content) in members() {
        writer.add(name, content.len() as u64, &content[..]).unwrap();
    }
    let bytes = writer.finish().unwrap();
    assert_eq!(bytes[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
    assert_eq!(digest(&bytes), "31a352693ab43bc91b008639fd2f696e0f4aeb36bf9788e717fd0ef7d2a0f840");
}

#[test]
fn zip_bytes() {
    for (method, golden) in [
        (ZipMethod::Stored, "6a3d5c5aa5010bf1be4d2a0caf4e29dece20e09c420c0f624ee0321581812b3c"),
        (ZipMethod::Deflated, "4818505763c1e52217a17bec5180c1b5eb2bda1fd244a927f03e1625e64ab968"),
    ] {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()), ArchiveLimits::default());
        for (name, content) in members() {
            writer.add(name, content.len() as u64, method, &content[..]).unwrap();
        }
        assert_eq!(digest(&writer.finish().unwrap().into_inner()), golden);
    }
}
