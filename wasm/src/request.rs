//! One record to verify, as the host filled it in.

use reenact_formats::format::UnknownFormat;
use reenact_formats::key;
use reenact_verify::{FormatId, Keys, Options, TargetOutcome, UnreadableTarget, verify};

/// Buffers that the host filled in; an empty one was not given.
pub(crate) struct WasmRequest {
    /// Record to verify.
    pub(crate) input: Vec<u8>,
    /// Key, in the form that the host states.
    pub(crate) key: Vec<u8>,
    /// Name of the format to verify by.
    pub(crate) format: Vec<u8>,
    /// Name of the record in the report.
    pub(crate) target: Vec<u8>,
}

/// Form of the key's bytes. The length cannot tell: no key and a raw key of no bytes get different
/// reports.
pub(crate) enum KeyForm {
    /// No key.
    None,
    /// Key file of any form.
    File,
    /// Raw bytes (RER §1.1).
    Raw,
}

impl KeyForm {
    /// Returns the form that a host states; `None` if the host is of another version.
    pub(crate) fn of_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::None),
            1 => Some(Self::File),
            2 => Some(Self::Raw),
            _ => None,
        }
    }
}

impl WasmRequest {
    pub(crate) const EMPTY: Self =
        Self { input: Vec::new(), key: Vec::new(), format: Vec::new(), target: Vec::new() };

    /// Returns the report as one line of JSON, in the words of `reenact verify --json`. An input
    /// that cannot be read has an error code.
    pub(crate) fn report(&self, key_form: Option<KeyForm>) -> String {
        let outcome = self.outcome(key_form).unwrap_or_else(TargetOutcome::Unreadable);
        outcome.to_json(&String::from_utf8_lossy(&self.target))
    }

    fn outcome(&self, key_form: Option<KeyForm>) -> Result<TargetOutcome, UnreadableTarget> {
        let keys = self.keys(key_form)?;
        let options = Options { format: self.forced_format()?, ..Options::default() };
        Ok(TargetOutcome::Report(verify(&self.input, &keys, &options)))
    }

    fn keys(&self, key_form: Option<KeyForm>) -> Result<Keys, UnreadableTarget> {
        let refused = |message: String| UnreadableTarget { code: "E_KEY", message };
        match key_form {
            Some(KeyForm::None) => Ok(Keys::default()),
            Some(KeyForm::Raw) => Ok(Keys::from_raw(&self.key)),
            Some(KeyForm::File) => {
                let file = key::read(&self.key).map_err(|error| refused(format!("the key: {error}")))?;
                let mut keys = Keys::default();
                keys.extend(file.keys);
                Ok(keys)
            }
            None => Err(refused("the key: no such form; 0 is none, 1 a key file, 2 raw bytes".into())),
        }
    }

    fn forced_format(&self) -> Result<Option<FormatId>, UnreadableTarget> {
        if self.format.is_empty() {
            return Ok(None);
        }
        let format =
            str::from_utf8(&self.format).map_err(|_| UnknownFormat).and_then(FormatId::of_verified_name);
        format
            .map(Some)
            .map_err(|unknown| UnreadableTarget { code: "E_FORMAT", message: unknown.to_string() })
    }
}
