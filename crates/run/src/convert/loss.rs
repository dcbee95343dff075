//! What a conversion loses: each thing by its path in the source, and why.
//!
//! A long run may lose the same thing a hundred thousand times. Those are kept as numbers under one pattern, so that the list is
//! complete and small.

use std::collections::HashMap;

/// What stands before the numbers of items.
const LISTS: [&str; 6] =
    ["$.events[", "$.payload.run.steps[", "$.interactions[", "$[", "trace[", "$.timeline["];

/// Where something lies in the source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// At one path, such as `$.envelope`.
    At(String),
    /// In one of many items: what stands before the item's number, the number, and what stands behind it.
    Item(&'static str, usize, String),
}

impl Place {
    /// The same place, and further inside.
    pub fn inside(&self, more: &str) -> Self {
        match self {
            Self::At(path) => Self::At(format!("{path}{more}")),
            Self::Item(before, index, after) => Self::Item(before, *index, format!("{after}{more}")),
        }
    }
}

/// So many patterns are told apart. A record of a hundred thousand names must not become a list that is larger than itself.
const MOST_PATTERNS: usize = 10_000;
/// Where those are that are only counted.
const ELSEWHERE: &str = "elsewhere";
const TOO_MANY: &str = "there are more places than are told one by one";

/// Things that are lost for one reason at places of one pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    before: String,
    after: Option<String>,
    indices: Vec<u32>,
    /// How many more there are, of which no place is kept.
    more: usize,
    /// Why.
    pub reason: &'static str,
}

impl Loss {
    /// The pattern of its paths, with `*` for the numbers; the path itself, if it is one.
    pub fn pattern(&self) -> String {
        match (&self.after, self.indices.as_slice()) {
            (None, _) => self.before.clone(),
            (Some(after), [index]) => format!("{}{index}{after}", self.before),
            (Some(after), _) => format!("{}*{after}", self.before),
        }
    }

    /// How many places there are.
    pub fn count(&self) -> usize {
        (self.indices.len() + self.more).max(1)
    }

    /// How many things are counted of which no place is kept.
    pub fn without_place(&self) -> usize {
        self.more
    }

    /// Each place.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        let single = self.after.is_none().then(|| Place::At(self.before.clone()));
        let after = self.after.clone().unwrap_or_default();
        let before = LISTS.into_iter().find(|list| *list == self.before).unwrap_or_default();
        let many = self.indices.iter().map(move |&index| Place::Item(before, index as usize, after.clone()));
        single.into_iter().chain(many)
    }

    /// Each path.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        let single = self.after.is_none().then(|| self.before.clone());
        let after = self.after.as_deref().unwrap_or_default();
        let many = self.indices.iter().map(move |index| format!("{}{index}{after}", self.before));
        single.into_iter().chain(many)
    }
}

/// All that a conversion loses, in the order in which it was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Losses {
    losses: Vec<Loss>,
    known: HashMap<(String, Option<String>, &'static str), usize>,
}

impl Losses {
    /// Nothing is lost.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that something is lost.
    pub fn add(&mut self, place: Place, reason: &'static str) {
        let (before, index, after) = match place {
            Place::At(path) => (path, None, None),
            Place::Item(before, index, after) => (before.to_owned(), Some(index), Some(after)),
        };
        let key = (before, after, reason);
        if self.known.len() >= MOST_PATTERNS && !self.known.contains_key(&key) {
            return self.add_more(1, TOO_MANY);
        }
        let at = *self.known.entry(key).or_insert_with_key(|(before, after, _)| {
            self.losses.push(Loss {
                before: before.clone(),
                after: after.clone(),
                indices: Vec::new(),
                more: 0,
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
    pub(super) fn add_more(&mut self, count: usize, reason: &'static str) {
        if count == 0 {
            return;
        }
        let key = (ELSEWHERE.to_owned(), None, reason);
        let at = *self.known.entry(key).or_insert_with(|| {
            let before = ELSEWHERE.to_owned();
            self.losses.push(Loss { before, after: None, indices: Vec::new(), more: 0, reason });
            self.losses.len() - 1
        });
        if let Some(loss) = self.losses.get_mut(at) {
            loss.more = loss.more.saturating_add(count);
        }
    }

    /// Takes what another part of the conversion lost.
    pub fn extend(&mut self, other: Losses) {
        for loss in other.losses {
            if loss.more > 0 {
                self.add_more(loss.more, loss.reason);
                continue;
            }
            self.known.insert((loss.before.clone(), loss.after.clone(), loss.reason), self.losses.len());
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
            losses.add(Place::At(format!("$.x{index}")), "a");
        }
        losses.add(Place::At("$.x0".into()), "a");
        losses.add_more(5, "b");
        let last: Vec<_> =
            losses.iter().skip(10_000).map(|loss| (loss.pattern(), loss.count(), loss.reason)).collect();
        assert_eq!(last, [("elsewhere".into(), 4, TOO_MANY), ("elsewhere".into(), 5, "b")]);
        assert_eq!(losses.count(), 10_009);
        let mut taken = Losses::new();
        taken.add_more(1, "b");
        taken.extend(losses);
        assert_eq!(taken.count(), 10_010);
    }

    #[test]
    fn the_same_thing_many_times() {
        let mut losses = Losses::new();
        losses.add(Place::At("$.envelope".into()), "a");
        let item = |index| Place::Item("$.events[", index, "]".into()).inside(".payload");
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
