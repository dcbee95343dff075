//! What a conversion loses: each thing by its path in the source, and why.
//!
//! A long run may lose the same thing a hundred thousand times. Those are kept as numbers under one pattern, so that the list is
//! complete and small.

use std::collections::HashMap;

/// What stands before the numbers of items.
const ITEM_LISTS: [&str; 6] =
    ["$.events[", "$.payload.run.steps[", "$.interactions[", "$[", "trace[", "$.timeline["];

/// Where something lies in the source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SourcePath {
    /// At one path, such as `$.envelope`.
    At(String),
    /// In one of many items: what stands before the item's number, the number, and what stands behind it.
    Item(&'static str, usize, String),
}

impl SourcePath {
    /// The same place, and further inside.
    pub fn child(&self, more: &str) -> Self {
        match self {
            Self::At(path) => Self::At(format!("{path}{more}")),
            Self::Item(before, index, after) => Self::Item(before, *index, format!("{after}{more}")),
        }
    }
}

/// So many patterns are told apart. A record of a hundred thousand names must not become a list that is larger than itself.
const MAX_PATTERNS: usize = 10_000;
/// Where those are that are only counted.
const UNLISTED_PATH: &str = "elsewhere";
const TOO_MANY: &str = "there are more places than are told one by one";

/// Things that are lost for one reason at places of one pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    prefix: String,
    suffix: Option<String>,
    indices: Vec<u32>,
    /// How many more there are, of which no place is kept.
    without_path: usize,
    /// Why.
    pub reason: &'static str,
}

impl Loss {
    /// The pattern of its paths, with `*` for the numbers; the path itself, if it is one.
    pub fn pattern(&self) -> String {
        match (&self.suffix, self.indices.as_slice()) {
            (None, _) => self.prefix.clone(),
            (Some(after), [index]) => format!("{}{index}{after}", self.prefix),
            (Some(after), _) => format!("{}*{after}", self.prefix),
        }
    }

    /// How many places there are.
    pub fn count(&self) -> usize {
        (self.indices.len() + self.without_path).max(1)
    }

    /// How many things are counted of which no place is kept.
    pub fn count_without_path(&self) -> usize {
        self.without_path
    }

    /// Each place.
    pub(super) fn source_paths(&self) -> impl Iterator<Item = SourcePath> {
        let single = self.suffix.is_none().then(|| SourcePath::At(self.prefix.clone()));
        let after = self.suffix.clone().unwrap_or_default();
        let before = ITEM_LISTS.into_iter().find(|list| *list == self.prefix).unwrap_or_default();
        let many =
            self.indices.iter().map(move |&index| SourcePath::Item(before, index as usize, after.clone()));
        single.into_iter().chain(many)
    }

    /// Each path.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        let single = self.suffix.is_none().then(|| self.prefix.clone());
        let after = self.suffix.as_deref().unwrap_or_default();
        let many = self.indices.iter().map(move |index| format!("{}{index}{after}", self.prefix));
        single.into_iter().chain(many)
    }
}

/// All that a conversion loses, in the order in which it was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Losses {
    losses: Vec<Loss>,
    index_by_pattern: HashMap<(String, Option<String>, &'static str), usize>,
}

impl Losses {
    /// Nothing is lost.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that something is lost.
    pub fn add(&mut self, place: SourcePath, reason: &'static str) {
        let (before, index, after) = match place {
            SourcePath::At(path) => (path, None, None),
            SourcePath::Item(before, index, after) => (before.to_owned(), Some(index), Some(after)),
        };
        let key = (before, after, reason);
        if self.index_by_pattern.len() >= MAX_PATTERNS && !self.index_by_pattern.contains_key(&key) {
            return self.add_without_path(1, TOO_MANY);
        }
        let at = *self.index_by_pattern.entry(key).or_insert_with_key(|(before, after, _)| {
            self.losses.push(Loss {
                prefix: before.clone(),
                suffix: after.clone(),
                indices: Vec::new(),
                without_path: 0,
                reason,
            });
            self.losses.len() - 1
        });
        if let (Some(loss), Some(index)) = (self.losses.get_mut(at), index) {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            if loss.indices.last() != Some(&index) {
                loss.indices.push(index);
            }
        }
    }

    /// Notes that so many more things are lost, and not where.
    pub(super) fn add_without_path(&mut self, count: usize, reason: &'static str) {
        if count == 0 {
            return;
        }
        let key = (UNLISTED_PATH.to_owned(), None, reason);
        let at = *self.index_by_pattern.entry(key).or_insert_with(|| {
            let before = UNLISTED_PATH.to_owned();
            self.losses.push(Loss {
                prefix: before,
                suffix: None,
                indices: Vec::new(),
                without_path: 0,
                reason,
            });
            self.losses.len() - 1
        });
        if let Some(loss) = self.losses.get_mut(at) {
            loss.without_path = loss.without_path.saturating_add(count);
        }
    }

    /// Takes what another part of the conversion lost.
    pub fn extend(&mut self, other: Losses) {
        for loss in other.losses {
            if loss.without_path > 0 {
                self.add_without_path(loss.without_path, loss.reason);
                continue;
            }
            self.index_by_pattern
                .insert((loss.prefix.clone(), loss.suffix.clone(), loss.reason), self.losses.len());
            self.losses.push(loss);
        }
    }

    /// Whether nothing is lost.
    pub fn is_empty(&self) -> bool {
        self.losses.is_empty()
    }

    /// How many things are lost.
    pub fn count(&self) -> usize {
        self.losses.iter().map(Loss::count).sum()
    }

    /// What is lost, by pattern and reason.
    pub fn iter(&self) -> impl Iterator<Item = &Loss> {
        self.losses.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_places_are_counted() {
        let mut losses = Losses::new();
        for index in 0..10_004 {
            losses.add(SourcePath::At(format!("$.x{index}")), "a");
        }
        losses.add(SourcePath::At("$.x0".into()), "a");
        losses.add_without_path(5, "b");
        let last: Vec<_> =
            losses.iter().skip(10_000).map(|loss| (loss.pattern(), loss.count(), loss.reason)).collect();
        assert_eq!(last, [("elsewhere".into(), 4, TOO_MANY), ("elsewhere".into(), 5, "b")]);
        assert_eq!(losses.count(), 10_009);
        let mut taken = Losses::new();
        taken.add_without_path(1, "b");
        taken.extend(losses);
        assert_eq!(taken.count(), 10_010);
    }

    #[test]
    fn the_same_thing_many_times() {
        let mut losses = Losses::new();
        losses.add(SourcePath::At("$.envelope".into()), "a");
        let item = |index| SourcePath::Item("$.events[", index, "]".into()).child(".payload");
        for index in [3, 3, 5] {
            losses.add(item(index), "b");
        }
        losses.add(item(9), "c");
        let told: Vec<_> = losses.iter().map(|loss| (loss.pattern(), loss.count(), loss.reason)).collect();
        assert_eq!(
            told,
            [
                ("$.envelope".into(), 1, "a"),
                ("$.events[*].payload".into(), 2, "b"),
                ("$.events[9].payload".into(), 1, "c")
            ]
        );
        let paths: Vec<String> = losses.iter().flat_map(|loss| loss.paths().collect::<Vec<_>>()).collect();
        assert_eq!(
            paths,
            ["$.envelope", "$.events[3].payload", "$.events[5].payload", "$.events[9].payload"]
        );
        assert_eq!(losses.count(), 4);
    }
}
