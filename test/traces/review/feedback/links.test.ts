/** Presigned links for feedback: of a run that requested them, made with a key, and what they do not let through. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { housekeeping } from "../../../../src/system/housekeeping.ts";
import { type Caller, newCaller, send } from "../../../support/caller.ts";
import { NOON, sentRun } from "../../../support/traces.ts";
import { get, newThread, parseFrames, say, stream } from "../../../threads/client.ts";

interface Feedback {
  run_id: string;
  key: string;
  score: number | null;
  comment: string | null;
  value: unknown;
  feedback_source: { type: string; metadata?: object };
}
interface Token {
  id: string;
  url: string;
  expires_at: string;
  feedback_key: string;
}

let caller: Caller;
beforeAll(async () => void (caller = await newCaller()));

const ORIGIN = "https://weir.test";
const path = (url: string) => url.slice(ORIGIN.length);
const feedbackOn = async (runId: string, by = caller) => get<Feedback[]>(by, `/feedback?run=${runId}`);

/** A trace run of the caller's, and a link for it. */
async function createTraced(by = caller): Promise<string> {
  const run = sentRun(NOON);
  const sent = await by.fetch("/runs/batch", { body: { post: [run], patch: [] } });
  expect(sent.status).toBe(202);
  return run.id;
}

async function link(runId: string, more: object = {}, by = caller): Promise<Token> {
  const made = await by.fetch("/feedback/tokens", { body: { run_id: runId, feedback_key: "liked", ...more } });
  expect(made.status).toBe(200);
  return made.json<Token>();
}

describe("a run with feedback_keys", () => {
  const body = { assistant_id: "echo", input: say("hi"), feedback_keys: ["liked", "disliked", "liked"] };

  it("ends its stream with a link for each key, by which anyone can give feedback on its trace", async () => {
    const thread = await newThread(caller);
    const frames = await stream(caller, thread, body);
    expect(frames.map(({ event }) => event)).toEqual(["metadata", "values", "values", "feedback"]);
    const links = frames.at(-1)?.data as Record<string, string>;
    expect(Object.keys(links)).toEqual(["liked", "disliked"]);
    expect(links.liked).toMatch(/^https:\/\/weir\.test\/api\/v1\/feedback\/tokens\/[0-9a-f-]{36}$/);
    // At once: the trace may still be on its way.
    const given = await send(path(links.liked ?? ""), { body: { score: 1, comment: "yes" } });
    expect([given.status, await given.json()]).toEqual([200, { message: "Feedback received" }]);

    const runId = String(frames[0]?.data.run_id);
    expect(await feedbackOn(runId)).toMatchObject([{ run_id: runId, key: "liked", score: 1, comment: "yes" }]);
    await vi.waitFor(
      async () => {
        const root = await get<{ name: string; feedback_stats: object }>(caller, `/api/v1/runs/${runId}`);
        expect(root).toMatchObject({ parent_run_id: null, feedback_stats: { liked: { n: 1, avg: 1 } } });
      },
      { timeout: 10_000, interval: 50 },
    );
    const listed = await get<Token[]>(caller, `/feedback/tokens?run_id=${runId}`);
    expect(new Set(listed.map(({ url }) => url))).toEqual(new Set(Object.values(links)));
  });

  it("gives the same links to readers that join it later, in any mode, and to the thread's stream", async () => {
    const thread = await newThread(caller);
    const frames = await stream(caller, thread, { ...body, stream_mode: ["updates"] });
    const joined = await caller.fetch(`/threads/${thread}/runs/${String(frames[0]?.data.run_id)}/stream`);
    const [last, again] = [frames.at(-1), parseFrames(await joined.text()).at(-1)];
    expect(last?.event).toBe("feedback");
    expect(again).toEqual(last);
  });

  it("of a stateless run and of one that pauses gives them too", async () => {
    const alone = parseFrames(await (await caller.fetch("/runs/stream", { body })).text());
    expect(alone.at(-1)?.event).toBe("feedback");
    const asks = { assistant_id: "approval", input: say("Write to ada@example.com: hi"), feedback_keys: "ok" };
    const paused = await stream(caller, await newThread(caller), asks);
    expect(paused.at(-1)).toMatchObject({ event: "feedback", data: { ok: expect.stringContaining("/tokens/") } });
  });

  it("that lost its object on the way gives them once, and they work", async () => {
    const thread = await newThread(caller);
    const slow = { ...body, assistant_id: "agent", input: say("What is 17 * 23?") };
    const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body: slow })).json<{ run_id: string }>();
    for (let i = 0; i < 2; i++) {
      await new Promise((resolve) => setTimeout(resolve, 40));
      await abortAllDurableObjects();
      await caller.fetch(`/threads/${thread}`);
    }
    const frames = parseFrames(await (await caller.fetch(`/threads/${thread}/runs/${run_id}/stream`)).text());
    const given = frames.filter(({ event }) => event === "feedback");
    expect(given).toEqual([frames.at(-1)]);
    expect((await send(`${path(String(given[0]?.data.liked))}?score=1`)).status).toBe(200);
    expect(await feedbackOn(run_id)).toMatchObject([{ key: "liked", score: 1 }]);
  });

  it("that fails gives none", async () => {
    const failing = { ...body, assistant_id: "agent", input: say("What is 17 * 23?"), config: { recursion_limit: 1 } };
    const events = (await stream(caller, await newThread(caller), failing)).map(({ event }) => event);
    expect(events.at(-1)).toBe("error");
    expect(events).not.toContain("feedback");
  });

  it.each([[[""]], [["x".repeat(181)]], [[1]], [Array.from({ length: 51 }, (_, n) => `k${n}`)]])(
    "refuses keys that cannot be: %j",
    async (feedback_keys) => {
      const refused = await caller.fetch("/runs/stream", { body: { ...body, feedback_keys } });
      expect(refused.status).toBe(422);
    },
  );
});

