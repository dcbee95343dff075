//! What an RER bundle says and holds: the artifact, its signer, the files with the events that speak of them.
//!
//! ```text
//! run.rer.tar.gz  rer-bundle
//!   run            019a8172-3a80-7d21-9f3e-2b6c5d4e3f2a
//!   artifact       rer-artifact/0.2, 5 events
//!   written by     reenact 0.1.0
//!   signed by      C7uY5NV79fGLU_9IBnMaIAzPpv1TGl467ZoBcALkWZc: self-asserted
//!   bundle hash    …
//!   bytes  sha256                                                            name
//!      12  785b0751fc2c53dc14a4ce3d800e69ef9ce1009eb327ccf458afe09c242c26c9  report.txt
//!          event 3 (rer.artifact.written)
//!   INTACT  intact, signer unknown: …
//! ```
//!
//! Sizes and digests are computed from the files. Start reading at [`print()`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use reenact_formats::format::MANIFEST_FILE;
use reenact_formats::rer::manifest::{BlobView, RerManifestView};
use reenact_formats::rer::{ARTIFACT_FILE, RerArtifactReader, RerEventItem, RerEventView};
use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Digest, Limits, Shown, Value};
use reenact_verify::render::{self, Tone};
use reenact_verify::replay_bundle::masked;
use reenact_verify::{BundleMembers, Report};

use super::super::BundleSource;
use super::super::inspect::{InspectRequest, write_value};
use super::{parse_document, read};
use crate::output::{self, CommandError};
use crate::quantity;

/// Most events that are named below one file.
const MAX_MENTIONS: usize = 3;

/// Prints the content of an RER bundle, with the verdict. The exit code is 1 if a check fails, or `--key` did not sign.
pub(in crate::command::bundle) fn print(
    source: &BundleSource<'_>,
    request: &InspectRequest,
) -> Result<u8, CommandError> {
    let (members, report) = read(source, &request.keys, &mut |_| Ok(None))?;
    let manifest = masked(members.document(MANIFEST_FILE).unwrap_or_default());
    let target = source.path.to_string_lossy();
    let found = BundleContent::of(&members, parse_document(Some(&manifest)));
    output::print(&match request.json {
        true => found.as_json(&target, &report),
        false => found.as_text(&target, &report),
    })?;
    Ok(request.exit_code(&target, &report))
}

/// Parts of a bundle that are shown.
struct BundleContent<'m> {
    /// The whole manifest, masked; `None` if it cannot be parsed.
    manifest: Option<Value<'m>>,
    artifact: BundledFacts,
    /// Files that the manifest lists, in its order.
    blobs: Vec<ListedBlob<'m>>,
    /// Files that it does not list: name, digest and size in bytes.
    strangers: Vec<(&'m str, Digest, u64)>,
}

/// Facts of the artifact in a bundle.
#[derive(Default)]
struct BundledFacts {
    version: Option<String>,
    run_id: Option<String>,
    implementation: Option<String>,
    implementation_version: Option<String>,
    events: usize,
    withheld: usize,
    /// Events whose payload names a digest, by the digest.
    mentions: BTreeMap<Digest, Vec<EventMention>>,
}

/// Event that speaks of a file.
struct EventMention {
    /// Position among the events, from 0.
    index: usize,
    /// Type of the event. Untrusted.
    event_type: String,
    /// Step of the event. Untrusted.
    step_id: Option<String>,
}

/// File that the manifest lists.
struct ListedBlob<'m> {
    /// Label by the manifest's word; never a path.
    label: Option<Value<'m>>,
    /// Digest by the manifest's word.
    digest: Option<Digest>,
    /// Size in bytes of the file with that digest; `None` if the bundle has none.
    size: Option<u64>,
}

impl<'m> BundleContent<'m> {
    fn of(members: &'m BundleMembers, manifest: Option<Value<'m>>) -> Self {
        let sizes: BTreeMap<Digest, u64> =
            members.files().map(|(_, facts)| (facts.digest, facts.size)).collect();
        let list = manifest.and_then(|manifest| RerManifestView::of(manifest).blobs);
        let blobs = list.into_iter().flat_map(|list| list.elements()).map(|entry| {
            let blob = BlobView::of(entry);
            let digest = blob.hash.and_then(|hash| Digest::from_hex(&hash.string()?));
            ListedBlob {
                label: blob.name,
                digest,
                size: digest.and_then(|digest| sizes.get(&digest).copied()),
            }
        });
        let blobs: Vec<ListedBlob<'_>> = blobs.collect();
        let is_listed = |digest: Digest| blobs.iter().any(|blob| blob.digest == Some(digest));
        let others = members.files().filter(|(_, facts)| !is_listed(facts.digest));
        let strangers = others.map(|(name, facts)| (name, facts.digest, facts.size)).collect();
        let listed = blobs.iter().filter_map(|blob| blob.digest).collect();
        let artifact = BundledFacts::read(members.document(ARTIFACT_FILE).unwrap_or_default(), &listed);
        Self { manifest, artifact, blobs, strangers }
    }

