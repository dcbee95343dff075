//! Events of a request: the tool calls whose results it brings, the decision on it, and the call itself.

use reenact_record::observation::InboundRequest;
use reenact_record::policy_engine::Action;
use reenact_record::{
    CallKind, Evaluation, EventSource, ExchangeCall, RawRequest, RawToolCall, RawToolResult, RecordedDenial,
    StepId, ToolChannel,
};
use reenact_wire::Endpoint;
use reenact_wire::conversation::InferredCall;

use super::ObservationWriter;
use super::open_exchange::OpenExchange;
use crate::decode::Undecodable;
use crate::parsed_body::{ParsedRequestBody, vendor_and_endpoint};

impl ObservationWriter<'_> {
    /// Writes a request, and before it the tool calls whose results it brings. Under an envelope the decision
    /// on the request comes before it, too.
    ///
    /// Returns the step of the request; `None` if it could not be written.
    pub(super) fn write_request(
        &mut self,
        number: u64,
        request: &InboundRequest<'_>,
        parsed_body: ParsedRequestBody,
    ) -> Option<StepId> {
        let (provider, method, path) = (&*request.provider, &*request.method, &*request.path);
        let (vendor, endpoint) = vendor_and_endpoint(request);
        let calls_model = vendor.calls_a_model(method, path);
        let kind = if calls_model { CallKind::Model } else { CallKind::Http };
        let body = parsed_body.body(request);
        if let Some(fault) = &parsed_body.fault {
            self.write_undecodable_gap("request body", fault, parsed_body.is_decoded, body.len());
        }
        let parsed = parsed_body.request.as_ref().filter(|_| kind == CallKind::Model);
        if let Some(parsed) = parsed.filter(|_| request.admission.is_none()) {
            let inferred = self.builder.conversation.as_mut().map(|known| known.add_request(parsed));
            inferred.iter().flatten().for_each(|call| self.write_inferred_call(call));
        }
        let model = parsed.and_then(|parsed| parsed.model.as_deref());
        let writer = self.writer.clone();
        let decided = match &request.admission {
            Some(admission) => {
                let evaluated = writer.record_evaluation(&Evaluation {
                    action: Action::Model,
                    name: model.unwrap_or_default(),
                    denial: admission.warning.as_deref().map(|rule| RecordedDenial {
                        rule,
                        reason: "",
                        is_enforced: false,
                    }),
                    approval_id: admission.approval_id.as_deref(),
                });
                Some(self.value_or_report(evaluated)?)
            }
            None => None,
        };
        let headers = request.headers.pairs();
        let masked = writer.mask_request(&RawRequest { provider, method, path, headers: &headers, body });
        let endpoint_name = endpoint.map(Endpoint::name);
        let call = ExchangeCall { model, endpoint: endpoint_name, ..ExchangeCall::new(kind, &masked) };
        let called = writer.record_call(&call, decided);
        if request.has_trailers {
            self.write_gap("request trailers", "they are neither passed on nor recorded");
        }
        let step = self.value_or_report(called)?;
        self.builder.open_exchanges.insert(number, OpenExchange::new(step, request, &parsed_body));
        Some(step)
    }

    /// Writes the capture gap of a body that could not be decoded completely.
    pub(super) fn write_undecodable_gap(
        &mut self,
        what: &str,
        fault: &Undecodable,
        is_decoded: bool,
        decoded_bytes: usize,
    ) {
        match is_decoded {
            true => self.write_gap(
                what,
                &format!("{fault}: only what could be decoded is kept, {decoded_bytes} bytes"),
            ),
            false => self.write_gap(what, &fault.to_string()),
        }
    }

    /// Writes a tool call and its result, both inferred from the conversation.
    fn write_inferred_call(&mut self, inferred: &InferredCall) {
        let (call, result) = (inferred.call.as_ref(), &inferred.result);
        let called = self.writer.record_tool_call(
            &RawToolCall {
                tool_call_id: &result.id,
                // The result belongs to a call that was never seen.
                tool: call.map_or("unknown", |call| &call.name),
                input: call.map_or("null", |call| &call.input),
                via: ToolChannel::Conversation,
                source: EventSource::Inferred,
            },
            None,
        );
        if let Some(step) = self.value_or_report(called) {
            let returned = RawToolResult { output: &result.output, is_error: result.is_error, latency: None };
            let returned = self.writer.record_tool_result(&step, &returned);
            self.value_or_report(returned);
        }
    }
}
