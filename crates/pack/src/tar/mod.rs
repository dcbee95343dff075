//! tar (POSIX.1 ustar and pax, GNU), of which plain files are read and written. Start at `reader`.

pub(crate) mod header;
mod number;
mod pax;
mod reader;
mod writer;

pub use reader::{gunzip, read_gunzipped_tar, read_tar, read_tar_gz};
pub use writer::{TarGzWriter, TarStyle, TarWriter};
