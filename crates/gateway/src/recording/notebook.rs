//! What came, made into events: decoded, read for what it says, masked, and given to the pen.

use std::collections::HashMap;
use std::time::Duration;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use reenact_record::reported;
use reenact_record::warden::{Action, Money};
use reenact_record::{
    ApprovalRequest, Chunk, Denial, Evaluation, Exchange as Kind, Pen, RawAnswer, RawRequest, RawToolCall,
    RawToolResult, RecordError, Source, Spent, StepId, Via, renumbered,
};
use reenact_wire::conversation::{Conversation, InferredCall};
use reenact_wire::{Answer, Endpoint, KeyParts, ToolResult, Usage, Vendor, exchange, match_key};

use super::job::{Answered, Approval, Asked, Decided, Decision, Ended, Head, Job, News, Part};
use super::parts::{Body, Kept, Parts};
use super::unpacking::Unpacked;
use crate::decode::{self, Undecodable};

/// Writes a run down.
pub(super) struct Notebook {
    pen: Pen,
    /// How much of a body is decoded.
    most: usize,
    conversation: Conversation,
    /// Exchanges that have not returned.
    open: HashMap<u64, Open>,
    /// The steps of tools that were decided on and have not returned, by the ids of their calls.
    tools: HashMap<String, StepId>,
}

/// An exchange that has not returned.
struct Open {
    step: StepId,
    endpoint: Option<Endpoint>,
    /// Under which decision it went out, and to which model of whom.
    decided: Option<(Decided, Vendor, String)>,
    /// What came of a body that is too long for memory.
    parts: Option<Parts>,
}

impl Notebook {
    pub(super) fn new(pen: Pen, most: usize) -> Self {
        // Those of a run that is taken up again are open already.
        let tools = pen.open_tools().into_iter().collect();
        Self { pen, most, conversation: Conversation::default(), open: HashMap::new(), tools }
    }

    pub(super) fn pen(&self) -> &Pen {
        &self.pen
    }

    /// How many bytes of events there are.
    pub(super) fn bytes(&self) -> u64 {
        self.pen.counts().bytes
    }

    /// An exchange that has its step already.
    pub(super) fn take_up(&mut self, exchange: u64, step: StepId, asked: &Asked) {
        let decided = asked.decided.clone().map(|decided| (decided, asked.vendor, self.model(asked)));
        self.open.insert(exchange, Open { step, endpoint: asked.endpoint(), decided, parts: None });
    }

    /// The model that a request asks.
    fn model(&self, asked: &Asked) -> String {
        let codings = decode::codings(&asked.headers);
        let body = decode::whole(&codings, &asked.body, false, self.most).unwrap_or_default();
        exchange::request(Endpoint::Models, &body).and_then(|request| request.model).unwrap_or_default()
    }

    /// Tool calls that are written already.
    pub(super) fn tell<'t>(&mut self, told: impl IntoIterator<Item = &'t str>) {
        told.into_iter().for_each(|id| self.conversation.told(id));
    }

    /// Writes a job down; gives the step of an exchange that it begins. What fails is told, and the rest goes on: an agent is
    /// never stopped because its record cannot be written.
    pub(super) fn write(
        &mut self,
        number: u64,
        at: Option<Duration>,
        job: Job,
        mut failed: impl FnMut(RecordError),
    ) -> Option<StepId> {
        let pen = at.map_or_else(|| self.pen.clone(), |at| self.pen.at(at));
        let mut page = Page { notebook: self, pen, failed: &mut failed };
        match job {
            Job::Request(asked) => return page.asked(number, &asked),
            Job::Part(part) => page.part(&part),
            Job::Answer(answered) => page.answered(answered),
            Job::Gap { what, why } => page.gap(&what, &why),
            Job::Reported(text) => page.reported(&text),
            Job::Decision(decision) => page.decision(&decision),
            Job::ToolResult { result, .. } => page.tool_result(&result),
            Job::Approval(approval) => page.approval(&approval),
        }
        None
    }
}

/// A notebook, and whom to tell what could not be written.
struct Page<'n> {
    notebook: &'n mut Notebook,
    /// With the time of what is written.
    pen: Pen,
    failed: &'n mut dyn FnMut(RecordError),
}