    /// Returns the content as text for people. What is missing or of the wrong type has no line.
    fn as_text(&self, target: &str, report: &Report) -> String {
        let title = Shown::whole(target).to_string();
        let mut text = format!("{}  {}\n", output::paint(Tone::Title, &title), report.format);
        let mut line = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                let _ = writeln!(text, "  {name:13}  {value}");
            }
        };
        let shown = |text: &Option<String>| text.as_ref().map(|text| Shown::new(text).to_string());
        let facts = &self.artifact;
        line("run", shown(&facts.run_id));
        line("artifact", shown(&facts.version).map(|version| version + ", " + &facts.counts()));
        line(
            "written by",
            shown(&facts.implementation).map(|name| match shown(&facts.implementation_version) {
                Some(version) => format!("{name} {version}"),
                None => name,
            }),
        );
        if let Some(signer) = &report.signer {
            line(
                "signed by",
                signer.key_id.as_ref().map(|key| format!("{}: {}", Shown::new(key), signer.trust)),
            );
        }
        let manifest = self.manifest.map(RerManifestView::of).unwrap_or_default();
        for (name, value) in [
            ("bundle hash", manifest.bundle_hash),
            ("artifact hash", manifest.artifact_hash),
            ("key hash", manifest.runtime_key_hash),
        ] {
            line(name, value.and_then(|value| Some(Shown::new(&value.string()?).to_string())));
        }
        self.push_files(&mut text);
        let _ = writeln!(text, "  {}", render::verdict_line(report, &output::paint));
        for reason in &report.reasons {
            let _ = writeln!(text, "        {reason}");
        }
        text
    }

    /// Appends a table of the files: size in bytes, SHA-256, label, and below each the events that speak of it.
    fn push_files(&self, text: &mut String) {
        if self.blobs.is_empty() && self.strangers.is_empty() {
            text.push_str("  no files beside the artifact\n");
            return;
        }
        let sizes = self.blobs.iter().filter_map(|blob| blob.size);
        let sizes = sizes.chain(self.strangers.iter().map(|(_, _, size)| *size));
        let width = sizes.map(|size| size.to_string().len()).max().unwrap_or(0).max("bytes".len());
        let head = format!("  {:>width$}  {:64}  name", "bytes", "sha256");
        let _ = writeln!(text, "{}", output::paint(Tone::Quiet, &head));
        for blob in &self.blobs {
            let size = blob.size.map_or(String::new(), |size| size.to_string());
            let digest = blob.digest.map_or("?".into(), |digest| digest.to_string());
            let label = blob.label.and_then(|label| label.string()).unwrap_or_default();
            let mark = if blob.size.is_some() { "" } else { "  (not in the bundle)" };
            let mark = output::paint(Tone::Bad, mark);
            let _ = writeln!(text, "  {size:>width$}  {digest:64}  {}{mark}", Shown::new(&label));
            let mentions = self.artifact.mentions_of(blob.digest);
            let named: Vec<String> = mentions.iter().take(MAX_MENTIONS).map(EventMention::words).collect();
            if let more @ 1.. = mentions.len().saturating_sub(MAX_MENTIONS) {
                let _ = writeln!(
                    text,
                    "  {:width$}  {} and {} more",
                    "",
                    named.join(", "),
                    quantity::grouped(more as u64)
                );
            } else if named.is_empty() {
                let _ = writeln!(text, "  {:width$}  no event speaks of it", "");
            } else {
                let _ = writeln!(text, "  {:width$}  {}", "", named.join(", "));
            }
        }
        for (name, digest, size) in &self.strangers {
            let mark = output::paint(Tone::Bad, "  (not listed)");
            let _ = writeln!(text, "  {size:>width$}  {digest}  {}{mark}", Shown::whole(name));
        }
    }

    /// Returns the content as one line of JSON. The manifest is in it as a whole, masked; `null` if it cannot be parsed.
    fn as_json(&self, target: &str, report: &Report) -> String {
        let mut line = String::new();
        let mut object = PrintObjectWriter::open(&mut line);
        object.string("target", target);
        object.string("format", report.format.as_str());
        object.boolean("pass", report.pass());
        object.string("verdict", report.verdict().name());
        object.strings("reasons", &report.reasons);
        object.strings("notes", &report.notes);
        match &report.signer {
            None => object.string("signer", None),
            Some(signer) => {
                let mut member = PrintObjectWriter::open(object.name("signer"));
                member.string("key_id", signer.key_id.as_deref());
                member.string("trust", signer.trust.name());
                member.string("label", signer.label.as_deref());
                member.close();
            }
        }
        let facts = &self.artifact;
        {
            let mut member = PrintObjectWriter::open(object.name("artifact"));
            member.string("version", facts.version.as_deref());
            member.string("run_id", facts.run_id.as_deref());
            member.string("implementation", facts.implementation.as_deref());
            member.string("implementation_version", facts.implementation_version.as_deref());
            member.name("events").push_str(&facts.events.to_string());
            member.name("withheld").push_str(&facts.withheld.to_string());
            member.close();
        }
        match self.manifest {
            Some(manifest) => write_value(manifest, object.name("manifest")),
            None => object.string("manifest", None),
        }
        print::write_list(&self.blobs, object.name("blobs"), |blob, out| {
            let mut member = PrintObjectWriter::open(out);
            member.string("name", blob.label.and_then(|label| label.string()).as_deref());
            member.string("sha256", blob.digest.map(|digest| digest.to_string()).as_deref());
            member.name("size").push_str(&blob.size.map_or("null".into(), |size| size.to_string()));
            print::write_list(facts.mentions_of(blob.digest), member.name("events"), |mention, out| {
                let mut event = PrintObjectWriter::open(out);
                event.name("index").push_str(&mention.index.to_string());
                event.string("event_type", mention.event_type.as_str());
                event.string("step_id", mention.step_id.as_deref());
                event.close();
            });
            member.close();
        });
        print::write_list(&self.strangers, object.name("unlisted"), |(name, digest, size), out| {
            let mut member = PrintObjectWriter::open(out);
            member.string("name", *name);
            member.string("sha256", digest.to_string().as_str());
            member.name("size").push_str(&size.to_string());
            member.close();
        });
        object.close();
        line + "\n"
    }
}

