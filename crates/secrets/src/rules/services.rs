//! Keys of the services that agents work with: clouds, code, chat, mail, payment.

use crate::byte_class::{
    ALNUM, ANY_BASE64, BASE32, BASE64, BASE64_PADDED, DIGIT, HEX, SLASHED, SNAKE, TILDE, UPPER, URL_BASE64,
    WORD,
};
use crate::rule::{SecretRule, SecretShape, ShapeCheck, ShapePart, after, exactly, rule, run, shape, text};

pub(super) static RULES: &[SecretRule] = &[
    rule(
        "aws-key-id",
        &[
            shape("AKIA", &[exactly(&BASE32, 16)]),
            shape("ASIA", &[exactly(&BASE32, 16)]),
            shape("ABIA", &[exactly(&BASE32, 16)]),
            shape("ACCA", &[exactly(&BASE32, 16)]),
        ],
    ),
    rule(
        "aws-session-token",
        &[
            shape("FwoGZXIvYXdz", &[run(&BASE64, 80, 4096), ShapePart::Padding]),
            shape("FQoGZXIvYXdz", &[run(&BASE64, 80, 4096), ShapePart::Padding]),
            shape("IQoJb3JpZ2luX2Vj", &[run(&BASE64, 80, 4096), ShapePart::Padding]),
        ],
    ),
    rule(
        "azure-shared-key",
        &[
            after("AccountKey=", &[run(&BASE64_PADDED, 80, 96)]),
            after("SharedAccessKey=", &[run(&BASE64_PADDED, 40, 64)]),
            after("SharedAccessSignature=", &[run(&TILDE, 40, 512)]),
        ],
    ),
    rule("aws-key-pair", &AWS_PAIRS),
    rule(
        "url-signature",
        &[
            // Azure's shared access signatures, Amazon's and Google's presigned links, and others.
            after("sig=", &[run(&URL_BASE64, 40, 128)]).check(ShapeCheck::Random),
            after("signature=", &[run(&URL_BASE64, 40, 1024)]).check(ShapeCheck::Random),
            after("Signature=", &[run(&URL_BASE64, 40, 1024)]).check(ShapeCheck::Random),
            after("X-Amz-Signature=", &[exactly(&HEX, 64)]),
            after("X-Goog-Signature=", &[run(&HEX, 64, 1024)]),
        ],
    ),
    rule("azure-client-secret", &[shape("Q~", &[run(&TILDE, 31, 34)]).preceded_by(&TILDE, 4, 4)]),
    rule("azure-devops-token", &[shape("AZDO", &[exactly(&ALNUM, 4)]).preceded_by(&ALNUM, 76, 76)]),
    rule(
        "github-token",
        &[
            shape("ghp_", &[run(&ALNUM, 36, 255)]),
            shape("gho_", &[run(&ALNUM, 36, 255)]),
            shape("ghu_", &[run(&ALNUM, 36, 255)]),
            shape("ghs_", &[run(&ALNUM, 36, 255)]),
            shape("ghr_", &[run(&ALNUM, 36, 255)]),
            shape("github_pat_", &[run(&SNAKE, 60, 255)]).check(ShapeCheck::Mixed),
        ],
    ),
    rule("gitlab-token", &GITLAB),
    rule("slack-token", &SLACK),
    rule(
        "slack-webhook",
        &[after("hooks.slack.com/services/", &[run(&SLASHED, 30, 96)]).check(ShapeCheck::Mixed)],
    ),
    rule(
        "stripe-key",
        &[
            shape("sk_live_", &[run(&ALNUM, 16, 255)]),
            shape("rk_live_", &[run(&ALNUM, 16, 255)]),
            shape("sk_test_", &[run(&ALNUM, 16, 255)]),
            shape("rk_test_", &[run(&ALNUM, 16, 255)]),
            shape("whsec_", &[run(&BASE64_PADDED, 24, 96)]).check(ShapeCheck::Mixed),
        ],
    ),
    rule("npm-token", &[shape("npm_", &[exactly(&ALNUM, 36)])]),
    rule("pypi-token", &[shape("pypi-", &[run(&WORD, 50, 512)]).check(ShapeCheck::Solid)]),
    rule("rubygems-token", &[shape("rubygems_", &[exactly(&HEX, 48)])]),
    rule(
        "docker-token",
        &[shape("dckr_pat_", &[run(&WORD, 24, 48)]), shape("dckr_oat_", &[run(&WORD, 24, 48)])],
    ),
    rule("sendgrid-key", &[shape("SG.", &[exactly(&WORD, 22), text("."), exactly(&WORD, 43)])]),
    rule("twilio-key", &[shape("SK", &[exactly(&HEX, 32)])]),
    rule("mailgun-key", &[shape("key-", &[exactly(&HEX, 32)])]),
    rule("mailchimp-key", &[shape("-us", &[run(&DIGIT, 1, 2)]).preceded_by(&HEX, 32, 32)]),
    rule("resend-key", &[shape("re_", &[exactly(&ALNUM, 8), text("_"), exactly(&ALNUM, 24)])]),
    rule("telegram-token", &[shape(":AA", &[exactly(&WORD, 33)]).preceded_by(&DIGIT, 8, 10)]),
    rule(
        "discord-token",
        &[
            after("discord.com/api/webhooks/", &[run(&DIGIT, 17, 20), text("/"), run(&WORD, 60, 80)]),
            after("discordapp.com/api/webhooks/", &[run(&DIGIT, 17, 20), text("/"), run(&WORD, 60, 80)]),
            shape("MTA", &[run(&WORD, 20, 25), text("."), exactly(&WORD, 6), text("."), run(&WORD, 27, 38)]),
            shape("MTE", &[run(&WORD, 20, 25), text("."), exactly(&WORD, 6), text("."), run(&WORD, 27, 38)]),
            shape("MTI", &[run(&WORD, 20, 25), text("."), exactly(&WORD, 6), text("."), run(&WORD, 27, 38)]),
            shape("MTM", &[run(&WORD, 20, 25), text("."), exactly(&WORD, 6), text("."), run(&WORD, 27, 38)]),
            shape("MTQ", &[run(&WORD, 20, 25), text("."), exactly(&WORD, 6), text("."), run(&WORD, 27, 38)]),
            shape("MTU", &[run(&WORD, 20, 25), text("."), exactly(&WORD, 6), text("."), run(&WORD, 27, 38)]),
            after("Bot ", &[run(&WORD, 24, 28), text("."), exactly(&WORD, 6), text("."), run(&WORD, 27, 38)]),
        ],
    ),
    rule(
        "digitalocean-token",
        &[
            shape("dop_v1_", &[exactly(&HEX, 64)]),
            shape("doo_v1_", &[exactly(&HEX, 64)]),
            shape("dor_v1_", &[exactly(&HEX, 64)]),
        ],
    ),
    rule(
        "databricks-token",
        &[
            shape("dapi", &[exactly(&HEX, 32)]),
            shape("dapi", &[exactly(&HEX, 32), text("-"), exactly(&DIGIT, 1)]),
        ],
    ),
    rule(
        "linear-key",
        &[shape("lin_api_", &[run(&ALNUM, 32, 48)]), shape("lin_oauth_", &[run(&ALNUM, 32, 80)])],
    ),
    rule("notion-token", &[shape("ntn_", &[run(&ALNUM, 40, 50)]), shape("secret_", &[exactly(&ALNUM, 43)])]),
    rule("airtable-token", &[shape("pat", &[exactly(&ALNUM, 14), text("."), exactly(&HEX, 64)])]),
    rule("figma-token", &[shape("figd_", &[run(&WORD, 36, 64)]).check(ShapeCheck::Mixed)]),
    rule(
        "atlassian-token",
        &[
            shape("ATATT3", &[run(&WORD, 150, 255)]),
            shape("ATATT3", &[run(&WORD, 150, 255), text("="), exactly(&UPPER, 8)]),
            shape("ATBB", &[exactly(&ALNUM, 32)]),
        ],
    ),
    rule(
        "sentry-token",
        &[
            shape("sntryu_", &[exactly(&HEX, 64)]),
            shape("sntrys_", &[run(&BASE64_PADDED, 60, 512)]).check(ShapeCheck::Mixed),
        ],
    ),
    rule("grafana-token", &[shape("glsa_", &[exactly(&ALNUM, 32), text("_"), exactly(&HEX, 8)])]),
    rule("newrelic-key", &[shape("NRAK-", &[exactly(&UPPER, 27)])]),
    rule("heroku-key", &[shape("HRKU-AA", &[exactly(&WORD, 58)])]),
    rule("doppler-token", &[shape("dp.pt.", &[run(&ALNUM, 40, 48)])]),
    rule(
        "vault-token",
        &[
            shape("hvs.", &[run(&WORD, 24, 255)]).check(ShapeCheck::Mixed),
            shape("hvb.", &[run(&WORD, 90, 512)]),
        ],
    ),
    rule("terraform-token", &[shape(".atlasv1.", &[run(&WORD, 60, 80)]).preceded_by(&ALNUM, 14, 14)]),
    rule(
        "shopify-token",
        &[
            shape("shpat_", &[exactly(&HEX, 32)]),
            shape("shpca_", &[exactly(&HEX, 32)]),
            shape("shppa_", &[exactly(&HEX, 32)]),
            shape("shpss_", &[exactly(&HEX, 32)]),
        ],
    ),
    rule(
        "square-token",
        &[
            shape("sq0atp-", &[exactly(&WORD, 22)]),
            shape("sq0csp-", &[exactly(&WORD, 43)]),
            // Fonts in Base64 hold these letters, too: nothing of Base64 may stand beside.
            shape("EAAA", &[exactly(&ANY_BASE64, 60)]).check(ShapeCheck::Solid),
        ],
    ),
    rule(
        "vercel-token",
        &[
            shape("vcp_", &[run(&ALNUM, 24, 80)]).check(ShapeCheck::Solid),
            shape("vci_", &[run(&ALNUM, 24, 80)]).check(ShapeCheck::Solid),
            shape("vca_", &[run(&ALNUM, 24, 80)]).check(ShapeCheck::Solid),
            shape("vcr_", &[run(&ALNUM, 24, 80)]).check(ShapeCheck::Solid),
            shape("vck_", &[run(&ALNUM, 24, 80)]).check(ShapeCheck::Solid),
        ],
    ),
    rule(
        "planetscale-token",
        &[shape("pscale_tkn_", &[run(&WORD, 32, 64)]), shape("pscale_pw_", &[run(&WORD, 32, 64)])],
    ),
    rule(
        "supabase-key",
        &[
            shape("sbp_", &[exactly(&HEX, 40)]),
            shape("sb_secret_", &[run(&WORD, 24, 64)]).check(ShapeCheck::Mixed),
        ],
    ),
    rule("postman-key", &[shape("PMAK-", &[exactly(&HEX, 24), text("-"), exactly(&HEX, 34)])]),
    rule("pulumi-token", &[shape("pul-", &[exactly(&HEX, 40)])]),
    rule("tailscale-key", &[shape("tskey-", &[run(&WORD, 20, 80)]).check(ShapeCheck::Mixed)]),
    rule("dynatrace-token", &[shape("dt0c01.", &[exactly(&UPPER, 24), text("."), exactly(&UPPER, 64)])]),
    rule("age-key", &[shape("AGE-SECRET-KEY-1", &[exactly(&UPPER, 58)])]),
];

