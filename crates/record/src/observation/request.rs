//! A request as it came from an agent, and the decision that admits it.

use core::time::Duration;
use std::borrow::Cow;

use reenact_wire::price::Rates;

use super::{BodyBytes, HeaderList, owned_text};

/// Request as it came from an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundRequest<'a> {
    /// Name of the route, such as `openai`.
    pub provider: Cow<'a, str>,
    /// HTTP method, such as `POST`.
    pub method: Cow<'a, str>,
    /// Path at the vendor, with the query.
    pub path: Cow<'a, str>,
    /// Headers as they came.
    pub headers: HeaderList<'a>,
    /// True if trailers came behind the body.
    pub has_trailers: bool,
    /// Decision that admits the request; `None` if no envelope is enforced.
    pub admission: Option<Admission<'a>>,
    /// Body as it came, with its content encoding.
    pub body: BodyBytes<'a>,
}

/// Decision that admits a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission<'a> {
    /// Time of the decision, since 1970.
    pub at: Duration,
    /// Id of the approval that was needed.
    pub approval_id: Option<Cow<'a, str>>,
    /// Name of the rule that would have denied the request, if denials are not enforced.
    pub warning: Option<Cow<'a, str>>,
    /// Prices of the model's tokens; `None` if they are unknown.
    pub rates: Option<Rates>,
    /// Estimated cost of reading the request in picodollars, which counts if the answer does not state its usage.
    pub estimate: u64,
}

impl InboundRequest<'_> {
    /// Returns a copy that borrows nothing.
    pub fn into_owned(self) -> InboundRequest<'static> {
        InboundRequest {
            provider: owned_text(self.provider),
            method: owned_text(self.method),
            path: owned_text(self.path),
            headers: self.headers.into_owned(),
            has_trailers: self.has_trailers,
            admission: self.admission.map(Admission::into_owned),
            body: self.body.into_owned(),
        }
    }
}

impl Admission<'_> {
    /// Returns a copy that borrows nothing.
    pub fn into_owned(self) -> Admission<'static> {
        Admission {
            approval_id: self.approval_id.map(owned_text),
            warning: self.warning.map(owned_text),
            at: self.at,
            rates: self.rates,
            estimate: self.estimate,
        }
    }
}
