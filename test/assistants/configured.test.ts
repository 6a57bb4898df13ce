import { env } from "cloudflare:workers";
import { afterEach, expect, it } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";

const settings = env as Env;
afterEach(() => {
  delete settings.LANGGRAPH_CONFIG;
});

const echo = async (caller: Caller) => (await caller.fetch("/assistants/echo")).json();

it("LANGGRAPH_CONFIG sets what a default assistant starts with, until somebody changes it", async () => {
  settings.LANGGRAPH_CONFIG = JSON.stringify({ echo: { configurable: { a: 1 }, context: { b: 2 } } });
  const caller = await newCaller();
  expect(await echo(caller)).toMatchObject({ version: 1, config: { configurable: { a: 1 } }, context: { b: 2 } });
  settings.LANGGRAPH_CONFIG = JSON.stringify({ echo: { context: { b: 4 } } });
  expect(await echo(caller)).toMatchObject({ version: 1, config: {}, context: { b: 4 } });
  const changed = await caller.fetch("/assistants/echo", { method: "PATCH", body: { context: { c: 3 } } });
  expect(await changed.json()).toMatchObject({ version: 2, config: {}, context: { c: 3 } });
  settings.LANGGRAPH_CONFIG = JSON.stringify({ echo: { context: { b: 5 } } });
  expect(await echo(caller)).toMatchObject({ version: 2, context: { c: 3 } });
  const first = await caller.fetch("/assistants/echo/latest", { body: { version: 1 } });
  expect(await first.json()).toMatchObject({ version: 1, context: { b: 4 } });
  expect(await (await caller.fetch("/assistants/agent")).json()).toMatchObject({ config: {}, context: {} });
});