/// Ids with their secrets, as files of credentials, logs and commands put them side by side.
static AWS_PAIRS: [SecretShape; 8] = [
    shape("AKIA", &[exactly(&BASE32, 16), text(":"), exactly(&BASE64, 40)]).check(ShapeCheck::Mixed),
    shape("AKIA", &[exactly(&BASE32, 16), text(","), exactly(&BASE64, 40)]).check(ShapeCheck::Mixed),
    shape("AKIA", &[exactly(&BASE32, 16), text(" "), exactly(&BASE64, 40)]).check(ShapeCheck::Mixed),
    shape("AKIA", &[exactly(&BASE32, 16), text("\n"), exactly(&BASE64, 40)]).check(ShapeCheck::Mixed),
    shape("ASIA", &[exactly(&BASE32, 16), text(":"), exactly(&BASE64, 40)]).check(ShapeCheck::Mixed),
    shape("ASIA", &[exactly(&BASE32, 16), text(","), exactly(&BASE64, 40)]).check(ShapeCheck::Mixed),
    shape("ASIA", &[exactly(&BASE32, 16), text(" "), exactly(&BASE64, 40)]).check(ShapeCheck::Mixed),
    shape("ASIA", &[exactly(&BASE32, 16), text("\n"), exactly(&BASE64, 40)]).check(ShapeCheck::Mixed),
];

