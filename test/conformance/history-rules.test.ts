/** The rules of the history checker: each holds in the history made by hand, and flags the change that breaks it. */
import { describe, expect, it } from "vitest";
import { Facts } from "../../tools/history/facts.ts";
import { frame, type Made, makeHistory, createShown } from "../../tools/history/made.ts";
import { AUDITOR } from "../../tools/history/record.ts";
import { RULES } from "../../tools/history/rules/all.ts";

const at = { client: AUDITOR };
const log = { run: "r1", modes: "values", after: "-1", resumable: true };
const approval = { thread: "approval", role: "approval" as const, via: "background" as const };

/** The last state of the echo thread as the auditor reads it. */
const findState = (made: Made, thread = "echo") => {
  const { state } = made.get("state", { ...at, thread });
  if (!state) throw new Error("no state");
  return state;
};
const findRuns = (made: Made) => made.get("runs", { ...at, thread: "echo" });

/** What breaks each rule. */
const BREAKS: Record<keyof typeof RULES, (made: Made) => void> = {
  "runs-end": (made) => {
    findRuns(made).runs = [{ run: "r2", status: "pending" }];
  },
  "status-is-final": (made) => {
    made.add("run", { run: "r1", seen: { run: "r1", status: "error" } });
  },
  "runs-are-listed": (made) => {
    made.add("start", { via: "background", role: "echo", text: "T3x1", run: "r5" });
    made.add("runs", { ...at, runs: findRuns(made).runs, complete: true });
  },
  "runs-are-listed-once": (made) => {
    findRuns(made).runs.push({ run: "r6", status: "success", text: "T0x1" });
  },
  "deleted-is-gone": (made) => {
    made.add("delete run", { run: "r1" });
    made.add("run", { run: "r1", seen: { run: "r1", status: "success" } });
  },
  "one-run-per-key": (made) => {
    for (const run of ["r5", "r6"])
      made.add("start", { via: "background", role: "echo", text: "T3x1", run, key: "key" });
  },
  "cancel-ends": (made) => {
    made.add("cancel", { run: "r2", action: "interrupt", wait: true });
    made.add("run", { run: "r2", seen: { run: "r2", status: "running" } });
  },
  "delays-are-kept": (made) => {
    made.add("start", { via: "background", role: "echo", text: "T3x1", run: "r5", delay: 1_000 });
    made.add("run", { run: "r5", seen: { run: "r5", status: "running" } });
  },
  "audit-is-answered": (made) => {
    made.add("thread", { ...at, outcome: "unknown", detail: "HTTP 500" });
  },
  "runs-do-not-mix": (made) => {
    const [newest] = made.get("history", { ...at, thread: "echo" }).states;
    if (newest) newest.run = "r1";
    made.get("history").states[2] = { ...createShown([]), run: "r2", next: [] };
  },
  "one-at-a-time": (made) => {
    made.add("runs", { runs: ["r1", "r2"].map((run) => ({ run, status: "running" })), complete: true });
  },
  "runs-are-in-order": (made) => {
    const { states } = made.get("history", { ...at, thread: "echo" });
    made.get("history").states = [...states.slice(2), ...states.slice(0, 2)];
  },
  "delays-do-not-block": (made) => {
    made.get("start", { run: "r1" }).delay = 10_000;
    made.get("start", { run: "r2" }).via = "background";
  },
  "reject-rejects": (made) => {
    const open = { runs: [{ run: "r1", status: "running" }], complete: true };
    made.add("runs", open);
    made.add("start", { via: "background", role: "echo", text: "T3x1", run: "r5", strategy: "reject" });
    made.add("runs", open);
  },
  "ids-grow": (made) => {
    made.add("read", { ...log, frames: [frame(3, "values"), frame(3, "values")], ended: false });
  },
  "readers-agree": (made) => {
    made.add("read", { ...log, frames: [frame(2, "metadata", { run_id: "other" })], ended: false });
  },
  "nothing-is-missed": (made) => {
    made.get("read", { ended: true, client: 0 }).frames = [];
  },
  "one-end": (made) => {
    const { frames } = made.get("read", { modes: "lifecycle,input" });
    const last = frames.at(-1);
    if (last) frames.push({ ...last, id: "5" });
  },
  "ends-stay": (made) => {
    made.get("read", { ...at, run: "r1" }).frames.push(frame(9, "values"));
  },
  "answered-is-answered": (made) => {
    const input = (id: number, data: object) => frame(id, "input", { params: { data } });
    made.get("read", { modes: "lifecycle,input" }).frames = [
      input(1, { interrupt_ids: ["q1"] }),
      input(2, { interrupt_id: "q1" }),
    ];
  },
  "answers-apply-once": (made) => {
    findState(made, "approval").messages.push({ type: "tool", text: "Not sent: A2x2x0" });
  },
  "answers-are-not-lost": (made) => {
    const state = findState(made, "approval");
    state.messages = state.messages.filter(({ type }) => type !== "tool");
  },
  "refused-answers-do-nothing": (made) => {
    made.get("start", { run: "r4" }).outcome = "refused";
  },
  "one-answer-per-question": (made) => {
    const answer = { interrupt: "q1", about: "T2x1", type: "reject" as const, strict: true };
    made.add("start", { ...approval, text: "A0x9x0", run: "r5", answer });
    findState(made, "approval").messages.push({ type: "tool", text: "Not sent: A0x9x0" });
  },
  "writes-are-read": (made) => {
    made.add("state", { client: 3, state: { ...createShown([]), next: [] } });
  },
  "reads-are-monotonic": (made) => {
    const { operations } = made;
    operations.splice(operations.indexOf(made.get("start", { run: "r2" })), 1);
    made.add("state", { ...at, state: { ...createShown([]), next: [] } });
  },
  "threads-are-there": (made) => {
    made.add("thread", { outcome: "refused", detail: "HTTP 404" });
  },
  "searches-agree": (made) => {
    const [found] = made.get("search").found;
    if (found) found.status = "busy";
  },
  "copies-are-whole": (made) => {
    made.get("state", { thread: "copied" }).state = { ...createShown([]), next: [] };
  },
  "messages-are-explained": (made) => {
    made.get("start", { run: "r1" }).outcome = "refused";
    made.get("start", { run: "r1" }).run = undefined;
  },
  "answers-follow": (made) => {
    findState(made).messages.splice(1, 1);
  },
  "emails-are-approved": (made) => {
    findState(made, "approval").sent = ["T2x1"];
  },
  "history-grows": (made) => {
    const [newest] = made.get("history", { ...at, thread: "echo" }).states;
    newest?.messages.shift();
  },
  "wait-agrees": (made) => {
    made.get("start", { run: "r2" }).values = createShown([]);
  },
  "join-agrees": (made) => {
    made.get("join").values = createShown([]);
  },
  "stream-agrees": (made) => {
    for (const read of made.operations)
      if (read.kind === "read" && read.run) read.frames = [frame(3, "values", { messages: [] })];
  },
  "state-agrees": (made) => {
    const { seen } = made.get("thread", at);
    if (seen) seen.values = createShown([]);
  },
};

