//! Redaction settings of a project: its own masks, and the payloads that it withholds. They are fixed when a run
//! begins, and kept in the first line of its journal, so that a resumed run masks and withholds the same.

use std::sync::Arc;

use reenact_json::Value;
use reenact_secrets::{Alphabet, CustomRule, RulePack};

use crate::payload::quote;
use crate::withhold::Withhold;

/// Redaction settings of a project. They add to the standard masks, and cannot take any away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redaction {
    /// Rules beside the standard ones.
    pub rules: Vec<CustomRule>,
    /// Environment variables whose values are masked wherever they appear, beside those that are named like
    /// credentials. The values become known secrets when the run begins; the names are not kept in the journal.
    pub known_env: Vec<String>,
    /// Payloads that are withheld.
    pub withhold: Withhold,
}

impl Redaction {
    /// Returns the standard rules with these added.
    pub fn pack(&self) -> Arc<RulePack> {
        RulePack::with_custom(&self.rules)
    }

    /// Returns the settings as canonical JSON; `None` if there is nothing to keep.
    pub(crate) fn to_json(&self) -> Option<Vec<u8>> {
        if self.rules.is_empty() && self.withhold.is_empty() {
            return None;
        }
        let mut out = b"{\"rules\":[".to_vec();
        for (at, rule) in self.rules.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b",{\"alphabet\":" } else { b"{\"alphabet\":" });
            quote(rule.alphabet().name(), &mut out);
            out.extend_from_slice(format!(",\"min_length\":{},\"name\":", rule.min_length()).as_bytes());
            quote(rule.name(), &mut out);
            out.extend_from_slice(b",\"prefix\":");
            quote(rule.prefix(), &mut out);
            out.push(b'}');
        }
        out.extend_from_slice(b"],\"withhold\":{");
        let Withhold { events, tools, models } = &self.withhold;
        for (at, (name, list)) in
            [("events", events), ("models", models), ("tools", tools)].into_iter().enumerate()
        {
            out.extend_from_slice(if at > 0 { b"," } else { b"" });
            quote(name, &mut out);
            out.extend_from_slice(b":[");
            for (at, text) in list.iter().enumerate() {
                out.extend_from_slice(if at > 0 { b"," } else { b"" });
                quote(text, &mut out);
            }
            out.push(b']');
        }
        out.extend_from_slice(b"}}");
        Some(out)
    }

    /// Reads what [`Redaction::to_json`] wrote; `None` for anything else.
    pub(crate) fn from_json(value: Value<'_>) -> Option<Self> {
        let rule = |rule: Value<'_>| {
            let text = |name| rule.member(name)?.string();
            let least = rule.member("min_length")?;
            let least = core::str::from_utf8(least.text()).ok()?.parse().ok()?;
            let alphabet = Alphabet::named(&text("alphabet")?)?;
            CustomRule::new(&text("name")?, &text("prefix")?, alphabet, least).ok()
        };
        let rules = value.member("rules")?.elements().map(rule).collect::<Option<Vec<_>>>()?;
        let withhold = value.member("withhold")?;
        let list = |name| {
            let texts = withhold.member(name)?.elements();
            texts.map(|text| text.string().map(std::borrow::Cow::into_owned)).collect::<Option<Vec<_>>>()
        };
        let withhold = Withhold { events: list("events")?, tools: list("tools")?, models: list("models")? };
        Some(Self { rules, known_env: Vec::new(), withhold })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    #[test]
    fn what_is_kept_is_read() {
        let rule = |name| CustomRule::new(name, "acme_", Alphabet::Base64, 12).unwrap();
        let withhold = Withhold {
            events: vec!["rer.prompt.rendered".into()],
            tools: vec!["pay_*".into(), "\"\n".into()],
            models: Vec::new(),
        };
        for redaction in [
            Redaction { rules: vec![rule("a"), rule("b")], ..Redaction::default() },
            Redaction { withhold, ..Redaction::default() },
        ] {
            let json = redaction.to_json().unwrap();
            let value = Value::parse(&json, &Limits::default()).unwrap();
            assert!(value.is_canonical());
            assert_eq!(Redaction::from_json(value), Some(redaction));
        }
        let known_env = Redaction { known_env: vec!["A".into()], ..Redaction::default() };
        assert_eq!(known_env.to_json(), None);
    }
}