describe("a link", () => {
  it("is made alone or with others, and listed until it expires", async () => {
    const runId = await createTraced();
    const one = await link(runId, { expires_in: { minutes: 5 } });
    expect(one).toEqual({
      id: one.id,
      url: `${ORIGIN}/api/v1/feedback/tokens/${one.id}`,
      expires_at: expect.any(String),
      feedback_key: "liked",
    });
    const later = new Date(Date.now() + 864e5).toISOString();
    const asked = ["a", "b"].map((feedback_key) => ({ run_id: runId, feedback_key, expires_at: later }));
    const more = await (await caller.fetch("/api/v1/feedback/tokens", { body: asked })).json<Token[]>();
    expect(more.map(({ feedback_key, expires_at }) => [feedback_key, expires_at])).toEqual([
      ["a", later],
      ["b", later],
    ]);
    const naive = await link(runId, { feedback_key: "c", expires_at: later.replace("Z", "000") });
    expect(naive.expires_at).toBe(later);
    const listTokens = async (query = "") => get<Token[]>(caller, `/feedback/tokens?run_id=${runId}${query}`);
    expect((await listTokens())[0]).toEqual(one);
    expect(new Set((await listTokens()).map(({ id }) => id))).toEqual(
      new Set([one, ...more, naive].map(({ id }) => id)),
    );
    expect(await listTokens("&limit=1&offset=4")).toEqual([]);
    await env.DB.prepare("UPDATE feedback_tokens SET expires_at = ? WHERE run_id = ? AND key = 'liked'")
      .bind(Date.now() - 1, runId)
      .run();
    expect((await listTokens()).map(({ feedback_key }) => feedback_key).sort()).toEqual(["a", "b", "c"]);
    const expired = await send(path(one.url), { body: { score: 1 } });
    expect([expired.status, await feedbackOn(runId)]).toEqual([404, []]);
    await housekeeping(env, Date.now());
    const left = await env.DB.prepare("SELECT key FROM feedback_tokens WHERE run_id = ?").bind(runId).all();
    expect(left.results).toHaveLength(3);
  });

  it("counts when it is opened, as programs and mails do", async () => {
    const runId = await createTraced();
    const { url } = await link(runId);
    const opened = await send(`${path(url)}?score=0.5&comment=so%20so&value=mid&correction=better`);
    expect(opened.status).toBe(200);
    expect((await send(path(url))).status).toBe(200);
    expect((await send(path(url), { method: "HEAD" })).status).toBe(200);
    const ahead = { headers: { "sec-purpose": "prefetch;prerender", accept: "text/html" } };
    expect((await send(`${path(url)}?score=1`, ahead)).status).toBe(200);
    const stored = await feedbackOn(runId);
    expect(stored.map(({ score, comment, value }) => [score, comment, value])).toEqual([
      [null, null, null],
      [0.5, "so so", "mid"],
    ]);
  });

  it("shows a person a form, and says thanks", async () => {
    const runId = await createTraced();
    const { url } = await link(runId, { feedback_key: "<script>alert(1)</script>" });
    const browser = { headers: { accept: "text/html,*/*" } };
    const form = await send(path(url), browser);
    const text = await form.text();
    expect(form.headers.get("content-type")).toMatch("text/html");
    expect(form.headers.get("content-security-policy")).toMatch("default-src 'none'");
    expect(text).toContain('name="score"');
    expect(text).toContain("&lt;script&gt;");
    expect(text).not.toContain("<script");
    expect(await feedbackOn(runId)).toEqual([]);
    const thanks = await send(`${path(url)}?comment=&score=1`, browser);
    expect(await thanks.text()).toContain("Thank you");
    expect(await feedbackOn(runId)).toMatchObject([{ score: 1, comment: null }]);
    const unknown = await send(
      path(url).replace(/.$/, (last) => (last === "0" ? "1" : "0")),
      browser,
    );
    expect([unknown.status, unknown.headers.get("content-type")]).toEqual([404, expect.stringMatching("text/html")]);
  });

  it("is for its run, its key and its workspace, with any body", async () => {
    const [runId, otherRun] = [await createTraced(), await createTraced()];
    const { url } = await link(runId);
    const forged = {
      score: 1,
      metadata: { who: "me" },
      id: crypto.randomUUID(),
      run_id: otherRun,
      trace_id: otherRun,
      session_id: crypto.randomUUID(),
      key: "other",
      feedback_source: { type: "model", user_id: "root" },
      created_at: "2020-01-01T00:00:00Z",
    };
    expect((await send(path(url), { body: forged })).status).toBe(200);
    expect(await feedbackOn(otherRun)).toEqual([]);
    const [stored] = await get<(Feedback & { id: string; created_at: string })[]>(caller, `/feedback?run=${runId}`);
    expect(stored).toMatchObject({ key: "liked", feedback_source: { type: "api", metadata: { who: "me" } } });
    expect(stored?.id).not.toBe(forged.id);
    expect(stored?.created_at).not.toMatch(/^2020/);
    expect(stored?.feedback_source).not.toHaveProperty("user_id");
  });

  it("of another workspace reaches no other workspace's run, and is in no other list", async () => {
    const other = await newCaller();
    const runId = await createTraced();
    const foreign = await link(runId, {}, other);
    const refused = await send(path(foreign.url), { body: { score: 0 } });
    expect([refused.status, await feedbackOn(runId)]).toEqual([404, []]);
    expect(await get(caller, `/feedback/tokens?run_id=${runId}`)).toEqual([]);
    expect((await send("/feedback/tokens", { body: {} })).status).toBe(401);
  });

  it("is stored nowhere in plain text, and cannot be guessed", async () => {
    const { id } = await link(await createTraced());
    const rows = JSON.stringify((await env.DB.prepare("SELECT * FROM feedback_tokens").all()).results);
    expect(rows).not.toContain(id);
    for (const wrong of [crypto.randomUUID(), id.toUpperCase().replace(/[A-F0-9]$/, "x"), "0", `${id}0`]) {
      const { status } = await send(`/feedback/tokens/${wrong}`, { body: { score: 1 } });
      expect([404, 422]).toContain(status);
    }
  });

  it("is good after the deployment lost the key it was sealed with, but is listed no more", async () => {
    const runId = await createTraced();
    const { url } = await link(runId);
    await env.DB.prepare("UPDATE feedback_tokens SET sealed = '000000000000.AAAA' WHERE run_id = ?").bind(runId).run();
    expect(await get(caller, `/feedback/tokens?run_id=${runId}`)).toEqual([]);
    expect((await send(path(url), { body: { score: 1 } })).status).toBe(200);
  });

  it("holds what is given to its config, or to its key's", async () => {
    const runId = await createTraced();
    const answers = async ({ url }: Token, bodies: object[]) =>
      Promise.all(bodies.map(async (body) => (await send(path(url), { body })).status));
    const stars = await link(runId, { feedback_config: { type: "continuous", min: 1, max: 5 } });
    expect(await answers(stars, [{ score: 1 }, { score: 5 }, { score: 0 }, { score: 5.1 }, { comment: "" }])).toEqual([
      200, 200, 422, 422, 200,
    ]);
    const config = { type: "categorical", categories: [{ value: 1, label: "up" }, { value: 0 }] };
    await caller.fetch("/feedback-configs", { body: { feedback_key: "thumb", feedback_config: config } });
    const thumb = await link(runId, { feedback_key: "thumb" });
    const given = [{ score: true }, { score: 0.5 }, { value: "up" }, { value: "sideways" }, { score: 2, value: "up" }];
    expect(await answers(thumb, given)).toEqual([200, 422, 200, 422, 422]);
    const page = await (await send(path(thumb.url), { headers: { accept: "text/html" } })).text();
    expect(page).toMatch(/value="1"[^>]*>up<[\s\S]*value="0"[^>]*>0</);
  });

  const RUN = "01a1f9a6-65c9-7000-8000-000000000000";
  const BAD: [string, unknown][] = [
    ["no run", { feedback_key: "k" }],
    ["no key", { run_id: RUN }],
    ["a long key", { run_id: RUN, feedback_key: "k".repeat(181) }],
    ["an empty list", []],
    ["too many", Array.from({ length: 51 }, () => ({ run_id: RUN, feedback_key: "k" }))],
    ["no time", { run_id: RUN, feedback_key: "k", expires_in: { minutes: 0 } }],
    ["a negative time", { run_id: RUN, feedback_key: "k", expires_in: { days: 1, hours: -1 } }],
    ["the past", { run_id: RUN, feedback_key: "k", expires_at: "2020-01-01T00:00:00Z" }],
    ["no date", { run_id: RUN, feedback_key: "k", expires_at: "soon" }],
    ["too long", { run_id: RUN, feedback_key: "k", expires_in: { days: 400 } }],
    ["two times", { run_id: RUN, feedback_key: "k", expires_in: { days: 1 }, expires_at: "2099-01-01T00:00:00Z" }],
    ["an odd config", { run_id: RUN, feedback_key: "k", feedback_config: { type: "vibes" } }],
    ["crossed bounds", { run_id: RUN, feedback_key: "k", feedback_config: { type: "continuous", min: 2, max: 1 } }],
  ];
  it.each(BAD)("is not made with %s", async (_, body) => {
    const refused = await caller.fetch("/feedback/tokens", { body });
    expect([refused.status, await refused.json()]).toMatchObject([422, { detail: expect.any(String) }]);
  });

  it.each(["score=much", "score=1e999x", `comment=${"x".repeat(10_001)}`])("does not take ?%s", async (query) => {
    const runId = await createTraced();
    const { url } = await link(runId);
    const refused = await send(`${path(url)}?${query}`);
    await refused.body?.cancel();
    expect([refused.status, await feedbackOn(runId)]).toEqual([422, []]);
  });
});

