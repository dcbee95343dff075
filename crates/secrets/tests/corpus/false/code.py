import os, re, hashlib
from dataclasses import dataclass

API_KEY = os.environ["API_KEY"]
api_key = os.getenv("OPENAI_API_KEY", "")
password = getpass.getpass("Password: ")
token = tokens[i + 1]
token = tokenizer.decode(token_ids[0])
secret = secrets.token_urlsafe(32)
client = OpenAI(api_key=settings.OPENAI_API_KEY2, timeout=30.0, max_retries=2)
headers = {"Authorization": f"Bearer {token}", "x-api-key": api_key, "Content-Type": "application/json"}
headers["Authorization"] = "Bearer " + access_token
headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
assert token == "expected_token_1"
if password == "password1": raise ValueError("password: too weak")
PASSWORD_RE = re.compile(r"(?i)password\s*[:=]\s*['\"]([^'\"]{8,})")
KEY_RE = re.compile(r"sk-[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{36}|AIza[0-9A-Za-z_-]{35}")
PEM = "-----BEGIN PRIVATE KEY-----"
def load(text):
    if not text.startswith("-----BEGIN RSA PRIVATE KEY-----"):
        raise ValueError("not a private key")
    return text.split("-----END RSA PRIVATE KEY-----")[0]

@dataclass
class Config:
    api_key: str = "your-api-key-here"
    password: str = field(default="")
    token: str | None = None
    secret_key: str = "<set me>"
    access_token: Optional[str] = None
    client_secret: str = "${CLIENT_SECRET}"
    db_password: str = "{{password}}"
    auth_token: str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    signing_key: bytes = b"..."
    encryption_key: str = "changeme-please-1234"

def next_token(self, lookahead_token=None, stop_token="</s>", pad_token="<pad>", bos_token="[BOS]"):
    key = f"{self.prefix}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    cache_key = "{{hex:32}}"
    idempotency_key = "{{hex:8 - hex:4 -4 hex:3 -9 hex:3 - hex:12}}"
    page_token = "{{alnum:40}}"
    sort_key = (item.created_at, item.id)
    return {"token": token, "key": key, "logprob": -0.31725305, "bytes": [32, 116]}

parser.add_argument("--api-key", help="API key; default: $OPENAI_API_KEY")
parser.add_argument("--token", default=os.environ.get("TOKEN"), type=str)
subprocess.run(["tool", "--password", prompt_password1, "--token", token2])
print(f"password={password!r} token={token:>16} secret={secret[:4]}...")
engine = create_engine(f"postgresql://{user}:{password}@{host}:{port}/{name}")
url = "https://user:%s@example.com" % quote(password)
