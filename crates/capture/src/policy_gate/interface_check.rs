//! Check that the gate can judge the interface of a request.

use reenact_record::observation::InboundRequest;
use reenact_record::policy_engine::PolicyRefusal;
use reenact_wire::Endpoint;

use crate::parsed_body::vendor_and_endpoint;

/// Refuses a request to an unknown interface: its answer could contain tool calls in a form that is not parsed.
pub(super) fn refuse_unknown_interface(request: &InboundRequest<'_>) -> Result<(), PolicyRefusal> {
    let (vendor, endpoint) = vendor_and_endpoint(request);
    if endpoint.is_some_and(Endpoint::calls_a_model) || vendor.is_toolless_path(&request.path) {
        return Ok(());
    }
    let path = request.path.split('?').next().unwrap_or_default().trim_end_matches('/');
    Err(PolicyRefusal::unknown_form(&request.method, path))
}
