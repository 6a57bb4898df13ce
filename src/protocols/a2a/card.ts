/** Agent cards: what an assistant is, can do, and where it is called, as each generation reads it. */
import { type Json, canonicalJson } from "../../lib/json.ts";
import { SCOPES } from "../../http/principal.ts";
import { type Assistant, findAnywhere } from "../../agents/assistants/store.ts";
import { type MediaModes, readSettings, readModes } from "./modes.ts";
import { FlattenedSign, importJWK, type JWK } from "jose";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { toAssistantId, defaultAssistants } from "../../agents/assistants/defaults.ts";
import { sha256 } from "../../lib/crypto.ts";
import { database } from "../../db/client.ts";
import { AnyObject } from "../../http/shapes.ts";
import { createDoc } from "../../http/route.ts";
import { serverAddress, type App } from "../../http/context.ts";
import { Problem } from "../../lib/problem.ts";
import { query } from "../../http/validate.ts";
import type { A2aCall } from "./call.ts";
import type { A2aGeneration } from "./types.ts";

/** The content of an assistant's card. */
export type CardContent = Pick<
  Assistant,
  "assistant_id" | "graph_id" | "name" | "description" | "metadata" | "version"
> & { modes: MediaModes };

/** How callers prove who they are, in 1.0's words. */
function securityOf1(origin: string) {
  return {
    securitySchemes: {
      apiKey: {
        apiKeySecurityScheme: { location: "header", name: "X-API-Key", description: "An API key of a workspace." },
      },
      oauth2: {
        oauth2SecurityScheme: {
          description: "OAuth 2.1; clients register themselves.",
          oauth2MetadataUrl: `${origin}/.well-known/oauth-authorization-server`,
          flows: { authorizationCode: { ...oauthFlow(origin), pkceRequired: true } },
        },
      },
    },
    securityRequirements: [{ schemes: { apiKey: { list: [] } } }, { schemes: { oauth2: { list: ["write"] } } }],
  };
}

/** The same in 0.3's words. Each scheme also has 1.0's member, so that a client of 1.0 finds all of its own card in it. */
function securityOf03(origin: string) {
  const { securitySchemes } = securityOf1(origin);
  const { apiKey, oauth2 } = securitySchemes;
  const { location, ...key } = apiKey.apiKeySecurityScheme;
  return {
    securitySchemes: {
      apiKey: { type: "apiKey", in: location, ...key, ...apiKey },
      oauth2: { type: "oauth2", ...oauth2.oauth2SecurityScheme, ...oauth2 },
    },
    security: [{ apiKey: [] }, { oauth2: ["write"] }],
  };
}

const oauthFlow = (origin: string) => ({
  authorizationUrl: `${origin}/oauth/authorize`,
  tokenUrl: `${origin}/oauth/token`,
  refreshUrl: `${origin}/oauth/token`,
  scopes: Object.fromEntries(SCOPES.map((scope) => [scope, `May ${scope}`])),
});

/** What both generations have in common. */
function commonFields(assistant: CardContent): Json {
  const { name, graph_id, version, modes } = assistant;
  const { skills, provider, documentation_url, icon_url } = readSettings(assistant);
  const description = assistant.description || `The assistant "${name}" on the graph "${graph_id}".`;
  return {
    name,
    description,
    version: `${version}.0.0`,
    defaultInputModes: modes.input,
    defaultOutputModes: modes.output,
    skills: skills ?? [{ id: graph_id, name, description, tags: [graph_id] }],
    ...(provider && { provider }),
    ...(documentation_url && { documentationUrl: documentation_url }),
    ...(icon_url && { iconUrl: icon_url }),
  };
}

const cardUrl = (assistant: CardContent, origin: string) => `${origin}/a2a/${assistant.assistant_id}`;

/** A card with only the members of version 1.0. */
export function card1(assistant: CardContent, origin: string): Json {
  const { extensions } = readSettings(assistant);
  // Protobuf leaves out a `required` of false, and so does everyone who checks the card's signature.
  const declared = extensions?.map(({ required, ...one }) => ({ ...one, ...(required && { required }) }));
  const url = cardUrl(assistant, origin);
  return {
    ...commonFields(assistant),
    supportedInterfaces: [
      { url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
    ],
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
      ...(declared && { extensions: declared }),
    },
    ...securityOf1(origin),
  };
}

