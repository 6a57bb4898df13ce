/** A budget and the graph have both asked on a thread that a migration takes. */
import { expect, it } from "vitest";
import { graphs, Lazy } from "../../../src/deployment.ts";
import type { Migration, OldState } from "../../../src/agents/graphs/compatibility.ts";
import { listQuestions, calls, put, run, TOKENS } from "../../limits/budgets/spending.ts";
import { newCaller } from "../../support/caller.ts";
import { newThread } from "../../threads/client.ts";

const deploy = (id: string, graph: unknown, version: string, migrations?: Migration[]) => {
  graphs[id] = new Lazy<never>("./graph.ts:graph", async () => ({ graph, migrations, version }));
};

const ways = [
  ["together", true],
  ["one after the other", false],
] as const;
it.each(ways)("answers by id, %s, reach who asked", async (_, together) => {
  const caller = await newCaller();
  const name = crypto.randomUUID();
  await put(caller, "each-run", { per: "run", tokens: TOKENS });
  deploy(name, graphs.side, "1");
  const thread = await newThread(caller);
  await run(caller, thread, name, { input: { name } });
  const before = await listQuestions(caller, thread);
  const budget = before.find(({ value }) => typeof value === "object");
  const own = before.find(({ value }) => typeof value === "string");
  const seen: OldState[] = [];
  const migrate = (old: OldState) => {
    seen.push(old);
    return {};
  };
  deploy(name, graphs.longer, "2", [{ from: "1", migrate }]);
  const approval = { approve: 9 * TOKENS };
  const resume = { [String(own?.id)]: "Ada", ...(together && { [String(budget?.id)]: approval }) };
  const first = await run(caller, thread, name, { command: { resume } });
  const last = together ? first : await run(caller, thread, name, { command: { resume: approval } });
  expect(seen.map(({ questions }) => questions)).toEqual([["asks?"]]);
  expect(last.said).toEqual(["one: said", 'asks: "Ada"', "left: said", "right: said", "tail: said"]);
  expect(calls.get(name)).toBe(5);
  expect(await listQuestions(caller, thread)).toEqual([]);
});
