//! Request paths with queries: a parameter's name may say that its value is secret.

use crate::entropy::is_random;
use crate::name::{is_secret_parameter, may_be_word};
use crate::value::is_identifier;
use crate::{Redactor, SecretFinding};
use memchr::memchr;

/// Name of the rule.
pub(crate) const RULE: &str = "parameter";

impl Redactor {
    /// Returns a path with its query, masked by rule and by the names of parameters; all else stays
    /// byte for byte.
    ///
    /// Secret values of parameters become known values: an answer that repeats one gets the same
    /// mark. A word as the value of `code` or `session` is masked in this place alone.
    pub fn masked_path(&mut self, path_and_query: &str) -> String {
        let path = path_and_query.as_bytes();
        let forced = secret_parameters(path);
        for finding in &forced {
            let value = percent_decoded(path.get(finding.span.clone()).unwrap_or_default());
            let before = path.get(..finding.span.start.saturating_sub(1)).unwrap_or_default();
            let name = before.rsplit(|byte| matches!(byte, b'?' | b'&' | b';')).next().unwrap_or_default();
            if !may_be_word(&percent_decoded(name)) || is_random(&value) || !is_identifier(&value) {
                self.add_known(RULE, &value);
            }
        }
        let masked = self.redact_with(path, forced);
        String::from_utf8_lossy(&masked.bytes).into_owned()
    }
}

/// Returns the values of the parameters that are secret by name.
pub(crate) fn secret_parameters(url: &[u8]) -> Vec<SecretFinding> {
    let mut found = Vec::new();
    let Some(question) = memchr(b'?', url) else { return found };
    let mut from = question + 1;
    let query = url.get(from..).unwrap_or_default();
    let query = query.split(|byte| *byte == b'#').next().unwrap_or_default();
    for pair in query.split(|byte| matches!(byte, b'&' | b';')) {
        if let Some(equals) = memchr(b'=', pair)
            && equals + 1 < pair.len()
            && is_secret_parameter(&percent_decoded(&pair[..equals]))
        {
            found.push(SecretFinding { rule: RULE.into(), span: from + equals + 1..from + pair.len() });
        }
        from += pair.len() + 1;
    }
    found
}

/// Decodes the percent-encoding of a parameter's name or value.
fn percent_decoded(name: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| {
        byte.and_then(|byte| char::from(*byte).to_digit(16)).and_then(|digit| u8::try_from(digit).ok())
    };
    let mut decoded = Vec::with_capacity(name.len());
    let mut at = 0;
    while let Some(byte) = name.get(at) {
        match (byte, digit(name.get(at + 1)), digit(name.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(high * 16 + low);
                at += 3;
            }
            _ => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    decoded
}
