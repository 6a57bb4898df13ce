/** Secrets of a rule and of an alert that are kept by a change: each stays with its own receiver. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openAlertSecrets } from "../../../src/automation/alerts/input.ts";
import { findAlert } from "../../../src/automation/alerts/store.ts";
import { database } from "../../../src/db/client.ts";
import { findStoredReceivers, HIDDEN } from "../../../src/deliveries/receiver.ts";
import { openRuleSecrets } from "../../../src/automation/rules/input.ts";
import { findRule } from "../../../src/automation/rules/store.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { newRule, readRule, type Rule, sendRuns } from "../../support/rules.ts";
import { NOON, projectId } from "../../support/traces.ts";

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
  await sendRuns(caller, NOON, [{ name: "first" }]);
});

const judge = (name: string, more: object = {}) => ({
  structured: {
    prompt: [["system", name]],
    model: { provider: "openai", model: "m", base_url: "https://example.com/v1", api_key: `key of ${name}`, ...more },
  },
});
type Judge = ReturnType<typeof judge>;
const hook = (path: string, name = "authorization") => ({
  url: `https://example.com/${path}`,
  headers: { [name]: `secret of ${path}` },
});

/** Sends the rule again as its answer has it, with some of its members changed. */
async function patch(rule: Rule, change: (shown: { evaluators: Judge[]; webhooks: object[] }) => object) {
  const shown = (await readRule(caller, rule)) as unknown as { evaluators: Judge[]; webhooks: object[] };
  const body = { display_name: "again", sampling_rate: 1, session_id: await projectId(caller), ...change(shown) };
  return caller.fetch(`/runs/rules/${rule.id}`, { method: "PATCH", body });
}

async function readSecrets({ id }: Rule) {
  const row = await findRule(database(env.DB), caller.workspaceId, id);
  if (!row) throw new Error("no rule");
  return openRuleSecrets(env, row);
}

describe("the key of a judge stays with it", () => {
  const keysAfter = async (change: (judges: [Judge, Judge, Judge]) => Judge[]) => {
    const rule = await newRule(caller, { evaluators: ["a", "b", "c"].map((name) => judge(name)) });
    const response = await patch(rule, ({ evaluators }) => ({
      evaluators: change(evaluators as [Judge, Judge, Judge]),
    }));
    return response.ok
      ? (await readSecrets(rule)).keys
      : [response.status, (await response.json<{ detail: string }>()).detail];
  };
  const editPrompt = ({ structured }: Judge) => ({ structured: { ...structured, prompt: [["system", "edited"]] } });

  it("in another order", async () => {
    expect(await keysAfter(([a, b, c]) => [c, a, b])).toEqual(["key of c", "key of a", "key of b"]);
  });

  it("when one is removed, or put before it", async () => {
    expect(await keysAfter(([, b, c]) => [b, c])).toEqual(["key of b", "key of c"]);
    expect(await keysAfter(([a, b, c]) => [judge("d"), a, b, c])).toEqual([
      "key of d",
      "key of a",
      "key of b",
      "key of c",
    ]);
  });

  it("when its prompt or its model changes", async () => {
    expect(await keysAfter(([a, b, c]) => [c, editPrompt(b), a])).toEqual(["key of c", "key of b", "key of a"]);
    const changeModel = ({ structured }: Judge) => ({
      structured: { ...structured, model: { ...structured.model, model: "n" } },
    });
    expect(await keysAfter(([a, b, c]) => [changeModel(c), a, changeModel(b)])).toEqual([
      "key of c",
      "key of a",
      "key of b",
    ]);
  });

  it("and is not guessed", async () => {
    const refusal = [422, expect.stringContaining("one of several of its address")];
    expect(await keysAfter(([a]) => [editPrompt(a)])).toEqual(refusal);
    const elsewhere = { base_url: "https://other.example.com/v1", api_key: HIDDEN };
    expect(await keysAfter(() => [judge("a", elsewhere)])).toEqual([
      422,
      expect.stringContaining("keeps a stored value"),
    ]);
  });
});

