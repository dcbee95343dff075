//! Attacks on messages.

use reenact_wire::Endpoint;

use crate::AttackKind::{
    ForbiddenCall, ForbiddenResult, HiddenTool, HighestCost, KeptByVendor, NamedLikeAllowed, NestedModel,
    OddPath, OtherModel, RemoteServer, UncountableCall, UnknownInterface, UnknownItem, UnknownMember,
    VendorTool,
};
use crate::{AttackTable, attack, attack_at, hidden_call};

pub(crate) const TABLE: AttackTable = AttackTable {
    endpoint: Endpoint::MESSAGES,
    path: "/v1/messages",
    attacks: &[
        attack(
            VendorTool,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"web_search_20250305\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"web_fetch_20260318","name":"web_fetch"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"web_fetch_20260318\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"code_execution_20250825","name":"code_execution"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"code_execution_20250825\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"tool_search_tool_regex_20251119\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"bashful_20250124","name":"bash"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"bashful_20250124\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"web_fetch_20250910","name":"web_fetch"}}}]}]}"#,
            "allowed_tools",
            "the vendor's own tool \"web_fetch_20250910\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"mcp_toolset","mcp_server_name":"git"}}}]}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp:git\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"compaction","content":"x","tool_changes":[{"type":"tool_addition","tool":{"definition":{"type":"web_search_20250305"},"type":"tool_definition"}}]}]}]}"#,
            "allowed_tools",
            "the vendor's own tool \"web_search_20250305\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_addition","tool":{"type":"mcp_toolset_reference","server_name":"git"}}]}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp:git\" is not on the list",
        ),
        attack(
            NamedLikeAllowed,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"advisor_20260301","name":"lookup","model":"claude-opus-4-5"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"advisor_20260301\" is not on the list",
        ),
        attack(
            NamedLikeAllowed,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"mcp_servers":[{"type":"url","name":"lookup","url":"https://x.example"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp:https://x.example\" is not on the list",
        ),
        attack(
            RemoteServer,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"mcp_servers":[{"type":"url","name":"git","url":"https://x.example"}],"tools":[{"type":"mcp_toolset","mcp_server_name":"git"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp:https://x.example\" is not on the list",
        ),
        attack(
            KeptByVendor,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"container":{"id":"c","skills":[{"type":"custom","skill_id":"s"}]}}"#,
            "unknown_form",
            "$.container.skills is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.container.skills\"]",
        ),
        attack(
            OtherModel,
            r#"{"model":"claude-opus-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#,
            "allowed_models",
            "the model \"claude-opus-4-5\" is not on the list",
        ),
        attack(
            NestedModel,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"fallbacks":[{"model":"claude-opus-4-5"}]}"#,
            "allowed_models",
            "the model \"claude-opus-4-5\" is not on the list",
        ),
        attack(
            NestedModel,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"fallbacks":"default"}"#,
            "unknown_form",
            "$.fallbacks is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.fallbacks\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"plugins":[1]}"#,
            "unknown_form",
            "$.plugins is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.plugins\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"lookup","input_schema":{},"url":"https://x.example"}]}"#,
            "unknown_form",
            "$.tools[].url is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.tools[].url\"]",
        ),
        attack(
            UnknownItem,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_definition","tool":{}}]}]}"#,
            "unknown_form",
            "$.messages[].content[].type=tool_definition is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.messages[].content[].type=tool_definition\"]",
        ),
        attack(
            UnknownItem,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"tool","content":"x"}]}"#,
            "unknown_form",
            "$.messages[].role=tool is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.messages[].role=tool\"]",
        ),
        attack(
            ForbiddenResult,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"pay","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"paid"}]}]}"#,
            "allowed_tools",
            "the tool \"pay\" is not on the list",
        ),
        attack_at(
            UnknownInterface,
            "/v1/messages/batches",
            "allowed_tools",
            "POST /v1/messages/batches may ask for tools in a way that is not known here",
        ),
        attack(
            ForbiddenCall,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#,
            "allowed_tools",
            "the tool \"pay\" is not on the list",
        ),
        attack_at(
            OddPath,
            "/v1/messages/..;/count_tokens",
            "unknown_form",
            "POST /v1/messages/..;/count_tokens has a sign in its path or query that servers read in different ways (%, ;, .., // or the like)",
        ),
        attack(
            UncountableCall,
            r#"{"model":"claude-sonnet-4-5","max_tokens":10000,"messages":[{"role":"user","content":"hi"}],"speed":"fast"}"#,
            "max_spend_usd",
            "nobody could count what this call costs: its `speed` has prices of its own, which are not in the table",
        ),
        attack(
            UncountableCall,
            r#"{"model":"claude-sonnet-4-5","max_tokens":10000,"messages":[{"role":"user","content":"hi"}],"fallbacks":[{"model":"claude-sonnet-4-5"}]}"#,
            "max_spend_usd",
            "nobody could count what this call costs: the model \"claude-sonnet-4-5\" may take part in it, at prices of its own",
        ),
        attack(
            HighestCost,
            r#"{"model":"claude-sonnet-4-5","max_tokens":10000,"messages":[{"role":"user","content":"hi"}]}"#,
            "max_spend_usd",
            "0.00 USD are spent, this one may cost ",
        ),
        hidden_call(
            r#"{"model":"claude-sonnet-4-5","max_tokens":10000,"messages":[{"role":"user","content":"hi"}]}"#,
            (
                400,
                "application/json",
                "{\"type\":\"error\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"pay\",\"input\":{\"hidden\":1}}]}",
            ),
            "the tool \"pay\" is not on the list",
        ),
        hidden_call(
            r#"{"model":"claude-sonnet-4-5","max_tokens":10000,"messages":[{"role":"user","content":"hi"}]}"#,
            (
                200,
                "application/json",
                "{\"type\":\"message\",\"content\":{\"0\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"pay\",\"input\":{\"hidden\":1}}}}",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
        hidden_call(
            r#"{"model":"claude-sonnet-4-5","max_tokens":10000,"messages":[{"role":"user","content":"hi"}]}"#,
            (
                200,
                "text/event-stream",
                "event: x\u{85}data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"pay\",\"input\":{\"hidden\":1}}}\n\n",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
    ],
    controls: &[
        r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#,
        r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"system":[{"type":"text","text":"be","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"lookup","description":"d","input_schema":{"type":"object","properties":{"tools":{"type":"mcp"}}},"cache_control":{"type":"ephemeral"},"eager_input_streaming":true},{"type":"custom","name":"lookup","input_schema":{}},{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"str_replace_based_edit_tool","max_characters":9}],"tool_choice":{"type":"auto"},"metadata":{"user_id":"u"},"thinking":{"type":"enabled","budget_tokens":1024},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"output_config":{"effort":"high"},"stop_sequences":["a"],"temperature":1,"top_k":1,"service_tier":"auto","fallbacks":[{"model":"claude-sonnet-4-5"}]}"#,
        r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}]},{"content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"b","citations":null},{"id":"c","caller":{"type":"direct"},"input":{"type":"tool_addition"},"name":"lookup","type":"tool_use"}],"role":"assistant"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":false,"content":[{"type":"text","text":"42"}]}]}]}"#,
    ],
};
