//! Index of the recorded exchanges by their keys.
//!
//! [`RecordedExchanges::load`] reads every request of a run once, computes its keys (see
//! [`crate::request_key`]) and groups the exchanges that share one. Answers are not kept: they are read from
//! the run when they are served.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use reenact_json::{Digest, Shown};
use reenact_run::FormatId;
use reenact_run::{AnswerDetail, Exchange, ExchangeRequestBody, Run, UnreadablePayload};
use reenact_secrets::RulePack;

use crate::answer_comparison::AnswerComparison;
use crate::denied_call::DeniedCall;
use crate::request_key::{self, FoundBy, RequestKey};
use crate::served::ServedExchanges;

/// Reason why a run cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The record is a REPLAY.jsonl, which holds tool calls and only hashes of their outputs.
    #[error(
        "a REPLAY.jsonl holds only hashes of what tools gave, and no answer of a model: nothing in it can be replayed (E_REPLAY_MISSING_DEPENDENCY)\nreplay a record that holds answers: an RER artifact, an .rpk, a Model IO session or a Replay Bundle"
    )]
    OnlyHashes,
    /// The record was masked with a project's own rules, and they are not the rules at hand.
    #[error(
        "the run was masked with rules of its project's own (digest {recorded}), and those here are others (digest {ours}): requests with secrets would not be found (E_REPLAY_MISSING_DEPENDENCY)\nreplay it where reenact.toml has the [redaction] rules that it was recorded with"
    )]
    Rules {
        /// Digest of the rules that the record names. Safe to print.
        recorded: String,
        /// Digest of the rules at hand.
        ours: String,
    },
    /// The record has exchanges, but no request that can be read.
    #[error("none of the {exchanges} recorded requests can be read; of the first one, {first}")]
    NothingToServe {
        /// Number of exchanges.
        exchanges: usize,
        /// Fault of the first request.
        first: UnreadablePayload,
    },
}

/// Returns the redaction rules to mask requests with: `project` if the record names custom rules, else the
/// standard ones.
///
/// # Errors
/// [`LoadError::Rules`] if the record names custom rules other than `project`.
pub(crate) fn redaction_pack(run: &Run, project: Arc<RulePack>) -> Result<Arc<RulePack>, LoadError> {
    let redaction = recorded_pack(run);
    let Some((name, digest)) = redaction.filter(|(name, _)| RulePack::is_custom(name)) else {
        return Ok(RulePack::standard());
    };
    let ours = Digest::of(project.rules_text().as_bytes());
    if name == project.name() && ours.is_hex(digest.as_bytes()) {
        return Ok(project);
    }
    Err(LoadError::Rules { recorded: Shown::new(&digest).to_string(), ours: ours.to_string() })
}

/// Returns the name and the digest of the redaction rules that a record names; `None` if the record is no RER
/// artifact or names none.
fn recorded_pack(run: &Run) -> Option<(String, String)> {
    if run.payload_format() != FormatId::Rer {
        return None;
    }
    let redaction = run.started()?.member("redaction")?;
    let word = |name: &str| redaction.member(name).and_then(|word| Some(word.string()?.into_owned()));
    Some((word("pack")?, word("digest").unwrap_or_default()))
}

/// Warning about a run that was loaded, to be shown to the user. Step ids are safe to print.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadNote {
    /// The recorded match key is not the one computed from the request; the computed key is used.
    #[error("step {step_id}: the recorded match_key is not that of the recorded request, and is not used")]
    MatchKey {
        /// Id of the recorded step.
        step_id: String,
    },
    /// The request cannot be read, so nothing will match it.
    #[error("step {step_id}: the request cannot be read ({why}), so nothing will match it")]
    Request {
        /// Id of the recorded step.
        step_id: String,
        /// Fault of the request.
        why: UnreadablePayload,
    },
    /// The run was masked by another version of the standard rules.
    #[error(
        "the run was masked with the rules {recorded}, here are {ours}: requests that contain secrets may not match"
    )]
    Pack {
        /// Name and digest of the rules that the record names.
        recorded: String,
        /// Name and digest of the rules at hand.
        ours: String,
    },
    /// Some notes were not kept.
    #[error("{more} more note{} of this kind", if *more == 1 { "" } else { "s" })]
    More {
        /// Number of notes that were not kept.
        more: usize,
    },
}

