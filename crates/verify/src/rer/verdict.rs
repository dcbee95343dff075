//! The remaining checks of an artifact, and its report.
//!
//! [`finish_report`] takes the findings of all events and adds the checks of the envelope, the
//! signatures and the log head, then the notes and the verdict.

use reenact_formats::key::{KeyId, PublicKey};
use reenact_formats::rer::header::{self, HeaderCoverage};
use reenact_formats::rer::structure::{self, RerPath};
use reenact_formats::rer::{EventType, RerEventItem, RerHashFault, RerHead, RerVersion, envelope, time};
use reenact_json::{Digest, Shown, Value, ValueKind};

use super::batch_reader::format_name;
use super::event_batch::{RerBatchFindings, is_digest, is_same_hash, shown_value};
use super::recovery::{RecoverySign, may_be_old_record};
use super::{
    CHECKS, ENVELOPE_HASH, ENVELOPE_SIGNATURE, EVENT_CHAIN, LOG_HEAD, PAYLOAD_HASHES, RUNTIME_SIGNATURE,
    SCHEMA_VALID,
};
use crate::audit::Audit;
use crate::capped::Capped;
use crate::report::{RecordSigner, RunIdentity, shown_carried};
use crate::{Keys, MissingKey, Report, Trust, Verdict};

/// Runs the checks that the batches did not, and writes the report. `now` is the current time in
/// nanoseconds since 1970, if the caller knows it.
pub(super) fn finish_report(
    head: &RerHead<'_>,
    findings: &RerBatchFindings<'_>,
    audit: Audit,
    keys: &Keys,
    now: Option<i128>,
) -> Report {
    let mut report = Report::new(format_name(head), &CHECKS);
    let signable = envelope::signable(head.envelope);
    let envelope_hash = signable.as_ref().map(|bytes| Digest::of(bytes)).map_err(Clone::clone);
    let key_id = head.key_id();
    report.signer = Some(RecordSigner::from_key_id(key_id.as_deref(), keys));
    let key = find_key(key_id.as_deref(), keys);

    check_structure(head, findings, &mut report);
    match &envelope_hash {
        Ok(computed) if is_digest(head.envelope_hash, computed) => {}
        Ok(computed) => {
            let carried = shown_value(head.envelope_hash);
            report.fail(ENVELOPE_HASH, format!("envelope_hash is {carried}, recomputed {computed}"));
        }
        Err(fault) => report.fail(ENVELOPE_HASH, format!("cannot be recomputed: {fault}")),
    }
    let signature = head.envelope.and_then(|envelope| envelope.member("signature"));
    if let Err(reason) = check_signature(&signable, signature, &key) {
        report.fail(ENVELOPE_SIGNATURE, reason);
    }
    check_events(head, findings, &mut report);
    let header = recomputed_headers(head, findings, envelope_hash);
    if let Err(reason) = check_runtime_signature(head, &header, &key) {
        report.fail(RUNTIME_SIGNATURE, reason);
    }
    report.withheld = findings.redacted.count();
    report.run = run_identity(head, &header);
    add_notes(head, findings, &mut report);
    add_expiry_note(head, now, &mut report);
    report.audit = Some(audit);
    report.sort_reasons();
    if key.is_err() {
        report.missing_key = key_id.as_deref().map(missing_key);
    }
    report.summary = summary(&report, findings, !keys.is_empty());
    report
}

/// Check 1: the shape of the head and of all events, and that they are of one version.
fn check_structure(head: &RerHead<'_>, findings: &RerBatchFindings<'_>, report: &mut Report) {
    let mut faults = Capped::default();
    structure::check_head(head, &mut |fault| faults.push(fault));
    for line in faults.lines(ToString::to_string) {
        report.fail(SCHEMA_VALID, line);
    }
    if let Some(version) = head.version() {
        for (found, first) in RerVersion::ALL.into_iter().zip(findings.versions) {
            let fault = first.and_then(|at| {
                structure::mixed_version_fault(RerPath::EventMember(at, "event_version"), found, version)
            });
            fault.into_iter().for_each(|fault| report.fail(SCHEMA_VALID, fault));
        }
    }
    for line in findings.structure.lines(ToString::to_string) {
        report.fail(SCHEMA_VALID, line);
    }
}