describe("the headers of a webhook stay with it", () => {
  it("in another order, and when one is removed", async () => {
    const rule = await newRule(caller, { webhooks: [hook("a"), hook("b"), hook("c", "x-token")] });
    expect((await patch(rule, ({ webhooks: [, b, c] }) => ({ webhooks: [c, b] }))).status).toBe(200);
    const kept = [{ "x-token": "secret of c" }, { authorization: "secret of b" }];
    expect((await readSecrets(rule)).headers).toEqual(kept);
  });

  it("of two with the same address by their names, and else by their order", async () => {
    const two = [hook("a"), { ...hook("a"), headers: { authorization: "second" } }, hook("a", "x-token")];
    const rule = await newRule(caller, { webhooks: two });
    expect((await patch(rule, ({ webhooks: [a, b, c] }) => ({ webhooks: [c, a, b] }))).status).toBe(200);
    const kept = [{ "x-token": "secret of a" }, { authorization: "secret of a" }, { authorization: "second" }];
    expect((await readSecrets(rule)).headers).toEqual(kept);
    expect((await patch(rule, ({ webhooks: [, a] }) => ({ webhooks: [a] }))).status).toBe(422);
  });
});

it("the secrets of an alert's channels stay with them", async () => {
  const mail = { type: "email", provider: "resend", from: "weir@example.com", to: ["ops@example.com"] };
  const slack = (host: string) => ({ type: "slack", url: `https://${host}/services/secret` });
  const channels = [
    { ...mail, api_key: "key of ops" },
    { type: "webhook", ...hook("a") },
    slack("hooks.slack.com"),
    { ...mail, to: ["team@example.com"], api_key: "key of team" },
  ];
  const body = {
    name: "many errors",
    session_id: await projectId(caller),
    metric: "error_rate",
    threshold: 0.1,
    channels,
  };
  const made = await (await caller.fetch("/api/v1/alerts", { body })).json<{ id: string; channels: object[] }>();
  const [ops, a, said, team] = made.channels;
  const change = { ...body, channels: [team, said, { ...ops, to: ["all@example.com"] }, a] };
  expect((await caller.fetch(`/api/v1/alerts/${made.id}`, { method: "PUT", body: change })).status).toBe(200);
  const row = await findAlert(database(env.DB), caller.workspaceId, made.id);
  const { headers, keys } = await openAlertSecrets(env, row!);
  expect(keys).toEqual(["key of team", "https://hooks.slack.com/services/secret", "key of ops", null]);
  expect(headers[3]).toEqual({ authorization: "secret of a" });
});

describe("a receiver is found", () => {
  const createSecret = (secret: string, ...names: string[]) => ({ names, secret });
  it("for a copy of it, when there is one secret of its address, and is not guessed", () => {
    expect(
      findStoredReceivers(
        [
          ["x", "at"],
          ["y", "at"],
        ],
        [createSecret("s", "x", "at")],
      ),
    ).toEqual([0, 0]);
    expect(
      findStoredReceivers(
        [
          ["x", "at"],
          ["y", "at"],
        ],
        [createSecret("s", "x", "at"), createSecret("t", "z", "at")],
      ),
    ).toEqual([0, 1]);
    expect(findStoredReceivers([["y", "at"]], [createSecret("s", "x", "at"), createSecret("s", "z", "at")])).toEqual([
      0,
    ]);
    expect(findStoredReceivers([["y", "other"]], [createSecret("s", "x", "at")])).toEqual([undefined]);
    expect(
      findStoredReceivers(
        [
          ["x", "at"],
          ["y", "at"],
        ],
        [createSecret("s", "x", "at"), createSecret("t", "x", "at")],
      ),
    ).toEqual([undefined, undefined]);
    const [x, z] = [createSecret("s", "x", "at"), createSecret("t", "z", "at")];
    const copies = [x.names, z.names, ["v", "at"], ["w", "at"]];
    expect(findStoredReceivers(copies, [x, z])).toEqual([0, 1, undefined, undefined]);
    expect(findStoredReceivers([], [createSecret("s", "x", "at")])).toEqual([]);
  });
});
