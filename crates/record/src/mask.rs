//! The only way from what came from outside to what is written: through the masks.
//!
//! [`Masked`], [`MaskedBytes`], [`MaskedHeaders`] and [`MaskedJson`] are made here and nowhere else, and a payload takes no other
//! text that is not a constant of this program.

use core::marker::PhantomData;
use core::time::Duration;
use std::borrow::Cow;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard};

use reenact_formats::rer::payload::Leaves;
use reenact_json::{Jcs, Kind, Limits, Value, canonical};
use reenact_secrets::{Cut, Pack, Redactor, Side, Window, http};

use crate::exchange::{Chunk, Headers};
use crate::lock::locked;
use crate::spool::Spool;

/// Text without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Masked(Cow<'static, str>);

impl Masked {
    /// Text of this program's own.
    pub(crate) const fn constant(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// Text that stands in a journal: it was masked before it was written there.
    pub(crate) fn recorded(text: String) -> Self {
        Self(text.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Bytes without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MaskedBytes<'a>(Cow<'a, [u8]>);

impl MaskedBytes<'_> {
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

/// A body without secrets: in memory, or in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MaskedBody<'a> {
    Held(&'a MaskedBytes<'a>),
    Spooled(&'a Spool),
}

impl MaskedBody<'_> {
    pub(crate) fn is_text(&self) -> bool {
        match self {
            Self::Held(bytes) => str::from_utf8(bytes.as_slice()).is_ok(),
            Self::Spooled(spool) => spool.is_text(),
        }
    }
}

/// Headers that may be kept, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MaskedHeaders(Vec<(String, String)>);

impl MaskedHeaders {
    pub(crate) fn as_slice(&self) -> &[(String, String)] {
        &self.0
    }
}

/// A JSON value without secrets, in canonical form; or text, where there was no value to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MaskedJson {
    Value(Vec<u8>),
    Text(Masked),
}

impl MaskedJson {
    /// A signed token, whose strict form leaves no room for anybody's secret: under the masks its signature would be none any
    /// more.
    pub(crate) fn token(text: &str) -> Option<Self> {
        let limits = Limits { depth: DEEPEST, ..Limits::default() };
        let value = Value::parse(text.as_bytes(), &limits).ok()?;
        canonical::to_vec(value, Jcs).ok().map(Self::Value)
    }
}

/// The leaves of payloads that a recorder writes: nothing that was not masked.
pub(crate) struct MaskedLeaves<'m>(PhantomData<&'m ()>);

impl<'m> Leaves for MaskedLeaves<'m> {
    type Text = &'m Masked;
    type Json = &'m MaskedJson;
    type Body = MaskedBody<'m>;
    type Headers = &'m MaskedHeaders;
}

/// How deep a value may be that goes into a payload: an artifact must be within the limits of whoever reads it, with room for
/// what lies around the value.
const DEEPEST: u32 = 480;

/// The rules under which values are made known, beside those of the pack.
const OTHER_RULES: [&str; 5] = ["argument", "credential", "environment", "known", "parameter"];

/// The masks of one run. The same secret gets the same mark wherever it appears.
pub(crate) struct Masks {
    pack: Arc<Pack>,
    redactor: Mutex<Redactor>,
}

impl Masks {
    pub(crate) fn new(pack: Arc<Pack>) -> Self {
        Self { redactor: Mutex::new(Redactor::new(Arc::clone(&pack))), pack }
    }

    pub(crate) fn pack(&self) -> &Pack {
        &self.pack
    }

