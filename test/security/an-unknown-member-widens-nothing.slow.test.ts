/**
 * Every route with a body, called with a member that it does not know: a 422, unless `LOOSE` says why the member may be ignored.
 * If a query, a deletion or an export ignored it, a mistyped condition would read or delete more than was meant.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { newTokens } from "../access/oauth/person.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { seeded } from "../support/random.ts";
import { chooseAmount } from "../support/thorough.ts";
import { firstText } from "./first-text.ts";
import { LOOSE } from "./loose-routes.ts";
import { buildCall, type RouteCall } from "./route-calls.ts";
import { ROUTES } from "./routes.ts";
import { createAsk, type Json, makeThings, type Things } from "./things.ts";

const random = seeded("unknown members");
const pick = <T>(list: readonly T[]): T => list[random.between(0, list.length)] as T;
const TRIES = chooseAmount("MEMBERS", 3, 50);

/** A word that is like a member of the body, as people mistype them, or like none. */
function mistypeName(known: string[]): string {
  const name = known.length === 0 ? "filter" : pick(known);
  const at = random.between(0, name.length);
  const forms = [
    () => `${name.slice(0, at)}${name.slice(at + 1)}`,
    () => `${name.slice(0, at)}x${name.slice(at)}`,
    () => `${name}s`,
    () => name.replaceAll(/_(\w)/g, (_: string, letter: string) => letter.toUpperCase()),
    () => name.toUpperCase(),
    () => `${name}[]`,
    () => `where_${name}`,
  ];
  const form = pick(forms)();
  return known.includes(form) || form === "" ? `un${name}` : form;
}

const VALUES = [null, true, 0, "", "eq(name, 1)", [], ["a"], {}, { eq: 1 }];

/** The call with one member more; undefined when its body is none of JSON, or a list of texts. */
function widenCall(call: RouteCall, name?: string): RouteCall | undefined {
  const { body } = call;
  const target: unknown = Array.isArray(body) ? body[0] : body;
  const isForm = call.headers?.["content-type"] !== undefined;
  if (isForm || typeof target !== "object" || target === null || target instanceof Uint8Array) return undefined;
  const more = { ...target, [name ?? mistypeName(Object.keys(target))]: pick(VALUES) };
  return { ...call, body: Array.isArray(body) ? [more, ...body.slice(1)] : more };
}

let caller: Caller;
let things: Things;
beforeAll(async () => {
  caller = await newCaller();
  const { client } = await newTokens(caller);
  const [grant] = (await createAsk(caller)("GET", "/api/v1/grants")) as unknown as Json[];
  things = await makeThings(createAsk(caller), "widened", { grant_id: String(grant?.id), client_id: client });
}, 60_000);

const shortenRoute = (route: string) =>
  route.replace(/ \/api(?:\/v[12])?(?=\/)/, " ").replace(/ \/v1(?=\/platform\/)/, " ");
const SCOPED = Object.entries(ROUTES).flatMap(([route, access]) =>
  access === "public" || access === "deployment" || route.startsWith("GET ") ? [] : [route],
);

async function isRefused({ method, path, body, headers = {} }: RouteCall): Promise<boolean> {
  const answer = await caller.fetch(path, { method, body, headers });
  const text = await firstText(answer);
  expect([path, answer.status >= 500 && answer.status !== 501, text]).toEqual([path, false, text]);
  return answer.status === 422 && text.includes("is not known");
}

describe("a body with a member that is not known", () => {
  it.for(SCOPED.filter((route) => !Object.hasOwn(LOOSE, shortenRoute(route))))("is refused by %s", async (route) => {
    for (let tries = 0; tries < TRIES; tries++) {
      const call = widenCall(buildCall(route, things));
      if (!call) return;
      const shown = JSON.stringify(call.body).slice(0, 200);
      expect([shown, await isRefused(call)]).toEqual([shown, true]);
    }
  });

  // A route that refuses it needs no exception.
  it.for(SCOPED.filter((route) => Object.hasOwn(LOOSE, shortenRoute(route))))("is ignored by %s", async (route) => {
    const call = widenCall(buildCall(route, things), "zqxj");
    expect(call !== undefined && (await isRefused(call))).toBe(false);
  });
});

describe("a deletion with a parameter that is not known", () => {
  const BY_QUERY = [
    "DELETE /sessions",
    "DELETE /examples",
    "DELETE /feedback-configs",
    "DELETE /api/v2/traces/:trace_id",
  ];
  it.each([...BY_QUERY, "DELETE /api/v2/threads/:thread_id"])("%s", async (route) => {
    const { method, path } = buildCall(route, things);
    const answer = await caller.fetch(`${path}&un${pick(["filter", "ids", "limit"])}=1`, { method });
    expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining("is not known")]);
  });
});

it("every exception is a route", () => {
  const known = new Set(SCOPED.map(shortenRoute));
  expect(Object.keys(LOOSE).filter((route) => !known.has(route))).toEqual([]);
});
