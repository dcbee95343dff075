//! The variables by which agents find their vendors: what is read before a run, and what the agent is given instead.

use std::ffi::{OsStr, OsString};

use reenact_gateway::{Gateway, Route, UpstreamUrl};
use reenact_wire::{VENDORS, Vendor};

use crate::output::Ending;

/// `NAME=URL`, as `--upstream` takes it.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    vendor: Vendor,
    url: UpstreamUrl,
}

/// Reads the name of a vendor, for clap.
pub(crate) fn vendor(name: &str) -> Result<Vendor, String> {
    Vendor::of_name(name).ok_or_else(|| format!("no such vendor; there is: {}", names(", ")))
}

/// Reads `NAME=URL`, for clap.
pub(crate) fn upstream(text: &str) -> Result<Upstream, String> {
    let (name, url) =
        text.split_once('=').ok_or("write it as NAME=URL, such as openai=http://localhost:8080/v1")?;
    let vendor = vendor(name)?;
    let url = url.parse().map_err(|error: reenact_gateway::UpstreamUrlError| error.to_string())?;
    Ok(Upstream { vendor, url })
}

/// Where each vendor's requests go: what the command says, else what the variable says, else the vendor's own address.
pub(crate) fn routes(
    asked: &[Upstream],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<Route>, Ending> {
    VENDORS.into_iter().map(|vendor| Ok(Route::to(vendor, address(vendor, asked, &variable)?))).collect()
}

/// The names of all vendors.
pub(crate) fn names(separator: &str) -> String {
    VENDORS.map(Vendor::name).join(separator)
}

/// The variables from which vendors' clients read their base addresses, the current name of each, in words: `A, B or C`.
pub(crate) fn base_variables() -> String {
    let names: Vec<&str> =
        VENDORS.iter().filter_map(|vendor| vendor.base_variables().first()).copied().collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn address(
    vendor: Vendor,
    asked: &[Upstream],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<UpstreamUrl, Ending> {
    if let Some(asked) = asked.iter().rev().find(|asked| asked.vendor == vendor) {
        return Ok(asked.url.clone());
    }
    let mut names = vendor.base_variables().iter();
    let set = names.find_map(|name| Some((*name, variable(name).filter(|value| !value.is_empty())?)));
    let (name, text) = match set {
        Some((name, value)) => (name, value.to_string_lossy().into_owned()),
        None => ("", vendor.base_url()),
    };
    // The value of the variable is not repeated: it may hold a password.
    text.parse()
        .map_err(|error: reenact_gateway::UpstreamUrlError| Ending::impossible(format!("{name}: {error}")))
}

/// The whole environment of an agent whose requests are to come to us. `base` tells where, by the name of a route.
pub(crate) fn environment(
    before: impl IntoIterator<Item = (OsString, OsString)>,
    base: impl Fn(&str) -> Option<String>,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = before.into_iter().collect();
    for vendor in VENDORS {
        if let Some(url) = base(vendor.name()) {
            vendor.base_variables().iter().for_each(|name| set(&mut environment, name, OsString::from(&url)));
        }
    }
    // Both are read, by different clients.
    for name in ["NO_PROXY", "no_proxy"] {
        let before = environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let mut value = before.filter(|value| !value.is_empty()).unwrap_or_default();
        if !value.is_empty() {
            value.push(",");
        }
        value.push("127.0.0.1,localhost");
        set(&mut environment, name, value);
    }
    environment
}

/// Where an agent may tell of itself.
pub(crate) const REPORT_URL: &str = "REENACT_REPORT_URL";

/// The base addresses that a gateway gives out.
pub(crate) fn base_of(gateway: &Gateway) -> impl Fn(&str) -> Option<String> + '_ {
    |route| gateway.base_url(route)
}

/// Takes the credentials out of an environment and puts others in, which open nothing. Each keeps its name, since agents
/// look for it; and vendors' clients do not start without theirs. Gives the new values.
pub(crate) fn take_out_credentials(environment: &mut Vec<(OsString, OsString)>) -> Vec<String> {
    let dummy = |name: &OsStr| format!("reenact-dummy-{}", name.to_string_lossy());
    let mut dummies = Vec::new();
    for (name, value) in environment.iter_mut() {
        if is_secret_name(&name.to_string_lossy()) && !value.is_empty() {
            dummies.push(dummy(name));
            *value = OsString::from(dummy(name));
        }
    }
    for names in VENDORS.map(Vendor::key_variables) {
        let is_set =
            names.iter().any(|key| environment.iter().any(|(name, value)| name == key && !value.is_empty()));
        if let Some(key) = names.first().filter(|_| !is_set) {
            dummies.push(dummy(OsStr::new(key)));
            set(environment, key, OsString::from(dummy(OsStr::new(key))));
        }
    }
    dummies
}

/// Whether a variable of that name holds a secret, as far as its name tells.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|end| name.ends_with(end))
}

fn set(environment: &mut Vec<(OsString, OsString)>, name: &str, value: OsString) {
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
    fn the_command_line_comes_before_the_variable_and_the_variable_before_the_default() {
        let variable =
            |name: &str| (name == "OPENAI_API_BASE").then(|| OsString::from("http://localhost:1/x/"));
        let urls = |asked: &[Upstream]| -> Vec<String> {
            routes(asked, variable).unwrap().iter().map(|route| route.upstream.to_string()).collect()
        };
        let gemini = "https://generativelanguage.googleapis.com";
        assert_eq!(urls(&[]), ["http://localhost:1/x", "https://api.anthropic.com", gemini]);
        let asked = [
            upstream("openai=http://localhost:2").unwrap(),
            upstream("anthropic=https://a.example/b").unwrap(),
        ];
        assert_eq!(urls(&asked), ["http://localhost:2", "https://a.example/b", gemini]);
    }

    #[test]
    fn a_variable_that_is_no_address_is_named() {
        let variable =
            |name: &str| (name == "OPENAI_BASE_URL").then(|| OsString::from("https://u:p@host/v1"));
        let Err(Ending::Failed { code: 2, message }) = routes(&[], variable) else { panic!("it was taken") };
        assert_eq!(
            message,
            "OPENAI_BASE_URL: an address with credentials in it would be recorded; leave them out"
        );
    }

    #[test]
    fn upstreams_that_cannot_be_read() {
        assert_eq!(
            upstream("openai").unwrap_err(),
            "write it as NAME=URL, such as openai=http://localhost:8080/v1"
        );
        assert_eq!(
            upstream("acme=http://a").unwrap_err(),
            "no such vendor; there is: openai, anthropic, gemini"
        );
        assert_eq!(upstream("openai=ftp://a").unwrap_err(), "the scheme must be http or https");
    }

    #[test]
    fn an_agent_is_sent_to_us_and_around_its_proxy() {
        let before = pairs(&[("OPENAI_BASE_URL", "https://x"), ("NO_PROXY", "a.example"), ("PATH", "/bin")]);
        let after = environment(before, |route| Some(format!("http://here/{route}")));
        assert_eq!(value(&after, "OPENAI_BASE_URL"), Some("http://here/openai"));
        assert_eq!(value(&after, "OPENAI_API_BASE"), Some("http://here/openai"));
        assert_eq!(value(&after, "ANTHROPIC_BASE_URL"), Some("http://here/anthropic"));
        assert_eq!(value(&after, "GOOGLE_GEMINI_BASE_URL"), Some("http://here/gemini"));
        assert_eq!(value(&after, "NO_PROXY"), Some("a.example,127.0.0.1,localhost"));
        assert_eq!(value(&after, "no_proxy"), Some("127.0.0.1,localhost"));
        assert_eq!(value(&after, "PATH"), Some("/bin"));
    }

    #[test]
    fn credentials_are_exchanged_for_dummies() {
        let mut after = pairs(&[
            ("OPENAI_API_KEY", "sk-real"),
            ("GOOGLE_API_KEY", "AIza-real"),
            ("db_password", "hunter22"),
            ("MONKEYS", "3"),
            ("A_TOKEN", ""),
        ]);
        let dummies = take_out_credentials(&mut after);
        assert_eq!(value(&after, "OPENAI_API_KEY"), Some("reenact-dummy-OPENAI_API_KEY"));
        assert_eq!(value(&after, "ANTHROPIC_API_KEY"), Some("reenact-dummy-ANTHROPIC_API_KEY"));
        assert_eq!(value(&after, "db_password"), Some("reenact-dummy-db_password"));
        assert_eq!(value(&after, "MONKEYS"), Some("3"));
        assert_eq!(value(&after, "A_TOKEN"), Some(""));
        // One key is enough for a vendor whose clients read two variables.
        assert_eq!(value(&after, "GOOGLE_API_KEY"), Some("reenact-dummy-GOOGLE_API_KEY"));
        assert_eq!(value(&after, "GEMINI_API_KEY"), None);
        assert_eq!(dummies.len(), 4);
    }
}
