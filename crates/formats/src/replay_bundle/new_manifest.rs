//! Contents of a new bundle's manifest, as the caller states them. `files` is computed when the bundle is written.

use std::collections::BTreeMap;

use reenact_json::Digest;

/// Form in which a bundle includes a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DocumentInclusion {
    /// The document is not included.
    #[default]
    Absent,
    /// Only the digest of the document is included.
    Digest(Digest),
    /// The document is included, as the file of this name.
    File(String),
}

/// `outputs`: names of the files that are results of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BundleOutputs {
    /// File of the run with its results.
    pub run: Option<String>,
    /// File of the summary, which a reader is shown first.
    pub summary: Option<String>,
    /// File of the JUnit report.
    pub junit: Option<String>,
    /// File of the SARIF report.
    pub sarif: Option<String>,
}

/// `replay_coverage`: the tests that the bundle holds enough data to replay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayCoverage {
    /// Tests that can be replayed.
    pub complete: Vec<String>,
    /// Tests that cannot be replayed.
    pub incomplete: Vec<String>,
    /// Reason for each test that cannot be replayed.
    pub reason: BTreeMap<String, String>,
}

/// `toolchain`; each part may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BundleToolchain {
    /// Version of the compiler.
    pub rustc: Option<String>,
    /// Version of the build tool.
    pub cargo: Option<String>,
    /// Digest of the lock file.
    pub cargo_lock_hash: Option<String>,
    /// Machine that ran the tests.
    pub runner: Option<ToolchainRunner>,
    /// Program that recorded the run, as `name/version`. The format does not name this member and the next; its
    /// readers pass over them.
    pub recorder: Option<String>,
    /// Agent that ran, as `name/version`.
    pub agent: Option<String>,
}

/// `toolchain.runner`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolchainRunner {
    /// Operating system.
    pub os: Option<String>,
    /// Processor architecture.
    pub arch: Option<String>,
    /// Digest of the container image.
    pub container_image_digest: Option<String>,
    /// True if the run was unattended.
    pub ci: Option<bool>,
}

/// `seeds`: starting values of the random number generators.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BundleSeeds {
    /// Version of the way in which seeds are used.
    pub seed_version: Option<u32>,
    /// Seed of the order of tests.
    pub order_seed: Option<String>,
    /// Seed of the judge.
    pub judge_seed: Option<String>,
}

/// `scrub_policy`: statements about what was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScrubPolicy {
    /// True if prompts are in the bundle.
    pub include_prompts: Option<bool>,
    /// True if cassettes were masked.
    pub scrub_cassettes: Option<bool>,
    /// Name of the policy.
    pub name: Option<String>,
}

/// Members of a new manifest. A member that is `None` is left out; `files` is computed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewManifest {
    /// Name and version of the program that writes the bundle; must not be empty.
    pub assay_version: String,
    /// Time of writing. Left out, the same run gives the same bytes.
    pub created_at: Option<String>,
    /// Path of the run on its producer's disk. We write none: it tells whose machine it was.
    pub source_run_path: Option<String>,
    /// Way in which the run was selected.
    pub selection_method: Option<String>,
    /// Git commit.
    pub git_sha: Option<String>,
    /// True if there were uncommitted changes.
    pub git_dirty: Option<bool>,
    /// Id of the workflow run.
    pub workflow_run_id: Option<String>,
    /// Configuration of the run.
    pub config: DocumentInclusion,
    /// Digest of the policy in force.
    pub policy_digest: Option<Digest>,
    /// Digest of the baseline that the run was compared with.
    pub baseline_digest: Option<Digest>,
    /// Trace of the run.
    pub trace: DocumentInclusion,
    /// Results of the run.
    pub outputs: BundleOutputs,
    /// Toolchain that the run was built with.
    pub toolchain: Option<BundleToolchain>,
    /// Seeds of the run.
    pub seeds: Option<BundleSeeds>,
    /// Tests that can be replayed.
    pub coverage: Option<ReplayCoverage>,
    /// Statements about what was removed.
    pub scrub_policy: Option<ScrubPolicy>,
    /// Further data by name; each value is JSON text.
    pub env: BTreeMap<String, String>,
}
