//! The layering of the workspace: which crate may use which, and a comment for each crate and each
//! dependency that says why it is there.
//!
//! A new edge is a decision about the design: it is made in `ALLOWED_EDGES` first, and in a
//! Cargo.toml second.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot read stops")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Folders of `crates/`, each with the ones that it may use. `cli` may use all.
const ALLOWED_EDGES: &[(&str, &[&str])] = &[
    ("json", &[]),
    ("pack", &[]),
    ("secrets", &["json"]),
    ("formats", &["json", "pack"]),
    ("verify", &["json", "pack", "secrets", "formats"]),
    ("wire", &["json"]),
    ("run", &["json", "formats", "verify", "wire", "secrets"]),
    ("keys", &["json", "formats"]),
    ("record", &["json", "formats", "secrets", "wire", "keys"]),
    ("capture", &["json", "formats", "wire", "record"]),
    ("replay", &["json", "run", "wire", "agents", "secrets"]),
    ("agents", &["json", "wire"]),
    ("sandbox", &[]),
    ("gateway", &["json", "wire", "capture"]),
    ("testkit", &["wire", "formats"]),
    (
        "cli",
        &[
            "json", "pack", "secrets", "formats", "verify", "wire", "run", "keys", "record", "capture",
            "replay", "agents", "sandbox", "gateway", "testkit",
        ],
    ),
];

/// Everything that the library of `reenact-verify` may depend on, on any platform: trust in the
/// verifier is trust in this list.
const VERIFY_DEPENDENCIES: &[&str] = &[
    // Ours.
    "reenact-formats",
    "reenact-json",
    "reenact-pack",
    "reenact-secrets",
    "reenact-verify",
    // Inflate, and its checksums.
    "adler2",
    "crc32fast",
    "flate2",
    "miniz_oxide",
    "simd-adler32",
    // Canonical JSON: numbers as ECMAScript prints them.
    "ryu-js",
    // SHA-256, and the digest traits that Ed25519 shares with it.
    "block-buffer",
    "crypto-common",
    "digest",
    "hybrid-array",
    "sha2",
    "typenum",
    // Detection of SHA and vector instructions; on ARM the operating system answers, by libc.
    "cfg-if",
    "cpufeatures",
    "libc",
    // UTF-8 validation with vector instructions. Nothing relies on it: the standard library
    // validates again wherever bytes become text.
    "simdutf8",
    // Comparison without an early exit.
    "subtle",
    // Ed25519. fiat-crypto is its field arithmetic where there is no faster one.
    "curve25519-dalek",
    "ed25519",
    "ed25519-dalek",
    "fiat-crypto",
    "signature",
    // Base64 of keys.
    "base64ct",
    // Searches: for the literals of all secret rules at once, and for single bytes.
    "aho-corasick",
    "memchr",
    // Error enums.
    "thiserror",
    // At compile time only: the derive of error enums, and the CPU dispatch of curve25519-dalek.
    "curve25519-dalek-derive",
    "proc-macro2",
    "quote",
    "syn",
    "thiserror-impl",
    "unicode-ident",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the output of the cargo that runs this test.
fn cargo(args: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(args).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "cargo {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Crate of the workspace, as cargo sees it.
struct Member {
    package: String,
    folder: PathBuf,
    /// Names of all dependencies outside of tests, on any platform, optional ones included.
    uses: BTreeSet<String>,
}

impl Member {
    fn manifest(&self) -> PathBuf {
        self.folder.join("Cargo.toml")
    }

    /// Returns the folder as the workspace names it, such as `crates/json`.
    fn relative_folder(&self) -> String {
        self.folder.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/")
    }
}

fn members() -> Vec<Member> {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--no-deps"])).unwrap();
    let member = |package: &Value| Member {
        package: package["name"].as_str().unwrap().to_owned(),
        folder: Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_path_buf(),
        uses: package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|dependency| dependency["kind"] != "dev")
            .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
            .collect(),
    };
    let members: Vec<Member> = metadata["packages"].as_array().unwrap().iter().map(member).collect();
    assert!(members.len() > 1, "cargo metadata shows no workspace");
    members
}

/// Returns the package in a folder of `crates/`.
fn package_in(folder: &str) -> String {
    if folder == "cli" { "reenact".to_owned() } else { format!("reenact-{folder}") }
}

/// Returns the lines of dependencies without a comment, neither directly above them nor above the
/// unbroken run of lines that they belong to. Our own crates need none: the layout explains them.
fn unexplained(manifest: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut is_dependency, mut is_explained, mut depth) = (false, false, 0_usize);
    for line in manifest.lines().map(str::trim) {
        let is_inside = depth > 0;
        if line.starts_with('[') && !is_inside {
            let header = line.trim_matches(['[', ']']);
            is_dependency = header.ends_with("dependencies");
            // In `[dependencies.name]` the header is the dependency, and its comment stands above
            // it.
            if header.rsplit_once('.').is_some_and(|(table, _)| table.ends_with("dependencies"))
                && !is_explained
            {
                found.push(line);
            }
            is_explained = false;
        } else if line.starts_with('#') {
            is_explained = true;
        } else if line.is_empty() {
            is_explained = false;
        } else if is_dependency && !is_inside && !is_explained && !line.starts_with("reenact-") {
            found.push(line);
        }
        if is_dependency && !line.starts_with(['[', '#']) {
            depth += line.matches(['[', '{']).count();
            depth -= line.matches([']', '}']).count().min(depth);
        }
    }
    found
}

