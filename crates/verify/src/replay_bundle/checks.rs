//! The seven checks of a Replay Bundle. Start reading at [`verify`].

use std::collections::BTreeSet;

use reenact_formats::replay_bundle::manifest::OutputsView;
use reenact_formats::replay_bundle::{
    CASSETTES_FOLDER, CoverageView, FILES_FOLDER, FileView, LIMIT_CODE, ManifestView, OUTPUTS_FOLDER,
    is_in_layout, manifest_limits, read_digest,
};
use reenact_json::syntax::SyntaxFault;
use reenact_json::{Shown, SyntaxError, Value, ValueKind};
use reenact_pack::{PackError, name_fault};

use super::shape::{self, plain_integer, shown_value};
use super::snapshot::{BundleSnapshot, SnapshotFault};
use super::{
    ARCHIVE, CHECKS, CONTENTS, FILES, MANIFEST, MANIFEST_FILE, PATHS, SECRET_NOTE, SECRETS, digests, leak,
};
use crate::archive;
use crate::capped::Capped;
use crate::report::{NOTHING_TO_CHECK, Report};

/// Checks a snapshot.
///
/// A snapshot that was not read to its end fails all checks, since nothing is known about the rest. No
/// check needs a key: Replay Bundles are not signed.
pub fn verify(snapshot: &BundleSnapshot) -> Report {
    if let Some(fault) = snapshot.fault() {
        return unreadable_report(snapshot, fault).bounded();
    }
    let mut report = Report::new(format_name(snapshot.manifest()), &CHECKS);
    match parse_manifest(snapshot.manifest()) {
        Ok(document) => check_manifest(ManifestView::of(document), snapshot, &mut report),
        Err(reason) => {
            report.fail(MANIFEST, reason);
            for id in [PATHS, FILES, super::DIGESTS, CONTENTS] {
                report.fail(id, NOTHING_TO_CHECK);
            }
        }
    }
    check_secrets(snapshot, &mut report);
    report.notes.extend(archive::lost_artifact_note(snapshot.manifest().unwrap_or_default()));
    report.sort_reasons();
    report.summary = summary(&report, snapshot);
    report.bounded()
}

/// Parses the manifest.
///
/// # Errors
/// Returns the reason if the manifest is missing or not a JSON object.
fn parse_manifest(bytes: Option<&[u8]>) -> Result<Value<'_>, String> {
    let bytes = bytes.ok_or("manifest.json is missing")?;
    let document = Value::parse(bytes, &manifest_limits()).map_err(|error| syntax_reason(&error, bytes))?;
    match document.kind() {
        ValueKind::Object => Ok(document),
        kind => Err(format!("manifest.json is {}, not an object", kind.name())),
    }
}

/// Describes a syntax error in the manifest. A broken limit begins with the limit code.
fn syntax_reason(error: &SyntaxError, bytes: &[u8]) -> String {
    match error.fault {
        SyntaxFault::TooDeep { .. } | SyntaxFault::TooLarge { .. } => {
            format!("{LIMIT_CODE}: manifest.json: {}", error.fault)
        }
        _ => format!("manifest.json: {}", error.describe(bytes)),
    }
}

/// Returns the format with the version that the manifest states.
fn format_name(manifest: Option<&[u8]>) -> String {
    let document = manifest.and_then(|bytes| Value::parse(bytes, &manifest_limits()).ok());
    let version = document.and_then(|document| document.member("schema_version"));
    match version.and_then(plain_integer::<u32>) {
        Some(version) => format!("replay-bundle/{version}"),
        None => "replay-bundle/?".into(),
    }
}

/// Returns the report on a bundle that was not read to its end.
fn unreadable_report(snapshot: &BundleSnapshot, fault: &SnapshotFault) -> Report {
    let mut report = Report::new(format_name(snapshot.manifest()), &CHECKS);
    let (check, reason) = match fault {
        SnapshotFault::Pack(PackError::Limit { .. }) => (ARCHIVE, format!("{LIMIT_CODE}: {fault}")),
        SnapshotFault::Pack(
            PackError::UnsafeName { .. }
            | PackError::Duplicate { .. }
            | PackError::CaseCollision { .. }
            | PackError::FileAndFolder { .. },
        ) => (PATHS, fault.to_string()),
        SnapshotFault::Folder => (PATHS, fault.to_string()),
        SnapshotFault::NoManifest => (MANIFEST, fault.to_string()),
        _ => (ARCHIVE, fault.to_string()),
    };
    report.fail(check, reason);
    for id in CHECKS.into_iter().filter(|id| *id != check) {
        report.fail(id, NOTHING_TO_CHECK);
    }
    report.sort_reasons();
    report.summary = "the bundle could not be read to its end".into();
    report
}

