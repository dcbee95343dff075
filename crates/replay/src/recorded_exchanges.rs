//! The recorded exchanges, by their keys.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use reenact_json::{Digest, Shown};
use reenact_run::FormatId;
use reenact_run::{AnswerDetail, Exchange, ExchangeRequestBody, Run, UnreadablePayload};
use reenact_secrets::RulePack;

use crate::answer_comparison::AnswerComparison;
use crate::denied_call::DeniedCall;
use crate::match_level::{self, LevelKey, MatchLevel};

/// Why a run cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A record of tools, of which it holds the calls and the hashes of what they gave.
    #[error(
        "a REPLAY.jsonl holds only hashes of what tools gave, and no answer of a model: nothing in it can be replayed (E_REPLAY_MISSING_DEPENDENCY)\nreplay a record that holds answers: an RER artifact, an .rpk, a Model IO session or a Replay Bundle"
    )]
    OnlyHashes,
    /// Masked with rules of a project's own, which are not those that are here.
    #[error(
        "the run was masked with rules of its project's own (digest {recorded}), and those here are others (digest {ours}): requests with secrets would not be found (E_REPLAY_MISSING_DEPENDENCY)\nreplay it where reenact.toml has the [redaction] rules that it was recorded with"
    )]
    Rules {
        /// The digest that the record names.
        recorded: String,
        /// That of the rules that are here.
        ours: String,
    },
    /// There are exchanges, but none whose request can be read.
    #[error("none of the {exchanges} recorded requests can be read; of the first one, {first}")]
    NothingToServe {
        /// How many there are.
        exchanges: usize,
        /// What is wrong with the first.
        first: UnreadablePayload,
    },
}

/// The rules that a run's requests are masked with.
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

/// The name and the digest of the rules that a record names.
fn recorded_pack(run: &Run) -> Option<(String, String)> {
    if run.payload_format() != FormatId::Rer {
        return None;
    }
    let redaction = run.started()?.member("redaction")?;
    let word = |name: &str| redaction.member(name).and_then(|word| Some(word.string()?.into_owned()));
    Some((word("pack")?, word("digest").unwrap_or_default()))
}

/// Something about a run that whoever plays it should know. Step ids are safe to print.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadNote {
    /// The recorder's key is not the one that its request has; ours is used.
    #[error("step {step_id}: the recorded match_key is not that of the recorded request, and is not used")]
    MatchKey {
        /// Which step.
        step_id: String,
    },
    /// A request that cannot be matched.
    #[error("step {step_id}: the request cannot be read ({why}), so nothing will match it")]
    Request {
        /// Which step.
        step_id: String,
        /// What is wrong with it.
        why: UnreadablePayload,
    },
    /// Masked by other rules than ours.
    #[error(
        "the run was masked with the rules {recorded}, here are {ours}: requests that contain secrets may not match"
    )]
    Pack {
        /// The name of the rules that the record names.
        recorded: String,
        /// The name of ours.
        ours: String,
    },
    /// There are more notes than are kept.
    #[error("{more} more notes of this kind")]
    More {
        /// How many.
        more: usize,
    },
}

/// How many notes are worth keeping.
const MAX_NOTES: usize = 50;

/// One recorded exchange.
#[derive(Debug)]
pub(crate) struct IndexedExchange {
    /// The place of the event with the request.
    pub(crate) event_index: usize,
    /// Which group it belongs to, and its place there; `None` if its request cannot be read.
    pub(crate) group: Option<(usize, usize)>,
    /// A digest of what it is a request to: whom, how, where without the query.
    pub(crate) destination_hash: u64,
}

/// Exchanges with the same key, in recorded order.
#[derive(Debug, Default)]
pub(crate) struct KeyGroup {
    /// Places in [`RecordedExchanges::recorded`].
    members: Vec<usize>,
    /// Groups of the same request whose record does not say where it went: what is given here stands for theirs, too.
    aliases: Vec<usize>,
    /// Whether their answers differ.
    answers_differ: bool,
}

/// All exchanges of a run.
#[derive(Debug)]
pub(crate) struct RecordedExchanges {
    pub(crate) run: Run,
    pub(crate) entries: Vec<IndexedExchange>,
    pub(crate) groups: Vec<KeyGroup>,
    by_key: HashMap<LevelKey, usize>,
    /// Which keys there are.
    pub(crate) levels: BTreeSet<MatchLevel>,
    /// Whether an answer may be given again: a bundle says what is answered, not how often.
    is_repeatable: bool,
    /// How many requests are known by their hash alone.
    pub(crate) hash_only_requests: usize,
    pub(crate) notes: Vec<LoadNote>,
    /// What was denied, in order.
    pub(crate) denials: Vec<DeniedCall>,
}

