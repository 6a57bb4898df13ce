/** The code samples of /openapi.json make requests that their routes take. test/python/samples.test.ts has those in Python. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { type Described, fetchSamples, ENV, type Made, madeByCurl, madeByTypeScript, sourceIn } from "./samples.ts";
import { itThorough } from "../support/thorough-test.ts";

let server: TestServer;
let routes: Described[];
beforeAll(async () => {
  server = await sharedServer();
  routes = await fetchSamples(server.url);
});
afterAll(() => server.stop());

it("every route has samples for curl, TypeScript and Python", () => {
  expect(routes.length).toBeGreaterThan(200);
  const langs = routes.map(({ samples }) => samples.map(({ lang }) => lang).join());
  expect(new Set(langs)).toEqual(new Set(["Shell,TypeScript,Python"]));
});

it("curl and TypeScript make the same request", async () => {
  const byCurl = madeByCurl(routes.map((route) => sourceIn(route, "Shell")));
  const byTypeScript = await Promise.all(routes.map((route) => madeByTypeScript(sourceIn(route, "TypeScript"))));
  expect(byCurl).toEqual(byTypeScript);
});

/** Steps of a sign-in that was never begun, and the method that MCP's clients try and expect to fail. */
const REFUSED = /^(GET|POST) \/oauth\/(authorize|token|openid\/[\w-]+)$|^GET \/mcp(\/traces)?$/;

itThorough("no route refuses the request as malformed", async () => {
  const refused: string[] = [];
  for (const route of routes) {
    const name = `${route.method.toUpperCase()} ${route.path}`;
    const response = await call(await madeByTypeScript(sourceIn(route, "TypeScript")));
    const bad = [400, 401, 405, 413, 415, 422].includes(response.status) || response.status >= 500;
    if (bad && !REFUSED.test(name)) refused.push(`${name}: ${response.status} ${await response.text()}`);
    else await response.body?.cancel();
  }
  expect(refused).toEqual([]);
});

function call({ method, url, key, kind, body }: Made): Promise<Response> {
  return fetch(url.replace(ENV.WEIR_URL, server.url), {
    method,
    headers: {
      ...(key && { "x-api-key": server.key }),
      ...(kind === "json" && { "content-type": "application/json" }),
    },
    body: encodeBody(kind, body),
  });
}

function encodeBody(kind: Made["kind"], body: unknown): RequestInit["body"] {
  if (kind === "none") return undefined;
  if (kind === "json") return JSON.stringify(body);
  if (kind === "form") return new URLSearchParams(body as Record<string, string>);
  const form = new FormData();
  for (const [name, part] of Object.entries(body as object)) {
    form.append(name, new Blob([JSON.stringify(part)], { type: "application/json" }));
  }
  return form;
}
