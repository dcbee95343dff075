//! `reenact bundle inspect`: what a Replay Bundle says and what it holds.

use std::fmt::Write as _;
use std::path::PathBuf;

use reenact_formats::replay_bundle::manifest::{OutputsView, SeedsView};
use reenact_formats::replay_bundle::{CoverageView, ManifestView, manifest_limits};
use reenact_json::print::{self, Object};
use reenact_json::{Kind, Shown, Value};
use reenact_verify::Report;
use reenact_verify::render::Tone;
use reenact_verify::replay_bundle::{MemberFacts, Snapshot, masked};

use super::whole_snapshot;
use crate::output::{self, Ending};

/// Show what a Replay Bundle says and holds: manifest, files with their digests, coverage
///
/// Digests and sizes are computed from the files, not taken from the manifest. What looks like a secret in the manifest is masked.
/// The exit code is 0 if every check holds, 1 if one does not, 2 if it could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact bundle inspect run.tar.gz\n  reenact bundle inspect --json - < run.tar.gz"
)]
pub(super) struct Inspect {
    /// An archive, a folder laid out like one, or - for standard input
    #[arg(value_name = "PATH")]
    target: PathBuf,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let (snapshot, report) = whole_snapshot(&self.target, &mut |_| Ok(None))?;
        let manifest = masked(snapshot.manifest().unwrap_or_default());
        // What cannot be read has no members, and the report says why.
        let document = Value::parse(&manifest, &manifest_limits()).ok();
        let target = self.target.to_string_lossy();
        output::print(&match self.json {
            true => as_json(&target, document, &snapshot, &report),
            false => as_text(&target, document, &snapshot, &report),
        })?;
        Ok(u8::from(!report.pass()))
    }
}

/// What the manifest lists for each name.
fn is_listed(manifest: &ManifestView<'_>, name: &str) -> Option<bool> {
    manifest.files.map(|files| files.member(name).is_some())
}

fn as_text(target: &str, document: Option<Value<'_>>, snapshot: &Snapshot, report: &Report) -> String {
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
    if let Some(seeds) = manifest.seeds.map(SeedsView::of) {
        line("order seed", string(seeds.order_seed));
        line("judge seed", string(seeds.judge_seed));
    }
    coverage_text(&manifest, &mut text);
    members_text(&manifest, snapshot, &mut text);
    let mark =
        if report.pass() { output::paint(Tone::Good, "PASS") } else { output::paint(Tone::Bad, "FAIL") };
    let _ = writeln!(text, "  {mark}  {}", report.verdict);
    for reason in &report.reasons {
        let _ = writeln!(text, "        {reason}");
    }
    text
}

fn coverage_text(manifest: &ManifestView<'_>, text: &mut String) {
    let Some(coverage) = manifest.replay_coverage.map(CoverageView::of) else { return };
    let (complete, incomplete) = coverage.counts();
    let _ =
        writeln!(text, "  {:12}  {complete} of {} tests can be replayed", "coverage", complete + incomplete);
    for (test, why) in coverage.incomplete() {
        let test = test.string().unwrap_or_default();
        let why = why.and_then(|why| why.string());
        let why = why.map_or(String::new(), |why| format!(": {}", Shown::new(&why)));
        let _ = writeln!(text, "  {:12}  not {}{why}", "", Shown::new(&test));
    }
}

fn members_text(manifest: &ManifestView<'_>, snapshot: &Snapshot, text: &mut String) {
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

fn as_json(target: &str, document: Option<Value<'_>>, snapshot: &Snapshot, report: &Report) -> String {
    let manifest = document.map_or_else(ManifestView::default, ManifestView::of);
    let mut line = String::new();
    let mut object = Object::open(&mut line);
    object.string("target", target);
    object.string("format", report.format.as_str());
    object.boolean("pass", report.pass());
    object.strings("reasons", &report.reasons);
    object.strings("notes", &report.notes);
    match document {
        Some(document) => write_value(document, object.name("manifest")),
        None => object.name("manifest").push_str("null"),
    }
    print::list(snapshot.members(), object.name("members"), |(name, facts), out| {
        let mut member = Object::open(out);
        member.string("name", name);
        member.name("size").push_str(&facts.size.to_string());
        member.string("sha256", facts.digest.to_string().as_str());
        member.boolean("listed", is_listed(&manifest, name));
        match &facts.leak {
            None => member.string("secret", None),
            Some(leak) => {
                let mut secret = Object::open(member.name("secret"));
                secret.string("rule", &*leak.rule);
                secret.name("offset").push_str(&leak.offset.to_string());
                secret.name("count").push_str(&leak.count.to_string());
                secret.close();
            }
        }
        member.boolean("cassette_fingerprint", facts.cassette);
        member.close();
    });
    match manifest.replay_coverage.map(CoverageView::of) {
        None => object.name("coverage").push_str("null"),
        Some(coverage) => {
            let (complete, incomplete) = coverage.counts();
            let mut member = Object::open(object.name("coverage"));
            member.name("complete").push_str(&complete.to_string());
            member.name("incomplete").push_str(&incomplete.to_string());
            member.close();
        }
    }
    object.close();
    line + "\n"
}

/// A value in one line, with everything escaped that could act on a terminal. It is not deep: manifests are bounded.
fn write_value(value: Value<'_>, out: &mut String) {
    match value.kind() {
        Kind::String => print::string(&value.string().unwrap_or_default(), out),
        Kind::Array => print::list(value.elements(), out, write_value),
        Kind::Object => {
            let mut object = Object::open(out);
            for (name, value) in value.members() {
                write_value(value, object.name(&name.string().unwrap_or_default()));
            }
            object.close();
        }
        _ => out.push_str(&String::from_utf8_lossy(value.text())),
    }
}
