//! What the strings of a stream tell, place by place.

use crate::escape;
use crate::reading::Reading;
use core::ops::Range;
use std::collections::{BTreeMap, HashMap};

/// A string of one event, or a part of it.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) span: Range<usize>,
    /// Of the ids and the type of its event.
    root: u64,
    /// Whether it says the same as the one before.
    is_same: bool,
}

/// The strings at one place.
#[derive(Debug, Default)]
struct Group {
    pieces: Vec<Piece>,
    /// The last name on the path to it.
    name: u64,
    /// How many bytes of its pieces only repeat the one before.
    repeated: usize,
    bytes: usize,
    has_one_root: bool,
}

/// Which pieces are read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parting {
    /// Those at the same place of events with the same ids and type.
    Event,
    /// Those at the same place.
    Path,
    /// Those whose place has the same last name.
    Name,
}

impl Parting {
    /// All, the finest first.
    pub(crate) const ALL: [Self; 3] = [Self::Event, Self::Path, Self::Name];
}

/// All that is told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    groups: Vec<Group>,
    by_path: HashMap<u64, usize>,
    /// Data that is no JSON.
    verbatim: Vec<Piece>,
}

/// A piece that comes again and again is a label: beyond so many bytes it is not read again.
const LABEL: usize = 256;

impl Group {
    /// Whether it mostly says the same again: a type, an id.
    fn is_label(&self) -> bool {
        self.pieces.len() > 2 && self.repeated * 2 > self.bytes
    }
}

impl Told {
    /// A string at a place. Gives the number of the place.
    pub(super) fn tell(&mut self, text: &[u8], path: u64, name: u64, root: u64, span: Range<usize>) -> usize {
        let next = self.groups.len();
        let group = *self.by_path.entry(path).or_insert(next);
        if group == next {
            self.groups.push(Group { name, has_one_root: true, ..Group::default() });
        }
        self.tell_at(text, group, root, span, false);
        group
    }

    /// A string at the place of this number; `is_same` if it is surely the same as the one before.
    pub(super) fn tell_at(
        &mut self,
        text: &[u8],
        group: usize,
        root: u64,
        span: Range<usize>,
        is_same: bool,
    ) {
        let Some(group) = self.groups.get_mut(group) else { return };
        let mut is_same = is_same;
        if let Some(last) = group.pieces.last() {
            group.has_one_root &= last.root == root;
            is_same = is_same
                || last.span.len() == span.len() && text.get(last.span.clone()) == text.get(span.clone());
        }
        group.repeated += if is_same { span.len() } else { 0 };
        group.bytes += span.len();
        group.pieces.push(Piece { span, root, is_same });
    }

    /// Data that is no JSON.
    pub(super) fn verbatim(&mut self, span: Range<usize>) {
        if !span.is_empty() {
            self.verbatim.push(Piece { span, root: 0, is_same: false });
        }
    }

    /// Each text that more than one event told a part of, parted in this way. `each` says whether something was found in it.
    pub(crate) fn readings(&self, text: &[u8], parting: Parting, each: &mut impl FnMut(&Reading) -> bool) {
        let mut reading = Reading::default();
        let mut read = |pieces: &[Piece], is_json: bool| {
            if pieces.len() < 2 {
                return;
            }
            let is_whole = put_together(text, pieces, is_json, true, &mut reading);
            if each(&reading) && !is_whole {
                // What was left out may be a part of what was found.
                put_together(text, pieces, is_json, false, &mut reading);
                each(&reading);
            }
        };
        match parting {
            Parting::Event => {
                let split = self.groups.iter().filter(|group| !group.has_one_root && !group.is_label());
                split.flat_map(parted).for_each(|pieces| read(&pieces, true));
            }
            Parting::Path => {
                read(&self.verbatim, false);
                self.groups.iter().for_each(|group| read(&group.pieces, true));
            }
            Parting::Name => {
                let mut by_name: BTreeMap<u64, Vec<&Group>> = BTreeMap::new();
                for group in self.groups.iter().filter(|group| !group.is_label()) {
                    by_name.entry(group.name).or_default().push(group);
                }
                for groups in by_name.into_values().filter(|groups| groups.len() > 1) {
                    let mut pieces: Vec<Piece> =
                        groups.iter().flat_map(|group| &group.pieces).cloned().collect();
                    pieces.sort_by_key(|piece| piece.span.start);
                    read(&pieces, true);
                }
            }
        }
    }
}

/// The pieces of a group, those of events with the same ids and type together.
fn parted(group: &Group) -> Vec<Vec<Piece>> {
    let mut by_root: BTreeMap<u64, Vec<Piece>> = BTreeMap::new();
    for piece in &group.pieces {
        by_root.entry(piece.root).or_default().push(Piece { is_same: false, ..piece.clone() });
    }
    by_root.into_values().collect()
}

/// Puts pieces together. Where one comes again and again, what is in between is left out if `shortens` is set; says whether
/// nothing was.
fn put_together(text: &[u8], pieces: &[Piece], is_json: bool, shortens: bool, reading: &mut Reading) -> bool {
    reading.clear();
    let bytes_of = |piece: &Piece| text.get(piece.span.clone()).unwrap_or_default();
    let mut is_whole = true;
    let mut from = 0;
    while let Some(first) = pieces.get(from) {
        let behind = pieces.get(from + 1..).unwrap_or_default();
        let count = 1 + behind.iter().take_while(|piece| piece.is_same).count();
        // So many at either end are kept.
        let kept = LABEL.div_ceil(first.span.len().max(1));
        for (at, piece) in pieces.get(from..from + count).unwrap_or_default().iter().enumerate() {
            if shortens && count > 2 * kept + 1 && at >= kept && at < count - kept {
                if at == kept {
                    reading.separator();
                    is_whole = false;
                }
                continue;
            }
            let bytes = bytes_of(piece);
            if is_json && bytes.contains(&b'\\') {
                escape::resolve(bytes, piece.span.start, reading);
            } else {
                reading.plain(bytes, piece.span.start);
            }
        }
        from += count;
    }
    is_whole
}