describe("feedback configs", () => {
  it("are one a key and workspace", async () => {
    const [own, other] = [await newCaller(), await newCaller()];
    const config = { type: "continuous", min: 0, max: 1 };
    const create = async (feedback_key: string, feedback_config: object, by = own) =>
      by.fetch("/api/v1/feedback-configs", { body: { feedback_key, feedback_config } });
    const made = await (await create("quality", config)).json();
    expect(made).toEqual({
      feedback_key: "quality",
      feedback_config: config,
      is_lower_score_better: false,
      tenant_id: own.workspaceId,
      modified_at: expect.any(String),
    });
    expect(await (await create("quality", { ...config, categories: null })).json()).toEqual(made);
    expect((await create("quality", { type: "freeform" })).status).toBe(400);
    await create("Speed_50%", { type: "freeform" });
    const keys = async (query: string, by = own) =>
      (await get<{ feedback_key: string }[]>(by, `/feedback-configs${query}`)).map((one) => one.feedback_key);
    expect(await keys("")).toEqual(["Speed_50%", "quality"]);
    expect(await keys("?name_contains=SPEED_5")).toEqual(["Speed_50%"]);
    expect(await keys("?name_contains=%25QUAL")).toEqual([]);
    expect(await keys("?key=quality&key=nothing")).toEqual(["quality"]);
    expect(await keys("?limit=1&offset=1")).toEqual(["quality"]);
    expect(await keys("", other)).toEqual([]);

    const change = async (body: object, by = own) => by.fetch("/feedback-configs", { method: "PATCH", body });
    const lower = await change({ feedback_key: "quality", is_lower_score_better: true });
    expect(await lower.json()).toMatchObject({ feedback_config: config, is_lower_score_better: true });
    expect((await change({ feedback_key: "quality", is_lower_score_better: true }, other)).status).toBe(404);
    expect((await change({ feedback_key: "quality", feedback_config: { type: "categorical" } })).status).toBe(422);
    const remove = async (by: Caller) => by.fetch("/feedback-configs?feedback_key=quality", { method: "DELETE" });
    expect([(await remove(other)).status, (await remove(own)).status, (await remove(own)).status]).toEqual([
      404, 204, 404,
    ]);
    expect((await own.fetch("/feedback-configs", { method: "DELETE" })).status).toBe(422);
  });
});