/** Changes that explain what would break a rule: each rule holds still. */
const EXPLAINED: Record<string, (made: Made) => void> = {
  "a run that was rolled back is absent": (made) => {
    made.add("start", { via: "background", role: "echo", text: "T3x1", run: "r5" });
    made.add("cancel", { run: "r5", action: "rollback", wait: false });
    made.add("runs", { ...at, runs: findRuns(made).runs, complete: true });
  },
  "a run that was deleted is absent, and its messages remain": (made) => {
    made.add("delete run", { run: "r1" });
    made.add("run", { run: "r1" });
    made.add("runs", { ...at, runs: findRuns(made).runs.slice(0, 1), complete: true });
  },
  "a request whose outcome is unknown may have done nothing": (made) => {
    made.add("start", { via: "background", role: "echo", text: "T3x1", outcome: "unknown" });
  },
  "a run that is still at work when it is read may end later": (made) => {
    const run = made.get("run", { run: "r1" });
    if (run.seen) run.seen.status = "running";
  },
  "a second answer that is refused": (made) => {
    const answer = { interrupt: "q1", about: "T2x1", type: "reject" as const, strict: true };
    made.add("start", { ...approval, text: "A0x9x0", answer, outcome: "refused" });
  },
  "a second answer whose run fails": (made) => {
    const answer = { interrupt: "q1", about: "T2x1", type: "reject" as const, strict: true };
    made.add("start", { ...approval, text: "A0x9x0", run: "r5", answer });
    const list = made.get("runs", { ...at, thread: "approval" });
    made.add("runs", {
      ...at,
      thread: "approval",
      runs: [{ run: "r5", status: "error", text: "A0x9x0" }, ...list.runs],
      complete: true,
    });
  },
  "one request twice under one Idempotency-Key": (made) => {
    const { operations } = made;
    const start = made.get("start", { run: "r1" });
    operations.push({ ...start, key: "key" }, { ...start, key: "key" });
    made.remove(start);
  },
  "a reader that is cut off, and one that resumes": (made) => {
    made.add("read", { ...log, frames: [], ended: false });
  },
};

const listFlagged = (made: Made): string[] => {
  const facts = new Facts(made);
  return Object.entries(RULES).flatMap(([name, rule]) => (rule(facts).length > 0 ? [name] : []));
};

describe("a rule", () => {
  it("holds in the history made by hand", () => {
    expect(listFlagged(makeHistory())).toEqual([]);
  });

  it("has a test", () => {
    expect(Object.keys(BREAKS).sort()).toEqual(Object.keys(RULES).sort());
  });

  it.each(Object.entries(BREAKS))("%s", (rule, change) => {
    const made = makeHistory();
    change(made);
    expect(listFlagged(made)).toContain(rule);
    const [violation] = RULES[rule]?.(new Facts(made)) ?? [];
    expect(violation).toMatchObject({ rule, thread: expect.any(String), message: expect.stringMatching(/\.$/) });
    expect(violation?.operations.length).toBeGreaterThan(0);
  });
});

describe("no rule flags", () => {
  it.each(Object.entries(EXPLAINED))("%s", (_, change) => {
    const made = makeHistory();
    change(made);
    expect(listFlagged(made)).toEqual([]);
  });
});
