//! The vendors' own clients: they see the same answers directly, recorded and replayed.
//!
//! `cargo xtask test clients` installs them and runs these tests. Each scenario is a function of a script in
//! `clients/`, and runs four times: straight to a vendor, recorded, replayed, and replayed with another prompt.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

#[path = "clients/compare.rs"]
mod compare;
#[path = "clients/denied.rs"]
mod denied;
#[path = "clients/installed.rs"]
mod installed;
#[path = "clients/scenario.rs"]
mod scenario;
#[path = "clients/scripted_model.rs"]
mod scripted_model;
#[path = "clients/secret.rs"]
mod secret;
mod support;

use installed::Client;

/// Defines a module with one test for each scenario of a client.
macro_rules! scenarios {
    ($client:ident, $value:expr, [$($scenario:ident),*]) => {
        mod $client {
            const CLIENT: super::Client = $value;

            $(
                #[test]
                #[ignore = "needs the vendors' clients: cargo xtask test clients"]
                fn $scenario() {
                    let name = concat!(stringify!($client), "::", stringify!($scenario));
                    super::scenario::check(&CLIENT, stringify!($scenario), name);
                }
            )*

            #[test]
            #[ignore = "needs the vendors' clients: cargo xtask test clients"]
            fn every_function_of_the_script_is_a_test() {
                let name = concat!(stringify!($client), "::every_function_of_the_script_is_a_test");
                super::scenario::check_list(&CLIENT, &[$(stringify!($scenario)),*], name);
            }
        }
    };
}

scenarios!(
    python_openai,
    super::Client { program: "python", script: "openai_client.py" },
    [plain, stream, parallel, tools, errors, cut, big, unicode, encodings, secrets, asynchronous]
);
scenarios!(
    python_anthropic,
    super::Client { program: "python", script: "anthropic_client.py" },
    [plain, stream, parallel, tools, errors, cut, big, unicode, encodings, secrets, asynchronous]
);
scenarios!(
    node_openai,
    super::Client { program: "node", script: "openai_client.mjs" },
    [plain, stream, parallel, tools, errors, cut, big, unicode, encodings, secrets]
);
scenarios!(
    node_anthropic,
    super::Client { program: "node", script: "anthropic_client.mjs" },
    [plain, stream, parallel, tools, errors, cut, big, unicode, encodings, secrets]
);
scenarios!(
    python_google,
    super::Client { program: "python", script: "google_client.py" },
    [plain, stream, parallel, tools, errors, big, unicode, secrets, asynchronous]
);
scenarios!(
    node_google,
    super::Client { program: "node", script: "google_client.mjs" },
    [plain, stream, parallel, tools, errors, big, unicode, secrets]
);

#[test]
#[ignore = "needs the vendors' clients: cargo xtask test clients"]
fn python_is_denied() {
    denied::check(&Client { program: "python", script: "denied.py" }, "python_is_denied");
}

#[test]
#[ignore = "needs the vendors' clients: cargo xtask test clients"]
fn node_is_denied() {
    denied::check(&Client { program: "node", script: "denied.mjs" }, "node_is_denied");
}
