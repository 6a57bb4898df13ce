import { Hono } from "hono";
import { expect, it } from "vitest";
import { crossOrigin, hardening, identified } from "../../src/http/middleware.ts";

const answer = async (response: () => Response, cors = {}) => {
  const app = new Hono<{ Bindings: Env }>().use(identified, hardening, crossOrigin(cors)).get("/", response);
  return app.request("/", { headers: { origin: "https://a.example", "x-request-id": "own" } }, {});
};

it("an answer whose headers cannot be changed gets them on a copy", async () => {
  const target = "https://b.example/";
  const { status, headers } = await answer(() => Response.redirect(target), { allow_origins: ["https://a.example"] });
  expect([status, headers.get("location")]).toEqual([302, target]);
  expect(headers.get("x-request-id")).toBe("own");
  expect(headers.get("x-frame-options")).toBe("DENY");
  expect(headers.get("access-control-allow-origin")).toBe("https://a.example");
  expect(headers.get("vary")).toBe("origin");
});

it("headers that the application sets stay, except the request's id", async () => {
  const own = {
    "x-frame-options": "SAMEORIGIN",
    "access-control-allow-origin": "https://c.example",
    "x-request-id": "no",
  };
  const { headers } = await answer(() => new Response("", { headers: own }));
  expect(headers.get("x-frame-options")).toBe("SAMEORIGIN");
  expect(headers.get("access-control-allow-origin")).toBe("https://c.example");
  expect(headers.get("x-request-id")).toBe("own");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
});
