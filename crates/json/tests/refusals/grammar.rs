//! Texts that break the grammar: encodings, structure, literals, numbers, strings.

use reenact_json::{Limits, SyntaxError, SyntaxFault};

use crate::{
    COLON, ESCAPE, MORE_OF_ARRAY, MORE_OF_OBJECT, NAME, QUOTE, VALUE, check, end, outcome, unexpected,
};

#[test]
fn nothing_at_all() {
    check(&[
        (b"", 0, SyntaxFault::Empty),
        (b" ", 1, SyntaxFault::Empty),
        (b" \t\r\n", 4, SyntaxFault::Empty),
        // Only the white space of RFC 8259 counts, not that of Unicode.
        (b"\x0b1", 0, unexpected(0x0b, VALUE)),
        (b"\x0c1", 0, unexpected(0x0c, VALUE)),
        (b"\xc2\xa01", 0, unexpected(0xc2, VALUE)),
        (b"\xe2\x80\xa81", 0, unexpected(0xe2, VALUE)),
        (b"1\xc2\xa0", 1, SyntaxFault::TrailingData),
    ]);
}

#[test]
fn other_encodings() {
    check(&[
        (b"\xef\xbb\xbf{}", 0, SyntaxFault::ByteOrderMark),
        (b"\xef\xbb\xbf", 0, SyntaxFault::ByteOrderMark),
        (b" \xef\xbb\xbf{}", 1, unexpected(0xef, VALUE)),
        (b"{}\xef\xbb\xbf", 2, SyntaxFault::TrailingData),
        (b"\xfe\xff\0{\0}", 0, SyntaxFault::Utf16),
        (b"\xff\xfe{\0}\0", 0, SyntaxFault::Utf16),
        (b"\0{\0}", 0, SyntaxFault::Utf16),
        (b"{\0}\0", 0, SyntaxFault::Utf16),
        (b"\0\0\0{", 0, SyntaxFault::Utf16),
        (b"{\0\0\0", 0, SyntaxFault::Utf16),
        (b"\0", 0, unexpected(0, VALUE)),
        (b"[1\0]", 2, unexpected(0, MORE_OF_ARRAY)),
    ]);
}

#[test]
fn bytes_that_are_not_utf8_outside_strings() {
    check(&[
        (b"\xff", 0, SyntaxFault::NotUtf8),
        (b"\xef\xbb", 0, SyntaxFault::NotUtf8),
        (b"[\x80]", 1, SyntaxFault::NotUtf8),
        (b"[1\xc3]", 2, SyntaxFault::NotUtf8),
        (b"{\xed\xa0\x80:1}", 1, SyntaxFault::NotUtf8),
        (b"{\"a\"\xfe", 4, SyntaxFault::NotUtf8),
        // Good UTF-8 in a place where only ASCII goes is another mistake.
        ("[é]".as_bytes(), 1, unexpected(0xc3, VALUE)),
    ]);
}

#[test]
fn bytes_that_are_not_utf8_inside_strings() {
    check(&[
        (b"\"\xff\"", 1, SyntaxFault::NotUtf8),
        (b"\"a\x80\"", 2, SyntaxFault::NotUtf8),
        (b"\"12345678\x80\"", 9, SyntaxFault::NotUtf8),
        (b"\"\xc3\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xc3\\u00a9\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xe2\x82\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xf0\x9f\x98\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xc0\x80\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xc1\xbf\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xe0\x80\xaf\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xf0\x80\x80\xaf\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xed\xa0\xbd\xed\xb8\x80\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xf4\x90\x80\x80\"", 1, SyntaxFault::NotUtf8),
        (b"\"\xf5\x80\x80\x80\"", 1, SyntaxFault::NotUtf8),
        (b"{\"a\xff\":1}", 3, SyntaxFault::NotUtf8),
        (b"[\"\\n\xff\"]", 4, SyntaxFault::NotUtf8),
    ]);
}

#[test]
fn extensions_of_json() {
    check(&[
        (b"NaN", 0, unexpected(b'N', VALUE)),
        (b"nan", 0, unexpected(b'n', "`null`")),
        (b"Infinity", 0, unexpected(b'I', VALUE)),
        (b"-Infinity", 0, SyntaxFault::Number),
        (b"[-NaN]", 1, SyntaxFault::Number),
        (b"undefined", 0, unexpected(b'u', VALUE)),
        (b"True", 0, unexpected(b'T', VALUE)),
        (b"TRUE", 0, unexpected(b'T', VALUE)),
        (b"// a\n1", 0, unexpected(b'/', VALUE)),
        (b"/* a */1", 0, unexpected(b'/', VALUE)),
        (b"# a\n1", 0, unexpected(b'#', VALUE)),
        (b"[1/**/]", 2, unexpected(b'/', MORE_OF_ARRAY)),
        (b"{}//", 2, SyntaxFault::TrailingData),
        (b"{/**/}", 1, unexpected(b'/', NAME)),
        (b"[1,]", 3, unexpected(b']', VALUE)),
        (b"[,1]", 1, unexpected(b',', VALUE)),
        (b"[,]", 1, unexpected(b',', VALUE)),
        (b"[1,,2]", 3, unexpected(b',', VALUE)),
        (b"{\"a\":1,}", 7, unexpected(b'}', NAME)),
        (b"{,}", 1, unexpected(b',', NAME)),
        (b"{\"a\":1,,\"b\":2}", 7, unexpected(b',', NAME)),
        (b"'a'", 0, unexpected(b'\'', VALUE)),
        (b"{'a':1}", 1, unexpected(b'\'', NAME)),
        (b"{a:1}", 1, unexpected(b'a', NAME)),
        (b"{1:1}", 1, unexpected(b'1', NAME)),
        (b"{null:1}", 1, unexpected(b'n', NAME)),
        (b"`a`", 0, unexpected(b'`', VALUE)),
    ]);
}

