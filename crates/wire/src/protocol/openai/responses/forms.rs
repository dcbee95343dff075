//! Forms of a request for responses: members, input items, parts and tools.

use crate::request_form::Form::{Any, Kept, List, Model, Object, OneOf, Scalar, Tagged, Tool, VendorTool};
use crate::request_form::{
    Form, FormMember, KeptForm, OwnTool, OwnToolCondition, RequestForms, TaggedForm, ToolForms,
};

pub(in crate::protocol::openai) static FORMS: RequestForms =
    RequestForms { body: Object(BODY), tool: TOOL, has_two_spellings: false };

static BODY: &[FormMember] = &[
    // Read as the name of the model; a request in which it is no text names none, and is denied for that.
    ("model", Any),
    ("input", OneOf(&[Scalar, List(&Tagged(&ITEM))])),
    ("instructions", Scalar),
    ("tools", List(&TOOL)),
    ("tool_choice", Any),
    // What the vendor keeps may bring tools that the request does not name.
    ("conversation", Kept(&KeptForm { prefix: "conversation", named_by: &["id"], declared_name: None })),
    ("prompt", Kept(&KeptForm { prefix: "prompt", named_by: &["id"], declared_name: None })),
    ("moderation", Object(&[("model", Model), ("policy", Any)])),
    ("access_programs", Object(&[("cyber", Scalar)])),
    ("background", Scalar),
    ("client_metadata", Any),
    ("context_management", List(&Object(&[("type", Scalar), ("compact_threshold", Scalar)]))),
    ("image", Object(&[("context_compression", Scalar)])),
    ("include", List(&Scalar)),
    ("max_output_tokens", Scalar),
    ("max_tokens", Scalar),
    ("max_tool_calls", Scalar),
    ("metadata", Any),
    ("parallel_tool_calls", Scalar),
    ("previous_response_id", Scalar),
    ("prompt_cache_key", Scalar),
    (
        "prompt_cache_options",
        Object(&[("comparison_response_id", Scalar), ("mode", Scalar), ("prewarm", Scalar), ("ttl", Scalar)]),
    ),
    ("prompt_cache_retention", Scalar),
    ("reasoning", Object(REASONING)),
    ("safety_identifier", Scalar),
    ("seed", Scalar),
    ("service_tier", Scalar),
    ("store", Scalar),
    ("stream", Scalar),
    ("stream_options", Object(&[("include_obfuscation", Scalar), ("include_usage", Scalar)])),
    ("temperature", Scalar),
    ("text", Object(TEXT)),
    ("top_k", Scalar),
    ("top_logprobs", Scalar),
    ("top_p", Scalar),
    ("truncation", Scalar),
    ("user", Scalar),
];

static REASONING: &[FormMember] = &[
    ("context", Scalar),
    ("effort", Scalar),
    ("generate_summary", Scalar),
    ("mode", Scalar),
    ("summary", Scalar),
];

static TEXT: &[FormMember] = &[
    (
        "format",
        Object(&[
            ("type", Scalar),
            ("name", Scalar),
            ("description", Scalar),
            ("schema", Any),
            ("strict", Scalar),
        ]),
    ),
    ("verbosity", Scalar),
];

const ID: FormMember = ("id", Scalar);
const CALL_ID: FormMember = ("call_id", Scalar);
const STATUS: FormMember = ("status", Scalar);
/// Added by the vendor to items that a client gives back.
const CREATED_BY: FormMember = ("created_by", Scalar);
const CALLER: FormMember = ("caller", Object(&[("type", Scalar), ("caller_id", Scalar)]));

