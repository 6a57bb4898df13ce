/** A case's thread on the product: the runs of the model, started over HTTP. */
import { env } from "cloudflare:workers";
import { fireDueCrons, startFiring, threadsFor } from "../../src/automation/crons/fire.ts";
import { nextDue } from "../../src/automation/crons/schedule.ts";
import type { FiringRow } from "../../src/automation/crons/store.ts";
import { database } from "../../src/db/client.ts";
import type { Case } from "./dimensions.ts";
import type { RunSpec } from "./model.ts";
import { limitTime } from "./patience.ts";
import { Sights } from "./sights.ts";
import { readFrames, toResult, resultOfFrames } from "./views.ts";

type Json = Record<string, unknown>;
type Reader = Case["reader"];
type Kind = Case["kind"];

const WEBHOOK = "https://hooks.oracle.example/run";

export interface Start {
  kind?: Kind;
  reader?: Reader;
  /** The Idempotency-Key. */
  key?: string;
  /** The id of the command of the streaming protocol. */
  commandId?: number;
  /** The address of the checkpoint where the run begins. */
  checkpoint?: unknown;
}

export class Weir extends Sights {
  /** What each run's caller gets at its end. */
  readonly results = new Map<string, Promise<unknown>>();
  /** Ids of the questions that waited last, by their texts. */
  #questions: ReadonlyMap<string, string> = new Map();
  /** Those that waited when answers were sent for the first time. */
  readonly #answered = new WeakMap<Record<string, string>, ReadonlyMap<string, string>>();

  /** Starts a run. The status of the answer. */
  async start(spec: RunSpec, how: Start = {}): Promise<number> {
    const { kind = "immediate", reader = "join", key, commandId, checkpoint } = how;
    if (kind === "stateless" || kind === "batch") return this.#startStateless(spec, kind, reader, key);
    if (kind === "cron") return this.#startCron(spec);
    if (reader === "protocol" && !spec.breakpoint) return this.#command(spec, commandId, key);
    const route = reader === "wait" ? "/wait" : reader === "start" || reader === "cursor" ? "/stream" : "";
    const body = { ...(await this.#body(spec)), ...(checkpoint !== undefined && { checkpoint }) };
    return this.#startRun(spec.name, `${this.path}/runs${route}`, body, reader, key);
  }

  async #startStateless(spec: RunSpec, kind: Kind, reader: Reader, key?: string): Promise<number> {
    const body = await this.#body(spec);
    if (kind === "batch") {
      const made = await this.json<{ run_id: string; thread_id: string }[]>("/runs/batch", {
        body: [body, { ...body, input: toInput("other", undefined) }],
      });
      if (typeof made === "number") return made;
      const [{ run_id, thread_id } = { run_id: "", thread_id: "" }] = made;
      this.threadId = thread_id;
      this.#took(spec.name, run_id, this.#join(run_id));
      return 200;
    }
    const route = reader === "wait" ? "/wait" : reader === "start" || reader === "cursor" ? "/stream" : "";
    return this.#startRun(spec.name, `/runs${route}`, body, reader, key);
  }

  async #startRun(name: string, path: string, body: Json, reader: Reader, key?: string): Promise<number> {
    const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
    const response = await this.call(path, { body, headers });
    if (!response.ok) return response.status;
    const run = /runs\/([\w-]+)/.exec(response.headers.get("content-location") ?? "")?.[1] ?? "";
    // A stateless run and its thread have one id.
    if (path.startsWith("/runs")) this.threadId = run;
    const result = path.endsWith("/wait")
      ? response.text().then((text) => toResult(JSON.parse(text)))
      : path.endsWith("/stream")
        ? this.#followRun(run, response, reader)
        : this.#join(run);
    this.#took(name, run, result);
    return 200;
  }

