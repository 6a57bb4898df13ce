/** Every route x every kind of caller, from the one table in routes.ts. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../support/app.ts";
import { type Scope, SCOPES } from "../../src/http/principal.ts";
import { sha256 } from "../../src/lib/crypto.ts";
import { newTokens, post } from "../access/oauth/person.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../support/caller.ts";
import { ALL } from "../support/thorough.ts";
import { ROUTES } from "./routes.ts";

/** The routes that the app has: middleware (ALL under a wildcard) is none. */
function listRegistered(): string[] {
  const all = app.routes.filter(({ method, path }) => !(method === "ALL" && path.endsWith("*")));
  return [...new Set(all.map(({ method, path }) => `${method} ${path}`))].sort();
}

/** A path of that shape: the first of several words, nothing for what may be absent, an id that nothing has elsewhere. */
function example(path: string): string {
  return path
    .replace(":file", "entrypoint.js")
    .replaceAll(/:\w+\{(\w+)\|[^}]*\}/g, "$1")
    .replaceAll(/\/:\w+(?:\{[^}]*\})?\?/g, "")
    .replaceAll(/:\w+(?:\{[^}]*\})?/g, () => crypto.randomUUID());
}

let caller: Caller;
let other: Caller;
let expired: string;
let token: string;
let revoked: string;
let deleted: string;
let expiredKey: string;
let distantKey: string;
/** A key with every scope but one. */
const lacking: Partial<Record<Scope, string>> = {};

beforeAll(async () => {
  [caller, other] = [await newCaller(), await newCaller()];
  token = (await newTokens(caller, { scope: SCOPES.join(" ") })).access_token;
  expired = (await newTokens(caller, { scope: SCOPES.join(" ") })).access_token;
  await env.DB.prepare("update oauth_tokens set expires_at = ? where hash = ?")
    .bind(Date.now() - 1, sha256(expired))
    .run();
  const { access_token, client } = await newTokens(caller, { scope: SCOPES.join(" ") });
  revoked = access_token;
  await post("/oauth/revoke", { client_id: client, token: revoked });
  const ended = await (await caller.fetch("/api/v1/api-keys", { body: {} })).json<{ id: string; key: string }>();
  deleted = ended.key;
  // Used once, so that it is cached.
  await send("/api/v1/workspaces", { headers: { "x-api-key": deleted } });
  await caller.fetch(`/api/v1/api-keys/${ended.id}`, { method: "DELETE" });
  const createKey = async (body: object) =>
    (await (await caller.fetch("/api/v1/api-keys", { body })).json<{ key: string }>()).key;
  expiredKey = await createKey({});
  await env.DB.prepare("update api_keys set expires_at = ? where hash = ?")
    .bind(Date.now() - 1, sha256(expiredKey))
    .run();
  distantKey = await createKey({ allowed_ips: ["192.0.2.0/24"] });
  for (const scope of SCOPES) {
    const body = { name: "lacking", scopes: SCOPES.filter((one) => one !== scope) };
    const made = await caller.fetch("/api/v1/api-keys", { body });
    lacking[scope] = (await made.json<{ key: string }>()).key;
  }
});

const FREE = "let in";
type Verdicts = Record<string, number | typeof FREE>;

/** What each kind of caller gets; "let in" is any answer but a refusal for who they are, or a fault of the server. */
type Access = (typeof ROUTES)[string];

function expectations(access: Access): Verdicts {
  if (access === "public") return { anonymous: FREE, "wrong key": FREE, "expired token": FREE, key: FREE };
  if (access === "deployment") {
    return { anonymous: 401, "wrong key": 403, "deleted key": 403, "expired token": 401, key: 403, admin: FREE };
  }
  return {
    anonymous: 401,
    "wrong key": 401,
    "deleted key": 401,
    "expired key": 401,
    "key of another network": 403,
    "expired token": 401,
    "revoked token": 401,
    ...(access !== "any" && { "missing scope": 403 }),
    "other workspace": 403,
    "token for other workspace": 403,
    key: FREE,
    token: FREE,
  };
}

/** Whom each route meets in `npm test`, too. Of the others each route meets one there, and its neighbour the next one. */
const ALWAYS = new Set(["anonymous", "wrong key", "other workspace", "key"]);

function chooseCallers(expected: Verdicts, place: number): Verdicts {
  const others = Object.keys(expected).filter((who) => !ALWAYS.has(who));
  const next = others[place % others.length];
  return Object.fromEntries(Object.entries(expected).filter(([who]) => ALL || ALWAYS.has(who) || who === next));
}

function chooseHeaders(who: string, access: Access): Record<string, string> {
  const tenant = { "x-tenant-id": caller.workspaceId };
  switch (who) {
    case "anonymous":
      return {};
    case "wrong key":
      return { "x-api-key": "weir_wrong", ...tenant };
    case "deleted key":
      return { "x-api-key": deleted, ...tenant };
    case "expired key":
      return { "x-api-key": expiredKey, ...tenant };
    case "key of another network":
      return { "x-api-key": distantKey, ...tenant };
    case "revoked token":
      return { authorization: `Bearer ${revoked}`, ...tenant };
    case "expired token":
      return { authorization: `Bearer ${expired}`, ...tenant };
    case "missing scope":
      return { "x-api-key": lacking[access as Scope] ?? "", ...tenant };
    case "other workspace":
      return { "x-api-key": other.key, ...tenant };
    case "token for other workspace":
      return { authorization: `Bearer ${token}`, "x-tenant-id": other.workspaceId };
    case "token":
      return { authorization: `Bearer ${token}`, ...tenant };
    case "admin":
      return { "x-api-key": ADMIN_KEY };
    default:
      return { "x-api-key": caller.key, ...tenant };
  }
}

describe("routes", () => {
  it("are all in the table, and the table has no others", () => {
    expect(Object.keys(ROUTES).sort()).toEqual(listRegistered());
  });

  const numbered = Object.entries(ROUTES).map(([route, access], place) => [route, access, place] as const);
  it.each(numbered)("%s: %s", async (route, access, place) => {
    const [method = "", path = ""] = route.split(" ");
    const expected = chooseCallers(expectations(access), place);
    const verdicts: Verdicts = {};
    const guided: Record<string, boolean> = {};
    for (const who of Object.keys(expected)) {
      const response = await send(example(path), {
        method: method === "ALL" ? "PUT" : method,
        body: method === "GET" || method === "ALL" ? undefined : {},
        headers: chooseHeaders(who, access),
      });
      await response.body?.cancel();
      const { status } = response;
      verdicts[who] = status === 401 || status === 403 || status >= 500 ? status : FREE;
      const guide =
        response.headers.get("www-authenticate")?.includes("/.well-known/oauth-protected-resource") ?? false;
      // A client that can sign in gets the address of the metadata.
      guided[who] = guide;
    }
    expect(verdicts).toEqual(expected);
    const mendable = (who: string) => access !== "deployment" && (expected[who] === 401 || who === "missing scope");
    expect(guided).toEqual(Object.fromEntries(Object.keys(expected).map((who) => [who, mendable(who)])));
  });
});