/// Largest number of notes about single exchanges that are kept.
const MAX_NOTES: usize = 50;

/// One recorded exchange, by the place of its request.
#[derive(Debug)]
pub(crate) struct IndexedExchange {
    /// Index in the run of the event that holds the request.
    pub(crate) event_index: usize,
    /// Index of the exchange's group; `None` if the request cannot be read.
    pub(crate) group: Option<usize>,
    /// Digest of provider, method and path without query; see [`destination_hash`]. 0 if the request cannot be
    /// read.
    pub(crate) destination_hash: u64,
}

/// Exchanges that share one key, in recorded order.
#[derive(Debug, Default)]
pub(crate) struct KeyGroup {
    /// Indices into [`RecordedExchanges::entries`].
    members: Vec<usize>,
    /// Indices of groups of the same request whose record does not say where the request went. An answer that
    /// is served from this group counts as served from those, too.
    aliases: Vec<usize>,
    /// True if the recorded answers differ.
    answers_differ: bool,
}

/// All recorded exchanges of a run, grouped by key.
#[derive(Debug)]
pub(crate) struct RecordedExchanges {
    pub(crate) run: Run,
    pub(crate) entries: Vec<IndexedExchange>,
    pub(crate) groups: Vec<KeyGroup>,
    by_key: HashMap<RequestKey, usize>,
    /// Parts of requests of which any exchange has a key, so that requests are looked up by no other part.
    pub(crate) parts: BTreeSet<FoundBy>,
    /// True if an answer may be served more than once: a Replay Bundle says what is answered, not how often.
    is_repeatable: bool,
    /// Number of requests of which only the hash is recorded.
    pub(crate) hash_only_requests: usize,
    pub(crate) notes: Vec<LoadNote>,
    /// Calls that policy denied, in recorded order.
    pub(crate) denials: Vec<DeniedCall>,
}

impl RecordedExchanges {
    /// Reads all exchanges of a run, groups them, and finds the groups whose answers differ.
    pub(crate) fn load(run: &Run) -> Result<Self, LoadError> {
        if run.payload_format() == FormatId::ReplayJsonl {
            return Err(LoadError::OnlyHashes);
        }
        let mut library = Self {
            run: run.clone(),
            entries: Vec::new(),
            groups: Vec::new(),
            by_key: HashMap::new(),
            parts: BTreeSet::new(),
            is_repeatable: run.payload_format() == FormatId::ReplayBundle,
            hash_only_requests: 0,
            notes: Vec::new(),
            denials: DeniedCall::of_run(run),
        };
        let mut first = None;
        let mut notes = 0;
        let mut aliases = Vec::new();
        for exchange in run.exchanges() {
            if let Some(note) = library.add_exchange(&exchange, &mut aliases) {
                if let LoadNote::Request { why, .. } = &note {
                    first.get_or_insert_with(|| why.clone());
                }
                notes += 1;
                if library.notes.len() < MAX_NOTES {
                    library.notes.push(note);
                }
            }
        }
        if let (Some(first), true) = (first, library.groups.is_empty()) {
            return Err(LoadError::NothingToServe { exchanges: library.entries.len(), first });
        }
        if notes > library.notes.len() {
            library.notes.push(LoadNote::More { more: notes - library.notes.len() });
        }
        library.notes.extend(pack_mismatch_note(run));
        library.link_aliases(aliases);
        library.mark_ambiguous_groups();
        Ok(library)
    }

    /// Links each group to its aliases, given their keys. Aliases may be recorded before or after, so this runs
    /// at the end. Only repeatable records have any.
    fn link_aliases(&mut self, aliases: Vec<(usize, Vec<RequestKey>)>) {
        for (group, keys) in aliases.into_iter().filter(|_| self.is_repeatable) {
            let found: BTreeSet<usize> = keys.iter().filter_map(|key| self.group_of(key)).collect();
            if let Some(own) = self.groups.get_mut(group).filter(|own| own.aliases.is_empty()) {
                own.aliases = found.into_iter().filter(|other| *other != group).collect();
            }
        }
    }

