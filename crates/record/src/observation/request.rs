//! A request as it came, and the decision under which it goes out.

use core::time::Duration;
use std::borrow::Cow;

use reenact_wire::price::Rates;

use super::{BodyBytes, HeaderList, text};

/// A request as it came from an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundRequest<'a> {
    /// Name of the route, such as `openai`.
    pub provider: Cow<'a, str>,
    /// Method, such as `POST`.
    pub method: Cow<'a, str>,
    /// Path at the vendor, with the query.
    pub path: Cow<'a, str>,
    /// Headers as they came.
    pub headers: HeaderList<'a>,
    /// True if trailers came behind the body.
    pub has_trailers: bool,
    /// Decision under which it goes out; `None` where no envelope is enforced.
    pub admission: Option<Admission<'a>>,
    /// Body as it came, with its content coding.
    pub body: BodyBytes<'a>,
}

/// The decision under which a request goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission<'a> {
    /// Time of the decision, since 1970.
    pub at: Duration,
    /// Approval that was needed.
    pub approval_id: Option<Cow<'a, str>>,
    /// Prices of the model's tokens; `None` if they are unknown.
    pub rates: Option<Rates>,
    /// Cost in picodollars that counts if the answer does not tell its own.
    pub estimate: u64,
}

impl InboundRequest<'_> {
    /// Returns the same with nothing borrowed.
    pub fn into_owned(self) -> InboundRequest<'static> {
        InboundRequest {
            provider: text(self.provider),
            method: text(self.method),
            path: text(self.path),
            headers: self.headers.into_owned(),
            has_trailers: self.has_trailers,
            admission: self.admission.map(Admission::into_owned),
            body: self.body.into_owned(),
        }
    }
}

impl Admission<'_> {
    /// Returns the same with nothing borrowed.
    pub fn into_owned(self) -> Admission<'static> {
        Admission {
            approval_id: self.approval_id.map(text),
            at: self.at,
            rates: self.rates,
            estimate: self.estimate,
        }
    }
}
