//! The four digests of a manifest that speak of whole documents: config, trace, policy, baseline.

use reenact_formats::replay_bundle::{FILES, ManifestView, read_digest};
use reenact_json::{Digest, Kind, Shown, Value};

use super::DIGESTS;
use super::shape::spelled;
use super::snapshot::Snapshot;
use crate::report::Report;

/// Checks each that is there; the check is void if none is.
pub(super) fn judge(manifest: &ManifestView<'_>, snapshot: &Snapshot, report: &mut Report) {
    let carried = [
        ("config_digest", manifest.config_digest),
        ("policy_digest", manifest.policy_digest),
        ("baseline_digest", manifest.baseline_digest),
        ("trace_digest", manifest.trace_digest),
    ];
    if carried.iter().all(|(_, value)| value.is_none()) {
        report.void(DIGESTS);
        return;
    }
    let [config, policy, baseline, trace] = carried.map(|(name, value)| read(name, value, report));
    if let Some(digest) = config {
        judge_config(&digest, snapshot, report);
    }
    if let Some(digest) = trace {
        judge_trace(&digest, manifest.trace_path, snapshot, report);
    }
    // A policy that is the config was spoken of already.
    for (what, digest) in
        [("policy", policy.filter(|policy| Some(*policy) != config)), ("baseline", baseline)]
    {
        if let Some(digest) = digest.filter(|digest| !is_held(digest, snapshot)) {
            report.notes.push(by_digest_only(what, &digest));
        }
    }
}

fn read(name: &str, value: Option<Value<'_>>, report: &mut Report) -> Option<Digest> {
    let value = value?;
    let digest = value.string().and_then(|text| read_digest(&text));
    if digest.is_none() {
        report.fail(DIGESTS, format!("{name} is {}, not sha256:<64 hex digits>", spelled(value)));
    }
    digest
}

fn is_held(digest: &Digest, snapshot: &Snapshot) -> bool {
    snapshot.members().any(|(_, facts)| facts.digest == *digest)
}

fn by_digest_only(what: &str, digest: &Digest) -> String {
    format!("the {what} is held by its digest only, {digest}: it is not here to be checked")
}

/// The config is the file in `files/` with that digest. If there is none and something there could be a config, then that is
/// another config than the one that was used.
fn judge_config(digest: &Digest, snapshot: &Snapshot, report: &mut Report) {
    let in_files = || snapshot.members().filter(|(name, _)| name.starts_with(FILES));
    if in_files().any(|(_, facts)| facts.digest == *digest) {
        return;
    }
    let mut others = in_files().filter(|(name, _)| name.ends_with(".yaml") || name.ends_with(".yml"));
    match others.next() {
        Some((name, facts)) => {
            let name = Shown::new(name);
            let found = format!("no file in {FILES} has it; {name} has {}", facts.digest);
            report.fail(DIGESTS, format!("config_digest is {digest}, {found}"));
        }
        None => report.notes.push(by_digest_only("config", digest)),
    }
}

/// The trace is where the manifest says; without that, any file with that digest.
fn judge_trace(digest: &Digest, path: Option<Value<'_>>, snapshot: &Snapshot, report: &mut Report) {
    let path = path.filter(|path| path.kind() == Kind::String).and_then(|path| path.string());
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
        None if is_held(digest, snapshot) => {}
        None => report.notes.push(by_digest_only("trace", digest)),
    }
}
