//! Canonical forms by name.
//!
//! A [`Profile`] names a form for commands and for conversion; code that knows its format uses the format's own
//! [`CanonicalForm`] type directly.

use core::fmt;
use core::str::FromStr;

use reenact_json::canonical::{ByteSink, write_string};
use reenact_json::token::NameOrder;
use reenact_json::{CanonicalFault, CanonicalForm, Jcs, Value};

use crate::{model_io, replay_jsonl, rpk};

/// Name of a canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// [`Jcs`] (RFC 8785), used by RER and by everything that reenact writes itself.
    Jcs,
    /// [`rpk::canonical::RpkForm`], of `.rpk` checksums.
    Rpk,
    /// [`rpk::canonical::RpkStepForm`], of `.rpk` step hashes.
    RpkStep,
    /// [`model_io::canonical::ModelIoForm`].
    ModelIo,
    /// [`replay_jsonl::canonical::ReplayJsonlForm`].
    ReplayJsonl,
}

/// Row of the table of profiles.
struct ProfileRules {
    name: &'static str,
    /// Writes a value. Returns true if the result is known to be stable: writing it once more gives the same bytes.
    write: fn(Value<'_>, &mut dyn ByteSink) -> Result<bool, CanonicalFault>,
    /// Returns true if a text that is canonical under RFC 8785 is known to be canonical under this profile too; false if that
    /// is unknown.
    is_own_text: fn(Value<'_>) -> bool,
    /// Writes a text as the form spells member names.
    write_name: fn(&str, &mut Vec<u8>),
    /// Sort order of member names.
    order: NameOrder,
    /// True if a string may be written differently because of the member name it stands under.
    depends_on_names: bool,
}

const JCS: ProfileRules = ProfileRules {
    name: "jcs",
    write: |value, mut out| Jcs.write(value, &mut out).map(|()| false),
    is_own_text: |value| value.is_canonical(),
    write_name: write_string,
    order: NameOrder::Utf16,
    depends_on_names: false,
};

const RPK: ProfileRules = ProfileRules {
    name: "rpk",
    write: |value, mut out| {
        rpk::canonical::write_reporting_respelling(value, &mut out).map(|is_respelled| !is_respelled)
    },
    is_own_text: |_| false,
    write_name: rpk::canonical::write_text,
    order: NameOrder::CodePoints,
    depends_on_names: true,
};

const RPK_STEP: ProfileRules = ProfileRules {
    name: "rpk-step",
    write: |value, mut out| rpk::canonical::RpkStepForm.write(value, &mut out).map(|()| false),
    depends_on_names: false,
    ..RPK
};

const MODEL_IO: ProfileRules = ProfileRules {
    name: "model-io",
    write: |value, mut out| model_io::canonical::ModelIoForm.write(value, &mut out).map(|()| true),
    ..JCS
};

const REPLAY_JSONL: ProfileRules = ProfileRules {
    name: "replay-jsonl",
    write: |value, mut out| replay_jsonl::canonical::ReplayJsonlForm.write(value, &mut out).map(|()| false),
    is_own_text: |value| value.is_canonical() && replay_jsonl::canonical::is_canonical(value),
    write_name: write_string,
    order: NameOrder::CodePoints,
    depends_on_names: false,
};

impl Profile {
    /// Every profile, in the order of help texts.
    pub const ALL: &[Profile] =
        &[Profile::Jcs, Profile::Rpk, Profile::RpkStep, Profile::ModelIo, Profile::ReplayJsonl];

    fn rules(self) -> &'static ProfileRules {
        match self {
            Self::Jcs => &JCS,
            Self::Rpk => &RPK,
            Self::RpkStep => &RPK_STEP,
            Self::ModelIo => &MODEL_IO,
            Self::ReplayJsonl => &REPLAY_JSONL,
        }
    }

    /// Returns the name that commands take.
    pub fn name(self) -> &'static str {
        self.rules().name
    }

    /// Writes the canonical form; returns true if writing the result once more would certainly change nothing.
    ///
    /// # Errors
    ///
    /// [`CanonicalFault`] at the first value that has no canonical form; `out` then holds part of a text.
    pub fn write_reporting_stability(
        self,
        value: Value<'_>,
        out: &mut dyn ByteSink,
    ) -> Result<bool, CanonicalFault> {
        (self.rules().write)(value, out)
    }

    /// Writes a text as the form spells member names, quotes included.
    pub fn write_name(self, name: &str, out: &mut Vec<u8>) {
        (self.rules().write_name)(name, out);
    }

    /// Returns the sort order of member names.
    pub fn order(self) -> NameOrder {
        self.rules().order
    }

    /// Returns true if a string may be written differently because of the member name it stands under.
    pub fn depends_on_names(self) -> bool {
        self.rules().depends_on_names
    }
}

impl CanonicalForm for Profile {
    fn write<S: ByteSink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
        self.write_reporting_stability(value, out).map(|_| ())
    }

    fn is_already_canonical(self, value: Value<'_>) -> bool {
        (self.rules().is_own_text)(value)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error: no profile has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no such profile; there is: jcs, rpk, rpk-step, model-io, replay-jsonl")]
pub struct UnknownProfile;

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        Self::ALL.iter().find(|profile| profile.name() == name).copied().ok_or(UnknownProfile)
    }
}
