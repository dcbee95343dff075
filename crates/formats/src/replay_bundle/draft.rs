//! What a new bundle says of itself; `files` is computed when it is written.

use std::collections::BTreeMap;

use reenact_json::Digest;

/// How a bundle holds a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Held {
    /// Not at all.
    #[default]
    Not,
    /// By its digest only.
    Digest(Digest),
    /// As the file of this name.
    File(String),
}

/// `outputs`: which files are what came out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The run with its results.
    pub run: Option<String>,
    /// The summary: what a reader is shown first.
    pub summary: Option<String>,
    /// JUnit.
    pub junit: Option<String>,
    /// SARIF.
    pub sarif: Option<String>,
}

/// `replay_coverage`: which tests the bundle holds enough for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Those that can be replayed.
    pub complete: Vec<String>,
    /// Those that cannot.
    pub incomplete: Vec<String>,
    /// Why they cannot.
    pub reason: BTreeMap<String, String>,
}

/// `toolchain`, of which each part may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolchain {
    /// The compiler.
    pub rustc: Option<String>,
    /// The build tool.
    pub cargo: Option<String>,
    /// The digest of its lock file.
    pub cargo_lock_hash: Option<String>,
    /// The machine.
    pub runner: Option<Runner>,
}

/// `toolchain.runner`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runner {
    /// The operating system.
    pub os: Option<String>,
    /// The processor.
    pub arch: Option<String>,
    /// The image that it ran in.
    pub container_image_digest: Option<String>,
    /// Whether it ran unattended.
    pub ci: Option<bool>,
}

/// `seeds`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seeds {
    /// How seeds are used.
    pub seed_version: Option<u32>,
    /// The seed of the order of tests.
    pub order_seed: Option<String>,
    /// The seed of the judge.
    pub judge_seed: Option<String>,
}

/// `scrub_policy`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScrubPolicy {
    /// Whether prompts are in the bundle.
    pub include_prompts: Option<bool>,
    /// Whether cassettes were masked.
    pub scrub_cassettes: Option<bool>,
    /// The name of the policy.
    pub name: Option<String>,
}

/// What a manifest says; `files` is computed. Whatever is `None` is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewManifest {
    /// Who wrote it; must not be empty.
    pub assay_version: String,
    /// When; left out, the same run gives the same bytes.
    pub created_at: Option<String>,
    /// Where the run lay on its producer's disk. We write none: it says whose machine it was.
    pub source_run_path: Option<String>,
    /// How the run was chosen.
    pub selection_method: Option<String>,
    /// The commit.
    pub git_sha: Option<String>,
    /// Whether there were changes beside it.
    pub git_dirty: Option<bool>,
    /// The run of the workflow.
    pub workflow_run_id: Option<String>,
    /// The config.
    pub config: Held,
    /// The policy in force.
    pub policy_digest: Option<Digest>,
    /// What it was compared with.
    pub baseline_digest: Option<Digest>,
    /// The trace.
    pub trace: Held,
    /// What came out.
    pub outputs: Outputs,
    /// What it was built with.
    pub toolchain: Option<Toolchain>,
    /// What chance began with.
    pub seeds: Option<Seeds>,
    /// What can be replayed.
    pub coverage: Option<Coverage>,
    /// What was taken out.
    pub scrub_policy: Option<ScrubPolicy>,
    /// Anything else: each value as JSON text.
    pub env: BTreeMap<String, String>,
}
