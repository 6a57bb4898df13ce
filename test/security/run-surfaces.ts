/** Every way in which a user can start a run. */
import { env } from "cloudflare:workers";
import { fireDueCrons, startFiring, threadsFor } from "../../src/automation/crons/fire.ts";
import type { FiringRow } from "../../src/automation/crons/store.ts";
import { database } from "../../src/db/client.ts";
import { sseEvents } from "../support/sse.ts";
import type { Json, User } from "./users.ts";

/** What a client asks of a surface. Those that take no config or context ignore it. */
export interface Asked {
  assistant_id: string;
  input: Json;
  config?: Json;
  context?: Json;
}

/** The final state of the run; undefined when there was none. */
type Surface = (user: User, asked: Asked) => Promise<Json | undefined>;

const newThread = async (user: User, metadata: Json = {}) =>
  String((await user.json("/threads", { metadata })).thread_id);

async function state(response: Response): Promise<Json | undefined> {
  return response.ok ? response.json<Json>() : undefined;
}

async function lastState(response: Response): Promise<Json | undefined> {
  if (!response.ok) return undefined;
  let last: Json | undefined;
  for await (const { event, data } of sseEvents(response)) if (event === "values") last = data as Json;
  return last;
}

async function joinRun(user: User, threadId: string, runId: unknown): Promise<Json | undefined> {
  return typeof runId === "string" ? state(await user.fetch(`/threads/${threadId}/runs/${runId}/join`)) : undefined;
}

async function afterCommand(user: User, threadId: string, answer: { result?: Json }): Promise<Json | undefined> {
  const [run] = await user.json<Json[]>(`/threads/${threadId}/runs`);
  return answer.result && joinRun(user, threadId, answer.result.run_id ?? run?.run_id);
}

/** A command on a thread that has run the assistant before. `form` makes its params. */
function createSurface(method: string, form: (asked: Asked, checkpoint: string) => Json): Surface {
  return async (user, asked) => {
    const threadId = await newThread(user, { graph_id: "whoami", assistant_id: asked.assistant_id });
    const { checkpoint } = await user.json<{ checkpoint: Json }>(`/threads/${threadId}/state`, {
      values: {},
      as_node: "__start__",
    });
    const params = form(asked, String(checkpoint.checkpoint_id));
    return afterCommand(user, threadId, await user.json(`/threads/${threadId}/commands`, { id: 1, method, params }));
  };
}

/** The answer to a command over a WebSocket. `before` happens between its opening and the command. */
export async function overSocket(
  user: User,
  threadId: string,
  method: string,
  params: Json,
  before: () => unknown = () => undefined,
): Promise<{ result?: Json }> {
  const response = await user.fetch(`/threads/${threadId}/stream/events`, undefined, "GET", { upgrade: "websocket" });
  const socket = response.webSocket;
  if (!socket) throw new Error(`${response.status} ${await response.text()}`);
  const answer = new Promise<string>((resolve) => {
    socket.addEventListener("message", ({ data }) => resolve(String(data)), { once: true });
  });
  socket.accept();
  before();
  socket.send(JSON.stringify({ id: 1, method, params }));
  const text = await answer;
  socket.close();
  return JSON.parse(text) as { result?: Json };
}

/** Lets the crons fire that are due at `now`, and starts their runs. */
export async function clock(now: number): Promise<void> {
  const messages: FiringRow[] = [];
  const CRON_QUEUE = {
    sendBatch: async (batch: { body: FiringRow }[]) => void messages.push(...batch.map(({ body }) => body)),
  };
  await fireDueCrons({ DB: env.DB, CRON_QUEUE } as never, now);
  for (const firing of messages) await startFiring(database(env.DB), firing, threadsFor(env), now);
}

/** Fires a cron once; the state of its run, found by the metadata, on its own thread unless one is named. */
export async function fireCron(user: User, cron: Json, threadId?: string): Promise<Json | undefined> {
  await clock(Date.parse(String(cron.next_run_date)));
  await user.fetch(`/runs/crons/${String(cron.cron_id)}`, undefined, "DELETE");
  const own = await user.json<Json[]>("/threads/search", { metadata: { cron_id: cron.cron_id } });
  const id = threadId ?? own[0]?.thread_id;
  if (typeof id !== "string") return undefined;
  const [run] = await user.json<Json[]>(`/threads/${id}/runs`);
  return joinRun(user, id, run?.run_id);
}

const toCron = (asked: Asked) => ({ ...asked, schedule: "* * * * *", on_run_completed: "keep" });
const createCron = async (user: User, path: string, asked: Asked) => {
  const response = await user.fetch(path, toCron(asked));
  return response.ok ? response.json<Json>() : undefined;
};

