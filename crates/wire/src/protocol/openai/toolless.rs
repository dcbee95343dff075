//! OpenAI's interfaces beside conversations: embeddings, moderation, pictures, sound, and counts of tokens. Reranking is that of the
//! servers that speak OpenAI's interface.

use reenact_json::Value;

use super::parse_usage;
use super::responses::FORMS as RESPONSE_FORMS;
use crate::message::Usage;
use crate::output_bound::OTHER_MODALITY;
use crate::protocol::toolless::{ToollessCost, ToollessProtocol, input_usage, no_usage};
use crate::request_form::Form::{Any, List, Object, OneOf, Scalar};
use crate::request_form::{Form, FormMember, RequestForms};
use crate::vendor::Vendor;

/// Row of embeddings.
pub(crate) static EMBEDDINGS: ToollessProtocol = ToollessProtocol {
    name: "embeddings",
    paths: &["embeddings"],
    forms: &forms(&[
        ("model", Any),
        ("input", OneOf(&[Scalar, List(&Any)])),
        ("dimensions", Scalar),
        ("encoding_format", Scalar),
        ("input_type", Scalar),
        ("keep_alive", Scalar),
        ("output_dimension", Scalar),
        ("output_dtype", Scalar),
        ("truncate", Scalar),
        ("user", Scalar),
    ]),
    usage: Some(input_usage),
    ..PLAIN
};

/// Row of reranking.
pub(crate) static RERANK: ToollessProtocol = ToollessProtocol {
    name: "rerank",
    paths: &["rerank"],
    forms: &forms(&[
        ("model", Any),
        ("query", OneOf(&[Scalar, Object(&[("text", Scalar), ("image", Any)])])),
        (
            "documents",
            List(&OneOf(&[Scalar, Object(&[("text", Scalar), ("title", Scalar), ("image", Any)])])),
        ),
        ("instruction", Scalar),
        ("max_chunks_per_doc", Scalar),
        ("max_tokens_per_doc", Scalar),
        ("rank_fields", List(&Scalar)),
        ("return_documents", Scalar),
        ("top_k", Scalar),
        ("top_n", Scalar),
        ("truncation", Scalar),
    ]),
    usage: Some(input_usage),
    ..PLAIN
};

/// Row of moderation.
pub(crate) static MODERATIONS: ToollessProtocol = ToollessProtocol {
    name: "moderations",
    paths: &["moderations"],
    forms: &forms(&[("model", Any), ("input", OneOf(&[Scalar, List(&Any)]))]),
    cost: ToollessCost::FreeAt(&[Vendor::OPENAI, Vendor::AZURE]),
    usage: Some(input_usage),
    ..PLAIN
};

/// Row of counts of tokens.
pub(crate) static INPUT_TOKENS: ToollessProtocol = ToollessProtocol {
    name: "responses.input_tokens",
    paths: &["responses/input_tokens"],
    forms: &RESPONSE_FORMS,
    counts: Some(&super::responses::ResponsesProtocol),
    cost: ToollessCost::FreeAt(&[Vendor::OPENAI, Vendor::AZURE]),
    usage: Some(no_usage),
    ..PLAIN
};

/// Row of new pictures.
pub(crate) static IMAGE_GENERATIONS: ToollessProtocol = ToollessProtocol {
    name: "images.generations",
    paths: &["images/generations"],
    forms: &forms(&PICTURE),
    ..PICTURES
};

/// Row of changed pictures.
pub(crate) static IMAGE_EDITS: ToollessProtocol = ToollessProtocol {
    name: "images.edits",
    paths: &["images/edits", "images/variations"],
    forms: &forms(&CHANGED_PICTURE),
    takes_multipart: true,
    ..PICTURES
};

/// Row of speech that is read aloud. Its answer is sound, or a stream of it.
pub(crate) static SPEECH: ToollessProtocol = ToollessProtocol {
    name: "audio.speech",
    paths: &["audio/speech"],
    forms: &forms(&[
        ("model", Any),
        ("input", Scalar),
        ("voice", OneOf(&[Scalar, Object(&[("id", Scalar)])])),
        ("instructions", Scalar),
        ("response_format", Scalar),
        ("speed", Scalar),
        ("stream_format", Scalar),
    ]),
    cost: ToollessCost::Uncountable(OTHER_MODALITY),
    usage: None,
    ..PLAIN
};

/// Row of speech that is written down, or translated. Its answer may be plain text.
pub(crate) static TRANSCRIPTIONS: ToollessProtocol = ToollessProtocol {
    name: "audio.transcriptions",
    paths: &["audio/transcriptions", "audio/translations"],
    forms: &forms(&[
        ("model", Any),
        ("file", Any),
        ("chunking_strategy", Any),
        ("diarize", Scalar),
        ("include", OneOf(&[Scalar, List(&Scalar)])),
        ("known_speaker_names", OneOf(&[Scalar, List(&Scalar)])),
        ("known_speaker_references", OneOf(&[Scalar, List(&Scalar)])),
        ("language", Scalar),
        ("prompt", Scalar),
        ("response_format", Scalar),
        ("stream", Scalar),
        ("temperature", Scalar),
        ("timestamp_granularities", OneOf(&[Scalar, List(&Scalar)])),
    ]),
    takes_multipart: true,
    cost: ToollessCost::Uncountable(HEARD),
    usage: Some(usage),
    ..PLAIN
};

/// Reason why a call that hears sound cannot be counted.
const HEARD: &str = "sound in a request has prices of its own, which are not in the table";

const PLAIN: ToollessProtocol = ToollessProtocol {
    name: "",
    owner: Vendor::OPENAI,
    paths: &[],
    forms: &forms(&[]),
    takes_multipart: false,
    counts: None,
    cost: ToollessCost::Tokens,
    usage: Some(no_usage),
};

const PICTURES: ToollessProtocol =
    ToollessProtocol { cost: ToollessCost::Uncountable(OTHER_MODALITY), usage: Some(usage), ..PLAIN };

static PICTURE: [FormMember; 14] = [
    ("model", Any),
    ("prompt", Scalar),
    ("background", Scalar),
    ("moderation", Scalar),
    ("n", Scalar),
    ("output_compression", Scalar),
    ("output_format", Scalar),
    ("partial_images", Scalar),
    ("quality", Scalar),
    ("response_format", Scalar),
    ("size", Scalar),
    ("stream", Scalar),
    ("style", Scalar),
    ("user", Scalar),
];

static CHANGED_PICTURE: [FormMember; 16] = [
    ("model", Any),
    ("image", Any),
    ("images", List(&Any)),
    ("mask", Any),
    ("prompt", Scalar),
    ("background", Scalar),
    ("input_fidelity", Scalar),
    ("n", Scalar),
    ("output_compression", Scalar),
    ("output_format", Scalar),
    ("partial_images", Scalar),
    ("quality", Scalar),
    ("response_format", Scalar),
    ("size", Scalar),
    ("stream", Scalar),
    ("user", Scalar),
];

/// Returns the forms of a request that has no tools.
const fn forms(members: &'static [FormMember]) -> RequestForms {
    RequestForms { body: Form::Object(members), tool: Form::Any, has_two_spellings: false }
}

fn usage(document: Value<'_>) -> Option<Usage> {
    parse_usage(document.member("usage"))
}