/// Personal, deploy, runner, build, trigger, feed, mail, agent and application tokens; some newer
/// ones have three parts.
static GITLAB: [SecretShape; 12] = [
    shape("glpat-", &[run(&WORD, 20, 300)]).check(ShapeCheck::Mixed),
    shape("gldt-", &[run(&WORD, 20, 300)]).check(ShapeCheck::Mixed),
    shape("glrt-", &[run(&WORD, 20, 300)]).check(ShapeCheck::Mixed),
    shape("glcbt-", &[run(&WORD, 20, 300)]).check(ShapeCheck::Mixed),
    shape("glptt-", &[run(&WORD, 20, 300)]).check(ShapeCheck::Mixed),
    shape("glft-", &[run(&WORD, 20, 300)]).check(ShapeCheck::Mixed),
    shape("glimt-", &[run(&WORD, 20, 300)]).check(ShapeCheck::Mixed),
    shape("glagent-", &[run(&WORD, 20, 300)]).check(ShapeCheck::Mixed),
    shape("gloas-", &[run(&WORD, 20, 300)]).check(ShapeCheck::Mixed),
    shape("glsoat-", &[run(&WORD, 20, 300)]).check(ShapeCheck::Mixed),
    shape("glpat-", &[run(&WORD, 20, 300), text("."), run(&WORD, 2, 2), text("."), run(&WORD, 7, 9)]),
    shape("glrt-", &[run(&WORD, 20, 300), text("."), run(&WORD, 2, 2), text("."), run(&WORD, 7, 9)]),
];

/// Tokens of bots, users and workspaces, refresh and configuration tokens, tokens of apps.
static SLACK: [SecretShape; 8] = [
    shape("xoxb-", &[run(&WORD, 20, 255)]).check(ShapeCheck::Mixed),
    shape("xoxp-", &[run(&WORD, 20, 255)]).check(ShapeCheck::Mixed),
    shape("xoxa-", &[run(&WORD, 20, 255)]).check(ShapeCheck::Mixed),
    shape("xoxr-", &[run(&WORD, 20, 255)]).check(ShapeCheck::Mixed),
    shape("xoxs-", &[run(&WORD, 20, 255)]).check(ShapeCheck::Mixed),
    shape("xoxe-", &[run(&WORD, 20, 255)]).check(ShapeCheck::Mixed),
    shape("xoxe.xoxp-", &[run(&WORD, 20, 255)]).check(ShapeCheck::Mixed),
    shape("xapp-", &[run(&WORD, 20, 255)]).check(ShapeCheck::Mixed),
];