export const RUN_SURFACES: Record<string, Surface> = {
  "POST /threads/{id}/runs": async (user, asked) => {
    const threadId = await newThread(user);
    const response = await user.fetch(`/threads/${threadId}/runs`, asked);
    return response.ok ? joinRun(user, threadId, (await response.json<Json>()).run_id) : undefined;
  },
  "POST /threads/{id}/runs/wait": async (user, asked) =>
    state(await user.fetch(`/threads/${await newThread(user)}/runs/wait`, asked)),
  "POST /threads/{id}/runs/stream": async (user, asked) =>
    lastState(await user.fetch(`/threads/${await newThread(user)}/runs/stream`, asked)),
  "POST /threads/{new}/runs/wait": async (user, asked) =>
    state(await user.fetch(`/threads/${crypto.randomUUID()}/runs/wait`, { ...asked, if_not_exists: "create" })),
  "POST /api/threads/{id}/runs/wait": async (user, asked) =>
    state(await user.fetch(`/api/threads/${await newThread(user)}/runs/wait`, asked)),
  "POST /runs": async (user, asked) => {
    const response = await user.fetch("/runs", { ...asked, on_completion: "keep" });
    const { run_id } = await response.json<Json>();
    return response.ok ? joinRun(user, String(run_id), run_id) : undefined;
  },
  "POST /runs/wait": async (user, asked) => state(await user.fetch("/runs/wait", asked)),
  "POST /runs/stream": async (user, asked) => lastState(await user.fetch("/runs/stream", asked)),
  "POST /runs/batch": async (user, asked) => {
    const response = await user.fetch("/runs/batch", [{ ...asked, on_completion: "keep" }]);
    if (!response.ok) return undefined;
    const [run] = await response.json<Json[]>();
    return joinRun(user, String(run?.run_id), run?.run_id);
  },
  "run.start over HTTP": async (user, asked) => {
    const threadId = await newThread(user);
    const command = { id: 1, method: "run.start", params: asked };
    const response = await user.fetch(`/threads/${threadId}/commands`, command);
    return response.ok ? afterCommand(user, threadId, await response.json()) : undefined;
  },
  "run.start of the thread's assistant": createSurface("run.start", (asked) => ({
    ...asked,
    assistant_id: "_",
  })),
  "run.start over /api": async (user, { assistant_id, ...more }) => {
    const threadId = await newThread(user, { graph_id: "whoami", assistant_id });
    const command = { id: 1, method: "run.start", params: more };
    return afterCommand(user, threadId, await user.json(`/api/threads/${threadId}/commands`, command));
  },
  "run.start over a WebSocket": async (user, asked) => {
    const threadId = await newThread(user);
    return afterCommand(user, threadId, await overSocket(user, threadId, "run.start", { ...asked }));
  },
  "state.fork": createSurface("state.fork", ({ config }, checkpoint_id) => ({ config, checkpoint_id, input: {} })),
  "input.inject": createSurface("input.inject", () => ({ message: { role: "user", content: "hi" } })),
  "a cron": async (user, asked) => {
    const cron = await createCron(user, "/runs/crons", asked);
    return cron && fireCron(user, cron);
  },
  "a cron on a thread": async (user, asked) => {
    const threadId = await newThread(user);
    const cron = await createCron(user, `/threads/${threadId}/runs/crons`, asked);
    return cron && fireCron(user, cron, threadId);
  },
  "a cron that was changed": async (user, asked) => {
    const cron = await createCron(user, "/runs/crons", { assistant_id: asked.assistant_id, input: {} });
    if (!cron) return undefined;
    const { config, context } = asked;
    const path = `/runs/crons/${String(cron.cron_id)}`;
    return fireCron(user, await user.json(path, { metadata: {}, config, context }, "PATCH"));
  },
  A2A: async (user, { assistant_id }) => {
    const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ data: {} }] };
    const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
    const response = await user.fetch(`/a2a/${assistant_id}`, call);
    const { result } = await response.json<{ result?: { task: { artifacts: { parts: { data: Json }[] }[] } } }>();
    return result?.task.artifacts[0]?.parts[0]?.data;
  },
  "AG-UI": async (user, { assistant_id, config, context }) => {
    const more = { tools: [], context: [], state: { config, context }, forwardedProps: { config, context } };
    const call = { threadId: crypto.randomUUID(), runId: "mine", messages: [], ...more };
    const response = await user.fetch(`/agui/${assistant_id}`, call);
    await response.text();
    const [, threadId = "", runId] =
      /^\/threads\/([^/]+)\/runs\/([^/]+)$/.exec(response.headers.get("content-location") ?? "") ?? [];
    return joinRun(user, threadId, runId);
  },
  MCP: async (user, { assistant_id }) => {
    const rpc = async (method: string, params: Json) => {
      const response = await user.fetch("/mcp", { jsonrpc: "2.0", id: 1, method, params });
      return (await response.json<{ result?: Json }>()).result;
    };
    const result = await rpc("tools/call", { name: `Untitled-${assistant_id.slice(0, 8)}`, arguments: {} });
    const [content] = (result?.content ?? []) as { text: string }[];
    return content && (JSON.parse(content.text) as Json);
  },
};
