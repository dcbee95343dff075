//! The verdict on an artifact: findings about its events, its envelope, its signatures.

use reenact_formats::key::{KeyId, PublicKey};
use reenact_formats::rer::header::{self, Coverage};
use reenact_formats::rer::structure::{self, Place};
use reenact_formats::rer::{EventType, HashFault, Head, Item, Version, envelope, time};
use reenact_json::{Digest, Kind, Shown, Value};

use super::job::{Finding, is_digest, same_text, spelled};
use super::survey::format;
use super::{
    CHECKS, ENVELOPE_HASH, ENVELOPE_SIGNATURE, EVENT_CHAIN, LOG_HEAD, PAYLOAD_HASHES, RUNTIME_SIGNATURE,
    SCHEMA_VALID,
};
use crate::audit::Audit;
use crate::capped::Capped;
use crate::report::{RunIdentity, Signer, carried};
use crate::{Keys, Report, Trust};

/// Runs what is left of the seven checks and writes the report.
pub(super) fn conclude(
    head: &Head<'_>,
    findings: &Finding<'_>,
    audit: Audit,
    keys: &Keys,
    now: Option<i128>,
) -> Report {
    let mut report = Report::new(format(head), &CHECKS);
    let signable = envelope::signable(head.envelope);
    let envelope_hash = signable.as_ref().map(|bytes| Digest::of(bytes)).map_err(Clone::clone);
    let key_id = head.key_id();
    report.signer = Some(Signer::named(key_id.as_deref(), keys));
    let key = find_key(key_id.as_deref(), keys);

    structure_faults(head, findings, &mut report);
    match &envelope_hash {
        Ok(computed) if is_digest(head.envelope_hash, computed) => {}
        Ok(computed) => {
            let carried = spelled(head.envelope_hash);
            report.fail(ENVELOPE_HASH, format!("envelope_hash is {carried}, recomputed {computed}"));
        }
        Err(fault) => report.fail(ENVELOPE_HASH, format!("cannot be recomputed: {fault}")),
    }
    let signature = head.envelope.and_then(|envelope| envelope.member("signature"));
    if let Err(reason) = signed(&signable, signature, &key) {
        report.fail(ENVELOPE_SIGNATURE, reason);
    }
    events(head, findings, &mut report);
    let header = recomputed_header(head, findings, envelope_hash);
    if let Err(reason) = runtime_signature(head, &header, &key) {
        report.fail(RUNTIME_SIGNATURE, reason);
    }
    report.withheld = findings.redacted.count();
    report.run = identity(head, &header);
    notes(head, findings, &mut report);
    expiry_note(head, now, &mut report);
    report.audit = Some(audit);
    report.sort_reasons();
    report.verdict = verdict(&report, findings, key.is_err().then_some(!keys.is_empty()));
    report
}

/// Check 1.
fn structure_faults(head: &Head<'_>, findings: &Finding<'_>, report: &mut Report) {
    let mut faults = Capped::default();
    structure::head(head, &mut |fault| faults.push(fault));
    for line in faults.lines(ToString::to_string) {
        report.fail(SCHEMA_VALID, line);
    }
    if let Some(version) = head.version() {
        for (found, first) in Version::ALL.into_iter().zip(findings.versions) {
            let fault = first
                .and_then(|at| structure::mixed(Place::EventMember(at, "event_version"), found, version));
            fault.into_iter().for_each(|fault| report.fail(SCHEMA_VALID, fault));
        }
    }
    for line in findings.structure.lines(ToString::to_string) {
        report.fail(SCHEMA_VALID, line);
    }
}

