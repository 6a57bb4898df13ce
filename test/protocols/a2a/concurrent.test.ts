/** Two answers to one question at the same time: the first one answers, and the other is the task's next message. */
import { AIMessage } from "@langchain/core/messages";
import { interrupt, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { beforeAll, expect, it } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get } from "../../threads/client.ts";
import { events, type Json, message03, message1, sendRaw, result } from "./rpc.ts";

/** Threads whose answered run may end. */
const released = new Set<string>();

const State = new StateSchema({ messages: MessagesValue });
graphs.held = new StateGraph(State)
  .addNode("act", async ({ messages }, { configurable }) => {
    const said = messages.at(-1)?.text;
    if (said !== "ask") return { messages: [new AIMessage(`You said: ${said}.`)] };
    const answer = String(interrupt("Which one?"));
    while (!released.has(String(configurable?.thread_id))) await new Promise((resolve) => setTimeout(resolve, 5));
    return { messages: [new AIMessage(`You chose ${answer}.`)] };
  })
  .addEdge(START, "act")
  .compile({ name: "held" });

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const agent = "held";

interface Way {
  name: string;
  message: (text: string, more?: Json) => Json;
  method: string;
  /** Sends, and gives the state that the caller sees last. */
  send: (method: string, params: Json, headers?: Record<string, string>) => Promise<string>;
}

const readState = (one: Json): string => (one.task ?? one.statusUpdate ?? one).status.state;
const waits = async (method: string, params: Json, headers?: Record<string, string>) => {
  // The same id each time: a repeated request is the same in every byte.
  const response = await sendRaw(caller, { jsonrpc: "2.0", id: "w", method, params }, { agent, headers });
  return readState((await response.json<{ result: Json }>()).result);
};
const streams = async (method: string, params: Json, headers?: Record<string, string>) =>
  readState((await events(caller, method, params, { agent, headers })).at(-1));

const WAYS: Way[] = [
  { name: "1.0, waiting", message: message1, method: "SendMessage", send: waits },
  { name: "1.0, streaming", message: message1, method: "SendStreamingMessage", send: streams },
  { name: "0.3, waiting", message: message03, method: "message/send", send: waits },
  { name: "0.3, streaming", message: message03, method: "message/stream", send: streams },
];

async function askQuestion({ message }: Way): Promise<{ taskId: string; contextId: string }> {
  const old = message === message03;
  const answer = await result(caller, old ? "message/send" : "SendMessage", { message: message("ask") }, { agent });
  const { id, contextId } = answer.task ?? answer;
  return { taskId: id, contextId };
}

const listRuns = (contextId: string) => get<Json[]>(caller, `/threads/${contextId}/runs`);

async function untilRuns(contextId: string, count: number): Promise<void> {
  while ((await listRuns(contextId)).length < count) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function readSaid(contextId: string): Promise<string[]> {
  const { values } = await get<{ values: { messages: Json[] } }>(caller, `/threads/${contextId}/state`);
  return values.messages.map(({ content }) => String(content));
}

it.each(WAYS)("loses none: $name", async (way) => {
  const { taskId, contextId } = await askQuestion(way);
  const texts = ["blue", "green"];
  const keys = texts.map(() => ({ "idempotency-key": crypto.randomUUID() }));
  const params = texts.map((text) => ({ message: way.message(text, { taskId, contextId }) }));
  const sent = params.map((one, i) => way.send(way.method, one, keys[i]));
  // Both are runs of the task before the first of them has ended.
  await untilRuns(contextId, 3);
  released.add(contextId);
  expect(new Set((await Promise.all(sent)).map((state) => state.toLowerCase().replace("task_state_", "")))).toEqual(
    new Set(["completed"]),
  );

  const all = (await readSaid(contextId)).join("\n");
  for (const text of texts) {
    const times = [`You chose ${text}.`, `You said: ${text}.`].filter((one) => all.includes(one));
    expect(times).toHaveLength(1);
  }
  expect(all.match(/You chose/g)).toHaveLength(1);

  // A repeated request is the same run, whether it answered or came after the answer.
  for (const [i, one] of params.entries()) {
    expect((await way.send(way.method, one, keys[i])).toLowerCase()).toContain("completed");
  }
  expect(await listRuns(contextId)).toHaveLength(3);
  expect((await readSaid(contextId)).join("\n")).toBe(all);
});

it("puts the second message into the task of a caller that does not wait", async () => {
  const { taskId, contextId } = await askQuestion(WAYS[0] as Way);
  const send = async (text: string) =>
    (
      await result(
        caller,
        "SendMessage",
        { message: message1(text, { taskId, contextId }), configuration: { returnImmediately: true } },
        { agent },
      )
    ).task;
  const tasks = await Promise.all([send("blue"), send("green")]);
  expect(tasks.map(({ id }) => id)).toEqual([taskId, taskId]);
  await untilRuns(contextId, 3);
  released.add(contextId);
  while ((await listRuns(contextId)).some(({ status }) => status !== "success" && status !== "interrupted")) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const { history } = await result(caller, "GetTask", { id: taskId }, { agent });
  const sentTexts = history.filter(({ role }: Json) => role === "ROLE_USER").map(({ parts }: Json) => parts[0].text);
  expect(sentTexts.toSorted()).toEqual(["ask", "blue", "green"]);
  expect((await readSaid(contextId)).filter((text) => /blue|green/.test(text))).toHaveLength(3);
});
