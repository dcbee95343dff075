//! RER bundles: ten checks, the first of which is the whole artifact (§9.2).

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use reenact_formats::FormatId;
use reenact_formats::format::MANIFEST_FILE;
use reenact_formats::key::{self, KeyError, PublicKey};
use reenact_formats::rer::manifest::{self, BlobView, ManifestView};
use reenact_formats::rer::{ARTIFACT_FILE, Head, JWK_FILE, KEY_FILE};
use reenact_json::{Digest, Kind, Limits, Shown, SyntaxError, Value};

use super::job::{Findings, is_digest, spelled};
use super::{Survey, unreadable};
use crate::capped::Capped;
use crate::checker::{Broken, Checker};
use crate::members::{FileFacts, Members};
use crate::report::{NOTHING_TO_CHECK, carried};
use crate::{Keys, Options, Report, Signer, Trust};

/// Bundle check 1.
pub const ARTIFACT: &str = "artifact";
/// Bundle check 2.
pub const MANIFEST_INTEGRITY: &str = "manifest_integrity";
/// Bundle check 3.
pub const ARTIFACT_HASH: &str = "artifact_hash";
/// Bundle check 4.
pub const MANIFEST_BINDING: &str = "manifest_binding";
/// Bundle check 5.
pub const KEY_INTEGRITY: &str = "key_integrity";
/// Bundle check 6.
pub const BLOB_INTEGRITY: &str = "blob_integrity";
/// Bundle check 7.
pub const BLOB_COMPLETENESS: &str = "blob_completeness";
/// Bundle check 8.
pub const EVENT_COUNT: &str = "event_count";
/// Bundle check 9.
pub const REDACTED_COUNT: &str = "redacted_count";
/// Bundle check 10.
pub const BLOB_METADATA: &str = "blob_metadata";

/// The ten, in the order of the specification, with what each asks.
pub const CHECKS: [(&str, &str); 10] = [
    (ARTIFACT, "the artifact passes its seven checks"),
    (MANIFEST_INTEGRITY, "the manifest is the one that was hashed"),
    (ARTIFACT_HASH, "the artifact is the one that the manifest names"),
    (MANIFEST_BINDING, "the artifact names this manifest"),
    (KEY_INTEGRITY, "the key is the one that the manifest names"),
    (BLOB_INTEGRITY, "every listed blob is there and is the one that was hashed"),
    (BLOB_COMPLETENESS, "every blob that an event wrote is listed"),
    (EVENT_COUNT, "the manifest counts the events"),
    (REDACTED_COUNT, "the manifest counts the withheld payloads"),
    (BLOB_METADATA, "every blob has its listed size"),
];

/// What judges bundles.
pub(crate) static BUNDLE: Checker = Checker {
    id: FormatId::RerBundle,
    document: |_, _, _, _| unreadable_archive(&"it is neither a tar, nor a tar.gz, nor a zip"),
    members: |members, keys, options, workers| {
        verify_with(members, keys, options, |survey| workers.survey(survey))
    },
    broken: Some(|broken| match broken {
        Broken::Archive(error) => unreadable_archive(error),
        #[cfg(feature = "disk")]
        Broken::Folder(fault) => unreadable_folder(fault),
    }),
};

/// Runs the ten checks, the events in order.
pub fn verify(members: &Members, keys: &Keys, options: &Options) -> Report {
    verify_with(members, keys, options, super::in_order)
}

