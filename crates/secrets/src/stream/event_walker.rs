//! [`EventWalker`]: reads the JSON of events for their strings and the paths of these.
//!
//! The JSON is read as it comes, complete or not, and no tree is kept: bytes that are no JSON only
//! yield fewer strings. [`reenact_json::Scanner`] does not do for this: it stops at the first byte
//! that is not strict JSON, and what stands behind that byte must be masked all the same. Strings
//! are assigned to their groups at the end of an event, since the `index` of an object may follow
//! its strings.
//!
//! Start reading at [`EventWalker::push_line`].

use super::event_template::EventTemplate;
use super::stream_texts::StreamTexts;
use core::ops::Range;
use memchr::memchr2;
use reenact_json::event_stream::StreamLine;

/// Largest depth; deeper objects and lists count as parts of the one at this depth.
const MAX_DEPTH: usize = 32;

/// Largest number of strings in one event. Further strings are only searched as they are.
const MAX_STRINGS: usize = 4096;

/// State of the walk over a stream.
pub(super) struct EventWalker<'t> {
    /// Bytes of the whole stream.
    text: &'t [u8],
    /// Strings collected so far.
    pub(super) texts: StreamTexts,
    /// Objects and lists of this event, each behind its parent.
    nodes: Vec<JsonNode>,
    /// Indices in `nodes` of the objects and lists that are open.
    open: Vec<usize>,
    /// Number of open objects and lists below [`MAX_DEPTH`].
    skipped_depth: usize,
    /// Strings of this event, not yet assigned to groups.
    strings: Vec<EventText>,
    /// Hash of the event's ids and type.
    event_key: u64,
    /// Number of data lines of this event.
    data_lines: usize,
    /// Layout of the last event.
    template: EventTemplate,
}

/// Object or list.
struct JsonNode {
    /// Index of the parent; `usize::MAX` for the root.
    parent: usize,
    is_list: bool,
    /// Hash of the member name or of the position in the parent; at the end of the event, hash of
    /// the whole path.
    path_hash: u64,
    /// Hash of the last member name on the path.
    name: u64,
    /// Hash of the members whose names end in `index`; 0 if there are none.
    index_hash: u64,
    /// In an object: hash of the member name that was read last.
    member: u64,
    member_kind: MemberKind,
    /// True behind the colon of a member.
    awaits_value: bool,
    /// In a list: number of elements before this one.
    position: u64,
}

/// Meaning of a member's name for the grouping.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MemberKind {
    /// Name that ends in `index`: says which element of a list an object is.
    Index,
    /// `type`, or a name that ends in `id`, in the root object: says which event this is.
    Id,
    /// Name without a meaning for the grouping.
    Other,
}

/// String of the event.
struct EventText {
    /// Index of the object or list that holds the string; `usize::MAX` for none.
    node: usize,
    /// Hash of the member name, or the position in a list.
    member: u64,
    /// Hash of the last member name on the path.
    name: u64,
    /// Byte span of the content, without the quotes.
    span: Range<usize>,
    /// True if the string identifies the event.
    identifies_event: bool,
}