    /// Adds one exchange: to the group of its primary key, and under all of its lookup keys. Keys of possible
    /// aliases are appended to `aliases`. Returns a note if the request cannot be read, or if the recorded match
    /// key is another one.
    fn add_exchange(
        &mut self,
        exchange: &Exchange<'_>,
        aliases: &mut Vec<(usize, Vec<RequestKey>)>,
    ) -> Option<LoadNote> {
        let event = exchange.called.index();
        let step_id = || Shown::new(&exchange.step_id()).to_string();
        let request = match exchange.request() {
            Ok(request) => request,
            Err(why) => {
                self.entries.push(IndexedExchange { event_index: event, group: None, destination_hash: 0 });
                return Some(LoadNote::Request { step_id: step_id(), why });
            }
        };
        let keys = request_key::recorded_keys(&request, exchange.called.payload_format() == FormatId::Rer);
        let Some(&(own, digest)) = keys.lookup_keys.first() else {
            self.entries.push(IndexedExchange { event_index: event, group: None, destination_hash: 0 });
            let why = UnreadablePayload::Missing { member: "what was asked" };
            return Some(LoadNote::Request { step_id: step_id(), why });
        };
        let group = *self.by_key.entry((own, digest)).or_insert_with(|| {
            self.groups.push(KeyGroup::default());
            self.groups.len() - 1
        });
        aliases.push((group, keys.aliases));
        for key in keys.lookup_keys {
            self.parts.insert(key.0);
            self.by_key.entry(key).or_insert(group);
        }
        self.hash_only_requests += usize::from(matches!(request.body, ExchangeRequestBody::Hash(_)));
        self.groups[group].members.push(self.entries.len());
        let group = Some(group);
        let place = destination_hash(&request.provider, &request.method, &request.path);
        self.entries.push(IndexedExchange { event_index: event, group, destination_hash: place });
        let differs = own == FoundBy::Request
            && request.match_key.is_some_and(|recorded| !digest.is_hex(recorded.as_bytes()));
        differs.then(|| LoadNote::MatchKey { step_id: step_id() })
    }

    /// Marks the groups whose answers are not all the same. Headers are not compared: ids and dates always
    /// differ.
    fn mark_ambiguous_groups(&mut self) {
        let says = |at: &usize| {
            let exchange = self.run.exchange(self.entries.get(*at)?.event_index)?;
            let answer = exchange.answer().ok()?;
            let said =
                answer.recorded_message.as_ref().map(|said| (said.text.clone(), said.tool_calls.clone()));
            Some((answer.status, answer.complete, Digest::of(&answer.body), said))
        };
        let differ = |group: &KeyGroup| {
            if self.is_repeatable {
                return self.has_contradiction(group);
            }
            let mut answers = group.members.iter().map(says);
            let first = answers.next();
            answers.any(|answer| Some(answer) != first)
        };
        let differ: Vec<bool> = self.groups.iter().map(differ).collect();
        for (group, differ) in self.groups.iter_mut().zip(differ) {
            group.answers_differ = differ;
        }
    }

    /// Returns true if the records of a repeatable request contradict each other. One of them is served for
    /// all, so this is worth telling.
    fn has_contradiction(&self, group: &KeyGroup) -> bool {
        let others = group.aliases.iter().flat_map(|other| self.members(*other));
        let all: Vec<usize> = group.members.iter().chain(others).copied().collect();
        if all.len() < 2 {
            return false;
        }
        let exchanges = || all.iter().filter_map(|at| self.exchange(*at));
        let endpoint = exchanges().find_map(|exchange| exchange.request().ok()?.endpoint);
        let mut told = AnswerComparison::default();
        exchanges().any(|exchange| told.add_answer(&exchange, endpoint))
    }

    /// Returns the index of the group with this key.
    pub(crate) fn group_of(&self, key: &RequestKey) -> Option<usize> {
        self.by_key.get(key).copied()
    }

