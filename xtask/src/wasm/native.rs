//! The reports that the module's are compared with: those of the library on this machine.
//!
//! What is judged, and in which order, is said twice: here, and for the module in wasm/vectors.mjs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use reenact_json::{Limits, Value};
use reenact_verify::{FormatId, Keys, Members, Options, Outcome, safe, safe_members};

use crate::failure::Failure;

/// The indexes of vectors that are files: the folder, the member of the index that lists them, the members of a row that make
/// up the file's name, and the format.
const FILES: [(&str, &str, &[&str], FormatId); 3] = [
    ("vectors/model_io/files", "files", &["file"], FormatId::ModelIo),
    ("vectors/replay_jsonl", "vectors", &["dir", "replay"], FormatId::ReplayJsonl),
    ("vectors/replay_bundle", "bundles", &["file"], FormatId::ReplayBundle),
];

/// Whole `.rpk` documents.
const RPK_EXAMPLES: [&str; 4] = ["invoice.bundle", "invoice.rpk", "legacy-0.9.rpk", "minimal.rpk"];

/// Texts with the canonical form that `.rpk` gives them. Each becomes the payload of a document without a checksum: the report
/// says which one it should have.
const RPK_TEXTS: [&str; 5] =
    ["canonical", "canonical_floats", "canonical_fuzz", "canonical_paths", "canonical_timestamps"];

/// Writes the reports on the published vectors, one line each.
pub(super) fn write(root: &Path, file: &Path) -> Result<PathBuf, Failure> {
    let written = lines(root).and_then(|lines| fs::write(file, lines));
    let line = "node wasm/vectors.mjs".to_owned();
    written.map(|()| file.to_path_buf()).map_err(|error| Failure::NotStarted { line, error })
}

fn lines(root: &Path) -> io::Result<String> {
    let mut lines = String::new();
    let mut add = |report: String| lines.extend([report.as_str(), "\n"]);
    each_row(&root.join("vectors/rer/index.json"), "vectors", |row| {
        rer(&root.join("vectors/rer"), row)?.into_iter().for_each(&mut add);
        Ok(())
    })?;
    for (folder, list, names, format) in FILES {
        let index = root.join(folder.trim_end_matches("/files")).join("index.json");
        each_row(&index, list, |row| {
            let names: io::Result<Vec<String>> = names.iter().map(|name| text(row, name)).collect();
            let name = format!("{folder}/{}", names?.join("/"));
            add(judged(&name, &read(&root.join(&name))?, format));
            Ok(())
        })?;
    }
    for name in RPK_EXAMPLES {
        let name = format!("examples/runs/{name}");
        add(judged(&name, &read(&root.join(&name))?, FormatId::Rpk));
    }
    for name in RPK_TEXTS {
        let name = format!("vectors/rpk/{name}.jsonl");
        let rows = String::from_utf8(read(&root.join(&name))?).map_err(io::Error::other)?;
        for (number, row) in (1..).zip(rows.lines()) {
            let row = Value::parse(row.as_bytes(), &Limits::default()).map_err(io::Error::other)?;
            let document =
                format!(r#"{{"version":"1.0","metadata":{{}},"payload":{}}}"#, text(row, "input_text")?);
            add(judged(&format!("{name}:{number}"), document.as_bytes(), FormatId::Rpk));
        }
    }
    Ok(lines)
}

/// Does something with each row of an index.
fn each_row(index: &Path, list: &str, mut with: impl FnMut(Value<'_>) -> io::Result<()>) -> io::Result<()> {
    let bytes = read(index)?;
    let index = Value::parse(&bytes, &Limits::default()).map_err(io::Error::other)?;
    let rows = index.member(list).ok_or_else(|| io::Error::other(format!("the index has no `{list}`")))?;
    rows.elements().try_for_each(&mut with)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn text(row: Value<'_>, name: &str) -> io::Result<String> {
    let text = row.member(name).and_then(|value| value.string()).map(|text| text.into_owned());
    text.ok_or_else(|| io::Error::other(format!("a row of the index has no `{name}`")))
}

fn judged(target: &str, bytes: &[u8], format: FormatId) -> String {
    let options = Options { format: Some(format), ..Options::default() };
    Outcome::Judged(safe(bytes, &Keys::default(), &options)).to_json(target)
}

/// How a row of RER is judged: its kind decides. Rows whose kind is not known wasm/vectors.mjs tells of.
fn rer(vectors: &Path, row: Value<'_>) -> io::Result<Option<String>> {
    let file = text(row, "file")?;
    let report = match text(row, "kind")?.as_str() {
        "artifact" => {
            let keys = Keys::from_raw(&read(&vectors.join(text(row, "key")?))?);
            let options = Options { format: Some(FormatId::Rer), ..Options::default() };
            safe(&read(&vectors.join(&file))?, &keys, &options)
        }
        "bundle" => {
            let mut members = Members::default();
            take_folder(&mut members, &vectors.join(&file), "")?;
            let options = Options { format: Some(FormatId::RerBundle), ..Options::default() };
            safe_members(&members, &Keys::default(), &options)
        }
        _ => return Ok(None),
    };
    Ok(Some(Outcome::Judged(report).to_json(&format!("vectors/rer/{file}"))))
}

/// Takes all files under a folder, by their names within it.
fn take_folder(members: &mut Members, folder: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().display());
        if path.is_dir() {
            take_folder(members, &path, &format!("{name}/"))?;
        } else {
            members.take(&name, &mut fs::File::open(&path)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_vector() {
        let lines = lines(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
        let of = |folder: &str| {
            let target = format!(r#"{{"target":"{folder}"#);
            lines.lines().filter(|line| line.starts_with(&target)).count()
        };
        assert_eq!(of("vectors/rer/valid/") + of("vectors/rer/invalid/"), 119);
        assert_eq!(of("vectors/rer/bundles_"), 31);
        assert_eq!(of("vectors/model_io/"), 94);
        assert_eq!(of("vectors/replay_jsonl/"), 38);
        assert!(of("vectors/replay_bundle/") >= 65, "{}", of("vectors/replay_bundle/"));
        assert_eq!((of("vectors/rpk/"), of("examples/runs/")), (1723, 4));
        // The report on a text names the hash of its canonical form, not only that something is amiss.
        let floats = lines.lines().find(|line| line.contains("canonical_floats.jsonl:1\"")).unwrap();
        assert!(floats.contains("checksum: checksum is missing, recomputed sha256:"), "{floats}");
    }
}
