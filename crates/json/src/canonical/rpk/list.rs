//! Lists that are sets: their elements are sorted by their own text.
//!
//! Each form sorts by its own text, so that the same list may come out in two orders. Both are put together in memory, which
//! nothing else in a walk is.

use core::ops::Range;

use super::walk::Walk;
use crate::canonical::{CanonicalFault, Sink};

pub(super) fn write<W: Sink, T: Sink>(
    walk: &mut Walk<'_, '_, W, T>,
    at: usize,
) -> Result<usize, CanonicalFault> {
    let forms = walk.forms();
    let (mut whole, mut stripped) = (Pieces::default(), Pieces::default());
    let mut inner = Walk::new(walk.text, walk.disorder, &mut whole.text, &mut stripped.text);
    inner.turn(forms.0, forms.1);
    let (mut wholes, mut strippeds) = (Vec::new(), Vec::new());
    let mut list = inner.open_list(at);
    while let Some(at) = inner.next_element(&mut list) {
        let from = (inner.whole().len(), inner.stripped().len());
        let end = inner.value(at)?;
        wholes.push(from.0..inner.whole().len());
        strippeds.push(from.1..inner.stripped().len());
        inner.wrote_element(&mut list, end);
    }
    let end = inner.close_list(list);
    let is_respelled = inner.is_respelled();
    whole.elements = wholes;
    stripped.elements = strippeds;
    let is_moved = forms.0 && whole.sort();
    if forms.1 {
        stripped.sort();
    }
    walk.respelled(is_respelled || is_moved);
    if forms.0 {
        walk.turn(true, false);
        whole.write(walk);
    }
    if forms.1 {
        walk.turn(false, true);
        stripped.write(walk);
    }
    walk.turn(forms.0, forms.1);
    Ok(end)
}

/// A list in one form, and where its elements lie in it.
#[derive(Default)]
struct Pieces {
    text: Vec<u8>,
    elements: Vec<Range<usize>>,
}

impl Pieces {
    /// Sorts the elements; says whether any changed its place.
    fn sort(&mut self) -> bool {
        let text = &self.text;
        let spelled = |element: &Range<usize>| text.get(element.clone()).unwrap_or_default();
        let is_sorted = self.elements.is_sorted_by(|a, b| spelled(a) <= spelled(b));
        if !is_sorted {
            self.elements.sort_by(|a, b| spelled(a).cmp(spelled(b)));
        }
        !is_sorted
    }

    fn write(&self, out: &mut impl Sink) {
        let mut before: &[u8] = b"[";
        for element in &self.elements {
            out.put(before);
            out.put(self.text.get(element.clone()).unwrap_or_default());
            before = b",";
        }
        out.put(if self.elements.is_empty() { b"[]" } else { b"]" });
    }
}
