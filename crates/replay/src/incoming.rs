//! A request as an agent makes it, and as it would have been recorded.

use std::borrow::Cow;

use reenact_json::{Digest, Limits, Shown, Value};
use reenact_secrets::{Redactor, Side, http, renumbered};
use reenact_wire::key::{self, KeyParts};

use crate::player::rule;

/// A request as it came in: nothing is masked yet, but content codings are removed from the body.
#[derive(Clone, Copy)]
pub struct Incoming<'a> {
    /// The name of the route that it came in by, such as `openai`.
    pub provider: &'a str,
    /// `POST` and the like.
    pub method: &'a str,
    /// The path at the vendor, with its query: what stands behind the token and the route.
    pub path: &'a str,
    /// All headers.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The body.
    pub body: &'a [u8],
}

/// The same request, masked.
#[derive(Debug)]
pub(crate) struct Masked<'a> {
    pub(crate) provider: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Cow<'a, [u8]>,
}

impl<'a> Incoming<'a> {
    /// Masks it as a recorder does: the headers first, since they tell which values are secret in the rest.
    pub(crate) fn masked(&self, masks: &mut Redactor) -> Masked<'a> {
        let headers = || self.headers.iter().copied();
        for credential in http::credentials(headers()) {
            masks.know(rule::CREDENTIAL, &credential);
        }
        Masked {
            provider: self.provider,
            method: self.method,
            headers: masks.headers(Side::Request, headers()),
            path: masks.path(self.path),
            body: masks.redact(self.body).bytes,
        }
    }
}

impl Masked<'_> {
    pub(crate) fn parts(&self) -> KeyParts<'_> {
        KeyParts {
            provider: self.provider,
            method: self.method,
            path: &self.path,
            headers: &self.headers,
            body: &self.body,
        }
    }

    pub(crate) fn key(&self) -> Digest {
        key::digest(&self.parts(), renumbered)
    }

    /// The model that the body asks for, safe to print.
    pub(crate) fn model(&self) -> Option<String> {
        let body = Value::parse(&self.body, &Limits::default()).ok()?;
        Some(Shown::new(&body.member("model")?.string()?).to_string())
    }
}
