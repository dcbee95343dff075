//! tar, gzip and zip: bounded members in, reproducible bytes out; no file system.
//!
//! An archive is the one input whose *container* can lie before its content does: a name that leaves its folder, a size that
//! is not the size, a kilobyte that unpacks to a terabyte, two directories that disagree. So the readers here accept the small
//! plain part of each format that ordinary tools write, name everything else as a [`PackError`], and hold no more in memory
//! than [`Limits`] says, whatever the archive declares. The writers produce the same bytes for the same members, always.
//!
//! Readers push members to a visitor instead of handing out an iterator, because an archive is only known to be whole after its
//! last byte: the end of a tar, the CRC of a gzip. A visitor cannot forget to go there. What it has seen counts only when
//! the reader has returned `Ok`.
//!
//! ```
//! use reenact_pack::{Limits, PackError, Rules, TarGzWriter, TarStyle, read_tar_gz};
//!
//! let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, Limits::default())?;
//! writer.add("manifest.json", 2, &b"{}"[..])?;
//! let archive = writer.finish()?;
//!
//! let mut seen = Vec::new();
//! read_tar_gz(&archive[..], &Rules::plain(), |member| {
//!     seen.push((member.name().to_owned(), member.read_whole(1024)?));
//!     Ok::<(), PackError>(())
//! })?;
//! assert_eq!(seen, [("manifest.json".to_owned(), b"{}".to_vec())]);
//! # Ok::<(), PackError>(())
//! ```

mod container;
mod copy;
mod deflate;
mod error;
mod gzip;
mod inflate;
mod input;
mod limits;
mod member;
mod name;
mod names;
mod rules;
mod tar;
mod zip;

pub use container::Container;
pub use error::{Checked, Entry, Field, Malformation, PackError, PaxFault, Stage};
pub use limits::{Limit, Limits, Ratio};
pub use member::{Member, Tally};
pub use name::{NameFault, name_fault};
pub use names::Names;
pub use rules::{Rules, TarRules};
pub use tar::{TarGzWriter, TarStyle, TarWriter, gunzip, read_gunzipped_tar, read_tar, read_tar_gz};
pub use zip::{ZipMethod, ZipWriter, read_zip};
