//! Check 5: the digests of config, trace, policy and baseline.

use reenact_formats::replay_bundle::{FILES_FOLDER, ManifestView, read_digest};
use reenact_json::{Digest, Shown, Value, ValueKind};

use super::DIGESTS;
use super::shape::shown_value;
use super::snapshot::BundleSnapshot;
use crate::report::Report;

/// Checks each digest that the manifest states. The check is void if it states none.
pub(super) fn check(manifest: &ManifestView<'_>, snapshot: &BundleSnapshot, report: &mut Report) {
    let carried = [
        ("config_digest", manifest.config_digest),
        ("policy_digest", manifest.policy_digest),
        ("baseline_digest", manifest.baseline_digest),
        ("trace_digest", manifest.trace_digest),
    ];
    if carried.iter().all(|(_, value)| value.is_none()) {
        report.mark_void(DIGESTS);
        return;
    }
    let [config, policy, baseline, trace] = carried.map(|(name, value)| read_carried(name, value, report));
    if let Some(digest) = config {
        check_config(&digest, snapshot, report);
    }
    if let Some(digest) = trace {
        check_trace(&digest, manifest.trace_path, snapshot, report);
    }
    // A policy that is the config was already checked.
    for (what, digest) in
        [("policy", policy.filter(|policy| Some(*policy) != config)), ("baseline", baseline)]
    {
        if let Some(digest) = digest.filter(|digest| !has_member(digest, snapshot)) {
            report.notes.push(by_digest_only(what, &digest));
        }
    }
}

/// Parses a carried digest. A malformed one fails the check.
fn read_carried(name: &str, value: Option<Value<'_>>, report: &mut Report) -> Option<Digest> {
    let value = value?;
    let digest = value.string().and_then(|text| read_digest(&text));
    if digest.is_none() {
        report.fail(DIGESTS, format!("{name} is {}, not sha256:<64 hex digits>", shown_value(value)));
    }
    digest
}

/// Returns true if any member has this digest.
fn has_member(digest: &Digest, snapshot: &BundleSnapshot) -> bool {
    snapshot.members().any(|(_, facts)| facts.digest == *digest)
}

/// Returns the note on a document of which the bundle has only the digest.
fn by_digest_only(what: &str, digest: &Digest) -> String {
    format!("the {what} is held by its digest only, {digest}: it is not here to be checked")
}

/// Checks that a file in `files/` has the config's digest.
///
/// If none has, but another file there could be a config, then the bundle holds another config than the
/// one that was used.
fn check_config(digest: &Digest, snapshot: &BundleSnapshot, report: &mut Report) {
    let in_files = || snapshot.members().filter(|(name, _)| name.starts_with(FILES_FOLDER));
    if in_files().any(|(_, facts)| facts.digest == *digest) {
        return;
    }
    let mut others = in_files().filter(|(name, _)| name.ends_with(".yaml") || name.ends_with(".yml"));
    match others.next() {
        Some((name, facts)) => {
            let name = Shown::new(name);
            let found = format!("no file in {FILES_FOLDER} has it; {name} has {}", facts.digest);
            report.fail(DIGESTS, format!("config_digest is {digest}, {found}"));
        }
        None => report.notes.push(by_digest_only("config", digest)),
    }
}

/// Checks that the file at `path` has the trace's digest; without a path, that any file has.
fn check_trace(digest: &Digest, path: Option<Value<'_>>, snapshot: &BundleSnapshot, report: &mut Report) {
    let path = path.filter(|path| path.kind() == ValueKind::String).and_then(|path| path.string());
    match path.as_deref().map(|path| (path, snapshot.member(path))) {
        Some((_, Some(facts))) if facts.digest == *digest => {}
        Some((path, Some(facts))) => {
            let path = Shown::new(path);
            report.fail(DIGESTS, format!("trace_digest is {digest}, {path} has {}", facts.digest));
        }
        Some((path, None)) => {
            let path = Shown::new(path);
            report.fail(DIGESTS, format!("trace_digest is {digest}, but there is no {path} to have it"));
        }
        None if has_member(digest, snapshot) => {}
        None => report.notes.push(by_digest_only("trace", digest)),
    }
}
