/** A small OpenID provider over HTTP: it signs in the person that `next` names, and checks the client as strict ones do. */
import { createHash, createSign, generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface OpenIdProvider {
  issuer: string;
  client: { id: string; secret: string };
  /** Who signs in next. */
  next: { sub: string; email?: string };
  stop(): Promise<void>;
}

interface Asked {
  redirectUri: string;
  challenge: string;
  nonce: string;
  person: { sub: string; email?: string };
}

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

export async function startOpenIdProvider(): Promise<OpenIdProvider> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const codes = new Map<string, Asked>();
  const client = { id: "weir", secret: randomUUID() };
  const own: OpenIdProvider = { issuer: "", client, next: { sub: "ann" }, stop: async () => {} };

  const idToken = ({ nonce, person }: Asked) => {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: own.issuer,
      aud: client.id,
      iat: now,
      exp: now + 300,
      nonce,
      ...person,
      email_verified: true,
    };
    const text = `${base64url({ alg: "RS256", kid: "1" })}.${base64url(claims)}`;
    return `${text}.${createSign("RSA-SHA256").update(text).sign(privateKey).toString("base64url")}`;
  };

  /** RFC 6749 section 4.1.3 and RFC 7636 section 4.6: a code is used once, by its client, with its verifier. */
  const redeem = (form: URLSearchParams): Asked | undefined => {
    const asked = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isClient = form.get("client_id") === client.id && form.get("client_secret") === client.secret;
    const fits = asked?.challenge === challenge && asked.redirectUri === form.get("redirect_uri");
    return isClient && fits ? asked : undefined;
  };

  const server = createServer((request, response) => {
    const json = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    void (async () => {
      const { pathname, searchParams } = new URL(request.url ?? "/", own.issuer);
      switch (pathname) {
        case "/.well-known/openid-configuration":
          return json(200, {
            issuer: own.issuer,
            authorization_endpoint: `${own.issuer}/authorize`,
            token_endpoint: `${own.issuer}/token`,
            jwks_uri: `${own.issuer}/keys`,
          });
        case "/keys":
          return json(200, { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "1", use: "sig", alg: "RS256" }] });
        case "/authorize": {
          const code = randomUUID();
          const redirectUri = searchParams.get("redirect_uri") ?? "";
          codes.set(code, {
            redirectUri,
            challenge: searchParams.get("code_challenge") ?? "",
            nonce: searchParams.get("nonce") ?? "",
            person: own.next,
          });
          const answer = new URLSearchParams({ code, state: searchParams.get("state") ?? "" });
          return response.writeHead(302, { location: `${redirectUri}?${answer.toString()}` }).end();
        }
        case "/token": {
          const asked = redeem(new URLSearchParams(await readText(request)));
          if (!asked) return json(400, { error: "invalid_grant" });
          return json(200, { access_token: randomUUID(), token_type: "Bearer", id_token: idToken(asked) });
        }
        default:
          return json(404, {});
      }
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  own.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  own.stop = () => new Promise((resolve) => server.close(() => resolve()));
  return own;
}
