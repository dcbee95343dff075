//! `reenact bundle inspect`: what a bundle says and holds. This module has the Replay Bundle: its manifest, files and coverage.
//!
//! ```text
//! run.tar.gz  replay-bundle/1
//!   written by    reenact/0.1.0
//!   trace file    files/trace.jsonl
//!   recorded      exit 0, 1 of 2 tests passed
//!   coverage      1 of 2 tests can be replayed
//!                 not invoice_judged: no judge was reachable
//!   bytes  sha256                                                            name
//!     187  31b8c9585fb295b9257196a94f7d53bc006a68b86fe96cd4e8e66c3f145d577c  files/trace.jsonl
//!   PASS  intact: 5 files as listed
//! ```
//!
//! Sizes and digests are computed from the files; secrets in the manifest are masked before it is shown.

use std::fmt::Write as _;
use std::path::PathBuf;

use reenact_formats::replay_bundle::manifest::{OutputsView, SeedsView};
use reenact_formats::replay_bundle::{CoverageView, ManifestView, manifest_limits};
use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Shown, Value, ValueKind};
use reenact_run::BundledOutcome;
use reenact_verify::render::{self, Tone};
use reenact_verify::replay_bundle::{BundleSnapshot, MemberFacts, masked};
use reenact_verify::{Demands, Keys, Report};

use super::outcome::ReportCopies;
use super::{BundleKind, BundleSource, complete_snapshot, unreadable};
use crate::output::{self, CommandError};
use crate::quantity;
use crate::runs::{self, KeyFileArgs};

/// Show what a bundle says and holds: its manifest, and its files with their digests
///
/// Of a Replay Bundle the coverage is shown, of an RER bundle the artifact, its signer, and the events that speak of each file.
/// Digests and sizes are computed from the files, not taken from the manifest. What looks like a secret in the manifest is masked.
/// The exit code is 0 if every check holds, 1 if one does not, 2 if it could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact bundle inspect run.tar.gz\n  reenact bundle inspect run.rer.tar.gz --key signer.jwk\n  reenact bundle inspect --json - < run.tar.gz"
)]
pub(super) struct BundleInspectArgs {
    /// An archive, a folder laid out like one, or - for standard input
    #[arg(value_name = "PATH")]
    target: PathBuf,

    /// A public key for an RER bundle, which is signed; may be given more than once
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,

    /// Take any signer: without it, --key answers no unless one of its keys signed
    #[arg(long)]
    any_signer: bool,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Options of `inspect`, as the kinds of bundles need them.
pub(super) struct InspectRequest {
    pub(super) keys: Keys,
    /// Demands of the caller beyond the checks: with `--key`, that it signed.
    pub(super) demands: Demands,
    pub(super) json: bool,
}

impl BundleInspectArgs {
    /// Prints the content of the bundle, with the verdict.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let files = KeyFileArgs { key: self.key.clone(), ..KeyFileArgs::default() };
        let request = InspectRequest {
            keys: runs::load_keys(&files)?,
            demands: Demands { supplied: !self.any_signer && !self.key.is_empty(), ..Demands::default() },
            json: self.json,
        };
        let source = BundleSource::open(&self.target).map_err(unreadable)?;
        (BundleKind::of(&source).inspect)(&source, &request)
    }
}

impl InspectRequest {
    /// Returns the exit code for a report; the demands that it does not meet go to standard error.
    pub(super) fn exit_code(&self, target: &str, report: &Report) -> u8 {
        let unmet = self.demands.unmet(report);
        for unmet in &unmet {
            output::print_notice(&format!("{}: {unmet}", Shown::whole(target)));
        }
        u8::from(!report.pass() || !unmet.is_empty())
    }
}

/// Prints the content of a Replay Bundle, with the verdict. The exit code is 1 if a check fails.
pub(super) fn replay_bundle(source: &BundleSource<'_>, request: &InspectRequest) -> Result<u8, CommandError> {
    let mut reports = ReportCopies::new();
    let (snapshot, report) = complete_snapshot(source, &mut |name| Ok(reports.writer_for(name)))?;
    let manifest = masked(snapshot.manifest().unwrap_or_default());
    // A manifest that cannot be parsed is shown as empty; the report says why.
    let document = Value::parse(&manifest, &manifest_limits()).ok();
    let target = source.path.to_string_lossy();
    let outcome = reports.outcome(&document.map_or_else(ManifestView::default, ManifestView::of));
    let print = if request.json { as_json } else { as_text };
    output::print(&print(&target, document, outcome.as_ref(), &snapshot, &report))?;
    Ok(request.exit_code(&target, &report))
}

/// Returns true if the manifest lists a file; `None` if the manifest has no list.
fn is_listed(manifest: &ManifestView<'_>, name: &str) -> Option<bool> {
    manifest.files.map(|files| files.member(name).is_some())
}

