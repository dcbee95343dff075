//! Environment variables that name a way out: sockets of agents, displays, daemons, editors.

use std::ffi::OsString;

/// Variables that are removed from the environment. The sockets are masked anyhow; a program without the variable falls back or
/// reports it, instead of failing on a dead socket.
const ESCAPE_VARIABLES: &[&str] = &[
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

/// Iterates over the names of the variables that are set.
pub(super) fn escape_variables() -> impl Iterator<Item = OsString> {
    ESCAPE_VARIABLES.iter().filter(|name| std::env::var_os(name).is_some()).map(OsString::from)
}
