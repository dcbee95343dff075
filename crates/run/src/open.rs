//! Bytes to a run, together with its verification report.

use reenact_verify::{Format, Keys, Options, Report, Unrecognised, detect, safe};

use crate::rer;
use crate::run::Run;

/// What was opened: the run, if the bytes are one, and the verdict on them.
///
/// A run whose report does not pass is still given, since people must be able to look at what fails. Whether to go on with
/// it is up to whoever asked.
#[derive(Debug)]
pub struct Opened {
    /// The run.
    pub run: Result<Run, NotARun>,
    /// The verdict.
    pub report: Report,
}

/// Why bytes cannot be opened as a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotARun {
    /// A bundle.
    #[error("this is an archive: unpack it and open the artifact.json inside")]
    Archive,
    /// Nothing that we know.
    #[error("this is no record of a run: {0}")]
    Unrecognised(#[from] Unrecognised),
    /// A record that cannot be read to its end. Holds the place and the fault.
    #[error("the record cannot be read: {0}")]
    Unreadable(String),
    /// A record without a list of events.
    #[error("the record has no list of events")]
    NoEvents,
}

/// Opens a run and judges it, all on this thread.
pub fn open(bytes: Vec<u8>, keys: &Keys, options: &Options) -> Opened {
    open_with(bytes, options, |bytes| safe(bytes, keys, options))
}

/// Opens a run; `judge` gives the verdict on its bytes, in whatever way it likes.
pub fn open_with(bytes: Vec<u8>, options: &Options, judge: impl FnOnce(&[u8]) -> Report) -> Opened {
    let report = judge(&bytes);
    let format = if report.format == "rer-bundle" {
        Err(NotARun::Archive)
    } else {
        options.format.map_or_else(|| Ok(detect::detect(&bytes, &options.limits)?), Ok)
    };
    let run = format.and_then(|format| match format {
        Format::Rer => Ok(Run::new(rer::read(&bytes, &options.limits)?, bytes, &report)),
        _ => Err(NotARun::Archive),
    });
    Opened { run, report }
}
