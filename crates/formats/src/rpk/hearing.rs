//! A document read and surveyed in one walk: its members stand in order, as the programs of the format write them.
//!
//! Where they do not, the document is still read, and [`survey`](super::survey::survey) walks over it again.

use reenact_json::canonical::Sink;
use reenact_json::canonical::rpk::{Object, Walk};
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Kind, Limits, Scanner, SyntaxError, Value};

use super::survey::{Sums, Whole};
use super::{Head, HmacKey, Item, ReadError, StepView};

/// Reads a document as [`Head::read`] does, and computes everything on the way. `each` is told of every element of `steps` and of
/// a step's recomputed hash. Without sums, all that it was told is to be thrown away: the document is not in order, or a part of
/// it is not as it should be.
pub fn read<'a>(
    text: &'a [u8],
    limits: &Limits,
    key: Option<&HmacKey>,
    each: impl FnMut(usize, Item<'a>, Digest),
) -> Result<(Head<'a>, Option<Sums>), ReadError> {
    let scanner = Scanner::new(text, limits)?.noting_disorder();
    let (mut whole, mut stripped) = (Whole::new(key), Hasher::new());
    let walk = Walk::listening(text, &mut whole, &mut stripped);
    let mut hearing = Hearing { scanner, walk, head: Head::over(text), each };
    hearing.root()?;
    let Hearing { mut scanner, walk, mut head, .. } = hearing;
    scanner.finish()?;
    let (is_void, is_respelled) = (walk.is_void(), walk.is_respelled());
    head.disorder = scanner.into_disorder();
    let sums = (!is_void).then(|| whole.finish(None, is_respelled));
    Ok((head, sums))
}

struct Hearing<'a, 's, F> {
    scanner: Scanner<'a>,
    /// The whole form gets everything that the checksum covers, the stripped form one step after the other.
    walk: Walk<'a, 's, Whole, Hasher>,
    head: Head<'a>,
    each: F,
}

impl<'a, F: FnMut(usize, Item<'a>, Digest)> Hearing<'a, '_, F> {
    fn root(&mut self) -> Result<(), ReadError> {
        let kind = self.scanner.kind()?;
        if kind != Kind::Object {
            // Bad JSON is bad JSON first, whatever it would have been.
            self.scanner.value()?;
            self.scanner.finish()?;
            return Err(ReadError::NotAnObject { found: kind.name() });
        }
        let mut root = self.scanner.enter_object()?;
        let mut written = Object::default();
        let mut is_begun = false;
        while let Some(name) = self.scanner.next_name(&mut root)? {
            if !root.is_in_order() {
                self.walk.give_up();
            }
            let is_payload = name.is_string("payload");
            if !is_payload && !name.is_string("metadata") && !name.is_string("version") {
                let value = self.scanner.value()?;
                self.head.note(name, value);
                continue;
            }
            if !is_begun {
                // In order, a checksum comes before all that it covers.
                self.walk.turn(true, false);
                self.walk.whole().begin(&self.head);
                is_begun = true;
            }
            let kind = self.scanner.kind()?;
            if is_payload && kind == Kind::Object && self.walk.is_void() {
                self.head.read_payload(&mut self.scanner)?;
            } else if is_payload && kind == Kind::Object {
                self.write_name(name, &mut written);
                self.payload()?;
            } else {
                let value = self.member(name, &mut written)?;
                self.head.note(name, value);
            }
        }
        self.walk.whole().put(b"}");
        // Nothing to sum up, or no order.
        if !is_begun || !root.is_in_order() {
            self.walk.give_up();
        }
        Ok(())
    }

    fn write_name(&mut self, name: Value<'a>, written: &mut Object<'a>) {
        let member = self.walk.heard(name, &self.scanner);
        self.walk.write_name(written, &member);
    }

