/** A run that is to end with its client ends when the client disconnects, over real connections. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer("graphs");
});
afterAll(() => server.stop());

const json = { "content-type": "application/json" };
const send = async (path: string, body?: object, signal?: AbortSignal) =>
  fetch(server.url + path, {
    method: body ? "POST" : "GET",
    headers: { ...server.headers, ...json },
    body: body && JSON.stringify(body),
    signal,
  });

const ask = async <T>(path: string, body?: object): Promise<T> => (await send(path, body)).json<T>();
const newThread = async () => (await ask<{ thread_id: string }>("/threads", {})).thread_id;

interface Run {
  run_id: string;
  status: string;
}
const listRuns = async (thread: string) => ask<Run[]>(`/threads/${thread}/runs`);

async function untilStatus(thread: string, wanted: (status: string | undefined) => boolean): Promise<string> {
  for (;;) {
    const status = (await listRuns(thread))[0]?.status;
    if (status !== undefined && wanted(status)) return status;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
const endOf = async (thread: string) => untilStatus(thread, (status) => status !== "pending" && status !== "running");

/** Two seconds of work that these streams show nothing of. */
const input = { messages: [{ role: "user", content: "slow" }] };
const body = { assistant_id: "actor", input, stream_mode: ["values"] };

type Open = (thread: string, cancels: boolean, signal: AbortSignal) => Promise<Response>;
const OPEN: Record<string, Open> = {
  "a stream": async (thread, cancels, signal) =>
    send(`/threads/${thread}/runs/stream`, { ...body, on_disconnect: cancels ? "cancel" : "continue" }, signal),
  "a result": async (thread, cancels, signal) =>
    send(`/threads/${thread}/runs/wait`, { ...body, on_disconnect: cancels ? "cancel" : "continue" }, signal),
  "a stream that is joined": async (thread, cancels, signal) => {
    const { run_id } = await ask<Run>(`/threads/${thread}/runs`, body);
    return send(`/threads/${thread}/runs/${run_id}/stream?cancel_on_disconnect=${cancels}`, undefined, signal);
  },
  "a result that is joined": async (thread, cancels, signal) => {
    const { run_id } = await ask<Run>(`/threads/${thread}/runs`, body);
    return send(`/threads/${thread}/runs/${run_id}/join?cancel_on_disconnect=${cancels}`, undefined, signal);
  },
  "AG-UI": async (thread, cancels, signal) => {
    const messages = [{ id: "u", role: "user", content: "slow" }];
    const forwardedProps = cancels ? { on_disconnect: "cancel" } : {};
    const rest = { runId: crypto.randomUUID(), state: {}, tools: [], context: [], forwardedProps };
    return send("/agui/actor", { threadId: thread, messages, ...rest }, signal);
  },
};

describe.each(Object.keys(OPEN))("%s", (name) => {
  const leave = async (cancels: boolean): Promise<string> => {
    const thread = await newThread();
    const client = new AbortController();
    const response = (OPEN[name] as Open)(thread, cancels, client.signal).then((answer) => answer.text());
    response.catch(() => undefined);
    await untilStatus(thread, (status) => status === "running");
    client.abort();
    return endOf(thread);
  };

  it.concurrent("cancels its run when its client leaves", async () => {
    expect(await leave(true)).toBe("interrupted");
  });

  it.concurrent("leaves its run alone where that was not asked", async () => {
    expect(await leave(false)).toBe("success");
  });
});

it("a client that stays gets its run to the end", async () => {
  const thread = await newThread();
  const response = await send(`/threads/${thread}/runs/stream`, { ...body, on_disconnect: "cancel" });
  expect(await response.text()).toContain("event: values");
  expect(await endOf(thread)).toBe("success");
});
