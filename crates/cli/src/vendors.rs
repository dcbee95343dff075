//! The environment variables by which agents find their vendors: read before a run, and replaced for the agent.
//!
//! Clients read the address of their vendor from variables such as `OPENAI_BASE_URL`. A recorded or replayed
//! agent gets the address of the gateway there, so that no code of the agent changes. A replayed agent also
//! gets dummy credentials. Start reading at [`routes`] and [`agent_environment`].

use std::ffi::{OsStr, OsString};

use reenact_gateway::{Gateway, UpstreamUrl, VendorRoute};
use reenact_secrets::command_line::is_secret_variable;
use reenact_wire::{VENDORS, Vendor};

use crate::output::CommandError;

/// Value of `--upstream NAME=URL`.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamArg {
    /// Vendor whose requests are forwarded.
    vendor: Vendor,
    /// Base URL to which the paths of requests are appended.
    url: UpstreamUrl,
}

/// Parses the name of a vendor, for clap.
pub(crate) fn vendor(name: &str) -> Result<Vendor, String> {
    Vendor::of_name(name).ok_or_else(|| format!("no such vendor; there is: {}", names(", ")))
}

/// Parses `NAME=URL`, for clap.
pub(crate) fn upstream(text: &str) -> Result<UpstreamArg, String> {
    let (name, url) =
        text.split_once('=').ok_or("write it as NAME=URL, such as openai=http://localhost:8080/v1")?;
    let vendor = vendor(name)?;
    let url = url.parse().map_err(|error: reenact_gateway::UpstreamUrlError| error.to_string())?;
    Ok(UpstreamArg { vendor, url })
}

/// Returns the route of each vendor: to the URL of `--upstream`, else of its environment variable, else its
/// public address.
///
/// # Errors
///
/// If a variable holds no URL, or one with credentials in it, which would be recorded.
pub(crate) fn routes(
    overrides: &[UpstreamArg],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<VendorRoute>, CommandError> {
    VENDORS
        .into_iter()
        .map(|vendor| Ok(VendorRoute::to(vendor, upstream_url(vendor, overrides, &variable)?)))
        .collect()
}

/// Returns the names of all vendors, joined by `separator`.
pub(crate) fn names(separator: &str) -> String {
    VENDORS.map(Vendor::name).join(separator)
}

/// Returns the current base URL variable of each vendor as a phrase: `A, B or C`.
pub(crate) fn base_variables() -> String {
    let names: Vec<&str> =
        VENDORS.iter().filter_map(|vendor| vendor.base_variables().first()).copied().collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns the URL to which a vendor's requests are forwarded. The last `--upstream` for the vendor wins.
fn upstream_url(
    vendor: Vendor,
    overrides: &[UpstreamArg],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<UpstreamUrl, CommandError> {
    if let Some(chosen) = overrides.iter().rev().find(|chosen| chosen.vendor == vendor) {
        return Ok(chosen.url.clone());
    }
    let mut names = vendor.base_variables().iter();
    let set = names.find_map(|name| Some((*name, variable(name).filter(|value| !value.is_empty())?)));
    let (name, text) = match set {
        Some((name, value)) => (name, value.to_string_lossy().into_owned()),
        None => ("", vendor.base_url()),
    };
    // The message does not repeat the value of the variable, which may hold a password.
    text.parse().map_err(|error: reenact_gateway::UpstreamUrlError| {
        CommandError::impossible(format!("{name}: {error}"))
    })
}

/// Returns the whole environment of an agent whose requests must reach the gateway.
///
/// `base` returns the gateway's base URL for the name of a route. All base URL variables of a vendor are set,
/// old names too, and loopback is exempted from proxies.
pub(crate) fn agent_environment(
    before: impl IntoIterator<Item = (OsString, OsString)>,
    base: impl Fn(&str) -> Option<String>,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = before.into_iter().collect();
    for vendor in VENDORS {
        if let Some(url) = base(vendor.name()) {
            vendor
                .base_variables()
                .iter()
                .for_each(|name| set_variable(&mut environment, name, OsString::from(&url)));
        }
    }
    // Some clients read the upper-case name, others the lower-case one.
    for name in ["NO_PROXY", "no_proxy"] {
        let before = environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let mut value = before.filter(|value| !value.is_empty()).unwrap_or_default();
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

/// Returns a function from the name of a route to its base URL on the gateway.
pub(crate) fn base_urls(gateway: &Gateway) -> impl Fn(&str) -> Option<String> + '_ {
    |route| gateway.base_url(route)
}

/// Replaces the credentials in an environment by dummies, and returns the dummies.
///
/// Each variable stays, because agents look for it. A vendor without any key gets a dummy one, because its
/// client does not start without a key.
pub(crate) fn replace_credentials(environment: &mut Vec<(OsString, OsString)>) -> Vec<String> {
    let dummy = |name: &OsStr| format!("reenact-dummy-{}", name.to_string_lossy());
    let mut dummies = Vec::new();
    for (name, value) in environment.iter_mut() {
        if is_secret_variable(&name.to_string_lossy(), value.as_encoded_bytes()) && !value.is_empty() {
            dummies.push(dummy(name));
            *value = OsString::from(dummy(name));
        }
    }
    for names in VENDORS.map(Vendor::key_variables) {
        let is_set =
            names.iter().any(|key| environment.iter().any(|(name, value)| name == key && !value.is_empty()));
        if let Some(key) = names.first().filter(|_| !is_set) {
            dummies.push(dummy(OsStr::new(key)));
            set_variable(environment, key, OsString::from(dummy(OsStr::new(key))));
        }
    }
    dummies
}

/// Sets a variable, and removes every earlier value of it.
fn set_variable(environment: &mut Vec<(OsString, OsString)>, name: &str, value: OsString) {
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
        let urls = |overrides: &[UpstreamArg]| -> Vec<String> {
            routes(overrides, variable).unwrap().iter().map(|route| route.upstream.to_string()).collect()
        };
        let gemini = "https://generativelanguage.googleapis.com";
        assert_eq!(urls(&[]), ["http://localhost:1/x", "https://api.anthropic.com", gemini]);
        let overrides = [
            upstream("openai=http://localhost:2").unwrap(),
            upstream("anthropic=https://a.example/b").unwrap(),
        ];
        assert_eq!(urls(&overrides), ["http://localhost:2", "https://a.example/b", gemini]);
    }

    #[test]
    fn a_variable_that_is_no_address_is_named() {
        let variable =
            |name: &str| (name == "OPENAI_BASE_URL").then(|| OsString::from("https://u:p@host/v1"));
        let Err(CommandError::Failed { code: 2, message }) = routes(&[], variable) else {
            panic!("it was taken")
        };
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
        let after = agent_environment(before, |route| Some(format!("http://here/{route}")));
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
        let dummies = replace_credentials(&mut after);
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
