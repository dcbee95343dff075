//! Masking: the only way from input to the journal.
//!
//! [`MaskedText`], [`MaskedBytes`], [`MaskedHeaders`] and [`MaskedJson`] are made here and nowhere else, and a payload
//! takes no other text that is not a constant of this program. So a forgotten mask is a type error. Start reading at
//! [`Masks`].

use core::marker::PhantomData;
use core::time::Duration;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use reenact_formats::rer::payload::Leaves;
use reenact_json::{Jcs, Limits, Value, ValueKind, canonical};
use reenact_secrets::command_line::{is_secret_variable, secret_arguments};
use reenact_secrets::{KnownValueSearch, MaskedSpan, MessageSide, RedactionWindow, Redactor, RulePack, http};

use crate::exchange::{Chunk, RawHeaders};
use crate::lock::locked;
use crate::spool::Spool;

/// Text without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MaskedText(Cow<'static, str>);

impl MaskedText {
    /// Wraps a constant of this program.
    pub(crate) const fn constant(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// Wraps a text that this program made of its own words and of numbers.
    pub(crate) fn of_numbers(text: String) -> Self {
        Self(text.into())
    }

    /// Wraps a text out of a journal, which was masked before it was written there.
    pub(crate) fn from_journal(text: String) -> Self {
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

/// Body without secrets, in memory or in a spool file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MaskedBody<'a> {
    /// Body in memory.
    InMemory(&'a MaskedBytes<'a>),
    /// Body in a spool file.
    Spooled(&'a Spool),
}

impl MaskedBody<'_> {
    /// Returns true if the body is UTF-8; other bodies are recorded in base64.
    pub(crate) fn is_text(&self) -> bool {
        match self {
            Self::InMemory(bytes) => str::from_utf8(bytes.as_slice()).is_ok(),
            Self::Spooled(spool) => spool.is_text(),
        }
    }
}

/// Headers that are recorded, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MaskedHeaders(Vec<(String, String)>);

impl MaskedHeaders {
    pub(crate) fn as_slice(&self) -> &[(String, String)] {
        &self.0
    }
}

/// JSON value without secrets, in canonical form; or text, if the input was no such value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MaskedJson {
    Value(Vec<u8>),
    Text(MaskedText),
}

impl MaskedJson {
    /// Takes a signed token as it is: masks would break its signature. Its strict form leaves no room for a secret.
    pub(crate) fn from_token(text: &str) -> Option<Self> {
        let limits = Limits { max_depth: MAX_DEPTH, ..Limits::default() };
        let value = Value::parse(text.as_bytes(), &limits).ok()?;
        canonical::to_vec(value, Jcs).ok().map(Self::Value)
    }
}

/// Leaf types of the payloads that a recorder writes: masked ones only.
pub(crate) struct MaskedLeaves<'m>(PhantomData<&'m ()>);

impl<'m> Leaves for MaskedLeaves<'m> {
    type Text = &'m MaskedText;
    type Json = &'m MaskedJson;
    type Body = MaskedBody<'m>;
    type Headers = &'m MaskedHeaders;
}

/// Deepest nesting of a JSON value in a payload. Readers limit the depth of an artifact, and the frame around the value
/// needs levels too.
const MAX_DEPTH: u32 = 480;

/// Rule names of known secrets; all other rules are those of the pack.
const KNOWN_SECRET_RULES: [&str; 5] = ["argument", "credential", "environment", "known", "parameter"];

/// Masks of one run. A secret gets the same mark wherever it appears.
pub(crate) struct Masks {
    pack: Arc<RulePack>,
    redactor: Mutex<Redactor>,
    /// Number of events that the journal has; set once there is a journal.
    event_count: OnceLock<Arc<AtomicU64>>,
    /// Number of events that the journal had when each known secret became known.
    known_since: Mutex<Vec<u64>>,
}

impl Masks {
    pub(crate) fn new(pack: Arc<RulePack>) -> Self {
        Self {
            redactor: Mutex::new(Redactor::new(Arc::clone(&pack))),
            pack,
            event_count: OnceLock::new(),
            known_since: Mutex::default(),
        }
    }

    /// Notes from now on at which event of the journal a secret becomes known.
    pub(crate) fn follow_events(&self, event_count: Arc<AtomicU64>) {
        // A journal is followed once.
        let _ = self.event_count.set(event_count);
    }

    /// Notes that the secrets of `redactor` that are new are known from this event on.
    fn note_known(&self, redactor: &Redactor) {
        let events = self.event_count.get().map_or(0, |count| count.load(Ordering::Acquire));
        let mut known_since = locked(&self.known_since);
        let known = redactor.known_values().count();
        if known > known_since.len() {
            known_since.resize(known, events);
        }
    }

