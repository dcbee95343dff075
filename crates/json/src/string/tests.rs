use super::*;
use crate::unescape::write_unescaped;
use proptest::prelude::*;

fn scanned(text: &str) -> Result<(bool, bool), SyntaxFault> {
    let input = format!("{text}\"");
    let span = scan(input.as_bytes(), 0).map_err(|error| error.fault)?;
    assert_eq!(span.end, text.len());
    Ok((span.escaped, span.canonical))
}

fn rewritten(text: &str) -> String {
    let mut out = Vec::new();
    write_canonical(text.as_bytes(), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn canonical_spelling_is_recognised() {
    for (text, canonical) in [
        ("plain", true),
        (r#"\" \\ \b \f \n \r \t"#, true),
        (r"\u0000 \u001f \u000b", true),
        (r"\u001F", false),
        (r"\u000a", false),
        (r"\/", false),
        (r"\u0041", false),
        (r"\ud83d\ude00", false),
        ("\u{7f}\u{80}\u{2028}\u{1F600}", true),
    ] {
        assert_eq!(scanned(text).map(|(_, canonical)| canonical), Ok(canonical), "{text}");
    }
}

#[test]
fn refused() {
    for (text, expected) in [
        ("\u{1}", SyntaxFault::ControlCharacter { found: 1 }),
        (r"\x", SyntaxFault::Escape),
        (r"\u12g4", SyntaxFault::Escape),
        (r"\u+123", SyntaxFault::Escape),
        (r"\ud800", SyntaxFault::LoneSurrogate),
        (r"\ud800\u0041", SyntaxFault::LoneSurrogate),
        (r"\ud800A", SyntaxFault::LoneSurrogate),
        (r"\udc00\ud800", SyntaxFault::LoneSurrogate),
        (r"\ud83d\u", SyntaxFault::Escape),
    ] {
        let result =
            scan(format!("{text}\" and more").as_bytes(), 0).map(|_| ()).map_err(|error| error.fault);
        assert_eq!(result, Err(expected), "{text}");
    }
    let cut = scan(b"\\u00", 0).map(|_| ()).map_err(|error| error.fault);
    assert_eq!(cut, Err(SyntaxFault::End { wanted: "the rest of an escape" }));
}

#[test]
fn bytes_that_are_not_utf8_are_found_where_they_stand() {
    let error = scan(b"abcdefgh\xffij\"", 0).map(|_| ()).unwrap_err();
    assert_eq!(*error, SyntaxError { offset: 8, fault: SyntaxFault::NotUtf8 });
    // An overlong slash and an encoded surrogate are not UTF-8 either.
    assert_eq!(scan(b"\xc0\xaf\"", 0).map(|_| ()).unwrap_err().fault, SyntaxFault::NotUtf8);
    assert_eq!(scan(b"\xed\xa0\x80\"", 0).map(|_| ()).unwrap_err().fault, SyntaxFault::NotUtf8);
}

#[test]
fn odd_spellings_are_rewritten() {
    assert_eq!(rewritten(r"a\/b\u0041\n\u001F\ud83d\ude00\u000a"), "\"a/bA\\n\\u001f\u{1F600}\\n\"");
    assert_eq!(rewritten(r"\u0022\u005c"), r#""\"\\""#);
}

#[test]
fn long_strings_are_spelled_whole_at_each_offset() {
    for (written, spelled) in [("\\n", "\n"), ("1234567\\u20ac", "1234567€"), ("\\ud83d\\ude00é", "😀é")]
    {
        for offset in 0..20 {
            let mut out = Vec::new();
            let begin = "x".repeat(offset);
            write_unescaped(format!("{begin}{}", written.repeat(5_000)).as_bytes(), &mut out);
            assert!(out == format!("{begin}{}", spelled.repeat(5_000)).as_bytes(), "{written} {offset}");
        }
    }
}

#[test]
fn a_special_byte_is_found_at_each_offset() {
    for length in 0..40 {
        for special in [b'"', b'\\', 0x1f, 0] {
            let mut text = vec![b'\x7f'; length];
            text.push(special);
            text.extend_from_slice("é\u{20}!#[]\"".as_bytes());
            assert_eq!(plain_run_end(&text, 0, &mut 0), length);
            let mut seen = 0;
            text[length] = 0xC3;
            plain_run_end(&text, 0, &mut seen);
            assert_ne!(seen & HIGH_BITS, 0, "a byte beyond ASCII is never missed");
        }
    }
}

proptest! {
    /// Also for text long enough for SIMD, with one wrong byte.
    #[test]
    fn utf8_is_what_the_standard_library_says(
        text in "[a-z\u{e9}\u{4e2d}\u{1f600}]{0,200}",
        wrong in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
        from in 0_usize..4,
    ) {
        let mut bytes = text.into_bytes();
        if let Some((at, byte)) = wrong.filter(|_| !bytes.is_empty()) {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let bytes = bytes.get(from..).unwrap_or_default();
        prop_assert_eq!(is_utf8(bytes), core::str::from_utf8(bytes).is_ok());
    }

    #[test]
    fn the_short_cut_agrees(text in "[ -~é\u{1}]{0,20}|[!#-Z]{0,200}", tail in "[ -~é]{0,9}", is_closed in any::<bool>()) {
        let quote = if is_closed { "\"" } else { "" };
        let input = format!("{text}{quote}{tail}");
        let is_plain = |byte: &u8| matches!(byte, 0x20..=0x7E) && !matches!(byte, b'"' | b'\\');
        let end = input.bytes().take_while(is_plain).count();
        let expected = (input.as_bytes().get(end) == Some(&b'"')).then_some(end);
        prop_assert_eq!(scan_plain(input.as_bytes(), 0).map(|(end, _)| end), expected);
        if let Some((end, key)) = scan_plain(input.as_bytes(), 0) {
            let span = scan(input.as_bytes(), 0).unwrap();
            prop_assert!(!span.escaped && span.canonical);
            prop_assert!(input.as_bytes()[..end].is_ascii());
            prop_assert_eq!(end, span.end);
            let mut bytes = [0; 8];
            let length = end.min(8);
            bytes[..length].copy_from_slice(&input.as_bytes()[..length]);
            prop_assert_eq!(key, u64::from_be_bytes(bytes));
            prop_assert_eq!(super::sort_key_at(input.as_bytes(), 0, end), key);
            prop_assert_eq!(super::sort_key_at(&input.as_bytes()[..end], 0, end), key);
            prop_assert_eq!(sort_key_of(&input.as_bytes()[..end]), key);
        }
    }

    #[test]
    fn text_survives(text in any::<String>()) {
        let mut out = Vec::new();
        write_quoted(&text, &mut out);
        let content = &out[1..out.len() - 1];
        let span = scan(&out, 1).unwrap();
        prop_assert!(span.canonical);
        prop_assert_eq!(span.end, out.len() - 1);
        prop_assert_eq!(UnescapedChars::new(content).collect::<String>(), text.clone());
        prop_assert_eq!(&rewritten(std::str::from_utf8(content).unwrap()), std::str::from_utf8(&out).unwrap());
        let spelled = |quoted: &[u8]| {
            let mut out = Vec::new();
            write_unescaped(quoted, &mut out);
            String::from_utf8(out)
        };
        prop_assert_eq!(spelled(content), Ok(text.clone()));
        let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        prop_assert_eq!(&rewritten(&escaped), std::str::from_utf8(&out).unwrap());
        prop_assert_eq!(spelled(escaped.as_bytes()), Ok(text));
    }
}
