//! Reports of the native library, with which those of the module are compared.
//!
//! The list of inputs and their order are given twice: here, and for the module in
//! wasm/vectors.mjs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use reenact_json::{Limits, Value};
use reenact_verify::{BundleMembers, FormatId, Keys, Options, TargetOutcome, verify, verify_members};

use crate::failure::TaskFailure;

/// Indexes of vectors that are files: the folder, the member of the index that lists them, the
/// members of a row that make up the file's name, and the format.
const FILES: [(&str, &str, &[&str], FormatId); 3] = [
    ("vectors/model_io/files", "files", &["file"], FormatId::ModelIo),
    ("vectors/replay_jsonl", "vectors", &["dir", "replay"], FormatId::ReplayJsonl),
    ("vectors/replay_bundle", "bundles", &["file"], FormatId::ReplayBundle),
];

/// Whole `.rpk` documents.
const RPK_EXAMPLES: [&str; 4] = ["invoice.bundle", "invoice.rpk", "legacy-0.9.rpk", "minimal.rpk"];

/// Texts with the canonical form that `.rpk` gives them. Each becomes the payload of a document
/// without a checksum: the report states the right checksum.
const RPK_TEXTS: [&str; 5] =
    ["canonical", "canonical_floats", "canonical_fuzz", "canonical_paths", "canonical_timestamps"];

/// Writes the reports on the published vectors, one line each.
///
/// # Errors
/// If a vector cannot be read, or if an index has another layout.
pub(super) fn write(root: &Path, file: &Path) -> Result<PathBuf, TaskFailure> {
    let written = lines(root).and_then(|lines| fs::write(file, lines));
    let line = "node wasm/vectors.mjs".to_owned();
    written.map(|()| file.to_path_buf()).map_err(|error| TaskFailure::NotStarted { line, error })
}

/// Returns the reports, one line each.
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
            add(report_line(&name, &read(&root.join(&name))?, format));
            Ok(())
        })?;
    }
    for name in RPK_EXAMPLES {
        let name = format!("examples/runs/{name}");
        add(report_line(&name, &read(&root.join(&name))?, FormatId::Rpk));
    }
    for name in RPK_TEXTS {
        let name = format!("vectors/rpk/{name}.jsonl");
        let rows = String::from_utf8(read(&root.join(&name))?).map_err(io::Error::other)?;
        for (number, row) in (1..).zip(rows.lines()) {
            let row = Value::parse(row.as_bytes(), &Limits::default()).map_err(io::Error::other)?;
            let document =
                format!(r#"{{"version":"1.0","metadata":{{}},"payload":{}}}"#, text(row, "input_text")?);
            add(report_line(&format!("{name}:{number}"), document.as_bytes(), FormatId::Rpk));
        }
    }
    Ok(lines)
}

/// Calls `with` for each row of an index.
fn each_row(index: &Path, list: &str, mut with: impl FnMut(Value<'_>) -> io::Result<()>) -> io::Result<()> {
    let bytes = read(index)?;
    let index = Value::parse(&bytes, &Limits::default()).map_err(io::Error::other)?;
    let rows = index.member(list).ok_or_else(|| io::Error::other(format!("the index has no `{list}`")))?;
    rows.elements().try_for_each(&mut with)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Returns a string member of a row.
fn text(row: Value<'_>, name: &str) -> io::Result<String> {
    let text = row.member(name).and_then(|value| value.string()).map(|text| text.into_owned());
    text.ok_or_else(|| io::Error::other(format!("a row of the index has no `{name}`")))
}

/// Verifies a record, and returns its report as JSON.
fn report_line(target: &str, bytes: &[u8], format: FormatId) -> String {
    let options = Options { format: Some(format), ..Options::default() };
    TargetOutcome::Report(verify(bytes, &Keys::default(), &options)).to_json(target)
}

/// Verifies a row of the RER vectors by its kind. Rows of an unknown kind are left to
/// wasm/vectors.mjs, which reports them.
fn rer(vectors: &Path, row: Value<'_>) -> io::Result<Option<String>> {
    let file = text(row, "file")?;
    let report = match text(row, "kind")?.as_str() {
        "artifact" => {
            let keys = Keys::from_raw(&read(&vectors.join(text(row, "key")?))?);
            let options = Options { format: Some(FormatId::Rer), ..Options::default() };
            verify(&read(&vectors.join(&file))?, &keys, &options)
        }
        "bundle" => {
            let mut members = BundleMembers::default();
            add_folder(&mut members, &vectors.join(&file), "")?;
            let options = Options { format: Some(FormatId::RerBundle), ..Options::default() };
            verify_members(&members, &Keys::default(), &options)
        }
        _ => return Ok(None),
    };
    Ok(Some(TargetOutcome::Report(report).to_json(&format!("vectors/rer/{file}"))))
}

/// Adds all files below a folder, by their names within it.
fn add_folder(members: &mut BundleMembers, folder: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().display());
        if path.is_dir() {
            add_folder(members, &path, &format!("{name}/"))?;
        } else {
            members.add(&name, &mut fs::File::open(&path)?)?;
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
        // The report on a text states the hash of its canonical form, not only that something is
        // wrong.
        let floats = lines.lines().find(|line| line.contains("canonical_floats.jsonl:1\"")).unwrap();
        assert!(floats.contains("checksum: checksum is missing, recomputed sha256:"), "{floats}");
    }
}
