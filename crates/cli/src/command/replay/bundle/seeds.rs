//! Seeds of a bundle, which the replayed command is given as variables.
//!
//! | in the manifest | variable | option |
//! |---|---|---|
//! | `order_seed` | `REENACT_ORDER_SEED` | `--seed N`, `--seed order=N` |
//! | `judge_seed` | `REENACT_JUDGE_SEED` | `--seed judge=N` |
//!
//! What a command makes of a variable is its own affair; a seed is claimed only where the command was given it. Start reading at
//! `ReplayArgs::seeds`.

use reenact_formats::replay_bundle::ManifestView;
use reenact_formats::replay_bundle::manifest::SeedsView;
use reenact_json::Value;
use reenact_run::Run;

use super::super::ReplayArgs;
use super::inputs::manifest;

/// Kind of seed that a manifest has.
#[derive(Debug, PartialEq, Eq)]
struct SeedName {
    /// Member of the manifest.
    member: &'static str,
    /// Variable of the command.
    variable: &'static str,
    /// Word of the option.
    option: &'static str,
}

/// All kinds of seeds.
static SEED_NAMES: [SeedName; 2] = [
    SeedName { member: "order_seed", variable: "REENACT_ORDER_SEED", option: "order" },
    SeedName { member: "judge_seed", variable: "REENACT_JUDGE_SEED", option: "judge" },
];

/// Value of `--seed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeedOverride {
    name: &'static SeedName,
    seed: u64,
}

impl SeedOverride {
    /// Parses `N`, `order=N` or `judge=N`, for clap.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let (option, number) = text.split_once('=').unwrap_or(("order", text));
        let name = SEED_NAMES.iter().find(|name| name.option == option);
        let name = name.ok_or("write it as N, order=N or judge=N")?;
        let seed = number.parse().map_err(|_| "a seed is a whole number from 0 to 18446744073709551615")?;
        Ok(Self { name, seed })
    }
}

/// Seeds that a replayed command is given.
#[derive(Debug, Default)]
pub(in crate::command::replay) struct ReplaySeeds {
    seeds: Vec<(&'static SeedName, u64)>,
    overrides: Vec<SeedOverride>,
    /// Members of the manifest that are no whole numbers.
    unusable: Vec<&'static str>,
}

impl ReplayArgs {
    /// Returns the seeds for the command of a replay; none for a record that is no bundle.
    pub(in crate::command::replay) fn seeds(&self, run: &Run) -> ReplaySeeds {
        ReplaySeeds::of(run, &self.bundle.seed)
    }
}

impl ReplaySeeds {
    /// Returns the seeds of a bundle, with those that options give in their place. A seed of the bundle that is no whole number is not
    /// used.
    fn of(run: &Run, overrides: &[SeedOverride]) -> Self {
        let seeds = manifest(run).and_then(|manifest| ManifestView::of(manifest).seeds);
        let SeedsView { order_seed, judge_seed, .. } = seeds.map(SeedsView::of).unwrap_or_default();
        let (mut found, mut unusable) = (Vec::new(), Vec::new());
        for (name, recorded) in SEED_NAMES.iter().zip([order_seed, judge_seed]) {
            // Of several for one seed, the last counts.
            let given = overrides.iter().rfind(|given| given.name == name).map(|given| given.seed);
            let read = recorded.and_then(number);
            if given.is_none() && recorded.is_some() && read.is_none() {
                unusable.push(name.member);
            }
            found.extend(given.or(read).map(|seed| (name, seed)));
        }
        Self { seeds: found, overrides: overrides.to_vec(), unusable }
    }

    /// Returns notices on seeds of the bundle that the command is not given.
    pub(super) fn notices(&self) -> impl Iterator<Item = String> {
        let said =
            |name| format!("the {name} of the bundle is no whole number, and the command is not given it");
        self.unusable.iter().map(said)
    }

    /// Returns the variables of the command.
    pub(in crate::command::replay) fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.seeds.iter().map(|(name, seed)| (name.variable, seed.to_string()))
    }

    /// Returns the seeds by their names in the manifest.
    pub(super) fn named(&self) -> Vec<(&'static str, String)> {
        self.seeds.iter().map(|(name, seed)| (name.member, seed.to_string())).collect()
    }

    /// Returns the seeds that replace those of the bundle, by their names in the manifest.
    pub(super) fn overrides(&self) -> Vec<(&'static str, String)> {
        let is_used = |name: &SeedName| self.overrides.iter().any(|given| given.name == name);
        let used = self.seeds.iter().filter(|(name, _)| is_used(name));
        used.map(|(name, seed)| (name.member, seed.to_string())).collect()
    }
}

/// Returns a seed of the manifest, which may be text or a number.
fn number(recorded: Value<'_>) -> Option<u64> {
    match recorded.string() {
        Some(text) => text.parse().ok(),
        None => recorded.unsigned_integer(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_on_the_command_line() {
        let parse = |text: &str| SeedOverride::parse(text).map(|given| (given.name.variable, given.seed));
        assert_eq!(parse("7"), Ok(("REENACT_ORDER_SEED", 7)));
        assert_eq!(parse("order=0"), Ok(("REENACT_ORDER_SEED", 0)));
        assert_eq!(parse("judge=18446744073709551615"), Ok(("REENACT_JUDGE_SEED", u64::MAX)));
        assert_eq!(parse("other=1"), Err("write it as N, order=N or judge=N"));
        for text in ["", "-1", "order=", "1.5", "judge=18446744073709551616"] {
            let error = "a seed is a whole number from 0 to 18446744073709551615";
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }
}
