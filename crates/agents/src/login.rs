//! Logins: which kind an agent has. Only whether a credential is there is looked at; its value is never kept.

use crate::condition;
use crate::local::{parse_json, read_settings};
use crate::plan::AgentContext;
use crate::row::{LoginKind, LoginRow};

/// Returns the kind of the first login of the row that is there.
pub(crate) fn find(context: &AgentContext<'_>) -> LoginKind {
    context
        .row
        .login
        .iter()
        .find(|login| is_there(login, context))
        .map_or(LoginKind::None, |login| login.kind)
}

fn is_there(login: &LoginRow, context: &AgentContext<'_>) -> bool {
    if !condition::holds_without_login(&login.when, context) {
        return false;
    }
    if let Some(variable) = &login.variable {
        return context.variable(variable).is_some();
    }
    let Some(file) = login.file.as_deref().and_then(|file| context.path(file)) else { return false };
    let Some(member) = &login.member else { return file.is_file() };
    let document = read_settings(&file).and_then(|text| parse_json(&text));
    let text = document.as_ref().and_then(|document| document.pointer(member)?.as_str());
    text.is_some_and(|text| {
        !text.is_empty() && (login.values.is_empty() || login.values.iter().any(|known| known == text))
    })
}
