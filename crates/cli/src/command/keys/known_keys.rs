//! All keys that the user has or knows, and the search for the one that an argument names.
//!
//! Start reading at [`KnownKeys::find`].

use reenact_formats::key::{KeyId, PublicKey};
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::trust::{KeyRoles, Standing, TrustStore};
use reenact_json::Shown;

use super::{name_and_id, short_id};
use crate::config::{BrokenKey, OwnKey, UserConfig};
use crate::output::CommandError;

/// The user's own keys, and the entries of the trust store.
pub(in crate::command) struct KnownKeys {
    /// Own keys that can be used, sorted by name.
    pub(super) own: Vec<OwnKey>,
    /// Own key files that cannot be used.
    pub(super) broken: Vec<BrokenKey>,
    /// Trust store, which also holds marks on own keys.
    pub(super) store: TrustStore,
}

/// A key with everything that is known of it, as a row of `keys list`.
pub(in crate::command) struct KnownKeyRow<'a> {
    pub(in crate::command) key: PublicKey,
    /// Name in the key store; `None` for a key of somebody else.
    pub(super) name: Option<&'a str>,
    /// Label in the trust store.
    pub(super) label: Option<&'a str>,
    /// Standing in the trust store; `None` if it has no entry for the key.
    pub(super) standing: Option<&'a Standing>,
    /// Purposes for which it is trusted.
    pub(super) roles: KeyRoles,
    /// Signer type of an own approver's key.
    pub(in crate::command) approver: Option<SignerType>,
}

impl KnownKeyRow<'_> {
    /// Returns the row of a key of which nothing is known.
    pub(super) fn unknown(key: PublicKey) -> Self {
        Self { key, name: None, label: None, standing: None, roles: KeyRoles::default(), approver: None }
    }

    /// Returns the name of an own key, or else the label.
    pub(super) fn display_name(&self) -> Option<&str> {
        self.name.or(self.label)
    }

    /// Returns the standing as one word: `own` for an own key without a mark.
    pub(super) fn standing_name(&self) -> &'static str {
        match (self.name, self.standing) {
            (Some(_), None | Some(Standing::Trusted)) => "own",
            (_, Some(standing)) => standing.name(),
            (None, None) => "unknown",
        }
    }
}

impl KnownKeys {
    /// Loads the key store and the trust store.
    pub(in crate::command) fn load(config: &UserConfig) -> Result<Self, CommandError> {
        let (own, broken) = config.own_keys()?;
        Ok(Self { own, broken, store: config.trust_store()? })
    }

    /// Returns one row for each key: the user's own sorted by name, then those of the trust store sorted by label.
    pub(super) fn rows(&self) -> Vec<KnownKeyRow<'_>> {
        let mut rows: Vec<KnownKeyRow<'_>> = self
            .own
            .iter()
            .map(|own| {
                let entry = self.store.find(&own.key.id());
                KnownKeyRow {
                    key: own.key,
                    name: Some(own.name.as_str()),
                    label: entry.and_then(|entry| entry.label.as_ref()).map(|label| label.as_str()),
                    standing: entry.map(|entry| &entry.standing),
                    roles: own.roles(),
                    approver: own.approver,
                }
            })
            .collect();
        let is_own = |key: &PublicKey| self.own.iter().any(|own| own.key == *key);
        let mut others: Vec<KnownKeyRow<'_>> = self
            .store
            .entries()
            .filter(|entry| !is_own(&entry.key))
            .map(|entry| KnownKeyRow {
                key: entry.key,
                name: None,
                label: entry.label.as_ref().map(|label| label.as_str()),
                standing: Some(&entry.standing),
                roles: entry.roles,
                approver: None,
            })
            .collect();
        others.sort_by_cached_key(|row| (row.label.is_none(), row.label, row.key.id().to_string()));
        rows.extend(others);
        rows
    }

    /// Returns the key that a name, a label, a key id or the beginning of a key id names.
    ///
    /// # Errors
    ///
    /// If no key or several different keys match, or the own key of that name cannot be used.
    pub(in crate::command) fn find(&self, called: &str) -> Result<KnownKeyRow<'_>, CommandError> {
        if let Some(broken) = self.broken.iter().find(|broken| broken.name.as_str() == called) {
            return Err(CommandError::impossible(broken.error.to_string()));
        }
        let id_of = |row: &KnownKeyRow<'_>| row.key.id().to_string();
        let is_exact = |row: &KnownKeyRow<'_>| {
            row.name == Some(called) || row.label == Some(called) || id_of(row) == called
        };
        let mut found: Vec<KnownKeyRow<'_>> = self.rows().into_iter().filter(is_exact).collect();
        if found.is_empty() && !called.is_empty() {
            found = self.rows().into_iter().filter(|row| id_of(row).starts_with(called)).collect();
        }
        let called = Shown::new(called);
        let Some(first) = found.first() else {
            return Err(CommandError::impossible(format!(
                "no key is called \"{called}\"; see: reenact keys list"
            )));
        };
        if found.iter().any(|row| row.key != first.key) {
            let lines: String = found
                .iter()
                .map(|row| format!("\n  {}", name_and_id(row.display_name(), &row.key)))
                .collect();
            return Err(CommandError::impossible(format!(
                "\"{called}\" may be any of these keys; give more of its key id:{lines}"
            )));
        }
        Ok(found.swap_remove(0))
    }

    /// Returns the name or label of the key with that id, or the beginning of the id if it has neither.
    pub(super) fn name_of(&self, id: &KeyId) -> String {
        let row = self.rows().into_iter().find(|row| row.key.id() == *id);
        row.and_then(|row| row.display_name().map(str::to_owned)).unwrap_or_else(|| short_id(id))
    }
}
