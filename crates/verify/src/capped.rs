//! Bounds of a report: no file, however hostile, makes a report of more than a few megabytes.
//!
//! [`Capped`] keeps the first findings of one kind while they are found. [`cap_lines`] and [`cap_text`] hold every list and text
//! of a finished report to [`MAX_LIST_ITEMS`] and [`MAX_TEXT_BYTES`].

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

/// Largest number of items in any list of a report: reasons, notes, violations, codes, rules, digests.
pub const MAX_LIST_ITEMS: usize = 1_000;

/// Longest text in any list of a report, in bytes. What a text quotes is cut long before; no text is meant to be as long.
pub const MAX_TEXT_BYTES: usize = 4_096;

/// Cuts a list of texts to `max` items, the last of which then tells the number of those that were left out.
pub(crate) fn cap_lines(lines: &mut Vec<String>, max: usize) {
    if lines.len() > max {
        let more = lines.len() - max.saturating_sub(1);
        lines.truncate(max.saturating_sub(1));
        lines.push(format!("and {more} more"));
    }
    lines.iter_mut().for_each(cap_text);
}

/// Cuts a text to [`MAX_TEXT_BYTES`], with its full length at the end.
pub(crate) fn cap_text(text: &mut String) {
    /// Bytes for the full length at the end.
    const LENGTH_BYTES: usize = 40;
    if text.len() > MAX_TEXT_BYTES {
        let length = text.len();
        let cut = (0..=MAX_TEXT_BYTES - LENGTH_BYTES).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(cut.unwrap_or(0));
        text.push_str(&format!("… ({length} bytes)"));
    }
}

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
    fn a_report_says_what_it_leaves_out() {
        let lines = |count: usize| -> Vec<String> { (0..count).map(|at| at.to_string()).collect() };
        let mut short = lines(5);
        cap_lines(&mut short, 5);
        assert_eq!(short, lines(5));
        let mut long = lines(100);
        cap_lines(&mut long, 5);
        assert_eq!(long, ["0", "1", "2", "3", "and 96 more"]);

        let mut text = "x".repeat(MAX_TEXT_BYTES);
        cap_text(&mut text);
        assert_eq!(text, "x".repeat(MAX_TEXT_BYTES));
        let mut text = "€".repeat(MAX_TEXT_BYTES);
        cap_text(&mut text);
        assert_eq!(text, format!("{}… ({} bytes)", "€".repeat(1_352), 3 * MAX_TEXT_BYTES));
    }

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
