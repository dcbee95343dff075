//! Masks: an empty directory over places of sockets, a null device over each socket that is listened on elsewhere.
//!
//! The new mount namespace is private, so nothing of this is seen outside. The command cannot take a mask off: it has no
//! capability here, and in a user namespace nested below, the kernel locks the mounts that it inherits.

use super::inner::{During, Failure};
use super::tables::{Mount, Outside};
use crate::enforcement::{Closed, Open};
use crate::plan::Step;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Where daemons, displays and session managers keep their sockets.
const DIRECTORIES: [&str; 4] = ["/run", "/var/run", "/tmp/.X11-unix", "/tmp/.ICE-unix"];

/// With this device and a virtual machine of its own, a program can reach the host's vsock listeners.
const DEVICES: [&str; 1] = ["/dev/vhost-vsock"];

/// The kernel fetches these over the host's network on behalf of whoever opens a file.
const NETWORK_FILES: [&str; 12] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "afs", "9p", "glusterfs", "lustre", "autofs", "coda"];

/// File systems whose files are switches of the kernel, wherever they are mounted.
const CONTROLS: [&str; 9] =
    ["sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "configfs", "bpf", "efivarfs"];

pub(super) fn put_on(
    outside: &Outside,
    directory: &Path,
    closed: &mut Vec<Closed>,
    open: &mut Vec<Open>,
) -> Result<(), Failure> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).during(Step::Masks, "make mounts private")?;

    let runtime = runtime_directory(directory);
    let mut masked: Vec<PathBuf> = Vec::new();
    for place in DIRECTORIES.iter().map(PathBuf::from).chain(runtime.clone()) {
        let Ok(place) = place.canonicalize() else { continue };
        if place.is_dir() && !masked.iter().any(|above| place.starts_with(above)) {
            empty(&place).during(Step::Masks, &format!("mask {place:?}"))?;
            masked.push(place);
        }
    }
    // Programs expect their runtime directory to be there; it is, and empty.
    if let Some(runtime) = runtime {
        let _ = std::fs::create_dir_all(&runtime);
        let _ = std::fs::set_permissions(&runtime, std::fs::Permissions::from_mode(0o700));
    }
    closed.extend(masked.iter().map(|place| Closed::Masked(place.into())));

    for device in DEVICES {
        match cover(Path::new(device)) {
            Ok(()) => closed.push(Closed::Masked(device.into())),
            Err(Errno::NOENT) => {}
            Err(_) => open.push(Open::Socket(device.into())),
        }
    }
    if !outside.is_complete {
        open.push(Open::UnlistedSockets);
    }
    let elsewhere = |path: &PathBuf| !masked.iter().any(|above| path.starts_with(above));
    let bound = outside.mounts.iter().filter(|mount| is_socket_mount(mount)).map(|mount| &mount.at);
    for socket in outside.sockets.iter().chain(bound).filter(|path| elsewhere(path)) {
        if !socket.is_absolute() {
            open.push(Open::Socket(socket.into()));
            continue;
        }
        // The table keeps names of sockets that are gone; what has taken their place is not ours to hide.
        if std::fs::metadata(socket).is_ok_and(|it| !it.file_type().is_socket()) {
            continue;
        }
        match cover(socket) {
            Ok(()) => closed.push(Closed::Socket(socket.into())),
            // What this user cannot reach, the command cannot either; what is gone is gone.
            Err(Errno::NOENT | Errno::ACCESS | Errno::NOTDIR) => {}
            Err(_) => open.push(Open::Socket(socket.into())),
        }
    }
    let fetched = outside.mounts.iter().filter(|mount| is_network(mount) && elsewhere(&mount.at));
    open.extend(fetched.map(|mount| Open::NetworkFiles((&mount.at).into())));

    if rustix::process::getuid().is_root() {
        match freeze_kernel_controls(&outside.mounts) {
            Ok(()) => closed.push(Closed::KernelControls),
            Err(_) => open.push(Open::KernelControls),
        }
    }
    Ok(())
}

