//! Bounds on an archive. Every limit is inclusive and is checked before the bytes that it bounds are kept or decoded.

use crate::error::PackError;

/// Bounds on one archive. The memory of a reader depends on these numbers and never on the sizes that the archive declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Largest archive file, in bytes.
    pub source_bytes: u64,
    /// Largest number of files and folders.
    pub members: u64,
    /// Longest name of a member, in bytes, as it stands in the archive.
    pub name_bytes: u64,
    /// Bytes of all names together, which are kept in memory to find duplicates.
    pub all_name_bytes: u64,
    /// Largest content of one member, in bytes.
    pub member_bytes: u64,
    /// Largest size after decompression, in bytes: the whole tar with its headers and padding, or all contents of a zip.
    pub total_bytes: u64,
    /// Largest PAX header or GNU long name, in bytes.
    pub extension_bytes: u64,
    /// Bound on the expansion of compressed bytes. `None`: only `total_bytes` bounds the work.
    pub expansion: Option<ExpansionLimit>,
}

/// Bound on the expansion of compressed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpansionLimit {
    /// Largest number of decompressed bytes for each compressed byte.
    pub max_ratio: u64,
    /// Number of decompressed bytes up to which any ratio is allowed: a small log of one repeated line is no attack.
    pub free_bytes: u64,
}

impl Default for ArchiveLimits {
    /// 16 GiB of archive, 100 000 members of 500 MiB, 16 GiB in all, names of 4096 bytes and 16 MiB together, expansion by
    /// 200 after 10 MiB. A tar of 100 000 tiny members compresses by about 165, deflate at its best by 1032.
    fn default() -> ArchiveLimits {
        ArchiveLimits {
            source_bytes: 16 << 30,
            members: 100_000,
            name_bytes: 4096,
            all_name_bytes: 16 << 20,
            member_bytes: 500 << 20,
            total_bytes: 16 << 30,
            extension_bytes: 64 << 10,
            expansion: Some(ExpansionLimit { max_ratio: 200, free_bytes: 10 << 20 }),
        }
    }
}

/// Limit that was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveLimit {
    /// [`ArchiveLimits::source_bytes`].
    #[error("the archive's own size in bytes")]
    SourceBytes,
    /// [`ArchiveLimits::members`].
    #[error("the number of members")]
    Members,
    /// [`ArchiveLimits::name_bytes`].
    #[error("the length of a name in bytes")]
    NameBytes,
    /// [`ArchiveLimits::all_name_bytes`].
    #[error("the length of all names in bytes")]
    AllNameBytes,
    /// [`ArchiveLimits::member_bytes`], or the bound given to [`crate::ArchiveMember::read_whole`].
    #[error("the size of a member in bytes")]
    MemberBytes,
    /// [`ArchiveLimits::total_bytes`].
    #[error("the unpacked size in bytes")]
    TotalBytes,
    /// [`ArchiveLimits::extension_bytes`].
    #[error("the size of an extension header in bytes")]
    ExtensionBytes,
    /// [`ArchiveLimits::expansion`].
    #[error("the expansion ratio")]
    Ratio,
}

impl ArchiveLimit {
    /// Returns an error if `value` is larger than `max`.
    pub(crate) fn check(self, value: u64, max: u64) -> Result<(), PackError> {
        if value > max { Err(PackError::Limit { limit: self, max, member: None }) } else { Ok(()) }
    }
}

impl ArchiveLimits {
    /// Returns an error if `packed` bytes became more `unpacked` bytes than the expansion limit allows.
    pub(crate) fn check_ratio(&self, packed: u64, unpacked: u64) -> Result<(), PackError> {
        let Some(ratio) = self.expansion else { return Ok(()) };
        if unpacked > ratio.free_bytes && unpacked > packed.saturating_mul(ratio.max_ratio) {
            return Err(PackError::Limit { limit: ArchiveLimit::Ratio, max: ratio.max_ratio, member: None });
        }
        Ok(())
    }
}
