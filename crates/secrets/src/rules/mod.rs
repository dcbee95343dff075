//! The rules of `reenact-1`, as tables.
//!
//! Where two rules find the same bytes, the one that stands first here names them. Lengths are those that
//! vendors give out today, with room where they have grown before.

mod models;
mod protocol;
mod services;

use crate::rule::Rule;

/// All rules that are tables.
pub(crate) fn all() -> impl Iterator<Item = &'static Rule> {
    models::RULES.iter().chain(services::RULES).chain(protocol::RULES)
}
