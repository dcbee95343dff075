//! [`Capped`]: a list of findings with an upper bound.

/// List that keeps the first [`MAX_ITEMS`] items and counts the rest.
///
/// The bound exists because a hostile file must not make a report larger than itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Capped<T> {
    /// First items, at most [`MAX_ITEMS`].
    items: Vec<T>,
    /// Number of items pushed after the list was full.
    omitted: usize,
}

/// Number of findings of one check that a report spells out. These show where to look; of more, only
/// the number matters.
const MAX_ITEMS: usize = 20;

impl<T> Capped<T> {
    /// Appends an item, or counts it if the list is full.
    pub(crate) fn push(&mut self, item: T) {
        if self.items.len() < MAX_ITEMS {
            self.items.push(item);
        } else {
            self.omitted += 1;
        }
    }

    /// Appends another list whose items were found later.
    pub(crate) fn append(&mut self, later: Self) {
        self.omitted += later.omitted;
        later.items.into_iter().for_each(|item| self.push(item));
    }

    /// Returns the number of all items, kept and omitted.
    pub(crate) fn count(&self) -> usize {
        self.items.len() + self.omitted
    }

    /// Returns true if nothing was pushed.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns each kept item as text, followed by a line with the number of omitted items, if any.
    pub(crate) fn lines(&self, text: impl Fn(&T) -> String) -> Vec<String> {
        let mut lines: Vec<String> = self.items.iter().map(text).collect();
        if self.omitted > 0 {
            lines.push(format!("and {} more of this kind", self.omitted));
        }
        lines
    }
}

impl<T> Default for Capped<T> {
    fn default() -> Self {
        Self { items: Vec::new(), omitted: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_it_does_not_keep() {
        let list = |numbers: core::ops::Range<usize>| {
            let mut list = Capped::default();
            numbers.for_each(|number| list.push(number));
            list
        };
        let mut all = list(0..15);
        all.append(list(15..50));
        assert_eq!(all, list(0..50));
        assert_eq!(all.count(), 50);
        let lines = all.lines(ToString::to_string);
        assert_eq!((lines.len(), lines[20].as_str()), (21, "and 30 more of this kind"));
    }
}
