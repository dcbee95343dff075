//! Forms that a request may hold, as data, and the check of a request against them.
//!
//! Vendors add members, item types and tools to their interfaces every month, and any of them may bring a tool that the vendor
//! runs, or another model. A list of dangers is therefore never complete. Each interface has a list of what is known instead
//! (`RequestForms`, in `forms.rs` of its folder): an envelope is enforced only on what is on the list, and everything else is
//! reported with its path. The same list says where tool definitions and names of models stand, so that both are found
//! wherever they are. Start reading at `Form`, then [`check`].

mod checker;
mod path;

use std::collections::BTreeSet;

use reenact_json::ValueKind;

use crate::multipart::{self, FormPart};
use crate::protocol::Endpoint;

/// Member of an object: its name, and the form of its value.
pub(crate) type FormMember = (&'static str, Form);

/// Form of a value in a request. `null` is always allowed: it says the same as a member that is not there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// Anything; not looked into. For what users make up (schemas, arguments, metadata) and for what a vendor handed out before
    /// and only gets back.
    Any,
    /// Text, number or boolean.
    Scalar,
    /// Object with these members and no others.
    Object(&'static [FormMember]),
    /// List of values of one form.
    List(&'static Form),
    /// The first of several forms that fits the kind of the value.
    OneOf(&'static [Form]),
    /// Object whose members depend on one of them.
    Tagged(&'static TaggedForm),
    /// Name of a model that may answer beside the one that the request asks.
    Model,
    /// Tool definition.
    Tool(&'static ToolForms),
    /// Object with a tool in each member: those listed here are run by the agent, all others by the vendor.
    ToolMembers(&'static [FormMember]),
    /// Member that asks for this tool of the vendor, whatever it holds.
    VendorTool(&'static str),
    /// Thing that the vendor keeps or reaches, and that may bring tools which the request does not show.
    Kept(&'static KeptForm),
    /// Name of a remote server that the request declares elsewhere, as [`KeptForm::declared_name`].
    ServerName,
}

/// Object whose members depend on the text of one of them.
#[derive(Debug)]
pub(crate) struct TaggedForm {
    /// Name of the member that tells the variant, such as `type`.
    pub(crate) tag: &'static str,
    /// Members if the tag is missing; `None` if it must be there.
    pub(crate) untagged: Option<&'static [FormMember]>,
    /// Text of the tag and the other members, for each variant.
    pub(crate) variants: &'static [(&'static str, &'static [FormMember])],
}

/// Tool definitions, told apart by their `type`. A type that is not listed is run by the vendor.
#[derive(Debug)]
pub(crate) struct ToolForms {
    /// Members of a definition without a type, which the agent runs; `None` if the type must be there.
    pub(crate) untyped: Option<&'static [FormMember]>,
    /// Types of tools that the agent runs.
    pub(crate) own: &'static [OwnTool],
    /// Types of definitions that name a remote server.
    pub(crate) servers: &'static [(&'static str, KeptForm)],
    /// True if types end in a date, which makes no difference to who runs the tool.
    pub(crate) has_dated_types: bool,
}

/// Type of tool that the agent runs.
#[derive(Debug)]
pub(crate) struct OwnTool {
    /// Type, without the date.
    pub(crate) type_name: &'static str,
    /// Members besides the type.
    pub(crate) members: &'static [FormMember],
    /// Condition under which it is the agent that runs the tool.
    pub(crate) condition: OwnToolCondition,
}

/// Condition under which a type of tool is run by the agent; otherwise the vendor runs it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OwnToolCondition {
    /// Always.
    Always,
    /// The member is missing, or is an object of this type.
    AbsentOrOfType(&'static str, &'static str),
    /// The member is this text.
    Is(&'static str, &'static str),
}

/// Thing that the vendor keeps or reaches: a stored prompt, a cache, a remote server. The envelope allows it as `PREFIX:NAME`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeptForm {
    /// Beginning of the name in the envelope.
    pub(crate) prefix: &'static str,
    /// Paths of the members that identify the thing, the first that is there. An address comes before a name, because the agent
    /// is free to choose the name.
    pub(crate) named_by: &'static [&'static str],
    /// Member with the name by which other parts of the request refer to the thing.
    pub(crate) declared_name: Option<&'static str>,
}

/// Forms of the requests of one interface.
#[derive(Debug)]
pub(crate) struct RequestForms {
    /// Form of the whole body.
    pub(crate) body: Form,
    /// Form of a tool definition, for definitions that stand where none is known.
    pub(crate) tool: Form,
    /// True if members may be spelled `functionCall` or `function_call`. The table has the first.
    pub(crate) has_two_spellings: bool,
}

impl Form {
    /// Returns the form for values of a kind; `None` if no such value may stand here.
    fn for_kind(&'static self, kind: ValueKind) -> Option<&'static Self> {
        let fits = match self {
            Self::OneOf(forms) => return forms.iter().find_map(|form| form.for_kind(kind)),
            Self::Any | Self::VendorTool(_) | Self::Kept(_) => true,
            Self::Scalar => !matches!(kind, ValueKind::Array | ValueKind::Object),
            Self::List(_) => kind == ValueKind::Array,
            Self::Object(_) | Self::Tagged(_) | Self::Tool(_) | Self::ToolMembers(_) => {
                kind == ValueKind::Object
            }
            Self::Model | Self::ServerName => kind == ValueKind::String,
        };
        fits.then_some(self)
    }
}

/// Findings in one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FormFindings {
    /// Paths of forms that are not known, in the order of the text, at most [`FormFindings::MAX_UNKNOWN`]. Safe to print.
    pub unknown: Vec<String>,
    /// Paths of forms that are not known and that the envelope allows, each once and as bounded. Safe to print.
    pub allowed: Vec<String>,
    /// Tools that the vendor itself is to run, by their types, and things that may bring such tools, as `PREFIX:NAME`.
    pub vendor_tools: Vec<String>,
    /// Models that may answer beside the one that the request asks.
    pub models: Vec<String>,
}

impl FormFindings {
    /// Largest number of paths in each list of forms.
    pub const MAX_UNKNOWN: usize = 8;
}

/// Compares the body of a request with the forms of its interface. `allowed` are the paths that the envelope allows.
///
/// The body must be valid JSON; one that is not has the unknown form `$`.
///
/// ```
/// use reenact_wire::{Endpoint, request_form};
///
/// let body = br#"{"model": "m", "messages": [{"role": "user", "content": "hi"}], "plugins": [{"id": "web"}]}"#;
/// let found = request_form::check(Endpoint::CHAT_COMPLETIONS, body, &Default::default());
/// assert_eq!(found.unknown, ["$.plugins"]);
/// ```
pub fn check(endpoint: Endpoint, body: &[u8], allowed: &BTreeSet<String>) -> FormFindings {
    checker::check(endpoint.protocol().request_forms(), body, allowed)
}

/// Compares the fields of a form in parts (`multipart/form-data`) with the members of its interface's body. `allowed` are the paths that the
/// envelope allows. A form that servers may read in different ways has the unknown form `$`.
pub fn check_multipart(
    endpoint: Endpoint,
    content_type: &str,
    body: &[u8],
    allowed: &BTreeSet<String>,
) -> FormFindings {
    let mut findings = FormFindings::default();
    let forms = endpoint.protocol().request_forms();
    let known = |name: &str| match forms.body {
        Form::Object(members) => members.iter().any(|(member, _)| *member == name),
        _ => false,
    };
    let parts = multipart::parts(content_type, body).filter(|_| endpoint.takes_multipart());
    let Some(parts) = parts else { return FormFindings { unknown: vec!["$".to_owned()], ..findings } };
    // A name of a model in a file is not read here, and may be by the server.
    let is_unknown = |part: &FormPart<'_>| !known(part.name) || part.is_file && part.name == "model";
    let unknown = parts.iter().filter(|part| is_unknown(part)).map(|part| format!("$.{}", part.name));
    let unknown: BTreeSet<String> = unknown.collect();
    for path in unknown {
        let list = if allowed.contains(&path) { &mut findings.allowed } else { &mut findings.unknown };
        if list.len() < FormFindings::MAX_UNKNOWN {
            list.push(path);
        }
    }
    findings
}

/// Returns the type of a vendor's tool without the date at its end, as in `web_search_20250305` or `web_search_2025_08_26`; `None`
/// if there is no date, or if the name is of the form `PREFIX:NAME`.
pub fn undated_tool(name: &str) -> Option<&str> {
    let is_digits =
        |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if name.contains(':') {
        return None;
    }
    let (before, last) = name.rsplit_once('_')?;
    if is_digits(last, 8) {
        return Some(before);
    }
    let (before, month) = before.rsplit_once('_')?;
    let (before, year) = before.rsplit_once('_')?;
    (is_digits(last, 2) && is_digits(month, 2) && is_digits(year, 4)).then_some(before)
}
