//! Decision whether a record may be replayed: its hashes must hold, its signer may be unknown.
//!
//! A replay asks whether the answers are those that were recorded, and not who recorded them. A colleague's record is therefore
//! replayed with one warning; options ask for more. Start reading at `ReplayArgs::check_record`.

use reenact_json::Shown;
use reenact_verify::{Report, Trust, Verdict};

use super::ReplayArgs;
use super::refusal::{self, ReplayRefusal};
use crate::output::{self, CommandError};

impl ReplayArgs {
    /// Checks that a record may be replayed, and prints a warning if it is not known who made it. `name` is printable.
    ///
    /// # Errors
    ///
    /// If a hash or a signature is wrong and there is no `--force`, or an option asks for a signer and the record has another one.
    pub(super) fn check_record(&self, name: &str, report: &Report) -> Result<(), CommandError> {
        // A format that carries no proof cannot be broken: what is known of it is that it can be read.
        let has_proof = report.format_id().is_some();
        let is_broken = has_proof && report.verdict() == Verdict::Failed;
        if is_broken && !self.force {
            let reasons = report.reasons.iter().map(|reason| format!("  {reason}"));
            let refusal = ReplayRefusal {
                code: refusal::NOT_VERIFIED,
                reason: format!(
                    "{name}: this record does not verify, so what it holds may not be what was recorded"
                ),
                advice: reasons.chain(["replay it all the same with --force".to_owned()]).collect(),
            };
            return Err(refusal.into_error(self.json));
        }
        if let Some(refusal) = self.signer_refusal(name, report) {
            return Err(refusal.into_error(self.json));
        }
        if is_broken {
            output::print_notice(&format!(
                "{name}: this record does not verify; it is replayed because of --force"
            ));
        } else if !has_proof {
            output::print_notice(&format!(
                "{name}: a record of this kind carries no proof, so that nothing of it was verified"
            ));
        } else if let Some(warning) = signer_warning(name, report) {
            output::print_notice(&warning);
        }
        Ok(())
    }

    /// Returns the refusal of a record that is not signed as the options ask; `None` if it is, or they ask for nothing.
    pub(super) fn signer_refusal(&self, name: &str, report: &Report) -> Option<ReplayRefusal> {
        let trust = trust(report);
        let is_given = !self.keys.key.is_empty() || self.keys.hmac_key_file.is_some();
        let wanted = match () {
            // A shared key signs without a signer: the check of the signature has the answer.
            () if self.keys.hmac_key_file.is_some() && report.signer.is_none() => {
                (!report.pass()).then_some("a key that was given")?
            }
            () if is_given && trust != Trust::Supplied => "a key that was given",
            () if self.require_trusted && !matches!(trust, Trust::Supplied | Trust::Trusted) => {
                "a key that you trust"
            }
            () => return None,
        };
        let ask = report.missing_key.as_ref().map(|key| key.request("--key"));
        let trusted = "a key that you believe to be the sender's is trusted with: reenact keys trust FILE";
        Some(ReplayRefusal {
            code: refusal::NOT_TRUSTED,
            reason: format!("{name}: this record is not signed by {wanted}: {}", signer_words(report)),
            advice: ask.into_iter().chain([trusted.to_owned()]).collect(),
        })
    }
}

/// Returns the trust in the signer of a record.
fn trust(report: &Report) -> Trust {
    report.signer.as_ref().map_or(Trust::Unknown, |signer| signer.trust)
}

/// Returns the signer in words, with the id of the key.
fn signer_words(report: &Report) -> String {
    let key = report.signer.as_ref().and_then(|signer| signer.key_id.as_deref());
    match key {
        Some(key) => format!("its key is {} ({})", Shown::new(key), trust(report)),
        None => "nothing in it is signed".to_owned(),
    }
}

/// Returns the warning on a record that is intact, and whose signer is not known or not to be believed.
fn signer_warning(name: &str, report: &Report) -> Option<String> {
    let signer = report.signer.as_ref()?;
    let why = match signer.trust {
        Trust::Compromised => "is marked as compromised",
        Trust::SelfAsserted => "comes from the record itself",
        Trust::Unknown if report.verdict() == Verdict::Unproven => "is not known here",
        _ => return None,
    };
    let key = Shown::new(signer.key_id.as_deref().unwrap_or("?"));
    Some(format!(
        "{name}: intact, but its key {key} {why}, so anyone may have made it (--require-trusted refuses it)"
    ))
}
