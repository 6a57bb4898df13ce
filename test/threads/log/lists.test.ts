/** Lists of states: a step writes the chunks that it added or changed, and what is read is what was written. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { dump, flatten } from "../../../src/runtime/stored.ts";
import { ThreadContext } from "../../../src/threads/context.ts";
import type { ChunkRef } from "../../../src/threads/log/segments.ts";
import { type Random, seeded } from "../../support/random.ts";

/** Runs `act` in a new object; `open` gives the object's values as a new instance finds them. */
async function runInObject<T>(act: (open: () => ThreadContext) => Promise<T>): Promise<T> {
  const stub = env.THREAD.getByName(`${crypto.randomUUID()}:${crypto.randomUUID()}`);
  return runInDurableObject(stub, (_instance, state) => act(() => new ThreadContext(state, env)));
}

/** The chunks of a list that a node may have changed. */
const encodeChunks = ({ values }: ThreadContext, key: string, items: unknown[]): ChunkRef[] => {
  values.touch();
  const ref = values.encode(key, items);
  return "l" in ref ? ref.l : [];
};

it("writes the chunk of an item that was changed in place, and no other", async () => {
  await runInObject(async (open) => {
    const context = open();
    const items: HumanMessage[] = [];
    let before: ChunkRef[] = [];
    for (const text of ["a", "b", "c"]) {
      items.push(new HumanMessage(text));
      before = encodeChunks(context, "k", items);
    }
    expect(before.length).toBe(3);
    items[1]!.content = "changed";
    const after = encodeChunks(context, "k", items);
    expect(after.map((chunk, i) => chunk === before[i])).toEqual([true, false, true]);
    expect(encodeChunks(context, "k", items)).toEqual(after);
    expect(await context.values.decode("k", { l: before })).toMatchObject([{ content: "a" }, { content: "b" }, {}]);
  });
});

it("compares a list once between two nodes", async () => {
  await runInObject(async (open) => {
    const { values } = open();
    const items = [{ text: "a" }];
    const before = values.encode("k", items);
    items[0]!.text = "changed";
    expect(values.encode("k", items)).toBe(before);
    values.touch();
    expect(values.encode("k", items)).not.toEqual(before);
  });
});

it("knows a bounded number of lists, and writes a list again that it does not know", async () => {
  await runInObject(async (open) => {
    const context = open();
    const items = [new HumanMessage("a")];
    const first = encodeChunks(context, "0", items);
    for (let list = 1; list <= 100; list += 1) {
      const chunks = encodeChunks(context, String(list), items);
      expect(encodeChunks(context, String(list), items)).toEqual(chunks);
    }
    const again = encodeChunks(context, "0", items);
    expect(again).not.toEqual(first);
    for (const chunks of [first, again]) expect(await context.values.decode("x", { l: chunks })).toEqual(items);
  });
});

it("merges small chunks", async () => {
  await runInObject(async (open) => {
    const context = open();
    const items: string[] = [];
    for (let step = 0; step < 300; step += 1) {
      items.push(String(step));
      expect(encodeChunks(context, "k", items).length).toBeLessThanOrEqual(33);
    }
    expect(await context.values.decode("k", { l: encodeChunks(context, "k", items) })).toEqual(items);
  });
});

function anyItem(random: Random): unknown {
  const text = "x".repeat(random.between(0, random.next() < 0.02 ? 100_000 : 100));
  const choices = [
    () => new HumanMessage({ content: text, additional_kwargs: { own: { lc: 2 } } }),
    () => new AIMessage({ content: [{ type: "text", text }], tool_calls: [{ name: "f", args: { text }, id: "1" }] }),
    () => ({ text, deep: [{ n: 1 }] }),
    () => new Map([["text", text]]),
    () => text,
    () => random.between(0, 5),
    () => null,
  ];
  return (choices[random.between(0, choices.length)] as () => unknown)();
}

/** Changes an item in place, if it can be. */
function change(item: unknown, random: Random): void {
  const n = random.between(0, 1_000);
  if (item instanceof HumanMessage) {
    if (n % 2) item.content = `changed ${n}`;
    else item.additional_kwargs.own = { lc: n };
  } else if (item instanceof AIMessage) {
    if (n % 2) item.tool_calls![0]!.args = { n };
    else (item.content as { text: string }[])[0]!.text = `changed ${n}`;
  } else if (item instanceof Map) item.set("n", n);
  else if (typeof item === "object" && item !== null) (item as { deep: { n: number }[] }).deep[0]!.n = n;
}

it("reads what was written, after any order of operations", async () => {
  const random = seeded("lists");
  await runInObject(async (open) => {
    let context = open();
    let items: unknown[] = [];
    /** What some of the states were, and where they are. */
    const states: { chunks: ChunkRef[]; text: string }[] = [];
    let wrong = false;
    for (let times = 0; times < 400; times += 1) {
      const at = random.between(0, items.length + 1);
      const act = random.next();
      if (act < 0.4) items = [...items, anyItem(random)];
      else if (act < 0.6) change(items[at], random);
      else if (act < 0.7) items = [...items.slice(0, at), ...items.slice(at + 1)];
      else if (act < 0.75) items = [...items.slice(0, at), anyItem(random), ...items.slice(at)];
      else if (act < 0.78) items = items.slice(0, at);
      else if (act < 0.85) {
        context.eventLog.flush();
        context = open();
      } else if (states.length > 0) {
        const { chunks, text } = states[random.between(0, states.length)]!;
        const read = (await context.values.decode("k", { l: chunks })) as unknown[];
        wrong ||= dump(read) !== text;
        if (act < 0.9) items = read;
        else for (const item of read) change(item, random);
      }
      if (items.length === 0) continue;
      const chunks = encodeChunks(context, "k", items);
      states.push({ chunks, text: dump(items) });
      expect(context.values.flat({ l: chunks })).toBe(JSON.stringify(flatten(JSON.parse(dump(items)))));
    }
    expect(wrong, "an earlier state").toBe(false);
    for (const { chunks, text } of states) expect(dump(await context.values.decode("k", { l: chunks }))).toBe(text);
  });
});
