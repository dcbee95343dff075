//! Requests to a player: as an agent makes them, and masked as they would have been recorded.

use std::borrow::Cow;

use reenact_json::{Digest, Shown};
use reenact_secrets::{MessageSide, Redactor, http, renumbered};
use reenact_wire::key::{self, MatchKeyParts};
use reenact_wire::{Endpoint, Vendor, exchange};

use crate::player::rule;

/// Request of an agent. Nothing is masked yet, but content codings are removed from the body.
#[derive(Clone, Copy)]
pub struct PlayerRequest<'a> {
    /// Name of the route of the request, such as `openai`.
    pub provider: &'a str,
    /// HTTP method, such as `POST`.
    pub method: &'a str,
    /// Path at the vendor, with its query: the part of the URL after the gateway's token and route.
    pub path: &'a str,
    /// All headers, in order; values are bytes.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// Body, decoded.
    pub body: &'a [u8],
}

/// Request with its secrets masked, so that it can be compared with recorded ones.
#[derive(Debug)]
pub(crate) struct MaskedPlayerRequest<'a> {
    pub(crate) provider: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Cow<'a, [u8]>,
}

impl<'a> PlayerRequest<'a> {
    /// Masks the request as a recorder does: the headers first, since they tell which values are secret in the
    /// rest.
    pub(crate) fn masked(&self, redactor: &mut Redactor) -> MaskedPlayerRequest<'a> {
        let headers = || self.headers.iter().copied();
        for credential in http::credentials(headers()) {
            redactor.add_known(rule::CREDENTIAL, &credential);
        }
        MaskedPlayerRequest {
            provider: self.provider,
            method: self.method,
            headers: redactor.masked_headers(MessageSide::Request, headers()),
            path: redactor.masked_path(self.path),
            body: redactor.redact(self.body).bytes,
        }
    }
}

impl MaskedPlayerRequest<'_> {
    /// Returns the parts that make the exact key.
    pub(crate) fn key_parts(&self) -> MatchKeyParts<'_> {
        MatchKeyParts {
            provider: self.provider,
            method: self.method,
            path: &self.path,
            headers: &self.headers,
            body: &self.body,
        }
    }

    /// Returns the key on the whole request. Numbers of masks do not count.
    pub(crate) fn exact_key(&self) -> Digest {
        key::match_key(&self.key_parts(), renumbered)
    }

    /// Returns the interface that the request is to, if it is known.
    pub(crate) fn endpoint(&self) -> Option<Endpoint> {
        Endpoint::of(Vendor::of_route(self.provider), self.method, &self.path)
    }

    /// Returns the model that the request names, safe to print.
    pub(crate) fn model(&self) -> Option<String> {
        let vendor = Vendor::of_route(self.provider);
        let endpoint = self.endpoint();
        let request = exchange::parse_request_to(vendor, endpoint, &self.path, &self.body)?;
        Some(Shown::new(&request.model?).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_marks_do_not_count() {
        let marked = |numbers: [u8; 3]| {
            let [a, b, c] = numbers;
            let body = format!("[masked:key:{a}] [masked:key:{b}] [masked:key:{c}]");
            let path = format!("/x?key=[masked:query:{a}]");
            let masked = MaskedPlayerRequest {
                provider: "anthropic",
                method: "POST",
                path,
                headers: Vec::new(),
                body: Cow::Owned(body.into_bytes()),
            };
            masked.exact_key()
        };
        assert_eq!(marked([7, 3, 7]), marked([1, 2, 1]));
        assert_ne!(marked([7, 3, 7]), marked([1, 1, 2]));
    }
}
