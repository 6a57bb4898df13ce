/** The links to a waiting task's questions, in the metadata of its status, in both generations. */
import "../../support/graphs.ts";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { give, look } from "../../threads/interrupts/ask.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { get } from "../../threads/client.ts";
import { type Any, events, type Json, message03, message1, result } from "./rpc.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});
afterEach(() => vi.unstubAllGlobals());

const ways = {
  "1.0": {
    send: async (text: string, more: Json = {}) =>
      (await result(caller, "SendMessage", { message: message1(text), ...more })).task,
    get: (id: string) => result(caller, "GetTask", { id }),
    stream: async (text: string) => {
      const all = await events(caller, "SendStreamingMessage", { message: message1(text) });
      return { id: all[0].task.id, last: all.at(-1).statusUpdate };
    },
    list: async () => (await result(caller, "ListTasks", {})).tasks,
  },
  "0.3": {
    send: (text: string, more: Json = {}) => result(caller, "message/send", { message: message03(text), ...more }),
    get: (id: string) => result(caller, "tasks/get", { id }),
    stream: async (text: string) => {
      const all = await events(caller, "message/stream", { message: message03(text) });
      return { id: all[0].id, last: all.at(-1) };
    },
    list: async () => (await result(caller, "tasks/list", {})).tasks,
  },
};

interface Given {
  interrupts: string[];
  answer_links: { interrupt_id: string; answer_url: string; expires_at: string }[];
}
const readLinkPath = ({ answer_links }: Given) => new URL(answer_links[0]?.answer_url ?? "").pathname;
const readMetadata = (task: Any): Given => task.status.message.metadata;

describe.each(["1.0", "0.3"] as const)("a task of %s that waits", (generation) => {
  const way = ways[generation];

  it("has a link to answer its question, also when it is read again", async () => {
    const sent = await way.send("ask");
    const given = readMetadata(sent);
    expect(given.answer_links).toEqual([
      {
        interrupt_id: given.interrupts[0],
        answer_url: expect.stringMatching(/^https:\/\/weir\.test\/api\/v1\/answers\/[\w-]+$/),
        expires_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect(await (await look(readLinkPath(given))).text()).toContain("Which one?");
    const again = readMetadata(await way.get(sent.id));
    expect(again.answer_links).toMatchObject([{ expires_at: given.answer_links[0]?.expires_at }]);
    expect((await give(readLinkPath(again), "the link's")).status).toBe(200);
    expect((await give(readLinkPath(given), "late")).status).toBe(409);
    const task = `${sent.id}`;
    await expect.poll(async () => (await way.get(task)).status.state).toMatch(/completed/i);
    const done = await way.get(task);
    expect(done.artifacts.at(-1).parts[0].text).toBe('You chose "the link\'s".');
    expect(JSON.stringify(done)).not.toContain("answer_links");
  });

  it("has it in the last event of a stream, too", async () => {
    const { id, last } = await way.stream("ask");
    expect(last.metadata).toEqual(last.status.message.metadata);
    expect(last.metadata.answer_links).toHaveLength(1);
    expect((await give(readLinkPath(last.metadata), "x")).status).toBe(200);
    await expect.poll(async () => (await way.get(id)).status.state).toMatch(/completed/i);
  });

  it("has none in a list", async () => {
    const { id } = await way.send("ask");
    const row = (await way.list()).find((one: Any) => one.id === id);
    expect(readMetadata(row).interrupts).toHaveLength(1);
    expect(readMetadata(row).answer_links).toBeUndefined();
  });
});

it("a task that waits on several questions has a link for each", async () => {
  const { task } = await result(caller, "SendMessage", { message: message1("go") }, { agent: "asker" });
  const { interrupts, answer_links } = readMetadata(task);
  expect(answer_links.map(({ interrupt_id }) => interrupt_id)).toEqual(interrupts);
  expect(interrupts).toHaveLength(2);
});

it("a push notification of a waiting task has the link", async () => {
  const pushed: Any[] = [];
  stubFetch(async (_url, { body }) => {
    pushed.push(JSON.parse(body as string));
    return new Response();
  });
  const configuration = { taskPushNotificationConfig: { url: "https://push.example/links" } };
  const { id } = await ways["1.0"].send("ask", { configuration });
  const findWaiting = () => pushed.find(({ task }) => task.status.state === "TASK_STATE_INPUT_REQUIRED");
  await expect.poll(findWaiting, { timeout: 20_000 }).toBeDefined();
  expect((await give(readLinkPath(readMetadata(findWaiting().task)), "pushed")).status).toBe(200);
  await expect.poll(() => get(caller, `/threads/${id.split(":")[0]}`)).toMatchObject({ status: "idle" });
});
