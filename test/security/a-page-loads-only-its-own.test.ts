/** `/docs` runs and shows nothing but its own files, and allows nothing inline. */
import { expect, it } from "vitest";
import { send } from "../support/caller.ts";

it("/docs has a policy that allows no inline style, no inline script and no image", async () => {
  const page = await send("/docs");
  const policy = page.headers.get("content-security-policy") ?? "";
  expect(policy.split("; ")).toEqual([
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
  const html = await page.text();
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=|<img/i);
  const files = [...html.matchAll(/(?:src|href)="(\/docs[^"]+)"/g)].map(([, path = ""]) => path);
  const types = await Promise.all(
    files.map(async (path) => {
      const file = await send(path);
      await file.text();
      return [file.status, file.headers.get("content-type"), file.headers.get("x-content-type-options")];
    }),
  );
  expect(types).toEqual([
    [200, "text/css; charset=utf-8", "nosniff"],
    [200, "text/javascript; charset=utf-8", "nosniff"],
  ]);
});

it("the script of /docs sets no inline style and no markup", async () => {
  const script = await (await send("/docs/script.js")).text();
  expect(script).toContain("openapi.json");
  expect(script).not.toMatch(/innerHTML|insertAdjacentHTML|\.style\b|document\.write|eval\(/);
});
