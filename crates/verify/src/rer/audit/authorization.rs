//! The rule `authorization`: a platform's key allowed the run, for its time, or only the runtime's own did.
//!
//! The signature is judged by [`authoriser`], as before the run; here its end is compared with the times of the events.

use reenact_formats::key::KeyId;
use reenact_formats::rer::envelope::authorization::Authorization;
use reenact_formats::rer::{EventType, RerHead, time};
use reenact_json::Value;

use super::tracker::RuleTracker;
use super::{AuditedEvent, AuditedKind, UNCAPTURED};
use crate::Keys;
use crate::audit::RuleVerdict;
use crate::rer::authorization::authoriser;

/// Time for which a run is authorised, compared with its start and its calls.
pub(super) struct AuthorizedPeriod {
    /// Last authorised moment, in nanoseconds since 1970; `None` if there is no authorization, or no end.
    not_after: Option<i128>,
    /// Latest timestamp so far.
    latest: Option<i128>,
    /// First event that began too late.
    late: Option<usize>,
    /// First event whose time cannot be told, and why.
    doubtful: Option<(usize, &'static str)>,
}

impl AuthorizedPeriod {
    /// Reads the end of the period from an envelope.
    pub(super) fn from_envelope(envelope: Option<Value<'_>>) -> Self {
        let authorization = envelope.and_then(|envelope| Authorization::read(envelope).ok()?);
        let not_after = authorization.and_then(|authorization| authorization.not_after());
        Self { not_after, latest: None, late: None, doubtful: None }
    }

    /// Observes the next event.
    pub(super) fn observe(&mut self, event: &AuditedEvent<'_>) {
        let Some(end) = self.not_after else { return };
        let is_gap = matches!(event.kind, AuditedKind::Event(known) if known.marks_missing_events());
        let begins = matches!(
            event.kind,
            AuditedKind::Call(_) | AuditedKind::UnknownType | AuditedKind::Event(EventType::RunStarted)
        );
        let at = event.timestamp.and_then(|timestamp| time::instant(&timestamp.string()?));
        let doubt = match at {
            _ if is_gap => Some(UNCAPTURED),
            None if begins => Some("the timestamp names no moment"),
            Some(at) if begins && at > end => {
                self.late.get_or_insert(event.index);
                None
            }
            // Timestamps are the recorder's word, and may run backwards.
            Some(_) if begins && self.latest.is_some_and(|latest| latest > end) => {
                Some("time runs backwards here, from after the authorization had ended")
            }
            _ => None,
        };
        if let Some(reason) = doubt {
            self.doubtful.get_or_insert((event.index, reason));
        }
        self.latest = self.latest.max(at);
    }

    /// Tells the rule what was found.
    fn conclude(&self, tracker: &mut RuleTracker) {
        if let Some(event) = self.late {
            tracker.fail(event, "it began after the authorization had ended");
        } else if let Some((event, reason)) = self.doubtful {
            tracker.mark_inconclusive(Some(event), reason);
        }
    }
}

/// Returns the verdict on `authorization`.
pub(super) fn check(head: &RerHead<'_>, period: &AuthorizedPeriod, keys: &Keys) -> RuleVerdict {
    let mut tracker = RuleTracker::new("authorization");
    let mut kept = String::new();
    let runtime = head.key_id().and_then(|id| KeyId::parse(&id));
    match head.envelope {
        None => tracker.mark_inconclusive(None, "there is no envelope"),
        Some(envelope) => match authoriser(envelope, runtime, keys) {
            Ok(authoriser) => kept = format!("authorised by {authoriser}"),
            Err(reason) if reason.is_wrong() => tracker.fail_without_event(&reason.to_string()),
            Err(reason) => tracker.mark_inconclusive(None, &reason.to_string()),
        },
    }
    period.conclude(&mut tracker);
    tracker.into_verdict(&kept)
}
