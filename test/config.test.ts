import { exports } from "cloudflare:workers";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { createApp } from "../src/app.ts";
import { readSettings } from "../src/config.ts";
import { crossOrigin } from "../src/http/middleware.ts";

describe("langgraph.json", () => {
  it("with a key that Weir does not know is refused by its name", () => {
    expect(() => readSettings({ htpp: {} })).toThrow('"htpp" is not a known key');
    expect(() => readSettings({ http: { disable_a2: true, disable_runs: true } })).toThrow('"http.disable_a2" is not');
    expect(() => readSettings({ http: { cors: { origins: [] } } })).toThrow('"http.cors.origins" is not');
    expect(() => readSettings({ http: { disable_a2a: "yes" } })).toThrow('"http.disable_a2a"');
    expect(() => readSettings({ http: { cors: { allow_credentials: true, allow_origins: ["*"] } } })).toThrow(
      "by name",
    );
  });
});

describe("a switch", () => {
  /** The paths that the app has with this `http` configuration. */
  function pathsWith(http: object): string[] {
    const app = createApp(readSettings({ http }));
    return app.routes.filter(({ path }) => !path.endsWith("*")).map(({ method, path }) => `${method} ${path}`);
  }

  it.each([
    ["disable_a2a", ["POST /a2a/:assistant_id", "GET /.well-known/agent-card.json"], "POST /threads"],
    ["disable_agui", ["POST /agui/:assistant_id", "POST /agui/:assistant_id/connect"], "POST /a2a/:assistant_id"],
    ["disable_mcp", ["POST /mcp", "POST /mcp/traces"], "POST /a2a/:assistant_id"],
    ["disable_assistants", ["POST /assistants", "POST /assistants/search"], "POST /threads"],
    ["disable_threads", ["POST /threads", "POST /threads/search"], "POST /runs/stream"],
    ["disable_runs", ["POST /runs/stream", "POST /threads/:thread_id/runs"], "POST /runs/multipart"],
    ["disable_store", ["PUT /store/items"], "POST /threads"],
    ["disable_ui", ["POST /ui/:assistant_id", "GET /ui/:assistant_id/:file"], "POST /threads"],
  ])("%s takes its routes away, and no other", (name, gone, kept) => {
    const paths = pathsWith({ [name]: true });
    for (const path of gone) expect(paths).not.toContain(path);
    expect(paths).toContain(kept);
  });

  it("leaves everything on by default", async () => {
    expect(
      (await exports.default.fetch("https://weir.test/.well-known/agent-card.json?assistant_id=echo")).status,
    ).toBe(200);
  });
});

describe("cors", () => {
  const answer = async (settings: object, origin: string, bindings: object = {}) => {
    const app = new Hono<{ Bindings: Env }>().use(crossOrigin(settings)).get("/", (c) => c.text(""));
    return app.request("/", { headers: { origin } }, bindings);
  };
  const readAllowedOrigin = async (...of: Parameters<typeof answer>) =>
    (await answer(...of)).headers.get("access-control-allow-origin");

  it("lets in the origins named, those of the pattern, or all", async () => {
    expect(await readAllowedOrigin({}, "https://a.example")).toBe("*");
    expect(await readAllowedOrigin({ allow_origins: ["https://a.example"] }, "https://a.example")).toBe(
      "https://a.example",
    );
    expect(await readAllowedOrigin({ allow_origins: ["https://a.example"] }, "https://b.example")).toBeNull();
    const pattern = { allow_origin_regex: "https://.*\\.a\\.example" };
    expect(await readAllowedOrigin(pattern, "https://x.a.example")).toBe("https://x.a.example");
    expect(await readAllowedOrigin(pattern, "https://x.a.example.evil")).toBeNull();
    expect(
      await readAllowedOrigin({ allow_origins: ["https://a.example"] }, "https://a.example", {
        CORS_ORIGINS: "https://b.example",
      }),
    ).toBeNull();
  });

  it("exposes and allows what is configured", async () => {
    const settings = { allow_origins: ["https://a.example"], allow_credentials: true, expose_headers: ["x-mine"] };
    const { headers } = await answer(settings, "https://a.example");
    expect(headers.get("access-control-allow-credentials")).toBe("true");
    expect(headers.get("access-control-expose-headers")).toContain("x-mine");
  });
});
