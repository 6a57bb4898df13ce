/** The unmodified `useStream` of @langchain/react 1.1.0, with its own transport and with an application's paths. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HttpAgentServerAdapter, Tab } from "../support/react.ts";
import { startServer, type TestServer, withTestGraphs } from "../support/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ AUTH: "open", OFFLINE_MODEL_DELAY_MS: "10" }, withTestGraphs());
});
afterAll(() => server.stop());

type Json = Record<string, unknown>;
type Kind = "built-in" | "custom";

const human = (content: string) => ({ messages: [{ type: "human", content }] });

async function get<T>(path: string): Promise<T> {
  return (await (await fetch(`${server.url}${path}`)).json()) as T;
}

async function post(path: string, body: Json): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(`${server.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Runs a graph on a new thread, which is then that graph's. */
async function beginThread(assistant_id: string, content: string): Promise<string> {
  const thread = crypto.randomUUID();
  const body = { assistant_id, input: human(content), if_not_exists: "create" };
  await (await post(`/threads/${thread}/runs/wait`, body)).text();
  return thread;
}

function open(kind: Kind, threadId: string, assistantId = "agent", onCreated?: () => void): Tab {
  if (kind === "built-in") return new Tab({ assistantId, apiUrl: server.url, threadId, onCreated });
  const base = `/api/threads/${threadId}`;
  const paths = { commands: `${base}/commands`, stream: `${base}/stream`, state: `${base}/state` };
  return new Tab({
    transport: new HttpAgentServerAdapter({ apiUrl: server.url, threadId, paths }),
    threadId,
    onCreated,
  });
}

/** Sends a message and waits for the end of its run. `submit` may resolve before the page shows that the run has begun. */
async function submit(tab: Tab, content: string): Promise<void> {
  const submitted = tab.stream.submit(human(content));
  await tab.waitUntil((stream) => stream.isLoading);
  await submitted;
  await tab.waitUntil((stream) => !stream.isLoading);
}

/** What the thread's state says was said. */
async function state(threadId: string): Promise<[string, string][]> {
  const { values } = await get<{ values: { messages: { type: string; content: string }[] } }>(
    `/threads/${threadId}/state`,
  );
  return values.messages.map(({ type, content }) => [type, content]);
}

/**
 * The tab shows what the state says once the thread is at rest. The SDK may take the replayed end of an older run for that of the
 * submitted one, and then says that nothing is loading while the run still adds text.
 */
async function expectShown(tab: Tab, threadId: string): Promise<void> {
  await expect
    .poll(async () => (await get<{ status: string }>(`/threads/${threadId}`)).status, { timeout: 30_000 })
    .not.toBe("busy");
  await expect.poll(() => tab.listSaid(), { timeout: 10_000 }).toEqual(await state(threadId));
}

describe.each(["built-in", "custom"] as const)("useStream, %s transport", (kind) => {
  it("shows a conversation, token by token, as the state has it", async () => {
    const thread = crypto.randomUUID();
    const tab = open(kind, thread);
    await tab.waitUntil((stream) => !stream.isThreadLoading);
    for (const content of ["What is 17 * 23?", "And what can you do?"]) {
      await submit(tab, content);
      expect(tab.listSaid()).toEqual(await state(thread));
    }
    expect(tab.stream.toolCalls.map(({ name, status }) => [name, status])).toEqual([["calculator", "finished"]]);
    expect(tab.stream.error).toBeUndefined();
    tab.close();
  });

  it("continues after a remount in the middle of a run", async () => {
    const thread = crypto.randomUUID();
    const first = open(kind, thread);
    await first.waitUntil((stream) => !stream.isThreadLoading);
    void first.stream.submit(human("What is 17 * 23, and what else can you do for me?"));
    await first.waitUntil((stream) => stream.messages.at(-1)?.type === "ai");
    first.close();
    const second = open(kind, thread);
    await second.waitUntil((stream) => stream.isLoading);
    await second.waitUntil((stream) => !stream.isLoading && stream.messages.length >= 4);
    expect(second.listSaid()).toEqual(await state(thread));
    second.close();
  });

  it("asks, is answered, and does not ask again: after a remount, and after another turn", async () => {
    const thread = await beginThread("approval", "Send an email to ada@example.com saying hello");
    const tab = open(kind, thread, "approval");
    await tab.waitUntil((stream) => stream.interrupts.length === 1);
    const interruptId = tab.stream.interrupts[0]?.id;
    await tab.stream.respond({ decisions: [{ type: "approve" }] }, { interruptId });
    await tab.waitUntil((stream) => !stream.isLoading && stream.interrupts.length === 0);
    await tab.waitUntil((stream) => stream.messages.at(-1)?.type === "ai");
    expect(tab.listSaid()).toEqual(await state(thread));
    tab.close();

    const again = open(kind, thread, "approval");
    await again.waitUntil((stream) => !stream.isThreadLoading && stream.messages.length > 0);
    await submit(again, "Thank you");
    await expectShown(again, thread);
    expect([...again.shown]).toEqual([]);
    again.close();
  });

  it("answers parallel and nested questions together", async () => {
    const thread = await beginThread("questions", "go");
    const tab = open(kind, thread, "questions");
    await tab.waitUntil((stream) => stream.interrupts.length === 3);
    await tab.stream.respondAll(Object.fromEntries(tab.stream.interrupts.map(({ id }) => [String(id), "yes"])));
    await tab.waitUntil((stream) => !stream.isLoading && stream.interrupts.length === 0);
    expect((await state(thread)).at(-1)).toEqual(["ai", "deep: yes; left: yes; right: yes"]);
    await tab.waitUntil((stream) => stream.messages.at(-1)?.type === "ai");
    expect(tab.listSaid()).toEqual(await state(thread));
    tab.close();
  });

  it("stops a run", async () => {
    const thread = crypto.randomUUID();
    // The SDK cancels no run before it has the id, and the first message may come before that.
    let created = false;
    const tab = open(kind, thread, "agent", () => (created = true));
    await tab.waitUntil((stream) => !stream.isThreadLoading);
    void tab.stream.submit(human("What can you do, in many words?"));
    await tab.waitUntil(() => created);
    await tab.waitUntil((stream) => stream.messages.at(-1)?.type === "ai");
    await tab.stream.stop();
    await tab.waitUntil((stream) => !stream.isLoading);
    // The stream may end before the run does.
    await expect
      .poll(async () => (await get<{ status: string }[]>(`/threads/${thread}/runs`))[0]?.status, { timeout: 10_000 })
      .toBe("interrupted");
    tab.close();
  });

  it("shows both tabs on a thread the same", async () => {
    const thread = await beginThread("agent", "hello");
    const [one, two] = [open(kind, thread), open(kind, thread)];
    for (const tab of [one, two])
      await tab.waitUntil((stream) => !stream.isThreadLoading && stream.messages.length === 2);
    await one.stream.submit(human("What is 17 * 23?"));
    await two.stream.submit(human("What is 2 * 3?"));
    for (const tab of [one, two]) {
      await tab.waitUntil((stream) => !stream.isLoading && stream.messages.length === 10);
      await expectShown(tab, thread);
      tab.close();
    }
  });
});

it("useStream receives the reason of a failed run", async () => {
  const tab = open("built-in", crypto.randomUUID(), "boom");
  await tab.waitUntil((stream) => !stream.isThreadLoading);
  await tab.stream.submit(human("go")).catch(() => undefined);
  await tab.waitUntil((stream) => stream.error !== undefined);
  expect(String(tab.stream.error)).toContain("kaboom");
  tab.close();
});
