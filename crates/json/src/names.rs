//! Names of members by where they stand, and how those of one object are brought into order.

use core::cmp::Ordering;

use crate::order::Order;
use crate::string;

/// Where the text of a name begins and ends.
pub(crate) type Place = (u32, u32);

/// Room that one scanner leaves to the next: whoever reads many short texts asks for it once.
#[derive(Debug, Default)]
pub struct Room(Vec<Place>);

impl Room {
    pub(crate) fn of(places: Vec<Place>) -> Self {
        Self(places)
    }

    /// The room, empty.
    pub(crate) fn into_places(mut self) -> Vec<Place> {
        self.0.clear();
        self.0
    }
}

/// Offsets fit, because no text is longer than [`crate::Limits::LARGEST`].
#[inline]
pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The text of a name by its place.
#[inline]
pub(crate) fn spelled(input: &[u8], (start, end): Place) -> &[u8] {
    input.get(start as usize..end as usize).unwrap_or_default()
}

/// Brings names into order, and gives the later of the first two that are the same. Equal ones stay in the order of the text.
pub(crate) fn sort(input: &[u8], names: &mut [Place], are_plain: bool, order: Order) -> Option<Place> {
    let repeated = if are_plain && names.len() <= FEW {
        sort_few(input, names)
    } else {
        let compare = |a: &Place, b: &Place| order.compare(spelled(input, *a), spelled(input, *b));
        names.sort_by(compare);
        names.windows(2).position(|pair| compare(&pair[0], &pair[1]).is_eq())
    };
    repeated.and_then(|first| names.get(first + 1)).copied()
}

/// Objects of up to this many members are sorted on the stack.
const FEW: usize = 16;

/// Sorts the plain names of a small object: by their first eight bytes, and by the rest only where these are alike. Tells
/// the first of two that are the same.
fn sort_few(input: &[u8], names: &mut [Place]) -> Option<usize> {
    let mut keyed = [(0_u64, (0, 0)); FEW];
    let keyed = &mut keyed[..names.len()];
    for (slot, &name) in keyed.iter_mut().zip(names.iter()) {
        *slot = (string::key(input, name.0 as usize, name.1 as usize), name);
    }
    let tie = |a: Place, b: Place| spelled(input, a).cmp(spelled(input, b));
    keyed.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| tie(*x, *y)));
    for (name, (_, sorted)) in names.iter_mut().zip(keyed.iter()) {
        *name = *sorted;
    }
    keyed.windows(2).position(|pair| pair[0].0 == pair[1].0 && tie(pair[0].1, pair[1].1) == Ordering::Equal)
}
