//! Tables of the rules of `reenact-1`: one row for each kind of secret.
//!
//! Where two rules find the same bytes, the one that stands first names them. Lengths are those
//! that vendors give out today, with room where they have grown before. A new rule needs a row here,
//! a case in `tests/corpus/true`, and its line in the published text of the pack, which `tests/pack.rs` holds: a pack that was
//! released does not change, it gets a new name.

mod models;
mod protocol;
mod services;

use crate::rule::SecretRule;

/// Returns all rules of the tables, in the order of their precedence.
pub(crate) fn all() -> impl Iterator<Item = &'static SecretRule> {
    models::RULES.iter().chain(services::RULES).chain(protocol::RULES)
}
