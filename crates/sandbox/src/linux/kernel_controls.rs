//! Files under `/proc` and `/sys` that control the kernel, made read-only for a command that runs as root.
//!
//! Root needs no capability to write `/proc/sys/kernel/core_pattern`, which names a program that the kernel starts outside.

use super::host_tables::Mount;
use super::masks::{mount_empty_directory, mount_null_device};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use std::io;
use std::path::Path;

/// File systems whose files control the kernel, wherever they are mounted.
const KERNEL_CONTROL_FILE_SYSTEMS: [&str; 14] = [
    "sysfs",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "bpf",
    "efivarfs",
    "binfmt_misc",
    "selinuxfs",
    "resctrl",
    "pstore",
    "fusectl",
];

/// Makes the files that control the kernel read-only. A second proc file system, such as a container's view of its host, is
/// covered: it lists the processes outside, too.
pub(super) fn make_read_only(mounts: &[Mount]) -> io::Result<()> {
    let is_other_proc = |mount: &&Mount| mount.fs_type == "proc" && !mount.mount_point.starts_with("/proc");
    for mount in mounts.iter().filter(is_other_proc).filter(|mount| mount.mount_point.is_dir()) {
        mount_empty_directory(&mount.mount_point)?;
    }
    let is_control = |mount: &&Mount| {
        mount.mount_point.starts_with("/sys") || KERNEL_CONTROL_FILE_SYSTEMS.contains(&mount.fs_type.as_str())
    };
    for mount in mounts.iter().filter(is_control) {
        match remount_read_only(&mount.mount_point, &mount.options) {
            // The mount is hidden below another one by now.
            Ok(()) | Err(Errno::NOENT | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let proc = mounts.iter().rev().find(|mount| mount.mount_point == Path::new("/proc"));
    let options = proc.map_or(&[][..], |mount| &mount.options);
    for path in ["/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs"]
        .map(Path::new)
        .into_iter()
        .filter(|it| it.is_dir())
    {
        rustix::mount::mount_bind_recursive(path, path)?;
        remount_read_only(path, options)?;
    }
    let trigger = Path::new("/proc/sysrq-trigger");
    if trigger.exists() { Ok(mount_null_device(trigger)?) } else { Ok(()) }
}

/// Remounts a path read-only. The flags that the mount has already are locked in this namespace and must be given again.
fn remount_read_only(path: &Path, options: &[String]) -> Result<(), Errno> {
    let flag = |option: &String| match option.as_str() {
        "nosuid" => MountFlags::NOSUID,
        "nodev" => MountFlags::NODEV,
        "noexec" => MountFlags::NOEXEC,
        "noatime" => MountFlags::NOATIME,
        "nodiratime" => MountFlags::NODIRATIME,
        "relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    };
    let option_flags = options.iter().map(flag).fold(MountFlags::empty(), |all, one| all | one);
    rustix::mount::mount_remount(path, option_flags | MountFlags::BIND | MountFlags::RDONLY, c"")
}
