//! Valid archives with a few bytes changed, from a fixed seed: a reader never panics, and accepts only the members that were
//! written.

use crate::handmade::{
    Members, ZipBuilder, ZipEntry, file, gzip, members_of_tar, members_of_tar_gz, members_of_zip, pax,
    set_checksum, tar,
};
use reenact_pack::{ArchiveRules, PackError};

struct MutationRandom(u64);

impl MutationRandom {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }

    /// Changes one to four bytes, and sometimes removes or doubles a piece.
    fn mutated(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = bytes.to_vec();
        for _ in 0..=self.next(4) {
            let at = self.next(out.len());
            out[at] = match self.next(4) {
                0 => 0,
                1 => 0xff,
                2 => out[at] ^ (1 << self.next(8)),
                _ => u8::try_from(self.next(256)).unwrap(),
            };
        }
        let at = self.next(out.len());
        let end = (at + self.next(600)).min(out.len());
        match self.next(16) {
            0 => drop(out.drain(at..end)),
            1 => drop(out.splice(at..at, bytes[at..end].to_vec())),
            _ => {}
        }
        out
    }
}

fn content() -> Vec<u8> {
    (0u32..4000).map(|n| b"some words that repeat "[n as usize % 23] ^ u8::from(n % 71 == 0)).collect()
}

fn sample_tar() -> Vec<u8> {
    let long = format!("path={}", "deep/".repeat(30) + "file");
    tar(&[file("a", b"first"), pax(&[long.as_bytes()]), file("deep", &content()), file("z", b"")])
}

/// Returns the number of mutants that were accepted.
fn accepted(
    bytes: &[u8],
    rounds: usize,
    read: impl Fn(&[u8]) -> Result<Members, PackError>,
    fix: impl Fn(&mut Vec<u8>),
    same: impl Fn(&Members, &Members) -> bool,
) -> usize {
    let original = read(bytes).unwrap();
    let mut seed = MutationRandom(0x5eed);
    (0..rounds)
        .filter(|round| {
            let mut mutant = seed.mutated(bytes);
            fix(&mut mutant);
            let Ok(members) = read(&mutant) else { return false };
            assert!(same(&members, &original), "round {round}");
            true
        })
        .count()
}

#[test]
fn a_gzip_that_passes_is_the_one_that_was_written() {
    let read = |bytes: &[u8]| members_of_tar_gz(bytes, &ArchiveRules::portable());
    let passed = accepted(&gzip(&sample_tar()), 4000, read, |_| {}, |a, b| a == b);
    assert!((1..400).contains(&passed), "{passed}");
}

#[test]
fn a_zip_that_passes_is_the_one_that_was_written() {
    let entries = [
        ZipEntry::stored("a", b"first"),
        ZipEntry::deflated("b", &content()).with_descriptor(true),
        ZipEntry::deflated("c", &content()),
        ZipEntry::stored("é", b"").change_both(|half| half.flags |= 1 << 11),
    ];
    let mut zip = ZipBuilder::of(&entries);
    zip.comment = b"remark".to_vec();
    let read = |bytes: &[u8]| members_of_zip(bytes, &ArchiveRules::portable());
    let passed = accepted(&zip.bytes(), 4000, read, |_| {}, |a, b| a == b);
    assert!((1..1500).contains(&passed), "{passed}");
}

#[test]
fn a_tar_that_passes_has_the_names_that_were_written() {
    let names = |members: &Members| members.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let read = |bytes: &[u8]| members_of_tar(bytes, &ArchiveRules::portable());
    // A tar has no sum over its contents, and a PAX path is content; a mutant may also lose whole members.
    let passed = accepted(
        &sample_tar(),
        4000,
        read,
        |_| {},
        |a, b| {
            names(a).iter().all(|name| name.starts_with("deep/") || names(b).contains(name) || name == "deep")
        },
    );
    assert!(passed > 0);
}

#[test]
fn a_tar_with_its_sums_repaired_never_panics() {
    let read = |bytes: &[u8]| members_of_tar(bytes, &ArchiveRules::portable());
    let repair = |bytes: &mut Vec<u8>| {
        for block in bytes.chunks_exact_mut(512) {
            if block[257..262] == *b"ustar"
                && let Some(block) = block.first_chunk_mut()
            {
                set_checksum(block);
            }
        }
    };
    assert!(accepted(&sample_tar(), 8000, read, repair, |_, _| true) > 0);
}