impl RecordedExchanges {
    pub(crate) fn load(run: &Run) -> Result<Self, LoadError> {
        if run.payload_format() == FormatId::ReplayJsonl {
            return Err(LoadError::OnlyHashes);
        }
        let mut library = Self {
            run: run.clone(),
            entries: Vec::new(),
            groups: Vec::new(),
            by_key: HashMap::new(),
            levels: BTreeSet::new(),
            is_repeatable: run.payload_format() == FormatId::ReplayBundle,
            hash_only_requests: 0,
            notes: Vec::new(),
            denials: DeniedCall::of_run(run),
        };
        let mut first = None;
        let mut notes = 0;
        let mut beside = Vec::new();
        for exchange in run.exchanges() {
            if let Some(note) = library.add_exchange(&exchange, &mut beside) {
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
        library.link_aliases(beside);
        library.mark_ambiguous_groups();
        Ok(library)
    }

    /// Joins groups to those of the same requests, which may come before them or after.
    fn link_aliases(&mut self, beside: Vec<(usize, Vec<LevelKey>)>) {
        for (group, keys) in beside.into_iter().filter(|_| self.is_repeatable) {
            let found: BTreeSet<usize> = keys.iter().filter_map(|key| self.group_of(key)).collect();
            if let Some(own) = self.groups.get_mut(group).filter(|own| own.aliases.is_empty()) {
                own.aliases = found.into_iter().filter(|other| *other != group).collect();
            }
        }
    }

    fn add_exchange(
        &mut self,
        exchange: &Exchange<'_>,
        beside: &mut Vec<(usize, Vec<LevelKey>)>,
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
        let keys = match_level::recorded_keys(&request, exchange.called.payload_format() == FormatId::Rer);
        let Some(&(own, digest)) = keys.lookup_keys.first() else {
            self.entries.push(IndexedExchange { event_index: event, group: None, destination_hash: 0 });
            let why = UnreadablePayload::Missing { member: "what was asked" };
            return Some(LoadNote::Request { step_id: step_id(), why });
        };
        let group = *self.by_key.entry((own, digest)).or_insert_with(|| {
            self.groups.push(KeyGroup::default());
            self.groups.len() - 1
        });
        beside.push((group, keys.aliases));
        for key in keys.lookup_keys {
            self.levels.insert(key.0);
            self.by_key.entry(key).or_insert(group);
        }
        self.hash_only_requests += usize::from(matches!(request.body, ExchangeRequestBody::Hash(_)));
        let members = &mut self.groups[group].members;
        members.push(self.entries.len());
        let group = Some((group, members.len() - 1));
        let place = destination_hash(&request.provider, &request.method, &request.path);
        self.entries.push(IndexedExchange { event_index: event, group, destination_hash: place });
        let differs = own == MatchLevel::Exact
            && request.match_key.is_some_and(|recorded| !digest.is_hex(recorded.as_bytes()));
        differs.then(|| LoadNote::MatchKey { step_id: step_id() })
    }

    /// Finds the groups whose answers are not all the same. Headers do not count: ids and dates always differ.
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

    /// Whether the records of a request that may be given again say different things: one is given for all of them.
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

    /// The group of requests with this key.
    pub(crate) fn group_of(&self, key: &LevelKey) -> Option<usize> {
        self.by_key.get(key).copied()
    }

    /// Of a group, so many of which were given out: the next one to give, and how many are given then. What may be given again is
    /// given in the best form that there is, and stands for all of its group.
    pub(crate) fn next_answer(&self, group: usize, given: usize) -> Option<(usize, usize)> {
        let members = self.members(group);
        if !self.is_repeatable {
            return Some((*members.get(given)?, given + 1));
        }
        let held = |at: &&usize| {
            let answer = self.exchange(**at).and_then(|exchange| exchange.answer().ok());
            answer.map_or((true, AnswerDetail::Message), |answer| (false, answer.detail))
        };
        Some((*members.iter().min_by_key(held)?, members.len()))
    }

    /// The exchanges of a group, in recorded order: places in [`RecordedExchanges::recorded`].
    pub(crate) fn members(&self, group: usize) -> &[usize] {
        self.groups.get(group).map_or(&[], |group| &group.members)
    }

    /// The groups that a group stands for.
    pub(crate) fn aliases(&self, group: usize) -> &[usize] {
        self.groups.get(group).map_or(&[], |group| &group.aliases)
    }

    /// Whether the answers of a group differ.
    pub(crate) fn is_ambiguous(&self, group: usize) -> bool {
        self.groups.get(group).is_some_and(|group| group.answers_differ)
    }

    /// Whether the exchange at a place is among those given out, so many of each group.
    pub(crate) fn is_served(&self, at: usize, given: &[usize]) -> bool {
        let group = self.entries.get(at).and_then(|recorded| recorded.group);
        group.is_some_and(|(group, place)| given.get(group).is_some_and(|given| place < *given))
    }

    /// Whether everything that was asked before an event has been asked.
    pub(crate) fn is_all_served_before(&self, event: usize, given: &[usize]) -> bool {
        let before = self.entries.iter().enumerate().take_while(|(_, recorded)| recorded.event_index < event);
        before.into_iter().all(|(at, recorded)| recorded.group.is_none() || self.is_served(at, given))
    }

    /// The exchange at a place in [`RecordedExchanges::recorded`].
    pub(crate) fn exchange(&self, at: usize) -> Option<Exchange<'_>> {
        self.run.exchange(self.entries.get(at)?.event_index)
    }
}

/// A number for whom, how and where, the query left out: requests to the same place are the closest to each other.
pub(crate) fn destination_hash(provider: &str, method: &str, path: &str) -> u64 {
    let path = path.split('?').next().unwrap_or(path);
    let digest = Digest::of(format!("{provider}\0{method}\0{path}").as_bytes());
    digest.as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn pack_mismatch_note(run: &Run) -> Option<LoadNote> {
    if run.payload_format() != FormatId::Rer {
        return None;
    }
    let redaction = run.started()?.member("redaction")?;
    let word = |name: &str| redaction.member(name).and_then(|word| word.string());
    let ours = RulePack::standard();
    if word("pack").is_some_and(|pack| RulePack::is_custom(&pack)) {
        // Compared before, digest and all.
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
