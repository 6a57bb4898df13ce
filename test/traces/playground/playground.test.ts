/** Calls of the playground: what the model gets, what the caller sees, and what is kept. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { newCaller, send } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import {
  BASE,
  DONE,
  HELLO,
  OFFLINE,
  OPENAI,
  USAGE,
  chunk,
  joinContent,
  findData,
  waitForTrace,
  play,
  post,
  provider,
  stream,
  listTraced,
} from "../../support/playground.ts";
import { POLL_MS } from "../../support/thorough.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe("a call", () => {
  it("of the offline model streams an answer without any configuration, and is traced", async () => {
    const caller = await newCaller();
    const all = await play(caller, { model: OFFLINE, messages: HELLO });
    expect(joinContent(all)).toBe("1 2 3");
    expect(all.filter(({ event }) => event === "delta").length).toBe(3);
    const { run_id } = findData(all, "run") as { run_id: string };
    expect(findData(all, "end")).toMatchObject({
      message: { role: "ai", content: "1 2 3", tool_calls: [] },
      finish_reason: "stop",
      usage: { input_tokens: 3, output_tokens: 3, total_tokens: 6 },
      cost: null,
    });
    expect(await waitForTrace(caller)).toMatchObject({
      id: run_id,
      status: "success",
      run_type: "llm",
      inputs: { messages: [{ role: "user", content: "count to 3" }] },
      outputs: { message: { role: "assistant", content: "1 2 3" } },
      total_tokens: 6,
    });
  });

  it("calls tools", async () => {
    const caller = await newCaller();
    const tools = [{ type: "function", function: { name: "calculator", parameters: { type: "object" } } }];
    const all = await play(caller, {
      model: OFFLINE,
      tools,
      messages: [{ role: "human", content: "what is 17 * 24?" }],
    });
    const { message } = findData(all, "end") as { message: { tool_calls: { id: string }[] } };
    expect(message.tool_calls).toMatchObject([{ name: "calculator", args: { expression: "17 * 24" } }]);
    const [call] = message.tool_calls;
    const result = { role: "tool", content: "408", tool_call_id: call?.id };
    const next = [{ role: "human", content: "what is 17 * 24?" }, message, result];
    expect(joinContent(await play(caller, { model: OFFLINE, tools, messages: next }))).toContain("17 * 24 = 408.");
  });

  it("of a provider sends its messages, images, tools and settings, and is traced with its cost", async () => {
    const caller = await newCaller();
    const sent = provider(() =>
      stream(chunk({ content: "He" }), chunk({ content: "llo" }), chunk({}, { finish_reason: "stop" }), USAGE, DONE),
    );
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const all = await play(caller, {
      model: OPENAI,
      settings: { temperature: 0.5, max_tokens: 10 },
      tools,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "human", content: [{ type: "text", text: "What is it?" }, image] },
        { role: "ai", content: "", tool_calls: [{ id: "c1", name: "f", args: { a: 1 } }] },
        { role: "tool", content: "1", tool_call_id: "c1" },
      ],
    });
    expect(sent).toHaveLength(1);
    expect(sent[0]?.url).toBe(`${BASE}/chat/completions`);
    expect(sent[0]?.headers.get("authorization")).toBe("Bearer sk-of-the-caller");
    expect(sent[0]?.body).toEqual({
      model: "gpt-4o-mini",
      temperature: 0.5,
      max_tokens: 10,
      tools,
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "What is it?" }, image] },
        {
          role: "assistant",
          content: "",
          tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
        },
        { role: "tool", content: "1", tool_call_id: "c1" },
      ],
    });
    const end = findData(all, "end") as { cost: number };
    expect(end.cost).toBeCloseTo(0.1500012, 6);
    const run = await waitForTrace(caller);
    expect(Number(run.total_cost)).toBeCloseTo(end.cost, 9);
    expect(run.extra.invocation_params).toMatchObject({ model: "gpt-4o-mini", temperature: 0.5, tools });
    expect(run.extra.metadata).toMatchObject({ ls_model_name: "gpt-4o-mini", ls_provider: "openai" });
    expect(JSON.stringify(run)).not.toContain("sk-of-the-caller");
  });

  it("fills a template, and a commit of a prompt", async () => {
    const caller = await newCaller();
    const template = {
      model: OFFLINE,
      template_format: "mustache",
      messages: [{ role: "human", content: "count to {{n}}" }],
    };
    expect(joinContent(await play(caller, { ...template, variables: { n: "2" } }))).toBe("1 2");
    const missing = await post(caller, template);
    expect(missing.status).toBe(422);
    expect(await missing.text()).toContain("The variable n has no value.");

    const message = {
      id: ["HumanMessagePromptTemplate"],
      kwargs: { prompt: { id: ["PromptTemplate"], kwargs: { template: "count to {n}" } } },
    };
    const manifest = { id: ["ChatPromptTemplate"], kwargs: { messages: [message] } };
    await ask(caller, "/repos", { body: { repo_handle: "counts" } });
    await ask(caller, "/commits/-/counts", { body: { manifest } });
    const call = { model: OFFLINE, prompt: { name: "counts" }, variables: { n: 4 } };
    expect(joinContent(await play(caller, call))).toBe("1 2 3 4");
    const run = await vi.waitFor(async () => {
      const found = (await listTraced(caller)).find(({ extra }) => extra.metadata["prompt"] === "counts");
      if (!found) throw new Error("not traced");
      return found;
    }, POLL_MS);
    expect(run.extra.metadata["prompt_commit"]).toMatch(/^[0-9a-f]{64}$/);
    const other = await newCaller();
    expect((await post(other, call)).status).toBe(404);
  });

  it("is in the audit log with the model, and without what was said", async () => {
    const caller = await newCaller();
    await play(caller, { model: OFFLINE, messages: HELLO });
    const admin = { "x-api-key": "admin-key-of-the-tests", "x-tenant-id": caller.workspaceId };
    const log = await (await send("/api/v1/audit-log?action=playground.called", { headers: admin })).text();
    expect(log).toContain("weir-offline");
    expect(log).not.toContain("count to");
  });
});

describe("a failure of the provider", () => {
  const expectFailing = async (answer: () => Response | Promise<Response>) => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const caller = await newCaller();
    provider(answer);
    const all = await play(caller, { model: OPENAI, messages: HELLO });
    return { all, error: findData(all, "error")?.["message"], run: await waitForTrace(caller) };
  };

  it("says what the provider said, without the key", async () => {
    const message = "Incorrect API key provided: sk-of-the-caller, sk-of-****ller.";
    const { error, run } = await expectFailing(() => Response.json({ error: { message } }, { status: 401 }));
    expect(error).toBe("The model answered 401: Incorrect API key provided: [key], [key]");
    expect(run).toMatchObject({ status: "error", error, outputs: null });
  });

  it("names an unknown model as the provider does", async () => {
    const body = { error: { message: "The model `gpt-9` does not exist" } };
    const { error } = await expectFailing(() => Response.json(body, { status: 404 }));
    expect(error).toBe("The model answered 404: The model `gpt-9` does not exist");
  });

  it("in mid-stream keeps what came before it", async () => {
    const body = () => {
      const parts = [chunk({ content: "Half" }), chunk({ content: " an answer" })];
      return new ReadableStream<Uint8Array>({
        pull(controller) {
          const part = parts.shift();
          if (part === undefined) return controller.error(new Error("connection reset by 10.0.0.7"));
          controller.enqueue(new TextEncoder().encode(part));
        },
      });
    };
    const headers = { "content-type": "text/event-stream" };
    const { all, error, run } = await expectFailing(() => new Response(body(), { headers }));
    expect(joinContent(all)).toBe("Half an answer");
    expect(error).toBe("The connection to the model failed.");
    expect(run).toMatchObject({ status: "error", outputs: { message: { content: "Half an answer" } } });
  });

  it.for([
    ["an error as a chunk", `data: ${JSON.stringify({ error: { message: "overloaded" } })}\n\n`, "overloaded"],
    ["an end without a finish", "", "The model's answer ended before its end."],
    ["what is no chunk", "data: nonsense\n\n", "The model did not answer as OpenAI's chat completions do."],
  ])("is %s", async ([, text = "", expected]) => {
    const { all, error } = await expectFailing(() => stream(chunk({ content: "Half" }), text));
    expect(joinContent(all)).toBe("Half");
    expect(error).toBe(expected);
  });

  it("is no redirect that is followed, and no page that is shown", async () => {
    const { error } = await expectFailing(() => new Response("<html>secret</html>", { status: 302 }));
    expect(error).toBe("The model answered 302.");
  });
});

describe("a reader that leaves", () => {
  it("stops the model, and the call is traced", async () => {
    const caller = await newCaller();
    const response = await post(caller, { model: OFFLINE, messages: [{ role: "human", content: "count to 10000" }] });
    const reader = response.body!.getReader();
    await reader.read();
    await reader.read();
    await reader.cancel();
    const run = await waitForTrace(caller);
    expect(run).toMatchObject({ status: "error", error: "Stopped by the caller." });
    expect(JSON.stringify(run.outputs).length).toBeLessThan(10_000);
  });
});

describe("a model that hangs", () => {
  it.for(["before its answer", "in its answer"])("%s is left when the reader leaves", async (where) => {
    const caller = await newCaller();
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(chunk({ content: "One" }))),
      cancel: () => void (cancelled = true),
    });
    const hanging = new Response(body, { headers: { "content-type": "text/event-stream" } });
    const sent = provider(() => (where === "in its answer" ? hanging : new Promise<Response>(() => undefined)));
    const reader = (await post(caller, { model: OPENAI, messages: HELLO })).body!.getReader();
    await reader.read();
    if (where === "in its answer") await reader.read();
    await reader.cancel();
    const outputs = where === "in its answer" ? { message: { content: "One" } } : null;
    expect(await waitForTrace(caller)).toMatchObject({ error: "Stopped by the caller.", outputs });
    expect(sent[0]?.signal.aborted).toBe(true);
    expect(cancelled).toBe(where === "in its answer");
  });
});
