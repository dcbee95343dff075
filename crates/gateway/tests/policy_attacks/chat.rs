//! Attacks on chat completions, OpenAI's own and those of servers that speak its interface.

use reenact_wire::Endpoint;

use crate::AttackKind::{
    ForbiddenCall, ForbiddenResult, HiddenTool, HighestCost, KeptByVendor, NamedLikeAllowed, NestedModel,
    OddPath, OtherModel, RemoteServer, UncountableCall, UnknownInterface, UnknownItem, UnknownMember,
    VendorTool,
};
use crate::{AttackTable, attack, attack_at, hidden_call};

pub(crate) const TABLE: AttackTable = AttackTable {
    endpoint: Endpoint::CHAT_COMPLETIONS,
    path: "/chat/completions",
    attacks: &[
        attack(
            VendorTool,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"browser_search"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"browser_search\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"code_interpreter"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"code_interpreter\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"mcp"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"web_search"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"web_search\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"builtin_function"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"builtin_function\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"web_search_options":{}}"#,
            "allowed_tools",
            "the vendor's own tool \"web_search\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"bundle","tools":[{"type":"mcp"}]}]}"#,
            "allowed_tools",
            "the vendor's own tool \"bundle\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"lookup","tools":[{"type":"mcp"}]}}]}"#,
            "unknown_form",
            "$.tools[].function.tools is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.tools[].function.tools\"]",
        ),
        attack(
            NamedLikeAllowed,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"builtin_function","function":{"name":"lookup"}}]}"#,
            "allowed_tools",
            "the vendor's own tool \"builtin_function\" is not on the list",
        ),
        attack(
            NamedLikeAllowed,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"Function","function":{"name":"lookup"}}]}"#,
            "allowed_tools",
            "the vendor's own tool \"Function\" is not on the list",
        ),
        attack(
            RemoteServer,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"mcp_servers":[{"url":"https://x.example"}]}"#,
            "unknown_form",
            "$.mcp_servers is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.mcp_servers\"]",
        ),
        attack(
            KeptByVendor,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"data_sources":[{"type":"azure_search"}]}"#,
            "unknown_form",
            "$.data_sources is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.data_sources\"]",
        ),
        attack(
            OtherModel,
            r#"{"model":"o3","messages":[{"role":"user","content":"hi"}]}"#,
            "allowed_models",
            "the model \"o3\" is not on the list",
        ),
        attack(
            NestedModel,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"models":["gpt-5","o3"]}"#,
            "unknown_form",
            "$.models is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.models\"]",
        ),
        attack(
            NestedModel,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"fallbacks":["o3"]}"#,
            "unknown_form",
            "$.fallbacks is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.fallbacks\"]",
        ),
        attack(
            NestedModel,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"moderation":{"model":"o3"}}"#,
            "allowed_models",
            "the model \"o3\" is not on the list",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"plugins":[{"id":"web"}]}"#,
            "unknown_form",
            "$.plugins is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.plugins\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"route":"fallback"}"#,
            "unknown_form",
            "$.route is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.route\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"search_parameters":{"mode":"on"}}"#,
            "unknown_form",
            "$.search_parameters is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.search_parameters\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"preset":"x"}"#,
            "unknown_form",
            "$.preset is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.preset\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"provider":{"order":["a"]}}"#,
            "unknown_form",
            "$.provider is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.provider\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"enable_search":true}"#,
            "unknown_form",
            "$.enable_search is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.enable_search\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"extra_body":{"plugins":[]}}"#,
            "unknown_form",
            "$.extra_body is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.extra_body\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi","tools":[]}]}"#,
            "unknown_form",
            "$.messages[].tools is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.messages[].tools\"]",
        ),
        attack(
            UnknownMember,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"metadata":{},"a.b":1}"#,
            "unknown_form",
            "$['a.b'] is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$['a.b']\"]",
        ),
        attack(
            UnknownItem,
            r#"{"model":"gpt-5","messages":[{"content":"hi","role":"critic"}]}"#,
            "unknown_form",
            "$.messages[].role=critic is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.messages[].role=critic\"]",
        ),
        attack(
            UnknownItem,
            r#"{"model":"gpt-5","messages":[{"content":"hi"}]}"#,
            "unknown_form",
            "$.messages[].role= is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.messages[].role=\"]",
        ),
        attack(
            UnknownItem,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":[{"text":"a","type":"text"},{"type":"tool_addition"}]}]}"#,
            "unknown_form",
            "$.messages[].content[].type=tool_addition is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.messages[].content[].type=tool_addition\"]",
        ),
        attack(
            UnknownItem,
            r#"{"model":"gpt-5","messages":[{"role":"assistant","tool_calls":[{"type":"mcp","id":"a"}]}]}"#,
            "unknown_form",
            "$.messages[].tool_calls[].type=mcp is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.messages[].tool_calls[].type=mcp\"]",
        ),
        attack(
            ForbiddenResult,
            r#"{"model":"gpt-5","messages":[{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"pay","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"paid"}]}"#,
            "allowed_tools",
            "the tool \"pay\" is not on the list",
        ),
        attack_at(
            UnknownInterface,
            "/completions",
            "allowed_tools",
            "POST /v1/completions may ask for tools in a way that is not known here",
        ),
        attack(
            ForbiddenCall,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#,
            "allowed_tools",
            "the tool \"pay\" is not on the list",
        ),
        attack_at(
            OddPath,
            "/chat/completions%3f/embeddings",
            "unknown_form",
            "POST /v1/chat/completions%3f/embeddings has a sign in its path or query that servers read in different ways (%, ;, .., // or the like)",
        ),
        attack_at(
            OddPath,
            "/chat/completions/..;/embeddings",
            "unknown_form",
            "POST /v1/chat/completions/..;/embeddings has a sign in its path or query that servers read in different ways (%, ;, .., // or the like)",
        ),
        attack(
            UncountableCall,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"service_tier":"priority"}"#,
            "max_spend_usd",
            "nobody could count what this call costs: its `service_tier` has prices of its own, which are not in the table",
        ),
        attack(
            UncountableCall,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"modalities":["text","audio"]}"#,
            "max_spend_usd",
            "nobody could count what this call costs: sound and pictures in an answer have prices of their own, which are not in the table",
        ),
        attack(
            UncountableCall,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"moderation":{"model":"gpt-5"}}"#,
            "max_spend_usd",
            "nobody could count what this call costs: the model \"gpt-5\" may take part in it, at prices of its own",
        ),
        attack(
            HighestCost,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":10000}"#,
            "max_spend_usd",
            "0.00 USD are spent, this one may cost ",
        ),
        attack(
            HighestCost,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":1000,"n":10}"#,
            "max_spend_usd",
            "0.00 USD are spent, this one may cost ",
        ),
        attack(
            HighestCost,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":1000,"best_of":10}"#,
            "max_spend_usd",
            "0.00 USD are spent, this one may cost ",
        ),
        attack(
            HighestCost,
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#,
            "max_spend_usd",
            "0.00 USD are spent, this one may cost ",
        ),
        hidden_call(
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#,
            (
                400,
                "application/json",
                "{\"error\":{},\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"pay\",\"arguments\":\"hidden\"}}]}}]}",
            ),
            "the tool \"pay\" is not on the list",
        ),
        hidden_call(
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#,
            (
                200,
                "application/json",
                "{\"choices\":{\"0\":{\"message\":{\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"pay\",\"arguments\":\"hidden\"}}]}}}}",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
        hidden_call(
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#,
            (
                200,
                "application/json",
                "{\"choices\":[{\"message\":{\"tool_calls\":{\"0\":{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"pay\",\"arguments\":\"hidden\"}}}}}]}",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
        hidden_call(
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#,
            (
                200,
                "text/event-stream",
                ": x\u{b}data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"pay\",\"arguments\":\"hidden\"}}]}}]}\n\n",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
        hidden_call(
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#,
            (
                200,
                "text/event-stream",
                ": x\u{c}data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"pay\",\"arguments\":\"hidden\"}}]}}]}\n\n",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
        hidden_call(
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#,
            (
                200,
                "text/event-stream",
                ": x\u{85}data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"pay\",\"arguments\":\"hidden\"}}]}}]}\n\n",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
        hidden_call(
            r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#,
            (
                200,
                "text/event-stream",
                ": x\u{2028}data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"pay\",\"arguments\":\"hidden\"}}]}}]}\n\n",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
    ],
    controls: &[
        r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#,
        r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"lookup","description":"d","strict":true,"parameters":{"type":"object","properties":{"type":{"type":"mcp"},"tools":{"type":"array"}}}}},{"type":"custom","custom":{"name":"lookup","format":{"type":"text"}}}],"tool_choice":{"type":"function","function":{"name":"lookup"}},"parallel_tool_calls":true,"metadata":{"models":"x"},"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{}}},"stream_options":{"include_usage":true},"stop":["a"],"logit_bias":{"1":2},"reasoning_effort":"low","max_completion_tokens":9,"n":1,"seed":1,"top_p":1,"temperature":0.5,"user":"u","plugins":null}"#,
        r#"{"model":"gpt-5","messages":[{"role":"developer","content":"be"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:,"}}],"name":"n"},{"role":"assistant","content":null,"refusal":null,"audio":null,"function_call":null,"annotations":[],"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"lookup","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"42"}]}]}"#,
    ],
};