/// Runs the checks that need a manifest.
fn check_manifest(manifest: ManifestView<'_>, snapshot: &BundleSnapshot, report: &mut Report) {
    shape::faults(&manifest).into_iter().for_each(|fault| report.fail(MANIFEST, fault));
    let outputs = manifest.outputs.filter(|outputs| outputs.kind() == ValueKind::Object).map(OutputsView::of);
    check_paths(&manifest, outputs.as_ref(), snapshot, report);
    check_files(&manifest, snapshot, report);
    digests::check(&manifest, snapshot, report);
    // §4 requires at least one of these.
    let has_summary = outputs.is_some_and(|outputs| outputs.summary.is_some());
    let has_inputs = [manifest.config_digest, manifest.trace_digest, manifest.trace_path];
    if !has_summary {
        report.notes.push("the manifest names no summary: how the run ended cannot be shown".into());
        if has_inputs.iter().all(Option::is_none) {
            report.fail(CONTENTS, "the manifest names neither a config, nor a trace, nor a summary");
        }
    }
    add_coverage_note(&manifest, report);
    add_cassette_notes(snapshot, report);
}

/// Check 3: names in the manifest lead to members. The names of the members themselves were checked
/// while reading.
fn check_paths(
    manifest: &ManifestView<'_>,
    outputs: Option<&OutputsView<'_>>,
    snapshot: &BundleSnapshot,
    report: &mut Report,
) {
    let trace = manifest.trace_path.map(|path| ("trace_path".to_owned(), path));
    let outputs = outputs.into_iter().flat_map(|outputs| outputs.named());
    for (member, path) in
        trace.into_iter().chain(outputs.map(|(name, path)| (format!("outputs.{name}"), path)))
    {
        // Values that are not strings fail check 2.
        let Some(path) = path.string() else { continue };
        let shown = Shown::new(&path);
        match name_fault(&path) {
            Some(fault) => report.fail(PATHS, format!("{member} is \"{shown}\": {fault}")),
            None if snapshot.member(&path).is_none() => {
                report.fail(PATHS, format!("{member} is \"{shown}\", which is not in the bundle"));
            }
            None => {}
        }
    }
    let listed = manifest.files.into_iter().flat_map(|files| files.members());
    let mut unsafe_names = Capped::default();
    for (name, _) in listed {
        let name = name.string().unwrap_or_default();
        if let Some(fault) = name_fault(&name) {
            unsafe_names.push(format!("files lists \"{}\": {fault}", Shown::new(&name)));
        }
    }
    unsafe_names.lines(Clone::clone).into_iter().for_each(|line| report.fail(PATHS, line));
    let mut outside = Capped::default();
    for (name, _) in snapshot.members().filter(|(name, _)| !is_in_layout(name)) {
        outside.push(format!(
            "{} is in none of the folders {FILES_FOLDER}, {OUTPUTS_FOLDER}, {CASSETTES_FOLDER}: other tools refuse such a bundle",
            Shown::new(name)
        ));
    }
    report.notes.extend(outside.lines(Clone::clone));
}

/// Check 4: every listed file is there, and every file is listed.
fn check_files(manifest: &ManifestView<'_>, snapshot: &BundleSnapshot, report: &mut Report) {
    let list = match manifest.files {
        None => {
            report.mark_void(FILES);
            report.notes.push(
                "the manifest lists no files: nothing shows that they are the ones that were packed".into(),
            );
            return;
        }
        Some(list) if list.kind() != ValueKind::Object => {
            report.fail(FILES, format!("files is {}, not an object", shown_value(list)));
            return;
        }
        Some(list) => list,
    };
    let mut listed = BTreeSet::new();
    let mut faults = Capped::default();
    for (name, entry) in list.members() {
        let name = name.string().unwrap_or_default().into_owned();
        check_file(&name, entry, snapshot, &mut faults);
        listed.insert(name);
    }
    for (name, _) in snapshot.members().filter(|(name, _)| !listed.contains(*name)) {
        faults.push(format!("{} is in the bundle and not listed: nothing vouches for it", Shown::new(name)));
    }
    faults.lines(Clone::clone).into_iter().for_each(|line| report.fail(FILES, line));
}

