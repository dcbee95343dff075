//! The reports that the module's are compared with: those of the library on this machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use reenact_json::{Limits, Value};
use reenact_verify::{Format, Keys, Members, Options, Outcome, safe, safe_members};

use crate::failure::Failure;

/// Writes the reports on the published vectors, one line each, in the order of their index.
pub(super) fn write(root: &Path, file: &Path) -> Result<PathBuf, Failure> {
    let written = lines(&root.join("vectors/rer")).and_then(|lines| fs::write(file, lines));
    let line = "node wasm/vectors.mjs".to_owned();
    written.map(|()| file.to_path_buf()).map_err(|error| Failure::NotStarted { line, error })
}

fn lines(vectors: &Path) -> io::Result<String> {
    let bytes = fs::read(vectors.join("index.json"))?;
    let index = Value::parse(&bytes, &Limits::default()).map_err(io::Error::other)?;
    let rows = index.member("vectors").ok_or_else(|| io::Error::other("the index lists no vectors"))?;
    let mut lines = String::new();
    for row in rows.elements() {
        if let Some(report) = report(vectors, row)? {
            lines.push_str(&report);
            lines.push('\n');
        }
    }
    Ok(lines)
}

/// How a row is judged: its kind decides. The same table for the module is in wasm/vectors.mjs, which also tells of rows
/// whose kind neither knows.
fn report(vectors: &Path, row: Value<'_>) -> io::Result<Option<String>> {
    let text = |name: &str| {
        let text = row.member(name).and_then(|value| value.string());
        text.ok_or_else(|| io::Error::other(format!("a row of the index has no `{name}`")))
    };
    let read = |name: &str| {
        let path = vectors.join(name);
        fs::read(&path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    };
    let outcome = match &*text("kind")? {
        "artifact" => {
            let keys = Keys::from_raw(&read(&text("key")?)?);
            let options = Options { format: Some(Format::Rer), ..Options::default() };
            Outcome::Judged(safe(&read(&text("file")?)?, &keys, &options))
        }
        "bundle" => {
            let mut members = Members::default();
            take_folder(&mut members, &vectors.join(&*text("file")?), "")?;
            let options = Options { format: Some(Format::RerBundle), ..Options::default() };
            Outcome::Judged(safe_members(&members, &Keys::default(), &options))
        }
        _ => return Ok(None),
    };
    Ok(Some(outcome.to_json(&text("file")?)))
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
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/rer");
        let lines = lines(&vectors).unwrap();
        let of = |kind: &str| lines.lines().filter(|line| line.contains(kind)).count();
        assert_eq!(of(r#""target":"valid/"#) + of(r#""target":"invalid/"#), 119);
        assert_eq!(of(r#""target":"bundles_"#), 31);
    }
}
