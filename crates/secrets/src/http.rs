//! Credentials in HTTP headers, for callers that hold headers instead of text.

use crate::header::{cookie_value_spans, decoded_basic, is_credential, scheme_length};

/// Direction of the message that a header belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageSide {
    /// Header of a request.
    Request,
    /// Header of an answer.
    Answer,
}

/// Returns the secret values inside the headers that carry credentials, each once.
///
/// Of `Authorization` that is what follows the scheme; of `Basic` also the pair that it encodes,
/// and its password; of cookies each value; of `x-api-key` and similar headers the whole value.
/// Meant for [`Redactor::add_known`](crate::Redactor::add_known), which ignores values that are too
/// short.
pub fn credentials<'h>(headers: impl IntoIterator<Item = (&'h str, &'h [u8])>) -> Vec<Vec<u8>> {
    let mut secrets: Vec<Vec<u8>> = Vec::new();
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        let mut found: Vec<Vec<u8>> = Vec::new();
        if name == "cookie" || name == "set-cookie" {
            let values = cookie_value_spans(value, name == "set-cookie");
            found.extend(values.into_iter().filter_map(|span| value.get(span)).map(<[u8]>::to_vec));
        } else if is_credential(&name) {
            let (scheme, credential) = value.split_at(scheme_length(value));
            found.push(credential.to_vec());
            if scheme.trim_ascii().eq_ignore_ascii_case(b"basic")
                && let Some((pair, password)) = decoded_basic(credential)
            {
                found.extend([pair, password]);
            }
        }
        for secret in found {
            if !secret.is_empty() && !secrets.contains(&secret) {
                secrets.push(secret);
            }
        }
    }
    secrets
}
