/** The Python samples of /openapi.json send with `requests` what those in TypeScript send with `fetch`. */
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ENV, fetchSamples, type Made, madeByTypeScript, sourceIn } from "../docs/samples.ts";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { FOLDER, program, pythonEnv } from "./support/environment.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer("graphs");
});
afterAll(() => server.stop());

function madeByPython(sources: string[]): Made[] {
  const printed = execFileSync(program("clients", "python"), ["sdk/sample_requests.py"], {
    cwd: FOLDER,
    input: JSON.stringify(sources),
    env: { ...pythonEnv(), ...ENV },
    maxBuffer: 1e8,
  });
  return JSON.parse(printed.toString()) as Made[];
}

/** `requests` encodes more characters of an address than `fetch` is given. */
const decodeUrl = (made: Made): Made => ({ ...made, url: decodeURIComponent(made.url) });

it("Python and TypeScript make the same request", async () => {
  const routes = await fetchSamples(server.url);
  const byTypeScript = await Promise.all(routes.map((route) => madeByTypeScript(sourceIn(route, "TypeScript"))));
  const byPython = madeByPython(routes.map((route) => sourceIn(route, "Python")));
  expect(byPython.map(decodeUrl)).toEqual(byTypeScript.map(decodeUrl));
});
