//! Credentials that are nobody's own: signed tokens, and what stands in an `Authorization` header.

use crate::class::{BASE64, BEARER, WORD};
use crate::rule::{Check, Piece, Rule, after, rule, run, shape, text};

pub(super) static RULES: &[Rule] = &[
    rule(
        "jwt",
        &[
            // Signed; the signature of `none` is empty.
            shape(
                "eyJ",
                &[run(&WORD, 10, 2048), text("."), run(&WORD, 2, 16384), text("."), run(&WORD, 0, 2048)],
            )
            .check(Check::Jwt),
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
            .check(Check::Jwt),
        ],
    ),
    rule(
        "bearer-token",
        &[
            after("Bearer ", &[run(&BEARER, 16, 4096)]).check(Check::Random),
            after("bearer ", &[run(&BEARER, 16, 4096)]).check(Check::Random),
        ],
    ),
    rule(
        "basic-auth",
        &[
            after("Basic ", &[run(&BASE64, 12, 4096), Piece::Padding]).check(Check::Basic),
            after("basic ", &[run(&BASE64, 12, 4096), Piece::Padding]).check(Check::Basic),
            // A registry's credentials in a container tool's configuration.
            after("\"auth\":\"", &[run(&BASE64, 12, 4096), Piece::Padding]).check(Check::Basic),
            after("\"auth\": \"", &[run(&BASE64, 12, 4096), Piece::Padding]).check(Check::Basic),
            // The same inside a string of JSON.
            after("auth\\\":\\\"", &[run(&BASE64, 12, 4096), Piece::Padding]).check(Check::Basic),
            after("auth\\\": \\\"", &[run(&BASE64, 12, 4096), Piece::Padding]).check(Check::Basic),
            after("_auth=", &[run(&BASE64, 12, 4096), Piece::Padding]).check(Check::Basic),
        ],
    ),
];
