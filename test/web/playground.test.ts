/** What the playground makes of runs, of what is typed, and of the events of an answer. */
import { describe, expect, it } from "vitest";
import { readPrompt, writePrompt } from "../../src/agents/prompts/chat-manifest.ts";
import { playFromPrompt, toPrompt, playFromRun } from "../../packages/web/console/playground/sources.ts";
import { isFresh, newColumn, newPlay } from "../../packages/web/console/playground/play.ts";
import { buildCall, buildInput } from "../../packages/web/console/playground/request.ts";
import { afterEvent, START } from "../../packages/web/console/playground/result.ts";

const openPlay = (inputs: unknown, extra: object = {}) => playFromRun({ id: "r", name: "model", inputs, extra });
const listSaid = (inputs: unknown) => openPlay(inputs).messages.map(({ id: _id, ...message }) => message);
const lc = (name: string, kwargs: object) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", name],
  kwargs,
});
const CALL = { id: "c1", name: "f", args: { a: 1 } };
const EXPECTED = [
  { role: "system", content: "Be brief." },
  { role: "human", content: "Hello" },
  { role: "ai", content: "", tool_calls: [CALL] },
  { role: "tool", content: "1", tool_call_id: "c1" },
];

describe("a run is opened", () => {
  it.for([
    [
      "of LangChain, as a batch",
      {
        messages: [
          [
            lc("SystemMessage", { content: "Be brief." }),
            lc("HumanMessage", { content: "Hello" }),
            lc("AIMessageChunk", { content: "", tool_calls: [CALL] }),
            lc("ToolMessage", { content: "1", tool_call_id: "c1" }),
          ],
        ],
      },
    ],
    [
      "of LangChain, as a graph has them",
      {
        messages: [
          { type: "system", content: "Be brief." },
          { type: "human", content: [{ type: "text", text: "Hello" }] },
          { type: "ai", content: "", tool_calls: [CALL] },
          { type: "tool", content: "1", tool_call_id: "c1" },
        ],
      },
    ],
    [
      "of OpenAI",
      {
        messages: [
          { role: "developer", content: "Be brief." },
          { role: "user", content: "Hello" },
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
          },
          { role: "tool", content: "1", tool_call_id: "c1" },
        ],
      },
    ],
    [
      "of Anthropic",
      {
        system: "Be brief.",
        messages: [
          { role: "user", content: "Hello" },
          { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "f", input: { a: 1 } }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "1" }] },
        ],
      },
    ],
  ] as [string, unknown][])("%s", ([, inputs]) => {
    expect(listSaid(inputs)).toEqual(EXPECTED);
  });

  it("with pairs, with a prompt, and with what is neither", () => {
    expect(listSaid({ messages: [["human", "Hello"]] })).toEqual([{ role: "human", content: "Hello" }]);
    expect(listSaid({ prompts: ["Hello"] })).toEqual([{ role: "human", content: "Hello" }]);
    expect(listSaid({ other: 1 })).toEqual([{ role: "human", content: '{\n  "other": 1\n}' }]);
  });

  it.for([
    [{ type: "image_url", image_url: { url: "https://x.example/a.png" } }, "https://x.example/a.png"],
    [{ type: "image", source: { type: "base64", media_type: "image/gif", data: "AA" } }, "data:image/gif;base64,AA"],
    [{ type: "image", mime_type: "image/webp", data: "AA" }, "data:image/webp;base64,AA"],
    [{ type: "image", url: "https://x.example/b.png" }, "https://x.example/b.png"],
  ])("with an image: %j", ([image, url]) => {
    const content = [{ type: "text", text: "What?" }, image];
    expect(listSaid({ messages: [{ role: "user", content }] })).toEqual([
      {
        role: "human",
        content: [
          { type: "text", text: "What?" },
          { type: "image_url", image_url: { url } },
        ],
      },
    ]);
  });

  it("with its model, tools and settings", () => {
    const play = openPlay(
      { messages: [{ role: "user", content: "x" }] },
      {
        metadata: { ls_provider: "openai", ls_model_name: "gpt-4o", ls_temperature: 0.5 },
        invocation_params: {
          max_tokens: 9,
          seed: 1,
          user: "not sent",
          tools: [{ name: "f", description: "does", input_schema: { type: "object" } }],
        },
      },
    );
    const [column = newColumn()] = play.columns;
    expect(buildCall(play, column, "key")).toEqual({
      model: { provider: "openai", model: "gpt-4o", api_key: "key" },
      settings: { temperature: 0.5, max_tokens: 9, seed: 1 },
      messages: [{ role: "human", content: "x" }],
      template_format: "none",
      variables: {},
      tools: [{ type: "function", function: { name: "f", description: "does", parameters: { type: "object" } } }],
    });
  });

  it("of the offline model, of Workers AI, and without a model", () => {
    const provider = (metadata: object) => openPlay({}, { metadata }).columns[0]?.provider;
    expect(provider({ ls_provider: "offlinemodel" })).toBe("offline");
    expect(provider({ ls_model_name: "@cf/meta/llama" })).toBe("workers-ai");
    expect(provider({})).toBeUndefined();
  });
});

