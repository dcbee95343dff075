//! Who listens to a scan.
//!
//! A writer that only needs each value once, in the order of the text, listens while the scanner checks: one walk then does for
//! two. What is told before a fault of the text, or before an object that is out of order, is to be thrown away.

use crate::names::Place;

/// Hears of each value as the scanner passes it. Places are those of the whole text.
pub(crate) trait Listener {
    /// What is kept of an object while it is open.
    type Object;
    /// What is kept of an array while it is open.
    type Array;

    /// An object begins.
    fn open_object(&mut self) -> Self::Object;
    /// A member: its name between the quotes, whether that is plain, and where its value begins or the white space before it.
    fn member(&mut self, object: &mut Self::Object, name: Place, is_plain: bool, at: usize);
    /// The value of the last member has ended.
    fn close_member(&mut self, object: &Self::Object);
    /// An object has ended.
    fn close_object(&mut self, object: Self::Object, is_in_order: bool);
    /// An array begins at `at`.
    fn open_array(&mut self, at: usize) -> Self::Array;
    /// Another element of an array follows.
    fn comma(&mut self);
    /// An array has ended.
    fn close_array(&mut self, array: Self::Array);
    /// A string, from its opening quote at `at` to behind its closing one. `is_settled`: it is surely ASCII as Python spells it.
    fn string(&mut self, at: usize, end: usize, is_settled: bool);
    /// A number.
    fn number(&mut self, at: usize, end: usize, is_integer: bool);
    /// `true`, `false` or `null`.
    fn literal(&mut self, at: usize, end: usize);
}

/// Nobody listens.
pub(crate) struct Nobody;

impl Listener for Nobody {
    type Object = ();
    type Array = ();

    #[inline(always)]
    fn open_object(&mut self) {}
    #[inline(always)]
    fn member(&mut self, _: &mut (), _: Place, _: bool, _: usize) {}
    #[inline(always)]
    fn close_member(&mut self, _: &()) {}
    #[inline(always)]
    fn close_object(&mut self, _: (), _: bool) {}
    #[inline(always)]
    fn open_array(&mut self, _: usize) {}
    #[inline(always)]
    fn comma(&mut self) {}
    #[inline(always)]
    fn close_array(&mut self, _: ()) {}
    #[inline(always)]
    fn string(&mut self, _: usize, _: usize, _: bool) {}
    #[inline(always)]
    fn number(&mut self, _: usize, _: usize, _: bool) {}
    #[inline(always)]
    fn literal(&mut self, _: usize, _: usize) {}
}
