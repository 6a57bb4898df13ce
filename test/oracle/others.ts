/** What happens on a case's thread besides its own runs: state updates, runs of others, deletions of runs, and repetitions of what is gone. */
import { defaultAssistantId } from "../../src/agents/assistants/defaults.ts";
import { withoutRun } from "./checks.ts";
import type { Case } from "./dimensions.ts";
import * as gates from "./gates.ts";
import type { RunSpec, Update } from "./model.ts";
import type { Step } from "./program.ts";
import { Mismatch, type World } from "./world.ts";

const MONTH = 30 * 24 * 3_600_000;

/** The graphs that a case's other runs are of: one with the same state, and one with another. */
export const toOtherGraph = (graphId: string): string => `${graphId}-other`;
export const toNoteGraph = (graphId: string): string => `${graphId}-note`;

const step = (name: string, work: Step["work"]): Step => ({ name, work });

export async function cancel(world: World, run: string, action: "interrupt" | "rollback"): Promise<void> {
  const path = `${world.weir.path}/runs/${world.weir.ids.get(run)}/cancel?wait=1&action=${action}`;
  const { status } = await world.weir.call(path, { method: "POST" });
  world.expect("the answer to cancel", status, 204);
}

/** A state update, to the product and to the model. */
export async function update(world: World, change: Update): Promise<void> {
  const { weir, model } = world;
  const { log, said, as = weir.shape.last ?? "close" } = change;
  const messages = said === undefined ? {} : { messages: [{ role: "assistant", content: said }] };
  const body = { values: { log: [log], ...messages }, as_node: as };
  const response = await weir.call(`${weir.path}/state`, { body });
  world.expect("the answer to a state update", response.status, model.update(change));
}

const UPDATES: Record<Case["update"], { at: "create" | "t1" | "pause" | "t3"; change: Update } | undefined> = {
  none: undefined,
  first: { at: "create", change: { log: "first" } },
  between: { at: "t1", change: { log: "between" } },
  message: { at: "t1", change: { log: "message", said: "(updated)" } },
  pause: { at: "pause", change: { log: "pause" } },
  "as a node": { at: "pause", change: { log: "node", as: "speak" } },
  last: { at: "t3", change: { log: "last" } },
};

/** The case's state update, if it is made here. */
export function updateAt({ update: kind }: Case, at: "create" | "t1" | "pause" | "t3"): Step[] {
  const chosen = UPDATES[kind];
  if (chosen?.at !== at) return [];
  return [
    step(`a state update: ${kind}`, async (world) => {
      if (world.model.exists) await update(world, chosen.change);
    }),
    step("look", (world) => world.check()),
  ];
}

/** A run of another graph. It has an input of its own state. */
const toNote = (world: World, more: Partial<RunSpec>): RunSpec => ({
  name: "y",
  turn: "y",
  assistant: toNoteGraph(world.weir.graphId),
  isOther: true,
  ...more,
});

const OTHERS: Record<Exclude<Case["other"], "none" | "queued">, (world: World) => Promise<void>> = {
  "delayed graph": (world) => world.start(toNote(world, { afterMs: MONTH })),

  async "delayed assistant"(world) {
    const { caller, graphId } = world.weir;
    const body = { graph_id: graphId, name: "another" };
    const { assistant_id } = await (await caller.fetch("/assistants", { body })).json<{ assistant_id: string }>();
    await world.start({ name: "y", turn: "y", assistant: assistant_id, afterMs: MONTH });
  },

  async run(world) {
    const assistant = toOtherGraph(world.weir.graphId);
    await world.start({ name: "y", turn: "y", assistant, isOther: true, doc: { edits: 0 } });
    await world.finish("y");
  },

  /** It begins, and is rolled back: besides its webhook and its trace it leaves nothing. */
  async "rolled back"(world) {
    const { weir, model } = world;
    const note = toNoteGraph(weir.graphId);
    gates.close(note, "close");
    const status = await weir.start({ ...toNote(world, {}), webhook: true });
    world.expect("the request for y", status, 200);
    await weir.waitUntilReached("close", note);
    await cancel(world, "y", "rollback");
    gates.open(note);
    model.hooks.push("y interrupted");
    model.traces.push("y");
  },
};

/** What another graph or assistant does while the thread rests: a whole run comes before the pause of the case. */
export function otherAt({ other, pause }: Case, at: "t1" | "pause"): Step[] {
  if (other === "none" || other === "queued") return [];
  if ((other === "run" || pause === "none" ? "t1" : "pause") !== at) return [];
  return [
    step(`another's run: ${other}`, async (world) => {
      if (world.model.exists) await OTHERS[other](world);
    }),
    step("look", (world) => world.check()),
  ];
}

/** The deletion of a run, on the product and in the model. Readers no longer get its events. */
export async function deleteRun(world: World, name: string): Promise<void> {
  const { weir, model } = world;
  const id = weir.ids.get(name) ?? "";
  const { status } = await weir.call(`${weir.path}/runs/${id}`, { method: "DELETE" });
  world.expect(`the deletion of the run ${name}`, status, model.run(name) ? 204 : 404);
  if (weir.transcript) weir.transcript = withoutRun(weir.transcript, id);
  model.removeRun(name);
}