describe("what is typed", () => {
  const typed = (content: string, more: object = {}) => ({
    ...newPlay(),
    messages: [{ id: "1", role: "human" as const, content }],
    ...more,
  });
  const column = newColumn({ provider: "offline" });

  it("is a call with the variables that the messages use", () => {
    const play = typed("{{a}} {{#list}}{{.}}{{/list}}", { variables: { a: "1", list: "[2]", unused: "3" } });
    expect(buildCall(play, column, "")).toMatchObject({
      model: { provider: "offline" },
      variables: { a: "1", list: [2] },
      template_format: "mustache",
    });
    expect(buildInput(play)).toEqual({ messages: [{ type: "human", content: "1 2" }] });
  });

  it.for([
    [typed("{{#list}}{{/list}}", { variables: { list: "no" } }), {}, "The variable list must be JSON."],
    [typed("x", { tools: "{" }), {}, "The tools must be JSON."],
    [typed("x", { tools: "{}" }), {}, "The tools must be a list."],
    [typed("x"), { settings: { temperature: "hot" } }, "Temperature must be a number."],
    [typed("x"), { more: "[]" }, "Further settings must be an object."],
  ] as const)("says what is wrong: %#", ([play, more, fault]) => {
    expect(() => buildCall(play, { ...column, ...more }, "")).toThrow(fault);
  });

  it("is a prompt, and the prompt is opened as it was", () => {
    const play = typed("Be {{how}}.");
    const chosen = newColumn({ provider: "openai", model: "gpt-4o", settings: { temperature: "0" } });
    const prompt = toPrompt(play, chosen);
    const again = playFromPrompt(readPrompt(writePrompt(prompt)) ?? prompt, { name: "p", hash: "h" });
    expect(again.messages).toMatchObject([{ role: "human", content: "Be {{how}}." }]);
    expect(again.columns[0]).toMatchObject({ provider: "openai", model: "gpt-4o", settings: { temperature: "0" } });
    expect(isFresh(again)).toBe(false);
    expect(isFresh(newPlay())).toBe(true);
  });
});

it("events become a result", () => {
  const figures = { usage: { input_tokens: 1, output_tokens: 2 }, cost: 0.5, seconds: 1, first_token_seconds: 0.5 };
  const part = (index: number, args: string) => ({
    tool_calls: [{ index, id: "c", name: args === "{" ? "f" : "", args }],
  });
  let result = START;
  for (const [event, data] of [
    ["run", { run_id: "r" }],
    ["delta", { content: "a" }],
    ["delta", { content: "b", reasoning: "why" }],
    ["delta", part(0, "{")],
    ["delta", part(0, "}")],
    ["other", {}],
  ] as const)
    result = afterEvent(result, event, data);
  expect(result).toMatchObject({
    state: "running",
    text: "ab",
    reasoning: "why",
    run: "r",
    calls: [{ name: "f", args: "{}" }],
  });
  expect(afterEvent(result, "error", { message: "No", ...figures })).toMatchObject({
    state: "failed",
    trouble: "No",
    cost: 0.5,
  });
  expect(afterEvent(result, "end", { message: { tool_calls: [] }, ...figures })).toMatchObject({
    state: "done",
    tokens: { input: 1, output: 2 },
    calls: [],
  });
});
