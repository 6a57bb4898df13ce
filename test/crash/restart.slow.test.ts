import { afterAll, beforeAll, expect, it } from "vitest";
import { type KillableServer, startKillable } from "../support/server.ts";

let server: KillableServer;
beforeAll(async () => {
  server = await startKillable();
});
afterAll(() => server.stop());

it("a key outlives a kill -9", async () => {
  const keys = () => fetch(`${server.url}/api/v1/api-keys`, { headers: server.headers });
  const before = await (await keys()).json();
  await server.kill();
  await expect(keys()).rejects.toThrow(/fetch failed/);
  await server.restart();
  expect(await (await keys()).json()).toEqual(before);
});
