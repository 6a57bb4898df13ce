/** Prompts of assistants over MCP, by unmodified clients of both generations. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { connectFirst, connectSecond } from "./connect.ts";

const REVIEW = {
  name: "review",
  title: "Review",
  description: "Reviews a text.",
  arguments: [{ name: "text", description: "What to review.", required: true }, { name: "tone" }],
  messages: [
    { role: "user", content: "Review {{text}} in a {{ tone }} tone. {{other}} stays." },
    { role: "assistant", content: "Of course." },
  ],
};

let owner: Caller;
let review: string;
let long: string;
beforeAll(async () => {
  owner = await newCaller();
  const prompts = [REVIEW, { name: "no messages" }, "no prompt", { ...REVIEW, name: "empty", messages: [] }];
  const body = { graph_id: "echo", name: "Reviewer", metadata: { mcp: { prompts } } };
  const { assistant_id } = await (await owner.fetch("/assistants", { body })).json<{ assistant_id: string }>();
  await (await owner.fetch("/assistants", { body: { ...body, metadata: { mcp: { prompts: "none" } } } })).text();
  review = `review-${assistant_id.slice(0, 8)}`;
  const repeats = {
    name: "long",
    arguments: [{ name: "text" }],
    messages: [{ role: "user", content: "{{text}}".repeat(1_000) }],
  };
  const other = { graph_id: "echo", metadata: { mcp: { prompts: [repeats] } } };
  const made = await (await owner.fetch("/assistants", { body: other })).json<{ assistant_id: string }>();
  long = `long-${made.assistant_id.slice(0, 8)}`;
});

describe.each([
  ["first", connectFirst],
  ["second", (key: string) => connectSecond(key)],
] as const)("the client of the %s generation", (_, connect) => {
  it("lists what is a prompt, with its arguments", async () => {
    const client = await connect(owner.key);
    const { prompts } = await client.listPrompts();
    expect(prompts.filter(({ name }) => name !== long)).toEqual([
      {
        name: review,
        title: "Review",
        description: "Reviews a text.",
        arguments: [
          { name: "text", description: "What to review.", required: true },
          { name: "tone", required: false },
        ],
      },
    ]);
    await client.close();
  });

  it("gets no prompt that its arguments make too long", async () => {
    const client = await connect(owner.key);
    const given = client.getPrompt({ name: long, arguments: { text: "x".repeat(50_000) } });
    await expect(given).rejects.toThrow("makes more than 8000000 characters. Give shorter arguments.");
    await client.close();
  });

  it("gets its messages with the arguments in their places", async () => {
    const client = await connect(owner.key);
    const { description, messages } = await client.getPrompt({
      name: review,
      arguments: { text: "{{tone}} $& me", tone: "kind" },
    });
    expect(description).toBe("Reviews a text.");
    expect(messages).toEqual([
      { role: "user", content: { type: "text", text: "Review {{tone}} $& me in a kind tone. {{other}} stays." } },
      { role: "assistant", content: { type: "text", text: "Of course." } },
    ]);
    const { messages: without } = await client.getPrompt({ name: review, arguments: { text: "it" } });
    expect(without[0]?.content).toMatchObject({ text: "Review it in a  tone. {{other}} stays." });
    await client.close();
  });

  it("gets an error for a missing argument and for an unknown prompt", async () => {
    const client = await connect(owner.key);
    await expect(client.getPrompt({ name: review, arguments: { tone: "kind" } })).rejects.toThrow(
      "Missing arguments: text.",
    );
    await expect(client.getPrompt({ name: "review" })).rejects.toThrow("Unknown prompt.");
    await client.close();
  });

  it("sees no prompts of another workspace", async () => {
    const client = await connect((await newCaller()).key);
    expect((await client.listPrompts()).prompts).toEqual([]);
    await expect(client.getPrompt({ name: review, arguments: { text: "x" } })).rejects.toThrow("Unknown prompt.");
    await client.close();
  });
});
