//! Forms of a request for content: members, parts and tools.
//!
//! Left out on purpose: `routingConfig` and `modelSelectionConfig`, which choose another model, and `generationOutputConfig`, which
//! makes the vendor write files.

use crate::request_form::Form::{Any, Kept, List, Object, OneOf, Scalar, ToolMembers};
use crate::request_form::{Form, FormMember, KeptForm, RequestForms};

pub(super) static FORMS: RequestForms =
    RequestForms { body: Object(BODY), tool: TOOL, has_two_spellings: true };

static BODY: &[FormMember] = &[
    ("contents", CONTENTS),
    ("systemInstruction", OneOf(&[Scalar, CONTENT])),
    ("tools", OneOf(&[List(&TOOL), TOOL])),
    (
        "toolConfig",
        Object(&[
            (
                "functionCallingConfig",
                Object(&[
                    ("mode", Scalar),
                    ("allowedFunctionNames", List(&Scalar)),
                    ("streamFunctionCallArguments", Scalar),
                ]),
            ),
            ("retrievalConfig", Any),
            ("includeServerSideToolInvocations", Scalar),
        ]),
    ),
    ("cachedContent", CACHED),
    ("generationConfig", Object(GENERATION)),
    ("labels", Any),
    ("modelArmorConfig", Object(&[("promptTemplateName", Scalar), ("responseTemplateName", Scalar)])),
    ("safetySettings", List(&Object(&[("category", Scalar), ("method", Scalar), ("threshold", Scalar)]))),
    ("serviceTier", Scalar),
    ("store", Scalar),
];

/// Cache with contents and tools that an earlier request left there.
pub(super) const CACHED: Form =
    Kept(&KeptForm { prefix: "cachedContent", named_by: &[], declared_name: None });

static GENERATION: &[FormMember] = &[
    ("audioTimestamp", Scalar),
    ("audioTranscriptionConfig", Any),
    ("automaticContinuation", Scalar),
    ("candidateCount", Scalar),
    ("continuationToken", Scalar),
    ("enableAffectiveDialog", Scalar),
    ("enableEnhancedCivicAnswers", Scalar),
    ("frequencyPenalty", Scalar),
    ("imageConfig", Any),
    ("logprobs", Scalar),
    ("maxOutputTokens", Scalar),
    ("mediaResolution", Scalar),
    ("presencePenalty", Scalar),
    // Without `audio`, `image` and `video`, which cost more than the table of prices says.
    ("responseFormat", OneOf(&[List(&Object(&[("text", Any)])), Object(&[("text", Any)])])),
    ("responseJsonSchema", Any),
    ("_responseJsonSchema", Any),
    ("responseLogprobs", Scalar),
    ("responseMimeType", Scalar),
    ("responseModalities", List(&Scalar)),
    ("responseSchema", Any),
    ("seed", Scalar),
    ("speechConfig", Any),
    ("stopSequences", List(&Scalar)),
    ("temperature", Scalar),
    (
        "thinkingConfig",
        Object(&[("includeThoughts", Scalar), ("thinkingBudget", Scalar), ("thinkingLevel", Scalar)]),
    ),
    ("topK", Scalar),
    ("topP", Scalar),
];

/// Some clients send one content or part instead of a list.
pub(super) const CONTENTS: Form = OneOf(&[Scalar, List(&CONTENT), CONTENT]);
pub(super) const CONTENT: Form =
    Object(&[("role", Scalar), ("parts", OneOf(&[List(&Object(PART)), Object(PART)]))]);

static PART: &[FormMember] = &[
    ("text", Scalar),
    ("thought", Scalar),
    ("thoughtSignature", Scalar),
    (
        "functionCall",
        Object(&[
            ("id", Scalar),
            ("name", Scalar),
            ("args", Any),
            ("partialArgs", Any),
            ("willContinue", Scalar),
        ]),
    ),
    (
        "functionResponse",
        Object(&[
            ("id", Scalar),
            ("name", Scalar),
            ("response", Any),
            ("parts", Any),
            ("scheduling", Scalar),
            ("willContinue", Scalar),
        ]),
    ),
    ("inlineData", Any),
    ("fileData", Any),
    ("executableCode", Any),
    ("codeExecutionResult", Any),
    ("toolCall", Any),
    ("toolResponse", Any),
    ("audioTranscription", Any),
    ("mediaProcessing", Any),
    ("mediaResolution", Any),
    ("partMetadata", Any),
    ("speechMetadata", Any),
    ("videoMetadata", Any),
];

pub(super) const TOOL: Form = ToolMembers(&[
    (
        "functionDeclarations",
        List(&Object(&[
            ("name", Scalar),
            ("description", Scalar),
            ("parameters", Any),
            ("parametersJsonSchema", Any),
            ("response", Any),
            ("responseJsonSchema", Any),
            ("behavior", Scalar),
        ])),
    ),
    ("computerUse", Any),
    (
        "mcpServers",
        List(&Kept(&KeptForm {
            prefix: "mcp",
            named_by: &["streamableHttpTransport.url", "name"],
            declared_name: None,
        })),
    ),
]);
