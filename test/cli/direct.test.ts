/** Which requests skip the search for a file of the page under `weir dev`. */
import { expect, it } from "vitest";
import { skipsAssets } from "../../src/cli/dev/forward.ts";
import type { MiniflareConfig } from "../../src/cli/dev/config.ts";

const withRules = (user_worker: string[], asset_worker: string[] = []): MiniflareConfig =>
  ({ workerOptions: { assets: { routerConfig: { static_routing: { user_worker, asset_worker } } } } }) as never;
const RULES = withRules(["/threads", "/threads/*", "/a*b/*", "/mcp"]);

it.each([
  ["/threads", true],
  ["/threads?limit=1", true],
  ["/threads/1/runs", true],
  ["/mcp", true],
  ["/mcp/1", false],
  ["/threadsx", false],
  ["/", false],
  ["/axb/1", false],
  ["/threads/../index.html", false],
  ["/cdn-cgi/local/scheduled", false],
])("%s: %s", (url, expected) => {
  expect(skipsAssets(RULES)({ url, headers: {} })).toBe(expected);
});

it("leaves a request to Miniflare that says its scheme", () => {
  expect(skipsAssets(RULES)({ url: "/threads", headers: { "x-forwarded-proto": "https" } })).toBe(false);
});

it("leaves all to Miniflare where rules have exceptions, and none where there are no files", () => {
  expect(skipsAssets(withRules(["/*"], ["/threads/docs"]))({ url: "/threads", headers: {} })).toBe(false);
  const bare = skipsAssets({ workerOptions: {} } as never);
  expect(bare({ url: "/x", headers: {} })).toBe(true);
  expect(bare({ url: "/cdn-cgi/x", headers: {} })).toBe(false);
});
