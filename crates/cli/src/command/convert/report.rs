//! What was converted, and what was lost: short for people, complete for programs.

use std::fmt::Write as _;
use std::path::Path;

use reenact_json::print::{self, Object};
use reenact_json::{Digest, Shown};
use reenact_run::convert::{Converted, Loss};

use crate::quantity;

/// What there is to tell.
pub(super) struct Told<'a> {
    /// What messages call the source, its format and its digest.
    pub(super) source: (&'a str, &'static str, Digest),
    /// The format that was asked for, and where.
    pub(super) target: (&'static str, &'a Path),
    /// Whether the source verifies; `None` where nothing can be verified.
    pub(super) verifies: Option<bool>,
    pub(super) converted: &'a Converted,
    /// The key that signed.
    pub(super) signed_by: Option<&'a str>,
    /// SHA-256 of the main file; `None` if nothing was written.
    pub(super) digest: Option<Digest>,
}

/// So many lines a person reads.
const LINES: usize = 20;

impl Told<'_> {
    pub(super) fn text(&self) -> String {
        let (source, from, _) = self.source;
        let (to, path) = self.target;
        let path = path.to_string_lossy();
        let mut text = match self.digest {
            Some(_) => format!("converted {source} ({from}) to {} ({to})", Shown::whole(&path)),
            None => format!("{source} ({from}) was not converted to {to}"),
        };
        if let (Some(key), Some(_)) = (self.signed_by, self.digest) {
            let _ = write!(text, ", sealed with the key \"{key}\"");
        }
        text.push('\n');
        if self.verifies.is_none() {
            text.push_str("the source is of a kind that carries no proof: nothing of it was verified\n");
        }
        let losses = &self.converted.losses;
        if losses.is_empty() {
            text.push_str(if self.converted.restored {
                "nothing is lost: this is what the record was imported from\n"
            } else {
                "nothing is lost\n"
            });
            return text;
        }
        let _ = writeln!(text, "{} lost:", self.are(losses.count()));
        for loss in losses.iter().take(LINES) {
            let count = if loss.count() > 1 {
                format!(" ({} times)", quantity::grouped(loss.count() as u64))
            } else {
                String::new()
            };
            let _ = writeln!(text, "  {}{count}: {}", Shown::whole(&loss.pattern()), loss.reason);
        }
        let more: usize = losses.iter().skip(LINES).map(Loss::count).sum();
        if more > 0 {
            let _ = writeln!(text, "  … and {} more; --json tells each", quantity::grouped(more as u64));
        }
        text
    }

    fn are(&self, count: usize) -> String {
        let things = quantity::count(count as u64, "thing");
        match (self.digest, count) {
            (None, _) => format!("{things} would be"),
            (Some(_), 1) => format!("{things} is"),
            (Some(_), _) => format!("{things} are"),
        }
    }

    pub(super) fn json(&self) -> String {
        let (source, from, digest) = self.source;
        let (to, path) = self.target;
        let mut line = String::new();
        let mut object = Object::open(&mut line);
        let mut of_source = Object::open(object.name("source"));
        of_source.string("path", source);
        of_source.string("format", from);
        of_source.string("digest", format!("sha256:{digest}").as_str());
        of_source.boolean("verifies", self.verifies);
        of_source.close();
        let mut of_target = Object::open(object.name("target"));
        of_target.string("format", to);
        of_target.string("path", path.to_string_lossy().as_ref());
        let written = self.digest.map(|digest| format!("sha256:{digest}"));
        of_target.string("digest", written.as_deref());
        let names: Vec<&str> = self.converted.files.iter().map(|file| file.name.as_str()).collect();
        let names = if self.converted.is_folder { names } else { Vec::new() };
        of_target.strings("files", &names);
        of_target.close();
        object.boolean("lossless", self.converted.losses.is_empty());
        let losses = self.converted.losses.iter();
        let each = losses.flat_map(|loss| loss.paths().map(move |path| (path, loss)));
        print::list(each, object.name("losses"), |(path, loss), out| {
            let mut object = Object::open(out);
            object.string("path", path.as_str());
            object.string("reason", loss.reason);
            if loss.without_place() > 0 {
                object.name("count").push_str(&loss.without_place().to_string());
            }
            object.close();
        });
        object.close();
        line + "\n"
    }
}
