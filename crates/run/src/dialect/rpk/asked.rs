//! What a step says was asked of a model, or over HTTP.

use std::borrow::Cow;

use reenact_formats::rpk::StepView;
use reenact_json::{Kind as JsonKind, Value};
use reenact_wire::{Endpoint, Vendor};

use super::{first, headers, is_left_out};
use crate::dialect::replay_bundle::Place;
use crate::dialect::rer;
use crate::exchange::{Body, Request};
use crate::run::Inner;
use crate::unreadable::{Unreadable, mistyped, needed, pick};

/// What was asked.
pub(in crate::dialect) fn request<'v>(step: Value<'v>, run: &'v Inner) -> Result<Request<'v>, Unreadable> {
    let view = StepView::of(step);
    let input = needed("input", view.input.filter(|input| !input.is_null()))?;
    if input.kind() != JsonKind::Object {
        return Err(mistyped("input", input, "an object"));
    }
    let [http, method, url, payload, inner, prompt] =
        pick(input, ["http", "method", "url", "payload", "input", "prompt"]);
    if http.is_some() {
        return rer::request(input, run);
    }
    if let (Some(method), Some(url)) = (method, url) {
        return wrapped_http(input, method, url);
    }
    if let Some(payload) = payload {
        // The listener.
        return Ok(built(&view, input, Body::Json(Cow::Borrowed(payload.text()))));
    }
    let Some(inner) = inner else {
        let Some(prompt) = prompt.and_then(|prompt| prompt.string()) else {
            return Err(Unreadable::Shape { member: "input" });
        };
        return Ok(built(&view, input, Body::Prompt(prompt)));
    };
    if inner.kind() != JsonKind::Object {
        // The listener of old, which kept the request's own members: `input` is one of them.
        let body = match inner.string() {
            Some(text) if view.metadata.and_then(|metadata| metadata.member("path")).is_none() => {
                Body::Prompt(text)
            }
            _ => Body::Members(Cow::Borrowed(input.text())),
        };
        return Ok(built(&view, input, body));
    }
    let [payload, arguments] = pick(inner, ["payload", "kwargs"]);
    match payload {
        // A one-shot capture.
        Some(payload) => Ok(built(&view, inner, Body::Json(Cow::Borrowed(payload.text())))),
        // A wrapped SDK: the arguments of its call.
        None => Ok(built(&view, input, Body::Members(Cow::Borrowed(arguments.unwrap_or(inner).text())))),
    }
}

/// A request to a model of which `about` says whom and where, or else the metadata.
fn built<'v>(view: &StepView<'v>, about: Value<'v>, body: Body<'v>) -> Request<'v> {
    let word = |names: [&str; 1]| {
        first(Some(about), names).or_else(|| first(view.metadata, names)).and_then(|word| word.string())
    };
    let place = word(["url"]).or_else(|| word(["path"])).or_else(|| word(["endpoint"])).unwrap_or_default();
    let place = Place::of(&place);
    let provider = word(["provider"]).unwrap_or_default();
    let vendor = Vendor::of_name(&provider).or(place.vendor);
    let path = place.path.to_owned();
    let endpoint = vendor.and_then(|vendor| Endpoint::of(vendor, "POST", &path));
    let provider =
        if provider.is_empty() { Cow::Borrowed(vendor.map_or("", Vendor::name)) } else { provider };
    Request {
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

/// A request of a wrapped HTTP client.
fn wrapped_http<'v>(input: Value<'v>, method: Value<'v>, url: Value<'v>) -> Result<Request<'v>, Unreadable> {
    let method = method.string().ok_or_else(|| mistyped("method", method, "a string"))?;
    let text = url.string().ok_or_else(|| mistyped("url", url, "a string"))?;
    let place = Place::of(&text);
    let [body, headers_kept] = pick(input, ["body", "headers"]);
    let body = match body {
        None => Body::Bytes(Cow::default()),
        Some(body) => match body.string() {
            Some(text) if is_left_out(&text) => return Err(Unreadable::LeftOut { member: "the body" }),
            Some(text) => Body::Bytes(bytes(text)),
            None => Body::Json(Cow::Borrowed(body.text())),
        },
    };
    let model = place.model(body.bytes());
    let (endpoint, path) = (place.endpoint(&method), place.path.to_owned());
    // Whom it is to, if it is nobody that we know: the host is part of what was asked.
    let (provider, path) = match place.vendor {
        Some(vendor) => (Cow::Borrowed(vendor.name()), path),
        None => (Cow::default(), text.into_owned()),
    };
    Ok(Request {
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

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}
