//! Agents that people use: what they ask a vendor is in the record, and they do what they would have done.
//!
//! `cargo xtask test agents` installs them and runs these tests in a namespace that has loopback only. Each row is a folder in
//! `agents/rows`: how the agent is started, and the task that a scripted model gives it. An agent runs straight to the vendor and under
//! `reenact record`; then the vendor is stopped, and the recorded run is replayed. Start reading at `agents/check.rs`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

#[path = "agents/asked.rs"]
mod asked;
#[path = "agents/check.rs"]
mod check;
#[path = "agents/masked.rs"]
mod masked;
#[path = "agents/replays.rs"]
mod replays;
#[path = "agents/result.rs"]
mod result;
#[path = "agents/row.rs"]
mod row;
#[path = "agents/row_run.rs"]
mod row_run;
mod support;

/// Defines one test for each row.
macro_rules! rows {
    ($($test:ident = $row:literal),* $(,)?) => {
        /// Names of the folders in `agents/rows` that have a test.
        const ROWS: &[&str] = &[$($row),*];

        $(
            #[test]
            #[ignore = "needs the agents: cargo xtask test agents"]
            fn $test() {
                crate::check::check($row, stringify!($test));
            }
        )*
    };
}

rows!(
    ai_sdk_anthropic = "ai-sdk-anthropic",
    ai_sdk_openai = "ai-sdk-openai",
    aider_anthropic = "aider-anthropic",
    aider_openai = "aider-openai",
    claude_code = "claude-code",
    codex = "codex",
    gemini_cli = "gemini-cli",
    langgraph_anthropic = "langgraph-anthropic",
    langgraph_openai = "langgraph-openai",
    litellm_anthropic = "litellm-anthropic",
    litellm_openai = "litellm-openai",
    openai_agents_js = "openai-agents-js",
    openai_agents_py = "openai-agents-py",
    opencode_anthropic = "opencode-anthropic",
    opencode_openai = "opencode-openai",
    pydantic_ai_anthropic = "pydantic-ai-anthropic",
    pydantic_ai_openai = "pydantic-ai-openai",
    qwen_code = "qwen-code",
    smolagents = "smolagents",
);

#[test]
fn every_row_is_a_test() {
    let mut names = ROWS.to_vec();
    names.sort_unstable();
    assert_eq!(row::folders(), names);
}

#[test]
fn every_row_can_be_read() {
    for name in ROWS {
        let row = row::TestedAgent::read(name);
        assert!(!row.task.turns.is_empty() && !row.command.is_empty(), "{name}");
    }
}
