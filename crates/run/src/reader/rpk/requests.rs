//! Requests in steps of an `.rpk`, to models and over HTTP.
//!
//! Shapes of `input`, of which the first that applies counts; the table of the parent module says which program
//! writes which.
//!
//! 1. `http`: a request as reenact records it.
//! 2. `method` and `url`: a request of a wrapped HTTP client.
//! 3. `payload`: the JSON body.
//! 4. `input` is an object with `payload`: the JSON body.
//! 5. `input` is another object: arguments of a call, perhaps in `kwargs`.
//! 6. `input` is anything else: a prompt, or a member of the request.
//! 7. no `input`, but `prompt`: the prompt.

use std::borrow::Cow;

use reenact_formats::rpk::RpkStepView;
use reenact_json::{Value, ValueKind};
use reenact_wire::{Endpoint, Vendor};

use super::{first_member, headers, is_omission_marker};
use crate::exchange::{ExchangeRequest, ExchangeRequestBody};
use crate::reader::replay_bundle::UrlTarget;
use crate::reader::rer;
use crate::run::RunInner;
use crate::unreadable::{UnreadablePayload, mistyped, pick_members, required};

/// Reads a step as a request. The members of `input` tell apart which program wrote the step.
///
/// # Errors
/// [`UnreadablePayload::UnknownShape`] if the input has none of the shapes; [`UnreadablePayload::Omitted`] if
/// the recorder left the body out.
pub(in crate::reader) fn request<'v>(
    step: Value<'v>,
    run: &'v RunInner,
) -> Result<ExchangeRequest<'v>, UnreadablePayload> {
    let view = RpkStepView::of(step);
    let input = required("input", view.input.filter(|input| !input.is_null()))?;
    if input.kind() != ValueKind::Object {
        return Err(mistyped("input", input, "an object"));
    }
    let [http, method, url, payload, inner, prompt] =
        pick_members(input, ["http", "method", "url", "payload", "input", "prompt"]);
    if http.is_some() {
        return rer::request(input, run);
    }
    if let (Some(method), Some(url)) = (method, url) {
        return http_client_request(input, method, url);
    }
    if let Some(payload) = payload {
        // The listener writes the body as `payload`.
        return Ok(model_request(&view, input, ExchangeRequestBody::Json(Cow::Borrowed(payload.text()))));
    }
    let Some(inner) = inner else {
        let Some(prompt) = prompt.and_then(|prompt| prompt.string()) else {
            return Err(UnreadablePayload::UnknownShape { member: "input" });
        };
        return Ok(model_request(&view, input, ExchangeRequestBody::Prompt(prompt)));
    };
    if inner.kind() != ValueKind::Object {
        // Old versions of the listener kept the members of the request itself, of which `input` is one.
        let body = match inner.string() {
            Some(text) if view.metadata.and_then(|metadata| metadata.member("path")).is_none() => {
                ExchangeRequestBody::Prompt(text)
            }
            _ => ExchangeRequestBody::Members(Cow::Borrowed(input.text())),
        };
        return Ok(model_request(&view, input, body));
    }
    let [payload, arguments] = pick_members(inner, ["payload", "kwargs"]);
    match payload {
        // A one-shot capture keeps the body in `input.payload`.
        Some(payload) => {
            Ok(model_request(&view, inner, ExchangeRequestBody::Json(Cow::Borrowed(payload.text()))))
        }
        // A wrapped SDK keeps the arguments of its call.
        None => Ok(model_request(
            &view,
            input,
            ExchangeRequestBody::Members(Cow::Borrowed(arguments.unwrap_or(inner).text())),
        )),
    }
}

/// Makes a request to a model. Provider, model and URL are members of `about`, or else of the metadata.
///
/// The endpoint is found by the URL, assuming a `POST`. A provider that is not named is the vendor of the URL.
fn model_request<'v>(
    view: &RpkStepView<'v>,
    about: Value<'v>,
    body: ExchangeRequestBody<'v>,
) -> ExchangeRequest<'v> {
    let word = |names: [&str; 1]| {
        first_member(Some(about), names)
            .or_else(|| first_member(view.metadata, names))
            .and_then(|word| word.string())
    };
    let target = word(["url"]).or_else(|| word(["path"])).or_else(|| word(["endpoint"])).unwrap_or_default();
    let target = UrlTarget::of(&target);
    let provider = word(["provider"]).unwrap_or_default();
    let vendor = Vendor::of_name(&provider).or(target.vendor);
    let path = target.path.to_owned();
    let endpoint = vendor.and_then(|vendor| Endpoint::of(vendor, "POST", &path));
    let provider =
        if provider.is_empty() { Cow::Borrowed(vendor.map_or("", Vendor::name)) } else { provider };
    ExchangeRequest {
        provider,
        model: word(["model"]),
        endpoint,
        method: Cow::Borrowed(if path.is_empty() { "" } else { "POST" }),
        path: Cow::Owned(path),
        headers: headers(about.member("headers")),
        body,
        match_key: None,
        source: None,
    }
}

/// Reads the request of a wrapped HTTP client.
///
/// # Errors
/// If method or URL are no strings, or the body was left out.
fn http_client_request<'v>(
    input: Value<'v>,
    method: Value<'v>,
    url: Value<'v>,
) -> Result<ExchangeRequest<'v>, UnreadablePayload> {
    let method = method.string().ok_or_else(|| mistyped("method", method, "a string"))?;
    let text = url.string().ok_or_else(|| mistyped("url", url, "a string"))?;
    let target = UrlTarget::of(&text);
    let [body, headers_kept] = pick_members(input, ["body", "headers"]);
    let body = match body {
        None => ExchangeRequestBody::Bytes(Cow::default()),
        Some(body) => match body.string() {
            Some(text) if is_omission_marker(&text) => {
                return Err(UnreadablePayload::Omitted { member: "the body" });
            }
            Some(text) => ExchangeRequestBody::Bytes(into_bytes(text)),
            None => ExchangeRequestBody::Json(Cow::Borrowed(body.text())),
        },
    };
    let model = target.model(body.bytes());
    let (endpoint, path) = (target.endpoint(&method), target.path.to_owned());
    // The vendor is unknown, so the path keeps the host: it is part of the request.
    let (provider, path) = match target.vendor {
        Some(vendor) => (Cow::Borrowed(vendor.name()), path),
        None => (Cow::default(), text.into_owned()),
    };
    Ok(ExchangeRequest {
        provider,
        model: model.map(Cow::Owned),
        endpoint,
        method,
        path: Cow::Owned(path),
        headers: headers(headers_kept),
        body,
        match_key: None,
        source: None,
    })
}

/// Converts text to bytes without copying.
fn into_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}
