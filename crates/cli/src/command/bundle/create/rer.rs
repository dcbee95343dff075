//! `--as rer`: the artifact bound to a manifest of itself, its key and its files.

use reenact_formats::FormatId;
use reenact_formats::rer::rewrite;
use reenact_json::print::Object;
use reenact_json::{Digest, Limits, Shown};
use reenact_verify::disk;

use super::Create;
use crate::output::{self, Ending};
use crate::quantity;
use crate::sealed::Sealed;

impl Create {
    pub(super) fn rer(&self) -> Result<u8, Ending> {
        let mut sealed = Sealed::open(&self.run, &self.keys)?;
        sealed.must_hold()?;
        for path in &self.blob {
            let bytes = disk::read(path).map_err(|error| Ending::impossible(error.to_string()))?;
            sealed.blobs.insert(Digest::of(&bytes).to_string(), bytes);
        }
        take_recorded(&mut sealed)?;
        if let Some((name, hash)) = sealed.missing().first() {
            return Err(Ending::impossible(format!(
                "the run wrote {} (sha256 {}), and it is not here: give it with --blob FILE",
                Shown::new(name),
                Shown::new(hash)
            )));
        }
        let (signer, blobs) = (sealed.signer()?, sealed.labels(&[]));
        let bound = rewrite::bind(&sealed.artifact, &blobs, &Limits::default(), &signer)
            .map_err(|error| Ending::refused(error.to_string()))?;
        let content = |hash: Digest| sealed.blobs.get(&hash.to_string()).map(Vec::as_slice);
        let bytes =
            bound.pack(&blobs, content, Vec::new()).map_err(|error| Ending::impossible(error.to_string()))?;
        let written = self.write(&sealed.run, "rer.tar.gz", &bytes)?;
        let name = written.path.to_string_lossy();
        output::print(&if self.json {
            let mut line = String::new();
            let mut object = Object::open(&mut line);
            object.string("out", name.as_ref());
            object.string("format", FormatId::RerBundle.name());
            object.string("digest", format!("sha256:{}", written.digest).as_str());
            object.name("bytes").push_str(&written.size.to_string());
            object.name("events").push_str(&bound.events.to_string());
            object.name("withheld").push_str(&bound.redacted.to_string());
            object.name("blobs").push_str(&blobs.len().to_string());
            object.close();
            line + "\n"
        } else {
            let shown = Shown::whole(&name);
            format!(
                "{shown} ({}): {}, {}, {} withheld; bound, signed again and verified\nnext: reenact verify {shown}\n",
                quantity::size(written.size),
                quantity::count(bound.events as u64, "event"),
                quantity::count(blobs.len() as u64, "file"),
                quantity::count(bound.redacted as u64, "payload"),
            )
        })?;
        Ok(0)
    }
}

/// Adds the files that were recorded beside the run.
fn take_recorded(sealed: &mut Sealed) -> Result<(), Ending> {
    let Some(folder) = sealed.path.parent().map(|folder| folder.join("blobs")) else { return Ok(()) };
    for (_, hash) in sealed.missing() {
        // A name is made of a digest and of nothing that the record says.
        let Some(digest) = Digest::from_hex(&hash) else { continue };
        let path = folder.join(format!("{digest}.bin"));
        if path.is_file() {
            let bytes = disk::read(&path).map_err(|error| Ending::impossible(error.to_string()))?;
            sealed.blobs.insert(Digest::of(&bytes).to_string(), bytes);
        }
    }
    Ok(())
}
