//! Forms in parts (`multipart/form-data`, RFC 7578), as uploads of sound and pictures are sent.
//!
//! Only what every server reads in one way is read: the body begins with its boundary, and each part has one name. Bodies that a lax
//! server might still take are refused here, because an envelope judges what is read. Start reading at `parts`.

use std::borrow::Cow;

/// Part of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormPart<'b> {
    /// Name of the field, without the `[]` that marks a list.
    pub(crate) name: &'b str,
    /// True for an uploaded file.
    pub(crate) is_file: bool,
    /// Bytes of the field.
    pub(crate) value: &'b [u8],
}

/// Largest number of parts in a form.
const MAX_PARTS: usize = 64;
/// Longest name of a field, in bytes.
const MAX_NAME: usize = 64;
/// Longest boundary, in bytes (RFC 2046, section 5.1.1).
const MAX_BOUNDARY: usize = 70;

/// Returns true if a `content-type` announces a form in parts.
pub fn is_multipart(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("multipart/form-data")
}

/// Returns the parts of a form; `None` if servers may read it in different ways.
pub(crate) fn parts<'b>(content_type: &str, body: &'b [u8]) -> Option<Vec<FormPart<'b>>> {
    let boundary = boundary(content_type)?;
    let delimiter = [b"\r\n--", boundary.as_bytes()].concat();
    let mut rest = body.strip_prefix(delimiter.get(2..)?)?;
    let mut parts = Vec::new();
    while let Some(part) = rest.strip_prefix(b"\r\n") {
        // A part that begins with the delimiter has no head.
        let end = memchr::memmem::find(part, &delimiter)?;
        let (part, behind) = (part.get(..end)?, part.get(end + delimiter.len()..)?);
        // Lax servers also take a boundary behind a bare line feed.
        let has_boundary = memchr::memmem::find(part, delimiter.get(2..)?).is_some();
        if has_boundary || parts.len() == MAX_PARTS {
            return None;
        }
        parts.push(form_part(part)?);
        rest = behind;
    }
    matches!(rest, b"--" | b"--\r\n").then_some(parts)
}

/// Returns a body in which the boundary is replaced by a fixed one, if the body is a form in parts: clients make up a new boundary for each
/// form, which says nothing.
pub(crate) fn with_fixed_boundary<'b>(content_type: &str, body: &'b [u8]) -> Cow<'b, [u8]> {
    let Some(boundary) = boundary(content_type).filter(|_| parts(content_type, body).is_some()) else {
        return Cow::Borrowed(body);
    };
    let delimiter = [b"--", boundary.as_bytes()].concat();
    let mut fixed = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = memchr::memmem::find(rest, &delimiter) {
        fixed.extend_from_slice(rest.get(..at).unwrap_or_default());
        fixed.extend_from_slice(b"--boundary");
        rest = rest.get(at + delimiter.len()..).unwrap_or_default();
    }
    fixed.extend_from_slice(rest);
    Cow::Owned(fixed)
}

/// Returns the boundary that a `content-type` names as its only parameter.
fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameter) = content_type.split_once(';')?;
    let (name, value) = parameter.trim().split_once('=')?;
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=?".contains(&byte);
    let is_sound = (1..=MAX_BOUNDARY).contains(&value.len()) && value.bytes().all(is_allowed);
    (is_multipart(kind) && name.eq_ignore_ascii_case("boundary") && is_sound).then_some(value)
}

/// Reads one part: its head, an empty line, and its value.
fn form_part(part: &[u8]) -> Option<FormPart<'_>> {
    let end = memchr::memmem::find(part, b"\r\n\r\n")?;
    let head = core::str::from_utf8(part.get(..end)?).ok()?;
    let mut disposition = None;
    let mut has_type = false;
    for line in head.split("\r\n") {
        let (name, value) = line.split_once(':')?;
        if line.contains(['\r', '\n', '\0']) {
            return None;
        }
        match name.to_ascii_lowercase().as_str() {
            "content-disposition" if disposition.is_none() => disposition = Some(value.trim()),
            "content-type" if !has_type => has_type = true,
            "content-length" => {}
            _ => return None,
        }
    }
    let (name, is_file) = field_name(disposition?)?;
    Some(FormPart { name, is_file, value: part.get(end + 4..)? })
}

/// Reads `form-data; name="…"`, and whether a file name follows.
fn field_name(disposition: &str) -> Option<(&str, bool)> {
    let (name, rest) = disposition.strip_prefix("form-data; name=\"")?.split_once('"')?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name = name.strip_suffix("[]").unwrap_or(name);
    if !(1..=MAX_NAME).contains(&name.len()) || !name.bytes().all(is_plain) {
        return None;
    }
    if rest.is_empty() {
        return Some((name, false));
    }
    is_file_name(rest.strip_prefix("; ")?).then_some((name, true))
}

