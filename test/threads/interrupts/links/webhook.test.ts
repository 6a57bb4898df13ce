/** The webhook of a run that asks: its payload has links, and its receiver may answer in the body of its response. */
import { Annotation, interrupt, START, StateGraph } from "@langchain/langgraph";
import { afterEach, expect, it, vi } from "vitest";
import { graphs } from "../../../../src/deployment.ts";
import { newCaller } from "../../../support/caller.ts";
import "../../../support/pausing-graphs.ts";
import { stubFetch } from "../../../support/stub-fetch.ts";
import { get } from "../../client.ts";
import { ask, waitForEnd, give, type Json, listQuestions } from "../ask.ts";

const State = Annotation.Root({
  said: Annotation<string[]>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
});
const asks = (name: string) => () => ({ said: [`${name}: ${JSON.stringify(interrupt(`${name}?`))}`] });
const both = new StateGraph(State)
  .addNode("left", asks("left"))
  .addNode("right", asks("right"))
  .addEdge(START, "left")
  .addEdge(START, "right")
  .compile({ name: "both" });
Object.assign(graphs, { both });

afterEach(() => {
  vi.unstubAllGlobals();
});

interface Payload extends Json {
  run_id: string;
  status: string;
  interrupts?: { id: string; value: unknown; answer_url: string; expires_at: string }[];
}

/** Answers each call of the webhook with what `answer` gives; a text is the whole body. */
function receive(answer: (payload: Payload, nth: number) => unknown, type = "application/json"): Payload[] {
  const received: Payload[] = [];
  stubFetch(async (_url, { body }) => {
    const payload = JSON.parse(body as string) as Payload;
    received.push(payload);
    const given = answer(payload, received.length);
    const text = typeof given === "string" ? given : JSON.stringify(given ?? {});
    return new Response(text, { headers: { "content-type": type } });
  });
  return received;
}

const webhook = () => ({ webhook: `https://answers-${crypto.randomUUID()}.example/run` });

it("carries the question with a link, and the run that the link resumes calls it, too", async () => {
  const received = receive(() => ({ resume_later: true }));
  const caller = await newCaller();
  const { thread, question } = await ask(caller, "plain", { said: [] }, webhook());
  await expect.poll(() => received.length).toBe(1);
  const [asked] = received;
  expect(asked).toMatchObject({ status: "interrupted", interrupts: [{ id: question.id, value: "ask?" }] });
  const { answer_url, expires_at } = asked!.interrupts![0]!;
  expect(Date.parse(expires_at)).toBeGreaterThan(Date.now() + 3 * 24 * 3_600_000);
  expect((await give(new URL(answer_url).pathname, "yes")).status).toBe(200);
  await waitForEnd(caller, thread);
  await expect.poll(() => received.length).toBe(2);
  expect(received[1]).toMatchObject({ status: "success", values: { said: ["first", 'ask: "yes"'] } });
  expect(received[1]).not.toHaveProperty("interrupts");
});

it("is answered in the response: one question with a value, several by their ids", async () => {
  const received = receive(({ interrupts = [] }) => {
    const named = Object.fromEntries(interrupts.map(({ id, value }) => [id, `to ${String(value)}`]));
    return interrupts.length > 1 ? { resume: named } : { resume: false };
  });
  const caller = await newCaller();
  const one = await ask(caller, "plain", { said: [] }, webhook());
  expect(await waitForEnd(caller, one.thread)).toEqual({ said: ["first", "ask: false"] });
  const two = await ask(caller, "both", { said: [] }, webhook());
  expect(await waitForEnd(caller, two.thread)).toEqual({ said: ['left: "to left?"', 'right: "to right?"'] });
  await expect.poll(() => received.length).toBe(4);
  const listAudited = async () =>
    (await (await caller.fetch("/api/v1/audit-log?action=interrupt.answered")).json<Json[]>()).map(
      ({ detail }) => detail,
    );
  await expect.poll(async () => (await listAudited()).length).toBe(3);
  expect(await listAudited()).toContainEqual(expect.objectContaining({ via: "webhook", thread_id: one.thread }));
});

it.each([
  ["no JSON", "resume", "application/json"],
  ["another type", { resume: "yes" }, "text/plain"],
  ["too long", { resume: "x".repeat(65_536) }, "application/json"],
  ["no resume", { answer: "yes" }, "application/json"],
])("answers nothing with %s", async (_what, answer, type) => {
  const received = receive(() => answer, type);
  const caller = await newCaller();
  const { thread, question } = await ask(caller, "plain", { said: [] }, webhook());
  await expect.poll(() => received.length).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await listQuestions(caller, thread)).toEqual([question]);
  expect(await get<Json[]>(caller, `/threads/${thread}/runs`)).toHaveLength(1);
});

it("counts for the questions that wait when others have been answered in the meantime", async () => {
  const caller = await newCaller();
  const sizes: number[] = [];
  stubFetch(async (_url, { body }) => {
    const { interrupts = [] } = JSON.parse(body as string) as Payload;
    sizes.push(interrupts.length);
    const right = interrupts.find(({ value }) => value === "right?");
    if (sizes.length === 1) await give(new URL(right!.answer_url).pathname, "by link");
    return Response.json({ resume: Object.fromEntries(interrupts.map(({ id }) => [id, "by webhook"])) });
  });
  const { thread } = await ask(caller, "parallel", { said: [] }, webhook());
  expect(await waitForEnd(caller, thread)).toEqual({ said: ['left: "by webhook"', 'right: "by link"'] });
  expect(sizes[0]).toBe(2);
});

it("answers nothing without ids where it was asked several questions, and one still waits", async () => {
  const caller = await newCaller();
  const sizes: number[] = [];
  stubFetch(async (_url, { body }) => {
    const { interrupts = [] } = JSON.parse(body as string) as Payload;
    if (sizes.push(interrupts.length) > 1) return Response.json({});
    await give(new URL(interrupts[0]!.answer_url).pathname, "by link");
    return Response.json({ resume: "for which one?" });
  });
  const { thread } = await ask(caller, "parallel", { said: [] }, webhook());
  await expect.poll(() => sizes).toEqual([2, 1]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await listQuestions(caller, thread)).toHaveLength(1);
});

it("comes second when a link was answered while it thought", async () => {
  const caller = await newCaller();
  let path = "";
  const answered: number[] = [];
  stubFetch(async (_url, { body }) => {
    const { interrupts } = JSON.parse(body as string) as Payload;
    if (interrupts) {
      path = new URL(interrupts[0]!.answer_url).pathname;
      answered.push((await give(path, "by link")).status);
    }
    return Response.json({ resume: "by webhook" });
  });
  const { thread } = await ask(caller, "plain", { said: [] }, webhook());
  expect(await waitForEnd(caller, thread)).toEqual({ said: ["first", 'ask: "by link"'] });
  expect(answered).toEqual([200]);
  expect(await (await give(path, "late")).json()).toMatchObject({ status: 409, answered: { via: "link" } });
  expect(await get<Json[]>(caller, `/threads/${thread}/runs`)).toHaveLength(2);
});
