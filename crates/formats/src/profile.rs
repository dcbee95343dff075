//! The named canonical forms.
//!
//! A [`Profile`] names a form for commands and for what is converted; code that knows its format uses the format's own form.

use core::fmt;
use core::str::FromStr;

use reenact_json::canonical::{Sink, write_string};
use reenact_json::token::Order;
use reenact_json::{CanonicalFault, CanonicalForm, Jcs, Value};

use crate::{model_io, replay_jsonl, rpk};

/// A named canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// [`Jcs`], used by RER and by all that we write ourselves.
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
struct Rules {
    name: &'static str,
    /// Writes a value; returns true if writing the result once more would surely change nothing.
    write: fn(Value<'_>, &mut dyn Sink) -> Result<bool, CanonicalFault>,
    /// Returns true if text that is canonical under RFC 8785 surely is under this profile too.
    is_own_text: fn(Value<'_>) -> bool,
    /// Writes a text as the form spells member names.
    write_name: fn(&str, &mut Vec<u8>),
    /// Order of member names.
    order: Order,
    /// True if a string may be written otherwise because of the name that it stands under.
    minds_names: bool,
}

const JCS: Rules = Rules {
    name: "jcs",
    write: |value, mut out| Jcs.write(value, &mut out).map(|()| false),
    is_own_text: |value| value.is_canonical(),
    write_name: write_string,
    order: Order::Utf16,
    minds_names: false,
};

const RPK: Rules = Rules {
    name: "rpk",
    write: |value, mut out| rpk::canonical::write_noting(value, &mut out).map(|is_respelled| !is_respelled),
    is_own_text: |_| false,
    write_name: rpk::canonical::write_text,
    order: Order::CodePoints,
    minds_names: true,
};

const RPK_STEP: Rules = Rules {
    name: "rpk-step",
    write: |value, mut out| rpk::canonical::RpkStepForm.write(value, &mut out).map(|()| false),
    minds_names: false,
    ..RPK
};

const MODEL_IO: Rules = Rules {
    name: "model-io",
    write: |value, mut out| model_io::canonical::ModelIoForm.write(value, &mut out).map(|()| true),
    ..JCS
};

const REPLAY_JSONL: Rules = Rules {
    name: "replay-jsonl",
    write: |value, mut out| replay_jsonl::canonical::ReplayJsonlForm.write(value, &mut out).map(|()| false),
    is_own_text: |value| value.is_canonical() && replay_jsonl::canonical::is_canonical(value),
    write_name: write_string,
    order: Order::CodePoints,
    minds_names: false,
};

impl Profile {
    /// Every profile, in the order in which help lists them.
    pub const ALL: &[Profile] =
        &[Profile::Jcs, Profile::Rpk, Profile::RpkStep, Profile::ModelIo, Profile::ReplayJsonl];

    fn rules(self) -> &'static Rules {
        match self {
            Self::Jcs => &JCS,
            Self::Rpk => &RPK,
            Self::RpkStep => &RPK_STEP,
            Self::ModelIo => &MODEL_IO,
            Self::ReplayJsonl => &REPLAY_JSONL,
        }
    }

    /// The name that commands take.
    pub fn name(self) -> &'static str {
        self.rules().name
    }

    /// Writes the canonical form; returns true if writing that once more would surely change nothing.
    pub fn write_noting(self, value: Value<'_>, out: &mut dyn Sink) -> Result<bool, CanonicalFault> {
        (self.rules().write)(value, out)
    }

    /// Writes a text as the form spells member names.
    pub fn write_name(self, name: &str, out: &mut Vec<u8>) {
        (self.rules().write_name)(name, out);
    }

    /// Order of member names.
    pub fn order(self) -> Order {
        self.rules().order
    }

    /// Returns true if a string may be written otherwise because of the name that it stands under.
    pub fn minds_names(self) -> bool {
        self.rules().minds_names
    }
}

impl CanonicalForm for Profile {
    fn write<S: Sink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
        self.write_noting(value, out).map(|_| ())
    }

    fn is_own_text(self, value: Value<'_>) -> bool {
        (self.rules().is_own_text)(value)
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
