import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { type Client, createClient, VERSIONS } from "./clients.ts";

interface Cron {
  cron_id: string;
  [field: string]: unknown;
}

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server.stop());

describe.each(VERSIONS)("crons of client %s", (version) => {
  let client: Client;
  beforeAll(async () => {
    client = createClient(version, await server.startAnother());
  });
  const input = { messages: [{ role: "user", content: "hi" }] };

  it("create, update, delete", async () => {
    const made = (await client.crons.create("echo", {
      schedule: "30 9 * * 1-5",
      input,
      metadata: { m: 1 },
      config: { tags: ["t"] },
      interruptBefore: ["echo"],
      onRunCompleted: "keep",
    })) as unknown as Cron;
    expect(made).toMatchObject({
      assistant_id: "046b5dc7-2108-582c-9c6c-31d556d138f0",
      thread_id: null,
      schedule: "30 9 * * 1-5",
      enabled: true,
      on_run_completed: "keep",
      metadata: { m: 1 },
      payload: { input, interrupt_before: ["echo"], config: { tags: ["t"] } },
      next_run_date: expect.stringMatching(/T09:30:00/),
    });
    const changed = await client.crons.update(made.cron_id, {
      schedule: "0 7 * * *",
      enabled: false,
      endTime: "2999-01-01T00:00:00Z",
    });
    expect(changed).toMatchObject({ schedule: "0 7 * * *", enabled: false, end_time: "2999-01-01T00:00:00.000Z" });
    await client.crons.delete(made.cron_id);
    await expect(client.crons.delete(made.cron_id)).rejects.toThrow("HTTP 404");
    await expect(client.crons.create("echo", { schedule: "often" })).rejects.toThrow("HTTP 422");
  });

  it("createForThread, search, count", async () => {
    const { thread_id } = await client.threads.create();
    const made = (await client.crons.createForThread(thread_id, "echo", {
      schedule: "0 0 1 1 *",
      input,
    })) as unknown as Cron;
    expect(made).toMatchObject({ thread_id, on_run_completed: null });
    const other = (await client.crons.create("agent", { schedule: "0 0 1 1 *", input })) as unknown as Cron;
    const ids = (found: unknown) => (found as Cron[]).map(({ cron_id }) => cron_id);
    expect(ids(await client.crons.search({ threadId: thread_id }))).toEqual([made.cron_id]);
    expect(ids(await client.crons.search({ sortBy: "created_at", sortOrder: "asc" }))).toEqual([
      made.cron_id,
      other.cron_id,
    ]);
    expect(ids(await client.crons.search({ assistantId: "agent", limit: 5, offset: 0 }))).toEqual([other.cron_id]);
    expect(await client.crons.count({ assistantId: other.assistant_id as string })).toBe(1);
    expect(await client.crons.count({ threadId: thread_id })).toBe(1);
    await expect(client.crons.createForThread(crypto.randomUUID(), "echo", { schedule: "* * * * *" })).rejects.toThrow(
      "HTTP 404",
    );
  });
});
