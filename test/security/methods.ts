/**
 * Every method of the protocols that share one route: A2A, MCP and the streaming commands, over HTTP and a WebSocket. A new
 * method adds its params here: the test beside this file fails without.
 */
import type { RouteCall } from "./route-calls.ts";
import type { Json, Things } from "./things.ts";

const message = (marker: string) => ({ messageId: crypto.randomUUID(), role: "user", parts: [{ text: marker }] });

/** By the names of A2A 1.0; those of 0.3 take the same. */
const A2A: Record<string, (things: Things) => Json> = {
  SendMessage: ({ task_id }) => ({ message: { ...message("hi"), taskId: task_id } }),
  SendStreamingMessage: ({ task_id }) => ({ message: { ...message("hi"), taskId: task_id } }),
  GetTask: ({ task_id }) => ({ id: task_id }),
  ListTasks: () => ({}),
  CancelTask: ({ task_id }) => ({ id: task_id }),
  SubscribeToTask: ({ task_id }) => ({ id: task_id }),
  CreateTaskPushNotificationConfig: ({ task_id }) => ({ taskId: task_id, id: "x", url: "https://hooks.example/x" }),
  GetTaskPushNotificationConfig: ({ task_id, push_id }) => ({ taskId: task_id, id: push_id }),
  ListTaskPushNotificationConfigs: ({ task_id }) => ({ taskId: task_id }),
  DeleteTaskPushNotificationConfig: ({ task_id, push_id }) => ({ taskId: task_id, id: push_id }),
  GetExtendedAgentCard: () => ({}),
};
const OLD: Record<string, string> = {
  "message/send": "SendMessage",
  "message/stream": "SendStreamingMessage",
  "tasks/get": "GetTask",
  "tasks/list": "ListTasks",
  "tasks/cancel": "CancelTask",
  "tasks/resubscribe": "SubscribeToTask",
  "tasks/pushNotificationConfig/set": "CreateTaskPushNotificationConfig",
  "tasks/pushNotificationConfig/get": "GetTaskPushNotificationConfig",
  "tasks/pushNotificationConfig/list": "ListTaskPushNotificationConfigs",
  "tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
  "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
};
export const A2A_PARAMS = {
  ...A2A,
  ...Object.fromEntries(Object.entries(OLD).map(([old, now]) => [old, A2A[now] ?? (() => ({}))])),
};

const CLIENT = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
export const MCP_PARAMS: Record<string, (things: Things) => Json> = {
  initialize: () => CLIENT,
  ping: () => ({}),
  "tools/list": () => ({}),
  "resources/list": () => ({}),
  "resources/templates/list": () => ({}),
  "resources/read": ({ thread_id }) => ({ uri: `weir://threads/${thread_id}` }),
  "prompts/list": () => ({}),
  "prompts/get": ({ marker }) => ({ name: marker }),
  "logging/setLevel": () => ({ level: "debug" }),
  "completion/complete": ({ marker }) => ({
    ref: { type: "ref/resource", uri: "weir://assistants/{name}" },
    argument: { name: "name", value: marker },
  }),
  "tools/call": ({ marker }) => ({ name: `${marker}-assistant`, arguments: { messages: [] } }),
};

export const COMMAND_PARAMS: Record<string, (things: Things) => Json> = {
  "run.start": ({ assistant_id }) => ({ assistant_id, input: { messages: [] } }),
  "input.respond": () => ({ interrupt_id: "x", response: 1 }),
  "input.inject": () => ({ message: { role: "user", content: "hi" } }),
  "state.get": () => ({}),
  "state.listCheckpoints": () => ({}),
  "state.fork": ({ checkpoint_id }) => ({ checkpoint_id }),
  "agent.getTree": ({ run_id }) => ({ run_id }),
  "subscription.subscribe": () => ({ channels: ["values", "messages", "lifecycle"] }),
  "subscription.unsubscribe": () => ({ subscription_id: "x" }),
  "subscription.reconnect": () => ({}),
};

/** Each method as an HTTP call, by a name that says the protocol. */
export function methodCalls(things: Things): Record<string, RouteCall> {
  const rpc = (path: string) => (method: string, params: unknown) => ({
    method: "POST",
    path,
    body: { jsonrpc: "2.0", id: 1, method, params },
  });
  const command = (path: string) => (method: string, params: unknown) => ({
    method: "POST",
    path,
    body: { id: 1, method, params },
  });
  const { assistant_id, thread_id } = things;
  const ways = [
    ["A2A", A2A_PARAMS, rpc(`/a2a/${assistant_id}`)],
    ["MCP", MCP_PARAMS, rpc("/mcp")],
    ["command", COMMAND_PARAMS, command(`/threads/${thread_id}/commands`)],
    ["/api command", COMMAND_PARAMS, command(`/api/threads/${thread_id}/commands`)],
  ] as const;
  return Object.fromEntries(
    ways.flatMap(([way, table, call]) =>
      Object.entries(table).map(([name, params]) => [`${way} ${name}`, call(name, params(things))]),
    ),
  );
}
