//! One member of a payload as it stands in a record, and typed access to it.

use std::borrow::Cow;
use std::time::Duration;

use reenact_json::{Value, ValueKind};

use super::vocabulary::PayloadWord;

/// Member as it stands: absent, or any value.
///
/// Each method reads the member as one type; a value of another type is a fault that names the member.
#[derive(Debug, Clone, Copy)]
pub struct PayloadMember<'v> {
    path: &'static str,
    raw: Option<Value<'v>>,
}

/// Reason why a member cannot be read as the type it should have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberFault {
    /// A required member is absent or `null`.
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
        /// Kind of the value, in words.
        found: &'static str,
        /// Type that it should have, in words.
        wanted: &'static str,
    },
}

type MemberResult<T> = Result<T, MemberFault>;

impl<'v> PayloadMember<'v> {
    /// Takes a value that was found, or none, and the path that faults name.
    pub fn new(path: &'static str, raw: Option<Value<'v>>) -> Self {
        Self { path, raw }
    }

    /// Returns the path that faults name, such as `http.body`.
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// Returns the value as it stands, `null` included.
    pub fn raw(&self) -> Option<Value<'v>> {
        self.raw
    }

    /// Returns the value, if there is one. `null` counts as absent: no reader of payloads tells the two apart.
    pub fn value(&self) -> Option<Value<'v>> {
        self.raw.filter(|value| !value.is_null())
    }

    /// Returns a value that must be there.
    ///
    /// # Errors
    ///
    /// [`MemberFault::Missing`] if the member is absent or `null`.
    pub fn required(&self) -> MemberResult<Value<'v>> {
        self.value().ok_or(MemberFault::Missing { member: self.path })
    }

    /// Returns the fault of a value that is not of the wanted type.
    pub fn mistyped(&self, value: Value<'_>, wanted: &'static str) -> MemberFault {
        MemberFault::Mistyped { member: self.path, found: value.kind().name(), wanted }
    }

    /// Reads the value with `read`, if there is one.
    ///
    /// # Errors
    ///
    /// [`MemberFault::Mistyped`] if `read` returns `None`; `wanted` names the type in the message.
    pub fn read<T>(
        &self,
        wanted: &'static str,
        read: impl FnOnce(Value<'v>) -> Option<T>,
    ) -> MemberResult<Option<T>> {
        let Some(value) = self.value() else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.mistyped(value, wanted))
    }

    /// Reads a string, if there is a value.
    pub fn text(&self) -> MemberResult<Option<Cow<'v, str>>> {
        self.read("a string", |value| value.string())
    }

    /// Reads a string that must be there.
    pub fn required_text(&self) -> MemberResult<Cow<'v, str>> {
        self.text()?.ok_or(MemberFault::Missing { member: self.path })
    }

    /// Reads `true` or `false`, if there is a value.
    pub fn flag(&self) -> MemberResult<Option<bool>> {
        self.read("true or false", |value| value.boolean())
    }

    /// Reads a number of milliseconds, if there is a value. A number beyond a year is refused: no exchange takes so
    /// long.
    pub fn milliseconds(&self) -> MemberResult<Option<Duration>> {
        const MAX_MILLISECONDS: f64 = 366.0 * 86_400_000.0;
        self.read("a number of milliseconds", |value| {
            if let Some(whole) = value.unsigned_integer().filter(|whole| *whole <= 366 * 86_400_000) {
                return Some(Duration::from_millis(whole));
            }
            let read =
                value.double().filter(|milliseconds| (0.0..=MAX_MILLISECONDS).contains(milliseconds))?;
            Duration::try_from_secs_f64(read / 1000.0).ok()
        })
    }

    /// Reads a list, if there is a value. `read` reads each element.
    pub fn list<T>(
        &self,
        wanted: &'static str,
        read: impl Fn(Value<'v>) -> Option<T>,
    ) -> MemberResult<Option<Vec<T>>> {
        self.read(wanted, |value| {
            (value.kind() == ValueKind::Array)
                .then(|| value.elements().map(read).collect::<Option<Vec<T>>>())?
        })
    }

    /// Returns the word of a vocabulary; `None` if the member is absent or holds another word.
    pub fn word<W: PayloadWord>(&self) -> Option<W> {
        W::of(self.raw?)
    }
}