  #took(name: string, run: string, result: Promise<unknown>): void {
    this.ids.set(name, run);
    // Awaited later, if at all.
    result.catch(() => undefined);
    this.results.set(name, result);
  }

  async #join(run: string): Promise<unknown> {
    const response = await this.caller.fetch(`/threads/${this.threadId}/runs/${run}/join`);
    return response.ok ? toResult(await response.json()) : response.status;
  }

  /** The result as the frames of a stream have it. A reader with a cursor leaves in the middle, and connects again. */
  async #followRun(run: string, response: Response, reader: Reader): Promise<unknown> {
    let frames = await readFrames(response, reader === "cursor" ? 6 : Infinity);
    if (reader === "cursor") {
      const headers = { "last-event-id": frames.at(-1)?.id ?? "-1" };
      const rest = await this.caller.fetch(`/threads/${this.threadId}/runs/${run}/stream`, { headers });
      if (!rest.ok) return rest.status;
      frames = [...frames, ...(await readFrames(rest))];
    }
    return resultOfFrames(frames);
  }

  async #command({ name, turn, doc, answers }: RunSpec, commandId = this.ids.size + 1, key?: string): Promise<number> {
    const input = turn === undefined ? null : toInput(turn, doc);
    const params =
      answers === undefined ? { assistant_id: this.assistantId, input } : { responses: await this.#responses(answers) };
    const method = answers === undefined ? "run.start" : "input.respond";
    const body = { id: commandId, method, params };
    const answer = await this.json<{ type: string; error?: string; result: { run_id?: string } }>(
      `${this.path}/commands`,
      { body, headers: key === undefined ? {} : { "idempotency-key": key } },
    );
    if (typeof answer === "number") return answer;
    if (answer.type === "error") return answer.error === "no_such_interrupt" ? 409 : 404;
    const runs = await this.json<{ run_id: string }[]>(`${this.path}/runs?limit=1`);
    const run = answer.result.run_id ?? (typeof runs === "number" ? "" : (runs[0]?.run_id ?? ""));
    this.#took(name, run, this.#join(run));
    return 200;
  }

  async #responses(answers: Record<string, string>): Promise<Json[]> {
    const asked = await this.#readQuestions(answers);
    return Object.entries(answers).map(([question, response]) => ({
      interrupt_id: asked.get(question) ?? "0".repeat(32),
      response,
    }));
  }

  async #body(spec: RunSpec): Promise<Json> {
    const { turn, doc, answers, breakpoint, afterMs, strategy, webhook, durability } = spec;
    return {
      assistant_id: spec.assistant ?? this.assistantId,
      ...(durability !== "async" && { durability }),
      ...(turn !== undefined && { input: toInput(turn, doc) }),
      ...(answers && { command: { resume: await this.#resume(answers) } }),
      ...(breakpoint && { interrupt_before: [this.shape.last ?? "close"] }),
      ...(afterMs !== undefined && { after_seconds: afterMs / 1000 }),
      ...(strategy && { multitask_strategy: strategy }),
      ...(webhook && { webhook: WEBHOOK }),
      stream_mode: ["values", "messages-tuple"],
    };
  }

  /** One answer goes without an address, several by the ids of their questions. */
  async #resume(answers: Record<string, string>): Promise<unknown> {
    const questions = Object.keys(answers);
    const asked = await this.#readQuestions(answers);
    if (questions.length === 1 && asked.size === 1) return Object.values(answers)[0];
    return Object.fromEntries(questions.map((one) => [asked.get(one) ?? "0".repeat(32), answers[one]]));
  }

  /**
   * Questions that wait now, or that waited last. Answers that are sent again are the same request, also where their run has ended at the
   * next question.
   */
  async #readQuestions(answers: Record<string, string>): Promise<ReadonlyMap<string, string>> {
    const sent = this.#answered.get(answers);
    if (sent) return sent;
    const thread = await this.json<{ interrupts: Record<string, { id: string; value: string }[]> }>(this.path);
    const waiting = typeof thread === "number" ? [] : Object.values(thread.interrupts).flat();
    if (waiting.length > 0) this.#questions = new Map(waiting.map(({ id, value }) => [value, id]));
    this.#answered.set(answers, this.#questions);
    return this.#questions;
  }

  async #startCron(spec: RunSpec): Promise<number> {
    const schedule = "0 12 29 2 *";
    const { multitask_strategy: _, ...body } = await this.#body(spec);
    const made = await this.json<{ cron_id: string }>(`${this.path}/runs/crons`, { body: { ...body, schedule } });
    if (typeof made === "number") return made;
    const due = nextDue({ schedule, timezone: null, endTime: null }, Date.now()) ?? 0;
    const db = database(env.DB);
    for (let minute = 0; minute < 60; minute += 2) {
      const sent: FiringRow[] = [];
      const CRON_QUEUE = {
        sendBatch: async (batch: { body: FiringRow }[]) => void sent.push(...batch.map(({ body: one }) => one)),
      };
      const now = due + minute * 60_000;
      await fireDueCrons({ DB: env.DB, CRON_QUEUE } as never, now);
      // Other cases have crons of the same moment, which they start themselves.
      for (const firing of sent.filter(({ cronId }) => cronId === made.cron_id))
        await startFiring(db, firing, threadsFor(env), now);
      const runs = await this.json<{ run_id: string; metadata: Json }[]>(`${this.path}/runs?limit=100`);
      const fired = typeof runs === "number" ? [] : runs.filter(({ metadata }) => metadata.cron_id === made.cron_id);
      if (!fired[0]) continue;
      await this.call(`/runs/crons/${made.cron_id}`, { method: "DELETE" });
      this.#took(spec.name, fired[0].run_id, this.#join(fired[0].run_id));
      return fired.length === 1 ? 200 : fired.length;
    }
    return 0;
  }

  async result(name: string): Promise<unknown> {
    return limitTime(`the result of ${name}`, this.results.get(name) ?? Promise.resolve("no such run"));
  }
}

const toInput = (turn: string, doc: unknown): Json => ({
  messages: [{ role: "user", content: turn }],
  ...(doc !== undefined && { doc }),
});
