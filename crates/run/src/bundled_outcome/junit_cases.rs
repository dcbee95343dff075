//! Test cases of a JUnit report, by name.
//!
//! Only as much of XML is read as such reports hold: elements, attributes, character references, comments and CDATA. A document type,
//! which could define entities, is refused. Start reading at [`junit_cases`].

use super::BundledTest;

/// Reason for which a JUnit report cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JunitFault {
    /// The bytes are no UTF-8.
    #[error("it is no UTF-8")]
    NotText,
    /// A tag, a comment or an attribute has no end.
    #[error("its XML is malformed at byte {at}")]
    Malformed {
        /// Offset of the part that has no end.
        at: usize,
    },
    /// There is a document type, which could define entities.
    #[error("it has a document type, which is not read")]
    DocumentType,
    /// There is no test suite.
    #[error("it holds no test suite")]
    NoSuite,
}

/// Returns the cases of a JUnit report, each named by its class and its name. The status is that of run.json: `pass`, `fail`, `error`
/// or `skipped`.
///
/// # Errors
/// If the bytes are no report, or use parts of XML that reports do not have.
pub fn junit_cases(bytes: &[u8]) -> Result<Vec<BundledTest>, JunitFault> {
    let text = std::str::from_utf8(bytes).map_err(|_| JunitFault::NotText)?;
    let mut cases: Vec<BundledTest> = Vec::new();
    let (mut has_suite, mut is_in_case, mut at) = (false, false, 0);
    while let Some(tag) = next_tag(text, &mut at)? {
        match (tag.name, tag.is_end) {
            ("testsuite" | "testsuites", false) => has_suite = true,
            ("testcase", false) => {
                let name = tag.attribute("name").unwrap_or_default();
                let id = match tag.attribute("classname").filter(|class| !class.is_empty()) {
                    Some(class) => format!("{class} {name}"),
                    None => name,
                };
                cases.push(BundledTest { id, status: "pass".to_owned() });
                is_in_case = !tag.is_empty;
            }
            ("testcase", true) => is_in_case = false,
            (name, false) if is_in_case => {
                let status = match name {
                    "failure" => "fail",
                    "error" => "error",
                    "skipped" => "skipped",
                    _ => continue,
                };
                if let Some(case) = cases.last_mut() {
                    case.status = status.to_owned();
                }
            }
            _ => {}
        }
    }
    if has_suite { Ok(cases) } else { Err(JunitFault::NoSuite) }
}

/// Tag of an element.
struct XmlTag<'a> {
    name: &'a str,
    /// Attributes, as they stand.
    attributes: Vec<(&'a str, &'a str)>,
    /// True for `</…>`.
    is_end: bool,
    /// True for `<…/>`.
    is_empty: bool,
}

impl XmlTag<'_> {
    /// Returns the value of an attribute, with its references replaced.
    fn attribute(&self, name: &str) -> Option<String> {
        self.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| unescaped(value))
    }
}

/// Returns the next tag at or after `at`, and moves `at` behind it; `None` at the end of the text.
fn next_tag<'a>(text: &'a str, at: &mut usize) -> Result<Option<XmlTag<'a>>, JunitFault> {
    loop {
        let Some(start) = text.get(*at..).and_then(|rest| rest.find('<')) else { return Ok(None) };
        let start = *at + start;
        let rest = text.get(start..).unwrap_or_default();
        let ends_with = |end: &str| {
            let end_at = rest.find(end).ok_or(JunitFault::Malformed { at: start })?;
            Ok(start + end_at + end.len())
        };
        *at = match rest {
            _ if rest.starts_with("<!--") => ends_with("-->")?,
            _ if rest.starts_with("<![CDATA[") => ends_with("]]>")?,
            _ if rest.starts_with("<?") => ends_with("?>")?,
            _ if rest.starts_with("<!") => return Err(JunitFault::DocumentType),
            _ => {
                let (tag, length) = read_tag(rest).ok_or(JunitFault::Malformed { at: start })?;
                *at = start + length;
                return Ok(Some(tag));
            }
        };
    }
}

