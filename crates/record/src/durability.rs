//! Durability of a record: the kind of failure after which nothing acknowledged is lost.

/// Failure that a record survives with everything that was acknowledged to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Sudden end of the recorder's process: the operating system has each event before it is acknowledged.
    #[default]
    Process,
    /// Sudden end of the machine: each event is flushed to the disk before it is acknowledged.
    Machine,
}
