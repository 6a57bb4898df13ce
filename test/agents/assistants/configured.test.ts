import { env } from "cloudflare:workers";
import { afterEach, expect, it } from "vitest";
import { settings as configured } from "../../../src/config.ts";
import { type Caller, newCaller } from "../../support/caller.ts";

const settings = env as Env;
const { graphs } = configured;
afterEach(() => {
  delete settings.LANGGRAPH_CONFIG;
  configured.graphs = graphs;
});

const echo = async (caller: Caller) => (await caller.fetch("/assistants/echo")).json();

it("LANGGRAPH_CONFIG sets what a default assistant starts with, until a user changes it", async () => {
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

it("a graph's description and metadata in langgraph.json are its default assistant's, until a user changes it", async () => {
  configured.graphs = { echo: { description: "Repeats.", metadata: { examples: ["Hello"], created_by: "me" } } };
  const caller = await newCaller();
  const text = { description: "Repeats.", metadata: { examples: ["Hello"], created_by: "system" } };
  expect(await echo(caller)).toMatchObject({ version: 1, ...text });
  configured.graphs = { echo: { description: "Says it again." } };
  expect(await echo(caller)).toMatchObject({ description: "Says it again.", metadata: { created_by: "system" } });
  await caller.fetch("/assistants/echo", { method: "PATCH", body: { description: "Mine" } });
  configured.graphs = {};
  expect(await echo(caller)).toMatchObject({ version: 2, description: "Mine" });
  expect((await (await newCaller()).fetch("/assistants/echo")).status).toBe(200);
});
