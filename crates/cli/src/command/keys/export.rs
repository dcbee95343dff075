//! `reenact keys export` and `reenact keys jwks`: public keys for others, and a private key as a backup.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::ValueEnum;
use reenact_formats::trust::Standing;
use reenact_keys::KeyName;
use reenact_keys::durable::{self, Readers};

use super::known_keys::{KnownKeyRow, KnownKeys};
use super::{key_format, key_store_error, name_and_id};
use crate::config::UserConfig;
use crate::output::{self, CommandError};

/// Write a public key, to give to those who verify
///
/// With --private it is the private key of your own: whoever has it can sign as you.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact keys export default > signer.jwk\n  reenact keys export default --as pem --out signer.pem\n  reenact keys export default --private --out backup.jwk"
)]
pub(super) struct KeysExportArgs {
    /// A name, a label, a key id, or the beginning of one
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,

    /// Write the private key instead: only as a JWK, and never to a terminal
    #[arg(long)]
    private: bool,

    /// The form of the key
    #[arg(long = "as", value_enum, value_name = "FORM", default_value = "jwk")]
    form: KeyFormatArg,

    /// Write to this file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Values of `--as`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeyFormatArg {
    /// A JSON Web Key
    Jwk,
    /// SPKI in PEM
    Pem,
    /// SPKI in DER
    Der,
    /// The 32 bytes
    Raw,
}

impl KeysExportArgs {
    /// Exports the public key, or with `--private` the private one, which must be an own key.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let config = UserConfig::require()?;
        let ring = KnownKeys::load(&config)?;
        let row = ring.find(&self.key)?;
        if !self.private {
            let bytes = match self.form {
                KeyFormatArg::Jwk => (key_format::jwk(&row.key) + "\n").into_bytes(),
                KeyFormatArg::Pem => key_format::pem(&row.key).into_bytes(),
                KeyFormatArg::Der => key_format::der(&row.key),
                KeyFormatArg::Raw => row.key.as_bytes().to_vec(),
            };
            let is_binary = matches!(self.form, KeyFormatArg::Der | KeyFormatArg::Raw);
            return self.write(&bytes, is_binary.then_some("bytes that are no text are"), Readers::Everyone);
        }
        if self.form != KeyFormatArg::Jwk {
            return Err(CommandError::impossible("a private key is exported as a JWK only: leave out --as"));
        }
        let name: Option<KeyName> = row.name.and_then(|name| name.parse().ok());
        let Some(name) = name else {
            return Err(CommandError::impossible(format!(
                "{} is not a key of your own: you have its public half only",
                name_and_id(row.display_name(), &row.key)
            )));
        };
        let secret = config.key_store().load(&name).map_err(|error| key_store_error(&error))?;
        let mut jwk = secret.to_jwk();
        jwk.push('\n');
        self.write(jwk.as_bytes(), Some("a private key is"), Readers::Owner)
    }

    /// Writes the bytes to `--out`, or to standard output. `hidden` begins the refusal for content that must
    /// not go to a terminal.
    fn write(&self, bytes: &[u8], hidden: Option<&str>, readers: Readers) -> Result<u8, CommandError> {
        let Some(path) = &self.out else {
            if let Some(what) = hidden.filter(|_| io::stdout().is_terminal()) {
                return Err(CommandError::impossible(format!(
                    "{what} not written to a terminal; give --out FILE"
                )));
            }
            output::print_bytes(bytes)?;
            return Ok(0);
        };
        durable::create(path, bytes, readers).map_err(|error| CommandError::unwritable(path, &error))?;
        Ok(0)
    }
}

/// Write the public halves of your own keys as a JWKS, to publish
///
/// Keys that you have superseded are in it, so that what they signed still verifies; compromised ones are not, and approvers' keys
/// only in a set of their own: whoever is given a set for runs must not take an approver's key for a runtime's.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact keys jwks > keys.jwks\n  reenact keys jwks --approvers > approvers.jwks\n  reenact-verify --keys keys.jwks run.rer.json"
)]
pub(super) struct KeysJwksArgs {
    /// Write your approvers' keys instead of those that seal runs and authorise envelopes
    #[arg(long)]
    approvers: bool,
}

impl KeysJwksArgs {
    /// Prints the user's own public keys as a JWKS, without compromised ones: those of runtimes, or those of approvers.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let ring = KnownKeys::load(&UserConfig::require()?)?;
        if let Some(broken) = ring.broken.first() {
            // A set without this key would say that the key does not exist.
            return Err(key_store_error(&broken.error));
        }
        let mut keys = Vec::new();
        let is_wanted =
            |row: &&KnownKeyRow<'_>| row.name.is_some() && row.approver.is_some() == self.approvers;
        for row in ring.rows().iter().filter(is_wanted) {
            if let Some(Standing::Compromised { .. }) = row.standing {
                let key = name_and_id(row.display_name(), &row.key);
                output::print_notice(&format!("{key} is marked as compromised and left out"));
            } else if !keys.contains(&row.key) {
                keys.push(row.key);
            }
        }
        if keys.is_empty() {
            return Err(CommandError::impossible(match self.approvers {
                true => {
                    "you have no approver's key to publish; make one: reenact keys generate NAME --approver"
                }
                false => "you have no key to publish; make one: reenact keys generate",
            }));
        }
        output::print_bytes(key_format::jwks(keys.iter()).as_bytes())?;
        Ok(0)
    }
}
