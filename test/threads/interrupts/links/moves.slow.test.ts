/**
 * Random moves of threads that ask, while links to their questions are open. After each move a link waits exactly while its question
 * does: it is answered by the run that took the question, and gone when the thread no longer asks.
 */
import { isDeepStrictEqual } from "node:util";
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { it } from "vitest";
import { readEvents } from "../../../../src/threads/log/events.ts";
import { threadStub } from "../../../../src/threads/remote.ts";
import { putRule } from "../../../limits/flow/put-rule.ts";
import { command } from "../../../protocols/streaming/client.ts";
import { type Caller, newCaller, send } from "../../../support/caller.ts";
import "../../../support/pausing-graphs.ts";
import { seeded } from "../../../support/random.ts";
import { chooseAmount } from "../../../support/thorough.ts";
import { get } from "../../client.ts";
import { ask, give, type Json, type Link, toLinksPath, type Question } from "../ask.ts";

interface Run extends Json {
  run_id: string;
  status: string;
}
interface State {
  interrupts: Question[];
  checkpoint: { checkpoint_id: string };
  next: string[];
}
/** An open link, and how many answers its question's id had taken when it was made. */
interface Held extends Link {
  id: string;
  turn: number;
}

interface Taken {
  run: string;
  value: unknown;
}

const GRAPHS = ["plain", "twice", "parallel", "nested"] as const;
/** An answer with which the graph works until it is stopped. */
const HELD: Partial<Record<string, string>> = { plain: "slow", twice: "wait" };
const random = seeded("moves of threads that ask");
const pick = <T>(from: readonly T[]): T => from[random.between(0, from.length)] as T;

class Thread {
  links: Held[] = [];
  /** By question: the answers that its id has taken, in order. */
  taken = new Map<string, Taken[]>();
  pending: Question[] = [];
  moves: string[] = [];
  answers = 0;
  wasHeld = false;
  /** The thread has left a question without an answer, which the log does not say. */
  movedOn = false;

  constructor(
    readonly caller: Caller,
    readonly id: string,
    readonly graph: string,
  ) {}

  getTaken(id: string): Taken[] {
    const known = this.taken.get(id) ?? [];
    this.taken.set(id, known);
    return known;
  }

  path = (rest: string) => `/threads/${this.id}${rest}`;
  runs = async () => get<Run[]>(this.caller, this.path("/runs?limit=100"));
  state = async () => get<State>(this.caller, this.path("/state"));

