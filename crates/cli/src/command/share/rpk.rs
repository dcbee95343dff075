//! `--mask` and `--sign` of an `.rpk`: secrets are masked, and the file is signed with a key that both sides share.
//!
//! Masking makes what the format's own programs call a bundle: every step goes through the mask and is hashed anew, and
//! what tells whose machine it was is left out. Start reading at [`RpkFinish::apply`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use reenact_formats::rpk::HmacKey;
use reenact_formats::rpk::bundle::{RpkBundle, make_bundle};
use reenact_formats::rpk::migrate::RemovedMember;
use reenact_formats::rpk::write::{HmacSigning, sign};
use reenact_json::Shown;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_run::convert::rpk_secrets::RpkSecretMask;
use reenact_verify::disk;

use crate::output::CommandError;
use crate::quantity;
use crate::runs::KeyFileArgs;

/// Name of the key in a signature. It is a label that no signature covers; the format's own programs give this one.
const KEY_LABEL: &str = "default";

/// Options of `--as rpk`.
#[derive(Debug, Default, clap::Args)]
pub(super) struct RpkShareArgs {
    /// Mask what looks like a secret, a mail address or a card number in an .rpk, and leave out whose machine it was
    #[arg(long)]
    pub(super) mask: bool,

    /// Sign an .rpk with the key that --hmac-key-file names; whoever holds that key can check it, and could have made it
    #[arg(long, requires = "hmac_key_file")]
    pub(super) sign: bool,
}

impl RpkShareArgs {
    /// Returns the name of the first option that is given.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        match (self.mask, self.sign) {
            (true, _) => Some("--mask"),
            (false, true) => Some("--sign"),
            (false, false) => None,
        }
    }

    /// Returns what is to be done with a document; `None` if nothing is.
    ///
    /// # Errors
    ///
    /// If the key of the signature cannot be read.
    pub(super) fn finish(&self, keys: &KeyFileArgs) -> Result<Option<RpkFinish>, CommandError> {
        if self.first_given().is_none() {
            return Ok(None);
        }
        let key_file = keys.hmac_key_file.clone().filter(|_| self.sign);
        let key = match &key_file {
            Some(path) => {
                Some(disk::hmac_key_file(path).map_err(|error| CommandError::impossible(error.to_string()))?)
            }
            None => None,
        };
        Ok(Some(RpkFinish { is_masked: self.mask, key, key_file }))
    }
}

/// Mask and signature of a document.
pub(super) struct RpkFinish {
    is_masked: bool,
    key: Option<HmacKey>,
    /// File of the key, for the command that checks the signature.
    pub(super) key_file: Option<PathBuf>,
}

/// Document that was masked or signed.
pub(super) struct FinishedRpk {
    pub(super) bytes: Vec<u8>,
    /// Number of values that were masked; `None` if none was looked for.
    masked_count: Option<usize>,
    removed: Vec<RemovedMember>,
    is_signed: bool,
}

impl RpkFinish {
    /// Masks and signs a document, as far as it was asked for.
    ///
    /// # Errors
    ///
    /// If the result would not verify.
    pub(super) fn apply(&self, document: &[u8]) -> Result<FinishedRpk, CommandError> {
        let signing = self.key.as_ref().map(|key| HmacSigning { key, key_id: KEY_LABEL });
        if self.is_masked {
            let mask = RpkSecretMask::new(document);
            let RpkBundle { bytes, masked_count, removed } =
                make_bundle(document, &mask, &mask.policy(), signing)
                    .map_err(|error| CommandError::refused(error.to_string()))?;
            return Ok(FinishedRpk {
                bytes,
                masked_count: Some(masked_count),
                removed,
                is_signed: signing.is_some(),
            });
        }
        let bytes = match signing {
            Some(signing) => {
                sign(document, signing).map_err(|error| CommandError::refused(error.to_string()))?
            }
            None => document.to_vec(),
        };
        Ok(FinishedRpk { bytes, masked_count: None, removed: Vec::new(), is_signed: signing.is_some() })
    }
}

impl FinishedRpk {
    /// Returns the lines of a report: what was masked, what was left out, and whether it is signed.
    pub(super) fn lines(&self) -> String {
        let mut text = String::new();
        if let Some(count) = self.masked_count {
            let _ = writeln!(text, "{} masked; look at what is left before you hand it on", values(count));
        }
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        self.removed.iter().for_each(|gone| *reasons.entry(gone.reason).or_insert(0) += 1);
        for (reason, count) in reasons {
            let _ = writeln!(text, "  {} left out: {reason}", quantity::count(count as u64, "member"));
        }
        if self.is_signed {
            text.push_str("signed with the key that you share\n");
        }
        text
    }

    /// Writes the members of a report for programs.
    pub(super) fn write(&self, object: &mut PrintObjectWriter<'_>) {
        if let Some(count) = self.masked_count {
            object.name("masked").push_str(&count.to_string());
        }
        print::write_list(&self.removed, object.name("removed"), |gone, out| {
            let mut object = PrintObjectWriter::open(out);
            object.string("path", Shown::whole(&gone.path).to_string().as_str());
            object.string("reason", gone.reason);
            object.close();
        });
        object.boolean("signed", Some(self.is_signed));
    }
}

/// Returns a number of values with its verb.
fn values(count: usize) -> String {
    let verb = if count == 1 { "was" } else { "were" };
    format!("{} {verb}", quantity::count(count as u64, "value"))
}
