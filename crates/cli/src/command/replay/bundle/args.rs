//! Options of `replay` that only Replay Bundles have.

use std::path::PathBuf;

use super::super::ReplayArgs;
use super::seeds::SeedOverride;
use crate::output::CommandError;

/// Options of Replay Bundles.
#[derive(clap::Args)]
pub(in crate::command::replay) struct ReplayBundleArgs {
    /// A Replay Bundle: also write run.json, summary.json, junit.xml and sarif.json, which say where they come from. Without B the
    /// newest one that was made of a run of this folder, else the newest of .assay/bundles, else .assay/replay.bundle
    #[arg(long, value_name = "B", conflicts_with = "run")]
    pub(super) bundle: Option<Option<PathBuf>>,

    /// The trace of a bundle that holds only its digest
    #[arg(long, value_name = "F", requires = "bundle", conflicts_with = "run")]
    pub(super) trace: Option<PathBuf>,

    /// The config of a bundle, to check that it has the digest which the bundle names; it is not used otherwise
    #[arg(long, value_name = "F", requires = "bundle", conflicts_with = "run")]
    pub(super) config: Option<PathBuf>,

    /// The folder into which the command writes run.json, summary.json, junit.xml and sarif.json of its own: they are compared with
    /// those of the bundle
    #[arg(long, value_name = "DIR", conflicts_with_all = ["live", "from", "edit"])]
    pub(super) outputs: Option<PathBuf>,

    /// With --bundle: the folder for the results of the replay, in place of this one
    #[arg(long, value_name = "DIR", requires = "bundle", conflicts_with = "run")]
    pub(super) reports: Option<PathBuf>,

    /// A seed in place of the bundle's: N or order=N for REENACT_ORDER_SEED, judge=N for REENACT_JUDGE_SEED, which the command is
    /// given. May be given more than once
    #[arg(long, value_name = "[WHICH=]N", value_parser = SeedOverride::parse)]
    pub(super) seed: Vec<SeedOverride>,
}

impl ReplayArgs {
    /// Checks that options of bundles are not given for a record of another kind.
    ///
    /// # Errors
    ///
    /// If one is.
    pub(in crate::command::replay) fn require_no_bundle_options(&self) -> Result<(), CommandError> {
        let option = match &self.bundle {
            ReplayBundleArgs { outputs: Some(_), .. } => "--outputs",
            ReplayBundleArgs { seed, .. } if !seed.is_empty() => "--seed",
            _ => return Ok(()),
        };
        Err(CommandError::impossible(format!(
            "{option} has a meaning only with a Replay Bundle: no other record holds outputs or seeds"
        )))
    }
}