/// Returns the members that the root manifest lists, each with true if a comment stands directly
/// above it.
fn listed(manifest: &str) -> BTreeMap<String, bool> {
    let (_, list) = manifest.split_once("members = [\n").expect("a list of members, one a line");
    let (list, _) = list.split_once("\n]").expect("the end of the list of members");
    let mut listed = BTreeMap::new();
    let mut above = "";
    for line in list.lines().map(str::trim) {
        if let Some((member, _)) = line.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            listed.insert(member.to_owned(), above.starts_with('#'));
        }
        above = line;
    }
    listed
}

#[test]
fn no_edge_that_is_not_allowed() {
    let edges: BTreeMap<String, BTreeSet<String>> = ALLOWED_EDGES
        .iter()
        .map(|(folder, uses)| (package_in(folder), uses.iter().map(|used| package_in(used)).collect()))
        .collect();
    let members = members();
    let ours: BTreeSet<&str> = members.iter().map(|member| member.package.as_str()).collect();
    for Member { package, uses, .. } in members.iter().filter(|member| member.package != "xtask") {
        let allowed = edges
            .get(package)
            .unwrap_or_else(|| panic!("{package} is not in ALLOWED_EDGES (xtask/tests/layering.rs)"));
        for used in uses.iter().filter(|used| ours.contains(used.as_str())) {
            assert!(
                allowed.contains(used),
                "the edge {package} → {used} is not in ALLOWED_EDGES (xtask/tests/layering.rs)"
            );
        }
    }
}

/// Recording needs no verdict and no recorded run: the command verifies after sealing, and supplies
/// the answers of a replay.
#[test]
fn recording_links_neither_verify_nor_replay() {
    let members = members();
    let uses: BTreeMap<&str, &BTreeSet<String>> =
        members.iter().map(|member| (member.package.as_str(), &member.uses)).collect();
    for recording in ["record", "capture", "gateway"] {
        let (mut found, mut next) = (BTreeSet::new(), vec![package_in(recording)]);
        while let Some(package) = next.pop() {
            let used = uses.get(package.as_str()).into_iter().copied().flatten().cloned();
            next.extend(used.filter(|used| found.insert(used.clone())));
        }
        for other in ["verify", "run", "replay"] {
            assert!(!found.contains(&package_in(other)), "{recording} links {other}");
        }
    }
}

#[test]
fn every_crate_with_allowed_edges_exists() {
    let named = ALLOWED_EDGES.iter().flat_map(|(folder, uses)| uses.iter().chain([folder]));
    for folder in named {
        assert!(
            root().join("crates").join(folder).join("Cargo.toml").exists(),
            "there is no crates/{folder}"
        );
    }
}

#[test]
fn every_member_says_what_it_is_for() {
    let listed = listed(&read(&root().join("Cargo.toml")));
    for member in members() {
        let place = member.relative_folder();
        assert_eq!(
            listed.get(&place),
            Some(&true),
            "`{place}` needs a line of its own in the members of Cargo.toml, and a comment directly above it"
        );
    }
}

