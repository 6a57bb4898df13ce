/** A run with a webhook: its end, the call of the receiver, and its own trace, each once. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { pause } from "../../support/aborts.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { recordIn, rowsIn } from "../../support/thread-tables.ts";
import { runWatched } from "./effects.ts";
import type { Scenario } from "./scenarios.ts";
import type { World } from "./world.ts";

/** Milliseconds within which everything must be carried out, attempts that are put off by seconds included. */
const PATIENCE_MS = 20_000;

interface Received {
  delivery_id: string;
  status: string;
  values: { messages?: { content: string }[] };
}

export const webhook: Scenario = {
  name: "a run with a webhook",
  given: {},
  prepare: async ({ weir, differences }) => {
    const thread = crypto.randomUUID();
    const input = { messages: [{ role: "user", content: "hello" }] };
    const body = { assistant_id: "echo", input, webhook: "https://receiver.example/", if_not_exists: "create" };
    const received: Received[] = [];
    stubFetch(async (_, { body: sent }) => {
      const call = { name: "fetch POST", text: sent as string };
      return (await runWatched(call, () => {
        received.push(JSON.parse(sent as string) as Received);
        return new Response();
      })) as Response;
    });
    let isStarted = false;
    return {
      work: async () => {
        if (!isStarted) await weir.call(`/threads/${thread}/runs`, { body });
        isStarted = true;
        await waitUntilCarriedOut(weir, thread);
      },
      check: async () => {
        const [first, ...others] = received;
        if (!first) differences.push("the receiver was not called");
        if (others.some(({ delivery_id }) => delivery_id !== first?.delivery_id))
          differences.push("the receiver takes calls of one delivery for several");
        if (received.some(({ status, values }) => status !== "success" || values.messages?.length !== 2))
          differences.push(`the receiver got ${JSON.stringify(received)}`);
        const session = [await findProjectId(weir, "default")];
        const query = { session, filter: `has(metadata, '{"thread_id": "${thread}"}')`, is_root: true };
        const { runs } = (await weir.call("/runs/query", { body: query })) as { runs: unknown[] };
        if (runs.length !== 1) differences.push(`the run has ${runs.length} traces`);
      },
    };
  },
};

/** Fires the thread's alarm until its outbox is empty. */
async function waitUntilCarriedOut({ caller }: World["weir"], thread: string): Promise<void> {
  // The stub of an object that was restarted is of no use.
  const object = () => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  for (const until = Date.now() + PATIENCE_MS; ; await pause(50)) {
    // The platform repeats an alarm that a restart has ended.
    await runDurableObjectAlarm(object()).catch(async () =>
      runInDurableObject(object(), (_, { storage }) => storage.setAlarm(Date.now())),
    );
    if (await runInDurableObject(object(), (_, { storage }) => isDone(storage))) return;
    if (Date.now() > until) throw new Error("The thread still has work.");
  }
}

function isDone(storage: DurableObjectStorage): boolean {
  const left = rowsIn(storage, "SELECT id FROM outbox");
  const record = recordIn(storage);
  // The record has the end of the last run, whose row has not.
  const { run_id: ended } = (record["ended"] ?? {}) as { run_id?: string };
  const open = rowsIn(storage, "SELECT run_id FROM runs WHERE status <> 'success'").filter(
    ({ run_id }) => run_id !== ended,
  );
  return left.length === 0 && open.length === 0 && !("trace" in record);
}

async function findProjectId(weir: World["weir"], project: string): Promise<string> {
  const [{ id } = { id: "" }] = (await weir.call(`/sessions?name=${project}`)) as { id: string }[];
  return id;
}
