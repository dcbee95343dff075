//! RER bundles: ten checks, the first of which is the whole artifact (§9.2).
//!
//! Start reading at [`verify_with`].

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use reenact_formats::FormatId;
use reenact_formats::format::MANIFEST_FILE;
use reenact_formats::key::{self, KeyError, KeyId, PublicKey};
use reenact_formats::rer::manifest::{self, BlobView, RerManifestView};
use reenact_formats::rer::{ARTIFACT_FILE, JWK_FILE, KEY_FILE, RerHead};
use reenact_json::digest::constant_time_eq;
use reenact_json::{Digest, Limits, Shown, SyntaxError, Value, ValueKind};

use super::event_batch::{RerFindings, is_digest, shown_value};
use super::{RerBatchReader, unreadable_report};
use crate::capped::Capped;
use crate::check::{Check, CheckId};
use crate::checker::{BrokenContainer, Checker};
use crate::members::{BundleMembers, FileFacts};
use crate::report::{NOTHING_TO_CHECK, shown_carried};
use crate::{Keys, MissingKey, Options, RecordSigner, Report, ReportDetails, Trust, Verdict};

/// Bundle check 1: the artifact passes its seven checks.
pub const ARTIFACT: CheckId = CheckId::new("artifact", "the artifact passes its seven checks");
/// Bundle check 2: the manifest has the hash that it carries.
pub const MANIFEST_INTEGRITY: CheckId =
    CheckId::new("manifest_integrity", "the manifest is the one that was hashed");
/// Bundle check 3: the manifest names this artifact.
pub const ARTIFACT_HASH: CheckId =
    CheckId::new("artifact_hash", "the artifact is the one that the manifest names");
/// Bundle check 4: the artifact names this manifest.
pub const MANIFEST_BINDING: CheckId = CheckId::new("manifest_binding", "the artifact names this manifest");
/// Bundle check 5: the manifest names the key.
pub const KEY_INTEGRITY: CheckId =
    CheckId::new("key_integrity", "the key is the one that the manifest names");
/// Bundle check 6: every listed blob is there and has its hash.
pub const BLOB_INTEGRITY: CheckId =
    CheckId::new("blob_integrity", "every listed blob is there and is the one that was hashed");
/// Bundle check 7: every blob that an event wrote is listed.
pub const BLOB_COMPLETENESS: CheckId =
    CheckId::new("blob_completeness", "every blob that an event wrote is listed");
/// Bundle check 8: the manifest states the number of events.
pub const EVENT_COUNT: CheckId = CheckId::new("event_count", "the manifest counts the events");
/// Bundle check 9: the manifest states the number of withheld payloads.
pub const REDACTED_COUNT: CheckId =
    CheckId::new("redacted_count", "the manifest counts the withheld payloads");
/// Bundle check 10: every blob has the size that the manifest lists.
pub const BLOB_METADATA: CheckId = CheckId::new("blob_metadata", "every blob has its listed size");

/// The ten checks in the order of the specification.
pub const CHECKS: [CheckId; 10] = [
    ARTIFACT,
    MANIFEST_INTEGRITY,
    ARTIFACT_HASH,
    MANIFEST_BINDING,
    KEY_INTEGRITY,
    BLOB_INTEGRITY,
    BLOB_COMPLETENESS,
    EVENT_COUNT,
    REDACTED_COUNT,
    BLOB_METADATA,
];

/// Row of RER bundles in the table of checkers.
pub(crate) static BUNDLE: Checker = Checker {
    id: FormatId::RerBundle,
    document: |_, _, _, _| unreadable_archive(&"it is neither a tar, nor a tar.gz, nor a zip"),
    members: |members, keys, options, workers| {
        verify_with(members, keys, options, |reader| workers.run_batches(reader))
    },
    broken_report: Some(|broken| match broken {
        BrokenContainer::Archive(error) => unreadable_archive(error),
        #[cfg(feature = "disk")]
        BrokenContainer::Folder(fault) => unreadable_folder(fault),
    }),
};

/// Runs the ten checks on the caller's thread.
pub fn verify(members: &BundleMembers, keys: &Keys, options: &Options) -> Report {
    verify_with(members, keys, options, super::check_in_order)
}

