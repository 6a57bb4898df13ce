/** What authors of graphs can say to A2A callers, and of their agents. */
import "../../support/graphs.ts";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { projectExports } from "../../../src/deployment.ts";
import { type Caller, newCaller, send } from "../../support/caller.ts";
import { events, type Json, message03, message1, sendRaw, type Reply, result } from "./rpc.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});
afterEach(() => {
  delete projectExports.a2a;
});

const say = async (text: string) => (await result(caller, "SendMessage", { message: message1(text) })).task;
const readText = (task: Json): string => task.status.message.parts[0].text;

describe("an event of the writer", () => {
  it("that is invalid fails in the node that writes it, with the reason", async () => {
    const task = await say("misspelt");
    expect(task.status.state).toBe("TASK_STATE_FAILED");
    expect(readText(task)).toMatch(/Invalid a2a\.artifact\.parts: is required/);
    expect(readText(await say("nothing"))).toMatch(/must be an object with artifact, status or message/);
  });

  it("keeps extensions, references and metadata", async () => {
    expect((await say("extended")).artifacts).toMatchObject([{ extensions: ["https://x.example/v1"] }]);
    const message = message1("extended");
    const streamed = await events(caller, "SendStreamingMessage", { message });
    const [half] = streamed.flatMap(({ statusUpdate }) => (statusUpdate?.metadata ? [statusUpdate] : []));
    expect(half).toMatchObject({ metadata: { percent: 50 }, status: { message: { parts: [{ text: "Half." }] } } });
    const direct = await result(caller, "SendMessage", { message: message1("extendedmessage") });
    expect(direct.message).toMatchObject({ extensions: ["https://x.example/v1"], referenceTaskIds: ["t"] });
  });
});

it("a validator's error has a readable message", async () => {
  const text = readText(await say("strict"));
  expect(text).toMatch(/^The input does not fit this agent: city: .+; days\.0: /);
  expect(text).not.toContain("{");
});

it("a graph receives the generation of the call", async () => {
  const now = await say("mirror");
  const old = await result(caller, "message/send", { message: message03("mirror") });
  expect([now, old].map((task) => task.artifacts[0].parts[0].data.generation)).toEqual(["1.0", "0.3"]);
});

describe("a card", () => {
  const about = {
    provider: { organization: "Weir", url: "https://weir.example" },
    documentation_url: "https://weir.example/docs",
    icon_url: "https://weir.example/icon.png",
    skills: [{ id: "s", name: "Sum", description: "Adds.", tags: ["math"] }],
  };
  const fetchCard = async (headers: Record<string, string> = {}) =>
    (await send("/a2a/actor/.well-known/agent-card.json", { headers })).json<Json>();

  it("says what the code of the graph says, and an assistant's own metadata before it", async () => {
    projectExports.a2a = { actor: { ...about, extensions: [{ uri: "https://x.example/v1" }], output_modes: 7 } };
    for (const version of ["1.0", "0.3"]) {
      expect(await fetchCard({ "a2a-version": version })).toMatchObject({
        provider: about.provider,
        documentationUrl: about.documentation_url,
        iconUrl: about.icon_url,
        skills: about.skills,
        capabilities: { extensions: [{ uri: "https://x.example/v1" }] },
      });
    }
    const skills = [{ id: "own", name: "Own", description: "Own.", tags: ["own"] }];
    const body = { graph_id: "actor", metadata: { a2a: { skills } } };
    const { assistant_id } = await (await caller.fetch("/assistants", { body })).json<Json>();
    const card = await result(caller, "GetExtendedAgentCard", {}, { agent: assistant_id });
    expect(card).toMatchObject({ skills, provider: about.provider });
  });

  it("declares extensions: requested ones are named in the answer, a required one must be requested", async () => {
    projectExports.a2a = { actor: { extensions: [{ uri: "https://x.example/v1" }, { uri: "https://x.example/v2" }] } };
    const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: message1("hi") } };
    const asking = { "a2a-extensions": "https://x.example/v2, https://other.example" };
    const answer = await sendRaw(caller, call, { headers: asking });
    expect(answer.headers.get("a2a-extensions")).toBe("https://x.example/v2");
    const old = { ...call, method: "message/stream", params: { message: message03("hi") } };
    const stream = await sendRaw(caller, old, { headers: { "x-a2a-extensions": "https://x.example/v1" } });
    expect(stream.headers.get("x-a2a-extensions")).toBe("https://x.example/v1");
    await stream.text();
    projectExports.a2a = { actor: { extensions: [{ uri: "https://x.example/v1", required: true }] } };
    expect((await (await sendRaw(caller, call)).json<Reply>()).error?.code).toBe(-32008);
    const with1 = await sendRaw(caller, call, { headers: { "a2a-extensions": "https://x.example/v1" } });
    expect((await with1.json<Reply>()).result).toBeDefined();
  });
});
