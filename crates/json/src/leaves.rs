//! Where two values differ, leaf by leaf.
//!
//! Two texts of megabytes may differ in one string: what helps is the path of that string, not that the texts differ. Parts
//! that are spelled alike are passed over as bytes; only what differs is walked, so that the cost is that of a few scans.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::shown::Shown;
use crate::value::{Kind, Value};

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How many differences to list.
    pub listed: usize,
    /// How many differing leaves to count before giving up.
    pub counted: usize,
}

/// One difference: a leaf that is another, or a part that only one side has.
#[derive(Debug, Clone)]
pub struct Difference<'l, 'r> {
    /// Where, such as `$.messages[3].content`. Safe to print. Behind an insertion it is the place on the left.
    pub path: String,
    /// What stands on the left.
    pub left: Option<Value<'l>>,
    /// What stands on the right.
    pub right: Option<Value<'r>>,
}

/// What two values differ in.
#[derive(Debug, Clone, Default)]
pub struct Differences<'l, 'r> {
    /// The first ones, in the order of the text.
    pub listed: Vec<Difference<'l, 'r>>,
    /// How many leaves differ, up to [`Bounds::counted`]. A part that one side lacks counts all of its leaves.
    pub count: usize,
}

/// Parts that lie deeper are compared by their text. Each level of a difference costs a scan of what is below it.
const DEEPEST: usize = 64;

/// Longer paths say little more, and a hostile text may nest names of any length.
const LONGEST_PATH: usize = 120;

/// Compares two values. Spelling (white space, escapes, the order of members, `1.0` for `1`) makes no difference.
pub fn differences<'l, 'r>(left: Value<'l>, right: Value<'r>, bounds: Bounds) -> Differences<'l, 'r> {
    let mut walk = Walk { bounds, steps: Vec::new(), found: Differences::default() };
    walk.compare(left, right);
    walk.found.count = walk.found.count.min(bounds.counted);
    walk.found
}

