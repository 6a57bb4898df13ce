/** Links by which an interrupt is answered without an account. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { sealText } from "../../../../src/lib/crypto.ts";
import { get } from "../../client.ts";
import { graphs } from "../../../../src/deployment.ts";
import { read } from "../../../protocols/streaming/client.ts";
import { newCaller, send } from "../../../support/caller.ts";
import "../../../support/pausing-graphs.ts";
import { ask, waitForEnd, give, type Json, link, toLinksPath, look, mailTo, listQuestions, submit } from "../ask.ts";

const NAMED = /^The question accepts one answer\. Answered by link for Ana, \d+ \w+ \d{4}, \d\d:\d\d UTC\.$/;

async function listAudited(workspaceId: string) {
  const rows = await env.DB.prepare(
    "select action, actor_kind, actor_id, target_id, detail from audit_log where workspace_id = ? and action like 'interrupt%' order by rowid",
  )
    .bind(workspaceId)
    .all<{ action: string; actor_kind: string; actor_id: string; target_id: string; detail: string }>();
  return rows.results.map((row) => ({ ...row, detail: JSON.parse(row.detail) as Json }));
}

describe("a link", () => {
  it("is answered once; a second answer is refused with who was first", async () => {
    const caller = await newCaller();
    const { thread, question } = await ask(caller, "plain");
    const ana = await link(caller, thread, question, { name: "Ana", expires_in: 600 });
    const bo = await link(caller, thread, question, { name: "Bo" });
    expect(Date.parse(ana.expires_at) - Date.now()).toBeGreaterThan(590_000);
    const asked = await send(ana.path);
    expect(asked.headers.get("cache-control")).toBe("no-store");
    expect(await asked.json()).toMatchObject({ state: "waits", agent: "plain", name: "Ana", value: "ask?" });

    const first = await give(ana.path, "yes");
    const accepted = await first.json<{ run_id: string }>();
    expect([first.status, accepted]).toEqual([200, { run_id: expect.any(String) }]);
    const second = await give(bo.path, "no");
    expect([second.status, await second.json()]).toEqual([
      409,
      expect.objectContaining({
        detail: expect.stringMatching(NAMED),
        answered: expect.objectContaining({ via: "link", name: "Ana" }),
      }),
    ]);
    expect(await waitForEnd(caller, thread)).toEqual({ said: ["first", 'ask: "yes"'] });
    const runs = await get<Json[]>(caller, `/threads/${thread}/runs`);
    expect(runs.map(({ answered }) => answered)).toEqual([{ via: "link", name: "Ana" }, undefined]);
    expect(runs[0]?.run_id).toBe(accepted.run_id);
    // After the end, and after the object has started again, it is the same.
    await abortAllDurableObjects();
    for (const path of [ana.path, bo.path]) expect((await give(path, "again")).status).toBe(409);
    expect(await (await send(bo.path)).json()).toMatchObject({ state: "answered", answered: { name: "Ana" } });
    expect(await (await look(bo.path)).text()).toContain("Answered by link for Ana");
    const page = await submit(bo.path, { answer: "late", format: "text" });
    expect([page.status, await page.text()]).toEqual([409, expect.stringContaining("Answered by link for Ana")]);
    const listed = await get<Json[]>(caller, toLinksPath(thread, question));
    expect(listed.map(({ name, state }) => [name, state])).toEqual([
      ["Ana", "answered"],
      ["Bo", "answered"],
    ]);
    expect(JSON.stringify(listed)).not.toContain("url");
    expect((await get<Json[]>(caller, `/threads/${thread}/runs`)).length).toBe(2);
    await expect.poll(async () => (await listAudited(caller.workspaceId)).length).toBe(3);
    const [made, , answered] = await listAudited(caller.workspaceId);
    expect(made).toMatchObject({ action: "interrupt_link.created", target_id: ana.link_id });
    expect(answered).toMatchObject({ action: "interrupt.answered", actor_kind: "link", actor_id: ana.link_id });
    expect(answered).toMatchObject({ target_id: question.id, detail: { via: "link", name: "Ana", thread_id: thread } });
  });

  it("answers nothing when it is only opened", async () => {
    const caller = await newCaller();
    const { thread, question } = await ask(caller, "plain");
    const { path } = await link(caller, thread, question);
    for (const way of ["GET", "HEAD"]) expect((await send(path, { method: way })).status).toBe(200);
    const page = await look(`${path}?answer=yes&format=text`);
    expect(page.headers.get("x-robots-tag")).toContain("noindex");
    expect(page.headers.get("cache-control")).toBe("no-store");
    expect(page.headers.get("referrer-policy")).toBe("same-origin");
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; /);
    expect(await page.text()).toContain("ask?");
    expect(await listQuestions(caller, thread)).toEqual([question]);
  });

  it("is refused when it is forged, changed, expired or revoked", async () => {
    const caller = await newCaller();
    const { thread, question } = await ask(caller, "plain");
    const made = await link(caller, thread, question);
    const token = made.path.slice(made.path.lastIndexOf("/") + 1);
    const at = (text: string) => `/api/v1/answers/${Buffer.from(text).toString("base64url")}`;
    const held = [caller.workspaceId, thread, made.link_id, question.id, Date.now() + 60_000];
    const otherKey = { ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64") };
    const forged = await sealText({ ...env, ...otherKey }, JSON.stringify(held), "interrupt link");
    const otherPurpose = await sealText(env, JSON.stringify(held), "trace attachment");
    const changed = `${token.slice(0, -8)}AAAAAAAA`;
    const unknown = await sealText(
      env,
      JSON.stringify([...held.slice(0, 2), crypto.randomUUID(), ...held.slice(3)]),
      "interrupt link",
    );
    for (const path of [
      at(forged),
      at(otherPurpose),
      `/api/v1/answers/${changed}`,
      at(unknown),
      at("x"),
      "/api/v1/answers/none",
    ])
      expect([path, (await give(path, "yes")).status, (await look(path)).status]).toEqual([path, 404, 404]);
    const late = await sealText(env, JSON.stringify([...held.slice(0, 4), Date.now() - 1]), "interrupt link");
    expect([(await give(at(late), "yes")).status, (await look(at(late))).status]).toEqual([410, 410]);
    const one = `${toLinksPath(thread, question)}/${made.link_id}`;
    const elsewhere = one.replace(question.id, "f".repeat(32));
    expect((await caller.fetch(elsewhere, { method: "DELETE" })).status).toBe(404);
    expect((await caller.fetch(one, { method: "DELETE" })).status).toBe(204);
    expect((await caller.fetch(one, { method: "DELETE" })).status).toBe(404);
    expect([(await give(made.path, "yes")).status, (await look(made.path)).status]).toEqual([404, 404]);
    expect(await listQuestions(caller, thread)).toEqual([question]);
    expect((await listAudited(caller.workspaceId)).map(({ action }) => action)).toEqual([
      "interrupt_link.created",
      "interrupt_link.revoked",
    ]);
  });

  it("is made only for a question that waits", async () => {
    const [caller, other] = [await newCaller(), await newCaller()];
    const { thread, question } = await ask(caller, "plain");
    const make = async (by: typeof caller, id: string, body: Json = {}) =>
      (await by.fetch(toLinksPath(thread, { id, value: "" }), { body })).status;
    expect(await make(caller, "f".repeat(32))).toBe(404);
    expect(await make(other, question.id)).toBe(404);
    for (const body of [
      { expires_in: 59 },
      { expires_in: 2_592_001 },
      { name: " " },
      { name: "\u202e" },
      { answers: [] },
      { expires: 60 },
    ])
      expect([body, await make(caller, question.id, body)]).toEqual([body, 422]);
    const answer = { assistant_id: "plain", command: { resume: { [question.id]: "api" } } };
    await (await caller.fetch(`/threads/${thread}/runs/wait`, { body: answer })).text();
    const refused = await caller.fetch(toLinksPath(thread, question), { body: {} });
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining("Answered over the API")]);
  });

  it("ends with its thread, and with its question when the thread moves on", async () => {
    const caller = await newCaller();
    const deleted = await ask(caller, "plain");
    const first = await link(caller, deleted.thread, deleted.question);
    await caller.fetch(`/threads/${deleted.thread}`, { method: "DELETE" });
    expect((await give(first.path, "yes")).status).toBe(404);
    await caller.fetch("/threads", { body: { thread_id: deleted.thread } });
    expect((await give(first.path, "yes")).status).toBe(404);

    const updated = await ask(caller, "plain");
    const second = await link(caller, updated.thread, updated.question);
    const body = { values: { said: ["by hand"] }, as_node: "ask" };
    expect((await caller.fetch(`/threads/${updated.thread}/state`, { body })).status).toBe(200);
    expect([(await give(second.path, "yes")).status, (await look(second.path)).status]).toEqual([410, 410]);

    const copied = await ask(caller, "plain");
    const third = await link(caller, copied.thread, copied.question);
    const copy = await (
      await caller.fetch(`/threads/${copied.thread}/copy`, { method: "POST" })
    ).json<{ thread_id: string }>();
    expect((await caller.fetch(toLinksPath(copy.thread_id, copied.question), { body: {} })).status).toBe(409);
    expect((await give(third.path, "yes")).status).toBe(200);
    expect(await listQuestions(caller, copy.thread_id)).toEqual([copied.question]);
  });

  it("is for one of the questions that a node asks one after another", async () => {
    const caller = await newCaller();
    const { thread, question } = await ask(caller, "twice");
    const [one, other] = [await link(caller, thread, question), await link(caller, thread, question)];
    expect((await give(one.path, 1)).status).toBe(200);
    const listed = () => listQuestions(caller, thread);
    await expect.poll(listed).toMatchObject([{ value: "two?" }]);
    const [second] = await listed();
    expect(second?.id).not.toBe(question.id);
    expect((await give(other.path, 2)).status).toBe(409);
    const next = await link(caller, thread, second!);
    expect((await give(next.path, { two: 2 })).status).toBe(200);
    expect(await waitForEnd(caller, thread)).toEqual({ said: ['[1,{"two":2}]'] });
  });

  it("is for one of the questions that a node asks one after another under one id", async () => {
    const caller = await newCaller();
    const { thread, question } = await ask(caller, "twice-under-one-id");
    const [one, other] = [await link(caller, thread, question), await link(caller, thread, question)];
    expect((await give(one.path, 1)).status).toBe(200);
    await expect.poll(() => listQuestions(caller, thread)).toEqual([{ id: question.id, value: "two?" }]);
    expect((await give(other.path, 2)).status).toBe(409);
    const next = await link(caller, thread, question);
    expect((await give(next.path, { two: 2 })).status).toBe(200);
    expect(await waitForEnd(caller, thread)).toEqual({ said: ['[1,{"two":2}]'] });
  });

  it("can be answered again when the answer was undone", async () => {
    const caller = await newCaller();
    const { thread, question } = await ask(caller, "plain");
    const { path } = await link(caller, thread, question);
    const { run_id } = await (await give(path, "slow")).json<{ run_id: string }>();
    await expect.poll(() => get(caller, `/threads/${thread}/runs/${run_id}`)).toMatchObject({ status: "running" });
    expect((await give(path, "yes")).status).toBe(409);
    await caller.fetch(`/threads/${thread}/runs/${run_id}/cancel?wait=1&action=rollback`, { method: "POST" });
    expect((await give(path, "yes")).status).toBe(200);
    expect(await waitForEnd(caller, thread)).toEqual({ said: ["first", 'ask: "yes"'] });
  });

  it("waits again, also in the log, when the run that answered is deleted", async () => {
    const caller = await newCaller();
    const { thread, question } = await ask(caller, "plain");
    const { path } = await link(caller, thread, question);
    const { run_id } = await (await give(path, "no")).json<{ run_id: string }>();
    await waitForEnd(caller, thread);
    expect((await give(path, "yes")).status).toBe(409);
    await caller.fetch(`/threads/${thread}/runs/${run_id}`, { method: "DELETE" });
    const isAsked = ({ method }: { method: string }) => method === "input.requested";
    const events = await read(caller, thread, { channels: ["input"] }, { until: isAsked, times: 2 });
    expect(events.map(({ params }) => params.data)).toMatchObject([
      { interrupt_id: question.id },
      { interrupt_ids: [question.id] },
      { interrupt_id: question.id, payload: "ask?" },
    ]);
    expect((await give(path, "yes")).status).toBe(200);
    expect(await waitForEnd(caller, thread)).toEqual({ said: ["first", 'ask: "yes"'] });
  });

  it("is gone, and not answered, when a run from an earlier checkpoint answers there", async () => {
    const caller = await newCaller();
    const { thread, question } = await ask(caller, "plain");
    const { checkpoint } = await get<{ checkpoint: Json }>(caller, `/threads/${thread}/state`);
    const run = async (body: Json) =>
      (await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: "plain", ...body } })).text();
    await run({ input: { said: [] } });
    const [second] = await listQuestions(caller, thread);
    const { path } = await link(caller, thread, second!);
    await run({ command: { resume: "there" }, checkpoint });
    expect((await give(path, "yes")).status).toBe(410);
    const [last] = await get<Json[]>(caller, `/threads/${thread}/runs`);
    expect(last).toMatchObject({ status: "success", answered: { via: "api" } });
    const listAnswered = async () => {
      const rows = await listAudited(caller.workspaceId);
      return rows.flatMap(({ action, target_id }) => (action === "interrupt.answered" ? target_id : []));
    };
    await expect.poll(listAnswered).toEqual([question.id]);
  });

  it("is answered after many runs that were refused", async () => {
    const caller = await newCaller();
    const { thread, question } = await ask(caller, "plain");
    const { path } = await link(caller, thread, question);
    const other = { assistant_id: "plain", strict_resume: true, command: { resume: { ["0".repeat(32)]: "x" } } };
    for (let i = 0; i < 51; i += 1) await (await caller.fetch(`/threads/${thread}/runs/wait`, { body: other })).text();
    expect((await give(path, "yes")).status).toBe(200);
    await waitForEnd(caller, thread);
  });

  it("is for each of several questions of a nested graph", async () => {
    const caller = await newCaller();
    const { thread } = await ask(caller, "parallel");
    const questions = await listQuestions(caller, thread);
    const links = await Promise.all(questions.map((question) => link(caller, thread, question)));
    for (const [i, { path }] of links.entries()) {
      expect((await give(path, questions[i]?.value)).status).toBe(200);
      await expect.poll(async () => (await get<Json>(caller, `/threads/${thread}`)).status).not.toBe("busy");
    }
    expect(await waitForEnd(caller, thread)).toEqual({ said: ['left: "left?"', 'right: "right?"'] });
  });

  it("says which nodes the deployed graph lacks to continue, and waits", async () => {
    const caller = await newCaller();
    const id = `deployed-${crypto.randomUUID()}`;
    graphs[id] = graphs.plain!;
    const { thread, question } = await ask(caller, id);
    const { path } = await link(caller, thread, question);
    graphs[id] = graphs.delta!;
    const refused = await give(path, "yes");
    expect([refused.status, await refused.json()]).toEqual([
      409,
      expect.objectContaining({ detail: expect.stringContaining('node "ask" is gone') }),
    ]);
    graphs[id] = graphs.plain!;
    expect((await give(path, "yes")).status).toBe(200);
    await waitForEnd(caller, thread);
    delete graphs[id];
  });

  it("accepts only the answers that it was made with", async () => {
    const caller = await newCaller();
    const { thread, question } = await ask(caller, "plain");
    const { path } = await link(caller, thread, question, { answers: ["yes", { no: 1 }] });
    expect((await give(path, "maybe")).status).toBe(422);
    expect((await submit(path, { answer: "maybe" })).status).toBe(422);
    expect((await submit(path, { choice: "2" })).status).toBe(422);
    expect(await (await look(path)).text()).toContain("{&quot;no&quot;:1}");
    expect((await submit(path, { choice: "1" })).status).toBe(200);
    expect(await waitForEnd(caller, thread)).toEqual({ said: ["first", 'ask: {"no":1}'] });
  });
});

describe("actions to review", () => {
  it("are decided in the form: edited, rejected with a message", async () => {
    const caller = await newCaller();
    const { thread, question } = await mailTo(caller, "ada@example.com");
    const { path } = await link(caller, thread, question);
    const page = await (await look(path)).text();
    expect(page).toContain("ada@example.com");
    expect(page).toContain('value="approve"');
    expect((await submit(path, { decision_1: "edit", args_1: "{" })).status).toBe(422);
    expect((await submit(path, { decision_1: "nothing" })).status).toBe(422);
    expect((await give(path, { decisions: [] })).status).toBe(422);
    const args = { to: "eve@example.com", subject: "S", body: "B" };
    expect((await submit(path, { decision_1: "edit", args_1: JSON.stringify(args), message_1: "" })).status).toBe(200);
    expect(await waitForEnd(caller, thread)).toMatchObject({ sent: [args] });

    const rejected = await mailTo(caller, "bob@example.com");
    const only = await link(caller, rejected.thread, rejected.question, { answers: ["reject"] });
    expect((await submit(only.path, { decision_1: "approve" })).status).toBe(422);
    expect((await submit(only.path, { decision_1: "reject", message_1: "not now" })).status).toBe(200);
    const { messages } = (await waitForEnd(caller, rejected.thread)) as { messages: Json[] };
    expect(JSON.stringify(messages)).toContain("Not sent: not now");
    const unfit = await mailTo(caller, "eve@example.com");
    expect(
      (await caller.fetch(toLinksPath(unfit.thread, unfit.question), { body: { answers: ["later"] } })).status,
    ).toBe(422);
  });
});
