//! `--as replay`: trace, cassettes, config and what came out.

use std::fmt::Write as _;
use std::path::Path;

use reenact_formats::replay_bundle::draft::{Outputs, Runner, Seeds, Toolchain};
use reenact_formats::replay_bundle::{Held, NewFile, write};
use reenact_json::print::Object;
use reenact_json::{Digest, Limits, Shown, Value};
use reenact_run::Run;
use reenact_run::convert::export::replay_bundle::{TRACE, manifest, parts};
use reenact_run::convert::{Exporting, Losses};
use reenact_run::gate::Gate;
use reenact_verify::disk;

use super::Create;
use crate::output::{self, Ending};
use crate::{quantity, runs};

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Create {
    pub(super) fn replay(&self) -> Result<u8, Ending> {
        let runs::Found { path, run, report } = runs::open(&self.run, &self.keys)?;
        if !report.pass() {
            let (name, why) = (path.to_string_lossy(), report.reasons.first().map_or("", String::as_str));
            return Err(Ending::refused(format!(
                "{}: it does not verify, so nothing was made of it: {}; `reenact verify` says more, and --key gives a key",
                Shown::whole(&name),
                Shown::whole(why)
            )));
        }
        if run.is_imported() && !was_verified(&run) {
            let name = path.to_string_lossy();
            return Err(Ending::refused(format!(
                "{}: what it was imported from did not verify, so nothing was made of it",
                Shown::whole(&name)
            )));
        }
        let parts = parts(&run, &mut Losses::new());
        let mut gate = Gate::of(&run, VERSION);
        gate.trace_digest = Some(Digest::of(&parts.trace));
        let how = Exporting { version: VERSION, now: "", source: (&report.format, source(&run)) };
        let mut manifest = manifest(&run, &how, parts.coverage.clone());
        let mut files: Vec<(String, Vec<u8>)> = vec![
            (TRACE.to_owned(), parts.trace),
            ("outputs/run.json".to_owned(), gate.run_json().into_bytes()),
            ("outputs/summary.json".to_owned(), gate.summary_json().into_bytes()),
        ];
        manifest.outputs = Outputs {
            run: Some("outputs/run.json".to_owned()),
            summary: Some("outputs/summary.json".to_owned()),
            ..Outputs::default()
        };
        let cassettes = parts.cassettes.len();
        files.extend(parts.cassettes);
        for (given, name, place) in [
            (&self.junit, "outputs/junit.xml", &mut manifest.outputs.junit),
            (&self.sarif, "outputs/sarif.json", &mut manifest.outputs.sarif),
        ] {
            if let Some(given) = given {
                files.push((name.to_owned(), read(given)?));
                *place = Some(name.to_owned());
            }
        }
        if let Some(config) = &self.config {
            let name = config_name(config);
            files.push((name.clone(), read(config)?));
            manifest.config = Held::File(name);
        }
        manifest.toolchain = toolchain(&run);
        manifest.seeds = Some(Seeds { seed_version: Some(1), ..Seeds::default() });
        let new: Vec<NewFile<'_>> = files.iter().map(|(name, content)| NewFile { name, content }).collect();
        let bytes =
            write(&manifest, &new, Vec::new()).map_err(|error| Ending::impossible(error.to_string()))?;
        let written = self.write(&run, "tar.gz", &bytes)?;

        let (complete, incomplete) = (parts.coverage.complete.len(), parts.coverage.incomplete.len());
        let name = written.path.to_string_lossy();
        output::print(&if self.json {
            let mut line = String::new();
            let mut object = Object::open(&mut line);
            object.string("out", name.as_ref());
            object.string("format", "replay-bundle/1");
            object.string("digest", format!("sha256:{}", written.digest).as_str());
            object.name("bytes").push_str(&written.size.to_string());
            object.name("files").push_str(&files.len().to_string());
            object.name("cassettes").push_str(&cassettes.to_string());
            object.name("complete").push_str(&complete.to_string());
            object.name("incomplete").push_str(&incomplete.to_string());
            object.close();
            line + "\n"
        } else {
            let shown = Shown::whole(&name);
            let mut text = format!(
                "{shown} ({}): {}, {}; verified\n",
                quantity::size(written.size),
                quantity::count(complete as u64, "answer"),
                quantity::count(cassettes as u64, "cassette"),
            );
            for (id, why) in &parts.coverage.reason {
                let _ = writeln!(text, "  not in it: {}: {}", Shown::new(id), Shown::new(why));
            }
            let _ = writeln!(
                text,
                "prompts and answers are in it as they were recorded; see `reenact bundle inspect {shown}`"
            );
            text
        })?;
        Ok(0)
    }
}

/// Whether a record was found good when it was imported, or of a kind that nobody can judge.
fn was_verified(run: &Run) -> bool {
    let Ok(document) = Value::parse(run.document(), &Limits::default()) else { return false };
    let first = document.member("events").and_then(|events| events.elements().next());
    let import = first.and_then(|first| first.member("payload")?.member("import"));
    import
        .and_then(|import| import.member("verified"))
        .is_some_and(|verified| verified.boolean() != Some(false))
}

/// The digest by which the bundle names what it was made from: of what was signed, or else of all bytes.
fn source(run: &Run) -> Digest {
    run.digest().unwrap_or_else(|| Digest::of(run.bytes()))
}

fn read(path: &Path) -> Result<Vec<u8>, Ending> {
    disk::read(path).map_err(|error| Ending::impossible(format!("{error} ({})", error.code)))
}

/// The name of a config in a bundle: its ending is kept, as readers go by it; whose folder it lay in is not.
fn config_name(path: &Path) -> String {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "json" => "files/eval.json".into(),
        "toml" => "files/eval.toml".into(),
        _ => "files/eval.yaml".into(),
    }
}

/// Where the run was recorded, as far as its record says.
fn toolchain(run: &Run) -> Option<Toolchain> {
    let environment = run.environment()?;
    let text = |name| environment.member(name).and_then(|value| value.string()).map(|text| text.into_owned());
    let runner = Runner { os: text("os"), arch: text("arch"), ..Runner::default() };
    Some(Toolchain { runner: Some(runner), ..Toolchain::default() })
}