/// Checks 4, 5 and 7: reports the findings of the events and compares the log head with the last event.
fn check_events(head: &RerHead<'_>, findings: &RerBatchFindings<'_>, report: &mut Report) {
    let absent = match head.events {
        Some(ValueKind::Array) => None,
        Some(kind) => Some(format!("events is {}, not an array", kind.name())),
        None => Some("events is missing".to_owned()),
    };
    if let Some(reason) = absent {
        for check in [EVENT_CHAIN, LOG_HEAD, PAYLOAD_HASHES] {
            report.fail(check, &reason);
        }
        return;
    }
    for line in findings.chain.lines(|(index, fault)| format!("event {index}: {fault}")) {
        report.fail(EVENT_CHAIN, line);
    }
    for line in findings.payloads.lines(|(index, fault)| format!("event {index}: {fault}")) {
        report.fail(PAYLOAD_HASHES, line);
    }
    // Two carried values are compared here; check 4 confirms that the event has that hash (§7.1).
    let last = match &findings.last_event {
        None => return report.fail(LOG_HEAD, "there are no events, so there is no last one"),
        Some(last) => match last.item {
            RerEventItem::Event(event) => event.event_hash,
            RerEventItem::NotAnObject(_) => None,
        },
    };
    if !is_same_hash(head.log_head_hash, last) {
        let (head, last) = (shown_value(head.log_head_hash), shown_value(last));
        report.fail(LOG_HEAD, format!("log_head_hash is {head}, but event_hash of the last event is {last}"));
    }
}

/// Signed bytes of the header, over recomputed hashes, under both readings of the draft.
struct SignableHeaders {
    /// Header with `manifest_hash`, as §6.6 requires.
    with_manifest_hash: Result<Vec<u8>, RerHashFault>,
    /// Header without `manifest_hash`, as §8.1 has it.
    without_manifest_hash: Result<Vec<u8>, RerHashFault>,
}

/// Computes the signed bytes of the header from recomputed hashes.
///
/// # Errors
/// Returns the reason if the envelope or the last event has no hash.
fn recomputed_headers(
    head: &RerHead<'_>,
    findings: &RerBatchFindings<'_>,
    envelope_hash: Result<Digest, RerHashFault>,
) -> Result<SignableHeaders, String> {
    let envelope_hash =
        envelope_hash.map_err(|fault| format!("envelope_hash cannot be recomputed: {fault}"))?;
    let log_head = match &findings.last_event {
        Some(last) => {
            last.computed.clone().map_err(|fault| format!("log_head_hash cannot be recomputed: {fault}"))?
        }
        None => return Err("there is no event to recompute log_head_hash from".into()),
    };
    let header = |coverage| header::signable(head, envelope_hash, log_head, coverage);
    Ok(SignableHeaders {
        with_manifest_hash: header(HeaderCoverage::WithManifestHash),
        without_manifest_hash: header(HeaderCoverage::WithoutManifestHash),
    })
}

/// Check 6: the runtime's key signed the header.
///
/// # Errors
/// Returns the reason why the check fails.
fn check_runtime_signature(
    head: &RerHead<'_>,
    header: &Result<SignableHeaders, String>,
    key: &Result<PublicKey, String>,
) -> Result<(), String> {
    let header = header.as_ref().map_err(Clone::clone)?;
    let verdict = check_signature(&header.with_manifest_hash, head.runtime_signature, key);
    // A producer that followed §8.1 is told so. Its signature still lets anyone exchange the manifest.
    if verdict.is_err()
        && head.version() == Some(RerVersion::V02)
        && check_signature(&header.without_manifest_hash, head.runtime_signature, key).is_ok()
    {
        return Err(
            "the signature leaves out manifest_hash (as §8.1 of the draft has it); §6.6 requires it".into()
        );
    }
    verdict
}