/// How many leaves a value has: scalars, and empty arrays and objects. Each comma outside of strings adds one.
pub fn count(value: Value<'_>) -> usize {
    let mut commas = 0;
    let mut bytes = value.text().iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b',' => commas += 1,
            b'"' => {
                while let Some(inside) = bytes.next() {
                    match inside {
                        b'"' => break,
                        // Whatever it escapes is no end of the string.
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    commas + 1
}

enum Step {
    Member(String),
    Element(usize),
}

struct Walk<'l, 'r> {
    bounds: Bounds,
    steps: Vec<Step>,
    found: Differences<'l, 'r>,
}

impl<'l, 'r> Walk<'l, 'r> {
    fn is_done(&self) -> bool {
        self.found.count >= self.bounds.counted
    }

    fn compare(&mut self, left: Value<'l>, right: Value<'r>) {
        if self.is_done() || left.text() == right.text() {
            return;
        }
        match (left.kind(), right.kind()) {
            (Kind::Object, Kind::Object) if self.steps.len() < DEEPEST => self.objects(left, right),
            (Kind::Array, Kind::Array) if self.steps.len() < DEEPEST => self.arrays(left, right),
            (Kind::String, Kind::String) if left.string_bytes() == right.string_bytes() => {}
            (Kind::Number, Kind::Number) if is_same_number(left, right) => {}
            _ => self.add(Some(left), Some(right)),
        }
    }

    /// Members in the same order are compared as they come; from where the names part, by name.
    fn objects(&mut self, left: Value<'l>, right: Value<'r>) {
        let (mut lefts, mut rights) = (left.members(), right.members());
        let (mut a, mut b) = (lefts.next(), rights.next());
        while let (Some((name, value)), Some((other_name, other))) = (a, b)
            && name.string_bytes() == other_name.string_bytes()
        {
            self.member(name, Some(value), Some(other));
            (a, b) = (lefts.next(), rights.next());
        }
        let mut others: HashMap<Cow<'r, [u8]>, (Value<'r>, Value<'r>)> = HashMap::new();
        let mut order = Vec::new();
        for (name, value) in b.into_iter().chain(rights) {
            let Some(bytes) = name.string_bytes() else { continue };
            order.push(bytes.clone());
            others.insert(bytes, (name, value));
        }
        for (name, value) in a.into_iter().chain(lefts) {
            let other = name.string_bytes().and_then(|bytes| others.remove(&*bytes));
            self.member(name, Some(value), other.map(|(_, other)| other));
        }
        for bytes in order {
            if let Some((name, value)) = others.remove(&bytes) {
                self.member(name, None, Some(value));
            }
        }
    }

    fn member(&mut self, name: Value<'_>, left: Option<Value<'l>>, right: Option<Value<'r>>) {
        // Nearly all are alike: those need no name.
        if self.is_done() || left.zip(right).is_some_and(|(left, right)| left.text() == right.text()) {
            return;
        }
        self.steps.push(Step::Member(name.string().unwrap_or_default().into_owned()));
        self.pair(left, right);
        self.steps.pop();
    }

    fn pair(&mut self, left: Option<Value<'l>>, right: Option<Value<'r>>) {
        match (left, right) {
            (Some(left), Some(right)) => self.compare(left, right),
            (left, right) => self.add(left, right),
        }
    }

    /// Elements that are alike at both ends belong together, so that an insertion is one difference; those in between are
    /// compared in their order. Elements are counted and walked again, not kept: there may be millions.
    fn arrays(&mut self, left: Value<'l>, right: Value<'r>) {
        let (lefts, rights) = (left.elements().count(), right.elements().count());
        let alike = |(a, b): (Value<'l>, Value<'r>)| a.text() == b.text();
        let back = if lefts == rights {
            0
        } else {
            let front = left.elements().zip(right.elements()).take_while(|pair| alike(*pair)).count();
            let ends = left
                .elements()
                .skip(lefts.saturating_sub(rights))
                .zip(right.elements().skip(rights.saturating_sub(lefts)));
            let back = ends.map(alike).fold(0, |run, alike| if alike { run + 1 } else { 0 });
            back.min(lefts.min(rights) - front)
        };
        let mut left = left.elements().take(lefts - back);
        let mut right = right.elements().take(rights - back);
        for at in 0.. {
            let (a, b) = (left.next(), right.next());
            if (a.is_none() && b.is_none()) || self.is_done() {
                break;
            }
            self.steps.push(Step::Element(at));
            self.pair(a, b);
            self.steps.pop();
        }
    }

    fn add(&mut self, left: Option<Value<'l>>, right: Option<Value<'r>>) {
        if self.is_done() {
            return;
        }
        let leaves = left.map_or(0, count).max(right.map_or(0, count));
        self.found.count = self.found.count.saturating_add(leaves);
        if self.found.listed.len() < self.bounds.listed {
            let path = path(&self.steps);
            self.found.listed.push(Difference { path, left, right });
        }
    }
}

fn is_same_number(left: Value<'_>, right: Value<'_>) -> bool {
    let text = left.number_text();
    text.is_some() && text == right.number_text()
}

fn path(steps: &[Step]) -> String {
    let is_plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let mut path = String::from("$");
    for step in steps {
        if path.len() > LONGEST_PATH {
            path.push('…');
            break;
        }
        match step {
            Step::Element(index) => path.push_str(&format!("[{index}]")),
            Step::Member(name) if name.len() <= LONGEST_PATH && is_plain(name) => {
                path.push_str(&format!(".{name}"));
            }
            Step::Member(name) => path.push_str(&format!("[\"{}\"]", Shown::new(name))),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use proptest::prelude::*;

    const ALL: Bounds = Bounds { listed: usize::MAX, counted: usize::MAX };

    fn value(text: &str) -> Value<'_> {
        Value::parse(text.as_bytes(), &Limits::default()).unwrap()
    }

    /// Each difference as `path: left → right`, and the count.
    fn found(left: &str, right: &str, bounds: Bounds) -> (Vec<String>, usize) {
        let differences = differences(value(left), value(right), bounds);
        let text = |side: Option<Value<'_>>| {
            side.map_or("-".to_owned(), |side| String::from_utf8(side.text().to_vec()).unwrap())
        };
        let listed = differences.listed.iter();
        let lines =
            listed.map(|found| format!("{}: {} → {}", found.path, text(found.left), text(found.right)));
        (lines.collect(), differences.count)
    }

    fn lines(left: &str, right: &str) -> Vec<String> {
        found(left, right, ALL).0
    }

    #[test]
    fn spelling_is_no_difference() {
        for (left, right) in [
            ("{\"a\":1,\"b\":[2,{}]}", "{ \"b\" : [ 2.0, { } ], \"\\u0061\": 1e0 }"),
            ("\"é/\"", "\"\\u00e9\\/\""),
            ("[[],[[null]]]", "[ [ ], [ [ null ] ] ]"),
        ] {
            assert_eq!(found(left, right, ALL), (vec![], 0), "{left} {right}");
        }
    }

    #[test]
    fn leaves_by_their_paths() {
        assert_eq!(lines("1", "2"), ["$: 1 → 2"]);
        assert_eq!(
            lines("{\"a\":{\"b c\":[1,true]}}", "{\"a\":{\"b c\":[1,false]}}"),
            ["$.a[\"b c\"][1]: true → false"]
        );
        assert_eq!(lines("{\"a\":1,\"b\":2}", "{\"c\":[3,4],\"a\":1}"), ["$.b: 2 → -", "$.c: - → [3,4]"]);
        assert_eq!(lines("{\"a\":[]}", "{\"a\":{}}"), ["$.a: [] → {}"]);
        assert_eq!(lines("{\"\\u001b\":1}", "{\"\\u001b\":2}"), ["$[\"\\u{1b}\"]: 1 → 2"]);
    }

    #[test]
    fn a_part_counts_its_leaves() {
        assert_eq!(found("[]", "[{\"a\":[1,2,\"x,y\\\",\"],\"b\":{},\"c\":[]}]", ALL).1, 5);
        assert_eq!(found("{\"a\":\"x\"}", "{\"a\":[1,2,3]}", ALL).1, 3);
        assert_eq!(count(value("\"a,b\\\\\"")), 1);
        assert_eq!(count(value("{\"a,\":[\"\\\\\",{}],\"b\":0}")), 3);
    }

    #[test]
    fn an_insertion_is_one_difference() {
        assert_eq!(lines("[1,2,3]", "[1,9,2,3]"), ["$[1]: - → 9"]);
        assert_eq!(lines("[1,1,1]", "[1,1]"), ["$[2]: 1 → -"]);
        assert_eq!(lines("[1,2]", "[1,2,{\"a\":0}]"), ["$[2]: - → {\"a\":0}"]);
        assert_eq!(lines("[[1],[2],[3]]", "[[1],[5],[3]]"), ["$[1][0]: 2 → 5"]);
    }

    #[test]
    fn only_so_many_are_listed_and_counted() {
        let (left, right) = ("[1,2,3,4,5]", "[6,7,8,9,0]");
        assert_eq!(
            found(left, right, Bounds { listed: 2, counted: 100 }),
            (lines(left, right)[..2].to_vec(), 5)
        );
        assert_eq!(
            found(left, right, Bounds { listed: 9, counted: 3 }),
            (lines(left, right)[..3].to_vec(), 3)
        );
        assert_eq!(found(left, right, Bounds { listed: 9, counted: 0 }), (vec![], 0));
    }

    #[test]
    fn what_lies_deep_is_compared_by_its_text() {
        let deep = |inside: &str| format!("{}{inside}{}", "[".repeat(400), "]".repeat(400));
        let (a, b) = (deep("1"), deep("2"));
        let found = differences(value(&a), value(&b), ALL);
        assert_eq!((found.listed.len(), found.count), (1, 1));
        assert_eq!(found.listed[0].path, format!("${}…", "[0]".repeat(40)));
        assert_eq!(
            found.listed[0].left.unwrap().text(),
            format!("{}1{}", "[".repeat(336), "]".repeat(336)).as_bytes()
        );
        assert_eq!(differences(value(&a), value(&a), ALL).count, 0);
    }

    #[test]
    fn long_names_make_no_long_paths() {
        let name = "n".repeat(10_000);
        let text = |end: u8| format!("{{\"{name}\":{{\"x\":{end}}}}}");
        let (a, b) = (text(1), text(2));
        let path = differences(value(&a), value(&b), ALL).listed[0].path.clone();
        assert_eq!(path, format!("$[\"{}… (10000 bytes)\"]…", "n".repeat(200)));
    }

    /// A document as data, so that a test can change it at a known place.
    #[derive(Debug, Clone)]
    enum Tree {
        Leaf(String),
        Array(Vec<Tree>),
        Object(Vec<(String, Tree)>),
    }

    impl Tree {
        fn text(&self) -> String {
            match self {
                Self::Leaf(text) => text.clone(),
                Self::Array(items) => {
                    format!("[{}]", items.iter().map(Self::text).collect::<Vec<_>>().join(","))
                }
                Self::Object(members) => {
                    let members = members.iter().map(|(name, value)| format!("\"{name}\": {}", value.text()));
                    format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
                }
            }
        }

        fn leaves(&self) -> usize {
            match self {
                Self::Leaf(_) => 1,
                Self::Array(items) => items.iter().map(Self::leaves).sum::<usize>().max(1),
                Self::Object(members) => {
                    members.iter().map(|(_, value)| value.leaves()).sum::<usize>().max(1)
                }
            }
        }

        /// Changes the leaf with this number; gives its path.
        fn change(&mut self, mut number: usize) -> String {
            match self {
                Self::Array(items) if !items.is_empty() => {
                    for (at, item) in items.iter_mut().enumerate() {
                        if number < item.leaves() {
                            return format!("[{at}]{}", item.change(number));
                        }
                        number -= item.leaves();
                    }
                    unreachable!()
                }
                Self::Object(members) if !members.is_empty() => {
                    for (name, value) in members {
                        if number < value.leaves() {
                            return format!(".{name}{}", value.change(number));
                        }
                        number -= value.leaves();
                    }
                    unreachable!()
                }
                leaf => {
                    *leaf = Self::Leaf("\"changed\"".into());
                    String::new()
                }
            }
        }
    }

    fn tree() -> impl Strategy<Value = Tree> {
        let scalar =
            prop::sample::select(vec!["0", "1.5", "null", "true", "\"\"", "\"a,b\"", "\"\\\"\"", "\"é\""]);
        let leaf = scalar.prop_map(|text| Tree::Leaf(text.into()));
        leaf.prop_recursive(5, 40, 5, |inner| {
            let names = prop::collection::btree_map("[a-e]", inner.clone(), 0..5);
            prop_oneof![
                prop::collection::vec(inner, 0..5).prop_map(Tree::Array),
                names.prop_map(|members| Tree::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn nothing_differs_from_itself(tree in tree()) {
            let text = tree.text();
            let dense = text.replace(": ", ":").replace(", ", ",");
            prop_assert_eq!(found(&text, &text, ALL), (vec![], 0));
            prop_assert_eq!(found(&text, &dense, ALL), (vec![], 0));
            prop_assert_eq!(count(value(&text)), tree.leaves());
        }

        #[test]
        fn one_changed_leaf_is_found_where_it_is(tree in tree(), number in any::<prop::sample::Index>()) {
            let mut changed = tree.clone();
            let path = changed.change(number.index(tree.leaves()));
            let (before, after) = (tree.text(), changed.text());
            for (left, right) in [(&before, &after), (&after, &before)] {
                let found = differences(value(left), value(right), ALL);
                prop_assert_eq!(found.count, 1);
                prop_assert_eq!(&found.listed[0].path, &format!("${path}"));
            }
        }

        #[test]
        fn any_two_are_compared_both_ways(left in tree(), right in tree()) {
            let (left, right) = (left.text(), right.text());
            let there = differences(value(&left), value(&right), ALL);
            let back = differences(value(&right), value(&left), ALL);
            prop_assert_eq!(there.count, back.count);
            prop_assert_eq!(there.listed.len(), back.listed.len());
            prop_assert_eq!(there.count == 0, crate::canonical::to_vec(value(&left), crate::Jcs)
                == crate::canonical::to_vec(value(&right), crate::Jcs));
        }
    }
}
