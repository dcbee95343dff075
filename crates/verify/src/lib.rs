//! The judge: is this record of a run what it says it is?
//!
//! Every hash is recomputed from bytes, every check runs, none is skipped because another failed, and each one that does
//! not hold has a reason that a person can read. The library takes bytes and gives verdicts: it knows no file, clock,
//! thread, network or randomness (the feature `disk` adds paths, and a thread that reads from them, for the commands).
//!
//! ```
//! use reenact_verify::{Keys, Options, safe};
//!
//! let report = safe(b"{}", &Keys::default(), &Options::default());
//! assert!(!report.pass());
//! assert_eq!(report.format, "unknown");
//! ```
//!
//! [`safe`] takes anything and never fails. [`strict`] gives a [`Verified`] value, or the report that says why not: code
//! that needs a checked artifact asks for a type that only the check can make.

#[cfg(feature = "disk")]
mod ahead;
mod archive;
pub mod audit;
mod capped;
pub mod demand;
pub mod detect;
#[cfg(feature = "disk")]
pub mod disk;
#[cfg(feature = "disk")]
pub mod folder;
pub mod keys;
pub mod members;
pub mod model_io;
pub mod render;
pub mod replay_bundle;
pub mod replay_jsonl;
pub mod report;
pub mod rer;
pub mod rpk;
#[cfg(feature = "disk")]
mod stream;
mod verified;

use std::io::Cursor;

use reenact_json::Limits;
use reenact_pack::Container;

use archive::Opened;
use replay_bundle::{Fault, Snapshot};

pub use audit::Audit;
pub use demand::Demands;
pub use detect::{Format, Unrecognised};
pub use keys::{Keys, Trust};
pub use members::{BrokenArchive, Members};
pub use report::{Outcome, Report, RunIdentity, Signer, Unreadable};
pub use verified::{Artifact, Verified};

/// How to verify.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Judge by this format's checks whatever the content looks like; `None` lets the content decide.
    pub format: Option<Format>,
    /// How much JSON to read.
    pub limits: Limits,
    /// What time it is, in nanoseconds since 1970, for the note on expired envelopes; `None` leaves it out. A verifier has
    /// no clock of its own.
    pub at: Option<i128>,
}

/// Judges any bytes at all. Never fails and never panics: what cannot be read gets a report that says so.
pub fn safe(bytes: &[u8], keys: &Keys, options: &Options) -> Report {
    let container = Container::detect(bytes).filter(|_| options.format != Some(Format::ReplayJsonl));
    if let Some(container) = container {
        return match archive::open(container, Cursor::new(bytes), options) {
            Ok(Opened::ReplayBundle(report)) => *report,
            Ok(Opened::Members(members)) => safe_members(&members, keys, options),
            Ok(Opened::Broken(broken)) => broken_archive(&broken, options),
            // Reading from memory does not fail.
            Err(error) => Unrecognised::Archive(error.to_string()).report(),
        };
    }
    let format = match options.format {
        Some(format) => Ok(format),
        None => detect::detect(bytes, &options.limits),
    };
    match format {
        Ok(Format::Rer) => rer::verify(bytes, keys, options),
        Ok(Format::Rpk) => rpk::verify(bytes, keys, options),
        Ok(Format::ModelIo) => model_io::verify(bytes, options),
        Ok(Format::ReplayJsonl) => {
            replay_jsonl::verify_bytes(bytes, &replay_jsonl::Beside::default(), options)
        }
        Ok(Format::RerBundle) => {
            rer::bundle::unreadable_archive(&"it is neither a tar, nor a tar.gz, nor a zip")
        }
        Ok(Format::ReplayBundle) => replay_bundle::verify(&Snapshot::broken(Fault::NoArchive)),
        Err(unrecognised) => unrecognised.report(),
    }
}

/// Judges what a folder or an archive holds.
pub fn safe_members(members: &Members, keys: &Keys, options: &Options) -> Report {
    match options.format {
        None if members.is_rer_bundle() => rer::bundle::verify(members, keys, options),
        None | Some(Format::ReplayBundle)
            if members.is_replay_bundle() || options.format == Some(Format::ReplayBundle) =>
        {
            let is_one = members.document("manifest.json").is_some();
            let fault = if is_one { Fault::NotLookedThrough } else { Fault::NoManifest };
            replay_bundle::verify(&Snapshot::broken(fault))
        }
        None | Some(Format::ModelIo) if members.is_model_io_pack() => {
            model_io::pack::verify(members, options)
        }
        None | Some(Format::Rpk | Format::ReplayJsonl) => Unrecognised::OtherMembers.report(),
        Some(Format::ModelIo) => {
            model_io::verify(members.document("model_io.json").unwrap_or_default(), options)
        }
        // Whoever asks for the checks of an artifact gets those of the one inside.
        Some(Format::Rer) => {
            rer::verify(members.document("artifact.json").unwrap_or_default(), keys, options)
        }
        _ => rer::bundle::verify(members, keys, options),
    }
}

/// The report on an archive that cannot be read to its end: by what it showed before, if it showed enough.
pub fn broken_archive(broken: &BrokenArchive, options: &Options) -> Report {
    let BrokenArchive { seen, error } = broken;
    let meant = seen.document("artifact.json").is_some() || seen.document("manifest.json").is_some();
    if options.format == Some(Format::ModelIo)
        || (options.format.is_none() && !meant && seen.document("model_io.json").is_some())
    {
        return model_io::unreadable_pack(error);
    }
    if options.format == Some(Format::ReplayBundle) {
        return replay_bundle::verify(&Snapshot::broken(Fault::Pack(error.clone())));
    }
    if meant || options.format == Some(Format::RerBundle) {
        return rer::bundle::unreadable_archive(error);
    }
    Unrecognised::Archive(error.to_string()).report()
}

/// Judges an RER artifact; gives the artifact only if every check holds.
pub fn strict<'a>(
    bytes: &'a [u8],
    keys: &Keys,
    options: &Options,
) -> Result<Verified<Artifact<'a>>, Box<Report>> {
    verified::artifact(bytes, keys, options)
}