impl<'t> EventWalker<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            texts: StreamTexts::default(),
            nodes: Vec::new(),
            open: Vec::new(),
            skipped_depth: 0,
            strings: Vec::new(),
            event_key: 0,
            data_lines: 0,
            template: EventTemplate::default(),
        }
    }

    /// Reads a line. JSON may go on over several lines of an event, but none of its strings does.
    pub(super) fn push_line(&mut self, line: StreamLine) {
        match line {
            StreamLine::Data(span)
                if self.data_lines == 0 && self.template.apply_to(self.text, &span, &mut self.texts) => {}
            StreamLine::Data(span) => {
                let data = self.text.get(span.clone()).unwrap_or_default();
                let is_json = matches!(data.trim_ascii_start().first(), Some(b'{' | b'[' | b'"'));
                if is_json || self.data_lines > 0 {
                    self.data_lines += 1;
                    self.template.reset(&span);
                    self.walk_json(span);
                } else {
                    self.texts.add_verbatim(span);
                }
            }
            StreamLine::End => self.end_event(),
        }
    }

    /// Ends the last event.
    pub(super) fn finish(&mut self) {
        self.end_event();
    }

    /// Reads the JSON of one line.
    fn walk_json(&mut self, line: Range<usize>) {
        let Some(text) = self.text.get(..line.end) else { return };
        let mut at = line.start;
        while let Some(byte) = text.get(at) {
            at += 1;
            match byte {
                b'"' => at = self.walk_string(text, at),
                b'{' => self.push(false),
                b'[' => self.push(true),
                b'}' | b']' => self.pop(),
                b',' => {
                    if let Some(node) = self.top() {
                        node.position += 1;
                        node.awaits_value = false;
                    }
                }
                b':' => {
                    if let Some(node) = self.top() {
                        node.awaits_value = true;
                    }
                }
                b'0'..=b'9' => {
                    let start = at - 1;
                    at += text
                        .get(at..)
                        .unwrap_or_default()
                        .iter()
                        .take_while(|byte| byte.is_ascii_digit())
                        .count();
                    if self.note_scalar(text.get(start..at).unwrap_or_default()) == MemberKind::Other {
                        self.template.push_number(start..at);
                    }
                }
                _ => {}
            }
        }
    }

    /// Reads a string whose content begins at `from`; returns the offset behind its closing quote.
    fn walk_string(&mut self, text: &[u8], from: usize) -> usize {
        let end = string_end(text, from);
        let inside = text.get(from..end).unwrap_or_default();
        let is_root = self.open.len() == 1;
        match self.top() {
            Some(node) if !node.is_list && !node.awaits_value => {
                node.member = hash_bytes(inside);
                node.member_kind = match inside {
                    [.., b'i' | b'I', b'n', b'd', b'e', b'x'] => MemberKind::Index,
                    b"type" | [.., b'i' | b'I', b'd'] if is_root => MemberKind::Id,
                    _ => MemberKind::Other,
                };
            }
            _ => {
                let sort = self.note_scalar(inside);
                let node = self.open.last().copied().unwrap_or(usize::MAX);
                let (member, name) = self.top().map_or((0, 0), |node| match node.is_list {
                    true => (node.position, node.name),
                    false => (node.member, node.member),
                });
                if self.strings.len() < MAX_STRINGS {
                    self.strings.push(EventText {
                        node,
                        member,
                        name,
                        span: from..end,
                        identifies_event: sort != MemberKind::Other,
                    });
                }
            }
        }
        end + 1
    }

    /// Hashes a value that may identify an element of a list, or the event; returns its meaning.
    fn note_scalar(&mut self, value: &[u8]) -> MemberKind {
        let Some(node) = self.top().filter(|node| !node.is_list && node.awaits_value) else {
            return MemberKind::Other;
        };
        let (sort, member) = (node.member_kind, node.member);
        match sort {
            MemberKind::Index => {
                node.index_hash = combine_hashes(node.index_hash, combine_hashes(member, hash_bytes(value)))
            }
            MemberKind::Id => {
                self.event_key = combine_hashes(self.event_key, combine_hashes(member, hash_bytes(value)))
            }
            MemberKind::Other => {}
        }
        sort
    }

    /// Returns the innermost open object or list.
    fn top(&mut self) -> Option<&mut JsonNode> {
        self.nodes.get_mut(*self.open.last()?)
    }

    /// Opens an object or a list.
    fn push(&mut self, is_list: bool) {
        if self.open.len() >= MAX_DEPTH || self.nodes.len() >= MAX_STRINGS {
            self.skipped_depth += 1;
            return;
        }
        let parent = self.open.last().copied().unwrap_or(usize::MAX);
        let (step, name) = self.top().map_or((0, 0), |node| match node.is_list {
            true => (node.position, node.name),
            false => (node.member, node.member),
        });
        self.open.push(self.nodes.len());
        self.nodes.push(JsonNode {
            parent,
            is_list,
            path_hash: step,
            name,
            index_hash: 0,
            member: 0,
            member_kind: MemberKind::Other,
            awaits_value: false,
            position: 0,
        });
    }

    /// Closes the innermost object or list.
    fn pop(&mut self) {
        match self.skipped_depth {
            0 => {
                self.open.pop();
            }
            _ => self.skipped_depth -= 1,
        }
    }

    /// Ends an event: computes the paths, and assigns the strings to their groups.
    fn end_event(&mut self) {
        if self.data_lines == 0 {
            return;
        }
        for at in 0..self.nodes.len() {
            let Some(JsonNode { parent, path_hash: step, index_hash: index, .. }) = self.nodes.get(at) else {
                break;
            };
            let of_parent = self.nodes.get(*parent);
            let (above, in_list) = of_parent.map_or((0, false), |node| (node.path_hash, node.is_list));
            // In a list, the index says which element an object is, if there is one.
            let own = if in_list && *index != 0 { *index } else { combine_hashes(*step, *index) };
            let path = combine_hashes(above, own);
            if let Some(node) = self.nodes.get_mut(at) {
                // Children come later in `nodes`, and read the whole path here.
                node.path_hash = path;
            }
        }
        let is_template = self.data_lines == 1 && self.open.is_empty() && self.strings.len() < MAX_STRINGS;
        for EventText { node, member, name, span, identifies_event: is_fixed } in self.strings.drain(..) {
            let path = self.nodes.get(node).map_or(0, |node| node.path_hash);
            let group = self.texts.add_string(
                self.text,
                combine_hashes(path, member),
                name,
                self.event_key,
                span.clone(),
            );
            self.template.push_string(span, group, is_fixed);
        }
        self.template.complete(self.event_key, is_template);
        self.data_lines = 0;
        self.nodes.clear();
        self.open.clear();
        self.skipped_depth = 0;
        self.event_key = 0;
    }
}

/// Returns the end of the string whose content begins at `from`: its closing quote, or the end of
/// the line that has only a part of it.
pub(super) fn string_end(text: &[u8], from: usize) -> usize {
    let mut end = from;
    loop {
        let Some(found) = text.get(end..).and_then(|rest| memchr2(b'"', b'\\', rest)) else {
            return text.len();
        };
        end += found;
        if text.get(end) == Some(&b'"') {
            return end;
        }
        end += 2;
    }
}

/// Hashes bytes. Names are few, and two that share a hash would only be joined.
pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = bytes.len() as u64;
    for word in words {
        hash = combine_hashes(hash, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    combine_hashes(hash, u64::from_le_bytes(last))
}

/// Combines two hashes; their order matters.
pub(super) fn combine_hashes(one: u64, two: u64) -> u64 {
    let product = (one.rotate_left(23) ^ two).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 29)
}