static ITEM: TaggedForm = TaggedForm {
    tag: "type",
    untagged: Some(MESSAGE),
    variants: &[
        ("message", MESSAGE),
        ("item_reference", &[ID]),
        (
            "reasoning",
            &[ID, STATUS, ("summary", CONTENT), ("content", CONTENT), ("encrypted_content", Scalar)],
        ),
        ("compaction", &[ID, CREATED_BY, ("encrypted_content", Scalar)]),
        ("compaction_trigger", &[ID]),
        ("configuration_update", &[ID, ("reasoning", Object(REASONING)), ("text", Object(TEXT))]),
        // Definitions of tools in the middle of a conversation.
        ("additional_tools", &[ID, ("role", Scalar), ("tools", List(&TOOL))]),
        (
            "tool_search_output",
            &[ID, CREATED_BY, CALL_ID, STATUS, ("execution", Scalar), ("tools", List(&TOOL))],
        ),
        ("tool_search_call", &[ID, CREATED_BY, CALL_ID, STATUS, ("execution", Scalar), ("arguments", Any)]),
        // Calls of the agent's tools, and their results.
        (
            "function_call",
            &[
                ID,
                CALL_ID,
                STATUS,
                CALLER,
                ("arguments", Scalar),
                ("async", Scalar),
                ("name", Scalar),
                ("namespace", Scalar),
                ("parsed_arguments", Any),
            ],
        ),
        (
            "function_call_output",
            &[
                ID,
                CREATED_BY,
                CALL_ID,
                STATUS,
                CALLER,
                ("name", Scalar),
                ("namespace", Scalar),
                ("output", CONTENT),
            ],
        ),
        (
            "custom_tool_call",
            &[
                ID,
                CALL_ID,
                STATUS,
                CALLER,
                ("async", Scalar),
                ("input", Scalar),
                ("name", Scalar),
                ("namespace", Scalar),
            ],
        ),
        (
            "custom_tool_call_output",
            &[ID, CREATED_BY, CALL_ID, STATUS, CALLER, ("name", Scalar), ("output", CONTENT)],
        ),
        ("local_shell_call", &[ID, CALL_ID, STATUS, ("action", Any)]),
        ("local_shell_call_output", &[ID, CALL_ID, STATUS, ("output", Scalar)]),
        ("shell_call", &[ID, CREATED_BY, CALL_ID, STATUS, CALLER, ("action", Any), ("environment", Any)]),
        (
            "shell_call_output",
            &[ID, CREATED_BY, CALL_ID, STATUS, CALLER, ("max_output_length", Scalar), ("output", Any)],
        ),
        ("apply_patch_call", &[ID, CREATED_BY, CALL_ID, STATUS, CALLER, ("operation", Any)]),
        ("apply_patch_call_output", &[ID, CREATED_BY, CALL_ID, STATUS, CALLER, ("output", Scalar)]),
        (
            "computer_call",
            &[ID, CALL_ID, STATUS, ("action", Any), ("actions", Any), ("pending_safety_checks", Any)],
        ),
        (
            "computer_call_output",
            &[ID, CREATED_BY, CALL_ID, STATUS, ("acknowledged_safety_checks", Any), ("output", Any)],
        ),
        // Calls that the vendor ran, as history.
        ("file_search_call", &[ID, STATUS, ("queries", Any), ("results", Any)]),
        ("web_search_call", &[ID, STATUS, ("action", Any)]),
        ("image_generation_call", IMAGE_CALL),
        (
            "code_interpreter_call",
            &[ID, STATUS, ("code", Scalar), ("container_id", Scalar), ("outputs", Any)],
        ),
        ("program", &[ID, CALL_ID, ("code", Scalar), ("fingerprint", Scalar)]),
        ("program_output", &[ID, CALL_ID, STATUS, ("result", Scalar)]),
        ("mcp_list_tools", &[ID, ("error", Any), ("server_label", Scalar), ("tools", Any)]),
        ("mcp_approval_request", &[ID, ("arguments", Scalar), ("name", Scalar), ("server_label", Scalar)]),
        (
            "mcp_call",
            &[
                ID,
                STATUS,
                ("approval_request_id", Scalar),
                ("arguments", Scalar),
                ("error", Any),
                ("name", Scalar),
                ("output", Scalar),
                ("server_label", Scalar),
            ],
        ),
        // Lets the vendor call a remote server: nobody here sees which tool it is.
        (
            "mcp_approval_response",
            &[
                ID,
                ("approval_request_id", VendorTool("mcp_approval_response")),
                ("approve", Scalar),
                ("reason", Scalar),
            ],
        ),
    ],
};

