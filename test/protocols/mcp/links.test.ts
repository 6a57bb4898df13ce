/** The links to a tool call's questions: in the result, and as addresses that a client opens (URL-mode elicitation). */
import "../../support/graphs.ts";
import "../../support/mcp-graphs.ts";
import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { formatTime } from "../../../src/threads/interrupts/responses.ts";
import { give, look } from "../../threads/interrupts/ask.ts";
import { type Caller, newCaller, reach } from "../../support/caller.ts";
import { get, say } from "../../threads/client.ts";
import { connectFirst, connectSecond } from "./connect.ts";

interface Called {
  content: { text: string }[];
  isError?: boolean;
  _meta: {
    thread_id: string;
    interrupts: { id: string }[];
    answer_links: { interrupt_id: string; answer_url: string; expires_at: string }[];
  };
}

interface Opened {
  mode: string;
  message: string;
  url: string;
}

/** A client that opens addresses. `open`: what its person does with one. */
async function connectOpening(
  caller: Caller,
  open: (request: Opened) => string | Promise<string>,
  elicitation: ClientCapabilities["elicitation"] = { url: {} },
) {
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: { elicitation }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  client.setRequestHandler("elicitation/create", async ({ params }) => ({
    action: (await open(params as unknown as Opened)) as "accept" | "decline",
  }));
  const requestInit = { headers: { "x-api-key": caller.key } };
  const fetch = (url: string | URL, init?: RequestInit) => reach(new Request(url, init));
  await client.connect(new StreamableHTTPClientTransport(new URL("https://weir.test/mcp"), { fetch, requestInit }));
  return client;
}

const readPath = (url: string) => new URL(url).pathname;

describe.each([
  ["first", connectFirst],
  ["second", (key: string) => connectSecond(key)],
] as const)("a client without elicitation, of the %s generation", (_, connect) => {
  it("gets what is asked, with a link to answer it", async () => {
    const caller = await newCaller();
    const client = await connect(caller.key);
    const call = { name: "actor", arguments: say("ask") };
    const { content, isError, _meta } = (await client.callTool(call)) as unknown as Called;
    const [link] = _meta.answer_links;
    expect([isError, _meta.answer_links.length, link?.interrupt_id]).toEqual([false, 1, _meta.interrupts[0]?.id]);
    const { answer_url = "", expires_at = "" } = link ?? {};
    expect(answer_url).toMatch(/^https:\/\/weir\.test\/api\/v1\/answers\/[\w-]+$/);
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(3 * 24 * 3_600_000);
    expect(content[0]?.text).toBe(
      [
        `Which one?\n(interrupt_id: ${_meta.interrupts[0]?.id})`,
        `\nA person can answer it at ${answer_url} until ${formatTime(Date.parse(expires_at))}.`,
        `\n\nThe run waits for an answer on thread ${_meta.thread_id}.`,
        " Call the tool answer_interrupt with this thread_id and the answer.",
      ].join(""),
    );
    expect((await give(readPath(answer_url), "the link's")).status).toBe(200);
    await expect
      .poll(() => get(caller, `/threads/${_meta.thread_id}`))
      .toMatchObject({ status: "idle", values: { messages: [{}, { content: 'You chose "the link\'s".' }] } });
    const late = { thread_id: _meta.thread_id, interrupt_id: _meta.interrupts[0]?.id, answer: "late" };
    await expect(client.callTool({ name: "answer_interrupt", arguments: late })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("Answered by link, "),
    });
    await client.close();
  });
});

it("a question for the client's model or its roots has no link", async () => {
  const caller = await newCaller();
  const client = await connectFirst(caller.key);
  const call = { name: "test_input_required_result_multiple_inputs", arguments: {} };
  const { content, _meta } = (await client.callTool(call)) as unknown as Called;
  expect([_meta.interrupts.length, _meta.answer_links.length]).toEqual([3, 1]);
  expect(content[0]?.text.match(/A person can answer it at /g)).toHaveLength(1);
  await client.close();
});

describe("a client that opens addresses", () => {
  it("opens the question's page, and gets what the run gives after the answer", async () => {
    const caller = await newCaller();
    const opened: Opened[] = [];
    const client = await connectOpening(caller, async (request) => {
      opened.push(request);
      expect(await (await look(readPath(request.url))).text()).toContain("Which one?");
      expect((await give(readPath(request.url), "the red one")).status).toBe(200);
      return "accept";
    });
    const { content } = await client.callTool({ name: "actor", arguments: say("ask") });
    expect(content).toEqual([{ type: "text", text: 'You chose "the red one".' }]);
    expect(opened).toMatchObject([{ mode: "url", message: "Which one?" }]);
    await client.close();
  });

  it("waits for an answer that comes after the page was opened", async () => {
    const caller = await newCaller();
    const client = await connectOpening(caller, ({ url }) => {
      setTimeout(() => void give(readPath(url), "later"), 500);
      return "accept";
    });
    const { content } = await client.callTool({ name: "actor", arguments: say("ask") });
    expect(content).toEqual([{ type: "text", text: 'You chose "later".' }]);
    await client.close();
  });

  it("is asked all questions of a run", async () => {
    const caller = await newCaller();
    const words: string[] = [];
    const client = await connectOpening(caller, async ({ url, message }) => {
      words.push(message);
      await give(readPath(url), message.toUpperCase());
      return "accept";
    });
    const { content } = await client.callTool({ name: "asker", arguments: {} });
    expect([...new Set(words)].sort()).toEqual(["Left?", "Right?"]);
    expect(content).toEqual([{ type: "text", text: expect.stringMatching(/"(LEFT|RIGHT)\?"/) }]);
    await client.close();
  });

  it("gets the words and the link when the person declines", async () => {
    const caller = await newCaller();
    const client = await connectOpening(caller, () => "decline");
    const { content, _meta } = (await client.callTool({ name: "actor", arguments: say("ask") })) as unknown as Called;
    expect(content[0]?.text).toMatch(/^Which one\?\n.*\nA person can answer it at https:/);
    expect(await get(caller, `/threads/${_meta.thread_id}`)).toMatchObject({ status: "interrupted" });
    await client.close();
  });

  it("is asked by a form where it shows forms, too", async () => {
    const caller = await newCaller();
    const asked: Partial<Opened>[] = [];
    const note = (request: Opened) => {
      asked.push(request);
      return "decline";
    };
    const client = await connectOpening(caller, note, { form: {}, url: {} });
    const { content } = (await client.callTool({ name: "actor", arguments: say("ask") })) as unknown as Called;
    expect([asked.length, asked[0]?.url]).toEqual([1, undefined]);
    expect(content[0]?.text).toContain("A person can answer it at https:");
    await client.close();
  });
});

it("a form that is sent after another answer says who was first", async () => {
  const caller = await newCaller();
  const client = await connectSecond(caller.key, () => ({ action: "accept", content: { answer: "second" } }));
  client.setRequestHandler("elicitation/create", async () => {
    const [thread] = await (
      await caller.fetch("/threads/search", { body: {} })
    ).json<{ thread_id: string; interrupts: Record<string, { id: string }[]> }[]>();
    const id = Object.values(thread?.interrupts ?? {}).flat()[0]?.id ?? "";
    const resume = { assistant_id: "actor", command: { resume: { [id]: "first" } } };
    await (await caller.fetch(`/threads/${thread?.thread_id}/runs/wait`, { body: resume })).text();
    return { action: "accept" as const, content: { answer: "second" } };
  });
  await expect(client.callTool({ name: "actor", arguments: say("ask") })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringMatching(/The question accepts one answer\. Answered over the API, /),
  });
  await client.close();
});
