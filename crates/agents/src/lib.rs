//! Known agents as data, and the plan by which an agent's model calls reach a gateway.
//!
//! A row is a TOML file in `agents/`: how a command is recognised, what is set for it and why, where its login lies, and
//! what its requests vary in. Rows of the user come from a folder and replace or extend the ones that are built in. From a
//! row, a command and what stands on this machine (variables and settings, which are only read), a [`LaunchPlan`] is made;
//! with the address of a gateway it becomes a [`Launch`]: command, variables and overlay files.
//!
//! | module | contents |
//! |---|---|
//! | [`row`] | what a TOML file may say, and its strict reading |
//! | [`table`] | the rows that are built in, and those of the user |
//! | [`command`] | recognition of an agent in a command, through wrappers such as `npx`, `env` and `sh -c` |
//! | [`local`] | variables and files of this machine, bounded |
//! | [`plan`] | the plan: login, addresses, settings, notes |
//! | `dummy` | what a replay gives in place of the recorded login |
//! | [`launch`] | the plan with the address of a gateway in it |
//! | [`installed`] | where an agent is installed, and its version, without running it |
//!
//! Start reading at [`row::AgentRow`], then [`plan::LaunchPlan::new`].

pub mod command;
mod condition;
mod dummy;
mod effective;
pub mod installed;
pub mod launch;
pub mod local;
mod login;
mod options;
pub mod plan;
mod provider;
pub mod row;
mod shell;
pub mod table;
mod template;

pub use command::{ArgumentsPlace, RecognisedCommand};
pub use dummy::RecordedLogin;
pub use launch::{Launch, OverlayFile, OverlayLink};
pub use local::LocalEnvironment;
pub use plan::{LaunchPlan, ObserverNote, PlanError, PlannedRoute};
pub use row::{AgentRow, LoginKind, RowError, SideCallRow, VariesKind, VariesRow};
pub use table::AgentTable;
