//! Where the requests of each vendor go: the routes of a gateway, from `--upstream`, the environment, and the vendors' own addresses.
//!
//! Start reading at [`routes`].

use std::ffi::OsString;

use reenact_gateway::{UpstreamUrl, VendorRoute};
use reenact_wire::{VENDORS, Vendor};

use crate::output::CommandError;

/// Value of `--upstream NAME=URL`.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamArg {
    /// Name of a vendor, or one of the user's own for a server that speaks OpenAI's interface.
    name: String,
    /// Base URL to which the paths of requests are appended.
    url: UpstreamUrl,
}

/// Longest name of an upstream.
pub(crate) const MAX_NAME: usize = 32;

/// Names that mean something else: the path for reports on the gateway, and the day in a table of prices.
pub(crate) const RESERVED_NAMES: [&str; 2] = ["report", "date"];

impl UpstreamArg {
    /// Returns the name of the route and its address.
    pub(crate) fn route_and_url(&self) -> (String, String) {
        (self.name.clone(), self.url.to_string())
    }
}

/// Parses `NAME=URL`, for clap.
pub(crate) fn upstream(text: &str) -> Result<UpstreamArg, String> {
    let (name, url) =
        text.split_once('=').ok_or("write it as NAME=URL, such as openai=http://localhost:8080/v1")?;
    if !is_route_name(name) {
        return Err(format!(
            "a name has up to {MAX_NAME} of a-z, 0-9, - and _; those with variables of their own are: {}",
            crate::vendors::names(", ")
        ));
    }
    if RESERVED_NAMES.contains(&name) {
        return Err("this name means something else here; choose another".into());
    }
    let url = url.parse().map_err(|error: reenact_gateway::UpstreamUrlError| error.to_string())?;
    Ok(UpstreamArg { name: name.to_owned(), url })
}