impl Page<'_> {
    /// Records a request, and before it the tools whose results it brings.
    fn asked(&mut self, number: u64, asked: &Asked) -> Option<StepId> {
        let (provider, method, path) = (asked.provider.as_str(), asked.method.as_str(), asked.path.as_str());
        let endpoint = asked.endpoint();
        let kind = if matches!(method, "GET" | "HEAD" | "OPTIONS") { Kind::Http } else { Kind::Model };
        let codings = decode::codings(&asked.headers);
        let readable = decode::readable(&codings, &asked.body, false, self.notebook.most);
        if let Some(fault) = &readable.fault {
            self.unreadable("request body", fault, readable.is_decoded, readable.body.len());
        }
        let body = &*readable.body;
        let mut model = None;
        if kind == Kind::Model && !body.is_empty() {
            // An endpoint that nobody knows has no conversation that could be read, but perhaps a model.
            let request = exchange::request(endpoint.unwrap_or(Endpoint::Models), body);
            if let Some(request) = request {
                if asked.decided.is_none() {
                    let inferred = self.notebook.conversation.requested(&request);
                    inferred.iter().for_each(|call| self.infer(call));
                }
                model = request.model;
            }
        }
        let headers = pairs(&asked.headers);
        let pen = self.pen.clone();
        let decided = match &asked.decided {
            Some(decided) => {
                let evaluated = pen.evaluated(&Evaluation {
                    action: Action::Model,
                    name: model.as_deref().unwrap_or_default(),
                    denial: None,
                    approval_id: decided.approval_id.as_deref(),
                });
                Some(self.kept(evaluated)?)
            }
            None => None,
        };
        let masked = pen.mask_request(&RawRequest { provider, method, path, headers: &headers, body });
        let parts = KeyParts {
            provider: masked.provider(),
            method: masked.method(),
            path: masked.path(),
            headers: masked.headers(),
            body: masked.body(),
        };
        let key = match_key(&parts, renumbered);
        let endpoint_name = endpoint.map(Endpoint::name);
        let called = pen.called_as(decided, kind, &masked, model.as_deref(), endpoint_name, &key);
        if asked.has_trailers {
            self.gap("request trailers", "they are neither passed on nor recorded");
        }
        let step = self.kept(called)?;
        let decided = asked.decided.clone().map(|decided| (decided, asked.vendor, model.unwrap_or_default()));
        self.notebook.open.insert(number, Open { step, endpoint, decided, parts: None });
        Some(step)
    }

    /// A part of a body that is too long for memory.
    fn part(&mut self, part: &Part) {
        let most = self.notebook.most;
        let Some(open) = self.notebook.open.get_mut(&part.exchange) else { return };
        let (pen, step) = (&self.pen, open.step);
        let parts = open.parts.get_or_insert_with(|| Parts::new(pen, &step, &part.codings, most));
        parts.push(&part.body, &part.reads);
    }

    /// Notes what is not kept of a body.
    fn shortened(&mut self, body: &Body, is_too_long: bool) {
        if let Some(fault) = &body.unpacked.fault {
            self.unreadable("answer body", fault, body.unpacked.is_decoded, body.length());
        }
        if is_too_long {
            self.gap("answer body", &format!("only its first {} bytes are kept", body.unpacked.came));
        }
        if let Kept::Lost(error) = &body.kept {
            (self.failed)(error.clone());
            self.gap("answer body", "it could not be kept");
        }
    }

    /// Notes that not all of a body could be decoded, and what is kept of it.
    fn unreadable(&mut self, what: &str, fault: &Undecodable, is_decoded: bool, kept: usize) {
        match is_decoded {
            true => self.gap(what, &format!("{fault}: only what could be decoded is kept, {kept} bytes")),
            false => self.gap(what, &fault.to_string()),
        }
    }

    fn infer(&mut self, inferred: &InferredCall) {
        let (call, result) = (inferred.call.as_ref(), &inferred.result);
        let called = self.pen.tool_called(&RawToolCall {
            tool_call_id: &result.id,
            // A result for a call that nobody saw.
            tool: call.map_or("unknown", |call| &call.name),
            input: call.map_or("null", |call| &call.input),
            via: Via::Conversation,
            source: Source::Inferred,
        });
        if let Some(step) = self.kept(called) {
            let returned = RawToolResult { output: &result.output, is_error: result.is_error, latency: None };
            let returned = self.pen.tool_returned(&step, &returned);
            self.kept(returned);
        }
    }

    /// Records what an agent tells of itself. What was no report was refused when it came.
    fn reported(&mut self, text: &[u8]) {
        if let Ok(written) = reported::read(text, |report| self.pen.report(report)) {
            self.kept(written);
        }
    }

    /// Records a decision, and that a tool is called if it was allowed.
    fn decision(&mut self, decision: &Decision) {
        let denial = decision.denial.as_ref().map(|(rule, reason)| Denial { rule, reason });
        let evaluated = self.pen.evaluated(&Evaluation {
            action: decision.action,
            name: &decision.name,
            denial,
            approval_id: decision.approval_id.as_deref(),
        });
        let Some(step) = self.kept(evaluated).filter(|_| denial.is_none()) else { return };
        let Some((id, input)) = &decision.call else { return };
        let called = self.pen.tool_called_as(
            Some(step),
            &RawToolCall {
                tool_call_id: id,
                tool: &decision.name,
                input,
                via: Via::Conversation,
                source: Source::Inferred,
            },
        );
        if let Some(step) = self.kept(called) {
            self.notebook.tools.insert(id.clone(), step);
        }
    }

    /// Records what came of a tool that was decided on.
    fn tool_result(&mut self, result: &ToolResult) {
        let Some(step) = self.notebook.tools.remove(&result.id) else { return };
        let told = RawToolResult { output: &result.output, is_error: result.is_error, latency: None };
        let returned = self.pen.tool_returned(&step, &told);
        self.kept(returned);
    }

    fn approval(&mut self, approval: &Approval) {
        let id = approval.approval_id.as_str();
        let written = match &approval.news {
            News::Requested { action, name, input_hash, rule, signer_types } => {
                let signer_types: Vec<&'static str> = signer_types.iter().map(|it| it.name()).collect();
                self.pen.approval_requested(&ApprovalRequest {
                    approval_id: id,
                    action: *action,
                    name,
                    input_hash,
                    rule,
                    signer_types: &signer_types,
                })
            }
            News::Granted { token } => self.pen.approval_granted(id, token),
            News::Denied { reason } => self.pen.approval_denied(id, reason),
            News::Refused { code, why } => self.pen.error("approval", code, &format!("{id}: {why}")),
        };
        self.kept(written);
    }

    /// Records what a step did cost.
    fn spent(&mut self, step: StepId, model: &str, decided: &Decided, vendor: Vendor, usage: Option<Usage>) {
        let Some(rates) = decided.rates else { return };
        let usage_or = usage.unwrap_or_default();
        let spent = self.pen.spent(
            &step,
            &Spent {
                model,
                amount: cost(decided, vendor, usage),
                is_estimate: usage.is_none(),
                rates: &[
                    ("cache_write", rates.cache_write),
                    ("cached_input", rates.cached_input),
                    ("input", rates.input),
                    ("output", rates.output),
                ],
                usage: &[
                    ("cache_write", usage_or.cache_write_tokens),
                    ("cached_input", usage_or.cached_input_tokens),
                    ("input", usage_or.input_tokens),
                    ("output", usage_or.output_tokens),
                ],
            },
        );
        self.kept(spent);
    }

    /// Records what came of a request that was recorded.
    fn answered(&mut self, answered: Answered) {
        let Some(open) = self.notebook.open.remove(&answered.exchange) else { return };
        let Open { step, endpoint, decided, parts } = open;
        let Answered { head, body: raw, reads, is_too_long, trailers, withheld, ended, latency, .. } =
            answered;
        if ended == Ended::Killed {
            self.gap("answer", "the recorder stopped while it came");
        }
        let Some(head) = head else {
            if let Ended::Upstream { error_type, message, .. } = &ended {
                let error = self.pen.error("upstream", error_type, message);
                self.kept(error);
            }
            let answer = RawAnswer { ended_by: ended.by(), latency, ..RawAnswer::default() };
            let returned = self.pen.returned(&step, answer);
            self.kept(returned);
            if let Some((decided, vendor, model)) = &decided {
                self.spent(step, model, decided, *vendor, None);
            }
            return;
        };
        let codings = decode::codings(&head.headers);
        let is_whole = ended == Ended::Eof && !is_too_long;
        let is_stream = is_stream(&head.headers);
        let content_encoding = codings.join(", ");
        let mut body = match parts {
            Some(mut parts) => {
                parts.push(&raw, &reads);
                parts.finish(is_whole)
            }
            None => Body::whole(&codings, raw, reads, is_whole, self.notebook.most),
        };
        self.shortened(&body, is_too_long);
        let answer = read(endpoint, &head, is_stream, body.bytes());
        let complete = match ended {
            Ended::Eof | Ended::Settled => !is_too_long && !body.is_short(),
            Ended::Client | Ended::Upstream { .. } | Ended::Killed => {
                is_stream && answer.as_ref().is_some_and(|it| it.complete)
            }
        };
        let Unpacked { wire_sha256, reads, is_decoded, .. } = &body.unpacked;
        let chunks = if is_stream || reads.len() > 1 { chunks(reads) } else { Vec::new() };
        let delivered = withheld.map(|withheld| {
            let kept = body.bytes().get(..withheld.delivered).unwrap_or(body.bytes());
            [kept, &withheld.instead].concat()
        });
        let told = RawAnswer {
            status: Some(head.status.as_u16()),
            version: Some(head.version),
            headers: &pairs(&head.headers),
            trailers: &pairs(&trailers),
            body: b"",
            content_encoding: is_decoded.then_some(&content_encoding),
            wire_sha256: *wire_sha256,
            chunks: &chunks,
            complete,
            ended_by: ended.by(),
            ttft: reads.first().map(|(at, _)| *at),
            latency,
            delivered: delivered.as_deref(),
        };
        let returned = match &mut body.kept {
            Kept::Whole(body) => self.pen.returned(&step, RawAnswer { body, ..told }),
            Kept::Spooled(spool) => self.pen.returned_spooled(&step, told, spool),
            Kept::Lost(_) => self.pen.returned(&step, told),
        };
        self.kept(returned);
        if let Some((decided, vendor, model)) = &decided {
            let usage = answer.as_ref().and_then(|answer| answer.usage);
            // What a vendor refuses it does not charge for.
            let usage = if head.status.is_success() { usage } else { Some(Usage::default()) };
            self.spent(step, model, decided, *vendor, usage);
        } else if let Some(answer) = answer {
            // The tools that it asks for may be run from now on.
            self.notebook.conversation.answered(&answer);
        }
    }

    fn gap(&mut self, what: &str, why: &str) {
        let gap = self.pen.gap(what, why);
        self.kept(gap);
    }

    fn kept<T>(&mut self, result: Result<T, RecordError>) -> Option<T> {
        result.map_err(&mut *self.failed).ok()
    }
}

/// What a call cost: by what its vendor counted, or as was expected.
pub(super) fn cost(decided: &Decided, vendor: Vendor, usage: Option<Usage>) -> Money {
    let counted = decided.rates.zip(usage).map(|(rates, usage)| rates.cost(vendor, &usage));
    Money::from_picodollars(counted.unwrap_or_else(|| decided.estimate.into()))
}

/// What an answer says, if it is one that we can read.
pub(super) fn read(endpoint: Option<Endpoint>, head: &Head, is_stream: bool, body: &[u8]) -> Option<Answer> {
    let endpoint = endpoint.filter(|endpoint| endpoint.calls_a_model())?;
    if head.status.is_success() { exchange::answer(endpoint, is_stream, body) } else { None }
}

pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(exchange::is_stream)
}

fn chunks(reads: &[(Duration, usize)]) -> Vec<Chunk> {
    let mut from = 0;
    let chunk = |&(at, to): &(Duration, usize)| {
        let length = to - from;
        from = to;
        Chunk { at, length }
    };
    reads.iter().map(chunk).collect()
}

/// Headers as a record takes them.
pub(crate) fn pairs(headers: &HeaderMap) -> Vec<(&str, &[u8])> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect()
}
