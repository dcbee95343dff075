//! The token stream of a parser. Nothing here is a secret.
use std::collections::HashMap;

pub struct Token { kind: TokenKind, span: Range<usize> }
pub const ENCRYPTION_KEY: X509HardwareKeyUsageFlags = 2i32;
pub const STATUS_ILL_FORMED_PASSWORD: NTSTATUS = 0xC000006B_u32 as _;
pub const STATUS_NULL_LM_PASSWORD: NTSTATUS = -1073741837i32;
const KEY: &str = "metadata.reenact.enforcement";
const API_KEY_HEADER: &str = "x-api-key";
const API_KEY: &str = "OPENAI_API_KEY";
static TOKEN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^[A-Za-z0-9_-]{20,64}$").unwrap());

fn main() -> Result<(), Error> {
    let token = self.tokens.next().ok_or(Error::UnexpectedEnd)?;
    let key: [u8; 32] = Sha256::digest(b"seed").into();
    let secret = SecretString::from(std::env::var("CLIENT_SECRET")?);
    let password: String = rpassword::prompt_password("Password: ")?;
    let private_key: Curve25519SeedBin<'_> = private.into();
    let access_token = response.json::<TokenResponse>().await?.access_token;
    let map = HashMap::from([("key", "value1"), ("token", "hello"), ("password", "required")]);
    assert_eq!(config.api_key, "test-key-1");
    assert_eq!(token.kind, TokenKind::Identifier("x86_64_unknown_linux_gnu".into()));
    request.header("Authorization", format!("Bearer {access_token}"));
    let url = format!("https://{user}:{password}@{host}/");
    match token { Token::Key => 1, Token::Secret => 2, _ => 3 }
}
