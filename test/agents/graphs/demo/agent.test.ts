import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { getConfigTypeSchema, getInputTypeSchema } from "@langchain/langgraph/zod/schema";
import { describe, expect, it } from "vitest";
import { reply } from "../../../../examples/demo/src/offline/reply.ts";
import { calculator, currentTime } from "../../../../examples/demo/src/tools.ts";
import { human, lastText, onThread, openGraph } from "./support.ts";

const readProperties = (schema: unknown) => (schema as { properties: Record<string, unknown> }).properties;

describe("agent", () => {
  it("streams its words, calls both tools in parallel, and reports the results", async () => {
    const agent = await openGraph("agent");
    const input = human("What is 17 * 24, and what time is it in Tokyo?");
    const chunks: [BaseMessage, Record<string, unknown>][] = [];
    for await (const chunk of await agent.stream(input, { ...onThread("t"), streamMode: "messages" }))
      chunks.push(chunk);

    const { values } = await agent.getState(onThread("t"));
    const [, asked, sum, time, said] = values.messages as AIMessage[];
    expect(asked?.tool_calls?.map(({ name, args }) => ({ name, args }))).toEqual([
      { name: "calculator", args: { expression: "17 * 24" } },
      { name: "current_time", args: { zone: "Asia/Tokyo" } },
    ]);
    expect(sum?.text).toBe("408");
    expect(time?.text).toMatch(/GMT\+9|JST/);
    expect(said?.text).toContain("17 * 24 = 408.");
    expect(said?.text).toContain("offline model");
    expect(said?.usage_metadata?.output_tokens).toBeGreaterThan(10);

    const spoken = chunks.filter(([message]) => message.id === said?.id);
    expect(spoken.length).toBeGreaterThan(10);
    expect(spoken.map(([message]) => message.text).join("")).toBe(said?.text);
    expect(spoken.every(([message]) => AIMessageChunk.isInstance(message))).toBe(true);
  });

  it("keeps text and tool calls in blocks of their own in protocol events", async () => {
    const agent = await openGraph("agent");
    const finished: Record<string, unknown>[] = [];
    const run = await agent.streamEvents(human("what is 2 + 3?"), { ...onThread("t"), version: "v3" });
    for await (const event of run as AsyncIterable<{ method: string; params: { data: Record<string, unknown> } }>) {
      if (event.method === "messages" && event.params.data.event === "content-block-finish")
        finished.push(event.params.data);
    }
    expect(finished.slice(0, 2)).toMatchObject([
      { index: 0, content: { type: "text", text: "Let me see to that." } },
      { index: 1, content: { type: "tool_call", name: "calculator", args: { expression: "2 + 3" } } },
    ]);
  });

  it("follows its context, and returns its schema", async () => {
    const agent = await openGraph("agent");
    const context = { system_prompt: "Answer as a pirate." };
    const state = await agent.invoke(human("hello"), { ...onThread("a"), context });
    expect(lastText(state)).toContain('My instructions are: "Answer as a pirate."');
    await expect(agent.invoke(human("hello"), { ...onThread("b"), context: { temperature: 9 } })).rejects.toThrow(
      /temperature/,
    );
    expect(Object.keys(readProperties(getConfigTypeSchema(agent)))).toEqual(["model", "system_prompt", "temperature"]);
    expect(readProperties(getInputTypeSchema(agent)).messages).toMatchObject({ langgraph_type: "messages" });
  });

  it("stops speaking when it is cancelled", async () => {
    const agent = await openGraph("agent", { OFFLINE_MODEL_DELAY_MS: "20" } as Env);
    const cancel = new AbortController();
    const run = agent.invoke(human("count to 5000"), { ...onThread("t"), signal: cancel.signal });
    setTimeout(() => cancel.abort(), 100);
    await expect(run).rejects.toThrow(/abort/i);
  });
});

describe("tools", () => {
  it("calculate, and refuse what is no arithmetic", async () => {
    const cases = { "(2 + 3) * 4": "20", "2^10": "1024", "sqrt(16) / 8": "0.5", "0.1 + 0.2": "0.3", "-3 * -2": "6" };
    for (const [expression, result] of Object.entries(cases)) {
      expect([expression, await calculator.invoke({ expression })]).toEqual([expression, result]);
    }
    for (const expression of ["globalThis", "constructor", "[constructor.name]", "1 +", "alert(1)", "toString()"]) {
      await expect(calculator.invoke({ expression })).rejects.toBeInstanceOf(Error);
    }
  });

  it("know the time of a zone, and that a zone does not exist", async () => {
    expect(await currentTime.invoke({ zone: "Europe/Berlin" })).toMatch(/CES?T/);
    await expect(currentTime.invoke({ zone: "Mars/Base" })).rejects.toThrow(/Mars/);
  });
});

describe("the offline model", () => {
  const asks = (text: string, tools = ["calculator", "current_time"]) => reply([new HumanMessage(text)], tools);

  it("finds what to calculate in plain words", () => {
    const expressions = (text: string) => asks(text).calls.map(({ args }) => args.expression);
    expect(expressions("What's 17 times 24?")).toEqual(["17 * 24"]);
    expect(expressions("(3 + 4)^2 please")).toEqual(["(3 + 4)^2"]);
    expect(expressions("I have 3 apples and 4 pears")).toEqual([]);
  });

  it("calls no tool it was not given, and counts", () => {
    expect(asks("what is 1 + 1?", []).calls).toEqual([]);
    expect(asks("Count to 3").text).toBe("1 2 3");
    expect(asks("count to 99999999").text.split(" ")).toHaveLength(10_000);
  });

  it("reports a tool's failure", () => {
    const call = new AIMessage({
      content: "",
      tool_calls: [{ id: "1", name: "calculator", args: { expression: "1/" } }],
    });
    const failed = new ToolMessage({ content: "Error: bad", tool_call_id: "1", name: "calculator", status: "error" });
    expect(reply([new HumanMessage("1/"), call, failed], ["calculator"]).text).toContain("did not do it: Error: bad");
  });
});
