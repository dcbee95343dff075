//! A walk that listens to the scanner: the text is checked and written at once.
//!
//! That does for text whose members stand in order, as the programs of the format write it. Where they do not, or where a value
//! has no form, the walk is void: all that it wrote is to be thrown away, and a [`Walk`] of its own begins anew.

use super::list;
use super::name::{self, Rule};
use super::text::{self, LineEnds};
use super::walk::{Found, Object, Walk};
use crate::canonical::{CanonicalFault, Sink};
use crate::disorder;
use crate::listener::Listener;
use crate::names::{Place, spelled};
use crate::scanner::Scanner;
use crate::syntax::SyntaxError;
use crate::value::Value;

impl<'a, 's, W: Sink, T: Sink> Walk<'a, 's, W, T> {
    /// A walk that writes both forms of what it hears.
    pub fn listening(text: &'a [u8], whole: &'s mut W, stripped: &'s mut T) -> Self {
        Self::new(text, &disorder::NONE, whole, stripped)
    }

    /// Whether what was written is to be thrown away.
    pub fn is_void(&self) -> bool {
        self.is_void
    }

    /// Hears no more.
    pub fn give_up(&mut self) {
        self.is_void = true;
    }

    /// A member whose name the scanner has just read.
    pub fn heard(&self, name: Value<'a>, scanner: &Scanner<'a>) -> Found<'a> {
        let place = scanner.last_name();
        let is_plain = text::plain(name.text(), 0).is_some();
        let class = name::class(spelled(self.text, place), is_plain);
        Found { name, at: scanner.offset(), start: place.0 as usize - 1, is_plain, class }
    }

    /// Begins an object that the scanner has entered.
    pub fn begin_object(&mut self) -> Object<'a> {
        self.put(b"{");
        Object::default()
    }

    /// Ends an object that the scanner has left.
    pub fn end_object(&mut self, is_in_order: bool) {
        self.is_void |= !is_in_order;
        self.put(b"}");
    }

    /// Takes the next value from the scanner, and writes it as that of a member.
    pub fn hear_member(
        &mut self,
        member: &Found<'a>,
        scanner: &mut Scanner<'a>,
    ) -> Result<Value<'a>, SyntaxError> {
        self.rule = member.class.rule;
        self.hear(scanner)
    }

    /// Takes the next value from the scanner, and writes it.
    pub fn hear(&mut self, scanner: &mut Scanner<'a>) -> Result<Value<'a>, SyntaxError> {
        if self.is_void { scanner.value() } else { scanner.value_telling(self) }
    }

    /// What the name before a value says of it.
    #[inline(always)]
    fn take_rule(&mut self) -> Rule {
        core::mem::replace(&mut self.rule, Rule::Plain)
    }

    /// A value without a form: the other walk says which, and where it stands.
    #[inline(always)]
    fn wrote<V>(&mut self, written: Result<V, CanonicalFault>) {
        self.is_void |= written.is_err();
    }
}

/// An object that is heard, and the forms that it is written in.
pub(crate) struct HeardObject<'a> {
    object: Object<'a>,
    forms: (bool, bool),
}

/// A list that is a set: it is written when all of it was heard.
pub(crate) struct Set {
    at: usize,
    forms: (bool, bool),
}

impl<'a, W: Sink, T: Sink> Listener for Walk<'a, '_, W, T> {
    type Object = HeardObject<'a>;
    type Array = Option<Set>;

    #[inline(always)]
    fn open_object(&mut self) -> HeardObject<'a> {
        self.rule = Rule::Plain;
        HeardObject { object: self.begin_object(), forms: self.forms() }
    }

    #[inline(always)]
    fn member(&mut self, heard: &mut HeardObject<'a>, place: Place, is_plain: bool, at: usize) {
        let name = spelled(self.text, place);
        let class = name::class(name, is_plain);
        if class.volatile {
            self.turn(heard.forms.0, false);
        }
        self.rule = class.rule;
        let (start, end) = (place.0 as usize - 1, place.1 as usize + 1);
        self.write_name_within(&mut heard.object, start, end, is_plain, at);
    }

    #[inline(always)]
    fn close_member(&mut self, heard: &HeardObject<'a>) {
        self.turn(heard.forms.0, heard.forms.1);
    }

    #[inline(always)]
    fn close_object(&mut self, _: HeardObject<'a>, is_in_order: bool) {
        self.end_object(is_in_order);
    }

    #[inline(always)]
    fn open_array(&mut self, at: usize) -> Option<Set> {
        if self.take_rule() == Rule::Unordered {
            let forms = self.forms();
            self.turn(false, false);
            return Some(Set { at, forms });
        }
        self.put(b"[");
        None
    }

    #[inline(always)]
    fn comma(&mut self) {
        self.put(b",");
    }

    #[inline(always)]
    fn close_array(&mut self, array: Option<Set>) {
        match array {
            None => self.put(b"]"),
            Some(Set { at, forms }) => {
                self.turn(forms.0, forms.1);
                // Inside another set, nothing is written yet.
                if forms != (false, false) {
                    let written = list::write(self, at);
                    self.wrote(written);
                }
            }
        }
    }

    #[inline(always)]
    fn string(&mut self, at: usize, end: usize, is_settled: bool) {
        let rule = self.take_rule();
        if matches!(rule, Rule::Path | Rule::Time) {
            let written = self.string_by(at, rule);
            self.wrote(written);
        } else if is_settled {
            self.put_text(at, end);
        } else {
            let (_, is_respelled) = text::write(self.text, at, LineEnds::Unified, self);
            self.respelled(is_respelled);
        }
    }

    #[inline(always)]
    fn number(&mut self, at: usize, end: usize, is_integer: bool) {
        self.rule = Rule::Plain;
        let written = self.number_within(at, end, is_integer);
        self.wrote(written);
    }

    #[inline(always)]
    fn literal(&mut self, at: usize, end: usize) {
        self.rule = Rule::Plain;
        self.put_text(at, end);
    }
}
