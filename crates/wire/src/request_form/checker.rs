//! Check of a request: one pass over its text, along the forms.
//!
//! Nothing is allocated for a form that is known, except where members stand before the `type` that tells their meaning.

use std::collections::BTreeSet;

use reenact_json::{Limits, Scanner, SyntaxError, Value, ValueKind};

use super::path::{FormStep, form_path};
use super::{
    Form, FormFindings, FormMember, KeptForm, OwnToolCondition, RequestForms, TaggedForm, ToolForms,
    undated_tool,
};

/// Deepest nesting of tool definitions within each other.
const MAX_TOOL_DEPTH: u32 = 8;
/// Names of members that hold tool definitions, wherever they stand in a part of a request that is not known.
const TOOL_MEMBERS: [&str; 6] =
    ["tools", "tool", "definition", "functions", "tool_changes", "additional_tools"];

/// Result of a step; an error ends the check.
type Step = Result<(), SyntaxError>;

/// Compares a body with the forms of its interface.
pub(super) fn check(forms: &'static RequestForms, body: &[u8], allowed: &BTreeSet<String>) -> FormFindings {
    let mut checker = FormChecker {
        forms,
        allowed,
        path: Vec::with_capacity(16),
        findings: FormFindings::default(),
        declared_servers: Vec::new(),
        named_servers: Vec::new(),
        tool_depth: 0,
    };
    let checked = Scanner::new(body, &Limits::default()).and_then(|mut scanner| {
        checker.walk(&mut scanner, &forms.body)?;
        scanner.finish()
    });
    if checked.is_err() {
        checker.path.clear();
        checker.add_unknown(None);
    }
    let FormChecker { mut findings, declared_servers, named_servers, .. } = checker;
    let undeclared = named_servers.into_iter().filter(|name| !declared_servers.contains(name));
    findings.vendor_tools.extend(undeclared.map(|name| format!("mcp:{name}")));
    findings
}

/// Members of an object, once its tag is known.
#[derive(Clone, Copy)]
enum ChosenVariant {
    /// Known members.
    Known(&'static [FormMember]),
    /// Members of a variant that is not known, but allowed.
    Allowed,
    /// Members of a variant that is not known, and was reported.
    Unknown,
}

/// State of the check of one request.
struct FormChecker<'a, 'c> {
    forms: &'static RequestForms,
    allowed: &'c BTreeSet<String>,
    /// Steps from the body to the value that is being checked.
    path: Vec<FormStep<'a>>,
    findings: FormFindings,
    /// Names of remote servers that the request declares.
    declared_servers: Vec<String>,
    /// Names of remote servers that the request refers to.
    named_servers: Vec<String>,
    /// Number of tool definitions around the value that is being checked.
    tool_depth: u32,
}

impl<'a> FormChecker<'a, '_> {
    /// Checks the value that comes next.
    fn walk(&mut self, scanner: &mut Scanner<'a>, form: &'static Form) -> Step {
        let kind = scanner.kind()?;
        if kind == ValueKind::Null {
            scanner.value()?;
            return Ok(());
        }
        let Some(form) = form.for_kind(kind) else {
            let value = scanner.value()?;
            return self.unknown(value);
        };
        match form {
            Form::Any | Form::Scalar | Form::OneOf(_) => {
                scanner.value()?;
            }
            Form::Object(members) => {
                let mut object = scanner.enter_object()?;
                let mut seen = 0;
                while let Some(name) = scanner.next_name(&mut object)? {
                    self.member(scanner, members, name, &mut seen)?;
                }
            }
            Form::List(element) => {
                let mut list = scanner.enter_array()?;
                self.path.push(FormStep::Element);
                while scanner.next_element(&mut list)? {
                    self.walk(scanner, element)?;
                }
                self.path.pop();
            }
            Form::Tagged(tagged) => self.tagged(scanner, tagged)?,
            Form::Model => {
                let name = scanner.value()?.string().unwrap_or_default().into_owned();
                self.findings.models.push(name);
            }
            Form::Tool(tools) => {
                let tool = scanner.value()?;
                self.tool(tool, tools)?;
            }
            Form::ToolMembers(own) => {
                let tool = scanner.value()?;
                self.tool_members(tool, own)?;
            }
            Form::VendorTool(name) => {
                scanner.value()?;
                self.findings.vendor_tools.push((*name).to_owned());
            }
            Form::Kept(kept) => {
                let thing = scanner.value()?;
                self.kept(thing, kept);
            }
            Form::ServerName => {
                let name = scanner.value()?.string().unwrap_or_default().into_owned();
                self.named_servers.push(name);
            }
        }
        Ok(())
    }

