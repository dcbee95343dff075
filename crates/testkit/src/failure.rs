//! Errors that a vendor answers with, in each vendor's own format.

use crate::answer::ScriptedAnswer;
use crate::request::VendorRequest;
use crate::vendor_format;

/// Error answer of a vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorFailure {
    /// HTTP status code.
    pub status: u16,
    /// Message; `None` means the vendor's usual message for this status.
    pub message: Option<String>,
    /// Value of `retry-after`, in seconds.
    pub retry_after: Option<u64>,
}

impl VendorFailure {
    /// Creates a failure with this status. A 429 asks to retry after one second.
    pub fn new(status: u16) -> Self {
        Self { status, message: None, retry_after: (status == 429).then_some(1) }
    }

    /// Creates the answer to an unknown path.
    pub fn not_found() -> Self {
        Self::new(404)
    }

    /// Sets the message.
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Returns the answer in the format of the vendor that was asked.
    pub fn answer(&self, request: &VendorRequest) -> ScriptedAnswer {
        let shape = vendor_format::format_of(request);
        let body = shape.failure(self, request);
        let mut answer = shape.headers(ScriptedAnswer::json(self.status, body.to_string()), request);
        if let Some(seconds) = self.retry_after {
            answer = answer.header("retry-after", seconds.to_string());
        }
        answer
    }

    /// Returns the failure as the event of this index, counted from 0, in a stream that began well.
    pub fn event(&self, request: &VendorRequest, number: usize) -> String {
        vendor_format::format_of(request).failure_event(self, request, number)
    }
}