/// Compares one file with its entry in the list.
fn check_file(name: &str, entry: Value<'_>, snapshot: &BundleSnapshot, faults: &mut Capped<String>) {
    let shown = Shown::new(name);
    if entry.kind() != ValueKind::Object {
        faults.push(format!("{shown} is listed as {}, not as an object", shown_value(entry)));
        return;
    }
    let view = FileView::of(entry);
    if view.mode.is_some_and(|mode| plain_integer::<u32>(mode).is_none()) {
        faults.push(format!("{shown}: mode is not a whole number"));
    }
    if view.content_type.is_some_and(|content_type| content_type.kind() != ValueKind::String) {
        faults.push(format!("{shown}: content_type is not a string"));
    }
    let size = view.size.and_then(plain_integer::<u64>);
    let text = view.sha256.and_then(|digest| digest.string());
    let digest = text.as_deref().and_then(read_digest);
    let as_listed = |value: Option<Value<'_>>| value.map_or("missing".into(), shown_value);
    if digest.is_none() {
        faults.push(format!("{shown}: sha256 is {}, not sha256:<64 hex digits>", as_listed(view.sha256)));
    }
    if size.is_none() {
        faults.push(format!("{shown}: size is {}, not a whole number", as_listed(view.size)));
    }
    let Some(facts) = snapshot.member(name) else {
        faults.push(format!("{shown} is listed and not in the bundle"));
        return;
    };
    if let Some(digest) = digest.filter(|digest| *digest != facts.digest) {
        faults.push(format!("{shown}: sha256 is {digest}, recomputed {}", facts.digest));
    }
    if let Some(size) = size.filter(|size| *size != facts.size) {
        let bytes = if facts.size == 1 { "is 1 byte".into() } else { format!("are {} bytes", facts.size) };
        faults.push(format!("{shown}: size is {size}, there {bytes}"));
    }
}

/// Adds a note on the tests that the bundle cannot replay, according to its producer.
fn add_coverage_note(manifest: &ManifestView<'_>, report: &mut Report) {
    let coverage = manifest.replay_coverage.filter(|coverage| coverage.kind() == ValueKind::Object);
    let Some(coverage) = coverage.map(CoverageView::of) else { return };
    let (complete, incomplete) = coverage.counts();
    let mut tests = coverage.incomplete();
    let Some((first, why)) = tests.next() else { return };
    let first = first.string().unwrap_or_default();
    let why = why.and_then(|why| why.string());
    // Messages of failed calls quote the request, which may hold a secret.
    let why = why.map(|why| String::from_utf8_lossy(&leak::masked(why.as_bytes())).into_owned());
    let why = why.map_or(String::new(), |why| format!(" ({})", Shown::new(&why)));
    let all = complete + incomplete;
    let more = match incomplete - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    report.notes.push(format!(
        "{incomplete} of {all} test{} cannot be replayed from it: {}{why}{more}",
        if all == 1 { "" } else { "s" },
        Shown::new(&first)
    ));
}

/// Adds a note for each cassette whose fingerprint is not that of its request.
fn add_cassette_notes(snapshot: &BundleSnapshot, report: &mut Report) {
    let mut strange = Capped::default();
    for (name, _) in snapshot.members().filter(|(_, facts)| facts.is_fingerprint_right == Some(false)) {
        strange.push(format!(
            "{}: its fingerprint is not that of its request; it may have been masked since",
            Shown::new(name)
        ));
    }
    report.notes.extend(strange.lines(Clone::clone));
}

/// Check 7. A secret in the outputs or in the manifest is only a note: the person who shares the bundle
/// decides.
fn check_secrets(snapshot: &BundleSnapshot, report: &mut Report) {
    let (mut faults, mut notes) = (Capped::default(), Capped::default());
    for (name, facts) in snapshot.members() {
        let Some(leak) = &facts.leak else { continue };
        let line = leak_text(name, leak);
        if name.starts_with(OUTPUTS_FOLDER) { notes.push(line) } else { faults.push(line) }
    }
    let manifest = snapshot.manifest().unwrap_or_default();
    let mut leak = None;
    leak::scan(manifest, 0, manifest.len(), 0, &mut leak);
    if let Some(leak) = &leak {
        notes.push(leak_text(MANIFEST_FILE, leak));
    }
    faults.lines(Clone::clone).into_iter().for_each(|line| report.fail(SECRETS, line));
    report.notes.extend(notes.lines(Clone::clone).into_iter().map(|line| format!("{SECRET_NOTE}{line}")));
}

/// Describes a leak by its position and rule, never by its text.
fn leak_text(name: &str, leak: &super::Leak) -> String {
    let more = match leak.count - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let name = Shown::new(name);
    format!("{name} seems to hold a secret at byte {} (rule {}){more}", leak.offset, leak.rule)
}

/// Returns the last line of the report, for people.
fn summary(report: &Report, snapshot: &BundleSnapshot) -> String {
    if report.failed().eq([SECRETS]) {
        return "intact, but it seems to hold a secret: do not share it".into();
    }
    let count = snapshot.members().count();
    match report.failure_summary() {
        Some(failure) => failure,
        None if report.check(FILES).is_none() => {
            "nothing is wrong with it, but its files are not vouched for".into()
        }
        None => format!("intact: {count} file{} as listed", if count == 1 { "" } else { "s" }),
    }
}
