import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { logError, requestId } from "../../src/lib/log.ts";
import worker from "../../examples/demo/worker.ts";
import { newCaller, send } from "../support/caller.ts";

afterEach(() => vi.restoreAllMocks());

it("every answer has an x-request-id: the caller's, or a new one", async () => {
  const caller = await newCaller();
  const readRequestId = async (path: string, given?: string) => {
    const response = await caller.fetch(path, given === undefined ? {} : { headers: { "x-request-id": given } });
    await response.text();
    return response.headers.get("x-request-id");
  };
  expect(await readRequestId("/ok", "from-the-client:7")).toBe("from-the-client:7");
  expect(await readRequestId("/nothing/here", "a")).toBe("a");
  expect(await readRequestId("/threads/no-uuid/state", "b")).toBe("b");
  const [first, second] = [await readRequestId("/info"), await readRequestId("/info")];
  expect(first).toMatch(/^[\da-f-]{36}$/);
  expect(second).not.toBe(first);
  for (const unfit of ["with spaces", "x".repeat(201), "<script>"])
    expect(await readRequestId("/info", unfit)).not.toBe(unfit);
  const refused = await send("/threads", { method: "POST", headers: { "x-request-id": "c" } });
  expect([refused.status, refused.headers.get("x-request-id")]).toEqual([401, "c"]);
});

it("a part of the requests is logged, by their routes: paths may hold secrets", async () => {
  const caller = await newCaller();
  const lines = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const readLogged = async (rate: string | undefined) => {
    lines.mockClear();
    const url = `https://weir.example/threads/${crypto.randomUUID()}/state?secret=1`;
    const headers = { "x-api-key": caller.key, "x-request-id": "a" };
    const request = new Request(url, { headers }) as Parameters<typeof worker.fetch>[0];
    await worker.fetch(request, { ...env, REQUEST_LOG_RATE: rate }, createExecutionContext());
    return lines.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
  };
  const line = { level: "info", request_id: "a", method: "GET", route: "/threads/:thread_id/state", status: 404 };
  expect(await readLogged("1")).toEqual([{ ...line, ms: expect.any(Number) as number }]);
  expect(await readLogged("0")).toEqual([]);
  vi.spyOn(Math, "random").mockReturnValue(0.049);
  expect(await readLogged(undefined)).toHaveLength(1);
  vi.spyOn(Math, "random").mockReturnValue(0.05);
  expect(await readLogged(undefined)).toEqual([]);
});

it("log lines of a request have its id", () => {
  const lines = vi.spyOn(console, "error").mockImplementation(() => undefined);
  requestId.run("from-the-client", () => logError(new Error("It broke.")));
  logError("It broke elsewhere.");
  const logged = lines.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
  expect(logged.map(({ request_id }) => request_id)).toEqual(["from-the-client", undefined]);
});
