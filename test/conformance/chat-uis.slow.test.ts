/** The calls of LangChain's chat applications, with the unmodified `useStream` of the SDK (test/support/chat-ui.ts). */
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AGENT_CHAT, Chat, createMessage } from "../support/chat-ui.ts";
import { sharedServer } from "../support/shared-server.ts";
import type { TestServer } from "../support/server.ts";

const SDKS = {
  "1.11.0": (await import("langgraph-sdk-1-11/react")).useStream as unknown as (options: object) => unknown,
  "1.15.0": (await import("@langchain/langgraph-sdk/react")).useStream as unknown as (options: object) => unknown,
};

let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await sharedServer();
  client = new Client({ apiUrl: server.url, apiKey: server.key });
});
afterAll(() => server.stop());

const toText = (content: unknown) =>
  typeof content === "string" ? content : (content as { text: string }[]).map(({ text }) => text).join("");

describe.each(Object.entries(SDKS))("agent-chat-ui, SDK %s", (_, useStream) => {
  const open = (assistantId: string, threadId?: string) =>
    new Chat(useStream, { apiUrl: server.url, apiKey: server.key, assistantId, fetchStateHistory: true }, threadId);

  it("checks the server, sends, lists the thread, and regenerates in a branch", async () => {
    expect((await fetch(`${server.url}/info`, { headers: { "X-Api-Key": server.key } })).ok).toBe(true);
    const chat = open("agent");
    await chat.waitUntil((stream) => !stream.isThreadLoading);
    await chat.submit({ messages: [createMessage("What is 17 * 23?")] }, AGENT_CHAT);
    expect(chat.stream.messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
    expect(toText(chat.stream.messages.at(-1)?.content)).toContain("391");

    const listed = await client.threads.search({ metadata: { graph_id: "agent" }, limit: 100 });
    expect(listed.map(({ thread_id }) => thread_id)).toContain(chat.threadId);

    const findMetadata = (place: number) => {
      const message = chat.stream.messages.at(place);
      return message && chat.stream.getMessagesMetadata(message);
    };
    await chat.waitUntil(() => findMetadata(-1)?.firstSeenState !== undefined);
    await chat.submit(undefined, { ...AGENT_CHAT, checkpoint: findMetadata(-1)?.firstSeenState?.parent_checkpoint });
    await chat.waitUntil(() => findMetadata(-1)?.branchOptions?.length === 2);
    expect(chat.stream.messages).toHaveLength(4);

    chat.close();
  });

  it("edits a message in a branch, and shows the branch before", async () => {
    const chat = open("agent");
    await chat.waitUntil((stream) => !stream.isThreadLoading);
    await chat.submit({ messages: [createMessage("Hello")] }, AGENT_CHAT);
    const findMetadata = () => chat.stream.messages[0] && chat.stream.getMessagesMetadata(chat.stream.messages[0]);
    await chat.waitUntil(() => findMetadata()?.firstSeenState !== undefined);
    const checkpoint = findMetadata()?.firstSeenState?.parent_checkpoint;
    await chat.submit({ messages: [{ type: "human", content: "Good day" }] }, { ...AGENT_CHAT, checkpoint });
    await chat.waitUntil(() => findMetadata()?.branchOptions?.length === 2);
    expect(chat.stream.messages.map(({ content }) => toText(content))[0]).toBe("Good day");
    chat.stream.setBranch(findMetadata()?.branchOptions?.[0] ?? "");
    await chat.waitUntil(({ messages }) => toText(messages[0]?.content) === "Hello");
    chat.close();
  });

  it("shows an interrupt, sends the decisions of its inbox, and marks a thread as resolved", async () => {
    const chat = open("approval");
    await chat.waitUntil((stream) => !stream.isThreadLoading);
    await chat.submit({ messages: [createMessage("Send an email to ada@example.com saying hello")] }, AGENT_CHAT);
    await chat.waitUntil(({ interrupt }) => interrupt !== undefined);
    await chat.submit({}, { command: { resume: { decisions: [{ type: "approve" }] } } });
    await chat.waitUntil(({ interrupt, messages }) => interrupt === undefined && messages.at(-1)?.type === "ai");

    await chat.submit({ messages: [createMessage("Send an email to bob@example.com saying hello")] }, AGENT_CHAT);
    await chat.waitUntil(({ interrupt }) => interrupt !== undefined);
    await chat.submit({}, { command: { goto: "__end__" } });
    // LangGraph.js takes no other node for the one that has paused, in a process too.
    expect((await client.threads.getState(chat.threadId ?? "")).next).toEqual(["review"]);
    chat.close();
  });

  it("opens a thread by its address, and stops a run", async () => {
    const { thread_id } = await client.threads.create({ metadata: { graph_id: "agent" } });
    await client.runs.wait(thread_id, "agent", { input: { messages: [createMessage("Hello")] } });
    const chat = open("agent", thread_id);
    await chat.waitUntil(({ messages, isThreadLoading }) => messages.length === 2 && !isThreadLoading);
    void chat.stream.submit({ messages: [createMessage("Tell me all that you can do.")] }, AGENT_CHAT);
    await chat.waitUntil(({ isLoading }) => isLoading);
    await chat.stream.stop();
    await chat.waitUntil(({ isLoading }) => !isLoading);
    expect(chat.stream.error).toBeUndefined();
    chat.close();
  });
});

describe.each(Object.entries(SDKS))("deep-agents-ui, SDK %s", (_, useStream) => {
  const open = (assistantId: string, threadId?: string) => {
    const defaultHeaders = { "x-auth-scheme": "langsmith" };
    const options = { assistantId, client, reconnectOnMount: true, defaultHeaders, fetchStateHistory: true };
    return new Chat(useStream, options, threadId);
  };

  it("finds the default assistant, and sends with its configuration", async () => {
    const found = await client.assistants.search({ graphId: "agent", limit: 100 });
    const assistant = found.find(({ metadata }) => metadata?.["created_by"] === "system");
    expect(await client.assistants.get(assistant?.assistant_id ?? "")).toEqual(assistant);
    const chat = open(assistant?.assistant_id ?? "");
    await chat.waitUntil((stream) => !stream.isThreadLoading);
    const config = { ...assistant?.config, recursion_limit: 100 };
    await chat.submit({ messages: [{ ...createMessage(""), content: "What is 17 * 23?" }] }, { config });
    expect(toText(chat.stream.messages.at(-1)?.content)).toContain("391");
    await client.threads.updateState(chat.threadId ?? "", { values: {} });
    const search = { limit: 20, offset: 0, sortBy: "updated_at", sortOrder: "desc", status: "idle" } as const;
    const [latest] = await client.threads.search({
      ...search,
      metadata: { assistant_id: assistant?.assistant_id },
    });
    expect(latest).toMatchObject({ thread_id: chat.threadId, values: { messages: expect.any(Array) } });
    chat.close();
  });

  it("runs single steps, continues, and reruns from a checkpoint", async () => {
    const chat = open("agent");
    await chat.waitUntil((stream) => !stream.isThreadLoading);
    await chat.submit(
      { messages: [{ ...createMessage(""), content: "What is 17 * 23?" }] },
      { interruptBefore: ["tools"] },
    );
    expect(chat.stream.messages.at(-1)).toMatchObject({ type: "ai", tool_calls: [{ name: "calculator" }] });
    await chat.submit(undefined, { config: { recursion_limit: 100 }, interruptBefore: ["tools"] });
    await chat.waitUntil(({ messages }) => messages.length === 4);
    expect(toText(chat.stream.messages.at(-1)?.content)).toContain("391");
    const last = chat.stream.messages.at(-1);
    await chat.waitUntil(
      () => last !== undefined && chat.stream.getMessagesMetadata(last)?.firstSeenState !== undefined,
    );
    const checkpoint = last && chat.stream.getMessagesMetadata(last)?.firstSeenState?.parent_checkpoint;
    await chat.submit(undefined, { checkpoint, interruptAfter: ["tools"] });
    expect(chat.stream.messages).toHaveLength(4);
    chat.close();
  });

  it("resumes an interrupt, and marks a thread as resolved", async () => {
    const chat = open("approval");
    await chat.waitUntil((stream) => !stream.isThreadLoading);
    await chat.submit({
      messages: [{ ...createMessage(""), content: "Send an email to ada@example.com saying hello" }],
    });
    await chat.waitUntil(({ interrupt }) => interrupt !== undefined);
    await chat.submit(null, { command: { resume: { decisions: [{ type: "approve" }] } } });
    await chat.waitUntil(({ interrupt, messages }) => interrupt === undefined && messages.at(-1)?.type === "ai");
    await chat.submit({
      messages: [{ ...createMessage(""), content: "Send an email to bob@example.com saying hello" }],
    });
    await chat.waitUntil(({ interrupt }) => interrupt !== undefined);
    await chat.submit(null, { command: { goto: "__end__", update: null } });
    // LangGraph.js takes no other node for the one that has paused, in a process too.
    expect((await client.threads.getState(chat.threadId ?? "")).next).toEqual(["review"]);
    chat.close();
  });
});
