/** A history made by hand, in which every rule holds, for the tests of the rules. */
import {
  AUDITOR,
  type Base,
  type Features,
  type Frame,
  type History,
  type Kind,
  type Of,
  type Operation,
  type StateSeen,
} from "./record.ts";
import { type Shown, toShown } from "./shown.ts";

const FEATURES: Features = { name: "by hand", weir: true, strictResume: true, protocol: true };

type Fields<K extends Kind> = Omit<Of<K>, keyof Base | "kind"> & Partial<Base>;

export class Made implements History {
  readonly seed = 1;
  readonly features = { ...FEATURES };
  readonly searchBound = 1_000;
  operations: Operation[] = [];
  #time = 0;

  /** An operation of five milliseconds after the one before, on the thread of the echo graph. */
  add<K extends Kind>(kind: K, fields: Fields<K>): Of<K> {
    const at = (this.#time += 10);
    const operation = {
      kind,
      client: 0,
      outcome: "ok",
      thread: "echo",
      at,
      until: at + 5,
      ...structuredClone(fields),
    } as unknown as Of<K>;
    this.operations.push(operation);
    return operation;
  }

  /** The first operation of a kind that has these members. */
  get<K extends Kind>(kind: K, members: Partial<Of<K>> = {}): Of<K> {
    const found = this.operations.find(
      (one) => one.kind === kind && Object.entries(members).every(([name, value]) => Object(one)[name] === value),
    );
    if (!found) throw new Error(`The history has no such ${kind}.`);
    return found as Of<K>;
  }

  remove(operation: Operation): void {
    this.operations = this.operations.filter((one) => one !== operation);
  }
}

const human = (text: string) => ({ type: "human", content: text, id: `human ${text}` });
const ai = (text: string) => ({ type: "ai", content: text, id: `ai ${text}` });
const createEchoed = (...texts: string[]) => texts.flatMap((text) => [human(text), ai(`You said: ${text}`)]);

export const createShown = (messages: object[], sent: object[] = []): Shown => toShown({ messages, sent });

/** The states of a thread, oldest first, as a history has them. */
function createStates(runs: [run: string, values: Shown][]): StateSeen[] {
  return runs
    .map(([run, values], index) => ({
      ...values,
      run,
      source: "loop",
      checkpoint: `c${index}`,
      next: [],
      ...(index > 0 && { parent: `c${index - 1}` }),
    }))
    .toReversed();
}

export const frame = (id: number, event: string, data: unknown = {}): Frame => ({
  id: String(id),
  event,
  data: JSON.stringify(data),
  at: 0,
});

const FIRST = createEchoed("T0x1");
const BOTH = createEchoed("T0x1", "T1x1");
const FRAMES = [frame(2, "metadata", { run_id: "r1", attempt: 1 }), frame(3, "values", { messages: FIRST })];

const QUESTION = [human("Write to ada@example.com that T2x1"), ai("Let me see to that.")];
const ANSWERED = [...QUESTION, { type: "tool", content: "Not sent: A2x2x0", id: "tool" }, ai("It was not sent.")];

const lifecycle = (seq: number, run: string, event: string): Frame =>
  frame(seq, "lifecycle", { event_id: `synth:${run}:lc||${event}|${seq}`, params: { namespace: [], data: { event } } });

/** Two runs of the echo graph, one of which a client waits for, and a question of the approval graph that is answered. */
export function makeHistory(): Made {
  const made = new Made();
  made.add("create thread", {});
  made.add("create thread", { thread: "approval" });
  made.add("start", { via: "stream", role: "echo", text: "T0x1", run: "r1", strategy: "enqueue" });
  const log = { run: "r1", modes: "values", after: "-1", resumable: true };
  made.add("read", { ...log, frames: FRAMES.slice(0, 1), ended: false });
  made.add("read", { ...log, after: "2", frames: FRAMES.slice(1), ended: true });
  made.add("run", { run: "r1", seen: { run: "r1", status: "success", text: "T0x1" } });
  made.add("state", { state: createStates([["r1", createShown(FIRST)]])[0] });
  made.add("start", { via: "wait", role: "echo", text: "T1x1", run: "r2", values: createShown(BOTH) });
  made.add("copy", { copy: "copied" });
  made.add("state", { thread: "copied", state: { ...createShown(BOTH), next: [] } });
  made.add("cancel", { run: "r2", action: "interrupt", wait: true, outcome: "refused" });

  const approval = { thread: "approval", role: "approval" as const };
  made.add("start", { ...approval, via: "background", text: "T2x1", run: "r3" });
  const answer = { interrupt: "q1", about: "T2x1", type: "reject" as const, strict: true };
  made.add("start", { ...approval, via: "background", text: "A2x2x0", run: "r4", answer });

  const at = { client: AUDITOR };
  const states = createStates([
    ["r1", createShown(FIRST.slice(0, 1))],
    ["r1", createShown(FIRST)],
    ["r2", createShown(BOTH.slice(0, 3))],
    ["r2", createShown(BOTH)],
  ]);
  made.add("state", { ...at, state: states[0] });
  made.add("history", { ...at, states, complete: true });
  made.add("thread", { ...at, seen: { thread: "echo", status: "idle", values: createShown(BOTH) } });
  const runs = ["r2", "r1"].map((run, index) => ({ run, status: "success", text: `T${1 - index}x1` }));
  made.add("runs", { ...at, runs, complete: true });
  for (const seen of runs) made.add("run", { ...at, run: seen.run, seen });
  made.add("read", { ...at, ...log, frames: FRAMES, ended: true });
  made.add("join", { ...at, run: "r2", values: createShown(BOTH) });
  const watched = { modes: "lifecycle,input", after: "-1", resumable: true, ended: false };
  made.add("read", { ...at, ...watched, frames: [lifecycle(1, "r1", "running"), lifecycle(4, "r1", "completed")] });

  const there = { ...at, thread: "approval" };
  const asked = createStates([
    ["r3", createShown(QUESTION)],
    ["r4", createShown(ANSWERED)],
  ]);
  made.add("state", { ...there, state: asked[0] });
  made.add("history", { ...there, states: asked, complete: true });
  made.add("thread", { ...there, seen: { thread: "approval", status: "idle", values: createShown(ANSWERED) } });
  const both = [
    { run: "r4", status: "success", text: "A2x2x0" },
    { run: "r3", status: "interrupted", text: "T2x1" },
  ];
  made.add("runs", { ...there, runs: both, complete: true });
  made.add("state", { ...at, thread: "copied", state: { ...createShown(BOTH), next: [] } });
  const found = [
    { thread: "echo", status: "idle", values: createShown(BOTH) },
    { thread: "approval", status: "idle", values: createShown(ANSWERED) },
  ];
  made.add("search", { ...at, thread: "", found });
  return made;
}