    /// Checks a value that was scanned before.
    fn walk_value(&mut self, value: Value<'a>, form: &'static Form) -> Step {
        self.walk(&mut scanner_over(value)?, form)
    }

    /// Checks the member whose name was read last. `seen` has a bit for each known member that came before.
    fn member(
        &mut self,
        scanner: &mut Scanner<'a>,
        members: &'static [FormMember],
        name: Value<'a>,
        seen: &mut u64,
    ) -> Step {
        let found = members.iter().enumerate().find(|(_, (known, _))| self.is_named(name, known));
        self.path.push(FormStep::Member(name));
        match found {
            Some((index, (_, form))) => {
                let bit = 1_u64.checked_shl(u32::try_from(index).unwrap_or(u32::MAX)).unwrap_or_default();
                if *seen & bit == 0 {
                    *seen |= bit;
                    self.walk(scanner, form)?;
                } else {
                    // One member in two spellings: nobody knows which of them the vendor takes.
                    let value = scanner.value()?;
                    self.unknown(value)?;
                }
            }
            None => {
                let value = scanner.value()?;
                self.unknown(value)?;
            }
        }
        self.path.pop();
        Ok(())
    }

    /// Returns true if a member has this name, in either spelling if the interface has two.
    fn is_named(&self, name: Value<'_>, known: &str) -> bool {
        name.is_string(known)
            || self.forms.has_two_spellings
                && name.with_string_bytes(|name| is_snake_of(name, known)) == Some(true)
    }

    /// Checks an object whose members depend on one of them.
    fn tagged(&mut self, scanner: &mut Scanner<'a>, tagged: &'static TaggedForm) -> Step {
        let mut object = scanner.enter_object()?;
        let mut waiting: Vec<(Value<'a>, Value<'a>)> = Vec::new();
        let mut chosen = None;
        let mut seen = 0;
        while let Some(name) = scanner.next_name(&mut object)? {
            if name.is_string(tagged.tag) {
                let tag = scanner.value()?;
                if !tag.is_null() {
                    let variant = self.variant(tagged, Some(tag));
                    chosen = Some(variant);
                    for (name, value) in waiting.drain(..) {
                        self.variant_member(&mut scanner_over(value)?, variant, name, &mut seen)?;
                    }
                }
            } else if let Some(variant) = chosen {
                self.variant_member(scanner, variant, name, &mut seen)?;
            } else {
                waiting.push((name, scanner.value()?));
            }
        }
        if chosen.is_none() {
            let variant = self.variant(tagged, None);
            for (name, value) in waiting {
                self.variant_member(&mut scanner_over(value)?, variant, name, &mut seen)?;
            }
        }
        Ok(())
    }

    /// Returns the variant that a tag tells. Reports a tag that is not known.
    fn variant(&mut self, tagged: &'static TaggedForm, tag: Option<Value<'a>>) -> ChosenVariant {
        let known = match tag {
            None => tagged.untagged,
            Some(tag) => {
                tagged.variants.iter().find(|(word, _)| tag.is_string(word)).map(|(_, members)| *members)
            }
        };
        match known {
            Some(members) => ChosenVariant::Known(members),
            None if self.add_unknown(Some((tagged.tag, tag))) => ChosenVariant::Allowed,
            None => ChosenVariant::Unknown,
        }
    }

    /// Checks a member of a variant.
    fn variant_member(
        &mut self,
        scanner: &mut Scanner<'a>,
        variant: ChosenVariant,
        name: Value<'a>,
        seen: &mut u64,
    ) -> Step {
        match variant {
            ChosenVariant::Known(members) => return self.member(scanner, members, name, seen),
            ChosenVariant::Unknown => {
                scanner.value()?;
            }
            ChosenVariant::Allowed => {
                self.path.push(FormStep::Member(name));
                self.search_member(scanner, name)?;
                self.path.pop();
            }
        }
        Ok(())
    }

    /// Reports a value that is not known. If the envelope allows it, tools and models are still searched for in it.
    fn unknown(&mut self, value: Value<'a>) -> Step {
        if value.is_null() || !self.add_unknown(None) {
            return Ok(());
        }
        match self.path.last().copied() {
            Some(FormStep::Member(name)) => self.search_member(&mut scanner_over(value)?, name),
            _ => self.search(&mut scanner_over(value)?),
        }
    }

