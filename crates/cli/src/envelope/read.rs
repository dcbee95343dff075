//! `[envelope]` in TOML → JSON. Whatever is wrong is refused with its line, its field, and what is allowed there.

use std::fmt;

use reenact_formats::rer::time;
use reenact_json::canonical::write_string;
use reenact_json::writer::ObjectWriter;
use reenact_json::{Jcs, Limits, Shown, Value, canonical};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong with a TOML document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// From 1.
    pub(crate) line: usize,
    /// Such as `envelope.limits.max_steps`. Untrusted text.
    pub(crate) field: String,
    /// What is wrong, and what is allowed. Safe to print.
    pub(crate) problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => write!(f, "line {}: {}", self.line, self.problem),
            field => write!(f, "line {}: {}: {}", self.line, Shown::new(field), self.problem),
        }
    }
}

/// The table of a document, and where things stand in it.
pub(crate) struct Reader<'t> {
    pub(crate) text: &'t str,
}

pub(crate) type Entry<'t, 'd> = (&'d Spanned<std::borrow::Cow<'t, str>>, &'d Spanned<DeValue<'t>>);

/// The envelope of a document as canonical JSON.
pub(super) fn toml(text: &str) -> Result<Vec<u8>, Fault> {
    let reader = Reader { text };
    let document = reader.document()?;
    let Some(envelope) = document.get_ref().get("envelope") else {
        return Err(Fault {
            line: 1,
            field: String::new(),
            problem: "there is no table [envelope] in it".into(),
        });
    };
    let table = reader.table("envelope", envelope)?;
    let json = reader.envelope(table, envelope.span().start)?;
    let value = Value::parse(&json, &Limits::default());
    let json = value.ok().and_then(|value| canonical::to_vec(value, Jcs).ok());
    json.ok_or_else(|| reader.fault(envelope.span().start, "envelope", "it cannot be written as JSON"))
}