/// Returns true for a name that a route may have. It stands in addresses, in variables and in records.
pub(crate) fn is_route_name(name: &str) -> bool {
    let is_allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Returns the route of each vendor: to the URL of `--upstream`, else of its environment variables, else its public address, if it
/// has one. The routes of other names that `--upstream` gives follow.
///
/// # Errors
///
/// If a variable holds no URL, or one with credentials in it, which would be recorded.
pub(crate) fn routes(
    given: &[UpstreamArg],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<VendorRoute>, CommandError> {
    let mut routes = Vec::new();
    for vendor in VENDORS {
        if let Some(url) = upstream_url(vendor, given, &variable)? {
            routes.push(VendorRoute::to(vendor, url));
        }
    }
    redirect(&mut routes, given);
    Ok(routes)
}

/// Leads the routes that are given to their addresses; those that are not there are added.
pub(crate) fn redirect(routes: &mut Vec<VendorRoute>, given: &[UpstreamArg]) {
    for UpstreamArg { name, url } in given {
        match routes.iter_mut().find(|route| route.name == *name) {
            // The last one given counts.
            Some(route) => route.upstream = url.clone(),
            None => routes.push(named_route(name, url.clone())),
        }
    }
}

/// Returns the routes under which a run was recorded, because their paths are part of its requests. `recorded` are the names and URLs
/// in its record. A vendor that the record does not mention has the route to its public address.
///
/// # Errors
///
/// As [`routes`].
pub(crate) fn recorded_routes<'r>(
    recorded: impl IntoIterator<Item = (&'r str, &'r str)>,
) -> Result<Vec<VendorRoute>, CommandError> {
    // A record may come from anywhere: names that no recorder writes are left out.
    let given: Vec<UpstreamArg> = recorded
        .into_iter()
        .filter(|(name, _)| is_route_name(name) && !RESERVED_NAMES.contains(name))
        .filter_map(|(name, url)| Some(UpstreamArg { name: name.to_owned(), url: url.parse().ok()? }))
        .collect();
    routes(&given, |_| None)
}

/// Returns the route of a name: that of its vendor, or one that speaks OpenAI's interface.
fn named_route(name: &str, upstream: UpstreamUrl) -> VendorRoute {
    VendorRoute { name: name.to_owned(), vendor: Vendor::of_route(name), upstream }
}

/// Returns the URL to which a vendor's requests are forwarded; `None` if nothing names one. The last `--upstream` for the vendor wins.
fn upstream_url(
    vendor: Vendor,
    given: &[UpstreamArg],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<UpstreamUrl>, CommandError> {
    if let Some(chosen) = given.iter().rev().find(|chosen| chosen.name == vendor.name()) {
        return Ok(Some(chosen.url.clone()));
    }
    let mut variables = vendor.base_variables().iter();
    let set =
        variables.find_map(|known| Some((known, variable(known.name()).filter(|value| !value.is_empty())?)));
    let (name, text) = match set {
        Some((known, value)) => (known.name(), Some(known.base_url(&value.to_string_lossy()))),
        None => ("", vendor.base_url()),
    };
    let Some(text) = text else { return Ok(None) };
    // The message does not repeat the value of the variable, which may hold a password.
    text.parse().map(Some).map_err(|error: reenact_gateway::UpstreamUrlError| {
        CommandError::impossible(format!("{name}: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names and addresses of all routes.
    fn urls(given: &[&str], variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let given: Vec<UpstreamArg> = given.iter().map(|text| upstream(text).unwrap()).collect();
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        let routes = routes(&given, variable).unwrap();
        routes.into_iter().map(|route| (route.name, route.upstream.to_string())).collect()
    }

    fn url_of(urls: &[(String, String)], name: &str) -> Option<String> {
        urls.iter().find(|(known, _)| known == name).map(|(_, url)| url.clone())
    }

    #[test]
    fn the_command_line_comes_before_the_variable_and_the_variable_before_the_default() {
        let variables = [("OPENAI_API_BASE", "http://localhost:1/x/")];
        let by_variable = urls(&[], &variables);
        assert_eq!(url_of(&by_variable, "openai").as_deref(), Some("http://localhost:1/x"));
        assert_eq!(url_of(&by_variable, "anthropic").as_deref(), Some("https://api.anthropic.com"));
        let given =
            ["openai=http://localhost:2", "anthropic=https://a.example/b", "openai=http://localhost:3"];
        let by_hand = urls(&given, &variables);
        assert_eq!(url_of(&by_hand, "openai").as_deref(), Some("http://localhost:3"));
        assert_eq!(url_of(&by_hand, "anthropic").as_deref(), Some("https://a.example/b"));
    }

    #[test]
    fn each_variable_is_read_as_its_clients_read_it() {
        let read =
            |variable: &str, value: &str, vendor: &str| url_of(&urls(&[], &[(variable, value)]), vendor);
        for (variable, value, vendor, url) in [
            ("OPENAI_HOST", "https://corp.example", "openai", "https://corp.example/v1"),
            ("GROQ_BASE_URL", "https://corp.example", "groq", "https://corp.example/openai/v1"),
            ("ANTHROPIC_VERTEX_BASE_URL", "https://r.example/v1", "vertex", "https://r.example"),
            ("OLLAMA_HOST", "0.0.0.0", "ollama", "http://127.0.0.1:11434"),
            ("GEMINI_API_BASE", "https://g.example/v1beta", "gemini", "https://g.example"),
        ] {
            assert_eq!(read(variable, value, vendor).as_deref(), Some(url), "{variable}");
        }
    }

    #[test]
    fn a_vendor_without_an_address_has_a_route_only_if_one_is_given() {
        let urls_of_azure =
            |given: &[&str], variables: &[(&str, &str)]| url_of(&urls(given, variables), "azure");
        assert_eq!(urls_of_azure(&[], &[]), None);
        let me = Some("https://me.example".to_owned());
        assert_eq!(urls_of_azure(&["azure=https://me.example"], &[]), me);
        assert_eq!(urls_of_azure(&[], &[("AZURE_OPENAI_ENDPOINT", "https://me.example/")]), me);
        assert_eq!(urls_of_azure(&[], &[("AZURE_API_BASE", "https://me.example/")]), me);
    }

    #[test]
    fn a_name_of_ones_own_speaks_the_interface_of_openai() {
        let given = [upstream("together_ai=https://t.example/v1").unwrap()];
        let routes = routes(&given, |_| None).unwrap();
        let route = routes.last().unwrap();
        assert_eq!((route.name.as_str(), route.vendor), ("together_ai", Vendor::OPENAI));
        let recorded = recorded_routes([
            ("together_ai", "https://t.example/v1"),
            ("../x", "https://u.example"),
            ("report", "https://v.example"),
            ("azure", "https://me.example"),
        ]);
        let recorded: Vec<String> = recorded.unwrap().into_iter().map(|route| route.name).collect();
        assert!(recorded.contains(&"together_ai".to_owned()) && recorded.contains(&"azure".to_owned()));
        assert!(!recorded.iter().any(|name| matches!(name.as_str(), "../x" | "report")));
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
        for name in ["", "Acme", "a.b", "a/b", "a b", "é", &"a".repeat(33)] {
            let error = upstream(&format!("{name}=http://a")).unwrap_err();
            assert!(error.starts_with("a name has up to 32 of a-z, 0-9, - and _; "), "{name}: {error}");
        }
        assert_eq!(
            upstream("report=http://a").unwrap_err(),
            "this name means something else here; choose another"
        );
        assert_eq!(upstream("openai=ftp://a").unwrap_err(), "the scheme must be http or https");
    }
}
