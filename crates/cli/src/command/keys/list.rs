//! `reenact keys list` and `reenact keys show`: the keys that the user has or knows.
//!
//! ```text
//! NAME   KEY ID                                       STANDING
//! ci     C7uY5NV79fGLU_9IBnMaIAzPpv1TGl467ZoBcALkWZc  own
//! alice  NkmBqk-1YNGAhgYh7eB_41ji0SiwPFxwJ_ocptistpo  trusted as runtime
//! ```
//!
//! Both print public halves only. The rows come from [`KnownKeys::rows`].

use std::path::PathBuf;

use reenact_formats::key::PublicKey;
use reenact_formats::trust::{KeyRole, Standing};
use reenact_json::Shown;
use reenact_json::print::PrintObjectWriter;

use super::known_keys::{KnownKeyRow, KnownKeys};
use super::shown_path;
use crate::config::UserConfig;
use crate::output::{self, CommandError};

/// List your own keys and those that you know
///
/// The standing is own, trusted, superseded or compromised. A key of somebody else is shown with what it is trusted for, your
/// approver keys with what they approve as.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact keys list\n  reenact keys list --json")]
pub(super) struct KeysListArgs {
    /// One JSON object a line, one line a key
    #[arg(long)]
    json: bool,
}

impl KeysListArgs {
    /// Lists all keys. Key files that cannot be used are named on standard error, and make the exit code 2.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let config = UserConfig::require()?;
        let ring = KnownKeys::load(&config)?;
        let rows = ring.rows();
        for broken in &ring.broken {
            output::print_notice(&broken.error.to_string());
        }
        if self.json {
            output::print(&rows.iter().map(|row| row_json(row, &config)).collect::<String>())?;
        } else if !rows.is_empty() {
            output::print(&table(&rows, &ring))?;
        } else if ring.broken.is_empty() {
            output::print(
                "There is no key yet.\n\
                 Make one to sign with:      reenact keys generate\n\
                 Trust somebody else's key:  reenact keys trust FILE\n",
            )?;
        }
        // A key that cannot be read has an unknown standing, so that the list is not complete.
        Ok(if ring.broken.is_empty() { 0 } else { 2 })
    }
}

/// Returns the keys as a table with a title line. A key without a name and a label is called `-`.
fn table(rows: &[KnownKeyRow<'_>], ring: &KnownKeys) -> String {
    let cells: Vec<[String; 3]> = rows
        .iter()
        .map(|row| {
            let called = row.display_name().map_or("-".to_owned(), |called| Shown::new(called).to_string());
            [called, row.key.id().to_string(), standing_text(row, ring)]
        })
        .collect();
    let width = cells.iter().map(|[called, ..]| called.chars().count()).max().unwrap_or(0).max(4);
    let line = |[called, id, standing]: &[String; 3]| format!("{called:width$}  {id:43}  {standing}\n");
    let title = line(&["NAME".into(), "KEY ID".into(), "STANDING".into()]);
    title + &cells.iter().map(line).collect::<String>()
}

/// Returns the standing of a key as a phrase, such as `own, superseded by ci`.
fn standing_text(row: &KnownKeyRow<'_>, ring: &KnownKeys) -> String {
    let mark = match row.standing {
        Some(Standing::Superseded { by }) => {
            format!("superseded by {}", Shown::new(&ring.name_of(by)))
        }
        Some(Standing::Compromised { since: Some(since) }) => format!("compromised since {since}"),
        Some(Standing::Trusted) if row.name.is_none() => format!("trusted as {}", row.roles),
        _ => row.standing_name().to_owned(),
    };
    let mark = if row.name.is_some() && mark != "own" { format!("own, {mark}") } else { mark };
    match row.approver {
        Some(signer_type) => format!("{mark}, approver ({})", signer_type.name()),
        None => mark,
    }
}

/// Prints keys as `reenact keys list --json` does, after a change of the stores. A key that is in neither is `unknown`.
pub(super) fn print_json(config: &UserConfig, keys: &[PublicKey]) -> Result<(), CommandError> {
    let known = KnownKeys::load(config)?;
    let rows = known.rows();
    let line = |key: &PublicKey| match rows.iter().find(|row| row.key == *key) {
        Some(row) => row_json(row, config),
        None => row_json(&KnownKeyRow::unknown(*key), config),
    };
    output::print(&keys.iter().map(line).collect::<String>())
}

/// Returns the path of the private key, for a key of the user's own.
fn private_file(row: &KnownKeyRow<'_>, config: &UserConfig) -> Option<PathBuf> {
    Some(config.key_store().path(&row.name?.parse().ok()?))
}

/// Returns a key as one line of JSON. `by` is the key id of its successor, `since` the time at which it was compromised,
/// `sha256` the digest by which the manifest of a bundle names it, `file` the private key.
fn row_json(row: &KnownKeyRow<'_>, config: &UserConfig) -> String {
    let (by, since) = match row.standing {
        Some(Standing::Superseded { by }) => (Some(by.to_string()), None),
        Some(Standing::Compromised { since }) => (None, since.as_deref()),
        _ => (None, None),
    };
    let mut line = String::new();
    let mut object = PrintObjectWriter::open(&mut line);
    object.string("key_id", row.key.id().to_string().as_str());
    object.string("x", row.key.to_base64url().as_str());
    object.string("name", row.name);
    object.string("label", row.label);
    object.boolean("own", row.name.is_some());
    object.string("standing", row.standing_name());
    let roles: Vec<&str> = row.roles.iter().map(KeyRole::name).collect();
    object.strings("roles", &roles);
    object.string("by", by.as_deref());
    object.string("since", since);
    object.string("approver", row.approver.map(|signer_type| signer_type.name()));
    object.string("sha256", row.key.digest().to_string().as_str());
    let file = private_file(row, config);
    object.string("file", file.as_ref().map(|file| file.to_string_lossy()).as_deref());
    object.close();
    line + "\n"
}

/// Show what is known of one key
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact keys show default\n  reenact keys show C7uY5NV7 --json")]
pub(super) struct KeysShowArgs {
    /// A name, a label, a key id, or the beginning of one
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,

    /// The key as one JSON object, as `reenact keys list` prints it
    #[arg(long)]
    json: bool,
}

impl KeysShowArgs {
    /// Prints everything that is known of one key.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let config = UserConfig::require()?;
        let ring = KnownKeys::load(&config)?;
        let row = ring.find(&self.key)?;
        if self.json {
            output::print(&row_json(&row, &config))?;
            return Ok(0);
        }
        let file = private_file(&row, &config);
        let by = match row.standing {
            Some(Standing::Superseded { by }) => Some(by.to_string()),
            _ => None,
        };
        let lines = [
            ("name", row.name.map(str::to_owned)),
            ("label", row.label.map(|label| Shown::new(label).to_string())),
            ("key_id", Some(row.key.id().to_string())),
            ("standing", Some(standing_text(&row, &ring))),
            ("by", by),
            ("x", Some(row.key.to_base64url())),
            // The digest by which the manifest of a bundle names the key.
            ("sha256", Some(row.key.digest().to_string())),
            ("file", file.map(|file| shown_path(&file))),
        ];
        let text: String =
            lines.into_iter().filter_map(|(name, value)| Some(format!("{name:8}  {}\n", value?))).collect();
        output::print(&text)?;
        Ok(0)
    }
}
