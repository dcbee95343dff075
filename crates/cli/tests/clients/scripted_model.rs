//! A scripted model whose behaviour is chosen by the beginning of the user's prompt.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use reenact_testkit::{
    Encoding, Script, ScriptStep, ScriptedAnswer, ScriptedReply, ScriptedVendor, VendorFailure, VendorRequest,
};

/// Number of calls that a client makes at once.
const PARALLEL_CALLS: usize = 16;

/// Starts a vendor. `observer` sees every request before it is answered.
pub(crate) fn scripted_vendor(
    observer: impl Fn(&VendorRequest) + Send + Sync + 'static,
) -> Arc<ScriptedVendor> {
    let (arrived, all_arrived) = mpsc::channel();
    let model = ScriptedModel { busy: Mutex::default(), waiting: AtomicUsize::new(0), arrived };
    let script = Script::answering(move |request| {
        observer(request);
        model.answer(request)
    });
    let vendor = Arc::new(ScriptedVendor::start(script).unwrap());
    let opener = Arc::downgrade(&vendor);
    thread::spawn(move || {
        // The thread ends with the vendor, which holds the sender.
        while all_arrived.recv().is_ok() {
            if let Some(vendor) = opener.upgrade() {
                vendor.open_gate("together");
            }
        }
    });
    vendor
}

struct ScriptedModel {
    /// Number of 429 answers for each request, by its fingerprint.
    busy: Mutex<BTreeMap<u64, usize>>,
    waiting: AtomicUsize,
    arrived: mpsc::Sender<()>,
}

impl ScriptedModel {
    fn answer(&self, request: &VendorRequest) -> ScriptedAnswer {
        let text = request.last_user_text();
        let (order, _) = text.split_once(':').unwrap_or_default();
        match order.split(' ').collect::<Vec<_>>()[..] {
            ["fail", status] => VendorFailure::new(status.parse().unwrap()).answer(request),
            ["busy", "twice"] => self.busy_twice(request),
            ["break", "down"] => overloaded_mid_stream(request),
            ["cut", "after", pieces] => reply_to(request).cut_after(pieces.parse().unwrap()),
            ["hang", "up"] => ScriptedAnswer::hang_up(),
            ["together", _] => self.answer_all_at_once(request),
            ["as", names] => encoded(request, names),
            ["tell", "nobody"] => ScriptedReply::text("My lips are sealed.").answer(request),
            _ => reply_to(request),
        }
    }

    fn busy_twice(&self, request: &VendorRequest) -> ScriptedAnswer {
        let mut busy = self.busy.lock().unwrap();
        let count = busy.entry(request.fingerprint()).or_default();
        *count += 1;
        if *count <= 2 { VendorFailure::new(429).answer(request) } else { reply_to(request) }
    }

    /// Holds every answer back until all parallel requests have arrived.
    fn answer_all_at_once(&self, request: &VendorRequest) -> ScriptedAnswer {
        if self.waiting.fetch_add(1, Ordering::SeqCst) + 1 == PARALLEL_CALLS {
            self.arrived.send(()).unwrap();
        }
        reply_to(request).wait_before(0, "together")
    }
}

/// Returns a tool call if the request offers tools, the result of the tool if it has one, otherwise an echo
/// of the prompt.
fn reply_to(request: &VendorRequest) -> ScriptedAnswer {
    let text = request.last_user_text();
    let reply = match request.parsed().tool_results.last() {
        Some(result) => ScriptedReply::text(format!("The lookup says: {}", result.output)),
        None if request.json()["tools"].is_array() => ScriptedReply::text("Let me look that up.")
            .and_call("lookup", format!("{{\"query\":\"{text}\"}}")),
        None => ScriptedReply::text(format!("You said: {text} [{:016x}]", request.fingerprint())),
    };
    reply.answer(request)
}

/// Returns a stream that ends with an error event after four whole pieces.
fn overloaded_mid_stream(request: &VendorRequest) -> ScriptedAnswer {
    const WHOLE: usize = 4;
    let mut answer = reply_to(request);
    answer.steps.truncate(WHOLE);
    answer.steps.push(ScriptStep::send(VendorFailure::new(529).event(request, WHOLE)));
    answer
}

/// Returns the answer in the named content encodings that the client accepts, applied one after the other.
fn encoded(request: &VendorRequest, names: &str) -> ScriptedAnswer {
    let accepted = request.header("accept-encoding").unwrap_or_default().to_owned();
    let accepts = |name: &str| accepted.split(',').any(|word| word.trim() == name);
    let named = names.split('+').filter(|name| accepts(name));
    let encodings = named.map(|name| Encoding::ALL.into_iter().find(|known| known.name() == name).unwrap());
    encodings.fold(reply_to(request), ScriptedAnswer::encoded)
}
