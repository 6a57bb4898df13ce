/** A deep agent with users and routes of its own, in a project that has installed the package. */
import { rmSync } from "node:fs";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { NAME } from "../../src/cli/project/package.ts";
import { createPackedProject } from "../../test/support/packed.ts";
import { type RunningDev, startDev, writeFiles } from "../../test/support/project.ts";

const AGENT = `
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { createDeepAgent } from "deepagents";

/** Streams one character at a time. */
class Slow extends FakeListChatModel {
  bindTools() { return this; }
}
const model = new Slow({ responses: ["${"abcdefghij".repeat(5)}"], sleep: 200 });
export const agent = createDeepAgent({ model, systemPrompt: "You are kind.", subagents: [
  { name: "helper", description: "Helps.", systemPrompt: "Help." },
] });
`;

const AUTH = `
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";
export const auth = new Auth()
  .authenticate(async (request) => {
    const [, identity] = /^Bearer (ann|bob)$/.exec(request.headers.get("authorization") ?? "") ?? [];
    if (!identity) throw new HTTPException(401, { message: "Sign in first." });
    return { identity, permissions: [] };
  })
  .on("*", ({ value, user }) => {
    value.metadata = { ...value.metadata, owner: user.identity };
    return { owner: user.identity };
  });
`;

let folder: string;
let dev: RunningDev | undefined;
beforeAll(async () => {
  const files = {
    "langgraph.json": {
      node_version: "20",
      graphs: { agent: "./src/agent.ts:agent" },
      auth: { path: "./src/auth.ts:auth" },
      http: { app: "./src/app.ts:app" },
      dependencies: ["."],
    },
    "src/agent.ts": AGENT,
    "src/auth.ts": AUTH,
    "src/app.ts": `import { Hono } from "hono";\nexport const app = new Hono().get("/hello", (c) => c.text("of the project"));`,
  };
  folder = await createPackedProject(files, {
    deepagents: "1.14.1",
    hono: "4.13.19",
    langchain: "1.5.14",
    "@langchain/langgraph-sdk": "1.15.0",
  });
  dev = await startDev(folder, `${folder}/node_modules/${NAME}/dist/cli/main.js`);
  await dev.says(/Weir listens on/);
}, 400_000);
afterAll(async () => {
  await dev?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const createClient = (user: string) =>
  new Client({
    apiUrl: dev?.url,
    defaultHeaders: { authorization: `Bearer ${user}` },
    callerOptions: { maxRetries: 0 },
  });

it("authenticates its users, on the routes of both", async () => {
  const { thread_id } = await createClient("ann").threads.create();
  await expect(createClient("eve").threads.create()).rejects.toThrow("Sign in first.");
  await expect(createClient("bob").threads.get(thread_id)).rejects.toMatchObject({ status: 404 });
  const hello = (headers: Record<string, string>) => fetch(`${dev?.url}/hello`, { headers });
  expect((await hello({ authorization: "Bearer eve" })).status).toBe(401);
  expect(await (await hello({ authorization: "Bearer ann" })).text()).toBe("of the project");
});

it("streams to the stock client while a syntax error is made and fixed", async () => {
  const client = createClient("ann");
  const { thread_id } = await client.threads.create();
  const input = { messages: [{ role: "user", content: "hi" }] };
  let said = "";
  let tokens = 0;
  for await (const { event, data } of client.runs.stream(thread_id, "agent", { input, streamMode: "messages-tuple" })) {
    if (event !== "messages") continue;
    const [{ content }] = data as [{ content: string }, unknown];
    said += content;
    tokens += 1;
    if (tokens === 2) writeFiles(folder, { "src/agent.ts": `${AGENT}\nconst = 3` });
    if (tokens !== 30) continue;
    await dev?.says(/src\/agent\.ts:\d+:6/);
    writeFiles(folder, { "src/agent.ts": AGENT });
  }
  expect(said).toBe("abcdefghij".repeat(5));
  expect(tokens).toBe(50);
  const buildError = async () => (await fetch(`${dev?.url}/ok`)).headers.get("x-weir-build-error");
  await expect.poll(buildError, { timeout: 60_000 }).toBeNull();
  expect(await client.threads.getState(thread_id)).toMatchObject({
    values: { messages: [{ content: "hi" }, { content: said }] },
  });
});