  /** Waits until no run is in flight, and reads what waits. */
  async settle(): Promise<void> {
    const status = async () => (await get(this.caller, this.path(""))).status;
    for (let tries = 0; (await status()) === "busy"; tries += 1) {
      if (tries === 500) this.expectSame("the thread", "busy", "at rest");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const { interrupts } = await get<{ interrupts: Record<string, Question[]> }>(this.caller, this.path(""));
    this.pending = Object.values(interrupts).flat();
    const shown = (await this.state()).interrupts;
    this.expectSame("interrupts of the thread and of its state", sortQuestions(this.pending), sortQuestions(shown));
  }

  /** The run was stopped or removed: what it took and what waits again is as before. `before`: what waited then. */
  checkUndone(run: string, before: Question[] = []): void {
    for (const { id, value } of this.pending) {
      const last = this.getTaken(id).at(-1);
      const waited = before.some((one) => one.id === id && JSON.stringify(one.value) === JSON.stringify(value));
      if (!waited && last?.run === run && JSON.stringify(last.value) === JSON.stringify(value)) this.getTaken(id).pop();
    }
  }

  /** What readers of the log take for open. */
  async checkLog(): Promise<void> {
    if (this.movedOn) return;
    const query = { after: 0, methods: ["input.requested" as const, "input.answered" as const], replayOnly: true };
    const open = new Set<string>();
    for await (const { data } of readEvents(await threadStub(env, this.caller.workspaceId, this.id).follow(query))) {
      const { interrupt_id, interrupt_ids = [] } = data as { interrupt_id?: string; interrupt_ids?: string[] };
      if (interrupt_id !== undefined) open.add(interrupt_id);
      for (const id of interrupt_ids) open.delete(id);
    }
    this.expectSame(
      "open questions of the log",
      [...open].sort(),
      [...new Set(this.pending.map(({ id }) => id))].sort(),
    );
  }

  async check(): Promise<void> {
    for (const one of this.links) {
      const answer = await send(one.path, { headers: { "cf-connecting-ip": crypto.randomUUID() } });
      const seen = answer.status === 200 ? String((await answer.json<Json>()).state) : String(answer.status);
      const taken = this.getTaken(one.id).length;
      const waits = one.turn === taken && this.pending.some(({ id }) => id === one.id);
      const wanted = one.turn < taken ? "answered" : waits ? "waits" : "410";
      this.expectSame(`link ${one.link_id} of turn ${one.turn}`, seen, wanted);
    }
  }

  expectSame(what: string, seen: unknown, wanted: unknown): void {
    if (isDeepStrictEqual(seen, wanted)) return;
    const { graph, moves } = this;
    throw new Error(JSON.stringify({ seed: random.seed, graph, moves, what, seen, wanted }, undefined, 2));
  }

  async link(): Promise<void> {
    if (this.pending.length === 0) return;
    const question = pick(this.pending);
    const answer = await this.caller.fetch(toLinksPath(this.id, question), { body: {} });
    const given = await answer.json<Link>();
    this.expectSame("a link is made", [answer.status, answer.ok ? "" : given], [200, ""]);
    const made = { ...given, path: new URL(given.url).pathname };
    this.links.push({ ...made, id: question.id, turn: this.getTaken(question.id).length });
  }

  async start(body: Json): Promise<Run> {
    const answer = await this.caller.fetch(this.path("/runs"), { body: { assistant_id: this.graph, ...body } });
    const run = await answer.json<Run>();
    this.expectSame("a run is accepted", [answer.status, answer.ok ? "" : run], [200, ""]);
    return run;
  }

  /** Gives the question an answer; gives the run. */
  async answer(question: Question, how: string, answer: string): Promise<string> {
    const links = this.links.filter(({ id, turn }) => id === question.id && turn === this.getTaken(id).length);
    const alone = this.pending.length === 1;
    let run: string;
    if (how === "link" && links.length > 0) {
      const response = await give(pick(links).path, answer);
      const body = await response.json<Json>();
      this.expectSame("an answer by link", [response.status, response.ok ? "" : body], [200, ""]);
      run = String(body.run_id);
    } else if (how === "protocol") {
      const given = { namespace: [], interrupt_id: question.id, response: answer };
      const told = await command(this.caller, this.id, "input.respond", given);
      this.expectSame("an answer by the protocol", [told.type, told.message], ["success", undefined]);
      run = (await this.runs())[0]!.run_id;
    } else {
      const resume = how === "plain" && alone ? answer : { [question.id]: answer };
      const { checkpoint } = await this.state();
      const more = how === "head" ? { checkpoint } : how === "strict" ? { strict_resume: true } : {};
      run = (await this.start({ command: { resume }, ...more })).run_id;
    }
    this.getTaken(question.id).push({ run, value: question.value });
    return run;
  }
}

const sortQuestions = (questions: Question[]) =>
  questions.map(({ id, value }) => `${id} ${JSON.stringify(value)}`).sort();
const HOW = ["link", "protocol", "api", "plain", "strict", "head"];

type Move = (thread: Thread) => Promise<void>;

const MOVES: Record<string, Move> = {
  async link(thread) {
    await thread.link();
  },
  async answer(thread) {
    if (thread.pending.length === 0) return;
    const how = pick(HOW);
    thread.moves.push(how);
    await thread.answer(pick(thread.pending), how, `a${(thread.answers += 1)}`);
  },
  /** All questions at once, each through a channel of its own. */
  async together(thread) {
    const asked = thread.pending;
    if (asked.length < 2) return;
    const hows = asked.map(() => pick(["link", "protocol", "api"]));
    thread.moves.push(hows.join("+"));
    // The protocol's run is the newest one, so that it is started alone.
    for (const [i, question] of asked.entries()) await thread.answer(question, hows[i]!, `t${i}`);
  },
  async late(thread) {
    const open = thread.links.filter(({ id, turn }) => turn < thread.getTaken(id).length);
    if (open.length === 0) return;
    thread.expectSame("a late answer", (await give(pick(open).path, "late")).status, 409);
  },
  async paused(thread) {
    if (thread.pending.length === 0) return;
    const question = pick(thread.pending);
    const rule = `stop-${thread.id}`;
    await putRule(thread.caller, rule, { match: { thread: thread.id }, paused: true });
    const how = pick(["link", "protocol", "api"]);
    const run = await thread.answer(question, how, `p${(thread.answers += 1)}`);
    await thread.check();
    const restarts = random.next() < 0.3;
    if (restarts) await abortAllDurableObjects();
    await thread.check();
    const end = pick(["cancel", "resume", "rollback", "delete"]);
    thread.moves.push(`${how}, ${restarts ? "restart, " : ""}${end}`);
    if (end === "cancel" || end === "rollback") await stop(thread, run, end === "cancel" ? "interrupt" : "rollback");
    if (end === "delete") await thread.caller.fetch(thread.path(`/runs/${run}`), { method: "DELETE" });
    if (end !== "resume") {
      await thread.settle();
      thread.checkUndone(run);
      await thread.check();
    }
    await thread.caller.fetch(`/api/v1/flow/rules/${rule}`, { method: "DELETE" });
  },
  async held(thread) {
    const answer = HELD[thread.graph];
    if (answer === undefined || thread.pending.length === 0 || thread.pending[0]!.value === "one?") return;
    const [how, question] = [pick(HOW), pick(thread.pending)];
    thread.wasHeld = true;
    const run = await thread.answer(question, how, answer);
    const status = async () => (await get<Run>(thread.caller, thread.path(`/runs/${run}`))).status;
    while ((await status()) === "pending") await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, random.between(0, 60)));
    await thread.check();
    if (random.next() < 0.3) {
      await abortAllDurableObjects();
      thread.moves.push("restart");
      await thread.check();
    }
    const end = pick(["interrupt", "rollback", "delete", "by interrupt", "by rollback"]);
    thread.moves.push(`${how}, ${end}`);
    thread.movedOn ||= end.startsWith("by ");
    if (end === "delete") await thread.caller.fetch(thread.path(`/runs/${run}`), { method: "DELETE" });
    else if (end.startsWith("by ")) await thread.start({ input: { said: [] }, multitask_strategy: end.slice(3) });
    else await stop(thread, run, end);
    await thread.settle();
    if (end === "by interrupt") thread.links = thread.links.filter(({ id }) => id !== question.id);
    const exists = (await thread.caller.fetch(thread.path(`/runs/${run}`))).ok;
    if (!exists && end === "by rollback" && thread.getTaken(question.id).at(-1)?.run === run)
      thread.getTaken(question.id).pop();
    else thread.checkUndone(run);
  },
  async input(thread) {
    thread.movedOn = true;
    await thread.start({ input: { said: [] } });
  },
  async fork(thread) {
    const history = await get<State[]>(thread.caller, thread.path("/history?limit=50"));
    if (history.length === 0) return;
    const { checkpoint, interrupts, next } = pick(history);
    thread.movedOn = true;
    // It would work with the answer until it is stopped.
    if (next.length === 0 || next.includes("slow") || (thread.graph === "twice" && thread.wasHeld)) return;
    const resume = random.next() < 0.5 && interrupts.length === 1 ? { command: { resume: "fork" } } : { input: null };
    thread.moves.push(`${JSON.stringify(resume)} ${history.findIndex((one) => one.checkpoint === checkpoint)}`);
    const { run_id } = await thread.start({ ...resume, checkpoint_id: checkpoint.checkpoint_id });
    const [question] = interrupts;
    if (question && "command" in resume) thread.getTaken(question.id).push({ run: run_id, value: question.value });
  },
  async update(thread) {
    thread.movedOn = true;
    const { status } = await thread.caller.fetch(thread.path("/state"), { body: { values: { said: ["by hand"] } } });
    thread.expectSame("an update", [200, 422].includes(status), true);
  },
  async "run deletion"(thread) {
    const runs = await thread.runs();
    if (runs.length === 0) return;
    const { run_id } = pick(runs);
    const before = thread.pending;
    thread.moves.push(String(runs.findIndex((one) => one.run_id === run_id)));
    await thread.caller.fetch(thread.path(`/runs/${run_id}`), { method: "DELETE" });
    await thread.settle();
    thread.checkUndone(run_id, before);
    thread.movedOn ||= before.some(({ id }) => !thread.pending.some((one) => one.id === id));
  },
  async restart() {
    await abortAllDurableObjects();
  },
  async prune(thread) {
    await thread.caller.fetch("/threads/prune", { body: { thread_ids: [thread.id], strategy: "keep_latest" } });
  },
  async copy(thread) {
    const copied = await thread.caller.fetch(thread.path("/copy"), { method: "POST" });
    const { thread_id } = await copied.json<{ thread_id: string }>();
    const { interrupts } = await get<{ interrupts: Record<string, Question[]> }>(
      thread.caller,
      `/threads/${thread_id}`,
    );
    thread.expectSame(
      "questions of the copy",
      sortQuestions(Object.values(interrupts).flat()),
      sortQuestions(thread.pending),
    );
    const state = await get<State>(thread.caller, `/threads/${thread_id}/state`);
    thread.expectSame("questions of the copy's state", sortQuestions(state.interrupts), sortQuestions(thread.pending));
  },
};

async function stop(thread: Thread, run: string, action: string): Promise<void> {
  await thread.caller.fetch(thread.path(`/runs/${run}/cancel?wait=true&action=${action}`), { method: "POST" });
}

// oxlint-disable-next-line vitest/expect-expect -- they are in the moves and in `check`
it("a link waits while its question does", { timeout: 600_000 }, async () => {
  const caller = await newCaller();
  for (let n = 0; n < chooseAmount("THREADS", 20, 300); n += 1) {
    const graph = GRAPHS[n % GRAPHS.length]!;
    const asked = await ask(caller, graph);
    const thread = new Thread(caller, asked.thread, graph);
    await thread.settle();
    await thread.link();
    for (let i = 0; i < 8; i += 1) {
      const name = pick([...Object.keys(MOVES), "link", "answer", "fork", "held"]);
      thread.moves.push(`#${name}`);
      await MOVES[name]!(thread);
      await thread.settle();
      await thread.check();
      await thread.checkLog();
    }
  }
});
