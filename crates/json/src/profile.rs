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
}

impl Profile {
    /// Every profile, in the order in which help lists them.
    pub const ALL: &[Profile] = &[Profile::Jcs];

    /// The name that commands take.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jcs => "jcs",
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
#[error("no such profile; there is: jcs")]
pub struct UnknownProfile;

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        Self::ALL.iter().find(|profile| profile.name() == name).copied().ok_or(UnknownProfile)
    }
}
