//! `reenact keys trust`, `supersede`, `compromise`, `forget`: what the user knows of keys.

use std::path::PathBuf;

use reenact_formats::trust::{Change, Label, Refusal, Standing};
use reenact_json::Shown;
use reenact_verify::disk;

use super::ring::Ring;
use super::{named, shown};
use crate::config::Config;
use crate::output::{self, Ending};

/// Trust somebody's public key from now on
///
/// Make sure first that it is theirs: compare the key id over a way that nobody else can write to. A key that is marked
/// as compromised stays so, and the exit code is 1.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact keys trust --label ci ci.jwks\n  reenact keys trust alice.pem bob.jwk"
)]
pub(super) struct Trust {
    /// Public keys: 32 raw bytes, JWK, JWKS, or SPKI in DER or PEM
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// What to call the owner of these keys
    #[arg(long, value_parser = label)]
    label: Option<Label>,
}

fn label(text: &str) -> Result<Label, String> {
    Label::new(text).ok_or_else(|| "a label has 1 to 100 visible characters".into())
}

impl Trust {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let config = Config::require()?;
        let mut keys = Vec::new();
        for path in &self.files {
            let file = disk::key_file(path).map_err(|error| Ending::impossible(error.to_string()))?;
            if file.holds_private {
                output::complain(&format!(
                    "{}: this file holds a private key; only its public part is used. If it is yours: reenact keys import",
                    shown(path)
                ));
            }
            if let Some(key) = file.keys.iter().find(|key| key.is_weak()) {
                return Err(Ending::impossible(format!(
                    "{}: the key {} is of small order: a signature under it proves nothing",
                    shown(path),
                    key.id()
                )));
            }
            keys.extend(file.keys);
        }
        let (own, _) = config.own_keys()?;
        let mut lines = String::new();
        let refused = config.edit_trust(|store| {
            let mut refused = Vec::new();
            for key in keys {
                if let Some(own) = own.iter().find(|own| own.key == key) {
                    lines.push_str(&format!(
                        "{} is a key of your own\n",
                        named(Some(own.name.as_str()), &key)
                    ));
                    continue;
                }
                let change = store.trust(key, self.label.clone());
                let entry = store.find(&key.id());
                let label = entry.and_then(|entry| entry.label.as_ref()).map(Label::as_str);
                let is_superseded =
                    entry.is_some_and(|entry| matches!(entry.standing, Standing::Superseded { .. }));
                let key = named(label, &key);
                match change {
                    Ok(_) if is_superseded => lines.push_str(&format!("{key} is superseded, and stays so\n")),
                    Ok(Change::Added) => lines.push_str(&format!("{key} is trusted now\n")),
                    Ok(Change::Relabelled) => lines.push_str(&format!("{key} has its label now\n")),
                    Ok(Change::Unchanged) => lines.push_str(&format!("{key} was trusted already\n")),
                    Err(refusal) => refused.push((key, refusal)),
                }
            }
            Ok(refused)
        })?;
        output::print(&lines)?;
        for (key, refusal) in &refused {
            output::complain(&match refusal {
                Refusal::Compromised => format!(
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
pub(super) struct Supersede {
    /// The old key: a name, a label, a key id, or the beginning of one
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,

    /// The key that took its place
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    by: String,
}

impl Supersede {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let config = Config::require()?;
        let ring = Ring::read(&config)?;
        let (row, by) = (ring.find(&self.key)?, ring.find(&self.by)?);
        let (old, new) = (named(row.called(), &row.key), named(by.called(), &by.key));
        if let Some(Standing::Compromised { .. }) = by.standing {
            return Err(Ending::impossible(format!(
                "{new} is marked as compromised: nobody should sign with it"
            )));
        }
        config.edit_trust(|store| {
            store.supersede(row.key, by.key.id()).map_err(|refusal| match refusal {
                Refusal::Compromised => {
                    Ending::impossible(format!("{old} is marked as compromised, which is worse; it stays so"))
                }
                refusal => Ending::impossible(format!("{old}: {refusal}")),
            })
        })?;
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
pub(super) struct Compromise {
    /// A name, a label, a key id, or the beginning of one
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,

    /// When it was lost, as far as anyone knows: a note for people, it decides nothing
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
}

impl Compromise {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let config = Config::require()?;
        let ring = Ring::read(&config)?;
        let row = ring.find(&self.key)?;
        let key = named(row.called(), &row.key);
        config.edit_trust(|store| {
            store.compromise(row.key, self.since.as_deref()).map_err(|refusal| match refusal {
                Refusal::Time => {
                    let since = self.since.as_deref().unwrap_or_default();
                    Ending::impossible(format!("--since {}: {refusal}", Shown::new(since)))
                }
                refusal => Ending::impossible(format!("{key}: {refusal}")),
            })
        })?;
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
pub(super) struct Forget {
    /// A name, a label, a key id, or the beginning of one
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,
}

impl Forget {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let config = Config::require()?;
        let ring = Ring::read(&config)?;
        let row = ring.find(&self.key)?;
        let key = named(row.called(), &row.key);
        let forgotten = config.edit_trust(|store| Ok(store.forget(&row.key.id())))?;
        let was = match (forgotten, row.name) {
            (Some(entry), _) => entry.standing.name(),
            (None, name) => {
                let file = name.and_then(|name| Some(config.key_store().path(&name.parse().ok()?)));
                let file =
                    file.map_or(String::new(), |file| format!("; its private key is {}", shown(&file)));
                return Err(Ending::impossible(format!("{key} is a key of your own without any mark{file}")));
            }
        };
        let now = if row.name.is_some() { ", and a key of your own without any mark now" } else { "" };
        output::print(&format!("{key} is forgotten; it was {was}{now}\n"))?;
        Ok(0)
    }
}
