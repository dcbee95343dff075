//! Forms of a request for chat completions: OpenAI's own, and the harmless members of servers that speak its interface.
//!
//! Left out on purpose: members by which such servers take another model, another server or tools of their own (`models`,
//! `fallbacks`, `route`, `provider`, `plugins`, `search_parameters`, `data_sources`, `preset`, `enable_search`, `compound_custom`).

use crate::request_form::Form::{Any, List, Model, Object, OneOf, Scalar, Tagged, Tool, VendorTool};
use crate::request_form::{Form, FormMember, OwnTool, OwnToolCondition, RequestForms, TaggedForm, ToolForms};

pub(super) static FORMS: RequestForms =
    RequestForms { body: Object(BODY), tool: TOOL, has_two_spellings: false };

static BODY: &[FormMember] = &[
    // Read as the name of the model; a request in which it is no text names none, and is denied for that.
    ("model", Any),
    ("messages", List(&Tagged(&MESSAGE))),
    ("tools", List(&TOOL)),
    ("tool_choice", Any),
    ("functions", List(&Object(FUNCTION))),
    ("function_call", Any),
    ("web_search_options", VendorTool("web_search")),
    ("moderation", Object(&[("model", Model), ("policy", Any)])),
    ("audio", Object(&[("format", Scalar), ("voice", Any)])),
    ("frequency_penalty", Scalar),
    ("logit_bias", Any),
    ("logprobs", Scalar),
    ("max_completion_tokens", Scalar),
    ("max_tokens", Scalar),
    ("metadata", Any),
    ("modalities", List(&Scalar)),
    ("n", Scalar),
    ("parallel_tool_calls", Scalar),
    ("prediction", Object(&[("type", Scalar), ("content", CONTENT)])),
    ("presence_penalty", Scalar),
    ("prompt_cache_key", Scalar),
    ("prompt_cache_options", Object(&[("mode", Scalar), ("ttl", Scalar)])),
    ("prompt_cache_retention", Scalar),
    ("reasoning_effort", Scalar),
    ("response_format", Object(&[("type", Scalar), ("json_schema", Any), ("schema", Any)])),
    ("safety_identifier", Scalar),
    ("seed", Scalar),
    ("service_tier", Scalar),
    ("stop", OneOf(&[Scalar, List(&Scalar)])),
    ("store", Scalar),
    ("stream", Scalar),
    ("stream_options", Object(&[("include_usage", Scalar), ("include_obfuscation", Scalar)])),
    ("temperature", Scalar),
    ("top_logprobs", Scalar),
    ("top_p", Scalar),
    ("user", Scalar),
    ("verbosity", Scalar),
    // Sampling and output of servers that speak this interface.
    ("best_of", Scalar),
    ("cache_control", Any),
    ("chat_template_kwargs", Any),
    ("do_sample", Scalar),
    ("enable_thinking", Scalar),
    ("guided_choice", Any),
    ("guided_grammar", Any),
    ("guided_json", Any),
    ("guided_regex", Scalar),
    ("ignore_eos", Scalar),
    ("include_reasoning", Scalar),
    ("keep_alive", Scalar),
    ("length_penalty", Scalar),
    ("min_p", Scalar),
    ("min_tokens", Scalar),
    ("prompt_mode", Scalar),
    ("random_seed", Scalar),
    ("reasoning", Object(REASONING)),
    ("reasoning_format", Scalar),
    ("repeat_penalty", Scalar),
    ("repetition_penalty", Scalar),
    ("safe_prompt", Scalar),
    ("skip_special_tokens", Scalar),
    ("stop_token_ids", List(&Scalar)),
    ("structured_outputs", Any),
    ("thinking", Object(&[("type", Scalar), ("budget_tokens", Scalar), ("clear_thinking", Scalar)])),
    ("thinking_budget", Scalar),
    ("top_a", Scalar),
    ("top_k", Scalar),
    ("typical_p", Scalar),
    ("usage", Object(&[("include", Scalar)])),
];

static REASONING: &[FormMember] = &[
    ("effort", Scalar),
    ("enabled", Scalar),
    ("exclude", Scalar),
    ("max_tokens", Scalar),
    ("summary", Scalar),
];

