//! Source files as lines: which are code, which are doc comments, which belong to tests.
//!
//! rustfmt wrote every file, so lines are enough: an item begins on a line of its own, and an inline module of tests ends at
//! the closing brace that is indented like its attribute.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::comments::DocComment;

/// One file of Rust source.
pub(crate) struct SourceFile {
    /// Path from the root of the repository, with `/`.
    pub(crate) path: String,
    /// Name of the folder of its package: `verify`, `xtask`.
    pub(crate) package: String,
    /// Lines of the file, numbered from 1, each with true if the line belongs to tests.
    lines: Vec<(usize, String, bool)>,
}

impl SourceFile {
    /// Reads every Rust file of the repository's packages, sorted by path. Generated and fetched folders are left out.
    pub(crate) fn read_all(root: &Path) -> io::Result<Vec<Self>> {
        let mut packages: Vec<PathBuf> =
            ["xtask", "fuzz", "wasm"].iter().map(|name| root.join(name)).collect();
        for entry in fs::read_dir(root.join("crates"))? {
            packages.push(entry?.path());
        }
        packages.retain(|package| package.join("Cargo.toml").is_file());
        let mut sources = Vec::new();
        for package in packages {
            let name =
                package.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            for folder in ["src", "tests", "examples", "benches", "fuzz_targets"] {
                read_folder(&package.join(folder), &mut |path, text| {
                    let path = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
                    sources.push(Self::new(path, name.clone(), &text));
                })?;
            }
        }
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(sources)
    }

    /// Splits a text into lines and marks those of tests.
    pub(crate) fn new(path: String, package: String, text: &str) -> Self {
        let is_test_file = !path.contains("/src/") || path.ends_with("/tests.rs");
        let mut lines = Vec::new();
        // Indentation of an attribute `#[cfg(test)]` whose item has not ended yet.
        let mut test_item: Option<usize> = None;
        for (index, line) in text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            if test_item.is_none() && is_test_attribute(line.trim_start()) {
                test_item = Some(indent);
            }
            lines.push((index + 1, line.to_owned(), is_test_file || test_item.is_some()));
            let is_last = |start: usize| {
                indent == start
                    && (line.trim_end().ends_with([';', '}']) && !line.trim_start().starts_with("#["))
            };
            if test_item.is_some_and(is_last) {
                test_item = None;
            }
        }
        Self { path, package, lines }
    }

    /// Returns the lines outside of tests that are neither blank nor comments.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines.iter().filter_map(|(number, line, is_test)| {
            let text = line.trim();
            (!is_test && !text.is_empty() && !text.starts_with("//")).then_some((*number, line.as_str()))
        })
    }

    /// Number of doc comment lines outside of tests.
    pub(crate) fn doc_lines(&self) -> usize {
        self.lines.iter().filter(|(_, line, is_test)| !is_test && doc_text(line).is_some()).count()
    }

    /// Returns the doc comments of the file, tests included; consecutive lines are one comment.
    pub(crate) fn doc_comments(&self) -> impl Iterator<Item = DocComment<'_>> {
        let mut is_inside = false;
        self.lines.iter().filter_map(move |(line, text, _)| {
            let doc = doc_text(text);
            let first = doc.filter(|_| !is_inside);
            is_inside = doc.is_some();
            first.map(|text| DocComment { path: &self.path, line: *line, text })
        })
    }
}

/// Returns true for the attribute of an item that only tests have, also on some systems alone.
fn is_test_attribute(line: &str) -> bool {
    line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,")
}

/// Returns the text of a doc comment line, `None` for any other line.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))?;
    (!text.starts_with('/')).then(|| text.trim())
}

/// Calls `visit` with each Rust file below a folder. A folder that does not exist has none.
fn read_folder(folder: &Path, visit: &mut dyn FnMut(&Path, String)) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_folder(&path, visit)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            visit(&path, text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_no_code_and_what_follows_them_is() {
        let text = "//! Opening.\nuse a;\n\n#[cfg(test)]\nmod tests {\n    fn f() {\n    }\n}\n/// Returns.\nfn g() {}\n#[cfg(all(test, unix))]\nmod more;\nfn h() {}\n";
        let source = SourceFile::new("x/src/a.rs".into(), "x".into(), text);
        let code: Vec<usize> = source.code_lines().map(|(number, _)| number).collect();
        assert_eq!(code, [2, 10, 13]);
        assert_eq!(source.doc_lines(), 2);
        assert_eq!(source.doc_comments().map(|comment| comment.line).collect::<Vec<_>>(), [1, 9]);
    }

    #[test]
    fn the_tests_folder_is_no_code() {
        let source = SourceFile::new("x/tests/a.rs".into(), "x".into(), "/// Returns.\nfn g() {}\n");
        assert_eq!(source.code_lines().count(), 0);
        assert_eq!(source.doc_comments().count(), 1);
    }
}
