//! Pinned approvers: who may approve what.

use reenact_formats::key::KeyId;
use reenact_formats::rer::envelope::approvers::{
    ApproverPin, ApproverPinFault, PinnedApprovers, pinned_keys, unpinned_rules,
};
use reenact_formats::rer::envelope::permission::Envelope;
use reenact_formats::rer::envelope::policy::Action::{Model, Tool};
use reenact_formats::rer::seal::Signer;
use reenact_testkit::fixture::TestKey;

use crate::{UNLIMITED, json, rule};

fn id(seed: u8) -> KeyId {
    TestKey::of(seed).public_key().id()
}

fn pin(action: &str, tool: Option<&str>, model: Option<&str>, keys: &[u8]) -> ApproverPin {
    ApproverPin {
        action: action.into(),
        tool_pattern: tool.map(Into::into),
        model_pattern: model.map(Into::into),
        keys: keys.iter().map(|seed| id(*seed)).collect(),
    }
}

#[test]
fn read_or_refused() {
    let read = |list: &str| ApproverPin::read_all(json(&format!(r#"{{"metadata":{{"approvers":{list}}}}}"#)));
    let (alice, bob) = (id(3), id(4));
    assert_eq!(
        read(&format!(r#"[{{"action":"tool.call","keys":["{alice}","{bob}"],"tool_pattern":"pay_*"}}]"#)),
        Ok(Some(vec![pin("tool.call", Some("pay_*"), None, &[3, 4])]))
    );
    assert_eq!(read("[]"), Ok(Some(vec![])));
    for nothing in ["{}", r#"{"metadata":{}}"#] {
        assert_eq!(ApproverPin::read_all(json(nothing)), Ok(None));
        assert_eq!(PinnedApprovers::read(json(nothing)), PinnedApprovers::Absent);
    }
    for (list, path, wanted) in [
        ("{}".to_owned(), "", "must be a list"),
        ("[1]".to_owned(), "[0]", "must be an object with action and keys"),
        (r#"[{"keys":[]}]"#.to_owned(), "[0].action", "is missing"),
        (r#"[{"action":"tool.call"}]"#.to_owned(), "[0].keys", "must be a list of key ids"),
        (
            r#"[{"action":"tool.call","keys":["alice"]}]"#.to_owned(),
            "[0].keys[0]",
            "must be the id of an approver's key",
        ),
        (r#"[{"action":7,"keys":[]}]"#.to_owned(), "[0].action", "must be a string"),
        (r#"[{"action":"x","keys":[],"tool":"a"}]"#.to_owned(), "[0].tool", "there is no such member"),
    ] {
        let fault = ApproverPinFault { path: path.into(), wanted };
        assert_eq!(read(&list), Err(fault.clone()), "{list}");
        let text = format!(r#"{{"metadata":{{"approvers":{list}}}}}"#);
        let pinned = PinnedApprovers::read(json(&text));
        assert_eq!((pinned.entries(), &pinned), (&[][..], &PinnedApprovers::Unreadable(fault)));
    }
}

#[test]
fn the_keys_of_every_entry_that_covers_a_call() {
    let approvers = vec![
        pin("tool.call", Some("pay_*"), None, &[3]),
        pin("tool.call", None, Some("m"), &[4]),
        pin("model.call", Some("pay_*"), Some("m"), &[5]),
    ];
    let envelope = Envelope { approvers: PinnedApprovers::Listed(approvers), ..UNLIMITED };
    assert_eq!(pinned_keys(&envelope, Tool, "pay_x"), [id(3), id(4)].into());
    assert_eq!(pinned_keys(&envelope, Tool, "look"), [id(4)].into());
    assert_eq!(pinned_keys(&envelope, Model, "m"), [id(5)].into());
    assert_eq!(pinned_keys(&envelope, Model, "pay_x"), [].into());
}

#[test]
fn rules_without_an_approver() {
    let required_approvals = vec![
        rule("tool.call", Some("pay_*"), None),
        rule("tool.call", None, None),
        rule("model.call", None, Some("gpt-?")),
    ];
    let unpinned = |approvers: Vec<ApproverPin>| {
        let approvers = PinnedApprovers::Listed(approvers);
        unpinned_rules(&Envelope { required_approvals: required_approvals.clone(), approvers, ..UNLIMITED })
    };
    assert_eq!(unpinned(vec![]), [0, 1, 2]);
    assert_eq!(unpinned(vec![pin("tool.call", None, None, &[3])]), [2]);
    assert_eq!(unpinned(vec![pin("tool.call", None, None, &[])]), [0, 1, 2]);
    assert_eq!(unpinned(vec![pin("tool.call", Some("pay_*"), None, &[3])]), [1, 2]);
    assert_eq!(unpinned(vec![pin("tool.call", Some("pay_a"), None, &[3])]), [0, 1, 2]);
    // The pattern for the other kind of action says nothing.
    assert_eq!(unpinned(vec![pin("model.call", Some("x"), Some("gpt-*"), &[3])]), [0, 1]);
}
