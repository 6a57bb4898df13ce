/** An address that no route has, for a person who follows a link and for a program. */
import { expect, it } from "vitest";
import { newCaller, send } from "../support/caller.ts";

const LINK = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

it("is a page for a browser, also without a key, and a problem for a program", async () => {
  const caller = await newCaller();
  for (const response of [await send("/nope", { headers: LINK }), await caller.fetch("/nope", { headers: LINK })]) {
    expect([response.status, response.headers.get("content-type")]).toEqual([404, "text/html; charset=UTF-8"]);
    expect(await response.text()).toContain('<a href="/">');
  }
  const problem = await caller.fetch("/nope");
  expect(problem.headers.get("content-type")).toBe("application/problem+json");
  expect((await send("/nope")).status).toBe(401);
  // A route is refused as before.
  expect((await send("/threads/x", { headers: LINK })).status).toBe(401);
});
