//! Readers and writers of tar, gzip and zip: bounded members in, reproducible bytes out; no file system.
//!
//! An archive is the one input whose *container* can lie before its content does: a name that leaves its folder, a size that
//! is not the size, a kilobyte that unpacks to a terabyte, two directories that disagree. So the readers here accept the small
//! plain part of each format that ordinary tools write, refuse everything else with a [`PackError`] that names it, and hold no
//! more in memory than [`ArchiveLimits`] says, whatever the archive declares. The writers always produce the same bytes for the
//! same members.
//!
//! Readers push members to a visitor instead of handing out an iterator, because an archive is only known to be whole after its
//! last byte: the end of a tar, the CRC of a gzip. A visitor cannot forget to read up to there. The members that it was shown
//! count only after the reader has returned `Ok`.
//!
//! ```
//! use reenact_pack::{ArchiveLimits, ArchiveRules, PackError, TarGzWriter, TarStyle, read_tar_gz};
//!
//! let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, ArchiveLimits::default())?;
//! writer.add("manifest.json", 2, &b"{}"[..])?;
//! let archive = writer.finish()?;
//!
//! let mut seen = Vec::new();
//! read_tar_gz(&archive[..], &ArchiveRules::plain(), |member| {
//!     seen.push((member.name().to_owned(), member.read_whole(1024)?));
//!     Ok::<(), PackError>(())
//! })?;
//! assert_eq!(seen, [("manifest.json".to_owned(), b"{}".to_vec())]);
//! # Ok::<(), PackError>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `container` | which format a file is, by its first bytes |
//! | `limits`, `rules` | bounds on an archive, and the forms that a reader accepts |
//! | `member`, `name_rules`, `member_names` | one file of an archive; safe names; collisions of names |
//! | `tar`, `gzip`, `zip` | readers and writers of each format |
//! | `inflate`, `deflate` | raw deflate streams, in steps of bounded size |
//! | `input`, `copy` | buffered input that counts its bytes; output of exactly the stated size |
//! | `error` | [`PackError`] and its nested reasons |
//!
//! Start reading at [`read_tar`], then at `tar/reader.rs`; for a zip at [`read_zip`].

mod container;
mod copy;
mod deflate;
mod error;
mod gzip;
mod inflate;
mod input;
mod limits;
mod member;
mod member_names;
mod name_rules;
mod rules;
mod tar;
mod zip;

pub use container::Container;
pub use error::{
    ArchiveSection, ChecksumKind, Malformation, PackError, PaxFault, RepeatedField, UnsupportedMember,
};
pub use limits::{ArchiveLimit, ArchiveLimits, ExpansionLimit};
pub use member::{ArchiveMember, ArchiveTotals};
pub use member_names::MemberNames;
pub use name_rules::{NameFault, name_fault};
pub use rules::{ArchiveRules, TarRules};
pub use tar::{TarGzWriter, TarStyle, TarWriter, gunzip, read_gunzipped_tar, read_tar, read_tar_gz};
pub use zip::{ZipMethod, ZipWriter, read_zip};