impl BundledFacts {
    /// Reads an artifact as far as it can be read; the report says what is wrong with it. Events are kept that speak of `listed` files.
    fn read(artifact: &[u8], listed: &BTreeSet<Digest>) -> Self {
        let mut facts = Self::default();
        let Ok(mut reader) = RerArtifactReader::open(artifact, &Limits::default()) else { return facts };
        while let Ok(Some(item)) = reader.next_event() {
            if let RerEventItem::Event(event) = item {
                facts.add_event(&event, listed);
            }
            facts.events += 1;
        }
        let head = reader.into_head();
        let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
        let runtime = |name: &str| text(head.runtime.and_then(|runtime| runtime.member(name)));
        facts.version = text(head.artifact_version);
        facts.run_id = text(head.run_id);
        facts.implementation = runtime("implementation");
        facts.implementation_version = runtime("version");
        facts
    }

    fn add_event(&mut self, event: &RerEventView<'_>, listed: &BTreeSet<Digest>) {
        self.withheld += usize::from(event.is_redacted());
        let Some(payload) = event.payload.filter(|_| !event.is_redacted()) else { return };
        let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
        for digest in named_digests(payload.text()).filter(|digest| listed.contains(digest)) {
            let named = self.mentions.entry(digest).or_default();
            if named.last().is_none_or(|before| before.index != self.events) {
                named.push(EventMention {
                    index: self.events,
                    event_type: text(event.event_type).unwrap_or_default(),
                    step_id: text(payload.member("step_id")),
                });
            }
        }
    }

    /// Returns the number of events and withheld payloads, in words.
    fn counts(&self) -> String {
        let events = quantity::count(self.events as u64, "event");
        match self.withheld {
            0 => events,
            more => {
                let withheld = quantity::count_of(more as u64, "payload withheld", "payloads withheld");
                format!("{events}, {withheld}")
            }
        }
    }

    fn mentions_of(&self, digest: Option<Digest>) -> &[EventMention] {
        digest.and_then(|digest| self.mentions.get(&digest)).map_or(&[], Vec::as_slice)
    }
}

impl EventMention {
    /// Returns the event in words: `event 3 (rer.artifact.written)`.
    fn words(&self) -> String {
        let step =
            self.step_id.as_ref().map(|step| format!(", step {}", Shown::new(step))).unwrap_or_default();
        format!("event {} ({}{step})", self.index, Shown::new(&self.event_type))
    }
}

/// Returns the digests that stand in a JSON text as strings of their own: 64 lower-case hexadecimal digits between quotes. Payloads
/// name files in members of many names, so that the value is looked for and not the name.
fn named_digests(payload: &[u8]) -> impl Iterator<Item = Digest> + '_ {
    const WINDOW_BYTES: usize = 1 + 66;
    payload.windows(WINDOW_BYTES).filter_map(|window| {
        let [before, b'"', hex @ .., b'"'] = window else { return None };
        // A quote behind a backslash is part of a string, and opens none.
        (*before != b'\\').then(|| Digest::from_hex(core::str::from_utf8(hex).ok()?)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_between_quotes() {
        let digest = Digest::of(b"file");
        let payload = format!(
            "{{\"artifact_hash\":\"{digest}\",\"http\":{{\"body\":{{\"blob\":\"{digest}\"}}}},\"text\":\"of {digest}\",\"long\":\"{digest}0\"}}"
        );
        assert_eq!(named_digests(payload.as_bytes()).collect::<Vec<_>>(), [digest, digest]);
        assert_eq!(named_digests(b"\"").count(), 0);
        // A quoted quote ends no string.
        for text in [format!("{{\"a\":\"\\\"{digest}\"}}"), format!("{{\"a\":\"\\\"{digest}\\\"\"}}")] {
            assert_eq!(named_digests(text.as_bytes()).count(), 0, "{text}");
        }
    }
}