/// Runs the ten checks. `run` checks the event batches of the artifact, in any way that returns the
/// findings in the order of the batches.
///
/// A key inside the bundle is used for the signatures, but only as a self-asserted one: it proves that
/// the record is intact, not who made it.
pub fn verify_with<'a>(
    members: &'a BundleMembers,
    keys: &Keys,
    options: &Options,
    run: impl FnOnce(&mut RerBatchReader<'a>) -> Result<RerFindings<'a>, SyntaxError>,
) -> Report {
    let mut report = Report::new(FormatId::RerBundle.name().into(), &CHECKS);
    let own_key = read_bundle_key(members, &mut report);
    let mut keys = keys.clone();
    if let Ok(Some(key)) = &own_key {
        keys.add_self_asserted(*key);
    }
    let artifact = BundledArtifact::verify(members.document(ARTIFACT_FILE), &keys, options, run);
    report.signer = artifact.report.signer.clone();
    for reason in &artifact.report.reasons {
        report.fail(ARTIFACT, reason);
    }
    // These two notes hold only for an artifact without its bundle.
    let of_one_alone = ["manifest_hash is set", "whether the producer or someone else withheld it"];
    let is_here = |note: &&String| !of_one_alone.iter().any(|begin| note.starts_with(begin));
    report.notes.extend(artifact.report.notes.iter().filter(is_here).cloned());
    report.details = ReportDetails::RerBundle { artifact_checks: artifact.report.checks.clone() };
    report.audit = artifact.report.audit.clone();
    let (events, redacted) =
        artifact.events.as_ref().map_or((0, 0), |events| (events.count, events.redacted));
    report.withheld = redacted;
    report.run = artifact.report.run.clone();

    match parse_manifest(members, options) {
        Ok(document) => check_manifest(document, &artifact, &own_key, members, &mut report),
        Err(reason) => {
            for id in CHECKS.into_iter().skip(1) {
                report.fail(id, &reason);
            }
        }
    }
    report.sort_reasons();
    report.is_recovered = artifact.report.is_recovered;
    if artifact.report.verdict() == Verdict::Unproven {
        // The artifact as a whole is the only check that fails for want of the key.
        report.missing_key =
            artifact.report.missing_key.map(|key| MissingKey { checks: vec![ARTIFACT], ..key });
    }
    report.summary = super::verdict::conclusion(&report, !keys.is_empty(), events, redacted);
    report
}

/// Results of the artifact's verification that the bundle's own checks need.
struct BundledArtifact {
    /// Report on the artifact.
    report: Report,
    /// Hash of the artifact as the manifest must state it, or why there is none.
    hash: Result<Digest, String>,
    /// Carried `manifest_hash`, or why it is not known.
    manifest_hash: Result<Option<String>, &'static str>,
    /// Events, or why they are not known.
    events: Result<BundledEvents, &'static str>,
    /// Key that the artifact names, if it is available.
    key: Option<PublicKey>,
}

/// Facts about the events of a bundle's artifact that its manifest states, too.
struct BundledEvents {
    /// Number of events.
    count: usize,
    /// Number of withheld payloads.
    redacted: usize,
    /// Blobs that `rer.artifact.written` events name, by event index, or the reason why they name none.
    written_blobs: Vec<(usize, Result<Digest, &'static str>)>,
}

/// Reason of the checks that need an artifact, if there is none that can be read.
const UNREADABLE_ARTIFACT: &str = "the artifact could not be read";

impl BundledArtifact {
    /// Verifies the artifact. A missing one is verified as empty text.
    fn verify<'a>(
        bytes: Option<&'a [u8]>,
        keys: &Keys,
        options: &Options,
        run: impl FnOnce(&mut RerBatchReader<'a>) -> Result<RerFindings<'a>, SyntaxError>,
    ) -> Self {
        let bytes = bytes.unwrap_or_default();
        let mut reader = match RerBatchReader::open(bytes, options) {
            Ok(reader) => reader,
            Err(error) => {
                return Self::from_unreadable(unreadable_report(bytes, &RerHead::default(), &error));
            }
        };
        let mut findings = match run(&mut reader) {
            Ok(findings) => findings,
            Err(error) => {
                return Self::from_unreadable(unreadable_report(bytes, reader.head(), &error.into()));
            }
        };
        let head = reader.head();
        let hash = match head.document {
            Some(document) => manifest::artifact_hash(document).map_err(|fault| fault.to_string()),
            None => Err(UNREADABLE_ARTIFACT.into()),
        };
        let events = match head.events {
            Some(ValueKind::Array) => Ok(BundledEvents {
                count: findings.total.events,
                redacted: findings.total.redacted.count(),
                written_blobs: core::mem::take(&mut findings.total.written_blobs),
            }),
            _ => Err("the artifact has no list of events"),
        };
        let key_id = head.key_id().and_then(|id| key::KeyId::parse(&id));
        Self {
            hash,
            manifest_hash: Ok(head
                .manifest_hash
                .and_then(|hash| hash.string())
                .map(|hash| hash.into_owned())),
            events,
            key: key_id.and_then(|id| keys.find(&id)).map(|known| known.key),
            report: reader.into_report(findings, keys),
        }
    }

