//! `reenact keys export` and `reenact keys jwks`: public keys for others, and a private key for safekeeping.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::ValueEnum;
use reenact_formats::trust::Standing;
use reenact_keys::KeyName;
use reenact_keys::durable::{self, Readers};

use super::ring::Ring;
use super::{form, named, not_kept};
use crate::config::Config;
use crate::output::{self, Ending};

/// Write a public key, to give to those who verify
///
/// With --private it is the private key of your own: whoever has it can sign as you.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact keys export default > signer.jwk\n  reenact keys export default --as pem --out signer.pem\n  reenact keys export default --private --out backup.jwk"
)]
pub(super) struct Export {
    /// A name, a label, a key id, or the beginning of one
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,

    /// Write the private key instead: only as a JWK, and never to a terminal
    #[arg(long)]
    private: bool,

    /// The form of the key
    #[arg(long = "as", value_enum, value_name = "FORM", default_value = "jwk")]
    form: Form,

    /// Write to this file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A JSON Web Key
    Jwk,
    /// SPKI in PEM
    Pem,
    /// SPKI in DER
    Der,
    /// The 32 bytes
    Raw,
}

impl Export {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let config = Config::require()?;
        let ring = Ring::read(&config)?;
        let row = ring.find(&self.key)?;
        if !self.private {
            let bytes = match self.form {
                Form::Jwk => (form::jwk(&row.key) + "\n").into_bytes(),
                Form::Pem => form::pem(&row.key).into_bytes(),
                Form::Der => form::der(&row.key),
                Form::Raw => row.key.as_bytes().to_vec(),
            };
            let is_binary = matches!(self.form, Form::Der | Form::Raw);
            return self.write(&bytes, is_binary.then_some("bytes that are no text are"), Readers::Everyone);
        }
        if self.form != Form::Jwk {
            return Err(Ending::impossible("a private key is exported as a JWK only: leave out --as"));
        }
        let name: Option<KeyName> = row.name.and_then(|name| name.parse().ok());
        let Some(name) = name else {
            return Err(Ending::impossible(format!(
                "{} is not a key of your own: you have its public half only",
                named(row.called(), &row.key)
            )));
        };
        let secret = config.key_store().load(&name).map_err(|error| not_kept(&error))?;
        let mut jwk = secret.to_jwk();
        jwk.push('\n');
        self.write(jwk.as_bytes(), Some("a private key is"), Readers::Owner)
    }

    /// Writes to where it was asked for. `hidden` says what must not be shown on a terminal.
    fn write(&self, bytes: &[u8], hidden: Option<&str>, readers: Readers) -> Result<u8, Ending> {
        let Some(path) = &self.out else {
            if let Some(what) = hidden.filter(|_| io::stdout().is_terminal()) {
                return Err(Ending::impossible(format!("{what} not written to a terminal; give --out FILE")));
            }
            output::print_bytes(bytes)?;
            return Ok(0);
        };
        durable::create(path, bytes, readers).map_err(|error| Ending::unwritable(path, &error))?;
        Ok(0)
    }
}

/// Write the public halves of all your own keys as a JWKS, to publish
///
/// Keys that you have superseded are in it, so that what they signed still verifies; compromised ones are not.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact keys jwks > keys.jwks\n  reenact-verify --keys keys.jwks run.rer.json"
)]
pub(super) struct Jwks {}

impl Jwks {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let ring = Ring::read(&Config::require()?)?;
        if let Some(broken) = ring.broken.first() {
            // A set that lacks a key looks like one that does not have it.
            return Err(not_kept(&broken.error));
        }
        let mut keys = Vec::new();
        for row in ring.rows().iter().filter(|row| row.name.is_some()) {
            if let Some(Standing::Compromised { .. }) = row.standing {
                let key = named(row.called(), &row.key);
                output::complain(&format!("{key} is marked as compromised and left out"));
            } else if !keys.contains(&row.key) {
                keys.push(row.key);
            }
        }
        if keys.is_empty() {
            return Err(Ending::impossible("you have no key to publish; make one: reenact keys generate"));
        }
        output::print_bytes(form::jwks(keys.iter()).as_bytes())?;
        Ok(0)
    }
}
