//! [`StreamTexts`]: the strings of a stream, grouped and joined.
//!
//! Start reading at [`StreamTexts::for_each_text`].

use crate::escape;
use crate::mapped_text::MappedText;
use core::ops::Range;
use std::collections::{BTreeMap, HashMap};

/// String of one event, or the data of an event that is no JSON.
#[derive(Debug, Clone)]
pub(super) struct TextPiece {
    /// Byte span in the stream.
    pub(super) span: Range<usize>,
    /// Hash of the ids and the type of the event.
    event_key: u64,
    /// True if the string equals the one before it in its group.
    is_repeat: bool,
}

/// Strings at one path.
#[derive(Debug, Default)]
struct PathGroup {
    /// Strings in stream order.
    pieces: Vec<TextPiece>,
    /// Hash of the last member name on the path.
    name: u64,
    /// Bytes of strings that repeat the one before.
    repeated_bytes: usize,
    /// Bytes of all strings.
    total_bytes: usize,
    /// True if all events have the same ids and type.
    has_one_event_key: bool,
}

/// Choice of the strings that are joined to one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamGrouping {
    /// Strings at the same path, of events with the same ids and type.
    Event,
    /// Strings at the same path.
    Path,
    /// Strings whose paths have the same last member name.
    Name,
}

impl StreamGrouping {
    /// All groupings, the finest first.
    pub(crate) const ALL: [Self; 3] = [Self::Event, Self::Path, Self::Name];
}

/// Strings of a stream, grouped by path.
#[derive(Debug, Default)]
pub(crate) struct StreamTexts {
    /// Groups in order of first appearance.
    groups: Vec<PathGroup>,
    /// Index in `groups` by the hash of the path.
    by_path: HashMap<u64, usize>,
    /// Data that is no JSON.
    verbatim: Vec<TextPiece>,
}

/// Bytes of a repeated string that are joined at either end of its repetitions. A string that
/// repeats is a label, such as a type, and is not read again and again.
const MAX_LABEL_BYTES: usize = 256;

impl PathGroup {
    /// Returns true if most bytes are repetitions: a type, an id.
    fn is_label(&self) -> bool {
        self.pieces.len() > 2 && self.repeated_bytes * 2 > self.total_bytes
    }
}

impl StreamTexts {
    /// Adds a string at a path; returns the index of its group.
    pub(super) fn add_string(
        &mut self,
        text: &[u8],
        path: u64,
        name: u64,
        root: u64,
        span: Range<usize>,
    ) -> usize {
        let next = self.groups.len();
        let group = *self.by_path.entry(path).or_insert(next);
        if group == next {
            self.groups.push(PathGroup { name, has_one_event_key: true, ..PathGroup::default() });
        }
        self.add_string_to(text, group, root, span, false);
        group
    }

    /// Adds a string to the group of this index. `is_same` is true if the string certainly equals
    /// the one before.
    pub(super) fn add_string_to(
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
            group.has_one_event_key &= last.event_key == root;
            is_same = is_same
                || last.span.len() == span.len() && text.get(last.span.clone()) == text.get(span.clone());
        }
        group.repeated_bytes += if is_same { span.len() } else { 0 };
        group.total_bytes += span.len();
        group.pieces.push(TextPiece { span, event_key: root, is_repeat: is_same });
    }

    /// Adds data that is no JSON.
    pub(super) fn add_verbatim(&mut self, span: Range<usize>) {
        if !span.is_empty() {
            self.verbatim.push(TextPiece { span, event_key: 0, is_repeat: false });
        }
    }

    /// Calls `each` with every text that is joined from at least two strings. `each` returns true
    /// if it found something.
    pub(crate) fn for_each_text(
        &self,
        text: &[u8],
        grouping: StreamGrouping,
        each: &mut impl FnMut(&MappedText) -> bool,
    ) {
        let mut reading = MappedText::default();
        let mut read = |pieces: &[TextPiece], is_json: bool| {
            if pieces.len() < 2 {
                return;
            }
            let is_whole = join_pieces(text, pieces, is_json, true, &mut reading);
            if each(&reading) && !is_whole {
                // Strings that were skipped may be part of the finding: read again without
                // skipping.
                join_pieces(text, pieces, is_json, false, &mut reading);
                each(&reading);
            }
        };
        match grouping {
            StreamGrouping::Event => {
                let split = self.groups.iter().filter(|group| !group.has_one_event_key && !group.is_label());
                split.flat_map(split_by_event).for_each(|pieces| read(&pieces, true));
            }
            StreamGrouping::Path => {
                read(&self.verbatim, false);
                self.groups.iter().for_each(|group| read(&group.pieces, true));
            }
            StreamGrouping::Name => {
                let mut by_name: BTreeMap<u64, Vec<&PathGroup>> = BTreeMap::new();
                for group in self.groups.iter().filter(|group| !group.is_label()) {
                    by_name.entry(group.name).or_default().push(group);
                }
                for groups in by_name.into_values().filter(|groups| groups.len() > 1) {
                    let mut pieces: Vec<TextPiece> =
                        groups.iter().flat_map(|group| &group.pieces).cloned().collect();
                    pieces.sort_by_key(|piece| piece.span.start);
                    read(&pieces, true);
                }
            }
        }
    }
}

/// Splits the strings of a group by the ids and types of their events.
fn split_by_event(group: &PathGroup) -> Vec<Vec<TextPiece>> {
    let mut by_root: BTreeMap<u64, Vec<TextPiece>> = BTreeMap::new();
    for piece in &group.pieces {
        by_root.entry(piece.event_key).or_default().push(TextPiece { is_repeat: false, ..piece.clone() });
    }
    by_root.into_values().collect()
}

/// Joins strings. If `skips_repeats` is set, repetitions in the middle are replaced by a separator.
/// Returns true if nothing was skipped.
fn join_pieces(
    text: &[u8],
    pieces: &[TextPiece],
    is_json: bool,
    skips_repeats: bool,
    reading: &mut MappedText,
) -> bool {
    reading.clear();
    let bytes_of = |piece: &TextPiece| text.get(piece.span.clone()).unwrap_or_default();
    let mut is_whole = true;
    let mut from = 0;
    while let Some(first) = pieces.get(from) {
        let behind = pieces.get(from + 1..).unwrap_or_default();
        let count = 1 + behind.iter().take_while(|piece| piece.is_repeat).count();
        // Number of repetitions that are kept at either end.
        let edge_count = MAX_LABEL_BYTES.div_ceil(first.span.len().max(1));
        for (at, piece) in pieces.get(from..from + count).unwrap_or_default().iter().enumerate() {
            if skips_repeats && count > 2 * edge_count + 1 && at >= edge_count && at < count - edge_count {
                if at == edge_count {
                    reading.push_separator();
                    is_whole = false;
                }
                continue;
            }
            let bytes = bytes_of(piece);
            if is_json && bytes.contains(&b'\\') {
                escape::unescape_into(bytes, piece.span.start, reading);
            } else {
                reading.push_plain(bytes, piece.span.start);
            }
        }
        from += count;
    }
    is_whole
}
