//! `reenact policy sign`: authorises an envelope with a key other than the run's own.
//!
//! The authorisation is stored in `metadata.authorization`. It signs the envelope without that member and
//! without `signature`, so that the run can still add its own signature.

use std::path::PathBuf;

use reenact_formats::rer::envelope::authorisable;
use reenact_formats::rer::seal::Signer as _;
use reenact_json::canonical::{self, write_string};
use reenact_json::{Jcs, Limits, Shown, Value};
use reenact_keys::KeyName;
use reenact_keys::durable::{self, Readers};

use crate::config::UserConfig;
use crate::envelope;
use crate::output::{self, CommandError};

/// Authorise an envelope with a key of your own
///
/// A run signs its envelope with its own key, which proves only that it wrote itself a permission slip. An authorisation is a
/// signature by another key, the platform's, over the envelope: `verify` then says who authorised the run. Any change afterwards
/// breaks it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact keys generate platform\n  reenact policy sign envelope.toml --key platform --out envelope.json"
)]
pub(super) struct PolicySignArgs {
    /// A file, or - for standard input
    #[arg(value_name = "FILE", default_value = "reenact.toml")]
    file: PathBuf,

    /// The name of the key to sign with; `reenact keys list` shows yours
    #[arg(long, value_name = "NAME")]
    key: KeyName,

    /// Where to write the envelope; without it, to standard output. A file that is there already is left alone
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl PolicySignArgs {
    /// Adds the authorisation to the envelope, and writes it to `--out` or to standard output.
    ///
    /// # Errors
    ///
    /// If the envelope is authorised already: a second signature would replace the first.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let loaded = envelope::load(&self.file)?;
        let key = UserConfig::require()?
            .key_store()
            .load(&self.key)
            .map_err(|error| CommandError::impossible(error.to_string()))?;
        let failed = |error: &dyn std::fmt::Display| CommandError::refused(error.to_string());
        let value = Value::parse(&loaded.json, &Limits::default()).map_err(|error| failed(&error))?;
        let metadata = value.member("metadata");
        if let Some(there) = metadata.and_then(|metadata| metadata.member("authorization")) {
            let key_id = there.member("key_id").and_then(|key_id| key_id.string()).unwrap_or_default();
            let message = format!("it is authorised already, by the key {}", Shown::new(&key_id));
            return Err(CommandError::refused(
                message + "; take metadata.authorization out to authorise it anew",
            ));
        }
        let signature = key.sign(&authorisable(value).map_err(|error| failed(&error))?);
        let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        let key_id = key.public_key().id().to_string();
        let mut text = b"{\"metadata\":{\"authorization\":{\"key_id\":".to_vec();
        write_string(&key_id, &mut text);
        text.extend_from_slice(format!(",\"signature\":\"{signature}\"}}").as_bytes());
        let member = |(name, value): (Value<'_>, Value<'_>), text: &mut Vec<u8>| {
            text.extend_from_slice(&[b",", name.text(), b":", value.text()].concat());
        };
        metadata
            .into_iter()
            .flat_map(|metadata| metadata.members())
            .for_each(|entry| member(entry, &mut text));
        text.push(b'}');
        let others = value.members().filter(|(name, _)| !name.is_string("metadata"));
        others.for_each(|entry| member(entry, &mut text));
        text.push(b'}');
        let signed = Value::parse(&text, &Limits::default()).map_err(|error| failed(&error))?;
        let mut signed = canonical::to_vec(signed, Jcs).map_err(|error| failed(&error))?;
        signed.push(b'\n');
        let Some(out) = &self.out else {
            output::print(&super::printable_json(&signed))?;
            return Ok(0);
        };
        durable::create(out, &signed, Readers::Owner)
            .map_err(|error| CommandError::unwritable(out, &error))?;
        let name = out.to_string_lossy();
        output::print(&format!(
            "{}: authorised by {} (key {key_id})\nwhoever is to believe it needs that key: reenact keys export {}\n",
            Shown::whole(&name),
            self.key,
            self.key
        ))?;
        Ok(0)
    }
}
