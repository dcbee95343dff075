//! What a reader accepts beyond the plain core of each format.

use crate::limits::Limits;

/// The rules one archive is read by. [`Rules::default`] is [`Rules::portable`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Bounds on sizes and counts.
    pub limits: Limits,
    /// Take one leading `./` off names in a tar: `tar -C folder .` writes it before every name.
    pub strip_dot_slash: bool,
    /// Pass over folder members. They carry nothing we use; without this they are refused.
    pub skip_folders: bool,
    /// Read on after the first gzip member, as `gzip -d` does. Without this a second member is refused.
    pub many_gzip_members: bool,
    /// Forms of tar headers.
    pub tar: TarRules,
}

/// Which forms of tar headers are accepted besides a plain file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TarRules {
    /// Honour `path` and `size` of a PAX header and the GNU long name. Without this such headers are refused.
    pub extensions: bool,
    /// Join the ustar prefix field to the name. Without this a used prefix is refused.
    pub prefix: bool,
    /// Accept sizes in base 256, with leading spaces, or with fewer digits; otherwise eleven octal digits and one NUL or space.
    pub loose_sizes: bool,
    /// Require the two zero blocks at the end. Without them, a tar cut between two members looks complete.
    pub end_blocks: bool,
}

impl TarRules {
    /// Plain files only, in the strict form of the Replay Bundle reader.
    pub const PLAIN: TarRules =
        TarRules { extensions: false, prefix: false, loose_sizes: false, end_blocks: false };
    /// What GNU tar, bsdtar, Python and Go write.
    pub const PORTABLE: TarRules =
        TarRules { extensions: true, prefix: true, loose_sizes: true, end_blocks: true };
}

impl Rules {
    /// For archives that only a program of ours or its peer writes: no folders, no extensions, names as they stand.
    ///
    /// Missing end blocks are tolerated here, as by the real Replay Bundle reader: such an archive comes in one gzip member,
    /// whose own CRC and length show a cut.
    #[must_use]
    pub fn plain() -> Rules {
        Rules {
            limits: Limits::default(),
            strip_dot_slash: false,
            skip_folders: false,
            many_gzip_members: false,
            tar: TarRules::PLAIN,
        }
    }

    /// For archives that a person made with an ordinary tool.
    #[must_use]
    pub fn portable() -> Rules {
        Rules {
            limits: Limits::default(),
            strip_dot_slash: true,
            skip_folders: true,
            many_gzip_members: false,
            tar: TarRules::PORTABLE,
        }
    }
}

impl Default for Rules {
    fn default() -> Rules {
        Rules::portable()
    }
}
