//! Events of a stream, looked through for their strings and the places where these stand.
//!
//! Whatever JSON an event holds is walked through as it comes, complete or not, and no tree is kept: what is no JSON only tells
//! less. [`reenact_json::Scanner`] does not do for this: it stops at the first byte that is not strict JSON, and what stands behind that byte
//! must be masked all the same. An event's strings are put where they belong at its end, since the `index` of an object may follow its strings.

use super::mould::Mould;
use super::told::Told;
use core::ops::Range;
use memchr::memchr2;
use reenact_json::event_stream::StreamLine;

/// Deeper objects and lists are taken for parts of the one at this depth.
const DEEPEST: usize = 32;

/// No event tells more strings: the rest is looked through as it lies.
const MOST_STRINGS: usize = 4096;

/// A stream that is being walked through.
pub(super) struct Walk<'t> {
    text: &'t [u8],
    pub(super) told: Told,
    /// The objects and lists of this event, each behind the one that it lies in.
    nodes: Vec<Node>,
    /// Those that are open, as places in `nodes`.
    open: Vec<usize>,
    /// How many are open beyond the deepest.
    beyond: usize,
    strings: Vec<Text>,
    /// Of the ids and the type that the event has.
    root: u64,
    /// The lines of data that this event has.
    lines: usize,
    mould: Mould,
}

/// An object or a list.
struct Node {
    parent: usize,
    is_list: bool,
    /// The name by which it lies in its parent, or its position.
    step: u64,
    /// The last name of the path to it.
    name: u64,
    /// What its members named `index` say; 0 if it has none.
    index: u64,
    /// In an object: the name that was read last, and what kind of name that is.
    member: u64,
    sort: Sort,
    awaits_value: bool,
    /// In a list: how many elements came before.
    position: u64,
}

/// What a member's name says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Index,
    Id,
    Other,
}

/// A string of the event.
struct Text {
    node: usize,
    member: u64,
    name: u64,
    span: Range<usize>,
    /// Whether it says which event this is.
    is_fixed: bool,
}

