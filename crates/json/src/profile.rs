//! The named canonical forms.
//!
//! There is no such thing as *the* canonical form of JSON: each format that hashes JSON says how, and they differ in
//! the order of names, the text of numbers and the escapes. A profile is a value; it never selects fields, which is the
//! business of each format's own hash rules.

use core::fmt;
use core::str::FromStr;

/// A named canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// RFC 8785, the JSON Canonicalization Scheme: names by UTF-16 code units, numbers as ECMAScript prints them,
    /// minimal escapes. Used by RER, and by all that we write ourselves. Integers that doubles cannot hold are refused.
    Jcs,
    /// The form of `.rpk` checksums: names by code points, ASCII text, floats of 12 digits as Python prints them, and paths,
    /// timestamps, line ends and unordered lists in one spelling.
    Rpk,
    /// [`Profile::Rpk`] without volatile members, at any depth: the form of `.rpk` step hashes.
    RpkStep,
    /// The text of RFC 8785 as a JavaScript producer writes it: integers that doubles cannot hold become the nearest
    /// double. Used by Model IO.
    ModelIo,
    /// The form of REPLAY.jsonl: names by code points, escapes as RFC 8785, numbers as serde_json 1.0.140 prints them.
    ReplayJsonl,
}

impl Profile {
    /// Every profile, in the order in which help lists them.
    pub const ALL: &[Profile] =
        &[Profile::Jcs, Profile::Rpk, Profile::RpkStep, Profile::ModelIo, Profile::ReplayJsonl];

    /// Whether text that is canonical under RFC 8785 is canonical here too, and no other text is.
    pub(crate) fn is_of_rfc8785_text(self) -> bool {
        matches!(self, Self::Jcs | Self::ModelIo)
    }

    /// The name that commands take.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jcs => "jcs",
            Self::Rpk => "rpk",
            Self::RpkStep => "rpk-step",
            Self::ModelIo => "model-io",
            Self::ReplayJsonl => "replay-jsonl",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No profile has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no such profile; there is: jcs, rpk, rpk-step, model-io, replay-jsonl")]
pub struct UnknownProfile;

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        Self::ALL.iter().find(|profile| profile.name() == name).copied().ok_or(UnknownProfile)
    }
}