    /// Returns a search for the secrets that became known when the journal had events, and the number of events in which
    /// they may stand; `None` if all were known from the beginning.
    pub(crate) fn late_secrets(&self) -> Option<(KnownValueSearch, u64)> {
        let redactor = self.redactor();
        let known_since = locked(&self.known_since);
        let late = redactor.known_values().zip(known_since.iter()).filter(|(_, since)| **since > 0);
        let search = KnownValueSearch::new(late.map(|((_, value), _)| value));
        // While the first event is the only one, no body is masked that is written later. After that, one may have been
        // masked before the value was known and be written behind it, such as a long one: all events are looked through.
        match known_since.iter().max().copied().unwrap_or(0) {
            0 => None,
            1 => Some((search, 1)),
            _ => Some((search, u64::MAX)),
        }
    }

    /// Returns the rules by which secrets are found.
    pub(crate) fn pack(&self) -> &RulePack {
        &self.pack
    }

    fn redactor(&self) -> MutexGuard<'_, Redactor> {
        // A panic elsewhere leaves no half-added secret behind: the redactor still masks.
        locked(&self.redactor)
    }

    /// Reserves the numbers of the marks in a text that was masked before, so that new secrets get other numbers.
    pub(crate) fn reserve_marks(&self, masked: &[u8]) {
        self.redactor().reserve_numbers(masked, &KNOWN_SECRET_RULES);
    }

    /// Adds a secret that is masked from now on.
    pub(crate) fn add_secret(&self, rule: impl Into<Cow<'static, str>>, value: &[u8]) {
        let mut redactor = self.redactor();
        redactor.add_known(rule, value);
        self.note_known(&redactor);
    }

    /// Returns the number of known secrets.
    pub(crate) fn secret_count(&self) -> usize {
        self.redactor().known_values().count()
    }

    /// Passes each known secret to `take`, with its rule, in the order in which they became known.
    pub(crate) fn for_each_secret<E>(&self, take: impl FnMut(&str, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut take = take;
        self.redactor().known_values().try_for_each(|(rule, value)| take(rule, value))
    }

    /// Adds the values of variables that are named like credentials, and of those in `named`.
    pub(crate) fn add_environment_secrets(&self, environment: &[(OsString, OsString)], named: &[String]) {
        for (name, value) in environment {
            let value = value.as_encoded_bytes();
            if named.iter().any(|named| *name == **named)
                || is_secret_variable(&name.to_string_lossy(), value)
            {
                self.add_secret("environment", value);
            }
        }
    }

    /// Masks a command and its arguments. The argument after `--…-key`, the value in `--…-key=…`, and others that
    /// [`secret_arguments`] finds, are secrets whatever they look like.
    pub(crate) fn command(&self, command: &[OsString]) -> Vec<MaskedText> {
        let command: Vec<&[u8]> = command.iter().map(|argument| argument.as_encoded_bytes()).collect();
        let starts = secret_arguments(&command);
        let arguments: Vec<(&[u8], &[u8])> = command
            .iter()
            .zip(starts)
            .map(|(argument, start)| argument.split_at(start.min(argument.len())))
            .collect();
        // Every secret must be known before any argument is masked.
        for (_, secret) in &arguments {
            self.add_secret("argument", secret);
        }
        // An argument may be a URL with a secret in its query.
        let plain = |plain: &[u8]| match str::from_utf8(plain) {
            Ok(text) => self.path(text),
            Err(_) => self.bytes_as_text(plain),
        };
        for (argument, _) in &arguments {
            plain(argument);
        }
        let mask = |(argument, secret): (&[u8], &[u8])| {
            let MaskedText(text) = plain(argument);
            let mut text = text.into_owned();
            match secret.len() {
                0 => {}
                // Shorter than 8 bytes: as a known secret it would be found inside of other words, so only this place
                // is masked.
                1..8 => text.push_str("[masked:argument]"),
                _ => text.push_str(self.bytes_as_text(secret).as_str()),
            }
            MaskedText(text.into())
        };
        arguments.into_iter().map(mask).collect()
    }

    /// Masks a text.
    pub(crate) fn text(&self, text: &str) -> MaskedText {
        self.bytes_as_text(text.as_bytes())
    }

    /// Masks bytes, and replaces invalid UTF-8 by U+FFFD.
    fn bytes_as_text(&self, bytes: &[u8]) -> MaskedText {
        let redacted = self.redactor().redact(bytes).bytes.into_owned();
        MaskedText(lossy(redacted).into())
    }

    /// Masks a text of the system, such as the path of a folder, and replaces invalid UTF-8 by U+FFFD.
    pub(crate) fn os_text(&self, text: &OsStr) -> MaskedText {
        self.bytes_as_text(text.as_encoded_bytes())
    }

    /// Masks a path or a URL. The values of secret query parameters are masked whatever they look like.
    pub(crate) fn path(&self, path: &str) -> MaskedText {
        let mut redactor = self.redactor();
        let masked = redactor.masked_path(path);
        self.note_known(&redactor);
        MaskedText(masked.into())
    }

    /// Masks the headers of a request, and adds the credentials in them as secrets.
    pub(crate) fn request_headers(&self, headers: RawHeaders<'_>) -> MaskedHeaders {
        let mut redactor = self.redactor();
        for credential in http::credentials(headers.iter().copied()) {
            redactor.add_known("credential", &credential);
        }
        self.note_known(&redactor);
        MaskedHeaders(redactor.masked_headers(MessageSide::Request, headers.iter().copied()))
    }

    /// Masks the headers of an answer.
    pub(crate) fn answer_headers(&self, headers: RawHeaders<'_>) -> MaskedHeaders {
        MaskedHeaders(self.redactor().masked_headers(MessageSide::Answer, headers.iter().copied()))
    }

    /// Masks a body. Borrows it if there is no secret in it.
    pub(crate) fn body<'b>(&self, body: &'b [u8]) -> MaskedBytes<'b> {
        MaskedBytes(self.redactor().redact(body).bytes)
    }

    /// Masks the next piece of a body that is too long for memory. Appends to `out` what can be decided by now; the
    /// window holds back the rest.
    pub(crate) fn push_piece(&self, window: &mut RedactionWindow, piece: &[u8], out: &mut Vec<u8>) {
        window.push(&mut self.redactor(), piece, out);
    }

    /// Masks the rest of such a body, and returns the cuts that were made in all of it.
    pub(crate) fn finish_window(&self, window: RedactionWindow, out: &mut Vec<u8>) -> Vec<MaskedSpan> {
        window.finish(&mut self.redactor(), out)
    }

    /// Masks the body of an answer. Returns it with the chunk lengths that it has now, and the part that was delivered.
    pub(crate) fn answer<'b>(
        &self,
        body: &'b [u8],
        chunks: &[Chunk],
        delivered: Option<&'b [u8]>,
    ) -> (MaskedBytes<'b>, Vec<Chunk>, Option<MaskedBytes<'b>>) {
        let mut redactor = self.redactor();
        let redacted = redactor.redact(body);
        let chunks = masked_chunks(chunks, body.len(), &redacted.masked_spans);
        let delivered = delivered.map(|delivered| {
            // If a secret was delivered in part, that part must not show: the delivered bytes are a prefix of the
            // masked body.
            if body.starts_with(delivered) {
                let end = redacted.result_offset(delivered.len());
                MaskedBytes(Cow::Owned(redacted.bytes.get(..end).unwrap_or_default().to_vec()))
            } else {
                MaskedBytes(redactor.redact(delivered).bytes)
            }
        });
        (MaskedBytes(redacted.bytes), chunks, delivered)
    }

    /// Masks a text as JSON if it is an object or an array, or any JSON value if `any` is set; else as text.
    pub(crate) fn json(&self, text: &str, any: bool) -> MaskedJson {
        self.json_value(text, any).map_or_else(|| MaskedJson::Text(self.text(text)), MaskedJson::Value)
    }

    fn json_value(&self, text: &str, any: bool) -> Option<Vec<u8>> {
        let limits = Limits { max_depth: MAX_DEPTH, ..Limits::default() };
        let value = Value::parse(text.as_bytes(), &limits).ok()?;
        if !any && !matches!(value.kind(), ValueKind::Object | ValueKind::Array) {
            return None;
        }
        // Canonical form first, masks second: a secret that is spelled with escapes would appear when the escapes are
        // removed.
        let plain = canonical::to_vec(value, Jcs).ok()?;
        let masked = self.redactor().redact(&plain).bytes.into_owned();
        // A mark in the place of a number is no JSON, and marks in names may make two names equal: such a value becomes
        // text.
        let value = Value::parse(&masked, &limits).ok()?;
        canonical::to_vec(value, Jcs).ok()
    }
}

/// Returns the chunks of a body of `length` bytes after these cuts. Chunks of which nothing is left are dropped. The
/// last chunk takes whatever the caller did not count, so that the lengths always sum to the masked body's.
pub(crate) fn masked_chunks(chunks: &[Chunk], length: usize, cuts: &[MaskedSpan]) -> Vec<Chunk> {
    let (mut end, mut from) = (0_usize, 0);
    let mut moved = Vec::with_capacity(chunks.len());
    for (at, chunk) in chunks.iter().enumerate() {
        let is_last = at + 1 == chunks.len();
        end = if is_last { length } else { end.saturating_add(chunk.length).min(length) };
        let to = MaskedSpan::result_offset(cuts, end);
        if to > from {
            moved.push(Chunk { at: chunk.at, length: to - from });
            from = to;
        }
    }
    moved
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns whole milliseconds, at most 2^53 − 1, which JSON numbers hold exactly.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).min((1 << 53) - 1)
}