    /// Takes and writes a member as it comes.
    fn member(&mut self, name: Value<'a>, written: &mut Object<'a>) -> Result<Value<'a>, SyntaxError> {
        let member = self.walk.heard(name, &self.scanner);
        self.walk.write_name(written, &member);
        self.walk.hear_member(&member, &mut self.scanner)
    }

    fn payload(&mut self) -> Result<(), SyntaxError> {
        let mut payload = self.scanner.enter_object()?;
        let mut written = self.walk.begin_object();
        while let Some(name) = self.scanner.next_name(&mut payload)? {
            let is_run = name.is_string("run");
            if is_run && self.scanner.kind()? == Kind::Object {
                self.write_name(name, &mut written);
                self.run()?;
                continue;
            }
            let value = self.member(name, &mut written)?;
            if is_run {
                self.head.run = Some(value);
            }
        }
        self.walk.end_object(payload.is_in_order());
        self.head.payload = self.scanner.left(&payload);
        Ok(())
    }

    fn run(&mut self) -> Result<(), SyntaxError> {
        let mut run = self.scanner.enter_object()?;
        let mut written = self.walk.begin_object();
        while let Some(name) = self.scanner.next_name(&mut run)? {
            if name.is_string("steps") && self.scanner.kind()? == Kind::Array {
                self.write_name(name, &mut written);
                self.head.of_run.steps = self.steps()?;
                continue;
            }
            let value = self.member(name, &mut written)?;
            if let Some(slot) = self.head.of_run.slot(name) {
                *slot = Some(value);
            }
        }
        self.walk.end_object(run.is_in_order());
        self.head.run = self.scanner.left(&run);
        Ok(())
    }

    fn steps(&mut self) -> Result<Option<Value<'a>>, SyntaxError> {
        let mut steps = self.scanner.enter_array()?;
        self.walk.put(b"[");
        let mut index = 0;
        while self.scanner.next_element(&mut steps)? {
            if index > 0 {
                self.walk.put(b",");
            }
            let kind = self.scanner.kind()?;
            if self.walk.is_void() || kind != Kind::Object {
                // What is no step is a fault, and faults are told by the other walk.
                self.walk.give_up();
                self.scanner.value()?;
            } else {
                self.step(index)?;
            }
            index += 1;
        }
        self.walk.put(b"]");
        Ok(self.scanner.left_array(&steps))
    }

    fn step(&mut self, index: usize) -> Result<(), SyntaxError> {
        let mut view = StepView::default();
        self.walk.stripped().clear();
        self.walk.turn(true, true);
        let mut step = self.scanner.enter_object()?;
        let mut written = self.walk.begin_object();
        while let Some(name) = self.scanner.next_name(&mut step)? {
            let slot = view.slot(name);
            self.walk.turn(true, slot.as_ref().is_some_and(|(_, is_covered)| *is_covered));
            let value = self.member(name, &mut written)?;
            if let Some((slot, _)) = slot {
                *slot = Some(value);
            }
        }
        self.walk.turn(true, true);
        self.walk.end_object(step.is_in_order());
        if !view.is_complete() {
            self.walk.give_up();
        }
        let digest = self.walk.stripped().finish();
        self.walk.turn(true, false);
        if !self.walk.is_void() {
            (self.each)(index, Item::Step(view), digest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::survey::survey;
    use super::*;
    use proptest::prelude::*;

    /// The sums of one walk if it gave any, those of two, and what each told of the steps.
    type Both = ((Option<Sums>, Vec<Digest>), (Sums, Vec<Digest>));

    fn both(text: &str) -> Both {
        let key = HmacKey::from_text(b"shared").unwrap();
        let (mut heard, mut surveyed) = (Vec::new(), Vec::new());
        let each = |index: usize, _: Item<'_>, digest| {
            assert_eq!(index, heard.len());
            heard.push(digest);
        };
        let (head, sums) = read(text.as_bytes(), &Limits::default(), Some(&key), each).unwrap();
        let expected = survey(&head, Some(&key), |_, _, digest| surveyed.extend(digest));
        ((sums, heard), (expected, surveyed))
    }

    fn document(output: &str) -> String {
        let step = format!(
            r#"{{"hash":"h","id":"a","input":{{"PID":[1],"path":"a//b"}},"metadata":{{}},"output": {output},"timestamp":"2026-01-01T00:00:00Z","type":"t"}}"#
        );
        format!(
            r#"{{"checksum":"sha256:","metadata":{{"tags":["b","a"]}},"payload":{{"a":1,"run":{{"id":"r","steps":[{step}, {step}]}}}},"signature":null,"version":"1.0"}}"#
        )
    }

    #[test]
    fn what_is_not_in_order_is_left_to_the_other_walk() {
        for other in [
            document(r#"{"b":1,"a":2}"#),
            document(r#"[{"c":{"b":1,"a":2}}]"#),
            document("1e999"),
            document("null").replace(r#""a":1,"run""#, r#""z":1,"run""#),
            document("null").replace(r#""metadata":{}"#, r#""metadata":null"#),
            document("null").replace(r#""type":"t""#, r#""type":"t","output2":1"#),
            document("null").replace(r#""version":"1.0""#, r#""version":"1.0","a":1"#),
            r#"{"payload":{"run":{"steps":[7]}}}"#.into(),
            "{}".into(),
        ] {
            assert_eq!(both(&other).0.0, None, "{other}");
        }
    }

    fn value() -> impl Strategy<Value = String> {
        let space = prop::sample::select(vec!["", " ", "\n  "]);
        let scalar = prop::sample::select(vec![
            "1.0",
            "-0",
            "1e2",
            "true",
            "false",
            "null",
            "12345678901234567890",
            r#""a//b/../c""#,
            r#""2026-01-01T02:00:00+02:00""#,
            r#""é\u00e9\u00E9""#,
            r#""a\r\nb\/\u0041""#,
            "\"\u{7f}\"",
            r#""\u007f\u001f\n\t\"\\""#,
            r#""\ud83d\ude00\u4e16\u4e16\u4e16\u4e16\u4e16\u4e16\u4e16\u4e16\u4e16""#,
            r#""a plain string that is longer than any word, and than any block of them\\n\n\n\n\r""#,
        ]);
        let leaf = (space.clone(), scalar).prop_map(|(space, scalar)| format!("{space}{scalar}{space}"));
        leaf.prop_recursive(4, 40, 5, move |inner| {
            let name = prop::sample::select(vec![
                "PID",
                "a",
                "captured_at",
                "duration_ms",
                "file_path",
                "labels",
                "path",
                "tags",
                "timestamp",
                "\u{7f}",
                "é",
                "\\u00ea",
            ]);
            let members = prop::collection::btree_map(name, inner.clone(), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
                (members, space.clone()).prop_map(|(members, space)| {
                    let mut members: Vec<(&str, String)> = members.into_iter().collect();
                    // The order of what they spell.
                    members.sort_by_key(|(name, _)| name.replace("\\u00ea", "ê"));
                    let member = |(name, value): &(&str, String)| format!("\"{name}\"{space}:{value}");
                    format!("{{{space}{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn one_walk_tells_what_two_tell(output in value()) {
            let text = document(&output);
            let ((sums, heard), (expected, surveyed)) = both(&text);
            prop_assert_eq!(sums, Some(expected), "{}", text);
            prop_assert_eq!(heard, surveyed);
        }
    }
}
