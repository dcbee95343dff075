//! Events on what surrounds the calls of a command: its standard input, and connections past the recorder.

use std::net::SocketAddr;

use reenact_formats::rer::EventType;
use reenact_formats::rer::payload::{EventSource, NetSeen, StdinRead};

use crate::error::RecordError;
use crate::event_writer::EventWriter;
use crate::mask::MaskedBody;

impl EventWriter {
    /// Records what was piped into the command, from the first byte on; `complete` says that nothing was left out. Secrets in
    /// it are masked.
    ///
    /// The input is in no write-ahead log: of a run whose recorder is killed before the next call is journaled, it is lost.
    ///
    /// # Errors
    /// Any error of the journal.
    pub fn record_stdin(&self, input: &[u8], complete: bool) -> Result<(), RecordError> {
        let body = self.masks().body(input);
        let read = StdinRead { body: MaskedBody::InMemory(&body), complete, source: EventSource::Observed };
        self.append(EventType::StdinRead, |payload| read.write(payload))
    }

    /// Records addresses that the command's processes were seen connected to, past the recorder. The list is sorted, each
    /// address once.
    ///
    /// # Errors
    /// Any error of the journal.
    pub fn record_net_seen(
        &self,
        addresses: impl IntoIterator<Item = SocketAddr>,
    ) -> Result<(), RecordError> {
        let mut addresses: Vec<SocketAddr> = addresses.into_iter().collect();
        addresses.sort_unstable();
        addresses.dedup();
        let seen = NetSeen { addresses, sampled: true, source: EventSource::Observed };
        self.append(EventType::NetSeen, |payload| seen.write(payload))
    }
}
