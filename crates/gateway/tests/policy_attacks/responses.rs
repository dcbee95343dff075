//! Attacks on responses.

use reenact_wire::Endpoint;

use crate::AttackKind::{
    ForbiddenCall, ForbiddenResult, HiddenTool, HighestCost, KeptByVendor, NamedLikeAllowed, NestedModel,
    OddPath, OtherModel, RemoteServer, UncountableCall, UnknownInterface, UnknownItem, UnknownMember,
    VendorTool,
};
use crate::{AttackTable, attack, attack_at, hidden_call};

pub(crate) const TABLE: AttackTable = AttackTable {
    endpoint: Endpoint::RESPONSES,
    path: "/responses",
    attacks: &[
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"web_search"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"web_search\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"web_search_preview_2025_03_11"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"web_search_preview_2025_03_11\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"file_search"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"file_search\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"code_interpreter"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"code_interpreter\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"image_generation"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"image_generation\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"programmatic_tool_calling"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"programmatic_tool_calling\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"tool_search"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"tool_search\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"functions"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"functions\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"shellx"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"shellx\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"shell","environment":{"type":"container_auto"}}]}"#,
            "allowed_tools",
            "the vendor's own tool \"shell\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"shell","environment":{"type":"container_reference"}}]}"#,
            "allowed_tools",
            "the vendor's own tool \"shell\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"name":"lookup"}]}"#,
            "unknown_form",
            "$.tools[].type= is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.tools[].type=\"]",
        ),
        attack(
            HiddenTool,
            r#"{"model":"gpt-5","input":[{"type":"additional_tools","role":"developer","tools":[{"type":"mcp","server_url":"https://x.example"}]}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp:https://x.example\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"model":"gpt-5","input":[{"tools":[{"type":"code_interpreter"}],"type":"additional_tools"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"code_interpreter\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"model":"gpt-5","input":[{"type":"tool_search_output","call_id":"c","tools":[{"type":"web_search"}]}]}"#,
            "allowed_tools",
            "the vendor's own tool \"web_search\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"namespace","name":"lookup","tools":[{"type":"mcp","connector_id":"connector_gmail","server_label":"lookup"}]}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp:connector_gmail\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"model":"gpt-5","input":[{"type":"mcp_approval_response","approval_request_id":"a","approve":true}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp_approval_response\" is not on the list",
        ),
        attack(
            NamedLikeAllowed,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"web_search","name":"lookup"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"web_search\" is not on the list",
        ),
        attack(
            NamedLikeAllowed,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"mcp","server_label":"lookup","server_url":"https://x.example"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp:https://x.example\" is not on the list",
        ),
        attack(
            RemoteServer,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"mcp","server_label":"git","server_url":"https://x.example"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp:https://x.example\" is not on the list",
        ),
        attack(
            KeptByVendor,
            r#"{"model":"gpt-5","input":"hi","prompt":{"id":"pmpt_1"}}"#,
            "allowed_tools",
            "the vendor's own tool \"prompt:pmpt_1\" is not on the list",
        ),
        attack(
            KeptByVendor,
            r#"{"model":"gpt-5","input":"hi","conversation":"conv_1"}"#,
            "allowed_tools",
            "the vendor's own tool \"conversation:conv_1\" is not on the list",
        ),
        attack(
            OtherModel,
            r#"{"model":"o3","input":"hi"}"#,
            "allowed_models",
            "the model \"o3\" is not on the list",
        ),
        attack(
            NestedModel,
            r#"{"model":"gpt-5","input":"hi","models":["o3"]}"#,
            "unknown_form",
            "$.models is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.models\"]",
        ),
        attack(
            NestedModel,
            r#"{"model":"gpt-5","input":"hi","moderation":{"model":"o3"}}"#,
            "allowed_models",
            "the model \"o3\" is not on the list",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","input":"hi","plugins":[1]}"#,
            "unknown_form",
            "$.plugins is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.plugins\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","input":[{"role":"user","content":"hi","tools":[{"type":"mcp"}]}]}"#,
            "unknown_form",
            "$.input[].tools is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.input[].tools\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","input":"hi","tools":[{"type":"function","name":"lookup","server_url":"https://x.example"}]}"#,
            "unknown_form",
            "$.tools[].server_url is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.tools[].server_url\"]",
        ),
        attack(
            UnknownItem,
            r#"{"model":"gpt-5","input":[{"type":"more_tools","tools":[]}]}"#,
            "unknown_form",
            "$.input[].type=more_tools is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.input[].type=more_tools\"]",
        ),
        attack(
            UnknownItem,
            r#"{"model":"gpt-5","input":[{"role":"user","content":[{"type":"input_tool"}]}]}"#,
            "unknown_form",
            "$.input[].content[].type=input_tool is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.input[].content[].type=input_tool\"]",
        ),
        attack(
            ForbiddenResult,
            r#"{"model":"gpt-5","input":[{"type":"function_call","call_id":"c1","name":"pay","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"paid"}]}"#,
            "allowed_tools",
            "the tool \"pay\" is not on the list",
        ),
        attack_at(
            UnknownInterface,
            "/responses/resp_1/cancel",
            "allowed_tools",
            "POST /v1/responses/resp_1/cancel may ask for tools in a way that is not known here",
        ),
        attack(
            ForbiddenCall,
            r#"{"model":"gpt-5","input":"hi"}"#,
            "allowed_tools",
            "the tool \"pay\" is not on the list",
        ),
        attack_at(
            OddPath,
            "/responses//",
            "unknown_form",
            "POST /v1/responses// has a sign in its path or query that servers read in different ways (%, ;, .., // or the like)",
        ),
        attack(
            UncountableCall,
            r#"{"model":"gpt-5","input":"hi","background":true}"#,
            "max_spend_usd",
            "nobody could count what this call costs: `background` puts the answer off, so that its cost is never seen",
        ),
        attack(
            UncountableCall,
            r#"{"model":"gpt-5","input":"hi","moderation":{"model":"gpt-5"}}"#,
            "max_spend_usd",
            "nobody could count what this call costs: the model \"gpt-5\" may take part in it, at prices of its own",
        ),
        attack(
            HighestCost,
            r#"{"model":"gpt-5","input":"hi","max_output_tokens":10000}"#,
            "max_spend_usd",
            "0.00 USD are spent, this one may cost ",
        ),
        attack(
            HighestCost,
            r#"{"model":"gpt-5","input":"hi"}"#,
            "max_spend_usd",
            "0.00 USD are spent, this one may cost ",
        ),
        hidden_call(
            r#"{"model":"gpt-5","input":"hi"}"#,
            (
                500,
                "application/json",
                "{\"error\":{},\"output\":[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"pay\",\"arguments\":\"hidden\"}]}",
            ),
            "the tool \"pay\" is not on the list",
        ),
        hidden_call(
            r#"{"model":"gpt-5","input":"hi"}"#,
            (
                200,
                "application/json",
                "{\"output\":{\"0\":{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"pay\",\"arguments\":\"hidden\"}}}",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
        hidden_call(
            r#"{"model":"gpt-5","input":"hi"}"#,
            (
                200,
                "text/event-stream",
                "id: x\u{2028}data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"pay\",\"arguments\":\"hidden\"}}\n\n",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
    ],
    controls: &[
        r#"{"model":"gpt-5","input":"hi"}"#,
        r#"{"model":"gpt-5","input":"hi","instructions":"be","tools":[{"type":"function","name":"lookup","description":"d","strict":true,"parameters":{"type":"object","properties":{"tools":{"type":"mcp"}}}},{"type":"custom","name":"lookup","format":{"type":"grammar"}},{"type":"local_shell"},{"type":"shell"},{"type":"shell","environment":{"type":"local"}},{"type":"apply_patch"},{"type":"tool_search","execution":"client"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"lookup"}]}],"tool_choice":"auto","parallel_tool_calls":false,"reasoning":{"effort":"high","summary":"auto"},"store":false,"include":["reasoning.encrypted_content"],"prompt_cache_key":"k","text":{"verbosity":"low","format":{"type":"json_schema","name":"n","schema":{}}},"client_metadata":{"a":"b"},"service_tier":"auto","truncation":"auto","max_output_tokens":9,"metadata":{},"previous_response_id":null}"#,
        r#"{"model":"gpt-5","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},{"id":"m","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"b","annotations":[],"logprobs":[]}]},{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"x"}],"encrypted_content":"e"},{"arguments":"{}","call_id":"c","name":"lookup","type":"function_call","id":"f","status":"completed"},{"call_id":"c","output":"42","type":"function_call_output"},{"type":"item_reference","id":"i"}]}"#,
    ],
};