/// Runs the ten checks; `run` runs the jobs of the artifact's survey, in any way that gives their findings in order.
pub fn verify_with<'a>(
    members: &'a Members,
    keys: &Keys,
    options: &Options,
    run: impl FnOnce(&mut Survey<'a>) -> Result<Findings<'a>, SyntaxError>,
) -> Report {
    let mut report = Report::new(FormatId::RerBundle.name().into(), &CHECKS);
    let own_key = bundle_key(members, &mut report);
    let mut keys = keys.clone();
    if let Ok(Some(key)) = &own_key {
        keys.assert(*key);
    }
    let artifact = Artifact::judge(members.document(ARTIFACT_FILE), &keys, options, run);
    report.signer = artifact.report.signer.clone();
    for reason in &artifact.report.reasons {
        report.fail(ARTIFACT, reason);
    }
    // Two notes of an artifact that stands alone: here the manifest tells both.
    let of_one_alone = ["manifest_hash is set", "whether the producer or someone else withheld it"];
    let is_here = |note: &&String| !of_one_alone.iter().any(|begin| note.starts_with(begin));
    report.notes.extend(artifact.report.notes.iter().filter(is_here).cloned());
    report.artifact_checks = artifact.report.checks.clone();
    report.audit = artifact.report.audit.clone();
    report.withheld = artifact.redacted;
    report.run = artifact.report.run.clone();

    match manifest(members, options) {
        Ok(document) => judge(document, &artifact, &own_key, members, &mut report),
        Err(reason) => {
            for (name, _) in &CHECKS[1..] {
                report.fail(name, &reason);
            }
        }
    }
    report.sort_reasons();
    report.verdict = verdict(&report, artifact.events, artifact.redacted);
    report
}

/// What the bundle's own checks ask of the artifact.
struct Artifact {
    report: Report,
    hash: Result<Digest, String>,
    /// `manifest_hash` as carried.
    manifest_hash: Option<String>,
    events: usize,
    redacted: usize,
    /// What `rer.artifact.written` events name, or why they name nothing.
    written: Vec<(usize, Result<Digest, &'static str>)>,
    /// The key that the artifact names, if it is at hand.
    key: Option<PublicKey>,
}

impl Artifact {
    fn judge<'a>(
        bytes: Option<&'a [u8]>,
        keys: &Keys,
        options: &Options,
        run: impl FnOnce(&mut Survey<'a>) -> Result<Findings<'a>, SyntaxError>,
    ) -> Self {
        let bytes = bytes.unwrap_or_default();
        let mut survey = match Survey::open(bytes, options) {
            Ok(survey) => survey,
            Err(error) => return Self::unreadable(unreadable(bytes, &Head::default(), &error)),
        };
        let mut findings = match run(&mut survey) {
            Ok(findings) => findings,
            Err(error) => return Self::unreadable(unreadable(bytes, survey.head(), &error.into())),
        };
        let head = survey.head();
        let hash = match head.document {
            Some(document) => manifest::artifact_hash(document).map_err(|fault| fault.to_string()),
            None => Err("the artifact could not be read".into()),
        };
        let key_id = head.key_id().and_then(|id| key::KeyId::parse(&id));
        Self {
            hash,
            manifest_hash: head.manifest_hash.and_then(|hash| hash.string()).map(|hash| hash.into_owned()),
            events: findings.all.events,
            redacted: findings.all.redacted.count(),
            written: core::mem::take(&mut findings.all.written),
            key: key_id.and_then(|id| keys.find(&id)).map(|known| known.key),
            report: survey.conclude(findings, keys),
        }
    }

    fn unreadable(report: Report) -> Self {
        Self {
            report,
            hash: Err("the artifact could not be read".into()),
            manifest_hash: None,
            events: 0,
            redacted: 0,
            written: Vec::new(),
            key: None,
        }
    }
}

/// The key that the bundle brings: `key.bin`, `key.jwk`, or both if they agree.
fn bundle_key(members: &Members, report: &mut Report) -> Result<Option<PublicKey>, String> {
    let bin = members.document(KEY_FILE).map(PublicKey::from_raw);
    let jwk = members.document(JWK_FILE).map(|bytes| {
        let file = key::read(bytes)?;
        if file.holds_private {
            report
                .notes
                .push("key.jwk holds the private key: whoever has this bundle can sign as its signer".into());
        }
        match file.keys.as_slice() {
            [key] => Ok(*key),
            _ => Err(KeyError::Unrecognised),
        }
    });
    match (bin, jwk) {
        (Some(Err(error)), _) => Err(format!("key.bin: {error}")),
        (_, Some(Err(error))) => Err(format!("key.jwk: {error}")),
        (Some(Ok(bin)), Some(Ok(jwk))) if bin != jwk => Err("key.bin and key.jwk are different keys".into()),
        (Some(Ok(key)), _) | (None, Some(Ok(key))) => Ok(Some(key)),
        (None, None) => Ok(None),
    }
}

fn manifest<'a>(members: &'a Members, options: &Options) -> Result<Value<'a>, String> {
    let bytes = members.document(MANIFEST_FILE).ok_or("manifest.json is missing")?;
    let limits = Limits { bytes: options.limits.bytes, ..options.limits };
    let document =
        Value::parse(bytes, &limits).map_err(|error| format!("manifest.json: {}", error.describe(bytes)))?;
    if document.kind() != Kind::Object {
        return Err(format!("manifest.json is {}, not an object", document.kind().name()));
    }
    Ok(document)
}

