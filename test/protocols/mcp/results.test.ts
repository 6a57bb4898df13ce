/** What a tool gives: the answer as content, other members of the state as structured content, and progress in between. */
import "../../support/graphs.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { toOutputSchema, toResult } from "../../../src/protocols/mcp/tools.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { connectFirst, connectSecond } from "./connect.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});
const toInput = (text: string) => ({ messages: [{ role: "user", content: text }] });

describe.each([
  ["first", connectFirst],
  ["second", (key: string) => connectSecond(key)],
] as const)("the client of the %s generation", (_, connect) => {
  it("gets structured content that its schema describes", async () => {
    const client = await connect(caller.key);
    // The client checks the structured content of tools that it has listed.
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "scales")?.outputSchema).toMatchObject({
      type: "object",
      properties: { grams: { type: "number" } },
    });
    expect(tools.find(({ name }) => name === "echo")?.outputSchema).toBeUndefined();
    const weighed = await client.callTool({ name: "scales", arguments: { kilos: 2 } });
    expect(weighed).toMatchObject({
      structuredContent: { kilos: 2, grams: 2_000 },
      content: [{ type: "text", text: JSON.stringify({ kilos: 2, grams: 2_000 }) }],
    });
    const values = await client.callTool({ name: "actor", arguments: toInput("values") });
    expect(values.structuredContent).toEqual({ done: "yes" });
    await client.close();
  });

  it("gets images", async () => {
    const client = await connect(caller.key);
    const { content } = await client.callTool({ name: "actor", arguments: toInput("image") });
    expect(content).toEqual([
      { type: "text", text: "Look:" },
      { type: "image", data: "iVBORw==", mimeType: "image/png" },
    ]);
    await client.close();
  });

  it("gets what the graph writes as progress, when it requests it", async () => {
    const client = await connect(caller.key);
    const seen: { progress: number; message?: string }[] = [];
    const options = { onprogress: (one: { progress: number; message?: string }) => void seen.push(one) };
    const call = { name: "actor", arguments: toInput("progress") };
    const { content } =
      "getNegotiatedProtocolVersion" in client
        ? await client.callTool(call, options)
        : await client.callTool(call, undefined, options);
    expect(content).toEqual([{ type: "text", text: "Done." }]);
    expect(seen.map(({ message }) => message)).toContainEqual(expect.stringContaining("Halfway."));
    const numbers = seen.map(({ progress }) => progress);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    await client.close();
  });
});

describe("a result", () => {
  const schema = toOutputSchema({
    type: "object",
    required: ["messages", "count"],
    properties: { messages: { langgraph_type: "messages" }, count: { type: "number" }, name: { $ref: "#/$defs/Name" } },
    $defs: { Name: { type: "string" } },
  });

  it("leaves out what does not fit its schema, and requires nothing", () => {
    expect(schema).not.toHaveProperty("required");
    const state = { messages: [{ content: "Yes." }], count: "many", name: "n", other: 1 };
    expect(toResult(state, schema)).toEqual({
      content: [{ type: "text", text: "Yes." }],
      structuredContent: { name: "n" },
      isError: false,
    });
  });

  it("may have any value where the schema cannot be checked", () => {
    const $defs = { Name: { type: "string", pattern: "^a" } };
    const properties = { name: { $ref: "#/$defs/Name" }, messages: { langgraph_type: "messages", items: {} } };
    expect(toOutputSchema({ type: "object", properties, $defs })).toEqual({ type: "object", properties: { name: {} } });
  });

  it.each([null, { type: "array" }, { type: "object" }, { type: "object", properties: {} }])(
    "of the schema %j is not structured",
    (given) => expect(toOutputSchema(given)).toBeUndefined(),
  );

  it("has the audio of an answer, also where a provider puts it beside the content", () => {
    const audio = { type: "audio", data: "AAAA", mimeType: "audio/mp3" };
    const beside = { content: "", additional_kwargs: { audio: { data: "AAAA", transcript: "Hi.", format: "mp3" } } };
    expect(toResult({ messages: [{ content: [audio] }] }, undefined).content).toEqual([audio]);
    expect(toResult({ messages: [beside] }, undefined).content).toEqual([{ type: "text", text: "Hi." }, audio]);
  });

  it("links files, and embeds others", () => {
    const content = [
      { type: "image", url: "https://x.example/a.png", mimeType: "image/png" },
      { type: "file", data: "AAAA", mimeType: "application/pdf" },
    ];
    expect(toResult({ messages: [{ content }] }, undefined).content).toMatchObject([
      { type: "resource_link", uri: "https://x.example/a.png", mimeType: "image/png" },
      { type: "resource", resource: { blob: "AAAA", mimeType: "application/pdf" } },
    ]);
  });
});
