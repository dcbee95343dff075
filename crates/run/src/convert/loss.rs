//! Losses of a conversion: each with its path in the source, and the reason.
//!
//! A long run may lose the same thing a hundred thousand times. Such losses share one pattern and keep only
//! their indices, so that the list is complete and small.

use std::collections::HashMap;

/// Paths of all lists of items, up to the index.
const ITEM_LISTS: [&str; 6] =
    ["$.events[", "$.payload.run.steps[", "$.interactions[", "$[", "trace[", "$.timeline["];

/// Path of something in the source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SourcePath {
    /// A single path, such as `$.envelope`.
    At(String),
    /// A path in one of many items: the text before the item's index, the index, and the text after it.
    Item(&'static str, usize, String),
}

impl SourcePath {
    /// Returns the path of a part: this path with `more` appended, such as `.payload`.
    pub fn child(&self, more: &str) -> Self {
        match self {
            Self::At(path) => Self::At(format!("{path}{more}")),
            Self::Item(before, index, after) => Self::Item(before, *index, format!("{after}{more}")),
        }
    }
}

/// Largest number of patterns that are listed. A record of a hundred thousand member names must not make a list
/// that is larger than itself.
const MAX_PATTERNS: usize = 10_000;
/// Path of losses that are only counted.
const UNLISTED_PATH: &str = "elsewhere";
/// Reason of losses beyond [`MAX_PATTERNS`].
const TOO_MANY: &str = "there are more places than are told one by one";

/// Parts of a source that are lost for one reason, at paths of one pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Text of the paths before the index; the whole path if there is no index.
    prefix: String,
    /// Text of the paths after the index; `None` if there is no index.
    suffix: Option<String>,
    /// Indices of the items.
    indices: Vec<u32>,
    /// Number of further losses whose paths are not kept.
    without_path: usize,
    /// Reason of the loss.
    pub reason: &'static str,
}

impl Loss {
    /// Returns the pattern of the paths, with `*` for the index; the path itself if there is only one.
    pub fn pattern(&self) -> String {
        match (&self.suffix, self.indices.as_slice()) {
            (None, _) => self.prefix.clone(),
            (Some(after), [index]) => format!("{}{index}{after}", self.prefix),
            (Some(after), _) => format!("{}*{after}", self.prefix),
        }
    }

    /// Returns the number of parts that are lost, at least 1.
    pub fn count(&self) -> usize {
        (self.indices.len() + self.without_path).max(1)
    }

    /// Returns the number of losses whose paths are not kept.
    pub fn count_without_path(&self) -> usize {
        self.without_path
    }

    /// Returns each path in its parts.
    pub(super) fn source_paths(&self) -> impl Iterator<Item = SourcePath> {
        let single = self.suffix.is_none().then(|| SourcePath::At(self.prefix.clone()));
        let after = self.suffix.clone().unwrap_or_default();
        let before = ITEM_LISTS.into_iter().find(|list| *list == self.prefix).unwrap_or_default();
        let many =
            self.indices.iter().map(move |&index| SourcePath::Item(before, index as usize, after.clone()));
        single.into_iter().chain(many)
    }

    /// Returns each path as text.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        let single = self.suffix.is_none().then(|| self.prefix.clone());
        let after = self.suffix.as_deref().unwrap_or_default();
        let many = self.indices.iter().map(move |index| format!("{}{index}{after}", self.prefix));
        single.into_iter().chain(many)
    }
}

/// All losses of a conversion, in the order in which they were found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Losses {
    losses: Vec<Loss>,
    /// Index in `losses` by prefix, suffix and reason.
    index_by_pattern: HashMap<(String, Option<String>, &'static str), usize>,
}

impl Losses {
    /// Makes an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the loss of the part at a path. Beyond 10,000 patterns, losses of new patterns are only counted.
    pub fn add(&mut self, path: SourcePath, reason: &'static str) {
        let (before, index, after) = match path {
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

    /// Adds a number of losses without their paths.
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

    /// Appends the losses of another part of the conversion.
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

    /// Returns true if nothing is lost.
    pub fn is_empty(&self) -> bool {
        self.losses.is_empty()
    }

    /// Returns the number of parts that are lost.
    pub fn count(&self) -> usize {
        self.losses.iter().map(Loss::count).sum()
    }

    /// Returns the losses, one for each pattern and reason.
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