/// Reads a tag at the beginning of a text, and returns it with its length; `None` if it is malformed.
fn read_tag(text: &str) -> Option<(XmlTag<'_>, usize)> {
    let is_end = text.starts_with("</");
    let mut rest = text.get(if is_end { 2 } else { 1 }..)?;
    let is_name_end = |character: char| character.is_ascii_whitespace() || "/>=<\"'".contains(character);
    let (name, after) = rest.split_at_checked(rest.find(is_name_end)?)?;
    rest = after;
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('>') {
            let length = text.len() - after.len();
            return (!name.is_empty())
                .then_some((XmlTag { name, attributes, is_end, is_empty: false }, length));
        }
        if let Some(after) = rest.strip_prefix("/>") {
            let length = text.len() - after.len();
            return (!name.is_empty())
                .then_some((XmlTag { name, attributes, is_end, is_empty: true }, length));
        }
        let (attribute, after) = rest.split_at_checked(rest.find(is_name_end)?)?;
        let value = after.trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (value, after) = value.get(1..)?.split_once(quote)?;
        if attribute.is_empty() {
            return None;
        }
        attributes.push((attribute, value));
        rest = after;
    }
}

/// Returns a text with its character references replaced; one that is not known stays as it is.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let replaced = after.split_once(';').and_then(|(name, after)| Some((reference(name)?, after)));
        match replaced {
            Some((character, after)) => {
                out.push(character);
                rest = after;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out + rest
}

/// Returns the character that a reference means.
fn reference(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assay_report::{AssayReport, AssayTestResult, AssayTestStatus};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "[<>/='\"! a-c\\[\\]?&;#x-]{0,60}") {
            // Whatever comes out, it ends, and does not panic.
            let _ = junit_cases(format!("<testsuite>{text}").as_bytes());
        }

        #[test]
        fn any_name_comes_back(name in any::<String>(), message in any::<String>()) {
            let result = |status| AssayTestResult {
                id: name.clone(),
                status,
                message: message.clone(),
                milliseconds: None,
            };
            let report = AssayReport {
                results: vec![result(AssayTestStatus::Error), result(AssayTestStatus::Pass)],
                ..AssayReport::default()
            };
            let cases = junit_cases(report.junit_xml().as_bytes()).unwrap();
            let shown = reenact_json::Shown::whole(&name).to_string().replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
            let expected = |status: &str| BundledTest { id: shown.clone(), status: status.to_owned() };
            prop_assert_eq!(cases, [expected("error"), expected("pass")]);
        }
    }

    fn cases(text: &str) -> Result<Vec<(String, String)>, JunitFault> {
        Ok(junit_cases(text.as_bytes())?.into_iter().map(|case| (case.id, case.status)).collect())
    }

    #[test]
    fn cases_with_each_status() {
        let report = r#"<?xml version="1.0"?>
<testsuites><!-- <testcase name="no"/> --><testsuite name="s">
  <testcase name="a"></testcase>
  <testcase classname='c' name = "b &lt;&#38;&#x41;&unknown;"><failure message="m > n"/></testcase>
  <testcase name="d"><error>text <![CDATA[<failure/>]]></error></testcase>
  <testcase name="e"/><skipped/>
  <testcase name="f"><skipped/></testcase>
</testsuite></testsuites>"#;
        let expected =
            [("a", "pass"), ("c b <&A&unknown;", "fail"), ("d", "error"), ("e", "pass"), ("f", "skipped")];
        let expected: Vec<_> =
            expected.iter().map(|(id, status)| ((*id).to_owned(), (*status).to_owned())).collect();
        assert_eq!(cases(report), Ok(expected));
    }

    #[test]
    fn what_is_no_report() {
        assert_eq!(cases("<html></html>"), Err(JunitFault::NoSuite));
        assert_eq!(cases("<testsuite><testcase name=\"a"), Err(JunitFault::Malformed { at: 11 }));
        assert_eq!(cases("<testsuite><testcase name=a/>"), Err(JunitFault::Malformed { at: 11 }));
        assert_eq!(cases("<testsuite><!-- "), Err(JunitFault::Malformed { at: 11 }));
        assert_eq!(cases("<!DOCTYPE x [<!ENTITY a \"b\">]><testsuite/>"), Err(JunitFault::DocumentType));
        assert_eq!(junit_cases(b"\xff"), Err(JunitFault::NotText));
        for odd in ["<", "<>", "< >", "</>", "<a/", "<a b", "<a b=", "<a ='x'>", "&"] {
            assert!(cases(odd).is_err(), "{odd}");
        }
    }
}
