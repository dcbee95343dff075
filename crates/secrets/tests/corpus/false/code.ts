import { createClient } from "@example/client";
interface Credentials { password: string; apiKey: string; token?: string; secretKey: Uint8Array }
export const config = {
  apiKey: process.env.OPENAI_API_KEY ?? "",
  password: env.DB_PASSWORD_2024,
  token: getToken({ kind: "access", ttl: 3600 }),
  clientSecret: secrets.get("client-secret-v2"),
  secret: "projects/123456/secrets/db-password/versions/2",
  accessKey: accessKeyFromVault1,
};
const authorization = req.headers["authorization"]?.split(" ")[1];
const { token, expiresIn } = await refreshToken(session);
document.querySelector<HTMLInputElement>("#password")!.value = "";
<input type="password" name="password" placeholder="Password" autoComplete="current-password" id="password-field-1" />
<Trans key="settings.apiKey.description">Your API key</Trans>
export const messages = { password: "Password", token: "Token", apiKey: "API key", secret: "Geheimnis" };
const rows = items.map((item) => <Row key={item.id} token={item.token} />);
localStorage.setItem("token", token);
expect(tokenize("let x = 1;")).toEqual([{ type: "Keyword", token: "let" }, { type: "Identifier", token: "x" }]);
fetch(`/api?token=${token}&key=${key}`, { headers: { Authorization: `Bearer ${token}`, "X-Api-Key": apiKey } });
throw new Error(`invalid token: ${token.slice(0, 4)}... expected one of: identifier, number`);
