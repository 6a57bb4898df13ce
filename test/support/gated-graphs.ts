/** Chats that say what they have seen, ask when they are asked, and wait at the gates of a thread; one with messages that are replayed. */
import "../../src/runtime/install.ts";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import {
  END,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesDeltaValue,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { graphs } from "../../src/deployment.ts";
import { newThread } from "../threads/client.ts";
import { type Caller, newCaller } from "./caller.ts";

type Json = Record<string, unknown>;
interface Answer<T> {
  status: number;
  body: T;
}

/** The gates that are closed, and how often one was reached: `<thread> <node>`. */
const closed = new Set<string>();
const reached = new Map<string, number>();

async function pass(node: string, config: LangGraphRunnableConfig): Promise<void> {
  const gate = `${String(config.configurable?.thread_id)} ${node}`;
  reached.set(gate, (reached.get(gate) ?? 0) + 1);
  while (closed.has(gate)) {
    if (config.signal?.aborted) throw new Error("stopped");
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}

const Plain = new StateSchema({ messages: MessagesValue });
const Delta = new StateSchema({ messages: MessagesDeltaValue });

const chat = (schema: typeof Plain, name: string) =>
  new StateGraph(schema)
    .addNode("speak", async ({ messages }, config) => {
      await pass("speak", config);
      return { messages: [new AIMessage(`seen: ${messages.map(({ text }) => text).join("|")}`)] };
    })
    .addNode("ask", async ({ messages }, config) => {
      const last = messages.findLast((message: BaseMessage) => message.type === "human")?.text ?? "";
      if (last.endsWith("?")) interrupt(last);
      await pass("ask", config);
      return {};
    })
    .addNode("close", async ({ messages }, config) => {
      await pass("close", config);
      if (messages.some(({ text }) => text === "fail")) throw new Error("It fails.");
      return {};
    })
    .addEdge(START, "speak")
    .addEdge("speak", "ask")
    .addEdge("ask", "close")
    .addEdge("close", END)
    .compile({ name });

/** One task asks, while another one works. */
const parallel = new StateGraph(Plain)
  .addNode("ask", () => ({ messages: [new AIMessage(String(interrupt("well?")))] }))
  .addNode("work", async (_state, config) => {
    await pass("work", config);
    return { messages: [new AIMessage("worked")] };
  })
  .addEdge(START, "ask")
  .addEdge(START, "work")
  .compile({ name: "gatedParallel" });

/** The chats by their names. */
export const CHATS = ["gatedPlain", "gatedDelta"] as const;
export const gatedChats = {
  gatedPlain: chat(Plain, "gatedPlain"),
  gatedDelta: chat(Delta as unknown as typeof Plain, "gatedDelta"),
};
Object.assign(graphs, { ...gatedChats, gatedParallel: parallel });

export const textsOf = ({ messages = [] }: { messages?: { content: unknown }[] }): unknown[] =>
  messages.map(({ content }) => content);

/** A thread of a chat. */
export class GatedThread {
  private constructor(
    readonly caller: Caller,
    readonly id: string,
    readonly graph: string,
  ) {}

  static async make(graph: (typeof CHATS)[number] | "gatedParallel", caller?: Caller): Promise<GatedThread> {
    const by = caller ?? (await newCaller());
    return new GatedThread(by, await newThread(by), graph);
  }

  close(node: string): void {
    closed.add(`${this.id} ${node}`);
  }

  open(node: string): void {
    closed.delete(`${this.id} ${node}`);
  }

  async reaches(node: string, times = 1): Promise<void> {
    for (const end = Date.now() + 10_000; this.times(node) < times;) {
      if (Date.now() > end) throw new Error(`The node ${node} was reached ${this.times(node)} times.`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  times(node: string): number {
    return reached.get(`${this.id} ${node}`) ?? 0;
  }

  async call<T = Json>(
    path: string,
    init: { body?: unknown; method?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer<T>> {
    const response = await this.caller.fetch(`/threads/${this.id}${path === "" ? "" : `/${path}`}`, init);
    const text = await response.text();
    return { status: response.status, body: (text === "" ? undefined : JSON.parse(text)) as T };
  }

  toBody = (text: string | undefined, more: Json = {}): Json => ({
    assistant_id: this.graph,
    ...(text !== undefined && { input: { messages: [{ role: "user", content: text }] } }),
    ...more,
  });

  async run(text: string | undefined, more: Json = {}): Promise<string> {
    const { status, body } = await this.call<{ run_id: string }>("runs", { body: this.toBody(text, more) });
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
    return body.run_id;
  }

  async wait(text: string | undefined, more: Json = {}): Promise<unknown[]> {
    return textsOf((await this.call("runs/wait", { body: this.toBody(text, more) })).body);
  }

  async join(run: string): Promise<unknown[]> {
    return textsOf((await this.call(`runs/${run}/join`)).body);
  }

  async state(): Promise<unknown[]> {
    return textsOf((await this.call<{ values: Json }>("state")).body.values);
  }

  async remove(run: string): Promise<number> {
    return (await this.call(`runs/${run}`, { method: "DELETE" })).status;
  }

  async statusOf(run: string): Promise<unknown> {
    const { status, body } = await this.call(`runs/${run}`);
    return status === 200 ? body.status : status;
  }

  /** What a reader of the thread's stream gets after a cursor: in the classic framing, and in that of the protocol. */
  async replay(after = 0): Promise<string> {
    const headers = { "last-event-id": String(after) };
    const response = await this.caller.fetch(`/threads/${this.id}/stream`, { headers });
    return readFor(response);
  }

  async replayEvents(after = 0): Promise<string> {
    const body = { channels: ["values", "updates", "messages", "lifecycle", "input", "tasks"], since: after };
    return readFor(await this.caller.fetch(`/threads/${this.id}/stream/events`, { body }));
  }
}

/** What a stream without an end gives until it gives nothing for a while. */
async function readFor(response: Response): Promise<string> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const quiet = new Promise<undefined>((resolve) => setTimeout(resolve, 300, undefined));
    const next = await Promise.race([reader.read(), quiet]);
    if (!next || next.done) break;
    text += decoder.decode(next.value, { stream: true });
  }
  await reader.cancel();
  return text;
}
