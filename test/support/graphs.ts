/** Graphs for tests only. Import this before the app: it puts them into the registry beside the deployed ones. */
import { dispatchCustomEvent } from "@langchain/core/callbacks/dispatch";
import { AIMessage } from "@langchain/core/messages";
import {
  END,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { z } from "zod";
import { graphs } from "../../src/deployment.ts";

const State = new StateSchema({ messages: MessagesValue, topic: z.string().optional(), done: z.string().optional() });
type State = typeof State.State;

const pause = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("stopped"));
    });
  });

const say = (content: string) => ({ messages: [new AIMessage(content)] });

/** What the agent under test does, by the first word of its input. */
const ACTS: Record<string, (config: LangGraphRunnableConfig, state: State) => Promise<object> | object> = {
  /** The A2A message as the graph sees it. */
  mirror: (config) => {
    config.writer?.({ a2a: { artifact: { name: "mirror", parts: [{ data: config.configurable?.a2a }] } } });
    return {};
  },
  file: (config) => {
    const parts = [
      { raw: "aGVsbG8=", filename: "hello.txt", mediaType: "text/plain" },
      { url: "https://files.example/pic.png", mediaType: "image/png" },
    ];
    config.writer?.({ a2a: { artifact: { artifactId: "files", name: "Files", parts } } });
    return say("There are your files.");
  },
  image: () => {
    const block = { type: "image", mimeType: "image/png", data: "iVBORw==" };
    return { messages: [new AIMessage({ content: [{ type: "text", text: "Look:" }, block] as never })] };
  },
  data: (config) => {
    config.writer?.({ a2a: { artifact: { artifactId: "numbers", name: "Numbers", parts: [{ data: [1, 2, 3] }] } } });
    return {};
  },
  chunks: async (config) => {
    for (const [i, text] of ["one ", "two ", "three"].entries()) {
      config.writer?.({
        a2a: { artifact: { artifactId: "count", name: "Count", parts: [{ text }], append: i > 0, lastChunk: i === 2 } },
      });
      await pause(5);
    }
    return {};
  },
  progress: async (config) => {
    config.writer?.({ a2a: { status: { state: "working", message: "Halfway." } } });
    await pause(5);
    return say("Done.");
  },
  reject: (config) => {
    config.writer?.({ a2a: { status: { state: "rejected", message: "Not my work." } } });
    return {};
  },
  login: (config) => {
    config.writer?.({ a2a: { status: { state: "auth-required", message: "Log in first." } } });
    return {};
  },
  message: (config) => {
    config.writer?.({ a2a: { message: { parts: [{ text: "Just this." }] } } });
    return {};
  },
  /** Writes an event that is invalid for A2A callers. */
  misspelt: (config) => {
    config.writer?.({ a2a: { artifact: { name: "Report", part: [{ text: "lost" }] } } });
    return {};
  },
  nothing: (config) => {
    config.writer?.({ a2a: { artefact: {} } });
    return {};
  },
  extended: (config) => {
    const extensions = ["https://x.example/v1"];
    config.writer?.({ a2a: { artifact: { artifactId: "e", parts: [{ text: "x" }], extensions } } });
    config.writer?.({ a2a: { status: { state: "working", message: "Half.", metadata: { percent: 50 } } } });
    return {};
  },
  extendedmessage: (config) => {
    const message = { parts: [{ text: "x" }], extensions: ["https://x.example/v1"], referenceTaskIds: ["t"] };
    config.writer?.({ a2a: { message } });
    return {};
  },
  strict: () => {
    z.object({ city: z.string(), days: z.array(z.number()) }).parse({ days: ["x"] });
    return {};
  },
  values: () => ({ done: "yes" }),
  topic: (_config, { topic }) => say(`The topic is ${topic}.`),
  ask: () => say(`You chose ${JSON.stringify(interrupt("Which one?"))}.`),
  askdata: () => say(`You chose ${JSON.stringify(interrupt({ question: "Which one?", options: ["a", "b"] }))}.`),
  slow: async (config) => {
    for (let i = 1; i <= 20; i += 1) {
      const parts = [{ text: `${i} ` }];
      config.writer?.({ a2a: { artifact: { artifactId: "slow", parts, append: i > 1, lastChunk: i === 20 } } });
      await pause(100, config.signal);
    }
    return {};
  },
  forever: async (config) => {
    await pause(60_000, config.signal);
    return {};
  },
  /** Emits events with LangChain's `dispatchCustomEvent`. */
  dispatch: async () => {
    await dispatchCustomEvent("halfway", { percent: 50 });
    await dispatchCustomEvent("manually_emit_message", { message_id: "own", message: "By hand." });
    await dispatchCustomEvent("manually_emit_tool_call", { id: "call", name: "look", args: { at: "sky" } });
    await dispatchCustomEvent("manually_emit_state", { topic: "soon" });
    return { ...say("Done."), topic: "now" };
  },
  fail: () => {
    throw new Error("It broke.");
  },
};

const actor = new StateGraph(State)
  .addNode("act", async (state, config) => {
    const [word = ""] = (state.messages.at(-1)?.text ?? "").trim().split(/[\s{]+/);
    return (await ACTS[word]?.(config, state)) ?? say(`You said: ${state.messages.at(-1)?.text}`);
  })
  .addEdge(START, "act")
  .addEdge("act", END)
  .compile({ name: "actor" });

/** Two questions at once. */
const asker = new StateGraph(State)
  .addNode("left", () => say(`left ${JSON.stringify(interrupt("Left?"))}`))
  .addNode("right", () => say(`right ${JSON.stringify(interrupt("Right?"))}`))
  .addEdge(START, "left")
  .addEdge(START, "right")
  .addEdge("left", END)
  .addEdge("right", END)
  .compile({ name: "asker" });

/** Has no messages: it takes data, and gives it. */
const scales = new StateGraph(new StateSchema({ kilos: z.number().optional(), grams: z.number().optional() }))
  .addNode("weigh", ({ kilos = 0 }) => ({ grams: kilos * 1_000 }))
  .addEdge(START, "weigh")
  .addEdge("weigh", END)
  .compile({ name: "scales" });

Object.assign(graphs, { actor, asker, scales });
