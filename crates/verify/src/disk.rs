//! Paths to bytes, for commands. The only module here that touches a file system; libraries leave it out.