    /// Wraps the report on an artifact that could not be read.
    fn from_unreadable(report: Report) -> Self {
        Self {
            report,
            hash: Err(UNREADABLE_ARTIFACT.into()),
            manifest_hash: Err(UNREADABLE_ARTIFACT),
            events: Err(UNREADABLE_ARTIFACT),
            key: None,
        }
    }
}

/// Returns the key in the bundle: `key.bin`, `key.jwk`, or both if they agree. `None` if there is none.
///
/// # Errors
/// Returns the reason if a key file is invalid, names another key, or the two differ.
fn read_bundle_key(members: &BundleMembers, report: &mut Report) -> Result<Option<PublicKey>, String> {
    let bin = members.document(KEY_FILE).map(PublicKey::from_raw);
    let jwk = members.document(JWK_FILE).map(|bytes| read_jwk(bytes, report));
    match (bin, jwk) {
        (Some(Err(error)), _) => Err(format!("key.bin: {error}")),
        (_, Some(Err(reason))) => Err(format!("key.jwk: {reason}")),
        (Some(Ok(bin)), Some(Ok(jwk))) if bin != jwk => Err("key.bin and key.jwk are different keys".into()),
        (Some(Ok(key)), _) | (None, Some(Ok(key))) => Ok(Some(key)),
        (None, None) => Ok(None),
    }
}

/// Returns the key in `key.jwk`. Its `kid` may be a label, which gets a note, but not the id of another key.
///
/// # Errors
/// Returns the reason if the file is not one key, or its `kid` is the id of another key.
fn read_jwk(bytes: &[u8], report: &mut Report) -> Result<PublicKey, String> {
    let file = key::read(bytes).map_err(|error| error.to_string())?;
    if file.holds_private {
        report
            .notes
            .push("key.jwk holds the private key: whoever has this bundle can sign as its signer".into());
    }
    let [key] = file.keys.as_slice() else { return Err(KeyError::Unrecognised.to_string()) };
    match file.false_kid {
        Some(kid) if KeyId::parse(&kid).is_some() => {
            return Err(format!("its kid is {}, but the key in it is {}", shown_carried(&kid), key.id()));
        }
        Some(kid) => report.notes.push(format!(
            "key.jwk calls its key \"{}\", which is no id of it: {}",
            Shown::new(&kid),
            key.id()
        )),
        None => {}
    }
    Ok(*key)
}

/// Parses `manifest.json`.
///
/// # Errors
/// Returns the reason if the manifest is missing or not a JSON object.
fn parse_manifest<'a>(members: &'a BundleMembers, options: &Options) -> Result<Value<'a>, String> {
    let bytes = members.document(MANIFEST_FILE).ok_or("manifest.json is missing")?;
    let limits = Limits { max_bytes: options.limits.max_bytes, ..options.limits };
    let document =
        Value::parse(bytes, &limits).map_err(|error| format!("manifest.json: {}", error.describe(bytes)))?;
    if document.kind() != ValueKind::Object {
        return Err(format!("manifest.json is {}, not an object", document.kind().name()));
    }
    Ok(document)
}

/// Checks 2 to 10.
fn check_manifest(
    document: Value<'_>,
    artifact: &BundledArtifact,
    own_key: &Result<Option<PublicKey>, String>,
    members: &BundleMembers,
    report: &mut Report,
) {
    let view = RerManifestView::of(document);
    match manifest::bundle_hash(document) {
        Ok(computed) => check_digest(report, MANIFEST_INTEGRITY, "bundle_hash", view.bundle_hash, &computed),
        Err(fault) => report.fail(MANIFEST_INTEGRITY, format!("bundle_hash cannot be recomputed: {fault}")),
    }
    match &artifact.hash {
        Ok(computed) => check_digest(report, ARTIFACT_HASH, "artifact_hash", view.artifact_hash, computed),
        Err(reason) => report.fail(ARTIFACT_HASH, format!("artifact_hash cannot be recomputed: {reason}")),
    }
    check_binding(&view, artifact, report);
    match (own_key, artifact.key) {
        (Err(reason), _) => report.fail(KEY_INTEGRITY, reason),
        (Ok(Some(own)), Some(signer)) if *own != signer => {
            report.fail(KEY_INTEGRITY, "the bundle's key is not the one that the artifact names");
        }
        (Ok(Some(own)), _) => {
            let digest = own.digest();
            check_digest(report, KEY_INTEGRITY, "runtime_key_hash", view.runtime_key_hash, &digest);
        }
        // A key that was given says nothing about what the bundle holds.
        (Ok(None), _) => report.fail(KEY_INTEGRITY, "the bundle holds no key: neither key.bin nor key.jwk"),
    }
    let listed = check_blobs(&view, members, report);
    match &artifact.events {
        Ok(events) => check_events(&view, events, &listed, report),
        Err(reason) => {
            for check in [EVENT_COUNT, REDACTED_COUNT, BLOB_COMPLETENESS] {
                report.fail(check, reason);
            }
        }
    }
    if let Some(name) = view.unknown_member {
        let name = name.string().unwrap_or_default();
        report.notes.push(format!("the manifest has a member of its own, \"{}\"", Shown::new(&name)));
    }
}