    fn redactor(&self) -> MutexGuard<'_, Redactor> {
        // What a redactor knows is never half-written: after a panic elsewhere it still masks.
        locked(&self.redactor)
    }

    /// Goes on behind the numbers of the marks in a text that was masked before.
    pub(crate) fn reserve(&self, masked: &[u8]) {
        self.redactor().reserve(masked, &OTHER_RULES);
    }

    /// A value that is masked from now on.
    pub(crate) fn know(&self, rule: impl Into<Cow<'static, str>>, value: &[u8]) {
        self.redactor().know(rule, value);
    }

    /// How many values are known.
    pub(crate) fn known(&self) -> usize {
        self.redactor().known().count()
    }

    /// Every value that is known, under its name.
    pub(crate) fn each_known<E>(&self, take: impl FnMut(&str, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut take = take;
        self.redactor().known().try_for_each(|(rule, value)| take(rule, value))
    }

    /// The values of variables that are named like credentials, and of those that are named here.
    pub(crate) fn know_environment(&self, environment: &[(OsString, OsString)], named: &[String]) {
        for (name, value) in environment {
            if named.iter().any(|named| *name == **named) || is_secret_name(&name.to_string_lossy()) {
                self.know("environment", value.as_encoded_bytes());
            }
        }
    }

    /// A command and its arguments. What follows `--…-key`, or stands in `--…-key=`, is a secret whatever it looks like.
    pub(crate) fn command(&self, command: &[OsString]) -> Vec<Masked> {
        let arguments: Vec<(&[u8], &[u8])> = secret_arguments(command);
        // All of them are known before any of the others is written.
        for (_, secret) in &arguments {
            self.know("argument", secret);
        }
        // An address may be among them, with a secret in its query.
        let plain = |plain: &[u8]| match str::from_utf8(plain) {
            Ok(text) => self.path(text),
            Err(_) => self.bytes_as_text(plain),
        };
        for (argument, _) in &arguments {
            plain(argument);
        }
        let mask = |(argument, secret): (&[u8], &[u8])| {
            let Masked(text) = plain(argument);
            let mut text = text.into_owned();
            match secret.len() {
                0 => {}
                // Too short to be known: elsewhere it would be found in words.
                1..8 => text.push_str("[masked:argument]"),
                _ => text.push_str(self.bytes_as_text(secret).as_str()),
            }
            Masked(text.into())
        };
        arguments.into_iter().map(mask).collect()
    }

    pub(crate) fn text(&self, text: &str) -> Masked {
        self.bytes_as_text(text.as_bytes())
    }

    fn bytes_as_text(&self, bytes: &[u8]) -> Masked {
        let redacted = self.redactor().redact(bytes).bytes.into_owned();
        Masked(lossy(redacted).into())
    }

    pub(crate) fn path(&self, path: &str) -> Masked {
        Masked(self.redactor().path(path).into())
    }

    /// The headers of a request. The credentials in them are known from then on.
    pub(crate) fn request_headers(&self, headers: Headers<'_>) -> MaskedHeaders {
        let mut redactor = self.redactor();
        for credential in http::credentials(headers.iter().copied()) {
            redactor.know("credential", &credential);
        }
        MaskedHeaders(redactor.headers(Side::Request, headers.iter().copied()))
    }

    pub(crate) fn answer_headers(&self, headers: Headers<'_>) -> MaskedHeaders {
        MaskedHeaders(self.redactor().headers(Side::Answer, headers.iter().copied()))
    }

    pub(crate) fn body<'b>(&self, body: &'b [u8]) -> MaskedBytes<'b> {
        MaskedBytes(self.redactor().redact(body).bytes)
    }

    /// The next piece of a body that is too long for memory; appends what can be told of it by now.
    pub(crate) fn more(&self, window: &mut Window, piece: &[u8], out: &mut Vec<u8>) {
        window.push(&mut self.redactor(), piece, out);
    }

    /// The rest of one. Gives what was cut out of the body.
    pub(crate) fn last(&self, window: Window, out: &mut Vec<u8>) -> Vec<Cut> {
        window.finish(&mut self.redactor(), out)
    }

    /// The body of an answer, where its chunks end now, and what was delivered of it.
    pub(crate) fn answer<'b>(
        &self,
        body: &'b [u8],
        chunks: &[Chunk],
        delivered: Option<&'b [u8]>,
    ) -> (MaskedBytes<'b>, Vec<Chunk>, Option<MaskedBytes<'b>>) {
        let mut redactor = self.redactor();
        let redacted = redactor.redact(body);
        let chunks = moved(chunks, body.len(), &redacted.cuts);
        let delivered = delivered.map(|delivered| {
            // A secret that was delivered in part must not show that part: what was delivered is cut out of the masked whole.
            if body.starts_with(delivered) {
                let end = redacted.position(delivered.len());
                MaskedBytes(Cow::Owned(redacted.bytes.get(..end).unwrap_or_default().to_vec()))
            } else {
                MaskedBytes(redactor.redact(delivered).bytes)
            }
        });
        (MaskedBytes(redacted.bytes), chunks, delivered)
    }

    /// The JSON that a text is, if it is an object or an array, or, where `any` is set, any value; else the text.
    pub(crate) fn json(&self, text: &str, any: bool) -> MaskedJson {
        self.value(text, any).map_or_else(|| MaskedJson::Text(self.text(text)), MaskedJson::Value)
    }

    fn value(&self, text: &str, any: bool) -> Option<Vec<u8>> {
        let limits = Limits { depth: DEEPEST, ..Limits::default() };
        let value = Value::parse(text.as_bytes(), &limits).ok()?;
        if !any && !matches!(value.kind(), Kind::Object | Kind::Array) {
            return None;
        }
        // First into canonical form, then under the masks: a secret that is spelled with escapes would come out in clear.
        let plain = canonical::to_vec(value, Jcs).ok()?;
        let masked = self.redactor().redact(&plain).bytes.into_owned();
        // A mark in the place of a number leaves no JSON; a mark in a name may leave two names alike.
        let value = Value::parse(&masked, &limits).ok()?;
        canonical::to_vec(value, Jcs).ok()
    }
}

/// Each argument, parted into what may be shown and the secret that follows it; one of the two may be empty.
fn secret_arguments(command: &[OsString]) -> Vec<(&[u8], &[u8])> {
    let mut is_value = false;
    let mut parted = Vec::with_capacity(command.len());
    for argument in command.iter().map(|argument| argument.as_encoded_bytes()) {
        let is_option = argument.starts_with(b"-");
        let name = argument.split(|byte| *byte == b'=').next().unwrap_or_default();
        let names_secret = is_option && is_secret_name(&String::from_utf8_lossy(name));
        let shown = match argument.len() {
            _ if is_value && !is_option => 0,
            length if names_secret => length.min(name.len() + 1),
            length => length,
        };
        parted.push(argument.split_at(shown));
        is_value = names_secret && name.len() == argument.len();
    }
    parted
}

/// Where the chunks of a body of that length end when these cuts are made. Those of which nothing is left are left out;
/// whatever the caller counted, the lengths sum to the masked body's.
pub(crate) fn moved(chunks: &[Chunk], length: usize, cuts: &[Cut]) -> Vec<Chunk> {
    let (mut end, mut from) = (0_usize, 0);
    let mut moved = Vec::with_capacity(chunks.len());
    for (at, chunk) in chunks.iter().enumerate() {
        let is_last = at + 1 == chunks.len();
        end = if is_last { length } else { end.saturating_add(chunk.length).min(length) };
        let to = Cut::position(cuts, end);
        if to > from {
            moved.push(Chunk { at: chunk.at, length: to - from });
            from = to;
        }
    }
    moved
}

/// Whether a variable or an option is named like a credential.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.ends_with(word))
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Whole milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).min((1 << 53) - 1)
}
