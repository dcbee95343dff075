//! The credentials that travel in headers.

use crate::header::{basic_pair, cookie_values, is_credential, scheme_length};

/// Which way a header goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// With a request.
    Request,
    /// With an answer.
    Answer,
}

/// The secret values inside the headers that carry credentials: of `Authorization` what follows the scheme,
/// of `Basic` also the pair that it encodes and its password, of cookies each value, of `x-api-key` and its
/// like all of it. Meant for [`Redactor::know`](crate::Redactor::know), which ignores what is too short.
pub fn credentials<'h>(headers: impl IntoIterator<Item = (&'h str, &'h [u8])>) -> Vec<Vec<u8>> {
    let mut secrets: Vec<Vec<u8>> = Vec::new();
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        let mut found: Vec<Vec<u8>> = Vec::new();
        if name == "cookie" || name == "set-cookie" {
            let values = cookie_values(value, name == "set-cookie");
            found.extend(values.into_iter().filter_map(|span| value.get(span)).map(<[u8]>::to_vec));
        } else if is_credential(&name) {
            let (scheme, credential) = value.split_at(scheme_length(value));
            found.push(credential.to_vec());
            if scheme.trim_ascii().eq_ignore_ascii_case(b"basic")
                && let Some((pair, password)) = basic_pair(credential)
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
