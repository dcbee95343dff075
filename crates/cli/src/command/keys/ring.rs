//! All keys that the user has or knows, and how one of them is found by what the user calls it.

use reenact_formats::key::{KeyId, PublicKey};
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::trust::{Standing, TrustStore};
use reenact_json::Shown;

use super::{named, short};
use crate::config::{BrokenKey, Config, OwnKey};
use crate::output::Ending;

/// The user's own keys, and those of the trust store.
pub(super) struct Ring {
    pub(super) own: Vec<OwnKey>,
    pub(super) broken: Vec<BrokenKey>,
    pub(super) store: TrustStore,
}

/// A key under one of its names.
pub(super) struct Row<'a> {
    pub(super) key: PublicKey,
    /// Of a key of one's own.
    pub(super) name: Option<&'a str>,
    /// Of the trust store.
    pub(super) label: Option<&'a str>,
    pub(super) standing: Option<&'a Standing>,
    /// What it approves as, if it is an approver's.
    pub(super) approver: Option<SignerType>,
}

impl Row<'_> {
    /// What a person calls it.
    pub(super) fn called(&self) -> Option<&str> {
        self.name.or(self.label)
    }

    /// The word for it: `own` unless there is a mark.
    pub(super) fn word(&self) -> &'static str {
        match (self.name, self.standing) {
            (Some(_), None | Some(Standing::Trusted)) => "own",
            (_, Some(standing)) => standing.name(),
            (None, None) => "unknown",
        }
    }
}

impl Ring {
    pub(super) fn read(config: &Config) -> Result<Self, Ending> {
        let (own, broken) = config.own_keys()?;
        Ok(Self { own, broken, store: config.trust_store()? })
    }

    /// Every key under each of its names: one's own first, by name, then the trust store by label.
    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        let mut rows: Vec<Row<'_>> = self
            .own
            .iter()
            .map(|own| {
                let entry = self.store.find(&own.key.id());
                Row {
                    key: own.key,
                    name: Some(own.name.as_str()),
                    label: entry.and_then(|entry| entry.label.as_ref()).map(|label| label.as_str()),
                    standing: entry.map(|entry| &entry.standing),
                    approver: own.approver,
                }
            })
            .collect();
        let is_own = |key: &PublicKey| self.own.iter().any(|own| own.key == *key);
        let mut others: Vec<Row<'_>> = self
            .store
            .entries()
            .filter(|entry| !is_own(&entry.key))
            .map(|entry| Row {
                key: entry.key,
                name: None,
                label: entry.label.as_ref().map(|label| label.as_str()),
                standing: Some(&entry.standing),
                approver: None,
            })
            .collect();
        others.sort_by_cached_key(|row| (row.label.is_none(), row.label, row.key.id().to_string()));
        rows.extend(others);
        rows
    }

    /// The one key that the user means: by name, label, key id, or the beginning of a key id.
    pub(super) fn find(&self, called: &str) -> Result<Row<'_>, Ending> {
        if let Some(broken) = self.broken.iter().find(|broken| broken.name.as_str() == called) {
            return Err(Ending::impossible(broken.error.to_string()));
        }
        let id_of = |row: &Row<'_>| row.key.id().to_string();
        let is_exact =
            |row: &Row<'_>| row.name == Some(called) || row.label == Some(called) || id_of(row) == called;
        let mut found: Vec<Row<'_>> = self.rows().into_iter().filter(is_exact).collect();
        if found.is_empty() && !called.is_empty() {
            found = self.rows().into_iter().filter(|row| id_of(row).starts_with(called)).collect();
        }
        let called = Shown::new(called);
        let Some(first) = found.first() else {
            return Err(Ending::impossible(format!("no key is called \"{called}\"; see: reenact keys list")));
        };
        if found.iter().any(|row| row.key != first.key) {
            let lines: String =
                found.iter().map(|row| format!("\n  {}", named(row.called(), &row.key))).collect();
            return Err(Ending::impossible(format!(
                "\"{called}\" may be any of these keys; give more of its key id:{lines}"
            )));
        }
        Ok(found.swap_remove(0))
    }

    /// What a person calls the key of that id, or the beginning of the id.
    pub(super) fn called(&self, id: &KeyId) -> String {
        let row = self.rows().into_iter().find(|row| row.key.id() == *id);
        row.and_then(|row| row.called().map(str::to_owned)).unwrap_or_else(|| short(id))
    }
}
