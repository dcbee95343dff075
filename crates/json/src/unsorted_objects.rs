//! List of the objects of a text whose members are not in canonical order, for the writers that sort them.

use crate::member_names::{NameSpan, to_u32};

/// Objects of one text whose members are not in canonical order, each with its names in that order.
///
/// The scanner appends objects where they end; [`UnsortedObjects::indexed`] then sorts them into buckets by where they begin.
#[derive(Debug, Default)]
pub(crate) struct UnsortedObjects {
    /// For each object the offset of its opening brace, and the index of its list in `name_offsets`. Once indexed, the objects of
    /// one bucket stand together.
    objects: Vec<(u32, u32)>,
    /// For each object the number of its names, then the offsets of the names in canonical order.
    name_offsets: Vec<u32>,
    /// Index in `objects` of the first object of each bucket, and behind the last bucket the number of objects.
    bucket_starts: Vec<u32>,
    /// Offset of the first object, at which the first bucket begins.
    first_object: u32,
}

/// Returns the bucket of an offset. A bucket is 256 bytes of text, so short that few objects begin in one.
#[inline]
fn bucket(offset: u32) -> usize {
    offset as usize / 256
}

impl UnsortedObjects {
    /// Adds the object at offset `start`; `names` must be in canonical order.
    pub(crate) fn push(&mut self, start: usize, names: &[NameSpan]) {
        self.objects.push((to_u32(start), to_u32(self.name_offsets.len())));
        self.name_offsets.push(to_u32(names.len()));
        self.name_offsets.extend(names.iter().map(|(start, _)| *start));
    }

    /// Sorts the objects into buckets (a counting sort) for [`UnsortedObjects::sorted_names`]. A look-up is then a short linear
    /// search, where a binary search would mispredict every other branch.
    pub(crate) fn indexed(mut self) -> Self {
        let starts = || self.objects.iter().map(|(at, _)| *at);
        let (Some(first), Some(last)) = (starts().min(), starts().max()) else { return self };
        let mut stretches = vec![0; bucket(last - first) + 2];
        for at in starts() {
            stretches[bucket(at - first) + 1] += 1;
        }
        let mut before = 0;
        for count in &mut stretches {
            before += *count;
            *count = before;
        }
        let mut next = stretches.clone();
        let mut objects = vec![(0, 0); self.objects.len()];
        for object in &self.objects {
            let next = &mut next[bucket(object.0 - first)];
            objects[*next as usize] = *object;
            *next += 1;
        }
        (self.objects, self.bucket_starts, self.first_object) = (objects, stretches, first);
        self
    }

    /// Returns the offsets of the names of the object at `start`, in canonical order; `None` if the object is sorted already.
    pub(crate) fn sorted_names(&self, start: usize) -> Option<&[u32]> {
        let start = to_u32(start);
        let stretch = bucket(start.checked_sub(self.first_object)?);
        let [from, to] = *self.bucket_starts.get(stretch..)?.first_chunk()?;
        let objects = self.objects.get(from as usize..to as usize)?;
        let (_, list) = objects.iter().find(|(at, _)| *at == start)?;
        let (count, rest) = self.name_offsets.get(*list as usize..)?.split_first()?;
        rest.get(..*count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_wherever_they_begin() {
        let mut disorder = UnsortedObjects::default();
        // Inner objects end, and are added, first.
        let starts = [900, 100_000, 99_999, 99_000, 901, 700, 1_000_000, 512, 511];
        for start in starts {
            disorder.push(start, &[(to_u32(start) + 7, 0), (to_u32(start) + 1, 0)]);
        }
        let disorder = disorder.indexed();
        for start in starts {
            assert_eq!(disorder.sorted_names(start), Some(&[to_u32(start) + 7, to_u32(start) + 1][..]));
        }
        for other in [0, 510, 513, 902, 1_000_001, 2_000_000, usize::MAX] {
            assert_eq!(disorder.sorted_names(other), None);
        }
        assert_eq!(UnsortedObjects::default().indexed().sorted_names(0), None);
    }
}
