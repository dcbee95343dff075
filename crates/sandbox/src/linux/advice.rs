//! Advice for a sandbox that the kernel refused, by the settings that usually are the reason.

use crate::command::{SandboxError, SetupStep};
use std::path::Path;

/// Settings below `/proc` that switch user namespaces off, the value that does so, and the advice.
const SETTINGS: [(&str, &str, &str); 3] = [
    (
        "sys/kernel/unprivileged_userns_clone",
        "0",
        "user namespaces are off for users (Debian): sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "sys/user/max_user_namespaces",
        "0",
        "the number of user namespaces is limited to 0: sudo sysctl -w user.max_user_namespaces=15000",
    ),
    (
        "sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts user namespaces (Ubuntu): add an AppArmor profile with `userns,` for this program, or \
         sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
];

/// Returns the advice for an error, one sentence each. `proc` is the path of the proc file system, for tests.
pub(crate) fn for_error(error: &SandboxError, proc: &Path) -> Vec<String> {
    let SandboxError::Refused { step, .. } = error else { return Vec::new() };
    match step {
        // AppArmor allows the namespace itself and refuses actions that need a capability in it.
        SetupStep::Namespaces | SetupStep::Maps | SetupStep::Loopback | SetupStep::Masks => {
            for_namespaces(proc)
        }
        SetupStep::Filter => vec!["the kernel needs CONFIG_SECCOMP_FILTER".into()],
        SetupStep::Listen => {
            vec!["choose another port: one below 1024 needs a right that the sandbox gives up".into()]
        }
        SetupStep::Directory => {
            vec!["start from a directory that is not under /run or $XDG_RUNTIME_DIR".into()]
        }
        _ => Vec::new(),
    }
}

/// Returns the advice for steps that need user namespaces and their capabilities.
fn for_namespaces(proc: &Path) -> Vec<String> {
    let is =
        |file: &str, value: &str| std::fs::read_to_string(proc.join(file)).is_ok_and(|it| it.trim() == value);
    let mut advice: Vec<String> = SETTINGS
        .iter()
        .filter(|(file, value, _)| is(file, value))
        .map(|(_, _, words)| (*words).to_owned())
        .collect();
    if !proc.join("self/ns/user").exists() {
        advice.push("the kernel was built without user namespaces (CONFIG_USER_NS)".into());
    }
    if advice.is_empty() {
        advice.push(
            "in a container, its seccomp profile or its masked /proc refuses this: docker run --security-opt \
             seccomp=unconfined --security-opt systempaths=unconfined, or a profile that allows unshare and mount"
                .into(),
        );
    }
    advice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_refuses_is_named_with_its_way_back() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path();
        for folder in ["sys/kernel", "sys/user", "self/ns"] {
            std::fs::create_dir_all(proc.join(folder)).unwrap();
        }
        std::fs::write(proc.join("self/ns/user"), "").unwrap();
        std::fs::write(proc.join("sys/user/max_user_namespaces"), "0\n").unwrap();
        let error =
            SandboxError::Refused { step: SetupStep::Namespaces, errno: Some(28), detail: String::new() };
        assert_eq!(for_error(&error, proc), [SETTINGS[1].2]);
        std::fs::write(proc.join("sys/user/max_user_namespaces"), "100\n").unwrap();
        assert!(for_error(&error, proc)[0].starts_with("in a container"));
    }
}
