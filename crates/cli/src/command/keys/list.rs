//! `reenact keys list` and `reenact keys show`: which keys there are, and what is known of each.

use std::path::PathBuf;

use reenact_formats::trust::Standing;
use reenact_json::Shown;
use reenact_json::print::Object;

use super::ring::{Ring, Row};
use super::shown;
use crate::config::Config;
use crate::output::{self, Ending};

/// List your own keys and those that you know
///
/// The standing is own, trusted, superseded or compromised. Your approver keys are shown with what they approve as.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact keys list\n  reenact keys list --json")]
pub(super) struct List {
    /// One JSON object a line, one line a key
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let config = Config::require()?;
        let ring = Ring::read(&config)?;
        let rows = ring.rows();
        for broken in &ring.broken {
            output::complain(&broken.error.to_string());
        }
        if self.json {
            output::print(&rows.iter().map(json).collect::<String>())?;
        } else if !rows.is_empty() {
            output::print(&table(&rows, &ring))?;
        } else if ring.broken.is_empty() {
            output::print(
                "There is no key yet.\n\
                 Make one to sign with:      reenact keys generate\n\
                 Trust somebody else's key:  reenact keys trust FILE\n",
            )?;
        }
        // A key that is there but cannot be used is a question that could not be answered.
        Ok(if ring.broken.is_empty() { 0 } else { 2 })
    }
}

fn table(rows: &[Row<'_>], ring: &Ring) -> String {
    let cells: Vec<[String; 3]> = rows
        .iter()
        .map(|row| {
            let called = row.called().map_or("-".to_owned(), |called| Shown::new(called).to_string());
            [called, row.key.id().to_string(), described(row, ring)]
        })
        .collect();
    let width = cells.iter().map(|[called, ..]| called.chars().count()).max().unwrap_or(0).max(4);
    let line = |[called, id, standing]: &[String; 3]| format!("{called:width$}  {id:43}  {standing}\n");
    let title = line(&["NAME".into(), "KEY ID".into(), "STANDING".into()]);
    title + &cells.iter().map(line).collect::<String>()
}

/// The standing in words.
fn described(row: &Row<'_>, ring: &Ring) -> String {
    let mark = match row.standing {
        Some(Standing::Superseded { by }) => {
            format!("superseded by {}", Shown::new(&ring.called(by)))
        }
        Some(Standing::Compromised { since: Some(since) }) => format!("compromised since {since}"),
        _ => row.word().to_owned(),
    };
    let mark = if row.name.is_some() && mark != "own" { format!("own, {mark}") } else { mark };
    match row.approver {
        Some(signer_type) => format!("{mark}, approver ({})", signer_type.name()),
        None => mark,
    }
}

fn json(row: &Row<'_>) -> String {
    let (by, since) = match row.standing {
        Some(Standing::Superseded { by }) => (Some(by.to_string()), None),
        Some(Standing::Compromised { since }) => (None, since.as_deref()),
        _ => (None, None),
    };
    let mut line = String::new();
    let mut object = Object::open(&mut line);
    object.string("key_id", row.key.id().to_string().as_str());
    object.string("x", row.key.to_base64url().as_str());
    object.string("name", row.name);
    object.string("label", row.label);
    object.boolean("own", row.name.is_some());
    object.string("standing", row.word());
    object.string("by", by.as_deref());
    object.string("since", since);
    object.string("approver", row.approver.map(|signer_type| signer_type.name()));
    object.close();
    line + "\n"
}

/// Show what is known of one key
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact keys show default\n  reenact keys show C7uY5NV7")]
pub(super) struct Show {
    /// A name, a label, a key id, or the beginning of one
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,
}

impl Show {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let config = Config::require()?;
        let ring = Ring::read(&config)?;
        let row = ring.find(&self.key)?;
        let file: Option<PathBuf> =
            row.name.and_then(|name| Some(config.key_store().path(&name.parse().ok()?)));
        let by = match row.standing {
            Some(Standing::Superseded { by }) => Some(by.to_string()),
            _ => None,
        };
        let lines = [
            ("name", row.name.map(str::to_owned)),
            ("label", row.label.map(|label| Shown::new(label).to_string())),
            ("key_id", Some(row.key.id().to_string())),
            ("standing", Some(described(&row, &ring))),
            ("by", by),
            ("x", Some(row.key.to_base64url())),
            // As a bundle's manifest carries it.
            ("sha256", Some(row.key.digest().to_string())),
            ("file", file.map(|file| shown(&file))),
        ];
        let text: String =
            lines.into_iter().filter_map(|(name, value)| Some(format!("{name:8}  {}\n", value?))).collect();
        output::print(&text)?;
        Ok(0)
    }
}
