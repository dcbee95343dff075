//! Encoded answers on the socket, as documents and as streams that can be read event by event.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::io::Read;

use reenact_testkit::{Encoding, Script, ScriptedVendor, WaitCondition};
use support::{asking, begin, block_on, get, piece};

fn decoder<'a>(encoding: Encoding, bytes: &'a [u8]) -> Box<dyn Read + 'a> {
    match encoding {
        Encoding::Gzip => Box::new(flate2::read::GzDecoder::new(bytes)),
        Encoding::Deflate => Box::new(flate2::read::ZlibDecoder::new(bytes)),
        Encoding::Brotli => Box::new(brotli::Decompressor::new(bytes, 4096)),
        Encoding::Zstd => Box::new(zstd::stream::read::Decoder::new(bytes).unwrap()),
    }
}

fn decoded(encoding: Encoding, bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    decoder(encoding, bytes).read_to_end(&mut text).unwrap();
    text
}

#[test]
fn what_is_decoded_is_what_was_said() {
    let plain = ScriptedVendor::start(Script::echo()).unwrap();
    for encoding in Encoding::ALL {
        let vendor = ScriptedVendor::start(Script::echo().encoded(encoding)).unwrap();
        for stream in [false, true] {
            for (path, body) in asking("hi 🦀", stream) {
                let got = get(&vendor, "POST", path, &body);
                assert_eq!(got.header("content-encoding"), encoding.name());
                assert_eq!(got.body, vendor.sent_answers().pop().unwrap().body);
                let expected = get(&plain, "POST", path, &body).body;
                assert_eq!(decoded(encoding, &got.body), expected, "{encoding:?} {path} {stream}");
            }
        }
    }
}

#[test]
fn several_in_a_row() {
    let vendor =
        ScriptedVendor::start(Script::echo().encoded(Encoding::Gzip).encoded(Encoding::Brotli)).unwrap();
    let [(path, body), ..] = asking("hi", true);
    let got = get(&vendor, "POST", path, &body);
    assert_eq!(got.header("content-encoding"), "gzip, br");
    let text = decoded(Encoding::Gzip, &decoded(Encoding::Brotli, &got.body));
    assert!(text.ends_with(b"data: [DONE]\n\n"));
}

#[test]
fn an_encoded_event_can_be_read_before_the_next_is_sent() {
    for encoding in Encoding::ALL {
        let vendor = ScriptedVendor::start(
            Script::echo().map(|_, answer| answer.wait_before(1, "next")).encoded(encoding),
        )
        .unwrap();
        block_on(async {
            let [_, _, (path, body), _] = asking("hi", true);
            let mut response = begin(&vendor, "POST", path, &body).await.unwrap();
            let first = piece(&mut response).await;
            vendor.wait_async(WaitCondition::Gate("next".into())).await;
            let mut text = vec![0; 20];
            decoder(encoding, &first).read_exact(&mut text).unwrap();
            assert_eq!(text, b"event: message_start", "{encoding:?}");
        });
    }
}