/// Returns the run and key that the record names, and the digest of the header. `manifest_hash` is left out: a run and its own
/// bundle are one.
fn run_identity(head: &RerHead<'_>, header: &Result<SignableHeaders, String>) -> Option<RunIdentity> {
    let signable = header.as_ref().ok()?.without_manifest_hash.as_ref().ok()?;
    Some(RunIdentity {
        key_id: head.key_id()?.into_owned(),
        run_id: head.run_id?.string()?.into_owned(),
        digest: Digest::of(signable),
    })
}

/// Adds a note if the envelope has expired. Expiry never fails a check (§5.1.1).
fn add_expiry_note(head: &RerHead<'_>, now: Option<i128>, report: &mut Report) {
    let expiry =
        head.envelope.and_then(|envelope| envelope.member("expiry")).and_then(|expiry| expiry.string());
    if let (Some(now), Some(expiry)) = (now, expiry)
        && time::instant(&expiry).is_some_and(|expiry| now >= expiry)
    {
        report.notes.push(format!(
            "the envelope has expired ({}); that says nothing about the record",
            Shown::new(&expiry)
        ));
    }
}

/// Checks that a carried signature is the key's signature over the bytes.
///
/// # Errors
/// Returns the reason why it is not, or why that cannot be checked.
fn check_signature(
    signable: &Result<Vec<u8>, RerHashFault>,
    signature: Option<Value<'_>>,
    key: &Result<PublicKey, String>,
) -> Result<(), String> {
    let key = key.as_ref().map_err(Clone::clone)?;
    let signable =
        signable.as_ref().map_err(|fault| format!("the signed bytes cannot be recomputed: {fault}"))?;
    if signature.is_none() {
        return Err("the signature is missing".into());
    }
    let text = signature.and_then(|signature| signature.string());
    let Some(signature) = text.as_deref().and_then(signature_bytes) else {
        return Err("the signature is not 128 lower-case hexadecimal digits".into());
    };
    if key.is_weak() {
        return Err(format!("the key {} is of small order: a signature under it proves nothing", key.id()));
    }
    if key.verifies(signable, &signature) {
        Ok(())
    } else {
        Err(format!("the signature is not one of key {} over these bytes", key.id()))
    }
}

/// Parses an Ed25519 signature of 128 lower-case hexadecimal digits.
pub(super) fn signature_bytes(text: &str) -> Option<[u8; 64]> {
    let (r, s) = text.split_at_checked(64)?;
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(Digest::from_hex(r)?.as_bytes());
    bytes[32..].copy_from_slice(Digest::from_hex(s)?.as_bytes());
    Some(bytes)
}

/// Returns the key that `runtime.key_id` names.
///
/// # Errors
/// Returns the reason why no signature can be checked.
fn find_key(key_id: Option<&str>, keys: &Keys) -> Result<PublicKey, String> {
    let Some(key_id) = key_id else {
        return Err("runtime.key_id names no key".into());
    };
    match KeyId::parse(key_id).and_then(|id| keys.find(&id)) {
        Some(known) => Ok(known.key),
        None => {
            let refused: String =
                keys.rejected().iter().map(|error| format!(" (a key given: {error})")).collect();
            Err(format!("no key for key_id {}{refused}", shown_carried(key_id)))
        }
    }
}

