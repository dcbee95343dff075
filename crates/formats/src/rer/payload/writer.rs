//! Traits by which payloads are written: the recorder fills them with types that only masks make, so that unmasked text does not compile.

use core::net::SocketAddr;

use reenact_json::Digest;

use super::vocabulary::{Chunk, StepId};
use crate::rer::envelope::money::Money;

/// Types of the leaves that hold text from outside. A writer that masks takes masked leaves and no others, so that
/// unmasked text does not compile.
pub trait Leaves {
    /// Type of a text.
    type Text;
    /// Type of a JSON value, or of a text where there is none.
    type Json;
    /// Type of a message's decoded body.
    type Body;
    /// Type of a list of headers.
    type Headers;
}

/// Writer of a payload's members, which come in canonical order. The member `salt` is the writer's own: the writer
/// inserts it at its place.
pub trait PayloadWriter<L: Leaves> {
    /// Writes a text.
    fn text(&mut self, name: &'static str, text: &L::Text);

    /// Writes a list of texts.
    fn texts(&mut self, name: &'static str, texts: &[L::Text]);

    /// Writes an object of texts; the names in canonical order.
    fn text_map(&mut self, name: &'static str, texts: &[(&'static str, L::Text)]) {
        self.object(name, |out| texts.iter().for_each(|(name, text)| out.text(name, text)));
    }

    /// Writes a JSON value.
    fn json(&mut self, name: &'static str, value: &L::Json);

    /// Writes a body: `{"text": …}` if it is UTF-8, else `{"base64": …}`.
    fn body(&mut self, name: &'static str, body: &L::Body);

    /// Writes headers: `[[name, value], …]`.
    fn headers(&mut self, name: &'static str, headers: &L::Headers);

    /// Writes a word that this program defines.
    fn constant(&mut self, name: &'static str, word: &'static str);

    /// Writes an unsigned integer.
    fn whole(&mut self, name: &'static str, number: &u64);

    /// Writes an object of unsigned integers; the names in canonical order.
    fn whole_map(&mut self, name: &'static str, numbers: &[(&'static str, u64)]) {
        self.object(name, |out| numbers.iter().for_each(|(name, number)| out.whole(name, number)));
    }

    /// Writes a signed integer.
    fn integer(&mut self, name: &'static str, number: &i64);

    /// Writes a list of signed integers.
    fn integers(&mut self, name: &'static str, numbers: &[i64]);

    /// Writes a finite double.
    fn double(&mut self, name: &'static str, number: &f64);

    /// Writes an amount in dollars.
    fn money(&mut self, name: &'static str, amount: &Money);

    /// Writes an object of amounts; the names in canonical order.
    fn money_map(&mut self, name: &'static str, amounts: &[(&'static str, Money)]) {
        self.object(name, |out| amounts.iter().for_each(|(name, amount)| out.money(name, amount)));
    }

    /// Writes the reads of a body: `[[milliseconds, bytes], …]`.
    fn chunks(&mut self, name: &'static str, chunks: &[Chunk]);

    /// Writes `true` or `false`.
    fn flag(&mut self, name: &'static str, flag: &bool);

    /// Writes `null`.
    fn null(&mut self, name: &'static str);

    /// Writes a digest in hexadecimal.
    fn digest(&mut self, name: &'static str, digest: &Digest);

    /// Writes the id of a step.
    fn step(&mut self, name: &'static str, step: &StepId);

    /// Writes an object with the members that `members` writes.
    fn object(&mut self, name: &'static str, members: impl FnOnce(&mut Self));

    /// Writes a list of objects, each with the members that `members` writes.
    fn objects<T>(&mut self, name: &'static str, items: &[T], members: impl Fn(&T, &mut Self));

    /// Writes files with their digests: `[[path, sha256], …]`.
    fn hashed_files(&mut self, name: &'static str, files: &[(L::Text, Digest)]);

    /// Writes addresses with their ports: `[[address, port], …]`.
    fn addresses(&mut self, name: &'static str, addresses: &[SocketAddr]);
}