impl<'t> Walk<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            told: Told::default(),
            nodes: Vec::new(),
            open: Vec::new(),
            beyond: 0,
            strings: Vec::new(),
            root: 0,
            lines: 0,
            mould: Mould::default(),
        }
    }

    /// Takes a line. JSON may go on over several lines of an event, but none of its strings does.
    pub(super) fn line(&mut self, line: StreamLine) {
        match line {
            StreamLine::Data(span)
                if self.lines == 0 && self.mould.fill(self.text, &span, &mut self.told) => {}
            StreamLine::Data(span) => {
                let data = self.text.get(span.clone()).unwrap_or_default();
                let is_json = matches!(data.trim_ascii_start().first(), Some(b'{' | b'[' | b'"'));
                if is_json || self.lines > 0 {
                    self.lines += 1;
                    self.mould.begin(&span);
                    self.json(span);
                } else {
                    self.told.verbatim(span);
                }
            }
            StreamLine::End => self.end(),
        }
    }

    /// Ends the last event.
    pub(super) fn finish(&mut self) {
        self.end();
    }

    fn json(&mut self, line: Range<usize>) {
        let Some(text) = self.text.get(..line.end) else { return };
        let mut at = line.start;
        while let Some(byte) = text.get(at) {
            at += 1;
            match byte {
                b'"' => at = self.string(text, at),
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
                    if self.scalar(text.get(start..at).unwrap_or_default()) == Sort::Other {
                        self.mould.number(start..at);
                    }
                }
                _ => {}
            }
        }
    }

    /// A string whose first byte is at `from`; says where to go on.
    fn string(&mut self, text: &[u8], from: usize) -> usize {
        let end = string_end(text, from);
        let inside = text.get(from..end).unwrap_or_default();
        let is_root = self.open.len() == 1;
        match self.top() {
            Some(node) if !node.is_list && !node.awaits_value => {
                node.member = hash(inside);
                node.sort = match inside {
                    [.., b'i' | b'I', b'n', b'd', b'e', b'x'] => Sort::Index,
                    b"type" | [.., b'i' | b'I', b'd'] if is_root => Sort::Id,
                    _ => Sort::Other,
                };
            }
            _ => {
                let sort = self.scalar(inside);
                let node = self.open.last().copied().unwrap_or(usize::MAX);
                let (member, name) = self.top().map_or((0, 0), |node| match node.is_list {
                    true => (node.position, node.name),
                    false => (node.member, node.member),
                });
                if self.strings.len() < MOST_STRINGS {
                    self.strings.push(Text {
                        node,
                        member,
                        name,
                        span: from..end,
                        is_fixed: sort != Sort::Other,
                    });
                }
            }
        }
        end + 1
    }

    /// A value that may say which of several an object is, or which event.
    fn scalar(&mut self, value: &[u8]) -> Sort {
        let Some(node) = self.top().filter(|node| !node.is_list && node.awaits_value) else {
            return Sort::Other;
        };
        let (sort, member) = (node.sort, node.member);
        match sort {
            Sort::Index => node.index = mixed(node.index, mixed(member, hash(value))),
            Sort::Id => self.root = mixed(self.root, mixed(member, hash(value))),
            Sort::Other => {}
        }
        sort
    }

    fn top(&mut self) -> Option<&mut Node> {
        self.nodes.get_mut(*self.open.last()?)
    }

    fn push(&mut self, is_list: bool) {
        if self.open.len() >= DEEPEST || self.nodes.len() >= MOST_STRINGS {
            self.beyond += 1;
            return;
        }
        let parent = self.open.last().copied().unwrap_or(usize::MAX);
        let (step, name) = self.top().map_or((0, 0), |node| match node.is_list {
            true => (node.position, node.name),
            false => (node.member, node.member),
        });
        self.open.push(self.nodes.len());
        self.nodes.push(Node {
            parent,
            is_list,
            step,
            name,
            index: 0,
            member: 0,
            sort: Sort::Other,
            awaits_value: false,
            position: 0,
        });
    }

    fn pop(&mut self) {
        match self.beyond {
            0 => {
                self.open.pop();
            }
            _ => self.beyond -= 1,
        }
    }

    /// The event is over: its strings go where they belong.
    fn end(&mut self) {
        if self.lines == 0 {
            return;
        }
        for at in 0..self.nodes.len() {
            let Some(Node { parent, step, index, .. }) = self.nodes.get(at) else { break };
            let of_parent = self.nodes.get(*parent);
            let (above, in_list) = of_parent.map_or((0, false), |node| (node.step, node.is_list));
            // In a list, which element it is the index says, if there is one.
            let own = if in_list && *index != 0 { *index } else { mixed(*step, *index) };
            let path = mixed(above, own);
            if let Some(node) = self.nodes.get_mut(at) {
                // Whoever lies in it is further behind, and reads the whole path here.
                node.step = path;
            }
        }
        let is_mould = self.lines == 1 && self.open.is_empty() && self.strings.len() < MOST_STRINGS;
        for Text { node, member, name, span, is_fixed } in self.strings.drain(..) {
            let path = self.nodes.get(node).map_or(0, |node| node.step);
            let group = self.told.tell(self.text, mixed(path, member), name, self.root, span.clone());
            self.mould.string(span, group, is_fixed);
        }
        self.mould.end(self.root, is_mould);
        self.lines = 0;
        self.nodes.clear();
        self.open.clear();
        self.beyond = 0;
        self.root = 0;
    }
}

/// Where a string ends whose first byte is at `from`: at its quote, or with the line, which then has only a part of it.
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

/// A number for some bytes. Names are few, and two that share a number would only be read together.
fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = bytes.len() as u64;
    for word in words {
        hash = mixed(hash, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    mixed(hash, u64::from_le_bytes(last))
}

/// A number for two numbers in this order.
pub(super) fn mixed(one: u64, two: u64) -> u64 {
    let product = (one.rotate_left(23) ^ two).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 29)
}
