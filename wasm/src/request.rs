//! One thing to judge, and the judging.

use reenact_formats::format::UnknownFormat;
use reenact_formats::key;
use reenact_verify::{FormatId, Keys, Options, Outcome, Unreadable, safe};

/// What the host filled in. Empty is: not given.
pub(crate) struct Request {
    pub(crate) input: Vec<u8>,
    pub(crate) key: Vec<u8>,
    pub(crate) format: Vec<u8>,
    pub(crate) target: Vec<u8>,
}

/// What the bytes of the key are. Not told from their length: no key and a raw key of no byte get different reports.
pub(crate) enum KeyForm {
    None,
    File,
    Raw,
}

impl KeyForm {
    /// The form that a host means; `None` is a host of another version.
    pub(crate) fn of_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::None),
            1 => Some(Self::File),
            2 => Some(Self::Raw),
            _ => None,
        }
    }
}

impl Request {
    pub(crate) const EMPTY: Self =
        Self { input: Vec::new(), key: Vec::new(), format: Vec::new(), target: Vec::new() };

    /// The report as one line of JSON, in the words of `reenact verify --json`. What could not be done has a code.
    pub(crate) fn report(&self, key_form: Option<KeyForm>) -> String {
        let outcome = self.judged(key_form).unwrap_or_else(Outcome::Unreadable);
        outcome.to_json(&String::from_utf8_lossy(&self.target))
    }

    fn judged(&self, key_form: Option<KeyForm>) -> Result<Outcome, Unreadable> {
        let keys = self.keys(key_form)?;
        let options = Options { format: self.forced()?, ..Options::default() };
        Ok(Outcome::Judged(safe(&self.input, &keys, &options)))
    }

    fn keys(&self, key_form: Option<KeyForm>) -> Result<Keys, Unreadable> {
        let refused = |message: String| Unreadable { code: "E_KEY", message };
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

    fn forced(&self) -> Result<Option<FormatId>, Unreadable> {
        if self.format.is_empty() {
            return Ok(None);
        }
        let format =
            str::from_utf8(&self.format).map_err(|_| UnknownFormat).and_then(FormatId::of_verified_name);
        format.map(Some).map_err(|unknown| Unreadable { code: "E_FORMAT", message: unknown.to_string() })
    }
}
