/** Generative UI: the markup that loads a component, and the files that it names. */
import "../../../examples/demo/worker.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { settings } from "../../../src/config.ts";
import { Lazy, uis } from "../../../src/deployment.ts";
import { type Caller, newCaller, send } from "../../support/caller.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
  uis.echo = new Lazy("./ui.tsx:default", async () => ({
    default: { "entrypoint.js": "a()", "entrypoint.css": "b{}" },
  }));
  uis["an agent"] = { "entrypoint.js": "c()" };
});

const post = (name: string, body: unknown) => caller.fetch(`/ui/${name}`, { body, headers: { accept: "text/html" } });

describe("POST /ui/{graph}", () => {
  it("answers the markup of a component", async () => {
    const response = await post("echo", { name: "weather" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/html/);
    expect(await response.text()).toBe(
      `<link rel="stylesheet" href="https://weir.test/ui/echo/entrypoint.css" />\n` +
        `<script src="https://weir.test/ui/echo/entrypoint.js" onload='__LGUI_echo.render("weather", "{{shadowRootId}}")'></script>`,
    );
  });

  it("takes an assistant of the graph", async () => {
    const made = await caller.fetch("/assistants", { body: { graph_id: "echo" } });
    const { assistant_id } = await made.json<{ assistant_id: string }>();
    expect(await (await post(assistant_id, { name: "weather" })).text()).toContain("/ui/echo/entrypoint.js");
    const other = await newCaller();
    expect((await other.fetch(`/ui/${assistant_id}`, { body: { name: "weather" } })).status).toBe(404);
  });

  it("names the file below the deployment's prefix", async () => {
    settings.http.mount_prefix = "/agents";
    const text = await (await caller.fetch("/agents/ui/an%20agent", { body: { name: "x" } })).text();
    settings.http.mount_prefix = undefined;
    expect(text).toContain(
      `src="https://weir.test/agents/ui/an%20agent/entrypoint.js" onload='__LGUI_an_agent.render(`,
    );
  });

  it("escapes a name", async () => {
    const name = `'><script>alert("1")</script>&#39;`;
    const text = await (await post("echo", { name })).text();
    const [, attribute = ""] = /onload='([^']*)'/.exec(text) ?? [];
    const decoded = attribute.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
    expect(decoded).toBe(`__LGUI_echo.render(${JSON.stringify(name)}, "{{shadowRootId}}")`);
    expect(text.match(/<script/g)).toHaveLength(1);
  });

  it.each([
    ["echo", {}, 422],
    ["echo", { name: 1 }, 422],
    ["echo", { name: "" }, 422],
    ["echo", { name: "a\nb" }, 422],
    ["echo", { name: "x".repeat(201) }, 422],
    ["echo", [], 422],
    ["agent", { name: "weather" }, 404],
    ["constructor", { name: "weather" }, 404],
    ["%E0%A4", { name: "weather" }, 404],
  ])("%s %j is %i", async (name, body, status) => {
    expect((await post(name, body)).status).toBe(status);
  });

  it("needs a credential", async () => {
    expect((await send("/ui/echo", { body: { name: "weather" } })).status).toBe(401);
  });
});

describe("GET /ui/{graph}/{file}", () => {
  it.each([
    ["entrypoint.js", "text/javascript; charset=utf-8", "a()"],
    ["entrypoint.css", "text/css; charset=utf-8", "b{}"],
  ])("%s needs no credential, and any site may load it", async (file, type, content) => {
    const response = await send(`/ui/echo/${file}`, { headers: { origin: "https://app.example" } });
    expect(await response.text()).toBe(content);
    expect(response.headers.get("content-type")).toBe(type);
    expect(response.headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const headers = { "if-none-match": response.headers.get("etag") ?? "" };
    const again = await send(`/ui/echo/${file}`, { headers });
    expect([again.status, again.headers.get("cross-origin-resource-policy")]).toEqual([304, "cross-origin"]);
  });

  it.each([
    ["/ui/agent/entrypoint.js", 404],
    ["/ui/echo/other.js", 401],
    ["/ui/echo/constructor", 401],
    ["/ui/echo/..%2Fentrypoint.js", 401],
  ])("%s is %i without a credential", async (path, status) => {
    expect((await send(path)).status).toBe(status);
  });

  it("is no way around the credential of another method's route", async () => {
    expect((await send("/ui/echo/entrypoint.js", { method: "POST", body: {} })).status).toBe(401);
  });
});
