//! Check that the gate can judge a request: its interface, and everything in it, is known.

use reenact_record::PolicyEngine;
use reenact_record::observation::InboundRequest;
use reenact_record::policy_engine::PolicyRefusal;
use reenact_wire::{Endpoint, request_form};

use crate::parsed_body::{ParsedRequestBody, vendor_and_endpoint};

/// Refuses a request to an unknown interface, whose answer could contain tool calls in a form that is not parsed, and a request
/// with a form, a vendor's tool or a further model that the envelope does not allow.
pub(super) fn check(
    request: &InboundRequest<'_>,
    parsed_body: &ParsedRequestBody,
    permissions: &PolicyEngine,
) -> Result<(), PolicyRefusal> {
    let (vendor, endpoint) = vendor_and_endpoint(request);
    if let Some(endpoint) = endpoint.filter(|endpoint| Endpoint::calls_a_model(*endpoint)) {
        // A body that cannot be read names no model, and is refused for that.
        if parsed_body.fault.is_some() || parsed_body.request.is_none() {
            return Ok(());
        }
        let findings = request_form::check(endpoint, parsed_body.body(request), permissions.allowed_forms());
        return permissions.check_forms(&findings);
    }
    if vendor.is_toolless_path(&request.path) {
        return Ok(());
    }
    let path = request.path.split('?').next().unwrap_or_default().trim_end_matches('/');
    Err(PolicyRefusal::unknown_form(&request.method, path))
}
