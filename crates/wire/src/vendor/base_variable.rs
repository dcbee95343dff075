//! Environment variables from which clients read the base address of a vendor, and what each of them holds.
//!
//! Clients disagree on where the base address ends: one adds `/v1` to what it reads, another expects it there. Start reading at
//! [`BaseVariable`].

/// Environment variable from which clients read the base address of a vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaseVariable {
    name: &'static str,
    form: AddressForm,
}

/// Relation between the value of a variable and the base address of its vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressForm {
    /// The base address itself.
    Base,
    /// The base address without this end, which the variable's clients add.
    Without(&'static str),
    /// The base address and this end, which the variable's clients do not add.
    With(&'static str),
    /// The base address, or an address to listen on: scheme, host and port may be missing. Holds the default port.
    Listen(u16),
}

impl BaseVariable {
    /// Makes a variable that holds the base address itself.
    pub(crate) const fn base(name: &'static str) -> Self {
        Self { name, form: AddressForm::Base }
    }

    /// Makes a variable whose clients add `end` to its value to get the base address.
    pub(crate) const fn without(name: &'static str, end: &'static str) -> Self {
        Self { name, form: AddressForm::Without(end) }
    }

    /// Makes a variable that holds the base address and `end`.
    pub(crate) const fn with(name: &'static str, end: &'static str) -> Self {
        Self { name, form: AddressForm::With(end) }
    }

    /// Makes a variable that may also hold what a server listens on, such as `0.0.0.0`.
    pub(crate) const fn listen(name: &'static str, port: u16) -> Self {
        Self { name, form: AddressForm::Listen(port) }
    }

    /// Returns the name of the variable.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the value with which the variable's clients use this base address.
    ///
    /// ```
    /// use reenact_wire::Vendor;
    ///
    /// let values = Vendor::OPENAI.base_variables().iter().map(|variable| variable.value("http://here/v1"));
    /// assert_eq!(values.collect::<Vec<_>>(), ["http://here/v1", "http://here/v1", "http://here"]);
    /// ```
    pub fn value(&self, base_url: &str) -> String {
        let base_url = base_url.trim_end_matches('/');
        match self.form {
            AddressForm::Base | AddressForm::Listen(_) => base_url.to_owned(),
            AddressForm::Without(end) => base_url.strip_suffix(end).unwrap_or(base_url).to_owned(),
            AddressForm::With(end) => with_end(base_url, end),
        }
    }

    /// Returns the base address that the variable's clients use if it has this value.
    pub fn base_url(&self, value: &str) -> String {
        let value = value.trim().trim_end_matches('/');
        match self.form {
            AddressForm::Base => value.to_owned(),
            AddressForm::Without(end) => with_end(value, end),
            AddressForm::With(end) => value.strip_suffix(end).unwrap_or(value).to_owned(),
            AddressForm::Listen(port) => connect_address(value, port),
        }
    }
}

/// Returns a text with an end that it may have already.
fn with_end(text: &str, end: &str) -> String {
    if text.ends_with(end) { text.to_owned() } else { format!("{text}{end}") }
}

/// Returns the address at which a server is reached that listens on this one. An address with a scheme is returned as it is.
fn connect_address(value: &str, default_port: u16) -> String {
    if value.contains("://") {
        return value.to_owned();
    }
    let (authority, path) = value.split_at(value.find('/').unwrap_or(value.len()));
    // An IPv6 host has colons of its own, and stands in brackets.
    let port_at = authority.rfind(':').filter(|at| !authority[*at..].contains(']'));
    let (host, port) = match port_at {
        Some(at) => (&authority[..at], &authority[at + 1..]),
        None => (authority, ""),
    };
    let host = match host {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        host => host,
    };
    let port = if port.is_empty() { default_port.to_string() } else { port.to_owned() };
    format!("http://{host}:{port}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_there_and_back() {
        for (variable, base_url, value) in [
            (BaseVariable::base("A"), "http://h/v1", "http://h/v1"),
            (BaseVariable::without("A", "/v1"), "http://h/x/v1", "http://h/x"),
            (BaseVariable::with("A", "/v1"), "http://h/x", "http://h/x/v1"),
            (BaseVariable::listen("A", 1), "http://h:9/x", "http://h:9/x"),
        ] {
            assert_eq!(variable.value(base_url), value, "{variable:?}");
            assert_eq!(variable.base_url(value), base_url, "{variable:?}");
            assert_eq!(variable.base_url(&format!(" {value}/ ")), base_url, "{variable:?}");
        }
        // A value that has the end already, or lacks it, is taken for what it means.
        assert_eq!(BaseVariable::without("A", "/v1").base_url("http://h/v1"), "http://h/v1");
        assert_eq!(BaseVariable::without("A", "/v1").value("http://h/x"), "http://h/x");
        assert_eq!(BaseVariable::with("A", "/v1").base_url("http://h/x"), "http://h/x");
    }

    #[test]
    fn addresses_to_listen_on() {
        let variable = BaseVariable::listen("A", 11434);
        for (value, base_url) in [
            ("", "http://127.0.0.1:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            (":80", "http://127.0.0.1:80"),
            ("box.lan", "http://box.lan:11434"),
            ("box.lan:80/x/", "http://box.lan:80/x"),
            ("[::]", "http://[::1]:11434"),
            ("[::]:80", "http://[::1]:80"),
            ("https://box.lan", "https://box.lan"),
        ] {
            assert_eq!(variable.base_url(value), base_url, "{value}");
        }
    }
}
