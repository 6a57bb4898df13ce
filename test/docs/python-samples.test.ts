import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { fetchSamples, madeByPython, madeByTypeScript, sourceIn } from "./samples.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server.stop());

it("Python and TypeScript make the same request", async () => {
  const routes = await fetchSamples(server.url);
  const byTypeScript = await Promise.all(routes.map((route) => madeByTypeScript(sourceIn(route, "TypeScript"))));
  expect(madeByPython(routes.map((route) => sourceIn(route, "Python")))).toEqual(byTypeScript);
});
