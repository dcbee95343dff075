//! [`ArchiveRules`]: which archives a reader accepts. Strangers' tools write more forms of tar, gzip and zip than the plain core; each form is
//! a switch here, so that a format can refuse what its own tool never writes.

use crate::limits::ArchiveLimits;

/// Rules by which one archive is read. [`ArchiveRules::default`] is [`ArchiveRules::portable`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveRules {
    /// Bounds on sizes and counts.
    pub limits: ArchiveLimits,
    /// True to remove one leading `./` from names in a tar: `tar -C folder .` writes it before every name.
    pub strip_dot_slash: bool,
    /// True to skip folder members, which carry nothing that is used; false to refuse them.
    pub skip_folders: bool,
    /// True to read on after the first gzip member, as `gzip -d` does; false to refuse a second member.
    pub many_gzip_members: bool,
    /// Forms of tar headers that are accepted.
    pub tar: TarRules,
}

/// Forms of tar headers that are accepted besides those of a plain file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TarRules {
    /// True to apply `path` and `size` of a PAX header and the GNU long name; false to refuse such headers.
    pub extensions: bool,
    /// True to join the ustar prefix field to the name; false to refuse a header with a prefix.
    pub prefix: bool,
    /// True to accept sizes in base 256, with leading spaces, or with fewer digits; false for eleven octal digits and one NUL or
    /// space only.
    pub loose_sizes: bool,
    /// True to require the two zero blocks at the end. Without them, a tar that is cut between two members looks complete.
    pub end_blocks: bool,
}

impl TarRules {
    /// Plain files only, in the strict form of the Replay Bundle reader.
    pub const PLAIN: TarRules =
        TarRules { extensions: false, prefix: false, loose_sizes: false, end_blocks: false };
    /// All forms that GNU tar, bsdtar, Python and Go write.
    pub const PORTABLE: TarRules =
        TarRules { extensions: true, prefix: true, loose_sizes: true, end_blocks: true };
}

impl ArchiveRules {
    /// Returns the rules for archives that only this project or the real Replay Bundle tool writes: no folders, no extensions,
    /// names as they stand.
    ///
    /// Missing end blocks are tolerated, as by the real Replay Bundle reader: such an archive comes in one gzip member, whose own
    /// CRC and length reveal a cut.
    #[must_use]
    pub fn plain() -> ArchiveRules {
        ArchiveRules {
            limits: ArchiveLimits::default(),
            strip_dot_slash: false,
            skip_folders: false,
            many_gzip_members: false,
            tar: TarRules::PLAIN,
        }
    }

    /// Returns the rules for archives that were made with an ordinary tool.
    #[must_use]
    pub fn portable() -> ArchiveRules {
        ArchiveRules {
            limits: ArchiveLimits::default(),
            strip_dot_slash: true,
            skip_folders: true,
            many_gzip_members: false,
            tar: TarRules::PORTABLE,
        }
    }
}

impl Default for ArchiveRules {
    fn default() -> ArchiveRules {
        ArchiveRules::portable()
    }
}
