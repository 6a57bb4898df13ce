/** Runs the smoke suite against a local server behind a proxy: it passes, cleans up, and detects faults. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { Api } from "../support/api.ts";
import { type Proxy, startProxy } from "../support/proxy.ts";
import { startServer, type TestServer } from "../support/server.ts";

let proxy: Proxy;
let server: TestServer;
beforeAll(async () => {
  proxy = await startProxy();
  server = await startServer({ AUTH: "key", PUBLIC_URL: proxy.url, OFFLINE_MODEL_DELAY_MS: "5" });
  proxy.target = server.url;
});
afterEach(() => {
  proxy.meddle = () => undefined;
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

interface Result {
  code: number | null;
  lines: string[];
}

/** Runs the suite in its own process, as users do. */
async function smoke(key: string, ...more: string[]): Promise<Result> {
  const main = join(import.meta.dirname, "../../tools/smoke/main.ts");
  const child = spawn(process.execPath, [main, "--url", proxy.url, "--key", key, ...more]);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, lines: said.split("\n") };
}

const filterLines = ({ lines }: Result, start: string) => lines.filter((line) => line.startsWith(start));

it("passes every check and cleans up everything else than it lists", async () => {
  const result = await smoke(server.key);
  expect([filterLines(result, "FAILED"), filterLines(result, "not run")]).toEqual([[], []]);
  expect(result.code).toBe(0);
  expect(filterLines(result, "ok ").length).toBeGreaterThan(30);

  const api = new Api(server.url, { ...server.headers, "x-tenant-id": server.workspaceId });
  expect(await api.post<unknown[]>("/threads/search", {})).toEqual([]);
  const assistants = await api.post<{ metadata: object }[]>("/assistants/search", { limit: 100 });
  for (const { metadata } of assistants) expect(metadata).toMatchObject({ created_by: "system" });
  expect(await api.post("/runs/crons/count", {})).toBe(0);
  expect(await api.post("/store/items/search", { namespace_prefix: [] })).toEqual({ items: [] });
  expect(await api.get("/api/v1/bulk-exports/destinations")).toEqual([]);
  const projects = await api.get<{ name: string }[]>("/api/v1/sessions");
  expect(projects.map(({ name }) => name)).toEqual(["default"]);
  const said = result.lines.join("\n");
  const exported = await api.get<{ id: string }[]>("/api/v1/bulk-exports");
  expect(exported).toHaveLength(1);
  for (const { id } of exported) expect(said).toContain(`the record of the export ${id}`);
  expect(said).toMatch(/the OAuth client \S+, which the server removes/);
  expect(said).toContain("the traces of the runs over A2A, MCP");
});

it("lists the checks that need missing demo graphs", async () => {
  // The check of the key reads the graphs of the deployment. It gets one that no check of runs uses.
  const own = JSON.stringify([{ assistant_id: crypto.randomUUID(), graph_id: "research", metadata: {} }]);
  let first = true;
  proxy.meddle = ({ url, headers }) => {
    if (url !== "/assistants/search" || headers["x-api-key"] !== server.key || !first) return undefined;
    first = false;
    return { status: 200, body: own };
  };
  const result = await smoke(server.key, "--no-exports");
  expect(filterLines(result, "FAILED")).toEqual([]);
  expect(result.code).toBe(0);
  expect(filterLines(result, "not run")).toContain('not run  runs: wait: the deployment has no graph "echo"');
  expect(filterLines(result, "not run")).toContain(
    "not run  exports: a project to the embedded bucket: switched off by --no-exports",
  );
  expect(filterLines(result, "ok ")).toContainEqual(expect.stringContaining("assistants: create, versions"));
});

/** Faults of a deployment, and the check that detects each. One run has them all: no check depends on another's. */
const FAULTS: { check: string; meddle: Proxy["meddle"] }[] = [
  {
    check: "runs: replay by Last-Event-ID",
    meddle: ({ headers }) => void delete headers["last-event-id"],
  },
  {
    check: "streaming protocol: a run with a tool call over a WebSocket",
    meddle: ({ headers }) => (headers.upgrade === undefined ? undefined : { status: 502, body: "{}" }),
  },
  {
    check: "page: / and its script",
    meddle: ({ url }) => (url === "/" ? { status: 404, body: "{}" } : undefined),
  },
  {
    check: "cleanup: thread",
    meddle: ({ method, url = "" }) =>
      method === "DELETE" && url.startsWith("/threads/") ? { status: 500, body: "{}" } : undefined,
  },
];

it("detects a proxy that drops headers or WebSockets, a missing page, and threads that cannot be deleted", async () => {
  proxy.meddle = (call) => {
    for (const { meddle } of FAULTS) {
      const answer = meddle(call);
      if (answer) return answer;
    }
    return undefined;
  };
  const result = await smoke(server.key, "--no-exports");
  for (const { check } of FAULTS) expect(filterLines(result, "FAILED")).toContainEqual(expect.stringContaining(check));
  expect(result.code).toBe(1);
});

it("stops when the key is refused", async () => {
  const result = await smoke("weir_wrong");
  expect(filterLines(result, "FAILED")).toEqual([expect.stringContaining("keys: the key is accepted")]);
  expect(filterLines(result, "not run")).toContain("not run  runs: wait: the key was refused");
  expect(result.code).toBe(1);
});