/** A run that has ended is deleted while others follow it. */
export function removeEnded({ removal }: Case): Step[] {
  if (removal !== "ended") return [];
  return [
    step("the deletion of t1", async (world) => {
      if (world.model.exists) await deleteRun(world, "t1");
    }),
    step("look", (world) => world.check()),
  ];
}

/** What happens while a run of the case is at work. */
export function whileAtWork({ other, removal }: Case, target: (world: World) => string): Step[] {
  const isOpen = (world: World) => world.model.open.some(({ name }) => name === target(world));
  return [
    ...(other === "queued"
      ? [
          step("a run of another graph is queued, and cancelled", async (world) => {
            if (!isOpen(world)) return;
            await world.start(toNote(world, {}));
            await cancel(world, "y", "interrupt");
            world.model.stop("y", "interrupt");
          }),
        ]
      : []),
    ...(removal === "asked"
      ? [
          step("the deletion of the run that asked", async (world) => {
            if (isOpen(world) && world.model.run("t2")) await deleteRun(world, "t2");
          }),
        ]
      : []),
    ...(removal === "with one behind"
      ? [
          step("the deletion of a run with another one behind it", async (world) => {
            if (!isOpen(world)) return;
            const run = target(world);
            await world.start({ name: "b", turn: "b" });
            await deleteRun(world, run);
            world.release();
            await world.finish("b");
          }),
        ]
      : []),
  ];
}

/** A request is repeated after its run was rolled back or deleted: it starts no other run. */
export function repeatGone({ repetition }: Case): Step[] {
  if (repetition !== "after rollback" && repetition !== "after deletion") return [];
  return [
    step(`a request is repeated ${repetition}`, async (world) => {
      const { model, weir, random } = world;
      if (!model.exists) return;
      const door = DOORS[Math.floor(random.next() * DOORS.length)] as (typeof DOORS)[number];
      const send = door(world);
      const isRolledBack = repetition === "after rollback";
      if (isRolledBack) gates.close(weir.graphId, "close");
      const first = await send();
      if (first.status !== 200) throw new Mismatch(`a request over ${door.name} answers ${first.status}`);
      const run = await findNewest(world);
      weir.ids.set("g", run);
      if (isRolledBack) {
        await weir.waitUntilReached("close");
        await cancel(world, "g", "rollback");
        gates.open(weir.graphId);
      } else {
        await (await weir.call(`${weir.path}/runs/${run}/join`)).text();
        await weir.call(`${weir.path}/runs/${run}`, { method: "DELETE" });
        // The thread shows its latest checkpoint.
        model.failed = false;
      }
      model.traces.push("g");
      model.touch();
      await first.text();
      const again = await send();
      const text = await again.text();
      // The kept answer of the first request starts nothing.
      const isReplayed = again.headers.has("idempotency-replayed");
      if (again.status === 200 && !isReplayed && !text.includes("was deleted or rolled back"))
        throw new Mismatch(`a request over ${door.name} that is repeated ${repetition} is accepted: ${text}`);
      const runs = await weir.runs();
      world.expect(
        `the runs after a request over ${door.name} that is repeated ${repetition}`,
        (runs as string[]).filter((one) => one.startsWith("unknown")),
        [],
      );
    }),
    step("look", (world) => world.check()),
  ];
}

async function findNewest({ weir }: World): Promise<string> {
  const runs = await weir.json<{ run_id: string }[]>(`${weir.path}/runs?limit=1`);
  return typeof runs === "number" ? "" : (runs[0]?.run_id ?? "");
}

type Door = (world: World) => () => Promise<Response>;

/** Requests of which the run's id is derived. Each is sent twice. */
const DOORS: Door[] = [
  /** Its first answer is kept, and its second the same. */
  function key({ weir, id }) {
    const input = { messages: [{ role: "user", content: "g" }] };
    const headers = { "idempotency-key": `${id} gone` };
    return () => weir.call(`${weir.path}/runs`, { body: { assistant_id: weir.assistantId, input }, headers });
  },
  function stream({ weir, id }) {
    const input = { messages: [{ role: "user", content: "g" }] };
    const headers = { "idempotency-key": `${id} gone` };
    return () => weir.call(`${weir.path}/runs/stream`, { body: { assistant_id: weir.assistantId, input }, headers });
  },
  function agui({ weir, id }) {
    const messages = [{ id: `${id}-gone`, role: "user", content: "g" }];
    const input = {
      threadId: weir.threadId,
      runId: id,
      messages,
      tools: [],
      context: [],
      state: {},
      forwardedProps: {},
    };
    return () => weir.call(`/agui/${weir.assistantId}`, { body: input });
  },
  function command({ weir }) {
    const input = { messages: [{ role: "user", content: "g" }] };
    const body = { id: 777, method: "run.start", params: { assistant_id: weir.assistantId, input } };
    return () => weir.call(`${weir.path}/commands`, { body });
  },
  function a2a({ weir, id }) {
    const message = { messageId: `${id}-gone`, contextId: weir.threadId, role: "ROLE_USER", parts: [{ text: "g" }] };
    const body = { jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: { message } };
    const headers = { "idempotency-key": `${id} gone` };
    return () => weir.call(`/a2a/${defaultAssistantId(weir.graphId)}`, { body, headers });
  },
];
