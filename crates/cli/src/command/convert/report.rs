//! The result of a conversion and its losses: short for people, complete for programs.
//!
//! ```text
//! converted run.rer.json (rer) to out.json (model-io)
//! 15 things are lost:
//!   $.envelope: the format has no place for it
//!   $.events[*] (2 times): only the hash of the prompt is kept
//!   … and 5 more; --json tells each
//! ```
//!
//! A loss is a path of the source with a reason; losses with the same reason and similar paths share a line.

use std::fmt::Write as _;
use std::path::PathBuf;

use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Digest, Shown};
use reenact_keys::KeyName;
use reenact_run::convert::{Converted, Loss};

use crate::command::out_destination::OutDestination;
use crate::quantity;

/// Facts that the report is made of.
pub(in crate::command) struct ConversionReport {
    /// Printable name, format and SHA-256 of the source.
    pub(in crate::command) source: (String, &'static str, Digest),
    /// Format and path of the output.
    pub(in crate::command) target: (&'static str, PathBuf),
    /// True if the source verifies; `None` for a format that carries no proof.
    pub(in crate::command) verifies: Option<bool>,
    pub(in crate::command) converted: Converted,
    /// Name of the key that signed an RER artifact.
    pub(in crate::command) signed_by: Option<KeyName>,
    /// SHA-256 of the main file; `None` if nothing was written.
    pub(in crate::command) digest: Option<Digest>,
}

/// Number of losses that the text lists; the rest is counted.
const MAX_LOSS_LINES: usize = 20;

impl ConversionReport {
    /// Returns the report for people.
    pub(in crate::command) fn text(&self) -> String {
        let (source, from, _) = &self.source;
        let (to, path) = &self.target;
        let mut text = match self.digest {
            Some(_) => format!("converted {source} ({from}) to {} ({to})", OutDestination::of(path).shown()),
            None => format!("{source} ({from}) was not converted to {to}"),
        };
        if let (Some(key), Some(_)) = (&self.signed_by, self.digest) {
            let _ = write!(text, ", sealed with the key \"{key}\"");
        }
        text.push('\n');
        if self.verifies.is_none() {
            text.push_str("the source is of a kind that carries no proof: nothing of it was verified\n");
        }
        let losses = &self.converted.losses;
        if losses.is_empty() {
            text.push_str(if self.converted.is_restored {
                "nothing is lost: this is what the record was imported from\n"
            } else {
                "nothing is lost\n"
            });
            return text;
        }
        let _ = writeln!(text, "{} lost:", self.count_phrase(losses.count()));
        for loss in losses.iter().take(MAX_LOSS_LINES) {
            let count = if loss.count() > 1 {
                format!(" ({} times)", quantity::grouped(loss.count() as u64))
            } else {
                String::new()
            };
            let _ = writeln!(text, "  {}{count}: {}", Shown::whole(&loss.pattern()), loss.reason);
        }
        let more: usize = losses.iter().skip(MAX_LOSS_LINES).map(Loss::count).sum();
        if more > 0 {
            let _ = writeln!(text, "  … and {} more; --json tells each", quantity::grouped(more as u64));
        }
        text
    }

    /// Returns the number of lost things with its verb: `1 thing is`, `2 things are`, `2 things would be`.
    fn count_phrase(&self, count: usize) -> String {
        let things = quantity::count(count as u64, "thing");
        match (self.digest, count) {
            (None, _) => format!("{things} would be"),
            (Some(_), 1) => format!("{things} is"),
            (Some(_), _) => format!("{things} are"),
        }
    }

    /// Returns the report as one line of JSON, with the path of every loss.
    pub(in crate::command) fn json(&self) -> String {
        let (source, from, digest) = &self.source;
        let (to, path) = &self.target;
        let mut line = String::new();
        let mut object = PrintObjectWriter::open(&mut line);
        let mut of_source = PrintObjectWriter::open(object.name("source"));
        of_source.string("path", source.as_str());
        of_source.string("format", *from);
        of_source.string("digest", format!("sha256:{digest}").as_str());
        of_source.boolean("verifies", self.verifies);
        of_source.close();
        let mut of_target = PrintObjectWriter::open(object.name("target"));
        of_target.string("format", *to);
        of_target.string("path", path.to_string_lossy().as_ref());
        let written = self.digest.map(|digest| format!("sha256:{digest}"));
        of_target.string("digest", written.as_deref());
        let names: Vec<&str> = self.converted.files.iter().map(|file| file.name.as_str()).collect();
        let names = if self.converted.is_folder { names } else { Vec::new() };
        of_target.strings("files", &names);
        of_target.close();
        object.boolean("lossless", self.converted.losses.is_empty());
        self.write_losses(object.name("losses"));
        object.close();
        line + "\n"
    }

    /// Appends a list with the path of every loss.
    pub(in crate::command) fn write_losses(&self, out: &mut String) {
        let losses = self.converted.losses.iter();
        let each = losses.flat_map(|loss| loss.paths().map(move |path| (path, loss)));
        print::write_list(each, out, |(path, loss), out| {
            let mut object = PrintObjectWriter::open(out);
            object.string("path", path.as_str());
            object.string("reason", loss.reason);
            if loss.count_without_path() > 0 {
                object.name("count").push_str(&loss.count_without_path().to_string());
            }
            object.close();
        });
    }
}