#[test]
fn every_dependency_says_why() {
    for member in members() {
        let manifest = read(&member.manifest());
        assert_eq!(
            unexplained(&manifest),
            Vec::<&str>::new(),
            "{}/Cargo.toml: dependencies without a comment above them that says why",
            member.relative_folder()
        );
    }
}

#[test]
fn a_dependency_without_a_reason_is_found() {
    let manifest = "\
[package]
name = \"x\"

[dependencies]
reenact-json.workspace = true
bare = \"1\"
# Why.
one = \"1\"
two = { version = \"1\", features = [
    \"a\",

    \"b\",
] }

alone = \"1\"

[target.'cfg(unix)'.dev-dependencies]
unix = \"1\"

[build-dependencies.table]
version = \"1\"

# Why.
[build-dependencies.reason]
version = \"1\"

[lints]
workspace = true
";
    assert_eq!(
        unexplained(manifest),
        ["bare = \"1\"", "alone = \"1\"", "unix = \"1\"", "[build-dependencies.table]"]
    );
}

#[test]
fn the_verifier_brings_only_what_is_listed() {
    let tree = cargo(&[
        "tree",
        "--package=reenact-verify",
        "--no-default-features",
        "--features=formats",
        "--edges=normal",
        "--prefix=none",
        "--format={p}",
        // The list is the same on every machine that runs this test.
        "--target=all",
    ]);
    let brought: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let written: BTreeSet<&str> = VERIFY_DEPENDENCIES.iter().copied().collect();
    let more: Vec<&&str> = brought.difference(&written).collect();
    assert!(
        more.is_empty(),
        "the library of reenact-verify brings {more:?}, which VERIFY_DEPENDENCIES in xtask/tests/layering.rs does not name"
    );
    let gone: Vec<&&str> = written.difference(&brought).collect();
    assert!(
        gone.is_empty(),
        "VERIFY_DEPENDENCIES in xtask/tests/layering.rs names {gone:?}, which is gone: strike it out"
    );
}

#[test]
fn every_crate_takes_the_lints_and_unsafe_is_forbidden() {
    let manifest = read(&root().join("Cargo.toml"));
    let (_, lints) = manifest.split_once("\n[workspace.lints.rust]\n").expect("lints of the workspace");
    let rust = lints.split("\n[").next().unwrap();
    assert!(
        rust.lines().any(|line| line == "unsafe_code = \"forbid\""),
        "Cargo.toml must forbid unsafe code"
    );
    for member in members() {
        assert!(
            read(&member.manifest()).contains("\n[lints]\nworkspace = true"),
            "{}/Cargo.toml needs `[lints]` with `workspace = true`",
            member.relative_folder()
        );
    }
}

#[test]
fn every_crate_folder_is_a_member_under_its_own_name() {
    let members = members();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.join("Cargo.toml").exists() {
            continue;
        }
        let name = folder.file_name().unwrap().to_str().unwrap();
        let member = members.iter().find(|member| member.folder == folder);
        assert_eq!(
            member.map(|member| member.package.clone()),
            Some(package_in(name)),
            "crates/{name} must be a member in Cargo.toml, as the package {}",
            package_in(name)
        );
    }
}

/// The table of crates in ARCHITECTURE.md draws the allowed edges: none is left out, and none is made up.
#[test]
fn the_architecture_draws_the_allowed_edges() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let (_, table) = text.split_once("| crate | one job | may use |").expect("the table of crates");
    let mut drawn: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let uses = cells[2].split(", ").filter(|used| *used != "–").collect();
        drawn.insert(cells[0].trim_matches('`'), uses);
    }
    for (folder, uses) in ALLOWED_EDGES {
        let drawn = drawn.remove(folder).unwrap_or_else(|| panic!("ARCHITECTURE.md does not draw {folder}"));
        let allowed = if *folder == "cli" { BTreeSet::from(["all"]) } else { uses.iter().copied().collect() };
        assert_eq!(drawn, allowed, "the row of {folder} in ARCHITECTURE.md");
    }
    assert!(drawn.is_empty(), "ARCHITECTURE.md draws crates that do not exist: {drawn:?}");
}

/// Every crate that is published tells a registry what it is, and has a README that its page shows.
#[test]
fn every_published_crate_describes_itself() {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--no-deps"])).unwrap();
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
        let readme = read(&Path::new(manifest).with_file_name(readme));
        assert!(readme.starts_with(&format!("# {}\n", name.as_str().unwrap())), "{name}: the README's title");
    }
}
