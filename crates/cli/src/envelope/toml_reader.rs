//! A reader for TOML files with line numbers, and the conversion of `[envelope]` to JSON.
//!
//! Everything that is not known is refused with its line, its field and what is allowed there:
//!
//! ```text
//! line 6: envelope.limits.max_steps: must be a whole number of at least 1; leave it out for no limit
//! ```
//!
//! The conversion writes JSON text member by member and brings it into canonical form at the end, because
//! TOML keeps neither the order nor the number format of RFC 8785. `settings` uses the same reader for the
//! other sections of `reenact.toml`. Start reading at [`to_canonical_json`].

use std::fmt;

use reenact_formats::key::KeyId;
use reenact_formats::rer::envelope::approvers::ApproverPin;
use reenact_formats::rer::time;
use reenact_json::canonical::write_string;
use reenact_json::writer::ObjectWriter;
use reenact_json::{Jcs, Limits, Shown, Value, canonical};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Problem in a TOML file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TomlFileError {
    /// Line number, from 1.
    pub(crate) line: usize,
    /// Path of the field, such as `envelope.limits.max_steps`; may be empty. Untrusted text.
    pub(crate) field: String,
    /// Problem, and the allowed values. Safe to print.
    pub(crate) problem: String,
}

impl fmt::Display for TomlFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => write!(f, "line {}: {}", self.line, self.problem),
            field => write!(f, "line {}: {}: {}", self.line, Shown::new(field), self.problem),
        }
    }
}

/// Text of a TOML file. Byte offsets into the text become line numbers in errors.
pub(crate) struct TomlReader<'t> {
    pub(crate) text: &'t str,
}

/// Name and value of a member, each with its span in the text.
pub(crate) type TomlEntry<'t, 'd> = (&'d Spanned<std::borrow::Cow<'t, str>>, &'d Spanned<DeValue<'t>>);

/// Returns the table `[envelope]` of a TOML file as canonical JSON, without a signature.
///
/// # Errors
///
/// If the text is not TOML, has no such table, or the table has a member or a value that is not allowed.
pub(super) fn to_canonical_json(text: &str) -> Result<Vec<u8>, TomlFileError> {
    let reader = TomlReader { text };
    let document = reader.parse_document()?;
    let Some(envelope) = document.get_ref().get("envelope") else {
        return Err(TomlFileError {
            line: 1,
            field: String::new(),
            problem: "there is no table [envelope] in it".into(),
        });
    };
    let table = reader.table("envelope", envelope)?;
    let json = reader.envelope(table, envelope.span().start)?;
    let value = Value::parse(&json, &Limits::default());
    let json = value.ok().and_then(|value| canonical::to_vec(value, Jcs).ok());
    json.ok_or_else(|| reader.error_at(envelope.span().start, "envelope", "it cannot be written as JSON"))
}

