//! The documents of the repository: what they name exists, and what they draw is what the tests hold.
//!
//! A newcomer who follows a path that is gone stops trusting the page. Commands that documents show are run elsewhere
//! (`crates/cli/tests/readme.rs`); here are paths, links and the table of crates.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read stops")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

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

/// The table of crates in ARCHITECTURE.md has the edges that Cargo has: nothing is drawn that is not there, nor left out.
#[test]
fn the_table_of_crates_is_that_of_cargo() {
    let text = read("ARCHITECTURE.md");
    let (_, table) = text.split_once("| crate | one job | may use |").unwrap();
    let mut drawn = BTreeSet::new();
    for line in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let folder = cells[0].trim_matches('`').to_owned();
        drawn.insert(folder.clone());
        let manifest = read(&format!("crates/{folder}/Cargo.toml"));
        let (_, normal) = manifest.split_once("\n[dependencies]").unwrap();
        let normal = normal.split("\n[").next().unwrap();
        let allowed: BTreeSet<&str> = cells[2].split(", ").collect();
        for used in normal.lines().filter_map(|line| line.strip_prefix("reenact-")) {
            let used = used.split(['.', ' ']).next().unwrap();
            assert!(
                allowed.contains("all") || allowed.contains(used),
                "{folder} uses {used}, which ARCHITECTURE.md does not say"
            );
        }
    }
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().file_name());
    let folders: BTreeSet<String> = folders.map(|name| name.to_string_lossy().into_owned()).collect();
    assert_eq!(drawn, folders, "ARCHITECTURE.md has a row for each crate");
}

/// Every crate that is published tells a registry what it is, and has a README that its page shows.
#[test]
fn every_published_crate_describes_itself() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let is_published = |package: &&Value| package["publish"].as_array().is_none_or(|list| !list.is_empty());
    for package in packages.filter(is_published) {
        let (name, manifest) = (&package["name"], package["manifest_path"].as_str().unwrap());
        assert!(package["description"].as_str().is_some_and(|text| text.len() > 20), "{name}: description");
        let count = |member: &str| package[member].as_array().map_or(0, Vec::len);
        assert!((1..=5).contains(&count("keywords")), "{name}: one to five keywords");
        assert!((1..=5).contains(&count("categories")), "{name}: one to five categories");
        assert!(package["metadata"]["docs"]["rs"].is_object(), "{name}: [package.metadata.docs.rs]");
        let readme = package["readme"].as_str().unwrap_or_else(|| panic!("{name}: readme"));
        let readme = fs::read_to_string(Path::new(manifest).with_file_name(readme)).unwrap();
        assert!(readme.starts_with(&format!("# {}\n", name.as_str().unwrap())), "{name}: the README's title");
    }
}
