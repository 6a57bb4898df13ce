import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server.stop());

describe("the built Worker", () => {
  it("answers /ok and /info without a key", async () => {
    expect(await (await fetch(`${server.url}/ok`)).json()).toEqual({ ok: true });
    const info = await (await fetch(`${server.url}/info`)).json();
    expect(info).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/), flags: { assistants: true } });
  });

  it("lists the deployed graphs to the stock client", async () => {
    const client = new Client({ apiUrl: server.url, apiKey: server.key });
    const assistants = await client.assistants.search();
    expect(assistants.map(({ graph_id }) => graph_id).sort()).toEqual(["agent", "approval", "echo", "research"]);
  });
});