/** The card of 1.0 with the members of 0.3: clients of both generations read it, each without the other's members. */
export function hybridCard(assistant: CardContent, origin: string): Json {
  const card = card1(assistant, origin);
  return {
    ...card,
    protocolVersion: "0.3.0",
    url: cardUrl(assistant, origin),
    preferredTransport: "JSONRPC",
    capabilities: { ...(card.capabilities as Json), stateTransitionHistory: false },
    supportsAuthenticatedExtendedCard: true,
    ...securityOf03(origin),
  };
}

// Signatures of agent cards: JWS over the canonical JSON (RFC 8785) of the card without them.

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

// Where agent cards are found. They are public: a client reads one to find out which credential to send.

/** Seconds that a card may be kept. */
const MAX_AGE = 300;

const speaks1 = (c: Context<App>) => /^1(\.|$)/.test(c.req.header("a2a-version")?.trim() ?? "");

let started: number | undefined;
/** When this isolate answered first: a default assistant is part of the deployment, and has not changed since. */
const startedAt = (): number => (started ??= Date.now());

/** The public form of an assistant, and the time of its last change. */
async function describe(c: Context<App>, idOrGraphId: string): Promise<{ card: CardContent; changed: number }> {
  const id = toAssistantId(idOrGraphId);
  // Each workspace has its own default assistant. Its public card comes from the deployment's configuration.
  const standard = defaultAssistants().find((one) => one.id === id);
  if (standard) {
    const { graphId, config, context } = standard;
    const own = { assistant_id: id, graph_id: graphId, name: graphId, description: null, metadata: {}, version: 1 };
    return { card: { ...own, modes: await readModes({ ...own, config, context }, c.env) }, changed: startedAt() };
  }
  const found = await findAnywhere(database(c.env.DB), id);
  if (!found) throw new Problem(404, "No agent of this id.");
  return { card: { ...found, modes: await readModes(found, c.env) }, changed: Date.parse(found.updated_at) };
}

async function signedCard(card: CardContent, origin: string, generation: A2aGeneration, env: Env): Promise<Json> {
  const pure = card1(card, origin);
  return signCard(generation === "0.3" ? hybridCard(card, origin) : pure, pure, env, origin);
}

async function cardResponse(c: Context<App>, id: string): Promise<Response> {
  const { card, changed } = await describe(c, id);
  const origin = serverAddress(c);
  const body = JSON.stringify(await signedCard(card, origin, speaks1(c) ? "1.0" : "0.3", c.env));
  const tag = `"${sha256(JSON.stringify([card, origin, speaks1(c)]))}"`;
  const headers = {
    "content-type": "application/json",
    "cache-control": `public, max-age=${MAX_AGE}`,
    etag: tag,
    vary: "A2A-Version",
    "last-modified": new Date(changed).toUTCString(),
  };
  const known = c.req.header("if-none-match");
  if (known?.split(",").some((one) => one.trim().replace(/^W\//, "") === tag)) {
    return c.body(null, 304, headers);
  }
  return c.body(body, 200, headers);
}

/** The card for callers with a credential: the assistant as their own workspace has it. */
export async function extendedCard({ c, assistant, generation }: A2aCall): Promise<unknown> {
  const origin = serverAddress(c);
  const card = { ...assistant, modes: await readModes(assistant, c.env) };
  return signedCard(card, origin, generation, c.env);
}

const doc = createDoc("A2A");
const CARD = { 200: AnyObject, 304: {} };
const CardQuery = v.object({ assistant_id: v.optional(v.pipe(v.string(), v.maxLength(200))) });

const byQuery = (c: Context<App, string, { out: { query: v.InferOutput<typeof CardQuery> } }>) => {
  const { assistant_id } = c.req.valid("query");
  if (!assistant_id) throw new Problem(400, "Name the agent: /.well-known/agent-card.json?assistant_id=<id>.");
  return cardResponse(c, assistant_id);
};
const byPath = (c: Context<App>) => cardResponse(c, c.req.param("assistant_id") ?? "");
const card = doc("An assistant's agent card", CARD);
const oldCard = doc("An assistant's agent card, where A2A before 0.3 looks for it", CARD);

export const agentCards = new Hono<App>()
  .get("/.well-known/agent-card.json", card, query(CardQuery), byQuery)
  .get("/.well-known/agent.json", oldCard, query(CardQuery), byQuery)
  .get("/a2a/:assistant_id/.well-known/agent-card.json", card, byPath)
  .get("/a2a/:assistant_id/.well-known/agent.json", oldCard, byPath)
  .get(
    "/.well-known/jwks.json",
    doc("The public keys that agent cards are signed with", v.object({ keys: v.array(AnyObject) })),
    (c) => c.json(publicKeys(c.env), 200, { "cache-control": `public, max-age=${MAX_AGE}` }),
  );
