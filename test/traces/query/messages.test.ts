/** The messages of runs, traces and threads, as clients read them. */
import { beforeAll, describe, expect, it } from "vitest";
import { append, messagesIn } from "../../../src/traces/query/messages.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { NOON, projectId, runParts, sendMultipart, type Sent, sentRun } from "../../support/traces.ts";

const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });

describe("the messages of a value", () => {
  const lc = {
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "messages", "AIMessageChunk"],
    kwargs: { content: "a", id: "m" },
  };
  it.each([
    [{ messages: [user("a")] }, [user("a")]],
    [{ messages: [[lc]] }, [{ type: "ai", content: "a", id: "m" }]],
    [{ messages: [["human", "a"]] }, [{ role: "human", content: "a" }]],
    [{ generations: [[{ text: "a", message: lc }]] }, [{ type: "ai", content: "a", id: "m" }]],
    [{ choices: [{ message: assistant("a") }] }, [assistant("a")]],
    [{ message: assistant("a") }, [assistant("a")]],
    [{ output: assistant("a") }, [assistant("a")]],
    [{ output: [assistant("a")] }, [assistant("a")]],
    [assistant("a"), [assistant("a")]],
    [{ question: "a" }, []],
    [["a"], []],
    [{ messages: "a" }, []],
  ])("%j", (value, messages) => expect(messagesIn(value)).toEqual(messages));

  it("are there once when a later call repeats them", () => {
    const [a, b] = [user("a"), assistant("b")];
    expect(append([a, b], [a, b, user("c")])).toEqual([a, b, user("c")]);
    expect(append([a, b], [a])).toEqual([a, b, a]);
    const known = { id: "1", type: "human", content: "a" };
    expect(append([known, b], [known, { id: "2", type: "ai", content: "c" }])).toHaveLength(3);
  });
});

describe("over HTTP", () => {
  let caller: Caller;
  let session: string;
  let first: Sent;
  let chain: Sent;
  const THREAD = { metadata: { thread_id: "t" } };
  const long = "long ".repeat(80_000);
  const turns = [user("one"), assistant(long), user("two"), assistant("2")];

  beforeAll(async () => {
    caller = await newCaller();
    // The second turn repeats the first, as the state of a graph does. The payload of the first is in R2.
    first = sentRun(NOON, {
      extra: THREAD,
      inputs: { messages: [turns[0]] },
      outputs: { messages: turns.slice(0, 2) },
    });
    const second = sentRun(NOON + 9_000, {
      extra: THREAD,
      inputs: { messages: [turns[2]] },
      outputs: { messages: turns },
    });
    // A chain has none of its own.
    chain = sentRun(NOON + 20_000, { inputs: { question: "three" }, outputs: { answer: "3" } });
    const model = sentRun(
      NOON + 21_000,
      { run_type: "llm", inputs: { messages: [user("three")] }, outputs: assistant("3") },
      chain,
    );
    await sendMultipart(
      caller,
      [first, second, chain, model].flatMap((run) => runParts("post", run)),
    );
    session = await projectId(caller);
  });

  const items = async (path: string) => (await (await caller.fetch(path)).json<{ items: unknown }>()).items;

  it("of a run and a trace", async () => {
    expect(await items(`/api/v2/runs/${first.id}/messages`)).toEqual(turns.slice(0, 2));
    expect(await items(`/api/v2/traces/${first.id}/messages?project_id=${session}`)).toEqual(turns.slice(0, 2));
    expect(await items(`/api/v2/traces/${chain.id}/messages?project_id=${session}`)).toEqual([
      user("three"),
      assistant("3"),
    ]);
    const run = await caller.fetch(`/runs/${first.id}?include_messages=true`);
    expect(await run.json()).toMatchObject({ id: first.id, messages: turns.slice(0, 2) });
    expect(await (await caller.fetch(`/runs/${first.id}`)).json()).not.toHaveProperty("messages");
  });

  it("of a thread", async () => {
    expect(await items(`/api/v2/threads/t/messages?project_id=${session}`)).toEqual(turns);
    // langsmith-fetch splits this text.
    const thread = await caller.fetch(`/runs/threads/t?select=all_messages&session_id=${session}`);
    const { previews } = await thread.json<{ previews: { all_messages: string } }>();
    expect(previews.all_messages.split("\n\n").map((text) => JSON.parse(text) as unknown)).toEqual(turns);
  });

  it("of what is not there", async () => {
    const paths = [
      `/api/v2/runs/${crypto.randomUUID()}/messages`,
      `/api/v2/traces/${crypto.randomUUID()}/messages?project_id=${session}`,
      `/api/v2/threads/other/messages?project_id=${session}`,
      `/runs/threads/other?session_id=${session}`,
    ];
    expect(await Promise.all(paths.map(async (path) => (await caller.fetch(path)).status))).toEqual([
      404, 404, 404, 404,
    ]);
    expect((await caller.fetch("/runs/threads/t")).status).toBe(422);
  });
});