/// Checks 7 to 9: the manifest lists the blobs and counts the events of the artifact.
fn check_events(
    view: &RerManifestView<'_>,
    events: &BundledEvents,
    listed: &BTreeSet<Digest>,
    report: &mut Report,
) {
    let counts = [
        (EVENT_COUNT, "total_event_count", view.total_event_count, events.count, "event"),
        (
            REDACTED_COUNT,
            "redacted_event_count",
            view.redacted_event_count,
            events.redacted,
            "withheld payload",
        ),
    ];
    for (check, name, value, counted, what) in counts {
        if value.and_then(|value| value.unsigned_integer()) != Some(counted as u64) {
            let found = shown_value(value);
            let plural = if counted == 1 { "" } else { "s" };
            report.fail(check, format!("{name} is {found}, the artifact has {counted} {what}{plural}"));
        }
    }
    let mut unlisted = Capped::default();
    for (index, written) in &events.written_blobs {
        match written {
            Ok(hash) if listed.contains(hash) => {}
            Ok(hash) => {
                unlisted.push(format!("event {index}: blob {hash} is not listed in the manifest"));
            }
            Err(reason) => unlisted.push(format!("event {index}: {reason}")),
        }
    }
    unlisted.lines(Clone::clone).into_iter().for_each(|line| report.fail(BLOB_COMPLETENESS, line));
}

/// Fails a check if a carried digest differs from the computed one. `name` is the member.
fn check_digest(
    report: &mut Report,
    check: CheckId,
    name: &str,
    value: Option<Value<'_>>,
    computed: &Digest,
) {
    if !is_digest(value, computed) {
        report.fail(check, format!("{name} is {}, recomputed {computed}", shown_value(value)));
    }
}

/// Check 4: the artifact's `manifest_hash` equals the manifest's `bundle_hash`. Both are carried
/// values: check 2 confirms the one, the artifact's signature (check 1) the other.
fn check_binding(view: &RerManifestView<'_>, artifact: &BundledArtifact, report: &mut Report) {
    let bundle_hash = view.bundle_hash.and_then(|hash| hash.string());
    match (&artifact.manifest_hash, bundle_hash) {
        (Ok(Some(named)), Some(found)) if constant_time_eq(named.as_bytes(), found.as_bytes()) => {}
        (Ok(Some(named)), _) => {
            let named = shown_carried(named);
            let found = shown_value(view.bundle_hash);
            report.fail(
                MANIFEST_BINDING,
                format!("the artifact's manifest_hash is {named}, bundle_hash is {found}"),
            );
        }
        (Ok(None), _) => {
            report.fail(MANIFEST_BINDING, "the artifact names no manifest (manifest_hash is null or missing)")
        }
        (Err(reason), _) => report.fail(MANIFEST_BINDING, reason),
    }
}

