//! The environment variables by which agents find their vendors, replaced for the agent.
//!
//! Clients read the address of their vendor from variables such as `OPENAI_BASE_URL`. A recorded or replayed
//! agent gets the address of the gateway there, so that no code of the agent changes. A replayed agent also
//! gets dummy credentials. Start reading at [`agent_environment`].

use std::collections::BTreeSet;
use std::ffi::OsString;

use reenact_secrets::command_line::is_secret_variable;
use reenact_wire::{BaseVariable, VENDORS, Vendor};

/// Parses the name of a vendor, for clap.
pub(crate) fn vendor(name: &str) -> Result<Vendor, String> {
    Vendor::of_name(name).ok_or_else(|| format!("no such vendor; there is: {}", names(", ")))
}

/// Returns the names of all vendors, joined by `separator`.
pub(crate) fn names(separator: &str) -> String {
    VENDORS.map(Vendor::name).join(separator)
}

/// Returns the base URL variables of the vendors with interfaces of their own as a phrase: `A, B or C`. Of each vendor the first.
pub(crate) fn base_variables() -> String {
    let own = VENDORS.iter().filter(|vendor| vendor.has_own_interfaces());
    let names: Vec<&str> =
        own.filter_map(|vendor| vendor.base_variables().first()).map(BaseVariable::name).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns the whole environment of an agent whose requests must reach the gateway.
///
/// `bases` are the names of the routes with the gateway's base URL for each. All base URL variables of a vendor are set, old names
/// too; a name of the user's own has the variables of [`own_variables`]. Loopback is exempted from proxies.
pub(crate) fn agent_environment(
    before: impl IntoIterator<Item = (OsString, OsString)>,
    bases: &[(String, String)],
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = before.into_iter().collect();
    for (route, url) in bases {
        match Vendor::of_name(route) {
            Some(vendor) => vendor.base_variables().iter().for_each(|variable| {
                set_variable(&mut environment, variable.name(), OsString::from(variable.value(url)));
            }),
            None => own_variables(route)
                .iter()
                .for_each(|name| set_variable(&mut environment, name, OsString::from(url))),
        }
    }
    // Some clients read the upper-case name, others the lower-case one, and many one only where the other is not set: the name that
    // is new must not hide what the other says.
    let before =
        |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let (upper, lower) = (before("NO_PROXY"), before("no_proxy"));
    for (name, own, other) in [("NO_PROXY", &upper, &lower), ("no_proxy", &lower, &upper)] {
        let mut value = own.as_ref().or(other.as_ref()).cloned().unwrap_or_default();
        if !value.is_empty() {
            value.push(",");
        }
        value.push("127.0.0.1,localhost");
        set_variable(&mut environment, name, value);
    }
    environment
}

/// Variable with the URL to which an agent may post events about itself, such as its plan.
pub(crate) const REPORT_URL_VARIABLE: &str = "REENACT_REPORT_URL";

/// Returns the names of all variables that lead clients to a route.
pub(crate) fn variables(route: &str) -> Vec<String> {
    match Vendor::of_name(route) {
        Some(vendor) => vendor.base_variables().iter().map(|variable| variable.name().to_owned()).collect(),
        None => own_variables(route).into(),
    }
}

/// Returns the variables that lead clients to the route of a name of the user's own: `TOGETHER_AI_BASE_URL` and `TOGETHER_AI_API_BASE`
/// for `together_ai`.
fn own_variables(route: &str) -> [String; 2] {
    let name = route.to_ascii_uppercase().replace('-', "_");
    [format!("{name}_BASE_URL"), format!("{name}_API_BASE")]
}

/// Returns the values of the variables that hold credentials, by their names.
pub(crate) fn credentials(environment: &[(OsString, OsString)]) -> impl Iterator<Item = &[u8]> {
    let is_secret = |(name, value): &&(OsString, OsString)| {
        !value.is_empty() && is_secret_variable(&name.to_string_lossy(), value.as_encoded_bytes())
    };
    environment.iter().filter(is_secret).map(|(_, value)| value.as_encoded_bytes())
}

/// Credentials that a replayed agent keeps, because its requests may go to vendors.
#[derive(Debug, Default)]
pub(crate) struct KeptCredentials {
    /// Names of the routes that are live.
    routes: BTreeSet<String>,
    /// Variables that hold a login of the agent.
    variables: BTreeSet<String>,
}

impl KeptCredentials {
    /// Keeps the credentials of these routes, and these variables.
    pub(crate) fn new(routes: BTreeSet<String>, variables: BTreeSet<String>) -> Self {
        Self { routes, variables }
    }

    /// Returns true if requests of this route may go to its vendor.
    pub(crate) fn is_live(&self, route: &str) -> bool {
        self.routes.contains(route)
    }

    /// Returns true if a variable is kept: clients of a live route read it, it begins with the name of one, or it holds a login of
    /// the agent and is the key of no other vendor.
    fn has_variable(&self, name: &str) -> bool {
        let is_any_vendors = || VENDORS.into_iter().any(|vendor| vendor.key_variables().contains(&name));
        (self.variables.contains(name) && !is_any_vendors())
            || self.routes.iter().any(|route| {
                let prefix = format!("{}_", route.to_ascii_uppercase().replace('-', "_"));
                let variables = Vendor::of_name(route).map(Vendor::key_variables).unwrap_or_default();
                variables.contains(&name) || name.starts_with(&prefix)
            })
    }
}

/// Replaces the credentials in an environment by dummies, and returns the dummies.
///
/// Each variable stays, because agents look for it, and its dummy has the shape of its vendor's keys, because agents choose by that. Two
/// variables with one value have one dummy. A vendor without any key gets a dummy one if it has interfaces of its own, or if
/// `is_called` returns true for its name, because its client does not start without a key. A variable stays as it is if `keeps` returns
/// true for its name, and so does every other one with its value.
pub(crate) fn replace_credentials(
    environment: &mut Vec<(OsString, OsString)>,
    is_called: impl Fn(&str) -> bool,
    real: &KeptCredentials,
) -> Vec<String> {
    let kept: Vec<OsString> = environment
        .iter()
        .filter(|(name, value)| !value.is_empty() && real.has_variable(&name.to_string_lossy()))
        .map(|(_, value)| value.clone())
        .collect();
    let mut dummies: Vec<(OsString, String)> = Vec::new();
    for (name, value) in environment.iter_mut() {
        if is_secret_variable(&name.to_string_lossy(), value.as_encoded_bytes())
            && !value.is_empty()
            && !kept.contains(value)
        {
            let known = dummies.iter().find(|(known, _)| known == value).map(|(_, dummy)| dummy.clone());
            let dummy = known.unwrap_or_else(|| {
                Vendor::dummy_credential(&name.to_string_lossy(), &value.to_string_lossy())
            });
            dummies.push((std::mem::replace(value, OsString::from(&dummy)), dummy));
        }
    }
    // A vendor that is really asked has the user's own login, which may be a file.
    let needs_key = |vendor: &Vendor| {
        !real.is_live(vendor.name()) && (vendor.has_own_interfaces() || is_called(vendor.name()))
    };
    for names in VENDORS.into_iter().filter(needs_key).map(Vendor::key_variables) {
        let is_set =
            names.iter().any(|key| environment.iter().any(|(name, value)| name == key && !value.is_empty()));
        if let Some(key) = names.first().filter(|_| !is_set) {
            let dummy = Vendor::dummy_credential(key, "");
            set_variable(environment, key, OsString::from(&dummy));
            dummies.push((OsString::new(), dummy));
        }
    }
    dummies.into_iter().map(|(_, dummy)| dummy).collect()
}

/// Sets a variable, and removes every earlier value of it.
pub(crate) fn set_variable(environment: &mut Vec<(OsString, OsString)>, name: &str, value: OsString) {
    environment.retain(|(known, _)| known != name);
    environment.push((name.into(), value));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    fn value<'e>(environment: &'e [(OsString, OsString)], name: &str) -> Option<&'e str> {
        let mut found = environment.iter().filter(|(known, _)| known == name);
        let value = found.next().and_then(|(_, value)| value.to_str());
        assert!(found.next().is_none(), "{name} is there twice");
        value
    }

    #[test]
    fn an_agent_is_sent_to_us_and_around_its_proxy() {
        let before = pairs(&[("OPENAI_BASE_URL", "https://x"), ("NO_PROXY", "a.example"), ("PATH", "/bin")]);
        let bases: Vec<(String, String)> =
            VENDORS.map(|vendor| (vendor.name().into(), format!("http://here/{}", vendor.name()))).to_vec();
        let own = [
            ("together-ai".to_owned(), "http://here/together-ai/v1".to_owned()),
            ("openai".to_owned(), "http://here/openai/v1".to_owned()),
        ];
        let after = agent_environment(before, &[&bases[..], &own].concat());
        assert_eq!(value(&after, "OPENAI_BASE_URL"), Some("http://here/openai/v1"));
        assert_eq!(value(&after, "OPENAI_API_BASE"), Some("http://here/openai/v1"));
        assert_eq!(value(&after, "OPENAI_HOST"), Some("http://here/openai"));
        assert_eq!(value(&after, "ANTHROPIC_VERTEX_BASE_URL"), Some("http://here/vertex/v1"));
        assert_eq!(value(&after, "AZURE_OPENAI_ENDPOINT"), Some("http://here/azure"));
        assert_eq!(value(&after, "TOGETHER_AI_BASE_URL"), Some("http://here/together-ai/v1"));
        assert_eq!(value(&after, "TOGETHER_AI_API_BASE"), Some("http://here/together-ai/v1"));
        assert_eq!(value(&after, "ANTHROPIC_BASE_URL"), Some("http://here/anthropic"));
        assert_eq!(value(&after, "GOOGLE_GEMINI_BASE_URL"), Some("http://here/gemini"));
        assert_eq!(value(&after, "NO_PROXY"), Some("a.example,127.0.0.1,localhost"));
        assert_eq!(value(&after, "no_proxy"), Some("a.example,127.0.0.1,localhost"));
        assert_eq!(value(&after, "PATH"), Some("/bin"));
    }

    #[test]
    fn what_both_names_of_a_variable_said_stays_apart() {
        let after = agent_environment(pairs(&[("NO_PROXY", "a.example"), ("no_proxy", "b.example")]), &[]);
        assert_eq!(value(&after, "NO_PROXY"), Some("a.example,127.0.0.1,localhost"));
        assert_eq!(value(&after, "no_proxy"), Some("b.example,127.0.0.1,localhost"));
        let after = agent_environment(pairs(&[("NO_PROXY", "a.example"), ("no_proxy", "")]), &[]);
        assert_eq!(value(&after, "no_proxy"), Some("127.0.0.1,localhost"));
    }

    #[test]
    fn credentials_of_live_vendors_are_kept() {
        let kept = |routes: &[&str]| {
            let routes = routes.iter().map(|route| (*route).to_owned()).collect();
            let logins = ["CODEX_API_KEY", "MISTRAL_API_KEY"].map(str::to_owned);
            KeptCredentials::new(routes, logins.into())
        };
        for (name, route) in [
            ("OPENAI_API_KEY", "openai"),
            ("OPENAI_TOKEN", "openai"),
            ("GOOGLE_API_KEY", "gemini"),
            ("ANTHROPIC_AUTH_TOKEN", "anthropic"),
            ("TOGETHER_AI_API_KEY", "together-ai"),
        ] {
            assert!(kept(&["groq", route]).has_variable(name), "{name}");
            assert!(!kept(&["groq", "mistral"]).has_variable(name), "{name}");
        }
        for name in ["OPENAIX_API_KEY", "MY_OPENAI_API_KEY", "openai_api_key", "DB_PASSWORD", ""] {
            assert!(!kept(&["openai", "anthropic"]).has_variable(name), "{name}");
        }
        assert!(kept(&[]).has_variable("CODEX_API_KEY") && !kept(&[]).has_variable("OPENAI_API_KEY"));
        // The key of a vendor that was not called, although the agent could log in by it.
        assert!(!kept(&["openai"]).has_variable("MISTRAL_API_KEY"));
        // A login in a file stays the login: no key is put before it.
        let mut after = pairs(&[("CODEX_API_KEY", "real"), ("GROQ_API_KEY", "gsk-real")]);
        replace_credentials(&mut after, |_| true, &kept(&["anthropic"]));
        assert_eq!(value(&after, "ANTHROPIC_API_KEY"), None);
        assert_eq!(value(&after, "CODEX_API_KEY"), Some("real"));
        assert!(value(&after, "OPENAI_API_KEY").is_some_and(|key| key.starts_with("sk-")));
        assert_ne!(value(&after, "GROQ_API_KEY"), Some("gsk-real"));
    }

    #[test]
    fn credentials_are_exchanged_for_dummies() {
        let mut after = pairs(&[
            ("OPENAI_API_KEY", "sk-svcacct-real"),
            ("GOOGLE_API_KEY", "AIza-real"),
            ("CODEX_API_KEY", "sk-svcacct-real"),
            ("ANTHROPIC_AUTH_TOKEN", "sk-ant-oat01-real"),
            ("db_password", "hunter22"),
            ("MONKEYS", "3"),
            ("A_TOKEN", ""),
        ]);
        let dummies = replace_credentials(&mut after, |vendor| vendor == "groq", &KeptCredentials::default());
        let of = |vendor: Vendor, name: &str, like: &str| Some(vendor.dummy_key(name, like));
        let after_of = |name: &str| value(&after, name).map(str::to_owned);
        let openai = of(Vendor::OPENAI, "OPENAI_API_KEY", "sk-svcacct-");
        assert_eq!(after_of("OPENAI_API_KEY"), openai);
        // The same value in another variable is the same secret.
        assert_eq!(after_of("CODEX_API_KEY"), openai);
        assert_eq!(after_of("ANTHROPIC_API_KEY"), of(Vendor::ANTHROPIC, "ANTHROPIC_API_KEY", ""));
        assert_eq!(
            after_of("ANTHROPIC_AUTH_TOKEN"),
            of(Vendor::ANTHROPIC, "ANTHROPIC_AUTH_TOKEN", "sk-ant-oat01-")
        );
        assert_eq!(value(&after, "db_password"), Some("reenact-dummy-db_password"));
        assert_eq!(value(&after, "MONKEYS"), Some("3"));
        assert_eq!(value(&after, "A_TOKEN"), Some(""));
        // One key is enough for a vendor whose clients read two variables.
        assert_eq!(after_of("GOOGLE_API_KEY"), of(Vendor::GEMINI, "GOOGLE_API_KEY", ""));
        assert_eq!(value(&after, "GEMINI_API_KEY"), None);
        // An agent may choose its vendor by the keys that it finds: those of vendors that were not called stay away.
        assert_eq!(after_of("GROQ_API_KEY"), of(Vendor::GROQ, "GROQ_API_KEY", ""));
        assert_eq!(value(&after, "MISTRAL_API_KEY"), None);
        assert_eq!(dummies.len(), 7);
    }
}
