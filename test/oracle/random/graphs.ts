/** Kinds of graphs, each of a few nodes, as they are built for the product and for LangGraph's own saver. */
import { AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import {
  type BaseCheckpointSaver,
  Command,
  END,
  entrypoint,
  getPreviousState,
  interrupt,
  MessagesDeltaValue,
  MessagesValue,
  ReducedValue,
  Send,
  START,
  StateGraph,
  StateSchema,
  task,
} from "@langchain/langgraph";
import { z } from "zod";

const Log = () =>
  new ReducedValue(
    z.array(z.string()).default(() => []),
    { inputSchema: z.array(z.string()), reducer: (before: string[], more: string[]) => [...before, ...more] },
  );
const fields = () => ({ log: Log(), n: z.number().default(0) });
const Counted = () => new StateSchema(fields());
const Chat = () => new StateSchema({ messages: MessagesValue, ...fields() });
const Delta = () =>
  new StateSchema({ messages: MessagesDeltaValue, ...fields() }) as unknown as ReturnType<typeof Chat>;

interface State {
  log: string[];
  n: number;
  messages: BaseMessage[];
}

const writes = (name: string) => () => ({ log: [name] });
const asks = (name: string) => () => ({ log: [`${name}:${JSON.stringify(interrupt(`${name}?`))}`] });

const nested = () =>
  new StateGraph(Counted())
    .addNode("pl", asks("pl"))
    .addNode("pr", writes("pr"))
    .addEdge(START, "pl")
    .addEdge("pl", "pr")
    .addEdge("pr", END);

/** A nested graph between two nodes. */
const around = (inner: ReturnType<ReturnType<typeof nested>["compile"]>) =>
  new StateGraph(Counted())
    .addNode("a", writes("a"))
    .addNode("s", inner)
    .addNode("z", writes("z"))
    .addEdge(START, "a")
    .addEdge("a", "s")
    .addEdge("s", "z")
    .addEdge("z", END);

/** A message with an id that only the state decides. */
const speak = ({ messages }: State) =>
  new AIMessage({ id: `ai${messages.length}`, content: `n${messages.map(({ text }) => text).join("|").length}` });

function chat(schema: ReturnType<typeof Chat>, removes: boolean) {
  return new StateGraph(schema)
    .addNode("m", (state: State) => {
      const [first] = state.messages;
      const removed = removes && first && state.messages.length > 3 ? [new RemoveMessage({ id: first.id ?? "" })] : [];
      return { messages: [speak(state), ...removed] };
    })
    .addNode("b", asks("b"))
    .addEdge(START, "m")
    .addEdge("m", "b")
    .addEdge("b", END);
}

type Saver = BaseCheckpointSaver | undefined;

function functional(checkpointer: Saver) {
  const step = task("step", async (text: string) => `${text}:${JSON.stringify(interrupt("step?"))}`);
  const plain = task("plain", async (n: number) => n + 1);
  return entrypoint({ name: "functional", ...(checkpointer && { checkpointer }) }, async (input: { log: string[] }) => {
    const before = getPreviousState<{ log: string[]; n: number }>() ?? { log: [], n: 0 };
    const n = await plain(before.n);
    const said = await step(input.log.join());
    const value = { log: [...before.log, said], n };
    return entrypoint.final({ value, save: value });
  });
}

const compile = (graph: { compile: (options: object) => unknown }, name: string, checkpointer: Saver) =>
  graph.compile({ name, ...(checkpointer && { checkpointer }) });

/** Builders of graphs by kind. Nodes that ask are answered by the programs. */
const GRAPHS: Record<string, () => { compile: (options: object) => unknown }> = {
  linear: () =>
    new StateGraph(Counted())
      .addNode("a", writes("a"))
      .addNode("b", asks("b"))
      .addNode("c", writes("c"))
      .addNode("d", asks("d"))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .addEdge("b", "c")
      .addEdge("c", "d")
      .addEdge("d", END),
  parallel: () =>
    new StateGraph(Counted())
      .addNode("a", writes("a"))
      .addNode("l", asks("l"))
      .addNode("r", asks("r"))
      .addNode("f", writes("f"))
      .addNode("z", writes("z"))
      .addEdge(START, "a")
      .addEdge("a", "l")
      .addEdge("a", "r")
      .addEdge("a", "f")
      .addEdge(["l", "r", "f"], "z")
      .addEdge("z", END),
  fan: () =>
    new StateGraph(Counted())
      .addNode("p", writes("p"))
      .addNode("b", ({ n }) => ({ log: [`b${n}:${n === 2 ? String(interrupt("b2?")) : "-"}`] }))
      .addNode("z", writes("z"))
      .addEdge(START, "p")
      .addConditionalEdges("p", () => [1, 2, 3].map((n) => new Send("b", { n, log: [] })), ["b"])
      .addEdge("b", "z")
      .addEdge("z", END),
  nested: () => around(nested().compile()),
  keeps: () => around(nested().compile({ checkpointer: true })),
  goto: () =>
    new StateGraph(Counted())
      .addNode("a", ({ n }) => new Command({ goto: n > 1 ? ["c"] : ["b", "c"], update: { log: ["a"], n: n + 1 } }), {
        ends: ["b", "c"],
      })
      .addNode("b", asks("b"))
      .addNode("c", writes("c"))
      .addEdge(START, "a")
      .addEdge("b", END)
      .addEdge("c", END),
  loop: () =>
    new StateGraph(Counted())
      .addNode("a", ({ n }) => ({ log: [`a${n}:${n % 2 ? String(interrupt(`a${n}?`)) : "-"}`], n: n + 1 }))
      .addEdge(START, "a")
      .addConditionalEdges("a", ({ n }) => (n % 4 ? "a" : END), ["a", END]),
  deferred: () =>
    new StateGraph(Counted())
      .addNode("a", writes("a"))
      .addNode("b", asks("b"))
      .addNode("c", writes("c"))
      .addNode("z", writes("z"), { defer: true })
      .addEdge(START, "a")
      .addEdge("a", "b")
      .addEdge("a", "z")
      .addEdge("b", "c")
      .addEdge("c", "z")
      .addEdge("z", END),
  messages: () => chat(Chat(), true),
  delta: () => chat(Delta(), false),
};

export const KINDS = [...Object.keys(GRAPHS), "functional"];

/** The parts of a compiled graph that programs drive. */
export interface Driven {
  nodes: Record<string, unknown>;
  stream(input: unknown, options: object): Promise<AsyncIterable<unknown>>;
  getState(config: object): Promise<Snapshot>;
  getStateHistory(config: object): AsyncIterable<Snapshot>;
  updateState(config: object, values: unknown, asNode?: string): Promise<unknown>;
}
export interface Snapshot {
  values: Record<string, unknown>;
  next: string[];
  tasks: { name: string; result?: unknown; interrupts: { id: string; value: unknown }[] }[];
  config: object;
  metadata: { source: string; step: number };
}

/** The graph of a kind, with this saver or for a server that brings its own. */
export function build(kind: string, checkpointer?: BaseCheckpointSaver): Driven {
  if (kind === "functional") return functional(checkpointer) as unknown as Driven;
  const make = GRAPHS[kind];
  if (!make) throw new Error(`No kind of graph is called ${kind}.`);
  return compile(make(), kind, checkpointer) as Driven;
}