/// Checks 6 and 10; returns the listed hashes. Blobs are found by their hash, whatever the files are
/// called; but a file that is called by a hash must have that hash.
fn check_blobs(view: &RerManifestView<'_>, members: &BundleMembers, report: &mut Report) -> BTreeSet<Digest> {
    let mut listed = BTreeSet::new();
    let Some(list) = view.blobs.filter(|blobs| blobs.kind() == ValueKind::Array) else {
        let found = shown_value(view.blobs);
        for check in [BLOB_INTEGRITY, BLOB_METADATA] {
            report.fail(check, format!("blobs is {found}, not a list"));
        }
        return listed;
    };
    let by_digest: BTreeMap<Digest, FileFacts> =
        members.files().map(|(_, facts)| (facts.digest, facts)).collect();
    let by_name: BTreeMap<&str, FileFacts> = members.files().collect();
    let (mut wrong, mut sizes) = (Capped::default(), Capped::default());
    let mut changed_blobs = BTreeSet::new();
    for (index, entry) in list.elements().enumerate() {
        let blob = BlobView::of(entry);
        let hash = blob.hash.and_then(|hash| hash.string()).and_then(|hash| Digest::from_hex(&hash));
        let Some(hash) = hash else {
            let problem = format!(
                "blobs[{index}]: hash is {}, not 64 lower-case hexadecimal digits",
                shown_value(blob.hash)
            );
            wrong.push(problem.clone());
            sizes.push(problem);
            continue;
        };
        listed.insert(hash);
        let size = blob.size_bytes.and_then(|size| size.unsigned_integer());
        // A file with the blob's name but another hash is the changed blob: its size is still compared.
        let named = by_name.get(format!("blobs/{hash}.bin").as_str());
        let found = by_digest.get(&hash).or(named);
        match (by_digest.get(&hash), named) {
            (Some(_), _) => {}
            (None, Some(changed)) => {
                changed_blobs.insert(hash);
                wrong.push(format!("blobs[{index}]: blobs/{hash}.bin has the hash {}", changed.digest));
            }
            (None, None) => wrong.push(format!("blobs[{index}]: no file with the hash {hash}")),
        }
        match found {
            Some(facts) if size == Some(facts.size) => {}
            Some(facts) => {
                let listed = shown_value(blob.size_bytes);
                sizes.push(format!(
                    "blobs[{index}]: size_bytes is {listed}, the blob has {} byte{}",
                    facts.size,
                    if facts.size == 1 { "" } else { "s" }
                ));
            }
            None => sizes.push(format!("blobs[{index}]: no file with the hash {hash}, so it has no size")),
        }
    }
    let mut strangers = Capped::default();
    for (name, facts) in members.files() {
        let is_listed = listed.contains(&facts.digest);
        let is_blob = is_listed || name.starts_with("blobs/");
        match claimed_hash(name).filter(|_| is_blob) {
            // Readers that go by names get another blob than they ask for.
            Some(hash) if hash != facts.digest => {
                if !changed_blobs.contains(&hash) {
                    let name = Shown::new(name);
                    wrong.push(format!(
                        "{name} is not the blob that its name says: it has the hash {}",
                        facts.digest
                    ));
                }
            }
            _ if is_listed => {}
            _ => strangers
                .push(format!("{} is not listed in the manifest: nothing vouches for it", Shown::new(name))),
        }
    }
    wrong.lines(Clone::clone).into_iter().for_each(|line| report.fail(BLOB_INTEGRITY, line));
    sizes.lines(Clone::clone).into_iter().for_each(|line| report.fail(BLOB_METADATA, line));
    report.notes.extend(strangers.lines(Clone::clone));
    listed
}

/// Returns the hash that a file is named after, in either case and with any ending; `None` for any other name.
fn claimed_hash(name: &str) -> Option<Digest> {
    let file = name.rsplit('/').next()?;
    Digest::from_hex(&file.split('.').next()?.to_ascii_lowercase())
}

/// Returns the report on an archive that was meant to be a bundle and could not be read to its end.
pub fn unreadable_archive(error: &dyn fmt::Display) -> Report {
    unreadable_container("archive", error)
}

/// Returns the report on a bundle's folder with an entry that does not belong there.
pub fn unreadable_folder(fault: &dyn fmt::Display) -> Report {
    unreadable_container("folder", fault)
}

/// Returns the report on a bundle of which nothing was checked. `what` is `archive` or `folder`.
fn unreadable_container(what: &str, error: &dyn fmt::Display) -> Report {
    let mut report = Report::new(FormatId::RerBundle.name().into(), &CHECKS);
    report.fail(ARTIFACT, format!("the {what} cannot be read: {error}"));
    for id in CHECKS.into_iter().skip(1) {
        report.fail(id, NOTHING_TO_CHECK);
    }
    let failing = |id| Check { holds: Some(false), ..Check::holding(id) };
    report.details = ReportDetails::RerBundle { artifact_checks: super::CHECKS.map(failing).to_vec() };
    report.signer = Some(RecordSigner { key_id: None, trust: Trust::Unknown, label: None });
    report.audit = Some(super::audit::unreadable_audit());
    report.summary = format!("the {what} could not be read");
    report
}
