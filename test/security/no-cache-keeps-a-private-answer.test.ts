/** A shared cache stores no answer that a credential, a link or a cookie opened (RFC 9111, section 3). */
import { expect, it } from "vitest";
import { type Caller, newCaller, send } from "../support/caller.ts";
import { firstText } from "./first-text.ts";
import { buildCall } from "./route-calls.ts";
import { ROUTES } from "./routes.ts";
import type { Things } from "./things.ts";
import { pickCases } from "../support/thorough.ts";

/** What anyone may read, the same for everyone. */
const FOR_ALL = /(?:\/ok|\/info|\/openapi\.json|\.well-known\/.*|\/ui\/:assistant_id\/:file)$/;

async function readCacheControl(caller: Caller, route: string): Promise<string | null> {
  const {
    method: verb,
    path,
    body,
    headers,
  } = buildCall(route, { thread_id: crypto.randomUUID(), marker: "none" } as Things);
  const method = verb === "ALL" ? "PUT" : verb;
  const response = await send(path, { method, body, headers: { "x-api-key": caller.key, ...headers } });
  await firstText(response);
  return response.headers.get("cache-control");
}

it("on every route, with any answer", async () => {
  const caller = await newCaller();
  const wrong: string[] = [];
  const routes = Object.keys(ROUTES).filter((one) => !FOR_ALL.test(one));
  for (const route of pickCases(routes, 120)) {
    const control = await readCacheControl(caller, route);
    if (!/\b(?:private|no-store)\b/.test(control ?? "")) wrong.push(`${route}: ${control}`);
  }
  expect(wrong).toEqual([]);
});

it("lists and refusals say so, and a stream is not transformed", async () => {
  const caller = await newCaller();
  const list = await caller.fetch("/api/v1/datasets");
  expect([list.status, list.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
  const refused = await send("/api/v1/datasets");
  expect([refused.status, refused.headers.get("cache-control")]).toEqual([401, "private, no-store"]);
  const run = { assistant_id: "echo", input: { messages: [] } };
  const stream = await caller.fetch("/runs/stream", { body: run });
  expect(stream.headers.get("cache-control")).toBe("private, no-cache, no-transform");
  await stream.body?.cancel();
  for (const path of ["/ok", "/info", "/openapi.json"])
    expect((await send(path)).headers.get("cache-control")).not.toBe("private, no-store");
});

it("an answer is still kept under its Idempotency-Key, and one with a secret is not", async () => {
  const caller = await newCaller();
  const headers = { "idempotency-key": crypto.randomUUID() };
  const first = await caller.fetch("/threads", { body: {}, headers });
  const again = await caller.fetch("/threads", { body: {}, headers });
  expect([first.headers.get("cache-control"), again.headers.get("cache-control")]).toEqual([
    "private, no-store",
    "private, no-store",
  ]);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await again.json()).toEqual(await first.json());
  const secret = { "idempotency-key": crypto.randomUUID() };
  await caller.fetch("/api/v1/api-keys", { body: {}, headers: secret });
  expect((await caller.fetch("/api/v1/api-keys", { body: {}, headers: secret })).status).toBe(409);
});
