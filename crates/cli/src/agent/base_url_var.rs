//! `--base-url-var NAME[=[ROUTE][/PATH]]`: a variable of an agent that is not known.

use std::ffi::OsString;

use reenact_gateway::{UpstreamUrl, UpstreamUrlError, VendorRoute};
use reenact_json::Shown;
use reenact_wire::{VENDORS, Vendor};

use crate::output::CommandError;
use crate::upstreams::{MAX_NAME as MAX_ROUTE_NAME, RESERVED_NAMES as RESERVED_ROUTE_NAMES};

/// Value of `--base-url-var`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseUrlArg {
    /// Name of the variable.
    pub(crate) name: String,
    /// Route that it leads to; `None` for where the variable led before.
    route: Option<String>,
    /// Path behind the gateway's address; empty, or with a leading slash.
    path: String,
}

/// Variable, and the route to which it leads.
pub(super) struct BaseUrlVariable {
    pub(super) name: String,
    pub(super) route: String,
    path: String,
}

/// Parses `NAME`, `NAME=/PATH`, `NAME=ROUTE` and `NAME=ROUTE/PATH`, for clap.
pub(crate) fn base_url_arg(text: &str) -> Result<BaseUrlArg, String> {
    let (name, rest) = text.split_once('=').unwrap_or((text, ""));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty()
        || name.len() > 128
        || name.starts_with(|c: char| c.is_ascii_digit())
        || !name.chars().all(is_plain)
    {
        return Err("write it as NAME or NAME=/PATH, such as ACME_BASE_URL=/v1".into());
    }
    let (route, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    if path.len() > 256
        || !path.chars().all(is_path)
        || path.split('/').any(|part| part == ".." || part == ".")
    {
        return Err("a path is of letters, digits, slashes, dots and hyphens, such as /v1".into());
    }
    let route = (!route.is_empty()).then(|| route.to_owned());
    Ok(BaseUrlArg { name: name.to_owned(), route, path: path.trim_end_matches('/').to_owned() })
}

impl BaseUrlVariable {
    /// Finds the route of a variable, or adds one to where the variable leads now.
    ///
    /// # Errors
    ///
    /// If the route that is named is none, or the value of the variable is no address.
    pub(super) fn new(
        argument: &BaseUrlArg,
        value: Option<OsString>,
        routes: &mut Vec<VendorRoute>,
    ) -> Result<Self, CommandError> {
        let (name, path) = (argument.name.clone(), argument.path.clone());
        let variable = |route: String| Self { name: name.clone(), route, path: path.clone() };
        if let Some(given) = &argument.route {
            if !routes.iter().any(|route| route.name == *given) {
                let known: Vec<&str> = routes.iter().map(|route| route.name.as_str()).collect();
                return Err(CommandError::impossible(format!(
                    "--base-url-var {name}: there is no route {}; there is: {}",
                    Shown::new(given),
                    known.join(", ")
                )));
            }
            return Ok(variable(given.clone()));
        }
        // A vendor's own variable has its route already; any other without a value speaks the interface that most speak.
        let vendor =
            VENDORS.iter().find(|vendor| vendor.base_variables().iter().any(|known| known.name() == name));
        let Some(value) = value.filter(|value| !value.is_empty() && vendor.is_none()) else {
            return Ok(variable(vendor.copied().unwrap_or(Vendor::of_route(&name)).name().to_owned()));
        };
        let upstream: UpstreamUrl = value
            .to_string_lossy()
            .parse()
            .map_err(|error: UpstreamUrlError| CommandError::impossible(format!("{name}: {error}")))?;
        let route = route_name(name.as_str(), &upstream, routes);
        if !routes.iter().any(|known| known.name == route) {
            let vendor = Vendor::named_in(&upstream.to_string()).unwrap_or(Vendor::of_route(&route));
            routes.push(VendorRoute { name: route.clone(), vendor, upstream });
        }
        Ok(variable(route))
    }

    /// Returns the value of the variable: the gateway's address of the route, and the path.
    pub(super) fn value(&self, base: &dyn Fn(&str) -> Option<String>) -> Result<String, CommandError> {
        let address = base(&self.route).ok_or_else(|| {
            CommandError::impossible(format!("--base-url-var {}: its route has no address", self.name))
        })?;
        Ok(format!("{address}{}", self.path))
    }
}

/// Returns the name of the route of a variable: made of the variable's name, and with a number behind it if a route to another
/// address has that name, or it means something else.
fn route_name(variable: &str, upstream: &UpstreamUrl, routes: &[VendorRoute]) -> String {
    let plain: String = variable.to_ascii_lowercase().replace('_', "-");
    let numbered = |number: usize| {
        let end = if number == 1 { String::new() } else { format!("-{number}") };
        plain.chars().take(MAX_ROUTE_NAME - end.len()).collect::<String>() + &end
    };
    let is_free = |name: &String| {
        let known = routes.iter().find(|route| route.name == *name);
        match known {
            Some(known) => known.upstream.to_string() == upstream.to_string(),
            None => Vendor::of_name(name).is_none() && !RESERVED_ROUTE_NAMES.contains(&name.as_str()),
        }
    };
    // There are fewer routes and reserved names than numbers.
    (1..).map(numbered).find(is_free).unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_read() {
        let read = |text| base_url_arg(text).map(|arg| (arg.name, arg.route, arg.path));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read("A_URL"), Ok(("A_URL".into(), None, String::new())));
        assert_eq!(read("A_URL=/v1/"), Ok(("A_URL".into(), None, "/v1".into())));
        assert_eq!(read("A_URL=acme/v1"), Ok(("A_URL".into(), some("acme"), "/v1".into())));
        assert_eq!(read("A_URL=acme"), Ok(("A_URL".into(), some("acme"), String::new())));
        for text in ["", "=x", "1A", "A B", "A=/../x", "A=/a?b"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_variable_leads_to_where_it_led_before() {
        let mut routes = Vec::new();
        let argument = base_url_arg("ACME_URL=/v1").unwrap();
        let variable =
            BaseUrlVariable::new(&argument, Some("http://localhost:1/x".into()), &mut routes).unwrap();
        assert_eq!(routes.len(), 1);
        assert_eq!(
            (routes[0].name.as_str(), routes[0].upstream.to_string().as_str()),
            ("acme-url", "http://localhost:1/x")
        );
        let value = variable.value(&|route| Some(format!("http://here/{route}"))).unwrap();
        assert_eq!(value, "http://here/acme-url/v1");
        assert!(BaseUrlVariable::new(&base_url_arg("A=other").unwrap(), None, &mut routes).is_err());
    }

    #[test]
    fn variables_of_other_addresses_have_routes_of_their_own() {
        let (us, eu) = ("INTERNAL_PLATFORM_GATEWAY_OPENAI_US_URL", "INTERNAL_PLATFORM_GATEWAY_OPENAI_EU_URL");
        let mut routes: Vec<VendorRoute> = Vec::new();
        let mut route = |name: &str, value: &str| {
            let argument = base_url_arg(name).unwrap();
            BaseUrlVariable::new(&argument, Some(value.into()), &mut routes).unwrap().route
        };
        assert_eq!(route(us, "http://us.example"), "internal-platform-gateway-openai");
        assert_eq!(route(eu, "http://eu.example"), "internal-platform-gateway-open-2");
        // The same address needs one route.
        assert_eq!(
            route("INTERNAL_PLATFORM_GATEWAY_OPENAI_XX", "http://us.example"),
            route(us, "http://us.example")
        );
        // A vendor's name stays the vendor's, also where the vendor has no route yet.
        assert_eq!(route("GROQ", "http://g.example"), "groq-2");
        assert_eq!(route("REPORT", "http://r.example"), "report-2");
        assert_eq!(route("_A", "http://a.example"), "-a");
        let upstreams: Vec<String> = routes.iter().map(|route| route.upstream.to_string()).collect();
        assert_eq!(
            upstreams,
            [
                "http://us.example",
                "http://eu.example",
                "http://g.example",
                "http://r.example",
                "http://a.example"
            ]
        );
    }
}
