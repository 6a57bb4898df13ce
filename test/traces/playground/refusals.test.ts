/** Calls of the playground that are refused, and what budgets say of them. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { newCaller, send } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import {
  DONE,
  HELLO,
  OFFLINE,
  OPENAI,
  chunk,
  findData,
  play,
  post,
  provider,
  stream,
  listTraced,
} from "../../support/playground.ts";
import { itThorough } from "../../support/thorough-test.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe("a call is refused", () => {
  it("without a key, with a wrong one, and with a key that only reads", async () => {
    const body = { model: OFFLINE, messages: HELLO };
    expect((await send("/api/v1/playground/stream", { body })).status).toBe(401);
    const headers = { "x-api-key": "wsv2_wrong" };
    expect((await send("/api/v1/playground/stream", { body, headers })).status).toBe(401);
    const caller = await newCaller();
    const read = await ask<{ key: string }>(caller, "/api/v1/api-keys", { body: { name: "r", scopes: ["read"] } });
    const asReader = { "x-api-key": read.key };
    expect((await send("/api/v1/playground/stream", { body, headers: asReader })).status).toBe(403);
    expect((await send("/api/v1/playground/models", { headers: asReader })).status).toBe(200);
    expect(await listTraced(caller)).toEqual([]);
  });

  it("by the models of the deployment: they are listed, and one that it lacks is a 422", async () => {
    const caller = await newCaller();
    const { models } = await ask<{ models: object[] }>(caller, "/api/v1/playground/models");
    expect(models).toMatchObject([
      { provider: "offline", is_available: true },
      { provider: "openai", is_available: false },
      { provider: "workers-ai", is_available: false },
    ]);
    for (const model of [
      { provider: "openai", model: "gpt-4o" },
      { provider: "workers-ai", model: "@cf/x" },
    ])
      expect((await post(caller, { model, messages: HELLO })).status).toBe(422);
  });

  it.for([
    ["an unknown provider", { model: { provider: "other", model: "x" } }],
    ["no messages", { messages: [] }],
    ["messages and a prompt", { prompt: { name: "p" } }],
    ["an unknown setting", { settings: { temprature: 1 } }],
    ["a temperature out of range", { settings: { temperature: 3 } }],
    [
      "an image by http",
      { messages: [{ role: "human", content: [{ type: "image_url", image_url: { url: "http://x/y" } }] }] },
    ],
    ["a private address", { model: { ...OPENAI, base_url: "https://169.254.169.254/v1" } }],
    ["too many messages", { messages: Array.from({ length: 501 }, () => HELLO[0]) }],
    ["a call that is too large", { messages: [{ role: "human", content: "x".repeat(4 * 1024 * 1024) }] }],
    [
      "variables that make it too large",
      {
        template_format: "mustache",
        messages: [{ role: "human", content: "{{a}}".repeat(100) }],
        variables: { a: "x".repeat(100_000) },
      },
    ],
  ] as [string, object][])("with %s", async ([, more]) => {
    const caller = await newCaller();
    const sent = provider(() => stream(DONE));
    const response = await post(caller, { model: OFFLINE, messages: HELLO, ...more });
    expect(response.status).toBe(422);
    expect(sent).toEqual([]);
  });

  it("with a 402 when a budget of the day is reached", async () => {
    const caller = await newCaller();
    const admin = { "x-api-key": "admin-key-of-the-tests", "x-tenant-id": caller.workspaceId };
    const budget = { per: "day", tokens: 5 };
    const put = await send("/api/v1/budgets/daily", { method: "PUT", body: budget, headers: admin });
    expect(put.status).toBeLessThan(300);
    await play(caller, { model: OFFLINE, messages: HELLO });
    const refused = await post(caller, { model: OFFLINE, messages: HELLO });
    expect(refused.status).toBe(402);
    expect(await refused.text()).toContain('The budget \\"daily\\" is reached: 6 tokens of 5 tokens a day.');
  });

  it("with no 402 at 80 % of a budget, and calls its webhook", async () => {
    const caller = await newCaller();
    const admin = { "x-api-key": "admin-key-of-the-tests", "x-tenant-id": caller.workspaceId };
    const budget = { per: "day", tokens: 7, webhook: "https://budgets.example.com/hook" };
    await send("/api/v1/budgets/daily", { method: "PUT", body: budget, headers: admin });
    const sent = provider(() => new Response());
    const all = await play(caller, { model: OFFLINE, messages: HELLO });
    const { run_id } = findData(all, "run") as { run_id: string };
    expect(sent).toMatchObject([
      {
        url: budget.webhook,
        body: { type: "budget.warning", budget: "daily", unit: "tokens", spent: 6, limit: 7, run_id },
      },
    ]);
  });

  itThorough("after 60 calls in a minute", async () => {
    const caller = await newCaller();
    provider(() => stream(chunk({}, { finish_reason: "stop" }), DONE));
    const statuses: number[] = [];
    // The minute may end in between.
    for (let n = 0; n < 122 && statuses.at(-1) !== 429; n++) {
      const response = await post(caller, { model: OPENAI, messages: HELLO });
      statuses.push(response.status);
      await response.text();
    }
    expect(statuses.at(-1)).toBe(429);
    expect(statuses.length).toBeGreaterThan(60);
  });
});