#[test]
fn broken_structure() {
    check(&[
        (b"]", 0, unexpected(b']', VALUE)),
        (b"}", 0, unexpected(b'}', VALUE)),
        (b",", 0, unexpected(b',', VALUE)),
        (b":", 0, unexpected(b':', VALUE)),
        (b"[", 1, end(VALUE)),
        (b"[ ", 2, end(VALUE)),
        (b"[1", 2, end(MORE_OF_ARRAY)),
        (b"[1,", 3, end(VALUE)),
        (b"[1}", 2, unexpected(b'}', MORE_OF_ARRAY)),
        (b"[1 2]", 3, unexpected(b'2', MORE_OF_ARRAY)),
        (b"[\"a\":1]", 4, unexpected(b':', MORE_OF_ARRAY)),
        (b"{", 1, end(NAME)),
        (b"{]", 1, unexpected(b']', NAME)),
        (b"{\"a\"", 4, end(COLON)),
        (b"{\"a\"}", 4, unexpected(b'}', COLON)),
        (b"{\"a\",1}", 4, unexpected(b',', COLON)),
        (b"{\"a\"=1}", 4, unexpected(b'=', COLON)),
        (b"{\"a\" 1}", 5, unexpected(b'1', COLON)),
        (b"{\"a\":", 5, end(VALUE)),
        (b"{\"a\":}", 5, unexpected(b'}', VALUE)),
        (b"{\"a\":,\"b\":1}", 5, unexpected(b',', VALUE)),
        (b"{\"a\"::1}", 5, unexpected(b':', VALUE)),
        (b"{\"a\":1", 6, end(MORE_OF_OBJECT)),
        (b"{\"a\":1]", 6, unexpected(b']', MORE_OF_OBJECT)),
        (b"{\"a\":1,", 7, end(NAME)),
        (b"{\"a\":1 \"b\":2}", 7, unexpected(b'"', MORE_OF_OBJECT)),
        (b"{\"a\":1;", 6, unexpected(b';', MORE_OF_OBJECT)),
    ]);
}

#[test]
fn cut_or_misspelled_literals() {
    check(&[
        (b"t", 0, unexpected(b't', "`true`")),
        (b"tru", 0, unexpected(b't', "`true`")),
        (b"trUe", 0, unexpected(b't', "`true`")),
        (b"fals", 0, unexpected(b'f', "`false`")),
        (b"nul", 0, unexpected(b'n', "`null`")),
        (b"[nulL]", 1, unexpected(b'n', "`null`")),
        (b"truee", 4, SyntaxFault::TrailingData),
        (b"[truefalse]", 5, unexpected(b'f', MORE_OF_ARRAY)),
    ]);
}

#[test]
fn data_after_the_value() {
    check(&[
        (b"1 2", 2, SyntaxFault::TrailingData),
        (b"{}{}", 2, SyntaxFault::TrailingData),
        (b"{} {}", 3, SyntaxFault::TrailingData),
        (b"{}\n{}\n", 3, SyntaxFault::TrailingData),
        (b"[]]", 2, SyntaxFault::TrailingData),
        (b"{}}", 2, SyntaxFault::TrailingData),
        (b"{},", 2, SyntaxFault::TrailingData),
        (b"\"a\"b", 3, SyntaxFault::TrailingData),
        (b"\"a\"\"b\"", 3, SyntaxFault::TrailingData),
        (b"{}\0", 2, SyntaxFault::TrailingData),
        (b"{}\xff", 2, SyntaxFault::TrailingData),
        (b"{}\x1e", 2, SyntaxFault::TrailingData),
    ]);
}

