//! Member names as spans of the text, and the sorting of the names of one object.

use core::cmp::Ordering;

use crate::name_order::NameOrder;
use crate::{name_sort, string};

/// Offsets of a name: of the byte behind its opening quote, and of its closing quote.
pub(crate) type NameSpan = (u32, u32);

/// Buffers of a [`Scanner`](crate::Scanner), to be reused by the next one. A reader of many short texts then allocates once.
#[derive(Debug, Default)]
pub struct ScannerBuffers(Vec<NameSpan>);

impl ScannerBuffers {
    pub(crate) fn new(name_spans: Vec<NameSpan>) -> Self {
        Self(name_spans)
    }

    /// Returns the buffer, cleared.
    pub(crate) fn into_name_spans(mut self) -> Vec<NameSpan> {
        self.0.clear();
        self.0
    }
}

/// Narrows an offset. Every offset fits, because no text is longer than [`crate::Limits::MAX_BYTES`].
#[inline]
pub(crate) fn to_u32(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns the text of a name, as written between its quotes.
#[inline]
pub(crate) fn name_text(input: &[u8], (start, end): NameSpan) -> &[u8] {
    input.get(start as usize..end as usize).unwrap_or_default()
}

/// Sorts names and returns one that repeats an earlier name, if there are any. `are_plain` is true if all names are ASCII without
/// escapes. Afterwards only the start of each span counts.
pub(crate) fn sort_names(
    input: &[u8],
    names: &mut [NameSpan],
    are_plain: bool,
    order: NameOrder,
) -> Option<NameSpan> {
    let repeated = if are_plain && names.len() <= MAX_ON_STACK {
        sort_on_stack(input, names)
    } else if names.len() > MAX_COMPARED {
        return name_sort::sort(input, names, are_plain, order);
    } else {
        let compare = |a: &NameSpan, b: &NameSpan| order.compare(name_text(input, *a), name_text(input, *b));
        names.sort_by(compare);
        names.windows(2).position(|pair| compare(&pair[0], &pair[1]).is_eq())
    };
    repeated.and_then(|first| names.get(first + 1)).copied()
}

/// Largest number of members that are sorted on the stack.
const MAX_ON_STACK: usize = 16;

/// Largest number of names that are compared with each other. Comparing many misses the cache with nearly every name.
const MAX_COMPARED: usize = 64;

/// Sorts the plain names of a small object by their sort keys, and by their whole text only where the keys are equal. Returns
/// the index of the first of two equal names.
fn sort_on_stack(input: &[u8], names: &mut [NameSpan]) -> Option<usize> {
    let mut keyed = [(0_u64, (0, 0)); MAX_ON_STACK];
    let keyed = &mut keyed[..names.len()];
    for (slot, &name) in keyed.iter_mut().zip(names.iter()) {
        *slot = (string::sort_key_at(input, name.0 as usize, name.1 as usize), name);
    }
    let tie = |a: NameSpan, b: NameSpan| name_text(input, a).cmp(name_text(input, b));
    keyed.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| tie(*x, *y)));
    for (name, (_, sorted)) in names.iter_mut().zip(keyed.iter()) {
        *name = *sorted;
    }
    keyed.windows(2).position(|pair| pair[0].0 == pair[1].0 && tie(pair[0].1, pair[1].1) == Ordering::Equal)
}
