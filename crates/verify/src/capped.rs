//! A list that counts on when it is full.

/// Keeps the first items and counts the rest: a hostile file must not make a report larger than itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Capped<T> {
    kept: Vec<T>,
    more: usize,
}

/// How many findings of one check a report spells out. They name the places to look at; past this many, counting does.
const KEPT: usize = 20;

impl<T> Capped<T> {
    pub(crate) fn push(&mut self, item: T) {
        if self.kept.len() < KEPT {
            self.kept.push(item);
        } else {
            self.more += 1;
        }
    }

    /// Appends what another list found later.
    pub(crate) fn absorb(&mut self, later: Self) {
        self.more += later.more;
        later.kept.into_iter().for_each(|item| self.push(item));
    }

    pub(crate) fn count(&self) -> usize {
        self.kept.len() + self.more
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Each kept item as text, and a last line for the rest.
    pub(crate) fn lines(&self, text: impl Fn(&T) -> String) -> Vec<String> {
        let mut lines: Vec<String> = self.kept.iter().map(text).collect();
        if self.more > 0 {
            lines.push(format!("and {} more of this kind", self.more));
        }
        lines
    }
}

impl<T> Default for Capped<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), more: 0 }
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
        all.absorb(list(15..50));
        assert_eq!(all, list(0..50));
        assert_eq!(all.count(), 50);
        let lines = all.lines(ToString::to_string);
        assert_eq!((lines.len(), lines[20].as_str()), (21, "and 30 more of this kind"));
    }
}
