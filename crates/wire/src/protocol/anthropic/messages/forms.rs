//! Forms of a request for messages: members, content blocks and tools.

use crate::request_form::Form::{Any, Kept, List, Model, Object, OneOf, Scalar, ServerName, Tagged, Tool};
use crate::request_form::{
    Form, FormMember, KeptForm, OwnTool, OwnToolCondition, RequestForms, TaggedForm, ToolForms,
};

pub(in crate::protocol::anthropic) static FORMS: RequestForms =
    RequestForms { body: Object(BODY), tool: TOOL, has_two_spellings: false };

static BODY: &[FormMember] = &[
    // Read as the name of the model; a request in which it is no text names none, and is denied for that.
    ("model", Any),
    ("messages", List(&Tagged(&MESSAGE))),
    ("system", OneOf(&CONTENT)),
    ("tools", List(&TOOL)),
    ("tool_choice", Object(&[("type", Scalar), ("name", Scalar), ("disable_parallel_tool_use", Scalar)])),
    ("mcp_servers", List(&Kept(&MCP_SERVER))),
    // A list of models; the text `default` would leave the choice to the vendor, and so is not known.
    ("fallbacks", List(&Object(FALLBACK))),
    ("fallback_credit_token", OneOf(&[Scalar, Object(&[("token", Scalar), ("mode", Scalar)])])),
    // Without `skills`, which bring programs that the vendor runs.
    ("container", OneOf(&[Scalar, Object(&[("id", Scalar)])])),
    ("max_tokens", Scalar),
    ("anthropic_beta", List(&Scalar)),
    ("anthropic_version", Scalar),
    ("betas", List(&Scalar)),
    ("cache_control", Any),
    ("compaction", Object(&[("type", Scalar), ("instructions", Scalar)])),
    ("context_management", Object(&[("edits", List(&Object(CONTEXT_EDIT)))])),
    ("diagnostics", Object(&[("previous_message_id", Scalar)])),
    ("inference_geo", Scalar),
    ("metadata", Any),
    ("output_config", Object(OUTPUT_CONFIG)),
    ("output_format", Any),
    ("service_tier", Scalar),
    ("speed", Scalar),
    ("stop_sequences", List(&Scalar)),
    ("stream", Scalar),
    ("temperature", Scalar),
    ("thinking", Object(THINKING)),
    ("thread", Object(&[("type", Scalar), ("previous_message_id", Scalar)])),
    ("top_k", Scalar),
    ("top_p", Scalar),
    ("user_profile_id", Scalar),
    ("workspace_id", Scalar),
];

const MCP_SERVER: KeptForm =
    KeptForm { prefix: "mcp", named_by: &["url", "name"], declared_name: Some("name") };

static FALLBACK: &[FormMember] = &[
    ("model", Model),
    ("max_tokens", Scalar),
    ("output_config", Object(OUTPUT_CONFIG)),
    ("speed", Scalar),
    ("thinking", Object(THINKING)),
];

static OUTPUT_CONFIG: &[FormMember] = &[("effort", Scalar), ("format", Any), ("task_budget", Any)];

static THINKING: &[FormMember] =
    &[("type", Scalar), ("block_binding", Any), ("budget_tokens", Scalar), ("display", Scalar)];

static CONTEXT_EDIT: &[FormMember] = &[
    ("type", Scalar),
    ("clear_at_least", Any),
    ("clear_tool_inputs", Any),
    ("exclude_tools", Any),
    ("instructions", Scalar),
    ("keep", Any),
    ("pause_after_compaction", Scalar),
    ("trigger", Any),
];

static MESSAGE: TaggedForm = TaggedForm {
    tag: "role",
    untagged: None,
    variants: &[
        ("user", &[("content", OneOf(&CONTENT))]),
        ("assistant", &[("content", OneOf(&CONTENT))]),
        (
            "system",
            &[("content", OneOf(&CONTENT)), ("clear_at", Scalar), ("output_config", Object(OUTPUT_CONFIG))],
        ),
    ],
};

/// Text, or a list of blocks. A static, because blocks hold contents again.
static CONTENT: [Form; 2] = [Scalar, List(&ONE_BLOCK)];
static ONE_BLOCK: Form = Tagged(&BLOCK);
const CACHE: FormMember = ("cache_control", Any);
const CALLER: FormMember = ("caller", Object(&[("type", Scalar), ("tool_id", Scalar)]));
const TOOL_USE_ID: FormMember = ("tool_use_id", Scalar);

/// Members of the result of a tool that the vendor ran, which a request only gives back.
static VENDOR_RESULT: &[FormMember] = &[CACHE, CALLER, TOOL_USE_ID, ("content", Any), ("is_error", Scalar)];

