/** Templates and manifests of prompts, beside LangChain's own. */
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { load } from "@langchain/core/load";
import { describe, expect, it } from "vitest";
import { readPrompt, writePrompt } from "../../../src/agents/prompts/chat-manifest.ts";
import { fillMessages, fillText, type TemplateMessage, variablesIn } from "../../../src/agents/prompts/template.ts";

describe("a template", () => {
  it.for([
    ["f-string", "{a} and {{a}}", { a: 1 }, "1 and {a}"],
    ["f-string", "{ a }", { a: "x{b}" }, "x{b}"],
    ["mustache", "{{a}} {{{a}}} {{& a}}", { a: "<&>" }, "<&> <&> <&>"],
    ["mustache", "{{#list}}[{{.}}]{{/list}}{{^none}}-{{/none}}", { list: [1, 2] }, "[1][2]-"],
    ["mustache", "{{#p}}{{name}} {{q}}{{/p}}{{! no }}", { p: { name: "Ann" }, q: "of all" }, "Ann of all"],
    ["mustache", "{{p.name}}", { p: { name: "Ann" } }, "Ann"],
    ["mustache", "{{#p}}{{absent}}{{/p}}", { p: [1] }, ""],
    ["none", "{a} {{a}}", { a: 1 }, "{a} {{a}}"],
  ] as const)("of %s: %s", ([format, text, values, expected]) => {
    expect(fillText(text, format, values)).toBe(expected);
  });

  it.for([
    ["f-string", "{", "A single {"],
    ["f-string", '{"json": 1}', "names no variable"],
    ["f-string", "{toString}", "The variable toString has no value."],
    ["mustache", "{{a}}", "The variable a has no value."],
    ["mustache", "{{#a}}", "The section a is not closed."],
    ["mustache", "{{/a}}", "closes no section"],
    ["mustache", "{{#a}}".repeat(30), "Sections nest deeper"],
  ] as const)("of %s says what is wrong in %s", ([format, text, expected]) => {
    expect(() => fillText(text, format, {})).toThrow(expected);
  });

  it.for([
    ["mustache", "{{#a}}".repeat(15) + "{{/a}}".repeat(15), { a: Array.from({ length: 100 }, () => "x") }],
    ["mustache", "{{#a}}{{b}}{{/a}}", { a: Array.from({ length: 10_000 }, () => 1), b: "x".repeat(10_000) }],
    ["f-string", "{a}".repeat(10_000), { a: "x".repeat(10_000) }],
  ] as const)("of %s makes no more than a call may hold", ([format, text, values]) => {
    expect(() => fillText(text, format, values)).toThrow("longer than 4194304 characters");
  });

  it("makes no more messages of its placeholders than a call may hold", () => {
    const history = Array.from({ length: 1_000 }, () => ({ role: "human", content: "" }));
    const messages: TemplateMessage[] = Array.from({ length: 50 }, () => ({ role: "placeholder", content: "history" }));
    let made = 0;
    const fill = () =>
      fillMessages(messages, "none", { history }, (one) => {
        made++;
        return one as TemplateMessage;
      });
    expect(fill).toThrow("longer than 4194304 characters");
    expect(made).toBeLessThan(25_000);
  });

  it("has variables, of which some are data", () => {
    const messages: TemplateMessage[] = [
      { role: "placeholder", content: "history" },
      { role: "human", content: "{{a}}{{#b}}{{inner}}{{/b}}{{c.d}}" },
    ];
    expect(variablesIn(messages, "mustache")).toEqual([
      { name: "history", data: true },
      { name: "a", data: false },
      { name: "b", data: true },
      { name: "c", data: true },
    ]);
  });
});

const toManifest = (prompt: ChatPromptTemplate) => JSON.parse(JSON.stringify(prompt)) as unknown;

describe("a manifest", () => {
  it("of LangChain is read", () => {
    const prompt = ChatPromptTemplate.fromMessages([
      ["system", "Be {how}."],
      new MessagesPlaceholder("history"),
      [
        "human",
        [
          { type: "text", text: "{question}" },
          { type: "image_url", image_url: "https://x.example/{image}" },
        ],
      ],
    ]);
    expect(readPrompt(toManifest(prompt))).toEqual({
      format: "f-string",
      tools: [],
      messages: [
        { role: "system", content: "Be {how}." },
        { role: "placeholder", content: "history" },
        {
          role: "human",
          content: [
            { type: "text", text: "{question}" },
            { type: "image_url", image_url: { url: "https://x.example/{image}" } },
          ],
        },
      ],
    });
  });

  const call = { id: "c1", name: "f", args: { a: 1 } };
  it.for(["f-string", "mustache", "none"] as const)(
    "that is written in %s is LangChain's, and is read again",
    async (format) => {
      const variable = { "f-string": "{how}", mustache: "{{how}}", none: "brief" }[format];
      const messages: TemplateMessage[] = [
        { role: "system", content: `Be ${variable}.` },
        { role: "placeholder", content: "history" },
        {
          role: "human",
          content: [
            { type: "text", text: "Look" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
          ],
        },
        { role: "ai", content: format === "f-string" ? "{{}}" : "{}", tool_calls: [call] },
        { role: "tool", content: "1", tool_call_id: "c1" },
      ];
      const prompt = { messages, format, tools: [] };
      const manifest = writePrompt(prompt);
      expect(readPrompt(manifest)).toEqual(prompt);
      const loaded = await load<ChatPromptTemplate>(JSON.stringify(manifest));
      const filled = await loaded.formatMessages({ how: "brief", history: [["human", "before"]] });
      expect(filled.map(({ type, text }) => [type, text])).toEqual([
        ["system", "Be brief."],
        ["human", "before"],
        ["human", "Look"],
        ["ai", "{}"],
        ["tool", "1"],
      ]);
    },
  );

  it("keeps the model and its tools", () => {
    const tools = [{ type: "function", function: { name: "f" } }];
    const model = { provider: "ChatOpenAI", settings: { model: "gpt-4o", temperature: 0 } };
    const prompt = {
      messages: [{ role: "human" as const, content: "{q}" }],
      format: "f-string" as const,
      tools,
      model,
    };
    expect(readPrompt(writePrompt(prompt))).toEqual(prompt);
  });

  it("of another kind is no chat prompt", () => {
    expect(readPrompt({ template: "x" })).toBeUndefined();
    expect(readPrompt({ id: ["ChatPromptTemplate"], kwargs: { messages: [{ id: ["Other"] }] } })).toBeUndefined();
  });
});
