/** `feedback_keys` with the stock LangGraph clients, and presigned links and configs with the unmodified LangSmith client. */
import { Client } from "langsmith";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { createClient, VERSIONS } from "./clients.ts";

let server: TestServer;
let langsmith: Client;
beforeAll(async () => {
  server = await sharedServer();
  langsmith = new Client({ apiUrl: server.url, apiKey: server.key });
});
afterAll(() => server.stop());

async function collectAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe.each(VERSIONS)("client %s", (version) => {
  it("runs.stream ends with the links, and what a person gives by one is on the run's trace", async () => {
    const { threads, runs } = createClient(version, server);
    const { thread_id } = await threads.create();
    const input = { messages: [{ role: "user", content: "hi" }] };
    const events = await collectAll(
      runs.stream(thread_id, "echo", { input, streamMode: "values", feedbackKeys: ["liked", "stars"] }),
    );
    const last = events.at(-1) as { event: string; data: Record<string, string> };
    expect([last.event, Object.keys(last.data)]).toEqual(["feedback", ["liked", "stars"]]);
    expect(last.data.liked).toContain(`${server.url}/api/v1/feedback/tokens/`);
    const body = JSON.stringify({ score: 1, comment: "good" });
    const given = await fetch(last.data.liked ?? "", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    expect(given.status).toBe(200);
    expect((await fetch(`${last.data.stars}?score=4`)).status).toBe(200);
    const { run_id } = (events[0] as { data: { run_id: string } }).data;
    await vi.waitFor(
      async () => {
        const { feedback_stats, parent_run_id } = await langsmith.readRun(run_id);
        expect(parent_run_id ?? null).toBeNull();
        expect(feedback_stats).toMatchObject({ liked: { n: 1, avg: 1 }, stars: { n: 1, avg: 4 } });
      },
      { timeout: 10_000, interval: 50 },
    );
    const listed = await collectAll(langsmith.listFeedback({ runIds: [run_id] }));
    expect(listed.map(({ key, score, comment }) => [key, score, comment])).toEqual([
      ["stars", 4, null],
      ["liked", 1, "good"],
    ]);
    const links = await collectAll(langsmith.listPresignedFeedbackTokens(run_id));
    expect(new Set(links.map(({ url }) => url))).toEqual(new Set(Object.values(last.data)));
  });
});

describe("the LangSmith client", () => {
  it("makes links that last as long as it says", async () => {
    const runId = crypto.randomUUID();
    const hours = (token: { expires_at: string }) => (Date.parse(token.expires_at) - Date.now()) / 3_600_000;
    expect(hours(await langsmith.createPresignedFeedbackToken(runId, "a"))).toBeCloseTo(3, 1);
    const day = await langsmith.createPresignedFeedbackToken(runId, "b", { expiration: { days: 1 } });
    expect(hours(day)).toBeCloseTo(24, 1);
    const until = new Date(Date.now() + 5 * 864e5).toISOString();
    const later = await langsmith.createPresignedFeedbackToken(runId, "c", { expiration: until });
    expect(later.expires_at).toBe(until);
    expect(await collectAll(langsmith.listPresignedFeedbackTokens(runId))).toHaveLength(3);
  });

  it("keeps feedback configs", async () => {
    const feedbackConfig = { type: "continuous" as const, min: 0, max: 1 };
    const made = await langsmith.createFeedbackConfig({ feedbackKey: "quality", feedbackConfig });
    expect(made).toMatchObject({ feedback_key: "quality", feedback_config: feedbackConfig });
    expect(await langsmith.createFeedbackConfig({ feedbackKey: "quality", feedbackConfig })).toEqual(made);
    const other = { feedbackKey: "quality", feedbackConfig: { ...feedbackConfig, max: 2 } };
    await expect(langsmith.createFeedbackConfig(other)).rejects.toThrow("400");
    const changed = await langsmith.updateFeedbackConfig("quality", { isLowerScoreBetter: true });
    expect(changed).toMatchObject({ feedback_config: feedbackConfig, is_lower_score_better: true });
    const named = { feedbackKeys: ["quality"], nameContains: "qual", limit: 5 };
    expect(await collectAll(langsmith.listFeedbackConfigs(named))).toEqual([changed]);
    await langsmith.deleteFeedbackConfig("quality");
    expect(await collectAll(langsmith.listFeedbackConfigs())).toEqual([]);
  });
});
