//! How much an archive may ask for. Every limit is inclusive and is checked before the bytes it bounds are kept or decoded.

use crate::error::PackError;

/// Bounds on one archive. What a reader holds in memory depends on these numbers and never on what the archive declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the archive file itself.
    pub source_bytes: u64,
    /// Files and folders in the archive.
    pub members: u64,
    /// Bytes of one name, as it stands in the archive.
    pub name_bytes: u64,
    /// Bytes of all names together: they are kept, to find two that are the same.
    pub all_name_bytes: u64,
    /// Bytes of one member's content.
    pub member_bytes: u64,
    /// Bytes after decompression: the whole tar with its headers and padding, or all contents of a zip.
    pub total_bytes: u64,
    /// Bytes of one PAX header or GNU long name.
    pub extension_bytes: u64,
    /// Bytes out for one byte in. `None`: only `total_bytes` bounds the work.
    pub ratio: Option<Ratio>,
}

/// How far compressed bytes may expand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    /// Bytes out for each byte in.
    pub max: u64,
    /// The first bytes out are free: a small log of one repeated line is no attack.
    pub after: u64,
}

impl Default for Limits {
    /// 16 GiB of archive, 100 000 members of 500 MiB, 16 GiB in all, names of 4096 bytes and 16 MiB together, expansion by
    /// 200 after 10 MiB. A tar of 100 000 tiny members compresses by about 165, deflate at its best by 1032.
    fn default() -> Limits {
        Limits {
            source_bytes: 16 << 30,
            members: 100_000,
            name_bytes: 4096,
            all_name_bytes: 16 << 20,
            member_bytes: 500 << 20,
            total_bytes: 16 << 30,
            extension_bytes: 64 << 10,
            ratio: Some(Ratio { max: 200, after: 10 << 20 }),
        }
    }
}

/// Which limit was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::source_bytes`].
    #[error("the archive's own size in bytes")]
    SourceBytes,
    /// [`Limits::members`].
    #[error("the number of members")]
    Members,
    /// [`Limits::name_bytes`].
    #[error("the length of a name in bytes")]
    NameBytes,
    /// [`Limits::all_name_bytes`].
    #[error("the length of all names in bytes")]
    AllNameBytes,
    /// [`Limits::member_bytes`], or the bound given to [`crate::Member::read_whole`].
    #[error("the size of a member in bytes")]
    MemberBytes,
    /// [`Limits::total_bytes`].
    #[error("the unpacked size in bytes")]
    TotalBytes,
    /// [`Limits::extension_bytes`].
    #[error("the size of an extension header in bytes")]
    ExtensionBytes,
    /// [`Limits::ratio`].
    #[error("the expansion ratio")]
    Ratio,
}

impl Limit {
    /// Refuses a value over `max`.
    pub(crate) fn hold(self, value: u64, max: u64) -> Result<(), PackError> {
        if value > max { Err(PackError::Limit { limit: self, max, member: None }) } else { Ok(()) }
    }
}

impl Limits {
    /// Refuses an expansion over the ratio.
    pub(crate) fn hold_ratio(&self, packed: u64, unpacked: u64) -> Result<(), PackError> {
        let Some(ratio) = self.ratio else { return Ok(()) };
        if unpacked > ratio.after && unpacked > packed.saturating_mul(ratio.max) {
            return Err(PackError::Limit { limit: Limit::Ratio, max: ratio.max, member: None });
        }
        Ok(())
    }
}
