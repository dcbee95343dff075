//! Differences between two values, leaf by leaf, each with its JSON path.
//!
//! Two texts of megabytes may differ in one string, and a reader needs the path of that string. Parts with equal bytes are
//! skipped as bytes; only parts that differ are walked, so that the cost is that of a few scans. Start at [`differences`].

use std::borrow::Cow;
use std::collections::HashMap;

use crate::shown::Shown;
use crate::value::{Value, ValueKind};

/// Bounds on the work and the result of [`differences`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLimits {
    /// Largest number of differences to list.
    pub max_listed: usize,
    /// Number of differing leaves after which the comparison stops.
    pub max_counted: usize,
}

/// One difference: a leaf that has another value, or a part that only one side has.
#[derive(Debug, Clone)]
pub struct Difference<'l, 'r> {
    /// JSON path such as `$.messages[3].content`, safe to print. Indices are counted from the start of the array on both sides.
    pub path: String,
    /// Value on the left; `None` if only the right side has the part.
    pub left: Option<Value<'l>>,
    /// Value on the right; `None` if only the left side has the part.
    pub right: Option<Value<'r>>,
}

/// Result of [`differences`].
#[derive(Debug, Clone, Default)]
pub struct Differences<'l, 'r> {
    /// First differences, up to [`DiffLimits::max_listed`], in the order of the left text; members that only the right
    /// side has come last in their object.
    pub listed: Vec<Difference<'l, 'r>>,
    /// Number of leaves that differ, up to [`DiffLimits::max_counted`]. A part that one side lacks counts all of its leaves.
    pub count: usize,
}

/// Depth below which parts are compared by their text. Each level of a difference costs a scan of the part below it.
const MAX_COMPARED_DEPTH: usize = 64;

/// Length after which a path is cut, in bytes. Longer paths help little, and a hostile text may nest names of any length.
const MAX_PATH_BYTES: usize = 120;

/// Compares two values. Spelling (white space, escapes, the order of members, `1.0` for `1`) makes no difference, except
/// below 64 levels, where texts are compared.
pub fn differences<'l, 'r>(left: Value<'l>, right: Value<'r>, bounds: DiffLimits) -> Differences<'l, 'r> {
    let mut walker = DiffWalker { bounds, path: Vec::new(), differences: Differences::default() };
    walker.compare(left, right);
    walker.differences.count = walker.differences.count.min(bounds.max_counted);
    walker.differences
}

