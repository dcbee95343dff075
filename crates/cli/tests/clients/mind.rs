//! The vendor's mind: the beginning of what the user says decides what happens to it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use reenact_testkit::{Answer, Encoding, Failure, Reply, Request, Script, Step, Vendor};

/// How many calls a client makes at once.
const TOGETHER: usize = 16;

/// A vendor whose every request `witness` sees before it is answered.
pub(crate) fn vendor(witness: impl Fn(&Request) + Send + Sync + 'static) -> Arc<Vendor> {
    let (arrived, all_arrived) = mpsc::channel();
    let mind = Mind { busy: Mutex::default(), waiting: AtomicUsize::new(0), arrived };
    let script = Script::answering(move |request| {
        witness(request);
        mind.answer(request)
    });
    let vendor = Arc::new(Vendor::start(script).unwrap());
    let opener = Arc::downgrade(&vendor);
    thread::spawn(move || {
        // Ends with the vendor, which holds the other end.
        while all_arrived.recv().is_ok() {
            if let Some(vendor) = opener.upgrade() {
                vendor.open("together");
            }
        }
    });
    vendor
}

struct Mind {
    /// How often each has been sent away.
    busy: Mutex<BTreeMap<u64, usize>>,
    waiting: AtomicUsize,
    arrived: mpsc::Sender<()>,
}

impl Mind {
    fn answer(&self, request: &Request) -> Answer {
        let text = request.last_user_text();
        let (order, _) = text.split_once(':').unwrap_or_default();
        match order.split(' ').collect::<Vec<_>>()[..] {
            ["fail", status] => Failure::new(status.parse().unwrap()).answer(request),
            ["busy", "twice"] => self.busy_twice(request),
            ["break", "down"] => broken_down(request),
            ["cut", "after", pieces] => talk(request).cut_after(pieces.parse().unwrap()),
            ["hang", "up"] => Answer::hang_up(),
            ["together", _] => self.together(request),
            ["as", names] => encoded(request, names),
            ["tell", "nobody"] => Reply::text("My lips are sealed.").answer(request),
            _ => talk(request),
        }
    }

    fn busy_twice(&self, request: &Request) -> Answer {
        let mut busy = self.busy.lock().unwrap();
        let count = busy.entry(request.fingerprint()).or_default();
        *count += 1;
        if *count <= 2 { Failure::new(429).answer(request) } else { talk(request) }
    }

    /// Nobody is answered before all have asked.
    fn together(&self, request: &Request) -> Answer {
        if self.waiting.fetch_add(1, Ordering::SeqCst) + 1 == TOGETHER {
            self.arrived.send(()).unwrap();
        }
        talk(request).wait_before(0, "together")
    }
}

/// Asks for a tool if it has one, and says what came of it; otherwise says back what the user said.
fn talk(request: &Request) -> Answer {
    let text = request.last_user_text();
    let reply = match request.reading().tool_results.last() {
        Some(result) => Reply::text(format!("The lookup says: {}", result.output)),
        None if request.json()["tools"].is_array() => {
            Reply::text("Let me look that up.").and_call("lookup", format!("{{\"query\":\"{text}\"}}"))
        }
        None => Reply::text(format!("You said: {text} [{:016x}]", request.fingerprint())),
    };
    reply.answer(request)
}

/// Says in the middle of the stream that it cannot go on.
fn broken_down(request: &Request) -> Answer {
    const WHOLE: usize = 4;
    let mut answer = talk(request);
    answer.steps.truncate(WHOLE);
    answer.steps.push(Step::send(Failure::new(529).event(request, WHOLE)));
    answer
}

/// Encoded as named, one after the other, with each encoding that the client takes.
fn encoded(request: &Request, names: &str) -> Answer {
    let accepted = request.header("accept-encoding").unwrap_or_default().to_owned();
    let accepts = |name: &str| accepted.split(',').any(|word| word.trim() == name);
    let named = names.split('+').filter(|name| accepts(name));
    let encodings = named.map(|name| Encoding::ALL.into_iter().find(|known| known.name() == name).unwrap());
    encodings.fold(talk(request), Answer::encoded)
}
