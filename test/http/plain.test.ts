/** Errors for clients that accept text and no JSON. */
import { expect, it } from "vitest";
import { newCaller } from "../support/caller.ts";

const UNKNOWN = "/assistants/00000000-0000-4000-8000-00000000dead";

it.each(["text/plain", "text/plain, */*;q=0.1"])("an error is a sentence where %s is accepted", async (accept) => {
  const caller = await newCaller();
  const answer = await caller.fetch(UNKNOWN, { headers: { accept } });
  expect(answer.status).toBe(404);
  expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(answer.headers.get("access-control-allow-origin")).toBe("*");
  expect(await answer.text()).toBe("Assistant not found.");
});

it.each(["*/*", "application/json, text/plain, */*", "application/problem+json, text/plain"])(
  "an error is a problem where %s is accepted",
  async (accept) => {
    const caller = await newCaller();
    const answer = await caller.fetch(UNKNOWN, { headers: { accept } });
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    const message = "HTTP 404: Assistant not found.";
    expect(await answer.json()).toMatchObject({ status: 404, detail: "Assistant not found.", message });
  },
);

it("an answer that is no error stays JSON", async () => {
  const caller = await newCaller();
  const answer = await caller.fetch("/assistants/echo", { headers: { accept: "text/plain" } });
  expect(await answer.json()).toMatchObject({ graph_id: "echo" });
});
