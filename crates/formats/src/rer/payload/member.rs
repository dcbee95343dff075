//! One member of a payload as it stands in a record, and reading it as what it should be.

use std::borrow::Cow;
use std::time::Duration;

use reenact_json::{Kind, Value};

use super::words::Word;

/// A member as it stands: absent, or any value. Each method reads it as one type; what is of another is a fault that names it.
#[derive(Debug, Clone, Copy)]
pub struct Member<'v> {
    path: &'static str,
    raw: Option<Value<'v>>,
}

/// Why a member does not say what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberFault {
    /// A member that must be there is not.
    #[error("{member} is missing")]
    Missing {
        /// Path of the member.
        member: &'static str,
    },
    /// A member is of another type or range.
    #[error("{member} is {found}, not {wanted}")]
    Mistyped {
        /// Path of the member.
        member: &'static str,
        /// Type that stands there.
        found: &'static str,
        /// What should stand there.
        wanted: &'static str,
    },
}

type Read<T> = Result<T, MemberFault>;

impl<'v> Member<'v> {
    /// Takes a value that was found, or none, under the path that faults name.
    pub fn new(path: &'static str, raw: Option<Value<'v>>) -> Self {
        Self { path, raw }
    }

    /// Path that faults name, such as `http.body`.
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// Value as it stands, `null` included.
    pub fn raw(&self) -> Option<Value<'v>> {
        self.raw
    }

    /// Value that is there. `null` counts as absent: no reader of payloads tells the two apart.
    pub fn value(&self) -> Option<Value<'v>> {
        self.raw.filter(|value| !value.is_null())
    }

    /// Value that must be there.
    pub fn needed(&self) -> Read<Value<'v>> {
        self.value().ok_or(MemberFault::Missing { member: self.path })
    }

    /// Fault of a value that is not what was wanted.
    pub fn mistyped(&self, value: Value<'_>, wanted: &'static str) -> MemberFault {
        MemberFault::Mistyped { member: self.path, found: value.kind().name(), wanted }
    }

    /// Reads the value that is there, if any, with `read`, which gives `None` for one that is not wanted.
    pub fn read<T>(
        &self,
        wanted: &'static str,
        read: impl FnOnce(Value<'v>) -> Option<T>,
    ) -> Read<Option<T>> {
        let Some(value) = self.value() else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.mistyped(value, wanted))
    }

    /// String, if something is there.
    pub fn text(&self) -> Read<Option<Cow<'v, str>>> {
        self.read("a string", |value| value.string())
    }

    /// String that must be there.
    pub fn needed_text(&self) -> Read<Cow<'v, str>> {
        self.text()?.ok_or(MemberFault::Missing { member: self.path })
    }

    /// `true` or `false`, if something is there.
    pub fn flag(&self) -> Read<Option<bool>> {
        self.read("true or false", |value| value.boolean())
    }

    /// Number of milliseconds, if something is there. A year is more than any exchange takes; what is longer is no time at all.
    pub fn milliseconds(&self) -> Read<Option<Duration>> {
        const LONGEST: f64 = 366.0 * 86_400_000.0;
        self.read("a number of milliseconds", |value| {
            if let Some(whole) = value.whole().filter(|whole| *whole <= 366 * 86_400_000) {
                return Some(Duration::from_millis(whole));
            }
            let read = value.double().filter(|milliseconds| (0.0..=LONGEST).contains(milliseconds))?;
            Duration::try_from_secs_f64(read / 1000.0).ok()
        })
    }

    /// List of which `read` reads each element, if something is there.
    pub fn list<T>(
        &self,
        wanted: &'static str,
        read: impl Fn(Value<'v>) -> Option<T>,
    ) -> Read<Option<Vec<T>>> {
        self.read(wanted, |value| {
            (value.kind() == Kind::Array).then(|| value.elements().map(read).collect::<Option<Vec<T>>>())?
        })
    }

    /// Word of a vocabulary; `None` if nothing is there, or another word.
    pub fn word<W: Word>(&self) -> Option<W> {
        W::of(self.raw?)
    }
}