    /// Reports the current path, or with `tag` a tag there, as unknown. Returns true if the envelope allows it.
    fn add_unknown(&mut self, tag: Option<(&str, Option<Value<'a>>)>) -> bool {
        let path = form_path(&self.path, tag);
        let is_allowed = !path.is_cut && self.allowed.contains(&path.text);
        let list = if is_allowed { &mut self.findings.allowed } else { &mut self.findings.unknown };
        if list.len() < FormFindings::MAX_UNKNOWN && !list.contains(&path.text) {
            list.push(path.text);
        }
        is_allowed
    }

    /// Reports definitions that are nested too deep to be searched. No path allows them, since nothing in them would be seen.
    fn add_too_deep(&mut self) {
        let path = form_path(&self.path, None).text;
        if self.findings.unknown.len() < FormFindings::MAX_UNKNOWN && !self.findings.unknown.contains(&path) {
            self.findings.unknown.push(path);
        }
    }

    /// Checks a tool definition that its `type` describes.
    fn tool(&mut self, tool: Value<'a>, tools: &'static ToolForms) -> Step {
        if self.tool_depth == MAX_TOOL_DEPTH {
            self.add_too_deep();
            return Ok(());
        }
        self.tool_depth += 1;
        let kind = tool.member("type").filter(|kind| !kind.is_null());
        let name = kind.and_then(|kind| kind.string());
        match (kind, name) {
            (None, _) => match tools.untyped {
                Some(members) => self.tool_object(tool, members)?,
                None => {
                    self.add_unknown(Some(("type", None)));
                    self.search(&mut scanner_over(tool)?)?;
                }
            },
            (Some(kind), None) => {
                self.add_unknown(Some(("type", Some(kind))));
                self.search(&mut scanner_over(tool)?)?;
            }
            (Some(_), Some(name)) => {
                let server = tools.servers.iter().find(|(server, _)| *server == name);
                if let Some((_, kept)) = server {
                    self.kept(tool, kept);
                } else if let Some(members) = own_members(tool, &name, tools) {
                    self.tool_object(tool, members)?;
                } else {
                    self.findings.vendor_tools.push(name.into_owned());
                    self.search(&mut scanner_over(tool)?)?;
                }
            }
        }
        self.tool_depth -= 1;
        Ok(())
    }

    /// Checks the members of a tool that the agent runs.
    fn tool_object(&mut self, tool: Value<'a>, members: &'static [FormMember]) -> Step {
        let mut seen = 0;
        let mut scanner = scanner_over(tool)?;
        let mut object = scanner.enter_object()?;
        while let Some(name) = scanner.next_name(&mut object)? {
            if name.is_string("type") {
                scanner.value()?;
            } else {
                self.member(&mut scanner, members, name, &mut seen)?;
            }
        }
        Ok(())
    }

    /// Checks an object with a tool in each member.
    fn tool_members(&mut self, tool: Value<'a>, own: &'static [FormMember]) -> Step {
        for (name, value) in tool.members() {
            let known = own.iter().find(|(known, _)| self.is_named(name, known));
            self.path.push(FormStep::Member(name));
            match known {
                Some((_, form)) => self.walk_value(value, form)?,
                None if value.is_null() => {}
                None => {
                    let name = name.string().unwrap_or_default();
                    self.findings.vendor_tools.push(if self.forms.has_two_spellings {
                        camel_case(&name)
                    } else {
                        name.into_owned()
                    });
                    self.search(&mut scanner_over(value)?)?;
                }
            }
            self.path.pop();
        }
        Ok(())
    }

    /// Reports a thing that the vendor keeps or reaches.
    fn kept(&mut self, thing: Value<'a>, kept: &KeptForm) {
        let member = |path: &str| {
            let mut steps = path.split('.');
            let found = steps.try_fold(thing, |value, name| {
                value.members().find(|(found, _)| self.is_named(*found, name)).map(|(_, value)| value)
            });
            found.and_then(|found| found.string()).filter(|text| !text.is_empty())
        };
        let name = thing.string().or_else(|| kept.named_by.iter().find_map(|path| member(path)));
        let declared = kept.declared_name.and_then(member);
        self.findings.vendor_tools.push(format!("{}:{}", kept.prefix, name.unwrap_or_default()));
        self.declared_servers.extend(declared.map(|name| name.into_owned()));
    }

    /// Searches a part that is not known for tool definitions and names of models.
    fn search(&mut self, scanner: &mut Scanner<'a>) -> Step {
        match scanner.kind()? {
            ValueKind::Object => {
                let mut object = scanner.enter_object()?;
                while let Some(name) = scanner.next_name(&mut object)? {
                    self.path.push(FormStep::Member(name));
                    self.search_member(scanner, name)?;
                    self.path.pop();
                }
            }
            ValueKind::Array => {
                let mut list = scanner.enter_array()?;
                self.path.push(FormStep::Element);
                while scanner.next_element(&mut list)? {
                    self.search(scanner)?;
                }
                self.path.pop();
            }
            _ => {
                scanner.value()?;
            }
        }
        Ok(())
    }

    /// Searches a member of a part that is not known.
    fn search_member(&mut self, scanner: &mut Scanner<'a>, name: Value<'a>) -> Step {
        if TOOL_MEMBERS.iter().any(|tools| name.is_string(tools)) {
            let value = scanner.value()?;
            return self.searched_tools(value);
        }
        let names_models = |name: &[u8]| name.to_ascii_lowercase().windows(5).any(|part| part == b"model");
        if name.with_string_bytes(names_models) == Some(true) || name.is_string("fallbacks") {
            let value = scanner.value()?;
            let models = core::iter::once(value).chain(value.elements());
            self.findings.models.extend(models.filter_map(|model| Some(model.string()?.into_owned())));
            return self.search(&mut scanner_over(value)?);
        }
        self.search(scanner)
    }

    /// Judges what stands where tool definitions stand: objects as definitions, and texts as names of the vendor's tools.
    fn searched_tools(&mut self, value: Value<'a>) -> Step {
        match value.kind() {
            ValueKind::Array => {
                self.path.push(FormStep::Element);
                for element in value.elements() {
                    self.searched_tools(element)?;
                }
                self.path.pop();
                Ok(())
            }
            ValueKind::Object if value.member("type").is_none() && value.member("name").is_none() => {
                // No definition, but there may be one inside.
                if self.tool_depth == MAX_TOOL_DEPTH {
                    self.add_too_deep();
                    return Ok(());
                }
                self.tool_depth += 1;
                self.search(&mut scanner_over(value)?)?;
                self.tool_depth -= 1;
                Ok(())
            }
            ValueKind::Object => self.walk_value(value, &self.forms.tool),
            ValueKind::String => {
                self.findings.vendor_tools.push(value.string().unwrap_or_default().into_owned());
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Returns the members of a tool that the agent runs; `None` if the vendor runs it.
fn own_members(tool: Value<'_>, kind: &str, tools: &'static ToolForms) -> Option<&'static [FormMember]> {
    let undated = undated_tool(kind).filter(|_| tools.has_dated_types).unwrap_or(kind);
    let own = tools.own.iter().find(|own| own.type_name == undated)?;
    let member = |name: &str| tool.member(name).filter(|value| !value.is_null());
    let is_own = match own.condition {
        OwnToolCondition::Always => true,
        OwnToolCondition::AbsentOrOfType(name, kind) => {
            member(name).is_none_or(|value| value.member("type").is_some_and(|found| found.is_string(kind)))
        }
        OwnToolCondition::Is(name, word) => member(name).is_some_and(|value| value.is_string(word)),
    };
    is_own.then_some(own.members)
}

/// Returns a scanner over a value that was scanned before.
fn scanner_over(value: Value<'_>) -> Result<Scanner<'_>, SyntaxError> {
    Scanner::new(value.text(), &Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES })
}

/// Returns true if `snake`, such as `function_call`, is the other spelling of `camel`, such as `functionCall`.
fn is_snake_of(snake: &[u8], camel: &str) -> bool {
    let mut snake = snake.iter().copied();
    for byte in camel.bytes() {
        let expected = if byte.is_ascii_uppercase() {
            if snake.next() != Some(b'_') {
                return false;
            }
            byte.to_ascii_lowercase()
        } else {
            byte
        };
        if snake.next() != Some(expected) {
            return false;
        }
    }
    snake.next().is_none()
}

/// Returns a name such as `code_execution` as `codeExecution`.
fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut is_upper = false;
    for character in name.chars() {
        match character {
            '_' if !out.is_empty() => is_upper = true,
            _ if is_upper => {
                out.push(character.to_ascii_uppercase());
                is_upper = false;
            }
            _ => out.push(character),
        }
    }
    out
}
