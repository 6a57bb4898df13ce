/** Graphs whose messages are replayed (`DeltaChannel`), the same ones with plain messages, and one with other channels. */
import "../../src/runtime/install.ts";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import {
  END,
  interrupt,
  MessagesDeltaValue,
  MessagesValue,
  ReducedValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { z } from "zod";
import { graphs } from "../../src/deployment.ts";

/** The nodes that ran to their end, in order. */
export const ran: string[] = [];

const Log = () =>
  new ReducedValue(
    z.array(z.string()).default(() => []),
    { inputSchema: z.array(z.string()), reducer: (before: string[], more: string[]) => [...before, ...more] },
  );

const Title = () => z.string().default("");
const Plain = () => new StateSchema({ messages: MessagesValue, log: Log(), title: Title() });
const Delta = () => new StateSchema({ messages: MessagesDeltaValue, log: Log(), title: Title() });
type Schema = ReturnType<typeof Plain>;

const textsOf = (messages: BaseMessage[]) => messages.map((one) => one.text);

/** Says what it has seen, and asks when the last message of a person ends with a question mark. */
export const chat = (schema: Schema) =>
  new StateGraph(schema)
    .addNode("speak", ({ messages }) => ({
      messages: [new AIMessage(`seen: ${textsOf(messages).join("|")}`)],
      log: ["speak"],
    }))
    .addNode("ask", ({ messages }) => {
      const last = messages.findLast((one) => one.type === "human")?.text ?? "";
      return { log: [last.endsWith("?") ? `ask: ${String(interrupt(last))}` : "ask"] };
    })
    .addNode("close", () => ({ log: ["close"] }))
    .addEdge(START, "speak")
    .addEdge("speak", "ask")
    .addEdge("ask", "close")
    .addEdge("close", END);

/** Two nodes of one step ask, and one does not. Their answers are messages. */
export const pair = (schema: Schema) => {
  const asks = (name: string) => () => {
    const answer = String(interrupt(`${name}?`));
    ran.push(name);
    return { messages: [new AIMessage({ id: name, content: `${name}: ${answer}` })] };
  };
  return new StateGraph(schema)
    .addNode("left", asks("left"))
    .addNode("right", asks("right"))
    .addNode("free", () => {
      ran.push("free");
      return { messages: [new AIMessage({ id: "free", content: "free" })] };
    })
    .addNode("last", () => ({ log: ["last"] }))
    .addEdge(START, "left")
    .addEdge(START, "right")
    .addEdge(START, "free")
    .addEdge(["left", "right", "free"], "last")
    .addEdge("last", END);
};

const jot = new StateGraph(new StateSchema({ note: z.string().default(""), log: Log() }))
  .addNode("jot", () => ({ note: "noted", log: ["jot"] }))
  .addEdge(START, "jot")
  .addEdge("jot", END);

/** The state schemas by the end of the graphs' names. */
export const SCHEMAS = { plain: Plain, delta: Delta as unknown as typeof Plain };

for (const [kind, schema] of Object.entries(SCHEMAS)) {
  graphs[`chat-${kind}`] = chat(schema()).compile({ name: `chat-${kind}` });
  graphs[`pair-${kind}`] = pair(schema()).compile({ name: `pair-${kind}` });
}
graphs.jot = jot.compile({ name: "jot" });
