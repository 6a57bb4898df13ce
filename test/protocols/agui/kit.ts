/** A client of AG-UI on graphs whose nodes wait at gates, in workerd. */
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import {
  END,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesDeltaValue,
  MessagesValue,
  ReducedValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { z } from "zod";
import { graphs } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- what is sent here has many shapes
export type Json = Record<string, any>;

const Log = () =>
  new ReducedValue(
    z.array(z.string()).default(() => []),
    { inputSchema: z.array(z.string()), reducer: (a: string[], b: string[]) => [...a, ...b] },
  );
const Plain = new StateSchema({ messages: MessagesValue, log: Log(), note: z.string().default("") });
const Delta = new StateSchema({ messages: MessagesDeltaValue, log: Log(), note: z.string().default("") });

/** Gates that are closed, by the thread's id and the node's name, and how often each was reached. */
const closed = new Set<string>();
const reached = new Map<string, number>();
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function pass(node: string, { configurable, signal }: LangGraphRunnableConfig): Promise<void> {
  const gate = `${configurable?.thread_id} ${node}`;
  reached.set(gate, (reached.get(gate) ?? 0) + 1);
  while (closed.has(gate)) {
    if (signal?.aborted) throw new Error("stopped");
    await sleep(3);
  }
}

const lastOf = (messages: BaseMessage[]) => messages.findLast((one) => one.type === "human")?.text ?? "";

async function say({ messages }: { messages: BaseMessage[] }, config: LangGraphRunnableConfig) {
  await pass("say", config);
  const text = lastOf(messages);
  if (text.startsWith("fail")) throw new Error("It fails.");
  const answer = text.endsWith("?") ? ` (${JSON.stringify(interrupt("Sure?"))})` : "";
  const read = messages.filter((one) => one.type === "human").map((one) => one.text);
  return { messages: [new AIMessage(`Read: ${read.join(", ")}${answer}`)], log: ["say"] };
}

/** Calls a tool, asks where the message ends in a question mark, fails where it says so, then answers with all it has read. */
const chat = (schema: typeof Plain, name: string) =>
  new StateGraph(schema)
    .addNode("call", async ({ messages }, config) => {
      await pass("call", config);
      const id = `call-${messages.length}`;
      return {
        messages: [new AIMessage({ content: "", tool_calls: [{ id, name: "look", args: { at: "sky" } }] })],
        note: `seen ${messages.length}`,
        log: ["call"],
      };
    })
    .addNode("look", async ({ messages }, config) => {
      await pass("look", config);
      const [made] = (messages.at(-1) as AIMessage).tool_calls ?? [];
      return { messages: [new ToolMessage({ content: "blue", tool_call_id: made?.id ?? "" })], log: ["look"] };
    })
    .addNode("say", say)
    .addEdge(START, "call")
    .addEdge("call", "look")
    .addEdge("look", "say")
    .addEdge("say", END)
    .compile({ name });

/** Writes the person's message in capitals, under the same id. */
const louder = new StateGraph(Plain)
  .addNode("loud", ({ messages }) => {
    const last = messages.findLast((one) => one.type === "human") as BaseMessage;
    const loud = Object.assign(Object.create(Object.getPrototypeOf(last) as object), last, {
      content: last.text.toUpperCase(),
    });
    return { messages: [loud as BaseMessage, new AIMessage(`Louder: ${last.text}`)], log: ["loud"] };
  })
  .addEdge(START, "loud")
  .addEdge("loud", END)
  .compile({ name: "louder" });

const short = new StateGraph(Plain)
  .addNode("say", say)
  .addEdge(START, "say")
  .addEdge("say", END)
  .compile({ name: "short" });

/** Two nodes ask at the same time. */
const asks = (node: string) => async (_state: object, config: LangGraphRunnableConfig) => {
  const answer = interrupt<string, string>(node);
  await pass(node, config);
  return { log: [`${node} ${answer}`] };
};
const agui_asker = new StateGraph(Plain)
  .addNode("left", asks("left"))
  .addNode("right", asks("right"))
  .addEdge(START, "left")
  .addEdge(START, "right")
  .addEdge("left", END)
  .addEdge("right", END)
  .compile({ name: "agui_asker" });

Object.assign(graphs, {
  agui_asker,
  short,
  gated: chat(Plain, "gated"),
  gated_delta: chat(Delta as unknown as typeof Plain, "gated_delta"),
  louder,
});

export const user = (id: string, content: string): Json => ({ id, role: "user", content });

/** A client of one thread. */
export class Client {
  readonly threadId = crypto.randomUUID();

  private constructor(
    readonly caller: Caller,
    readonly graph: string,
  ) {}

  static async open(graph: string): Promise<Client> {
    return new Client(await newCaller(), graph);
  }

  close = (node: string) => closed.add(`${this.threadId} ${node}`);
  release = (node: string) => closed.delete(`${this.threadId} ${node}`);
  times = (node: string) => reached.get(`${this.threadId} ${node}`) ?? 0;

  async reach(node: string, times = 1): Promise<void> {
    while (this.times(node) < times) await sleep(3);
  }

  async post(messages: Json[], more: Json = {}): Promise<Response> {
    const own = { threadId: this.threadId, runId: crypto.randomUUID(), messages, state: {}, tools: [], context: [] };
    return this.caller.fetch(`/agui/${this.graph}`, { body: { ...own, forwardedProps: {}, ...more } });
  }

  /** The events of a request, to its end. */
  async ask(messages: Json[], more: Json = {}): Promise<Json[]> {
    return eventsIn(await this.post(messages, more));
  }

  async get<T = Json>(path: string): Promise<T> {
    return (await this.caller.fetch(`/threads/${this.threadId}${path}`)).json<T>();
  }

  messages = async (): Promise<Json[]> => (await this.get("/state")).values.messages as Json[];
  /** What people and agents have said in the thread's state. */
  texts = async (): Promise<string[]> => textsIn(await this.messages());
  runs = async (): Promise<Json[]> => this.get<Json[]>("/runs");
  cancel = async (runId: string, action = "interrupt") =>
    this.caller.fetch(`/threads/${this.threadId}/runs/${runId}/cancel?wait=1&action=${action}`, { method: "POST" });
}

export async function eventsIn(response: Response): Promise<Json[]> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  return text
    .split("\n\n")
    .filter((frame) => frame.startsWith("data: "))
    .map((frame) => JSON.parse(frame.slice(6)) as Json);
}

export const textsIn = (messages: Json[]): string[] =>
  messages
    .filter(({ type, content }) => (type === "human" || type === "ai") && content !== "")
    .map(({ content }) => content as string);

/** Whether each call of a tool has its one result after it: models refuse any other conversation. */
export function hasWholeCalls(messages: Json[]): boolean {
  const open = new Set<string>();
  for (const { type, tool_calls = [], tool_call_id } of messages) {
    if (type === "tool" && !open.delete(tool_call_id as string)) return false;
    for (const { id } of tool_calls as Json[]) open.add(id as string);
  }
  return open.size === 0;
}

/** What a client has that follows the events: the messages of the last snapshot. */
export const shown = (events: Json[]): Json[] =>
  events.findLast(({ type }) => type === "MESSAGES_SNAPSHOT")?.messages as Json[];
