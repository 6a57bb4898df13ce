/** A run that the server gives up, because its process stops again and again, while a parallel task of it waits for a response. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { pause } from "../../support/aborts.ts";
import { GatedThread } from "../../support/gated-graphs.ts";
import { changeRow, rowsIn } from "../../support/thread-tables.ts";
import { give } from "./ask.ts";

it("leaves an interrupt that can be answered by a link", async () => {
  const thread = await GatedThread.make("gatedParallel");
  thread.close("work");
  const run = await thread.run("go");
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await thread.reaches("work", attempt);
    // What the other task has asked is stored by then.
    await pause(300);
    await abortAllDurableObjects();
    await thread.statusOf(run);
  }
  await expect.poll(() => thread.statusOf(run), { timeout: 10_000 }).toBe("error");
  const { interrupts } = (await thread.call<{ interrupts: Record<string, { id: string }[]> }>("")).body;
  const [question] = Object.values(interrupts).flat();
  const made = await thread.call<{ url: string }>(`interrupts/${question?.id}/links`, { body: {} });
  expect(made.status).toBe(200);
  thread.open("work");
  expect((await give(new URL(made.body.url).pathname, "yes")).status).toBe(200);
  await expect.poll(() => thread.state(), { timeout: 10_000 }).toContain("yes");
}, 40_000);

it.each(["rollback", "interrupt"])(
  "ends as it was stopped, where its last attempt stopped with its process (%s)",
  async (stopped) => {
    const thread = await GatedThread.make("gatedPlain");
    await thread.wait("zero");
    thread.close("close");
    const run = await thread.run("one");
    for (let attempt = 2; attempt <= 4; attempt += 1) {
      await thread.reaches("close", attempt);
      if (attempt === 4) break;
      await abortAllDurableObjects();
      await thread.statusOf(run);
    }
    await runInDurableObject(env.THREAD.getByName(`${thread.caller.workspaceId}:${thread.id}`), (_, { storage }) => {
      const [row] = rowsIn<{ outcome: string }>(storage, "SELECT * FROM runs WHERE run_id = ?", run);
      const outcome = { ...(JSON.parse(row?.outcome ?? "{}") as object), stopped };
      changeRow(storage, "runs", { run_id: run }, { outcome: JSON.stringify(outcome) });
    });
    await abortAllDurableObjects();
    await thread.statusOf(run);
    await expect
      .poll(async () => thread.statusOf(run), { timeout: 10_000 })
      .toBe(stopped === "rollback" ? 404 : "interrupted");
  },
  40_000,
);
