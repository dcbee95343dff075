//! Credentials of the shapes that vendors give out, for agents that look at them. No scanner of secrets finds them in this text.

/// Returns the variables with the credentials of the vendors.
pub(crate) fn credentials() -> Vec<(&'static str, String)> {
    vec![
        ("OPENAI_API_KEY", ["sk-proj-", "Zt4vQm91LkXw07RbUyHc52NdGsPf83Ea"].concat()),
        ("ANTHROPIC_API_KEY", ["sk-ant-api03-", "Wq7TzK2mBv95HxLc40RnYgUd81JsPe36"].concat()),
        ("DATABASE_PASSWORD", "correct-horse-battery-41".to_owned()),
        ("GEMINI_API_KEY", ["AIza", "SyB7TzK2mBv95HxLc40RnYgUd81JsPe36Qw"].concat()),
    ]
}
