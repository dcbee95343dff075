//! Variables that name a way out: sockets of agents, displays, daemons, editors.

use std::ffi::OsString;

/// Names, not values: a program that finds none of these falls back or says so, instead of failing on a dead socket.
const WAYS_OUT: &[&str] = &[
    // Keys and secrets.
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "GNOME_KEYRING_CONTROL",
    // Buses and supervisors.
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DBUS_STARTER_ADDRESS",
    "AT_SPI_BUS_ADDRESS",
    "SESSION_MANAGER",
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    // Containers.
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "CONTAINER_HOST",
    "BUILDKIT_HOST",
    "CONTAINERD_ADDRESS",
    // Displays and sound.
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "WAYLAND_SOCKET",
    "SWAYSOCK",
    "I3SOCK",
    "HYPRLAND_INSTANCE_SIGNATURE",
    "PULSE_SERVER",
    "PIPEWIRE_REMOTE",
    // Terminals and editors that take commands.
    "TMUX",
    "STY",
    "KITTY_LISTEN_ON",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "VSCODE_IPC_HOOK",
    "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE",
];

/// Those that are set.
pub(super) fn ways_out() -> impl Iterator<Item = OsString> {
    WAYS_OUT.iter().filter(|name| std::env::var_os(name).is_some()).map(OsString::from)
}