/// Checks 2 to 10.
fn judge(
    document: Value<'_>,
    artifact: &Artifact,
    own_key: &Result<Option<PublicKey>, String>,
    members: &Members,
    report: &mut Report,
) {
    let view = ManifestView::of(document);
    match manifest::bundle_hash(document) {
        Ok(computed) => same_digest(report, MANIFEST_INTEGRITY, "bundle_hash", view.bundle_hash, &computed),
        Err(fault) => report.fail(MANIFEST_INTEGRITY, format!("bundle_hash cannot be recomputed: {fault}")),
    }
    match &artifact.hash {
        Ok(computed) => same_digest(report, ARTIFACT_HASH, "artifact_hash", view.artifact_hash, computed),
        Err(reason) => report.fail(ARTIFACT_HASH, format!("artifact_hash cannot be recomputed: {reason}")),
    }
    binding(&view, artifact, report);
    match (own_key, artifact.key) {
        (Err(reason), _) => report.fail(KEY_INTEGRITY, reason),
        (Ok(Some(own)), Some(signer)) if *own != signer => {
            report.fail(KEY_INTEGRITY, "the bundle's key is not the one that the artifact names");
        }
        (Ok(own), given) if own.or(given).is_some() => {
            let digest = own.or(given).map_or(Digest::of(b""), |key| key.digest());
            same_digest(report, KEY_INTEGRITY, "runtime_key_hash", view.runtime_key_hash, &digest);
        }
        (Ok(_), _) => report.fail(KEY_INTEGRITY, "the bundle holds no key, and none was given for it"),
    }
    counted(report, EVENT_COUNT, "total_event_count", view.total_event_count, artifact.events, "events");
    let redacted = artifact.redacted;
    counted(
        report,
        REDACTED_COUNT,
        "redacted_event_count",
        view.redacted_event_count,
        redacted,
        "withheld payloads",
    );
    let listed = blobs(&view, members, report);
    let mut unlisted = Capped::default();
    for (index, written) in &artifact.written {
        match written {
            Ok(hash) if listed.contains(hash) => {}
            Ok(hash) => {
                unlisted.push(format!("event {index}: blob {hash} is not listed in the manifest"));
            }
            Err(reason) => unlisted.push(format!("event {index}: {reason}")),
        }
    }
    unlisted.lines(Clone::clone).into_iter().for_each(|line| report.fail(BLOB_COMPLETENESS, line));
    if let Some(name) = view.unknown {
        let name = name.string().unwrap_or_default();
        report.notes.push(format!("the manifest has a member of its own, \"{}\"", Shown::new(&name)));
    }
}

fn same_digest(
    report: &mut Report,
    check: &'static str,
    name: &str,
    value: Option<Value<'_>>,
    computed: &Digest,
) {
    if !is_digest(value, computed) {
        report.fail(check, format!("{name} is {}, recomputed {computed}", spelled(value)));
    }
}

/// Check 4 compares two carried values: that each deserves to be carried is for others to check.
fn binding(view: &ManifestView<'_>, artifact: &Artifact, report: &mut Report) {
    let bundle_hash = view.bundle_hash.and_then(|hash| hash.string());
    match (&artifact.manifest_hash, bundle_hash) {
        (Some(named), Some(found)) if *named == found => {}
        (Some(named), _) => {
            let named = carried(named);
            let found = spelled(view.bundle_hash);
            report.fail(
                MANIFEST_BINDING,
                format!("the artifact's manifest_hash is {named}, bundle_hash is {found}"),
            );
        }
        (None, _) => {
            report.fail(MANIFEST_BINDING, "the artifact names no manifest (manifest_hash is null or missing)")
        }
    }
}

