import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";
import { newThread, parseFrames, say, stream } from "../threads/client.ts";

interface Description {
  paths: Record<string, Record<string, { parameters?: { in: string; name: string }[] }>>;
}

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

/** What a GET answers, without what differs from one request to the next. */
async function answerTo(path: string): Promise<{ status: number; text: string }> {
  const response = await caller.fetch(path);
  const text = response.headers.get("content-type")?.startsWith("application/") ? await response.text() : "";
  await response.body?.cancel().catch(() => undefined);
  return { status: response.status, text: response.status === 200 ? "" : text };
}

describe("a query parameter with an empty value is absent", () => {
  it("on every documented GET", async () => {
    const { paths } = await (await caller.fetch("/openapi.json")).json<Description>();
    let compared = 0;
    for (const [template, { get }] of Object.entries(paths)) {
      const names = get?.parameters?.filter((one) => one.in === "query").map(({ name }) => `${name}=`) ?? [];
      if (names.length === 0) continue;
      const path = template.replaceAll(/\{\w+\}/g, crypto.randomUUID());
      expect([path, await answerTo(`${path}?${names.join("&")}`)]).toEqual([path, await answerTo(path)]);
      compared++;
    }
    expect(compared).toBeGreaterThan(15);
  });

  it("where a client joins the stream of a run", async () => {
    const thread = await newThread(caller);
    await stream(caller, thread, { assistant_id: "echo", input: say("hi"), stream_mode: "updates" });
    const [run] = await (await caller.fetch(`/threads/${thread}/runs`)).json<{ run_id: string }[]>();
    const joined = await caller.fetch(
      `/threads/${thread}/runs/${run?.run_id}/stream?cancel_on_disconnect=0&stream_mode=&checkpoint_id=&namespace=`,
    );
    expect(joined.status).toBe(200);
    expect(parseFrames(await joined.text()).map(({ event }) => event)).toContain("updates");
  });
});