impl<'t> TomlReader<'t> {
    /// Parses the whole text.
    pub(crate) fn parse_document(&self) -> Result<Spanned<DeTable<'t>>, TomlFileError> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            // The parser's message may quote the file.
            let problem = Shown::whole(error.message()).to_string();
            TomlFileError { line: self.line_number(at), field: String::new(), problem }
        })
    }

    /// Returns the line number of a byte offset, from 1.
    fn line_number(&self, at: usize) -> usize {
        1 + self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
    }

    /// Returns an error at the byte offset `at`.
    pub(crate) fn error_at(&self, at: usize, field: &str, problem: impl Into<String>) -> TomlFileError {
        TomlFileError { line: self.line_number(at), field: field.to_owned(), problem: problem.into() }
    }

    /// Returns the error for a value of another type than `wanted`, which is a phrase such as `a table`. The
    /// message also names the type that was found.
    pub(crate) fn wrong_type(
        &self,
        value: &Spanned<DeValue<'t>>,
        field: &str,
        wanted: &str,
    ) -> TomlFileError {
        let found = value.get_ref().type_str();
        self.error_at(
            value.span().start,
            field,
            format!("must be {wanted}, and this is {}", with_article(found)),
        )
    }

    /// Returns the value as a table, or the error that it is none.
    pub(crate) fn table<'d>(
        &self,
        field: &str,
        value: &'d Spanned<DeValue<'t>>,
    ) -> Result<&'d DeTable<'t>, TomlFileError> {
        value.get_ref().as_table().ok_or_else(|| self.wrong_type(value, field, "a table"))
    }

    /// Returns the members of a table, or an error at the first one whose name is not in `allowed`.
    pub(crate) fn known_members<'d>(
        &self,
        field: &str,
        table: &'d DeTable<'t>,
        allowed: &[&str],
    ) -> Result<Vec<TomlEntry<'t, 'd>>, TomlFileError> {
        for (name, _) in table {
            if !allowed.contains(&name.get_ref().as_ref()) {
                let problem = format!("there is no such field; allowed are {}", allowed.join(", "));
                return Err(self.error_at(
                    name.span().start,
                    &format!("{field}.{}", name.get_ref()),
                    problem,
                ));
            }
        }
        Ok(table.iter().collect())
    }

    /// Converts the table `[envelope]` to JSON. `at` is its byte offset, for members that are missing.
    ///
    /// `envelope_version`, `limits` and `metadata` are filled in if the author left them out; `permissions`
    /// must be there. Any other version than [`VERSION`] is refused.
    fn envelope(&self, table: &DeTable<'t>, at: usize) -> Result<Vec<u8>, TomlFileError> {
        let allowed = [
            "envelope_version",
            "expiry",
            "limits",
            "metadata",
            "permissions",
            "required_approvals",
            "required_signer_types",
        ];
        self.known_members("envelope", table, &allowed)?;
        let mut out = ObjectWriter::new();
        match table.get("envelope_version") {
            Some(version) if version.get_ref().as_str() != Some(VERSION) => {
                let problem = format!("must be \"{VERSION}\"; it may be left out");
                return Err(self.error_at(version.span().start, "envelope.envelope_version", problem));
            }
            _ => out.raw("envelope_version", &json_string(VERSION)),
        }
        let Some(permissions) = table.get("permissions") else {
            let problem = "is missing: [envelope.permissions] says which models and tools may be called";
            return Err(self.error_at(at, "envelope.permissions", problem));
        };
        out.raw("permissions", &self.permissions(permissions)?);
        let limits = table.get("limits").map(|limits| self.limits(limits)).transpose()?;
        out.raw("limits", &limits.unwrap_or(b"{}".to_vec()));
        if let Some(expiry) = table.get("expiry") {
            out.raw("expiry", &self.expiry(expiry)?);
        }
        let mut pins = Vec::new();
        if let Some(rules) = table.get("required_approvals") {
            out.raw("required_approvals", &self.approvals(rules, &mut pins)?);
        }
        if let Some(types) = table.get("required_signer_types") {
            out.raw("required_signer_types", &self.signer_types("envelope.required_signer_types", types)?);
        }
        let metadata = match table.get("metadata") {
            Some(metadata) => {
                if let Some(forms) = self.table("envelope.metadata", metadata)?.get("allowed_forms") {
                    self.allowed_forms(forms)?;
                }
                self.metadata(metadata, pins)?
            }
            None if pins.is_empty() => b"{}".to_vec(),
            None => {
                let mut metadata = ObjectWriter::new();
                metadata.raw("approvers", &json_list(&pins));
                metadata.close()
            }
        };
        out.raw("metadata", &metadata);
        Ok(out.close())
    }

    /// Converts `[envelope.permissions]`. Both lists must be there: a list that is left out by mistake must
    /// not allow anything.
    fn permissions(&self, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, TomlFileError> {
        let table = self.table("envelope.permissions", value)?;
        let lists = ["allowed_models", "allowed_tools"];
        self.known_members("envelope.permissions", table, &lists)?;
        let mut out = ObjectWriter::new();
        for name in lists {
            let field = format!("envelope.permissions.{name}");
            let Some(list) = table.get(name) else {
                let problem = "is missing: a list of exact names; [] allows none";
                return Err(self.error_at(value.span().start, &field, problem));
            };
            out.raw(name, &self.strings(&field, list)?);
        }
        Ok(out.close())
    }

    /// Converts `[envelope.limits]`. Counts are whole numbers from 1; `max_spend_usd` may be 0, which forbids to spend.
    fn limits(&self, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, TomlFileError> {
        let table = self.table("envelope.limits", value)?;
        let mut out = ObjectWriter::new();
        for (name, value) in
            self.known_members("envelope.limits", table, &["max_steps", "max_spend_usd", "rate_limit_rpm"])?
        {
            let name = name.get_ref().as_ref();
            let field = format!("envelope.limits.{name}");
            let number = self.number(&field, value)?;
            if name == "max_spend_usd" {
                if number.starts_with('-') {
                    return Err(self.error_at(
                        value.span().start,
                        &field,
                        "must be 0 or more; 0 forbids to spend",
                    ));
                }
            } else if !value.get_ref().is_integer() || number.starts_with('-') || number == "0" {
                let problem = "must be a whole number of at least 1; leave it out for no limit";
                return Err(self.error_at(value.span().start, &field, problem));
            }
            out.raw(name, number.as_bytes());
        }
        Ok(out.close())
    }

    /// Converts `envelope.expiry`, a TOML time or a string with an RFC 3339 time and its offset.
    fn expiry(&self, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, TomlFileError> {
        let wanted = "a time with its offset, such as 2026-12-31T00:00:00Z";
        let text = match value.get_ref() {
            DeValue::Datetime(time) => time.to_string(),
            DeValue::String(text) => text.clone().into_owned(),
            _ => return Err(self.wrong_type(value, "envelope.expiry", wanted)),
        };
        if time::instant(&text).is_none() {
            return Err(self.error_at(value.span().start, "envelope.expiry", format!("must be {wanted}")));
        }
        Ok(json_string(&text))
    }

    /// Converts `[envelope.metadata]`. `approvers` gets the pins that stand beside approval rules as well.
    fn metadata(&self, value: &Spanned<DeValue<'t>>, pins: Vec<Vec<u8>>) -> Result<Vec<u8>, TomlFileError> {
        let field = "envelope.metadata";
        let table = self.table(field, value)?;
        let mut entries = Vec::new();
        if let Some(approvers) = table.get("approvers") {
            let Some(list) = approvers.get_ref().as_array() else {
                let wanted = "a list, [[envelope.metadata.approvers]]";
                return Err(self.wrong_type(approvers, "envelope.metadata.approvers", wanted));
            };
            for (at, entry) in list.iter().enumerate() {
                let field = format!("{field}.approvers[{at}]");
                let json = self.json_value(&field, entry)?;
                self.check_pin(entry, &json, at)?;
                entries.push(json);
            }
        }
        entries.extend(pins);
        let mut out = ObjectWriter::new();
        for (name, value) in table {
            let name = name.get_ref().as_ref();
            if name != "approvers" {
                out.raw(name, &self.json_value(&format!("{field}.{name}"), value)?);
            }
        }
        if table.contains_key("approvers") || !entries.is_empty() {
            out.raw("approvers", &json_list(&entries));
        }
        Ok(out.close())
    }

    /// Checks an entry of `[[envelope.metadata.approvers]]`, the one at this position, by its JSON.
    fn check_pin(&self, entry: &Spanned<DeValue<'t>>, json: &[u8], at: usize) -> Result<(), TomlFileError> {
        let envelope = [br#"{"metadata":{"approvers":["#.as_slice(), json, b"]}}"].concat();
        let fault = match Value::parse(&envelope, &Limits::default()).map(ApproverPin::read_all) {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(fault)) => fault,
            Err(_) => return Err(self.error_at(entry.span().start, "", "it cannot be written as JSON")),
        };
        let path = fault.path.strip_prefix("[0]").unwrap_or(&fault.path);
        let field = format!("envelope.metadata.approvers[{at}]{path}");
        Err(self.error_at(entry.span().start, &field, fault.wanted))
    }

    /// Converts `approvers` of an approval rule, a list of key ids.
    fn key_ids(&self, field: &str, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, TomlFileError> {
        let Some(list) = value.get_ref().as_array() else {
            return Err(self.wrong_type(value, field, "a list of key ids"));
        };
        for item in list.iter() {
            if item.get_ref().as_str().and_then(KeyId::parse).is_none() {
                let problem = "must be the id of an approver's key, as `reenact keys list` shows it";
                return Err(self.error_at(item.span().start, field, problem));
            }
        }
        self.strings(field, value)
    }

    /// Converts `[[envelope.required_approvals]]`; each rule must name its action, `model.call` or
    /// `tool.call`. Patterns and signer types are optional, as are `approvers`: the keys that may approve. They are no member of
    /// a rule in the signed envelope, but an entry of `metadata.approvers`, which is added to `pins`.
    fn approvals(
        &self,
        value: &Spanned<DeValue<'t>>,
        pins: &mut Vec<Vec<u8>>,
    ) -> Result<Vec<u8>, TomlFileError> {
        let Some(rules) = value.get_ref().as_array() else {
            return Err(self.wrong_type(
                value,
                "envelope.required_approvals",
                "a list, [[envelope.required_approvals]]",
            ));
        };
        let mut out = b"[".to_vec();
        for (at, rule) in rules.iter().enumerate() {
            let field = format!("envelope.required_approvals[{at}]");
            let table = self.table(&field, rule)?;
            let allowed = ["action", "approvers", "model_pattern", "signer_types", "tool_pattern"];
            let mut json = ObjectWriter::new();
            let (mut pin, mut has_pin) = (ObjectWriter::new(), false);
            let mut has_action = false;
            for (name, value) in self.known_members(&field, table, &allowed)? {
                let name = name.get_ref().as_ref();
                let field = format!("{field}.{name}");
                if name == "signer_types" {
                    json.raw(name, &self.signer_types(&field, value)?);
                    continue;
                }
                if name == "approvers" {
                    pin.raw("keys", &self.key_ids(&field, value)?);
                    has_pin = true;
                    continue;
                }
                let Some(text) = value.get_ref().as_str() else {
                    return Err(self.wrong_type(value, &field, "a string"));
                };
                if name == "action" {
                    has_action = true;
                    if !["model.call", "tool.call"].contains(&text) {
                        let problem = "must be \"model.call\" or \"tool.call\"";
                        return Err(self.error_at(value.span().start, &field, problem));
                    }
                }
                json.raw(name, &json_string(text));
                pin.raw(name, &json_string(text));
            }
            if !has_action {
                let problem = "is missing: \"model.call\" or \"tool.call\"";
                return Err(self.error_at(rule.span().start, &format!("{field}.action"), problem));
            }
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&json.close());
            pins.extend(has_pin.then(|| pin.close()));
        }
        out.push(b']');
        Ok(out)
    }

    /// Checks `metadata.allowed_forms`: a list of paths of forms in requests.
    fn allowed_forms(&self, value: &Spanned<DeValue<'t>>) -> Result<(), TomlFileError> {
        let field = "envelope.metadata.allowed_forms";
        let Some(list) = value.get_ref().as_array() else {
            return Err(self.wrong_type(value, field, "a list of strings"));
        };
        for item in list.iter() {
            if !item.get_ref().as_str().is_some_and(|path| path.starts_with('$')) {
                let problem = "must be a path as a refusal prints it, such as \"$.plugins\"";
                return Err(self.error_at(item.span().start, field, problem));
            }
        }
        Ok(())
    }

    /// Converts a list of signer types: `human`, `delegate` or `automated`.
    fn signer_types(&self, field: &str, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, TomlFileError> {
        let Some(list) = value.get_ref().as_array() else {
            return Err(self.wrong_type(value, field, "a list"));
        };
        for item in list.iter() {
            if !item.get_ref().as_str().is_some_and(|word| ["human", "delegate", "automated"].contains(&word))
            {
                let problem = "must be \"human\", \"delegate\" or \"automated\"";
                return Err(self.error_at(item.span().start, field, problem));
            }
        }
        self.strings(field, value)
    }

    /// Converts a list of strings.
    fn strings(&self, field: &str, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, TomlFileError> {
        let Some(list) = value.get_ref().as_array() else {
            return Err(self.wrong_type(value, field, "a list of strings"));
        };
        if let Some(item) = list.iter().find(|item| !item.get_ref().is_str()) {
            return Err(self.wrong_type(item, field, "a string"));
        }
        self.json_value(field, value)
    }

    /// Returns a number as JSON text: integers below 2^53 in magnitude, floats if they are finite. Other
    /// numbers have no exact value in JSON.
    fn number(&self, field: &str, value: &Spanned<DeValue<'t>>) -> Result<String, TomlFileError> {
        let at = value.span().start;
        match value.get_ref() {
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) if number.unsigned_abs() < 1 << 53 => Ok(number.to_string()),
                _ => Err(self.error_at(at, field, "must be less than 2^53")),
            },
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(double) if double.is_finite() => {
                    let text = number.as_str().trim_start_matches('+');
                    // TOML has no leading zeros, so that without the sign `+` its floats are numbers of JSON.
                    Ok(text.to_owned())
                }
                _ => Err(self.error_at(at, field, "must be a number that ends somewhere")),
            },
            _ => Err(self.wrong_type(value, field, "a number")),
        }
    }

    /// Converts any value of TOML to JSON, for `metadata`, which may hold anything; times become strings.
    fn json_value(&self, field: &str, value: &Spanned<DeValue<'t>>) -> Result<Vec<u8>, TomlFileError> {
        Ok(match value.get_ref() {
            DeValue::String(text) => json_string(text),
            DeValue::Boolean(flag) => flag.to_string().into_bytes(),
            DeValue::Datetime(time) => json_string(&time.to_string()),
            DeValue::Integer(_) | DeValue::Float(_) => self.number(field, value)?.into_bytes(),
            DeValue::Array(items) => {
                let mut out = b"[".to_vec();
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(&self.json_value(&format!("{field}[{at}]"), item)?);
                }
                out.push(b']');
                out
            }
            DeValue::Table(table) => {
                let mut out = ObjectWriter::new();
                for (name, value) in table {
                    let name = name.get_ref().as_ref();
                    out.raw(name, &self.json_value(&format!("{field}.{name}"), value)?);
                }
                out.close()
            }
        })
    }
}

/// Version of the envelope format that is written; the only one that is accepted.
const VERSION: &str = "rer-envelope/0.2";

/// Returns a noun with its indefinite article, for messages.
fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// Returns values as a JSON list.
fn json_list(values: &[Vec<u8>]) -> Vec<u8> {
    [b"[".as_slice(), &values.join(&b','), b"]"].concat()
}

/// Returns a text as a JSON string, with its quotes.
fn json_string(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_string(text, &mut out);
    out
}
