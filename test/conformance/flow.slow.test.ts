/** Unmodified clients of a server with flow control: what waits is pending and says its place, and its stream begins in its turn. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startServer, type TestServer } from "../support/server.ts";
import { type Client, createClient, VERSIONS } from "./clients.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ OFFLINE_MODEL_DELAY_MS: "20" });
  const headers = { ...server.headers, "content-type": "application/json" };
  const body = JSON.stringify({ key: "metadata.team", concurrency: 1 });
  await fetch(`${server.url}/api/v1/flow/rules/teams`, { method: "PUT", headers, body });
});
afterAll(() => server.stop());

const say = (content: string) => ({ messages: [{ role: "user", content }] });

describe.each(VERSIONS)("@langchain/langgraph-sdk %s", (version) => {
  let client: Client;
  let team: string;
  beforeAll(() => {
    client = createClient(version, server);
    team = crypto.randomUUID();
  });

  it("sees a run wait with its place, and streams it from its turn on", async () => {
    const [first, second, third] = await Promise.all(
      [1, 2, 3].map(async () => (await client.threads.create()).thread_id),
    );
    const metadata = { team };
    const input = say("count to 2000");
    const working = await client.runs.create(first!, "agent", { input, metadata });
    await expect.poll(async () => (await client.runs.get(first!, working.run_id)).status).toBe("running");
    const waiting = await client.runs.create(second!, "agent", { input: say("hello"), metadata });
    expect(waiting.status).toBe("pending");
    const readRun = () => client.runs.get(second!, waiting.run_id);
    await expect.poll(readRun).toMatchObject({
      status: "pending",
      position: 1,
      waiting_for: [{ rule: "teams", key: team, reason: "concurrency" }],
    });
    expect(await client.runs.list(second!)).toMatchObject([{ status: "pending", position: 1 }]);
    expect((await client.threads.get(second!)).status).toBe("busy");

    const events: string[] = [];
    const stream = client.runs.stream(third!, "echo", { input: say("third"), metadata, streamMode: ["values"] });
    const streaming = (async () => {
      for await (const { event } of stream) events.push(event);
    })();
    const joined = client.runs.join(second!, waiting.run_id);
    await expect.poll(async () => (await client.runs.list(third!))[0]).toMatchObject({ position: 2 });
    expect(events).toEqual([]);

    await client.runs.cancel(first!, working.run_id, true);
    expect(await joined).toMatchObject({ messages: [{ content: "hello" }, {}] });
    await streaming;
    expect(events).toEqual(["metadata", "values", "values"]);
    expect(await readRun()).not.toHaveProperty("position");
    expect((await client.runs.get(first!, working.run_id)).status).toBe("interrupted");
  });

  it("cancels a run that waits", async () => {
    const [first, second] = await Promise.all([1, 2].map(async () => (await client.threads.create()).thread_id));
    const metadata = { team: crypto.randomUUID() };
    const working = await client.runs.create(first!, "agent", { input: say("count to 2000"), metadata });
    const waiting = await client.runs.create(second!, "agent", { input: say("hello"), metadata });
    await expect.poll(() => client.runs.get(second!, waiting.run_id)).toMatchObject({ position: 1 });
    await client.runs.cancel(second!, waiting.run_id, true);
    expect((await client.runs.get(second!, waiting.run_id)).status).toBe("interrupted");
    await client.runs.cancel(first!, working.run_id, true);
  });
});
