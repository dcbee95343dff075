//! The objects of a text whose members do not stand in canonical order, for the writers that need to bring them there.

use crate::names::{Place, offset};

/// The objects whose members do not stand in canonical order, and the order in which they should.
#[derive(Debug, Default)]
pub(crate) struct Disorder {
    /// For each such object: where it begins, and where its list begins in `members`. Once arranged, those that begin in one
    /// stretch of the text stand together.
    objects: Vec<(u32, u32)>,
    /// The offsets of names, object after object, each in canonical order and behind its count.
    members: Vec<u32>,
    /// Where the objects of each stretch begin in `objects`; one more for where the last end.
    stretches: Vec<u32>,
    /// Where the first stretch begins.
    first: u32,
}

/// Which stretch of a text an offset lies in. They are so short that few objects begin in one.
#[inline]
fn stretch(offset: u32) -> usize {
    offset as usize / 256
}

impl Disorder {
    /// Notes the object at `start`, whose names come in canonical order.
    pub(crate) fn note(&mut self, start: usize, names: &[Place]) {
        self.objects.push((offset(start), offset(self.members.len())));
        self.members.push(offset(names.len()));
        self.members.extend(names.iter().map(|(start, _)| *start));
    }

    /// Brings the objects together by the stretches that they begin in: they were noted where they end. A look-up is then a
    /// short walk, where a search by halves would guess wrong at every other step.
    pub(crate) fn arranged(mut self) -> Self {
        let starts = || self.objects.iter().map(|(at, _)| *at);
        let (Some(first), Some(last)) = (starts().min(), starts().max()) else { return self };
        let mut stretches = vec![0; stretch(last - first) + 2];
        for at in starts() {
            stretches[stretch(at - first) + 1] += 1;
        }
        let mut before = 0;
        for count in &mut stretches {
            before += *count;
            *count = before;
        }
        let mut next = stretches.clone();
        let mut objects = vec![(0, 0); self.objects.len()];
        for object in &self.objects {
            let next = &mut next[stretch(object.0 - first)];
            objects[*next as usize] = *object;
            *next += 1;
        }
        (self.objects, self.stretches, self.first) = (objects, stretches, first);
        self
    }

    /// The offsets of the names of the object at `start` in canonical order, if they need another order at all.
    pub(crate) fn names_of(&self, start: usize) -> Option<&[u32]> {
        let start = offset(start);
        let stretch = stretch(start.checked_sub(self.first)?);
        let [from, to] = *self.stretches.get(stretch..)?.first_chunk()?;
        let objects = self.objects.get(from as usize..to as usize)?;
        let (_, list) = objects.iter().find(|(at, _)| *at == start)?;
        let (count, rest) = self.members.get(*list as usize..)?.split_first()?;
        rest.get(..*count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_wherever_they_begin() {
        let mut disorder = Disorder::default();
        // Inner objects end, and are noted, first.
        let starts = [900, 100_000, 99_999, 99_000, 901, 700, 1_000_000, 512, 511];
        for start in starts {
            disorder.note(start, &[(offset(start) + 7, 0), (offset(start) + 1, 0)]);
        }
        let disorder = disorder.arranged();
        for start in starts {
            assert_eq!(disorder.names_of(start), Some(&[offset(start) + 7, offset(start) + 1][..]));
        }
        for other in [0, 510, 513, 902, 1_000_001, 2_000_000, usize::MAX] {
            assert_eq!(disorder.names_of(other), None);
        }
        assert_eq!(Disorder::default().arranged().names_of(0), None);
    }
}
