/** Where no `auth` is deployed, `configurable.user_id` is a value like any other. */
import { beforeAll, expect, it } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { type Json, whoami } from "../../security/users.ts";
import { type Caller, newCaller } from "../../support/caller.ts";

Object.assign(graphs, { whose: whoami });

const config = { configurable: { user_id: "ada", langgraph_auth_user_id: "ada" } };

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

async function readWho(body: Json): Promise<unknown> {
  const response = await caller.fetch("/runs/wait", { body: { input: {}, ...body } });
  return (await response.json<{ who?: Json }>()).who;
}

it("reaches the graph from the request, without what only the server sets", async () => {
  expect(await readWho({ assistant_id: "whose", config })).toMatchObject({ user_id: "ada" });
  expect(await readWho({ assistant_id: "whose", config })).not.toHaveProperty("langgraph_auth_user_id");
});

it("reaches the graph from the assistant, which shows it", async () => {
  const response = await caller.fetch("/assistants", { body: { graph_id: "whose", config } });
  const assistant = await response.json<Json>();
  expect(assistant.config).toEqual({ configurable: { user_id: "ada" } });
  expect(await readWho({ assistant_id: assistant.assistant_id })).toMatchObject({ user_id: "ada" });
});
