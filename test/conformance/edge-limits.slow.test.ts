import { expect, test } from "vitest";
import { startKillable, startServer, type TestServer, withMain } from "../support/server.ts";

const startCrossing = () => withMain("test/edge-limits/crossing-worker.ts", "crossing");

async function cross(server: TestServer): Promise<void> {
  const answer = await fetch(`${server.url}/cross`);
  expect(await answer.text()).toMatch(/EdgeLimit: D1_ERROR: string or blob too big: SQLITE_TOOBIG/);
}

test("a server's stop fails when a limit was crossed, also when the error was caught", async () => {
  const server = await startServer({}, startCrossing());
  await cross(server);
  expect(await server.crossings()).toMatchObject([{ limit: "value" }]);
  await cross(server);
  await expect(server.stop()).rejects.toThrow(/value: EdgeLimit/);
});

test("also that of a server which was killed since", async () => {
  const server = await startKillable({}, { config: startCrossing() });
  await cross(server);
  // What it printed reaches this process a moment later.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  await server.kill();
  await server.restart();
  await expect(server.stop()).rejects.toThrow(/value: EdgeLimit/);
});

test("each response says how many subrequests it took", async () => {
  const server = await startServer();
  const answer = await fetch(`${server.url}/threads`, { method: "POST", body: "{}", headers: server.headers });
  expect(Number(answer.headers.get("x-weir-test-subrequests"))).toBeGreaterThan(0);
  await server.stop();
});