    /// Takes the exchange to serve next from a group, and marks it as served; `None` if all of them are.
    ///
    /// Groups of a repeatable record serve the exchange with the most [`AnswerDetail`] every time, and it
    /// stands for all others, those of the group's aliases included.
    pub(crate) fn take_next(&self, group: usize, served: &mut ServedExchanges) -> Option<usize> {
        let members = self.members(group);
        if !self.is_repeatable {
            return served.take_next(group, members);
        }
        let others = self.aliases(group).iter().flat_map(|other| self.members(*other));
        let fresh = members.iter().chain(others).filter(|at| served.mark(**at)).count();
        served.repeated += usize::from(fresh == 0);
        let held = |at: &&usize| {
            let answer = self.exchange(**at).and_then(|exchange| exchange.answer().ok());
            answer.map_or((true, AnswerDetail::Message), |answer| (false, answer.detail))
        };
        members.iter().min_by_key(held).copied()
    }

    /// Returns the exchanges of a group in recorded order, as indices into [`RecordedExchanges::entries`].
    pub(crate) fn members(&self, group: usize) -> &[usize] {
        self.groups.get(group).map_or(&[], |group| &group.members)
    }

    /// Returns the indices of the groups that are aliases of a group.
    pub(crate) fn aliases(&self, group: usize) -> &[usize] {
        self.groups.get(group).map_or(&[], |group| &group.aliases)
    }

    /// Returns true if the answers of a group differ.
    pub(crate) fn is_ambiguous(&self, group: usize) -> bool {
        self.groups.get(group).is_some_and(|group| group.answers_differ)
    }

    /// Returns true if every readable exchange that was recorded before an event is served.
    pub(crate) fn is_all_served_before(&self, event: usize, served: &ServedExchanges) -> bool {
        let mut before =
            self.entries.iter().enumerate().take_while(|(_, recorded)| recorded.event_index < event);
        before.all(|(at, recorded)| recorded.group.is_none() || served.is_served(at))
    }

    /// Returns true if an answer may be served more than once.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    /// Returns the index of the exchange of a step.
    pub(crate) fn index_of_step(&self, step_id: &str) -> Option<usize> {
        (0..self.entries.len())
            .find(|at| self.exchange(*at).is_some_and(|exchange| exchange.step_id() == step_id))
    }

    /// Returns the exchange at an index into [`RecordedExchanges::entries`].
    pub(crate) fn exchange(&self, at: usize) -> Option<Exchange<'_>> {
        self.run.exchange(self.entries.get(at)?.event_index)
    }
}

/// Returns a hash of provider, method and path without its query. Requests to the same destination are compared
/// first when the closest one is searched.
pub(crate) fn destination_hash(provider: &str, method: &str, path: &str) -> u64 {
    let path = path.split('?').next().unwrap_or(path);
    let digest = Digest::of(format!("{provider}\0{method}\0{path}").as_bytes());
    digest.as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Returns a note if an RER artifact was masked with standard rules of another version. Custom rules were
/// compared before, by [`redaction_pack`].
fn pack_mismatch_note(run: &Run) -> Option<LoadNote> {
    if run.payload_format() != FormatId::Rer {
        return None;
    }
    let redaction = run.started()?.member("redaction")?;
    let word = |name: &str| redaction.member(name).and_then(|word| word.string());
    let ours = RulePack::standard();
    if word("pack").is_some_and(|pack| RulePack::is_custom(&pack)) {
        // `redaction_pack` compared name and digest.
        return None;
    }
    let digest = Digest::of(ours.rules_text().as_bytes());
    let same = word("pack").is_some_and(|pack| pack == ours.name())
        && word("digest").is_none_or(|found| digest.is_hex(found.as_bytes()));
    let name = |pack: &str, digest: &str| format!("{} ({})", Shown::new(pack), Shown::new(digest));
    (!same).then(|| LoadNote::Pack {
        recorded: name(&word("pack").unwrap_or_default(), &word("digest").unwrap_or_default()),
        ours: name(ours.name(), &digest.to_string()),
    })
}