static MESSAGE: &[FormMember] = &[
    ID,
    STATUS,
    ("content", CONTENT),
    ("end_turn", Scalar),
    ("name", Scalar),
    ("phase", Scalar),
    ("role", Scalar),
];

static IMAGE_CALL: &[FormMember] = &[
    ID,
    STATUS,
    ("action", Scalar),
    ("background", Scalar),
    ("error", Any),
    ("output_format", Scalar),
    ("quality", Scalar),
    ("result", Scalar),
    ("revised_prompt", Scalar),
    ("size", Scalar),
    ("svg_usage", Any),
];

const CONTENT: Form = OneOf(&[Scalar, List(&Tagged(&PART))]);

static PART: TaggedForm = TaggedForm {
    tag: "type",
    untagged: None,
    variants: &[
        ("input_text", &[("text", Scalar), CACHE_BREAKPOINT]),
        ("output_text", &[("text", Scalar), ("annotations", Any), ("logprobs", Any), ("parsed", Any)]),
        ("text", &[("text", Scalar)]),
        ("refusal", &[("refusal", Scalar)]),
        ("summary_text", &[("text", Scalar)]),
        ("reasoning_text", &[("text", Scalar)]),
        ("input_image", &[("detail", Scalar), ("file_id", Scalar), ("image_url", Scalar), CACHE_BREAKPOINT]),
        (
            "input_file",
            &[
                ("detail", Scalar),
                ("file_data", Scalar),
                ("file_id", Scalar),
                ("file_url", Scalar),
                ("filename", Scalar),
                CACHE_BREAKPOINT,
            ],
        ),
        ("input_audio", &[("input_audio", Any), CACHE_BREAKPOINT]),
    ],
};

const CACHE_BREAKPOINT: FormMember = ("prompt_cache_breakpoint", Any);

static TOOL: Form = Tool(&TOOLS);

static TOOLS: ToolForms = ToolForms {
    untyped: None,
    own: &[
        own("function", FUNCTION),
        own("custom", CUSTOM),
        own("namespace", &[("name", Scalar), ("description", Scalar), ("tools", List(&TOOL))]),
        own("computer", &[]),
        own("computer_use", DISPLAY),
        own("computer_use_preview", DISPLAY),
        own("local_shell", &[]),
        own("apply_patch", &[("allowed_callers", Any)]),
        OwnTool {
            type_name: "shell",
            members: &[("allowed_callers", Any), ("environment", Any)],
            condition: OwnToolCondition::AbsentOrOfType("environment", "local"),
        },
        OwnTool {
            type_name: "tool_search",
            members: &[("description", Scalar), ("execution", Scalar), ("parameters", Any)],
            condition: OwnToolCondition::Is("execution", "client"),
        },
    ],
    servers: &[(
        "mcp",
        KeptForm {
            prefix: "mcp",
            named_by: &["server_url", "connector_id", "tunnel_id", "server_label"],
            declared_name: None,
        },
    )],
    has_dated_types: false,
};

const fn own(type_name: &'static str, members: &'static [FormMember]) -> OwnTool {
    OwnTool { type_name, members, condition: OwnToolCondition::Always }
}

static FUNCTION: &[FormMember] = &[
    ("name", Scalar),
    ("description", Scalar),
    ("parameters", Any),
    ("strict", Scalar),
    ("allowed_callers", Any),
    ("async", Scalar),
    ("defer_loading", Scalar),
    ("output_schema", Any),
];

static CUSTOM: &[FormMember] = &[
    ("name", Scalar),
    ("description", Scalar),
    ("format", Any),
    ("allowed_callers", Any),
    ("async", Scalar),
    ("defer_loading", Scalar),
];

static DISPLAY: &[FormMember] =
    &[("display_height", Scalar), ("display_width", Scalar), ("environment", Scalar)];
