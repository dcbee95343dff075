//! `reenact keys trust`, `supersede`, `compromise` and `forget`: changes of the trust store.
//!
//! A mark only gets worse: a compromised key can be neither trusted nor superseded before it is forgotten.
//! All changes are made under the lock of the trust store, so that two commands at once lose nothing.

use std::path::PathBuf;

use reenact_formats::trust::{KeyLabel, KeyRole, Standing, TrustChange, TrustRefusal};
use reenact_json::Shown;
use reenact_verify::disk;

use super::known_keys::KnownKeys;
use super::list::print_json;
use super::{name_and_id, shown_path};
use crate::config::UserConfig;
use crate::output::{self, CommandError};

/// Trust somebody's public key from now on
///
/// Make sure first that it is theirs: compare the key id over a way that nobody else can write to. A key that is marked
/// as compromised stays so, and the exit code is 1.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact keys trust --label ci ci.jwks\n  reenact keys trust alice.pem bob.jwk\n  reenact keys trust --as platform --label platform platform.jwk"
)]
pub(super) struct KeysTrustArgs {
    /// Public keys: 32 raw bytes, JWK, JWKS, or SPKI in DER or PEM
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// What to call the owner of these keys
    #[arg(long, value_parser = label)]
    label: Option<KeyLabel>,

    /// What they are trusted for: runtime (seals runs; the default), platform (authorises envelopes), approver; may be given
    /// more than once, and adds to what a key is trusted for already
    #[arg(long = "as", value_name = "ROLE", value_parser = role, value_delimiter = ',')]
    roles: Vec<KeyRole>,

    /// Each key as one JSON object a line, as `reenact keys list` prints them
    #[arg(long)]
    json: bool,
}

/// Parses a role, for clap.
fn role(text: &str) -> Result<KeyRole, String> {
    KeyRole::parse(text).ok_or_else(|| "a role is runtime, platform or approver".into())
}

/// Parses a label, for clap.
fn label(text: &str) -> Result<KeyLabel, String> {
    KeyLabel::new(text).ok_or_else(|| "a label has 1 to 100 visible characters".into())
}

impl KeysTrustArgs {
    /// Adds the keys of all files to the trust store, or none if a file cannot be read. Own keys are left
    /// out, since they are trusted anyway.
    ///
    /// The exit code is 1 if a key is marked as compromised and stays so. A key of small order is an error,
    /// because a signature under it proves nothing.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let config = UserConfig::require()?;
        let mut keys = Vec::new();
        for path in &self.files {
            let file = disk::key_file(path).map_err(|error| CommandError::impossible(error.to_string()))?;
            if file.holds_private {
                output::print_notice(&format!(
                    "{}: this file holds a private key; only its public part is used. If it is yours: reenact keys import",
                    shown_path(path)
                ));
            }
            if let Some(key) = file.keys.iter().find(|key| key.is_weak()) {
                return Err(CommandError::impossible(format!(
                    "{}: the key {} is of small order: a signature under it proves nothing",
                    shown_path(path),
                    key.id()
                )));
            }
            keys.extend(file.keys);
        }
        let (own, _) = config.own_keys()?;
        let mut lines = String::new();
        let given = keys.clone();
        let refused = config.edit_trust(|store| {
            let mut refused = Vec::new();
            for key in keys {
                if let Some(own) = own.iter().find(|own| own.key == key) {
                    lines.push_str(&format!(
                        "{} is a key of your own\n",
                        name_and_id(Some(own.name.as_str()), &key)
                    ));
                    continue;
                }
                let change = store.trust(key, self.label.clone(), self.roles.iter().copied().collect());
                let entry = store.find(&key.id());
                let label = entry.and_then(|entry| entry.label.as_ref()).map(KeyLabel::as_str);
                let is_superseded =
                    entry.is_some_and(|entry| matches!(entry.standing, Standing::Superseded { .. }));
                let key = name_and_id(label, &key);
                match change {
                    Ok(_) if is_superseded => lines.push_str(&format!("{key} is superseded, and stays so\n")),
                    Ok(TrustChange::Added | TrustChange::Extended) => {
                        let roles = entry.map(|entry| entry.roles.to_string()).unwrap_or_default();
                        lines.push_str(&format!("{key} is trusted as {roles} now\n"));
                    }
                    Ok(TrustChange::Relabelled) => lines.push_str(&format!("{key} has its label now\n")),
                    Ok(TrustChange::Unchanged) => lines.push_str(&format!("{key} was trusted already\n")),
                    Err(refusal) => refused.push((key, refusal)),
                }
            }
            Ok(refused)
        })?;
        match self.json {
            true => print_json(&config, &given)?,
            false => output::print(&lines)?,
        }
        for (key, refusal) in &refused {
            output::print_notice(&match refusal {
                TrustRefusal::Compromised => format!(
                    "{key} is marked as compromised and not trusted; if that is wrong, let it be forgotten first: reenact keys forget"
                ),
                refusal => format!("{key}: {refusal}"),
            });
        }
        Ok(u8::from(!refused.is_empty()))
    }
}

