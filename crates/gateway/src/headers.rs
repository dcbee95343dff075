//! Headers that belong to one connection and not to the message: they end here, all others pass.

use http::header::{
    CONNECTION, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    TE, TRANSFER_ENCODING, UPGRADE,
};

/// Headers of a request as the vendor gets them: Host is the vendor's, what belongs to the connection is left out, and
/// everything else is as it came, in its order.
pub(crate) fn request(headers: &HeaderMap, host: HeaderValue) -> HeaderMap {
    let named = named_by_connection(headers);
    let mut result = HeaderMap::with_capacity(headers.len() + 1);
    // A client of HTTP/2 names the host elsewhere.
    if !headers.contains_key(HOST) {
        result.insert(HOST, host.clone());
    }
    for (name, value) in headers {
        if name == HOST {
            result.insert(HOST, host.clone());
        } else if name == TE {
            // Whether the client takes trailers matters to the vendor as well; other transfer codings are ours.
            if is_listed(value, "trailers") {
                result.insert(TE, HeaderValue::from_static("trailers"));
            }
        } else if name != EXPECT && !is_hop_by_hop(name, &named) {
            result.append(name, value.clone());
        }
    }
    result
}

/// Headers of an answer as the client gets them.
pub(crate) fn answer(headers: &HeaderMap) -> HeaderMap {
    let named = named_by_connection(headers);
    let mut result = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if !is_hop_by_hop(name, &named) {
            result.append(name, value.clone());
        }
    }
    result
}

/// Whether a request asks to leave HTTP for a WebSocket. Other upgrades, such as `h2c`, are offers that we need not take.
pub(crate) fn asks_for_websocket(headers: &HeaderMap) -> bool {
    headers.get_all(UPGRADE).iter().any(|value| is_listed(value, "websocket"))
}

fn is_hop_by_hop(name: &HeaderName, named_by_connection: &[HeaderName]) -> bool {
    const OTHERS: [&str; 3] = ["keep-alive", "proxy-connection", "http2-settings"];
    [CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE].contains(name)
        || OTHERS.contains(&name.as_str())
        || named_by_connection.contains(name)
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let texts = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let names = texts.flat_map(|text| text.split(',')).map(str::trim);
    // What it says nearly always: no header has the one name, and the other ends here anyway.
    let names =
        names.filter(|name| !["close", "keep-alive"].iter().any(|usual| name.eq_ignore_ascii_case(usual)));
    names.filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok()).collect()
}

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
            list(&request(&came, HeaderValue::from_static("api.example"))),
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
        let sent = request(&came, HeaderValue::from_static("api.example"));
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
            list(&answer(&came)),
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