/// Checks 4, 5 and 7.
fn events(head: &Head<'_>, findings: &Finding<'_>, report: &mut Report) {
    let absent = match head.events {
        Some(Kind::Array) => None,
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
    // Two carried values are compared here; that the event deserves its hash is check 4's business (§7.1).
    let last = match &findings.last {
        None => return report.fail(LOG_HEAD, "there are no events, so there is no last one"),
        Some(last) => match last.item {
            Item::Event(event) => event.event_hash,
            Item::NotAnObject(_) => None,
        },
    };
    if !same_text(head.log_head_hash, last) {
        let (head, last) = (spelled(head.log_head_hash), spelled(last));
        report.fail(LOG_HEAD, format!("log_head_hash is {head}, but event_hash of the last event is {last}"));
    }
}

/// The signed header under both readings of the draft, over freshly computed hashes; or why there is none.
struct Header {
    signable: Result<Vec<u8>, HashFault>,
    without_manifest: Result<Vec<u8>, HashFault>,
}

fn recomputed_header(
    head: &Head<'_>,
    findings: &Finding<'_>,
    envelope_hash: Result<Digest, HashFault>,
) -> Result<Header, String> {
    let envelope_hash =
        envelope_hash.map_err(|fault| format!("envelope_hash cannot be recomputed: {fault}"))?;
    let log_head = match &findings.last {
        Some(last) => {
            last.computed.clone().map_err(|fault| format!("log_head_hash cannot be recomputed: {fault}"))?
        }
        None => return Err("there is no event to recompute log_head_hash from".into()),
    };
    let header = |coverage| header::signable(head, envelope_hash, log_head, coverage);
    Ok(Header {
        signable: header(Coverage::WithManifestHash),
        without_manifest: header(Coverage::WithoutManifestHash),
    })
}

/// Check 6.
fn runtime_signature(
    head: &Head<'_>,
    header: &Result<Header, String>,
    key: &Result<PublicKey, String>,
) -> Result<(), String> {
    let header = header.as_ref().map_err(Clone::clone)?;
    let verdict = signed(&header.signable, head.runtime_signature, key);
    // A producer that followed §8.1 deserves to be told so; its signature still leaves the manifest open to anyone.
    if verdict.is_err()
        && head.version() == Some(Version::V02)
        && signed(&header.without_manifest, head.runtime_signature, key).is_ok()
    {
        return Err(
            "the signature leaves out manifest_hash (as §8.1 of the draft has it); §6.6 requires it".into()
        );
    }
    verdict
}

/// Which run this is a record of, and which record of it.
fn identity(head: &Head<'_>, header: &Result<Header, String>) -> Option<RunIdentity> {
    let signable = header.as_ref().ok()?.signable.as_ref().ok()?;
    Some(RunIdentity {
        key_id: head.key_id()?.into_owned(),
        run_id: head.run_id?.string()?.into_owned(),
        digest: Digest::of(signable),
    })
}

/// Expiry never fails a check (§5.1.1); whoever knows the time may be told.
fn expiry_note(head: &Head<'_>, now: Option<i128>, report: &mut Report) {
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

/// Whether a carried signature is the key's signature over the bytes.
fn signed(
    signable: &Result<Vec<u8>, HashFault>,
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

pub(super) fn signature_bytes(text: &str) -> Option<[u8; 64]> {
    let (r, s) = text.split_at_checked(64)?;
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(Digest::from_hex(r)?.as_bytes());
    bytes[32..].copy_from_slice(Digest::from_hex(s)?.as_bytes());
    Some(bytes)
}

fn find_key(key_id: Option<&str>, keys: &Keys) -> Result<PublicKey, String> {
    let Some(key_id) = key_id else {
        return Err("runtime.key_id names no key".into());
    };
    match KeyId::parse(key_id).and_then(|id| keys.find(&id)) {
        Some(known) => Ok(known.key),
        None => {
            let refused: String =
                keys.refused().iter().map(|error| format!(" (a key given: {error})")).collect();
            Err(format!("no key for key_id {}{refused}", carried(key_id)))
        }
    }
}

/// What a reader should know beside the checks.
fn notes(head: &Head<'_>, findings: &Finding<'_>, report: &mut Report) {
    let withheld = |index: &usize| format!("event {index}: payload withheld; its content cannot be checked");
    report.notes.extend(findings.redacted.lines(withheld));
    if !findings.redacted.is_empty() {
        let note = "whether the producer or someone else withheld it cannot be told from an artifact alone";
        report.notes.push(note.into());
    }
    if head.manifest_hash.is_some_and(|hash| !hash.is_null()) {
        report
            .notes
            .push("manifest_hash is set: this artifact is part of a bundle, which was not checked".into());
    }
    let is_type = |item: Option<&Item<'_>>, wanted: EventType| match item {
        Some(Item::Event(event)) => event.event_type.is_some_and(|found| found.is_string(wanted.name())),
        _ => false,
    };
    if findings.events > 0 {
        if !is_type(findings.first.as_ref(), EventType::RunStarted) {
            report.notes.push("the first event is not rer.run.started".into());
        }
        if !is_type(findings.last.as_ref().map(|last| &last.item), EventType::RunEnded) {
            report
                .notes
                .push("the last event is not rer.run.ended: the run may have gone on unrecorded".into());
        }
    }
    if !head.is_canonical {
        report.notes.push(
            "the file is not in canonical form: its values were checked, not how they are spelled".into(),
        );
    }
}

/// The last line, for people. `no_key`: the key is not at hand; whether any other is.
fn verdict(report: &Report, findings: &Finding<'_>, no_key: Option<bool>) -> String {
    let failed: Vec<&str> = report.failed().collect();
    if let Some(any_key) = no_key
        && failed == [ENVELOPE_SIGNATURE, RUNTIME_SIGNATURE]
    {
        let why = if any_key {
            "none of the keys at hand is the one that the record names"
        } else {
            "no key was given"
        };
        return format!(
            "the hashes hold, but no signature was checked, because {why}: give the signer's with --key"
        );
    }
    if !failed.is_empty() {
        let (count, verb) = (failed.len(), if failed.len() == 1 { "does" } else { "do" });
        return format!("{count} of {} checks {verb} not hold: {}", CHECKS.len(), failed.join(", "));
    }
    let trust = report.signer.as_ref().map_or(Trust::Unknown, |signer| signer.trust);
    format!("{} ({})", intact(trust), extent(findings.events, findings.redacted.count()))
}

/// What a pass says of the signer. A record that brings its own key says nothing about who made it.
pub(super) fn intact(trust: Trust) -> &'static str {
    match trust {
        Trust::Supplied => "intact, and signed by the key that you supplied",
        Trust::Trusted => "intact, and signed by a key that you trust",
        Trust::Superseded => "intact, and signed by a key that has been superseded",
        Trust::Compromised => "intact, but signed by a key that is marked as compromised",
        Trust::SelfAsserted | Trust::Unknown => {
            "intact, signer unknown: the key comes with the record; give the signer's with --key"
        }
    }
}

/// How much there is, and how much of it is withheld.
pub(super) fn extent(events: usize, redacted: usize) -> String {
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