/// Adds the notes: withheld payloads, an unchecked bundle, a missing start or end, and the spelling of
/// the file.
fn add_notes(head: &RerHead<'_>, findings: &RerBatchFindings<'_>, report: &mut Report) {
    let withheld = |index: &usize| format!("event {index}: payload withheld; its content cannot be checked");
    report.notes.extend(findings.redacted.lines(withheld));
    let recovery_note = |(index, sign): &(usize, RecoverySign)| format!("event {index}: {sign}");
    let old = findings.old_recovery.filter(|_| may_be_old_record(findings.first_item.as_ref()));
    report.is_recovered = !findings.recovery.is_empty() || old.is_some();
    report.notes.extend(findings.recovery.lines(recovery_note));
    report.notes.extend(old.as_ref().map(recovery_note));
    if !findings.redacted.is_empty() {
        let note = "whether the producer or someone else withheld it cannot be told from an artifact alone";
        report.notes.push(note.into());
    }
    if head.manifest_hash.is_some_and(|hash| !hash.is_null()) {
        report
            .notes
            .push("manifest_hash is set: this artifact is part of a bundle, which was not checked".into());
    }
    let is_type = |item: Option<&RerEventItem<'_>>, wanted: EventType| match item {
        Some(RerEventItem::Event(event)) => {
            event.event_type.is_some_and(|found| found.is_string(wanted.name()))
        }
        _ => false,
    };
    if findings.events > 0 {
        if !is_type(findings.first_item.as_ref(), EventType::RunStarted) {
            report.notes.push("the first event is not rer.run.started".into());
        }
        if !is_type(findings.last_event.as_ref().map(|last| &last.item), EventType::RunEnded) {
            report
                .notes
                .push("the last event is not rer.run.ended: the run may have gone on unrecorded".into());
        }
    }
    if !head.is_canonical {
        report.notes.push(
            "the file is not in canonical form, and need not be: hashes are of its values, however they are spelled".into(),
        );
    }
}

/// Returns the key that a record names, as the one to ask its sender for.
fn missing_key(key_id: &str) -> MissingKey {
    let wanted = format!("the public key {}", shown_carried(key_id));
    MissingKey { wanted, checks: vec![ENVELOPE_SIGNATURE, RUNTIME_SIGNATURE] }
}

/// Returns the last line of the report, for people. `any_key` is true if there are keys at hand.
fn summary(report: &Report, findings: &RerBatchFindings<'_>, any_key: bool) -> String {
    conclusion(report, any_key, findings.events, findings.redacted.count())
}

/// Returns the conclusion on an artifact or a bundle with this number of events and withheld payloads, for people.
pub(super) fn conclusion(report: &Report, any_key: bool, events: usize, redacted: usize) -> String {
    let verdict = report.verdict();
    if let (Verdict::Unproven, Some(key)) = (verdict, &report.missing_key) {
        let why = if any_key {
            "none of the keys at hand is the one that the record names"
        } else {
            "no key was given"
        };
        let request = key.request("--key");
        return format!("the hashes hold, but no signature was checked, because {why}: {request}");
    }
    if let Some(failure) = report.failure_summary() {
        return failure;
    }
    let trust = report.signer.as_ref().map_or(Trust::Unknown, |signer| signer.trust);
    let recovered = match verdict {
        Verdict::Recovered => "the recorder did not vouch for the end of this run; the record is ",
        _ => "",
    };
    format!("{recovered}{} ({})", intact_text(trust), counts_text(events, redacted))
}

/// Returns the words for a pass, by the trust in the signer. A record that brings its own key proves
/// nothing about who made it.
fn intact_text(trust: Trust) -> &'static str {
    match trust {
        Trust::Supplied => "intact, and signed by the key that you supplied",
        Trust::Trusted => "intact, and signed by a key that you trust",
        Trust::Superseded => "intact, and signed by a key that has been superseded",
        Trust::Compromised => "intact, but signed by a key that is marked as compromised",
        Trust::SelfAsserted => {
            "intact, signer unknown: the key comes with the record; give the signer's with --key"
        }
        Trust::Unknown => {
            "intact, signer unknown: you trust the key, but not as a runtime's (keys trust --as runtime)"
        }
    }
}

/// Returns the number of events, and of withheld payloads if there are any, in words.
fn counts_text(events: usize, redacted: usize) -> String {
    let events = match events {
        1 => "1 event".to_owned(),
        count => format!("{count} events"),
    };
    match redacted {
        0 => events,
        1 => format!("{events}, 1 payload withheld"),
        count => format!("{events}, {count} payloads withheld"),
    }
}