/// Returns the number of leaves of a value: scalars, and empty arrays and objects. Each comma outside of strings adds one.
pub fn leaf_count(value: Value<'_>) -> usize {
    let mut commas = 0;
    let mut bytes = value.text().iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b',' => commas += 1,
            b'"' => {
                while let Some(inside) = bytes.next() {
                    match inside {
                        b'"' => break,
                        // An escaped byte is no end of the string.
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

/// Step of the path to the part that is being compared.
enum DiffPathStep {
    Member(String),
    Element(usize),
}

/// State of a comparison: the path to the current part, and the differences found.
struct DiffWalker<'l, 'r> {
    bounds: DiffLimits,
    path: Vec<DiffPathStep>,
    differences: Differences<'l, 'r>,
}

impl<'l, 'r> DiffWalker<'l, 'r> {
    /// Returns true if the comparison has counted enough leaves.
    fn is_done(&self) -> bool {
        self.differences.count >= self.bounds.max_counted
    }

    fn compare(&mut self, left: Value<'l>, right: Value<'r>) {
        if self.is_done() || left.text() == right.text() {
            return;
        }
        match (left.kind(), right.kind()) {
            (ValueKind::Object, ValueKind::Object) if self.path.len() < MAX_COMPARED_DEPTH => {
                self.compare_objects(left, right)
            }
            (ValueKind::Array, ValueKind::Array) if self.path.len() < MAX_COMPARED_DEPTH => {
                self.compare_arrays(left, right)
            }
            (ValueKind::String, ValueKind::String) if left.string_bytes() == right.string_bytes() => {}
            (ValueKind::Number, ValueKind::Number) if is_same_number(left, right) => {}
            _ => self.add_difference(Some(left), Some(right)),
        }
    }

    /// Compares members in their order as long as both sides have the same names, and by name from there on.
    fn compare_objects(&mut self, left: Value<'l>, right: Value<'r>) {
        let (mut lefts, mut rights) = (left.members(), right.members());
        let (mut a, mut b) = (lefts.next(), rights.next());
        while let (Some((name, value)), Some((other_name, other))) = (a, b)
            && name.string_bytes() == other_name.string_bytes()
        {
            self.compare_member(name, Some(value), Some(other));
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
            self.compare_member(name, Some(value), other.map(|(_, other)| other));
        }
        for bytes in order {
            if let Some((name, value)) = others.remove(&bytes) {
                self.compare_member(name, None, Some(value));
            }
        }
    }

    fn compare_member(&mut self, name: Value<'_>, left: Option<Value<'l>>, right: Option<Value<'r>>) {
        // Nearly all values are equal: those need no name.
        if self.is_done() || left.zip(right).is_some_and(|(left, right)| left.text() == right.text()) {
            return;
        }
        self.path.push(DiffPathStep::Member(name.string().unwrap_or_default().into_owned()));
        self.compare_pair(left, right);
        self.path.pop();
    }

    /// Compares two parts, of which one may be missing.
    fn compare_pair(&mut self, left: Option<Value<'l>>, right: Option<Value<'r>>) {
        match (left, right) {
            (Some(left), Some(right)) => self.compare(left, right),
            (left, right) => self.add_difference(left, right),
        }
    }

    /// Pairs equal elements at both ends, so that an insertion is one difference, and compares those in between in their order.
    /// Elements are counted and scanned again, not collected: there may be millions.
    fn compare_arrays(&mut self, left: Value<'l>, right: Value<'r>) {
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
            self.path.push(DiffPathStep::Element(at));
            self.compare_pair(a, b);
            self.path.pop();
        }
    }

    /// Counts a difference, and lists it if the list is not full.
    fn add_difference(&mut self, left: Option<Value<'l>>, right: Option<Value<'r>>) {
        if self.is_done() {
            return;
        }
        let leaves = left.map_or(0, leaf_count).max(right.map_or(0, leaf_count));
        self.differences.count = self.differences.count.saturating_add(leaves);
        if self.differences.listed.len() < self.bounds.max_listed {
            let path = json_path(&self.path);
            self.differences.listed.push(Difference { path, left, right });
        }
    }
}

/// Returns true if both numbers have the same canonical text. Numbers without one always differ.
fn is_same_number(left: Value<'_>, right: Value<'_>) -> bool {
    let text = left.number_text();
    text.is_some() && text == right.number_text()
}

/// Formats a path, cut if it is long.
fn json_path(steps: &[DiffPathStep]) -> String {
    let is_plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let mut path = String::from("$");
    for step in steps {
        if path.len() > MAX_PATH_BYTES {
            path.push('…');
            break;
        }
        match step {
            DiffPathStep::Element(index) => path.push_str(&format!("[{index}]")),
            DiffPathStep::Member(name) if name.len() <= MAX_PATH_BYTES && is_plain(name) => {
                path.push_str(&format!(".{name}"));
            }
            DiffPathStep::Member(name) => path.push_str(&format!("[\"{}\"]", Shown::new(name))),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use proptest::prelude::*;

    const ALL: DiffLimits = DiffLimits { max_listed: usize::MAX, max_counted: usize::MAX };

    fn value(text: &str) -> Value<'_> {
        Value::parse(text.as_bytes(), &Limits::default()).unwrap()
    }

    /// Returns each difference as `path: left → right`, and the count.
    fn listed_and_count(left: &str, right: &str, bounds: DiffLimits) -> (Vec<String>, usize) {
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
        listed_and_count(left, right, ALL).0
    }

    #[test]
    fn spelling_is_no_difference() {
        for (left, right) in [
            ("{\"a\":1,\"b\":[2,{}]}", "{ \"b\" : [ 2.0, { } ], \"\\u0061\": 1e0 }"),
            ("\"é/\"", "\"\\u00e9\\/\""),
            ("[[],[[null]]]", "[ [ ], [ [ null ] ] ]"),
        ] {
            assert_eq!(listed_and_count(left, right, ALL), (vec![], 0), "{left} {right}");
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
        assert_eq!(listed_and_count("[]", "[{\"a\":[1,2,\"x,y\\\",\"],\"b\":{},\"c\":[]}]", ALL).1, 5);
        assert_eq!(listed_and_count("{\"a\":\"x\"}", "{\"a\":[1,2,3]}", ALL).1, 3);
        assert_eq!(leaf_count(value("\"a,b\\\\\"")), 1);
        assert_eq!(leaf_count(value("{\"a,\":[\"\\\\\",{}],\"b\":0}")), 3);
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
            listed_and_count(left, right, DiffLimits { max_listed: 2, max_counted: 100 }),
            (lines(left, right)[..2].to_vec(), 5)
        );
        assert_eq!(
            listed_and_count(left, right, DiffLimits { max_listed: 9, max_counted: 3 }),
            (lines(left, right)[..3].to_vec(), 3)
        );
        assert_eq!(listed_and_count(left, right, DiffLimits { max_listed: 9, max_counted: 0 }), (vec![], 0));
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

    /// Document as a tree, so that a test can change a known leaf.
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

        /// Changes the leaf with this number and returns its path.
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
            prop_assert_eq!(listed_and_count(&text, &text, ALL), (vec![], 0));
            prop_assert_eq!(listed_and_count(&text, &dense, ALL), (vec![], 0));
            prop_assert_eq!(leaf_count(value(&text)), tree.leaves());
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
