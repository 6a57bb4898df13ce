/** Two answers to one question at the same moment, through all channels: one run resumes, and the other is refused with who was first. */
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, it } from "vitest";
import { command } from "../../protocols/streaming/client.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import "../../support/pausing-graphs.ts";
import { seeded } from "../../support/random.ts";
import { chooseAmount } from "../../support/thorough.ts";
import { get } from "../client.ts";
import { waitForEnd, give, type Json, link, type Link, type Question, listQuestions, submit } from "./ask.ts";

interface Asked {
  caller: Caller;
  thread: string;
  task: string;
  question: Question;
  links: Link[];
}

/** Undefined when the answer was taken, else what the refusal says. */
type Told = string | undefined;
type Channel = (asked: Asked, answer: string, which: number) => Promise<Told>;

/** Asked over A2A, so that it can also be answered there. */
async function askQuestion(caller: Caller): Promise<Asked> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ data: { said: [] } }] };
  const task = String(((await rpc(caller, "/a2a/plain", "SendMessage", { message })).task as Json).id);
  const thread = task.slice(0, 36);
  const [question] = await listQuestions(caller, thread);
  const links = [
    await link(caller, thread, question!, { name: "Ana" }),
    await link(caller, thread, question!, { name: "Bo" }),
  ];
  return { caller, thread, task, question: question!, links };
}

async function rpc(caller: Caller, path: string, method: string, params: Json): Promise<Json> {
  const headers = { "a2a-version": "1.0", accept: "application/json" };
  const body = { jsonrpc: "2.0", id: 1, method, params };
  const answer = await (await caller.fetch(path, { body, headers })).json<{ result?: Json; error?: Json }>();
  return answer.result ?? { refused: answer.error };
}

const readTold = async (response: Response): Promise<Told> => (response.ok ? undefined : response.text());

const CHANNELS: Record<string, Channel> = {
  link: async ({ links }, answer, which) => readTold(await give(links[which]!.path, answer)),
  form: async ({ links }, answer, which) => readTold(await submit(links[which]!.path, { answer, format: "text" })),
  async protocol({ caller, thread, question }, response) {
    const given = await command(caller, thread, "input.respond", {
      namespace: [],
      interrupt_id: question.id,
      response,
    });
    return given.type === "success" ? undefined : JSON.stringify(given);
  },
  async api({ caller, thread, question }, answer) {
    const body = { assistant_id: "plain", command: { resume: { [question.id]: answer } }, strict_resume: true };
    const end = await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).json<Json>();
    return end.__error__ ? JSON.stringify(end) : undefined;
  },
  async mcp({ caller, thread, question }, answer) {
    const given = { thread_id: thread, interrupt_id: question.id, answer };
    const result = await rpc(caller, "/mcp", "tools/call", { name: "answer_interrupt", arguments: given });
    return result.refused ? JSON.stringify(result.refused) : undefined;
  },
  async a2a({ caller, task, question }, value) {
    const parts = [{ data: { resume: [{ id: question.id, value }] } }];
    const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts, taskId: task };
    const result = await rpc(caller, "/a2a/plain", "SendMessage", { message });
    return result.refused ? JSON.stringify(result.refused) : undefined;
  },
};
const NAMES = Object.keys(CHANNELS);

async function expectOneAnswer(first: string, second: string, between?: () => Promise<unknown>): Promise<void> {
  const one = await askQuestion(await newCaller());
  const answerFrom = (name: string, which: number) => CHANNELS[name]!(one, `${name} ${which}`, which);
  const told = between
    ? [await answerFrom(first, 0), await between().then(() => answerFrom(second, 1))]
    : await Promise.all([answerFrom(first, 0), answerFrom(second, 1)]);
  const { said } = (await waitForEnd(one.caller, one.thread)) as { said: string[] };
  const winner = told.indexOf(undefined);
  const label = `${first} and ${second}${between ? ", one after the other" : ""}`;
  expect([label, said]).toEqual([label, ["first", `ask: "${[first, second][winner]} ${winner}"`]]);
  expect([label, told.filter((text) => text === undefined).length]).toEqual([label, 1]);
  expect([label, winner === 0 || !between]).toEqual([label, true]);
  expect([label, told[1 - winner]]).toEqual([label, expect.stringMatching(/Answered (by link|over|in)/)]);
  // A later answer is refused in the same way.
  const seen = await give(one.links[0]!.path, "late");
  expect([label, seen.status]).toEqual([label, 409]);
  const runs = await get<Json[]>(one.caller, `/threads/${one.thread}/runs?status=success`);
  expect([label, runs.length]).toEqual([label, 1]);
}

it("each pair of different channels, one after the other and with a restart between", async () => {
  const pairs = NAMES.map((name, i) => [name, NAMES[(i + 1) % NAMES.length]!] as const);
  for (const [first, second] of pairs) await expectOneAnswer(first, second, () => abortAllDurableObjects());
});

it("random pairs at the same moment", async () => {
  const random = seeded("answers at the same moment");
  for (let i = 0; i < chooseAmount("PAIRS", 12, 200); i += 1) {
    const [first, second] = [NAMES[random.between(0, NAMES.length)]!, NAMES[random.between(0, NAMES.length)]!];
    await expectOneAnswer(first, second);
  }
});
