/** Signatures of agent cards: JWS over the canonical JSON (RFC 8785) of the card without them. */
import type { Json } from "../json.ts";
import { FlattenedSign, importJWK, type JWK } from "jose";

/** RFC 8785: members in the order of their names' UTF-16 units, no white space. JSON.stringify writes the rest as it asks. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(",")}}`;
}

/**
 * What is signed: protobuf leaves out default values (empty lists and objects, "", false), and so does every verifier.
 */
function signedForm(card: Json): string {
  const { signatures: _, ...rest } = card;
  return canonical(withoutDefaults(rest));
}

/** The SDKs remove empty values from the inside out: a value that becomes empty is also removed. */
function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults).filter((member) => !isDefault(member));
  if (typeof value !== "object" || value === null) return value;
  const cleaned = Object.entries(value).map(([name, member]) => [name, withoutDefaults(member)] as const);
  return Object.fromEntries(cleaned.filter(([, member]) => !isDefault(member)));
}

function isDefault(value: unknown): boolean {
  if (value === "" || value === false || value === undefined) return true;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** The private key: `A2A_SIGNING_KEY` holds it as a JWK, best with a `kid`. Undefined where none is configured. */
function keyOf(env: Env): (JWK & { alg: string; kid: string }) | undefined {
  if (!env.A2A_SIGNING_KEY) return undefined;
  const key = JSON.parse(env.A2A_SIGNING_KEY) as JWK;
  const alg = key.alg ?? (key.kty === "RSA" ? "RS256" : key.kty === "OKP" ? "EdDSA" : "ES256");
  return { ...key, alg, kid: key.kid ?? "a2a" };
}

/** The card with its signature; as it is when no key is configured. */
export async function signed(card: Json, env: Env, origin: string): Promise<Json> {
  const jwk = keyOf(env);
  if (!jwk) return card;
  const header = { alg: jwk.alg, kid: jwk.kid, typ: "JOSE", jku: `${origin}/.well-known/jwks.json` };
  const payload = new TextEncoder().encode(signedForm(card));
  const jws = await new FlattenedSign(payload).setProtectedHeader(header).sign(await importJWK(jwk, jwk.alg));
  return { ...card, signatures: [{ protected: jws.protected, signature: jws.signature }] };
}

/** The public half, as a JWK set. */
export function publicKeys(env: Env): { keys: JWK[] } {
  const jwk = keyOf(env);
  if (!jwk) return { keys: [] };
  const { kty, crv, x, y, n, e, alg, kid } = jwk;
  const all = { kty, crv, x, y, n, e, alg, kid, use: "sig" };
  return { keys: [Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as JWK] };
}
