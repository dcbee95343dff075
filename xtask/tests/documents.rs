//! The documents of the repository: paths and links in them lead somewhere.
//!
//! A newcomer who follows a path that is gone stops trusting the page. Commands that documents show are run elsewhere
//! (`crates/cli/tests/readme.rs`), and the table of crates is held by `layering.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read stops")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the Markdown files of the repository, by their paths from the root.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_ours =
                !name.starts_with('.') && name != "target" && name != "node_modules" && name != "corpus";
            if path.is_dir() && is_ours {
                folders.push(path);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 20, "the documents are not where they were");
    found
}

/// Returns the texts between single backticks of a document, outside of fenced blocks.
fn code_spans(text: &str) -> Vec<&str> {
    let mut spans = Vec::new();
    let mut is_fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            spans.extend(line.split('`').skip(1).step_by(2));
        }
    }
    spans
}

/// Returns true if a code span is meant as a path of the repository: a folder, or a file with one of our endings.
fn is_path(span: &str) -> bool {
    let is_plain = span.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
    let has_ending = [".rs", ".toml", ".md"].iter().any(|ending| span.ends_with(ending));
    is_plain && span.contains('/') && !span.starts_with('/') && (has_ending || span.ends_with('/'))
}

#[test]
fn paths_in_the_guides_exist() {
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs/glossary.md"] {
        let text = read(document);
        for span in code_spans(&text).into_iter().filter(|span| is_path(span)) {
            let candidates = [root().join(span), root().join("crates").join(span)];
            // A path may also go on from the crate that the same line names first.
            let is_there = candidates.iter().any(|path| path.exists())
                || fs::read_dir(root().join("crates"))
                    .unwrap()
                    .any(|entry| entry.unwrap().path().join("src").join(span).exists());
            assert!(is_there, "{document} names `{span}`, which does not exist");
        }
    }
}

#[test]
fn links_lead_somewhere() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let is_outside = link.contains("://") || link.starts_with('#') || link.contains(' ');
            let target = link.split('#').next().unwrap_or_default();
            if !is_outside && !target.is_empty() {
                let path = document.parent().unwrap().join(target);
                assert!(path.exists(), "{} links to {target}, which does not exist", document.display());
            }
        }
    }
}