#[test]
fn numbers_off_the_grammar() {
    check(&[
        (b"00", 0, SyntaxFault::Number),
        (b"01", 0, SyntaxFault::Number),
        (b"-01", 0, SyntaxFault::Number),
        (b"-00", 0, SyntaxFault::Number),
        (b"00.5", 0, SyntaxFault::Number),
        (b"[007]", 1, SyntaxFault::Number),
        (b"-", 0, SyntaxFault::Number),
        (b"--1", 0, SyntaxFault::Number),
        (b"- 1", 0, SyntaxFault::Number),
        (b"-a", 0, SyntaxFault::Number),
        (b"-.5", 0, SyntaxFault::Number),
        (b"+1", 0, unexpected(b'+', VALUE)),
        (b".5", 0, unexpected(b'.', VALUE)),
        (b"[.5]", 1, unexpected(b'.', VALUE)),
        (b"1.", 0, SyntaxFault::Number),
        (b"[1.]", 1, SyntaxFault::Number),
        (b"1.e5", 0, SyntaxFault::Number),
        (b"1.-5", 0, SyntaxFault::Number),
        (b"1e", 0, SyntaxFault::Number),
        (b"1E", 0, SyntaxFault::Number),
        (b"1e+", 0, SyntaxFault::Number),
        (b"1e-", 0, SyntaxFault::Number),
        (b"1e+-5", 0, SyntaxFault::Number),
        (b"[1e]", 1, SyntaxFault::Number),
        (b"{\"a\":0e}", 5, SyntaxFault::Number),
        (b"1.5.2", 3, SyntaxFault::TrailingData),
        (b"1e5.5", 3, SyntaxFault::TrailingData),
        (b"1e5e5", 3, SyntaxFault::TrailingData),
        (b"0x10", 1, SyntaxFault::TrailingData),
        (b"1_000", 1, SyntaxFault::TrailingData),
        (b"1n", 1, SyntaxFault::TrailingData),
        (b"[1f]", 2, unexpected(b'f', MORE_OF_ARRAY)),
        ("１".as_bytes(), 0, unexpected(0xef, VALUE)),
    ]);
}

#[test]
fn strings_off_the_grammar() {
    check(&[
        (b"\"", 1, end(QUOTE)),
        (b"\"abc", 4, end(QUOTE)),
        (b"[\"abc]", 6, end(QUOTE)),
        (b"{\"abc", 5, end(QUOTE)),
        (b"\"\\\"", 3, end(QUOTE)),
        (b"\"\\", 2, end(ESCAPE)),
        (b"\"\\u", 3, end(ESCAPE)),
        (b"\"\\u12", 5, end(ESCAPE)),
        (b"\"\\ud83d\\u", 9, end(ESCAPE)),
        (b"\"\\x41\"", 1, SyntaxFault::Escape),
        (b"\"\\'\"", 1, SyntaxFault::Escape),
        (b"\"\\0\"", 1, SyntaxFault::Escape),
        (b"\"\\v\"", 1, SyntaxFault::Escape),
        (b"\"\\U0041\"", 1, SyntaxFault::Escape),
        (b"\"a\\\n\"", 2, SyntaxFault::Escape),
        (b"\"\\\xc3\xa9\"", 1, SyntaxFault::Escape),
        (b"\"\\u{41}\"", 1, SyntaxFault::Escape),
        (b"\"\\u004g\"", 1, SyntaxFault::Escape),
        (b"\"\\u+041\"", 1, SyntaxFault::Escape),
        (b"\"\\u 041\"", 1, SyntaxFault::Escape),
        (b"\"\\u00\xb2\xb2\"", 1, SyntaxFault::Escape),
        (b"\"\\ud83d\\uzzzz\"", 7, SyntaxFault::Escape),
        (b"{\"\\a\":1}", 2, SyntaxFault::Escape),
    ]);
}

#[test]
fn lone_surrogates() {
    check(&[
        (br#""\ud800""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\uDBFF""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\udc00""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\udfff""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83dx""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83d\n""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83d\u0041""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83d\ud83d\ude00""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83d\ue000""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ude00\ud83d""#, 1, SyntaxFault::LoneSurrogate),
        (br#""\ud83d\ude00\ude00""#, 13, SyntaxFault::LoneSurrogate),
        (br#""ab\ud83d \ude00""#, 3, SyntaxFault::LoneSurrogate),
        (br#"{"\ud800":1}"#, 2, SyntaxFault::LoneSurrogate),
    ]);
}

#[test]
fn each_raw_control_character_in_a_string_is_refused_at_each_offset() {
    for found in 0..0x20 {
        for length in 0..20 {
            for closed in ["\"", "and on and on\""] {
                let mut input = b" \"".to_vec();
                input.resize(2 + length, b'~');
                input.push(found);
                input.extend_from_slice(closed.as_bytes());
                let fault = SyntaxFault::ControlCharacter { found };
                assert_eq!(
                    outcome(&input, &Limits::default()),
                    Err(SyntaxError { offset: 2 + length, fault }),
                    "0x{found:02x} after {length}"
                );
            }
        }
    }
    // U+007F to U+009F are controls of Unicode, but not of JSON.
    assert_eq!(outcome("\"\u{7f}\u{80}\u{9f}\"".as_bytes(), &Limits::default()), Ok(()));
}
