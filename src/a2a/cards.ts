/** Where agent cards are found. They are public: a client reads one to find out which credential to send. */
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { toAssistantId, defaultAssistants } from "../agents/assistants/defaults.ts";
import { findAnywhere } from "../agents/assistants/store.ts";
import { sha256 } from "../lib/crypto.ts";
import type { Json } from "../lib/json.ts";
import { database } from "../db/client.ts";
import { AnyObject } from "../http/shapes.ts";
import { createDoc } from "../http/route.ts";
import { serverAddress } from "../http/context.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { query } from "../http/validate.ts";
import type { Call } from "../protocols/a2a/call.ts";
import { card1, type Described, hybridCard } from "../protocols/a2a/card.ts";
import { readModes } from "../protocols/a2a/modes.ts";
import { publicKeys, signCard } from "./sign.ts";
import type { Generation } from "../protocols/a2a/types.ts";

/** Seconds that a card may be kept. */
const MAX_AGE = 300;

const speaks1 = (c: Context<App>) => /^1(\.|$)/.test(c.req.header("a2a-version")?.trim() ?? "");

let started: number | undefined;
/** When this isolate answered first: a default assistant is part of the deployment, and has not changed since. */
const startedAt = (): number => (started ??= Date.now());

/** The public form of an assistant, and the time of its last change. */
async function describe(c: Context<App>, idOrGraphId: string): Promise<{ card: Described; changed: number }> {
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

async function signedCard(card: Described, origin: string, generation: Generation, env: Env): Promise<Json> {
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
export async function extendedCard({ c, assistant, generation }: Call): Promise<unknown> {
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
