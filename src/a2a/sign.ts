/** Signatures of agent cards: JWS over the canonical JSON (RFC 8785) of the card without them. */
import { canonicalJson } from "../lib/json.ts";
import type { Json } from "../lib/json.ts";
import { FlattenedSign, importJWK, type JWK } from "jose";

/** What is signed: verifiers read a card as protobuf, which has no empty values, and leave them out. */
function signedForm(card: Json): string {
  const { signatures: _, ...rest } = card;
  return canonicalJson(withoutEmpty(rest));
}

/** The SDKs remove empty values from the inside out: a value that becomes empty is also removed. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty).filter((member) => !isEmpty(member));
  if (typeof value !== "object" || value === null) return value;
  const cleaned = Object.entries(value).map(([name, member]) => [name, withoutEmpty(member)] as const);
  return Object.fromEntries(cleaned.filter(([, member]) => !isEmpty(member)));
}

function isEmpty(value: unknown): boolean {
  if (value === "" || value === null || value === undefined) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/**
 * The forms of a card that verifiers check, each with a signature of its own: all of it; the members of 1.0 alone, which
 * the SDKs of 1.0 keep; and these without the security schemes, because @a2a-js/sdk loses them when it has parsed a card.
 */
function listCardForms(card: Json, card1: Json): string[] {
  const { securitySchemes: _, ...parsed } = card1;
  return [...new Set([card, card1, parsed].map(signedForm))];
}

/** The private key: `A2A_SIGNING_KEY` holds it as a JWK, best with a `kid`. Undefined where none is configured. */
function readSigningKey(env: Env): (JWK & { alg: string; kid: string }) | undefined {
  if (!env.A2A_SIGNING_KEY) return undefined;
  const key = JSON.parse(env.A2A_SIGNING_KEY) as JWK;
  const alg = key.alg ?? (key.kty === "RSA" ? "RS256" : key.kty === "OKP" ? "EdDSA" : "ES256");
  return { ...key, alg, kid: key.kid ?? "a2a" };
}

/** The card with its signatures; as it is when no key is configured. `card1` is the card with only the members of 1.0. */
export async function signCard(card: Json, card1: Json, env: Env, origin: string): Promise<Json> {
  const jwk = readSigningKey(env);
  if (!jwk) return card;
  const header = { alg: jwk.alg, kid: jwk.kid, typ: "JOSE", jku: `${origin}/.well-known/jwks.json` };
  const key = await importJWK(jwk, jwk.alg);
  const signatures = listCardForms(card, card1).map(async (form) => {
    const jws = await new FlattenedSign(new TextEncoder().encode(form)).setProtectedHeader(header).sign(key);
    return { protected: jws.protected, signature: jws.signature };
  });
  return { ...card, signatures: await Promise.all(signatures) };
}

/** The public half, as a JWK set. */
export function publicKeys(env: Env): { keys: JWK[] } {
  const jwk = readSigningKey(env);
  if (!jwk) return { keys: [] };
  const { kty, crv, x, y, n, e, alg, kid } = jwk;
  const all = { kty, crv, x, y, n, e, alg, kid, use: "sig" };
  return { keys: [Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as JWK] };
}
