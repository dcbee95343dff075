//! Headers that belong to one connection and not to the message (hop-by-hop). They are dropped here; all others
//! pass.

use http::header::{
    CONNECTION, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    TE, TRANSFER_ENCODING, UPGRADE,
};

/// Returns the headers of a request for the vendor: Host is the vendor's, headers of the connection are
/// dropped, and all others stay as they came, in their order.
pub(crate) fn for_vendor(headers: &HeaderMap, host: HeaderValue) -> HeaderMap {
    let named = named_by_connection(headers);
    let mut result = HeaderMap::with_capacity(headers.len() + 1);
    // HTTP/2 clients send the host in the pseudo-header `:authority`.
    if !headers.contains_key(HOST) {
        result.insert(HOST, host.clone());
    }
    for (name, value) in headers {
        if name == HOST {
            result.insert(HOST, host.clone());
        } else if name == TE {
            // `trailers` concerns the vendor as well; other transfer codings end here.
            if is_listed(value, "trailers") {
                result.insert(TE, HeaderValue::from_static("trailers"));
            }
        } else if name != EXPECT && !is_hop_by_hop(name, &named) {
            result.append(name, value.clone());
        }
    }
    result
}

/// Returns the headers of an answer for the client, without headers of the connection.
pub(crate) fn for_client(headers: &HeaderMap) -> HeaderMap {
    let named = named_by_connection(headers);
    let mut result = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if !is_hop_by_hop(name, &named) {
            result.append(name, value.clone());
        }
    }
    result
}

/// Returns true if a request asks to switch to a WebSocket. Other upgrades, such as `h2c`, are offers that a
/// server may ignore.
pub(crate) fn asks_for_websocket(headers: &HeaderMap) -> bool {
    headers.get_all(UPGRADE).iter().any(|value| is_listed(value, "websocket"))
}

/// Returns true for a header of the connection, by its name or because `connection` lists it.
fn is_hop_by_hop(name: &HeaderName, named_by_connection: &[HeaderName]) -> bool {
    const OTHERS: [&str; 3] = ["keep-alive", "proxy-connection", "http2-settings"];
    [CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE].contains(name)
        || OTHERS.contains(&name.as_str())
        || named_by_connection.contains(name)
}

/// Returns the headers that `connection` lists.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let texts = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let names = texts.flat_map(|text| text.split(',')).map(str::trim);
    // The two usual values need no parsing: no header is called `close`, and `keep-alive` is always dropped.
    let names =
        names.filter(|name| !["close", "keep-alive"].iter().any(|usual| name.eq_ignore_ascii_case(usual)));
    names.filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok()).collect()
}

/// Returns true if a comma-separated value contains `word`, with or without parameters.
fn is_listed(value: &HeaderValue, word: &str) -> bool {
    let text = value.to_str().unwrap_or_default();
    text.split(',').any(|item| item.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        map
    }

    fn list(headers: &HeaderMap) -> Vec<(&str, &str)> {
        headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect()
    }

    #[test]
    fn a_request_keeps_order_and_repetition() {
        let came = map(&[
            ("accept", "*/*"),
            ("host", "127.0.0.1:1"),
            ("connection", "keep-alive, X-Mine"),
            ("keep-alive", "timeout=5"),
            ("x-mine", "1"),
            ("x-two", "a"),
            ("te", "gzip, trailers;q=0.5"),
            ("transfer-encoding", "chunked"),
            ("expect", "100-continue"),
            ("proxy-authorization", "Basic x"),
            ("x-two", "b"),
            ("authorization", "Bearer x"),
        ]);
        assert_eq!(
            list(&for_vendor(&came, HeaderValue::from_static("api.example"))),
            [
                ("accept", "*/*"),
                ("host", "api.example"),
                ("x-two", "a"),
                ("x-two", "b"),
                ("te", "trailers"),
                ("authorization", "Bearer x")
            ]
        );
    }

    #[test]
    fn a_request_without_host_gets_one_first() {
        let came = map(&[("accept", "*/*"), ("te", "gzip")]);
        let sent = for_vendor(&came, HeaderValue::from_static("api.example"));
        assert_eq!(list(&sent), [("host", "api.example"), ("accept", "*/*")]);
    }

    #[test]
    fn an_answer_keeps_what_is_the_messages() {
        let came = map(&[
            ("date", "today"),
            ("connection", "close"),
            ("trailer", "x-sum"),
            ("content-encoding", "gzip"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("transfer-encoding", "chunked"),
        ]);
        assert_eq!(
            list(&for_client(&came)),
            [
                ("date", "today"),
                ("trailer", "x-sum"),
                ("content-encoding", "gzip"),
                ("set-cookie", "a=1"),
                ("set-cookie", "b=2")
            ]
        );
    }

    #[test]
    fn only_a_websocket_is_asked_for() {
        assert!(asks_for_websocket(&map(&[("upgrade", "WebSocket")])));
        assert!(!asks_for_websocket(&map(&[("upgrade", "h2c")])));
        assert!(!asks_for_websocket(&map(&[("x-upgrade", "websocket")])));
    }
}
