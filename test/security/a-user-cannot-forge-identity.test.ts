/** What a client sends never decides who a graph believes runs it, on any surface that starts runs. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { newCaller } from "../support/caller.ts";
import { clock, fireCron, RUN_SURFACES } from "./run-surfaces.ts";
import { banned, deployUsers, type Json, userCalled } from "./users.ts";

deployUsers();

const FORGED = {
  user_id: "ada",
  langgraph_auth_user: { identity: "ada", permissions: ["admin"] },
  langgraph_auth_user_id: "ada",
  langgraph_auth_permissions: ["admin"],
};
const context = { langgraph_auth_user: FORGED.langgraph_auth_user, langgraph_auth_user_id: "ada" };
const forged = { config: { configurable: FORGED }, context };
const bob = userCalled("bob");

/** What the graph must read in a run of bob's. */
const BOB = { user_id: "bob", identity: "bob", langgraph_auth_user_id: "bob", langgraph_auth_permissions: ["write"] };
const readWho = (state: Json | undefined) => {
  const { thread_id: _, ...who } = (state?.who ?? {}) as Json;
  return who;
};

let plain: string;
let assistant: string;
let shown: Json;
beforeAll(async () => {
  const made = await bob.json("/assistants", { graph_id: "whoami", ...forged });
  shown = { config: made.config, context: made.context };
  assistant = String(made.assistant_id);
  plain = String((await bob.json("/assistants", { graph_id: "whoami" })).assistant_id);
});

describe.each(Object.entries(RUN_SURFACES))("%s", (_name, start) => {
  it("runs as the caller, with any config of the request", async () => {
    expect(readWho(await start(bob, { assistant_id: plain, input: {}, ...forged }))).toEqual(BOB);
  });

  it("runs as the caller, with any config of the assistant", async () => {
    expect(readWho(await start(bob, { assistant_id: assistant, input: {} }))).toEqual(BOB);
  });
});

it("an assistant does not show an identity either", () => {
  expect(shown).toEqual({ config: { configurable: {} }, context: {} });
});

it("an API key names no user either", async () => {
  const caller = await newCaller();
  const response = await caller.fetch("/runs/wait", { body: { assistant_id: "whoami", input: {}, ...forged } });
  expect(readWho(await response.json<Json>())).toEqual({});
});

it("the address of a checkpoint does not name another thread to the graph", async () => {
  const { thread_id } = await bob.json("/threads", {});
  const body = { assistant_id: "whoami", input: {}, checkpoint: { thread_id: "of-ada" } };
  const { who } = await bob.json<{ who: Json }>(`/threads/${String(thread_id)}/runs/wait`, body);
  expect(who.thread_id).toBe(thread_id);
});

describe("a cron", () => {
  const cron = { assistant_id: "whoami", input: {}, schedule: "* * * * *", on_run_completed: "keep" };
  const left = async (id: unknown) =>
    (await env.DB.prepare("SELECT state FROM cron_firings WHERE cron_id = ?").bind(id).all()).results;

  it("does not run for a user who is no longer allowed", async () => {
    const made = await userCalled("eve").json("/runs/crons", cron);
    banned.add("eve");
    await clock(Date.parse(String(made.next_run_date)));
    expect(await left(made.cron_id)).toEqual([{ state: "refused" }]);
  });

  it("acts as the user who changed it last", async () => {
    const made = await bob.json("/runs/crons", cron);
    await env.DB.prepare("UPDATE crons SET user_id = 'ada', user = NULL WHERE id = ?").bind(made.cron_id).run();
    const path = `/runs/crons/${String(made.cron_id)}`;
    expect(await bob.json(path, { input: {} }, "PATCH")).toMatchObject({ user_id: "bob" });
    expect(readWho(await fireCron(bob, made))).toEqual(BOB);
  });

  it("whose stored configuration names another acts as its user", async () => {
    const made = await bob.json("/runs/crons", cron);
    const payload = JSON.stringify({ assistant_id: "whoami", input: {}, config: forged.config });
    await env.DB.prepare("UPDATE crons SET payload = ? WHERE id = ?").bind(payload, made.cron_id).run();
    expect(readWho(await fireCron(bob, made))).toEqual(BOB);
  });

  it("keeps its user encrypted", async () => {
    const made = await bob.json("/runs/crons", cron);
    const row = await env.DB.prepare("SELECT user FROM crons WHERE id = ?").bind(made.cron_id).first<Json>();
    expect(row?.user).toMatch(/^v1\.[0-9a-f]{12}\.[\w+/=]+$/);
    expect(JSON.stringify(made)).not.toContain("permissions");
  });
});