/// Mark a key as superseded: its owner signs with another one now
///
/// What it signed still verifies.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact keys supersede ci-2025 --by ci-2026")]
pub(super) struct KeysSupersedeArgs {
    /// The old key: a name, a label, a key id, or the beginning of one
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,

    /// The key that took its place
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    by: String,

    /// The key as one JSON object, as `reenact keys list` prints it
    #[arg(long)]
    json: bool,
}

impl KeysSupersedeArgs {
    /// Marks a key as superseded by another one. A compromised key can neither be superseded nor take another's place.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let config = UserConfig::require()?;
        let ring = KnownKeys::load(&config)?;
        let (row, by) = (ring.find(&self.key)?, ring.find(&self.by)?);
        let (old, new) = (name_and_id(row.display_name(), &row.key), name_and_id(by.display_name(), &by.key));
        if let Some(Standing::Compromised { .. }) = by.standing {
            return Err(CommandError::impossible(format!(
                "{new} is marked as compromised: nobody should sign with it"
            )));
        }
        config.edit_trust(|store| {
            store.supersede(row.key, by.key.id()).map_err(|refusal| match refusal {
                TrustRefusal::Compromised => CommandError::impossible(format!(
                    "{old} is marked as compromised, which is worse; it stays so"
                )),
                refusal => CommandError::impossible(format!("{old}: {refusal}")),
            })
        })?;
        if self.json {
            print_json(&config, &[row.key])?;
            return Ok(0);
        }
        output::print(&format!("{old} is superseded by {new}\n"))?;
        Ok(0)
    }
}

/// Mark a key as compromised: somebody else may have it
///
/// Nothing that it signed can be believed, whenever it says that it was signed: `reenact verify` then exits with 1.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact keys compromise ci\n  reenact keys compromise ci --since 2026-05-01T00:00:00Z"
)]
pub(super) struct KeysCompromiseArgs {
    /// A name, a label, a key id, or the beginning of one
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,

    /// When it was lost, as far as anyone knows: a note for people, it decides nothing
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// The key as one JSON object, as `reenact keys list` prints it
    #[arg(long)]
    json: bool,
}

impl KeysCompromiseArgs {
    /// Marks a key as compromised.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let config = UserConfig::require()?;
        let ring = KnownKeys::load(&config)?;
        let row = ring.find(&self.key)?;
        let key = name_and_id(row.display_name(), &row.key);
        config.edit_trust(|store| {
            store.compromise(row.key, self.since.as_deref()).map_err(|refusal| match refusal {
                TrustRefusal::Time => {
                    let since = self.since.as_deref().unwrap_or_default();
                    CommandError::impossible(format!("--since {}: {refusal}", Shown::new(since)))
                }
                refusal => CommandError::impossible(format!("{key}: {refusal}")),
            })
        })?;
        if self.json {
            print_json(&config, &[row.key])?;
            return Ok(0);
        }
        let next = match row.name {
            Some(name) => format!("Sign with another one from now on: reenact keys rotate {name}\n"),
            None => String::new(),
        };
        output::print(&format!("{key} is marked as compromised\n{next}"))?;
        Ok(0)
    }
}

/// Forget what you know of a key: trust, label, and marks
///
/// A private key of your own stays where it is.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact keys forget ci")]
pub(super) struct KeysForgetArgs {
    /// A name, a label, a key id, or the beginning of one
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,

    /// The key as one JSON object, as `reenact keys list` prints it
    #[arg(long)]
    json: bool,
}

impl KeysForgetArgs {
    /// Removes a key from the trust store. The private half of an own key stays; an own key without a mark
    /// has nothing to forget.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let config = UserConfig::require()?;
        let ring = KnownKeys::load(&config)?;
        let row = ring.find(&self.key)?;
        let key = name_and_id(row.display_name(), &row.key);
        let forgotten = config.edit_trust(|store| Ok(store.forget(&row.key.id())))?;
        let was = match (forgotten, row.name) {
            (Some(entry), _) => entry.standing.name(),
            (None, name) => {
                let file = name.and_then(|name| Some(config.key_store().path(&name.parse().ok()?)));
                let file =
                    file.map_or(String::new(), |file| format!("; its private key is {}", shown_path(&file)));
                return Err(CommandError::impossible(format!(
                    "{key} is a key of your own without any mark{file}"
                )));
            }
        };
        if self.json {
            print_json(&config, &[row.key])?;
            return Ok(0);
        }
        let now = if row.name.is_some() { ", and a key of your own without any mark now" } else { "" };
        output::print(&format!("{key} is forgotten; it was {was}{now}\n"))?;
        Ok(0)
    }
}
