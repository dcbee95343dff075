//! Match levels: how much of a request may differ for a recorded answer to be served.

use core::fmt;
use core::str::FromStr;

/// Level at which two requests are the same, the strictest first. Each excuses all that the levels before it excuse.
///
/// Values that came from recorded answers are equal at every level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MatchLevel {
    /// Nothing differs.
    Exact,
    /// The spelling of the JSON, members that change no answer, and ids that a client makes up, exchanged one to one.
    Ids,
    /// Dates and times that lie in their own runs, durations and labelled numbers in results of tools.
    Moved,
    /// Results of tools.
    Tools,
    /// Everything: the request stands at the same place of the same conversation.
    Position,
}

impl MatchLevel {
    /// All levels, the strictest first.
    pub const ALL: [Self; 5] = [Self::Exact, Self::Ids, Self::Moved, Self::Tools, Self::Position];

    /// Returns the name on the command line and in reports, such as `moved`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Ids => "ids",
            Self::Moved => "moved",
            Self::Tools => "tools",
            Self::Position => "position",
        }
    }

    /// Returns true if a run whose requests are the same at this level is reproduced.
    pub fn is_reproduction(self) -> bool {
        self <= Self::Moved
    }
}

impl fmt::Display for MatchLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Text that names no level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no such level; there is: exact, ids, moved, tools, position")]
pub struct UnknownLevel;

impl FromStr for MatchLevel {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.name() == text).ok_or(UnknownLevel)
    }
}

/// Number of exchanges at each level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LevelCounts {
    counts: [usize; MatchLevel::ALL.len()],
}

impl LevelCounts {
    /// Returns the number of exchanges at a level.
    pub fn of(&self, level: MatchLevel) -> usize {
        self.counts.get(level as usize).copied().unwrap_or_default()
    }

    /// Counts one more exchange at a level.
    pub fn add(&mut self, level: MatchLevel) {
        if let Some(count) = self.counts.get_mut(level as usize) {
            *count += 1;
        }
    }

    /// Returns the number of exchanges at all levels.
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Returns the levels that occur, with their numbers, the strictest first.
    pub fn used(&self) -> impl Iterator<Item = (MatchLevel, usize)> {
        MatchLevel::ALL.into_iter().map(|level| (level, self.of(level))).filter(|(_, count)| *count > 0)
    }

    /// Returns the last level that occurs; `None` if there was no exchange.
    pub fn last(&self) -> Option<MatchLevel> {
        self.used().last().map(|(level, _)| level)
    }
}

impl FromIterator<(MatchLevel, usize)> for LevelCounts {
    fn from_iter<I: IntoIterator<Item = (MatchLevel, usize)>>(counted: I) -> Self {
        let mut levels = Self::default();
        for (level, count) in counted {
            if let Some(sum) = levels.counts.get_mut(level as usize) {
                *sum += count;
            }
        }
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_counts() {
        for level in MatchLevel::ALL {
            assert_eq!(level.name().parse(), Ok(level));
        }
        assert_eq!("Exact".parse::<MatchLevel>(), Err(UnknownLevel));
        let mut counts = LevelCounts::default();
        assert_eq!((counts.last(), counts.total()), (None, 0));
        for level in [MatchLevel::Moved, MatchLevel::Exact, MatchLevel::Exact] {
            counts.add(level);
        }
        assert_eq!(counts.used().collect::<Vec<_>>(), [(MatchLevel::Exact, 2), (MatchLevel::Moved, 1)]);
        assert_eq!(
            (counts.last(), counts.total(), counts.of(MatchLevel::Ids)),
            (Some(MatchLevel::Moved), 3, 0)
        );
    }
}
