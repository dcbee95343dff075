//! JSON that is composed member by member, as bytes. Strings are written as in RFC 8785.
//!
//! Reports for terminals are written by [`mod@crate::print`], which escapes more. Start at [`ObjectWriter`].

use core::borrow::BorrowMut;

use crate::canonical::write_string;
use crate::string;

/// Appends the content of a canonical JSON string, without quotes. A text may come in pieces that end anywhere, even inside a
/// character: only single bytes are escaped.
pub fn write_escaped(text: &[u8], out: &mut Vec<u8>) {
    string::write_content(text, out);
}

/// Appends an array; `item` appends each element, and the commas are added here.
pub fn write_list<T>(
    items: impl IntoIterator<Item = T>,
    out: &mut Vec<u8>,
    mut item: impl FnMut(T, &mut Vec<u8>),
) {
    out.push(b'[');
    for (at, next) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        item(next, out);
    }
    out.push(b']');
}

/// Writer of one object, into a buffer of its own or at the end of a borrowed one. Members keep the order of the calls.
///
/// ```
/// use reenact_json::writer::ObjectWriter;
///
/// let mut object = ObjectWriter::new();
/// object.string("name", "a\"b");
/// object.raw("size", b"7");
/// assert_eq!(object.close(), br#"{"name":"a\"b","size":7}"#);
/// ```
#[derive(Debug)]
pub struct ObjectWriter<B: BorrowMut<Vec<u8>> = Vec<u8>> {
    out: B,
    is_empty: bool,
    /// Name before, if names must ascend ([`ObjectWriter::in_order`]).
    #[cfg(debug_assertions)]
    last_name: Option<String>,
}

/// State of the enclosing object while [`ObjectWriter::enter`] or [`ObjectWriter::enter_list`] has opened a value in it.
#[derive(Debug)]
#[must_use = "the object is closed by `leave`, the list by `leave_list`"]
pub struct OuterObject {
    #[cfg(debug_assertions)]
    last_name: Option<String>,
}

impl ObjectWriter {
    /// Opens an object in a new buffer.
    pub fn new() -> Self {
        Self::open(Vec::new())
    }
}

impl Default for ObjectWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: BorrowMut<Vec<u8>>> ObjectWriter<B> {
    /// Opens an object at the end of a buffer.
    pub fn open(mut out: B) -> Self {
        out.borrow_mut().push(b'{');
        Self {
            out,
            is_empty: true,
            #[cfg(debug_assertions)]
            last_name: None,
        }
    }

    /// Requires names in ascending order, each once, as a canonical form needs them. Debug builds check this; release builds do
    /// not.
    ///
    /// # Panics
    /// Later calls panic in debug builds if a name is not greater than the one before.
    pub fn in_order(self) -> Self {
        Self {
            #[cfg(debug_assertions)]
            last_name: Some(String::new()),
            ..self
        }
    }

    /// Appends a member name and its colon; the caller appends the value to the buffer that is returned.
    pub fn name(&mut self, name: &str) -> &mut Vec<u8> {
        #[cfg(debug_assertions)]
        if let Some(last) = &mut self.last_name {
            debug_assert!(self.is_empty || last.as_str() < name, "{name} must come before {last}");
            name.clone_into(last);
        }
        let out = self.out.borrow_mut();
        if !self.is_empty {
            out.push(b',');
        }
        self.is_empty = false;
        write_string(name, out);
        out.push(b':');
        out
    }

    /// Appends a member whose value is JSON text already.
    pub fn raw(&mut self, name: &str, value: &[u8]) {
        self.name(name).extend_from_slice(value);
    }

    /// Appends a member that is a string.
    pub fn string(&mut self, name: &str, text: &str) {
        write_string(text, self.name(name));
    }

    /// Appends a member that is true or false.
    pub fn boolean(&mut self, name: &str, value: bool) {
        self.raw(name, if value { b"true" } else { b"false" });
    }

    /// Appends a member that is an array of strings.
    pub fn strings<S: AsRef<str>>(&mut self, name: &str, texts: impl IntoIterator<Item = S>) {
        write_list(texts, self.name(name), |text, out| write_string(text.as_ref(), out));
    }