fn counted(
    report: &mut Report,
    check: &'static str,
    name: &str,
    value: Option<Value<'_>>,
    counted: usize,
    what: &str,
) {
    if value.and_then(|value| value.whole()) != Some(counted as u64) {
        report.fail(check, format!("{name} is {}, the artifact has {counted} {what}", spelled(value)));
    }
}

/// Checks 6 and 10. Blobs are found by their hash among the files, whatever these are called. Gives the listed hashes.
fn blobs(view: &ManifestView<'_>, members: &Members, report: &mut Report) -> BTreeSet<Digest> {
    let mut listed = BTreeSet::new();
    let Some(list) = view.blobs.filter(|blobs| blobs.kind() == Kind::Array) else {
        let found = spelled(view.blobs);
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
                spelled(blob.hash)
            );
            wrong.push(problem.clone());
            sizes.push(problem);
            continue;
        };
        listed.insert(hash);
        let size = blob.size_bytes.and_then(|size| size.whole());
        // A file that bears the blob's name but not its hash is the blob, changed: its size still tells something.
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
                let listed = spelled(blob.size_bytes);
                sizes.push(format!(
                    "blobs[{index}]: size_bytes is {listed}, the blob has {} bytes",
                    facts.size
                ));
            }
            None => sizes.push(format!("blobs[{index}]: no file with the hash {hash}, so it has no size")),
        }
    }
    wrong.lines(Clone::clone).into_iter().for_each(|line| report.fail(BLOB_INTEGRITY, line));
    sizes.lines(Clone::clone).into_iter().for_each(|line| report.fail(BLOB_METADATA, line));
    let mut strangers = Capped::default();
    for (name, facts) in members.files() {
        let claimed = name.strip_prefix("blobs/").and_then(|name| name.strip_suffix(".bin"));
        let claimed = claimed.and_then(Digest::from_hex).filter(|hash| listed.contains(hash));
        match claimed {
            Some(hash) if hash == facts.digest || changed_blobs.contains(&hash) => {}
            // The blob itself is there under another name; whoever goes by names gets this one.
            Some(_) => strangers
                .push(format!("{name} is not the blob that its name says: it has the hash {}", facts.digest)),
            None if listed.contains(&facts.digest) => {}
            None => strangers
                .push(format!("{} is not listed in the manifest: nothing vouches for it", Shown::new(name))),
        }
    }
    report.notes.extend(strangers.lines(Clone::clone));
    listed
}

/// The last line, for people.
fn verdict(report: &Report, events: usize, redacted: usize) -> String {
    let failed: Vec<&str> = report.failed().collect();
    if !failed.is_empty() {
        let (count, verb) = (failed.len(), if failed.len() == 1 { "does" } else { "do" });
        return format!("{count} of {} checks {verb} not hold: {}", CHECKS.len(), failed.join(", "));
    }
    let trust = report.signer.as_ref().map_or(Trust::Unknown, |signer| signer.trust);
    format!("{} ({})", super::judge::intact(trust), super::judge::extent(events, redacted))
}

/// The report on an archive that meant to be a bundle and could not be read to its end.
pub fn unreadable_archive(error: &dyn fmt::Display) -> Report {
    unreadable_whole("archive", error)
}

/// The report on a bundle's folder with something in it that does not belong there.
pub fn unreadable_folder(fault: &dyn fmt::Display) -> Report {
    unreadable_whole("folder", fault)
}

fn unreadable_whole(what: &str, error: &dyn fmt::Display) -> Report {
    let mut report = Report::new(FormatId::RerBundle.name().into(), &CHECKS);
    report.fail(ARTIFACT, format!("the {what} cannot be read: {error}"));
    for (name, _) in &CHECKS[1..] {
        report.fail(name, NOTHING_TO_CHECK);
    }
    report.artifact_checks = super::CHECKS
        .iter()
        .map(|&(name, asks)| crate::report::Check { name, asks, holds: Some(false) })
        .collect();
    report.signer = Some(Signer { key_id: None, trust: Trust::Unknown, label: None });
    report.audit = Some(super::audit::unreadable());
    report.verdict = format!("the {what} could not be read");
    report
}
