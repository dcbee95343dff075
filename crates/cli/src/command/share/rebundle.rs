//! `--as replay` of a Replay Bundle: the same bundle again, with what is given to it.
//!
//! Nothing is read out of it and written anew: config, trace, outputs, cassettes, seeds and coverage stay as they are, and
//! so does what its manifest says of its origin. Start reading at `share_bundle_again`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use reenact_formats::replay_bundle::manifest::OutputsView;
use reenact_formats::replay_bundle::{
    CASSETTES_FOLDER, MANIFEST, ManifestView, RewrittenBundle, manifest_limits, read_digest, rewrite,
};
use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Shown, Value};
use reenact_run::Run;

use super::ShareArgs;
use super::bundle_extras::BundleExtras;
use super::replay::reproduce_command;
use crate::output::CommandError;
use crate::quantity;

impl ShareArgs {
    /// Writes the bundle again, and prints what of it was kept and what was added.
    ///
    /// # Errors
    ///
    /// If an addition contradicts the bundle, or what was made does not verify.
    pub(super) fn share_bundle_again(
        &self,
        path: &Path,
        run: &Run,
        extras: &BundleExtras,
    ) -> Result<u8, CommandError> {
        let manifest = run.file(MANIFEST).unwrap_or_default();
        let again = rewrite(manifest, run.files(), &extras.files, &extras.seeds).map_err(|error| {
            let name = path.to_string_lossy();
            CommandError::impossible(format!("{}: {error}", Shown::whole(&name)))
        })?;
        let written = self.write_bundle(run, &again.bytes)?;
        let kept = kept_parts(run);
        let added = added_parts(extras);
        let reproduce = reproduce_command(&written.place, run);
        let RewrittenBundle { file_count, moved, .. } = again;
        written.place.print_report(&if self.json {
            let mut line = String::new();
            let mut object = PrintObjectWriter::open(&mut line);
            written.write_facts("replay-bundle/1", &mut object);
            object.name("files").push_str(&file_count.to_string());
            object.strings("kept", &kept);
            object.strings("added", &added);
            let moved: Vec<String> = moved.into_iter().map(|(old, _)| old).collect();
            object.strings("moved", &moved);
            object.string("reproduce", reproduce.as_str());
            object.close();
            line + "\n"
        } else {
            let mut text = format!(
                "{} ({}): made of a Replay Bundle; {}, verified\n  kept: {}\n",
                written.place.shown(),
                quantity::size(written.size),
                quantity::count(file_count as u64, "file"),
                kept.join(", "),
            );
            if !added.is_empty() {
                let _ = writeln!(text, "  added: {}", added.join(", "));
            }
            for (old, new) in &moved {
                let _ = writeln!(text, "  moved: {} to {}", Shown::new(old), Shown::new(new));
            }
            let _ = writeln!(text, "reproduce: {reproduce}");
            text
        })?;
        Ok(0)
    }
}

/// Returns the parts of a bundle that are written again as they are, in words of our own.
fn kept_parts(run: &Run) -> Vec<String> {
    let document = Value::parse(run.file(MANIFEST).unwrap_or_default(), &manifest_limits()).ok();
    let view = document.map(ManifestView::of).unwrap_or_default();
    let outputs = view.outputs.map(OutputsView::of).unwrap_or_default();
    let digests: HashSet<Digest> = run.files().map(|(_, content)| Digest::of(content)).collect();
    // A document may be held by its digest alone.
    let is_here = |digest: Option<Value<'_>>| {
        digest
            .and_then(|digest| read_digest(&digest.string()?))
            .is_none_or(|digest| digests.contains(&digest))
    };
    let mut kept = Vec::new();
    let mut keep = |is_there: bool, name: &str| {
        if is_there {
            kept.push(name.to_owned());
        }
    };
    for (name, digest) in [
        ("config", view.config_digest),
        ("policy", view.policy_digest),
        ("baseline", view.baseline_digest),
        ("trace", view.trace_digest.or(view.trace_path)),
    ] {
        let named = if is_here(digest) { name.to_owned() } else { format!("digest of the {name}") };
        keep(digest.is_some(), &named);
    }
    for (name, _) in outputs.named() {
        keep(true, name);
    }
    let cassettes = run.files().filter(|(name, _)| name.starts_with(CASSETTES_FOLDER)).count() as u64;
    keep(cassettes > 0, &quantity::count(cassettes, "cassette"));
    keep(view.seeds.is_some(), "seeds");
    keep(view.replay_coverage.is_some(), "coverage");
    keep(view.toolchain.is_some(), "toolchain");
    keep(view.created_at.is_some(), "time of making");
    keep(view.source_run_path.is_some() || view.selection_method.is_some(), "source");
    kept
}

/// Returns the documents and seeds that were given.
fn added_parts(extras: &BundleExtras) -> Vec<String> {
    let files = extras.files.iter().map(|file| file.document.name().to_owned());
    let seeds = [("order seed", &extras.seeds.order_seed), ("judge seed", &extras.seeds.judge_seed)];
    let seeds = seeds.into_iter().filter_map(|(name, seed)| Some(format!("{name} {}", seed.as_ref()?)));
    files.chain(seeds).collect()
}
