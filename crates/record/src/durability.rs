//! How much a record survives.

/// What a record survives of what was acknowledged to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the recorder, however sudden.
    #[default]
    Process,
    /// The end of the machine: nothing is acknowledged before the disk has it.
    Machine,
}