    /// Appends a member that is an object, which `fill` writes.
    pub fn object(&mut self, name: &str, fill: impl FnOnce(&mut ObjectWriter<&mut Vec<u8>>)) {
        let mut object = ObjectWriter::open(self.name(name));
        fill(&mut object);
        object.close();
    }

    /// Opens an object as the value of a member: members appended next go into it, until [`leave`](Self::leave).
    pub fn enter(&mut self, name: &str) -> OuterObject {
        self.name(name).push(b'{');
        let outer = OuterObject {
            #[cfg(debug_assertions)]
            last_name: self.last_name.as_mut().map(core::mem::take),
        };
        self.is_empty = true;
        outer
    }

    /// Closes the object that the last [`enter`](Self::enter) opened, and returns to the one around it.
    pub fn leave(&mut self, outer: OuterObject) {
        self.out.borrow_mut().push(b'}');
        self.is_empty = false;
        let OuterObject {
            #[cfg(debug_assertions)]
                last_name: last,
        } = outer;
        #[cfg(debug_assertions)]
        {
            self.last_name = last;
        }
    }

    /// Opens a list of objects as the value of a member, until [`leave_list`](Self::leave_list). Each object is opened by
    /// [`enter_element`](Self::enter_element).
    pub fn enter_list(&mut self, name: &str) -> OuterObject {
        self.name(name).push(b'[');
        self.is_empty = true;
        OuterObject {
            #[cfg(debug_assertions)]
            last_name: self.last_name.as_mut().map(core::mem::take),
        }
    }

    /// Opens the next object of a list: members appended next go into it, until
    /// [`leave_element`](Self::leave_element).
    pub fn enter_element(&mut self) {
        let is_first = core::mem::replace(&mut self.is_empty, true);
        let out = self.out.borrow_mut();
        out.extend_from_slice(if is_first { b"{" } else { b",{" });
        #[cfg(debug_assertions)]
        if let Some(last) = &mut self.last_name {
            last.clear();
        }
    }

    /// Closes the object that the last [`enter_element`](Self::enter_element) opened.
    pub fn leave_element(&mut self) {
        self.out.borrow_mut().push(b'}');
        self.is_empty = false;
    }

    /// Closes the list that the last [`enter_list`](Self::enter_list) opened, and returns to the object around it.
    pub fn leave_list(&mut self, outer: OuterObject) {
        self.out.borrow_mut().push(b']');
        self.is_empty = false;
        let OuterObject {
            #[cfg(debug_assertions)]
                last_name: last,
        } = outer;
        #[cfg(debug_assertions)]
        {
            self.last_name = last;
        }
    }

    /// Closes the object and returns the buffer.
    pub fn close(mut self) -> B {
        self.out.borrow_mut().push(b'}');
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Value};
    use proptest::prelude::*;

    #[test]
    fn members_of_every_kind() {
        let mut object = ObjectWriter::new().in_order();
        object.boolean("a", true);
        object.object("b", |inner| inner.strings("z", ["x", "y"]));
        object.object("c", |_| {});
        object.raw("d\n", b"null");
        assert_eq!(object.close(), br#"{"a":true,"b":{"z":["x","y"]},"c":{},"d\n":null}"#);
    }

    #[test]
    fn objects_inside_objects() {
        let mut object = ObjectWriter::new().in_order();
        object.boolean("b", true);
        let outer = object.enter("c");
        let inner = object.enter("a");
        object.leave(inner);
        object.raw("b", b"1");
        object.leave(outer);
        object.raw("d", b"2");
        assert_eq!(object.close(), br#"{"b":true,"c":{"a":{},"b":1},"d":2}"#);
    }

    #[test]
    #[should_panic(expected = "a must come before b")]
    #[cfg(debug_assertions)]
    fn names_out_of_order() {
        let mut object = ObjectWriter::new().in_order();
        object.boolean("b", true);
        object.boolean("a", true);
    }

    proptest! {
        #[test]
        fn any_text_in_any_pieces_is_canonical(text in any::<String>(), cut in 0_usize..64) {
            let mut out = vec![b'"'];
            let (before, behind) = text.as_bytes().split_at(cut.min(text.len()));
            write_escaped(before, &mut out);
            write_escaped(behind, &mut out);
            out.push(b'"');
            let value = Value::parse(&out, &Limits::default()).unwrap();
            prop_assert!(value.is_canonical());
            prop_assert_eq!(value.string().unwrap(), text);
        }
    }
}
