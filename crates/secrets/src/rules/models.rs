//! Keys of model vendors, and of services that agents use beside them.

use crate::byte_class::{ALNUM, BASE64, HEX, WORD};
use crate::rule::{SecretRule, ShapeCheck, ShapePart, exactly, rule, run, shape, text};

pub(super) static RULES: &[SecretRule] = &[
    rule("anthropic-key", &[shape("sk-ant-", &[run(&WORD, 20, 256)]).check(ShapeCheck::Mixed)]),
    rule("openrouter-key", &[shape("sk-or-", &[run(&WORD, 32, 96)]).check(ShapeCheck::Solid)]),
    rule(
        "langfuse-key",
        &[
            shape("sk-lf-", &[exactly(&WORD, 36)]).check(ShapeCheck::Mixed),
            shape("pk-lf-", &[exactly(&WORD, 36)]).check(ShapeCheck::Mixed),
        ],
    ),
    rule(
        "openai-key",
        &[
            shape("sk-proj-", &[run(&WORD, 20, 256)]).check(ShapeCheck::Mixed),
            shape("sk-svcacct-", &[run(&WORD, 20, 256)]).check(ShapeCheck::Mixed),
            shape("sk-admin-", &[run(&WORD, 20, 256)]).check(ShapeCheck::Mixed),
            // Also the form of many vendors that speak OpenAI's protocol.
            shape("sk-", &[run(&WORD, 20, 256)]).check(ShapeCheck::Solid),
        ],
    ),
    rule(
        "google-key",
        &[
            shape("AIza", &[exactly(&WORD, 35)]),
            shape("AQ.Ab", &[run(&WORD, 30, 96)]).check(ShapeCheck::Mixed),
        ],
    ),
    rule("google-oauth-token", &[shape("ya29.", &[run(&WORD, 20, 2048)]).check(ShapeCheck::Mixed)]),
    rule("google-client-secret", &[shape("GOCSPX-", &[exactly(&WORD, 28)])]),
    rule(
        "azure-key",
        &[
            // Cognitive services and OpenAI: 84 letters and digits, signed in the middle.
            shape("JQQJ99", &[exactly(&ALNUM, 26)]).preceded_by(&ALNUM, 52, 52),
        ],
    ),
    rule(
        "aws-bedrock-key",
        &[
            shape("ABSK", &[run(&BASE64, 100, 280), ShapePart::Padding]).check(ShapeCheck::Mixed),
            shape("bedrock-api-key-", &[run(&BASE64, 40, 4096), ShapePart::Padding]).check(ShapeCheck::Mixed),
        ],
    ),
    rule(
        "huggingface-token",
        &[shape("hf_", &[run(&ALNUM, 30, 48)]), shape("api_org_", &[run(&ALNUM, 30, 48)])],
    ),
    rule("groq-key", &[shape("gsk_", &[run(&ALNUM, 40, 80)])]),
    rule("xai-key", &[shape("xai-", &[run(&ALNUM, 60, 120)])]),
    rule("replicate-token", &[shape("r8_", &[run(&WORD, 36, 42)]).check(ShapeCheck::Mixed)]),
    rule("perplexity-key", &[shape("pplx-", &[run(&ALNUM, 40, 64)])]),
    rule("together-key", &[shape("tgp_v1_", &[run(&WORD, 40, 64)])]),
    rule("fireworks-key", &[shape("fw_", &[run(&ALNUM, 22, 48)]).check(ShapeCheck::Random)]),
    rule("cerebras-key", &[shape("csk-", &[run(&ALNUM, 40, 64)])]),
    rule("nvidia-key", &[shape("nvapi-", &[run(&WORD, 60, 80)])]),
    rule("voyage-key", &[shape("pa-", &[run(&WORD, 40, 48)]).check(ShapeCheck::Random)]),
    rule("jina-key", &[shape("jina_", &[run(&WORD, 52, 80)])]),
    rule("elevenlabs-key", &[shape("sk_", &[exactly(&HEX, 48)])]),
    rule("tavily-key", &[shape("tvly-", &[run(&WORD, 20, 64)]).check(ShapeCheck::Mixed)]),
    rule("firecrawl-key", &[shape("fc-", &[exactly(&HEX, 32)])]),
    rule("pinecone-key", &[shape("pcsk_", &[run(&WORD, 50, 96)]).check(ShapeCheck::Mixed)]),
    rule("e2b-key", &[shape("e2b_", &[exactly(&HEX, 40)])]),
    rule("apify-token", &[shape("apify_api_", &[run(&ALNUM, 30, 48)])]),
    rule(
        "langsmith-key",
        &[
            shape("lsv2_pt_", &[exactly(&HEX, 32), text("_"), exactly(&HEX, 10)]),
            shape("lsv2_sk_", &[exactly(&HEX, 32), text("_"), exactly(&HEX, 10)]),
        ],
    ),
];
