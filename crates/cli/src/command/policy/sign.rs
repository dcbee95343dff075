//! `reenact policy sign`: authorises an envelope with a key other than the run's own.
//!
//! The authorisation is stored in `metadata.authorization`. Its signature has a domain of its own, and covers the envelope without
//! that member and without `signature`, so that the run can still add its own signature.

use std::path::PathBuf;

use reenact_formats::key::KeyId;
use reenact_formats::rer::envelope::authorization::{
    Authorization, AuthorizationFault, AuthorizationTerms, AuthorizedRuntime, authorise,
};
use reenact_formats::rer::seal::Signer as _;
use reenact_formats::rer::time;
use reenact_json::print::PrintObjectWriter;
use reenact_json::{Limits, Shown, Value};
use reenact_keys::KeyName;
use reenact_keys::durable::{self, Readers};

use crate::command::keys::known_keys::KnownKeys;
use crate::config::UserConfig;
use crate::envelope;
use crate::output::{self, CommandError};

/// Authorise an envelope with a key of your own
///
/// A run signs its envelope with its own key, which proves only that it wrote itself a permission slip. An authorisation is a
/// signature by another key, the platform's, over the envelope and the runtime that may use it: `verify` then says who authorised
/// the run. Any change afterwards breaks it. An authorisation that was there is replaced.
#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("runtimes").required(true),
    after_help = "Examples:\n  reenact keys generate platform\n  reenact policy sign envelope.toml --key platform --runtime default --out envelope.json\n  reenact policy sign envelope.toml --key platform --any-runtime --not-after 2026-12-31T00:00:00Z"
)]
pub(super) struct PolicySignArgs {
    /// A file, or - for standard input
    #[arg(value_name = "FILE", default_value = "reenact.toml")]
    file: PathBuf,

    /// The name of the key to sign with; `reenact keys list` shows yours
    #[arg(long, value_name = "NAME")]
    key: KeyName,

    /// The key that will sign the runs, and no other may: a name, a label, a key id, or the beginning of one that you know
    #[arg(long, value_name = "KEY", allow_hyphen_values = true, group = "runtimes")]
    runtime: Option<String>,

    /// Let any runtime use the envelope, whatever its key
    #[arg(long, group = "runtimes")]
    any_runtime: bool,

    /// The last moment at which it is authorised, such as 2026-12-31T00:00:00Z; without it there is no end but the envelope's expiry
    #[arg(long, value_name = "TIME", value_parser = end)]
    not_after: Option<String>,

    /// Where to write the envelope; without it, to standard output. A file that is there already is left alone
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// The authorisation as one JSON object; the envelope goes to --out
    #[arg(long, requires = "out")]
    json: bool,
}

/// Parses a time, for clap.
fn end(text: &str) -> Result<String, String> {
    match time::instant(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("a time is written like 2026-12-31T00:00:00Z".into()),
    }
}

impl PolicySignArgs {
    /// Adds the authorisation to the envelope, and writes it to `--out` or to standard output.
    ///
    /// # Errors
    ///
    /// If a key cannot be found or used, or the authorisation would be over already.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let loaded = envelope::load(&self.file)?;
        let config = UserConfig::require()?;
        let key = config
            .key_store()
            .load(&self.key)
            .map_err(|error| CommandError::impossible(error.to_string()))?;
        let terms = AuthorizationTerms { runtime: self.runtime(&config)?, not_after: self.not_after.clone() };
        let end = terms.not_after.as_deref().and_then(time::instant);
        if let (Some(end), Some(now)) = (end, super::now())
            && end <= now
        {
            return Err(CommandError::impossible("--not-after: that time is over already"));
        }
        let failed = |error: &dyn std::fmt::Display| CommandError::refused(error.to_string());
        let value = Value::parse(&loaded.json, &Limits::default()).map_err(|error| failed(&error))?;
        let mut signed = authorise(value, &terms, &key).map_err(|error| failed(&error))?;
        signed.push(b'\n');
        let Some(out) = &self.out else {
            output::print(&super::printable_json(&signed))?;
            return Ok(0);
        };
        durable::create(out, &signed, Readers::Owner)
            .map_err(|error| CommandError::unwritable(out, &error))?;
        let name = out.to_string_lossy();
        if self.json {
            return self.print_json(&name, &key.public_key().id(), &terms);
        }
        output::print(&format!(
            "{}: authorised by {} (key {}) for {}{}\nwhoever is to believe it needs that key: reenact keys export {}\n",
            Shown::whole(&name),
            self.key,
            key.public_key().id(),
            envelope::terms_text(&terms),
            replaced(value),
            self.key
        ))?;
        Ok(0)
    }

    /// Prints who authorised the envelope for whom. `runtime` is a key id, or `*` for any.
    fn print_json(&self, out: &str, key_id: &KeyId, terms: &AuthorizationTerms) -> Result<u8, CommandError> {
        let mut line = String::new();
        let mut object = PrintObjectWriter::open(&mut line);
        object.string("out", out);
        object.string("key", self.key.as_str());
        object.string("key_id", key_id.to_string().as_str());
        object.string("runtime", terms.runtime.text().as_str());
        object.string("not_after", terms.not_after.as_deref());
        object.close();
        output::print(&(line + "\n"))?;
        Ok(0)
    }

    /// Returns the runtimes that the options name. A whole key id need not be known.
    fn runtime(&self, config: &UserConfig) -> Result<AuthorizedRuntime, CommandError> {
        let Some(called) = &self.runtime else { return Ok(AuthorizedRuntime::Any) };
        let known = KnownKeys::load(config)?;
        let row = match (known.find(called), KeyId::parse(called)) {
            (Ok(row), _) => row,
            (Err(_), Some(id)) => return Ok(AuthorizedRuntime::Key(id)),
            (Err(error), None) => return Err(error),
        };
        if row.approver.is_some() {
            let message =
                format!("--runtime: {} is an approver's key, which signs no runs", Shown::new(called));
            return Err(CommandError::impossible(message));
        }
        Ok(AuthorizedRuntime::Key(row.key.id()))
    }
}

/// Returns words on the authorisation that a new one replaces.
fn replaced(envelope: Value<'_>) -> String {
    match Authorization::read(envelope) {
        Ok(None) => String::new(),
        Ok(Some(old)) => format!(", in place of the authorisation by {}", old.key_id),
        Err(AuthorizationFault::Legacy { key_id }) => {
            format!(", in place of the one by {} in the form of 0.1.0", Shown::new(&key_id))
        }
        Err(_) => ", in place of one that could not be read".to_owned(),
    }
}
