//! Lists that are sets: their elements are sorted by their own text.
//!
//! Each form sorts by its own text, so that the same list may come out in two orders. Both are put together in memory, which
//! nothing else in a walk is.

use reenact_json::canonical::Sink;
use reenact_json::{CanonicalFault, Position};

use super::walk::Walk;

pub(super) fn write<W: Sink, T: Sink>(
    walk: &mut Walk<'_, '_, W, T>,
    at: usize,
) -> Result<usize, CanonicalFault> {
    let forms = walk.forms();
    let (mut whole, mut stripped) = (Pieces::default(), Pieces::default());
    let mut inner = Walk::new(walk.scanned, &mut whole.text, &mut stripped.text);
    inner.turn(forms.0, forms.1);
    let mut list = inner.open_list(at);
    while let Some(at) = inner.next_element(&mut list) {
        let from = (inner.whole().len(), inner.stripped().len());
        let end = inner.value(at)?;
        if forms.0 {
            whole.elements.push(place(from.0, inner.whole().len(), inner.text, at)?);
        }
        if forms.1 {
            stripped.elements.push(place(from.1, inner.stripped().len(), inner.text, at)?);
        }
        inner.wrote_element(&mut list, end);
    }
    let end = inner.close_list(list);
    let is_respelled = inner.is_respelled();
    let is_moved = whole.sort();
    stripped.sort();
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

/// Where an element begins and ends. There may be as many as every third byte of a file: eight bytes for each will do.
type Place = (u32, u32);

fn place(from: usize, to: usize, text: &[u8], at: usize) -> Result<Place, CanonicalFault> {
    match (u32::try_from(from), u32::try_from(to)) {
        (Ok(from), Ok(to)) => Ok((from, to)),
        _ => Err(CanonicalFault::TooLarge { path: Position::of(text, at).path }),
    }
}

/// A list in one form, and where its elements lie in it.
#[derive(Default)]
struct Pieces {
    text: Vec<u8>,
    elements: Vec<Place>,
}

impl Pieces {
    fn spelled(text: &[u8], (from, to): Place) -> &[u8] {
        text.get(from as usize..to as usize).unwrap_or_default()
    }

    /// Sorts the elements; says whether any changed its place.
    fn sort(&mut self) -> bool {
        let text = &self.text;
        let is_sorted = self.elements.is_sorted_by(|a, b| Self::spelled(text, *a) <= Self::spelled(text, *b));
        if !is_sorted {
            self.elements.sort_by(|a, b| Self::spelled(text, *a).cmp(Self::spelled(text, *b)));
        }
        !is_sorted
    }

    fn write(&self, out: &mut impl Sink) {
        let mut before: &[u8] = b"[";
        for element in &self.elements {
            out.put(before);
            out.put(Self::spelled(&self.text, *element));
            before = b",";
        }
        out.put(if self.elements.is_empty() { b"[]" } else { b"]" });
    }
}
