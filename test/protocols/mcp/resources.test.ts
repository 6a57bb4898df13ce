/** Threads, runs, traces and assistants as resources, and the completion of names. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { NOON, runParts, sendMultipart, sentRun } from "../../support/traces.ts";
import { connectFirst, connectSecond } from "./connect.ts";

let owner: Caller;
let thread: string;
let run: string;
let trace: string;
let uris: string[];

beforeAll(async () => {
  owner = await newCaller();
  const post = async <T>(path: string, body: object) => (await owner.fetch(path, { body })).json<T>();
  thread = (await post<{ thread_id: string }>("/threads", { metadata: { colour: "blue" } })).thread_id;
  const input = { messages: [{ role: "user", content: "hi" }] };
  run = (await post<{ run_id: string }>(`/threads/${thread}/runs`, { assistant_id: "echo", input })).run_id;
  await (await owner.fetch(`/threads/${thread}/runs/${run}/join`)).text();
  const root = sentRun(NOON, { inputs: {} });
  const child = sentRun(NOON + 1_000, { inputs: {}, name: "below" }, root);
  await sendMultipart(
    owner,
    [root, child].flatMap((one) => runParts("post", one)),
  );
  trace = root.id;
  const { assistant_id } = await post<{ assistant_id: string }>("/assistants", { graph_id: "echo", name: "Private" });
  uris = [
    `weir://threads/${thread}`,
    `weir://threads/${thread}/runs/${run}`,
    `weir://traces/${trace}`,
    `weir://assistants/Private-${assistant_id.slice(0, 8)}`,
  ];
});

describe.each([
  ["first", connectFirst],
  ["second", (key: string) => connectSecond(key)],
] as const)("the client of the %s generation", (_, connect) => {
  it("lists and reads what the key may read", async () => {
    const client = await connect(owner.key);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([uris[0]]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ name }) => name)).toEqual(["assistant", "thread", "run", "trace"]);
    const read = async (uri = "") => {
      const [one] = (await client.readResource({ uri })).contents as { text: string; mimeType?: string }[];
      expect(one?.mimeType).toBe("application/json");
      return JSON.parse(one?.text ?? "") as unknown;
    };
    expect(await read(uris[0])).toMatchObject({ thread_id: thread, values: { messages: [{}, {}] } });
    expect(await read(uris[1])).toMatchObject({ run_id: run, status: "success" });
    expect(await read(uris[2])).toMatchObject({ runs: [{ id: trace }, { name: "below" }] });
    expect(await read(uris[3])).toMatchObject({ name: "Private" });
    await client.close();
  });

  it("completes the names of assistants", async () => {
    const client = await connect(owner.key);
    const ref = { type: "ref/resource" as const, uri: "weir://assistants/{name}" };
    const completeArgument = async (value: string, name = "name") =>
      (await client.complete({ ref, argument: { name, value } })).completion.values;
    expect(await completeArgument("priv")).toEqual([expect.stringMatching(/^Private-/)]);
    expect(await completeArgument("")).toEqual(expect.arrayContaining(["agent", "echo"]));
    expect(await completeArgument("", "thread_id")).toEqual([]);
    await client.close();
  });

  it.each(["weir://threads/no-id", "weir://threads", "weir://secrets/1", "https://x.example/", "weir://traces/"])(
    "does not find %s",
    async (uri) => {
      const client = await connect(owner.key);
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code: expect.any(Number) });
      await client.close();
    },
  );
});

describe("what a caller may not read", () => {
  const writer = async () => {
    const made = await owner.fetch("/api/v1/api-keys", { body: { name: "writer", scopes: ["write"] } });
    return (await made.json<{ key: string }>()).key;
  };

  it.each([
    ["of another workspace", async () => (await newCaller()).key],
    ["not in the scopes of its key", writer],
  ])("is %s", async (_, createKey) => {
    const client = await connectSecond(await createKey());
    expect((await client.listResources()).resources).toEqual([]);
    for (const uri of uris) await expect(client.readResource({ uri })).rejects.toThrow(/not found/i);
    const ref = { type: "ref/resource" as const, uri: "weir://assistants/{name}" };
    const { completion } = await client.complete({ ref, argument: { name: "name", value: "Private" } });
    expect(completion.values).toEqual([]);
    // Its tools are served all the same.
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    await client.close();
  });
});
