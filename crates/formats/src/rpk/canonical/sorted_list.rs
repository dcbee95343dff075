//! Lists that are sets: their elements are sorted by their own text.
//!
//! Each form sorts by its own text, so the same list may come out in two orders. Both lists are assembled in memory,
//! as nothing else in the canonical writer is.

use reenact_json::canonical::ByteSink;
use reenact_json::{CanonicalFault, Position};

use super::canonical_writer::RpkCanonicalWriter;

/// Writes the list at `at` to the enabled forms, sorted; returns the offset behind it.
pub(super) fn write_sorted_list<W: ByteSink, T: ByteSink>(
    walk: &mut RpkCanonicalWriter<'_, '_, W, T>,
    at: usize,
) -> Result<usize, CanonicalFault> {
    let forms = walk.enabled_forms();
    let (mut whole, mut stripped) = (ListElements::default(), ListElements::default());
    let mut inner = RpkCanonicalWriter::new(walk.scanned, &mut whole.text, &mut stripped.text);
    inner.enable_forms(forms.0, forms.1);
    let mut list = inner.open_list(at);
    while let Some(at) = inner.next_element(&mut list) {
        let from = (inner.whole().len(), inner.stripped().len());
        let end = inner.write_value(at)?;
        if forms.0 {
            whole.elements.push(element_span(from.0, inner.whole().len(), inner.text, at)?);
        }
        if forms.1 {
            stripped.elements.push(element_span(from.1, inner.stripped().len(), inner.text, at)?);
        }
        inner.finish_element(&mut list, end);
    }
    let end = inner.close_list(list);
    let is_respelled = inner.is_respelled();
    let is_moved = whole.sort();
    stripped.sort();
    walk.note_respelling(is_respelled || is_moved);
    if forms.0 {
        walk.enable_forms(true, false);
        whole.write(walk);
    }
    if forms.1 {
        walk.enable_forms(false, true);
        stripped.write(walk);
    }
    walk.enable_forms(forms.0, forms.1);
    Ok(end)
}

/// Offsets where an element begins and ends. There may be as many elements as every third byte of a file, so eight
/// bytes for each must do.
type ElementSpan = (u32, u32);

fn element_span(from: usize, to: usize, text: &[u8], at: usize) -> Result<ElementSpan, CanonicalFault> {
    match (u32::try_from(from), u32::try_from(to)) {
        (Ok(from), Ok(to)) => Ok((from, to)),
        _ => Err(CanonicalFault::TooLarge { path: Position::of(text, at).path }),
    }
}

/// List in one form: its text, and the spans of its elements.
#[derive(Default)]
struct ListElements {
    text: Vec<u8>,
    elements: Vec<ElementSpan>,
}

impl ListElements {
    fn element_text(text: &[u8], (from, to): ElementSpan) -> &[u8] {
        text.get(from as usize..to as usize).unwrap_or_default()
    }

    /// Sorts the elements; returns true if any element moved.
    fn sort(&mut self) -> bool {
        let text = &self.text;
        let is_sorted =
            self.elements.is_sorted_by(|a, b| Self::element_text(text, *a) <= Self::element_text(text, *b));
        if !is_sorted {
            self.elements.sort_by(|a, b| Self::element_text(text, *a).cmp(Self::element_text(text, *b)));
        }
        !is_sorted
    }

    fn write(&self, out: &mut impl ByteSink) {
        let mut before: &[u8] = b"[";
        for element in &self.elements {
            out.put(before);
            out.put(Self::element_text(&self.text, *element));
            before = b",";
        }
        out.put(if self.elements.is_empty() { b"[]" } else { b"]" });
    }
}