impl<'t> Reader<'t> {
    /// The whole document.
    pub(crate) fn document(&self) -> Result<Spanned<DeTable<'t>>, Fault> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            // The parser's own words may quote the document.
            let problem = Shown::whole(error.message()).to_string();
            Fault { line: self.line(at), field: String::new(), problem }
        })
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
    }

    pub(crate) fn fault(&self, at: usize, field: &str, problem: impl Into<String>) -> Fault {
        Fault { line: self.line(at), field: field.to_owned(), problem: problem.into() }
    }

    /// That something else stands there than should.
    pub(crate) fn other(&self, value: &Spanned<DeValue<'t>>, field: &str, wanted: &str) -> Fault {
        let found = value.get_ref().type_str();
        self.fault(value.span().start, field, format!("must be {wanted}, and this is {}", article(found)))
    }

    pub(crate) fn table<'d>(
        &self,
        field: &str,
        value: &'d Spanned<DeValue<'t>>,
    ) -> Result<&'d DeTable<'t>, Fault> {
        value.get_ref().as_table().ok_or_else(|| self.other(value, field, "a table"))
    }

    /// The members of a table, if it has no others than these.
    pub(crate) fn known<'d>(
        &self,
        field: &str,
        table: &'d DeTable<'t>,
        allowed: &[&str],
    ) -> Result<Vec<Entry<'t, 'd>>, Fault> {
        for (name, _) in table {
            if !allowed.contains(&name.get_ref().as_ref()) {
                let problem = format!("there is no such field; allowed are {}", allowed.join(", "));
                return Err(self.fault(name.span().start, &format!("{field}.{}", name.get_ref()), problem));
            }
        }
        Ok(table.iter().collect())
    }

    fn envelope(&self, table: &DeTable<'t>, at: usize) -> Result<Vec<u8>, Fault> {
        let allowed = [
            "envelope_version",
            "expiry",
            "limits",
            "metadata",
            "permissions",
            "required_approvals",
            "required_signer_types",
        ];
        self.known("envelope", table, &allowed)?;
        let mut out = ObjectWriter::new();
        match table.get("envelope_version") {
            Some(version) if version.get_ref().as_str() != Some(VERSION) => {
                let problem = format!("must be \"{VERSION}\"; it may be left out");
                return Err(self.fault(version.span().start, "envelope.envelope_version", problem));
            }
            _ => out.raw("envelope_version", &quoted(VERSION)),
        }
        let Some(permissions) = table.get("permissions") else {
            let problem = "is missing: [envelope.permissions] says which models and tools may be called";
            return Err(self.fault(at, "envelope.permissions", problem));
        };
        out.raw("permissions", &self.permissions(permissions)?);
        let limits = table.get("limits").map(|limits| self.limits(limits)).transpose()?;
        out.raw("limits", &limits.unwrap_or(b"{}".to_vec()));
        if let Some(expiry) = table.get("expiry") {
            out.raw("expiry", &self.expiry(expiry)?);
        }
        if let Some(rules) = table.get("required_approvals") {
            out.raw("required_approvals", &self.approvals(rules)?);
        }
        if let Some(types) = table.get("required_signer_types") {
            out.raw("required_signer_types", &self.signer_types("envelope.required_signer_types", types)?);
        }
        let metadata = match table.get("metadata") {
            Some(metadata) => {
                self.table("envelope.metadata", metadata)?;
                self.any("envelope.metadata", metadata)?
            }
            None => b"{}".to_vec(),
        };
        out.raw("metadata", &metadata);
        Ok(out.close())
    }

    fn permissions(&self, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, Fault> {
        let table = self.table("envelope.permissions", value)?;
        let lists = ["allowed_models", "allowed_tools"];
        self.known("envelope.permissions", table, &lists)?;
        let mut out = ObjectWriter::new();
        for name in lists {
            let field = format!("envelope.permissions.{name}");
            let Some(list) = table.get(name) else {
                let problem = "is missing: a list of exact names; [] allows none";
                return Err(self.fault(value.span().start, &field, problem));
            };
            out.raw(name, &self.strings(&field, list)?);
        }
        Ok(out.close())
    }

    fn limits(&self, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, Fault> {
        let table = self.table("envelope.limits", value)?;
        let mut out = ObjectWriter::new();
        for (name, value) in
            self.known("envelope.limits", table, &["max_steps", "max_spend_usd", "rate_limit_rpm"])?
        {
            let name = name.get_ref().as_ref();
            let field = format!("envelope.limits.{name}");
            let number = self.number(&field, value)?;
            if name == "max_spend_usd" {
                if number.starts_with('-') {
                    return Err(self.fault(
                        value.span().start,
                        &field,
                        "must be 0 or more; 0 forbids to spend",
                    ));
                }
            } else if !value.get_ref().is_integer() || number.starts_with('-') || number == "0" {
                let problem = "must be a whole number of at least 1; leave it out for no limit";
                return Err(self.fault(value.span().start, &field, problem));
            }
            out.raw(name, number.as_bytes());
        }
        Ok(out.close())
    }

    fn expiry(&self, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, Fault> {
        let wanted = "a time with its offset, such as 2026-12-31T00:00:00Z";
        let text = match value.get_ref() {
            DeValue::Datetime(time) => time.to_string(),
            DeValue::String(text) => text.clone().into_owned(),
            _ => return Err(self.other(value, "envelope.expiry", wanted)),
        };
        if time::instant(&text).is_none() {
            return Err(self.fault(value.span().start, "envelope.expiry", format!("must be {wanted}")));
        }
        Ok(quoted(&text))
    }

    fn approvals(&self, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, Fault> {
        let Some(rules) = value.get_ref().as_array() else {
            return Err(self.other(
                value,
                "envelope.required_approvals",
                "a list, [[envelope.required_approvals]]",
            ));
        };
        let mut out = b"[".to_vec();
        for (at, rule) in rules.iter().enumerate() {
            let field = format!("envelope.required_approvals[{at}]");
            let table = self.table(&field, rule)?;
            let allowed = ["action", "model_pattern", "signer_types", "tool_pattern"];
            let mut json = ObjectWriter::new();
            let mut has_action = false;
            for (name, value) in self.known(&field, table, &allowed)? {
                let name = name.get_ref().as_ref();
                let field = format!("{field}.{name}");
                if name == "signer_types" {
                    json.raw(name, &self.signer_types(&field, value)?);
                    continue;
                }
                let Some(text) = value.get_ref().as_str() else {
                    return Err(self.other(value, &field, "a string"));
                };
                if name == "action" {
                    has_action = true;
                    if !["model.call", "tool.call"].contains(&text) {
                        let problem = "must be \"model.call\" or \"tool.call\"";
                        return Err(self.fault(value.span().start, &field, problem));
                    }
                }
                json.raw(name, &quoted(text));
            }
            if !has_action {
                let problem = "is missing: \"model.call\" or \"tool.call\"";
                return Err(self.fault(rule.span().start, &format!("{field}.action"), problem));
            }
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&json.close());
        }
        out.push(b']');
        Ok(out)
    }

    fn signer_types(&self, field: &str, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, Fault> {
        let Some(list) = value.get_ref().as_array() else { return Err(self.other(value, field, "a list")) };
        for item in list.iter() {
            if !item.get_ref().as_str().is_some_and(|word| ["human", "delegate", "automated"].contains(&word))
            {
                let problem = "must be \"human\", \"delegate\" or \"automated\"";
                return Err(self.fault(item.span().start, field, problem));
            }
        }
        self.strings(field, value)
    }

    fn strings(&self, field: &str, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, Fault> {
        let Some(list) = value.get_ref().as_array() else {
            return Err(self.other(value, field, "a list of strings"));
        };
        if let Some(item) = list.iter().find(|item| !item.get_ref().is_str()) {
            return Err(self.other(item, field, "a string"));
        }
        self.any(field, value)
    }

    /// The text of a number that JSON has: whole ones up to 2^53, others as doubles.
    fn number(&self, field: &str, value: &Spanned<DeValue<'t>>) -> Result<String, Fault> {
        let at = value.span().start;
        match value.get_ref() {
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) if number.unsigned_abs() < 1 << 53 => Ok(number.to_string()),
                _ => Err(self.fault(at, field, "must be less than 2^53")),
            },
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(double) if double.is_finite() => {
                    let text = number.as_str().trim_start_matches('+');
                    // TOML allows 00.5 nowhere, so what it has is a number of JSON.
                    Ok(text.to_owned())
                }
                _ => Err(self.fault(at, field, "must be a number that ends somewhere")),
            },
            _ => Err(self.other(value, field, "a number")),
        }
    }

    /// Any value of TOML as JSON; times become strings.
    fn any(&self, field: &str, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, Fault> {
        Ok(match value.get_ref() {
            DeValue::String(text) => quoted(text),
            DeValue::Boolean(flag) => flag.to_string().into_bytes(),
            DeValue::Datetime(time) => quoted(&time.to_string()),
            DeValue::Integer(_) | DeValue::Float(_) => self.number(field, value)?.into_bytes(),
            DeValue::Array(items) => {
                let mut out = b"[".to_vec();
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(&self.any(&format!("{field}[{at}]"), item)?);
                }
                out.push(b']');
                out
            }
            DeValue::Table(table) => {
                let mut out = ObjectWriter::new();
                for (name, value) in table {
                    let name = name.get_ref().as_ref();
                    out.raw(name, &self.any(&format!("{field}.{name}"), value)?);
                }
                out.close()
            }
        })
    }
}

const VERSION: &str = "rer-envelope/0.2";

fn article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_string(text, &mut out);
    out
}