/// Returns true for one `filename="…"` or `filename*=…` that hides nothing: lax servers see a second name behind a file name that is
/// cut short.
fn is_file_name(parameter: &str) -> bool {
    if let Some(quoted) = parameter.strip_prefix("filename=\"") {
        return quoted.strip_suffix('"').is_some_and(|name| !name.contains(['"', '\\', ';', '=']));
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~'%".contains(&byte);
    parameter.strip_prefix("filename*=").is_some_and(|name| name.bytes().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=b0";

    fn names(content_type: &str, body: &str) -> Option<Vec<(String, bool)>> {
        let parts = parts(content_type, body.as_bytes())?;
        Some(parts.into_iter().map(|part| (part.name.to_owned(), part.is_file)).collect())
    }

    #[test]
    fn fields_and_files() {
        let body = "--b0\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n--b0\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\n\r\n--b0x\u{1}\r\n--b0\r\nContent-Disposition: form-data; name=\"include[]\"\r\n\r\nlogprobs\r\n--b0--\r\n";
        assert_eq!(parts(TYPE, body.as_bytes()), None, "a delimiter with more behind it is read in two ways");
        let body = body.replace("--b0x\u{1}", "--other");
        let read = parts("Multipart/Form-Data; boundary=\"b0\"", body.as_bytes()).unwrap();
        assert_eq!(read[0], FormPart { name: "model", is_file: false, value: b"whisper-1" });
        assert_eq!(read[1], FormPart { name: "file", is_file: true, value: b"\r\n--other" });
        assert_eq!((read[2].name, read.len()), ("include", 3));
    }

    #[test]
    fn names_of_files() {
        for name in ["filename=\"a b (1).wav\"", "filename=\"\"", "filename*=UTF-8''%e2%82%ac.wav"] {
            let body =
                format!("--b0\r\nContent-Disposition: form-data; name=\"file\"; {name}\r\n\r\nx\r\n--b0--");
            assert_eq!(names(TYPE, &body), Some(vec![("file".to_owned(), true)]), "{name}");
        }
    }

    #[test]
    fn forms_that_servers_read_in_different_ways() {
        let one = |head: &str| format!("--b0\r\n{head}\r\n\r\nx\r\n--b0--");
        let plain = "Content-Disposition: form-data; name=\"model\"";
        assert_eq!(names(TYPE, &one(plain)), Some(vec![("model".to_owned(), false)]));
        for content_type in [
            "multipart/form-data",
            "multipart/form-data; boundary=",
            "multipart/form-data; boundary=b0; boundary=b1",
            "multipart/form-data; charset=utf-8; boundary=b0",
            "multipart/mixed; boundary=b0",
            "multipart/form-data; boundary=b 0",
        ] {
            assert_eq!(names(content_type, &one(plain)), None, "{content_type}");
        }
        for body in [
            "".to_owned(),
            "--b0--".to_owned() + "x",
            "preamble\r\n".to_owned() + &one(plain),
            one(plain).replace("\r\n", "\n"),
            one(plain) + "\r\nepilogue",
            one(plain).replace("--b0--", "--b0"),
            one(&format!("{plain}\r\n{plain}")),
            one(&format!("{plain}\r\nContent-Transfer-Encoding: base64")),
            one("Content-Disposition: form-data; name=model"),
            one("Content-Disposition: form-data; name=\"mo\\\"del\""),
            one("Content-Disposition: form-data; name=\"file\"; filename=\"a\"; name=\"model\""),
            one("Content-Disposition: form-data; filename=\"a\"; name=\"file\""),
            one("Content-Disposition: form-data; name=\"\""),
            one("Content-Disposition: form-data; name=\"file\"; filename=\"a\";name=model"),
            one("Content-Disposition: form-data; name=\"file\"; filename=\"a;name=model\""),
            one("Content-Disposition: form-data; name=\"file\"; filename=\"\";name=\"model"),
            one("Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''a;name=model"),
            one("Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''a name=model"),
            one(plain).replace("\r\nx", "\r\nx\n--b0\nContent-Disposition: form-data; name=\"model\"\n\ny"),
            one(plain).replace("\r\nx", "\r\nx--b0"),
            one("Content-Disposition:\r\n form-data; name=\"model\""),
        ] {
            assert_eq!(names(TYPE, &body), None, "{body}");
        }
        let many = one(plain)
            .replace("\r\n--b0--", "\r\n--b0\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n");
        let many = many.clone()
            + &"\r\n--b0\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n".repeat(64)
            + "\r\n--b0--";
        assert_eq!(names(TYPE, &many), None);
    }
}
