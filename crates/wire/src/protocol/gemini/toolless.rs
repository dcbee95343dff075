//! Google's interfaces beside `generateContent`: counts of tokens, embeddings, and the predictions of Vertex AI.

use reenact_json::Value;

use super::forms::{CACHED, CONTENT, CONTENTS, TOOL};
use super::read;
use crate::message::Usage;
use crate::protocol::reading::count_at;
use crate::protocol::toolless::{ToollessCost, ToollessProtocol, no_usage};
use crate::request_form::Form::{Any, List, Object, OneOf, Scalar};
use crate::request_form::{Form, FormMember, RequestForms};
use crate::vendor::Vendor;

/// Row of counts of tokens.
pub(crate) static COUNT_TOKENS: ToollessProtocol = ToollessProtocol {
    name: "countTokens",
    paths: &["models/*:countTokens", "tunedModels/*:countTokens"],
    forms: &RequestForms { body: Object(COUNTED), tool: TOOL, has_two_spellings: true },
    counts: Some(&super::GenerateContentProtocol),
    cost: ToollessCost::FreeAt(&[Vendor::GEMINI, Vendor::VERTEX]),
    ..PLAIN
};

/// Row of an embedding.
pub(crate) static EMBED_CONTENT: ToollessProtocol = ToollessProtocol {
    name: "embedContent",
    paths: &["models/*:embedContent"],
    forms: &forms(EMBEDDED),
    usage: Some(usage),
    ..PLAIN
};

/// Row of several embeddings.
pub(crate) static BATCH_EMBED_CONTENTS: ToollessProtocol = ToollessProtocol {
    name: "batchEmbedContents",
    paths: &["models/*:batchEmbedContents"],
    forms: &forms(&[("requests", List(&Object(EMBEDDED)))]),
    usage: Some(usage),
    ..PLAIN
};

/// Row of Vertex AI's predictions: embeddings and pictures.
pub(crate) static PREDICT: ToollessProtocol = ToollessProtocol {
    name: "predict",
    paths: &["models/*:predict"],
    forms: &forms(&[
        ("instances", List(&Object(INSTANCE))),
        ("parameters", Object(PARAMETERS)),
        ("labels", Any),
    ]),
    usage: Some(predicted_usage),
    ..PLAIN
};

const PLAIN: ToollessProtocol = ToollessProtocol {
    name: "",
    owner: Vendor::GEMINI,
    paths: &[],
    forms: &forms(&[]),
    takes_multipart: false,
    counts: None,
    cost: ToollessCost::Tokens,
    usage: Some(no_usage),
};

/// Members of a count: the contents themselves, or a whole request.
static COUNTED: &[FormMember] = &[
    ("contents", CONTENTS),
    ("systemInstruction", OneOf(&[Scalar, CONTENT])),
    ("tools", OneOf(&[List(&TOOL), TOOL])),
    ("cachedContent", CACHED),
    ("generationConfig", Any),
    ("safetySettings", Any),
    ("toolConfig", Any),
    ("model", Any),
    ("generateContentRequest", Object(COUNTED_REQUEST)),
];
static COUNTED_REQUEST: &[FormMember] = &[
    ("model", Any),
    ("contents", CONTENTS),
    ("systemInstruction", OneOf(&[Scalar, CONTENT])),
    ("tools", OneOf(&[List(&TOOL), TOOL])),
    ("cachedContent", CACHED),
    ("generationConfig", Any),
    ("safetySettings", Any),
    ("toolConfig", Any),
];

/// Content to embed. Sound, pictures and films cost more than text, which the list prices do not say: under an envelope they are unknown.
static EMBEDDED_TEXT: &[FormMember] =
    &[("parts", OneOf(&[Object(&[("text", Scalar)]), List(&Object(&[("text", Scalar)]))])), ("role", Scalar)];

static EMBEDDED: &[FormMember] = &[
    // Judged as one of several models.
    ("model", Any),
    ("content", Object(EMBEDDED_TEXT)),
    ("autoTruncate", Scalar),
    ("embedContentConfig", Any),
    ("outputDimensionality", Scalar),
    ("taskType", Scalar),
    ("title", Scalar),
];

static INSTANCE: &[FormMember] = &[
    ("content", Scalar),
    ("image", Any),
    ("mimeType", Scalar),
    ("prompt", Scalar),
    ("referenceImages", List(&Any)),
    ("taskType", Scalar),
    ("text", Scalar),
    ("title", Scalar),
    ("video", Any),
];

static PARAMETERS: &[FormMember] = &[
    ("addWatermark", Scalar),
    ("aspectRatio", Scalar),
    ("autoTruncate", Scalar),
    ("dimension", Scalar),
    ("enhancePrompt", Scalar),
    ("guidanceScale", Scalar),
    ("includeRaiReason", Scalar),
    ("includeSafetyAttributes", Scalar),
    ("language", Scalar),
    ("negativePrompt", Scalar),
    ("outputDimensionality", Scalar),
    ("outputOptions", Any),
    ("personGeneration", Scalar),
    ("safetyFilterLevel", Scalar),
    ("safetySetting", Scalar),
    ("sampleCount", Scalar),
    ("sampleImageSize", Scalar),
    ("seed", Scalar),
];

/// Returns the forms of a request that has no tools.
const fn forms(members: &'static [FormMember]) -> RequestForms {
    RequestForms { body: Form::Object(members), tool: Form::Any, has_two_spellings: true }
}

fn usage(document: Value<'_>) -> Option<Usage> {
    let mut usage = None;
    read::update_usage(&mut usage, document);
    usage
}

/// Returns the sum of the tokens of all embeddings; `None` if one has no count, as pictures have none.
fn predicted_usage(document: Value<'_>) -> Option<Usage> {
    let predictions = document.member("predictions")?.elements();
    let counts = predictions.map(|prediction| {
        let statistics = prediction.member("embeddings")?.member("statistics")?;
        statistics.member("token_count").map(|_| count_at(statistics, &["token_count"]))
    });
    let input_tokens = counts.sum::<Option<u64>>()?;
    Some(Usage { input_tokens, ..Usage::default() })
}
