//! Events of a request: the tool calls whose results it brings, the decision on it, the call itself.

use reenact_record::observation::InboundRequest;
use reenact_record::warden::Action;
use reenact_record::{
    Evaluation, Exchange as ExchangeKind, RawRequest, RawToolCall, RawToolResult, Source, StepId, Via,
};
use reenact_wire::Endpoint;
use reenact_wire::conversation::InferredCall;

use super::Writing;
use super::open_exchange::OpenExchange;
use crate::decode::Undecodable;
use crate::match_key::match_key;
use crate::reading::{RequestReading, interface};

impl Writing<'_> {
    /// Writes a request, and before it the tools whose results it brings. Returns its step.
    pub(super) fn request(
        &mut self,
        number: u64,
        request: &InboundRequest<'_>,
        reading: RequestReading,
    ) -> Option<StepId> {
        let (provider, method, path) = (&*request.provider, &*request.method, &*request.path);
        let (vendor, endpoint) = interface(request);
        let calls_model = vendor.calls_a_model(method, path);
        let kind = if calls_model { ExchangeKind::Model } else { ExchangeKind::Http };
        let body = reading.body(request);
        if let Some(fault) = &reading.fault {
            self.undecodable("request body", fault, reading.is_decoded, body.len());
        }
        let parsed = reading.request.as_ref().filter(|_| kind == ExchangeKind::Model);
        if let Some(parsed) = parsed.filter(|_| request.admission.is_none()) {
            let inferred = self.builder.conversation.as_mut().map(|known| known.requested(parsed));
            inferred.iter().flatten().for_each(|call| self.infer(call));
        }
        let model = parsed.and_then(|parsed| parsed.model.as_deref());
        let pen = self.pen.clone();
        let decided = match &request.admission {
            Some(admission) => {
                let evaluated = pen.evaluated(&Evaluation {
                    action: Action::Model,
                    name: model.unwrap_or_default(),
                    denial: None,
                    approval_id: admission.approval_id.as_deref(),
                });
                Some(self.written(evaluated)?)
            }
            None => None,
        };
        let headers = request.headers.pairs();
        let masked = pen.mask_request(&RawRequest { provider, method, path, headers: &headers, body });
        let endpoint_name = endpoint.map(Endpoint::name);
        let called = pen.called_as(decided, kind, &masked, model, endpoint_name, &match_key(&masked));
        if request.has_trailers {
            self.gap("request trailers", "they are neither passed on nor recorded");
        }
        let step = self.written(called)?;
        self.builder.open.insert(number, OpenExchange::new(step, request, &reading));
        Some(step)
    }

    /// Writes that not all of a body could be decoded.
    pub(super) fn undecodable(&mut self, what: &str, fault: &Undecodable, is_decoded: bool, kept: usize) {
        match is_decoded {
            true => self.gap(what, &format!("{fault}: only what could be decoded is kept, {kept} bytes")),
            false => self.gap(what, &fault.to_string()),
        }
    }

    /// Writes a tool's call and its result, both inferred from the conversation.
    fn infer(&mut self, inferred: &InferredCall) {
        let (call, result) = (inferred.call.as_ref(), &inferred.result);
        let called = self.pen.tool_called(&RawToolCall {
            tool_call_id: &result.id,
            // A result for a call that was never seen.
            tool: call.map_or("unknown", |call| &call.name),
            input: call.map_or("null", |call| &call.input),
            via: Via::Conversation,
            source: Source::Inferred,
        });
        if let Some(step) = self.written(called) {
            let returned = RawToolResult { output: &result.output, is_error: result.is_error, latency: None };
            let returned = self.pen.tool_returned(&step, &returned);
            self.written(returned);
        }
    }
}