static MESSAGE: TaggedForm = TaggedForm {
    tag: "role",
    untagged: None,
    variants: &[
        ("system", SPOKEN),
        ("developer", SPOKEN),
        ("user", SPOKEN),
        ("assistant", ASSISTANT),
        ("tool", &[("content", CONTENT), ("tool_call_id", Scalar), ("name", Scalar), ("cache_control", Any)]),
        ("function", &[("content", CONTENT), ("name", Scalar)]),
    ],
};

static SPOKEN: &[FormMember] = &[("content", CONTENT), ("name", Scalar), ("cache_control", Any)];

static ASSISTANT: &[FormMember] = &[
    ("content", CONTENT),
    ("tool_calls", List(&Tagged(&TOOL_CALL))),
    ("function_call", Object(&[("name", Scalar), ("arguments", Scalar)])),
    ("name", Scalar),
    ("refusal", Scalar),
    ("audio", Object(&[("id", Scalar), ("data", Scalar), ("expires_at", Scalar), ("transcript", Scalar)])),
    ("annotations", Any),
    ("cache_control", Any),
    ("extra_content", Any),
    ("id", Scalar),
    ("parsed", Any),
    ("partial", Scalar),
    ("prefix", Scalar),
    ("provider_specific_fields", Any),
    ("reasoning", Any),
    ("reasoning_content", Any),
    ("reasoning_details", Any),
    ("thinking_blocks", Any),
];

const CONTENT: Form = OneOf(&[Scalar, List(&Tagged(&PART))]);

static PART: TaggedForm = TaggedForm {
    tag: "type",
    untagged: None,
    variants: &[
        ("text", &[("text", Scalar), ("annotations", Any), ("cache_control", Any), CACHE_BREAKPOINT]),
        ("refusal", &[("refusal", Scalar)]),
        ("image_url", &[("image_url", Any), ("cache_control", Any), CACHE_BREAKPOINT]),
        ("input_audio", &[("input_audio", Any), ("cache_control", Any), CACHE_BREAKPOINT]),
        ("audio_url", &[("audio_url", Any)]),
        ("video_url", &[("video_url", Any)]),
        ("file", &[("file", Any), ("cache_control", Any), CACHE_BREAKPOINT]),
        ("document", &[("document", Any)]),
        ("thinking", &[("thinking", Any), ("signature", Scalar), ("closed", Scalar)]),
    ],
};

const CACHE_BREAKPOINT: FormMember = ("prompt_cache_breakpoint", Any);

static TOOL_CALL: TaggedForm = TaggedForm {
    tag: "type",
    untagged: Some(FUNCTION_CALL),
    variants: &[
        ("function", FUNCTION_CALL),
        (
            "custom",
            &[
                ("id", Scalar),
                ("index", Scalar),
                ("custom", Object(&[("name", Scalar), ("input", Scalar)])),
                ("extra_content", Any),
            ],
        ),
    ],
};

static FUNCTION_CALL: &[FormMember] = &[
    ("id", Scalar),
    ("index", Scalar),
    (
        "function",
        Object(&[
            ("name", Scalar),
            ("arguments", Scalar),
            ("parsed_arguments", Any),
            ("provider_specific_fields", Any),
        ]),
    ),
    ("extra_content", Any),
    ("provider_specific_fields", Any),
];

const TOOL: Form = Tool(&TOOLS);

static TOOLS: ToolForms = ToolForms {
    untyped: Some(FUNCTION_TOOL),
    own: &[
        OwnTool { type_name: "function", members: FUNCTION_TOOL, condition: OwnToolCondition::Always },
        OwnTool {
            type_name: "custom",
            members: &[("custom", Object(&[("name", Scalar), ("description", Scalar), ("format", Any)]))],
            condition: OwnToolCondition::Always,
        },
    ],
    servers: &[],
    has_dated_types: false,
};

static FUNCTION_TOOL: &[FormMember] =
    &[("function", Object(FUNCTION)), ("strict", Scalar), ("cache_control", Any)];

static FUNCTION: &[FormMember] = &[
    ("name", Scalar),
    ("description", Scalar),
    ("parameters", Any),
    ("strict", Scalar),
    ("cache_control", Any),
];
