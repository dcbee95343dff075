//! Masks: an empty directory over each directory of sockets, and a null device over each listening socket elsewhere.
//!
//! The new mount namespace is private, so none of these mounts is visible outside. The command cannot unmount a mask: it has no
//! capability here, and in a nested user namespace, the kernel locks the mounts that it inherits.

use super::host_tables::{HostTables, Mount};
use super::trampoline::{SetupContext, SetupFailure};
use crate::command::SetupStep;
use crate::report::{ClosedRoute, OpenRoute};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Directories in which daemons, displays and session managers keep their sockets.
const SOCKET_DIRECTORIES: [&str; 4] = ["/run", "/var/run", "/tmp/.X11-unix", "/tmp/.ICE-unix"];

/// Devices that are masked. With a virtual machine on this one, a program can reach the host's vsock listeners.
const MASKED_DEVICES: [&str; 1] = ["/dev/vhost-vsock"];

/// File systems whose files the kernel fetches over the host's network, on behalf of any program that opens them.
const NETWORK_FILE_SYSTEMS: [&str; 12] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "afs", "9p", "glusterfs", "lustre", "autofs", "coda"];

/// Mounts all masks, and adds each way out to `closed` or `open`. `directory` is the working directory of the command.
pub(super) fn apply(
    tables: &HostTables,
    directory: &Path,
    closed: &mut Vec<ClosedRoute>,
    open: &mut Vec<OpenRoute>,
) -> Result<(), SetupFailure> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).at_step(SetupStep::Masks, "make mounts private")?;

    let runtime = runtime_directory(directory);
    let mut masked: Vec<PathBuf> = Vec::new();
    for mount_point in SOCKET_DIRECTORIES.iter().map(PathBuf::from).chain(runtime.clone()) {
        let Ok(mount_point) = mount_point.canonicalize() else { continue };
        if mount_point.is_dir() && !masked.iter().any(|above| mount_point.starts_with(above)) {
            mount_empty_directory(&mount_point)
                .at_step(SetupStep::Masks, &format!("mask {mount_point:?}"))?;
            masked.push(mount_point);
        }
    }
    // Programs expect their runtime directory to exist; it does, and is empty.
    if let Some(runtime) = runtime {
        let _ = std::fs::create_dir_all(&runtime);
        let _ = std::fs::set_permissions(&runtime, std::fs::Permissions::from_mode(0o700));
    }
    closed.extend(masked.iter().map(|mount_point| ClosedRoute::Masked(mount_point.into())));

    for device in MASKED_DEVICES {
        match mount_null_device(Path::new(device)) {
            Ok(()) => closed.push(ClosedRoute::Masked(device.into())),
            Err(Errno::NOENT) => {}
            Err(_) => open.push(OpenRoute::Socket(device.into())),
        }
    }
    if !tables.is_complete {
        open.push(OpenRoute::UnlistedSockets);
    }
    let elsewhere = |path: &PathBuf| !masked.iter().any(|above| path.starts_with(above));
    let bound = tables.mounts.iter().filter(|mount| is_socket_mount(mount)).map(|mount| &mount.mount_point);
    for socket in tables.sockets.iter().chain(bound).filter(|path| elsewhere(path)) {
        if !socket.is_absolute() {
            open.push(OpenRoute::Socket(socket.into()));
            continue;
        }
        // The kernel's table keeps the paths of sockets that are gone; a file that has replaced one is not masked.
        if std::fs::metadata(socket).is_ok_and(|it| !it.file_type().is_socket()) {
            continue;
        }
        match mount_null_device(socket) {
            Ok(()) => closed.push(ClosedRoute::Socket(socket.into())),
            // A socket that this user cannot reach is out of the command's reach, too; one that is gone needs no mask.
            Err(Errno::NOENT | Errno::ACCESS | Errno::NOTDIR) => {}
            Err(_) => open.push(OpenRoute::Socket(socket.into())),
        }
    }
    let fetched =
        tables.mounts.iter().filter(|mount| is_network_file_system(mount) && elsewhere(&mount.mount_point));
    open.extend(fetched.map(|mount| OpenRoute::NetworkFiles((&mount.mount_point).into())));
    Ok(())
}

/// Returns `$XDG_RUNTIME_DIR`, if it is the user's own directory and contains neither the home nor the working directory.
fn runtime_directory(directory: &Path) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?).canonicalize().ok()?;
    let own =
        std::fs::metadata(&path).ok().filter(|it| it.is_dir())?.uid() == rustix::process::getuid().as_raw();
    let home = std::env::var_os("HOME").is_some_and(|home| Path::new(&home).starts_with(&path));
    (own && !home && !directory.starts_with(&path) && path != Path::new("/tmp")).then_some(path)
}

/// Mounts an empty directory over a directory. Symbolic links at its top are kept: NixOS finds its programs through them, and
/// they lead only to files that are visible anyhow.
pub(super) fn mount_empty_directory(mount_point: &Path) -> io::Result<()> {
    let links: Vec<_> = std::fs::read_dir(mount_point)
        .map(|entries| entries.flatten().collect())
        .unwrap_or_else(|_| Vec::new())
        .into_iter()
        .filter_map(|entry| Some((entry.path(), std::fs::read_link(entry.path()).ok()?)))
        .collect();
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", mount_point, "tmpfs", flags, Some(c"mode=0755,size=64m"))?;
    for (link, target) in links {
        symlink(target, link)?;
    }
    Ok(())
}

/// Mounts a null device over a file, so that connecting to it is refused.
pub(super) fn mount_null_device(path: &Path) -> Result<(), Errno> {
    rustix::mount::mount_bind("/dev/null", path)
}

/// Returns true for a bind mount of a socket. A socket of another network namespace, such as a container daemon's, is not in
/// this namespace's table of sockets; mounted by itself it is in the table of mounts. Only bind mounts of local file systems
/// are looked at: a dead network mount would hang.
fn is_socket_mount(mount: &Mount) -> bool {
    mount.root != Path::new("/")
        && !is_network_file_system(mount)
        && std::fs::symlink_metadata(&mount.mount_point).is_ok_and(|it| it.file_type().is_socket())
}

/// Returns the mounts whose files the kernel fetches over the network.
pub(super) fn network_files(tables: &HostTables) -> impl Iterator<Item = OpenRoute> {
    let fetched = tables.mounts.iter().filter(|mount| is_network_file_system(mount));
    fetched.map(|mount| OpenRoute::NetworkFiles((&mount.mount_point).into()))
}

/// Returns true if the kernel fetches the files of a mount over the network.
fn is_network_file_system(mount: &Mount) -> bool {
    let kind = mount.fs_type.as_str();
    let network =
        NETWORK_FILE_SYSTEMS.contains(&kind) || (kind.starts_with("fuse.") && kind != "fuse.portal");
    network && !mount.mount_point.starts_with("/proc")
}
