//! Credentials of no single vendor: signed tokens, and the values of `Authorization` headers.

use crate::byte_class::{BASE64, BEARER, WORD};
use crate::rule::{SecretRule, ShapeCheck, ShapePart, after, rule, run, shape, text};

pub(super) static RULES: &[SecretRule] = &[
    rule(
        "jwt",
        &[
            // Signed; the signature of `none` is empty.
            shape(
                "eyJ",
                &[run(&WORD, 10, 2048), text("."), run(&WORD, 2, 16384), text("."), run(&WORD, 0, 2048)],
            )
            .check(ShapeCheck::Jwt),
            // Encrypted.
            shape(
                "eyJ",
                &[
                    run(&WORD, 10, 2048),
                    text("."),
                    run(&WORD, 0, 2048),
                    text("."),
                    run(&WORD, 2, 256),
                    text("."),
                    run(&WORD, 2, 16384),
                    text("."),
                    run(&WORD, 2, 256),
                ],
            )
            .check(ShapeCheck::Jwt),
        ],
    ),
    rule(
        "bearer-token",
        &[
            after("Bearer ", &[run(&BEARER, 16, 4096)]).check(ShapeCheck::Random),
            after("bearer ", &[run(&BEARER, 16, 4096)]).check(ShapeCheck::Random),
        ],
    ),
    rule(
        "basic-auth",
        &[
            after("Basic ", &[run(&BASE64, 12, 4096), ShapePart::Padding]).check(ShapeCheck::Basic),
            after("basic ", &[run(&BASE64, 12, 4096), ShapePart::Padding]).check(ShapeCheck::Basic),
            // A registry's credentials in a container tool's configuration.
            after("auth", &[ShapePart::QuotedSign, run(&BASE64, 12, 4096), ShapePart::Padding])
                .check(ShapeCheck::Basic),
            after("_auth=", &[run(&BASE64, 12, 4096), ShapePart::Padding]).check(ShapeCheck::Basic),
        ],
    ),
];
