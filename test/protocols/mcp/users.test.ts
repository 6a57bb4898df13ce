/** Users of a deployment's own `Auth` see over MCP what its handlers let them see. */
import "../../support/graphs.ts";
import { beforeAll, expect, it } from "vitest";
import { deployUsers, type Json, type User, userCalled } from "../../security/users.ts";

const toInput = (text: string) => ({ messages: [{ role: "user", content: text }] });

interface Reply {
  result?: Json & { resources: { uri: string }[]; completion: { values: string[] }; _meta: { thread_id: string } };
  error?: { code: number };
}

async function rpc(user: User, method: string, params: Json = {}): Promise<Reply> {
  return (await user.fetch("/mcp", { jsonrpc: "2.0", id: 1, method, params })).json<Reply>();
}

let ada: User;
let bob: User;
let thread: string;
beforeAll(async () => {
  deployUsers();
  [ada, bob] = [userCalled("ada-of-mcp"), userCalled("bob-of-mcp")];
  const made = await ada.json<{ assistant_id: string }>("/assistants", { graph_id: "actor", name: "Adas" });
  const name = `Adas-${made.assistant_id.slice(0, 8)}`;
  const { result } = await rpc(ada, "tools/call", { name, arguments: toInput("ask") });
  thread = result?._meta.thread_id ?? "";
});

const createAnswer = (answer: string) => ({ name: "answer_interrupt", arguments: { thread_id: thread, answer } });

it("the thread of a call that asks is its user's", async () => {
  const uri = `weir://threads/${thread}`;
  expect((await rpc(ada, "resources/list")).result?.resources.map((one) => one.uri)).toEqual([uri]);
  expect((await rpc(ada, "resources/read", { uri })).result).toBeDefined();
  expect((await rpc(bob, "resources/list")).result?.resources).toEqual([]);
  expect((await rpc(bob, "resources/read", { uri })).error).toBeDefined();
  expect((await rpc(bob, "tools/call", createAnswer("mine"))).error).toMatchObject({ code: -32602 });
  const { result } = await rpc(ada, "tools/call", createAnswer("red"));
  expect(result).toMatchObject({ content: [{ text: 'You chose "red".' }] });
});

it("names of assistants are completed for those who see them", async () => {
  const params = {
    ref: { type: "ref/resource", uri: "weir://assistants/{name}" },
    argument: { name: "name", value: "Ad" },
  };
  expect((await rpc(ada, "completion/complete", params)).result?.completion.values).toHaveLength(1);
  expect((await rpc(bob, "completion/complete", params)).result?.completion.values).toEqual([]);
});

it("every user has the default assistants as tools, beside those they see", async () => {
  const names = async (user: User) => {
    const { result } = await rpc(user, "tools/list");
    return (result as unknown as { tools: { name: string }[] }).tools.map(({ name }) => name);
  };
  const [adas, bobs] = [await names(ada), await names(bob)];
  expect(bobs).toContain("echo");
  expect(adas).toEqual(expect.arrayContaining(["echo", expect.stringMatching(/^Adas-/)]));
  expect(bobs.filter((name) => name.startsWith("Adas"))).toEqual([]);
  const { result } = await rpc(bob, "tools/call", { name: "echo", arguments: toInput("hello") });
  expect(result).toMatchObject({ content: [{ text: expect.stringContaining("hello") }] });
  expect((await rpc(bob, "resources/read", { uri: "weir://assistants/echo" })).result).toBeDefined();
});

it("a user reads no traces, which no handler decides about", async () => {
  const { run_id } = await ada.json<{ run_id: string }>("/runs", { assistant_id: "echo", input: toInput("hi") });
  await (await ada.fetch(`/runs/${run_id}/join`)).text();
  expect((await rpc(ada, "resources/read", { uri: `weir://traces/${run_id}` })).error).toBeDefined();
});
