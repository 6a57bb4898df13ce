/** A budget of langgraph.json that counts each user's day. */
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { deployedBudgets } from "../../../src/limits/budgets/rule.ts";
import { deployUsers, type Json, type User, userCalled } from "../../security/users.ts";
import { calls, TOKENS } from "./spending.ts";

const ada = userCalled(`ada-${crypto.randomUUID()}`);
const bob = userCalled(`bob-${crypto.randomUUID()}`);
deployUsers();
beforeAll(() => {
  deployedBudgets.push({ id: "users", per: "day", key: "user", tokens: 3 * TOKENS, at_limit: "ask" });
});
afterAll(() => {
  deployedBudgets.length = 0;
});

const talk = async (user: User, name: string, more: Json = { input: { name } }, thread?: string) => {
  const thread_id = thread ?? String((await user.json("/threads", {})).thread_id);
  await user.json(`/threads/${thread_id}/runs/wait`, { assistant_id: "speaking", ...more });
  const { interrupts } = await user.json<{ interrupts: { value: Json }[] }>(`/threads/${thread_id}/state`);
  return { thread_id, questions: interrupts };
};

it("users do not spend each other's budget, and the audit log names who approved more", async () => {
  const name = crypto.randomUUID();
  expect((await talk(ada, name)).questions).toEqual([]);
  const { thread_id, questions } = await talk(ada, name);
  expect(questions).toMatchObject([{ value: { budget: "users", spent: 3 * TOKENS, limit: 3 * TOKENS } }]);
  expect((await talk(bob, name)).questions).toEqual([]);
  expect(calls.get(name)).toBe(6);
  expect((await talk(ada, name, { command: { resume: true } }, thread_id)).questions).toEqual([]);
  expect(calls.get(name)).toBe(9);
  const sql = "select actor_kind, detail from audit_log where action = 'budget.approved' and detail like ?";
  const { results } = await env.DB.prepare(sql).bind(`%${thread_id}%`).all<{ actor_kind: string; detail: string }>();
  expect(results.map(({ actor_kind }) => actor_kind)).toEqual(["user"]);
  expect(JSON.parse(results[0]?.detail ?? "")).toMatchObject({ user: ada.name, amount: 3 * TOKENS });
});