static BLOCK: TaggedForm = TaggedForm {
    tag: "type",
    untagged: None,
    variants: &[
        ("text", &[CACHE, ("text", Scalar), ("citations", Any), ("parsed_output", Any)]),
        ("image", &[CACHE, ("source", Any), ("transformations", Any)]),
        ("document", &[CACHE, ("source", Any), ("citations", Any), ("context", Scalar), ("title", Scalar)]),
        (
            "search_result",
            &[CACHE, ("content", OneOf(&CONTENT)), ("source", Scalar), ("title", Scalar), ("citations", Any)],
        ),
        ("thinking", &[CACHE, ("thinking", Scalar), ("signature", Scalar)]),
        ("redacted_thinking", &[CACHE, ("data", Scalar)]),
        (
            "tool_use",
            &[CACHE, CALLER, ("id", Scalar), ("input", Any), ("name", Scalar), ("toolset_name", Scalar)],
        ),
        (
            "tool_result",
            &[
                CACHE,
                TOOL_USE_ID,
                ("content", OneOf(&CONTENT)),
                ("is_error", Scalar),
                ("toolset_name", Scalar),
            ],
        ),
        ("tool_reference", &[CACHE, ("tool_name", Scalar)]),
        ("browser_state", &[CACHE, ("tabs", Any), ("state_changes", Any)]),
        ("compaction", COMPACTION),
        ("container_upload", &[CACHE, ("file_id", Scalar)]),
        ("fallback", &[("from", Any), ("to", Any), ("trigger", Any)]),
        // Definitions of tools in the middle of a conversation.
        ("tool_addition", TOOL_CHANGE),
        ("tool_removal", TOOL_CHANGE),
        ("mcp_tool_listing", &[("mcp_server_name", ServerName), ("tools", Any)]),
        // Calls that the vendor ran, as history.
        ("server_tool_use", &[CACHE, CALLER, ("id", Scalar), ("input", Any), ("name", Scalar)]),
        ("mcp_tool_use", &[CACHE, ("id", Scalar), ("input", Any), ("name", Scalar), ("server_name", Scalar)]),
        ("mcp_tool_result", VENDOR_RESULT),
        ("web_search_tool_result", VENDOR_RESULT),
        ("web_fetch_tool_result", VENDOR_RESULT),
        ("advisor_tool_result", VENDOR_RESULT),
        ("code_execution_tool_result", VENDOR_RESULT),
        ("bash_code_execution_tool_result", VENDOR_RESULT),
        ("text_editor_code_execution_tool_result", VENDOR_RESULT),
        ("tool_search_tool_result", VENDOR_RESULT),
    ],
};

static COMPACTION: &[FormMember] = &[
    CACHE,
    ("content", Scalar),
    ("encrypted_content", Scalar),
    ("signature", Scalar),
    ("tool_changes", List(&Tagged(&BLOCK))),
];

static TOOL_CHANGE: &[FormMember] = &[
    CACHE,
    (
        "tool",
        Tagged(&TaggedForm {
            tag: "type",
            untagged: None,
            variants: &[
                ("tool_definition", &[("definition", TOOL)]),
                ("tool_reference", &[("name", Scalar)]),
                ("mcp_tool_reference", &[("name", Scalar), ("server_name", ServerName)]),
                ("mcp_toolset_reference", &[("server_name", ServerName)]),
            ],
        }),
    ),
];

const TOOL: Form = Tool(&TOOLS);

static TOOLS: ToolForms = ToolForms {
    untyped: Some(CUSTOM),
    own: &[
        own("custom", CUSTOM),
        own("bash", DEFINED),
        own("computer", DEFINED),
        own("memory", DEFINED),
        own("text_editor", DEFINED),
        own("browser_toolset", &[CACHE, ("configs", Any)]),
        own("computer_toolset", &[CACHE, ("configs", Any)]),
        // Tools of a server that the request declares, and that is judged there.
        own(
            "mcp_toolset",
            &[
                CACHE,
                ("mcp_server_name", ServerName),
                ("configs", Any),
                ("default_config", Any),
                ("tools", Any),
            ],
        ),
    ],
    servers: &[],
    has_dated_types: true,
};

const fn own(type_name: &'static str, members: &'static [FormMember]) -> OwnTool {
    OwnTool { type_name, members, condition: OwnToolCondition::Always }
}

static CUSTOM: &[FormMember] = &[
    CACHE,
    ("name", Scalar),
    ("description", Scalar),
    ("input_schema", Any),
    ("allowed_callers", List(&Scalar)),
    ("defer_loading", Scalar),
    ("eager_input_streaming", Scalar),
    ("input_examples", Any),
    ("strict", Scalar),
];

/// Members of tools that the agent runs and whose parameters the vendor defines.
static DEFINED: &[FormMember] = &[
    CACHE,
    ("name", Scalar),
    ("allowed_callers", List(&Scalar)),
    ("defer_loading", Scalar),
    ("display_height_px", Scalar),
    ("display_number", Scalar),
    ("display_width_px", Scalar),
    ("enable_zoom", Scalar),
    ("input_examples", Any),
    ("max_characters", Scalar),
    ("strict", Scalar),
];
