//! `reenact runs prune`: removes runs that are older than an age.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reenact_record::StoredRun;

use super::impossible;
use super::removal::RemovalArgs;
use crate::output::{self, CommandError};
use crate::{quantity, runs};

/// Remove the runs that are older than an age
///
/// The age of a run is that of its id. Runs that are being recorded stay, and so do runs that were never sealed: `reenact runs
/// recover` seals them. An artifact that `--out` put elsewhere stays there.
///
/// Exit codes: 0 all are removed; 1 the answer was no; 2 one could not be removed.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact runs prune --older-than 30d --dry-run\n  reenact runs prune --older-than 12w --yes"
)]
pub(super) struct PruneArgs {
    /// Age, as a number with h, d or w (hours, days, weeks)
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Duration,

    /// Show what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    removal: RemovalArgs,
}

/// Parses an age such as `12h`, `30d` or `4w`, up to a hundred years.
fn age(text: &str) -> Result<Duration, String> {
    const MAX_SECONDS: u64 = 100 * 366 * 86_400;
    let seconds =
        [("h", 3600), ("d", 86_400), ("w", 7 * 86_400)].into_iter().find_map(|(unit, seconds): (_, u64)| {
            let number = text.strip_suffix(unit)?;
            let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
            number.parse::<u64>().ok().filter(|_| is_plain)?.checked_mul(seconds)
        });
    match seconds {
        Some(seconds) if seconds <= MAX_SECONDS => Ok(Duration::from_secs(seconds)),
        _ => Err("an age is a number with h, d or w, such as 30d".into()),
    }
}

impl PruneArgs {
    /// Removes the old runs, or shows them.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let store = runs::run_store()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut ids = store.run_ids().map_err(impossible)?;
        ids.retain(|id| now.checked_sub(id.created_at()).is_some_and(|age| age > self.older_than));
        let mut unsealed = 0;
        ids.retain(|id| match store.state(*id) {
            Ok(StoredRun::Unsealed) => {
                unsealed += 1;
                false
            }
            Ok(StoredRun::Recording) => false,
            _ => true,
        });
        if unsealed > 0 {
            let kept = quantity::count(unsealed, "old run");
            output::print_notice(&format!("{kept} never sealed, and kept; seal with: reenact runs recover"));
        }
        match self.dry_run {
            true => self.removal.show(&store, &ids).map(|()| 0),
            false => self.removal.remove(&store, &ids),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages() {
        for (text, hours) in [("0h", 0), ("12h", 12), ("30d", 720), ("4w", 672), ("36600d", 878_400)] {
            assert_eq!(age(text), Ok(Duration::from_secs(hours * 3600)), "{text}");
        }
        for text in
            ["", "d", "30", "30m", "-1d", "+1d", "1.5d", " 1d", "1d ", "36601d", "99999999999999999999d"]
        {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
