//! Attacks on Gemini's content.

use reenact_wire::Endpoint;

use crate::AttackKind::{
    ForbiddenCall, ForbiddenResult, HiddenTool, HighestCost, KeptByVendor, NamedLikeAllowed, NestedModel,
    OddPath, OtherModel, RemoteServer, UncountableCall, UnknownInterface, UnknownItem, UnknownMember,
    VendorTool,
};
use crate::{AttackTable, attack, attack_at, hidden_call};

pub(crate) const TABLE: AttackTable = AttackTable {
    endpoint: Endpoint::GENERATE_CONTENT,
    path: "/v1beta/models/gemini-2.5-flash:generateContent",
    attacks: &[
        attack(
            VendorTool,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"googleSearch":{}}]}"#,
            "allowed_tools",
            "the vendor's own tool \"googleSearch\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"google_search":{}}]}"#,
            "allowed_tools",
            "the vendor's own tool \"googleSearch\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"codeExecution":{}}]}"#,
            "allowed_tools",
            "the vendor's own tool \"codeExecution\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"urlContext":{}}]}"#,
            "allowed_tools",
            "the vendor's own tool \"urlContext\" is not on the list",
        ),
        attack(
            VendorTool,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"newTool":{}}]}"#,
            "allowed_tools",
            "the vendor's own tool \"newTool\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":{"functionDeclarations":[{"name":"lookup"}],"googleMaps":{}}}"#,
            "allowed_tools",
            "the vendor's own tool \"googleMaps\" is not on the list",
        ),
        attack(
            HiddenTool,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"lookup","googleSearch":{}}]}]}"#,
            "unknown_form",
            "$.tools[].functionDeclarations[].googleSearch is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.tools[].functionDeclarations[].googleSearch\"]",
        ),
        attack(
            NamedLikeAllowed,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"retrieval":{"name":"lookup"}}]}"#,
            "allowed_tools",
            "the vendor's own tool \"retrieval\" is not on the list",
        ),
        attack(
            RemoteServer,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"mcpServers":[{"name":"lookup","streamableHttpTransport":{"url":"https://x.example"}}]}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp:https://x.example\" is not on the list",
        ),
        attack(
            RemoteServer,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"mcp_servers":[{"name":"lookup","streamable_http_transport":{"url":"https://x.example"}}]}]}"#,
            "allowed_tools",
            "the vendor's own tool \"mcp:https://x.example\" is not on the list",
        ),
        attack(
            KeptByVendor,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"cachedContent":"cachedContents/x"}"#,
            "allowed_tools",
            "the vendor's own tool \"cachedContent:cachedContents/x\" is not on the list",
        ),
        attack_at(
            OtherModel,
            "/v1beta/models/gemini-3-pro-preview:countTokens",
            "allowed_models",
            "the model \"gemini-3-pro-preview\" is not on the list",
        ),
        attack(
            NestedModel,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"routingConfig":{"manualMode":{"modelName":"gemini-3-pro-preview"}}}}"#,
            "unknown_form",
            "$.generationConfig.routingConfig is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.generationConfig.routingConfig\"]",
        ),
        attack(
            NestedModel,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"model":"models/gemini-3-pro-preview"}"#,
            "unknown_form",
            "$.model is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.model\"]",
        ),
        attack(
            UnknownMember,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"plugins":[1]}"#,
            "unknown_form",
            "$.plugins is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.plugins\"]",
        ),
        attack(
            UnknownMember,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"topK":1,"top_k":2}}"#,
            "unknown_form",
            "$.generationConfig.top_k is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.generationConfig.top_k\"]",
        ),
        attack(
            UnknownItem,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"},{"newPart":{}}]}]}"#,
            "unknown_form",
            "$.contents[].parts[].newPart is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.contents[].parts[].newPart\"]",
        ),
        attack(
            UnknownItem,
            r#"{"contents":[{"role":"model","parts":[{"functionCall":{"name":"lookup"},"function_call":{"name":"pay"}}]}]}"#,
            "unknown_form",
            "$.contents[].parts[].function_call is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [\"$.contents[].parts[].function_call\"]",
        ),
        attack(
            ForbiddenResult,
            r#"{"contents":[{"role":"model","parts":[{"functionCall":{"name":"pay","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"pay","response":{"result":"paid"}}}]}]}"#,
            "allowed_tools",
            "the tool \"pay\" is not on the list",
        ),
        attack_at(
            UnknownInterface,
            "/v1beta/models/gemini-2.5-flash:batchGenerateContent",
            "allowed_tools",
            "POST /v1beta/models/gemini-2.5-flash:batchGenerateContent may ask for tools in a way that is not known here",
        ),
        attack(
            ForbiddenCall,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#,
            "allowed_tools",
            "the tool \"pay\" is not on the list",
        ),
        attack_at(
            OddPath,
            "/v1beta/models/gemini-2.5-flash:generateContent%3f:countTokens",
            "unknown_form",
            "POST /v1beta/models/gemini-2.5-flash:generateContent%3f:countTokens has a sign in its path or query that servers read in different ways (%, ;, .., // or the like)",
        ),
        attack(
            UncountableCall,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"serviceTier":"priority"}"#,
            "max_spend_usd",
            "nobody could count what this call costs: its `serviceTier` has prices of its own, which are not in the table",
        ),
        attack(
            UncountableCall,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"responseModalities":["AUDIO"]}}"#,
            "max_spend_usd",
            "nobody could count what this call costs: sound and pictures in an answer have prices of their own, which are not in the table",
        ),
        attack(
            HighestCost,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"maxOutputTokens":10000}}"#,
            "max_spend_usd",
            "0.00 USD are spent, this one may cost ",
        ),
        attack(
            HighestCost,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"maxOutputTokens":1000,"candidateCount":8}}"#,
            "max_spend_usd",
            "0.00 USD are spent, this one may cost ",
        ),
        attack(
            HighestCost,
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#,
            "max_spend_usd",
            "0.00 USD are spent, this one may cost ",
        ),
        hidden_call(
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#,
            (
                400,
                "application/json",
                "{\"error\":{},\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"pay\",\"args\":{\"hidden\":1}}}]}}]}",
            ),
            "the tool \"pay\" is not on the list",
        ),
        hidden_call(
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#,
            (
                200,
                "application/json",
                "{\"candidates\":{\"0\":{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"pay\",\"args\":{\"hidden\":1}}}]}}}}",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
        hidden_call(
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#,
            (
                200,
                "text/event-stream",
                ": x\u{c}data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"pay\",\"args\":{\"hidden\":1}}}]}}]}\n\n",
            ),
            "the answer cannot be read, so nobody knows which tools it asks for",
        ),
    ],
    controls: &[
        r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#,
        r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"systemInstruction":{"parts":[{"text":"be"}],"role":"user"},"tools":[{"functionDeclarations":[{"name":"lookup","description":"d","parametersJsonSchema":{"type":"object","properties":{"googleSearch":{"type":"object"}}}}]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"generationConfig":{"temperature":1,"topP":0.9,"topK":64,"maxOutputTokens":9,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1},"responseMimeType":"application/json","responseJsonSchema":{}},"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}],"labels":{"model":"x"}}"#,
        r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"thoughtSignature":"s","functionCall":{"name":"lookup","args":{"tools":[{"googleSearch":{}}]}}}]},{"role":"user","parts":[{"function_response":{"name":"lookup","response":{"result":"42"}}}]}],"generation_config":{"top_k":1}}"#,
    ],
};
