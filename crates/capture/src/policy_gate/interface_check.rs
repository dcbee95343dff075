//! Check that the gate can judge a request: its path, its interface, and everything in it, is known.

use reenact_record::PolicyEngine;
use reenact_record::observation::InboundRequest;
use reenact_record::policy_engine::PolicyRefusal;
use reenact_wire::request_form;
use reenact_wire::request_path::{KnownPath, PathFault, judge_path};

use crate::parsed_body::{ParsedRequestBody, multipart_type, vendor_and_endpoint};

/// Refuses a request to a path that is not exactly that of a known interface below `base`, whose answer could contain tool calls in a
/// form that is not parsed; a request that names two models; and a request with a form, a vendor's tool or a further model that the
/// envelope does not allow.
pub(super) fn check(
    request: &InboundRequest<'_>,
    base: &str,
    parsed_body: &ParsedRequestBody,
    permissions: &PolicyEngine,
) -> Result<(), PolicyRefusal> {
    let (vendor, _) = vendor_and_endpoint(request);
    let (method, path, allowed) = (&*request.method, &*request.path, permissions.allowed_forms());
    let refused = |fault: &PathFault| PolicyRefusal::of_path(fault, method, path, base);
    let known = judge_path(vendor, base, method, path, allowed).map_err(|fault| refused(&fault))?;
    // A body that cannot be read names no model, and is refused for that.
    let Some(parsed) = parsed_body.request.as_ref().filter(|_| parsed_body.fault.is_none()) else {
        return Ok(());
    };
    if let Some(other) = parsed.other_models.first() {
        return Err(PolicyRefusal::two_models(parsed.model.as_deref().unwrap_or_default(), other));
    }
    match known {
        KnownPath::Model(endpoint) => {
            let body = parsed_body.body(request);
            permissions.check_forms(&match multipart_type(&request.headers) {
                Some(content_type) if endpoint.takes_multipart() => {
                    request_form::check_multipart(endpoint, content_type, body, allowed)
                }
                _ => request_form::check(endpoint, body, allowed),
            })
        }
        // Such requests do not come here: nothing is decided on them.
        KnownPath::ReadOnly => Err(refused(&PathFault::Unknown)),
    }
}