/// Returns the content as text for people. Members of the manifest that are missing or of the wrong type have no line.
fn as_text(
    target: &str,
    document: Option<Value<'_>>,
    outcome: Option<&BundledOutcome>,
    snapshot: &BundleSnapshot,
    report: &Report,
) -> String {
    let title = Shown::whole(target).to_string();
    let mut text = format!("{}  {}\n", output::paint(Tone::Title, &title), report.format);
    let manifest = document.map_or_else(ManifestView::default, ManifestView::of);
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(text, "  {name:12}  {value}");
        }
    };
    let string = |value: Option<Value<'_>>| Some(Shown::new(&value?.string()?).to_string());
    line("written by", string(manifest.assay_version));
    line("created at", string(manifest.created_at));
    line("source", string(manifest.source_run_path));
    line("selected by", string(manifest.selection_method));
    line("commit", string(manifest.git_sha));
    line("workflow run", string(manifest.workflow_run_id));
    for (name, value) in [
        ("config", manifest.config_digest),
        ("policy", manifest.policy_digest),
        ("baseline", manifest.baseline_digest),
        ("trace", manifest.trace_digest),
    ] {
        line(name, string(value));
    }
    line("trace file", string(manifest.trace_path));
    if let Some(outputs) = manifest.outputs.map(OutputsView::of) {
        outputs.named().for_each(|(name, path)| line(name, string(Some(path))));
    }
    line("recorded", outcome.map(ToString::to_string));
    if let Some(seeds) = manifest.seeds.map(SeedsView::of) {
        line("order seed", string(seeds.order_seed));
        line("judge seed", string(seeds.judge_seed));
    }
    coverage_text(&manifest, &mut text);
    members_text(&manifest, snapshot, &mut text);
    let _ = writeln!(text, "  {}", render::verdict_line(report, &output::paint));
    for reason in &report.reasons {
        let _ = writeln!(text, "        {reason}");
    }
    text
}

/// Appends how many tests can be replayed, and the reason for each that cannot.
fn coverage_text(manifest: &ManifestView<'_>, text: &mut String) {
    let Some(coverage) = manifest.replay_coverage.map(CoverageView::of) else { return };
    let (complete, incomplete) = coverage.counts();
    let _ = writeln!(
        text,
        "  {:12}  {complete} of {} can be replayed",
        "coverage",
        quantity::count((complete + incomplete) as u64, "test")
    );
    for (test, why) in coverage.incomplete() {
        let test = test.string().unwrap_or_default();
        let why = why.and_then(|why| why.string());
        let why = why.map_or(String::new(), |why| format!(": {}", Shown::new(&why)));
        let _ = writeln!(text, "  {:12}  not {}{why}", "", Shown::new(&test));
    }
}

/// Appends a table of the files: size in bytes, SHA-256, name, and marks for unlisted files and suspected
/// secrets. A mark names the rule that found the secret, never the secret.
fn members_text(manifest: &ManifestView<'_>, snapshot: &BundleSnapshot, text: &mut String) {
    let bytes = |facts: &MemberFacts| facts.size.to_string();
    let width = snapshot.members().map(|(_, facts)| bytes(facts).len()).max().unwrap_or(0).max("bytes".len());
    let head = format!("  {:>width$}  {:64}  name", "bytes", "sha256");
    let _ = writeln!(text, "{}", output::paint(Tone::Quiet, &head));
    for (name, facts) in snapshot.members() {
        let mut marks = String::new();
        if is_listed(manifest, name) == Some(false) {
            marks.push_str("  (not listed)");
        }
        if let Some(leak) = &facts.leak {
            let _ = write!(marks, "  (seems to hold a secret: {})", leak.rule);
        }
        let _ = writeln!(
            text,
            "  {:>width$}  {}  {}{}",
            bytes(facts),
            facts.digest,
            Shown::whole(name),
            output::paint(Tone::Bad, &marks)
        );
    }
}

/// Returns the content as one line of JSON. The manifest is in it as a whole, masked; `null` if it cannot be parsed.
fn as_json(
    target: &str,
    document: Option<Value<'_>>,
    outcome: Option<&BundledOutcome>,
    snapshot: &BundleSnapshot,
    report: &Report,
) -> String {
    let manifest = document.map_or_else(ManifestView::default, ManifestView::of);
    let mut line = String::new();
    let mut object = PrintObjectWriter::open(&mut line);
    object.string("target", target);
    object.string("format", report.format.as_str());
    object.boolean("pass", report.pass());
    object.strings("reasons", &report.reasons);
    object.strings("notes", &report.notes);
    match document {
        Some(document) => write_value(document, object.name("manifest")),
        None => object.name("manifest").push_str("null"),
    }
    print::write_list(snapshot.members(), object.name("members"), |(name, facts), out| {
        let mut member = PrintObjectWriter::open(out);
        member.string("name", name);
        member.name("size").push_str(&facts.size.to_string());
        member.string("sha256", facts.digest.to_string().as_str());
        member.boolean("listed", is_listed(&manifest, name));
        match &facts.leak {
            None => member.string("secret", None),
            Some(leak) => {
                let mut secret = PrintObjectWriter::open(member.name("secret"));
                secret.string("rule", &*leak.rule);
                secret.name("offset").push_str(&leak.offset.to_string());
                secret.name("count").push_str(&leak.count.to_string());
                secret.close();
            }
        }
        member.boolean("cassette_fingerprint", facts.is_fingerprint_right);
        member.close();
    });
    match outcome {
        Some(outcome) => outcome.write_json(object.name("outcome")),
        None => object.string("outcome", None),
    }
    match manifest.replay_coverage.map(CoverageView::of) {
        None => object.name("coverage").push_str("null"),
        Some(coverage) => {
            let (complete, incomplete) = coverage.counts();
            let mut member = PrintObjectWriter::open(object.name("coverage"));
            member.name("complete").push_str(&complete.to_string());
            member.name("incomplete").push_str(&incomplete.to_string());
            member.close();
        }
    }
    object.close();
    line + "\n"
}

/// Writes a value in one line, with characters escaped that act on a terminal. The recursion is bounded by
/// the limits on manifests.
pub(super) fn write_value(value: Value<'_>, out: &mut String) {
    match value.kind() {
        ValueKind::String => print::write_string(&value.string().unwrap_or_default(), out),
        ValueKind::Array => print::write_list(value.elements(), out, write_value),
        ValueKind::Object => {
            let mut object = PrintObjectWriter::open(out);
            for (name, value) in value.members() {
                write_value(value, object.name(&name.string().unwrap_or_default()));
            }
            object.close();
        }
        _ => out.push_str(&String::from_utf8_lossy(value.text())),
    }
}
