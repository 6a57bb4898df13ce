/** A log with generated messages, as models of several providers stream them, and what clients make of its streams. */
import { AIMessageChunk } from "@langchain/core/messages";
import { Accumulator, MessageBlocks } from "../../../src/runtime/blocks.ts";
import type { Emitter } from "../../../src/threads/log/emit.ts";
import type { Random } from "../../support/random.ts";

type Json = Record<string, unknown>;
type Chunk = ConstructorParameters<typeof AIMessageChunk>[0];

const WORDS = ["a", "the ", "水", "🌊", "\n", '"', "\\", " long word", "{", "é", "\ud83d", "\ude00"];

/** The chunks of one message. */
function generateChunks(random: Random): Chunk[] {
  const word = () => WORDS[random.between(0, WORDS.length)] ?? "";
  const texts = () => Array.from({ length: random.between(1, 7) }, word);
  const common = random.next() < 0.5 ? {} : { response_metadata: { model_provider: "openai", usage: {} } };
  const createPlain = (content: Chunk) => ({ ...common, ...(content as object) }) as Chunk;
  const call = (index: number, fields: Json) =>
    createPlain({ content: "", tool_call_chunks: [{ index, type: "tool_call_chunk", ...fields }] });
  const parts: (() => Chunk[])[] = [
    () => texts().map((content) => createPlain({ content })),
    () => texts().map((text) => createPlain({ content: "", additional_kwargs: { reasoning_content: text } })),
    () => texts().map((text) => createPlain({ content: [{ type: "text", text, index: 0 }] })),
    () => texts().map((reasoning) => createPlain({ content: [{ type: "reasoning", reasoning, index: 1 }] })),
    () => texts().map((data) => createPlain({ content: [{ type: "audio", data, index: 2 }] })),
    () =>
      [0, 1].flatMap((i) => [
        call(i, { name: "find", id: `c${i}`, args: "" }),
        ...texts().map((args) => call(i, { args })),
      ]),
    // Members that add up, and chunks with two texts.
    () => texts().map((content) => ({ content, response_metadata: { note: "x" } })),
    () => texts().map((content) => ({ content, additional_kwargs: { reasoning_content: "r" } })),
    () => [createPlain({ content: "" }), createPlain({ content: "" })],
    () => [{ content: "", usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } }],
  ];
  return Array.from({ length: random.between(1, 4) }, () => parts[random.between(0, parts.length)]?.() ?? []).flat();
}

/** Says messages at several nodes at once, some of them nested, with other events between. Writes rows of any length. */
export function generateMessages(emitter: Emitter, flush: () => void, random: Random): void {
  const nodes = Array.from({ length: random.between(1, 4) }, (_, i) => {
    const ns = i % 2 === 0 ? [`node${i}:t${i}`] : ["outer:t", `node${i}:t${i}`];
    const metadata = { langgraph_node: `node${i}`, tags: [], step: i };
    return { ns, node: `node${i}`, metadata, steps: generateSteps() };
  });
  function generateSteps(): ((ns: string[], node: string, metadata: Json) => void)[] {
    return Array.from({ length: random.between(1, 3) }, () => {
      const id = crypto.randomUUID();
      const blocks = new MessageBlocks(crypto.randomUUID());
      const steps = generateChunks(random).map((fields, i) => (ns: string[], node: string, metadata: Json) => {
        const chunk = new AIMessageChunk({ ...(fields as object), id });
        emitter.tuple(ns, chunk, metadata);
        if (i === 0) emitter.message(ns, node, blocks.start(id));
        for (const event of blocks.delta(chunk)) emitter.message(ns, node, event);
      });
      const end = (ns: string[], node: string) => {
        for (const event of blocks.finish()) emitter.message(ns, node, event);
      };
      return [...steps, end];
    }).flat();
  }
  emitter.lifecycle([], { event: "running", graph_name: "generated" });
  const apart = random.next() < 0.5;
  while (nodes.some(({ steps }) => steps.length > 0)) {
    const source = nodes[random.between(0, nodes.length)];
    // A burst, or word by word.
    for (let left = random.between(1, apart ? 8 : 2); left > 0; left -= 1) {
      if (source) source.steps.shift()?.(source.ns, source.node, source.metadata);
    }
    if (random.next() < 0.05) emitter.emit("custom", [], '{"progress":1}');
    if (random.next() < 0.03) emitter.emit("updates", [], '{"node0":{"x":1}}');
    if (random.next() < 0.3) flush();
  }
  emitter.lifecycle([], { event: "completed", graph_name: "generated" });
  flush();
}

/** The blocks of each message as a client of the protocol has them, and the number of every other event. */
export function assembleEvents(events: { method: string; ns: string[]; node?: string; data: Json }[]): Json {
  const blocks: Record<string, Json> = {};
  const others: Record<string, number> = {};
  for (const { method, ns, node, data } of events) {
    const key = JSON.stringify([ns, node, data.run_id, data.index]);
    const delta = data.delta as Json | undefined;
    if (method === "messages" && data.event === "content-block-start") blocks[key] = { ...(data.content as Json) };
    if (method === "messages" && delta) {
      const block = (blocks[key] ??= {});
      if (delta.type === "block-delta") Object.assign(block, delta.fields);
      for (const name of ["text", "reasoning", "data"])
        if (typeof delta[name] === "string") block[name] = `${(block[name] as string | undefined) ?? ""}${delta[name]}`;
      continue;
    }
    const other = `${method} ${String(data.event)} ${key}`;
    others[other] = (others[other] ?? 0) + 1;
  }
  return { blocks, others };
}

/** Adjacent texts in a message's content are one text. */
function joinContent(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const parts: Json[] = [];
  for (const part of content as Json[]) {
    const last = parts.at(-1);
    if (last?.type === "text" && part.type === "text" && last.index === part.index)
      parts[parts.length - 1] = { ...last, text: `${String(last.text)}${String(part.text)}` };
    else parts.push(part);
  }
  return parts;
}

/** The messages as a client of the classic modes has them, and the number of other frames. */
export function classicMessages(frames: { event: string; data: Json }[]): Json {
  const accumulator = new Accumulator();
  const messages: Record<string, Json> = {};
  const partials: Record<string, unknown> = {};
  const others: Record<string, number> = {};
  for (const { event, data } of frames) {
    if (event.startsWith("messages/partial")) {
      const [message] = data as unknown as [Json];
      partials[String(message.id)] = joinContent(message.content);
    } else if (event === "messages" || event.startsWith("messages|")) {
      const [chunk] = data as unknown as [Json & { id: string }];
      const sum = JSON.parse(accumulator.add(chunk).message) as Json;
      messages[chunk.id] = { ...sum, content: joinContent(sum.content) };
    } else others[event] = (others[event] ?? 0) + 1;
  }
  delete others["messages/metadata"];
  return { messages, partials, others };
}