/// `$XDG_RUNTIME_DIR`, if it is the user's own directory and not a place that the command works in.
fn runtime_directory(directory: &Path) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?).canonicalize().ok()?;
    let own =
        std::fs::metadata(&path).ok().filter(|it| it.is_dir())?.uid() == rustix::process::getuid().as_raw();
    let home = std::env::var_os("HOME").is_some_and(|home| Path::new(&home).starts_with(&path));
    (own && !home && !directory.starts_with(&path) && path != Path::new("/tmp")).then_some(path)
}

/// An empty directory in its place. Links at its top are kept: NixOS finds its programs through them, and they lead only to
/// what is visible anyway.
fn empty(place: &Path) -> io::Result<()> {
    let links: Vec<_> = std::fs::read_dir(place)
        .map(|entries| entries.flatten().collect())
        .unwrap_or_else(|_| Vec::new())
        .into_iter()
        .filter_map(|entry| Some((entry.path(), std::fs::read_link(entry.path()).ok()?)))
        .collect();
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", place, "tmpfs", flags, Some(c"mode=0755,size=64m"))?;
    for (link, target) in links {
        symlink(target, link)?;
    }
    Ok(())
}

/// A null device over a file: connecting to it is refused.
fn cover(path: &Path) -> Result<(), Errno> {
    rustix::mount::mount_bind("/dev/null", path)
}

/// A socket of another network namespace, such as a container daemon's, is not in our table of sockets; mounted by itself it
/// is in the table of mounts. Only bind mounts of local kinds are looked at: a dead network mount would hang.
fn is_socket_mount(mount: &Mount) -> bool {
    mount.root != Path::new("/")
        && !is_network(mount)
        && std::fs::symlink_metadata(&mount.at).is_ok_and(|it| it.file_type().is_socket())
}

fn is_network(mount: &Mount) -> bool {
    let kind = mount.kind.as_str();
    let network = NETWORK_FILES.contains(&kind) || (kind.starts_with("fuse.") && kind != "fuse.portal");
    network && !mount.at.starts_with("/proc")
}

/// Root needs no capability to write `/proc/sys/kernel/core_pattern`, which names a program that the kernel starts outside.
fn freeze_kernel_controls(mounts: &[Mount]) -> Result<(), Errno> {
    let is_control = |mount: &&Mount| mount.at.starts_with("/sys") || CONTROLS.contains(&mount.kind.as_str());
    for mount in mounts.iter().filter(is_control) {
        match read_only(&mount.at, &mount.options) {
            // Below another mount by now.
            Ok(()) | Err(Errno::NOENT | Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    let proc = mounts.iter().rev().find(|mount| mount.at == Path::new("/proc"));
    let options = proc.map_or(&[][..], |mount| &mount.options);
    for path in ["/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs"]
        .map(Path::new)
        .into_iter()
        .filter(|it| it.is_dir())
    {
        rustix::mount::mount_bind_recursive(path, path)?;
        read_only(path, options)?;
    }
    let trigger = Path::new("/proc/sysrq-trigger");
    if trigger.exists() { cover(trigger) } else { Ok(()) }
}

/// Flags that the mount has already are locked in this namespace and must be said again.
fn read_only(path: &Path, options: &[String]) -> Result<(), Errno> {
    let flag = |option: &String| match option.as_str() {
        "nosuid" => MountFlags::NOSUID,
        "nodev" => MountFlags::NODEV,
        "noexec" => MountFlags::NOEXEC,
        "noatime" => MountFlags::NOATIME,
        "nodiratime" => MountFlags::NODIRATIME,
        "relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    };
    let kept = options.iter().map(flag).fold(MountFlags::empty(), |all, one| all | one);
    rustix::mount::mount_remount(path, kept | MountFlags::BIND | MountFlags::RDONLY, c"")
}
