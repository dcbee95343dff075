//! Interfaces that the gate can judge, by their paths.

use reenact_record::observation::InboundRequest;
use reenact_record::warden::Refused;
use reenact_wire::Endpoint;

use crate::reading::interface;

/// Refuses an interface that is not known here: it may ask for tools in a way that nobody sees.
pub(super) fn unknown_form(request: &InboundRequest<'_>) -> Result<(), Refused> {
    let (vendor, endpoint) = interface(request);
    if endpoint.is_some_and(Endpoint::calls_a_model) || vendor.is_without_tools(&request.path) {
        return Ok(());
    }
    let path = request.path.split('?').next().unwrap_or_default().trim_end_matches('/');
    Err(Refused::unknown_form(&request.method, path))
}
