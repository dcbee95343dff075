//! A replay as data, for the command to write.

use reenact_json::print::{self, Object};
use reenact_run::Exit;

use crate::difference::Difference;
use crate::miss::{self, Cause, Miss};
use crate::outcome::{Outcome, Unused, Verdict};
use crate::rung::Rung;

/// What a replay came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayRecord {
    /// The id of the run that was replayed.
    pub run_id: String,
    /// The format of its record.
    pub format: String,
    /// The digest of what its record signs.
    pub digest: Option<String>,
    /// How the command ended now.
    pub child_exit: Exit,
    /// How it ended when it was recorded, if the record says so.
    pub recorded_exit: Option<Exit>,
    /// Requests and answers.
    pub outcome: Outcome,
    /// What held the command.
    pub sandbox: Sandbox,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// When it ended, RFC 3339.
    pub ended_at: String,
}

/// What held the command, in plain words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sandbox {
    /// By what means: `netns`, `landlock+seccomp` or `none`.
    pub rung: String,
    /// What it could not reach.
    pub closed: Vec<String>,
    /// What it could.
    pub open: Vec<String>,
    /// Why there was no better rung.
    pub why: Option<String>,
}

impl ReplayRecord {
    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        self.outcome.verdict(self.child_exit, self.recorded_exit)
    }

    /// All of it as one JSON object, without a line feed. What acts on a terminal is escaped.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        let mut object = Object::open(&mut text);
        let mut origin = Object::open(object.name("replay_of"));
        origin.string("run_id", self.run_id.as_str());
        origin.string("format", self.format.as_str());
        origin.string("digest", self.digest.as_deref());
        origin.close();
        object.string("verdict", self.verdict().name());
        number(&mut object, "child_exit", self.child_exit.code());
        number(&mut object, "child_signal", self.child_exit.signal());
        number(&mut object, "recorded_exit", self.recorded_exit.and_then(Exit::code));
        number(&mut object, "recorded_signal", self.recorded_exit.and_then(Exit::signal));
        object.string("rung", self.outcome.rung.unwrap_or(Rung::Exact).name());
        number(&mut object, "hits", Some(self.outcome.hits));
        number(&mut object, "missed", Some(self.outcome.missed));
        print::list(&self.outcome.misses, object.name("misses"), |miss, out| write_miss(miss, out));
        print::list(&self.outcome.unused, object.name("unused"), write_unused);
        number(&mut object, "ambiguous", Some(self.outcome.ambiguous));
        number(&mut object, "rebuilt", Some(self.outcome.rebuilt));
        self.sandbox.write(object.name("sandbox"));
        object.string("started_at", self.started_at.as_str());
        object.string("ended_at", self.ended_at.as_str());
        object.close();
        text
    }
}

impl Sandbox {
    fn write(&self, out: &mut String) {
        let mut object = Object::open(out);
        object.string("rung", self.rung.as_str());
        object.strings("closed", &self.closed);
        object.strings("open", &self.open);
        object.string("why", self.why.as_deref());
        object.close();
    }
}

fn number(object: &mut Object<'_>, name: &str, number: Option<impl ToString>) {
    let text = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
    object.name(name).push_str(&text);
}

fn write_miss(miss: &Miss, out: &mut String) {
    let mut object = Object::open(out);
    object.string("code", miss::CODE);
    object.string("provider", miss.provider.as_str());
    object.string("method", miss.method.as_str());
    object.string("path", miss.path.as_str());
    object.string("model", miss.model.as_deref());
    object.string("match_key", miss.key.as_str());
    object.string("cause", miss.cause.name());
    match &miss.cause {
        Cause::NothingRecorded | Cause::NotCompared => {}
        Cause::AskedMoreOften { recorded } | Cause::OnlyHashes { recorded } => {
            number(&mut object, "recorded", Some(recorded))
        }
        Cause::NoAnswer { step_id, why } => {
            object.string("step_id", step_id.as_str());
            object.string("why", why.to_string().as_str());
        }
        Cause::Unknown(found) => {
            let mut closest = Object::open(object.name("closest"));
            closest.string("step_id", found.step_id.as_str());
            closest.boolean("served", found.served);
            number(&mut closest, "distance", Some(found.distance));
            print::list(&found.differences, closest.name("differences"), write_difference);
            closest.close();
        }
    }
    object.close();
}

fn write_difference(difference: &Difference, out: &mut String) {
    let mut object = Object::open(out);
    object.string("at", difference.at.as_str());
    object.string("recorded", difference.recorded.as_deref());
    object.string("asked", difference.asked.as_deref());
    object.close();
}

fn write_unused(unused: &Unused, out: &mut String) {
    let mut object = Object::open(out);
    object.string("step_id", unused.step_id.as_str());
    object.string("model", unused.model.as_deref());
    object.string("label", unused.label.as_str());
    object.close();
}
